"""Recurrent cells over whole sequences, with the gates and options of ONNX."""
import torch
import torch.nn.functional as F
from conform import FLOATS

ACTIVATIONS = {1: lambda x, a, b: torch.sigmoid(x), 2: lambda x, a, b: torch.tanh(x), 3: lambda x, a, b: torch.relu(x),
               4: lambda x, a, b: a * x + b, 5: lambda x, a, b: F.leaky_relu(x, a),
               6: lambda x, a, b: torch.where(x > a, x, torch.zeros((), dtype=x.dtype)),
               7: lambda x, a, b: a * torch.tanh(b * x), 8: lambda x, a, b: (a * x + b).clamp(0, 1),
               9: lambda x, a, b: F.elu(x, a), 10: lambda x, a, b: F.softsign(x),
               11: lambda x, a, b: torch.log1p(torch.exp(-x.abs())) + torch.relu(x)}
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
USUAL = {"lstm": [1, 2, 2], "gru": [1, 2], "rnn": [2]}


def activations(op, d, attrs):
    kinds = attrs.get("activations") or USUAL[op] * 2
    n = len(USUAL[op])

    def of(which):
        i = d * n + which
        alpha, beta, clip = attrs.get("alpha%d" % i, 0.0), attrs.get("beta%d" % i, 0.0), attrs.get("clip", 0.0)
        clips = clip and which < 2  # the cell state is no gate
        return lambda x: ACTIVATIONS[kinds[i]](x.clamp(-clip, clip) if clips else x, alpha, beta)

    return [of(i) for i in range(n)]


def cell(op, f, xw, h, c, r, bias, peepholes, attrs):
    """One step: the new h and c. xw: the products of x."""
    size = h.shape[-1]
    rh, zero = h @ r.T, torch.zeros(size, dtype=h.dtype)
    bx, bh = (bias[:bias.shape[0] // 2], bias[bias.shape[0] // 2:]) if bias is not None else (0, None)
    if op == "rnn":
        return f[0](xw + bx + rh + (0 if bh is None else bh)), c
    parts = [xw[:, i * size:(i + 1) * size] for i in range(GATES[op])]
    wb = [zero if bh is None else bx[i * size:(i + 1) * size] for i in range(GATES[op])]
    rb = [zero if bh is None else bh[i * size:(i + 1) * size] for i in range(GATES[op])]
    hs = [rh[:, i * size:(i + 1) * size] for i in range(GATES[op])]
    if op == "gru":
        z, s = f[0](parts[0] + hs[0] + wb[0] + rb[0]), f[0](parts[1] + hs[1] + wb[1] + rb[1])
        if attrs.get("linear_before_reset"):
            g = f[1](parts[2] + s * (hs[2] + rb[2]) + wb[2])
        else:
            g = f[1](parts[2] + (s * h) @ r[2 * size:].T + rb[2] + wb[2])
        return (1 - z) * g + z * h, c
    p = [zero] * 3 if peepholes is None else [peepholes[i * size:(i + 1) * size] for i in range(3)]
    i = f[0](parts[0] + hs[0] + wb[0] + rb[0] + p[0] * c)
    forget = 1 - i if attrs.get("input_forget") else f[0](parts[2] + hs[2] + wb[2] + rb[2] + p[2] * c)
    c = forget * c + i * f[1](parts[3] + hs[3] + wb[3] + rb[3])
    o = f[0](parts[1] + hs[1] + wb[1] + rb[1] + p[1] * c)
    return o * f[2](c), c


def run(op, attrs, x, w, r, bias=None, lengths=None, h0=None, c0=None, peepholes=None):
    steps, batch, size = x.shape[0], x.shape[1], r.shape[2]
    ys, hs, cs = [], [], []
    for d in range(w.shape[0]):
        back = attrs.get("direction", 0) == 1 or d == 1
        zeros = torch.zeros(batch, size, dtype=x.dtype)
        h, c = zeros if h0 is None else h0[d], zeros if c0 is None else c0[d]
        f, shown = activations(op, d, attrs), [None] * steps
        for t in reversed(range(steps)) if back else range(steps):
            now, state = cell(op, f, x[t] @ w[d].T, h, c, r[d], None if bias is None else bias[d],
                              None if peepholes is None else peepholes[d], attrs)
            live = torch.ones(batch, 1, dtype=torch.bool) if lengths is None else (t < lengths).unsqueeze(1)
            shown[t] = torch.where(live, now, torch.zeros((), dtype=x.dtype))
            h, c = torch.where(live, now, h), torch.where(live, state, c)
        ys.append(torch.stack(shown) if steps else torch.zeros(0, batch, size, dtype=x.dtype))
        hs.append(h)
        cs.append(c)
    result = (torch.stack(ys, 1), torch.stack(hs))
    return result + (torch.stack(cs),) if op == "lstm" else result


def operands(g, op, steps, batch, ins, hidden, directions, given=()):
    """x, weights, and those of bias, lengths, h, c and peepholes that are named; the shapes of a larger case beside them."""
    rows, states = GATES[op] * hidden, (directions, batch, hidden)
    small = 0.6

    def made(name, *shape):
        return g.values(*shape, low=-small, high=small) if name in given else g.none()

    lengths = g.none()
    if "lengths" in given:
        lengths = g.ints(batch, low=0, high=steps, dtype="i32" if op == "lstm" else "i64")
    list = [g.values(steps, batch, ins), g.values(directions, rows, ins, low=-small, high=small),
            g.values(directions, rows, hidden, low=-small, high=small), made("bias", directions, 2 * rows), lengths,
            made("h", *states)]
    return list + [made("c", *states), made("peepholes", directions, 3 * hidden)] if op == "lstm" else list


def add(g, op, given=(), attrs=None, steps=3, batch=2, ins=3, hidden=4, big=(9, 5, 20, 37), grad=True, name=None,
        dtypes=FLOATS):
    attrs = attrs or {}
    directions = 2 if attrs.get("direction") == 2 else 1
    list = operands(g, op, steps, batch, ins, hidden, directions, given)
    large = False
    if big:
        large = [o.shape for o in operands(g, op, *big, directions, given)]
    g.add(op, list, attrs=attrs, dtypes=dtypes, grad=grad, large=large, name=name,
          expect=lambda *x: run(op, attrs, *x))


CELLS = {0: torch.rnn_tanh, 1: torch.gru, 2: torch.lstm}


def stack_sizes(attrs, ins):
    """The shapes of each layer's and direction's weight_ih, weight_hh, then of their bias_ih and bias_hh."""
    hidden, directions = attrs["hidden"], attrs["directions"]
    rows = (1, 3, 4)[attrs["cell"]] * hidden
    matrices, biases = [], []
    for i in range(attrs["layers"] * directions):
        matrices += [(rows, ins if i < directions else hidden * directions), (rows, hidden)]
        biases += [(rows,), (rows,)] if attrs["biased"] else []
    return matrices + biases


def stack(attrs, x, weights, h=None, c=None):
    parts, at = [], 0
    for shape in stack_sizes(attrs, x.shape[2]):
        size = 1
        for n in shape:
            size *= n
        parts.append(weights[at:at + size].reshape(shape))
        at += size
    all, biased = attrs["layers"] * attrs["directions"], attrs["biased"]
    flat = []
    for i in range(all):
        flat += parts[2 * i:2 * i + 2] + (parts[2 * (all + i):2 * (all + i) + 2] if biased else [])
    zeros = torch.zeros(all, x.shape[1], attrs["hidden"], dtype=x.dtype)
    h = zeros if h is None else h
    states = (h, zeros if c is None else c) if attrs["cell"] == 2 else h
    made = CELLS[attrs["cell"]](x, states, flat, bool(biased), attrs["layers"], 0.0, False, attrs["directions"] == 2, False)
    return made if attrs["cell"] == 2 else made + (torch.zeros(0, dtype=x.dtype),)


def stack_grad(attrs, x, weights, y, dy, h=None, c=None, dh=None, dc=None):
    all = attrs["layers"] * attrs["directions"]
    zeros = torch.zeros(all, x.shape[1], attrs["hidden"], dtype=x.dtype)
    lstm = attrs["cell"] == 2
    inputs = [x, weights, zeros if h is None else h] + ([zeros if c is None else c] if lstm else [])
    inputs = [t.detach().clone().requires_grad_(True) for t in inputs]
    with torch.enable_grad():
        made = stack(attrs, *inputs)
        slopes = [dy, zeros if dh is None else dh] + ([zeros if dc is None else dc] if lstm else [])
        grads = torch.autograd.grad(made[:len(slopes)], inputs, slopes)
    return tuple(grads) if lstm else tuple(grads) + (torch.zeros(0, dtype=x.dtype),)


def stack_operands(g, attrs, steps, batch, ins, states, low=0.6):
    count = 0
    for shape in stack_sizes(attrs, ins):
        size = 1
        for n in shape:
            size *= n
        count += size
    state = (attrs["layers"] * attrs["directions"], batch, attrs["hidden"])
    first = [g.values(steps, batch, ins), g.values(count, low=-low, high=low)]
    given = [g.values(*state, low=-low, high=low) if states else g.none()]
    return first, given + [g.values(*state, low=-low, high=low) if states and attrs["cell"] == 2 else g.none()]


def fixed(g, operands):
    """The same with values that are known here, and the same in all dtypes."""
    def drawn(o):
        count = 1
        for size in o.shape:
            count *= size
        return (torch.arange(count, dtype=torch.float64) * 37 % 41 - 20).reshape(o.shape) / 32

    return [o if o.kind == "none" else g.literal(drawn(o).tolist()) for o in operands]


def stack_cases(g):
    for cell in range(3):
        for layers, directions, biased, states in [(1, 1, 1, 0), (2, 1, 0, 1), (2, 2, 1, 1)]:
            attrs = {"cell": cell, "layers": layers, "directions": directions, "hidden": 4, "biased": biased}
            first, given = stack_operands(g, attrs, 3, 2, 3, states)
            g.add("recurrent_layers", first + given, attrs=attrs, dtypes=FLOATS, grad=True, large=False,
                  expect=lambda *x, a=attrs: stack(a, *x))
            _, slopes = stack_operands(g, attrs, 3, 2, 3, states)
            first, given = fixed(g, first), fixed(g, given)
            tensors = [None if o.kind == "none" else torch.tensor(o.values, dtype=torch.float64) for o in first + given]
            first += [g.literal(stack(attrs, *tensors)[0].tolist()), g.values(3, 2, 4 * directions)]  # what the layers gave
            g.add("recurrent_layers_grad", first + given + slopes, attrs=attrs, dtypes=FLOATS, large=False,
                  expect=lambda *x, a=attrs: stack_grad(a, *x))
    attrs = {"cell": 1, "layers": 1, "directions": 1, "hidden": 4, "biased": 1}
    x, weights, c = g.values(3, 2, 3), g.values(108), g.values(1, 2, 4)
    for changed, text in [({"cell": 3}, "cell is 3"), ({"layers": 65}, "there are 65 layers"), ({"directions": 3}, "3 directions"),
                          ({"hidden": 0}, "the hidden size is 0")]:
        g.error("recurrent_layers", [x, weights, g.none(), g.none()], attrs={**attrs, **changed}, text=text)
    g.error("recurrent_layers", [x, g.values(107), g.none(), g.none()], attrs=attrs, status="shape", text="must be [108]")
    g.error("recurrent_layers", [x, weights, g.none(), c], attrs=attrs, text="only lstm")
    g.error("recurrent_layers", [g.values(0, 2, 3), weights, g.none(), g.none()], attrs=attrs, status="shape", text="no steps")
    g.error("recurrent_layers_grad", [x, weights, c, c], attrs=attrs, status="shape", text="y must be [3, 2, 4]")


def kind_cases(g):
    """Every activation once, where the derivative exists at what comes in."""
    for kind in range(1, 12):
        kinky = kind in (3, 5, 6, 8)
        attrs = {"activations": [kind], "alpha0": 0.4 if kind != 6 else -0.3, "beta0": 0.7}
        add(g, "rnn", ["bias", "h"], attrs, big=None, grad="torch" if kinky else True, name="kind%d" % kind)
    attrs = {"activations": [8, 9, 10], "alpha0": 0.3, "beta0": 0.5, "alpha1": 0.8}
    add(g, "lstm", ["bias", "h", "c"], attrs, name="kinds", grad="torch")
    attrs = {"direction": 2, "activations": [1, 10, 8, 7], "alpha2": 0.3, "beta2": 0.4, "alpha3": 0.8, "beta3": 1.2}
    add(g, "gru", ["bias", "h"], attrs, name="kinds", grad="torch")


def cases(g):
    for op in ("lstm", "gru", "rnn"):
        add(g, op)
        add(g, op, ["bias", "h", "c"])
        add(g, op, ["bias", "lengths"], batch=4, big=(9, 20, 6, 9))
        add(g, op, ["bias", "lengths", "h", "c"], {"direction": 1}, batch=3)
        add(g, op, ["bias", "h", "c"], {"direction": 2}, big=(7, 30, 9, 33))
        add(g, op, ["bias", "lengths", "h", "c"], {"direction": 2}, batch=3)
        add(g, op, ["bias"], {"clip": 0.35}, grad="torch", name="clip")
        add(g, op, ["bias"], steps=1, batch=1, hidden=1, ins=1)
        for sizes in [dict(steps=0), dict(batch=0), dict(ins=0)]:
            add(g, op, ["bias", "h", "c"], grad=False, big=None, name="empty", **sizes)
        g.error(op, [g.values(3, 2, 4), g.values(1, GATES[op] * 5, 3), g.values(1, GATES[op] * 5, 5)], status="shape",
                text="the weight must be [1, %d, 4]" % (GATES[op] * 5))
        g.error(op, [g.values(3, 2, 4), g.values(1, GATES[op] * 5, 4), g.values(1, GATES[op] * 4, 5)], status="shape",
                text="the recurrent weight must be")
        g.error(op, [g.values(3, 2, 4), g.values(1, GATES[op] * 5, 4), g.values(1, GATES[op] * 5, 5)],
                attrs={"direction": 2}, status="shape", text="[2, ")
        g.error(op, [g.values(3, 2, 4), g.values(1, GATES[op] * 5, 4), g.values(1, GATES[op] * 5, 5)],
                attrs={"direction": 3}, text="direction is 3")
        g.error(op, [g.values(3, 2, 4), g.values(1, GATES[op] * 5, 4), g.values(1, GATES[op] * 5, 5)],
                attrs={"activations": [1] * 5}, text="activations")
    add(g, "lstm", ["bias", "h", "c", "peepholes"])
    add(g, "lstm", ["bias", "lengths", "h", "c", "peepholes"], {"direction": 2}, batch=3)
    add(g, "lstm", ["bias", "h", "c"], {"input_forget": 1})
    add(g, "lstm", ["bias", "peepholes"], {"input_forget": 1, "direction": 1})
    add(g, "gru", ["bias", "h"], {"linear_before_reset": 1})
    add(g, "gru", ["bias", "lengths", "h"], {"linear_before_reset": 1, "direction": 2}, batch=3)
    add(g, "gru", ["h"], {"linear_before_reset": 1})
    kind_cases(g)
    stack_cases(g)
