"""No file above 1,000 lines and no function above 80; file names are unique. The formatter puts a function's
braces into the first column, so a function is what lies between two such lines."""

import collections
import os

import tree

MAX_FILE = 1000
MAX_FUNCTION = 80
REPEATED_NAMES = {"CMakeLists.txt", "__init__.py"}


def long_functions(name):
    start = 0
    lines = tree.bare_c(tree.read(name)).split("\n")
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{":
            start = number
        elif start and line.startswith("}"):
            if number - start + 1 > MAX_FUNCTION:
                title = lines[start - 2].strip()
                yield "%s:%d: %d lines: %s" % (name, start - 1, number - start + 1, title)
            start = 0


def check(_build):
    files = tree.files_in(tree.CODE_FOLDERS, tree.CODE_ENDINGS)
    problems = []
    for name in files:
        count = tree.read(name).count("\n")
        if count > MAX_FILE:
            problems.append("%s: %d lines" % (name, count))
    yield "no file is longer than %d lines" % MAX_FILE, problems

    problems = []
    for name in tree.files_in(tree.C_FOLDERS, (".c", ".h", ".inc")):
        problems += long_functions(name)
    yield "no function is longer than %d lines" % MAX_FUNCTION, problems

    places = collections.defaultdict(list)
    for name in files:
        places[os.path.basename(name)].append(name)
    problems = [
        "%s: %s" % (base, ", ".join(names))
        for base, names in sorted(places.items())
        if len(names) > 1 and base not in REPEATED_NAMES
    ]
    yield "file names are unique in the tree", problems
