"""The table of docs/onnx.md is what `kiln ops --onnx --markdown` prints, and the C in examples/onnx_finetune what `kiln import` writes."""

import os
import subprocess
import tempfile

import tree

_PAGE = "docs/onnx.md"
_EXAMPLE = "examples/onnx_finetune"
_MARK = "do not edit below. -->\n"


def check(build):
    kiln = os.path.join(build, "kiln")
    if not os.path.exists(kiln):
        yield "%s is up to date" % _PAGE, ["%s is missing; build first" % kiln]
        return
    table = subprocess.run([kiln, "ops", "--onnx", "--markdown"], capture_output=True, text=True).stdout
    parts = tree.read(_PAGE).split(_MARK)
    good = len(parts) == 2 and parts[1].strip() == table.strip() and table
    yield "%s is up to date" % _PAGE, [] if good else ["it differs; run 'make generated'"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([kiln, "import", os.path.join(tree.ROOT, _EXAMPLE, "digits.onnx"), "-o", folder, "--name", "net"])
        differing = []
        for name in ("net.c", "net.h", "net.safetensors"):
            path = os.path.join(tree.ROOT, _EXAMPLE, "generated", name)
            made = os.path.join(folder, name)
            if not os.path.exists(made) or open(made, "rb").read() != open(path, "rb").read():
                differing.append("%s differs; run 'make generated'" % name)
        yield "%s/generated is up to date" % _EXAMPLE, differing
