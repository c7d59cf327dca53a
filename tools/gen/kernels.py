#!/usr/bin/env python3
"""Turns the kernel texts of src/ops/kernels/*.kn into C: for each file one generated source that compiles
the text for every element type and wraps each kernel for the launcher, and one header that declares the
kernels. Run from the repository root; the output is committed."""
import pathlib
import re
import sys

SOURCE = pathlib.Path("src/ops/kernels")
TARGET = pathlib.Path("src/ops/generated")
SIGNATURE = re.compile(r"^kernel\s+(\w+)\s*\(([^)]*)\)", re.M)
# The end of the comment above a kernel whose rows take floats alone: it needs no other instance.
FLOATS = "T is a float. */\n"
PARAMETER = re.compile(r"^(?:(in|out|temp|uniform)\s+)?(T|index|real)\s+(\w+)(\[(\d*)\])?$")
INSTANCES = [("f64", "double"), ("i64", "int64_t"), ("u64", "uint64_t")]
FIELD = {"in": "inputs", "out": "outputs", "temp": "temps"}
LETTER = {"T": "T", "index": "i", "real": "r"}


class Kernel:
    """One signature: its buffers by role and its scalars in order."""

    def __init__(self, name, text, path, floats):
        self.name, self.buffers, self.scalars = name, {"in": [], "out": [], "temp": []}, []
        fields = [" ".join(p.split()) for p in text.split(",")]
        if fields[0] != "index item":
            sys.exit(f"{path}: kernel {name}: the first parameter must be 'index item'")
        order = []
        for field in fields[1:]:
            m = PARAMETER.match(field)
            if not m:
                sys.exit(f"{path}: kernel {name}: cannot read parameter '{field}'")
            role, kind, _, brackets, length = m.groups()
            if role in self.buffers:
                self.buffers[role].append(kind)
                order.append((role, len(self.buffers[role]) - 1))
            elif role == "uniform" and length:
                order.append(("array", (kind, int(length))))
            elif role is None and not brackets and kind != "T":
                order.append(("scalar", kind))
            else:
                sys.exit(f"{path}: kernel {name}: parameter '{field}' is neither a buffer nor a scalar")
        self.order = order
        self.typed = any("T" in kinds for kinds in self.buffers.values())
        self.instances = [s for s, _ in INSTANCES if s == "f64" or (self.typed and not floats)]

    def letters(self):
        return "".join(LETTER[k] for role in ("in", "out", "temp") for k in self.buffers[role])

    def arguments(self):
        ints = reals = 0
        parts = []
        for role, what in self.order:
            if role in self.buffers:
                parts.append(f"call->{FIELD[role]}[{what}]")
                continue
            kind, length = (what, 1) if role == "scalar" else what
            place = f"call->ints + {ints}" if kind == "index" else f"call->reals + {reals}"
            parts.append(place if role == "array" else place.replace(" + ", "[") + "]")
            if kind == "index":
                ints += length
            else:
                reals += length
        return ", ".join(parts)


def wrapper(k, suffix):
    name = f"{k.name}_{suffix}"
    return (f"static void run_{name}(const kni_kernel_call *call, int64_t begin, int64_t end)\n{{\n"
            f"    for (int64_t item = begin; item < end; item++)\n"
            f"        {name}(call->error, item, {k.arguments()});\n}}\n")


def generate(path):
    text = path.read_text()
    kernels = [Kernel(m.group(1), m.group(2), path, text[:m.start()].endswith(FLOATS)) for m in SIGNATURE.finditer(text)]
    functions = re.findall(r"^function\s+\w+\s+(\w+)\s*\(", text, re.M)
    lines = [f"/* Generated from {path} by tools/gen/kernels.py; do not edit. */",
             '#include "ops/kernel_prelude.h"', f'#include "ops/generated/{path.stem}_kernels.h"', ""]
    for suffix, ctype in INSTANCES:
        chosen = [k for k in kernels if suffix in k.instances]
        if not chosen:
            continue
        lines += [f"#define T {ctype}"]
        lines += [f"#define IS_FLOAT {int(suffix == 'f64')}"]
        lines += [f"#define {k.name}(item, ...) {k.name}_{suffix}(int64_t *kni_error, item, __VA_ARGS__)" for k in kernels]
        lines += [f"#define {f} {f}_{suffix}" for f in functions]
        lines += [f'#include "ops/kernels/{path.name}"']
        lines += [f"#undef {n}" for n in [k.name for k in kernels] + functions + ["T", "IS_FLOAT"]]
        lines += [""]
        lines += [wrapper(k, suffix) for k in chosen]
    for k in kernels:
        names = [s if k.typed else "f64" for s, _ in INSTANCES]
        runs = [f"run_{k.name}_{s}" if s in k.instances else "NULL" for s in names]
        counts = ", ".join(str(len(k.buffers[r])) for r in ("in", "out", "temp"))
        lines.append(f'const kni_kernel kni_kernel_{k.name} = {{"{k.name}", "{k.letters()}", {counts}, '
                     f'{{{", ".join(runs)}}}}};')
    header = [f"/* Generated from {path} by tools/gen/kernels.py; do not edit. */",
              f"#ifndef KNI_{path.stem.upper()}_KERNELS_H", f"#define KNI_{path.stem.upper()}_KERNELS_H", "",
              '#include "ops/kernel.h"', ""]
    header += [f"extern const kni_kernel kni_kernel_{k.name};" for k in kernels]
    header += ["", "#endif"]
    return "\n".join(lines) + "\n", "\n".join(header) + "\n"


def main():
    TARGET.mkdir(parents=True, exist_ok=True)
    for path in sorted(SOURCE.glob("*.kn")):
        source, header = generate(path)
        (TARGET / f"{path.stem}_kernels.c").write_text(source)
        (TARGET / f"{path.stem}_kernels.h").write_text(header)


if __name__ == "__main__":
    main()
