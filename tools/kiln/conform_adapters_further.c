/* What `kiln conform` calls of the functions of several steps in cases/further.py and cases/special.py. */
#include "conform_adapter_words.h"

#define UNUSED (void)in, (void)n, (void)a, (void)room
#define AXIS I32("axis")
#define KEEP (kiln_int(a, "keep", 0) != 0)
/* A function of one result. */

SIMPLE(trunc_div_of, kn_trunc_div(in[0], in[1]))
SIMPLE(trunc_div_scalar, kn_trunc_div_scalar(in[0], kiln_real(a, "value", 1)))
SIMPLE(round_decimals, kn_round_decimals(in[0], I32("decimals")))
SIMPLE(float_power, kn_float_power(in[0], in[1]))
SIMPLE(float_power_scalar, kn_float_power_scalar(in[0], kiln_real(a, "value", 1)))
SIMPLE(nextafter, kn_nextafter(in[0], in[1]))
SIMPLE(ldexp, kn_ldexp(in[0], in[1]))
SIMPLE(mvlgamma, kn_mvlgamma(in[0], I32("p")))
SIMPLE(is_posinf, kn_is_posinf(in[0]))
SIMPLE(is_neginf, kn_is_neginf(in[0]))
SIMPLE(diff, kn_diff(in[0], I32("order"), AXIS, n > 1 ? in[1] : KN_NONE, n > 2 ? in[2] : KN_NONE))
SIMPLE(trapezoid, kn_trapezoid(in[0], n > 1 ? in[1] : KN_NONE, kiln_real(a, "step", 1), AXIS))
SIMPLE(cumulative_trapezoid,
       kn_cumulative_trapezoid(in[0], n > 1 ? in[1] : KN_NONE, kiln_real(a, "step", 1), AXIS))
SIMPLE(gradient_along,
       kn_gradient_along(in[0], n > 1 ? in[1] : KN_NONE, kiln_real(a, "step", 1), AXIS, I32("edge_order")))
SIMPLE(quantile_with, kn_quantile_with(in[0], in[1], AXIS, KEEP, (kn_quantile_mode)I64("mode")))
SIMPLE(nanquantile_with, kn_nanquantile_with(in[0], in[1], AXIS, KEEP, (kn_quantile_mode)I64("mode")))
SIMPLE(nanquantile, kn_nanquantile(in[0], kiln_real(a, "q", 0.5), AXIS, KEEP))
SIMPLE(isin, kn_isin(in[0], in[1], I64("invert") != 0))
SIMPLE(block_diag, kn_block_diag(in, n))
SIMPLE(hstack, kn_hstack(in, n))
SIMPLE(vstack, kn_vstack(in, n))
SIMPLE(dstack, kn_dstack(in, n))
SIMPLE(column_stack, kn_column_stack(in, n))
SIMPLE(cartesian_prod, kn_cartesian_prod(in, n))
SIMPLE(combinations, kn_combinations(in[0], I32("r"), I64("with_replacement") != 0))
SIMPLE(repeat_interleave_tensor, kn_repeat_interleave_tensor(in[0], in[1], AXIS, kiln_int(a, "total", -1)))
SIMPLE(tril_indices, kn_tril_indices(I64("rows"), I64("columns"), I64("offset")))
SIMPLE(triu_indices, kn_triu_indices(I64("rows"), I64("columns"), I64("offset")))
SIMPLE(take_flat, kn_take_flat(in[0], in[1]))
SIMPLE(index_fill, kn_index_fill(in[0], AXIS, in[1], kiln_real(a, "value", 0)))
SIMPLE(mask_scatter, kn_mask_scatter(in[0], in[1], in[2]))
SIMPLE(index, kn_index(in[0], in + 1, n - 1))
SIMPLE(index_put, kn_index_put(in[0], in + 2, n - 2, in[1], (kn_update)I64("update")))

#define REDUCE_ARGS                                                                                          \
    &(kn_scatter_reduce_args) { (kn_scatter_reduction) I64("reduction"), I64("exclude_self") != 0 }
SIMPLE(scatter_reduce, kn_scatter_reduce(in[0], AXIS, in[1], in[2], REDUCE_ARGS))
SIMPLE(index_reduce, kn_index_reduce(in[0], AXIS, in[1], in[2], REDUCE_ARGS))

ADAPTER(frexp)
{
    UNUSED;
    kn_mantissa_exponent r = kn_frexp(in[0]);
    out[0] = r.mantissa;
    out[1] = r.exponent;
    return 2;
}

ADAPTER(nanmedian)
{
    UNUSED;
    kn_indexed r = kn_nanmedian(in[0], AXIS, KEEP);
    out[0] = r.values;
    out[1] = r.indices;
    return 2;
}

static int unique_of(kn_unique_result r, kn_tensor *out)
{
    out[0] = r.values;
    out[1] = r.inverse;
    out[2] = r.counts;
    return 3;
}

ADAPTER(unique_axis) { return UNUSED, unique_of(kn_unique_axis(in[0], AXIS), out); }
ADAPTER(unique_consecutive) { return UNUSED, unique_of(kn_unique_consecutive(in[0]), out); }
ADAPTER(unique_consecutive_axis) { return UNUSED, unique_of(kn_unique_consecutive_axis(in[0], AXIS), out); }

ADAPTER(tensor_split)
{
    (void)n;
    int32_t count = room;
    kn_status s = kn_tensor_split(in[0], I64("sections"), AXIS, out, &count);
    return kiln_outputs(s, out, count);
}

ADAPTER(tensor_split_at)
{
    (void)n, (void)room;
    kn_ints at = kiln_ints(a, "positions");
    return kiln_outputs(kn_tensor_split_at(in[0], at.dims, at.rank, AXIS, out), out, at.rank + 1);
}

ADAPTER(unbind)
{
    (void)n;
    int32_t count = room;
    kn_status s = kn_unbind(in[0], AXIS, out, &count);
    return kiln_outputs(s, out, count);
}

ADAPTER(unravel_index)
{
    (void)n, (void)room;
    kn_shape shape = kiln_ints(a, "shape");
    return kiln_outputs(kn_unravel_index(in[0], shape, out), out, shape.rank);
}

const kiln_adapter kiln_adapters_further[] = {ENTRY(trunc_div_of),
                                              ENTRY(trunc_div_scalar),
                                              ENTRY(round_decimals),
                                              ENTRY(float_power),
                                              ENTRY(float_power_scalar),
                                              ENTRY(nextafter),
                                              ENTRY(ldexp),
                                              ENTRY(mvlgamma),
                                              ENTRY(is_posinf),
                                              ENTRY(is_neginf),
                                              ENTRY(diff),
                                              ENTRY(trapezoid),
                                              ENTRY(cumulative_trapezoid),
                                              ENTRY(gradient_along),
                                              ENTRY(quantile_with),
                                              ENTRY(nanquantile_with),
                                              ENTRY(nanquantile),
                                              ENTRY(isin),
                                              ENTRY(block_diag),
                                              ENTRY(hstack),
                                              ENTRY(vstack),
                                              ENTRY(dstack),
                                              ENTRY(column_stack),
                                              ENTRY(cartesian_prod),
                                              ENTRY(combinations),
                                              ENTRY(repeat_interleave_tensor),
                                              ENTRY(tril_indices),
                                              ENTRY(triu_indices),
                                              ENTRY(take_flat),
                                              ENTRY(index_fill),
                                              ENTRY(mask_scatter),
                                              ENTRY(index),
                                              ENTRY(index_put),
                                              ENTRY(scatter_reduce),
                                              ENTRY(index_reduce),
                                              ENTRY(frexp),
                                              ENTRY(nanmedian),
                                              ENTRY(unique_axis),
                                              ENTRY(unique_consecutive),
                                              ENTRY(unique_consecutive_axis),
                                              ENTRY(tensor_split),
                                              ENTRY(tensor_split_at),
                                              ENTRY(unbind),
                                              ENTRY(unravel_index),
                                              {NULL, NULL}};
