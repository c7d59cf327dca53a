"""Documents that name code: the README's example compiles and runs, the parity pages name symbols and members that exist,
and the one of the training stack has a row for each name of a list."""

import os
import re
import subprocess
import tempfile

import tree

_EXAMPLE = re.compile(r"^```c\n(.*?)^```", re.M | re.S)
MAX_EXAMPLE = 20
_NAME = re.compile(r"\b(?:kn|KN)_\w+\b(?!\*)")
_MEMBER = re.compile(r"\b(kn_\w+)\.(\w+)")
_STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\n\} ", re.S)
_TRAIN, _TRAIN_NAMES = "docs/parity/burn-train.md", "tests/structure/burn_train_names.txt"


def _compile_and_run(source, build):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "readme_example.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        program = os.path.join(folder, "readme_example")
        include = os.path.join(tree.ROOT, "include")
        link = [path, "-L", build, "-Wl,-rpath," + os.path.abspath(build), "-lkiln", "-lm", "-o", program]
        command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", include] + link
        for step in (command, [program]):
            done = subprocess.run(step, capture_output=True, text=True)
            if done.returncode != 0:
                return [(done.stdout + done.stderr).strip()]
    return []


_VARIABLE = re.compile(r"(?:kni_environment|getenv|bytes_from_environment|environment)\(\"(KN_[A-Z0-9_]+)\"\)")
_VARIABLE_PAGE = "docs/variables.md"


def _variables_not_told():
    """Variables that the library or the command line read and the page does not name, and the other way round."""
    names, mentioned = set(), set()
    for name in tree.files_in(("src", "tools"), (".c",)):
        names.update(_VARIABLE.findall(tree.read(name)))
        mentioned.update(re.findall(r'"(KN_[A-Z0-9_]+)"', tree.read(name)))
    told = set(re.findall(r"`(KN_[A-Z0-9_]+)", tree.read(_VARIABLE_PAGE)))
    return ["%s is read but not told" % n for n in sorted(names - told)] + [
        "%s is told but not read" % n for n in sorted(told - mentioned)
    ]


def _public_names():
    names = set()
    for name in tree.files_in(("include",), (".h",)):
        names.update(_NAME.findall(tree.bare_c(tree.read(name))))
    return names


# Why a name may have no counterpart yet; a row that says "later" begins its remark with one of these.
_LATER = ("quantization", "collectives", "captured graphs", "devices", "remote devices", "distributed",
          "reinforcement learning", "pretrained networks")


def _bad_rows(text):
    for number, line in enumerate(text.split("\n"), 1):
        cells = [c.strip() for c in line.strip("|").split(" | ")]
        if not line.startswith("| ") or len(cells) < 2 or cells[0] == "Burn" or "`k" in cells[1].lower():
            continue
        remark = cells[2] if len(cells) > 2 else ""
        if cells[1].strip() != "later" or not remark.startswith(_LATER):
            yield "%d: %s: has no counterpart, or is later for no reserved reason" % (number, cells[0])


def _unknown_members(text):
    """Members `kn_struct.member` that no header declares."""
    members = {}
    for name in tree.files_in(("include",), (".h",)):
        for struct, body in _STRUCT.findall(tree.bare_c(tree.read(name))):
            members[struct] = set(re.findall(r"\w+", body))
    return sorted("%s.%s" % pair for pair in set(_MEMBER.findall(text)) if pair[1] not in members.get(pair[0], ()))


def _missing_names():
    rows = {line.split(" | ")[0][2:] for line in tree.read(_TRAIN).splitlines() if line.startswith("| ")}
    return [name for name in tree.read(_TRAIN_NAMES).splitlines() if name not in rows]


def check(build):
    examples = [e for e in _EXAMPLE.findall(tree.read("README.md")) if "main(" in e]
    yield "%s names every variable" % _VARIABLE_PAGE, _variables_not_told()
    yield "README.md has an example", [] if examples else ["no fenced C text with a main"]
    for number, source in enumerate(examples, 1):
        count = source.count("\n")
        yield "README example %d is short" % number, [] if count <= MAX_EXAMPLE else ["%d lines" % count]
        yield "README example %d compiles and runs" % number, _compile_and_run(source, build)
    page = tree.read("docs/adding-an-op.md")
    parts = ["tests/new_op/tempered_softmax." + ending for ending in ("def", "h", "c")]
    absent = [name for name in parts if "```c\n%s```\n" % tree.read(name) not in page]
    yield "docs/adding-an-op.md shows the op that is tested", ["not as in %s" % name for name in absent]
    shown = "```c\n%s```\n" % tree.read("examples/programs/programs.c") in tree.read("docs/programs.md")
    yield "docs/programs.md shows the example that is run", [] if shown else ["not as in examples/programs/programs.c"]
    public = _public_names()
    parity = [n for n in tree.all_files() if n.startswith("docs/parity/") and n.endswith(".md")]
    yield "docs/parity has pages", [] if parity else ["none found"]
    for name in parity:
        unknown = sorted(set(_NAME.findall(tree.read(name))) - public)
        yield "%s names what exists" % name, ["no such symbol: " + symbol for symbol in unknown]
        unknown = _unknown_members(tree.read(name))
        yield "%s names members that exist" % name, ["no such member: " + member for member in unknown]
        if "burn" in name:  # pytorch.md says why there is none: check_parity.py
            yield "%s: only reserved areas are for later" % name, list(_bad_rows(tree.read(name)))
    yield "%s has all names" % _TRAIN, ["no row for " + name for name in _missing_names()]
