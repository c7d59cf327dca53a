"""docs/ops.md is what `kiln ops --markdown` prints, and every op of it has a formula."""

import os
import subprocess

import tree

_PAGE = "docs/ops.md"


def _without_body(rows):
    """The rows without a body are those that docs/adding-an-op.md lists, each with a reason."""
    lack = {cells[1] for cells in rows if "<br>`" not in cells[2]}
    section = tree.read("docs/adding-an-op.md").split("### Rows without a body")[-1].split("\n\n| rows")[-1].split("\n\n")[0]
    listed, problems = set(), []
    for line in section.splitlines()[2:]:
        names, why = [cell.strip() for cell in line.strip("|").split("|")]
        if not why:
            problems.append("no reason for " + names)
        listed |= set(names.split(", "))
    problems += ["%s has no body and is not listed" % name for name in sorted(lack - listed)]
    problems += ["%s is listed and has a body, or does not exist" % name for name in sorted(listed - lack)]
    yield "rows without a body are listed with a reason", problems
    yield "150 rows have a body", [] if len(rows) - len(lack) >= 150 else ["%d have one" % (len(rows) - len(lack))]


def check(build):
    kiln = os.path.join(build, "kiln")
    if not os.path.exists(kiln):
        yield "%s is up to date" % _PAGE, ["%s is missing; build first" % kiln]
        return
    text = subprocess.run([kiln, "ops", "--markdown"], capture_output=True, text=True).stdout
    current = tree.read(_PAGE) if tree.exists(_PAGE) else ""
    yield "%s is up to date" % _PAGE, [] if text == current else ["it differs; run 'make generated'"]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
    yield from _without_body(rows)
    bare = [cells[1] for cells in rows if len(cells) < 3 or not cells[2].strip()]
    yield "every op has a formula", ["no doc: " + name for name in bare]
