/* Functions that make tensors: those that are no rows, or whose signature differs from their row's. */
#include "conform_adapter.h"

#define SIMPLE(name, call)                                                                                   \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        (void)in, (void)n, (void)a, (void)room;                                                              \
        out[0] = call;                                                                                       \
        return 1;                                                                                            \
    }
#define I64(name) kiln_int(a, name, 0)
#define REAL(name) kiln_real(a, name, 0)
#define SHAPE kiln_ints(a, "shape")
#define DTYPE (kn_dtype) I64("dtype")

SIMPLE(zeros, kn_zeros(SHAPE, DTYPE))
SIMPLE(ones, kn_ones(SHAPE, DTYPE))
SIMPLE(full_of, kn_full(SHAPE, REAL("value"), DTYPE))
SIMPLE(full_int, kn_full_int(SHAPE, I64("value"), DTYPE))
SIMPLE(empty, kn_empty(SHAPE, DTYPE))
SIMPLE(zeros_like, kn_zeros_like(in[0]))
SIMPLE(ones_like, kn_ones_like(in[0]))
SIMPLE(full_like, kn_full_like(in[0], REAL("value")))
SIMPLE(empty_like, kn_empty_like(in[0]))
SIMPLE(arange, kn_arange(REAL("start"), REAL("stop"), REAL("step"), DTYPE))
SIMPLE(linspace_of, kn_linspace(REAL("start"), REAL("stop"), I64("n"), DTYPE))
SIMPLE(logspace, kn_logspace(REAL("start"), REAL("stop"), I64("n"), REAL("base"), DTYPE))
SIMPLE(cartesian_grid, kn_cartesian_grid(SHAPE))
SIMPLE(eye, kn_eye(I64("rows"), I64("columns"), DTYPE))
SIMPLE(triu, kn_triu(in[0], I64("offset")))
SIMPLE(tril, kn_tril(in[0], I64("offset")))
SIMPLE(triu_mask, kn_logical_not(kn_upper_mask(SHAPE, I64("offset"))))
SIMPLE(tril_mask, kn_logical_not(kn_lower_mask(SHAPE, I64("offset"))))
SIMPLE(diag_mask, kn_logical_not(kn_diagonal_mask(SHAPE, I64("offset"))))
SIMPLE(one_hot, kn_one_hot(in[0], I64("classes"), DTYPE))

static int run_one_hot_fill(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    int32_t axis = (int32_t)kiln_int(a, "axis", -1);
    kn_one_hot_fill_args args = {REAL("on"), REAL("off"), axis == 0 ? KN_ONE_HOT_FIRST : axis, DTYPE};
    out[0] = kn_one_hot_fill(in[0], I64("classes"), &args);
    return 1;
}

#define ROW(name)                                                                                            \
    {                                                                                                        \
#name, run_##name                                                                                    \
    }
const kiln_adapter kiln_adapters_creation[] = {
    ROW(zeros),          ROW(ones),      ROW(full_of),      ROW(full_int), ROW(empty),       ROW(zeros_like),
    ROW(ones_like),      ROW(full_like), ROW(empty_like),   ROW(arange),   ROW(linspace_of), ROW(logspace),
    ROW(cartesian_grid), ROW(eye),       ROW(triu),         ROW(tril),     ROW(triu_mask),   ROW(tril_mask),
    ROW(diag_mask),      ROW(one_hot),   ROW(one_hot_fill), {NULL, NULL}};
