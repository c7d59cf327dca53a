"""Writes docs/parity/pytorch.md from docs/parity/pytorch_names.txt and the public headers. A name of Kiln that no header declares is
an error here. Usage: pytorch_parity.py, in the root of the repository."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sites  # noqa: E402

NAMES, PAGE = "docs/parity/pytorch_names.txt", "docs/parity/pytorch.md"
LATER = "not there yet"
IN_PLACE = "in place in PyTorch; values never change here: `x = kn_...`"
TITLES = {"torch": "torch.*", "Tensor": "torch.Tensor.*"}
HEAD = """# PyTorch's functions in Kiln

Every function of `torch`, method of `torch.Tensor` and function of `torch.nn.functional`, `torch.linalg`, `torch.fft`,
`torch.special` and `torch.signal.windows`, and what to use in Kiln. Functions take an axis or a list of axes where PyTorch has
`dim`; settings are a struct, NULL for PyTorch's defaults; scalars on the right have a form ending in `_scalar`. This page is made of
`pytorch_names.txt` and the headers (`tools/gen/pytorch_parity.py`), and tests check that it is current.
"""


def declared():
    """The functions of the public headers."""
    headers = glob.glob("include/kn/**/*.h", recursive=True)
    return {name for header in headers for _, _, name, _ in sites.functions_of(sites.read(header))}


class Row:
    """A line of the table: a name of PyTorch, Kiln's functions, a remark."""

    def __init__(self, name, kiln, remark):
        self.name, self.kiln, self.remark = name, kiln, remark

    def text(self):
        return "| %s | %s | %s |" % (self.name, " ".join("`%s`" % k for k in self.kiln) or "none", self.remark)


def explicit(name, text, known):
    if text.startswith("-"):
        return Row(name, [], text[1:].strip())
    functions, _, remark = (part.strip() for part in text.partition(";"))
    found = [f.lstrip("?") for f in functions.split() if f.lstrip("?") in known]
    absent = [f for f in functions.split() if not f.startswith("?") and f not in known]
    if absent or not functions:
        raise SystemExit("%s: %s: no header declares %s" % (NAMES, name, ", ".join(absent) or "anything"))
    return Row(name, found, remark if found else LATER)


def section_rows(lines, known, torch_rows):
    rows = {}
    plain = []
    for line in lines:
        name, equals, text = line.partition(" = ")
        if equals:
            rows[name.strip()] = explicit(name.strip(), text.strip(), known)
        else:
            plain += line.split()
    for name in plain:
        base = name[:-1] if name.endswith("_") else name
        if base != name and (base in rows or base in torch_rows):
            like = rows.get(base) or torch_rows[base]
            rows[name] = Row(name, like.kiln, IN_PLACE if like.kiln else like.remark)
        elif "kn_" + base in known:
            rows[name] = Row(name, ["kn_" + base], IN_PLACE if base != name else "")
        else:
            raise SystemExit("%s: no header declares kn_%s, and nothing else is said of %s" % (NAMES, base, name))
    return rows


def sections():
    """(title, lines) of the list."""
    title, lines = None, []
    for line in sites.read(NAMES).split("\n"):
        found = re.match(r"\[(.*)\]$", line)
        if found:
            if title:
                yield title, lines
            title, lines = found.group(1), []
        elif line.strip() and not line.startswith("#"):
            lines.append(line)
    yield title, lines


def page():
    known, torch_rows, parts, have, all_names = declared(), {}, [HEAD], 0, 0
    for title, lines in sections():
        rows = section_rows(lines, known, torch_rows)
        torch_rows = torch_rows or rows
        have += sum(1 for r in rows.values() if r.kiln)
        all_names += len(rows)
        parts.append("## %s\n" % TITLES.get(title, title + ".*"))
        parts.append("| PyTorch | Kiln | remark |\n|---|---|---|")
        parts.append("\n".join(rows[name].text() for name in sorted(rows)) + "\n")
    parts.insert(1, "Of %d names %d have a counterpart.\n" % (all_names, have))
    return "\n".join(parts)


def main():
    text = page()
    with open(PAGE, "w") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
