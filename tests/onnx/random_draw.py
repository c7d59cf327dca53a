"""What random operands are drawn from: shapes, elements, axes. See random_recipes.py."""

import numpy as np


class Draw:
    def __init__(self, rng, op, version, dtype, given=None):
        self.rng, self.op, self.version, self.dtype, self.given = rng, op, version, dtype, given

    def whole(self, low, high):
        """low <= n <= high"""
        return int(self.rng.integers(low, high + 1))

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def pick(self, items):
        return items[self.whole(0, len(items) - 1)]

    def shape(self, low=0, high=4, empty=0.04):
        size = lambda: 0 if self.maybe(empty) else self.pick([1, 2, 3, 4, 5])
        return tuple(size() for _ in range(self.whole(low, high)))

    def array(self, shape, dtype=None):
        dtype = np.dtype(self.dtype if dtype is None else dtype)
        if dtype.kind in "OUT":
            words = np.array(["", "a", "bc", "Zoë", "kiln fires", "1.5"], object)
            return words[self.rng.integers(0, len(words), shape)] if shape else np.array(self.pick(list(words)), object)
        if dtype == bool:
            return np.asarray(self.rng.integers(0, 2, shape)).astype(bool)
        if dtype.kind == "i":
            return np.asarray(self.rng.integers(-9, 10, shape)).astype(dtype)
        if dtype.kind == "u":
            return np.asarray(self.rng.integers(0, 12, shape)).astype(dtype)
        return np.asarray(self.rng.standard_normal(shape) * 2).astype(np.float32).astype(dtype)

    def first(self, shape):
        return self.array(shape) if self.given is None else self.given

    def of_rank(self, low, high=None):
        """The first operand with a rank within bounds; none where the value that is there does not fit."""
        if self.given is None:
            return self.array(self.shape(low, low + 2 if high is None else high))
        rank = self.given.ndim
        return self.given if rank >= low and (high is None or rank <= high) else None

    def filled(self, low=0, high=5):
        """The first operand without empty axes, over which ONNX Runtime reduces to shapes of its own."""
        x = self.of_rank(low, high) if self.given is not None else self.array(self.shape(low, high, 0))
        return x if x is None or x.size else None

    def axis(self, rank):
        return self.whole(-rank, rank - 1)

    def axes(self, rank, least=0):
        chosen = self.rng.permutation(rank)[: self.whole(least, rank)]
        return [int(a) - (rank if self.maybe(0.3) else 0) for a in chosen]

    def beside(self, shape):
        """A shape that broadcasts with another."""
        sizes = [1 if self.maybe(0.3) else s for s in shape]
        return tuple(sizes[self.whole(0, len(sizes)) :] if self.maybe(0.4) else sizes)

    def ints(self, values, dtype=np.int64):
        return np.array(values, dtype)
