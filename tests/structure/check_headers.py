"""Every public header compiles alone, as C99 and as C++17, with gcc and clang."""

import os
import shutil
import subprocess

import tree

WARNINGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
COMPILERS = [
    ("gcc", ["-x", "c", "-std=c99"], "C99"),
    ("clang", ["-x", "c", "-std=c99"], "C99"),
    ("g++", ["-x", "c++", "-std=c++17"], "C++17"),
    ("clang++", ["-x", "c++", "-std=c++17"], "C++17"),
]


def check(_build):
    include = os.path.join(tree.ROOT, "include")
    for name in tree.files_in(("include",), (".h",)):
        header = os.path.relpath(os.path.join(tree.ROOT, name), include)
        for compiler, language, label in COMPILERS:
            title = "%s alone as %s with %s" % (name, label, compiler)
            if not shutil.which(compiler):
                yield title, ["%s is not installed; scripts/setup.sh installs it" % compiler]
                continue
            command = [compiler] + language + WARNINGS + ["-I", include, "-"]
            # Twice, so that a missing include guard shows.
            source = "#include <%s>\n#include <%s>\nint kn_header_test;\n" % (header, header)
            done = subprocess.run(command, input=source, capture_output=True, text=True)
            problems = [] if done.returncode == 0 else [done.stderr.strip()]
            yield title, problems
