"""Parts at positions that are data, and attention over as many keys as a tensor says."""

import numpy
import torch
from conform import ALL, FLOATS


def begins(position, length, size, batch):
    at = numpy.clip(numpy.asarray(position).reshape(-1), 0, length - size)
    return numpy.broadcast_to(at, (batch,)) if at.size == 1 else at


def part_of(x, p, axis, size):
    outer = x.shape[0] if axis > 0 else 1
    at = begins(p, x.shape[axis], size, outer)
    if axis == 0:
        return x.narrow(0, int(at[0]), size)
    return torch.stack([x[i].narrow(axis - 1, int(at[i]), size) for i in range(outer)])


def updated(x, v, p, axis):
    outer = x.shape[0] if axis > 0 else 1
    at = begins(p, x.shape[axis], v.shape[axis], outer)
    if axis == 0:
        return torch.cat([x[:at[0]], v, x[at[0] + v.shape[0]:]], 0)
    rows = [torch.cat([x[i].narrow(axis - 1, 0, int(at[i])), v[i],
                       x[i].narrow(axis - 1, int(at[i]) + v.shape[axis], x.shape[axis] - int(at[i]) - v.shape[axis])],
                      axis - 1) for i in range(outer)]
    return torch.stack(rows)


def positions(g):
    x = g.values(3, 7, 4)
    for axis, at, size in ((0, [1], 2), (1, [3], 2), (1, [0, 5, 2], 2), (2, [2], 1), (1, [-4], 3), (1, [9], 3), (-1, [1], 3),
                           (1, [2], 0), (1, [0], 7)):
        shape = list((3, 7, 4))
        shape[axis] = size
        p, whole = g.literal(at, dtype="i64"), axis % 3
        g.add("slice_at", [x, p], attrs={"axis": axis, "size": size}, dtypes=ALL, grad=size > 0, large=False,
              expect=lambda a, i, k=whole, n=size: part_of(a, i, k, n))
        g.add("update_at", [x, g.values(*shape), p], attrs={"axis": axis}, dtypes=ALL, grad=size > 0, large=False,
              expect=lambda a, v, i, k=whole: updated(a, v, i, k))
    g.error("slice_at", [x, g.literal([1, 2], dtype="i64")], attrs={"axis": 1, "size": 2}, status="shape", text="neither one number")
    g.error("slice_at", [x, g.literal([1, 2, 0], dtype="i64")], attrs={"axis": 0, "size": 2}, status="shape", text="neither one number")
    g.error("slice_at", [x, g.literal([1], dtype="i64")], attrs={"axis": 1, "size": 8}, status="shape", text="8 elements of axis 1")
    g.error("update_at", [x, g.values(3, 8, 4), g.literal([1], dtype="i64")], attrs={"axis": 1}, status="shape", text="do not fit")


def attended(q, k, v, lengths, causal, mask=None, bias=None):
    batch, heads, queries, size = q.shape
    ratio, keys = heads // k.shape[1], k.shape[2]
    n = torch.from_numpy(numpy.broadcast_to(numpy.asarray(lengths).reshape(-1), (batch,)).copy())
    end = n[:, None] + (torch.arange(queries) - queries + 1)[None] if causal else n[:, None].expand(batch, queries)
    seen = torch.arange(keys)[None, None] < end[:, :, None]
    seen = seen[:, None].expand(batch, heads, queries, keys)
    if mask is not None:
        seen = seen & mask
    scores = q @ k.repeat_interleave(ratio, 1).transpose(-2, -1) / size ** 0.5
    if bias is not None:
        scores = scores + bias
    weights = torch.softmax(scores.masked_fill(~seen, float("-inf")), -1).nan_to_num(0)
    return weights @ v.repeat_interleave(ratio, 1)


def lengths(g):
    q, k, v = g.values(2, 4, 3, 5), g.values(2, 2, 7, 5), g.values(2, 2, 7, 6)
    for at, causal in (([4], 0), ([5, 2], 1), ([7], 1), ([0], 0), ([3, 9], 0), ([1], 1)):
        n = g.literal(at, dtype="i64")
        g.add("attention_at", [q, k, v, n, g.none(), g.none()], attrs={"is_causal": causal}, dtypes=FLOATS, grad=True, large=False,
              expect=lambda a, b, c, m, *_, s=causal: attended(a, b, c, m, s))


def cases(g):
    positions(g)
    lengths(g)
