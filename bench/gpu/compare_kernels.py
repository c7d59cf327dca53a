"""Kiln beside PyTorch at its best on the GPU of this machine, in one run: the same work, turn by turn, and the ratios.

  python3 bench/gpu/compare_kernels.py [--kiln build/release/kiln] [--device 'fusion(cuda:0)'] [row ...]

Bandwidths are set beside that of a copy measured here. Products and attention are measured twice: as shipped and with
KN_VENDOR=off, where Kiln's own kernels run. PyTorch is measured eager and compiled, attention by each of its kernels,
and the best one counts. A line ends in "met" or "missed" for the bar of that row. Results go to $OUT/compare.txt too."""

import argparse
import os
import statistics
import subprocess
import sys
import time

import libraries

# How many kernels Kiln may launch in a training step of the MLP.
MOST_KERNELS = 15

# Row, size, unit, bar of Kiln as shipped and with KN_VENDOR=off. Bars of "copy" rows are parts of the copy bandwidth, of
# "ratio" rows parts of PyTorch's rate; "ms" is an upper limit.
ROWS = [
    ("chain", 64, "copy", 0.9, None),
    ("softmax", 4096, "copy", 0.8, None),
    ("layernorm", 4096, "copy", 0.8, None),
    ("matmul", 4096, "ratio", 0.98, 0.6),
    ("matmul", 8192, "ratio", 0.98, 0.6),
    ("attention", 2048, "ratio", 1.0, 0.35),
    ("attention_both", 2048, "ratio", 0.9, None),
    ("mlp", 128, "ms", 0.12, None),
]


def run_kiln(options, name, size, vendor):
    environment = dict(os.environ)
    environment.setdefault("KN_CUDA_LIBRARIES", ":".join(libraries.folders()))
    if not vendor:
        environment["KN_VENDOR"] = "off"
    row = name if name == "mlp" else "%s:%d" % (name, size)
    command = [options.kiln, "bench", "--device", options.device, row]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=options.timeout)
    words = done.stdout.split()
    if done.returncode or len(words) not in (5, 6):
        return None, (done.stderr.strip() or "exit %d" % done.returncode)[-200:]
    figures = {"ms": float(words[2]), "gbs": float(words[3]), "tflops": float(words[4])}
    if len(words) == 6:
        figures["kernels"] = int(words[5])
    return figures, ""


class Torch:
    """PyTorch's side. Each method answers a list of (how, function); `measure` takes the fastest."""

    def __init__(self):
        import torch

        self.torch = torch
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False

    def seconds(self, function):
        torch = self.torch
        for _ in range(3):
            function()
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        count = max(1, min(1000, int(0.05 / max(time.perf_counter() - start, 1e-6))))
        times = []
        for _ in range(7):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                function()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) / count)
        return statistics.median(times)

    def best(self, ways):
        found = []
        for how, function in ways:
            try:
                found.append((self.seconds(function), how))
            except Exception as error:  # one way that PyTorch lacks here does not end the others
                print("  torch %s: %s" % (how, str(error).split("\n")[0][:100]), file=sys.stderr)
        return min(found) if found else (None, "nothing ran")

    def both(self, function):
        return [("eager", function), ("compiled", self.torch.compile(function))]

    def random(self, *shape, dtype=None):
        return self.torch.randn(*shape, device="cuda", dtype=dtype or self.torch.float32)

    def copy_rate(self):
        x = self.random(512 << 20)
        y = self.torch.empty_like(x)
        return 2.0 * 4 * x.numel() / self.seconds(lambda: y.copy_(x)) / 1e9

    def chain(self, size):
        x, y = self.random(size << 20), self.random(size << 20)
        relu = self.torch.relu
        return self.both(lambda: (relu(x * 1.5 + y) * y - y).square()), 3.0 * 4 * (size << 20), 0

    def softmax(self, size):
        x = self.random(16384, size, dtype=self.torch.bfloat16)
        return self.both(lambda: self.torch.softmax(x, -1)), 2.0 * 2 * 16384 * size, 0

    def layernorm(self, size):
        x = self.random(16384, size, dtype=self.torch.bfloat16)
        weight, bias = (self.random(size, dtype=self.torch.bfloat16) for _ in range(2))
        norm = self.torch.nn.functional.layer_norm
        return self.both(lambda: norm(x, (size,), weight, bias)), 2.0 * 2 * 16384 * size, 0

    def matmul(self, size):
        a, b = (self.random(size, size, dtype=self.torch.bfloat16) for _ in range(2))
        return [("eager", lambda: a @ b)], 0, 2.0 * size**3

    def attention_ways(self, size, with_gradient):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        torch = self.torch
        q, k, v, dy = (self.random(8, 16, size, 128, dtype=torch.bfloat16) for _ in range(4))
        for x in (q, k, v):
            x.requires_grad_(with_gradient)

        def run(kernel):
            with sdpa_kernel(kernel):
                y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            if with_gradient:
                torch.autograd.grad(y, (q, k, v), dy)

        kernels = [("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)]
        ways = [(name, lambda kernel=kernel: run(kernel)) for name, kernel in kernels]
        return ways, 0, (3.5 if with_gradient else 1) * 2.0 * 8 * 16 * size * size * 128

    def attention(self, size):
        return self.attention_ways(size, False)

    def attention_both(self, size):
        return self.attention_ways(size, True)

    def mlp(self, size):
        return mlp_ways(self.torch, size), 0, 0


def mlp_step(torch, size):
    """One training step, its static input, and batches on the host."""
    net = torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)
    ).cuda()
    rate = torch.tensor(1e-3, device="cuda")
    optimiser = torch.optim.Adam(net.parameters(), lr=rate, capturable=True, fused=True)
    loss_of = torch.nn.CrossEntropyLoss()
    x, y = torch.rand(size, 784, device="cuda"), torch.randint(0, 10, (size,), device="cuda")
    batches = [torch.rand(size, 784).pin_memory() for _ in range(16)]

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss_of(net(x), y).backward()
        optimiser.step()

    return step, x, rate, batches


def mlp_run(step, x, rate, batches, replay):
    """Runs `replay` on a new batch at a new rate. It holds on to `step`: a graph reads the memory of its labels, params
    and states, but does not keep them."""
    count = [0]

    def run():
        x.copy_(batches[count[0] % 16], non_blocking=True)
        count[0] += 1
        rate.fill_(1e-3 * (1 - count[0] / 20000))
        replay()

    run.holds = step
    return run


def mlp_ways(torch, size):
    def eager():
        step, x, rate, batches = mlp_step(torch, size)
        return mlp_run(step, x, rate, batches, step)

    def graphed(compiled):
        step, x, rate, batches = mlp_step(torch, size)
        if compiled:
            step = torch.compile(step)
        # The labels and params are made on the current stream: the other one waits for it before it reads them.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return mlp_run(step, x, rate, batches, graph.replay)

    ways = []
    for how, make in (("eager", eager), ("graph", lambda: graphed(False)), ("compiled graph", lambda: graphed(True))):
        try:
            ways.append((how, make()))
        except Exception as error:  # a way that cannot be prepared here is left out
            print("  torch mlp %s: %s" % (how, str(error).split("\n")[0][:100]), file=sys.stderr)
    return ways


class Report:
    def __init__(self):
        folder = os.environ.get("OUT")
        self.file = open(os.path.join(folder, "compare.txt"), "w", encoding="utf-8") if folder else None

    def line(self, text):
        print(text, flush=True)
        if self.file:
            self.file.write(text + "\n")
            self.file.flush()


def verdict(unit, bar, kiln, torch_seconds, copy):
    """The figure of the row, and whether the bar is met."""
    if unit == "copy":
        part = kiln["gbs"] / copy
        return "%7.1f GB/s %5.2f of copy" % (kiln["gbs"], part), part >= bar if bar else None
    if unit == "ms":
        return "%8.4f ms" % kiln["ms"], kiln["ms"] <= bar if bar else None
    part = torch_seconds * 1e3 / kiln["ms"] if torch_seconds else 0
    return "%7.1f TF/s %5.2fx torch" % (kiln["tflops"], part), part >= bar if bar else None


def compare_row(options, torch_side, copy, row, report):
    name, size, unit, bar, own_bar = row
    ways, moved, flops = getattr(torch_side, name)(size)
    seconds, how = torch_side.best(ways)
    if seconds:
        rate = "%.1f TF/s" % (flops / seconds / 1e12) if flops else "%.1f GB/s" % (moved / seconds / 1e9)
        if unit == "copy":
            rate += ", %.2f of copy" % (moved / seconds / 1e9 / copy)
        report.line("%-15s %6d torch %-14s %9.4f ms  %s" % (name, size, how, seconds * 1e3, "" if unit == "ms" else rate))
    else:
        report.line("%-15s %6d torch %s" % (name, size, how))
    twice = name.startswith(("matmul", "attention"))
    good = True
    for vendor in (True, False) if twice else (True,):
        kiln, problem = run_kiln(options, name, size, vendor)
        label = "as shipped" if vendor else "KN_VENDOR=off"
        if not kiln:
            report.line("%-15s %6d kiln  %-14s failed: %s" % (name, size, label, problem))
            good = False
            continue
        limit = bar if vendor else own_bar
        text, met = verdict(unit, limit, kiln, seconds, copy)
        faster = seconds * 1e3 / kiln["ms"] if seconds else 0
        word = "" if met is None else ("met" if met else "missed") + " (%g)" % limit
        report.line("%-15s %6d kiln  %-14s %9.4f ms  %s  torch/kiln %.2f  %s" % (name, size, label, kiln["ms"], text, faster, word))
        good = good and met is not False
        if "kernels" in kiln:
            few = kiln["kernels"] <= MOST_KERNELS
            report.line("%-15s %6d kiln  %-14s %9d kernels a step  %s (%d)" % (name, size, label, kiln["kernels"],
                                                                          "met" if few else "missed", MOST_KERNELS))
            good = good and few
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kiln", default="build/release/kiln")
    parser.add_argument("--device", default="fusion(cuda:0)")
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    report = Report()
    torch_side = Torch()
    copy = torch_side.copy_rate()
    report.line("torch %s, %s" % (torch_side.torch.__version__, torch_side.torch.cuda.get_device_name()))
    report.line("copy %.1f GB/s, read and written" % copy)
    good = True
    for row in ROWS:
        if not options.rows or row[0] in options.rows:
            good = compare_row(options, torch_side, copy, row, report) and good
            torch_side.torch.cuda.empty_cache()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
