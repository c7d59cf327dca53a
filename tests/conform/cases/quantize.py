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


def cases(g):
    row_cases(g)
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
