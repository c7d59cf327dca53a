"""The updates of optimisers."""

import torch
from conform import FLOATS

EMPTY = torch.zeros(0, dtype=torch.float64)
SHAPES = ((3, 5), (17,), (2, 3, 4), (), (0, 3))


def sgd(lr=0.0, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=0, first=0):
    def run(p, g, b, scale):
        d = g * (1 if scale is None else scale) + weight_decay * p
        if b is None:
            return p - lr * d, EMPTY
        b = d if first else momentum * b + (1 - dampening) * d
        return p - lr * (d + momentum * b if nesterov else b), b
    return run


def adam(lr, beta1, beta2, eps, weight_decay=0.0, step=1, decoupled=0, cautious=0):
    def run(p, g, m, v, w, scale):
        g = g * (1 if scale is None else scale)
        g = g if decoupled else g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        most = v if w is None else torch.maximum(w, v)
        decay = lr * weight_decay * p if decoupled else torch.zeros_like(p)
        decay = torch.where(m * p < 0, torch.zeros_like(p), decay) if cautious else decay
        under = (most / (1 - beta2**step)).sqrt() + eps
        return p - decay - lr * m / (1 - beta1**step) / under, m, v, EMPTY if w is None else most
    return run


def rmsprop(lr, alpha, eps, weight_decay=0.0, momentum=0.0):
    def run(p, g, v, m, b, scale):
        g = g * (1 if scale is None else scale) + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g
        if m is not None:
            m = alpha * m + (1 - alpha) * g
        step = g / ((v if m is None else v - m * m).sqrt() + eps)
        if b is not None:
            step = b = momentum * b + step
        return p - lr * step, v, EMPTY if m is None else m, EMPTY if b is None else b
    return run


def adagrad(lr, lr_decay, eps, weight_decay, step):
    def run(p, g, v, scale):
        g = g * (1 if scale is None else scale) + weight_decay * p
        v = v + g * g
        return p - lr / (1 + (step - 1) * lr_decay) * g / (v.sqrt() + eps), v
    return run


def adan(lr, beta1, beta2, beta3, eps, weight_decay, step, no_prox=0):
    def run(p, g, m, d, v, last, scale):
        g = g * (1 if scale is None else scale)
        c = torch.zeros_like(g) if step == 1 else g - last
        m = beta1 * m + (1 - beta1) * g
        d = beta2 * d + (1 - beta2) * c
        v = beta3 * v + (1 - beta3) * (g + beta2 * c) ** 2
        under = (v / (1 - beta3**step)).sqrt() + eps
        p = p * (1 - lr * weight_decay) if no_prox else p
        p = p - lr * m / (1 - beta1**step) / under - lr * beta2 * d / (1 - beta2**step) / under
        return (p if no_prox else p / (1 + lr * weight_decay)), m, d, v, g
    return run


def add(g, op, rule, attrs, states, shape, scale=True):
    """states: None, or the lowest and highest value of each."""
    values = lambda low=-2, high=2: g.values(*shape, low=low, high=high)
    operands = [values(), values()] + [g.none() if s is None else values(*s) for s in states]
    operands.append(g.values(low=0.5, high=2, dtype="f32") if scale else g.none())
    g.add(op, operands, attrs=attrs, dtypes=FLOATS, expect=rule(**attrs), large=None if shape == (3, 5) else False)


def cases(g):
    any, above, small = (-2, 2), (0.5, 2), (-0.25, 0.25)
    for shape in SHAPES:
        for scale in (False, True) if shape == (3, 5) else (True,):
            add(g, "sgd_update", sgd, {"lr": 0.1, "weight_decay": 0.01}, [None], shape, scale)
            more = {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.01}
            add(g, "sgd_update", sgd, more, [any], shape, scale)
            add(g, "sgd_update", sgd, dict(more, first=1), [any], shape, scale)
            add(g, "sgd_update", sgd, dict(more, nesterov=1), [any], shape, scale)
            for step in (1, 7):
                more = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.1, "step": step}
                for last in (None, above):
                    add(g, "adam_update", adam, more, [any, above, last], shape, scale)
                    add(g, "adam_update", adam, dict(more, decoupled=1), [any, above, last], shape, scale)
                    add(g, "adam_update", adam, dict(more, decoupled=1, cautious=1), [any, above, last], shape, scale)
                more = {"lr": 0.1, "lr_decay": 0.1, "eps": 1e-6, "weight_decay": 0.01, "step": step}
                add(g, "adagrad_update", adagrad, more, [above], shape, scale)
                more = {"lr": 0.01, "beta1": 0.98, "beta2": 0.92, "beta3": 0.99, "eps": 1e-6, "weight_decay": 0.1,
                        "step": step}
                add(g, "adan_update", adan, more, [any, any, above, any], shape, scale)
                add(g, "adan_update", adan, dict(more, no_prox=1), [any, any, above, any], shape, scale)
            more = {"lr": 0.1, "alpha": 0.9, "eps": 1e-6, "weight_decay": 0.01, "momentum": 0.9}
            for mean in (None, small):
                for buffer in (None, any):
                    add(g, "rmsprop_update", rmsprop, more, [above, mean, buffer], shape, scale)
    four = [g.values(3) for _ in range(4)]
    g.error("adam_update", four, attrs={"step": 0}, status="argument", text="step is 0")
    g.error("adam_update", [g.values(3), g.values(4), g.values(3), g.values(3)], attrs={"step": 1}, status="shape",
            text="the gradient [4]")
    g.error("adam_update", [g.values(3), g.values(3), g.values(3), g.values(3, dtype="f64")], attrs={"step": 1},
            status="shape", text="state 2")
    g.error("sgd_update", [g.values(3), g.values(3), g.none(), g.values(3)], status="shape", text="rank 0")
    g.error("sgd_update", [g.values(3), g.values(3)], status="dtype", text="", dtypes=["i32"])
