"""Documents that name code: the README's example compiles and runs, the parity page names symbols that exist."""

import os
import re
import subprocess
import tempfile

import tree

_EXAMPLE = re.compile(r"^```c\n(.*?)^```", re.M | re.S)
_NAME = re.compile(r"\bkn_\w+\b(?!\*)")


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
            done = subprocess.run(step, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                return [(done.stdout + done.stderr).strip()]
    return []


def _public_names():
    names = set()
    for name in tree.files_in(("include",), (".h",)):
        names.update(_NAME.findall(tree.bare_c(tree.read(name))))
    return names


def check(build):
    if tree.exists("README.md"):
        examples = [e for e in _EXAMPLE.findall(tree.read("README.md")) if "main(" in e]
        for number, source in enumerate(examples, 1):
            yield "README example %d compiles and runs" % number, _compile_and_run(source, build)
    public = _public_names()
    for name in [n for n in tree.all_files() if n.startswith("docs/parity/") and n.endswith(".md")]:
        unknown = sorted(set(_NAME.findall(tree.read(name))) - public)
        yield "%s names what exists" % name, ["no such symbol: " + symbol for symbol in unknown]
