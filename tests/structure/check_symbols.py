"""The exported symbols of libkiln.so equal the committed list, and equal what the public headers declare.
With --write LIBRARY it writes the list instead: python3 check_symbols.py --write build/release/libkiln.so"""

import os
import re
import subprocess
import sys

import tree

LIST = "tests/structure/exported_symbols.txt"
# KN_API functions and variables: the name is the last word before the first parenthesis, bracket or semicolon.
_DECLARED = re.compile(r"\bKN_API\b(?!\s*__attribute__|\s*$)[^;({\[]*?\b(kn_\w+)\s*[;(\[]", re.S)
# Variables, of which one declaration may name several.
_VARIABLES = re.compile(r"\bextern\s+KN_API\s+const\s+\w+\s+([^;(]*);", re.S)
_DEFINE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)


def exported(library):
    command = ["nm", "-D", "--defined-only", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({line.split()[-1].split("@")[0] for line in lines})


def declared():
    names = set()
    for name in tree.files_in(("include",), (".h",)):
        text = _DEFINE.sub("", tree.bare_c(tree.read(name)))
        names.update(_DECLARED.findall(text))
        for group in _VARIABLES.findall(text):
            names.update(re.findall(r"\bkn_\w+", group))
    return names


def _differences(left, right, text):
    return ["%s: %s" % (text, name) for name in sorted(set(left) - set(right))]


def check(build):
    library = os.path.join(build, "libkiln.so")
    if not os.path.exists(library):
        yield "exported symbols", ["%s is missing; build first" % library]
        return
    symbols = exported(library)
    listed = tree.read(LIST).split() if tree.exists(LIST) else []
    problems = _differences(symbols, listed, "exported but not in %s (make symbols)" % LIST)
    problems += _differences(listed, symbols, "listed but not exported")
    yield "exported symbols equal the committed list", problems
    yield "exported symbols start with kn_", [s for s in symbols if not s.startswith("kn_")]
    problems = _differences(declared(), symbols, "declared KN_API but not exported")
    problems += _differences(symbols, declared(), "exported but not declared in a public header")
    yield "exported symbols are what the headers declare", problems


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--write":
        sys.exit(__doc__)
    found = exported(sys.argv[2])
    with open(os.path.join(tree.ROOT, LIST), "w", encoding="utf-8") as file:
        file.write("".join(symbol + "\n" for symbol in found))
    print("%d symbols" % len(found))
