"""The cases of the op that run_new_op.py adds, written as a file of tests/conform/data. Real ops say theirs in
tests/conform/cases, which needs PyTorch; these few need nothing, so that the test runs everywhere. The format is that of
tests/conform/generate.py."""

import math
import struct

DTYPES = {"f64": 1, "f32": 2, "f16": 3, "bf16": 4, "i64": 5}
LAYOUTS, SECOND = 2, 4
SHAPE, DTYPE = 2, 3  # numbers of statuses


def string(text):
    return struct.pack("<H", len(text)) + text.encode()


def shape_bytes(shape):
    return struct.pack("<B", len(shape)) + b"".join(struct.pack("<q", size) for size in shape)


def attributes(axis, temperature):
    return (b"\x02" + string("axis") + struct.pack("<Bq", 0, axis)
            + string("temperature") + struct.pack("<Bd", 1, temperature))


def literal(dtype, shape, values):
    layout = "d" if dtype != "i64" else "q"
    return (struct.pack("<BB", 2, DTYPES[dtype]) + shape_bytes(shape)
            + struct.pack("<%d%s" % (len(values), layout), *values))


def made(dtype, shape, seed):
    return struct.pack("<BB", 1, DTYPES[dtype]) + shape_bytes(shape) + struct.pack("<QddI", seed, -4.0, 4.0, 0)


def record(name, dtype, operand, axis, temperature, outputs, statuses=0, text="", gradient=False):
    flags = (LAYOUTS | SECOND) if outputs else 0
    body = string("tempered_softmax") + string(name) + struct.pack("<BBff", DTYPES[dtype], flags, 0, 0)
    body += struct.pack("<I", statuses) + string(text) + b"\x00" + b"\x01" + operand
    body += attributes(axis, temperature) + b"\x00" + b"\x00"  # no large shapes of its own
    body += struct.pack("<B", len(outputs)) + b"".join(outputs)
    body += struct.pack("<QB", 1 if gradient else 0, 0)
    return struct.pack("<I", len(body)) + body


def expected(dtype, shape, values):
    return (struct.pack("<BQ", DTYPES[dtype], 77) + shape_bytes(shape)
            + struct.pack("<%dd" % len(values), *values))


def as_other_device(dtype, shape):
    """Values that are compared with those of another device."""
    return struct.pack("<BQ", DTYPES[dtype] | 0x80, 78) + shape_bytes(shape)


def softmax(line, temperature):
    top = max(line)
    exponentials = [math.exp((x - top) / temperature) for x in line]
    return [e / sum(exponentials) for e in exponentials]


def along_last(rows, temperature):
    return [y for row in rows for y in softmax(row, temperature)]


def along_first(rows, temperature):
    columns = [softmax([row[k] for row in rows], temperature) for k in range(len(rows[0]))]
    return [columns[k][i] for i in range(len(rows)) for k in range(len(rows[0]))]


def records():
    # Multiples of 1/16, which every float holds.
    rows = [[((i * 5 + k) * 37 % 113 - 56) / 16 for k in range(5)] for i in range(3)]
    flat = [x for row in rows for x in row]
    inf = math.inf
    for dtype in ("f64", "f32", "f16", "bf16"):
        yield record("last", dtype, literal(dtype, (3, 5), flat), -1, 0.5,
                     [expected(dtype, (3, 5), along_last(rows, 0.5))], gradient=True)
        yield record("first", dtype, literal(dtype, (3, 5), flat), 0, 2.0,
                     [expected(dtype, (3, 5), along_first(rows, 2.0))], gradient=True)
        yield record("middle", dtype, made(dtype, (2, 3, 17), 5), 1, 1.0, [as_other_device(dtype, (2, 3, 17))],
                     gradient=True)
        yield record("edges", dtype, literal(dtype, (2, 3), [1000, -1000, 992, -inf, 0, 3]), 1, 2.0,
                     [expected(dtype, (2, 3), along_last([[1000, -1000, 992], [-inf, 0, 3]], 2.0))])
    nan = math.nan
    yield record("nan", "f64", literal("f64", (2, 2), [nan, 1, 0, 0]), 1, 1.0,
                 [expected("f64", (2, 2), [nan, nan, 0.5, 0.5])])
    yield record("no axis", "f32", made("f32", (3, 5), 6), 2, 1.0, [], 1 << 1 | 1 << SHAPE, "2")
    yield record("integers", "i64", literal("i64", (2, 2), [1, 2, 3, 4]), 1, 1.0, [], 1 << DTYPE, "i64")


def write(path):
    all_records = list(records())
    with open(path, "wb") as file:
        file.write(b"KNCF" + struct.pack("<II", 2, len(all_records)) + b"".join(all_records))
