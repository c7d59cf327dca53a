"""Checks that are commands of their own: formatting, generated files, an installed copy used by a consumer."""

import os
import subprocess

import tree

def _run(command):
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True)
    return [] if done.returncode == 0 else [(done.stdout + done.stderr).strip()[-3000:]]


def check(build):
    yield "files are formatted (make format)", _run(["scripts/format.sh", "--check"])
    yield "generated files are up to date", _run(["scripts/generated.sh", "--check", "--build", build])
    if os.path.exists(os.path.join(build, "libkiln.so")):
        yield "an installed copy serves a consumer", _run(["sh", "tests/structure/check_install.sh", build])
        yield "a leaf built against it alone conforms", _run(["sh", "tests/examples/run_backend.sh", build])
    else:
        yield "an installed copy serves a consumer", ["%s has no libkiln.so; build first" % build]
