"""Input values of conformance cases, made from seeds. tools/kiln/conform_values.c makes the same ones from the
same seeds, so that a data file holds seeds and not inputs. Change both or neither."""

import numpy

DTYPES = ["none", "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"]
CODE = {name: code for code, name in enumerate(DTYPES)}
FLOATS = ["f64", "f32", "f16", "bf16"]
SIGNED = ["i64", "i32", "i16", "i8"]
UNSIGNED = ["u64", "u32", "u16", "u8"]
INTS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ["bool"]

# What a range of values is sprinkled with or arranged as; the bits of a data file.
FLAGS = {
    "nan": 1,  # an eighth of the floats is NaN
    "inf": 2,  # an eighth is +inf, another -inf
    "zero": 4,  # a quarter is 0 (of floats half of those -0)
    "ties": 8,  # floats are multiples of 1/2, so that equal values occur
    "distinct": 16,  # no two values are equal (floats; in ints the range must be large enough)
    "extreme": 32,  # integers: a quarter is the dtype's lowest or highest value; floats: +-65504
    "dominant": 64,  # the number of columns is added to the diagonal of the last two axes
    "symmetric": 128,  # the last two axes are symmetric
}

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def splitmix(seed, count):
    """The first `count` numbers of splitmix64 started at seed."""
    with numpy.errstate(over="ignore"):
        steps = numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(_GOLDEN)
        return _mix(steps + numpy.uint64(seed & _MASK))


def _mix(z):
    with numpy.errstate(over="ignore"):
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return z ^ (z >> numpy.uint64(31))


def limits(dtype):
    """The lowest and the highest integer of an integer dtype."""
    bits = int(dtype[1:])
    return (0, (1 << bits) - 1) if dtype[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def is_float(dtype):
    return dtype in FLOATS


def is_int(dtype):
    return dtype in INTS


def round_to(values, dtype):
    """Rounds an f64 array to a float dtype (through f32 for the halves, as the C side does), back in f64."""
    values = numpy.asarray(values, dtype=numpy.float64)
    with numpy.errstate(over="ignore"):
        if dtype == "f64":
            return values
        single = values.astype(numpy.float32)
        if dtype == "f32":
            return single.astype(numpy.float64)
        if dtype == "f16":
            return single.astype(numpy.float16).astype(numpy.float64)
        bits = single.view(numpy.uint32).astype(numpy.uint64)
        below, one = numpy.uint64(16), numpy.uint64(1)  # NumPy 1 turns a single u64 beside an int into f64
        rounded = ((bits + numpy.uint64(0x7FFF) + ((bits >> below) & one)) >> below << below).astype(numpy.uint32)
        rounded = numpy.where(numpy.isnan(single), numpy.uint32(0x7FC00000), rounded)
        return rounded.view(numpy.float32).astype(numpy.float64)


def _ranks(words):
    """For each word its place in the sorted order, ties by position."""
    ranks = numpy.empty(len(words), dtype=numpy.uint64)
    ranks[numpy.argsort(words, kind="stable")] = numpy.arange(len(words), dtype=numpy.uint64)
    return ranks


def _words(shape, seed, flags):
    """One random word per element; equal ones at mirrored places when the matrix is to be symmetric."""
    count = int(numpy.prod(shape, dtype=numpy.int64)) if shape else 1
    words = splitmix(seed, count)
    if flags & FLAGS["symmetric"] and len(shape) >= 2 and shape[-1] == shape[-2]:
        matrices = words.reshape((-1, shape[-2], shape[-1]))
        lower = numpy.tril(numpy.ones(shape[-2:], dtype=bool), -1)
        words = numpy.where(lower, matrices.transpose(0, 2, 1), matrices).reshape(-1)
    return words


def _float_values(words, low, high, flags):
    if flags & FLAGS["distinct"]:
        unit = (_ranks(words).astype(numpy.float64) + 0.5) / float(max(len(words), 1))
    else:
        unit = (words >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53
    values = low + unit * (high - low)
    if flags & FLAGS["ties"]:
        values = numpy.floor(values * 2.0) * 0.5
    pick = _mix(words) & numpy.uint64(7)
    for flag, place, value in (
        ("nan", 0, numpy.nan),
        ("inf", 1, numpy.inf),
        ("inf", 2, -numpy.inf),
        ("zero", 3, 0.0),
        ("zero", 4, -0.0),
        ("extreme", 5, 65504.0),
        ("extreme", 6, -65504.0),
    ):
        if flags & FLAGS[flag]:
            values = numpy.where(pick == place, value, values)
    return values


def _int_values(words, low, high, flags, dtype):
    lowest, highest = limits(dtype)
    first, last = int(numpy.ceil(max(low, float(lowest)))), int(numpy.floor(min(high, float(highest))))
    last = min(max(first, last), highest)
    span = last - first + 1
    picked = _ranks(words) if flags & FLAGS["distinct"] else words
    values = [first + int(w) % span for w in picked]
    pick = _mix(words) & numpy.uint64(7)
    for i, p in enumerate(pick):
        if flags & FLAGS["zero"] and p in (3, 4):
            values[i] = 0
        if flags & FLAGS["extreme"] and p in (5, 6):
            values[i] = highest if p == 5 else lowest
    return values


def make(shape, dtype, seed, low, high, flags):
    """The values of one operand: f64 for floats (rounded to dtype), int64 or uint64 for integers, bool."""
    words = _words(shape, seed, flags)
    if is_float(dtype):
        values = _float_values(words, low, high, flags)
        if flags & FLAGS["dominant"] and len(shape) >= 2:
            values = values.reshape(shape) + numpy.eye(shape[-2], shape[-1]) * float(shape[-1])
        return round_to(values.reshape(shape), dtype)
    if dtype == "bool":
        return ((words >> numpy.uint64(63)) == 1).reshape(shape)
    wide = numpy.uint64 if dtype == "u64" else numpy.int64
    return numpy.array(_int_values(words, low, high, flags, dtype), dtype=wide).reshape(shape)
