"""The order of layers: core <- ops <- graph <- ir <- sched <- {kernel, wrap, backend}; what is built on top (nn, optim
and so on) sees only the public headers and the helpers in support, and public headers see only public headers."""

import re

import tree

# For each part of src the parts whose headers it may include, besides its own and the public ones.
_ORDER = ["core", "ops", "graph", "ir", "sched"]
ALLOWED = {part: set(_ORDER[:i]) for i, part in enumerate(_ORDER)}
ALLOWED["wrap"] = set(_ORDER)
ALLOWED["backend"] = set(_ORDER) | {"support"}
ALLOWED["kernel"] = set(_ORDER)
ALLOWED["program"] = set(_ORDER) | {"support"}
ON_TOP = {"nn", "optim", "train", "data", "store", "onnx", "vision", "rl", "text", "metric"}
ALLOWED["support"] = set()
ALLOWED.update({part: {"support"} for part in ON_TOP})
# The table of objects, which every part that makes some uses, what a handle was that names no tensor, the facts of dtypes, the list of devices,
# and the mark of weights that never change.
SHARED = {"core/devices.def", "core/dtype.h", "core/lasting.h", "core/named_call.h", "core/objects.h", "core/past.h", "core/small_types.h", "core/spare_bits.h"}
# What optimisers may use of the system: they are meant to run where there is none. The other parts on top read files and
# run threads, so they may use all of it. Numbers are computed by ops; only reading and reporting them, in data and
# training, may need libm.
LIBC = {"ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h",
        "stdio.h", "stdlib.h", "string.h", "time.h", "regex.h"}
PLAIN_PARTS = {"optim"}
LIBM_PARTS = {"data", "train"}

# A public header needs no more of the C library than a freestanding compiler has (and one C++ header).
PUBLIC_SYSTEM = {"stdbool.h", "stddef.h", "stdint.h", "stdarg.h", "float.h", "limits.h", "initializer_list"}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def includes(name):
    text = tree.bare_c(tree.read(name), keep_strings=True)
    for match in _INCLUDE.finditer(text):
        yield tree.line_of(text, match.start()), match.group(1) == '"', match.group(2)


def _src_problem(part, quoted, target):
    if not quoted:
        if target == "kn.h" or target.startswith("kn/") and tree.exists("include/" + target):
            return ""
        if target.startswith("kn/"):
            return "there is no such public header"
        if part in PLAIN_PARTS and target not in LIBC:
            return "part %s may include <kn/...>, its own headers and the C library (no libm)" % part
        if target == "math.h" and part in ON_TOP - LIBM_PARTS:
            return "part %s does without libm" % part
        return "" if not target.startswith("src/") else "includes src by <>"
    if target.startswith("kn/") or target == "kn.h":
        return "writes a public header with quotes; use <%s>" % target
    if target in SHARED:
        return ""
    other = target.split("/")[0]
    if "/" not in target or other not in ALLOWED:
        return "write the include from src, as in \"core/dtype.h\""
    if other != part and other not in ALLOWED[part]:
        return "layer %s must not see layer %s" % (part, other)
    return ""


# Part, quoted, target and whether it is allowed.
_SAMPLES = [
    ("core", True, "ops/op.h", False), ("ops", True, "core/dtype.h", True), ("backend", True, "wrap/tape.h", False),
    ("nn", True, "nn/module.h", True), ("nn", True, "core/table.h", False), ("nn", True, "core/objects.h", True), ("nn", True, "optim/group.h", False),
    ("nn", False, "kn.h", True), ("nn", False, "kn/tensor.h", True), ("nn", False, "math.h", False),
    ("optim", False, "math.h", False), ("optim", False, "string.h", True), ("optim", False, "pthread.h", False), ("store", False, "math.h", False),
    ("data", False, "math.h", True), ("train", False, "math.h", True), ("train", True, "nn/module.h", False),
    ("core", True, "kn/tensor.h", False), ("core", True, "dtype.h", False),
]


def _self_test():
    for part, quoted, target, allowed in _SAMPLES:
        if (_src_problem(part, quoted, target) == "") != allowed:
            yield "%s including %s is %s" % (part, target, "refused" if allowed else "allowed")


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
    yield "the layer check refuses what it must", list(_self_test())

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
            shared = target.startswith("common/") and tree.exists("examples/" + target)
            beside = name.rsplit("/", 1)[0] + "/" + target
            generated = own + "/generated/" + target
            if quoted and not shared and not tree.exists(own + "/" + target) and not tree.exists(beside) \
                    and not tree.exists(generated):
                problems.append("%s:%d: an example includes %s" % (name, line, target))
    yield "examples use the public headers alone", problems
