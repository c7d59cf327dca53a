"""Every layer of torch.nn, one by one."""

from stranger_export import case, R, I, B
import torch
import torch.nn as nn


def layer(name, make, *shapes, dyn=True, **k):
    two = [tuple([s[0] + 1] + list(s[1:])) for s in shapes]
    case(
        "nn_" + name,
        lambda: (make(), tuple(R(*s) for s in shapes)),
        dyn=tuple(B for _ in shapes) if dyn else None,
        alt=(lambda: tuple(R(*s) for s in two)) if dyn else None,
        **k,
    )


BOTH = ("f32", "f16")
# convolutions
for d in (1, 2, 3):
    C, T = getattr(nn, f"Conv{d}d"), getattr(nn, f"ConvTranspose{d}d")
    s = (2, 4) + (11, 9, 8)[:d]
    layer(f"conv{d}d", lambda C=C: C(4, 6, 3), *[s], dtypes=BOTH)
    layer(f"conv{d}d_group", lambda C=C: C(4, 8, 3, groups=2, stride=2, padding=1), *[s])
    layer(f"conv{d}d_depthwise", lambda C=C: C(4, 4, 3, groups=4, padding=1, bias=False), *[s])
    layer(f"conv{d}d_dilated", lambda C=C: C(4, 5, 3, dilation=2, padding=2), *[s])
    layer(f"conv{d}d_same", lambda C=C: C(4, 5, 4, padding="same"), *[s])
    layer(f"conv{d}d_same_dilated", lambda C=C: C(4, 5, 3, dilation=2, padding="same"), *[s])
    for mode in ("reflect", "replicate", "circular"):
        layer(f"conv{d}d_{mode}", lambda C=C, mode=mode: C(4, 5, 3, padding=1, padding_mode=mode), *[s])
    layer(f"convT{d}d", lambda T=T: T(4, 6, 3), *[s])
    layer(f"convT{d}d_stride", lambda T=T: T(4, 6, 3, stride=2, padding=1, output_padding=1), *[s])
    layer(f"convT{d}d_group", lambda T=T: T(4, 6, 3, stride=2, groups=2, dilation=2), *[s])
    layer(f"convT{d}d_depthwise", lambda T=T: T(4, 4, 4, stride=2, padding=1, groups=4), *[s])
    layer(f"conv{d}d_unbatched", lambda C=C: C(4, 6, 3), *[s[1:]], dyn=False)
    # pools
    M, A = getattr(nn, f"MaxPool{d}d"), getattr(nn, f"AvgPool{d}d")
    layer(f"maxpool{d}d", lambda M=M: M(3, 2, 1), *[s], dtypes=BOTH)
    layer(f"maxpool{d}d_ceil", lambda M=M: M(3, 2, 1, ceil_mode=True), *[s])
    layer(f"maxpool{d}d_dilation", lambda M=M: M(2, 1, 0, dilation=2), *[s])
    layer(f"maxpool{d}d_indices", lambda M=M: M(2, 2, return_indices=True), *[s])
    layer(f"maxpool{d}d_indices_pad", lambda M=M: M(3, 2, 1, return_indices=True), *[s])
    layer(f"avgpool{d}d", lambda A=A: A(3, 2, 1), *[s], dtypes=BOTH)
    layer(f"avgpool{d}d_nopad", lambda A=A: A(3, 2, 1, count_include_pad=False), *[s])
    layer(f"avgpool{d}d_ceil", lambda A=A: A(2, 2, ceil_mode=True), *[s])
    layer(f"avgpool{d}d_ceil_pad", lambda A=A: A(3, 2, 1, ceil_mode=True), *[s])
    layer(f"avgpool{d}d_ceil_pad_exclude", lambda A=A: A(3, 2, 1, ceil_mode=True, count_include_pad=False), *[s])
    AM, AA = getattr(nn, f"AdaptiveMaxPool{d}d"), getattr(nn, f"AdaptiveAvgPool{d}d")
    e = (2, 4) + (12, 8, 8)[:d]
    layer(f"adaptive_avg{d}d_1", lambda A=AA: A(1), *[s])
    layer(f"adaptive_avg{d}d_4", lambda A=AA: A(4), *[e])
    layer(f"adaptive_avg{d}d_odd", lambda A=AA: A(5), *[s])
    layer(f"adaptive_max{d}d_1", lambda A=AM: A(1), *[s])
    layer(f"adaptive_max{d}d_4", lambda A=AM: A(4), *[e])
    if d < 3:
        L = getattr(nn, f"LPPool{d}d")
        layer(f"lppool{d}d", lambda L=L: L(2, 3, 2), *[s])
        layer(f"lppool{d}d_3", lambda L=L: L(3, 2, 2), *[s])
    for P in ("ReflectionPad", "ReplicationPad", "ConstantPad", "ZeroPad", "CircularPad"):
        if hasattr(nn, f"{P}{d}d"):
            layer(
                f"{P.lower()}{d}d",
                lambda P=getattr(nn, f"{P}{d}d"), c=P, d=d: P(tuple([1, 2, 3, 1, 2, 1][: 2 * d]), *([3.5] if c == "ConstantPad" else [])),
                *[s],
            )
    BN, IN = getattr(nn, f"BatchNorm{d}d"), getattr(nn, f"InstanceNorm{d}d")
    layer(f"batchnorm{d}d", lambda BN=BN: BN(4), *[s], dtypes=BOTH)
    layer(f"batchnorm{d}d_plain", lambda BN=BN: BN(4, affine=False), *[s])
    layer(f"batchnorm{d}d_nostats", lambda BN=BN: BN(4, track_running_stats=False), *[s])
    layer(f"batchnorm{d}d_train", lambda BN=BN: BN(4), *[s], train=True)
    layer(f"instancenorm{d}d", lambda IN=IN: IN(4), *[s])
    layer(f"instancenorm{d}d_affine", lambda IN=IN: IN(4, affine=True), *[s])
    layer(f"instancenorm{d}d_track", lambda IN=IN: IN(4, affine=True, track_running_stats=True), *[s])
    layer(f"dropout{d}d", lambda D=getattr(nn, f"Dropout{d}d"): D(0.3), *[s])
layer("groupnorm", lambda: nn.GroupNorm(2, 6), (2, 6, 5, 7), dtypes=BOTH)
layer("groupnorm_1", lambda: nn.GroupNorm(1, 6, affine=False), (2, 6, 5))
layer("layernorm", lambda: nn.LayerNorm(8), (2, 5, 8), dtypes=("f32", "f16", "bf16"))
layer("layernorm_2", lambda: nn.LayerNorm((5, 8), bias=False), (2, 5, 8))
layer("layernorm_plain", lambda: nn.LayerNorm(8, elementwise_affine=False), (2, 5, 8))
layer("rmsnorm", lambda: nn.RMSNorm(8), (2, 5, 8), dtypes=("f32", "f16", "bf16"))
layer("rmsnorm_2", lambda: nn.RMSNorm((5, 8), eps=1e-3), (2, 5, 8))
for n in (2, 3, 5):
    layer(f"lrn_{n}", lambda n=n: nn.LocalResponseNorm(n), (2, 6, 5, 7))
layer("crossmaplrn", lambda: nn.CrossMapLRN2d(3), (2, 6, 5, 7))
# activations
ACT = dict(
    ReLU={},
    ReLU6={},
    LeakyReLU=dict(negative_slope=0.3),
    ELU=dict(alpha=0.7),
    CELU=dict(alpha=1.3),
    SELU={},
    GELU={},
    SiLU={},
    Mish={},
    Softplus=dict(beta=2.0, threshold=1.0),
    Softsign={},
    Softshrink=dict(lambd=0.4),
    Hardshrink=dict(lambd=0.4),
    Tanhshrink={},
    Hardtanh=dict(min_val=-0.4, max_val=0.7),
    Hardsigmoid={},
    Hardswish={},
    LogSigmoid={},
    Sigmoid={},
    Tanh={},
    Threshold=dict(threshold=0.1, value=-2.0),
    Identity={},
    Dropout={},
    AlphaDropout={},
    FeatureAlphaDropout={},
    RReLU={},
)
for a, k in ACT.items():
    layer(
        "act_" + a.lower(), lambda a=a, k=k: getattr(nn, a)(**k), (3, 4, 5), dtypes=("f32", "f16") if a not in ("Identity",) else ("f32",)
    )
    if a in ("GELU", "SiLU", "Mish", "Softplus", "ELU", "Hardswish", "LogSigmoid"):
        layer("act2_" + a.lower(), lambda a=a, k=k: getattr(nn, a)(**k), (3, 4, 5), dtypes=("bf16",), ts=1)
layer("act_gelu_tanh", lambda: nn.GELU(approximate="tanh"), (3, 4, 5), dtypes=BOTH)
layer("act_prelu", lambda: nn.PReLU(), (3, 4, 5))
layer("act_prelu_n", lambda: nn.PReLU(4), (3, 4, 5, 6))
layer("act_prelu_1d", lambda: nn.PReLU(4), (3, 4))
layer("act_glu", lambda: nn.GLU(1), (3, 4, 5))
layer("act_glu_last", lambda: nn.GLU(), (3, 4, 6))
for a in ("Softmax", "LogSoftmax", "Softmin"):
    for ax in (0, 1, -1):
        layer(f"act_{a.lower()}_{ax}", lambda a=a, ax=ax: getattr(nn, a)(ax), (3, 4, 5), dtypes=BOTH)
layer("act_softmax2d", lambda: nn.Softmax2d(), (3, 4, 5, 6))
# linear
layer("linear", lambda: nn.Linear(5, 7), (3, 5), dtypes=("f32", "f16", "bf16"))
layer("linear_3d", lambda: nn.Linear(5, 7), (2, 3, 5), dtypes=("f32", "f16"))
layer("linear_nobias", lambda: nn.Linear(5, 7, bias=False), (2, 3, 4, 5))
layer("linear_1d", lambda: nn.Linear(5, 7), (5,), dyn=False)
layer("bilinear", lambda: nn.Bilinear(5, 6, 7), (3, 5), (3, 6))
layer("cosine", lambda: nn.CosineSimilarity(dim=1), (3, 5), (3, 5))
layer("pairwise", lambda: nn.PairwiseDistance(p=2.0), (3, 5), (3, 5))
layer("pairwise_1", lambda: nn.PairwiseDistance(p=1.0, keepdim=True), (3, 5), (3, 5))
layer("pixelshuffle", lambda: nn.PixelShuffle(2), (2, 8, 3, 4))
layer("pixelunshuffle", lambda: nn.PixelUnshuffle(2), (2, 3, 4, 6))
layer("channelshuffle", lambda: nn.ChannelShuffle(2), (2, 8, 3, 4))
layer("flatten", lambda: nn.Flatten(1, 2), (2, 3, 4, 5))
layer("unflatten", lambda: nn.Unflatten(1, (2, 3)), (2, 6, 4))
layer("fold", lambda: nn.Fold((5, 6), (2, 3), padding=1, stride=2), (2, 12, 9))
layer("fold_plain", lambda: nn.Fold((4, 5), (2, 2)), (2, 12, 12))
layer("unfold", lambda: nn.Unfold((2, 3), padding=1, stride=2), (2, 3, 5, 6))
layer("unfold_dil", lambda: nn.Unfold((2, 3), dilation=2), (2, 3, 7, 8))
for m, d in (
    ("nearest", 1),
    ("nearest", 2),
    ("nearest", 3),
    ("linear", 1),
    ("bilinear", 2),
    ("bicubic", 2),
    ("trilinear", 3),
    ("nearest-exact", 2),
    ("area", 2),
):
    s = (2, 3) + (5, 6, 4)[:d]
    for tag, kw in (
        ("x2", dict(scale_factor=2)),
        ("x1.7", dict(scale_factor=1.7)),
        ("half", dict(scale_factor=0.5)),
        ("size", dict(size=(7, 9, 5)[:d] if d > 1 else 7)),
        ("down", dict(size=(3, 2, 3)[:d] if d > 1 else 3)),
        ("recompute", dict(scale_factor=1.3, recompute_scale_factor=True)),
    ):
        for ac in ((False, True) if m in ("linear", "bilinear", "bicubic", "trilinear") else (None,)):
            case(
                f"nn_interp_{m}{d}d_{tag}{'_corners' if ac else ''}",
                lambda s=s, kw=kw, m=m, ac=ac: ((lambda x: torch.nn.functional.interpolate(x, mode=m, align_corners=ac, **kw)), (R(*s),)),
                dyn=(B,),
                alt=lambda s=s: (R(3, *s[1:]),),
                ts=1,
                least=11,
            )
for m in ("bilinear", "bicubic"):
    for size in ((7, 9), (3, 2)):
        case(
            f"nn_interp_{m}_aa_{size[0]}",
            lambda m=m, size=size: ((lambda x: torch.nn.functional.interpolate(x, mode=m, antialias=True, size=size)), (R(2, 3, 6, 7),)),
            ts=1,
            least=17,
        )
case(
    "nn_interp_dyn_hw",
    lambda: (
        (lambda x, y: torch.nn.functional.interpolate(x, size=y.shape[-2:], mode="bilinear", align_corners=False)),
        (R(2, 3, 5, 6), R(2, 3, 9, 8)),
    ),
    dyn=({0: "b", 2: "h", 3: "w"}, {0: "b", 2: "hh", 3: "ww"}),
    alt=lambda: (R(3, 3, 4, 4), R(3, 3, 8, 11)),
    least=11,
)
case(
    "nn_interp_dyn_scale",
    lambda: (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), (R(2, 3, 5, 6),)),
    dyn=({0: "b", 2: "h", 3: "w"},),
    alt=lambda: (R(3, 3, 4, 4),),
    least=11,
)
for m in ("bilinear", "nearest", "bicubic"):
    for p in ("zeros", "border", "reflection"):
        for ac in (False, True):
            case(
                f"nn_gridsample_{m}_{p}_{int(ac)}",
                lambda m=m, p=p, ac=ac: (
                    (lambda x, g: torch.nn.functional.grid_sample(x, g, mode=m, padding_mode=p, align_corners=ac)),
                    (R(2, 3, 5, 6), R(2, 4, 7, 2) * 1.3),
                ),
                dyn=(B, B),
                alt=lambda: (R(3, 3, 5, 6), R(3, 4, 7, 2)),
                ts=1,
                least=16,
            )
case(
    "nn_gridsample_3d",
    lambda: ((lambda x, g: torch.nn.functional.grid_sample(x, g, align_corners=False)), (R(2, 3, 4, 5, 6), R(2, 4, 7, 3, 3))),
    ts=0,
    dynamo=2,
)
case(
    "nn_affine_grid",
    lambda: (
        (
            lambda t, x: torch.nn.functional.grid_sample(
                x, torch.nn.functional.affine_grid(t, [2, 3, 5, 6], align_corners=False), align_corners=False
            )
        ),
        (R(2, 2, 3), R(2, 3, 5, 6)),
    ),
    least=16,
)
case(
    "nn_affine_grid_3d",
    lambda: ((lambda t: torch.nn.functional.affine_grid(t, [2, 3, 5, 6, 4], align_corners=True)), (R(2, 3, 4),)),
    least=16,
)
case(
    "nn_fractional",
    lambda: (
        (lambda x, s: torch.nn.functional.fractional_max_pool2d(x, 2, output_size=(3, 4), _random_samples=s)),
        (R(2, 3, 8, 9), torch.rand(2, 3, 2)),
    ),
)
case(
    "nn_maxunpool2d",
    lambda: (
        (lambda x: torch.nn.functional.max_unpool2d(*torch.nn.functional.max_pool2d(x, 2, 2, return_indices=True), 2, 2)),
        (R(2, 3, 8, 6),),
    ),
)
case(
    "nn_maxunpool1d",
    lambda: (
        (lambda x: torch.nn.functional.max_unpool1d(*torch.nn.functional.max_pool1d(x, 2, 2, return_indices=True), 2, 2)),
        (R(2, 3, 8),),
    ),
)
# embeddings
case(
    "nn_embedding",
    lambda: (nn.Embedding(10, 4), (I(10, 3, 5),)),
    dyn=({0: "b", 1: "t"},),
    alt=lambda: (I(10, 4, 2),),
    dtypes=("f32", "f16", "bf16"),
)
case(
    "nn_embedding_pad",
    lambda: (nn.Embedding(10, 4, padding_idx=2, max_norm=None), (I(10, 3, 5).int(),)),
    dyn=({0: "b", 1: "t"},),
    alt=lambda: (I(10, 4, 2).int(),),
)
for mode in ("sum", "mean", "max"):
    case(
        f"nn_embeddingbag_{mode}", lambda mode=mode: (nn.EmbeddingBag(10, 4, mode=mode), (I(10, 12), torch.tensor([0, 4, 9]))), seconds=60
    )
    case(
        f"nn_embeddingbag2_{mode}",
        lambda mode=mode: (nn.EmbeddingBag(10, 4, mode=mode), (I(10, 3, 5),)),
        dyn=(B,),
        alt=lambda: (I(10, 4, 5),),
    )
    case(
        f"nn_embeddingbag_last_{mode}",
        lambda mode=mode: (nn.EmbeddingBag(10, 4, mode=mode, include_last_offset=True), (I(10, 12), torch.tensor([0, 4, 9, 12]))),
    )
case(
    "nn_embeddingbag_weights",
    lambda: ((lambda e: (lambda i, w: e(i, None, w)))(nn.EmbeddingBag(10, 4, mode="sum")), (I(10, 3, 5), R(3, 5))),
)
# recurrent layers
for K in ("RNN", "LSTM", "GRU"):
    for tag, kw in (
        ("plain", {}),
        ("bi", dict(bidirectional=True)),
        ("deep", dict(num_layers=3)),
        ("bideep", dict(num_layers=2, bidirectional=True)),
        ("first", dict(batch_first=True)),
        ("firstbi", dict(batch_first=True, bidirectional=True, num_layers=2)),
        ("nobias", dict(bias=False)),
        ("drop", dict(num_layers=2, dropout=0.4)),
    ):
        case(
            f"nn_{K.lower()}_{tag}",
            lambda K=K, kw=kw: (getattr(nn, K)(5, 6, **kw), (R(4, 3, 5),)),
            dyn=({0: "a", 1: "b"},),
            alt=lambda: (R(7, 2, 5),),
            least=9,
        )
    case(
        f"nn_{K.lower()}_state",
        lambda K=K: (getattr(nn, K)(5, 6, num_layers=2), (R(4, 3, 5), (R(2, 3, 6), R(2, 3, 6)) if K == "LSTM" else R(2, 3, 6))),
        dyn=({0: "t", 1: "b"}, ({1: "b"}, {1: "b"}) if K == "LSTM" else {1: "b"}),
        alt=lambda K=K: (R(5, 2, 5), (R(2, 2, 6), R(2, 2, 6)) if K == "LSTM" else R(2, 2, 6)),
    )
    case(f"nn_{K.lower()}_unbatched", lambda K=K: (getattr(nn, K)(5, 6), (R(4, 5),)))

    class Packed(nn.Module):
        def __init__(self, K, **kw):
            super().__init__()
            self.r = getattr(nn, K)(5, 6, batch_first=True, **kw)

        def forward(self, x, n):
            p = nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=True)
            y, h = self.r(p)
            y, n2 = nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
            return y, h, n2

    for tag, kw in (("", {}), ("_bi", dict(bidirectional=True)), ("_bideep", dict(bidirectional=True, num_layers=2))):
        case(
            f"nn_{K.lower()}_packed{tag}",
            lambda K=K, kw=kw, Packed=Packed: (Packed(K, **kw), (R(3, 6, 5), torch.tensor([6, 4, 1]))),
            dyn=({0: "b", 1: "t"}, {0: "b"}),
            alt=lambda: (R(2, 4, 5), torch.tensor([4, 2])),
            dynamo=0,
        )
    Cell = getattr(nn, K + "Cell")
    case(f"nn_{K.lower()}_cell", lambda K=K, Cell=Cell: (Cell(5, 6), (R(3, 5), (R(3, 6), R(3, 6)) if K == "LSTM" else R(3, 6))))

    class Steps(nn.Module):
        def __init__(self, C, n):
            super().__init__()
            self.c, self.n = C(5, 6), n

        def forward(self, x):
            h = x.new_zeros(x.shape[1], 6)
            h = (h, h) if self.n else h
            ys = []
            for t in range(4):
                h = self.c(x[t], h)
                ys.append(h[0] if self.n else h)
            return torch.stack(ys)

    case(
        f"nn_{K.lower()}_steps",
        lambda Cell=Cell, K=K, Steps=Steps: (Steps(Cell, K == "LSTM"), (R(4, 3, 5),)),
        dyn=({1: "b"},),
        alt=lambda: (R(4, 2, 5),),
    )
case("nn_rnn_relu", lambda: (nn.RNN(5, 6, nonlinearity="relu", num_layers=2, bidirectional=True), (R(4, 3, 5),)))
case("nn_lstm_proj", lambda: (nn.LSTM(5, 6, proj_size=3), (R(4, 3, 5),)))
# transformers
case(
    "nn_mha",
    lambda: (nn.MultiheadAttention(16, 4, batch_first=True), (R(2, 5, 16), R(2, 7, 16), R(2, 7, 16))),
    dyn=({0: "b", 1: "t"}, {0: "b", 1: "s"}, {0: "b", 1: "s"}),
    alt=lambda: (R(3, 2, 16), R(3, 4, 16), R(3, 4, 16)),
    dtypes=BOTH,
)
case(
    "nn_mha_seq",
    lambda: (nn.MultiheadAttention(16, 4, kdim=8, vdim=12, add_bias_kv=True, add_zero_attn=True), (R(5, 2, 16), R(7, 2, 8), R(7, 2, 12))),
)
case(
    "nn_mha_mask",
    lambda: (
        (
            lambda m: (
                lambda q, k, p: m(
                    q, k, k, key_padding_mask=p, attn_mask=torch.triu(torch.ones(5, 5, dtype=torch.bool), 1), need_weights=False
                )[0]
            )
        )(nn.MultiheadAttention(16, 4, batch_first=True)),
        (R(2, 5, 16), R(2, 5, 16), torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()),
    ),
)
for nf in (False, True):
    for act in ("relu", "gelu"):
        case(
            f"nn_encoderlayer_{act}_{int(nf)}",
            lambda nf=nf, act=act: (
                nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation=act, norm_first=nf),
                (R(2, 5, 16),),
            ),
            dyn=({0: "b", 1: "t"},),
            alt=lambda: (R(3, 7, 16),),
            dtypes=("f32", "f16"),
        )
        case(
            f"nn_decoderlayer_{act}_{int(nf)}",
            lambda nf=nf, act=act: (nn.TransformerDecoderLayer(16, 4, 32, activation=act, norm_first=nf), (R(5, 2, 16), R(6, 2, 16))),
            dyn=({0: "t", 1: "b"}, {0: "s", 1: "b"}),
            alt=lambda: (R(3, 3, 16), R(4, 3, 16)),
        )
case(
    "nn_encoder",
    lambda: (nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 3, nn.LayerNorm(16)), (R(2, 5, 16),)),
    dyn=({0: "b", 1: "t"},),
    alt=lambda: (R(3, 7, 16),),
)
case(
    "nn_encoder_pad",
    lambda: (
        (lambda m: (lambda x, p: m(x, src_key_padding_mask=p)))(
            nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2, enable_nested_tensor=False)
        ),
        (R(2, 5, 16), torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]).bool()),
    ),
    dyn=({0: "b", 1: "t"}, {0: "b", 1: "t"}),
    alt=lambda: (R(1, 3, 16), torch.tensor([[False, False, True]])),
)
case(
    "nn_transformer",
    lambda: (nn.Transformer(16, 4, 2, 2, 32), (R(5, 2, 16), R(4, 2, 16))),
    dyn=({0: "s", 1: "b"}, {0: "t", 1: "b"}),
    alt=lambda: (R(3, 3, 16), R(6, 3, 16)),
)
case(
    "nn_sdpa_causal",
    lambda: (
        (lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)),
        (R(2, 4, 5, 8), R(2, 4, 5, 8), R(2, 4, 5, 8)),
    ),
    dyn=({0: "b", 2: "t"},) * 3,
    alt=lambda: (R(1, 4, 3, 8),) * 3,
    least=14,
    dynamo=4,
)
case(
    "nn_sdpa_mask",
    lambda: (
        (lambda q, k, v, m: torch.nn.functional.scaled_dot_product_attention(q, k, v, m, scale=0.3)),
        (R(2, 4, 5, 8), R(2, 4, 6, 8), R(2, 4, 6, 8), torch.rand(2, 1, 5, 6) > 0.3),
    ),
    least=14,
    dynamo=4,
)
case(
    "nn_sdpa_float",
    lambda: (
        (lambda q, k, v, m: torch.nn.functional.scaled_dot_product_attention(q, k, v, m)),
        (R(2, 4, 5, 8), R(2, 4, 6, 8), R(2, 4, 6, 8), R(5, 6)),
    ),
    least=14,
    dynamo=2,
    dtypes=BOTH,
)
case(
    "nn_sdpa_gqa",
    lambda: (
        (lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)),
        (R(2, 8, 5, 8), R(2, 2, 6, 8), R(2, 2, 6, 8)),
    ),
    least=14,
    dynamo=4,
)
# losses
for red in ("mean", "sum", "none"):
    for L, k in (
        ("L1Loss", {}),
        ("MSELoss", {}),
        ("SmoothL1Loss", dict(beta=0.5)),
        ("HuberLoss", dict(delta=0.7)),
        ("SoftMarginLoss", {}),
        ("HingeEmbeddingLoss", {}),
        ("KLDivLoss", {}),
        ("PoissonNLLLoss", {}),
        ("BCEWithLogitsLoss", {}),
        ("MultiLabelSoftMarginLoss", {}),
    ):
        case(
            f"nn_loss_{L.lower()}_{red}",
            lambda L=L, k=k, red=red: (
                getattr(nn, L)(reduction=red, **k),
                (
                    R(3, 5),
                    (R(3, 5) > 0).float() * (2 if L in ("SoftMarginLoss", "HingeEmbeddingLoss") else 1)
                    - (1 if L in ("SoftMarginLoss", "HingeEmbeddingLoss") else 0),
                ),
            ),
            ts=1,
            dyn=(B, B),
        )
    case(f"nn_loss_bce_{red}", lambda red=red: (nn.BCELoss(reduction=red), (torch.rand(3, 5), torch.rand(3, 5))), ts=1)
    case(
        f"nn_loss_ce_{red}",
        lambda red=red: (nn.CrossEntropyLoss(reduction=red), (R(3, 5), torch.tensor([1, 4, 0]))),
        ts=1,
        least=12,
        dyn=(B, B),
    )
    case(
        f"nn_loss_ce_img_{red}",
        lambda red=red: (nn.CrossEntropyLoss(weight=torch.rand(5), ignore_index=2, reduction=red), (R(3, 5, 4, 4), I(5, 3, 4, 4))),
        ts=1,
        least=12,
    )
    case(
        f"nn_loss_ce_smooth_{red}",
        lambda red=red: (nn.CrossEntropyLoss(label_smoothing=0.1, reduction=red), (R(3, 5), torch.tensor([1, 4, 0]))),
        ts=1,
        least=12,
    )
    case(
        f"nn_loss_ce_prob_{red}",
        lambda red=red: (nn.CrossEntropyLoss(reduction=red), (R(3, 5), torch.softmax(R(3, 5), 1))),
        ts=1,
        least=12,
    )
    case(
        f"nn_loss_nll_{red}",
        lambda red=red: (nn.NLLLoss(reduction=red, ignore_index=1), (torch.log_softmax(R(3, 5), 1), torch.tensor([1, 4, 0]))),
        ts=1,
        least=12,
    )
    case(f"nn_loss_gauss_{red}", lambda red=red: (nn.GaussianNLLLoss(reduction=red), (R(3, 5), R(3, 5), torch.rand(3, 5))), ts=1)
    case(
        f"nn_loss_margin_{red}",
        lambda red=red: (nn.MarginRankingLoss(0.3, reduction=red), (R(3), R(3), torch.tensor([1.0, -1, 1]))),
        ts=1,
    )
    case(f"nn_loss_triplet_{red}", lambda red=red: (nn.TripletMarginLoss(reduction=red), (R(3, 5), R(3, 5), R(3, 5))), ts=1)
    case(
        f"nn_loss_cosine_{red}",
        lambda red=red: (nn.CosineEmbeddingLoss(0.2, reduction=red), (R(3, 5), R(3, 5), torch.tensor([1.0, -1, 1]))),
        ts=1,
    )
    case(f"nn_loss_multimargin_{red}", lambda red=red: (nn.MultiMarginLoss(reduction=red), (R(3, 5), torch.tensor([1, 4, 0]))), ts=1)
    case(
        f"nn_loss_multilabelmargin_{red}",
        lambda red=red: (
            nn.MultiLabelMarginLoss(reduction=red),
            (R(3, 5), torch.tensor([[1, 4, -1, 0, 0], [2, -1, 0, 0, 0], [0, 1, 2, 3, 4]])),
        ),
        ts=1,
    )
case("nn_adaptivelogsoftmax", lambda: ((lambda m: (lambda x: m.log_prob(x)))(nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 12])), (R(3, 8),)))
