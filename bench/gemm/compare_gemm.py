#!/usr/bin/env python3
"""Compares bench_gemm with torch (MKL) and numpy (OpenBLAS), shape by shape, in one thread.

usage: compare_gemm.py PATH_TO_BENCH_GEMM [THREADS]
"""
import os
import subprocess
import sys
import time

THREADS = sys.argv[2] if len(sys.argv) > 2 else "1"
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "KN_THREADS"):
    os.environ[name] = THREADS

import numpy
import torch

torch.set_num_threads(int(THREADS))

SQUARES = [(n, n, n, "nn") for n in (8, 16, 32, 64, 128, 256, 512, 1024, 2048)]
MLP = [
    (128, 512, 784, "nt"), (128, 512, 784, "nn"), (512, 784, 128, "tn"), (128, 784, 512, "nn"),
    (128, 512, 512, "nt"), (512, 512, 128, "tn"), (128, 512, 512, "nn"),
    (128, 10, 512, "nt"), (10, 512, 128, "tn"), (128, 512, 10, "nn"),
]
THIN = [
    (1, 1024, 1024, "nn"), (1, 1024, 1024, "nt"), (1024, 1, 1024, "nn"), (1, 4096, 4096, "nn"),
    (1, 4096, 4096, "nt"), (8, 1024, 1024, "nt"), (20000, 16, 64, "nn"), (20000, 64, 64, "nt"),
]


def best_ns(call):
    call()
    started = time.perf_counter_ns()
    call()
    calls = max(1, 200000 // max(1, time.perf_counter_ns() - started))
    best, end = 1e30, time.perf_counter_ns() + 3e8
    while time.perf_counter_ns() < end:
        started = time.perf_counter_ns()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter_ns() - started) / calls)
    return best


def peers(m, n, k, turned):
    a = torch.rand(k, m).t() if turned[0] == "t" else torch.rand(m, k)
    b = torch.rand(n, k).t() if turned[1] == "t" else torch.rand(k, n)
    c = torch.empty(m, n)
    na, nb, nc = a.numpy(), b.numpy(), c.numpy()
    return best_ns(lambda: torch.mm(a, b, out=c)), best_ns(lambda: numpy.matmul(na, nb, out=nc))


def ours(m, n, k, turned, tier):
    environment = dict(os.environ, KN_ISA=tier)
    command = [sys.argv[1], str(m), str(n), str(k), turned]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()[0])


def main():
    for tier in ("v4", "v3"):
        print(subprocess.run([sys.argv[1], "peak"], env=dict(os.environ, KN_ISA=tier), capture_output=True,
                             text=True, check=True).stdout.strip())
    print("%-22s %8s %8s %8s %8s   v4/torch v4/numpy  (GFLOP/s; ratio above 1: faster than the peer)"
          % ("m n k", "v4", "v3", "torch", "numpy"))
    for m, n, k, turned in SQUARES + MLP + THIN:
        mkl, openblas = peers(m, n, k, turned)
        v4, v3 = ours(m, n, k, turned, "v4"), ours(m, n, k, turned, "v3")
        flops = 2.0 * m * n * k
        print("%-22s %8.1f %8.1f %8.1f %8.1f   %8.2f %8.2f   %d ns" % (
            "%d %d %d %s" % (m, n, k, turned), flops / v4, flops / v3, flops / mkl, flops / openblas,
            mkl / v4, openblas / v4, v4), flush=True)


main()
