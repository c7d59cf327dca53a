/* The whole-number attributes that may be symbolic sizes. Shape rules compute with these through core/dim.h; all others they compare and
   compute with as they are, so an expression there would be read as the number that stands for it. */
#include "ops/size_attributes.h"
#include "core/dim.h"
#include "core/error.h"
#include "ops/movement_rows.h"
#include <string.h>

/* below_zero: the numbers may be negative, because they are data or places that count from the end. */
static const struct {
    const char *op, *attributes[3], *below_zero[2];
} taken[] = {
    {"adaptive_avg_pool", {"size"}, {NULL}},
    {"adaptive_max_pool", {"size"}, {NULL}},
    {"bincount", {"length"}, {NULL}},
    {"categorical", {"samples"}, {NULL}},
    {"col2im", {"size"}, {NULL}},
    {"expand", {"shape"}, {NULL}},
    {"full", {"shape", "whole"}, {"whole"}},
    {"interpolate", {"size"}, {NULL}},
    {"iota", {"length", "whole_start", "whole_step"}, {"whole_start", "whole_step"}},
    {"linspace", {"length"}, {NULL}},
    {"nms", {"limit"}, {NULL}},
    {"nonzero", {"capacity"}, {NULL}},
    {"pad", {"before", "after"}, {NULL}},
    {"random_bernoulli", {"shape"}, {NULL}},
    {"random_bits", {"shape"}, {NULL}},
    {"random_int", {"shape"}, {NULL}},
    {"random_normal", {"shape"}, {NULL}},
    {"random_uniform", {"shape"}, {NULL}},
    {"resample", {"size"}, {NULL}},
    {"reshape", {"shape"}, {NULL}},
    {"slice", {"start", "stop"}, {"start", "stop"}},
    {"topk", {"k"}, {NULL}},
    {"update_slice", {"start", "stop"}, {"start", "stop"}},
};

static bool is_among(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n && names[i]; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

bool kni_takes_size(const kn_op *row, const char *attribute)
{
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!strcmp(taken[i].op, row->name)) return is_among(taken[i].attributes, 3, attribute);
    return false;
}

bool kni_takes_negative(const kn_op *row, const char *attribute)
{
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (!strcmp(taken[i].op, row->name)) return is_among(taken[i].below_zero, 2, attribute);
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
