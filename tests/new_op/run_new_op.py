#!/usr/bin/env python3
"""What a new op costs: one line in a .def file, one row with its function, one line in a header and its cases. This script adds a
softmax with a temperature to a copy of the tree in just that way, regenerates what is generated, and shows that the op runs by its
body on ref, on the CPU in every tier, fused, with gradients, on OpenCL, and that its kernels compile for CUDA.

The objects of a finished build are taken for all files that do not list rows or changed in the copy; --whole builds the copy anew.
Usage: python3 tests/new_op/run_new_op.py [--build build/release] [--whole]. Ends with 'N passed, N failed'."""

import argparse
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "structure"))
sys.path.insert(0, HERE)

import cases  # noqa: E402
import tree  # noqa: E402

OP = "tempered_softmax"
LISTS_ROWS = re.compile(r'#include "ops/ops\.def"')
results = {"passed": 0, "failed": 0}


def tell(name, problem):
    results["failed" if problem else "passed"] += 1
    print(("  FAIL  " if problem else "  ok    ") + name, flush=True)
    if problem:
        print("        " + problem.strip().replace("\n", "\n        "), flush=True)
    return not problem


def run(command, folder, **environment):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace",
                          env=dict(os.environ, **environment))
    return done.returncode, done.stdout + done.stderr


class Copy:
    """The tree with the op, and how its files are compiled."""

    def __init__(self, folder, build):
        self.root, self.build = os.path.join(folder, "tree"), build
        self.objects = os.path.join(folder, "objects")
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            self.commands = {}
            for entry in json.load(file):
                self.commands.setdefault(os.path.relpath(entry["file"], ROOT), entry["command"])

    def make(self):
        for name in tree.all_files():
            if name.endswith(".knc") or not name.startswith(("include/", "src/", "tools/", "tests/", "scripts/", "docs/",
                                                             "cmake/", "examples/", "bindings/", "CMake", "kiln.pc.in")):
                continue
            target = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), target)
        os.makedirs(self.objects)

    def path(self, name):
        return os.path.join(self.root, name)

    def add(self, name, line, behind=None):
        """Puts one line at the end of a file, or behind the line that has a text."""
        with open(self.path(name), encoding="utf-8") as file:
            lines = file.read().splitlines(keepends=True)
        at = len(lines) if behind is None else 1 + next(i for i, old in enumerate(lines) if behind in old)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.writelines(lines[:at] + [line] + lines[at:])

    def changed(self):
        """The C files that are not those of the tree, or that include what is not, or that list the rows."""
        different = []
        for folder, _, names in os.walk(self.path("src")):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.root)
                old = os.path.join(ROOT, path)
                with open(self.path(path), "rb") as new_file:
                    text = new_file.read()
                if not os.path.exists(old) or open(old, "rb").read() != text:
                    different.append(path)
        found = {name for name in different if name.endswith(".c")}
        included = [n for n in different if n.endswith(".inc")]
        for name in tree.files_in(("src",), (".c",)):
            text = tree.read(name)
            if LISTS_ROWS.search(text) or any('"%s"' % n[len("src/"):] in text for n in included):
                found.add(name)
        return sorted(found)

    def compile(self, name, like=None):
        words = shlex.split(self.commands[like or name].replace(ROOT + "/", self.root + "/"))
        if like:
            words = [self.path(name) if w == self.path(like) else w for w in words]
        target = os.path.join(self.objects, name.replace("/", "_") + ".o")
        words[words.index("-o") + 1] = target
        code, text = run(words, self.build)
        if code:
            raise RuntimeError("%s does not compile\n%s" % (name, text))
        return target

    def compile_all(self, names):
        return [self.compile(n, None if n in self.commands else "src/ops/op_table.c") for n in names]

    def link(self, program, target, sources, new):
        """A program of the build with some of its files compiled anew; what they define is not taken from the library."""
        own = glob.glob(os.path.join(self.build, "CMakeFiles", target + ".dir", "**", "*.o"), recursive=True)
        renewed = {os.path.basename(n) + ".o" for n in sources}
        kept = [o for o in own if os.path.basename(o) not in renewed]
        compiler = shlex.split(self.commands["src/ops/op_table.c"])[0]
        code, text = run([compiler, "-o", program, "-Wl,--gc-sections"] + kept + new
                         + [os.path.join(self.build, "libkiln.a"), "-lm", "-ldl", "-lpthread"], self.build)
        if code:
            raise RuntimeError("%s does not link\n%s" % (program, text))


def build_by_parts(copy, folder):
    """kiln-gen with the new rows, what it generates, then kiln and the program that uses the op."""
    rows = copy.compile_all(copy.changed())
    sources = [n for n in tree.files_in(("tools",), (".c",)) if n.startswith("tools/gen/") and LISTS_ROWS.search(tree.read(n))]
    copy.link(os.path.join(folder, "kiln-gen"), "kiln_gen", sources, copy.compile_all(sources) + rows)
    code, text = run(["sh", "scripts/generated.sh", "--build", folder], copy.root)
    if code:
        raise RuntimeError("scripts/generated.sh fails\n" + text)
    new = copy.compile_all(copy.changed())
    copy.link(os.path.join(folder, "kiln"), "kiln_tool", [], new)
    use = copy.compile("tests/new_op/use.c", "src/ops/op_table.c")
    copy.link(os.path.join(folder, "use"), "none", [], [use] + new)


def build_whole(copy, folder):
    """The same by CMake: kiln-gen, generated files, kiln."""
    build = os.path.join(folder, "build")
    steps = [["cmake", "-S", copy.root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DKN_TESTS=OFF",
              "-DKN_EXAMPLES=OFF", "-DKN_SHARED=OFF"], ["cmake", "--build", build, "--target", "kiln_gen"],
             ["sh", "scripts/generated.sh", "--build", build], ["cmake", "--build", build, "--target", "kiln_tool"]]
    for step in steps:
        code, text = run(step, copy.root)
        if code:
            raise RuntimeError("%s fails\n%s" % (" ".join(step), text[-4000:]))
    shutil.copy2(os.path.join(build, "kiln"), os.path.join(folder, "kiln"))
    compiler = shlex.split(copy.commands["src/ops/op_table.c"])[0]
    code, text = run([compiler, "-std=c11", "-O1", "-I" + copy.path("include"), copy.path("tests/new_op/use.c"),
                      "-o", os.path.join(folder, "use"), os.path.join(build, "libkiln.a"), "-lm", "-ldl", "-lpthread"], folder)
    if code:
        raise RuntimeError("use.c does not compile\n" + text)


def conform(folder, data, device, **environment):
    code, text = run([os.path.join(folder, "kiln"), "conform", "--device", device, "--filter", OP, "--data", data], ROOT,
                     **environment)
    counts = re.findall(r"(\d+) passed, (\d+) failed", text)
    fell_back = re.search(r"(\d+) fell back", text)
    good = code == 0 and counts and int(counts[-1][0]) > 50 and counts[-1][1] == "0" and fell_back and fell_back.group(1) == "0"
    return "" if good else text[-3000:]


def test_cpu(folder, data):
    for device in ("ref", "cpu", "fusion(cpu)", "autodiff(fusion(cpu))"):
        tell("its cases pass on " + device, conform(folder, data, device))
    use = os.path.join(folder, "use")
    code, want = run([use, "autodiff(cpu)"], ROOT)
    tell("it trains on autodiff(cpu)", "" if code == 0 and want.count("\n") == 4 else want)
    for device, isa in (("autodiff(fusion(cpu))", ""), ("autodiff(cpu)", "scalar"), ("autodiff(cpu)", "v2"),
                        ("autodiff(fusion(cpu))", "v3")):
        name = "%s%s gives the bits of autodiff(cpu)" % (device, " of tier " + isa if isa else "")
        environment = {"KN_ISA": isa} if isa else {}
        code, text = run([use, device], ROOT, **environment)
        if "KN_ISA" in text:  # not built, or not for this machine
            continue
        tell(name, "" if code == 0 and text == want else "%s\n%s" % (want, text))
    code, text = run([use, "fusion(cpu)"], ROOT, KN_FUSION_LOG="1")
    tell("its neighbours run with it in one group on fusion(cpu)",
         "" if re.search(r"step 0 rows .*\bmul\b.* %s \badd\b.*\(1 in" % OP, text) or
         re.search(r"step 0 rows .*%s.*add" % OP, text) else text)


def test_opencl(folder, data):
    use = os.path.join(folder, "use")
    code, text = run([use, "opencl:0"], ROOT)
    if code == 2:
        print("  skipped: no OpenCL device: " + text.strip().splitlines()[-1])
        return
    tell("its cases pass on opencl:0", conform(folder, data, "opencl:0", KN_OPENCL_OPTIONS="-cl-opt-disable"))
    code, text = run([use, "autodiff(fusion(opencl:0))"], ROOT, KN_FUSION_LOG="1", KN_FALLBACK="off")
    tell("its neighbours run with it in one group on opencl:0",
         "" if code == 0 and re.search(r"step \d+ rows .*%s.*add" % OP, text) else text)


def find_nvrtc():
    """The folder of NVIDIA's compiler, as tests/support/nvrtc.h looks for it; None: there is none."""
    folders = [os.path.dirname(os.environ.get("KN_NVRTC", ""))] + os.environ.get("KN_CUDA_LIBRARIES", "").split(":")
    code, text = run([sys.executable, "bench/gpu/libraries.py"], ROOT)
    if code == 0:
        folders += text.strip().split(":")
    return next((f for f in folders if f and glob.glob(os.path.join(f, "libnvrtc.so*"))), None)


def test_cuda(folder):
    """A stand-in for the driver, and NVIDIA's compiler where it is found. Without that the texts are read by clang."""
    fake, texts, nvrtc = os.path.join(folder, "cuda"), os.path.join(folder, "texts"), find_nvrtc()
    os.makedirs(fake)
    os.makedirs(texts)
    for name in ["libcuda.so.1"] + ([] if nvrtc else ["libnvrtc.so.12"]):
        code, text = run(["cc", "-shared", "-fPIC", "-O1", "-w", "tests/gpu/fake_cuda.c", "-o", os.path.join(fake, name)], ROOT)
        if code:
            tell("the stand-in for the driver compiles", text)
            return
    environment = {"KN_CUDA_LIBRARIES": fake + (":" + nvrtc if nvrtc else ""), "FAKE_CUDA_VERSION": "13000",
                   "FAKE_CUDA_TEXTS": texts, "KN_VENDOR": "off", "KN_CACHE": "off", "KN_FALLBACK": "off"}
    code, text = run([os.path.join(folder, "use"), "autodiff(fusion(cuda:0))"], ROOT, **environment)
    if nvrtc:
        tell("its kernels compile for cuda by NVRTC", text if code else "")
        return
    tell("its kernels are emitted for cuda", text if code else "")
    names = sorted(os.listdir(texts))
    clang = shutil.which("clang") or shutil.which("clang-14")
    if not clang:
        print("  skipped: no NVRTC and no clang: CUDA texts are not compiled")
        return
    problems = []
    for name in names:
        code, text = run([clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib",
                          "-fsyntax-only", "-w", "-include", os.path.join(HERE, "cuda_words.h"), name], texts)
        if code:
            problems.append(text)
    tell("clang reads its %d CUDA texts" % len(names), "\n".join(problems)[:3000] if names else "there are none")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="folder of a finished build with the commands of its compiler")
    parser.add_argument("--whole", action="store_true", help="build the whole copy by CMake")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    folder = os.path.join(os.path.dirname(build), "new-op")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    open(os.path.join(folder, "made-by-kiln-build"), "w", encoding="utf-8").close()
    copy = Copy(folder, build)
    copy.make()
    copy.add("src/ops/normalise.def", tree.read("tests/new_op/%s.def" % OP))
    copy.add("include/kn/functional.h", tree.read("tests/new_op/%s.h" % OP), "kn_softmax(")
    shutil.copy2(os.path.join(HERE, OP + ".c"), copy.path("src/ops"))
    data = os.path.join(folder, "data")
    os.makedirs(data)
    cases.write(os.path.join(data, OP + ".knc"))
    try:
        (build_whole if options.whole else build_by_parts)(copy, folder)
        good = tell("one .def line, one row, one header line and the cases make an op", "")
    except RuntimeError as problem:
        good = tell("one .def line, one row, one header line and the cases make an op", str(problem))
    if good:
        test_cpu(folder, data)
        test_opencl(folder, data)
        test_cuda(folder)
    print("%(passed)d passed, %(failed)d failed" % results)
    return 1 if results["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
