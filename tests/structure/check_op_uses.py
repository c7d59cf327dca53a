"""What the library knows of an op stands in its row. Outside src/ops an op is named only in the native table of a backend and in
the few places listed below with their reasons; and who a backend is says its traits, never its name.

A use is whatever singles an op out: its row or number, its gradient, the CPU's entry of its row, its name or number in a
comparison or a table, and outside of its kernels its attributes. Calling kn_add() is no use: that computes, as any program does.

Usage: python3 tests/structure/check_op_uses.py prints every use, also those in the tables."""

import glob
import os
import re
import sys

import tree

# The native table of each backend: where the backend says which ops it has kernels for. `cuda` and `opencl` are drivers of
# `gpu` and have none. The CPU's is the column `native` of the rows themselves, so that a linker drops what a program does not call;
# each entry is defined beside its kernel as kni_cpu_<op>. `ref` runs bodies, lowerings and reference kernels, and has no table.
NATIVE_TABLES = {"gpu": "src/backend/gpu/gpu_native.c"}

LIMIT = 6
# Uses that stay: (file, op), how many there are, and the reason.
EXCUSED = {
    ("src/wrap/fusion.c", "cast"): (1, "a view of elements that wait in the queue and do not lie in order needs a copy: the "
                                       "queue makes its record, a cast to the same dtype"),
}

# Parts that see rows. Those on top see public headers alone: there an op is a function that they call.
_INSIDE = ("core", "graph", "ir", "sched", "kernel", "wrap", "backend", "support")
# A backend's name stands where the backend is defined, in the registry, and as the name of a language that users ask for.
_REGISTRY = "src/wrap/device_open.c"
_NUMBERED = "src/core/devices.def"
_COMPARES = r"\b(?:strcmp|strncmp|strcasecmp|memcmp|strstr|\w*(?:same|equal|equals|is_word|by_name|op_find))\s*\("
_LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
_OP_SIDE = re.compile(r"\b(?:row|op|record|made_by|info)\b|op_name")
_LOOKUPS = re.compile(r'\b(?:kni_op_by_name|kn_op_find|kn_call|kn_call_many)\s*\(\s*"(\w+)"')
_NUMBERS = re.compile(r"(?:(?:->|\.)(?:op|number|made_by)|\bop)\s*[!=]=\s*\d{2,}|\bkni_op_by_number\s*\(\s*\d|"
                      r"\bswitch\s*\([^;{]*(?:->|\.)(?:op|made_by)\s*\)")
# A part of a name, compared: strstr(row->name, "_grad"), row->name[0] == 's', strncmp(kn_device_name(d), "auto", 4).
_ROW_TEXT = r"\b(?:row|op)(?:->|\.)(?:name|doc)\b|\bkn_backend_op_name\s*\([^()]*\)"
_DEVICE_TEXT = r"\bkn_device_name\s*\([^()]*\)|\b(?:backend|leaf|tape|queue|inner\[\w+\]|b|d|device)(?:->|\.)name\b"


def _parts_of(text_of):
    between = r'(?:[^()";{}]|\([^()"]*\))*?'
    return re.compile(_COMPARES + between + "(?:" + text_of + ")" + between + r'("(?:\\.|[^"\\\n])*")|'
                      + r"(?:" + text_of + r")\s*\[[^\]]*\]\s*[!=]=\s*('[^']+')")


_ROW_PARTS, _DEVICE_PARTS = _parts_of(_ROW_TEXT), _parts_of(_DEVICE_TEXT)
# A macro that makes an op's symbol of an argument hides which; over all ops (ops.def) it names none.
_PASTED = re.compile(r"\b(?:kni_op_|KNI_OP_|kni_gradient_)\s*##")


def _read_all(pattern):
    return "\n".join(tree.read(os.path.relpath(n, tree.ROOT)) for n in sorted(glob.glob(os.path.join(tree.ROOT, pattern))))


def op_names(pattern="src/ops/*.def"):
    return re.findall(r"^KN_OP\(\d+, (\w+),", _read_all(pattern), re.M)


def words():
    """Words of bodies, which the kernel language and the schedules share."""
    return set(re.findall(r"^WORD\d\((\w+),", tree.read("src/ops/scalar_words.def"), re.M))


def backend_names():
    table = re.search(r"openers\[\w*\] = \{(.*?)\n\};", tree.read(_REGISTRY), re.S).group(1)
    return re.findall(r'\{"(\w+)"', table) + re.findall(r"^DEVICE\((\w+),", tree.read(_NUMBERED), re.M)


def _is_kernel(name, bare, op):
    """Whether the file holds a backend's kernel of the op, or a part of it."""
    file = os.path.basename(name)
    return name.startswith("src/backend/") and (
        file.startswith(op + "_") or bool(re.search(r"\bconst kni_native kni_cpu_|\bkni_gpu_run_\w+\(", bare)))


class Finder:
    def __init__(self):
        names = op_names()
        # Rows of system.def compute nothing: "drop" in a text is the function of core.
        self.names = set(names) - set(op_names("src/ops/system.def"))
        self.words, self.backends = words(), backend_names()
        one = "(" + "|".join(sorted(names, key=len, reverse=True)) + ")"
        self.symbol = re.compile(r"\b(?:kni_op_|KNI_OP_|kni_gradient_)" + one + r"\b")
        self.entry = re.compile(r"(?:&\s*kni_cpu_%s\b|\bkni_cpu_%s\s*\.|[!=]=\s*kni_gpu_run_%s\b)" % (one, one, one))
        self.attributes = re.compile(r"\bkni_%s_attributes\b" % one)
        self.backend = re.compile(
            _COMPARES + r'[^;]*?"(?:%s)[(:]?"' % "|".join(self.backends))
        # Names that mean nothing else than a backend.
        self.plain_backend = re.compile(r'"(%s)[(:]?"' % "|".join(
            n for n in self.backends if n not in ("nan", "null", "check", "trace", "profile")))

    def _names_op(self, before, literal, part):
        """Whether a literal that is an op's name stands for the op. before: the statement up to it. Backends give their kernels
        such names, so that there only comparisons and tables count."""
        called = re.findall(_COMPARES + r"[^;{}]*$", before)
        if called and _OP_SIDE.search(called[-1]):
            return True
        if literal in self.words or part not in _INSIDE or part == "ir":
            return False
        return part != "backend" or bool(called) or bool(re.search(r"\]\s*=\s*\{[^=]*$", before))

    def ops(self, name, text):
        """(line, op, what stands there) of each use in the text of a file."""
        part = name.split("/")[1] if name.startswith("src/") else "tools"
        bare = tree.bare_c(text)
        for pattern in (self.symbol, self.entry):
            for match in pattern.finditer(bare):
                yield tree.line_of(bare, match.start()), next(g for g in match.groups() if g), match.group(0)
        for match in self.attributes.finditer(bare):
            if not _is_kernel(name, bare, match.group(1)):
                yield tree.line_of(bare, match.start()), match.group(1), match.group(0)
        for match in _NUMBERS.finditer(bare):
            yield tree.line_of(bare, match.start()), "?", match.group(0)
        for match in _PASTED.finditer(bare) if not re.search(r'#include "ops/\w+\.def"', text) else ():
            yield tree.line_of(bare, match.start()), "?", match.group(0)
        kept = tree.bare_c(text, keep_strings=True)
        for match in _ROW_PARTS.finditer(kept):
            if (match.group(1) or match.group(2))[1:-1] not in self.names:
                yield tree.line_of(kept, match.start()), "?", match.group(0)
        lookups = {match.start(1): match.group(1) for match in _LOOKUPS.finditer(kept)}
        for match in _LITERAL.finditer(kept):
            literal = match.group(0)[1:-1]
            if literal not in self.names:
                continue
            before = kept[:match.start()].rsplit(";", 1)[-1]
            if match.start() + 1 in lookups or self._names_op(before, literal, part):
                yield tree.line_of(kept, match.start()), literal, before.strip()[-40:] + match.group(0)

    def backends_in(self, name, text):
        kept = tree.bare_c(text, keep_strings=True)
        for match in self.backend.finditer(kept):
            yield tree.line_of(kept, match.start()), " ".join(match.group(0).split())
        for match in _DEVICE_PARTS.finditer(kept):
            yield tree.line_of(kept, match.start()), " ".join(match.group(0).split())
        for match in self.plain_backend.finditer(kept):
            own = "src/backend/%s/" % match.group(1), "src/wrap/%s.c" % match.group(1)
            if not name.startswith(own):
                yield tree.line_of(kept, match.start()), match.group(0)


def sources():
    """C files that are part of the library or of its tools: neither generated nor tests. `kiln conform` and `kiln bench` are
    the tests and benchmarks of single ops, and of single devices."""
    for name in tree.files_in(("src", "tools"), (".c", ".h", ".inc")):
        if "/generated/" in name or re.match(r"tools/kiln/(conform|bench|command_(conform|bench))", name):
            continue
        yield name


def uses(finder):
    for name in sources():
        if not name.startswith("src/ops/"):
            for line, op, what in finder.ops(name, tree.read(name)):
                yield name, line, op, what


_FILE = "src/graph/sample.c"
# A file, a text and how many uses of ops it has.
_SAMPLES = [
    (_FILE, "if (r->op == KNI_OP_cast) return;", 1),
    (_FILE, "const kn_op *row = &kni_op_softmax;", 1),
    (_FILE, "/* KNI_OP_cast */ int kni_op_now;", 0),
    (_FILE, 'return !strcmp(row->name, "add");', 1),
    (_FILE, 'return kni_op_by_name("add") == row;', 1),
    (_FILE, 'static const char *const names[] = {"softmax", "log_softmax"};', 2),
    (_FILE, 'kni_ir_word(b, "add", x, y);', 0),
    (_FILE, 'y = kn_call("add", in, 2, NULL);', 1),
    (_FILE, "y = kn_add(a, b);", 0),
    (_FILE, "if (r->op == 127) return;", 1),
    (_FILE, 'return strstr(r->row->name, "_grad") != NULL;', 1),
    (_FILE, 'return !strncmp(row->name, "soft", 4);', 1),
    (_FILE, "return row->name[0] == 's';", 1),
    (_FILE, 'return kni_fail(KN_ERROR_SHAPE, "kn_%s: no", row->name);', 0),
    (_FILE, "switch (r->op) { default: break; }", 1),
    (_FILE, "#define IS(name) (r->op == KNI_OP_##name)\n", 1),
    (_FILE, '#define KN_OP(number, name, ...) &kni_op_##name,\n#include "ops/ops.def"\n', 0),
    (_FILE, "const kni_embedding_attributes *a = r->attributes;", 1),
    (_FILE, "kni_gradient_fn f = kni_gradient_exp;", 1),
    ("src/backend/cpu/sample.c", "const kni_native kni_cpu_softmax = {.run = run_softmax};", 0),
    ("src/backend/cpu/sample.c", "return row->native == &kni_cpu_softmax;", 1),
    ("src/backend/cpu/sample.c", "const kni_embedding_attributes *a = r->attributes;", 1),
    ("src/backend/cpu/embedding_sample.c", "const kni_embedding_attributes *a = r->attributes;", 0),
    ("src/backend/gpu/sample.c", "kn_status kni_gpu_run_conv(void) { const kni_conv_attributes *a; }", 0),
    ("src/backend/gpu/sample.c", "return run == kni_gpu_run_conv;", 1),
    ("src/backend/gpu/sample.c", 'static const char *const names[] = {"softmax"};', 1),
    ("src/backend/cuda/sample.c", 'kernel = find(key, "attention");', 0),
    ("src/ir/sample.c", 'if (!strcmp(name, "add")) return;', 0),
    ("src/train/sample.c", 'json_number(text, "mean", mean);', 0),
    ("src/train/sample.c", 'return !strcmp(info.op, "mean");', 1),
]
# The same for names of backends, and whether it has any.
_BACKEND_SAMPLES = [
    ("src/core/sample.c", 'return !strcmp(b->name, "autodiff");', True),
    ("src/nn/sample.c", 'return strstr(name, "autodiff") != NULL;', True),
    ("src/train/sample.c", 'static const char *const leaves[] = {"cpu", "ref"};', True),
    ("src/wrap/autodiff.c", 'return kni_decorator_new("autodiff", 0, inner);', False),
    ("src/backend/cpu/cpu.c", '.name = "cpu",', False),
    ("src/store/sample.c", 'kni_buffer_text(out, "null");', False),
    ("src/core/sample.c", 'return !strcmp(b->name, "nan");', True),
    ("src/nn/sample.c", 'return !strncmp(kn_device_name(device), "auto", 4);', True),
    ("src/core/sample.c", "return d->leaf->name[0] == 'c';", True),
    ("src/core/sample.c", "return !strcmp(d->name, name);", False),
]


def _self_test(finder):
    for name, text, count in _SAMPLES:
        found = list(finder.ops(name, text))
        if len(found) != count:
            yield "%s: %s: found %d uses, not %d" % (name, text, len(found), count)
    for name, text, found_at_all in _BACKEND_SAMPLES:
        found = list(finder.backends_in(name, text))
        if bool(found) != found_at_all:
            yield "%s: %s: found %s" % (name, text, found)


def check(_build):
    finder = Finder()
    seen, problems = {}, []
    for name, line, op, what in uses(finder):
        if name in NATIVE_TABLES.values():
            continue
        seen[name, op] = seen.get((name, op), 0) + 1
        if seen[name, op] > EXCUSED.get((name, op), (0, ""))[0]:
            problems.append("%s:%d: names the op %s (%s): say it by a column of the row, or in the backend's native table"
                            % (name, line, op, " ".join(what.split())))
    problems += ["%s names %s %d times and not %d: correct the list" % (place + (seen.get(place, 0), count))
                 for place, (count, _reason) in EXCUSED.items() if seen.get(place, 0) < count]
    excused = sum(count for count, _reason in EXCUSED.values())
    if excused > LIMIT:
        problems.append("%d uses are excused, %d may be" % (excused, LIMIT))
    yield "ops are named in src/ops and in native tables", problems

    problems = []
    for name in sources():
        if name in (_REGISTRY, _NUMBERED) or name.startswith("src/ir/dialect_"):
            continue
        problems += ["%s:%d: knows a backend by its name: %s: ask for its traits" % (name, line, what)
                     for line, what in finder.backends_in(name, tree.read(name))]
    yield "no backend is known by its name outside its definition", problems
    missing = [table for table in NATIVE_TABLES.values() if not tree.exists(table)]
    yield "the check of uses finds what it must", list(_self_test(finder)) + missing


def main():
    sys.dont_write_bytecode = True
    count = 0
    for name, line, op, what in uses(Finder()):
        kind = "table" if name in NATIVE_TABLES.values() else "excused" if (name, op) in EXCUSED else "use"
        count += kind != "table"
        print("%-7s %s:%d: %s: %s" % (kind, name, line, op, what))
    print("%d uses outside src/ops and the native tables" % count)


if __name__ == "__main__":
    main()
