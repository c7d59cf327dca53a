#!/usr/bin/env python3
"""Writes tests/conform/data/<family>.knc from tests/conform/cases/<family>.py. Needs torch and numpy.

Usage: generate.py [--list] [family ...]        (all families without a name)

The format, little-endian, read by tools/kiln/conform_file.c: "KNCF", version, number of records, then records, each
preceded by its length. A string is a u16 length and its bytes. See write_record for the fields."""

import importlib.util
import os
import struct
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import numpy  # noqa: E402

import conform  # noqa: E402
from conform_values import CODE, is_float  # noqa: E402

VERSION = 2
LIMIT_BYTES = 30 * 1000 * 1000
KINDS = {"none": 0, "made": 1, "literal": 2}
STORAGE = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "<i1",
           "u64": "<u8", "u32": "<u4", "u16": "<u2", "u8": "<u1", "bool": "<u1"}


class Writer:
    def __init__(self):
        self.parts = []

    def put(self, layout, *values):
        self.parts.append(struct.pack("<" + layout, *values))

    def string(self, text):
        raw = text.encode()
        self.put("H", len(raw))
        self.parts.append(raw)

    def shape(self, shape):
        self.put("B", len(shape))
        for size in shape:
            self.put("q", size)

    def wide(self, values, dtype):
        """f64 for floats, 64-bit integers, bytes for bool."""
        layout = "<f8" if is_float(dtype) else "u1" if dtype == "bool" else "<u8" if dtype == "u64" else "<i8"
        self.parts.append(numpy.ascontiguousarray(values).astype(layout).tobytes())

    def bytes(self):
        return b"".join(self.parts)


def write_attributes(w, attrs):
    w.put("B", len(attrs))
    for name, value in attrs.items():
        w.string(name)
        if isinstance(value, str):
            w.put("B", 3)
            w.string(value)
        elif isinstance(value, (list, tuple)):
            w.put("B", 2)
            w.shape(value)
        elif isinstance(value, float):
            w.put("Bd", 1, value)
        else:
            w.put("Bq", 0, value)


def write_record(record):
    w = Writer()
    w.string(record.op)
    w.string(record.name)
    flags = (1 if record.elementwise else 0) | (2 if record.layouts else 0) | (4 if record.second else 0)
    flags |= (8 if record.large is False else 0) | (16 if record.tolerance is not None else 0)
    flags |= (32 if record.grad == "torch" else 0) | (64 if record.sizes else 0)
    flags |= 128 if record.always_large else 0
    w.put("BB", CODE[record.dtype], flags)
    tolerance = record.tolerance or (0.0, 0.0)
    w.put("ff", *tolerance)
    w.put("I", record.status)
    w.string(record.text)
    w.put("B", len(record.covers))
    for name in record.covers:
        w.string(name)
    w.put("B", len(record.inputs))
    for x in record.inputs:
        w.put("BB", KINDS[x["kind"]], CODE[x["dtype"]])
        w.shape(x["shape"])
        if x["kind"] == "made":
            w.put("QddI", x["seed"] & (2**64 - 1), x["low"], x["high"], x["flags"])
        elif x["kind"] == "literal":
            w.wide(x["values"], x["dtype"])
    write_attributes(w, record.attrs)
    write_large(w, record)
    w.put("B", len(record.outputs))
    for k, y in enumerate(record.outputs):
        w.put("B", 0 if y is None else CODE[y[0]] | (0x80 if y[2] is None else 0))
        w.put("Q", record.cotangents[k] & (2**64 - 1))
        if y is not None:
            w.shape(y[1])
        if y is not None and y[2] is not None:
            w.wide(y[2], y[0])
    w.put("QB", record.checks_fd, len(record.grads or []))
    for k, (index, values) in enumerate(record.grads or []):
        w.put("B", index)
        if record.sizes:
            w.put("d", record.sizes[k])
        w.wide(values, "f64")
    return w.bytes()


def write_large(w, record):
    shapes = record.large or []
    w.put("B", len(shapes))
    for shape in shapes:
        w.shape(shape)
    write_attributes(w, record.large_attrs)


def load_family(path, family):
    spec = importlib.util.spec_from_file_location("cases_" + family, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generator = conform.Generator(family)
    module.cases(generator)
    return generator.records


def main(arguments):
    listing = "--list" in arguments
    wanted = [a for a in arguments if not a.startswith("-")]
    known = sorted(f[:-3] for f in os.listdir(os.path.join(HERE, "cases")) if f.endswith(".py"))
    for family in wanted:
        if family not in known:
            print("no cases/%s.py; there are: %s" % (family, " ".join(known)), file=sys.stderr)
            return 2
    warnings.filterwarnings("ignore")
    for family in wanted or known:
        records = load_family(os.path.join(HERE, "cases", family + ".py"), family)
        raw = [write_record(r) for r in records]
        body = b"".join(struct.pack("<I", len(r)) + r for r in raw)
        if listing:
            for r in records:
                print(family, r.op, r.name, r.dtype, [x["shape"] for x in r.inputs], r.attrs)
        else:
            with open(os.path.join(HERE, "data", family + ".knc"), "wb") as file:
                file.write(b"KNCF" + struct.pack("<II", VERSION, len(raw)) + body)
        print("%s: %d records, %d bytes" % (family, len(raw), len(body)))
    sizes = [os.path.getsize(os.path.join(HERE, "data", f)) for f in os.listdir(os.path.join(HERE, "data"))]
    if sum(sizes) > LIMIT_BYTES:
        print("data is %d bytes, the limit is %d" % (sum(sizes), LIMIT_BYTES), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
