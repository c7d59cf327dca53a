"""What one tiny eager add costs in PyTorch: prints lines of elements, then median and least nanoseconds of an eager add
and of one recorded by autograd. kiln bench overhead runs it. The loops call the function that Python users call; the
loop itself is subtracted."""

import statistics
import time

import torch

BATCHES = 301
CALLS = 1000


def measure(function, a, b):
    """The median and the least of the batches."""
    times = []
    for _ in range(BATCHES):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            function(a, b)
        times.append((time.perf_counter_ns() - start) / CALLS)
    return statistics.median(times), min(times)


def main():
    torch.set_num_threads(1)
    empty = measure(lambda a, b: None, None, None)
    for elements in (1, 4, 16):
        a, b = torch.ones(elements), torch.ones(elements)
        with torch.no_grad():
            eager = measure(torch.add, a, b)
        recorded = measure(torch.add, a.requires_grad_(True), b)
        print(elements, *(round(t - e, 1) for times in (eager, recorded) for t, e in zip(times, empty)))


if __name__ == "__main__":
    main()
