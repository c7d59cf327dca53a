/* Operands and results of programs of lines, in the order of the lines. */
#include "backend/cpu/line_job.h"
#include "backend/host/host.h"
#include "backend/host/host_copy.h"

static int level_of(const kni_line_job *j, int i) { return j->r->row->body->operands[i] & KNI_OPERAND_LEVEL; }

/* How many elements belong to a level. */
static int64_t count_at(const kni_line_job *j, int level)
{
    return (level & KNI_LEVEL_LINE ? j->lines : 1) * (level & KNI_LEVEL_PLACE ? j->n : 1);
}

bool kni_line_shapes_fit(const kni_line_job *j)
{
    for (int i = 0; i < j->r->n_in; i++) {
        const kni_tensor *x = kni_in(j->r, i);
        int level = level_of(j, i);
        if (!x) continue;
        if (level == KNI_LEVEL_ELEMENT ? x->type.rank > j->shape.rank
                                       : kni_count(&x->type) != count_at(j, level))
            return false;
    }
    for (int k = 0; k < j->r->n_out; k++)
        if (kni_count(&kni_out(j->r, k)->type) != count_at(j, level_of(j, j->r->row->body->n_in + k)))
            return false;
    return true;
}

/* A copy of the operand's elements where they do not lie in the order of `dims`. */
static bool straighten(kni_line_operand *x, int rank, const int64_t *dims, const int64_t *strides)
{
    int64_t order[KN_MAX_RANK];
    if (kni_is_contiguous(rank, dims, strides)) return true;
    x->copy = kni_storage_new((size_t)(kni_count_dims(rank, dims) * x->bytes));
    if (!x->copy) return false;
    kni_contiguous_strides(rank, dims, order);
    kni_host_copy(x->copy->data, order, x->data, strides, rank, dims, (size_t)x->bytes);
    x->data = x->copy->data;
    return true;
}

/* What belongs to an element lies as the lines do, and may be broadcast; what belongs to lines or places is a list of these. */
static bool start_operand(kni_line_job *j, int i)
{
    kni_line_operand *x = &j->in[i];
    kni_tensor *slot = i < j->r->n_in ? kni_in(j->r, i) : NULL;
    const kni_line_shape *t = &j->shape;
    int64_t strides[KN_MAX_RANK];
    if (!slot) {
        x->absent = true;
        x->value = j->r->row->body->operands[i] & KNI_OPERAND_ONE ? 1 : 0;
        return true;
    }
    x->data = kni_pointer(slot);
    x->dtype = slot->type.dtype;
    x->bytes = (int)kni_element_bytes(slot);
    if (level_of(j, i) != KNI_LEVEL_ELEMENT)
        return straighten(x, slot->type.rank, slot->type.dims, slot->strides);
    for (int a = 0; a < t->rank; a++) {
        int own = t->axes[a] - (t->rank - slot->type.rank);
        strides[a] = own < 0 || slot->type.dims[own] == 1 ? 0 : slot->strides[own];
    }
    return straighten(x, t->rank, t->dims, strides);
}

static bool start_result(kni_line_job *j, int k)
{
    kni_line_output *y = &j->out[k];
    kni_tensor *slot = kni_out(j->r, k);
    y->data = slot->storage->data;
    y->dtype = slot->type.dtype;
    y->bytes = (int)kni_element_bytes(slot);
    if (level_of(j, j->r->row->body->n_in + k) != KNI_LEVEL_ELEMENT || !j->shape.turned) return true;
    y->turned = kni_storage_new((size_t)(j->lines * j->n * y->bytes));
    if (y->turned) y->data = y->turned->data;
    return y->turned != NULL;
}

bool kni_line_start_operands(kni_line_job *j)
{
    bool good = true;
    for (int i = 0; i < j->r->row->body->n_in && good; i++) good = start_operand(j, i);
    for (int k = 0; k < j->r->n_out && good; k++) good = start_result(j, k);
    return good;
}

void kni_line_end_operands(kni_line_job *j)
{
    for (int i = 0; i < KNI_BODY_OPERANDS; i++) {
        if (j->in[i].copy) kni_storage_release(j->in[i].copy);
        if (j->out[i].turned) kni_storage_release(j->out[i].turned);
    }
}

void kni_line_turn_results(const kni_line_job *j)
{
    const kni_line_shape *t = &j->shape;
    int64_t from[KN_MAX_RANK], strides[KN_MAX_RANK];
    for (int k = 0; k < j->r->n_out; k++) {
        const kni_line_output *y = &j->out[k];
        const kni_tensor *slot = kni_out(j->r, k);
        if (!y->turned) continue;
        kni_contiguous_strides(t->rank, t->dims, from);
        for (int a = 0; a < t->rank; a++) strides[a] = slot->strides[t->axes[a]];
        kni_host_copy(slot->storage->data, strides, y->data, from, t->rank, t->dims, (size_t)y->bytes);
    }
}
