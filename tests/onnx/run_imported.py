#!/usr/bin/env python3
"""Writes ONNX cases as C with `kiln import`, compiles and runs what was written, and compares its results with the expected ones.

    tests/onnx/run_imported.py --build build/release FOLDER...

A case is a folder with model.onnx and test_data_set_0/input_*.pb, output_*.pb. Sizes stay open; where a model needs to know numbers, inputs
of whole numbers are given their values, then all small inputs. Sequences, strings and optionals are none of a program's: such cases
fail. Needs a C compiler and python3 alone."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INTEGERS = {2, 3, 4, 5, 6, 7, 9, 12, 13, 21, 22}  # numbers of element types in ONNX, bool among them
BATCH = 40

# ---- as much of ONNX's files as is asked here


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
    """(number, value) of a message: a whole number, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        else:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def all_of(data, number):
    return [value for key, value in fields(data) if key == number]


def first_of(data, number, otherwise=b""):
    return next((value for key, value in fields(data) if key == number), otherwise)


def text_of(data, number):
    return bytes(first_of(data, number)).decode("utf-8", "replace")


def small_list(path):
    """Whether a file holds a tensor of rank 0 or 1 with few elements."""
    dims = []
    for key, value in fields(memoryview(path.read_bytes())):
        if key == 1:
            if isinstance(value, int):
                dims.append(value)
            else:
                at = 0
                while at < len(value):
                    size, at = varint(value, at)
                    dims.append(size)
    return len(dims) == 0 or (len(dims) == 1 and dims[0] <= 64)


class Case:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.sets = sorted(folder.glob("test_data_set_*"))
        graph = first_of(memoryview((folder / "model.onnx").read_bytes()), 7)
        weights = {text_of(w, 8) for w in all_of(graph, 5)}
        self.inputs = []  # name, element type (0: no tensor), number of its file
        ports = all_of(graph, 11)
        free = [port for port in ports if text_of(port, 1) not in weights]
        files = len(list(self.sets[0].glob("input_*.pb"))) if self.sets else 0
        for number, port in enumerate(ports if files == len(ports) else free):  # some folders have files for weights too
            if text_of(port, 1) not in weights:
                self.inputs.append((text_of(port, 1), first_of(first_of(first_of(port, 2), 1), 1, 0), number))
        self.outputs = len(all_of(graph, 12))
        self.many = len(all_of(graph, 1)) > 1
        self.given, self.reason = set(), None

    def file(self, number):
        return self.sets[0] / f"input_{number}.pb"

    def choices(self):
        """Sets of inputs to give values to, the fewest first; the message of the last failure is sent in."""
        there = [(n, e, self.file(n_file)) for n, e, n_file in self.inputs if self.file(n_file).exists()]
        message = yield set()
        yield {n for n, e, f in there if f"'{n}'" in message and e in INTEGERS}
        yield {n for n, e, f in there if e in INTEGERS and small_list(f)}
        yield {n for n, e, f in there if small_list(f)}
        yield {n for n, e, f in there if e in INTEGERS}
        yield {n for n, e, f in there if e in INTEGERS or small_list(f)}
        yield {n for n, e, f in there}


def write(case, kiln, folder, name):
    """Tries to write the case as C; the reason of the first failure is the case's where all fail."""
    choices, tried, message = case.choices(), [], None
    while True:
        try:
            given = choices.send(message)
        except StopIteration:
            return
        if given in tried:
            message = message or ""
            continue
        tried.append(given)
        command = [kiln, "import", str(case.folder / "model.onnx"), "-o", str(folder), "--name", name]
        for text, _, number in case.inputs:
            if text in given:
                command += ["--value", f"{text}={case.file(number)}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300)
            if done.returncode == 0:
                case.given, case.reason = given, None
                takes = re.search(name + r"_forward\(([^;]*)\);", (folder / f"{name}.h").read_text())[1].split(",")
                has = 1 + len(case.inputs) - len(given) + (case.outputs != 1)
                if len(takes) != has:
                    case.reason = "import: the function takes other inputs than the model"
                return
            message = done.stderr.strip() or f"import ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            message = "import took too long"
        case.reason = case.reason or "import: " + message


# ---- the program of a batch

DRIVER = r"""
#define KN_NO_SITES 1
#include "onnx_cases.h"
#include <kn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct one_case {
    const char *name, *model, *weights;
    bool many;
    int n_sets, n_in, n_out;
    const char *const *sets;
    const int *files;
    kn_status (*load)(const char *path);
    void (*forward)(const kn_tensor *in, kn_tensor *out);
} one_case;

@FUNCTIONS@

static const one_case cases[] = {@TABLE@};

static bool run_set(const one_case *c, const char *set, kn_onnx model, char *reason)
{
    kn_tensor in[64] = {{0}}, out[64] = {{0}};
    char path[4096];
    for (int i = 0; i < c->n_in; i++) {
        snprintf(path, sizeof path, "%s/input_%d.pb", set, c->files[i]);
        kn_onnx_value v = kn_onnx_value_read(path, NULL);
        if (!v) return snprintf(reason, CASE_REASON, "reading: %s", kn_last_error()), false;
        in[i] = kn_onnx_value_as_tensor(v);
        kn_onnx_value_free(v);
    }
    c->forward(in, out);
    for (int i = 0; i < c->n_out; i++) {
        if (!kn_ok(out[i])) return snprintf(reason, CASE_REASON, "run: %s", kn_last_error()), false;
        out[i] = kn_keep(out[i]);
    }
    for (int i = 0; i < c->n_out; i++) {
        snprintf(path, sizeof path, "%s/output_%d.pb", set, i);
        if (access(path, F_OK)) continue;
        kn_onnx_port port;
        if (kn_onnx_output(model, i, &port)) return false;
        kn_onnx_value expected = kn_onnx_value_read(path, port.type && *port.type ? port.type : NULL);
        kn_onnx_value got = kn_onnx_value_tensor(kn_alias(out[i]));
        char why[CASE_REASON] = "";
        if (!expected) return snprintf(reason, CASE_REASON, "reading: %s", kn_last_error()), false;
        bool random = kn_onnx_output_is_random(model, i);
        if (!kiln_compare_onnx_values(got, expected, c->many, random, why))
            return snprintf(reason, CASE_REASON, "output %d: %.300s", i, why), false;
    }
    return true;
}

static int run_case(const one_case *c)
{
    kn_scope scope = kn_scope_begin();
    char reason[CASE_REASON] = "";
    bool good = true;
    setrlimit(RLIMIT_CPU, &(struct rlimit){240, 240}); /* not of the clock: the machine may be busy */
    kn_onnx model = kn_onnx_load(c->model, &(kn_onnx_args){.no_simplify = true});
    if (!model || c->load(c->weights)) {
        snprintf(reason, sizeof reason, "load: %s", kn_last_error());
        good = false;
    }
    for (int i = 0; i < c->n_sets && good; i++) good = run_set(c, c->sets[i], model, reason);
    if (good)
        printf("ok %s\n", c->name);
    else {
        for (char *at = reason; *at; at++)
            if (*at == '\n') *at = ' ';
        printf("bad %s %s\n", c->name, reason);
    }
    kn_scope_end(scope, KN_NONE);
    return 0;
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            run_case(&cases[i]);
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0) return 1;
        if (WIFSIGNALED(status)) printf("\nbad %s the program was ended by signal %d\n", cases[i].name, WTERMSIG(status));
        else if (WEXITSTATUS(status)) printf("\nbad %s the program ended with %d\n", cases[i].name, WEXITSTATUS(status));
    }
    return 0;
}
"""


def c_text(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def driver_of(batch, folder):
    functions, table = [], []
    for name, case in batch:
        used = [(text, number) for text, _, number in case.inputs if text not in case.given]
        arguments = "".join(f", in[{i}]" for i in range(len(used)))
        sets = case.sets if not case.given else case.sets[:1]
        call = f"{name}_forward(&{name}_m{arguments}"
        call = f"out[0] = {call});" if case.outputs == 1 else f"(void)!{call}, out);"
        functions.append(
            f'#include "{name}.h"\nstatic {name} {name}_m;\n'
            f"static kn_status load_{name}(const char *path) {{ return {name}_load(&{name}_m, path); }}\n"
            f"static void run_{name}(const kn_tensor *in, kn_tensor *out) {{ (void)in; {call} }}\n"
            f"static const char *const sets_{name}[] = {{{', '.join(c_text(s) for s in sets)}}};\n"
            f"static const int files_{name}[] = {{{', '.join(str(n) for _, n in used) or '0'}}};\n")
        table.append(f"{{{c_text(case.name)}, {c_text(case.folder / 'model.onnx')}, "
                     f"{c_text(folder / (name + '.safetensors'))}, {int(case.many)}, {len(sets)}, {len(used)}, "
                     f"{case.outputs}, sets_{name}, files_{name}, load_{name}, run_{name}}}")
    return DRIVER.replace("@FUNCTIONS@", "\n".join(functions)).replace("@TABLE@", ",\n    ".join(table))


class Runner:
    def __init__(self, arguments, work):
        self.arguments, self.work = arguments, work
        self.build = pathlib.Path(arguments.build).resolve()
        self.flags = [arguments.cc, "-std=c11", "-O0", "-w", "-I", str(ROOT / "include"), "-I", str(self.build / "include"),
                      "-I", str(self.build), "-I", str(ROOT / "tools/kiln")]
        self.pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
        self.common = work / "compare.o"
        (work / "common.h").write_text("#include <kn.h>\n#include <kn/nn/module.h>\n#include <kn/call.h>\n#include <kn/store.h>\n"
                                       "#include <math.h>\n#include <stdlib.h>\n")
        self.checked(self.flags + ["-c", str(ROOT / "tools/kiln/onnx_compare.c"), "-D_GNU_SOURCE", "-o", str(self.common)])
        self.checked(self.flags + ["-x", "c-header", str(work / "common.h"), "-o", str(work / "common.h.gch")])

    def checked(self, command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)

    def compile(self, pair):
        name, case = pair
        source = case.home / f"{name}.c"
        done = subprocess.run(self.flags + ["-include", str(self.work / "common.h"), "-c", str(source), "-o",
                                            str(source.with_suffix(".o"))], capture_output=True, text=True, errors="replace")
        if done.returncode:
            lines = [l for l in done.stderr.splitlines() if "error" in l]
            case.reason = "compile: " + re.sub(r"^\S+: ", "", lines[0] if lines else done.stderr[:200])

    def batch(self, number, cases):
        home = self.work / f"batch_{number}"
        pairs = [(f"model_{i}", case) for i, case in enumerate(cases)]
        for _, case in pairs:
            case.home = home
        list(self.pool.map(lambda pair: write(pair[1], str(self.build / "kiln"), home, pair[0]), pairs))
        pairs = [pair for pair in pairs if not pair[1].reason]
        list(self.pool.map(self.compile, pairs))
        pairs = [pair for pair in pairs if not pair[1].reason]
        if not pairs:
            return
        driver = home / "driver.c"
        driver.write_text(driver_of(pairs, home))
        objects = [str(home / f"{name}.o") for name, _ in pairs]
        done = subprocess.run(self.flags + ["-D_GNU_SOURCE", "-I", str(home), str(driver), str(self.common)] + objects +
                              ["-o", str(home / "driver"), "-L", str(self.build), "-lkiln", "-lm",
                               f"-Wl,-rpath,{self.build}"], capture_output=True, text=True)
        if done.returncode:
            for _, case in pairs:
                case.reason = "link: " + done.stderr[:300]
            return
        done = subprocess.run([str(home / "driver")], capture_output=True, text=True, errors="replace")
        said = {}
        for line in done.stdout.splitlines():
            match = re.match(r"(ok|bad) (\S+) ?(.*)", line)
            if match:
                said[match[2]] = None if match[1] == "ok" else match[3]
        for _, case in pairs:
            case.reason = said.get(case.name, "the program said nothing of it")


def general(reason):
    """Reasons that differ in numbers and names alone are one."""
    return re.sub(r"[0-9]+", "N", re.sub(r"'[^']*'", "'..'", reason))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="where kiln and libkiln.so were built")
    parser.add_argument("--cc", default=os.environ.get("CC", "cc"))
    parser.add_argument("--filter", default="", help="only cases with this in their names")
    parser.add_argument("--sample", type=float, default=100, metavar="PERCENT", help="of the cases, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="write there, and leave it there")
    arguments = parser.parse_args()
    found = sorted(m.parent.resolve() for f in arguments.folders for m in f.rglob("model.onnx") if arguments.filter in m.parent.name)
    chooser = random.Random(arguments.seed)
    found = [f for f in found if chooser.random() * 100 < arguments.sample]
    cases = []
    for folder in found:
        case = Case(folder)
        if case.sets:
            cases.append(case)
    with tempfile.TemporaryDirectory() as scratch:
        work = arguments.keep.resolve() if arguments.keep else pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        runner = Runner(arguments, work)
        for number, at in enumerate(range(0, len(cases), BATCH)):
            runner.batch(number, cases[at:at + BATCH])
    failures = collections.defaultdict(list)
    for case in cases:
        if case.reason:
            failures[general(case.reason)].append(case)
    for group in sorted(failures.values(), key=len, reverse=True):
        print(f"{len(group)} failed: {group[0].reason}")
        for case in group:
            print(f"    {case.name}")
    failed = sum(len(group) for group in failures.values())
    given = [case for case in cases if case.given and not case.reason]
    whole = sum(1 for case in given if len(case.given) == len(case.inputs))
    print(f"of those that passed {len(given)} were given values of inputs, {whole} of them of all inputs")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
