"""Softmax, norms, embedding, dropout, rotary embedding."""

import math

import numpy
import torch
import torch.nn.functional as F
from conform import ALL, code


def wide(dtype):
    """Sums and statistics of half types are kept in f32."""
    return "f32" if dtype in ("f16", "bf16") else dtype


def quiet(x, axis):
    e = x.exp()
    return e / (1 + e.sum(axis, keepdim=True))


def softmaxes(g):
    for op, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        for shape, axis in (((3, 17), -1), ((3, 17), 0), ((2, 5, 7), 1), ((2, 3, 4, 5), -3), ((19,), 0), ((4, 1), 1)):
            g.add(op, [g.values(*shape, low=-4, high=4)], attrs={"axis": axis, "quiet": 0}, grad=True,
                  expect=lambda x, f=function, k=axis: f(x, k))
        g.add(op, [g.values(6, 9, flags="inf")], attrs={"axis": -1, "quiet": 0}, name="infinities",
              expect=lambda x, f=function: f(x, -1))
        g.add(op, [g.values(6, 9, flags="nan")], attrs={"axis": 1, "quiet": 0}, name="nan",
              expect=lambda x, f=function: f(x, 1))
        rows = [[-math.inf, -math.inf, -math.inf], [1.0, -math.inf, 2.0], [math.inf, 1.0, 2.0], [0.0, -0.0, 0.0],
                [80.0, 90.0, -90.0], [-1000.0, -1001.0, -999.0], [5.0, math.nan, 1.0]]
        g.add(op, [g.literal(rows)], attrs={"axis": 1, "quiet": 0}, name="edges",
              expect=lambda x, f=function: f(x, 1))
        g.add(op, [g.literal(numpy.array(rows).T)], attrs={"axis": 0, "quiet": 0}, name="edges_columns",
              expect=lambda x, f=function: f(x, 0))
        g.add(op, [g.values()], attrs={"axis": 0, "quiet": 0}, expect=lambda x, f=function: f(x, 0), name="scalar",
              grad=True)
        g.add(op, [g.values(3, 0)], attrs={"axis": 1, "quiet": 0}, expect=lambda x, f=function: f(x, 1), name="empty")
        g.add(op, [g.values(0, 3)], attrs={"axis": 1, "quiet": 0}, expect=lambda x, f=function: f(x, 1), name="empty")
        g.error(op, [g.values(2, 3)], attrs={"axis": 2, "quiet": 0}, status="argument", text="axis")
        g.error(op, [g.ints(2, 3)], attrs={"axis": 1, "quiet": 0}, status="dtype", text="i64")
    for shape, axis in (((3, 17), -1), ((3, 17), 0), ((2, 5, 7), 1)):
        g.add("softmin", [g.values(*shape)], attrs={"axis": axis}, expect=lambda x, k=axis: F.softmin(x, k), grad=True,
              covers=["softmax"])
        g.add("quiet_softmax", [g.values(*shape, low=-6, high=3)], attrs={"axis": axis}, grad=True,
              expect=lambda x, k=axis: quiet(x, k), covers=["softmax"])
    g.add("quiet_softmax", [g.literal([[-1000.0, -1000.0], [-3.0, -math.inf], [700.0, 699.0]])], attrs={"axis": 1},
          dtypes=["f64"], expect=lambda x: torch.cat([x, torch.zeros(3, 1)], 1).softmax(1)[:, :2], name="edges")
    for shape, axis in (((3, 17), 1), ((5, 6), 0), ((2, 5, 7), 1)):
        pair = [g.values(*shape), g.values(*shape, low=0, high=1)]
        g.add("softmax_grad", pair, attrs={"axis": axis, "quiet": 0}, grad=True,
              expect=lambda dy, y, k=axis: y * (dy - (dy * y).sum(k, keepdim=True)))
        g.add("log_softmax_grad", [g.values(*shape), g.values(*shape, low=-3, high=0)],
              attrs={"axis": axis, "quiet": 0}, grad=True,
              expect=lambda dy, y, k=axis: dy - y.exp() * dy.sum(k, keepdim=True))


def normalised(x, n, eps, centre=True):
    axes = tuple(range(x.dim() - n, x.dim()))
    d = x - x.mean(axes, keepdim=True) if centre else x
    return d / torch.sqrt((d * d).mean(axes, keepdim=True) + eps)


def row_gradient(dy, x, w, n, eps, centre):
    axes = tuple(range(x.dim() - n, x.dim()))
    d = x - x.mean(axes, keepdim=True) if centre else x
    scale = 1 / torch.sqrt((d * d).mean(axes, keepdim=True) + eps)
    h, grad = d * scale, dy if w is None else dy * w
    inside = grad - h * (grad * h).mean(axes, keepdim=True)
    if centre:
        inside = inside - grad.mean(axes, keepdim=True)
    return scale * inside


def layer_norms(g):
    eps = 1e-3
    for shape, n, big in (((3, 17), 1, ((61, 700), (700,))), ((2, 3, 5), 2, ((9, 30, 50), (30, 50))),
                          ((4, 6), 2, ((40, 60), (40, 60))), ((2, 2, 3, 5), 1, ((5, 20, 6, 90), (90,)))):
        attrs, inner = {"n_axes": n, "eps": eps}, shape[-n:]
        x, w, b = g.values(*shape, low=-2, high=4), g.values(*inner), g.values(*inner)
        large = [big[0], big[1], big[1]]
        g.add("layer_norm", [x, w, b], attrs=attrs, grad=True, large=large,
              expect=lambda x, w, b: F.layer_norm(x, w.shape, w, b, eps))
        g.add("layer_norm", [x, g.none(), g.none()], attrs=attrs, grad=True, name="plain", large=False,
              expect=lambda x, w, b, n=n: F.layer_norm(x, x.shape[-n:], None, None, eps))
        g.add("layer_norm", [x, w, g.none()], attrs=attrs, grad=True, name="weight", large=False,
              expect=lambda x, w, b: F.layer_norm(x, w.shape, w, None, eps))
        g.add("layer_norm", [x, g.none(), b], attrs=attrs, grad=True, name="bias", large=False,
              expect=lambda x, w, b, n=n: normalised(x, n, eps) + b)
        g.add("rms_norm", [x, w], attrs=attrs, grad=True, large=large[:2],
              expect=lambda x, w, n=n: normalised(x, n, eps, False) * w)
        g.add("rms_norm", [x, g.none()], attrs=attrs, grad=True, name="plain", large=False,
              expect=lambda x, w, n=n: normalised(x, n, eps, False))
        dy = g.values(*shape)
        for op, centre in (("layer_norm_grad", True), ("rms_norm_grad", False)):
            g.add(op, [dy, x, w], attrs=attrs, grad=True, large=[big[0], big[0], big[1]],
                  expect=lambda dy, x, w, n=n, c=centre: row_gradient(dy, x, w, n, eps, c))
            g.add(op, [dy, x, g.none()], attrs=attrs, grad=True, name="plain", large=False,
                  expect=lambda dy, x, w, n=n, c=centre: row_gradient(dy, x, w, n, eps, c))

        def affine(dy, x, n=n, centre=True):
            axes = tuple(range(x.dim() - n))
            product = dy * normalised(x, n, eps, centre)
            return (product.sum(axes) if axes else product), (dy.sum(axes) if axes else dy + 0)

        g.add("layer_norm_affine_grad", [dy, x], attrs=attrs, grad=True, out=wide, expect=affine,
              large=[big[0], big[0]])
        g.add("rms_norm_affine_grad", [dy, x], attrs=attrs, grad=True, out=wide, large=[big[0], big[0]],
              expect=lambda dy, x, f=affine: f(dy, x, centre=False)[0])
    for op in ("layer_norm", "rms_norm"):
        extra = [g.values(5)] * (2 if op == "layer_norm" else 1)
        g.add(op, [g.values(0, 5)] + extra, attrs={"n_axes": 1, "eps": eps}, name="empty", large=False,
              expect=lambda x, *_: x + 0)
        g.add(op, [g.values(3, 0)], attrs={"n_axes": 1, "eps": eps}, name="empty_row", large=False,
              expect=lambda x, *_: x + 0)
        g.error(op, [g.values(2, 5), g.values(4)], attrs={"n_axes": 1, "eps": eps}, status="shape", text="[4]")
        g.error(op, [g.values(2, 5)], attrs={"n_axes": 3, "eps": eps}, status="argument", text="3 axes")
        g.error(op, [g.values(2, 5)], attrs={"n_axes": 0, "eps": eps}, status="argument", text="0 axes")
        g.error(op, [g.ints(2, 5)], attrs={"n_axes": 1, "eps": eps}, status="dtype", text="i64")


def by_channel(vector, x):
    return vector.reshape((-1,) + (1,) * (x.dim() - 2))


def batch_statistics(x):
    axes = tuple(a for a in range(x.dim()) if a != 1)
    mean = x.mean(axes)
    return mean, ((x - by_channel(mean, x)) ** 2).mean(axes)


def batch_normalise(x, mean, variance, w, b, eps):
    y = (x - by_channel(mean, x)) / torch.sqrt(by_channel(variance, x) + eps)
    y = y if w is None else y * by_channel(w, x)
    return y if b is None else y + by_channel(b, x)


def batch_train(x, w, b, eps):
    mean, variance = batch_statistics(x)
    return batch_normalise(x, mean, variance, w, b, eps), mean, variance


def batch_gradient(dy, x, mean, variance, w, eps):
    axes = tuple(a for a in range(x.dim()) if a != 1)
    scale = by_channel(1 / torch.sqrt(variance + eps), x)
    h = (x - by_channel(mean, x)) * scale
    inside = dy - dy.mean(axes, keepdim=True) - h * (dy * h).mean(axes, keepdim=True)
    dx = inside * scale if w is None else inside * scale * by_channel(w, x)
    return dx, (dy * h).sum(axes), dy.sum(axes)


def batch_norms(g):
    eps = 1e-3
    own = lambda dtype: dtype  # noqa: E731
    for shape, big in (((6, 5), (300, 150)), ((4, 3, 5), (20, 70, 33)), ((2, 3, 4, 3), (8, 20, 33, 35))):
        c, n = shape[1], big[1]
        x, w, b = g.values(*shape, low=-2, high=4), g.values(c), g.values(c)
        mean, variance = g.values(c), g.values(c, low=0.5, high=2)
        g.add("batch_norm", [x, mean, variance, w, b], attrs={"eps": eps}, grad=True,
              large=[big, (n,), (n,), (n,), (n,)],
              expect=lambda x, m, v, w, b: batch_normalise(x, m, v, w, b, eps))
        g.add("batch_norm", [x, mean, variance, g.none(), g.none()], attrs={"eps": eps}, grad=True, name="plain",
              expect=lambda x, m, v, w, b: batch_normalise(x, m, v, w, b, eps), large=False)
        g.add("batch_norm_train", [x, w, b], attrs={"eps": eps}, grad=True, out=[own, wide, wide],
              large=[big, (n,), (n,)], expect=lambda x, w, b: batch_train(x, w, b, eps))
        g.add("batch_norm_train", [x, g.none(), g.none()], attrs={"eps": eps}, grad=True, name="plain",
              out=[own, wide, wide], expect=lambda x, w, b: batch_train(x, w, b, eps), large=False)
    g.add("batch_norm_train", [g.values(3, 0, 2), g.values(0), g.values(0)], attrs={"eps": eps}, name="empty",
          out=[own, wide, wide], expect=lambda x, w, b: (x + 0, w + 0, b + 0), large=False)
    # The statistics are operands of the gradient row but functions of x, so x itself is no variable here: the second
    # derivatives of batch_norm_train check that.
    for shape, big in (((6, 5), (300, 150)), ((4, 3, 5), (20, 70, 33))):
        vectors = [g.values(shape[1]), g.values(shape[1], low=0.5, high=2), g.values(shape[1])]
        g.add("batch_norm_train_grad", [g.values(*shape), g.values(*shape)] + vectors, attrs={"eps": eps}, name="any",
              out=[own, wide, wide], large=[big, big] + [(big[1],)] * 3,
              expect=lambda dy, x, m, v, w: batch_gradient(dy, x, m, v, w, eps))
        x = numpy.linspace(-2, 3, int(numpy.prod(shape))).reshape(shape) ** 2 * 0.25
        mean, variance = batch_statistics(torch.from_numpy(x))
        fixed = [g.literal(x), g.literal(mean.numpy()), g.literal(variance.numpy())]
        for weight in ([g.values(shape[1])], []):
            g.add("batch_norm_train_grad", [g.values(*shape)] + fixed + weight, attrs={"eps": eps},
                  out=[own, wide, wide], large=False, expect=lambda dy, x, m, v, w=None: batch_gradient(dy, x, m, v, w, eps))
    g.error("batch_norm", [g.values(2, 3), g.values(4), g.values(3)], attrs={"eps": eps}, status="shape", text="[4]")
    g.error("batch_norm_train", [g.values(3)], attrs={"eps": eps}, status="shape", text="channels")
    for groups in (1, 2, 6):
        g.add("group_norm", [g.values(3, 6, 4), g.values(6), g.values(6)], attrs={"groups": groups, "eps": eps},
              grad=True, expect=lambda x, w, b, k=groups: F.group_norm(x, k, w, b, eps), large=False)
    g.add("group_norm", [g.values(2, 6)], attrs={"groups": 3, "eps": eps}, grad=True, large=False, name="plain",
          expect=lambda x: normalised(x.reshape(2, 3, 2), 1, eps).reshape(2, 6))
    g.error("group_norm", [g.values(2, 6)], attrs={"groups": 4}, status="argument", text="groups")
    g.error("group_norm", [g.values(2, 6), g.values(5)], attrs={"groups": 2}, status="shape", text="channels")
    g.add("instance_norm", [g.values(3, 4, 5), g.values(4), g.values(4)], attrs={"eps": eps}, grad=True, large=False,
          expect=lambda x, w, b: F.instance_norm(x, None, None, w, b, True, 0.1, eps))
    g.add("instance_norm", [g.values(2, 3, 4, 2)], attrs={"eps": eps}, grad=True, name="plain", large=False,
          expect=lambda x: normalised(x, 2, eps))
    g.error("instance_norm", [g.values(2, 6)], status="shape", text="rank 3")
    for size, shape in ((5, (2, 7, 3)), (2, (2, 7, 3)), (3, (2, 4, 2, 3)), (9, (1, 3, 4)), (1, (2, 3, 4))):
        g.add("local_response_norm", [g.values(*shape)], grad=True, large=False,
              attrs={"size": size, "alpha": 0.5, "beta": 0.6, "k": 2.0},
              expect=lambda x, s=size: F.local_response_norm(x, s, 0.5, 0.6, 2.0))
    g.add("local_response_norm", [g.values(2, 7, 3)], expect=lambda x: F.local_response_norm(x, 5), large=False,
          name="defaults")
    g.error("local_response_norm", [g.values(2, 7)], status="shape", text="rank 3")


def embeddings(g):
    for shape in ((4,), (2, 3), (), (2, 1, 3)):
        g.add("embedding", [g.values(5, 3), g.ints(*shape, low=0, high=4)], attrs={"padding": -1}, dtypes=ALL, grad=[0],
              expect=lambda w, i: w[i], large=[(700, 65), (300,)] if len(shape) == 1 else False)
    for dtype in ("i32", "i16", "i8", "u64", "u32", "u16", "u8"):
        g.add("embedding", [g.values(5, 3), g.ints(4, low=0, high=4, dtype=dtype)], attrs={"padding": -1},
              dtypes=["f32"], expect=lambda w, i: w[i.long()], name="index_" + dtype, large=False)
    g.add("embedding", [g.values(5, 0), g.ints(3, low=0, high=4)], attrs={"padding": -1}, name="empty", large=False,
          expect=lambda w, i: w[i])
    g.add("embedding", [g.values(0, 3), g.ints(0)], attrs={"padding": -1}, name="empty_table", large=False,
          expect=lambda w, i: torch.zeros(0, 3, dtype=w.dtype))

    def spread(dy, i, rows, padding):
        flat, at = dy.reshape(-1, dy.shape[-1]), i.reshape(-1)
        keep = at != padding
        return torch.zeros(rows, dy.shape[-1], dtype=dy.dtype).index_add(0, at[keep], flat[keep])

    for padding in (-1, 2):
        g.add("embedding_grad", [g.values(2, 6, 3), g.ints(2, 6, low=0, high=4)],
              attrs={"padding": padding, "rows": 5}, grad=[0], large=[(40, 50, 33), (40, 50)],
              expect=lambda dy, i, p=padding: spread(dy, i, 5, p))
    g.add("embedding_function", [g.values(5, 3), g.ints(6, low=0, high=4)], attrs={"padding_index": -2}, large=False,
          expect=lambda w, i: F.embedding(i, w, padding_idx=3), covers=["embedding", "embedding_grad"], grad="torch",
          second="linear in the table; differences would move the row of the padding")
    for index in (5, -1):
        g.error("embedding", [g.values(5, 3), g.literal([0, index], dtype="i64")], attrs={"padding": -1},
                status="index", text=str(index))
    g.error("embedding", [g.values(5, 3), g.values(4)], attrs={"padding": -1}, status="dtype", text="integer")
    g.error("embedding", [g.values(5), g.ints(4)], attrs={"padding": -1}, status="shape", text="rank 2")
    g.error("embedding", [g.values(5, 3), g.ints(4)], attrs={"padding": 5}, status="argument", text="padding")


def philox(key, counter):
    """The four words of Philox 4x32-10 for a 64-bit key and counter."""
    mask = 0xFFFFFFFF
    c, k = [counter & mask, counter >> 32 & mask, 0, 0], [key & mask, key >> 32 & mask]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def dropouts(g):
    def dropped(x, key, counter, p, group, scale, shift, dropped):
        draws = [philox(key, counter + (i // group) // 4)[(i // group) % 4] for i in range(x.numel())]
        kept = torch.tensor(draws, dtype=torch.int64).reshape(x.shape) >= int(p * 2**32)
        return torch.where(kept, x * scale + shift, torch.full_like(x, dropped))

    for p, group, key, counter, scale, shift, low in ((0.3, 1, 5, 7, 1 / 0.7, 0.0, 0.0),
                                                      (0.5, 3, -2, 2**40 + 3, 2.0, 0.0, 0.0),
                                                      (0.8, 1, 12345678901234, 1, 1.5, 0.25, -1.0),
                                                      (0.0, 1, 1, 1, 1.0, 0.0, 0.0), (1.0, 1, 1, 1, 0.0, 0.0, 0.0)):
        numbers = dict(p=p, group=group, key=key, counter=counter, scale=scale, shift=shift, dropped=low)
        g.add("dropout", [g.values(5, 9)], attrs=numbers, grad=True, large=[(150, 333)],
              expect=lambda x, n=numbers: dropped(x, **n))
    g.add("dropout", [g.values(0, 3)], name="empty", large=False, expect=lambda x: x + 0,
          attrs=dict(p=0.5, group=1, key=1, counter=1, scale=2.0, shift=0.0, dropped=0.0))
    g.add("dropout", [g.values(4, 5, flags="inf nan")], name="special", large=False,
          attrs=dict(p=0.5, group=1, key=3, counter=9, scale=2.0, shift=0.0, dropped=0.0),
          expect=lambda x: dropped(x, 3, 9, 0.5, 1, 2.0, 0.0, 0.0))
    for op in ("dropout_function", "feature_dropout", "alpha_dropout"):
        g.add(op, [g.values(3, 4, 2)], attrs={"p": 0.5, "training": 0}, expect=lambda x: x + 0, grad=True,
              name="inference", large=False)
        g.add(op, [g.values(3, 4, 2)], attrs={"p": 0.0, "training": 1}, expect=lambda x: x + 0, grad=True,
              name="nothing", large=False)
        g.add(op, [g.values(3, 4, 2)], attrs={"p": 1.0, "training": 1}, expect=lambda x: x * 0, name="everything",
              large=False, tolerance=(0, 1), why="zeros of either sign")
        g.error(op, [g.values(3, 4)], attrs={"p": 1.5, "training": 1}, status="argument", text="probability")


def rotations(g):
    def rotated(x, c, s, interleaved, inverse=0):
        half = c.shape[-1]
        s = -s if inverse else s
        turned, rest = x[..., :2 * half], x[..., 2 * half:]
        if interleaved:
            a, b = turned[..., 0::2], turned[..., 1::2]
            y = torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)
        else:
            a, b = turned[..., :half], turned[..., half:]
            y = torch.cat([a * c - b * s, a * s + b * c], -1)
        return torch.cat([y, rest], -1)

    def tables(tokens, size, theta, offset):
        half = size // 2
        angles = (torch.arange(tokens).double() + offset)[:, None] * theta ** (-torch.arange(half).double() / half)
        return angles.cos(), angles.sin()

    for interleaved in (0, 1):
        for inverse in (0, 1):
            g.add("rope", [g.values(2, 3, 8), g.values(3, 4), g.values(3, 4)], grad=True,
                  attrs={"interleaved": interleaved, "inverse": inverse}, large=[(6, 90, 64), (90, 32), (90, 32)],
                  expect=lambda x, c, s, i=interleaved, v=inverse: rotated(x, c, s, i, v))
        g.add("rope", [g.values(3, 7), g.values(3, 2), g.values(3, 2)], grad=True, name="part", large=False,
              attrs={"interleaved": interleaved, "inverse": 0},
              expect=lambda x, c, s, i=interleaved: rotated(x, c, s, i))
        g.add("rope_function", [g.values(2, 2, 5, 6)], grad=True, covers=["rope"], large=False,
              attrs={"interleaved": interleaved, "offset": 4, "theta": 500.0},
              expect=lambda x, i=interleaved: rotated(x, *tables(5, 6, 500.0, 4), i))
    g.add("rope_tables", [], attrs={"tokens": 7, "size": 6, "offset": 3, "dtype": code}, large=False,
          expect=lambda: tables(7, 6, 10000.0, 3), tolerance=(4, 0), why="sine and cosine of rounded angles")
    g.error("rope", [g.values(2, 3, 8), g.values(3, 5), g.values(3, 5)], attrs={"interleaved": 0, "inverse": 0},
            status="shape", text="[3, 5]")
    g.error("rope_tables", [], attrs={"tokens": 7, "size": 5}, status="argument", text="even")


def cases(g):
    softmaxes(g)
    layer_norms(g)
    batch_norms(g)
    embeddings(g)
    dropouts(g)
    rotations(g)
