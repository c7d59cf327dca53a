"""Writes examples/onnx_finetune/generated: what `kiln import` makes of the example's model. KN_BUILD_ROOT names the folder of builds. Where
kiln has not been built the files stay as they are; the structure tests compare them."""

import os
import subprocess

FOLDER = "examples/onnx_finetune"


def main():
    kiln = os.path.join(os.environ.get("KN_BUILD_ROOT") or "build", "release", "kiln")
    if os.path.exists(kiln):
        subprocess.run([kiln, "import", FOLDER + "/digits.onnx", "-o", FOLDER + "/generated", "--name", "net"], check=True)


if __name__ == "__main__":
    main()
