/* kn_resample: axes in any order, as many as there are, and integers between neighbours. */
#include "ops/movement_rows.h"
#include "ops/resample.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/spatial.h>

/* One axis with what belongs to it. */
typedef struct along {
    int64_t axis, size;
    double scale, begin, end;
} along;

/* The axes in ascending order; false after a failure. */
static bool sort_axes(const kni_type *t, kn_ints size, const kn_resample_args *args, along *list)
{
    int n = size.rank;
    if (n < 1 || n > t->rank || (args->axes.rank && args->axes.rank != n)) {
        kni_fail_op(KN_ERROR_ARGUMENT, NULL, "%d sizes for %d axes of x %S", n,
                    args->axes.rank ? args->axes.rank : (int)t->rank, t);
        return false;
    }
    for (int i = 0; i < n; i++) {
        int64_t axis = args->axes.rank ? args->axes.dims[i] : t->rank - n + i;
        if (kni_resolve_axis("resample", &axis, t->rank, t->rank)) return false;
        along one = {axis, size.dims[i], args->scale[i], args->begin[i], args->end[i]};
        int k = i;
        for (; k > 0 && list[k - 1].axis > axis; k--) list[k] = list[k - 1];
        list[k] = one;
    }
    return true;
}

static kn_tensor resample_some(kn_tensor x, const along *list, int n, const kn_resample_args *args)
{
    kni_resample_attributes a = {.axes = {n, {0}},
                                 .size = {n, {0}},
                                 .mode = args->mode,
                                 .transform = args->transform,
                                 .rule = args->rule,
                                 .antialias = args->antialias,
                                 .exclude_outside = args->exclude_outside,
                                 .cubic = kn_real_or(args->cubic, -0.75),
                                 .outside = args->outside};
    for (int i = 0; i < n; i++) {
        a.axes.dims[i] = list[i].axis;
        a.size.dims[i] = list[i].size;
        a.scale[i] = list[i].scale;
        a.begin[i] = list[i].begin;
        a.end[i] = list[i].end;
    }
    return kni_apply(&kni_op_resample, &x, 1, &a);
}

kn_tensor kn_resample(kn_tensor x, kn_ints size, const kn_resample_args *args)
{
    static const kn_resample_args defaults = KN_ZEROED;
    along list[KN_MAX_RANK];
    kni_call call = kni_call_begin("resample");
    const kni_type *t = kni_type_of(x);
    if (!args) args = &defaults;
    if (!t) return kni_call_end(call, kn_neg(x));
    if (!sort_axes(t, size, args, list)) return kni_call_end(call, kni_poison_latest());
    kn_dtype dtype = (kn_dtype)t->dtype;
    bool between = args->mode != KN_RESAMPLE_NEAREST;
    bool whole = between && (KNI_INTS >> dtype & 1), several = size.rank > KNI_RESAMPLE_AXES;
    bool half = between && several && kni_is_half(dtype);
    if (whole || half) x = kn_cast(x, whole && kni_bytes_of(dtype) >= 4 ? KN_F64 : KN_F32);
    for (int i = 0; i < size.rank; i += KNI_RESAMPLE_AXES) {
        int rest = size.rank - i;
        x = resample_some(x, list + i, rest < KNI_RESAMPLE_AXES ? rest : KNI_RESAMPLE_AXES, args);
    }
    if (whole) x = kn_round(x);
    return kni_call_end(call, whole || half ? kn_cast(x, dtype) : x);
}
