"""Sorting, selection, distinct and nonzero elements and cumulative sums beside PyTorch on the GPU of this machine.

  python3 bench/gpu/compare_sorting.py [--kiln build/release/kiln] [--device cuda:0] [--turns 5] [row ...]

One line for each row: milliseconds of both and PyTorch's over Kiln's. One line of 2^24 f32, or 16384 lines of the size
named, as tools/kiln/bench_gpu_sorting.c has them."""

import argparse
import os
import statistics
import subprocess
import sys
import time

import libraries

ROWS = [
    ("sort", 16), ("sort_lines", 4096), ("sort_lines", 1000), ("topk", 16), ("topk_lines", 4096), ("unique", 16),
    ("nonzero", 16), ("cumsum", 16), ("cumsum_lines", 4096),
]


def run_kiln(options, name, size):
    environment = dict(os.environ)
    environment.setdefault("KN_CUDA_LIBRARIES", ":".join(libraries.folders()))
    command = [options.kiln, "bench", "--device", options.device, "%s:%d" % (name, size)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    words = done.stdout.split()
    if done.returncode or len(words) < 3:
        return None, (done.stderr.strip() or "exit %d" % done.returncode)[-200:]
    return float(words[2]), ""


def torch_milliseconds(torch, name, size, turns):
    lines = name.endswith("_lines")
    x = torch.randn(16384, size, device="cuda") if lines else torch.randn(size << 20, device="cuda")
    if name == "nonzero":
        x = torch.relu(x)
    function = {
        "sort": lambda: torch.sort(x, dim=-1, stable=True),
        "topk": lambda: torch.topk(x, 64, dim=-1),
        "unique": lambda: torch.unique(x, return_inverse=True, return_counts=True),
        "nonzero": lambda: torch.nonzero(x),
        "cumsum": lambda: torch.cumsum(x, -1),
    }[name.split("_")[0]]
    times = []
    for _ in range(turns + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kiln", default="build/release/kiln")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    import torch

    bad = 0
    for name, size in ROWS:
        if options.rows and name not in options.rows:
            continue
        theirs = torch_milliseconds(torch, name, size, options.turns)
        torch.cuda.empty_cache()
        ours, problem = run_kiln(options, name, size)
        bad += ours is None
        text = "failed: " + problem if ours is None else "%9.4f ms  torch/kiln %.2f" % (ours, theirs / ours)
        print("%-13s %5d  torch %9.4f ms  kiln %s" % (name, size, theirs, text), flush=True)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
