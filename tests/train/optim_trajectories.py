#!/usr/bin/env python3
"""Writes tests/train/optim_trajectories.inc: what PyTorch's optimisers and schedules do, in f64, for tests/unit/test_optim.c.

Usage: optim_trajectories.py        (needs torch)

Adan (the authors' formulas) and AdamW's cautious decay, which PyTorch does not have, are written out here."""

import inspect
import math
import os
import warnings

import torch
import torch.optim._muon as muon_module

HERE = os.path.dirname(os.path.abspath(__file__))
torch.set_default_dtype(torch.float64)
warnings.filterwarnings("ignore")
SHAPES = [(5, 4), (5,), (3, 5), (3,)]
NAMES = ["in.weight", "in.bias", "out.weight", "out.bias"]
MARKS = [1, 2, 3, 5, 10, 20, 40, 80, 120, 200]


def numbers(seed, *shape):
    """Multiples of 1/64 that the C test makes in the same way."""
    count = math.prod(shape)
    return torch.tensor([((k * 7919 + seed * 104729) % 101 - 50) / 64 for k in range(count)]).reshape(shape)


def start():
    return [numbers(k + 1, *shape).requires_grad_() for k, shape in enumerate(SHAPES)]


def batch(step):
    return numbers(100 + step % 4, 6, 4), numbers(200 + step % 4, 6, 3)


def loss_of(params, step):
    x, y = batch(step)
    hidden = torch.tanh(x @ params[0].T + params[1])
    return ((hidden @ params[2].T + params[3] - y) ** 2).mean()


class Adan(torch.optim.Optimizer):
    def __init__(self, params, lr, weight_decay=0.0, no_prox=False, betas=(0.98, 0.92, 0.99), eps=1e-8):
        super().__init__(params, dict(lr=lr))
        self.rest = weight_decay, no_prox, betas, eps

    @torch.no_grad()
    def step(self):
        weight_decay, no_prox, (b1, b2, b3), eps = self.rest
        for group in self.param_groups:
            lr = group["lr"]
            for p in group["params"]:
                s = self.state[p]
                if not s:
                    s.update(t=0, m=torch.zeros_like(p), d=torch.zeros_like(p), v=torch.zeros_like(p), g=p.grad.clone())
                s["t"] += 1
                change = p.grad - s["g"]
                s["m"] = b1 * s["m"] + (1 - b1) * p.grad
                s["d"] = b2 * s["d"] + (1 - b2) * change
                s["v"] = b3 * s["v"] + (1 - b3) * (p.grad + b2 * change) ** 2
                under = s["v"].sqrt() / math.sqrt(1 - b3 ** s["t"]) + eps
                if no_prox:
                    p.mul_(1 - lr * weight_decay)
                p.sub_(lr / (1 - b1 ** s["t"]) * s["m"] / under + lr * b2 / (1 - b2 ** s["t"]) * s["d"] / under)
                if not no_prox:
                    p.div_(1 + lr * weight_decay)
                s["g"] = p.grad.clone()


class Cautious(torch.optim.Adam):
    """Adam's step after a decay where the new first moment and the weight do not have opposite signs."""

    def __init__(self, params, lr, decay):
        super().__init__(params, lr=lr)
        self.decay = decay

    @torch.no_grad()
    def step(self):
        before = [p.clone() for p in self.param_groups[0]["params"]]
        super().step()
        for p, old in zip(self.param_groups[0]["params"], before):
            same = self.state[p]["exp_avg"] * old >= 0
            p.sub_(torch.where(same, self.param_groups[0]["lr"] * self.decay * old, torch.zeros_like(old)))


def muon(params, lr, **more):
    """Muon for the matrices in f64 (PyTorch rounds to bf16), AdamW for the rest."""
    text = inspect.getsource(muon_module._zeropower_via_newtonschulz).replace("torch.bfloat16", "grad.dtype")
    exec(compile(text, "muon", "exec"), muon_module.__dict__)
    adjust = {"adjust_lr_fn": "match_rms_adamw"} if more.pop("match", False) else {}
    return [torch.optim.Muon([params[0], params[2]], lr=lr, **more, **adjust),
            torch.optim.AdamW([params[1], params[3]], lr=lr)]


def groups(params, lr):
    """Biases: a fifth of the rate and no decay; the last matrix: SGD with momentum."""
    return [torch.optim.AdamW([{"params": [params[0]]}, {"params": [params[1], params[3]], "lr": lr * 0.2,
                                                         "weight_decay": 0}], lr=lr, weight_decay=0.05),
            torch.optim.SGD([params[2]], lr=lr, momentum=0.9)]


CLIPS = {
    "clip_value": lambda p: torch.nn.utils.clip_grad_value_(p, 0.05),
    "clip_norm": lambda p: [torch.nn.utils.clip_grad_norm_([x], 0.1) for x in p],
    "clip_global": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.2),
}

RUNS = [
    ("sgd", 0.1, lambda p, lr: torch.optim.SGD(p, lr=lr)),
    ("sgd_momentum", 0.05, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9)),
    ("sgd_dampening", 0.05, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9, dampening=0.3, weight_decay=0.01)),
    ("sgd_nesterov", 0.05, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9, nesterov=True, weight_decay=0.02)),
    ("adam", 0.01, lambda p, lr: torch.optim.Adam(p, lr=lr)),
    ("adam_amsgrad", 0.01, lambda p, lr: torch.optim.Adam(p, lr=lr, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.02,
                                                          amsgrad=True)),
    ("adamw", 0.01, lambda p, lr: torch.optim.AdamW(p, lr=lr)),
    ("adamw_amsgrad", 0.01, lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.1, amsgrad=True)),
    ("adamw_cautious", 0.01, lambda p, lr: Cautious(p, lr, 0.2)),
    ("adan", 0.02, lambda p, lr: Adan(p, lr, weight_decay=0.05)),
    ("adan_no_prox", 0.02, lambda p, lr: Adan(p, lr, weight_decay=0.05, no_prox=True)),
    ("adagrad", 0.05, lambda p, lr: torch.optim.Adagrad(p, lr=lr)),
    ("adagrad_all", 0.05, lambda p, lr: torch.optim.Adagrad(p, lr=lr, lr_decay=0.01, weight_decay=0.01,
                                                            initial_accumulator_value=0.2)),
    ("rmsprop", 0.005, lambda p, lr: torch.optim.RMSprop(p, lr=lr)),
    ("rmsprop_momentum", 0.005, lambda p, lr: torch.optim.RMSprop(p, lr=lr, momentum=0.9, weight_decay=0.01)),
    ("rmsprop_centered", 0.002, lambda p, lr: torch.optim.RMSprop(p, lr=lr, momentum=0.5, centered=True, alpha=0.9)),
    ("muon", 0.02, lambda p, lr: muon(p, lr)),
    ("muon_match", 0.01, lambda p, lr: muon(p, lr, match=True, nesterov=False, weight_decay=0.0)),
    ("groups", 0.02, groups),
    ("clip_value", 0.1, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9)),
    ("clip_norm", 0.1, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9)),
    ("clip_global", 0.1, lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9)),
]


def run(name, lr, make):
    params = start()
    made = make(params, lr)
    losses = []
    for step in range(200):
        for optim in made if isinstance(made, list) else [made]:
            optim.zero_grad()
        for p in params:
            p.grad = None
        loss = loss_of(params, step)
        loss.backward()
        CLIPS.get(name, lambda p: None)(params)
        for optim in made if isinstance(made, list) else [made]:
            optim.step()
        if step + 1 in MARKS:
            losses.append(loss.item())
    return losses, torch.cat([p.detach().reshape(-1) for p in params]).tolist()


def run_lbfgs(**more):
    params = start()
    optim = torch.optim.LBFGS(params, **more)
    losses = []

    def closure():
        optim.zero_grad()
        loss = loss_of(params, 0)
        loss.backward()
        return loss

    for step in range(5):
        losses.append(float(optim.step(closure)))
    return losses, torch.cat([p.detach().reshape(-1) for p in params]).tolist()


def rates(make, steps, metrics=None):
    optim = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = make(optim)
    values = []
    for step in range(steps):
        values.append(optim.param_groups[0]["lr"])
        optim.step()
        schedule.step() if metrics is None else schedule.step(metrics[step])
    return values


S = torch.optim.lr_scheduler
METRICS = [5, 4, 4.1, 4, 3.9999, 4.2, 3, 3, 3.1, 3.2, 3, 3.3, 3.4, 3, 3, 2, 2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7]
SCHEDULES = [
    ("linear", lambda: rates(lambda o: S.LinearLR(o, 1.0, 0.2, 8), 12)),
    ("cosine", lambda: [0.01 + (0.5 - 0.01) * (1 + math.cos(math.pi * min(t, 9) / 9)) / 2 for t in range(12)]),
    ("cosine_torch", lambda: rates(lambda o: S.CosineAnnealingLR(o, 9, 0.01), 10)),
    ("cosine_restart", lambda: rates(lambda o: S.CosineAnnealingWarmRestarts(o, 5, 1, 0.01), 12)),
    ("exponential", lambda: rates(lambda o: S.ExponentialLR(o, 0.9), 40)),
    ("step", lambda: rates(lambda o: S.StepLR(o, 3, 0.5), 12)),
    ("noam", lambda: [2.0 * 64**-0.5 * min((t + 1) ** -0.5, (t + 1) * 5**-1.5) for t in range(12)]),
    ("one_cycle", lambda: rates(lambda o: S.OneCycleLR(o, 0.3, 20), 20)),
    ("one_cycle_linear", lambda: rates(lambda o: S.OneCycleLR(o, 0.3, 17, pct_start=0.4, anneal_strategy="linear",
                                                              div_factor=10, final_div_factor=100), 17)),
    ("plateau", lambda: rates(lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=0.05), 24,
                              METRICS)),
    ("plateau_max", lambda: rates(lambda o: S.ReduceLROnPlateau(o, mode="max", patience=10), 24, METRICS)),
    ("sequential", lambda: rates(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 100), S.ExponentialLR(o, 0.9)],
                                                          [4]), 12)),
]


def array(values):
    return "{" + ", ".join(float(v).hex() for v in values) + "}"


def main():
    lines = ["/* Made by optim_trajectories.py from PyTorch. */"]
    lines.append("static const trajectory trajectories[] = {")
    for name, lr, make in RUNS:
        losses, params = run(name, lr, make)
        lines.append('    {"%s", %r, %s,\n     %s},' % (name, lr, array(losses), array(params)))
    for name, more in (("lbfgs", {"lr": 0.2, "max_iter": 6}), ("lbfgs_wolfe", {"lr": 1, "max_iter": 5, "history_size": 4,
                                                                            "line_search_fn": "strong_wolfe"})):
        losses, params = run_lbfgs(**more)
        lines.append('    {"%s", %r, %s,\n     %s},' % (name, more["lr"], array(losses), array(params)))
    lines.append("};\nstatic const double plateau_metrics[] = %s;" % array(METRICS))
    lines.append("static const rate_list rate_lists[] = {")
    for name, values in SCHEDULES:
        got = values()
        lines.append('    {"%s", %d, %s},' % (name, len(got), array(got)))
    lines.append("};")
    with open(os.path.join(HERE, "optim_trajectories.inc"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
