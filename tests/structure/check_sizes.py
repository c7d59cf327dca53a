"""No file above 1,000 lines and no function above 80; file names are unique. The formatter puts a function's
braces into the first column, so a function is what lies between two such lines; Python says itself where one ends.
Kernel texts are exempt from the length of functions: their language has no way to hand a buffer to a function."""

import ast
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


def long_python_functions(name):
    for node in ast.walk(ast.parse(tree.read(name), name)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > MAX_FUNCTION:
            yield "%s:%d: %d lines: %s" % (name, node.lineno, node.end_lineno - node.lineno + 1, node.name)


def check(_build):
    files = tree.files_in(tree.CODE_FOLDERS, tree.CODE_ENDINGS)
    empty = [f for f in tree.C_FOLDERS if not tree.files_in((f,), tree.CODE_ENDINGS)]
    yield "every folder of code was looked at", ["no code found in " + f for f in empty]
    problems = []
    for name in files:
        count = tree.read(name).count("\n")
        if count > MAX_FILE:
            problems.append("%s: %d lines" % (name, count))
    yield "no file is longer than %d lines" % MAX_FILE, problems

    problems = []
    for name in tree.files_in(tree.C_FOLDERS, (".c", ".h", ".inc")):
        problems += long_functions(name)
    for name in tree.files_in(tree.CODE_FOLDERS, (".py",)):
        problems += long_python_functions(name)
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
