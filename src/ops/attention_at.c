/* Attention over the first keys, whose number a tensor holds. So a cache may have room that is not filled yet. */
#include "ops/attention.h"
#include "ops/autocast_state.h"
#include "ops/generated/attention_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/record.h"
#include <kn/contraction.h>
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <kn/tensor.h>

static const kn_attribute schema[] = {KNI_ATTR(kni_attention_attributes, scale, KNI_ATTR_REAL, KNI_STATIC),
                                      KNI_ATTR(kni_attention_attributes, softcap, KNI_ATTR_REAL, KNI_STATIC),
                                      KNI_ATTR(kni_attention_attributes, is_causal, KNI_ATTR_INT, KNI_STATIC),
                                      {0}};

/* The other operands are those of attention, whose rule is asked. */
static kn_status infer(kni_infer *c)
{
    kni_infer plain = *c;
    const kni_type *in[5] = {c->in[0], c->in[1], c->in[2], NULL, NULL};
    for (int i = 4; i < c->n_in; i++) in[i - 1] = c->in[i];
    plain.in = in;
    plain.n_in = 5;
    kn_status s = kni_op_attention.infer(&plain);
    if (s == KN_OK) s = kni_infer_integer(c, 3);
    if (s) return s;
    const kni_type *lengths = c->in[3];
    bool fits =
        lengths->rank == 0 || (lengths->rank == 1 && (kni_dims_agree(lengths->dims[0], 1) ||
                                                      kni_dims_agree(lengths->dims[0], c->in[0]->dims[0])));
    if (fits) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE,
                          "the lengths %S are neither one number nor one for each of the batch of q %S",
                          lengths, c->in[0]);
}

static kn_status launch(kni_launch *l)
{
    const kni_attention_attributes *a = l->attributes;
    const kni_type *q = l->in[0], *k = l->in[1], *v = l->in[2], *lengths = l->in[3];
    l->kernel = &kni_kernel_attention_at;
    l->items = q->dims[0] * q->dims[1] * q->dims[2];
    const int64_t numbers[] = {q->dims[1],
                               k->dims[1],
                               q->dims[2],
                               k->dims[2],
                               q->dims[3],
                               v->dims[3],
                               lengths->rank && lengths->dims[0] > 1,
                               l->n_in > 4 && l->in[4],
                               l->n_in > 5 && l->in[5],
                               a->is_causal != 0};
    kni_launch_ints(l, numbers, KNI_COUNT(numbers));
    kni_attention_push_steps(l, 4);
    kni_attention_push_steps(l, 5);
    kni_launch_real(l, kni_attention_scale(a, q->dims[3]));
    kni_launch_real(l, a->softcap);
    return KN_OK;
}

/* ---- as attention with a mask */

/* bool [batch or 1, 1, queries or 1, keys]: true where the query sees the key. */
static kn_tensor sees(kn_tensor q, kn_tensor k, kn_tensor lengths, bool causal)
{
    int64_t queries = kn_size(q, 2), keys = kn_size(k, 2);
    kn_tensor end = kn_reshape(lengths, KN_SHAPE(-1, 1, 1, 1));
    if (kn_dtype_of(end) != KN_I64) end = kn_cast(end, KN_I64);
    if (causal) {
        kn_tensor i = kn_arange((double)(1 - queries), 1, 1, KN_I64);
        end = kn_add(end, kn_reshape(i, KN_SHAPE(1, 1, queries, 1)));
    }
    return kn_less(kn_arange(0, (double)keys, 1, KN_I64), end);
}

static kn_tensor with_mask(const kn_tensor in[5], kn_tensor lengths, const kni_attention_attributes *a,
                           double dropout)
{
    kn_tensor seen = sees(in[0], in[1], lengths, a->is_causal != 0);
    if (in[3].bits) seen = kn_logical_and(seen, in[3]);
    kn_attention_args args = {
        .mask = seen, .bias = in[4], .scale = a->scale, .softcap = a->softcap, .dropout = dropout};
    return kn_attention(in[0], in[1], in[2], &args);
}

static kn_status lower(kni_lowering *l)
{
    kn_tensor in[5] = {l->in[0], l->in[1], l->in[2], KN_NONE, KN_NONE};
    for (int i = 4; i < l->n_in; i++) in[i - 1] = l->in[i];
    l->out[0] = with_mask(in, l->in[3], l->attributes, 0);
    return KN_OK;
}

OP(attention_at,
   .doc = "attention over the first lengths[b] keys; where it is causal the queries are the last of these",
   .min_in = 4, .max_in = 6, .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = KNI_FLOATS, .tolerance = {8, 1},
   .schema = schema, .attribute_bytes = sizeof(kni_attention_attributes), .autocast = KNI_AUTOCAST_NARROW,
   .infer = infer, .launch = launch, .flags = KNI_FLAG_LOWERS_WELL, .lower = lower)

/* With dropout it is the composite that kn_attention is then, with a mask. */
kn_tensor kni_attend_lengths(const kn_tensor in[5], kn_tensor lengths, const kni_attention_attributes *a,
                             double dropout)
{
    kn_tensor all[6] = {in[0], in[1], in[2], lengths, in[3], in[4]};
    if (dropout == 0) return kni_apply(&kni_op_attention_at, all, 6, a);
    kni_call call = kni_call_begin("attention");
    for (int i = 0; i < 6; i++)
        if (all[i].bits) all[i] = kn_keep(all[i]);
    const kn_tensor kept[5] = {all[0], all[1], all[2], all[4], all[5]};
    for (int i = 0; i < 4; i++)
        if (!kn_ok(all[i])) return kni_call_end(call, kn_neg(all[i]));
    return kni_call_end(call, with_mask(kept, all[3], a, dropout));
}
