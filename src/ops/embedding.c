/* Rows of a table by index, and the gradient that adds them up again. */
#include "ops/embedding.h"
#include "ops/generated/normalise_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/pieces.h"

static const kn_attribute embedding_schema[] = {
    KNI_ATTR(kni_embedding_attributes, padding, KNI_ATTR_INT, KNI_STATIC), {0}};
static const kn_attribute embedding_grad_schema[] = {
    KNI_ATTR(kni_embedding_grad_attributes, padding, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_embedding_grad_attributes, rows, KNI_ATTR_INT, KNI_STATIC),
    {0}};

static kn_status infer_embedding(kni_infer *c)
{
    const kni_embedding_attributes *a = c->attributes;
    const kni_type *weight = c->in[0], *indices = c->in[1];
    kni_type *y = c->out[0];
    kn_status s = kni_infer_rank(c, 0, 2, 2);
    if (s == KN_OK) s = kni_infer_integer(c, 1);
    if (s == KN_OK) s = kni_infer_rank(c, 1, 0, KN_MAX_RANK - 1);
    if (s) return s;
    if (a->padding < -1 || (weight->dims[0] >= 0 && a->padding >= weight->dims[0]))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "padding_index %D is outside the table %S", a->padding,
                              weight);
    y->dtype = weight->dtype;
    y->rank = (uint8_t)(indices->rank + 1);
    for (int i = 0; i < indices->rank; i++) y->dims[i] = indices->dims[i];
    y->dims[indices->rank] = weight->dims[1];
    return KN_OK;
}

static kn_status infer_embedding_grad(kni_infer *c)
{
    const kni_embedding_grad_attributes *a = c->attributes;
    const kni_type *dy = c->in[0], *indices = c->in[1];
    kn_status s = kni_infer_integer(c, 1);
    if (s == KN_OK) s = kni_infer_dtype(c, 0, KNI_FLOATS);
    if (s) return s;
    bool agrees = dy->rank == indices->rank + 1;
    for (int i = 0; i < indices->rank && agrees; i++) agrees = kni_dims_agree(dy->dims[i], indices->dims[i]);
    if (!agrees)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the gradient %S does not belong to indices %S", dy,
                              indices);
    if (a->rows < 0) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "a table of %D rows", a->rows);
    *c->out[0] = (kni_type){.dtype = dy->dtype, .rank = 2, .dims = {a->rows, dy->dims[indices->rank]}};
    return KN_OK;
}

static kn_status launch_embedding(kni_launch *l)
{
    l->kernel = &kni_kernel_embedding;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, l->in[0]->dims[0]);
    kni_launch_int(l, l->in[0]->dims[1]);
    return KN_OK;
}

static kn_status launch_embedding_grad(kni_launch *l)
{
    const kni_embedding_grad_attributes *a = l->attributes;
    l->kernel = &kni_kernel_embedding_grad;
    l->items = l->out[0]->dims[1];
    kni_launch_int(l, kni_count(l->in[1]));
    kni_launch_int(l, a->rows);
    kni_launch_int(l, l->out[0]->dims[1]);
    kni_launch_int(l, a->padding);
    return KN_OK;
}

OP(embedding, .doc = "weight[indices, :]", .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_INDEXING,
   .dtypes = KNI_ALL, .schema = embedding_schema, .attribute_bytes = sizeof(kni_embedding_attributes),
   .infer = infer_embedding, .launch = launch_embedding, .native = &kni_cpu_embedding)

OP(embedding_grad, .doc = "dweight[r, :] = sum of dy where indices = r, 0 for the padding row", .min_in = 2,
   .max_in = 2, .n_out = 1, .kind = KNI_INDEXING, .dtypes = KNI_FLOATS, .tolerance = {2, 1},
   .schema = embedding_grad_schema, .attribute_bytes = sizeof(kni_embedding_grad_attributes),
   .infer = infer_embedding_grad, .launch = launch_embedding_grad, .native = &kni_cpu_embedding_grad)

GRADIENT(embedding)
{
    const kni_embedding_attributes *a = v->attributes;
    kni_embedding_grad_attributes grad = {a->padding, v->in_types[0].dims[0]};
    kn_tensor in[2] = {v->dy[0], kni_vjp_in(v, 1)};
    kni_vjp_set(v, 0, kni_apply(&kni_op_embedding_grad, in, 2, &grad));
    return KN_OK;
}

PIECE(embedding)
{
    (void)whole, (void)part;
    *piece = (kni_piece){.rows = true, .axis = -1};
    return ((const kni_embedding_attributes *)attributes)->padding < 0;
}

kn_tensor kni_put_rows(const kni_type *whole, kn_tensor dy, kn_tensor indices)
{
    kni_embedding_grad_attributes a = {-1, whole->dims[0]};
    kn_tensor in[2] = {dy, indices};
    return kni_apply(&kni_op_embedding_grad, in, 2, &a);
}

/* Linear in dy: its gradient picks the rows again, with nothing from the padding row. */
GRADIENT(embedding_grad)
{
    const kni_embedding_grad_attributes *a = v->attributes;
    kni_embedding_attributes pick = {a->padding};
    kn_tensor indices = kni_vjp_in(v, 1), in[2] = {v->dy[0], indices};
    kn_tensor y = kn_keep(kni_apply(&kni_op_embedding, in, 2, &pick));
    if (a->padding >= 0) {
        kn_tensor padded = kn_unsqueeze(kn_equal_scalar(indices, (double)a->padding), -1);
        y = kn_where(padded, kn_zeros_like(y), y);
    }
    kni_vjp_set(v, 0, y);
    return KN_OK;
}

kn_tensor kn_embedding(kn_tensor weight, kn_tensor indices, const kn_embedding_args *args)
{
    kni_embedding_attributes a = {-1};
    const kni_tensor *w = kni_peek(weight);
    if (args && args->padding_index == KN_ZERO)
        a.padding = 0;
    else if (args && args->padding_index > 0)
        a.padding = args->padding_index;
    else if (args && args->padding_index < 0 && w && w->type.rank == 2)
        a.padding =
            args->padding_index + w->type.dims[0] < 0 ? INT64_MAX : args->padding_index + w->type.dims[0];
    kn_tensor in[2] = {weight, indices};
    return kni_apply(&kni_op_embedding, in, 2, &a);
}
