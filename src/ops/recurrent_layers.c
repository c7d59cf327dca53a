/* Stacked recurrent layers over whole sequences, and their gradient, as one record each: the form in which libraries have them.
   The weights come as one vector, so that a device hands them on as they lie. */
#include "ops/recurrent_layers.h"
#include "core/device_object.h"
#include "ops/infer.h"
#include "ops/wide.h"
#include <kn/functional.h>

static const kn_attribute layers_schema[] = {
    KNI_ATTR(kni_layers_attributes, cell, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_layers_attributes, layers, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_layers_attributes, directions, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_layers_attributes, hidden, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_layers_attributes, biased, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_layers_attributes, keeps, KNI_ATTR_INT, KNI_STATIC),
    {0}};

/* ---- shape rules */

static kn_status check_attributes(const kni_infer *c)
{
    const kni_layers_attributes *a = c->attributes;
    if (a->cell < KNI_RECURRENT_RNN || a->cell > KNI_RECURRENT_LSTM)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                              "cell is %D, none of KN_LAYERS_RNN, KN_LAYERS_GRU and KN_LAYERS_LSTM", a->cell);
    if (a->layers < 1 || a->layers > KNI_LAYERS_MOST)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there are %D layers; 1 to %D are possible", a->layers,
                              (int64_t)KNI_LAYERS_MOST);
    if (a->directions < 1 || a->directions > 2)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there are %D directions; 1 or 2 are possible",
                              a->directions);
    if (a->hidden < 1 || a->hidden > KNI_LAYERS_HIDDEN_MOST)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the hidden size is %D; 1 to %D are possible", a->hidden,
                              (int64_t)KNI_LAYERS_HIDDEN_MOST);
    return KN_OK;
}

static kn_status check_like(const kni_infer *c, int i, const char *what, const kni_type *due)
{
    const kni_type *t = i < c->n_in ? c->in[i] : NULL;
    if (!t) return KN_OK;
    bool fits = t->rank == due->rank;
    for (int k = 0; k < due->rank && fits; k++) fits = kni_dims_agree(t->dims[k], due->dims[k]);
    if (!fits)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%s must be %S for x %S, not %S", what, due, c->in[0], t);
    if (t->dtype == due->dtype) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_DTYPE, "x is %T and %s %T: convert one with kn_cast()", (int)due->dtype,
                          what, (int)t->dtype);
}

/* What tensors must be; x is checked. */
typedef struct due_types {
    kni_type x, weights, state, y;
} due_types;

static due_types find_due(const kni_infer *c)
{
    const kni_layers_attributes *a = c->attributes;
    const kni_type *x = c->in[KNI_LAYERS_X];
    const int64_t rows = kni_layers_gates(a->cell) * a->hidden, all = a->layers * a->directions;
    const int64_t later = (a->layers - 1) * a->directions * rows * (a->directions + 1) * a->hidden;
    const kn_dim first = kni_dim_mul(kni_dim_add(x->dims[2], a->hidden), a->directions * rows);
    const kn_dim total = kni_dim_add(first, later + (a->biased ? all * 2 * rows : 0));
    due_types due = {
        *x,
        {.dtype = x->dtype, .rank = 1, .dims = {total}},
        {.dtype = x->dtype, .rank = 3, .dims = {all, x->dims[1], a->hidden}},
        {.dtype = x->dtype, .rank = 3, .dims = {x->dims[0], x->dims[1], a->directions * a->hidden}}};
    due.x.weak = 0;
    return due;
}

static kn_status check_first(const kni_infer *c, due_types *due)
{
    kn_status s = check_attributes(c);
    if (s == KN_OK) s = kni_infer_dtype(c, KNI_LAYERS_X, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_rank(c, KNI_LAYERS_X, 3, 3);
    if (s) return s;
    if (c->in[KNI_LAYERS_X]->dims[0] == 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "x %S has no steps; at least one is needed", c->in[0]);
    *due = find_due(c);
    return check_like(c, KNI_LAYERS_WEIGHTS, "the weights", &due->weights);
}

static kn_status check_state(const kni_infer *c, int i, const char *what, const kni_type *due, bool of_lstm)
{
    const kni_layers_attributes *a = c->attributes;
    if (of_lstm && a->cell != KNI_RECURRENT_LSTM && i < c->n_in && c->in[i])
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "only lstm has a state c");
    return check_like(c, i, what, due);
}

/* The state c of cells that have none. */
static kni_type no_state(const kni_type *x) { return (kni_type){.dtype = x->dtype, .rank = 1, .dims = {0}}; }

static kn_status infer_layers(kni_infer *c)
{
    const kni_layers_attributes *a = c->attributes;
    due_types due;
    kn_status s = check_first(c, &due);
    if (s == KN_OK) s = check_state(c, KNI_LAYERS_H, "the initial h", &due.state, false);
    if (s == KN_OK) s = check_state(c, KNI_LAYERS_C, "the initial c", &due.state, true);
    if (s) return s;
    *c->out[0] = due.y;
    *c->out[1] = due.state;
    *c->out[2] = a->cell == KNI_RECURRENT_LSTM ? due.state : no_state(c->in[0]);
    return KN_OK;
}

static kn_status infer_layers_grad(kni_infer *c)
{
    const kni_layers_attributes *a = c->attributes;
    due_types due;
    kn_status s = check_first(c, &due);
    if (s == KN_OK) s = check_like(c, KNI_LAYERS_GRAD_Y, "y", &due.y);
    if (s == KN_OK) s = check_like(c, KNI_LAYERS_GRAD_DY, "the gradient by y", &due.y);
    if (s == KN_OK) s = check_state(c, KNI_LAYERS_GRAD_H, "the initial h", &due.state, false);
    if (s == KN_OK) s = check_state(c, KNI_LAYERS_GRAD_C, "the initial c", &due.state, true);
    if (s == KN_OK) s = check_state(c, KNI_LAYERS_GRAD_DH, "the gradient by the last h", &due.state, false);
    if (s == KN_OK) s = check_state(c, KNI_LAYERS_GRAD_DC, "the gradient by the last c", &due.state, true);
    if (s) return s;
    *c->out[0] = due.x;
    *c->out[1] = due.weights;
    *c->out[2] = due.state;
    *c->out[3] = a->cell == KNI_RECURRENT_LSTM ? due.state : no_state(c->in[0]);
    return KN_OK;
}

OP(recurrent_layers,
   .doc = "y, h, c of stacked rnn, gru or lstm layers over whole sequences, all weights in one vector",
   .min_in = 2, .max_in = KNI_LAYERS_IN, .n_out = 3, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS,
   .tolerance = {32, 4}, .schema = layers_schema, .attribute_bytes = sizeof(kni_layers_attributes),
   .flags = KNI_FLAG_LOWERS_EARLY, .infer = infer_layers, .lower = kni_layers_lower)

OP(recurrent_layers_grad,
   .doc = "the gradients of recurrent_layers by x, the weights, and the states before the first step",
   .min_in = 4, .max_in = KNI_LAYERS_GRAD_IN, .n_out = 4, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS,
   .tolerance = {64, 4}, .schema = layers_schema, .attribute_bytes = sizeof(kni_layers_attributes),
   .flags = KNI_FLAG_LOWERS_EARLY, .infer = infer_layers_grad, .lower = kni_layers_lower_grad)

GRADIENT(recurrent_layers)
{
    const bool has_c = ((const kni_layers_attributes *)v->attributes)->cell == KNI_RECURRENT_LSTM;
    kn_tensor y = kni_vjp_out(v, 0), out[4];
    kn_tensor in[KNI_LAYERS_GRAD_IN] = {kni_vjp_in(v, KNI_LAYERS_X), kni_vjp_in(v, KNI_LAYERS_WEIGHTS), y,
                                        v->dy[0].bits ? v->dy[0] : kn_zeros_like(y)};
    if (v->n_in > KNI_LAYERS_H) in[KNI_LAYERS_GRAD_H] = kni_vjp_in(v, KNI_LAYERS_H);
    if (v->n_in > KNI_LAYERS_C) in[KNI_LAYERS_GRAD_C] = kni_vjp_in(v, KNI_LAYERS_C);
    in[KNI_LAYERS_GRAD_DH] = v->dy[1];
    if (has_c) in[KNI_LAYERS_GRAD_DC] = v->dy[2];
    kni_apply_many(&kni_op_recurrent_layers_grad, in, KNI_LAYERS_GRAD_IN, v->attributes, out, 4);
    for (int i = 0; i < 4; i++) {
        if (i < v->n_in && kni_vjp_needs(v, i))
            kni_vjp_set(v, i, out[i]);
        else
            kn_drop(out[i]);
    }
    return KN_OK;
}

/* ---- the public functions */

static bool is_native(kn_tensor x, int dtype)
{
    const kni_tensor *t = kn_ok(x) ? kni_peek(x) : NULL;
    kn_backend *leaf = t && t->device ? t->device->leaf : NULL;
    const char *why = NULL;
    if (!leaf || !leaf->supports || t->device->host) return false;
    return leaf->supports(leaf, &kni_op_recurrent_layers, (kn_dtype)dtype, &why) == KN_SUPPORT_NATIVE;
}

/* The dtype that the layers are computed in: what autocast asks for, or that of x, where the device has it, else f32. */
static int computes_in(kn_tensor x)
{
    const int dtype = kn_dtype_of(x), narrow = kni_this_thread.context.autocast;
    const int wanted = narrow && (dtype == KN_F32 || kni_is_half(dtype)) ? narrow : dtype;
    return kni_is_half(wanted) && !is_native(x, wanted) && is_native(x, KN_F32) ? KN_F32 : wanted;
}

int32_t kn_recurrent_layers_at_once(kn_tensor x)
{
    const kni_tensor *t = kn_ok(x) ? kni_peek(x) : NULL;
    if (!t || !t->device || t->device->host) return 0;
    if (is_native(x, computes_in(x))) return INT32_MAX;
    /* Ops compute halves in f32, where single steps have products in 16 bits. */
    return kni_is_half(computes_in(x)) ? 0 : 1;
}

static bool is_tracked(const kn_tensor *in, int n)
{
    for (int i = 0; i < n; i++)
        if (in[i].bits && kni_peek(in[i]) && kni_peek(in[i])->node) return true;
    return false;
}

kn_recurrent_result kn_recurrent_layers(kn_tensor x, kn_tensor weights, const kn_recurrent_layers_args *args)
{
    static const kn_recurrent_layers_args defaults = {.hidden = 0};
    const kn_recurrent_layers_args *g = args ? args : &defaults;
    kn_tensor in[KNI_LAYERS_IN] = {x, weights, g->h, g->c}, out[3] = {KN_NONE, KN_NONE, KN_NONE};
    const int given = kn_ok(x) ? kn_dtype_of(x) : KN_F32, dtype = kn_ok(x) ? computes_in(x) : KN_F32;
    const bool casts = dtype != given,
               back = casts && kni_is_half(given) && !kni_this_thread.context.autocast;
    kni_layers_attributes a = {.cell = (int64_t)g->cell - 1,
                               .layers = kn_int_or(g->layers, 1),
                               .directions = g->bidirectional ? 2 : 1,
                               .hidden = g->hidden,
                               .biased = !g->no_bias};
    kni_call call = kni_call_begin("recurrent_layers");
    a.keeps = !kni_this_thread.context.no_grad && is_tracked(in, KNI_LAYERS_IN);
    /* Operands of other dtypes than x are the caller's mistake, which the shape rules tell. */
    bool alike = true;
    for (int i = 0; i < KNI_LAYERS_IN; i++)
        alike &= !in[i].bits || !kn_ok(in[i]) || (int)kn_dtype_of(in[i]) == given;
    for (int i = 0; i < KNI_LAYERS_IN; i++)
        if ((kni_this_thread.context.autocast || (casts && alike)) && in[i].bits && kn_ok(in[i]) &&
            kn_dtype_of(in[i]) != (kn_dtype)dtype &&
            (kn_dtype_of(in[i]) == KN_F32 || kni_is_half(kn_dtype_of(in[i]))))
            in[i] = kn_cast(in[i], (kn_dtype)dtype);
    kni_apply_many(&kni_op_recurrent_layers, in, KNI_LAYERS_IN, &a, out, 3);
    for (int i = 0; i < 3 && back; i++) out[i] = kn_cast(out[i], (kn_dtype)given);
    kni_call_end_many(call, out, 3);
    if (a.cell != KNI_RECURRENT_LSTM && kn_ok(out[2])) {
        kn_drop(out[2]);
        out[2] = KN_NONE;
    }
    return (kn_recurrent_result){out[0], out[1], out[2]};
}
