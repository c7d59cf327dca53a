"""docs/ops.md is what `kiln ops --markdown` prints, and every op of it has a formula."""

import os
import subprocess

import tree

_PAGE = "docs/ops.md"


def check(build):
    kiln = os.path.join(build, "kiln")
    if not os.path.exists(kiln):
        yield "%s is up to date" % _PAGE, ["%s is missing; build first" % kiln]
        return
    text = subprocess.run([kiln, "ops", "--markdown"], capture_output=True, text=True).stdout
    current = tree.read(_PAGE) if tree.exists(_PAGE) else ""
    yield "%s is up to date" % _PAGE, [] if text == current else ["it differs; run 'make generated'"]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
    bare = [cells[1] for cells in rows if len(cells) < 3 or not cells[2].strip()]
    yield "every op has a formula", ["no doc: " + name for name in bare]
