"""Conformance cases: what each op must give, said in Python, computed by PyTorch or NumPy in f64.

A file cases/<family>.py defines one function and nothing else that runs:

    import torch
    from conform import ALL, FLOATS, INTS, NUMBERS, code, sum_dtype

    def cases(g):
        g.add("add", [g.values(3, 4), g.values(3, 4)], expect=lambda x, y: x + y, dtypes=NUMBERS,
              elementwise=True, grad=True)
        g.add("sum", [g.values(2, 3, 5)], attrs={"axes": [0, -1], "keep": 1}, dtypes=ALL, out=sum_dtype,
              expect=lambda x: x.sum((0, -1), keepdim=True), grad=True)
        g.add("take", [g.values(5, 3), g.ints(4, low=0, high=4, dtype="i64")], attrs={"axis": 0}, dtypes=ALL,
              expect=lambda x, i: x[i], grad=[0])
        g.error("matmul", [g.values(2, 3), g.values(4, 5)], status="shape", text="2")

What g.add runs: the name is looked up first among the adapters of tools/kiln (see below), then among the rows of
the op table, which kn_call runs with the attributes named as in the row's schema. So a public function of several
steps (split, einsum) or with a friendlier signature has an adapter; a plain row needs nothing.

g.add(op, inputs, ...)
    inputs       a list of operands, see below; an absent optional operand is g.none()
    expect       called with one torch tensor per operand (f64 for floats rounded to the dtype, int64 for integers,
                 bool; None for g.none()); returns a torch tensor, a NumPy array or a number, or a tuple of them,
                 one per output. In a tuple None leaves an output unchecked (its dtype and shape too);
                 ShapeOnly(2, 3) checks dtype (give `out`) and shape and compares the values with `ref`: for
                 random numbers, whose key and counter are attributes.
    attrs        {name: int | bool | float | list of ints | str | callable(dtype)}; dtypes by code("f32"). A list
                 attribute becomes kn_ints, so at most 8 numbers.
    dtypes       the dtypes that operands without a fixed dtype take in turn (FLOATS, INTS, SIGNED, UNSIGNED,
                 NUMBERS, ALL, or your own list)
    out          dtype of the outputs: None guesses (bool results are bool; float results have the case's dtype,
                 f32 when that is no float; integer results have the case's dtype when that is an integer, else
                 i64); a name; a callable(dtype) -> name; or a list of those, one per output
    elementwise  True also makes the variants broadcast (axes of size 1), mixed ranks, scalar (rank 0) and empty
                 from the same expect; all operands must then have the same shape
    grad         True (every float operand), a list of operand numbers, or False. Expected gradients come from
                 torch autograd with a random cotangent; the runner also compares with central differences in f64.
                 "fd": only the differences, where torch cannot differentiate expect; "torch": only torch's, for
                 kinks and ties, where differences say nothing.
    second       True (default) checks the gradient of the gradient by differences; a text says why this case has
                 none. A differentiable row of which no case has one needs such a text, or the runner fails.
    tolerance    (ulps, roots) instead of the row's; only with a reason in `why`. |a - b| <= (ulps + roots *
                 sqrt(K)) * eps * max(|b|, scale); the runner prints how many cases have their own. scale is 0;
                 where roots > 0, because terms cancel, the largest operand (contractions: product of the two) or
                 result. eps is the dtype's; halves compute in f32, so theirs is that of f32, and half an ulp of
                 the half is added for the rounding of the result (4 ulps of the largest result for functions of
                 several rows, 6 of the terms it sums for gradients). kiln conform --self-test shows that no
                 zeroed, negated or tenth-off result passes.
    name         a word that tells cases of one op apart; made up when missing
    covers       rows that this case exercises although it is not called by their name: an adapter's rows
    large        shapes of the operands (a list of tuples) for the run against `ref` past every block size, with
                 large_attrs={...} replacing attributes; left out, the runner scales the sizes by itself;
                 large=False: no such run. Integer operands of fixed dtype keep their range.
    always_large True: `large` is run for this case whatever ran before, contiguous, transposed, and with the heads of four
                 axes packed into rows. For kernels that only large operands reach. There attention in 16 bits may be off by
                 half an eps of the sum of its terms' magnitudes (tools/kiln/conform_magnitudes.c says why)
    layouts      False: only contiguous operands (for cases whose operands are views of each other or the like)

Operands (shapes are positional; every range is [low, high])
    g.values(3, 4, low=-2, high=2, flags="")   takes each dtype of `dtypes`; integers take whole numbers of the range
                                               (unsigned: from 0), bool takes 0 or 1
    g.values(..., dtype="f32")                 always that dtype
    g.ints(4, low=0, high=4, dtype="i64")      the same with integer defaults; g.bools(3, 4)
    g.literal([[1, 2], [3, 4]], dtype=None)    these very values
    g.none()
    flags: words of "nan inf zero ties distinct extreme dominant symmetric" (conform_values.py says what each does).
    "symmetric dominant" gives positive definite matrices. g.float, g.int and g.bool are other names of
    values, ints and bools.

g.error(op, inputs, attrs=..., status="shape", text="word", dtypes=["f32"])
    the op must fail with that status (argument shape dtype handle memory device index unsupported gradient
    internal io numeric, or a list of those) and its text must contain `text`.

Adapters: tools/kiln/conform_adapters_<family>.c holds

    #include "conform_adapter.h"
    static int run_split(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
    {
        int32_t count = 3;
        return kiln_outputs(kn_split(in[0], ..., out, &count), out, count);
    }
    const kiln_adapter kiln_adapters_<family>[] = {{"split", run_split}, ..., {NULL, NULL}};

and tools/kiln/conform_adapter_list.c has a line with the family's name (most are there already). The function
returns the number of outputs it filled; kiln_outputs(status, out, count) helps where a function answers a status.
Operands are kept: use them as often as you like. kiln_int, kiln_real, kiln_ints and kiln_text read attributes with
a default. tools/kiln sees the public headers only.

Then: python3 tests/conform/generate.py [family ...] writes tests/conform/data/<family>.knc, and
kiln conform --filter op runs it. generate.py needs torch and numpy; --list shows the cases without writing.
Keep shapes small (a few dozen elements): sizes past the block sizes are the runner's business. Odd sizes (3, 5, 7,
17) find more than round ones.
"""

import zlib

import numpy
import torch

import conform_values
from conform_values import ALL, CODE, FLOATS, INTS, NUMBERS, SIGNED, UNSIGNED, is_float, is_int  # noqa: F401

HALVES = ("f16", "bf16")
SIGN_DRAWS, COTANGENT_DRAWS, LEAST_KEPT = 8, 20, 0.7

STATUS = {"argument": 1, "shape": 2, "dtype": 3, "handle": 4, "memory": 5, "device": 6, "index": 7,
          "unsupported": 8, "gradient": 9, "internal": 10, "io": 11, "numeric": 12}


def code(dtype):
    """The number of a dtype, for attributes that are dtypes."""
    return CODE[dtype]


def sum_dtype(dtype):
    """Sums and products of integers and bools are i64, as in PyTorch."""
    return dtype if is_float(dtype) else "i64"


def float_dtype(dtype):
    """Functions of real numbers turn integers and bools into f32."""
    return dtype if is_float(dtype) else "f32"


class Operand:
    """How the values of one operand are made."""

    def __init__(self, kind, shape=(), dtype=None, low=0.0, high=0.0, flags=0, values=None):
        self.kind, self.shape, self.dtype = kind, tuple(int(s) for s in shape), dtype
        self.low, self.high, self.flags, self.values = float(low), float(high), flags, values

    def with_shape(self, shape):
        return Operand(self.kind, shape, self.dtype, self.low, self.high, self.flags, self.values)


class ShapeOnly:
    """An output whose values torch cannot say."""

    def __init__(self, *shape):
        self.shape = shape


class Record:
    """One case for one dtype, ready to be written."""


def _flag_bits(words):
    return sum(conform_values.FLAGS[w] for w in words.split())


def _seed(*parts):
    return zlib.crc32("|".join(str(p) for p in parts).encode()) * 0x100000001 + 0x9E37


class Generator:
    """What cases(g) talks to."""

    def __init__(self, family):
        self.family, self.records, self.names = family, [], {}

    # ---- operands

    def values(self, *shape, low=-2.0, high=2.0, flags="", dtype=None):
        return Operand("made", shape, dtype, low, high, _flag_bits(flags))

    def ints(self, *shape, low=0, high=9, dtype="i64", flags=""):
        return Operand("made", shape, dtype, low, high, _flag_bits(flags))

    def bools(self, *shape):
        return Operand("made", shape, "bool", 0, 1, 0)

    def literal(self, values, dtype=None):
        array = numpy.asarray(values)
        return Operand("literal", array.shape, dtype, values=array)

    def none(self):
        return Operand("none")

    float, int, bool = values, ints, bools

    # ---- cases

    def add(self, op, inputs, expect, attrs=None, dtypes=None, out=None, elementwise=False, grad=False,
            second=True, tolerance=None, why=None, name=None, covers=(), large=None, large_attrs=None,
            layouts=True, always_large=False):
        if tolerance is not None and not why:
            raise ValueError("%s: a case with its own tolerance says why" % op)
        if second is not True and not (isinstance(second, str) and second):
            raise ValueError("%s: a case without a second gradient says why" % op)
        if isinstance(inputs, Operand):
            inputs = [inputs]
        shared = dict(op=op, attrs=attrs or {}, expect=expect, out=out, grad=grad, second=second,
                      tolerance=tolerance, covers=list(covers), large=large, large_attrs=large_attrs or {},
                      layouts=layouts, elementwise=elementwise, always_large=always_large)
        for variant, operands in self._variants(inputs, elementwise):
            label = self._label(op, name, variant)
            for dtype in dtypes or FLOATS:
                self.records.append(_build(shared, label, variant, operands, dtype))

    def error(self, op, inputs, attrs=None, status="argument", text="", dtypes=("f32",), name=None, covers=()):
        statuses = [status] if isinstance(status, str) else status
        label = self._label(op, name or "error", "")
        for dtype in dtypes:
            record = Record()
            record.op, record.name, record.dtype, record.variant = op, label, dtype, ""
            record.inputs = [_realise(o, dtype, _seed(op, label, i))[0] for i, o in enumerate(inputs)]
            record.attrs = _attributes(attrs or {}, dtype)
            record.status, record.text = sum(1 << STATUS[s] for s in statuses), text
            record.outputs, record.grads, record.cotangents, record.covers = [], None, [], list(covers)
            record.tolerance, record.large, record.large_attrs, record.always_large = None, False, {}, False
            record.layouts, record.elementwise, record.second, record.checks_fd = False, False, False, 0
            record.grad, record.sizes = False, None
            self.records.append(record)

    def _label(self, op, name, variant):
        base = name or "case"
        used = self.names.setdefault((op, base, variant), 0) + 1
        self.names[(op, base, variant)] = used
        base = base if used == 1 else "%s%d" % (base, used)
        return base + ("-" + variant if variant else "")

    def _variants(self, inputs, elementwise):
        yield "", inputs
        if not elementwise:
            return
        made = [o for o in inputs if o.kind == "made"]
        shape = made[0].shape if made else ()
        if any(o.kind == "literal" for o in inputs) or any(o.shape != shape for o in made) or not shape:
            return

        def replaced(shape_of):
            count, result = 0, []
            for o in inputs:
                result.append(o.with_shape(shape_of(count)) if o.kind == "made" else o)
                count += o.kind == "made"
            return result

        if len(made) > 1:
            yield "broadcast", replaced(lambda k: tuple(1 if (a + k) % 2 else s for a, s in enumerate(shape)))
            yield "ranks", replaced(lambda k: shape[1:] if k == 0 else shape)
            yield "number", replaced(lambda k: () if k == len(made) - 1 else shape)
        else:
            yield "broadcast", replaced(lambda k: shape)
        yield "scalar", replaced(lambda k: ())
        yield "empty", replaced(lambda k: (0,) + shape[1:])


# ---- from a case to a record


def _realise(operand, dtype, seed):
    """The stored form of an operand and its values for expect."""
    dtype = operand.dtype or dtype
    stored = dict(kind=operand.kind, dtype=dtype, shape=operand.shape, seed=seed, low=operand.low,
                  high=operand.high, flags=operand.flags, values=None)
    if operand.kind == "none":
        return stored, None
    if operand.kind == "made":
        return stored, conform_values.make(operand.shape, dtype, seed, operand.low, operand.high, operand.flags)
    if is_float(dtype):
        values = conform_values.round_to(operand.values.astype(numpy.float64), dtype)
    elif dtype == "bool":
        values = operand.values.astype(bool)
    else:
        values = operand.values.astype(numpy.uint64 if dtype == "u64" else numpy.int64)
    stored["values"] = values
    return stored, values


def _attributes(attrs, dtype):
    result = {}
    for key, value in attrs.items():
        value = value(dtype) if callable(value) else value
        if isinstance(value, (bool, numpy.bool_)):
            value = int(value)
        result[key] = value
    return result


def _to_torch(values):
    if values is None:
        return None
    if values.dtype == numpy.uint64:
        values = values.astype(numpy.int64)
    return torch.from_numpy(numpy.array(values, copy=True))


def _to_numpy(value):
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj().resolve_neg().numpy()
    return numpy.asarray(value)


def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _output_dtype(rule, index, values, dtype):
    if isinstance(rule, (list, tuple)):
        rule = rule[index]
    if callable(rule):
        return rule(dtype)
    if rule is not None:
        return rule
    if values.dtype == bool:
        return "bool"
    if values.dtype.kind in "iu":
        return dtype if is_int(dtype) else "i64"
    return dtype if is_float(dtype) else "f32"


def _output(rule, index, value, dtype):
    """An expected output as (dtype, shape, values): f64 for floats, wrapped 64-bit integers, bytes of bool."""
    if value is None:
        return None
    if isinstance(value, ShapeOnly):
        return _output_dtype(rule, index, numpy.zeros(0), dtype), value.shape, None
    values = _to_numpy(value)
    result = _output_dtype(rule, index, values, dtype)
    if is_float(result):
        values = values.astype(numpy.float64)
    elif result == "bool":
        values = values.astype(bool)
    elif values.dtype.kind == "f":
        raise ValueError("a float result for an output of dtype %s" % result)
    else:
        values = values.astype(numpy.int64).astype({"i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "u64": "u8",
                                                    "u32": "u4", "u16": "u2", "u8": "u1"}[result])
        values = values.astype(numpy.uint64 if result == "u64" else numpy.int64)
    return result, values.shape, values


def _gradient_operands(grad, operands):
    floats = [i for i, o in enumerate(operands) if o["kind"] != "none" and is_float(o["dtype"])]
    if grad is True or grad in ("fd", "torch"):
        return floats
    return [i for i in (grad or []) if i in floats]


def _gradients(expect, arrays, wanted, cotangents, sizes):
    """Gradients by autograd of the sum of outputs times cotangents. With sizes also the size of the terms that each
    gradient sums, which may cancel: the root of the sum of their squares at its largest element, estimated by giving the
    cotangents random signs."""
    leaves = [_to_torch(a) for a in arrays]
    for i in wanted:
        leaves[i].requires_grad_(True)
    pairs = []
    for y, seed in zip(_as_tuple(expect(*leaves)), cotangents):
        if not isinstance(y, torch.Tensor) or not y.dtype.is_floating_point or not y.requires_grad:
            continue
        pairs.append((y, _to_torch(conform_values.make(tuple(y.shape), "f64", seed, -1.0, 1.0, 0))))
    if not pairs:
        return [numpy.zeros(arrays[i].shape) for i in wanted], [0.0 for i in wanted]

    def gradients_of(sign):
        total = sum((y * weight * sign(weight)).sum() for y, weight in pairs)
        grads = torch.autograd.grad(total, [leaves[i] for i in wanted], allow_unused=True, retain_graph=True)
        return [numpy.zeros(arrays[i].shape) if v is None else _to_numpy(v) for i, v in zip(wanted, grads)]

    values = gradients_of(torch.ones_like)
    if not sizes:
        return values, None
    source = torch.Generator().manual_seed(cotangents[0] & 0xFFFFFFFF)
    draws = [gradients_of(lambda w: torch.randint(0, 2, w.shape, generator=source) * 2.0 - 1.0)
             for _ in range(SIGN_DRAWS)]
    return values, [max(_largest(value), _largest(numpy.sqrt(sum(d[k] ** 2 for d in draws) / SIGN_DRAWS)))
                    for k, value in enumerate(values)]


def _largest(values):
    finite = numpy.abs(values[numpy.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def _cotangents(op, label, draw, count):
    return [_seed(op, label, "cotangent" + ("-%d" % draw if draw else ""), k) for k in range(count)]


def _add_gradients(record, expect, arrays, wanted):
    """In halves a sum that nearly cancels says nothing: cotangents are drawn until none does, or the best are taken."""
    dtypes = [x["dtype"] for x in record.inputs] + [y[0] for y in record.outputs if y is not None]
    sizes = any(d in HALVES for d in dtypes)
    best = -1.0
    for draw in range(COTANGENT_DRAWS if sizes else 1):
        cotangents = _cotangents(record.op, record.name, draw, len(record.outputs))
        values, size = _gradients(expect, arrays, wanted, cotangents, sizes)
        kept = min([_largest(v) / s for v, s in zip(values, size) if s > 0] or [1.0]) if sizes else 1.0
        if kept > best:
            best, record.cotangents, record.sizes = kept, cotangents, size
            record.grads = list(zip(wanted, values))
        if best >= LEAST_KEPT:
            return


def _build(shared, label, variant, operands, dtype):
    record = Record()
    record.op, record.name, record.dtype, record.variant = shared["op"], label, dtype, variant
    seeds = [_seed(shared["op"], label, dtype, i) for i in range(len(operands))]
    pairs = [_realise(o, dtype, s) for o, s in zip(operands, seeds)]
    record.inputs, arrays = [p[0] for p in pairs], [p[1] for p in pairs]
    record.attrs = _attributes(shared["attrs"], dtype)
    where = "%s %s %s" % (record.op, label, dtype)
    try:
        results = _as_tuple(shared["expect"](*[_to_torch(a) for a in arrays]))
        record.outputs = [_output(shared["out"], k, y, dtype) for k, y in enumerate(results)]
    except Exception as error:
        raise RuntimeError("%s: expect failed: %s" % (where, error)) from error
    record.status, record.text = 0, "" if shared["second"] is True else shared["second"]
    record.tolerance, record.covers = shared["tolerance"], shared["covers"]
    record.large, record.large_attrs = shared["large"], _attributes(shared["large_attrs"], dtype)
    record.always_large = shared["always_large"]
    record.layouts, record.elementwise = shared["layouts"], shared["elementwise"]
    record.second = shared["second"] is True
    record.cotangents = _cotangents(record.op, label, 0, len(results))
    record.grads, record.sizes, record.checks_fd, record.grad = None, None, 0, shared["grad"]
    wanted = _gradient_operands(shared["grad"], record.inputs) if is_float(dtype) and variant != "empty" else []
    if wanted:
        record.checks_fd = sum(1 << i for i in wanted)
        if shared["grad"] != "fd":
            try:
                _add_gradients(record, shared["expect"], arrays, wanted)
            except Exception as error:
                raise RuntimeError("%s: torch gave no gradient: %s" % (where, error)) from error
    return record
