"""Writes docs/gradients.md: what `test_gradients --markdown` prints. KN_BUILD_ROOT names the folder of builds. Where the test has not
been built the page stays as it is; the test compares it."""

import os
import subprocess

OUTPUT = "docs/gradients.md"


def main():
    test = os.path.join(os.environ.get("KN_BUILD_ROOT") or "build", "release", "tests", "test_gradients")
    if not os.path.exists(test):
        return
    text = subprocess.run([test, "--markdown"], capture_output=True, text=True).stdout
    if text.startswith("# "):
        with open(OUTPUT, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
