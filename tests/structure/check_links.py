"""What programs link: only those that define ops by bodies have the parser of bodies and what derives gradients."""

import os
import subprocess

PARTS = ["kni_body_parse", "kni_body_derive", "kni_line_compile"]
WITH = "test_define"
WITHOUT = ["test_custom", "test_reduce", "test_fusion", "test_autodiff"]


def _defined(program):
    lines = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in lines.splitlines()}


def check(build):
    programs = {name: os.path.join(build, "tests", name) for name in [WITH] + WITHOUT}
    missing = ["%s is missing; build first" % p for p in programs.values() if not os.path.exists(p)]
    if missing:
        yield "programs that define ops", missing
        return
    found = _defined(programs[WITH])
    yield "a program that defines ops has the parser of bodies", [p for p in PARTS if p not in found]
    problems = []
    for name in WITHOUT:
        problems += ["%s links %s" % (name, p) for p in PARTS if p in _defined(programs[name])]
    yield "programs that define no ops do not", problems
