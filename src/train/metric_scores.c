/* Class scores and targets of a step in one shape, and reading tensors into memory. */
#include "train/metric_scores.h"
#include "support/failure.h"
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>

/* Whether the axes of a but one are those of b. */
static bool fits_without(const kn_shape *a, int32_t axis, const kn_shape *b)
{
    if (a->rank != b->rank + 1) return false;
    for (int32_t i = 0; i < b->rank; i++)
        if (a->dims[i < axis ? i : i + 1] != b->dims[i]) return false;
    return true;
}

static bool same_shape(const kn_shape *a, const kn_shape *b)
{
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) same = a->dims[i] == b->dims[i];
    return same;
}

static kn_tensor rows(kn_tensor t, int64_t n, int64_t columns)
{
    return kn_keep(kn_reshape(t, KN_SHAPE(n, columns)));
}

static kn_status finish(kni_classes *c)
{
    kn_status status = kni_failure_of(c->scores);
    return status ? status : kni_failure_of(c->targets);
}

kn_status kni_classes_of(const kn_step_output *output, const char *name, kni_classes *classes)
{
    kni_classes *c = classes;
    if (!output->scores.bits || !output->targets.bits)
        return kni_failure(KN_ERROR_ARGUMENT, "metric %s: the step returned no scores or no targets", name);
    kn_shape s = kn_shape_of_tensor(output->scores), t = kn_shape_of_tensor(output->targets);
    int64_t count = kn_count(output->scores), positions = kn_count(output->targets);
    if (count < 0 || positions < 0) return KN_ERROR_HANDLE;
    kn_tensor ids = kn_cast(output->targets, KN_I64);
    bool last = s.rank > 0 && fits_without(&s, s.rank - 1, &t), second = fits_without(&s, 1, &t);
    c->labelled = same_shape(&s, &t) || (last && s.dims[s.rank - 1] == 1);
    if (c->labelled) {
        c->count = same_shape(&s, &t) && s.rank > 1 ? s.dims[s.rank - 1] : 1;
        c->n = c->count ? count / c->count : 0;
        c->scores = rows(output->scores, c->n, c->count);
        c->targets = rows(ids, c->n, c->count);
        return finish(c);
    }
    if (!last && !second)
        return kni_failure(KN_ERROR_SHAPE,
                           "metric %s: scores of rank %d and targets of rank %d: scores want one axis of "
                           "classes more than targets, and the other sizes equal",
                           name, (int)s.rank, (int)t.rank);
    c->n = positions;
    c->count = s.dims[last ? s.rank - 1 : 1];
    kn_tensor scores = last ? kn_alias(output->scores) : kn_movedim(output->scores, KN_INTS(1), KN_INTS(-1));
    c->scores = rows(scores, c->n, c->count);
    c->targets = kn_keep(kn_reshape(ids, KN_SHAPE(c->n)));
    return finish(c);
}

void *kni_read_new(kn_tensor t, kn_dtype dtype)
{
    int64_t n = kn_count(t), bytes = n < 0 ? -1 : kn_dtype_bytes(dtype, n);
    if (bytes < 0) {
        kni_failure_of(t);
        return NULL;
    }
    void *data = malloc((size_t)bytes + 1);
    if (!data) {
        kni_failure_memory("reading a tensor");
        return NULL;
    }
    if (kn_read_as(t, dtype, data, (size_t)bytes) == KN_OK) return data;
    free(data);
    return NULL;
}
