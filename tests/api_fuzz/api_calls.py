"""Writes the calls that the API fuzzer draws from: one C function for each public function whose operands it can make, and
one for each struct of settings. Usage: api_calls.py OUTPUT, in the root of the repository. What is left out has a reason in
LEFT_OUT, is called by hand in fuzz_actions.h, or has operands of a type that is not known here; the last are listed at the
end of the output, and the fuzzer tells their number."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "gen"))
import sites  # noqa: E402

HEADERS = ["activation", "contraction", "creation", "elementwise", "functional", "indexing", "linalg", "reduce", "shape",
           "signal", "sort", "spatial", "autodiff", "device", "tensor", "autocast", "nn/losses"]  # fmt: skip

LEFT_OUT = {
    "kn_empty": "its elements have no particular value",
    "kn_empty_like": "its elements have no particular value",
    "kn_print": "prints",
    "kn_shutdown": "ends the process's devices; called between batches",
    "kn_init_static": "must be the first call",
    "kn_memory_limit": "the fuzzer's own bound",
    "kn_memory_fail_after": "drawn around any call",
    "kn_memory_trim": "called by hand",
    "kn_error_code": "its status is the answer, not a failure of its own",
    "kn_set_threads": "changes all later programs",
    "kn_set_reproducible": "changes all later programs",
    "kn_device_close": "called by hand",
    "kn_device_use": "called by hand",
    "kn_device_autodiff": "called by hand",
    "kn_device_cpu": "called by hand",
    "kn_no_grad_begin": "called by hand",
    "kn_no_grad_end": "called by hand",
    "kn_autocast_begin": "called by hand",
    "kn_autocast_end": "called by hand",
    "kn_drop": "called by hand",
    "kn_keep": "called by hand",
    "kn_own": "called by hand",
    "kn_param_make": "called by hand",
    "kn_value": "called by hand",
    "kn_scope_end": "called by hand",
    "kn_scope_begin": "called by hand",
}

DRAWN = {
    "kn_tensor": "draw_tensor(w, \"%s\")",
    "int32_t": "draw_int32(w, \"%s\")",
    "int64_t": "draw_int64(w, \"%s\")",
    "uint32_t": "(uint32_t)draw_int32(w, \"%s\")",
    "uint64_t": "(uint64_t)draw_int64(w, \"%s\")",
    "double": "draw_real(w, \"%s\")",
    "bool": "draw_bool(w, \"%s\")",
    "kn_ints": "draw_ints(w, \"%s\")",
    "kn_shape": "draw_ints(w, \"%s\")",
    "kn_dtype": "draw_dtype_argument(w, \"%s\")",
    "kn_device": "draw_device(w, \"%s\")",
}
_STRUCT = re.compile(r"typedef\s+struct\s+(kn_\w+)\s*\{([^}]*)\}\s*\1\s*;", re.S)
_ENUM = re.compile(r"typedef\s+enum\s+(kn_\w+)\s*\{([^}]*)\}\s*\1\s*;", re.S)


class Library:
    """What the headers declare."""

    def __init__(self):
        self.functions, self.structs, self.enums = [], {}, {}
        for name in sorted(HEADERS):
            text = sites.read("include/kn/%s.h" % name)
            for struct, body in _STRUCT.findall(text):
                self.structs[struct] = fields(body)
            for enum, body in _ENUM.findall(text):
                self.enums[enum] = body.count(",") + 1
            self.functions += [(name, result, parameters(arguments)) for _, result, name, arguments
                               in sites.functions_of(text)
                               if "*" not in result]  # fmt: skip


def fields(body):
    """(type, name, count) of each member; count 0 for what is no array."""
    found = []
    for line in body.split(";"):
        match = re.match(r"\s*(\w+)\s+(.*)", line.strip(), re.S)
        if not match:
            continue
        for part in match.group(2).split(","):
            array = re.match(r"\s*(\w+)\s*(?:\[(\d+)\])?\s*$", part)
            found.append((match.group(1), array.group(1), int(array.group(2) or 0)) if array else None)
    return found


def parameters(text):
    if text.strip() == "void":
        return []
    found = []
    for part in text.split(","):
        match = re.match(r"\s*(.*?)\s*(\w+)\s*$", part, re.S)
        found.append((" ".join(match.group(1).split()), match.group(2)) if match else (part, ""))
    return found


class Writer:
    def __init__(self, library):
        self.library, self.lines, self.made, self.left = library, [], [], []

    def known(self, struct):
        return struct in self.library.structs and all(
            f and (f[0] in DRAWN or f[0] in self.library.enums) for f in self.library.structs[struct])

    def drawn(self, kind, name):
        if kind in DRAWN:
            return DRAWN[kind] % name
        if kind in self.library.enums:
            return "(%s)draw_choice(w, \"%s\", %d)" % (kind, name, self.library.enums[kind])
        return None

    def struct(self, name):
        self.lines += ["static void draw_%s(world *w, %s *s)\n{\n    memset(s, 0, sizeof *s);\n" % (name, name)]
        for kind, field, count in self.library.structs[name]:
            place = "s->%s" % field
            indent = "    if (draw_set(w)) "
            if count:
                indent += "for (int i = 0; i < %d; i++) " % count
                place += "[i]"
            self.lines += ["%s%s = %s;\n" % (indent, place, self.drawn(kind, field))]
        self.lines += ["}\n\n"]

    def argument(self, kind, name, following):
        """The statements that make an operand and the expression for it; None where it cannot be made."""
        variable = "a_" + name
        if self.drawn(kind, name):
            return ["    %s %s = %s;\n" % (kind, variable, self.drawn(kind, name))], [variable]
        if kind == "const char *" and name == "equation":
            return ["    const char *%s = draw_equation(w);\n" % variable], [variable]
        if kind == "const kn_tensor *" and following == "int32_t":
            return ["    kn_tensor %s[LONGEST_LIST];\n" % variable,
                    "    int32_t %s_n = draw_tensors(w, \"%s\", %s);\n" % (variable, name, variable)], \
                   [variable, variable + "_n"]  # fmt: skip
        if kind == "const kn_range *" and following == "int32_t":
            return ["    kn_range %s[LONGEST_RANGES];\n" % variable,
                    "    int32_t %s_n = draw_ranges(w, \"%s\", %s);\n" % (variable, name, variable)], \
                   [variable, variable + "_n"]  # fmt: skip
        pointed = re.match(r"const (kn_\w+) \*$", kind)
        if pointed and self.known(pointed.group(1)):
            struct = pointed.group(1)
            return ["    %s %s_s;\n    const %s *%s = NULL;\n" % (struct, variable, struct, variable),
                    "    if (draw_given(w, \"%s\")) draw_%s(w, &%s_s), %s = &%s_s;\n" % (
                        name, struct, variable, variable, variable)], [variable]  # fmt: skip
        if self.known(kind):
            return ["    %s %s;\n    w->whole = true;\n    draw_%s(w, &%s);\n    w->whole = false;\n" % (
                kind, variable, kind, variable)], [variable]  # fmt: skip
        return None

    def results(self, result):
        if result == "kn_tensor":
            return "    take_result(w, %s);\n"
        if result == "kn_status":
            return "    take_status(w, %s);\n"
        members = self.library.structs.get(result)
        if members and all(f and f[0] == "kn_tensor" and not f[2] for f in members):
            return "    %s r = %%s;\n" % result + "".join("    take_result(w, r.%s);\n" % f[1] for f in members)
        if result in ("bool", "int32_t", "int64_t", "double", "void", "kn_shape", "kn_dtype", "kn_float_limits"):
            return "    (void)%s;\n    ended(w);\n"
        return None

    def function(self, name, result, arguments):
        if name in LEFT_OUT:
            return
        statements, values, skip = [], [], False
        for i, (kind, variable) in enumerate(arguments):
            if skip:
                skip = False
                continue
            made = self.argument(kind, variable, arguments[i + 1][0] if i + 1 < len(arguments) else "")
            if made is None:
                self.left += [name]
                return
            statements += made[0]
            values += made[1]
            skip = len(made[1]) == 2
        outcome = self.results(result)
        if outcome is None:
            self.left += [name]
            return
        call = "%s(%s)" % (name, ", ".join(values))
        self.lines += ["static void call_%s(world *w)\n{\n    begin_call(w, \"%s\");\n" % (name, name)]
        self.lines += statements + ["    go(w);\n", outcome % call, "}\n\n"]
        self.made += [name]

    def write(self, output):
        self.lines += ["/* Old names are drawn too. */\n#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"\n"]
        for name, result, arguments in self.library.functions:
            self.function(name, result, arguments)
        calls, self.lines = self.lines, []
        for name in sorted(self.library.structs):
            if "draw_%s(" % name in "".join(calls):
                self.struct(name)
        self.lines += calls
        self.lines += ["static const api_call api_calls[] = {\n"]
        self.lines += ["    {\"%s\", call_%s},\n" % (name, name) for name in self.made]
        self.lines += ["};\nstatic const int n_left_out = %d;\n" % len(self.left)]
        self.lines += ["/* Not called here: %s */\n" % ", ".join(self.left)]
        with open(output, "w", encoding="utf-8") as file:
            file.write("/* Generated by tests/api_fuzz/api_calls.py at build time. */\n" + "".join(self.lines))


if __name__ == "__main__":
    Writer(Library()).write(sys.argv[1])
