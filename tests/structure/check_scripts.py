"""Checks that are commands of their own: formatting, generated files, an installed copy used by a consumer."""

import os
import re
import shutil
import subprocess

import tree

# Versions of clang-format disagree in details; the tree is formatted with that of Debian 12.
FORMAT_VERSION = "14"

def _run(command):
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True)
    return [] if done.returncode == 0 else [(done.stdout + done.stderr).strip()[-3000:]]


def _clang_format():
    """The major version of clang-format, or nothing where there is none."""
    if not shutil.which("clang-format"):
        return ""
    text = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    return "".join(re.findall(r"version (\d+)", text)[:1])


def check(build):
    if _clang_format() == FORMAT_VERSION:
        yield "files are formatted (make format)", _run(["scripts/format.sh", "--check"])
    else:
        print("  skip  formatting: needs clang-format %s, found %s" % (FORMAT_VERSION, _clang_format() or "none"))
    if tree.exists("tools/gen"):
        yield "generated files are up to date", _run(["scripts/generated.sh", "--check", "--build", build])
    if os.path.exists(os.path.join(build, "libkiln.so")):
        yield "an installed copy serves a consumer", _run(["sh", "tests/structure/check_install.sh", build])
    else:
        yield "an installed copy serves a consumer", ["%s has no libkiln.so; build first" % build]
