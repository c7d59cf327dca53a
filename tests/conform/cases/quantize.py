"""Numbers as small integers times a scale, and back."""
import torch
from conform import FLOATS, code

SHAPE = (4, 6)
RANGES = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767)}


def spread(s, x, axis, block):
    if s is None or s.numel() == 1:
        return 0 if s is None else s.reshape(())
    if s.dim() == 1 and not block:
        return s.reshape([-1 if i == axis % x.dim() else 1 for i in range(x.dim())])
    return s.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])


def quantized(x, s, z, low, high, axis=0, block=0):
    return (torch.round(x / spread(s, x, axis, block)) + spread(z, x, axis, block)).clamp(low, high).long()


def row_cases(g):
    x, scale = g.values(*SHAPE, low=-9, high=9), g.values(*SHAPE, low=0.05, high=0.3)
    zero = g.values(*SHAPE, low=-3, high=3)
    g.add("quantize", [x, scale, zero], attrs={"low": -20.0, "high": 30.0}, elementwise=True,
          expect=lambda x, s, z: (torch.round(x / s) + z).clamp(-20, 30))
    g.add("quantize", [g.literal([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 90.0, -90.0]), g.literal([1.0] * 8), g.literal([0.0] * 8)],
          attrs={"low": -8.0, "high": 7.0}, name="ties", expect=lambda x, s, z: (torch.round(x / s) + z).clamp(-8, 7))
    g.add("dequantize", [x, scale, zero], elementwise=True, grad=True, expect=lambda x, s, z: (x - z) * s)


BYTES = {"u8": (0, 255), "i8": (-128, 127)}


def whole_bytes(g, dtype, *shape):
    return g.ints(*shape, low=BYTES[dtype][0], high=BYTES[dtype][1], dtype=dtype)


def in_bytes(x, s, z, dtype):
    """In f32, as the rows are defined."""
    return (torch.round((x.float() / s.float())) + z).clamp(*BYTES[dtype]).long()


def in_reals(x, s, z):
    return (x - z).float() * s.float()


def dynamic(x):
    x = x.float()
    low, high = min(0.0, x.min().item()) if x.numel() else 0.0, max(0.0, x.max().item()) if x.numel() else 0.0
    low, high = torch.tensor(low), torch.tensor(high)
    scale = (high - low if high > low else torch.tensor(1.0)) / 255
    zero = torch.round((0 - low / scale).clamp(0, 255))
    return (torch.round(x / scale) + zero).clamp(0, 255).long(), scale, zero.long()


def byte_cases(g):
    """Rows on bytes with one scale and one zero point."""
    def number():
        return g.values(low=0.03, high=0.2, dtype="f32")

    for x in (g.values(*SHAPE, low=-3, high=9, dtype="f32"), g.values(*SHAPE, low=1, high=2, dtype="f32"),
              g.values(3, 5, low=-2, high=-1, dtype="f32"), g.values(300, 70, low=-1, high=1, dtype="f32"),
              g.literal([0.0, 0.0], dtype="f32"), g.values(0, 3, dtype="f32"), g.values(dtype="f32")):
        g.add("quantize_dynamic", [x], dtypes=["f32"], out=["u8", "f32", "u8"], expect=dynamic,
              large=[(75, 37)] if x.shape == SHAPE else False, tolerance=(1, 0), why="the scale is a quotient of two rounded numbers")
    for dtype in BYTES:
        far = g.literal([-1e30, -40.0, -0.5, 0.25, 40.0, 1e30, float("inf"), float("-inf")], dtype="f32")
        for x in (g.values(*SHAPE, low=-9, high=9, dtype="f32"), g.values(40, 70, low=-30, high=30, dtype="f32"), far):
            g.add("quantize_bytes", [x, g.literal(0.125, dtype="f32"), whole_bytes(g, dtype)], dtypes=["f32"], out=dtype,
                  large=[(75, 37), (), ()] if x.shape == SHAPE else False, expect=lambda x, s, z, d=dtype: in_bytes(x, s, z, d))
        x = whole_bytes(g, dtype, *SHAPE)
        g.add("dequantize_bytes", [x, number(), whole_bytes(g, dtype)], dtypes=[dtype], out="f32", large=[(75, 37), (), ()], expect=in_reals,
              tolerance=(1, 0), why="the scale is made in f64 and rounded")
        for other in BYTES:
            g.add("byte_table", [x, whole_bytes(g, other, 256)], dtypes=[dtype], out=other,
                  large=[(75, 37), (256,)], expect=lambda x, t, d=dtype: t[x - BYTES[d][0]])
            for name, op in (("quantized_sum", torch.add), ("quantized_product", torch.mul)):
                for a, b in ((SHAPE, SHAPE), (SHAPE, (6,)), ((), SHAPE), ((4, 1), (1, 6)), ((2, 1, 30), (2, 50, 30)), ((70, 40), (40,))):
                    scales = [g.literal(s, dtype="f32") for s in (0.125, 0.5, 2.0)]
                    g.add(name, [whole_bytes(g, dtype, *a), scales[0], whole_bytes(g, dtype), whole_bytes(g, other, *b), scales[1],
                                 whole_bytes(g, other), scales[2], whole_bytes(g, dtype)], dtypes=[dtype], out=dtype,
                          large=[(75, 37), (), (), (75, 37), (), (), (), ()] if a == b else False,
                          expect=lambda a, sa, za, b, sb, zb, sy, zy, d=dtype, f=op: in_bytes(f(in_reals(a, sa, za), in_reals(b, sb, zb)), sy, zy, d))
    g.error("byte_table", [whole_bytes(g, "u8", 3), whole_bytes(g, "u8", 255)], status="shape", text="[256]")
    g.error("quantize_bytes", [g.values(3, dtype="f32"), g.values(3, dtype="f32"), whole_bytes(g, "u8")], status="shape", text="rank 0")
    g.error("quantized_sum", [whole_bytes(g, "u8", 3), number(), whole_bytes(g, "u8"), whole_bytes(g, "u8", 4), number(),
                              whole_bytes(g, "u8"), number(), whole_bytes(g, "u8")], status="shape", text="do not broadcast")


def cases(g):
    row_cases(g)
    byte_cases(g)
    x = g.values(*SHAPE, low=-9, high=9)
    for dtype, (low, high) in RANGES.items():
        zero = g.ints(low=2, high=100, dtype=dtype)
        g.add("quantized", [x, g.literal([0.0625], dtype="f32"), zero], out=dtype, dtypes=["f32", "f16"], large=False,
              covers=["quantize"], expect=lambda x, s, z, l=low, h=high: quantized(x, s, z, l, h))
        for axis in (0, -1, 1):
            n = SHAPE[axis % 2]
            g.add("quantized", [x, g.values(n, low=0.02, high=0.2, dtype="f32"), g.ints(n, low=2, high=100, dtype=dtype)], out=dtype,
                  dtypes=["f32"], attrs={"axis": axis}, covers=["quantize"],
                  expect=lambda x, s, z, l=low, h=high, a=axis: quantized(x, s, z, l, h, a), large=False)
    for axis, block, shape in [(1, 2, (4, 3)), (1, 4, (4, 2)), (0, 3, (2, 6)), (-1, 5, (4, 2))]:
        g.add("quantized", [x, g.values(*shape, low=0.02, high=0.2, dtype="f32"), g.none()], out="i8", dtypes=["f32"],
              attrs={"axis": axis, "block": block, "dtype": code("i8")}, covers=["quantize"], large=False,
              expect=lambda x, s, z, a=axis, b=block: quantized(x, s, z, -128, 127, a, b))
    for dtype, (low, high) in list(RANGES.items()) + [("i32", (-90000, 90000))]:
        ints = g.ints(*SHAPE, low=low, high=high, dtype=dtype)
        g.add("dequantized", [ints, g.literal([0.5]), g.ints(low=0, high=100, dtype=dtype) if dtype != "i32" else g.none()],
              dtypes=["f32", "f64"], covers=["dequantize"], large=False,
              expect=lambda x, s, z: (x - (0 if z is None else z)).double() * s)
        g.add("dequantized", [ints, g.values(6, low=0.1, high=0.3), g.none()], dtypes=["f32"], attrs={"axis": 1},
              covers=["dequantize"], large=False, expect=lambda x, s, z: x.double() * s)
    g.add("dequantized", [g.ints(*SHAPE, low=-99, high=99, dtype="i8"), g.values(2, 6), g.ints(2, 6, low=-9, high=9, dtype="i8")],
          attrs={"axis": 0, "block": 2}, dtypes=FLOATS, covers=["dequantize"], large=False,
          expect=lambda x, s, z: (x - spread(z, x, 0, 2)).double() * spread(s, x, 0, 2))
    for name, low, high in [("i4", -8, 7), ("u4", 0, 15), ("i2", -2, 1), ("u2", 0, 3)]:
        numbers = {"i4": 20, "u4": 21, "i2": 22, "u2": 23}
        g.add("quantized_and_back", [x, g.literal([0.75])], attrs={"dtype": numbers[name]}, dtypes=["f32"], name=name, large=False,
              covers=["quantize"], expect=lambda x, s, l=low, h=high: torch.round(x / s).clamp(l, h) * s)
    g.add("quantized_and_back", [g.literal([0.3, 1.0, -2.6, 90.0, -90.0]), g.literal([1.0])], attrs={"dtype": 18}, dtypes=["f32"],
          name="f4", large=False, expect=lambda x, s: torch.tensor([0.5, 1.0, -3.0, 6.0, -6.0], dtype=torch.float64))
    g.error("quantized", [x, g.values(3), g.none()], attrs={"axis": 2}, text="axis 2")
    g.error("quantized", [x, g.values(2, 5), g.none()], attrs={"axis": 0, "block": 2}, status=["shape"], text="")
    g.error("quantized", [x, g.values(3, 6), g.none()], attrs={"axis": 0, "block": 2}, status="shape", text="blocks of 2")
