"""What one tiny eager add costs in PyTorch: prints lines of elements, nanoseconds, nanoseconds recorded by autograd.
kiln bench overhead runs it. The loops call the function that Python users call; the loop itself is subtracted."""

import statistics
import time

import torch

REPEATS = 15
CALLS = 20000


def measure(function, a, b):
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            function(a, b)
        times.append((time.perf_counter_ns() - start) / CALLS)
    return statistics.median(times)


def main():
    torch.set_num_threads(1)
    empty = measure(lambda a, b: None, None, None)
    for elements in (1, 4, 16):
        a, b = torch.ones(elements), torch.ones(elements)
        with torch.no_grad():
            eager = measure(torch.add, a, b) - empty
        recorded = measure(torch.add, a.requires_grad_(True), b) - empty
        print(elements, round(eager, 1), round(recorded, 1))


if __name__ == "__main__":
    main()
