"""What the structure checks share: the files of the repository and C text without comments and strings."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE_FOLDERS = ("include", "src", "tools", "tests", "examples", "bench", "scripts", "cmake")
C_FOLDERS = ("include", "src", "tools", "tests", "examples", "bench")
CODE_ENDINGS = (".c", ".h", ".inc", ".def", ".kn", ".py", ".sh", ".js", ".mjs", ".ld", ".cmake")
# Outputs that may lie about in a copy without git (.gitignore names the same).
_IGNORED = (".o", ".a", ".so", ".pyc", ".map", ".gcda", ".gcno", ".profraw")

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def _listed_by_git():
    """What git lists, or nothing where there is no git, no repository, or one that git does not trust."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if not os.path.exists(os.path.join(ROOT, ".git")):
        return []
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True)
    except OSError:
        return []
    return done.stdout.decode().split("\0") if done.returncode == 0 else []


def _found_by_walking():
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f == ".ci" or not f.startswith((".", "build", "__pycache__"))]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names if not n.endswith(_IGNORED)]
    return found


def all_files():
    """Paths, relative to the root, of every file that is tracked or would be."""
    names = _listed_by_git() or _found_by_walking()
    return sorted(n for n in set(names) if n and os.path.isfile(os.path.join(ROOT, n)))


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


if __name__ == "__main__":
    sys.stdout.write("".join(name + "\0" for name in all_files()))
