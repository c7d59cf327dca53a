"""Writes nn_sequence_values.inc: what PyTorch computes for recurrent layers, attention, transformers and the transducer
loss, forward and backward, in f64. Params and inputs follow a formula that the tests repeat, so only results are stored.
Run in the root of the repository: python3 tests/train/nn_sequence_values.py"""

import math
import os

import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
entries = []


def numbers(seed, *shape):
    """The tests' numbers: -50 / 64 to 50 / 64."""
    k = np.arange(int(np.prod(shape)), dtype=np.int64)
    return torch.tensor(((k * 7919 + seed * 104729) % 101 - 50) / 64.0).reshape(shape)


def seed_of(path):
    h = 7
    for c in path.encode():
        h = (h * 31 + c) % 1009
    return h


def store(name, tensor):
    entries.append((name, tensor.detach().reshape(-1).tolist()))


def checksum(name, g):
    store(name, torch.stack([(g * numbers(11, *g.shape)).sum(), (g * numbers(12, *g.shape)).sum()]))


def set_param(path, like):
    return numbers(seed_of(path), *like.shape)


# ---- recurrent layers


def fill(module):
    for path, p in module.named_parameters():
        p.data = set_param(path, p)


def recurrent(name, kind, x, states=(), **options):
    module = kind(x.shape[-1], 4, **options)
    fill(module)
    x.requires_grad_()
    states = tuple(s.requires_grad_() for s in states)
    given = states if len(states) > 1 else states[0] if states else None
    y, last = module(x, given)
    last = last if isinstance(last, tuple) else (last,)
    finish(name, module.named_parameters(), x, states, y, last)


def finish(name, params, x, states, y, last):
    loss = (y * numbers(99, *y.shape)).sum()
    for i, s in enumerate(last):
        loss = loss + (s * numbers(98 - i, *s.shape)).sum()
    loss.backward()
    store(name + ".y", y)
    for i, s in enumerate(last):
        store("%s.last%d" % (name, i), s)
    store(name + ".dx", x.grad)
    for i, s in enumerate(states):
        store("%s.dstate%d" % (name, i), s.grad)
    for path, p in params:
        checksum("%s.grad.%s" % (name, path), p.grad if p.grad is not None else torch.zeros_like(p))


def steps(name, kind, x, gates, step, states=1, backwards=False):
    """Variants that PyTorch has not, step by step."""
    params = {}
    for path, shape in (("weight_ih_l0", (gates * 4, x.shape[-1])), ("weight_hh_l0", (gates * 4, 4)),
                        ("bias_ih_l0", (gates * 4,)), ("bias_hh_l0", (gates * 4,))):
        params[path] = numbers(seed_of(path), *shape).requires_grad_()
    x.requires_grad_()
    state = tuple(torch.zeros(x.shape[1], 4) for _ in range(states))
    ys = [None] * len(x)
    order = range(len(x))
    for t in reversed(order) if backwards else order:
        state = step(x[t], state, *params.values())
        ys[t] = state[0]
    finish(name, params.items(), x, (), torch.stack(ys), tuple(s[None] for s in state))


def gru_reset_before(x, state, w, v, b, c):
    h = state[0]
    xr, xz, xn = (x @ w.T + b).chunk(3, -1)
    vr, vz, vn = v.chunk(3)
    cr, cz, cn = c.chunk(3)
    r, z = torch.sigmoid(xr + h @ vr.T + cr), torch.sigmoid(xz + h @ vz.T + cz)
    n = torch.tanh(xn + (r * h) @ vn.T + cn)
    return ((1 - z) * n + z * h,)


def lstm_variant(x, state, w, v, b, c):
    """Coupled gates, cell state within +-0.3, hard sigmoid gates, softsign candidates and relu results."""
    h, cell = state
    i, _, g, o = (x @ w.T + b + h @ v.T + c).chunk(4, -1)
    gate = lambda t: torch.clamp(0.2 * t + 0.5, 0, 1)
    i = gate(i)
    cell = torch.clamp((1 - i) * cell + i * nn.functional.softsign(g), -0.3, 0.3)
    return gate(o) * torch.relu(cell), cell


def rnn_clipped(x, state, w, v, b, c):
    return (torch.clamp(torch.tanh(x @ w.T + b + state[0] @ v.T + c), -0.5, 0.5),)


def all_recurrent():
    x = lambda *shape: numbers(1, *shape)
    recurrent("rnn", nn.RNN, x(5, 2, 3), (numbers(2, 4, 2, 4),), num_layers=2, bidirectional=True)
    recurrent("rnn_relu", nn.RNN, x(2, 5, 3), nonlinearity="relu", bias=False, batch_first=True)
    recurrent("gru", nn.GRU, x(5, 2, 3), (numbers(2, 4, 2, 4),), num_layers=2, bidirectional=True)
    recurrent("gru_single", nn.GRU, x(6, 3), (numbers(2, 1, 4),))
    recurrent("lstm", nn.LSTM, x(5, 2, 3), (numbers(2, 4, 2, 4), numbers(3, 4, 2, 4)), num_layers=2, bidirectional=True)
    recurrent("lstm_long", nn.LSTM, x(1, 19, 3), batch_first=True)
    steps("gru_reset_before", nn.GRU, x(5, 2, 3), 3, gru_reset_before)
    steps("lstm_variant", nn.LSTM, x(5, 2, 3), 4, lstm_variant, states=2)
    steps("rnn_reverse_clip", nn.RNN, x(5, 2, 3), 1, rnn_clipped, backwards=True)


# ---- transformers

PARTS = {"in_proj_weight": ("query.weight", "key.weight", "value.weight"),
         "in_proj_bias": ("query.bias", "key.bias", "value.bias"),
         "out_proj.weight": ("output.weight",), "out_proj.bias": ("output.bias",)}


def our_names(path):
    for suffix, names in PARTS.items():
        if path.endswith(suffix):
            return [path[: -len(suffix)] + n for n in names]
    return [path]


def run_transformer(name, module, call, **inputs):
    for path, p in module.named_parameters():
        names = our_names(path)
        parts = p.data.chunk(len(names))
        p.data = torch.cat([set_param(n, part) for n, part in zip(names, parts)])
    for t in inputs.values():
        t.requires_grad_()
    y = call(module, **inputs)
    weights = None
    if isinstance(y, tuple):
        y, weights = y
    (y * numbers(99, *y.shape)).sum().backward()
    store(name + ".y", y)
    if weights is not None:
        store(name + ".weights", weights)
    for key, t in inputs.items():
        store("%s.d%s" % (name, key), t.grad)
    for path, p in module.named_parameters():
        names = our_names(path)
        for n, g in zip(names, p.grad.chunk(len(names))):
            checksum("%s.grad.%s" % (name, n), g)


def all_transformers():
    x, memory = lambda: numbers(1, 2, 4, 6), lambda: numbers(2, 2, 3, 6)
    pad = torch.tensor([[False, False, False, False], [False, False, True, True]])
    memory_pad = torch.tensor([[False, False, True], [False, False, False]])
    causal = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
    options = {"d_model": 6, "nhead": 2, "dim_feedforward": 5, "dropout": 0.0, "batch_first": True}

    def attention(m, x):
        return m(x, x, x, key_padding_mask=pad, attn_mask=causal, average_attn_weights=False)

    run_transformer("attention", nn.MultiheadAttention(6, 2, batch_first=True), attention, x=x())

    def biased(m, x, memory):
        return m(x, memory, memory, attn_mask=numbers(5, 4, 3), need_weights=False)[0]

    run_transformer("attention_bias", nn.MultiheadAttention(6, 3, bias=False, batch_first=True), biased, x=x(),
                    memory=memory())
    encode = lambda m, x: m(x, src_mask=causal, src_key_padding_mask=pad)
    run_transformer("encoder_layer", nn.TransformerEncoderLayer(**options), encode, x=x())
    run_transformer("encoder_layer_first",
                    nn.TransformerEncoderLayer(**options, norm_first=True, activation="gelu", layer_norm_eps=1e-3),
                    lambda m, x: m(x), x=x())
    decode = lambda m, x, memory: m(x, memory, tgt_mask=causal, memory_key_padding_mask=memory_pad)
    run_transformer("decoder_layer", nn.TransformerDecoderLayer(**options), decode, x=x(), memory=memory())
    run_transformer("decoder_layer_first", nn.TransformerDecoderLayer(**options, norm_first=True), decode, x=x(),
                    memory=memory())
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**options), 2, nn.LayerNorm(6), enable_nested_tensor=False)
    run_transformer("encoder", encoder, lambda m, x: m(x, mask=causal, src_key_padding_mask=pad), x=x())
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**options), 2)
    run_transformer("decoder", decoder, decode, x=x(), memory=memory())


def llama_frequency(f, factor=8, low=1, high=4, context=8192):
    """As the model's published code: by wavelength."""
    wavelength = 2 * math.pi / f
    if wavelength < context / high:
        return f
    if wavelength > context / low:
        return f / factor
    smooth = (context / wavelength - low) / (high - low)
    return (1 - smooth) * f / factor + smooth * f


def positions():
    d = 6
    t = torch.arange(3, 7.0)[:, None]
    angle = t * 10000 ** (-torch.arange(0, d, 2.0) / d)
    store("positional.table", torch.stack([angle.sin(), angle.cos()], -1).reshape(4, d))
    store("rotary.llama", torch.tensor([llama_frequency(500000 ** (-i / 32)) for i in range(32)]))


# ---- transducer


def transducer(log_probs, targets, steps, labels, blank):
    """The lattice by definition, one cell at a time."""
    alpha = {}
    for t in range(steps):
        for u in range(labels + 1):
            ways = []
            if t:
                ways.append(alpha[t - 1, u] + log_probs[t - 1, u, blank])
            if u:
                ways.append(alpha[t, u - 1] + log_probs[t, u - 1, targets[u - 1]])
            alpha[t, u] = torch.logsumexp(torch.stack(ways), 0) if ways else torch.zeros(())
    return -(alpha[steps - 1, labels] + log_probs[steps - 1, labels, blank])


def all_transducers():
    logits = (4 * numbers(1, 3, 4, 4, 5)).requires_grad_()
    targets, lengths, target_lengths = [[1, 2, 4], [3, 1, 0], [2, 2, 2]], [4, 3, 1], [3, 2, 0]
    log_probs = logits.log_softmax(-1)
    losses = torch.stack([transducer(log_probs[i], targets[i], lengths[i], target_lengths[i], 0) for i in range(3)])
    (losses * numbers(99, 3)).sum().backward()
    store("rnnt.losses", losses)
    store("rnnt.dlogits", logits.grad)


def write(path):
    with open(path, "w", encoding="utf-8") as out:
        out.write("/* Made by nn_sequence_values.py from PyTorch. */\n")
        out.write("static const double sequence_numbers[] = {\n")
        start, table = 0, []
        for name, values in entries:
            table.append('    {"%s", %d, %d},\n' % (name, start, len(values)))
            start += len(values)
            out.write("    " + ", ".join(float(v).hex() for v in values) + ",\n")
        out.write("};\nstatic const sequence_entry sequence_entries[] = {\n" + "".join(table) + "};\n")


if __name__ == "__main__":
    all_recurrent()
    all_transformers()
    positions()
    all_transducers()
    write(os.path.join(os.path.dirname(os.path.abspath(__file__)), "nn_sequence_values.inc"))
