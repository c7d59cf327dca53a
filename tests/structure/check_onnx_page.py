"""The table of docs/onnx.md is what `kiln ops --onnx --markdown` prints."""

import os
import subprocess

import tree

_PAGE = "docs/onnx.md"
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
