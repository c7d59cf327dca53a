"""PyTorch's side of compare.py, with the protocol of bench_models: torch_serve.py MODEL WEIGHTS [--device D] [--dtype f32|bf16] [--infer]
[--batch N] [--mode M] [--tf32] [--losses N | --output FILE]. Modes: eager, compile, graphs (torch.compile's reduce-overhead),
each also with _last for channels_last."""
import argparse
import resource
import sys
import time

import numpy
import torch
from safetensors.torch import load_file

import torch_models


class Bench:
    def __init__(self, o):
        self.o, self.model = o, torch_models.MODELS[o.model]
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = o.tf32
        torch.backends.cudnn.benchmark = True
        module = self.model.make()
        module.load_state_dict(load_file(o.weights), strict=True)
        module.to(o.device)
        evaluates = o.infer or bool(o.output)
        torch_models.set_dropout(module, 0.0 if evaluates or o.losses else 0.1)
        self.inputs = [x.to(o.device) for x in torch_models.inputs(self.model, o.batch)]
        if o.infer and o.dtype == "bf16":
            module.to(torch.bfloat16)
            self.inputs = [x.to(torch.bfloat16) if x.is_floating_point() else x for x in self.inputs]
        if o.mode.endswith("_last"):
            module.to(memory_format=torch.channels_last)
            self.inputs = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for x in self.inputs]
        self.module = module.train(not evaluates)
        params = [list(module.phase_params(p)) for p in range(2)] if self.model.phases > 1 else [list(module.parameters())]
        fused = {"fused": True} if o.device != "cpu" else {}
        self.optims = [torch.optim.AdamW(p, lr=3e-4, **fused) if self.model.adam else
                       torch.optim.SGD(p, lr=0.001, momentum=0.9, **fused) for p in params]
        kind = o.mode.removesuffix("_last")
        wrap = {"eager": lambda f: f, "compile": torch.compile,
                "graphs": lambda f: torch.compile(f, mode="reduce-overhead")}[kind]
        self.loss, self.answer = wrap(self.loss_of), wrap(self.answer_of)

    def given(self):
        return self.inputs[: self.model.given]

    def loss_of(self, phase):
        with torch.autocast(self.o.device.split(":")[0], torch.bfloat16, enabled=self.o.dtype == "bf16"):
            if self.model.phases > 1:
                return self.module.phase_loss(self.inputs, phase)
            return self.model.loss(self.module(*self.given()), self.inputs[self.model.given])

    def answer_of(self):
        return self.module(*self.given())

    def sync(self):
        if self.o.device != "cpu":
            torch.cuda.synchronize()

    def step(self):
        if self.o.infer:
            with torch.inference_mode():
                result = self.answer()
            self.sync()
            return result
        total = 0.0
        for phase in range(self.model.phases):
            for optim in self.optims:
                optim.zero_grad(set_to_none=True)
            loss = self.loss(phase)
            loss.backward()
            self.optims[phase].step()
            total = total + loss.detach()
        self.sync()
        return total

    def peak(self):
        if self.o.device != "cpu":
            return torch.cuda.max_memory_reserved()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model")
    p.add_argument("weights")
    p.add_argument("--device", default="cpu")
    p.add_argument("--dtype", default="f32")
    p.add_argument("--mode", default="eager")
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--threads", type=int)
    p.add_argument("--losses", type=int, default=0)
    p.add_argument("--output")
    p.add_argument("--infer", action="store_true")
    p.add_argument("--tf32", action="store_true")
    o = p.parse_args()
    if o.threads:
        torch.set_num_threads(o.threads)
    bench = Bench(o)
    if o.output:
        with torch.inference_mode():
            numpy.save(o.output, bench.answer_of().float().cpu().numpy())
        return
    if o.losses:
        for _ in range(o.losses):
            print(f"{float(bench.step()):.9g}")
        return
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            bench.step()
            times.append(time.perf_counter() - start)
        times.sort()
        print(times[0], times[len(times) // 2], bench.peak(), flush=True)


if __name__ == "__main__":
    main()
