#!/usr/bin/env python3
"""Times models beside ONNX Runtime on the CPU, with the same number of threads, and prints the table of docs/performance.md: first what
is furthest behind. Names are of models that fetch.py fetches, or paths of other ONNX files, whose open sizes --dim gives; none: all that
fetch.py fetches. Both sides take turns: a round is some runs of Kiln on each device and as many of ONNX Runtime, and gives the middle of
each; the table has the least of the rounds, so that what else the machine does harms little. Load times are the least too. With
--processor the time of the processor counts, for a machine that others use too: one thread, the best run of each side. Needs the packages
numpy and onnxruntime."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

import compare_models
import fetch

ELEMENT_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
                 "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8, "tensor(bool)": np.bool_}
NUMBER = r"([0-9.]+) ms"
WALL = re.compile(f"loaded in {NUMBER}; first run {NUMBER};.* {NUMBER} in the middle")
PROCESSOR = re.compile(f"the processors' time: {NUMBER}, {NUMBER} and {NUMBER}")


class row:  # pylint: disable=invalid-name
    """What was measured of one model, in milliseconds: the least of the rounds."""

    def __init__(self, name):
        self.name, self.least = name, {}

    def put(self, what, value):
        self.least[what] = min(value, self.least.get(what, value))

    def ratio(self, device):
        return self.least["theirs"] / self.least[device]


class Timing:
    def __init__(self, given, folder):
        self.given, self.folder = given, pathlib.Path(folder)
        self.comparison = compare_models.Comparison(given, folder)

    def random_input(self, port, rng):
        shape = [s if isinstance(s, int) else self.given.sizes.get(s, 1) for s in port.shape]
        kind = ELEMENT_TYPES[port.type]
        if np.issubdtype(kind, np.floating):
            return rng.normal(size=shape).astype(kind)
        return rng.integers(0, 2 if kind == np.bool_ else 10, size=shape).astype(kind)

    def inputs(self, path, session, known, case):
        rng = np.random.default_rng(case)
        if known is not None:
            return self.comparison.inputs_of(session, known, rng)
        return {port.name: self.random_input(port, rng) for port in session.get_inputs()}

    def ours(self, path, values, device, runs):
        """Milliseconds of loading, of the first run and of the others."""
        command = [self.given.kiln, "run", path, "--device", device, "--repeat", str(runs)]
        for i in range(len(values)):
            command += ["--input", f"{list(values)[i]}={self.folder / f'in{i}.npy'}"]
        for i in range(self.outputs):
            command += ["--output", f"{self.names[i]}={self.folder / f'out{i}.npy'}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=self.given.limit,
                              env={**os.environ, "KN_THREADS": str(self.given.threads)})
        found = (PROCESSOR if self.given.processor else WALL).search(done.stdout)
        if done.returncode or not found:
            raise ValueError(f"{path} on {device}: {(done.stderr + done.stdout).strip()[-400:]}")
        return [float(x) for x in found.groups()]

    def theirs(self, path, values, runs):
        clock = time.process_time if self.given.processor else time.perf_counter
        begun = clock()
        session = self.comparison.session(path, True)
        loaded = clock()
        session.run(None, values)
        first, times = clock(), []
        for _ in range(runs):
            start = clock()
            session.run(None, values)
            times.append((clock() - start) * 1e3)
        return (loaded - begun) * 1e3, (first - loaded) * 1e3, min(times) if self.given.processor else sorted(times)[runs // 2]

    def model(self, name, path, known, case):
        session = self.comparison.session(path, True)
        values = self.inputs(path, session, known, case)
        self.names = [o.name for o in session.get_outputs()]
        self.outputs = len(self.names)
        del session
        for i, value in enumerate(values.values()):
            np.save(self.folder / f"in{i}.npy", value)
        result = row(name)
        once = self.theirs(path, values, 3)[2]
        runs = int(min(max(self.given.span / max(once, 1e-3), 4), 400))
        for _ in range(self.given.rounds):
            for device in self.given.devices:
                load, first, middle_run = self.ours(path, values, device, runs)
                result.put(device, middle_run)
                result.put("load", load)
                result.put("ready", load + first)
            load, first, middle_run = self.theirs(path, values, runs)
            result.put("theirs", middle_run)
            result.put("their load", load)
            result.put("their ready", load + first)
        return result


def jobs(given):
    """Name, path, inputs (None: from the declared shapes) and number of the case."""
    paths = [n for n in given.names if n.endswith(".onnx")]
    for path in paths:
        yield pathlib.Path(path).stem, path, None, 0
    for model in fetch.models():
        name = model["name"]
        if given.names and name not in given.names:
            continue
        cases = compare_models.INPUTS.get(name, [{}])
        for case, inputs in enumerate(cases):
            yield f"{name} {case + 1}" if len(cases) > 1 else name, given.models / f"{name}.onnx", inputs, case


def number(x):
    return f"{x:.3g}" if x < 1000 else f"{x:.0f}"


def print_table(given, rows):
    devices = given.devices
    rows.sort(key=lambda r: max(r.ratio(d) for d in devices))
    print("| | " + " | ".join(f"`{d}`" for d in devices) + " | ONNX Runtime | " + " | ".join(f"speed, `{d}`" for d in devices)
          + " | load | theirs | until the first result | theirs |")
    print("|---" * (2 * len(devices) + 6) + "|")
    for r in rows:
        cells = [r.name] + [number(r.least[d]) for d in devices] + [number(r.least["theirs"])]
        cells += [f"{r.ratio(d):.2f}x" for d in devices]
        cells += [number(r.least[w]) for w in ("load", "their load", "ready", "their ready")]
        print("| " + " | ".join(cells) + " |")


def size(text):
    name, value = text.rsplit("=", 1)
    return name, int(value)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kiln", type=pathlib.Path, default="build/release/kiln")
    arguments.add_argument("--models", type=pathlib.Path, default=fetch.FOLDER)
    arguments.add_argument("--device", dest="devices", action="append", help="none: cpu and fusion(cpu)")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--span", type=float, default=300, help="milliseconds of ONNX Runtime in a round")
    arguments.add_argument("--processor", action="store_true", help="the time of the processor, with one thread")
    arguments.add_argument("--limit", type=int, default=600, help="seconds for one program")
    arguments.add_argument("--dim", type=size, action="append", default=[], metavar="NAME=SIZE")
    arguments.add_argument("--lines", action="store_true", help="show each row as soon as it is there")
    arguments.add_argument("names", nargs="*", help="names of models or paths of .onnx files; none: all that fetch.py fetches")
    given = arguments.parse_args()
    given.sizes = dict(given.dim)
    given.threads = 1 if given.processor else given.threads
    given.devices = given.devices or ["cpu", "fusion(cpu)"]
    rows, failures = [], 0
    with tempfile.TemporaryDirectory() as folder:
        timing = Timing(given, folder)
        for name, path, inputs, case in jobs(given):
            try:
                rows.append(timing.model(name, path, inputs, case))
            except (ValueError, subprocess.TimeoutExpired) as error:
                failures += 1
                print(f"{name}: {error}", file=sys.stderr, flush=True)
                continue
            if given.lines:
                r = rows[-1]
                print(name, *(f"{k} {v:.3f}" for k, v in r.least.items()), *(f"{r.ratio(d):.2f}x" for d in given.devices), flush=True)
    print_table(given, rows)
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
