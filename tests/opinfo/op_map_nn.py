"""PyTorch's names -> Kiln's calls: losses, norms, pooling, convolutions, interpolation, attention, embedding."""

import math

import torch
from kiln_binding import Unsupported
from op_map import MAP, as_list, is_tensor, refuse

REDUCTIONS = {"mean": 0, "sum": 1, "none": 2}
F = "nn.functional."


def old_style(size_average=None, reduce=None):
    refuse(size_average=size_average is not None, reduce=reduce is not None)


# ---- losses


def simple_loss(own, *more):
    """A loss of x and target with numbers whose names and defaults are listed."""

    def run(k, x, target, *given, reduction="mean", **s):
        old_style(s.pop("size_average", None), s.pop("reduce", None))
        values = [s.get(name, given[i] if i < len(given) else default) for i, (name, default) in enumerate(more)]
        return getattr(k, own)(x, target, *values, REDUCTIONS[reduction])

    return run


MAP[F + "l1_loss"] = simple_loss("l1_loss")
MAP[F + "mse_loss"] = simple_loss("mse_loss")
MAP[F + "smooth_l1_loss"] = simple_loss("smooth_l1_loss", ("beta", 1.0))
MAP[F + "huber_loss"] = simple_loss("huber_loss", ("delta", 1.0))
MAP[F + "hinge_embedding_loss"] = simple_loss("hinge_embedding_loss", ("margin", 1.0))


def zero(value):
    """KN_ZERO where 0 must mean 0."""
    return float(-(2**63)) if value == 0 else value


def cross_entropy(k, x, target, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean", **s):
    old_style(**s)
    return k.cross_entropy(x, target, {"weight": weight, "label_smoothing": label_smoothing, "reduction": REDUCTIONS[reduction],
                                       "ignore_index": -(2**63) if ignore_index == 0 else ignore_index})  # fmt: skip


def nll_loss(k, x, target, weight=None, ignore_index=-100, reduction="mean", **s):
    old_style(**s)
    return k.nll_loss(x, target, {"weight": weight, "reduction": REDUCTIONS[reduction],
                                  "ignore_index": -(2**63) if ignore_index == 0 else ignore_index})  # fmt: skip


MAP[F + "cross_entropy"], MAP[F + "nll_loss"] = cross_entropy, nll_loss
MAP[F + "binary_cross_entropy"] = lambda k, x, target, weight=None, reduction="mean", **s: k.binary_cross_entropy(
    x, target, {"weight": weight, "reduction": REDUCTIONS[reduction]})
MAP[F + "binary_cross_entropy_with_logits"] = lambda k, x, target, weight=None, pos_weight=None, reduction="mean", **s: \
    k.binary_cross_entropy_with_logits(x, target, {"weight": weight, "pos_weight": pos_weight, "reduction": REDUCTIONS[reduction]})


def kl_div(k, x, target, reduction="mean", log_target=False, **s):
    old_style(**s)
    return k.kl_div_loss(x, target, {"log_target": log_target, "batch_mean": reduction == "batchmean",
                                     "reduction": REDUCTIONS.get(reduction, 0)})  # fmt: skip


MAP[F + "kl_div"] = kl_div
MAP[F + "poisson_nll_loss"] = lambda k, x, target, log_input=True, full=False, eps=1e-8, reduction="mean", **s: (
    old_style(**s), k.poisson_nll_loss(x, target, {"rates": not log_input, "full": full, "eps": eps, "reduction": REDUCTIONS[reduction]}))[1]


def gaussian_nll(k, x, target, var, full=False, eps=1e-6, reduction="mean"):
    if is_tensor(var) and var.rank == x.rank - 1:
        var = k.unsqueeze(var, -1)  # PyTorch takes a variance for each line
    if not is_tensor(var):
        raise Unsupported("a variance that is a number")
    return k.gaussian_nll_loss(x, target, var, {"full": full, "eps": eps, "reduction": REDUCTIONS[reduction]})


MAP[F + "gaussian_nll_loss"] = gaussian_nll
MAP[F + "cosine_embedding_loss"] = lambda k, a, b, target, margin=0, reduction="mean", **s: (old_style(**s), k.cosine_embedding_loss(
    a, b, target, {"margin": margin, "reduction": REDUCTIONS[reduction]}))[1]
MAP[F + "margin_ranking_loss"] = lambda k, a, b, target, margin=0, reduction="mean", **s: (old_style(**s), k.margin_ranking_loss(
    a, b, target, {"margin": margin, "reduction": REDUCTIONS[reduction]}))[1]

MAP[F + "soft_margin_loss"] = simple_loss("soft_margin_loss")
MAP[F + "multilabel_soft_margin_loss"] = simple_loss("multilabel_soft_margin_loss", ("weight", None))


def with_classes(x):
    if not x.rank:
        raise Unsupported("an x without an axis of classes")
    return x


MAP[F + "multilabel_margin_loss"] = lambda k, x, *args, **s: simple_loss("multilabel_margin_loss")(k, with_classes(x), *args, **s)
MAP[F + "multi_margin_loss"] = lambda k, x, target, p=1, margin=1.0, weight=None, reduction="mean", **s: (old_style(**s), k.multi_margin_loss(
    with_classes(x), k.reshape(target, x.shape[:-1]), {"p": p, "margin": zero(margin), "weight": weight, "reduction": REDUCTIONS[reduction]}))[1]


def triplet(k, anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean", **s):
    old_style(**s)
    return k.triplet_margin_loss(anchor, positive, negative, {"margin": zero(margin), "p": p, "eps": eps, "swap": swap,
                                                             "reduction": REDUCTIONS[reduction]})  # fmt: skip


MAP[F + "triplet_margin_loss"] = triplet
# PyTorch's gradient takes log_probs, which the samples have normalised, for the result of log_softmax.
MAP[F + "ctc_loss"] = lambda k, x, targets, inputs, lengths, blank=0, reduction="mean", zero_infinity=False: k.ctc_loss(
    k.log_softmax(x, -1), targets, lengths_of(k, inputs), lengths_of(k, lengths), {"blank": blank, "zero_infinity": zero_infinity, "reduction": REDUCTIONS[reduction]})


def lengths_of(k, values):
    return values if is_tensor(values) else k.tensor(torch.tensor(list(values), dtype=torch.int64))


# ---- linear maps, norms



def linear(k, x, weight, bias=None):
    if weight.rank < 2:
        raise Unsupported("a weight of rank 1")
    return k.linear(x, weight, bias)


MAP[F + "linear"] = linear
MAP[F + "bilinear"] = lambda k, a, b, weight, bias=None: k.bilinear(a, b, weight, bias)


def positive(eps):
    if eps is not None and eps < 0:
        raise Unsupported("a negative eps")
    return eps


MAP[F + "layer_norm"] = lambda k, x, shape, weight=None, bias=None, eps=1e-5: k.layer_norm(x, weight, bias, len(shape), positive(eps))
MAP[F + "rms_norm"] = lambda k, x, shape, weight=None, eps=None: k.rms_norm(x, weight, len(shape), torch.finfo(x.dtype).eps if eps is None else positive(eps))
MAP[F + "group_norm"] = lambda k, x, groups, weight=None, bias=None, eps=1e-5: k.group_norm(x, weight, bias, groups, positive(eps))


def instance_norm(k, x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if not use_input_stats:
        return k.batch_norm(x, running_mean, running_var, weight, bias, eps)
    return k.instance_norm(x, weight, bias, eps) if running_mean is None else k.instance_norm_train(x, weight, bias, eps)[0]


MAP[F + "instance_norm"] = instance_norm


def batch_norm(k, x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if x.rank < 2:
        raise Unsupported("an x without channels")
    if training:
        return k.batch_norm_train(x, weight, bias, eps)[0]
    return k.batch_norm(x, mean, var, weight, bias, eps)


MAP[F + "batch_norm"] = batch_norm


def local_response_norm(kiln, x, /, size, alpha=1e-4, beta=0.75, k=1.0):
    return kiln.local_response_norm(x, {"size": size, "alpha": alpha, "beta": beta, "k": zero(k)})


MAP[F + "local_response_norm"] = local_response_norm
MAP[F + "cosine_similarity"] = lambda k, a, b, dim=1, eps=1e-8: k.cosine_similarity(a, b, dim, eps)
MAP[F + "pairwise_distance"] = lambda k, a, b, p=2.0, eps=1e-6, keepdim=False: k.pairwise_distance(a, b, {"order": p, "eps": eps or -1, "keep": keepdim})


# ---- convolutions


def convolution(own, axes):
    def run(k, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        settings = {"stride": as_list(stride), "dilation": as_list(dilation), "groups": groups}
        if padding == "same":
            settings["same"] = True
        elif padding != "valid":
            settings["padding"] = as_list(padding)
        return getattr(k, own)(x, weight, bias, settings)

    return run


def transposed(own):
    def run(k, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return getattr(k, own)(x, weight, bias, {"stride": as_list(stride), "padding": as_list(padding), "groups": groups,
                                                 "output_padding": as_list(output_padding), "dilation": as_list(dilation)})

    return run


for n in (1, 2, 3):
    MAP[F + "conv%dd" % n] = convolution("conv%dd" % n, n)
    MAP[F + "conv_transpose%dd" % n] = transposed("conv_transpose%dd" % n)


# ---- pooling


def lists(value, n):
    values = as_list(value)
    return values * n if len(values) == 1 else values


def pool_settings(n, kernel, stride, padding, dilation=1, **more):
    stride = kernel if stride is None or stride == [] else stride
    # 0 is the default of a list's entry, so that numbers are given for all axes
    return dict(stride=lists(stride, n), padding=lists(padding, n), dilation=lists(dilation, n), **more)


def batched(k, x, rank, run):
    return k.squeeze(run(k.unsqueeze(x, 0)), 0) if x.rank == rank - 1 else run(x)


def max_pool(n):
    def run(k, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        settings = pool_settings(n, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode)
        if return_indices:
            return getattr(k, "max_pool%dd_with_indices" % n)(x, lists(kernel_size, n), settings)
        return getattr(k, "max_pool%dd" % n)(x, lists(kernel_size, n), settings)

    return run


def avg_pool(n):
    def run(k, x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        if (divisor_override or 1) < 0:
            raise Unsupported("a negative divisor")
        settings = pool_settings(n, kernel_size, stride, padding, ceil_mode=ceil_mode, exclude_padding=not count_include_pad,
                                 divisor=divisor_override or 0)  # fmt: skip
        return getattr(k, "avg_pool%dd" % n)(x, lists(kernel_size, n), settings)

    return run


def adaptive(n, kind):
    def run(k, x, size, return_indices=False):
        size = [-1 if v is None else v for v in lists(size, n)]
        y = getattr(k, "adaptive_%s_pool%dd" % (kind, n))(x, size)
        return y if kind == "avg" or return_indices else y[0]

    return run


for n in (1, 2, 3):
    MAP[F + "max_pool%dd" % n], MAP[F + "avg_pool%dd" % n] = max_pool(n), avg_pool(n)
    MAP[F + "adaptive_avg_pool%dd" % n], MAP[F + "adaptive_max_pool%dd" % n] = adaptive(n, "avg"), adaptive(n, "max")
    MAP[F + "max_unpool%dd" % n] = lambda k, x, indices, kernel_size, stride=None, padding=0, output_size=None, _n=n: k.max_unpool(
        x, indices, list(output_size)[-_n:] if output_size else unpooled(x.shape[-_n:], lists(kernel_size, _n), stride, lists(padding, _n), _n))


def fractional(n):
    """PyTorch draws the samples after the seed 42, which the database sets."""

    def run(k, x, kernel_size, output_size=None, output_ratio=None, return_indices=False):
        torch.manual_seed(42)
        samples = k.tensor(torch.rand(x.shape[0] if x.rank == n + 2 else 1, x.shape[-n - 1], n, dtype=x.dtype))
        settings = {"samples": samples, "size": [] if output_size is None else lists(output_size, n)}
        if output_size is None:
            settings["ratio"] = lists(output_ratio, n)
        y = getattr(k, "fractional_max_pool%dd" % n)(x, lists(kernel_size, n), settings)
        return y if return_indices else y[0]

    return run


MAP[F + "fractional_max_pool2d"], MAP[F + "fractional_max_pool3d"] = fractional(2), fractional(3)


def unpooled(shape, kernel, stride, padding, n):
    stride = lists(stride, n) if stride else kernel
    return [(s - 1) * t - 2 * p + w for s, t, p, w in zip(shape, stride, padding, kernel)]


# ---- images

MAP[F + "unfold"] = lambda k, x, kernel_size, dilation=1, padding=0, stride=1: batched(k, x, 4, lambda t: k.unfold4d(
    t, lists(kernel_size, 2), {"stride": lists(stride, 2), "padding": lists(padding, 2), "dilation": lists(dilation, 2)}))
MAP[F + "fold"] = lambda k, x, output_size, kernel_size, dilation=1, padding=0, stride=1: k.fold4d(
    x, lists(output_size, 2), lists(kernel_size, 2), {"stride": lists(stride, 2), "padding": lists(padding, 2), "dilation": lists(dilation, 2)})
MAP[F + "pixel_shuffle"] = lambda k, x, upscale_factor: k.pixel_shuffle(x, upscale_factor)
MAP[F + "pixel_unshuffle"] = lambda k, x, downscale_factor: k.pixel_unshuffle(x, downscale_factor)
MAP[F + "channel_shuffle"] = lambda k, x, groups: k.channel_shuffle(x, groups)
MODES = {"nearest": 0, "nearest-exact": 1, "linear": 2, "bilinear": 2, "trilinear": 2, "bicubic": 3, "area": 5}


def interpolate(k, x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    n = x.rank - 2
    if size is None:
        return k.interpolate_scale(x, {"scale": lists(scale_factor, n), "mode": MODES[mode], "align_corners": bool(align_corners),
                                       "antialias": antialias, "recompute": bool(recompute_scale_factor)})  # fmt: skip
    return k.interpolate(x, lists(size, n), {"mode": MODES[mode], "align_corners": bool(align_corners), "antialias": antialias})


MAP[F + "interpolate"] = interpolate
MAP[F + "upsample_bilinear"] = lambda k, x, size=None, scale_factor=None: interpolate(k, x, size, scale_factor, "bilinear", True)
MAP[F + "upsample_nearest"] = lambda k, x, size=None, scale_factor=None: interpolate(k, x, size, scale_factor, "nearest")
SAMPLES, PADDINGS = {"bilinear": 0, "nearest": 1, "bicubic": 2}, {"zeros": 0, "border": 1, "reflection": 2}
MAP[F + "grid_sample"] = lambda k, x, grid, mode="bilinear", padding_mode="zeros", align_corners=False: k.grid_sample(
    x, grid, {"mode": SAMPLES[mode], "padding": PADDINGS[padding_mode], "align_corners": bool(align_corners)})
MAP["grid_sampler_2d"] = MAP["grid_sampler_3d"] = lambda k, x, grid, mode, padding, align_corners: k.grid_sample(
    x, grid, {"mode": mode, "padding": padding, "align_corners": align_corners})

# ---- embedding, attention, dropout that drops nothing


def embedding(k, indices, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    refuse(max_norm=max_norm is not None, scale_grad_by_freq=scale_grad_by_freq)
    return k.embedding(weight, indices, None if padding_idx is None else {"padding_index": padding_idx or -(2**63)})


MAP[F + "embedding"] = lambda k, x, indices, **s: embedding(k, indices, x, **s) if not x.is_float() or indices.dtype in (torch.int64, torch.int32) else embedding(k, x, indices, **s)

BAGS = {"mean": 0, "sum": 1, "max": 2}


def embedding_bag(k, weight, indices, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):  # fmt: skip
    refuse(max_norm=max_norm is not None, scale_grad_by_freq=scale_grad_by_freq)
    return k.embedding_bag(weight, indices, {"mode": BAGS[mode], "offsets": offsets, "per_sample_weights": per_sample_weights,
                                             "include_last_offset": include_last_offset,
                                             "padding_index": 0 if padding_idx is None else padding_idx or -(2**63)})  # fmt: skip


MAP[F + "embedding_bag"] = embedding_bag


def attention(k, q, key, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    refuse(dropout_p=dropout_p)
    if q.rank != 4:
        shape = lambda t: k.reshape(t, [1] * (4 - t.rank) + t.shape)  # noqa: E731
        if q.rank > 4:
            raise Unsupported("attention of rank %d" % q.rank)
        y = attention(k, shape(q), shape(key), shape(v), attn_mask, 0.0, is_causal, scale)
        return k.reshape(y, y.shape[4 - q.rank:])
    if q.shape[0] != key.shape[0]:
        raise Unsupported("batches that broadcast")
    settings = {"is_causal": is_causal, "scale": scale or 0}
    if attn_mask is not None:
        settings["mask" if attn_mask.dtype == torch.bool else "bias"] = attn_mask
    return k.attention(q, key, v, settings)


MAP[F + "scaled_dot_product_attention"] = attention


def dropout(own):
    def run(k, x, p=0.5, training=True, inplace=False):
        if training and p not in (0, 1):
            raise Unsupported("other random numbers than PyTorch's")
        return getattr(k, own)(x, p, training)

    return run


MAP[F + "dropout"] = dropout("dropout")
MAP[F + "dropout2d"] = MAP[F + "dropout3d"] = dropout("feature_dropout")
MAP[F + "alpha_dropout"] = dropout("alpha_dropout")


def rrelu(k, x, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    if training and lower != upper:
        raise Unsupported("other random numbers than PyTorch's")
    return k.rrelu(x, lower, upper, training)


MAP[F + "rrelu"] = rrelu
