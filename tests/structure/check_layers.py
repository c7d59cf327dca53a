"""The order of layers: core <- ops <- graph <- ir <- sched <- {wrap, backend}; what is built on top (nn, optim
and so on) sees only the public headers and the helpers in support, and public headers see only public headers."""

import re

import tree

# For each part of src the parts whose headers it may include, besides its own and the public ones.
_ORDER = ["core", "ops", "graph", "ir", "sched"]
ALLOWED = {part: set(_ORDER[:i]) for i, part in enumerate(_ORDER)}
ALLOWED["wrap"] = set(_ORDER)
ALLOWED["backend"] = set(_ORDER)
ON_TOP = {"nn", "optim", "train", "data", "store", "onnx", "vision", "rl", "text", "metric"}
ALLOWED["support"] = set()
ALLOWED.update({part: {"support"} for part in ON_TOP})

# A public header needs no more of the C library than a freestanding compiler has (and one C++ header).
PUBLIC_SYSTEM = {"stdbool.h", "stddef.h", "stdint.h", "stdarg.h", "float.h", "limits.h", "initializer_list"}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def includes(name):
    text = tree.bare_c(tree.read(name), keep_strings=True)
    for match in _INCLUDE.finditer(text):
        yield tree.line_of(text, match.start()), match.group(1) == '"', match.group(2)


def _src_problem(part, quoted, target):
    if not quoted:
        return "" if not target.startswith("src/") else "includes src by <>"
    if target.startswith("kn/") or target == "kn.h":
        return "writes a public header with quotes; use <%s>" % target
    other = target.split("/")[0]
    if "/" not in target or other not in ALLOWED:
        return "write the include from src, as in \"core/dtype.h\""
    if other != part and other not in ALLOWED[part]:
        return "layer %s must not see layer %s" % (part, other)
    return ""


def check(_build):
    problems = []
    for name in tree.files_in(("src",), (".c", ".h", ".inc")):
        part = name.split("/")[1]
        if part not in ALLOWED:
            problems.append("%s: unknown part of src: %s" % (name, part))
            continue
        for line, quoted, target in includes(name):
            problem = _src_problem(part, quoted, target)
            if problem:
                problems.append("%s:%d: %s: %s" % (name, line, target, problem))
    yield "layers include only what is below them", problems

    problems = []
    for name in tree.files_in(("include",), (".h",)):
        for line, _quoted, target in includes(name):
            if not target.startswith("kn/") and target not in PUBLIC_SYSTEM:
                problems.append("%s:%d: a public header includes %s" % (name, line, target))
    yield "public headers include only public headers", problems

    problems = []
    for name in tree.files_in(("examples",), (".c", ".h")):
        own = "/".join(name.split("/")[:2])
        for line, quoted, target in includes(name):
            if quoted and not tree.exists(own + "/" + target):
                problems.append("%s:%d: an example includes %s" % (name, line, target))
    yield "examples use the public headers alone", problems
