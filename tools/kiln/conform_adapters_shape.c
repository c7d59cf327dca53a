/* Functions that move elements: those that are no rows, or whose signature differs from their row's. */
#include "conform_adapter_words.h"

SIMPLE(flatten, kn_flatten(in[0], I32("first"), (int32_t)kiln_int(a, "last", -1)))
SIMPLE(unflatten, kn_unflatten(in[0], I32("axis"), LIST("sizes")))
SIMPLE(squeeze, kn_squeeze(in[0], I32("axis")))
SIMPLE(squeeze_dims, kn_squeeze_dims(in[0], LIST("axes")))
SIMPLE(unsqueeze, kn_unsqueeze(in[0], I32("axis")))
SIMPLE(unsqueeze_dims, kn_unsqueeze_dims(in[0], LIST("axes")))
SIMPLE(atleast, kn_atleast(in[0], I32("rank")))
SIMPLE(broadcast_to, kn_broadcast_to(in[0], LIST("shape")))
SIMPLE(transpose, kn_transpose(in[0], I32("a"), I32("b")))
SIMPLE(swap_dims, kn_swap_dims(in[0], I32("a"), I32("b")))
SIMPLE(t, kn_t(in[0]))
SIMPLE(movedim, kn_movedim(in[0], LIST("source"), LIST("destination")))
SIMPLE(flip, kn_flip(in[0], LIST("axes")))
SIMPLE(rot90, kn_rot90(in[0], I32("k"), I32("a"), I32("b")))
SIMPLE(roll, kn_roll(in[0], LIST("shifts"), LIST("axes")))
SIMPLE(roll_dim, kn_roll_dim(in[0], I64("shift"), I32("axis")))
SIMPLE(slice_axis, kn_slice(in[0], I32("axis"), I64("start"), kiln_int(a, "stop", KN_END), I64("step")))
SIMPLE(narrow, kn_narrow(in[0], I32("axis"), I64("start"), I64("length")))
SIMPLE(select, kn_select(in[0], I32("axis"), I64("index")))
SIMPLE(unfold, kn_unfold_axis(in[0], I32("axis"), I64("size"), I64("step")))
SIMPLE(stack, kn_stack(in, n, I32("axis")))
SIMPLE(repeat, kn_repeat(in[0], LIST("repeats")))
SIMPLE(tile, kn_tile(in[0], LIST("repeats")))
SIMPLE(repeat_dim, kn_repeat_dim(in[0], I32("axis"), I64("times")))
SIMPLE(repeat_interleave, kn_repeat_interleave(in[0], I64("times"), I32("axis")))

/* Ranges come as three lists; where a list is short its default holds. */
static int read_ranges(const kiln_attributes *a, kn_range ranges[KN_MAX_RANK])
{
    kn_ints start = LIST("start"), stop = LIST("stop"), step = LIST("step");
    for (int i = 0; i < start.rank; i++) {
        ranges[i].start = start.dims[i];
        ranges[i].stop = i < stop.rank ? stop.dims[i] : KN_END;
        ranges[i].step = i < step.rank ? step.dims[i] : 0;
    }
    return start.rank;
}

ADAPTER(slice_ranges)
{
    (void)n, (void)room;
    kn_range ranges[KN_MAX_RANK];
    int count = read_ranges(a, ranges);
    out[0] = kn_slice_ranges(in[0], ranges, count);
    return 1;
}

ADAPTER(slice_assign)
{
    (void)n, (void)room;
    kn_range ranges[KN_MAX_RANK];
    int count = read_ranges(a, ranges);
    out[0] = kn_slice_assign(in[0], ranges, count, in[1]);
    return 1;
}

ADAPTER(slice_fill)
{
    (void)n, (void)room;
    kn_range ranges[KN_MAX_RANK];
    int count = read_ranges(a, ranges);
    out[0] = kn_slice_fill(in[0], ranges, count, kiln_real(a, "value", 0));
    return 1;
}

ADAPTER(pad_axes)
{
    (void)n, (void)room;
    kn_pad_args args = {LIST("before"), LIST("after"), (kn_pad_mode)I64("mode"), kiln_real(a, "value", 0)};
    out[0] = kn_pad(in[0], &args);
    return 1;
}

ADAPTER(split)
{
    (void)n;
    int32_t count = room;
    kn_status s = kn_split(in[0], I64("size"), I32("axis"), out, &count);
    return kiln_outputs(s, out, count);
}

ADAPTER(chunk)
{
    (void)n;
    int32_t count = room;
    kn_status s = kn_chunk(in[0], I64("chunks"), I32("axis"), out, &count);
    return kiln_outputs(s, out, count);
}

ADAPTER(split_with_sizes)
{
    (void)n, (void)room;
    kn_ints sizes = LIST("sizes");
    return kiln_outputs(kn_split_with_sizes(in[0], sizes.dims, sizes.rank, I32("axis"), out), out,
                        sizes.rank);
}

ADAPTER(meshgrid)
{
    (void)room;
    kn_meshgrid_args args = {I64("cartesian") != 0, I64("sparse") != 0};
    return kiln_outputs(kn_meshgrid(in, n, &args, out), out, n);
}

ADAPTER(meshgrid_stack)
{
    (void)room;
    kn_meshgrid_args args = {I64("cartesian") != 0, false};
    out[0] = kn_meshgrid_stack(in, n, &args, I32("axis"));
    return 1;
}

const kiln_adapter kiln_adapters_shape[] = {ENTRY(flatten),
                                            ENTRY(unflatten),
                                            ENTRY(squeeze),
                                            ENTRY(squeeze_dims),
                                            ENTRY(unsqueeze),
                                            ENTRY(unsqueeze_dims),
                                            ENTRY(atleast),
                                            ENTRY(broadcast_to),
                                            ENTRY(transpose),
                                            ENTRY(swap_dims),
                                            ENTRY(t),
                                            ENTRY(movedim),
                                            ENTRY(flip),
                                            ENTRY(rot90),
                                            ENTRY(roll),
                                            ENTRY(roll_dim),
                                            ENTRY(slice_axis),
                                            ENTRY(narrow),
                                            ENTRY(select),
                                            ENTRY(unfold),
                                            ENTRY(stack),
                                            ENTRY(repeat),
                                            ENTRY(tile),
                                            ENTRY(repeat_dim),
                                            ENTRY(repeat_interleave),
                                            ENTRY(slice_ranges),
                                            ENTRY(slice_assign),
                                            ENTRY(slice_fill),
                                            ENTRY(pad_axes),
                                            ENTRY(split),
                                            ENTRY(chunk),
                                            ENTRY(split_with_sizes),
                                            ENTRY(meshgrid),
                                            ENTRY(meshgrid_stack),
                                            {NULL, NULL}};
