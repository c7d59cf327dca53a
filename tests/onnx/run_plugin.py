"""Compiles the operator that docs/onnx.md shows as a plugin of the command line, and runs a model with it all three ways.
Usage: run_plugin.py BUILD_FOLDER"""
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
X = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.0, 1.5]]
WEIGHTS = [0.5, 2.0, -1.0]


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, content):
    content = content if isinstance(content, bytes) else content.encode()
    return varint(number << 3 | 2) + varint(len(content)) + content


def integer(number, value):
    return varint(number << 3) + varint(value)


def model():
    """y, top = my.own.Blend(a, b, c) with three weights along axis 0; tensors of one axis, whose size is n."""
    def value(name, size):
        dim = field(1, field(2, size))
        return field(1, name) + field(2, field(1, integer(1, 1) + field(2, dim)))

    weights = field(5, field(1, "weights") + field(7, struct.pack("<3f", *WEIGHTS)) + integer(20, 6))
    axis = field(5, field(1, "axis") + integer(3, 0) + integer(20, 2))
    node = b"".join(field(1, name) for name in "abc") + field(2, "y") + field(2, "top") + field(4, "Blend") + field(7, "my.own")
    graph = field(1, node + weights + axis) + b"".join(field(11, value(name, "n")) for name in "abc")
    graph += field(12, value("y", "n")) + field(12, value("top", "n"))
    opsets = field(8, integer(2, 21)) + field(8, field(1, "my.own") + integer(2, 1))
    return integer(1, 8) + field(7, graph) + opsets


def expected():
    sums = [sum(w * x[i] for w, x in zip(WEIGHTS, X)) for i in range(3)]
    powers = [math.exp(s - max(sums)) for s in sums]
    return [p / sum(powers) for p in powers] + [max(column) for column in zip(*X)]


def write_npy(path, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head = head.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}f", *values))


PRINTED = '    for (int i = 0; i < 3; i++) printf("%.9g\\n", y[i]);\n    for (int i = 0; i < 3; i++) printf("%.9g\\n", top[i]);\n'
ARRAYS = "".join("static const float %s[3] = {%s};\n" % (name, ", ".join(map(str, x))) for name, x in zip("abc", X))
IMPORTED = """#include "net.h"
#include <stdio.h>
%sint main(void)
{
    float y[3] = {0}, top[3] = {0};
    net m;
    kn_tensor out[2];
    if (net_load(&m, "net.safetensors")) return puts(kn_last_error()), 1;
    if (net_forward(&m, kn_from(a, KN_F32, KN_SHAPE(3)), kn_from(b, KN_F32, KN_SHAPE(3)), kn_from(c, KN_F32, KN_SHAPE(3)), out))
        return puts(kn_last_error()), 1;
    if (kn_read(out[0], y, sizeof y) || kn_read(out[1], top, sizeof top)) return puts(kn_last_error()), 1;
%s    net_free(&m);
    return 0;
}
""" % (ARRAYS, PRINTED)
STANDALONE = """#define net_HEADER
#include "net.c"
#include <stdio.h>
%sint main(void)
{
    float y[3], top[3];
    if (net_run(3, a, b, c, y, top)) return 1;
%s    return 0;
}
""" % (ARRAYS, PRINTED)


class Failure(Exception):
    pass


def run(command, folder):
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(" ".join(map(str, command)) + "\n" + done.stdout + done.stderr)
    return done.stdout


def check(numbers):
    wanted = expected()
    if len(numbers) != len(wanted) or any(abs(a - b) > 1e-6 for a, b in zip(numbers, wanted)):
        raise Failure(f"gives {numbers}, not {wanted}")


class Ways:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.kiln = [build / "kiln", "--plugin", folder / "blend.so"]
        self.link = [f"-L{build}", "-lkiln", "-lm", f"-Wl,-rpath,{build}"]

    def plugin(self):
        page = (ROOT / "docs" / "onnx.md").read_text(encoding="utf-8")
        shown = [text for text in re.findall(r"^```c\n(.*?)^```", page, re.M | re.S) if "kn_plugin" in text]
        (self.folder / "blend.c").write_text(shown[0], encoding="utf-8")
        run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{ROOT}/include", "blend.c", "-o", "blend.so"]
            + self.link, self.folder)
        (self.folder / "model.onnx").write_bytes(model())
        for name, values in zip("abc", X):
            write_npy(self.folder / f"{name}.npy", values)

    def at_run_time(self):
        text = run(self.kiln + ["run", "model.onnx"] + sum([["--input", f"{n}={n}.npy"] for n in "abc"], []), self.folder)
        check([float(number) for line in text.splitlines() for number in line.split("]")[1].split()])

    def imported(self):
        run(self.kiln + ["import", "model.onnx", "-o", ".", "--name", "net"], self.folder)
        (self.folder / "main.c").write_text(IMPORTED, encoding="utf-8")
        run(["cc", "-std=c11", f"-I{ROOT}/include", "main.c", "net.c", "-o", "imported"] + self.link, self.folder)
        check([float(line) for line in run(["./imported"], self.folder).split()])

    def standalone(self):
        run(self.kiln + ["import", "model.onnx", "-o", ".", "--name", "net", "--standalone", "--dim", "n=1..4"], self.folder)
        (self.folder / "alone.c").write_text(STANDALONE, encoding="utf-8")
        run(["cc", "-std=c99", "alone.c", "net.c", "-o", "alone"], self.folder)
        check([float(line) for line in run(["./alone"], self.folder).split()])


def main():
    build = Path(os.path.realpath(sys.argv[1]))
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="kiln-plugin-") as folder:
        ways = Ways(build, Path(folder))
        for way in (ways.plugin, ways.at_run_time, ways.imported, ways.standalone):
            try:
                way()
                passed += 1
            except Failure as failure:
                failed += 1
                print(f"FAILED: {way.__name__}: {failure}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
