#!/usr/bin/env python3
"""Compares operators that resample, cut and search images, and those that read and write by index, with ONNX Runtime, as
compare_operators.py does. What ONNX Runtime computes otherwise than the standard says is left out, with the reason."""
import sys

import numpy as np
from compare_operators import Cases, compare, type_of
from onnx import helper

F = np.float32
TRANSFORMS = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric")
RULES = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


class Images(Cases):
    """Cases of the standard's own operators, of any version, whose operands may be absent."""

    def add(self, name, op, inputs, outputs=1, version=20, **attributes):  # pylint: disable=arguments-differ
        inputs = [None if x is None else np.asarray(x) for x in inputs]
        node = helper.make_node(op, ["" if x is None else f"x{i}" for i, x in enumerate(inputs)], [f"y{i}" for i in range(outputs)],
                                **attributes)
        graph = helper.make_graph([node], "case", [helper.make_tensor_value_info(f"x{i}", type_of(x), x.shape)
                                                   for i, x in enumerate(inputs) if x is not None],
                                  [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=9)
        self.ask(f"{op}_{name}", model, {i: x for i, x in enumerate(inputs) if x is not None})


def some(rng, *shape):
    return rng.normal(size=shape).astype(F)


def add_resizes(cases, rng):
    def add(name, x, scales=None, sizes=None, roi=None, **attributes):
        lists = [None if v is None else np.asarray(v, t) for v, t in ((roi, F), (scales, F), (sizes, np.int64))]
        cases.add(name, "Resize", [x] + lists, **attributes)

    image = some(rng, 1, 2, 7, 9)
    for mode in ("nearest", "linear", "cubic"):
        for transform in TRANSFORMS:
            # ONNX Runtime takes the whole output for aligned corners where the scale leaves a fraction.
            lists = [[1, 1, 2, 3], [1, 1, 1 / 7, 1 / 3]] + ([] if transform == "align_corners" else [[1, 1, 0.55, 0.7], [1, 1, 1.3, 2.4]])
            for rule in RULES if mode == "nearest" else RULES[:1]:
                attributes = {"mode": mode, "coordinate_transformation_mode": transform, "nearest_mode": rule}
                # It computes places in single precision, which may miss a whole number or a half; then the next element is nearest.
                exact = mode == "nearest" and (rule in ("floor", "ceil") or transform == "half_pixel_symmetric")
                for scales in lists[:1] if exact else lists:
                    add(transform, image, scales, **attributes)
                for sizes in ([1, 2, 5, 20],) if exact else ([1, 2, 14, 3], [1, 2, 5, 20]):
                    add(transform, image, sizes=sizes, **attributes)
    for transform in TRANSFORMS[:3]:
        for a in (-0.5, -0.75):
            for exclude in (0, 1):
                add("cubic", image, sizes=[1, 2, 4, 13], mode="cubic", cubic_coeff_a=a, exclude_outside=exclude,
                    coordinate_transformation_mode=transform)
    for mode in ("nearest", "linear", "cubic"):
        crop = [0, 0, 0.2, 0.4, 1, 1, 0.7, 0.9]
        add("crop", image, sizes=[1, 2, 4, 5], roi=crop, mode=mode, coordinate_transformation_mode="tf_crop_and_resize")
        crop = [0, 0, -0.3, 0.4, 1, 1, 0.7, 1.4]
        add("outside", image, sizes=[1, 2, 4, 5], roi=crop, mode=mode, coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7.5)
    for policy in ("not_larger", "not_smaller"):
        for mode in ("nearest", "linear"):
            add(policy, image, sizes=[14, 12], axes=[2, 3], mode=mode, keep_aspect_ratio_policy=policy)
    volume = some(rng, 1, 1, 4, 5, 6)
    for mode in ("nearest", "linear"):
        for transform in TRANSFORMS:
            add("volume", volume, sizes=[1, 1, 7, 3, 11], mode=mode, coordinate_transformation_mode=transform)
    line = some(rng, 2, 3, 8)
    for mode in ("nearest", "linear"):
        add("line", line, [1, 1, 1.75], mode=mode)
    for dtype in (np.uint8, np.int8, np.int32):
        add("whole", rng.integers(-100 if dtype != np.uint8 else 0, 100, (1, 2, 5, 6)).astype(dtype), [1, 1, 2, 0.5])
    for mode in ("nearest", "linear"):
        cases.add(mode, "Upsample", [image, np.array([1, 1, 2, 3], F)], version=9, mode=mode)


def add_regions(cases, rng):
    image = some(rng, 2, 3, 9, 11)
    corners = rng.uniform(-2, 9, (6, 2))
    regions = np.concatenate([corners, corners + rng.uniform(0.1, 9, (6, 2))], 1).astype(F)
    places = rng.integers(0, 2, 6)
    for samples in (0, 2):
        for transform in ("half_pixel", "output_half_pixel"):
            for mode in ("avg", "max"):
                cases.add(mode, "RoiAlign", [image, regions, places], mode=mode, output_height=3, output_width=4,
                          sampling_ratio=samples, spatial_scale=0.75, coordinate_transformation_mode=transform)
    whole = np.concatenate([places[:, None], np.abs(regions) * 3], 1).astype(F)
    whole[:, 3:] = np.maximum(whole[:, 3:], whole[:, 1:3])
    cases.add("some", "MaxRoiPool", [image, whole], pooled_shape=[3, 2], spatial_scale=0.5)
    for middle in (0, 1):
        for share, least in ((0.0, None), (0.3, 0.2), (0.7, 0.5), (1.0, 0.9)):
            boxes, scores = rng.uniform(0, 5, (2, 40, 4)).astype(F), rng.uniform(0, 1, (2, 3, 40)).astype(F)
            inputs = [boxes, scores, np.array([7], np.int64), np.array([share], F)] + ([] if least is None else [np.array([least], F)])
            cases.add("some", "NonMaxSuppression", inputs, center_point_box=middle)


def add_grids(cases, rng):
    image, volume = some(rng, 2, 2, 5, 6), some(rng, 1, 2, 3, 4, 5)
    grid, solid = rng.uniform(-1.3, 1.3, (2, 4, 3, 2)).astype(F), rng.uniform(-1.3, 1.3, (1, 3, 4, 2, 3)).astype(F)
    for padding in ("zeros", "border", "reflection"):
        for align in (0, 1):
            for mode in ("linear", "nearest", "cubic"):
                cases.add(padding, "GridSample", [image, grid], mode=mode, padding_mode=padding, align_corners=align)
                if mode != "cubic":
                    cases.add(padding, "GridSample", [volume, solid], mode=mode, padding_mode=padding, align_corners=align)
    for align in (0, 1):
        cases.add("flat", "AffineGrid", [some(rng, 2, 2, 3), np.array([2, 1, 4, 5])], align_corners=align)
        cases.add("solid", "AffineGrid", [some(rng, 2, 3, 4), np.array([2, 1, 4, 5, 3])], align_corners=align)


def add_blocks(cases, rng):
    for mode in ("DCR", "CRD"):
        cases.add(mode, "DepthToSpace", [some(rng, 2, 12, 3, 4)], blocksize=2, mode=mode)
    cases.add("some", "SpaceToDepth", [some(rng, 2, 3, 6, 9)], blocksize=3)
    cases.add("flat", "Col2Im", [some(rng, 2, 12, 24), np.array([5, 7]), np.array([2, 3])], pads=[0, 1, 1, 0], dilations=[2, 1])
    cases.add("line", "Col2Im", [some(rng, 1, 6, 5), np.array([9]), np.array([3])], strides=[2], pads=[1, 1])
    cases.add("solid", "Col2Im", [some(rng, 1, 8, 24), np.array([3, 4, 5]), np.array([2, 2, 2])])
    for shape in ([4, 9], [9, 4], [7, 8], [2, 3]):
        cases.add("some", "CenterCropPad", [some(rng, 2, 7, 6), np.array(shape)], axes=[1, 2])
    x, at = some(rng, 1, 2, 2, 3), np.array([[[[0, 3, 5], [14, 16, 11]], [[24, 27, 28], [36, 40, 47]]]])
    cases.add("some", "MaxUnpool", [x, at], kernel_shape=[2, 2], strides=[2, 2])


def add_indices(cases, rng):
    for shape in ((20,), (4, 6), (3, 2, 5)):
        for ordered in (0, 1):
            for dtype in (F, np.int64, np.int8):
                x = rng.integers(0, 4, shape).astype(dtype)
                cases.add("all", "Unique", [x], 4, sorted=ordered)
                for axis in range(-1, len(shape) - 1) if len(shape) > 1 else ():
                    cases.add("axis", "Unique", [rng.integers(0, 2, shape).astype(dtype)], 4, sorted=ordered, axis=axis)
    x = some(rng, 3, 4, 5, 2)
    for batch, depth in ((0, 1), (0, 4), (1, 2), (2, 1), (2, 2)):
        sizes = [x.shape[batch + k] for k in range(depth)]
        shape = x.shape[:batch] + (6,)
        at = np.stack([rng.integers(-n, n, shape) for n in sizes], -1)
        cases.add("some", "GatherND", [x, at], batch_dims=batch)
    for reduction in ("none", "add", "mul", "min", "max"):
        at = rng.permutation(12)[:5]
        tuples = np.stack([at // 4, at % 4], -1) - [[0, 4]] * 5
        cases.add(reduction, "ScatterND", [x, tuples, some(rng, 5, 5, 2)], reduction=reduction)
        for axis in (0, 2, -1):
            shape, full = [2, 3, 2, 1], list(x.shape)
            shape[axis] = 2
            index = np.argsort(rng.random(shape[:axis % 4] + [full[axis]] + shape[axis % 4 + 1:]), axis)
            index = np.take(index, [0, 1], axis) - full[axis] * rng.integers(0, 2)
            cases.add(reduction, "ScatterElements", [x, index, some(rng, *index.shape)], axis=axis, reduction=reduction)


if __name__ == "__main__":
    sys.exit(compare(Images, (add_resizes, add_regions, add_grids, add_blocks, add_indices), __doc__))
