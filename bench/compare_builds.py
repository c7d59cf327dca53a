#!/usr/bin/env python3
"""Compares the speed of two builds, such as a commit and the one before: the benchmarks of both run in turns, and each row's figure is
the median of the ratios of the pairs.

  bench/compare_builds.py OLD/build/release NEW/build/release [--pairs 9] [--device cpu] [--only WORD] [--limit 1.05]

Fails where a row takes more than --limit times as long, or all rows together (geometric mean) more than 1 % longer."""
import argparse
import math
import re
import statistics
import subprocess
import sys

NUMBER = r"([0-9]+\.[0-9]+)"
# A benchmark: its arguments, and what its lines look like. The first group is the row's name, the others are times.
BENCHMARKS = [
    (["bench", "overhead"], re.compile(rf"^([0-9]+) +kiln +[0-9.]+ +{NUMBER} +[0-9.]+ +{NUMBER}")),
    (["bench", "fusion"], re.compile(rf"^(.+?) +{NUMBER} +{NUMBER} +[0-9.]+x")),
    (["bench", "mlp", "cnn", "lenet"], re.compile(rf"^(\w+) +[0-9]+ +{NUMBER}")),
    (["bench", "--device", "DEVICE", "chain", "softmax", "layernorm", "sort_lines", "topk_lines", "cumsum_lines", "mlp"],
     re.compile(rf"^(\w+ [0-9]+) {NUMBER}")),
    (["bench", "--device", "fusion(DEVICE)", "chain", "softmax", "layernorm", "mlp"],
     re.compile(rf"^(\w+ [0-9]+) {NUMBER}")),
]


def measure(build, arguments, line_form):
    """The times of one run by name of their row."""
    # No PyTorch: only this build's own figures are wanted.
    run = subprocess.run([build + "/kiln"] + arguments, capture_output=True, text=True,
                         env={"PATH": "/usr/bin:/bin", "KN_PYTHON": "/bin/false"}, check=False)
    times = {}
    for line in run.stdout.splitlines():
        found = line_form.match(line)
        if not found:
            continue
        for i, value in enumerate(found.groups()[1:]):
            times[f"{arguments[1]} {arguments[2] if '--device' in arguments else ''} {found[1]} {'' if not i else i + 1}"] = float(value)
    if not times:
        sys.exit(f"compare_builds: {build}/kiln {' '.join(arguments)} printed no figures: {run.stderr[-300:]}")
    return times


def compare(options, arguments, line_form):
    """Rows of (name, ratio, times of the old build, times of the new build), in turns; who begins changes from pair to pair."""
    old, new = {}, {}
    for pair in range(options.pairs):
        for build, kept in [(options.old, old), (options.new, new)][:: 1 if pair % 2 else -1]:
            for name, value in measure(build, arguments, line_form).items():
                kept.setdefault(name, []).append(value)
    rows = []
    for name in old.keys() & new.keys():
        ratios = [b / a for a, b in zip(old[name], new[name]) if a > 0]
        if ratios:
            rows.append((name, statistics.median(ratios), statistics.median(old[name]), statistics.median(new[name])))
    return sorted(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", help="benchmarks whose arguments have this word")
    parser.add_argument("--limit", type=float, default=1.05)
    options = parser.parse_args()
    rows = []
    for arguments, line_form in BENCHMARKS:
        if options.only and options.only not in arguments:
            continue
        arguments = [a.replace("DEVICE", options.device) for a in arguments]
        rows += compare(options, arguments, line_form)
    for name, ratio, old, new in rows:
        print(f"{name:60} {old:10.3f} {new:10.3f} {ratio:6.3f}{'  slower' if ratio > options.limit else ''}", flush=True)
    mean = math.exp(statistics.fmean(math.log(r[1]) for r in rows))
    slow = sum(r[1] > options.limit for r in rows)
    print(f"{len(rows)} rows, median of {options.pairs} pairs: geometric mean {mean:.3f}, {slow} rows above {options.limit}")
    return 1 if slow or mean > 1.01 else 0


if __name__ == "__main__":
    sys.exit(main())
