"""Losses: as rows and as public functions."""

import math

import torch
import torch.nn.functional as F

REDUCTIONS = ("mean", "sum", "none")


def wide(dtype):
    """Losses of half types are kept in f32 until the last step."""
    return "f32" if dtype in ("f16", "bf16") else dtype


def entropy_parts(x, t, w, smoothing=0.0, ignore=-100):
    """Loss, log sum exp and weight of each position."""
    axis = 1 if x.dim() > 1 else 0
    ignored = t == ignore
    at = torch.where(ignored, torch.zeros_like(t), t).unsqueeze(axis)
    lse = x.logsumexp(axis)
    weight = torch.ones(x.shape[axis], dtype=x.dtype) if w is None else w
    share = weight[at.squeeze(axis)]
    value = share * (lse - x.gather(axis, at).squeeze(axis))
    if smoothing > 0:
        shaped = weight if axis == 0 else weight.reshape((-1,) + (1,) * (x.dim() - 2))
        value = (1 - smoothing) * value + smoothing / x.shape[axis] * (shaped * (lse.unsqueeze(axis) - x)).sum(axis)
    zero = torch.zeros_like(value)
    return torch.where(ignored, zero, value), lse, torch.where(ignored, torch.zeros_like(share), share)


def entropy_gradient(dy, x, t, lse, w, smoothing=0.0, ignore=-100):
    axis = 1 if x.dim() > 1 else 0
    ignored = (t == ignore).unsqueeze(axis)
    at = torch.where(t == ignore, torch.zeros_like(t), t)
    weight = torch.ones(x.shape[axis], dtype=x.dtype) if w is None else w
    q = F.one_hot(at, x.shape[axis]).to(x.dtype) * (1 - smoothing) * weight + smoothing / x.shape[axis] * weight
    q = q.movedim(-1, axis)
    inside = (x - lse.unsqueeze(axis)).exp() * q.sum(axis, keepdim=True) - q
    return torch.where(ignored, torch.zeros_like(inside), inside) * dy.unsqueeze(axis)


def cross_entropies(g):
    shapes = (((5, 7), (5,), ((90, 700), (90,))), ((2, 4, 3), (2, 3), ((6, 30, 70), (6, 70))), ((6,), (), None),
              ((2, 3, 2, 5), (2, 2, 5), None))
    for shape, positions, big in shapes:
        classes = shape[1] if len(shape) > 1 else shape[0]
        x, t, w = g.values(*shape), g.ints(*positions, low=0, high=classes - 1), g.values(classes, low=0.2, high=1)
        c = big[0][1] if big else 0
        for smoothing in (0.0, 0.2):
            attrs = {"ignore_index": 1, "smoothing": smoothing}
            g.add("cross_entropy", [x, t, w], attrs=attrs, out=wide, grad=[0], name="weighted",
                  expect=lambda x, t, w, s=smoothing: entropy_parts(x, t, w, s, 1),
                  large=[big[0], big[1], (c,)] if big else False)
            g.add("cross_entropy", [x, t, g.none()], attrs=attrs, out=wide, grad=[0],
                  expect=lambda x, t, w, s=smoothing: entropy_parts(x, t, w, s, 1),
                  large=[big[0], big[1], ()] if big else False)
            # lse is an operand but a function of x, and so are second derivatives through it: those are checked where
            # it is known, for equal logits, and by cross_entropy.
            lse = g.literal(torch.full(positions, math.log(classes), dtype=torch.float64).numpy())
            flat = g.literal(torch.zeros(shape).numpy())
            for weight in (w, g.none()):
                def gradient(dy, x, t, z, w, s=smoothing):
                    return entropy_gradient(dy, x, t, z, w, s, 1)

                g.add("cross_entropy_grad", [g.values(*positions), x, t, g.values(*positions, low=1, high=3), weight],
                      attrs=attrs, expect=gradient, name="any",
                      large=[big[1], big[0], big[1], big[1], (c,) if weight is w else ()] if big else False)
                g.add("cross_entropy_grad", [g.values(*positions), flat, t, lse, weight], attrs=attrs, grad=[0],
                      expect=gradient, large=False)
    attrs = {"ignore_index": -100, "smoothing": 0.0}
    rows = [[-math.inf, 0.0, 1.0], [-1e4, 1e4, 0.0], [800.0, 799.0, 0.0]]
    g.add("cross_entropy", [g.literal(rows), g.literal([2, 1, -100], dtype="i64")], attrs=attrs, name="edges",
          dtypes=["f64", "f32"], expect=lambda x, t: entropy_parts(x, t, None), out=wide, large=False)
    rows = [[-math.inf] * 3, [math.inf, 0.0, 1.0], [0.0, -math.inf, 1.0], [math.nan, 0.0, 1.0]]
    g.add("cross_entropy_loss", [g.literal(rows), g.literal([0, 1, 1, 2], dtype="i64")], attrs={"reduction": 2},
          name="edges", expect=lambda x, t: F.cross_entropy(x, t, reduction="none"), large=False)
    g.add("cross_entropy", [g.values(0, 3), g.ints(0)], attrs=attrs, name="empty", out=wide, large=False,
          expect=lambda x, t: (x[:, 0], x[:, 0], x[:, 0]))
    for bad in (3, -1):
        g.error("cross_entropy", [g.values(2, 3), g.literal([0, bad], dtype="i64")], attrs=attrs, status="index",
                text=str(bad))
    g.error("cross_entropy", [g.values(2, 3), g.ints(3)], attrs=attrs, status="shape", text="[3]")
    g.error("cross_entropy", [g.values(2, 3), g.values(2)], attrs=attrs, status="dtype", text="integer")
    for k, reduction in enumerate(REDUCTIONS):
        for shape, positions, _ in shapes:
            classes = shape[1] if len(shape) > 1 else shape[0]
            x, t, w = g.values(*shape), g.ints(*positions, low=1, high=classes - 1), g.values(classes, low=0.2, high=1)
            attrs = {"label_smoothing": 0.1, "ignore_index": 2, "reduction": k}
            weight = w if len(shape) > 1 else g.none()
            if not positions and reduction == "mean":
                attrs["ignore_index"] = -7
            g.add("cross_entropy_loss", [x, t, weight], attrs=attrs, grad=[0], large=False,
                  expect=lambda x, t, w, r=reduction, i=attrs["ignore_index"]: F.cross_entropy(
                      x, t, w, ignore_index=i, label_smoothing=0.1, reduction=r))
            g.add("nll_loss", [x, t, weight], attrs=attrs, grad=[0], large=False,
                  expect=lambda x, t, w, r=reduction, i=attrs["ignore_index"]: F.nll_loss(
                      x, t, w, ignore_index=i, reduction=r))
            g.add("cross_entropy_loss", [x, g.values(*shape, low=0, high=1), weight], name="probabilities",
                  attrs=attrs, grad=[0, 1], large=False,
                  expect=lambda x, t, w, r=reduction: F.cross_entropy(x, t, w, label_smoothing=0.1, reduction=r))
    g.add("cross_entropy_with_logits", [g.values(4, 5), g.values(4, 5, low=0, high=1)], grad=True, large=False,
          expect=lambda x, p: -(F.log_softmax(x, 1) * p).sum(1).mean())


def binary(g):
    p, t = g.values(3, 5, low=0.05, high=0.95), g.values(3, 5, low=0, high=1)
    g.add("binary_cross_entropy", [p, t], elementwise=True, grad=True,
          expect=lambda x, t: -(t * x.log().clamp_min(-100) + (1 - t) * (-x).log1p().clamp_min(-100)))
    # By x alone: PyTorch's derivative by the target is infinite at 0 and 1, that of the formula is 100.
    g.add("binary_cross_entropy", [g.literal([0.0, 1.0, 0.0, 1.0, 0.5]), g.literal([0, 1, 1, 0, 1], dtype="i64")],
          expect=lambda x, t: F.binary_cross_entropy(x, t.double(), reduction="none"), name="edges", grad="torch",
          second="at the edges of the domain, where differences say nothing", dtypes=["f32"], large=False)
    for k, reduction in enumerate(REDUCTIONS):
        attrs = {"reduction": k}
        w, pos = g.values(5, low=0.5, high=2), g.values(5, low=0.5, high=2)
        g.add("binary_cross_entropy_loss", [p, t], attrs=attrs, grad=True, large=False,
              expect=lambda x, t, r=reduction: F.binary_cross_entropy(x, t, reduction=r))
        g.add("binary_cross_entropy_loss", [p, t, w], attrs=attrs, grad=[0, 1], name="weighted", large=False,
              expect=lambda x, t, w, r=reduction: F.binary_cross_entropy(x, t, w, reduction=r))
        x = g.values(3, 5, low=-20, high=20)
        g.add("binary_cross_entropy_with_logits", [x, t], attrs=attrs, grad=True, large=False,
              expect=lambda x, t, r=reduction: F.binary_cross_entropy_with_logits(x, t, reduction=r))
        g.add("binary_cross_entropy_with_logits", [x, t, w, pos], attrs=attrs, grad=[0], name="weighted", large=False,
              expect=lambda x, t, w, p, r=reduction: F.binary_cross_entropy_with_logits(
                  x, t, w, pos_weight=p, reduction=r))
    g.add("binary_cross_entropy_with_logits", [g.literal([-2000.0, 2000.0, 0.0]), g.literal([1.0, 0.0, 1.0])],
          attrs={"reduction": 2}, name="edges", large=False,
          expect=lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"))


def distances(g):
    x, t = g.values(3, 5, flags="distinct"), g.values(3, 5, low=-1.9, high=1.7, flags="distinct")
    p = g.values(3, 5, low=0.1, high=1)
    for k, reduction in enumerate(REDUCTIONS):
        def add(op, inputs, function, name=None, grad=True, k=k, reduction=reduction, **attrs):
            g.add(op, inputs, attrs={**attrs, "reduction": k}, grad=grad, name=name, large=False,
                  expect=lambda *operands: function(*operands, reduction=reduction))

        add("mse_loss", [x, t], F.mse_loss)
        add("l1_loss", [x, t], F.l1_loss)
        add("smooth_l1_loss", [x, t], lambda a, b, reduction: F.smooth_l1_loss(a, b, beta=0.7, reduction=reduction),
            beta=0.7)
        add("smooth_l1_loss", [x, t], F.l1_loss, beta=0.0, name="beta_zero")
        add("huber_loss", [x, t], lambda a, b, reduction: F.huber_loss(a, b, delta=0.7, reduction=reduction), delta=0.7)
        add("kl_div_loss", [x, p], F.kl_div)
        add("kl_div_loss", [x, t], lambda a, b, reduction: F.kl_div(a, b, reduction=reduction, log_target=True),
            name="log_target", log_target=1)
        add("poisson_nll_loss", [x, p], F.poisson_nll_loss)
        counts = g.values(3, 5, low=1.5, high=6)
        add("poisson_nll_loss", [p, counts], name="full", rates=1, full=1, grad=[0],
            function=lambda a, b, reduction: F.poisson_nll_loss(a, b, log_input=False, full=True, reduction=reduction))
        add("gaussian_nll_loss", [x, t, p], F.gaussian_nll_loss)
        add("gaussian_nll_loss", [x, t, p], name="full", full=1,
            function=lambda a, b, v, reduction: F.gaussian_nll_loss(a, b, v, full=True, reduction=reduction))
        signs = g.literal([[1.0, -1.0, 1.0, -1.0, 1.0]] * 3)
        sign = g.literal([1.0, -1.0, -1.0])
        add("hinge_embedding_loss", [x, signs], F.hinge_embedding_loss, margin=1.0, grad=[0])
        add("cosine_embedding_loss", [x, t, sign], margin=0.1, grad=[0, 1],
            function=lambda a, b, s, reduction: F.cosine_embedding_loss(a, b, s, margin=0.1, reduction=reduction))
        add("margin_ranking_loss", [g.values(3), g.values(3), sign], margin=0.1, grad=[0, 1],
            function=lambda a, b, s, reduction: F.margin_ranking_loss(a, b, s, margin=0.1, reduction=reduction))
        far = g.values(3, 5, low=-3, high=3)
        add("triplet_margin_loss", [x, t, far], F.triplet_margin_loss)
        add("triplet_margin_loss", [x, t, far], name="swap", swap=1, p=3.0, margin=2.0,
            function=lambda a, b, c, reduction: F.triplet_margin_loss(a, b, c, 2.0, 3.0, swap=True, reduction=reduction))
    g.add("kl_div_loss", [x, p], attrs={"batch_mean": 1}, name="batch_mean", large=False, grad=True,
          expect=lambda a, b: F.kl_div(a, b, reduction="batchmean"))
    g.add("kl_div_loss", [g.literal([1.0, 2.0, 3.0]), g.literal([0.0, 0.5, 1.0])], attrs={"reduction": 2}, name="edges",
          large=False, expect=lambda a, b: F.kl_div(a, b, reduction="none"))
    g.add("mse_loss", [g.values(3, 5), g.values(5)], name="broadcast", large=False, grad=True,
          expect=lambda a, b: ((a - b) ** 2).mean())
    for reduction, value in ((0, math.nan), (1, 0.0)):
        g.add("mse_loss", [g.values(0, 3), g.values(0, 3)], attrs={"reduction": reduction}, name="empty", large=False,
              expect=lambda a, b, v=value: torch.tensor(v, dtype=torch.float64))
    g.error("mse_loss", [g.values(3), g.values(4)], status="shape", text="[4]")
    g.error("l1_loss", [g.ints(3), g.ints(3)], status="dtype", text="i64")
    g.error("huber_loss", [g.values(3), g.values(3)], attrs={"delta": 0.0}, status="argument", text="delta")


def alignments(logp, targets, steps, longest, blank=0):
    """Loss, forward variables [batch, steps, places] and the probability of each class at each step."""
    logp = logp.clone().requires_grad_(True)
    losses, alphas = [], torch.full((len(targets), logp.shape[0], 2 * longest + 1), -math.inf, dtype=torch.float64)
    for b, target in enumerate(targets):
        labels = [blank]
        for label in target:
            labels += [label, blank]
        row = [logp[0, b, labels[s]] if s < 2 else torch.tensor(-math.inf).double() for s in range(len(labels))]
        for t in range(steps[b]):
            if t:
                before, row = row, []
                for s, label in enumerate(labels):
                    terms = before[max(0, s - 1):s + 1]
                    if s > 1 and label != labels[s - 2]:
                        terms = [before[s - 2]] + terms
                    finite = [v for v in terms if v > -math.inf]
                    row.append(torch.logsumexp(torch.stack(finite), 0) + logp[t, b, label] if finite else terms[0])
            alphas[b, t, :len(row)] = torch.stack(row).detach()
        losses.append(-torch.logsumexp(torch.stack(row[-2:]), 0))
    loss = torch.stack(losses)
    return loss.detach(), alphas, -torch.autograd.grad(loss.sum(), logp)[0]


CTC = "the gradient of ctc_loss_grad is an error that says so"


def temporal(g):
    steps, labels = g.literal([7, 6, 7], dtype="i64"), g.literal([3, 2, 0], dtype="i64")
    padded = g.literal([[1, 1, 2], [4, 3, 0], [0, 0, 0]], dtype="i64")
    packed = g.literal([1, 1, 2, 4, 3], dtype="i64")
    for k, reduction in enumerate(REDUCTIONS):
        for targets, name in ((padded, "padded"), (packed, "packed")):
            g.add("ctc_loss_function", [g.values(7, 3, 5), targets, steps, labels], attrs={"reduction": k}, grad=[0],
                  second=CTC, name=name, covers=["ctc_loss", "ctc_loss_grad"], large=False,
                  expect=lambda x, t, s, n, r=reduction: F.ctc_loss(F.log_softmax(x, -1), t, s, n, reduction=r))
    attrs = {"blank": 0, "zero_infinity": 0, "longest": 3}
    g.add("ctc_loss", [g.values(7, 3, 5, low=-3, high=0), padded, steps, labels], attrs=attrs, out=wide, large=False,
          expect=lambda p, t, s, n: (F.ctc_loss(p, t, s, n, reduction="none"), None))
    fixed = -torch.linspace(0.5, 4, 7 * 3 * 5, dtype=torch.float64).reshape(7, 3, 5).sin().abs()
    loss, alpha, posterior = alignments(fixed, [[1, 1, 2], [4, 3], []], [7, 6, 7], 3)
    g.add("ctc_loss_grad", [g.values(3), g.literal(fixed.numpy(), dtype="f64"), padded, steps, labels,
                            g.literal(loss.numpy(), dtype="f64"), g.literal(alpha.numpy(), dtype="f64")], attrs=attrs,
          expect=lambda dy, p, t, s, n, z, a: -posterior * dy[:, None], out="f64", large=False)
    g.error("ctc_loss_grad", [g.values(2), g.literal(fixed.numpy()), padded, steps, labels, g.literal(loss.numpy()),
                              g.literal(alpha.numpy())], attrs=attrs, status="shape", text="[2]")
    short = g.literal([2, 1, 1], dtype="i64")
    g.add("ctc_loss_function", [g.values(3, 3, 5), padded, short, labels], attrs={"reduction": 2}, name="infinite",
          expect=lambda x, t, s, n: F.ctc_loss(F.log_softmax(x, -1), t, s, n, reduction="none"), large=False,
          covers=["ctc_loss"])
    g.add("ctc_loss_function", [g.values(3, 3, 5), padded, short, labels], attrs={"reduction": 2, "zero_infinity": 1},
          expect=lambda x, t, s, n: F.ctc_loss(F.log_softmax(x, -1), t, s, n, reduction="none", zero_infinity=True),
          grad=[0], second=CTC, name="zero_infinity", covers=["ctc_loss", "ctc_loss_grad"], large=False)
    others = g.literal([[1, 1, 2], [0, 3, 0], [0, 0, 0]], dtype="i64")
    g.add("ctc_loss_function", [g.values(7, 3, 5), others, steps, labels], attrs={"reduction": 1, "blank": 4},
          expect=lambda x, t, s, n: F.ctc_loss(F.log_softmax(x, -1), t, s, n, blank=4, reduction="sum"), grad=[0],
          second=CTC, name="blank", covers=["ctc_loss", "ctc_loss_grad"], large=False)
    for wrong, word in ((g.literal([[1, 5, 2], [4, 3, 0], [0, 0, 0]], dtype="i64"), "5"),):
        g.error("ctc_loss_function", [g.values(7, 3, 5), wrong, steps, labels], status="index", text=word)
    g.error("ctc_loss_function", [g.values(7, 3, 5), padded, g.literal([9, 6, 7], dtype="i64"), labels],
            status="index", text="9")
    g.error("ctc_loss_function", [g.values(7, 3, 5), padded, steps, labels], attrs={"blank": 5}, status="argument",
            text="blank")
    g.error("ctc_loss_function", [g.values(7, 3, 5), padded, steps, g.literal([1, 1], dtype="i64")], status="shape",
            text="[2]")


def cases(g):
    cross_entropies(g)
    binary(g)
    distances(g)
    temporal(g)
