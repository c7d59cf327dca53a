"""Models of Paddle by paddle2onnx."""

import pathlib
import tempfile

import numpy as np
import onnx
import paddle
from other_export import case
from paddle import nn
from paddle.nn import functional as F
from paddle.static import InputSpec


class One(nn.Layer):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class Two(One):
    def forward(self, x, y):
        return self.f(x, y)


def add(name, make, *shapes, opsets=(11, 15, 17), dtypes=None):
    """Sizes that are None are open."""
    dtypes = dtypes or ["float32"] * len(shapes)
    for opset in opsets:
        def build(opset=opset):
            paddle.seed(0)
            m = make()
            m = m if isinstance(m, nn.Layer) else (One if len(shapes) == 1 else Two)(m)
            m.eval()
            specs = [InputSpec([-1 if d is None else d for d in s], t, f"x{i}") for i, (s, t) in enumerate(zip(shapes, dtypes))]
            with tempfile.TemporaryDirectory() as folder:
                path = str(pathlib.Path(folder) / "m")
                paddle.onnx.export(m, path, input_spec=specs, opset_version=opset)
                done = onnx.load(path + ".onnx")
            rng, sets = np.random.default_rng(1), []
            for n in (1, 3):
                feeds = {}
                for i, (s, t) in enumerate(zip(shapes, dtypes)):
                    shape = [n + k if d is None and k == 0 else 4 * n + 4 if d is None else d for k, d in enumerate(s)]
                    feeds[f"x{i}"] = rng.standard_normal(shape).astype(t) if "float" in t else rng.integers(0, 4, shape).astype(t) if t != "bool" else rng.random(shape) > 0.5
                sets.append({i.name: feeds[i.name] for i in done.graph.input})
            return done, sets

        case(f"paddle_{name}_{opset}", build, seconds=200)


B = (None, 3, 16, 16)
O = (None, 3, None, None)
add("linear", lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax()), (None, 6), opsets=(7, 9, 11, 13, 15, 16, 17, 18, 19, 20))
add("conv", lambda: nn.Sequential(nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU6(), nn.MaxPool2D(2), nn.Conv2D(8, 4, 3, stride=2, groups=2)), O, opsets=(9, 11, 15, 17))
add("transposed", lambda: nn.Conv2DTranspose(3, 4, 3, stride=2, padding=1, output_padding=1), O)
add("adaptive", lambda: nn.Sequential(nn.AdaptiveAvgPool2D(4), nn.AdaptiveMaxPool2D(1), nn.Flatten()), B)
add("pools", lambda: nn.Sequential(nn.AvgPool2D(3, 2, 1, exclusive=False), nn.MaxPool2D(3, 2, 1, ceil_mode=True)), B)
add("norms", lambda: nn.Sequential(nn.InstanceNorm2D(3), nn.GroupNorm(3, 3), nn.LayerNorm([16, 16]), nn.LocalResponseNorm(3)), B)
for _m in ("nearest", "bilinear", "bicubic"):
    add("up_" + _m, lambda m=_m: nn.Upsample(scale_factor=2, mode=m), O)
    add("up_size_" + _m, lambda m=_m: nn.Upsample(size=[20, 24], mode=m, align_corners=m != "nearest"), O, opsets=(11, 17))
add("up_shape", lambda: lambda x, y: F.interpolate(x, size=paddle.shape(y)[2:], mode="bilinear"), O, O)
for _n, _l in {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.SimpleRNN}.items():
    add(_n, lambda l=_l: l(5, 6, 2), (None, 7, 5))
    add(_n + "_both", lambda l=_l: l(5, 6, direction="bidirect"), (None, None, 5))
add("embedding", lambda: nn.Sequential(nn.Embedding(10, 6), nn.Linear(6, 3)), (None, None), dtypes=["int64"])
add("mha", lambda: nn.MultiHeadAttention(16, 4), (None, None, 16))
add("encoder", lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, activation="gelu"), 2), (None, 7, 16))
for _n in ("ReLU", "GELU", "Hardswish", "Hardsigmoid", "LeakyReLU", "ELU", "SELU", "CELU", "Softplus", "Softsign", "Swish", "Mish", "Tanhshrink", "Softshrink", "Hardshrink", "LogSigmoid", "Hardtanh", "Silu", "PReLU", "ThresholdedReLU", "LogSoftmax", "Maxout", "GLU"):
    add("act_" + _n.lower(), lambda n=_n: nn.Maxout(2) if n == "Maxout" else getattr(nn, n)(), (None, 4, 6, 6), opsets=(11, 17))


def squeeze():
    class Block(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv2D(3, 8, 3, padding=1, bias_attr=False)
            self.n = nn.BatchNorm2D(8)
            self.s, self.e = nn.Conv2D(8, 2, 1), nn.Conv2D(2, 8, 1)
            self.fc = nn.Linear(8, 5)

        def forward(self, x):
            y = F.hardswish(self.n(self.a(x)))
            s = F.hardsigmoid(self.e(F.relu(self.s(F.adaptive_avg_pool2d(y, 1)))), slope=0.2, offset=0.5)
            y = paddle.add(y * s, y)
            return F.softmax(self.fc(paddle.flatten(F.adaptive_avg_pool2d(y, 1), 1)))

    return Block()


add("squeeze", squeeze, O, opsets=(11, 13, 17))
for _n in ("mobilenet_v2", "mobilenet_v3_small", "resnet18", "shufflenet_v2_x0_25", "squeezenet1_1", "densenet121", "googlenet", "mobilenet_v1", "resnext50_32x4d"):
    add("vision_" + _n, lambda n=_n: getattr(paddle.vision.models, n)(num_classes=7, pretrained=False), (None, 3, 64, 64), opsets=(11, 17))
FS = {
    "slice": lambda x: x[:, 1:, ::2] + x[:, :-1, ::2], "shape": lambda x: paddle.reshape(x, [paddle.shape(x)[0], -1, 2]), "concat": lambda x: paddle.concat([x, x * 2], 1), "split": lambda x: paddle.split(x, [1, 3], 1),
    "transpose": lambda x: paddle.transpose(x, [0, 2, 1]), "matmul": lambda x: paddle.matmul(x, x, transpose_y=True), "topk": lambda x: paddle.topk(x, 2), "argmax": lambda x: (paddle.argmax(x, 1), paddle.argmin(x, -1)), "sort": lambda x: (paddle.sort(x, 1), paddle.argsort(x, 1, True)),
    "reduce": lambda x: (paddle.sum(x), paddle.mean(x, 1, True), paddle.max(x, [1, 2]), paddle.prod(x, 1), paddle.logsumexp(x, 1), paddle.std(x, 1), paddle.norm(x, axis=1)), "where": lambda x: paddle.where(x > 0, x, -x), "nonzero": lambda x: paddle.nonzero(x > 0), "masked": lambda x: paddle.masked_select(x, x > 0),
    "tile": lambda x: paddle.tile(x, [1, 2, 1]), "expand": lambda x: paddle.expand(x.unsqueeze(1), [-1, 3, -1, -1]), "gather": lambda x: paddle.gather(x, paddle.to_tensor([1, 0]), 1), "gather_nd": lambda x: paddle.gather_nd(x, paddle.to_tensor([[0, 1]])), "index": lambda x: paddle.index_select(x, paddle.to_tensor([1, 0]), 1),
    "pad": lambda x: F.pad(x, [1, 2], value=3.0, data_format="NCL"), "pad_reflect": lambda x: F.pad(x, [1, 2], "reflect", data_format="NCL"), "cumsum": lambda x: paddle.cumsum(x, 1), "clip": lambda x: paddle.clip(x, -0.5, 0.5), "round": lambda x: (paddle.round(x), paddle.floor(x), paddle.ceil(x)),
    "math": lambda x: (paddle.exp(x), paddle.log1p(x.abs()), paddle.rsqrt(x.abs() + 1), paddle.sign(x), paddle.erf(x), paddle.sin(x), paddle.atan(x), paddle.pow(x, 2.0), paddle.square(x), paddle.sinh(x)), "mod": lambda x: (x % 0.7, x // 0.7, paddle.remainder(x, paddle.to_tensor(0.3))), "one_hot": lambda x: F.one_hot(paddle.argmax(x, 1), 6),
    "roll": lambda x: paddle.roll(x, 1, 1), "flip": lambda x: paddle.flip(x, [1]), "tril": lambda x: (paddle.tril(x), paddle.triu(x, 1)), "arange": lambda x: paddle.arange(paddle.shape(x)[0]).astype("float32"), "full": lambda x: paddle.full([2, 3], 1.5) + paddle.zeros_like(x)[0, :2, :3], "stack": lambda x: (paddle.stack([x, x], 1), paddle.unstack(x, 1)[0], paddle.unbind(x, 2)[1]),
    "scatter": lambda x: paddle.scatter(x, paddle.to_tensor([0]), paddle.zeros([1, 4, 6])), "take": lambda x: paddle.take_along_axis(x, paddle.argsort(x, 1), 1), "einsum": lambda x: paddle.einsum("bij,bkj->bik", x, x), "unfold": lambda x: F.unfold(x.unsqueeze(1), 2), "pixel": lambda x: F.pixel_shuffle(x.unsqueeze(-1), 2), "grid": lambda x: F.affine_grid(paddle.eye(2, 3).unsqueeze(0), [1, 1, 4, 4]) + x.sum(),
    "softmax_ce": lambda x: F.softmax_with_cross_entropy(x, paddle.argmax(x, -1, keepdim=True)), "dot": lambda x: paddle.dot(x[0], x[0]), "bmm": lambda x: paddle.bmm(x, x.transpose([0, 2, 1])), "unique": lambda x: paddle.unique(paddle.round(x)), "equal": lambda x: (paddle.equal(x, x), x > 1, paddle.logical_and(x > 0, x < 1), paddle.isnan(x)), "cast": lambda x: (x.astype("int32"), x.astype("int64"), x.astype("bool"), x.astype("float64")),
}
for _n, _f in FS.items():
    add("f_" + _n, lambda f=_f: f, (None, 4, 6), opsets=(11, 17))
add("grid_sample", lambda: lambda x, g: F.grid_sample(x, paddle.tanh(g)), (None, 2, 5, 5), (None, 4, 4, 2), opsets=(16, 17))
add("nms", lambda: lambda b: paddle.vision.ops.nms(b.abs().cumsum(1), 0.5), (8, 4), opsets=(11, 17))
add("roi", lambda: lambda x: paddle.vision.ops.roi_align(x, paddle.to_tensor([[0.0, 0, 4, 4]]), paddle.to_tensor([1], "int32"), 2), (1, 2, 8, 8), opsets=(16, 17))
add("deform", lambda: lambda x, o, m=paddle.vision.ops.DeformConv2D(2, 3, 3, padding=1): m(x, o * 0.1), (None, 2, 6, 6), (None, 18, 6, 6), opsets=(19,))


def controlled():
    @paddle.jit.to_static
    def f(x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        i = paddle.zeros([1], "int64")
        while i < 3:
            y = y + 1
            i = i + 1
        return y

    return f


add("control", controlled, (None, 4), opsets=(11, 17))
