"""Writes docs/ops.md: what `kiln ops --markdown` prints. KN_BUILD_ROOT names the folder of builds. Where kiln has not
been built, as in a check of generated sources, the page stays as it is; the structure tests compare it."""

import os
import subprocess

OUTPUT = "docs/ops.md"


def main():
    kiln = os.path.join(os.environ.get("KN_BUILD_ROOT") or "build", "release", "kiln")
    if not os.path.exists(kiln):
        return
    text = subprocess.run([kiln, "ops", "--markdown"], capture_output=True, text=True, check=True).stdout
    with open(OUTPUT, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
