/* The whole-number attributes that may be symbolic sizes. Shape rules compute with these through core/dim.h; all others they compare and
   compute with as they are, so an expression there would be read as the number that stands for it. */
#include "ops/size_attributes.h"
#include "core/dim.h"
#include "core/error.h"
#include "ops/movement_rows.h"
#include <string.h>

static const struct {
    const char *op, *attributes[3];
} taken[] = {
    {"adaptive_avg_pool", {"size"}},
    {"adaptive_max_pool", {"size"}},
    {"bincount", {"length"}},
    {"categorical", {"samples"}},
    {"col2im", {"size"}},
    {"expand", {"shape"}},
    {"full", {"shape", "whole"}},
    {"interpolate", {"size"}},
    {"iota", {"length", "whole_start", "whole_step"}},
    {"linspace", {"length"}},
    {"nms", {"limit"}},
    {"nonzero", {"capacity"}},
    {"pad", {"before", "after"}},
    {"random_bernoulli", {"shape"}},
    {"random_bits", {"shape"}},
    {"random_int", {"shape"}},
    {"random_normal", {"shape"}},
    {"random_uniform", {"shape"}},
    {"resample", {"size"}},
    {"reshape", {"shape"}},
    {"slice", {"start", "stop"}},
    {"topk", {"k"}},
    {"update_slice", {"start", "stop"}},
};

bool kni_takes_size(const kn_op *row, const char *attribute)
{
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        for (int k = 0; k < 3 && taken[i].attributes[k]; k++)
            if (!strcmp(taken[i].attributes[k], attribute) && !strcmp(taken[i].op, row->name)) return true;
    return false;
}

kn_status kni_check_sizes(const kn_op *row, const char *attribute, const int64_t *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (kni_dim_kind_of(values[i]) != KNI_DIM_CONSTANT && !kni_takes_size(row, attribute))
            return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name,
                               "%s takes no symbolic size, and '%D' is one: write it as a number", attribute,
                               values[i]);
    return KN_OK;
}

/* Where slices begin: a position that is clamped, and a sum over several axes, which no two products give. */
int32_t kni_sizes_beside(const kn_op *row, const void *attributes, const kni_type *x, kn_dim *sizes)
{
    int32_t n = 0;
    if (row != &kni_op_slice && row != &kni_op_update_slice) return 0;
    for (; n < x->rank; n++) sizes[n] = kni_slice_begin(attributes, x, n);
    sizes[n++] = kni_slice_offset(attributes, x);
    return n;
}
