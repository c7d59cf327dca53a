"""Reading and writing by index and by mask."""

import torch
from conform import ALL, FLOATS

ASSIGN, ADD, MUL, MIN, MAX = range(5)
REDUCE = {ADD: "sum", MUL: "prod", MIN: "amin", MAX: "amax"}


def reading(g):
    x = g.values(4, 5, 3)
    for index_dtype in ("i64", "i32", "u8"):
        for axis, shape in ((0, (6,)), (1, (2, 3)), (-1, ()), (1, (0,))):
            n = (4, 5, 3)[axis]
            index = g.ints(*shape, low=0, high=n - 1, dtype=index_dtype)

            def taken(a, i, k=axis):
                k %= 3
                y = a.index_select(k, i.flatten())
                return y.reshape(a.shape[:k] + i.shape + a.shape[k + 1:])

            g.add("take_from", [x, index], attrs={"axis": axis}, expect=taken, dtypes=ALL, grad=[0], covers=["take"])
            g.add("take", [x, index], attrs={"axis": axis, "negative": 0}, expect=taken, dtypes=ALL, grad=[0])
    wild = g.literal([[-1, 0], [3, -5]], dtype="i64")
    g.add("take_from", [x, wild], attrs={"axis": 1}, expect=lambda a, i: a[:, i], dtypes=ALL, grad=[0],
          name="negative", covers=["take", "select_assign"])
    g.error("take_from", [x, g.literal([0, 7], dtype="i64")], attrs={"axis": 1}, status="index", text="index 7")
    g.error("take_from", [x, g.literal([0, -6], dtype="i64")], attrs={"axis": 1}, status="index", text="index -6")
    g.error("take_from", [x, g.literal([0.0, 1.0], dtype="f32")], attrs={"axis": 1}, status="dtype", text="integer")
    g.add("index_select", [x, g.ints(7, low=0, high=4)], attrs={"axis": 1}, dtypes=ALL, grad=[0], covers=["take"],
          expect=lambda a, i: a.index_select(1, i))
    g.error("index_select", [x, g.literal([0, -1], dtype="i64")], attrs={"axis": 1}, status="index", text="index -1")
    for axis in (0, 1, -1):
        n = (4, 5, 3)[axis]
        same = [4, 5, 3]
        same[axis] = 7
        g.add("gather", [x, g.ints(*same, low=0, high=n - 1)], attrs={"axis": axis, "negative": 0}, dtypes=ALL,
              expect=lambda a, i, k=axis: a.gather(k, i), grad=[0])
        g.add("gather_from", [x, g.ints(*[min(s, 2) for s in same], low=0, high=n - 1, dtype="i32")],
              attrs={"axis": axis}, dtypes=ALL, expect=lambda a, i, k=axis: a.gather(k, i.long()), grad=[0],
              covers=["gather"])
    g.add("gather_from", [g.values(), g.literal(0, dtype="i64")], attrs={"axis": 0}, dtypes=ALL, name="scalar",
          expect=lambda a, i: a.gather(0, i), covers=["gather"], layouts=False)
    g.error("gather_from", [x, g.ints(5, 5, 3, low=0, high=2)], attrs={"axis": 1}, status="shape", text="does not fit")
    g.error("gather_from", [x, g.literal([[[0, 5, 0]]], dtype="i64")], attrs={"axis": 1}, status="index",
            text="index 5")
    g.error("gather_from", [x, g.literal([[[0, -1, 0]]], dtype="i64")], attrs={"axis": 1}, status="index",
            text="index -1")
    g.add("take_along", [x, g.literal([[[0, -1, 2]], [[4, -5, 1]]] * 2, dtype="i64")], attrs={"axis": 1}, dtypes=ALL,
          grad=[0], covers=["gather"], layouts=False,
          expect=lambda a, i: torch.take_along_dim(a, torch.where(i < 0, i + 5, i), 1))
    for depth in (0, 1, 2, 3):
        index = g.ints(2, 3, depth, low=0, high=2)

        def gathered(a, i, d=depth):
            return a[tuple(i[..., k] for k in range(d))] if d else a.expand(i.shape[:-1] + a.shape)

        g.add("gather_nd", [x, index], expect=gathered, dtypes=ALL, grad=[0])
    g.add("gather_nd", [x, g.literal([[-1, -2, -3], [3, 0, 2]], dtype="i64")], dtypes=ALL, grad=[0], name="negative",
          expect=lambda a, i: a[i[:, 0], i[:, 1], i[:, 2]])
    g.error("gather_nd", [x, g.literal([[4, 0]], dtype="i64")], status="index", text="index 4")
    g.error("gather_nd", [x, g.ints(2, 4, low=0, high=1)], status="shape", text="name 4 axes")


def assigned(a, index, v, axis):
    """The last of several values stays, also for the gradient, which scatter gives to all of them."""
    axis %= max(a.dim(), 1)
    y = a
    for j in range(index.shape[axis]):
        y = y.scatter(axis, index.narrow(axis, j, 1), v.narrow(axis, j, 1))
    return y


def scattered(a, index, v, axis, update):
    """scatter of torch; its gradient wants values of the index's own shape."""
    v = v[tuple(slice(n) for n in index.shape)]
    if update == ASSIGN:
        return assigned(a, index, v, axis)
    if a.dtype == torch.bool:
        return scattered(a.long(), index, v.long(), axis, update) != 0
    return a.scatter_reduce(axis, index, v, REDUCE[update])


def along(a, i, k):
    """Indices of take in the shape that scatter needs."""
    shape = [1] * a.dim()
    shape[k] = -1
    sizes = list(a.shape)
    sizes[k] = i.numel()
    return i.flatten().reshape(shape).expand(sizes)


def writing(g):
    x = g.values(4, 5, 3, low=0.5, high=2)
    for update in (ASSIGN, ADD, MUL, MIN, MAX):
        for axis in (0, 1, -1):
            n, sizes = (4, 5, 3)[axis], [4, 5, 3]
            sizes[axis] = 6
            values = g.values(*sizes, low=0.6, high=3)
            # Many products overflow.
            big = [40, 50, 30]
            big[axis] = 60
            many = update != MUL
            index = g.ints(*sizes, low=0, high=n - 1)
            attrs = {"axis": axis, "negative": 0, "update": update}
            g.add("scatter", [x, index, values], attrs=attrs, dtypes=ALL, grad=[0, 2],
                  expect=lambda a, i, v, k=axis, u=update: scattered(a, i, v, k, u),
                  large=[(40, 50, 30), big, big] if many else False)
            small = g.ints(*[min(s, 2) for s in sizes], low=0, high=n - 1, dtype="i32")
            g.add("scatter_into", [x, small, values], attrs={"axis": axis, "update": update}, dtypes=ALL,
                  expect=lambda a, i, v, k=axis, u=update: scattered(a, i.long(), v, k, u), grad=[0, 2],
                  covers=["scatter"], large=False)
            rows = g.ints(sizes[axis], low=0, high=n - 1)
            for op in ("select_assign", "select_update"):
                g.add(op, [x, rows, values], attrs=attrs, dtypes=ALL, grad=[0, 2], covers=["select_assign"],
                      expect=lambda a, i, v, k=axis % 3, u=update: scattered(a, along(a, i, k), v, k, u),
                      large=[(40, 50, 30), (60,), big] if many else False)
        tuples = g.literal([[3, 0], [1, 4], [1, 4], [-1, -5], [0, 2]], dtype="i64")
        count = 5

        def put_nd(a, i, v, u=update):
            i = torch.where(i < 0, i + torch.tensor([4, 5]), i)
            flat = (i[:, 0] * 5 + i[:, 1])[:, None].expand(-1, 3)
            return scattered(a.reshape(20, 3), flat, v, 0, u).reshape(4, 5, 3)

        g.add("scatter_nd", [x, tuples, g.values(count, 3, low=0.6, high=3)], dtypes=ALL, grad=[0, 2], expect=put_nd,
              attrs={"negative": 1, "update": update},
              large=[(4, 5, 300), (50, 2), (50, 300)] if update != MUL else False)
        places = g.literal([59, 0, -3, 0, 57, 31], dtype="i64")
        g.add("put", [x, places, g.values(6, low=0.6, high=3)], attrs={"update": update},
              dtypes=ALL, grad=[0, 2], covers=["select_assign"], large=False,
              expect=lambda a, i, v, u=update: scattered(a.flatten(), i % 60, v, 0, u).reshape(a.shape))
    repeated = g.literal([2, 0, 2, 2], dtype="i64")
    g.add("select_update", [x, repeated, g.values(4, 4, 3)], attrs={"axis": 1, "update": ASSIGN}, dtypes=ALL,
          expect=lambda a, i, v: torch.cat([v[:, 1:2], a[:, 1:2], v[:, 3:4], a[:, 3:]], 1), name="order",
          covers=["select_assign"], large=False, grad=[0, 2])
    g.add("scatter_into", [x, g.ints(4, 5, 1, low=0, high=2), g.values()], attrs={"axis": 2, "update": ASSIGN},
          dtypes=ALL, expect=lambda a, i, v: a.scatter(2, i, v.item()), name="number", covers=["scatter"], large=False)
    g.error("scatter_into", [x, g.literal([[[0, 5, 0]]], dtype="i64"), g.values(1, 1, 3)],
            attrs={"axis": 1, "update": ADD}, status="index", text="index 5")
    g.error("scatter_into", [x, g.ints(4, 5, 3, low=0, high=2), g.values(4, 5, 2)], attrs={"axis": 1, "update": ADD},
            status="shape", text="smaller than the index")
    g.error("scatter", [x, g.ints(4, 5, 3, low=0, high=2), g.values(4, 5, 3, dtype="f64")],
            attrs={"axis": 1, "update": ADD}, status="dtype", text="convert with kn_cast")
    g.error("select_update", [x, g.literal([-1], dtype="i64"), g.values(4, 1, 3)], attrs={"axis": 1, "update": ADD},
            status="index", text="index -1")
    g.error("scatter", [x, g.ints(4, 5, 3, low=0, high=2), x], attrs={"axis": 1, "update": 9}, text="no way")


def ties(g):
    """Products with zeros and extrema with equals: PyTorch's gradients."""
    index = g.literal([[0, 0, 1, 1, 0]], dtype="i64")
    for update, old, new in ((MUL, [[0.0, 2.0]], [[3.0, 0.0, 0.0, 4.0, 5.0]]),
                             (MUL, [[2.0, 3.0]], [[0.0, 0.0, 1.5, 0.0, 5.0]]),
                             (MIN, [[1.0, 2.0]], [[1.0, 3.0, 2.0, 5.0, 1.0]]),
                             (MAX, [[3.0, 0.0]], [[3.0, 3.0, -1.0, -1.0, 2.0]])):
        g.add("scatter", [g.literal(old), index, g.literal(new)], attrs={"axis": 1, "negative": 0, "update": update},
              dtypes=["f64", "f32"], grad="torch", second="at ties, where differences say nothing", name="ties", layouts=False, large=False,
              expect=lambda a, i, v, u=update: scattered(a, i, v, 1, u))


def two_zeros(g):
    """The gradient of a product with two zeros is 0, but that gradient has a gradient; torch has none."""
    g.add("scatter", [g.literal([[2.0, 3.0]]), g.literal([[0, 0, 1, 0]], dtype="i64"), g.literal([[0.0, 0.0, 1.5, 5.0]])],
          attrs={"axis": 1, "negative": 0, "update": MUL}, dtypes=["f64"], grad="fd", name="two_zeros", layouts=False, large=False,
          expect=lambda a, i, v: scattered(a, i, v, 1, MUL))


def masks(g):
    x, mask = g.values(3, 4), g.bools(3, 4)
    g.add("mask_where", [x, mask, g.values(3, 4)], expect=lambda a, m, v: torch.where(m, v, a), dtypes=ALL,
          grad=[0, 2])
    g.add("mask_fill", [x, g.bools(4)], attrs={"value": 3.0}, expect=lambda a, m: a.masked_fill(m, 3), dtypes=ALL,
          grad=[0])
    for shape in ((3, 4), (4,), (3, 1), ()):
        g.add("mask_select", [x, g.bools(*shape)], expect=lambda a, m: a.masked_select(m), dtypes=ALL, grad=[0],
              covers=["nonzero", "take"])

    def bounded(a, m, n):
        found = a.masked_select(m)
        y = torch.cat([found, torch.zeros(n, dtype=a.dtype)])[:n]
        return y, torch.tensor(found.numel())

    for capacity in (12, 3, 0):
        g.add("mask_select_bounded", [x, mask], attrs={"capacity": capacity}, dtypes=ALL, grad=[0],
              expect=lambda a, m, n=capacity: bounded(a, m, n), covers=["nonzero"], out=[lambda d: d, "i64"])
    g.error("mask_select", [x, g.ints(3, 4)], status="dtype", text="must be bool")
    zeros = g.values(3, 4, low=-1, high=1, flags="zero")
    for op in ("nonzero_of", "argwhere"):
        for operand in (zeros, g.values(7, low=-1, high=1), g.values(2, 0, 3), g.values()):
            g.add(op, [operand], expect=lambda a: a.nonzero(), dtypes=ALL, out="i64", covers=["nonzero"],
                  layouts=operand.shape != ())
    g.add("nonzero_axes", [zeros], expect=lambda a: a.nonzero(as_tuple=True), dtypes=ALL, out=["i64", "i64"],
          covers=["nonzero"])

    def padded(a, n):
        found = a.nonzero()
        return torch.cat([found, torch.zeros(n, a.dim(), dtype=torch.long)])[:n], torch.tensor(len(found))

    for capacity in (20, 2, 0):
        g.add("nonzero", [zeros], attrs={"capacity": capacity}, expect=lambda a, n=capacity: padded(a, n), dtypes=ALL,
              out=["i64", "i64"])


def batches(g):
    x = g.values(3, 4, 5, 2)

    def one(a, i):
        return torch.stack([b[tuple(j.long().movedim(-1, 0))] for b, j in zip(a, i)])

    g.add("gather_nd", [x, g.ints(3, 6, 2, low=-4, high=3)], attrs={"batch_axes": 1}, dtypes=ALL, grad=[0], name="batch",
          expect=one)
    g.add("gather_nd", [x, g.ints(3, 4, 2, 1, low=-5, high=4)], attrs={"batch_axes": 2}, dtypes=ALL, grad=[0], name="batch2",
          expect=lambda a, i: torch.stack([one(b, j) for b, j in zip(a, i)]))
    g.add("gather_nd_batch", [x, g.ints(3, 1, low=0, high=3, dtype="i32")], attrs={"batch_axes": 1}, dtypes=FLOATS, grad=[0],
          expect=one, covers=["gather_nd"], large=False)
    g.error("gather_nd", [x, g.ints(4, 6, 2, low=0, high=1)], attrs={"batch_axes": 1}, status="shape", text="of the batch")
    g.error("gather_nd", [x, g.ints(3, 6, 4, low=0, high=1)], attrs={"batch_axes": 1}, status="shape", text="name 4 axes")
    g.error("gather_nd", [x, g.ints(3, 2, low=0, high=1)], attrs={"batch_axes": 2}, text="axes of a batch")


def cases(g):
    reading(g)
    batches(g)
    writing(g)
    ties(g)
    two_zeros(g)
    masks(g)
