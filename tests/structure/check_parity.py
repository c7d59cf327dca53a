"""docs/parity/pytorch.md is what tools/gen/pytorch_parity.py makes of the list of names and the headers, so that every function it
names exists, and the list says something of each name once."""

import os
import subprocess
import sys

import tree

_PAGE, _NAMES, _TOOL = "docs/parity/pytorch.md", "docs/parity/pytorch_names.txt", "tools/gen/pytorch_parity.py"
_PRINT = "import sys; sys.path.insert(0, 'tools/gen'); import pytorch_parity; sys.stdout.write(pytorch_parity.page())"


def _twice():
    for section in tree.read(_NAMES).split("\n["):
        lines = [line for line in section.split("\n")[1:] if line and not line.startswith("#")]
        names = [n for line in lines for n in (line.split(" = ")[:1] if " = " in line else line.split())]
        for name in sorted(set(n for n in names if names.count(n) > 1)):
            yield "%s is there twice in [%s" % (name, section.split("\n")[0])


def check(build):
    run = subprocess.run([sys.executable, "-B", "-c", _PRINT], capture_output=True, text=True, cwd=tree.ROOT)
    problems = [run.stderr.strip()] if run.returncode else []
    if not problems and run.stdout != (tree.read(_PAGE) if tree.exists(_PAGE) else ""):
        problems = ["it differs; run 'make generated'"]
    yield "%s is up to date" % _PAGE, problems
    silent = [line for line in run.stdout.splitlines() if "| none |" in line and line.endswith("|  |")]
    yield "%s says why there is none" % _PAGE, silent
    yield "%s has each name once" % _NAMES, list(_twice())
    yield "%s covers PyTorch" % _NAMES, [] if run.stdout.count("\n| ") > 1400 else ["fewer than 1400 names"]
