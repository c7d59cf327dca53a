/* What `kiln conform` calls of the functions of several steps in cases/further.py and cases/special.py. */
#include "conform_adapter.h"

#define RUN(name)                                                                                            \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
#define UNUSED (void)in, (void)n, (void)a, (void)room
#define I64(name) kiln_int(a, name, 0)
#define I32(name) ((int32_t)kiln_int(a, name, 0))
#define AXIS I32("axis")
#define KEEP (kiln_int(a, "keep", 0) != 0)
/* A function of one result. */
#define ONE(name, value)                                                                                     \
    RUN(name)                                                                                                \
    {                                                                                                        \
        UNUSED;                                                                                              \
        out[0] = value;                                                                                      \
        return 1;                                                                                            \
    }

ONE(trunc_div_of, kn_trunc_div(in[0], in[1]))
ONE(trunc_div_scalar, kn_trunc_div_scalar(in[0], kiln_real(a, "value", 1)))
ONE(round_decimals, kn_round_decimals(in[0], I32("decimals")))
ONE(float_power, kn_float_power(in[0], in[1]))
ONE(float_power_scalar, kn_float_power_scalar(in[0], kiln_real(a, "value", 1)))
ONE(nextafter, kn_nextafter(in[0], in[1]))
ONE(ldexp, kn_ldexp(in[0], in[1]))
ONE(mvlgamma, kn_mvlgamma(in[0], I32("p")))
ONE(is_posinf, kn_is_posinf(in[0]))
ONE(is_neginf, kn_is_neginf(in[0]))
ONE(diff, kn_diff(in[0], I32("order"), AXIS, n > 1 ? in[1] : KN_NONE, n > 2 ? in[2] : KN_NONE))
ONE(trapezoid, kn_trapezoid(in[0], n > 1 ? in[1] : KN_NONE, kiln_real(a, "step", 1), AXIS))
ONE(cumulative_trapezoid,
    kn_cumulative_trapezoid(in[0], n > 1 ? in[1] : KN_NONE, kiln_real(a, "step", 1), AXIS))
ONE(gradient_along,
    kn_gradient_along(in[0], n > 1 ? in[1] : KN_NONE, kiln_real(a, "step", 1), AXIS, I32("edge_order")))
ONE(quantile_with, kn_quantile_with(in[0], in[1], AXIS, KEEP, (kn_quantile_mode)I64("mode")))
ONE(nanquantile_with, kn_nanquantile_with(in[0], in[1], AXIS, KEEP, (kn_quantile_mode)I64("mode")))
ONE(nanquantile, kn_nanquantile(in[0], kiln_real(a, "q", 0.5), AXIS, KEEP))
ONE(isin, kn_isin(in[0], in[1], I64("invert") != 0))
ONE(block_diag, kn_block_diag(in, n))
ONE(hstack, kn_hstack(in, n))
ONE(vstack, kn_vstack(in, n))
ONE(dstack, kn_dstack(in, n))
ONE(column_stack, kn_column_stack(in, n))
ONE(cartesian_prod, kn_cartesian_prod(in, n))
ONE(combinations, kn_combinations(in[0], I32("r"), I64("with_replacement") != 0))
ONE(repeat_interleave_tensor, kn_repeat_interleave_tensor(in[0], in[1], AXIS, kiln_int(a, "total", -1)))
ONE(tril_indices, kn_tril_indices(I64("rows"), I64("columns"), I64("offset")))
ONE(triu_indices, kn_triu_indices(I64("rows"), I64("columns"), I64("offset")))
ONE(take_flat, kn_take_flat(in[0], in[1]))
ONE(index_fill, kn_index_fill(in[0], AXIS, in[1], kiln_real(a, "value", 0)))
ONE(mask_scatter, kn_mask_scatter(in[0], in[1], in[2]))
ONE(index, kn_index(in[0], in + 1, n - 1))
ONE(index_put, kn_index_put(in[0], in + 2, n - 2, in[1], (kn_update)I64("update")))

#define REDUCE_ARGS                                                                                          \
    &(kn_scatter_reduce_args) { (kn_scatter_reduction) I64("reduction"), I64("exclude_self") != 0 }
ONE(scatter_reduce, kn_scatter_reduce(in[0], AXIS, in[1], in[2], REDUCE_ARGS))
ONE(index_reduce, kn_index_reduce(in[0], AXIS, in[1], in[2], REDUCE_ARGS))

RUN(frexp)
{
    UNUSED;
    kn_mantissa_exponent r = kn_frexp(in[0]);
    out[0] = r.mantissa;
    out[1] = r.exponent;
    return 2;
}

RUN(nanmedian)
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

RUN(unique_axis) { return UNUSED, unique_of(kn_unique_axis(in[0], AXIS), out); }
RUN(unique_consecutive) { return UNUSED, unique_of(kn_unique_consecutive(in[0]), out); }
RUN(unique_consecutive_axis) { return UNUSED, unique_of(kn_unique_consecutive_axis(in[0], AXIS), out); }

RUN(tensor_split)
{
    (void)n;
    int32_t count = room;
    kn_status s = kn_tensor_split(in[0], I64("sections"), AXIS, out, &count);
    return kiln_outputs(s, out, count);
}

RUN(tensor_split_at)
{
    (void)n, (void)room;
    kn_ints at = kiln_ints(a, "positions");
    return kiln_outputs(kn_tensor_split_at(in[0], at.dims, at.rank, AXIS, out), out, at.rank + 1);
}

RUN(unbind)
{
    (void)n;
    int32_t count = room;
    kn_status s = kn_unbind(in[0], AXIS, out, &count);
    return kiln_outputs(s, out, count);
}

RUN(unravel_index)
{
    (void)n, (void)room;
    kn_shape shape = kiln_ints(a, "shape");
    return kiln_outputs(kn_unravel_index(in[0], shape, out), out, shape.rank);
}

#define ROW(name)                                                                                            \
    {                                                                                                        \
#name, run_##name                                                                                    \
    }
const kiln_adapter kiln_adapters_further[] = {ROW(trunc_div_of),
                                              ROW(trunc_div_scalar),
                                              ROW(round_decimals),
                                              ROW(float_power),
                                              ROW(float_power_scalar),
                                              ROW(nextafter),
                                              ROW(ldexp),
                                              ROW(mvlgamma),
                                              ROW(is_posinf),
                                              ROW(is_neginf),
                                              ROW(diff),
                                              ROW(trapezoid),
                                              ROW(cumulative_trapezoid),
                                              ROW(gradient_along),
                                              ROW(quantile_with),
                                              ROW(nanquantile_with),
                                              ROW(nanquantile),
                                              ROW(isin),
                                              ROW(block_diag),
                                              ROW(hstack),
                                              ROW(vstack),
                                              ROW(dstack),
                                              ROW(column_stack),
                                              ROW(cartesian_prod),
                                              ROW(combinations),
                                              ROW(repeat_interleave_tensor),
                                              ROW(tril_indices),
                                              ROW(triu_indices),
                                              ROW(take_flat),
                                              ROW(index_fill),
                                              ROW(mask_scatter),
                                              ROW(index),
                                              ROW(index_put),
                                              ROW(scatter_reduce),
                                              ROW(index_reduce),
                                              ROW(frexp),
                                              ROW(nanmedian),
                                              ROW(unique_axis),
                                              ROW(unique_consecutive),
                                              ROW(unique_consecutive_axis),
                                              ROW(tensor_split),
                                              ROW(tensor_split_at),
                                              ROW(unbind),
                                              ROW(unravel_index),
                                              {NULL, NULL}};
