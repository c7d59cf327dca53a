"""How operands and attributes of each operator are drawn at random: recipes by operator, for random_graphs.py.

A recipe gets a Draw, which knows the operator's version and the dtype that was drawn for its first operand, and returns (operands,
attributes); an operand is an array, or None where it is left out. The first operand may come from outside: `draw.first(shape)` gives the value
that is there, whatever its shape, or makes one.
"""

import numpy as np

import random_layers as layers
import random_moves as moves

UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish
Neg Not Reciprocal Relu Round Selu Celu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu BitwiseNot Swish Shrink Shape Size
Det GlobalAveragePool GlobalMaxPool Dropout""".split()
BINARY = """Add Sub Mul Div Pow Mod And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual BitwiseAnd BitwiseOr BitwiseXor BitShift
PRelu""".split()
SEVERAL = "Max Min Mean Sum".split()
REDUCE = """ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare""".split()
REALS = {
    "Elu": ["alpha"],
    "LeakyRelu": ["alpha"],
    "HardSigmoid": ["alpha", "beta"],
    "Selu": ["alpha", "gamma"],
    "Celu": ["alpha"],
    "ThresholdedRelu": ["alpha"],
    "Shrink": ["lambd", "bias"],
    "Swish": ["alpha"],
}


def unary(d):
    shape = (
        (d.whole(1, 3),) + d.shape(0, 1) + (3, 3)
        if d.op == "Det"
        else d.shape(3, 5, 0) if d.op.startswith("Global") else d.shape(0, 6)
    )
    attributes = {name: float(np.float32(d.rng.random() + 0.1)) for name in REALS.get(d.op, []) if d.maybe()}
    if d.op == "Gelu" and d.maybe():
        attributes["approximate"] = "tanh"
    if d.op == "IsInf":
        attributes = {"detect_negative": d.whole(0, 1), "detect_positive": d.whole(0, 1)}
    if d.op == "Shape" and d.version >= 15 and d.maybe():
        attributes = {"start": d.whole(-3, 3), "end": d.whole(-3, 4)}
    return [d.first(shape)], attributes


def binary(d):
    a = d.first(d.shape(0, 5))
    b = d.array(d.beside(a.shape))
    attributes = {}
    if d.op == "BitShift":
        attributes["direction"] = d.pick(["LEFT", "RIGHT"])
    if d.op == "Mod":
        floats = a.dtype.kind not in "iu"
        attributes["fmod"] = 1 if floats or d.maybe(0.3) else 0
    if d.op in ("Mod", "Div") and b.dtype.kind in "iu":
        b = np.where(b == 0, 3, b).astype(b.dtype)
    if d.op in ("Pow", "BitShift") and b.dtype.kind in "iu":
        b = (np.abs(b.astype(np.int64)) % 4).astype(b.dtype)
    swap = d.maybe(0.3) and d.op not in ("PRelu", "Mod", "Div", "Pow", "BitShift")
    return ([b, a] if swap else [a, b]), attributes


def several(d):
    a = d.first(d.shape(0, 4))
    return [a] + [d.array(d.beside(a.shape)) for _ in range(d.whole(0, 3))], {}


def reduce(d):
    x = d.filled()
    if "Log" in d.op and x.dtype.kind in "iu":  # no whole number is the logarithm of one below 1
        x = np.abs(x) + x.dtype.type(1)
    attributes = {"keepdims": d.whole(0, 1)} if d.maybe(0.7) else {}
    inputs = [x]
    listed = d.axes(x.ndim) if d.maybe(0.8) else None
    if d.version >= (13 if d.op == "ReduceSum" else 18):
        if listed is not None:
            inputs.append(d.ints(listed))
        if d.maybe(0.3):
            attributes["noop_with_empty_axes"] = d.whole(0, 1)
    elif listed:
        attributes["axes"] = listed
    return inputs, attributes


def arg(d):
    x = d.filled(1)
    attributes = {"axis": d.axis(x.ndim), "keepdims": d.whole(0, 1)}
    if d.version >= 12 and d.maybe():
        attributes["select_last_index"] = d.whole(0, 1)
    return [x], attributes


def softmax(d):
    x = d.filled(1)
    return [x], ({"axis": d.axis(x.ndim)} if d.maybe(0.8) else {})


def non_zero(d):
    return [d.of_rank(1, 4)], {}


RECIPES = {
    **{op: unary for op in UNARY},
    **{op: binary for op in BINARY},
    **{op: several for op in SEVERAL},
    **{op: reduce for op in REDUCE},
    **{op: arg for op in ("ArgMax", "ArgMin")},
    **{op: softmax for op in ("Softmax", "LogSoftmax", "Hardmax")},
    "NonZero": non_zero,
    "Transpose": moves.transpose,
    "Reshape": moves.reshape,
    "Squeeze": moves.squeeze,
    "Unsqueeze": moves.unsqueeze,
    "Flatten": moves.flatten,
    "Expand": moves.expand,
    "Tile": moves.tile,
    "Slice": moves.slice_,
    "Pad": moves.pad,
    "Concat": moves.concat,
    "Split": moves.split,
    "Gather": moves.gather,
    "GatherElements": moves.gather_elements,
    "GatherND": moves.gather_nd,
    "ScatterElements": moves.scatter_elements,
    "ScatterND": moves.scatter_nd,
    "Where": moves.where,
    "DepthToSpace": moves.blocks,
    "SpaceToDepth": moves.blocks,
    "TopK": moves.top_k,
    "CumSum": moves.cum,
    "CumProd": moves.cum,
    "Clip": moves.clip,
    "OneHot": moves.one_hot,
    "Range": moves.range_,
    "Compress": moves.compress,
    "Trilu": moves.trilu,
    "ReverseSequence": moves.reverse_sequence,
    "EyeLike": moves.eye_like,
    "MatMul": layers.matmul,
    "Gemm": layers.gemm,
    "Conv": layers.conv,
    "ConvTranspose": layers.conv,
    "MaxPool": layers.pool,
    "AveragePool": layers.pool,
    "LpPool": layers.pool,
    "BatchNormalization": layers.normalization,
    "InstanceNormalization": layers.normalization,
    "GroupNormalization": layers.normalization,
    "LRN": layers.normalization,
    "MeanVarianceNormalization": layers.normalization,
    "LayerNormalization": layers.layer_norm,
    "RMSNormalization": layers.layer_norm,
    "LpNormalization": layers.lp_norm,
    "RNN": layers.recurrent,
    "GRU": layers.recurrent,
    "LSTM": layers.recurrent,
    "Resize": layers.resize,
    "GridSample": layers.grid_sample,
    "Einsum": layers.einsum,
    "QuantizeLinear": layers.quantize,
    "DequantizeLinear": layers.quantize,
    "MatMulInteger": layers.integer_product,
    "Cast": layers.cast,
    "Unique": layers.unique,
    "DFT": layers.dft,
    "CenterCropPad": layers.center,
    "Attention": layers.attention,
    "NegativeLogLikelihoodLoss": layers.loss,
    "SoftmaxCrossEntropyLoss": layers.loss,
    "RotaryEmbedding": layers.rotary,
    "RoiAlign": layers.roi_align,
    "NonMaxSuppression": layers.suppression,
    "StringSplit": layers.text_split,
    "Col2Im": layers.col2im,
}
