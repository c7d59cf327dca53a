/* Runs the ops that layers bring along, and cuts tensors into parts. */
#include "nn/custom_run.h"
#include "core/objects.h"
#include "support/failure.h"
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

static int64_t part_start(int64_t size, int32_t n, int32_t part)
{
    return size / n * part + size % n * part / n;
}

static kn_status split(kn_tensor x, int32_t axis, int32_t n, kn_tensor *out)
{
    kn_status s = KN_OK;
    x = kn_keep(kn_alias(x)); /* one's own, so that it ends here whoever has x */
    int64_t size = kn_size(x, axis);
    for (int32_t i = 0; i < n; i++) {
        int64_t start = part_start(size, n, i);
        out[i] = kn_narrow(x, axis, start, part_start(size, n, i + 1) - start);
        if (s == KN_OK) s = kni_failure_again(out[i]);
    }
    kn_drop(x);
    return s;
}

kn_status kni_split_last(kn_tensor x, int32_t n, kn_tensor *out) { return split(x, -1, n, out); }

kn_status kni_unstack(kn_tensor x, int64_t count, kn_tensor *out)
{
    if (count == 1) {
        out[0] = kn_squeeze(x, 0);
        return kni_failure_again(out[0]);
    }
    int32_t n = count < MOST_PARTS ? (int32_t)count : MOST_PARTS;
    kn_tensor parts[MOST_PARTS];
    kn_status s = split(x, 0, n, parts);
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        int64_t start = part_start(count, n, i);
        s = kni_unstack(parts[i], part_start(count, n, i + 1) - start, out + start);
    }
    return s;
}
