"""The models of bench/models in PyTorch, with the names of the params that the C side has. MODELS maps a name to a Model; inputs() makes
the numbers that bench_inputs.c makes."""
import dataclasses
import typing

import numpy
import torch
import torch.nn.functional as F

import torch_language
import torch_vision
import torch_other


def token_loss(y, target):
    return F.cross_entropy(y.float().flatten(0, -2), target.flatten())


def class_axis_loss(y, target):
    return F.cross_entropy(y.float(), target)


def truth_loss(y, target):
    return F.binary_cross_entropy_with_logits(y.float(), target)


@dataclasses.dataclass
class Model:
    make: typing.Callable
    inputs: list  # (kind, below, sizes), as in the table of the C side; -1 is the batch
    given: int = 1
    adam: bool = False
    loss: typing.Callable = token_loss
    phases: int = 1  # more: the module has phase_loss(inputs, phase) and phase_params(phase)
    images: bool = False  # 4-D activations: channels_last is tried


IMAGES = [("reals", 0, (-1, 3, 224, 224)), ("indices", 1000, (-1,))]


def tokens(words, length, n=1):
    return [("indices", words, (-1, length))] * n


V, L, O = torch_vision, torch_language, torch_other
MODELS = {
    "lenet": Model(V.LeNet, [("reals", 0, (-1, 1, 28, 28)), ("indices", 10, (-1,))], images=True),
    "resnet18": Model(lambda: V.ResNet([2, 2, 2, 2], False), IMAGES, images=True),
    "resnet50": Model(lambda: V.ResNet([3, 4, 6, 3], True), IMAGES, images=True),
    "vgg16": Model(V.Vgg, IMAGES, images=True),
    "mobilenetv2": Model(lambda: V.MobileNet(V.MOBILENET_V2, False), IMAGES, images=True),
    "efficientnet_b0": Model(lambda: V.MobileNet(V.EFFICIENTNET_B0, True), IMAGES, images=True),
    "convnext_t": Model(V.ConvNext, IMAGES, adam=True, images=True),
    "unet": Model(V.UNet, [("reals", 0, (-1, 3, 192, 192)), ("indices", 2, (-1, 192, 192))], loss=class_axis_loss,
                  images=True),
    "dcgan": Model(V.Dcgan, [("reals", 0, (-1, 100, 1, 1)), ("reals", 0, (-1, 3, 64, 64))], adam=True, phases=2,
                   images=True),
    "tcn": Model(O.Temporal, [("reals", 0, (-1, 16, 512)), ("indices", 10, (-1,))], adam=True),
    "cnn3d": Model(O.Volume, [("reals", 0, (-1, 3, 16, 64, 64)), ("indices", 101, (-1,))]),
    "vit_b16": Model(V.Vit, IMAGES, adam=True),
    "bert_base": Model(L.Bert, tokens(30522, 128) + [("padding", 0, (-1, 128)), ("indices", 2, (-1,))], given=2,
                       adam=True),
    "t5_small": Model(L.T5, tokens(32128, 128, 3), given=2, adam=True),
    "gpt2": Model(L.Gpt, tokens(50304, 1024, 2), adam=True),
    "llama": Model(L.Llama, tokens(32000, 512, 2), adam=True),
    "lstm": Model(O.LstmNet, tokens(10000, 64, 2), adam=True),
    "bigru": Model(O.GruNet, tokens(10000, 64) + [("indices", 20, (-1,))], adam=True),
    "mlp": Model(O.Mlp, [("reals", 0, (-1, 784)), ("indices", 10, (-1,))], adam=True),
    "dlrm": Model(O.Recommender, [("reals", 0, (-1, 13)), ("indices", 100000, (-1, 8)), ("truths", 0, (-1,))], given=2,
                  loss=truth_loss),
}


def draws(state, n):
    """n numbers of the generator of bench_inputs.c, of 32 bits each: x' = a x + c by blocks that double."""
    a, c = 6364136223846793005, 1442695040888963407
    mask = 2**64 - 1
    values = numpy.array([(state * a + c) & mask], numpy.uint64)
    step_a, step_c = a, c
    while len(values) < n:
        with numpy.errstate(over="ignore"):
            values = numpy.concatenate([values, values * numpy.uint64(step_a) + numpy.uint64(step_c)])
        step_a, step_c = step_a * step_a & mask, (step_a * step_c + step_c) & mask
    return (values[:n] >> numpy.uint64(32)).astype(numpy.uint32)


def make_input(kind, below, sizes, batch, i):
    sizes = [batch if size < 0 else size for size in sizes]
    n = int(numpy.prod(sizes))
    if kind == "padding":
        row = sizes[-1]
        seen = row - (draws(12345 + i, n // row) % (row // 2 + 1)).astype(numpy.int64)
        return torch.from_numpy(numpy.arange(row)[None, :] < seen[:, None]).reshape(sizes)
    bits = draws(12345 + i, n)
    if kind == "indices":
        values = (bits % below).astype(numpy.int64)
    elif kind == "reals":
        values = (bits >> 8).astype(numpy.float32) / numpy.float32(8388608) - numpy.float32(1)
    else:
        values = (bits >> 31).astype(numpy.float32)
    return torch.from_numpy(values.reshape(sizes))


def inputs(model, batch):
    return [make_input(*entry, batch, i) for i, entry in enumerate(model.inputs)]


def set_dropout(module, p):
    for part in module.modules():
        if hasattr(part, "dropout") and isinstance(part.dropout, float):
            part.dropout = p
