/* Runs the ops that layers bring along, and splitting as one of them. */
#include "nn/custom_run.h"
#include "core/objects.h"
#include <kn/creation.h>
#include <kn/shape.h>
#include <kn/tensor.h>

enum { MOST_PARTS = 8 };

static kn_op_handle ensure(kni_custom *custom)
{
    kn_op_handle op = atomic_load(&custom->handle);
    if (op) return op;
    kni_once_begin();
    op = atomic_load(&custom->handle);
    if (!op) {
        op = kn_custom_register(&custom->op);
        atomic_store(&custom->handle, op);
    }
    kni_once_end();
    return op;
}

kn_status kni_custom_run(kni_custom *custom, const kn_tensor *in, kn_tensor *out)
{
    kn_op_handle op = ensure(custom);
    if (op) return kn_custom_call(op, in, out);
    for (int32_t i = 0; i < custom->op.n_out; i++) out[i] = kn_poison(KN_ERROR_MEMORY, NULL);
    return KN_ERROR_MEMORY;
}

/* ---- splitting */

typedef struct split_rule {
    int32_t n;
    bool last; /* axis; else the first */
} split_rule;

static int32_t axis_of(const split_rule *rule, int32_t rank) { return rule->last ? rank - 1 : 0; }

static int64_t part_start(int64_t size, int32_t n, int32_t part)
{
    return size / n * part + size % n * part / n;
}

static kn_status split_infer(void *context, const kn_type *in, kn_type *out)
{
    const split_rule *rule = context;
    int32_t axis = axis_of(rule, in->shape.rank);
    if (in->shape.rank < 1 || in->shape.dims[axis] < rule->n)
        return kn_custom_fail(KN_ERROR_SHAPE, "the axis is too short to be split");
    int64_t size = in->shape.dims[axis];
    for (int32_t i = 0; i < rule->n; i++) {
        out[i] = *in;
        out[i].shape.dims[axis] = part_start(size, rule->n, i + 1) - part_start(size, rule->n, i);
    }
    return KN_OK;
}

static kn_status split_lower(void *context, const kn_tensor *in, kn_tensor *out)
{
    const split_rule *rule = context;
    int32_t axis = axis_of(rule, kn_rank(in[0]));
    int64_t size = kn_size(in[0], axis);
    for (int32_t i = 0; i < rule->n; i++) {
        int64_t start = part_start(size, rule->n, i);
        out[i] = kn_narrow(in[0], axis, start, part_start(size, rule->n, i + 1) - start);
    }
    return KN_OK;
}

static kn_status split_gradient(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                                kn_tensor *grads)
{
    const split_rule *rule = context;
    (void)in;
    kn_tensor parts[MOST_PARTS];
    int32_t rank = 1;
    for (int32_t i = 0; i < rule->n; i++) {
        parts[i] = dy[i].bits ? dy[i] : kn_zeros_like(out[i]);
        if (dy[i].bits) rank = kn_rank(dy[i]);
    }
    grads[0] = kn_concat(parts, rule->n, axis_of(rule, rank));
    return KN_OK;
}

#define SPLIT(count, is_last, text)                                                                          \
    {                                                                                                        \
        {text, 1, count, split_infer, NULL, split_lower, split_gradient, &(split_rule){count, is_last}},     \
            NULL                                                                                             \
    }

static kni_custom first_splits[] = {SPLIT(2, false, "nn_split_first_2"), SPLIT(3, false, "nn_split_first_3"),
                                    SPLIT(4, false, "nn_split_first_4"), SPLIT(5, false, "nn_split_first_5"),
                                    SPLIT(6, false, "nn_split_first_6"), SPLIT(7, false, "nn_split_first_7"),
                                    SPLIT(8, false, "nn_split_first_8")};
static kni_custom last_splits[] = {SPLIT(2, true, "nn_split_last_2"), SPLIT(3, true, "nn_split_last_3"),
                                   SPLIT(4, true, "nn_split_last_4")};

kn_status kni_split_first(kn_tensor x, int32_t n, kn_tensor *out)
{
    return kni_custom_run(&first_splits[n - 2], &x, out);
}

kn_status kni_split_last(kn_tensor x, int32_t n, kn_tensor *out)
{
    return kni_custom_run(&last_splits[n - 2], &x, out);
}

kn_status kni_unstack(kn_tensor x, int64_t count, kn_tensor *out)
{
    if (count == 1) {
        out[0] = kn_squeeze(x, 0);
        return kni_failure_again(out[0]);
    }
    int32_t n = count < MOST_PARTS ? (int32_t)count : MOST_PARTS;
    kn_tensor parts[MOST_PARTS];
    kn_status s = kni_split_first(x, n, parts);
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        int64_t start = part_start(count, n, i);
        s = kni_unstack(parts[i], part_start(count, n, i + 1) - start, out + start);
    }
    return s;
}
