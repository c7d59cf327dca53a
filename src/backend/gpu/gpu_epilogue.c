/* Which records may follow a product, and what of them a library's epilogue expresses exactly: a bias of the columns, relu,
   the tanh form of gelu and its gradient, another matrix added, and a wider result. */
#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/gpu_recording.h"
#include "ops/body_form.h"

static bool is_half(int dtype) { return kni_is_half(dtype); }

/* False for convolutions. */
static bool sizes_of(const kn_record *r, kni_gpu_sizes *sizes)
{
    const kni_gpu_product_entry *product = kni_gpu_product_of(r->row);
    if (!product || !product->sizes) return false;
    *sizes = product->sizes(r);
    return true;
}

/* An operand from outside, in memory of its own, whose elements lie in order. */
static bool lies_in_order(const kni_tensor *x, int dtype)
{
    return x && x->storage && x->type.dtype == dtype &&
           kni_is_contiguous(x->type.rank, x->type.dims, x->strides);
}

/* A sum with another matrix or with a bias of the columns. */
static kni_tail_answer add_sum(kni_gpu_tail *t, const kn_record *r, kni_tensor *other, bool biased,
                               int64_t columns)
{
    const kni_type *y = &kni_out(r, 0)->type;
    if (t->epilogue || t->added || !lies_in_order(other, y->dtype)) return KNI_TAIL_NO;
    if (kni_same_dims(&other->type, y)) {
        t->added = other;
        return KNI_TAIL_LAST;
    }
    if (t->bias || biased || kni_count(&other->type) != columns || y->dims[y->rank - 1] != columns ||
        !other->type.rank || other->type.dims[other->type.rank - 1] != columns)
        return KNI_TAIL_NO;
    t->bias = other;
    t->epilogue |= KNI_EPILOGUE_BIAS;
    return KNI_TAIL_ONLY;
}

/* What may follow a convolution: another image, then relu. Bounds above are not the library's, whose compiled engines have none. */
static kni_tail_answer add_to_convolution(kni_gpu_tail *t, const kn_record *head, const kn_record *r,
                                          int which)
{
    const kni_type *y = &kni_out(r, 0)->type;
    const kni_gpu_product_entry *product = kni_gpu_product_of(head->row);
    if (product->what != KNI_CONV_FORWARD || kni_in(r, which)->type.dtype != y->dtype || t->epilogue)
        return KNI_TAIL_NO;
    const kni_form form = kni_body_form(r->row->body);
    if (form == KNI_FORM_RELU && r->n_in == 1) {
        t->epilogue = KNI_EPILOGUE_RELU;
        return KNI_TAIL_ONLY;
    }
    kni_tensor *other = form == KNI_FORM_ADD && r->n_in == 2 ? kni_in(r, 1 - which) : NULL;
    if (t->added || !lies_in_order(other, y->dtype) || !kni_same_dims(&other->type, y)) return KNI_TAIL_NO;
    t->added = other;
    return KNI_TAIL_ONLY;
}

/* One more record, whose operand `which` is what the product has become so far. */
static kni_tail_answer add_step(kni_gpu_tail *t, const kn_record *head, const kn_record *r, int which)
{
    kni_gpu_sizes sizes;
    int from = kni_in(r, which)->type.dtype, to = kni_out(r, 0)->type.dtype;
    if (!sizes_of(head, &sizes)) return add_to_convolution(t, head, r, which);
    bool plain = !t->epilogue && !t->added && !t->bias, biased = head->n_in > 2 && kni_in(head, 2);
    bool widened = kni_out(head, 0)->type.dtype != from;
    kni_tensor *other = r->n_in == 2 ? kni_in(r, 1 - which) : NULL;
    if (kni_converts(r->row)) {
        if (!plain || biased || !is_half(from) || to != KN_F32) return KNI_TAIL_NO;
        return KNI_TAIL_LAST;
    }
    if (from != to || widened) return KNI_TAIL_NO;
    kni_form form = kni_body_form(r->row->body);
    if (form == KNI_FORM_ADD) return add_sum(t, r, other, biased, sizes.n);
    if (form == KNI_FORM_RELU && r->n_in == 1) {
        if (t->epilogue & ~KNI_EPILOGUE_BIAS) return KNI_TAIL_NO;
        t->epilogue |= KNI_EPILOGUE_RELU;
        return KNI_TAIL_ONLY;
    }
    switch (r->row->known) {
    case KNI_KNOWN_GELU_TANH:
        /* Libraries compute it with fewer digits than f32 has. */
        if (t->epilogue & ~KNI_EPILOGUE_BIAS || !is_half(to)) return KNI_TAIL_NO;
        t->epilogue |= KNI_EPILOGUE_GELU;
        return KNI_TAIL_ONLY;
    case KNI_KNOWN_GELU_TANH_GRAD:
        if (!plain || biased || which != 0 || !is_half(to) || !lies_in_order(other, to) ||
            !kni_same_dims(&other->type, &kni_out(r, 0)->type))
            return KNI_TAIL_NO;
        t->aux = other;
        t->epilogue |= KNI_EPILOGUE_GELU_GRAD;
        return KNI_TAIL_ONLY;
    default:
        return KNI_TAIL_NO;
    }
}

/* A sum after a bias would be one before it. */
static bool in_library_order(const kni_gpu_tail *t) { return !(t->bias && t->added); }

/* The only operand of r whose memory, or promise of it, is that of x; -1. */
static int reader_of(const kn_record *r, const kni_tensor *x)
{
    int which = -1;
    for (int i = 0; i < r->n_in; i++) {
        if (!kni_in(r, i) || !x->storage || kni_in(r, i)->storage != x->storage) continue;
        if (which >= 0) return -1;
        which = i;
    }
    return which;
}

bool kni_gpu_kernel_first(const kni_gpu *g, const kn_record *head)
{
    kni_gpu_sizes s;
    int dtype = kni_out(head, 0)->type.dtype;
    if (!sizes_of(head, &s)) return kni_gpu_conv_kernel_first(g, head, kni_gpu_product_of(head->row)->what);
    return kni_gpu_prefers_kernel(g, dtype, s.m, s.n, s.k, s.batch);
}

kn_follow kni_gpu_follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next)
{
    const kn_record *head = records[0];
    if (!kni_gpu_product_of(head->row) || kni_dtypes[kni_out(head, 0)->type.dtype].kind != KNI_KIND_FLOAT)
        return KNI_TAIL_NO;
    /* A recording of a product cannot be given other numbers. */
    if (kni_gpu_numbers_bytes(&next, 1)) return KNI_TAIL_NO;
    if (kni_gpu_kernel_first(kni_gpu_of(b), head)) return KNI_TAIL_YES;
    kni_gpu_tail t = {.epilogue = 0};
    for (int32_t i = 1; i <= n; i++) {
        const kn_record *r = i < n ? records[i] : next;
        int which = reader_of(r, kni_out(records[i - 1], 0));
        if (which < 0) return KNI_TAIL_NO;
        for (int j = 0; j < i - 1; j++)
            if (reader_of(r, kni_out(records[j], 0)) >= 0) return KNI_TAIL_NO;
        kni_tail_answer answer = add_step(&t, head, r, which);
        if (answer == KNI_TAIL_NO || !in_library_order(&t)) return KNI_TAIL_NO;
        if (i == n) return answer;
    }
    return KNI_TAIL_NO;
}

/* ---- when it runs: ids are the group's, views inside it are records */

static bool made_before(const kni_group *g, int record, uint32_t id)
{
    for (int i = 0; i < record; i++)
        for (int k = 0; k < g->records[i]->n_out; k++)
            if (g->records[i]->ids[k] == id) return true;
    return false;
}

bool kni_gpu_find_epilogue(const kni_group *group, kni_gpu_tail *tail)
{
    const kn_record *head = group->records[0];
    uint32_t value = head->ids[0], made = value;
    for (int i = 1; i < group->n_records; i++) {
        const kn_record *r = group->records[i];
        int which = -1;
        for (int k = 0; k < r->n_in; k++) {
            uint32_t id = r->ids[r->n_out + k];
            if (id == value && which < 0)
                which = k;
            else if (id == value || made_before(group, i, id))
                return false;
        }
        if (which < 0) return false;
        value = r->ids[0];
        if (r->row->view) {
            if (kni_count(&kni_in(r, 0)->type) != kni_count(&kni_out(r, 0)->type)) return false;
            continue;
        }
        if (add_step(tail, head, r, which) == KNI_TAIL_NO || !in_library_order(tail)) return false;
        made = r->ids[0];
    }
    /* A library keeps nothing of what comes before. */
    if (group->n_outputs != 1 || group->outputs[0] != made) return false;
    tail->result = kni_slot(made);
    return true;
}
