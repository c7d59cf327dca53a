"""Models of Keras and functions of TensorFlow by tf2onnx: layers in NHWC, recurrent ones, attention, resizing, text, control flow, each for
several opsets."""

import numpy as np
import tensorflow as tf
import tf2onnx
from other_export import case

K = tf.keras
L = K.layers
S = tf.TensorSpec


def convert(f, signature, opset, **settings):
    done, _ = tf2onnx.convert.from_function(f, input_signature=signature, opset=opset, **settings)
    return done


def draw(spec, n, rng):
    shape = [d if d is not None else n + i for i, d in enumerate(spec.shape)]
    if spec.dtype == tf.float32:
        return rng.standard_normal(shape).astype(np.float32)
    if spec.dtype == tf.bool:
        return rng.random(shape) > 0.5
    if spec.dtype == tf.string:
        return np.array([f"text {i}" for i in range(int(np.prod(shape)))], dtype=object).reshape(shape)
    return rng.integers(0, 5, shape).astype(spec.dtype.as_numpy_dtype)


def function(name, f, *signature, opsets=(15,), sets=None, **settings):
    signature = [S(s, tf.float32) if isinstance(s, (list, tuple)) else s for s in signature]
    for opset in opsets:
        def make(opset=opset):
            K.utils.set_random_seed(0)
            body = f() if settings.get("late") else f
            extra = {k: v for k, v in settings.items() if k != "late"}
            done = convert(tf.function(body, input_signature=signature), signature, opset, **extra)
            rng = np.random.default_rng(1)
            if sets:
                feeds = [dict(zip([i.name for i in done.graph.input], s)) for s in sets]
            else:
                feeds = [{i.name: draw(s, n, rng) for i, s in zip(done.graph.input, signature)} for n in (1, 3)]
            return done, feeds

        case(f"keras_{name}_{opset}", make, seconds=300)


def net(name, make, *shapes, opsets=(9, 13, 15, 18), **settings):
    """make() gives a model; shapes are those of its inputs with the batch open."""
    def late():
        m = make()
        if len(shapes) == 1:
            return lambda x: m(x, training=False)
        return lambda *x: m(list(x), training=False)

    signature = [s if isinstance(s, S) else S([None] + list(s), tf.float32) for s in shapes]
    function(name, late, *signature, opsets=opsets, late=True, **settings)


def layered(name, layers, *shapes, **settings):
    net(name, lambda: K.Sequential([K.Input(shapes[0][0:] if not isinstance(shapes[0], S) else shapes[0].shape[1:])] + layers()), *shapes, **settings)


# ---- layers

ONE = (15,)
layered("dense", lambda: [L.Dense(8, "relu"), L.Dense(4, "softmax")], (6,), opsets=(7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18))
layered("conv", lambda: [L.Conv2D(8, 3, activation="relu"), L.Conv2D(6, 3, strides=2, padding="same")], (12, 12, 3))
layered("conv_open", lambda: [L.Conv2D(8, 3, activation="relu", padding="same"), L.MaxPool2D(), L.Conv2D(6, 3, strides=2, padding="same")], (None, None, 3))
layered("conv_dilated", lambda: [L.Conv2D(4, 3, dilation_rate=2, padding="same"), L.Conv2D(4, 3, dilation_rate=2)], (12, 12, 3))
layered("conv_groups", lambda: [L.Conv2D(8, 3, groups=2)], (12, 12, 4), opsets=ONE)
layered("conv1d", lambda: [L.Conv1D(8, 3, padding="causal"), L.Conv1D(4, 3, strides=2, padding="same")], (None, 5))
layered("conv3d", lambda: [L.Conv3D(4, 3, padding="same"), L.MaxPool3D(), L.AveragePooling3D()], (8, 8, 8, 2))
layered("separable", lambda: [L.SeparableConv2D(8, 3, padding="same"), L.SeparableConv2D(4, 3, strides=2)], (12, 12, 3))
layered("separable1d", lambda: [L.SeparableConv1D(8, 3, padding="same")], (12, 3), opsets=ONE)
layered("depthwise", lambda: [L.DepthwiseConv2D(3, padding="same", depth_multiplier=2), L.DepthwiseConv2D(3, strides=2)], (12, 12, 3))
layered("transposed", lambda: [L.Conv2DTranspose(4, 3, strides=2, padding="same"), L.Conv2DTranspose(2, 3, strides=2)], (5, 5, 3))
layered("transposed_open", lambda: [L.Conv2DTranspose(4, 3, strides=2, padding="same")], (None, None, 3))
layered("transposed1d", lambda: [L.Conv1DTranspose(4, 3, strides=2, padding="same")], (5, 3), opsets=ONE)
layered("transposed3d", lambda: [L.Conv3DTranspose(4, 3, strides=2, padding="same")], (5, 5, 5, 3), opsets=ONE)
layered("norm", lambda: [L.Conv2D(8, 3, use_bias=False), L.BatchNormalization(), L.ReLU(6.0)], (12, 12, 3))
layered("norms", lambda: [L.LayerNormalization(), L.UnitNormalization(), L.GroupNormalization(2)], (6, 6, 4), opsets=(13, 18))
layered("rms", lambda: [L.Dense(4), L.RMSNormalization()], (6, 4), opsets=ONE)
layered("pools", lambda: [L.MaxPool2D(3, 2, "same"), L.AveragePooling2D(2, padding="same"), L.GlobalAveragePooling2D()], (13, 13, 3))
layered("pool_max", lambda: [L.MaxPool2D(2, 1), L.GlobalMaxPool2D(keepdims=True)], (7, 7, 3), opsets=ONE)
layered("pool1d", lambda: [L.MaxPool1D(2), L.AveragePooling1D(3, 2, "same"), L.GlobalMaxPool1D()], (None, 3))
layered("first", lambda: [L.Permute((2, 3, 1)), L.Conv2D(4, 3), L.Flatten(), L.Dense(3)], (3, 8, 8), opsets=ONE)
layered("up", lambda: [L.UpSampling2D(2), L.UpSampling2D(2, interpolation="bilinear")], (5, 5, 2))
layered("up_open", lambda: [L.UpSampling2D(2, interpolation="bilinear")], (None, None, 2))
layered("up13", lambda: [L.UpSampling1D(3)], (5, 2), opsets=ONE)
layered("pad", lambda: [L.ZeroPadding2D(((1, 2), (0, 3))), L.Cropping2D(((1, 0), (2, 1)))], (5, 6, 2))
layered("resize", lambda: [L.Resizing(9, 11), L.Rescaling(1 / 127.5, -1)], (6, 7, 3), opsets=(11, 13, 15))
layered("resize_nearest", lambda: [L.Resizing(9, 11, interpolation="nearest")], (6, 7, 3), opsets=(11, 15))
layered("resize_crop", lambda: [L.Resizing(6, 6, crop_to_aspect_ratio=True), L.CenterCrop(4, 4)], (8, 12, 3), opsets=ONE)
layered("normalise", lambda: [L.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0])], (6, 3), opsets=ONE)
layered("reshape", lambda: [L.Reshape((-1, 4)), L.RepeatVector(3) if False else L.Dense(2), L.Flatten(), L.RepeatVector(3)], (6, 8), opsets=(9, 15))
for _a in ("elu", "selu", "gelu", "softplus", "softsign", "tanh", "sigmoid", "swish", "exponential", "hard_sigmoid", "leaky_relu", "relu6", "mish", "log_softmax", "hard_silu", "celu", "glu", "soft_shrink", "hard_tanh", "squareplus", "sparse_plus", "tanh_shrink", "threshold", "sparsemax"):
    layered("act_" + _a, lambda a=_a: [L.Dense(6), L.Activation(a)], (5,), opsets=ONE)
layered("prelu", lambda: [L.PReLU(shared_axes=[1, 2]), L.LeakyReLU(0.2), L.ReLU(6, 0.1, 0.5), L.ELU(0.5)], (6, 6, 3))
layered("embedding", lambda: [L.Embedding(20, 6), L.Conv1D(4, 3), L.GlobalAveragePooling1D()], S([None, None], tf.int32), opsets=(9, 13, 18))
layered("embedding_masked", lambda: [L.Embedding(20, 6, mask_zero=True), L.GlobalAveragePooling1D()], S([None, 7], tf.int32), opsets=ONE)
for _n, _l in {"lstm": L.LSTM, "gru": L.GRU, "rnn": L.SimpleRNN}.items():
    layered(_n, lambda l=_l: [l(8)], (None, 5), opsets=(9, 13, 15, 18))
    layered(_n + "_sequences", lambda l=_l: [l(8, return_sequences=True), l(4)], (7, 5))
    layered(_n + "_bidirectional", lambda l=_l: [L.Bidirectional(l(6, return_sequences=True)), L.Bidirectional(l(4))], (None, 5))
    layered(_n + "_bidirectional_sum", lambda l=_l: [L.Bidirectional(l(6, return_sequences=True), merge_mode="sum")], (7, 5), opsets=ONE)
    layered(_n + "_backwards", lambda l=_l: [l(6, go_backwards=True)], (7, 5), opsets=ONE)
    layered(_n + "_masked", lambda l=_l: [L.Masking(), l(6)], (7, 5), opsets=ONE)
    layered(_n + "_unrolled", lambda l=_l: [l(6, unroll=True)], (4, 5), opsets=ONE)
    layered(_n + "_plain", lambda l=_l: [l(6, use_bias=False, activation="relu")], (7, 5), opsets=ONE)
    layered(_n + "_dense", lambda l=_l: [L.Embedding(20, 6), l(6, return_sequences=True), L.TimeDistributed(L.Dense(3, "softmax"))], S([None, None], tf.int32), opsets=(9, 15))


def with_state(layer, n):
    def make():
        x = K.Input((None, 5))
        states = [K.Input((6,)) for _ in range(n)]
        y = layer(6, return_sequences=True, return_state=True)(x, initial_state=states if n > 1 else states[0])
        return K.Model([x] + states, y)

    return make


net("lstm_state", with_state(L.LSTM, 2), (None, 5), (6,), (6,), opsets=(9, 15))
net("gru_state", with_state(L.GRU, 1), (None, 5), (6,), opsets=(9, 15))
layered("gru_before", lambda: [L.GRU(6, reset_after=False)], (7, 5), opsets=(9, 15))
layered("conv_lstm", lambda: [L.ConvLSTM2D(4, 3, padding="same")], (4, 6, 6, 2), opsets=ONE)
layered("cells", lambda: [L.RNN([L.LSTMCell(6), L.GRUCell(4)])], (6, 5), opsets=ONE)


def attention(build, *shapes):
    def make():
        ins = [K.Input(s) for s in shapes]
        return K.Model(ins, build(*ins))

    return make


net("mha", attention(lambda x: L.MultiHeadAttention(2, 8)(x, x), (None, 12)), (None, 12), opsets=(12, 15, 18))
net("mha_causal", attention(lambda x: L.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True), (6, 12)), (6, 12), opsets=(13, 18))
net("mha_cross", attention(lambda x, y: L.MultiHeadAttention(3, 4, value_dim=5)(x, y), (None, 12), (None, 10)), (None, 12), (None, 10), opsets=ONE)
net("mha_masked", attention(lambda x: L.MultiHeadAttention(2, 8)(L.Masking()(x), x), (6, 12)), (6, 12), opsets=ONE)
net("gqa", attention(lambda x: L.GroupedQueryAttention(4, 4, 2)(x, x), (6, 16)), (6, 16), opsets=ONE)
net("dot_attention", attention(lambda x, y: L.Attention(use_scale=True)([x, y]), (5, 8), (7, 8)), (5, 8), (7, 8), opsets=ONE)
net("additive_attention", attention(lambda x, y: L.AdditiveAttention()([x, y]), (5, 8), (7, 8)), (5, 8), (7, 8), opsets=ONE)


def block(x):
    y = L.MultiHeadAttention(2, 8)(x, x)
    x = L.LayerNormalization()(x + y)
    return L.LayerNormalization()(x + L.Dense(16)(L.Dense(32, "gelu")(x)))


net("transformer", attention(lambda x: L.Dense(4)(block(block(x))), (None, 16)), (None, 16), opsets=(11, 15, 18))
net("merge", attention(lambda x, y: L.Concatenate()([x + y, x * y, L.Maximum()([x, y]), L.Average()([x, y]), L.Subtract()([x, y]), L.Dot(1, keepdims=False)([x, y]) if False else x]), (6,), (6,)), (6,), (6,), opsets=(9, 15))
net("dot", attention(lambda x, y: L.Dot((2, 2), normalize=True)([x, y]), (4, 6), (5, 6)), (4, 6), (5, 6), opsets=ONE)
net("einsum_dense", attention(lambda x: L.EinsumDense("abc,cde->abde", (None, 2, 5), bias_axes="de")(x), (4, 6)), (4, 6), opsets=(12, 15))


def squeeze(x):
    s = L.GlobalAveragePooling2D(keepdims=True)(x)
    return x * L.Conv2D(x.shape[-1], 1, activation="sigmoid")(L.Conv2D(4, 1, activation="swish")(s))


def residual():
    x = K.Input((16, 16, 3))
    y = L.BatchNormalization()(L.Conv2D(8, 3, padding="same", use_bias=False)(x))
    z = L.ReLU(6.0)(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(y)))
    y = squeeze(L.Add()([y, L.BatchNormalization()(L.Conv2D(8, 1, use_bias=False)(z))]))
    y = L.GlobalAveragePooling2D()(L.MaxPool2D()(y))
    return K.Model(x, L.Dense(5, "softmax")(L.Dropout(0.5)(y)))


def unet():
    x = K.Input((None, None, 3))
    a = L.Conv2D(4, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(8, 3, padding="same", activation="relu")(L.MaxPool2D()(a))
    y = L.Concatenate()([L.Conv2DTranspose(4, 2, strides=2)(b), a])
    return K.Model(x, L.Conv2D(2, 1, activation="softmax")(y))


net("residual", residual, (16, 16, 3), opsets=(9, 11, 13, 15, 18))
net("residual_first", residual, (16, 16, 3), opsets=(15,))
function("unet", lambda: (lambda m: (lambda x: m(x, training=False)))(unet()), [None, None, None, 3], opsets=(11, 15), late=True,
         sets=[[np.random.default_rng(0).standard_normal((1, 8, 12, 3)).astype(np.float32)], [np.random.default_rng(1).standard_normal((2, 16, 8, 3)).astype(np.float32)]])
for _n in ("MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "DenseNet121", "ResNet50V2", "NASNetMobile", "Xception", "InceptionV3", "ConvNeXtTiny", "EfficientNetV2B0", "MobileNet"):
    net("app_" + _n.lower(), lambda n=_n: getattr(K.applications, n)(weights=None, input_shape=(75 if n in ("InceptionV3", "Xception") else 32 if n != "NASNetMobile" else 32,) * 2 + (3,), classes=7),
        (75 if _n in ("InceptionV3", "Xception") else 32,) * 2 + (3,), opsets=(13, 17))

# ---- functions

F = function
X = [None, 4]
F("slices", lambda x: x[:, 1:3] + x[:, ::2] + x[:, -1:], X, opsets=(9, 15))
F("slices_new", lambda x: x[..., tf.newaxis, 1:] * x[:, tf.newaxis, :, None][..., 1:, 0], X)
F("slices_back", lambda x: x[:, ::-1], X, opsets=(9, 15))
F("shape", lambda x: tf.reshape(x, [tf.shape(x)[0] * 2, -1]), X, opsets=(9, 15))
F("tile", lambda x: tf.tile(x, [tf.shape(x)[0], 2]), X, opsets=(9, 15))
F("pad", lambda x: tf.pad(x, [[1, 2], [0, 1]], constant_values=3.0) + tf.pad(x, [[1, 2], [0, 1]], "REFLECT") if False else tf.pad(x, [[1, 2], [0, 1]], constant_values=3.0), X, opsets=(9, 15))
F("pad_reflect", lambda x: tf.pad(x, [[0, 0], [2, 1]], "REFLECT"), X, opsets=(9, 15))
F("pad_symmetric", lambda x: tf.pad(x, [[0, 0], [2, 1]], "SYMMETRIC"), X, opsets=(9, 15))
F("gather", lambda x, i: tf.gather(x, i, axis=1), X, S([None], tf.int32), sets=[[np.ones((2, 4), np.float32), np.array([0, 3], np.int32)], [np.random.randn(3, 4).astype(np.float32), np.array([1, 1, 2], np.int32)]], opsets=(9, 15))
F("gather_nd", lambda x: tf.gather_nd(x, [[0, 1], [0, 2]]), X, opsets=(11, 15))
F("gather_batch", lambda x: tf.gather(x, tf.argsort(x)[:, :2], batch_dims=1), X, opsets=(12, 15))
F("scatter", lambda x: tf.tensor_scatter_nd_update(x, [[0]], [[1.0, 2, 3, 4]]) + tf.scatter_nd([[0]], [[1.0, 2, 3, 4]], tf.shape(x)), X, opsets=(11, 15))
F("topk", lambda x: tf.math.top_k(x, 2), X, opsets=(9, 11, 15))
F("sort", lambda x: (tf.sort(x, direction="DESCENDING"), tf.argsort(x)), X, opsets=(11, 15))
F("argmax", lambda x: (tf.argmax(x, 1), tf.argmin(x, 1, tf.int32)), X, opsets=(9, 15))
F("reduce", lambda x: (tf.reduce_sum(x), tf.reduce_mean(x, 1, True), tf.reduce_max(x, [0]), tf.reduce_prod(x, 1), tf.reduce_logsumexp(x, 1), tf.math.reduce_std(x, 1), tf.reduce_any(x > 0, 1), tf.reduce_all(x > 0)), X, opsets=(9, 13, 18))
F("where", lambda x: tf.where(x > 0, x, tf.zeros_like(x)), X, opsets=(9, 15))
F("nonzero", lambda x: tf.where(x > 0), X, opsets=(9, 15))
F("mask", lambda x: tf.boolean_mask(x, tf.reduce_sum(x, 1) > -9), X, opsets=(9, 15))
F("one_hot", lambda x: tf.one_hot(tf.argmax(x, 1), 6, 2.0, -1.0), X, opsets=(9, 15))
F("cumsum", lambda x: (tf.cumsum(x, 1), tf.cumsum(x, 1, exclusive=True), tf.cumsum(x, 1, reverse=True)), X, opsets=(11, 15))
F("cumprod", lambda x: tf.math.cumprod(x, 1), X)
F("split", lambda x: tf.split(x, [1, 3], 1) + tf.unstack(x, axis=1), X, opsets=(9, 13, 18))
F("stack", lambda x: (tf.stack([x, x * 2], 1), tf.concat([x, x], 0)), X, opsets=(9, 15))
F("matmul", lambda x: tf.matmul(x, x, transpose_b=True), X, opsets=(9, 15))
F("matmul_batch", lambda x: tf.matmul(x, x, transpose_a=True), [None, 3, 4], opsets=(9, 15))
F("einsum", lambda x: tf.einsum("bij,bkj->bik", x, x), [None, 3, 4], opsets=(12, 15))
F("division", lambda x: (x // 0.7, x % 0.7, tf.math.floordiv(tf.cast(x * 5, tf.int32), 3), tf.math.floormod(tf.cast(x * 5, tf.int32), 3), tf.truncatediv(tf.cast(x * 5, tf.int32), 3)), X, opsets=(10, 15))
F("maths", lambda x: (tf.exp(x), tf.math.log1p(tf.abs(x)), tf.math.expm1(x), tf.sign(x), tf.math.rsqrt(tf.abs(x) + 1), tf.square(x), tf.math.squared_difference(x, 2.0), tf.math.erf(x), tf.sin(x), tf.atan(x), tf.math.atan2(x, x + 1), tf.sinh(x), tf.math.softplus(x), tf.nn.l2_normalize(x, 1)), X, opsets=(9, 15))
F("compare", lambda x: ((x > 0) & (x < 1), tf.math.logical_xor(x > 0, x > 1), x != 0.0, x <= 0.5, tf.math.is_nan(x)), X, opsets=(9, 15))
F("integers", lambda x: (x + 1, x * 2, tf.maximum(x, 2), tf.cast(x, tf.float32) / 2.0, tf.bitwise.left_shift(x, 1), tf.abs(-x), x ** 2, tf.minimum(x, 1)), S([None, 4], tf.int32), opsets=(11, 15, 18))
F("clip", lambda x: tf.clip_by_value(x, -0.5, 0.5), X, opsets=(9, 13))
F("round", lambda x: (tf.round(x * 3), tf.floor(x), tf.math.ceil(x), tf.math.rint(x)), X, opsets=(11, 15))
F("range", lambda x: tf.cast(tf.range(tf.shape(x)[0] * 3), tf.float32), X, opsets=(9, 11, 15))
F("linspace", lambda x: tf.linspace(0.0, 1.0, 5) + tf.reduce_sum(x), X)
F("meshgrid", lambda x: tf.meshgrid(tf.range(tf.shape(x)[0]), tf.range(3)), X)
F("fill", lambda x: tf.fill([tf.shape(x)[0], 2], 3.0) + tf.ones_like(x)[:, :2], X, opsets=(9, 15))
F("band", lambda x: (tf.linalg.band_part(x, 1, 0), tf.linalg.band_part(x, 0, -1), tf.linalg.diag(x[:, 0])), [None, 5, 5], opsets=(11, 15))
F("diag_part", lambda x: tf.linalg.diag_part(x), [3, 5, 5])
F("trace", lambda x: tf.linalg.trace(x), [2, 5, 5])
F("broadcast", lambda x: tf.broadcast_to(x[:, None], [tf.shape(x)[0], 3, 4]), X, opsets=(9, 15))
F("reverse", lambda x: tf.reverse(x, [1]), X, opsets=(10, 15))
F("reverse_sequence", lambda x: tf.reverse_sequence(x, tf.ones([tf.shape(x)[0]], tf.int32) * 2, seq_axis=1), [None, 5, 3], opsets=(10, 15))
F("roll", lambda x: tf.roll(x, 1, 1), X, opsets=(10, 15))
F("unique", lambda x: tf.unique(tf.cast(x[0], tf.int32)), X, opsets=(11, 15))
F("segment", lambda x: tf.math.segment_sum(x, tf.range(tf.shape(x)[0]) // 2), X, opsets=(11, 15))
F("unsorted_segment", lambda x: tf.math.unsorted_segment_max(x, tf.constant([1, 0, 1]), 3), [3, 4], opsets=(11, 15))
F("bincount", lambda x: tf.math.bincount(tf.cast(tf.abs(x[0] * 2), tf.int32), minlength=4, maxlength=4), X)
F("space", lambda x: (tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(x, 2)), [None, 4, 6, 8], opsets=(9, 11, 15))
F("space_batch", lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]]), [None, 4, 6, 2], opsets=(9, 15))
F("batch_space", lambda x: tf.batch_to_space(x, [2, 2], [[0, 0], [1, 0]]), [8, 4, 3, 2], opsets=(9, 15))
F("resize_bilinear", lambda x: tf.image.resize(x, [7, 9]), [None, 4, 6, 2], opsets=(9, 11, 15))
F("resize_open", lambda x: tf.image.resize(x, tf.shape(x)[1:3] * 2, "nearest"), [None, None, None, 2], opsets=(11, 15))
F("resize_corners", lambda x: tf.compat.v1.image.resize_bilinear(x, [7, 9], align_corners=True), [None, 4, 6, 2], opsets=(11, 15))
F("resize_v1", lambda x: tf.compat.v1.image.resize_nearest_neighbor(x, [8, 12]), [None, 4, 6, 2], opsets=(9, 11, 15))
F("resize_cubic", lambda x: tf.image.resize(x, [7, 9], "bicubic"), [None, 4, 6, 2], opsets=(11, 15))
F("resize_area", lambda x: tf.image.resize(x, [2, 3], "area"), [None, 4, 6, 2])
F("crop_resize", lambda x: tf.image.crop_and_resize(x, [[0.1, 0.1, 0.8, 0.9], [0, 0, 1, 1]], [0, 0], [3, 3]), [None, 6, 6, 2], opsets=(11, 15))
F("patches", lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), [None, 6, 6, 2])
F("nms", lambda b: tf.image.non_max_suppression(b, tf.reduce_sum(b, 1), 3, 0.5), [None, 4], opsets=(10, 11, 15), sets=[[np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]], np.float32)], [np.array([[0, 0, 1, 1]] * 5, np.float32)]])
F("nms_scores", lambda b: tf.image.non_max_suppression_with_scores(b, tf.reduce_sum(b, 1), 3, 0.5, 0.1), [None, 4], sets=[[np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]], np.float32)]])
F("combined_nms", lambda b: tf.image.combined_non_max_suppression(tf.reshape(b, [1, -1, 1, 4]), tf.reshape(b, [1, -1, 4]), 3, 5, 0.5, 0.1), [None, 4], sets=[[np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]], np.float32)]])
F("adjust", lambda x: tf.image.adjust_contrast(tf.image.adjust_hue(tf.abs(x), 0.1), 1.5), [None, 4, 4, 3])
F("gray", lambda x: tf.image.rgb_to_grayscale(x), [None, 4, 4, 3])
F("hsv", lambda x: tf.image.rgb_to_hsv(tf.sigmoid(x)), [None, 4, 4, 3])
F("fft", lambda x: tf.abs(tf.signal.rfft(x)), [None, 8], opsets=(11, 15, 17))
F("stft", lambda x: tf.abs(tf.signal.stft(x, 16, 8)), [None, 64], opsets=(11, 15, 17))
F("mel", lambda x: tf.tensordot(tf.abs(tf.signal.stft(x, 16, 8, pad_end=True)), tf.signal.linear_to_mel_weight_matrix(6, 9, 8000), 1), [None, 64])
F("lrn", lambda x: tf.nn.lrn(x), [None, 4, 4, 6], opsets=(9, 15))
F("nchw", lambda x: tf.transpose(tf.nn.conv2d(tf.transpose(x, [0, 2, 3, 1]), tf.ones([3, 3, 3, 4]) * 0.1, 1, "SAME"), [0, 3, 1, 2]), [None, 3, 6, 6], opsets=(9, 15))
F("conv_pads", lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]) * 0.1, 2, [[0, 0], [1, 2], [0, 1], [0, 0]]), [None, 8, 8, 3], opsets=(9, 15))
F("conv_argmax", lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "VALID"), [None, 8, 8, 3], opsets=(11, 15))
F("dilation", lambda x: tf.nn.dilation2d(x, tf.zeros([3, 3, 3]), [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]), [1, 8, 8, 3])
F("ctc", lambda x: tf.nn.ctc_greedy_decoder(tf.transpose(x, [1, 0, 2]), [5])[0][0].values, [1, 5, 4])
F("searchsorted", lambda x: tf.searchsorted(tf.constant([0.0, 0.5, 1.0]), tf.reshape(x, [-1])), X)
F("loss", lambda x: tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x * 2), x), X, opsets=(9, 13))
F("sparse_loss", lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(tf.argmax(x, 1), x), X, opsets=(9, 13))
F("fake_quant", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1, 1), X, opsets=(11, 15))


@tf.function
def branch(x):
    if tf.reduce_sum(x) > 0:
        y = x * 2
    elif tf.shape(x)[0] > 2:
        y = x - 1
    else:
        y = -x
    return y


@tf.function
def halve(x):
    while tf.reduce_max(tf.abs(x)) > 0.3:
        x = x / 2
    return x


@tf.function
def counted(x):
    y = tf.zeros_like(x)
    for i in tf.range(tf.shape(x)[0]):
        y = y + x * tf.cast(i, tf.float32)
    return y


@tf.function
def gathered(x):
    a = tf.TensorArray(tf.float32, size=tf.shape(x)[0], element_shape=[4])
    s = tf.zeros([4])
    for i in tf.range(tf.shape(x)[0]):
        s = s + x[i]
        a = a.write(i, s)
    return a.stack()


@tf.function
def nested(x):
    s = tf.constant(0.0)
    for i in tf.range(3):
        for j in tf.range(tf.shape(x)[0]):
            if i != j:
                s += x[j, i]
    return s


@tf.function
def broken(x):
    s = tf.zeros([4])
    for i in tf.range(tf.shape(x)[0]):
        if tf.reduce_sum(s) > 2.0:
            break
        s += tf.abs(x[i])
    return s


for _n, _f in {"branch": branch, "while": halve, "for": counted, "array": gathered, "nested": nested, "break": broken}.items():
    F("control_" + _n, lambda x, f=_f: f(x), X, opsets=(9, 11, 13, 15, 18))
F("control_cond", lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: (x, 1), lambda: (x * 2, 2)), X, opsets=(11, 15))
F("control_switch", lambda x: tf.switch_case(tf.shape(x)[0] % 3, [lambda: x, lambda: x * 2, lambda: x - 1]), X, opsets=(11, 15))
F("control_map", lambda x: tf.map_fn(lambda r: tf.nn.softmax(r) * tf.reduce_max(r), x), X, opsets=(11, 15, 18))
F("control_scan", lambda x: tf.scan(lambda a, r: a * 0.5 + r, x), X, opsets=(11, 15))
F("control_foldl", lambda x: tf.foldl(lambda a, r: a * 0.5 + r, x), X, opsets=(11, 15))
F("control_vectorised", lambda x: tf.vectorized_map(lambda r: tf.reduce_sum(r * r), x), X)
F("control_loop", lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.concat([y, x[:1]], 0)), [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 4])])[1], X, opsets=(11, 15))
F("strings_equal", lambda x: tf.equal(x, "text 1"), S([None], tf.string), opsets=(11, 15))
F("strings_join", lambda x: tf.gather(x, [0, 0]), S([None], tf.string), opsets=(11, 15))
F("named", lambda x, y: {"a/b:c": x + y, "d é": x - y}, S([None, 4], tf.float32, name="in/put_1"), S([None, 4], tf.float32, name="second"))
