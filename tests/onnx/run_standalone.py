#!/usr/bin/env python3
"""Runs ONNX's cases as freestanding C: each model.onnx becomes one file with `kiln import --standalone`, is compiled without a library,
called with the case's inputs, and compared with its outputs. Needs a build of Kiln and a C compiler.

    tests/onnx/run_standalone.py FOLDER... [--build build/release] [--filter TEXT] [--sample PERCENT --seed N] [--jobs N]
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

BATCH = 40
SECONDS = 900
ROOT = pathlib.Path(__file__).resolve().parents[2]
# ONNX's numbers of dtypes, as the head of a written file names them.
DTYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32", 13: "u64",
          16: "bf16", 17: "f8_e4m3", 18: "f8_e4m3_fnuz", 19: "f8_e5m2", 20: "f8_e5m2_fnuz", 21: "u4", 22: "i4", 23: "f4_e2m1", 24: "e8m0",
          25: "u2", 26: "i2"}
INTEGERS, BOOL, FLOATS = (6, 7), 9, (1, 10, 11, 16)


# ---- protobuf, as much of it as is asked for

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Pairs of a number and a value: an int, or the bytes of a text, a message or a packed list."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if size is None:
                size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def values_of(data, number):
    return [value for key, value in fields(data) if key == number]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def dims_of(data):
    """Sizes of a TensorProto."""
    dims = []
    for value in values_of(data, 1):
        if isinstance(value, int):
            dims.append(signed(value))
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            dims.append(signed(one))
    return dims


class Port:
    """An input or an output that a model declares."""

    def __init__(self, data):
        self.name = b"".join(values_of(data, 1)).decode()
        self.kind, self.dims = "nothing", None
        for kind in values_of(data, 2):
            for key, value in fields(kind):
                self.kind = {1: "tensor", 4: "sequence", 5: "map", 8: "sparse", 9: "optional"}.get(key, self.kind)
                if key == 1:
                    self.read_tensor(value)

    def read_tensor(self, data):
        for key, value in fields(data):
            if key == 1 and value == 8:
                self.kind = "strings"
            if key == 2:
                self.dims = [self.size(dim) for dim in values_of(value, 1)]

    @staticmethod
    def size(dim):
        known = values_of(dim, 1)
        return signed(known[0]) if known else None


class Tensor:
    """What a file of test data says of its value."""

    def __init__(self, path):
        self.path = path
        data = path.read_bytes()
        try:
            self.dims = dims_of(data)
            types = values_of(data, 2)
            self.name = b"".join(v for v in values_of(data, 8) if isinstance(v, bytes)).decode(errors="replace")
            self.dtype = types[0] if types and isinstance(types[0], int) else 0
        except (IndexError, TypeError):
            self.dims, self.dtype, self.name = [], 0, ""


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.c_name = re.sub(r"\W", "_", folder.name)[:200]
        data = folder / "test_data_set_0"
        count = len(list(data.glob("output_*.pb")))
        self.inputs = [Tensor(data / f"input_{i}.pb") for i in range(len(list(data.glob("input_*.pb"))))]
        self.outputs = [Tensor(data / f"output_{i}.pb") for i in range(count)]
        self.read_model()
        self.reason = None     # why it failed
        self.given = []        # names of inputs that became constants
        self.takes = []        # files of the inputs that the program has
        self.warnings = ""

    def read_model(self):
        model = (self.folder / "model.onnx").read_bytes()
        graph = b"".join(values_of(model, 7))
        constants = {b"".join(values_of(x, 8)) for x in values_of(graph, 5)}
        self.ports = [Port(x) for x in values_of(graph, 11)]
        if len(self.ports) != len(self.inputs):
            self.ports = [p for p in self.ports if p.name.encode() not in constants]
        nodes = values_of(graph, 1)
        functions = values_of(model, 25)
        self.many = len(nodes) > 1 or bool(functions)

    def pairs(self):
        return list(zip(self.ports, self.inputs))

    def tries(self):
        """Which inputs become constants: none, then those that can carry shapes, axes or pads, then others that a program may need."""
        pairs = self.pairs()
        sets = [[]]
        for test in (lambda p, t: t.dtype in INTEGERS and len(t.dims) <= 1,
                     lambda p, t: t.dtype in INTEGERS,
                     lambda p, t: t.dtype in INTEGERS or t.dtype == BOOL and len(t.dims) <= 1,
                     lambda p, t: t.dtype in INTEGERS or t.dtype in FLOATS and len(t.dims) <= 1):
            names = [(p.name, t) for p, t in pairs if p.kind == "tensor" and test(p, t)]
            if names not in sets:
                sets.append(names)
        return sets

    def convert(self, kiln, folder):
        """Writes folder/NAME.c; self.reason says why not."""
        first = None
        for given in self.tries():
            names = {name for name, _ in given}
            command = [str(kiln), "import", str(self.folder / "model.onnx"), "-o", str(folder), "--name", self.c_name, "--standalone"]
            for name, tensor in given:
                command += ["--value", f"{name}={tensor.path}"]
            self.takes = []
            for port, tensor in self.pairs():
                if port.name in names:
                    continue
                self.takes.append(tensor)
                for axis, (size, now) in enumerate(zip(port.dims or [], tensor.dims)):
                    if size is None:
                        command += ["--dim", f"{port.name}.{axis}={now}"]
            done = run(command)
            if done.returncode == 0:
                self.given = sorted(names)
                return self.read_head(folder / f"{self.c_name}.c")
            first = first or last_line(done.stderr) or f"kiln import ended with {done.returncode}"
            if done.returncode < 0:
                first = f"kiln import crashed with signal {-done.returncode}"
                break
        self.reason = "import: " + first
        return None

    def read_head(self, path):
        """Checks what the written program takes and gives with the files."""
        with open(path, encoding="utf-8") as file:
            head = file.read(60000).split("*/")[0]
        ports = re.findall(r"^   (in|out)(\d+)\w*: (?:not read|(\w+)\[(.*?)\])$", head, re.M)
        ins = [p for p in ports if p[0] == "in"]
        outs = [p for p in ports if p[0] == "out"]
        if any(p.kind == "optional" for p in self.ports):
            self.reason = "an input is an optional, which a program leaves out"
        elif re.search(r"^   \w+_size: ", head, re.M):
            self.reason = "the program has open sizes although all were given"
        elif len(ins) != len(self.takes) or len(outs) != len(self.outputs):
            self.reason = f"the program takes {len(ins)} and gives {len(outs)}, the case has {len(self.takes)} and {len(self.outputs)}"
        for place, port, tensor in [("input", p, t) for p, t in zip(ins, self.takes)] + \
                                   [("output", p, t) for p, t in zip(outs, self.outputs)]:
            if self.reason or place == "input" and not port[2]:
                continue
            dims = [int(x) if x.strip().isdigit() else x for x in port[3].split(",")] if port[3] else []
            if port[2] != DTYPES.get(tensor.dtype):
                self.reason = f"{place} dtype: the program has {port[2]}, the case {DTYPES.get(tensor.dtype)}"
            elif dims != tensor.dims:
                self.reason = f"{place} shape: the program has {dims}, the case {tensor.dims}"


def run(command, seconds=SECONDS):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no end after {seconds} s")


def last_line(text):
    lines = [x for x in text.strip().splitlines() if x.strip()]
    return lines[0].replace("kiln import: ", "")[:400] if lines else ""


# ---- the program that calls a batch

DRIVER = r"""
#include <kn.h>
#include <kn/onnx.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, GUARD = 64 };
typedef struct one {
    const char *const *in, *const *out;
    int n_in, n_out, many;
    int (*call)(void **in, void **out);
} one;

/* Memory for the elements with bytes behind them that nobody may change. */
static unsigned char *room(size_t bytes)
{
    unsigned char *p = malloc(bytes + GUARD);
    if (p) memset(p, 0xa5, bytes + GUARD);
    return p;
}

static kn_tensor read_file(const char *path)
{
    kn_onnx_value v = kn_onnx_value_read(path, NULL);
    kn_tensor t = v ? kn_keep(kn_onnx_value_as_tensor(v)) : KN_NONE;
    if (v) kn_onnx_value_free(v);
    return t;
}

/* The place of a 16-bit float among all of them. */
static int rank_of(uint16_t bits) { return bits & 0x8000 ? -(bits & 0x7fff) : bits; }

static int compare(const one *c, int k, kn_tensor expected, const unsigned char *got, const unsigned char *want, size_t bytes)
{
    kn_dtype dtype = kn_dtype_of(expected);
    int64_t n = kn_count(expected);
    if (!kn_dtype_is_float(dtype)) {
        if (!bytes || !memcmp(got, want, bytes)) return 0;
        size_t size = bytes / (size_t)n, at = 0;
        while (!memcmp(got + at * size, want + at * size, size)) at++;
        int64_t a = 0, b = 0;
        memcpy(&a, got + at * size, size), memcpy(&b, want + at * size, size);
        printf("output %d: element %zu is %lld, not %lld", k, at, (long long)a, (long long)b);
        return 1;
    }
    double *a = malloc((size_t)n * sizeof *a + 1), *b = malloc((size_t)n * sizeof *b + 1);
    kn_tensor mine = kn_from(got, dtype, kn_shape_of_tensor(expected));
    if (!a || !b || (n && (kn_read_as(mine, KN_F64, a, (size_t)n * sizeof *a) ||
                           kn_read_as(expected, KN_F64, b, (size_t)n * sizeof *b))))
        return printf("output %d cannot be compared: %s", k, kn_last_error()), 1;
    double least = INFINITY, most = -INFINITY, worst = 0;
    int64_t bad = -1;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(b[i])) least = fmin(least, b[i]), most = fmax(most, b[i]);
        if ((isnan(a[i]) && isnan(b[i])) || a[i] == b[i]) continue;
        double off = fabs(a[i] - b[i]);
        if (off > worst || isnan(off)) worst = isnan(off) ? INFINITY : off;
        uint16_t x = 0, y = 0;
        if (bytes == 2 * (size_t)n) memcpy(&x, got + 2 * i, 2), memcpy(&y, want + 2 * i, 2);
        bool near = off <= 1e-7 + 1e-3 * fabs(b[i]) ||
                    (bytes == 2 * (size_t)n && isfinite(off) && abs(rank_of(x) - rank_of(y)) <= 1);
        if (!near && bad < 0) bad = i;
    }
    if (bad < 0 || (c->many && worst <= 1e-3 * (most - least))) return 0;
    printf("output %d: element %lld is %.9g, not %.9g", k, (long long)bad, a[bad], b[bad]);
    return 1;
}

static int run_case(const one *c)
{
    void *in[MOST], *out[MOST];
    kn_tensor expected[MOST];
    size_t bytes[MOST];
    for (int i = 0; i < c->n_in; i++) {
        kn_tensor t = read_file(c->in[i]);
        size_t n = (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t));
        if (!kn_ok(t) || !(in[i] = room(n)) || kn_read(t, in[i], n))
            return printf("input %d: %s", i, kn_last_error()), 1;
    }
    for (int k = 0; k < c->n_out; k++) {
        expected[k] = read_file(c->out[k]);
        bytes[k] = (size_t)kn_dtype_bytes(kn_dtype_of(expected[k]), kn_count(expected[k]));
        if (!kn_ok(expected[k]) || !(out[k] = room(bytes[k]))) return printf("output %d: %s", k, kn_last_error()), 1;
    }
    int code = c->call(in, out);
    if (code) return printf("the program returned %d", code), 1;
    for (int k = 0; k < c->n_out; k++) {
        for (int g = 0; g < GUARD; g++)
            if (((unsigned char *)out[k])[bytes[k] + (size_t)g] != 0xa5)
                return printf("output %d: bytes behind its end were written", k), 1;
        unsigned char *want = malloc(bytes[k] + 1);
        if (!want || kn_read(expected[k], want, bytes[k])) return printf("output %d: %s", k, kn_last_error()), 1;
        if (compare(c, k, expected[k], out[k], want, bytes[k])) return 1;
    }
    return printf("ok"), 0;
}

static const one cases[];
static const int n_cases;

int main(void)
{
    for (int i = 0; i < n_cases; i++) {
        printf("\n%d\t", i);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            setrlimit(RLIMIT_CPU, &(struct rlimit){240, 240}); /* not of the clock: the machine may be busy */
            run_case(&cases[i]);
            fflush(stdout);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0) printf("no process");
        else if (WIFSIGNALED(status)) printf("the program ended by signal %d", WTERMSIG(status));
        fflush(stdout);
    }
    printf("\n");
    return 0;
}
"""


def c_text(path):
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def driver_text(cases):
    head, main = DRIVER.split("static const one cases[];")
    parts = []
    for case in cases:
        parts.append(f'#define {case.c_name}_HEADER\n#include "{case.c_name}.c"\n')
    parts.append(head)
    rows = []
    for i, case in enumerate(cases):
        arguments = ", ".join([f"in[{k}]" for k in range(len(case.takes))] + [f"out[{k}]" for k in range(len(case.outputs))])
        parts.append(f"static int call_{i}(void **in, void **out)\n{{\n    (void)in, (void)out;\n"
                     f"    return {case.c_name}_run({arguments});\n}}\n")
        for kind, files in (("in", case.takes), ("out", case.outputs)):
            texts = ", ".join([c_text(t.path) for t in files] + ["0"])
            parts.append(f"static const char *const {kind}_{i}[] = {{{texts}}};\n")
        rows.append(f"    {{in_{i}, out_{i}, {len(case.takes)}, {len(case.outputs)}, {int(case.many)}, call_{i}}},\n")
    parts.append("static const one cases[] = {\n" + "".join(rows) + "};\n")
    parts.append(f"static const int n_cases = {len(cases)};\n")
    return "".join(parts) + main.replace("static const int n_cases;", "")


class Runner:
    def __init__(self, arguments):
        build = pathlib.Path(arguments.build).resolve()
        self.build = build
        self.kiln = build / "kiln"
        self.cc = shlex.split(arguments.cc)
        self.flags = ["-std=c99", "-O0", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-c"]

    def batch(self, cases, folder):
        good = []  # kiln import makes the folder
        for case in cases:
            case.convert(self.kiln, folder)
            if case.reason:
                continue
            done = run(self.cc[:1] + self.flags + self.cc[1:] + [str(folder / f"{case.c_name}.c"), "-o", str(folder / f"{case.c_name}.o")])
            if done.returncode:
                error = re.search(r"error: (.*)", done.stderr)
                case.reason = "compiler: " + (error.group(1) if error else done.stderr[:300])
            else:
                good.append(case)
        if good:
            self.call(good, folder)
        return cases

    def call(self, cases, folder):
        (folder / "driver.c").write_text(driver_text(cases), encoding="utf-8")
        program = folder / "driver"
        done = run(self.cc + ["-std=gnu11", "-O1", f"-I{ROOT / 'include'}", f"-I{self.build / 'include'}", str(folder / "driver.c")] +
                   [str(folder / f"{c.c_name}.o") for c in cases] +
                   [f"-L{self.build}", "-lkiln", f"-Wl,-rpath,{self.build}", "-lm", "-o", str(program)])
        if done.returncode:
            for case in cases:
                case.reason = "driver: " + done.stderr.strip()[:300]
            return
        done = run([str(program)], SECONDS * len(cases))
        results = dict(re.findall(r"^(\d+)\t(.*)$", done.stdout, re.M))
        for i, case in enumerate(cases):
            result = results.get(str(i), "the driver ended before it: " + done.stderr[-200:])
            if result != "ok":
                case.reason = "run: " + (result or "the program ended without a word")


def report(cases, verbose):
    groups = collections.defaultdict(list)
    for case in cases:
        if case.reason:
            kind = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", case.reason)
            groups[re.sub(r"-?\d[\d.e+-]*", "#", kind)].append(case)
    for group in sorted(groups.values(), key=len):
        print(f"\n{len(group)} failed: {group[0].reason}")
        for case in group:
            print(f"    {case.name}" + (f"   {case.reason}" if verbose else ""))
    good = [c for c in cases if not c.reason]
    given = [c for c in good if c.given]
    print(f"\nof those that passed, {len(given)} had inputs that became constants, {sum(not c.takes for c in given)} all of them")
    print(f"{len(good)} passed, {len(cases) - len(good)} failed")
    return len(good) < len(cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    parser.add_argument("--cc", default="cc", help="the compiler, with options of its own: \"cc -O2\" for large models")
    parser.add_argument("--filter", default="")
    parser.add_argument("--sample", type=float, default=100, help="percent of the cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="a folder that the written files stay in")
    parser.add_argument("--verbose", action="store_true", help="the reason of every failure")
    arguments = parser.parse_args()
    found = sorted({m.parent for f in arguments.folders for m in pathlib.Path(f).resolve().rglob("model.onnx")})
    found = [f for f in found if arguments.filter in f.name and (f / "test_data_set_0").is_dir()]
    if arguments.sample < 100:
        count = max(1, round(len(found) * arguments.sample / 100)) if found else 0
        found = sorted(random.Random(arguments.seed).sample(found, count))
    if not found:
        print("no case was found: a case is a folder with model.onnx and test_data_set_0\n0 passed, 1 failed")
        return 1
    cases = [Case(f) for f in found]
    names = collections.Counter()
    for case in cases:  # two folders may have a case of the same name
        names[case.c_name] += 1
        if names[case.c_name] > 1:
            case.c_name += f"_again{names[case.c_name]}"
    folder = pathlib.Path(arguments.keep or tempfile.mkdtemp(prefix="kiln-standalone-"))
    runner = Runner(arguments)
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            batches = [cases[i:i + BATCH] for i in range(0, len(cases), BATCH)]
            list(pool.map(lambda item: runner.batch(item[1], folder / f"batch{item[0]}"), enumerate(batches)))
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return report(cases, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
