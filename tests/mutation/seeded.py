#!/usr/bin/env python3
"""Breaks the library at places drawn by a seed and expects the tests of the layer to notice.
Usage: python3 tests/mutation/seeded.py WORK_FOLDER [--seed 1] [--count 200] [--jobs N] [--only TEXT] [--resume] [--list]
The library is built once as one shared file that the test programs load; a mutant compiles what it changed and links
that file again. A mutant whose objects are the same as before is none and another is drawn. Headers that many objects use take
minutes each to build: of them the first one in 64 mutants counts, in the order of the draw, and the rest are passed over. What
was found is kept in WORK_FOLDER/seed-N.txt, and --resume takes what stands there instead of trying it again. tests/mutation/equivalent.txt lists
survivors that change nothing a caller can see, each with the reason. Other survivors get a second look with what else
`make test` does: the conformance whole, and the unit tests under AddressSanitizer and UBSan. Ends with 'N passed, N failed': mutants that were
noticed or are listed, and those that survived."""
import argparse
import concurrent.futures
import filecmp
import json
import os
import pathlib
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutants  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Which tests speak for a folder: parts of names of unit tests, and devices of the conformance. The first that fails ends it.
LAYERS = [
    ("core/math", "elementwise convert ir_prelude ir_run math_", "ref cpu autodiff(cpu)"),
    ("core", "convert memory ownership errors misuse thread call creation alias truths fallback objects ir_run arguments "
             "backend_abi", "cpu autodiff(cpu)"),
    ("ops", "elementwise reduce movement indexing scan sorting linalg signal spatial contraction functional creation custom "
            "argument alias mixed define body gradients slopes param_stacks row_columns defaults made",
     "ref autodiff(cpu) cpu"),
    ("graph", "plan fusion groups test_sched late_lines backend_abi", "fusion(cpu)"),
    ("ir", "test_ir kernel jit", ""),
    ("sched", "sched gpu_backend gpu_products gpu_short gpu_sort gpu_recording cuda_skeletons", ""),
    ("kernel", "kernel", ""),
    ("wrap", "autodiff decorators device_handles fusion autocast fallback mixed plan program custom optim",
     "autodiff(fusion(cpu))"),
    ("backend/host", "movement memory misuse ownership alias custom elementwise", "ref cpu"),
    ("backend/ref", "decorators", "ref"),
    ("backend/null", "decorators creation autodiff", ""),
    ("backend/cpu", "cpu_groups conv_padding reduce gemm contraction indexing sorting scan spatial linalg fusion alias optim",
     "cpu fusion(cpu) autodiff(cpu)"),
    ("backend/jit", "jit", ""),
    ("backend/gpu", "gpu", ""),
    ("backend/cuda", "cuda", ""),
    ("backend/opencl", "gpu", ""),
    ("backend", "fallback decorators", "cpu"),
    ("support", "support store disk_cache library data_ json", ""),
    ("nn", "nn_ threads_module store_load", ""),
    ("optim", "optim train_curves fusion_train autocast", ""),
    ("store", "store train_checkpoint", ""),
    ("data", "data_", ""),
    ("train", "train_ render", ""),
]
FEW_OBJECTS = 24  # a file that more objects use is wide
CONFORM_SHARE = "4"  # per cent of the conformance, by a fixed seed


def layer_of(path):
    folder = str(path.relative_to(ROOT / "src").parent)
    return next(layer for layer in LAYERS if folder == layer[0] or folder.startswith(layer[0] + "/"))


class Build:
    """The unbroken build: its objects, the commands that made them, and the tests that pass with it."""

    def __init__(self, folder, name="build", extra=()):
        self.folder = folder / name
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG", "-DKN_TIERS=all",
                   "-DKN_TESTS_SHARED=ON", "-DKN_EXAMPLES=OFF", "-DKN_SHARED=OFF", "-DKN_TOOL_STATIC=ON", *extra]
        with open(folder / (name + ".log"), "w") as log:
            for command in (["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(self.folder)] + options,
                            ["ninja", "-C", str(self.folder)]):
                if subprocess.run(command, stdout=log, stderr=log, check=False).returncode:
                    sys.exit("the unbroken tree does not build; see %s.log" % name)
        self.commands = {}
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            self.commands[words[words.index("-o") + 1]] = (words, entry["file"])
        self.link = self._link_command()
        self.users = self._users_of_files()
        programs = [line for line in (self.folder / "tests.txt").read_text().split("\n") if line]
        self.tests = {os.path.basename(p): p for p in programs}
        self.seconds = {}

    def _link_command(self):
        lines = subprocess.run(["ninja", "-C", str(self.folder), "-t", "commands", "libkiln_tests.so"], text=True,
                               stdout=subprocess.PIPE, check=True).stdout.splitlines()
        return re.sub(r"^: && | && :$", "", lines[-1])

    def users_of(self, path):
        """The library's objects that a change of the file builds again."""
        return [o for o in self.users.get(str(path.resolve()), []) if "tests/" not in o and "tool" not in o]

    def _users_of_files(self):
        text = subprocess.run(["ninja", "-C", str(self.folder), "-t", "deps"], text=True, stdout=subprocess.PIPE,
                              check=True).stdout
        users, current = {}, None
        for line in text.splitlines():
            if line and not line.startswith(" "):
                current = line.split(":")[0]
            elif line.strip() and current in self.commands:
                name = os.path.realpath(os.path.join(self.folder, line.strip()))
                users.setdefault(name, []).append(current)
        return users


class Worker:
    """A folder of its own in which one mutant at a time is built and tested."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "cwd").mkdir(parents=True)
        (folder / "tmp").mkdir()
        for name in os.listdir(ROOT):
            if not name.startswith(".") and name != "build":
                os.symlink(ROOT / name, folder / "cwd" / name)

    def make(self, path, text):
        """Compiles and links with the file's text changed. Returns None, or why this is no mutant."""
        users = self.build.users_of(path)
        if not users:
            return "no object uses it"
        overlay = self.folder / "overlay"
        shutil.rmtree(overlay, ignore_errors=True)
        changed_file = overlay / path.relative_to(ROOT / "src")
        changed_file.parent.mkdir(parents=True)
        changed_file.write_text(text)
        replaced, different = {}, False
        for index, name in enumerate(users):
            words, source = self.build.commands[name]
            target = self.folder / ("object%d.o" % index)
            words = list(words)
            words[words.index("-o") + 1] = str(target)
            if os.path.realpath(source) == str(path.resolve()):
                words[words.index("-c") + 1] = str(changed_file)
            words[1:1] = ["-I" + str(overlay), "-iquote", str(path.parent)]
            done = subprocess.run(words, cwd=self.build.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False)
            if done.returncode:
                return "it does not compile"
            different |= not filecmp.cmp(target, self.build.folder / name, shallow=False)
            replaced[name] = str(target)
        if not different:
            return "the objects are the same"
        words = [replaced.get(word, word) for word in shlex.split(self.build.link)]
        words[words.index("-o") + 1] = str(self.folder / "libkiln_tests.so")
        if subprocess.run(words, cwd=self.build.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode:
            return "it does not link"
        return None

    def run(self, command, limit):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.folder), "TMPDIR": str(self.folder / "tmp"),
                       "KN_CACHE_DIR": str(self.folder / "tmp"), "KN_THREADS": "2", "KN_FALLBACK": "off",
                       "MALLOC_PERTURB_": "165",  # memory that was not written has no zeros
                       "LSAN_OPTIONS": "suppressions=%s:print_suppressions=0" % (ROOT / "tests/support/leaks.txt"),
                       "UBSAN_OPTIONS": "halt_on_error=1"}
        process = subprocess.Popen(command, cwd=self.folder / "cwd", env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            return 124
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def commands_of(build, layer):
    """The (name, command) that speak for a layer, the quickest first."""
    patterns = layer[1].split()
    tests = [name for name in build.tests if any(p in name for p in patterns)]
    rows = [(name, [build.tests[name]]) for name in tests]
    rows += [("conform " + device, [str(build.folder / "kiln"), "conform", "--device", device, "--sample", CONFORM_SHARE,
                                    "--seed", "7"]) for device in layer[2].split()]
    return sorted(rows, key=lambda row: build.seconds.get(row[0]) or 0)


def measure(build, workers, longest, layers=LAYERS):
    """Runs everything once unbroken. What fails or takes too long there speaks for nothing."""
    rows = {name: command for layer in layers for name, command in commands_of(build, layer)}
    free = queue.SimpleQueue()
    for worker in workers:
        free.put(worker)

    def one(row):
        worker = free.get()  # waits: a test that is tried again may find them all at work
        shutil.copy(build.folder / "libkiln_tests.so", worker.folder)
        start = time.monotonic()
        status = worker.run(row[1], longest)
        free.put(worker)
        return row[0], status, time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for row, (name, status, seconds) in zip(sorted(rows.items()), pool.map(one, sorted(rows.items()))):
            if status:  # once more, alone: a busy machine must not take a test out of the run
                name, status, seconds = one(row)
            build.seconds[name] = seconds if status == 0 else None
            if status:
                why = "it takes over %d s" % longest if status == 124 else "it fails unbroken (status %d)" % status
                print("left out: %s: %s" % (name, why), flush=True)


def noticed_by(build, worker, path):
    for name, command in commands_of(build, layer_of(path)):
        seconds = build.seconds.get(name)
        if seconds is not None and worker.run(command, 20 + 10 * seconds):
            return name
    return None


def noticed_by_all(build, worker, path):
    """The device whose whole conformance notices the mutant."""
    for device in layer_of(path)[2].split():
        if worker.run([str(build.folder / "kiln"), "conform", "--device", device], 1800):
            return "conform " + device + " whole"
    return None


def look_again(build, workers, survivors, notices):
    """Takes [(name, path, text)]. Returns what notices them by name."""
    found, waiting, lock = {}, list(survivors), threading.Lock()

    def work(worker):
        while True:
            with lock:
                if not waiting:
                    return
                name, path, text = waiting.pop()
            by = None if worker.make(path, text) else notices(build, worker, path)
            if by:
                with lock:
                    found[name] = by

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for future in [pool.submit(work, worker) for worker in workers]:
            future.result()
    return found


def second_look(options, build, workers, survivors):
    """Runs what else `make test` would run on survivors. Returns what notices them by name."""
    found = look_again(build, workers, survivors, noticed_by_all)
    left = [survivor for survivor in survivors if survivor[0] not in found]
    if not left:
        return found
    build = Build(options.work, "sanitized", ["-DCMAKE_C_COMPILER=clang", "-DKN_SANITIZE=address,undefined"])
    workers = [Worker(build, worker.folder) for worker in workers]
    measure(build, workers, 6 * options.longest, [layer_of(path) for _, path, _ in left])
    for name, by in look_again(build, workers, left, noticed_by).items():
        found[name] = by + " under sanitizers"
    return found


def listed_equivalents():
    text = (ROOT / "tests/mutation/equivalent.txt").read_text()
    return dict(line.rsplit(" | ", 1) for line in text.splitlines() if " | " in line and not line.startswith("#"))


def read_known(record):
    """{mutant: what noticed it, 'survived', or 'none' where it is no mutant}."""
    lines = record.read_text().splitlines() if record.exists() else []
    return {name: result for result, name in (line.split(" | ", 1) for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", help="mutants of files whose path contains this text")
    parser.add_argument("--seconds", type=float, default=1e9, help="draws no more mutants after this time")
    parser.add_argument("--longest", type=float, default=300, help="tests that take longer are left out")
    parser.add_argument("--resume", action="store_true", help="goes on where a run of the same seed ended")
    parser.add_argument("--list", action="store_true", help="prints the mutants and runs nothing")
    options = parser.parse_args()
    drawn = mutants.draw(ROOT, options.seed)
    if options.list:
        for _ in range(options.count):
            path, begin, end, new, kind, line = next(drawn)
            print("%d %s" % (line, mutants.describe(ROOT, path, path.read_text(), begin, end, new, kind)))
        return 0
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    build = Build(options.work)
    workers = [Worker(build, options.work / ("worker%d" % i)) for i in range(options.jobs)]
    measure(build, workers, options.longest)
    equivalents, lock, counts = listed_equivalents(), threading.Lock(), {"noticed": 0, "listed": 0, "survived": 0}
    deadline = time.monotonic() + options.seconds
    survivors = []
    record = options.work / ("seed-%d.txt" % options.seed)
    known = read_known(record) if options.resume else {}
    found = open(record, "a" if options.resume else "w", encoding="utf-8")

    def work(worker):
        while True:
            with lock:
                if sum(counts.values()) + work.running >= options.count or time.monotonic() > deadline:
                    return
                path, begin, end, new, kind, line = next(drawn)
                wide = len(build.users_of(path)) > FEW_OBJECTS
                if (options.only and options.only not in str(path)) or (wide and work.wide >= 1 + options.count // 64):
                    continue
                work.running += 1
                work.wide += wide
            text = path.read_text()
            name = mutants.describe(ROOT, path, text, begin, end, new, kind)
            if name in known:
                no_mutant, by = known[name] == "none", known[name] if known[name] != "survived" else None
            else:
                no_mutant = worker.make(path, text[:begin] + new + text[end:])
                by = None if no_mutant else noticed_by(build, worker, path)
            with lock:
                work.running -= 1
                if name not in known:
                    print("none" if no_mutant else by or "survived", name, sep=" | ", file=found, flush=True)
                if no_mutant:
                    work.wide -= wide
                    continue
                key = "noticed" if by else "listed" if name in equivalents else "survived"
                counts[key] += 1
                if key == "survived":
                    survivors.append((name, path, text[:begin] + new + text[end:]))
                print("%-8s %s (line %d)%s" % (key, name, line, ", by " + by if by else ""), flush=True)

    work.running = work.wide = 0
    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for future in [pool.submit(work, worker) for worker in workers]:
            future.result()
    for name, by in sorted(second_look(options, build, workers, survivors).items() if survivors else []):
        counts["survived"] -= 1
        counts["noticed"] += 1
        print("second look: noticed %s, by %s" % (name, by), flush=True)
        print(by, name, sep=" | ", file=found, flush=True)
    total = sum(counts.values())
    print("kill rate %.1f %% of %d mutants, seed %d; %d listed as equivalent" %
          (100.0 * counts["noticed"] / max(1, total), total, options.seed, counts["listed"]))
    print("%d passed, %d failed" % (counts["noticed"] + counts["listed"], counts["survived"]))
    return counts["survived"] != 0


if __name__ == "__main__":
    sys.exit(main())
