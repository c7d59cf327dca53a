#!/usr/bin/env python3
"""Kiln beside PyTorch over the models of this folder.

compare.py --check [--models lenet,mlp]             do outputs and the losses of five steps agree? (f32; ends with 'N passed, N failed')
compare.py --drift 50 --device cuda:0               do losses of 50 steps in bf16 stay as near to PyTorch's in f32 as twice PyTorch's own in bf16?
compare.py --device cuda:0 --json results.json      times rows in turns with PyTorch's best mode and adds them to the file
compare.py --device cuda:0 --family vision          a slice; --rows train-bf16,infer-bf16 another
compare.py --table results.json                     the table in Markdown, the worst rows first

Which mode of PyTorch is best is looked for once for each row, by timing all of them, and kept in best_modes.json with the machine and the
versions; --search looks again for all rows, --search-tenth for every tenth. Rows: train-f32, train-bf16, infer-bf16, and train-tf32
for four models. TF32 is off elsewhere. --at-once N starts and warms the processes of N rows beside each other, which is when
compilers need the processors; the timed steps have the machine for themselves. TORCHINDUCTOR_CACHE_DIR and KN_CACHE_DIR keep what
was compiled; KN_VENDOR=off and others go through to Kiln."""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
BEST = FOLDER / "best_modes.json"
TF32_MODELS = ("resnet50", "unet", "bert_base", "gpt2")
IMAGE_MODELS = ("lenet", "resnet18", "resnet50", "vgg16", "mobilenetv2", "efficientnet_b0", "convnext_t", "unet", "dcgan")
MODES = ("eager", "compile", "graphs")
READY_SECONDS = 300


class Failure(Exception):
    pass


class Server:
    """A process that takes steps when asked to."""

    def __init__(self, command, environment=None):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env={**os.environ, **(environment or {})})
        self.expect("ready")

    def expect(self, word=None):
        patience = threading.Timer(READY_SECONDS, self.process.kill)
        patience.start()
        line = self.process.stdout.readline()
        patience.cancel()
        if not line or (word and line.strip() != word):
            self.process.kill()
            self.log.seek(0)
            raise Failure(self.log.read()[-600:].strip() or f"it said '{line.strip()}'")
        return line

    def steps(self, n):
        """(seconds of the fastest, of the median, peak memory)"""
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        fastest, median, memory = self.expect().split()
        return float(fastest), float(median), int(memory)

    def close(self):
        """Ends it; what it wrote to standard error."""
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        return text


class Sides:
    """How both sides are started for a model, with weights that Kiln has made."""

    def __init__(self, o, model, folder):
        self.o, self.model = o, model
        self.weights = os.path.join(folder, model["name"] + ".safetensors")
        if not os.path.exists(self.weights):
            self.run([o.program, model["name"], "--device", "autodiff(cpu)", "--save", self.weights])

    @staticmethod
    def run(command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure((done.stderr or done.stdout)[-600:].strip())
        return done.stdout

    def kiln(self, *more):
        return [self.o.program, self.model["name"], "--device", f"autodiff(fusion({self.o.device}))", "--weights", self.weights, *more]

    def torch(self, *more):
        device = self.o.device.replace("cpu:0", "cpu")
        return [sys.executable, str(FOLDER / "torch_serve.py"), self.model["name"], self.weights, "--device", device, *more]


def models_of(o):
    rows = [line.split("\t") for line in Sides.run([o.program, "list"]).splitlines()]
    models = [dict(name=r[0], family=r[1], batch=int(r[2]), answers=int(r[3]), text=r[4]) for r in rows]
    if o.models:
        unknown = set(o.models.split(",")) - {m["name"] for m in models}
        if unknown:
            raise SystemExit(f"there is no model {', '.join(sorted(unknown))}; bench_models list shows them")
        models = [m for m in models if m["name"] in o.models.split(",")]
    return [m for m in models if not o.family or m["family"] == o.family]


# ---- agreement

def agree(o, model, folder):
    """What differs, as texts."""
    import numpy

    sides, found = Sides(o, model, folder), []
    batch = str(o.batch or (1 if model["family"] == "language" else 2))
    ours, theirs = (os.path.join(folder, f"{model['name']}_{who}.npy") for who in ("kiln", "torch"))
    sides.run(sides.kiln("--batch", batch, "--output", ours))
    sides.run(sides.torch("--batch", batch, "--output", theirs))
    a, b = numpy.load(ours), numpy.load(theirs)
    if a.shape != b.shape:
        return [f"outputs of {a.shape} and {b.shape}"]
    apart = float(numpy.abs(a - b).max() / max(float(numpy.abs(b).max()), 1e-20))
    if not apart <= 1e-4:
        found.append(f"outputs differ by {apart:.2g} of the largest")
    ours = [float(x) for x in sides.run(sides.kiln("--batch", batch, "--losses", "5")).split()]
    theirs = [float(x) for x in sides.run(sides.torch("--batch", batch, "--losses", "5")).split()]
    for i, (x, y) in enumerate(zip(ours, theirs)):
        if not abs(x - y) <= 2e-3 * max(abs(y), 1e-3) * (1 + i):
            found.append(f"loss {i}: {x} and {y}")
    return found


def drift(o, model, folder):
    """Where the losses in bf16 are farther from PyTorch's in f32 than twice the farthest of PyTorch's in bf16 so far."""
    sides = Sides(o, model, folder)
    # All 50 steps see one batch, as in --check; a small one, so that many models fit beside each other.
    options = ["--batch", str(o.batch or min(model["batch"], 16)), "--losses", str(o.drift)]
    runs = [sides.torch(*options), sides.torch(*options, "--dtype", "bf16"), sides.kiln(*options, "--dtype", "bf16")]
    exact, theirs, ours = ([float(x) for x in sides.run(run).split()] for run in runs)
    widest, found, worst = 0.0, [], 0.0
    for i, (f, t, k) in enumerate(zip(exact, theirs, ours)):
        widest = max(widest, abs(t - f))
        if not abs(k - f) <= 2 * widest:
            found.append(f"step {i}: {k} beside {f}, and {t} of PyTorch in bf16")
        worst = max(worst, abs(k - f) / max(widest, 1e-30))
    return found[:3] + [f"{len(found)} of {len(exact)} steps, at most {worst:.2f} times"] * bool(found)


def check(o):
    passed = failed = 0

    def found_in(model):
        try:
            return drift(o, model, folder) if o.drift else agree(o, model, folder)
        except Failure as failure:
            return [str(failure)]

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.at_once) as pool:
        models = models_of(o)
        for model, found in zip(models, pool.map(found_in, models)):
            passed, failed = passed + (not found), failed + bool(found)
            print(f"{'FAIL' if found else 'ok  '} {model['name']} {'; '.join(found)}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


# ---- times

def rows_of(o, models):
    for model in models:
        kinds = ["train-f32", "train-bf16", "infer-bf16"] + ["train-tf32"] * (model["name"] in TF32_MODELS)
        for kind in kinds:
            if not o.rows or kind in o.rows.split(","):
                yield model, kind


def options_of(o, model, kind):
    infer = kind.startswith("infer")
    batch = o.batch or (model["answers"] if infer else model["batch"])
    return ["--batch", str(batch), "--dtype", "bf16" if kind.endswith("bf16") else "f32"] + ["--infer"] * infer


def torch_server(o, sides, kind, mode):
    more = ["--tf32"] * kind.endswith("tf32") + (["--threads", str(o.threads)] if o.threads else [])
    return Server(sides.torch(*options_of(o, sides.model, kind), "--mode", mode, *more))


def kiln_server(o, sides, kind, **settings):
    settings["KN_TF32"] = "on" if kind.endswith("tf32") else "off"
    if o.threads:
        settings["KN_THREADS"] = str(o.threads)
    return Server(sides.kiln(*options_of(o, sides.model, kind)), settings)


def all_modes(o, model):
    """Those that are asked for, else every one; what is no image has no channels to put last."""
    modes = o.modes.split(",") if o.modes else [m + last for m in MODES for last in ("", "_last")]
    if model["name"] not in IMAGE_MODELS:
        modes = [m.removesuffix("_last") for m in modes]
    return list(dict.fromkeys(modes))


def started(o, make):
    """A server that has taken its first steps, or the failure."""
    try:
        server = make()
        server.steps(o.warm)
        return server
    except Failure as failure:
        return failure


def kernels_of(report):
    """{what: (milliseconds, launches)} of a report of Kiln's."""
    found = {}
    for line in report.splitlines()[1:]:
        words = line.split(" ", 4)
        if len(words) == 5 and words[1].endswith("%"):
            found[words[4]] = (float(words[0]), int(words[2]))
    return found


def profile_of(log, steps):
    """What each kernel took in a step of the last steps, without those before them, which load kernels and choose plans."""
    reports = [kernels_of(part) for part in re.split(r"(?m)^(?=[0-9.e+-]+ ms of work on )", log)[1:]]
    if len(reports) < 2:
        return log
    before, after = reports[-2:]
    rows = []
    for what, (milliseconds, launches) in after.items():
        old = before.get(what, (0.0, 0))
        if launches > old[1]:
            rows.append(((milliseconds - old[0]) / steps, (launches - old[1]) / steps, what))
    rows.sort(reverse=True)
    lines = [f"{sum(r[0] for r in rows):.3f} ms of kernels in a step: milliseconds, launches, microseconds of each, what"]
    lines += [f"{r[0]:.4f} {r[1]:g} {1e3 * r[0] / r[1]:.1f} {r[2]}" for r in rows]
    return "\n".join(lines) + "\n"


class Row:
    """Kiln and one or more modes of PyTorch, on their way to a row of the table."""

    def __init__(self, o, model, kind, modes, folder):
        self.o, self.model, self.kind, self.modes = o, model, kind, modes
        self.folder = folder

    def begin(self, pool):
        o, kind = self.o, self.kind
        try:
            sides = Sides(o, self.model, self.folder)
        except Failure as failure:
            self.waiting = {"kiln": pool.submit(lambda: failure)}
            return
        makes = {mode: lambda mode=mode: torch_server(o, sides, kind, mode) for mode in self.modes}
        makes["kiln"] = lambda: kiln_server(o, sides, kind)
        if o.profile:
            makes["profile"] = lambda: kiln_server(o, sides, kind, KN_CUDA_PROFILE="on")
        self.waiting = {name: pool.submit(started, o, make) for name, make in makes.items()}

    def ready(self):
        self.servers = {name: future.result() for name, future in self.waiting.items()}

    def take_turns(self):
        """Medians and memory of all that run."""
        running = {n: s for n, s in self.servers.items() if not isinstance(s, Failure) and n != "profile"}
        times = {name: [] for name in running}
        for _ in range(self.o.rounds):
            for name, server in running.items():
                try:
                    times[name].append(server.steps(self.o.steps))
                except Failure as failure:
                    self.servers[name] = failure
            running = {n: s for n, s in running.items() if not isinstance(self.servers[n], Failure)}
        return {n: (statistics.median(t[1] for t in times[n]), times[n][-1][2]) for n in running}

    def time(self):
        row = self.row = dict(model=self.model["name"], kind=self.kind, ratio=0.0,
                              batch=int(options_of(self.o, self.model, self.kind)[1]))
        found = self.take_turns()
        for name, server in self.servers.items():
            if isinstance(server, Failure):
                print(f"  {row['model']} {row['kind']} {name}: {server}", file=sys.stderr, flush=True)
        theirs = {mode: found[mode] for mode in self.modes if mode in found}
        if len(self.modes) > 1:
            print(f"  {row['model']} {row['kind']}: {', '.join(f'{m} {t[0] * 1e3:.3g}' for m, t in theirs.items())}", flush=True)
        if "kiln" in found:
            row.update(kiln=found["kiln"][0], kiln_memory=found["kiln"][1])
        else:
            row["failure"] = str(self.servers["kiln"])
        if theirs:
            mode = min(theirs, key=lambda m: theirs[m][0])
            row.update(mode=mode, torch=theirs[mode][0], torch_memory=theirs[mode][1])
        if "kiln" in row and "torch" in row:
            row["ratio"] = row["torch"] / row["kiln"]
        return row

    def end(self):
        profile = self.servers.pop("profile", None)
        if profile and not isinstance(profile, Failure):
            profile.steps(self.o.steps)
            path = pathlib.Path(self.o.profile) / f"{self.model['name']}_{self.kind}.txt"
            path.write_text(profile_of(profile.close(), self.o.steps))
        for name, server in self.servers.items():
            if isinstance(server, Failure):
                continue
            if name != "kiln":
                server.process.kill()  # it has nothing to tell, and takes a second to leave by itself
                continue
            self.row["launches"] = " ".join(re.findall(r"\d+ (?:launches|recordings made|replayed)", server.close()))


def machine(o):
    if o.kiln_only:
        return platform.machine()
    import torch

    name = torch.cuda.get_device_name(0) if o.device.startswith("cuda") else platform.machine()
    return f"{name}, PyTorch {torch.__version__}"


def modes_for(o, known, i, model, kind):
    key = f"{model['name']} {kind}"
    if o.kiln_only:
        return []
    if o.search or key not in known or (o.search_tenth and i % 10 == 0):
        return all_modes(o, model)
    return [known[key]]


def keep(o, results, known, row):
    """Adds a row to the results, in place of an earlier one."""
    results[:] = [r for r in results if (r["model"], r["kind"]) != (row["model"], row["kind"])] + [row]
    if "mode" in row:
        known[f"{row['model']} {row['kind']}"] = row["mode"]
    print(line_of(row), flush=True)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(results, indent=1) + "\n")


def time_all(o):
    best = json.loads(BEST.read_text()) if BEST.exists() else {}
    known = best.setdefault(machine(o), {})
    results = json.loads(pathlib.Path(o.json).read_text()) if o.json and os.path.exists(o.json) else []
    if o.profile:
        os.makedirs(o.profile, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.processes) as pool:
        rows = [Row(o, model, kind, modes_for(o, known, i, model, kind), folder)
                for i, (model, kind) in enumerate(rows_of(o, models_of(o)))]
        for first in range(0, len(rows), o.at_once):
            together = rows[first:first + o.at_once]
            for row in together:
                row.begin(pool)
            for row in together:
                row.ready()
            for row in together:
                made = row.time()
                row.end()
                keep(o, results, known, made)
    if o.keep_modes:
        BEST.write_text(json.dumps(best, indent=1, sort_keys=True) + "\n")
    print_table(results)
    return 0


# ---- the table

def line_of(row):
    if "kiln" not in row:
        return f"| {row['model']} | {row['kind']} | | | | 0 | | {row.get('failure', '').splitlines()[-1:] or ''} |"
    if "torch" not in row:
        return f"| {row['model']} | {row['kind']} | {row['batch']} | {row['kiln'] * 1e3:.3g} | | | {row['kiln_memory'] >> 20} MiB | |"
    memory = row["kiln_memory"] / max(row["torch_memory"], 1)
    return (f"| {row['model']} | {row['kind']} | {row['batch']} | {row['kiln'] * 1e3:.3g} | {row['torch'] * 1e3:.3g} "
            f"| {row['ratio']:.2f} | {memory:.2f} | {row['mode']} |")


def print_table(results):
    print("\n| model | row | batch | Kiln ms | PyTorch ms | PyTorch / Kiln | memory, Kiln / PyTorch | PyTorch's mode |")
    print("|---|---|---|---|---|---|---|---|")
    for row in sorted(results, key=lambda r: r["ratio"]):
        print(line_of(row))
    ran = [r["ratio"] for r in results if r["ratio"] > 0]
    if ran:
        mean = math.exp(sum(map(math.log, ran)) / len(ran))
        print(f"\n{len(results)} rows, {len(results) - len(ran)} that did not run; geometric mean of those that did {mean:.3f}, "
              f"least {min(ran):.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default=str(ROOT / "build/release/bench_models"))
    p.add_argument("--device", default="cpu")
    p.add_argument("--models", help="names with commas")
    p.add_argument("--family", choices=("vision", "language", "other"))
    p.add_argument("--rows", help="kinds of rows with commas")
    p.add_argument("--modes", help="modes of PyTorch to search, with commas: eager, compile, graphs, each also with _last")
    p.add_argument("--batch", type=int, help="instead of each model's")
    p.add_argument("--threads", type=int, help="of both sides, on cpu")
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--warm", type=int, default=6)
    p.add_argument("--at-once", type=int, default=1, help="rows, or with --check models, that are prepared beside each other")
    p.add_argument("--processes", type=int, default=8, help="how many of their processes start at the same time")
    p.add_argument("--kiln-only", action="store_true", help="times Kiln alone")
    p.add_argument("--profile", metavar="FOLDER", help="writes there what each kernel of a row took")
    p.add_argument("--json", help="results are added to this file")
    p.add_argument("--check", action="store_true")
    p.add_argument("--drift", type=int, default=0, metavar="STEPS")
    p.add_argument("--search", action="store_true")
    p.add_argument("--search-tenth", action="store_true")
    p.add_argument("--keep-modes", action="store_true", help="write best_modes.json")
    p.add_argument("--table", metavar="FILE")
    o = p.parse_args()
    if o.table:
        print_table(json.loads(pathlib.Path(o.table).read_text()))
        return 0
    if not os.path.exists(o.program):
        raise SystemExit(f"{o.program} is missing: scripts/build.sh release -- bench_models")
    return check(o) if o.check or o.drift else time_all(o)


if __name__ == "__main__":
    sys.exit(main())
