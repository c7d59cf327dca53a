"""Writes tests/train/nn_values.h: inputs, weights and results of layers and losses, computed by PyTorch. Run in the root of
the repository with a Python that has torch."""

import torch
import torch.nn as nn
import torch.nn.functional as F

OUTPUT = "tests/train/nn_values.h"
torch.manual_seed(7)
VALUES = {}


def put(name, tensor):
    assert name not in VALUES and tensor.dim() <= 6
    VALUES[name] = tensor.detach().clone()


def rand(*shape):
    """Numbers with few digits, so that the file stays small."""
    return torch.round(torch.randn(*shape) * 64) / 64


def layer(name, module, x):
    """A layer with short weights; its weights, input and result."""
    with torch.no_grad():
        for key, p in module.named_parameters():
            p.copy_(rand(*p.shape))
            put("%s.%s" % (name, key), p)
    put(name + ".x", x)
    put(name + ".y", module(x))


def convolutions():
    layer("linear", nn.Linear(3, 4), rand(2, 3))
    layer("conv1d", nn.Conv1d(4, 2, 3, stride=2, padding=2, dilation=2, groups=2), rand(2, 4, 7))
    layer("conv2d", nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 2)), rand(1, 2, 5, 4))
    layer("conv2d.same", nn.Conv2d(1, 2, (4, 3), padding="same", dilation=(1, 2)), rand(1, 1, 5, 6))
    layer("conv2d.reflect", nn.Conv2d(1, 1, 3, padding=(2, 1), padding_mode="reflect"), rand(1, 1, 4, 5))
    layer("conv2d.edge", nn.Conv2d(1, 1, 3, padding=2, padding_mode="replicate"), rand(1, 1, 4, 5))
    layer("conv2d.wrap", nn.Conv2d(1, 1, 3, padding="same", padding_mode="circular"), rand(1, 1, 4, 5))
    uneven = nn.Sequential(nn.ZeroPad2d((0, 2, 1, 0)), nn.Conv2d(1, 2, 2, bias=False))
    layer("conv2d.uneven", uneven, rand(1, 1, 3, 3))
    layer("conv3d", nn.Conv3d(1, 2, 2, padding=1), rand(1, 1, 2, 3, 2))
    layer("conv_transpose1d", nn.ConvTranspose1d(2, 4, 3, stride=2, padding=1, output_padding=1, groups=2), rand(1, 2, 4))
    layer("conv_transpose2d", nn.ConvTranspose2d(2, 1, (3, 2), stride=2, dilation=(1, 2)), rand(1, 2, 2, 3))
    layer("conv_transpose3d", nn.ConvTranspose3d(1, 1, 2, stride=(1, 2, 1), bias=False), rand(1, 1, 2, 2, 2))


def norms():
    for name, momentum in (("batch_norm", 0.1), ("batch_norm.cumulative", None)):
        m = nn.BatchNorm2d(3, momentum=momentum)
        with torch.no_grad():
            m.weight.copy_(rand(3))
            m.bias.copy_(rand(3))
        put(name + ".weight", m.weight)
        put(name + ".bias", m.bias)
        for step in "12":
            x = rand(2, 3, 2, 2) + 1
            put(name + ".x" + step, x)
            put(name + ".y" + step, m(x))
        m.eval()
        put(name + ".y3", m(VALUES[name + ".x1"]))
        put(name + ".mean", m.running_mean)
        put(name + ".var", m.running_var)
    layer("group_norm", nn.GroupNorm(2, 4), rand(2, 4, 3))
    layer("instance_norm", nn.InstanceNorm1d(2, affine=True), rand(2, 2, 4))
    layer("layer_norm", nn.LayerNorm((2, 3)), rand(2, 2, 3))
    layer("rms_norm", nn.RMSNorm(4), rand(2, 4))
    layer("local_response_norm", nn.LocalResponseNorm(3, alpha=0.5, beta=0.6, k=2.0), rand(1, 4, 3))


ACTIVATIONS = {
    "identity": nn.Identity(), "celu": nn.CELU(), "elu": nn.ELU(), "gelu": nn.GELU(),
    "gelu_approximate": nn.GELU(approximate="tanh"), "glu": nn.GLU(), "hard_shrink": nn.Hardshrink(),
    "hard_sigmoid": nn.Hardsigmoid(), "hard_swish": nn.Hardswish(), "hardtanh": nn.Hardtanh(),
    "leaky_relu": nn.LeakyReLU(), "log_sigmoid": nn.LogSigmoid(), "mish": nn.Mish(), "prelu": nn.PReLU(),
    "relu": nn.ReLU(), "relu6": nn.ReLU6(), "rrelu": nn.RReLU().eval(), "selu": nn.SELU(),
    "shrink": lambda x: torch.where(x > 0.5, x - 0.5, torch.where(x < -0.5, x + 0.5, 0 * x)), "sigmoid": nn.Sigmoid(),
    "silu": nn.SiLU(), "soft_shrink": nn.Softshrink(), "softplus": nn.Softplus(), "softsign": nn.Softsign(),
    "tanh": nn.Tanh(), "tanhshrink": nn.Tanhshrink(), "threshold": nn.Threshold(0, 0),
    "thresholded_relu": lambda x: torch.where(x > 1, x, 0 * x),
}  # fmt: skip


def activations():
    x = torch.tensor([-30.0, -3.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5, 7.0, 25.0])
    put("activation.x", x)
    for name, f in ACTIVATIONS.items():
        put("activation." + name, f(x))
    a, b, x = rand(3, 2), rand(3, 2), rand(2, 2)
    put("swiglu.inner", a)
    put("swiglu.outer", b)
    put("swiglu.x", x)
    put("swiglu.y", F.silu(x @ a.T) * (x @ b.T))


def losses():
    x, w, t = rand(4, 5), torch.rand(5), torch.tensor([1, 0, 4, 2])
    put("loss.x", x)
    put("loss.weight", w)
    put("loss.margin", F.multi_margin_loss(x, t))
    put("loss.margin.square", F.multi_margin_loss(x, t, p=2, margin=0.5, weight=w, reduction="none"))
    signs = torch.where(rand(4, 5) > 0, 1.0, -1.0)
    put("loss.signs", signs)
    put("loss.soft_margin", F.soft_margin_loss(x, signs, reduction="none"))
    y = rand(4, 5)
    put("loss.target", y)
    put("loss.lp3", ((x - y).abs() ** 3).mean())
    put("loss.batch_mean", (x - y).abs().sum() / 4)
    # Classes 0 and 4 are pad tokens.
    padded = torch.tensor([1, -100, -100, 2])
    put("loss.entropy", F.cross_entropy(x, padded, weight=w, label_smoothing=0.2))
    put("loss.entropy.none", F.cross_entropy(x, padded, reduction="none"))
    truth = (signs + 1) / 2
    put("loss.binary", F.binary_cross_entropy_with_logits(x, truth * 0.8 + 0.1, weight=w, pos_weight=2 * w))
    put("loss.binary.plain", F.binary_cross_entropy(torch.sigmoid(x), truth * 0.8 + 0.1, reduction="sum"))
    a, b = rand(2, 3, 2, 2), rand(2, 3, 2, 2)
    grams = [z.flatten(2) @ z.flatten(2).transpose(1, 2) / 12 for z in (a, b)]
    put("loss.gram.a", a)
    put("loss.gram.b", b)
    put("loss.gram", F.mse_loss(grams[0], grams[1]))


def number(value):
    text = "%.9g" % value
    return text if text.lstrip("-").isdigit() else text.rstrip("0") if "." in text and "e" not in text else text


def main():
    convolutions()
    norms()
    activations()
    losses()
    lines = ["/* Generated by tests/train/nn_values.py with PyTorch %s; do not edit. */\n" % torch.__version__.split("+")[0]]
    lines += ["/* clang-format off */\n"]
    for i, (name, tensor) in enumerate(VALUES.items()):
        text, row = "", ""
        for item in [number(v) for v in tensor.flatten().tolist()]:
            if len(row) + len(item) > 104:
                text, row = text + "    " + row.rstrip() + "\n", ""
            row += item + ", "
        lines += ["static const float nn_value_%d[] = {\n%s    %s};\n" % (i, text, row.rstrip(", "))]
    lines += ["\nstatic const struct nn_value {\n    const char *name;\n    kn_shape shape;\n    const float *values;\n}"]
    lines += [" nn_values[] = {\n"]
    for i, (name, tensor) in enumerate(VALUES.items()):
        dims = ", ".join(str(d) for d in tensor.shape) or "0"
        lines += ['    {"%s", {%d, {%s}}, nn_value_%d},\n' % (name, tensor.dim(), dims, i)]
    lines += ["};\n"]
    with open(OUTPUT, "w", encoding="utf-8") as file:
        file.write("".join(lines))


if __name__ == "__main__":
    main()
