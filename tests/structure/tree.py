"""What the structure checks share: the files of the repository and C text without comments and strings."""

import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE_FOLDERS = ("include", "src", "tools", "tests", "examples", "bench", "scripts", "cmake")
C_FOLDERS = ("include", "src", "tools", "tests", "examples", "bench")
CODE_ENDINGS = (".c", ".h", ".inc", ".py", ".sh", ".js", ".mjs", ".ld", ".cmake")

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def all_files():
    """Paths, relative to the root, of every file that is tracked or would be."""
    if os.path.isdir(os.path.join(ROOT, ".git")):
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        return sorted(n for n in set(names) if n and os.path.isfile(os.path.join(ROOT, n)))
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build", "__pycache__"))]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return sorted(found)


def files_in(folders, endings):
    """The files below the given folders whose names end in one of endings."""
    return [n for n in all_files() if n.split("/")[0] in folders and n.endswith(endings)]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def bare_c(text, keep_strings=False):
    """C text with comments, and unless told otherwise strings, blanked; line numbers stay the same."""

    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token if keep_strings else token[0] * 2
        return " " + "\n" * token.count("\n")

    return _TOKEN.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def exists(name):
    return os.path.exists(os.path.join(ROOT, name))
