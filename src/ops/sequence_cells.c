/* Recurrent cells over whole sequences: the rows lstm, gru and rnn with their shape rule and reference kernels, and the public
   functions. */
#include "ops/sequence_cells.h"
#include "ops/generated/recurrent_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/wide.h"
#include <kn/functional.h>

extern const kni_native kni_cpu_lstm, kni_cpu_gru, kni_cpu_rnn;

#define NUMBERS(field)                                                                                       \
    {#field "0", KNI_ATTR_REAL, KNI_STATIC, (uint16_t)offsetof(kni_recurrent_attributes, field[0])},         \
        {#field "1", KNI_ATTR_REAL, KNI_STATIC, (uint16_t)offsetof(kni_recurrent_attributes, field[1])},     \
        {#field "2", KNI_ATTR_REAL, KNI_STATIC, (uint16_t)offsetof(kni_recurrent_attributes, field[2])},     \
        {#field "3", KNI_ATTR_REAL, KNI_STATIC, (uint16_t)offsetof(kni_recurrent_attributes, field[3])},     \
        {#field "4", KNI_ATTR_REAL, KNI_STATIC, (uint16_t)offsetof(kni_recurrent_attributes, field[4])},     \
    {                                                                                                        \
#field "5", KNI_ATTR_REAL, KNI_STATIC, (uint16_t)offsetof(kni_recurrent_attributes, field[5])        \
    }
#define COMMON                                                                                               \
    KNI_ATTR(kni_recurrent_attributes, direction, KNI_ATTR_INT, KNI_STATIC),                                 \
        KNI_ATTR(kni_recurrent_attributes, activations, KNI_ATTR_INTS, KNI_STATIC), NUMBERS(alpha),          \
        NUMBERS(beta), KNI_ATTR(kni_recurrent_attributes, clip, KNI_ATTR_REAL, KNI_STATIC)

static const kn_attribute lstm_schema[] = {
    COMMON, KNI_ATTR(kni_recurrent_attributes, input_forget, KNI_ATTR_INT, KNI_STATIC), {0}};
static const kn_attribute gru_schema[] = {
    COMMON, KNI_ATTR(kni_recurrent_attributes, linear_before_reset, KNI_ATTR_INT, KNI_STATIC), {0}};
static const kn_attribute rnn_schema[] = {COMMON, {0}};

/* What differs between the cells. */
static const struct {
    int number, gates, kinds;
    uint8_t activations[3];
} cells[] = {
    [KNI_RECURRENT_RNN] = {KNI_OP_rnn, 1, 1, {KN_GATE_TANH}},
    [KNI_RECURRENT_GRU] = {KNI_OP_gru, 3, 2, {KN_GATE_SIGMOID, KN_GATE_TANH}},
    [KNI_RECURRENT_LSTM] = {KNI_OP_lstm, 4, 3, {KN_GATE_SIGMOID, KN_GATE_TANH, KN_GATE_TANH}},
};

int kni_recurrent_cell(const kn_op *row)
{
    int cell = 0;
    while (cells[cell].number != row->number) cell++;
    return cell;
}

kni_recurrent_sizes kni_recurrent_sizes_of(const kn_op *row, const kni_type *const *in)
{
    const int cell = kni_recurrent_cell(row);
    return (kni_recurrent_sizes){.cell = cell,
                                 .gates = cells[cell].gates,
                                 .kinds = cells[cell].kinds,
                                 .steps = in[KNI_RECURRENT_X]->dims[0],
                                 .batch = in[KNI_RECURRENT_X]->dims[1],
                                 .ins = in[KNI_RECURRENT_X]->dims[2],
                                 .hidden = in[KNI_RECURRENT_WEIGHT_H]->dims[2],
                                 .directions = in[KNI_RECURRENT_WEIGHT]->dims[0]};
}

/* ---- the shape rule */

static kn_status check_attributes(const kni_infer *c, int cell)
{
    kni_recurrent_attributes *a = c->attributes;
    const int directions = a->direction == 2 ? 2 : 1, kinds = cells[cell].kinds * directions;
    if (a->direction < 0 || a->direction > 2)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "direction is %D; 0 is onward, 1 is back and 2 is both",
                              a->direction);
    if (!(a->clip >= 0))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "clip is %g; it must be 0 or more", a->clip);
    if (a->activations.rank == 0) {
        a->activations.rank = kinds;
        for (int i = 0; i < kinds; i++)
            a->activations.dims[i] = cells[cell].activations[i % cells[cell].kinds];
    }
    if (a->activations.rank != kinds)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%d activations given; %d directions need %d",
                              a->activations.rank, directions, kinds);
    for (int i = 0; i < kinds; i++)
        if (a->activations.dims[i] < KN_GATE_SIGMOID || a->activations.dims[i] > KN_GATE_SOFTPLUS)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                                  "activation %d is %D; kn_gate_activation has none such", i,
                                  a->activations.dims[i]);
    return KN_OK;
}

/* An operand that may be absent: its sizes, and the dtype of x. */
static kn_status check_operand(const kni_infer *c, int i, const char *what, int rank, const kn_dim *dims)
{
    const kni_type *t = i < c->n_in ? c->in[i] : NULL;
    if (!t) return KN_OK;
    bool fits = t->rank == rank;
    for (int k = 0; k < rank && fits; k++) fits = kni_dims_agree(t->dims[k], dims[k]);
    if (!fits) {
        kni_type due = {.rank = (uint8_t)rank};
        for (int k = 0; k < rank; k++) due.dims[k] = dims[k];
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%s must be %S for x %S and %D hidden, not %S", what, &due,
                              c->in[0], c->in[KNI_RECURRENT_WEIGHT_H]->dims[2], t);
    }
    if (i == KNI_RECURRENT_LENGTHS) return kni_infer_integer(c, i);
    if (t->dtype == c->in[0]->dtype) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_DTYPE, "x is %T and %s %T: convert one with kn_cast()",
                          (int)c->in[0]->dtype, what, (int)t->dtype);
}

static kn_status infer_recurrent(kni_infer *c)
{
    const int cell = kni_recurrent_cell(c->row);
    const kni_recurrent_attributes *a = c->attributes;
    kn_status s = check_attributes(c, cell);
    if (s == KN_OK) s = kni_infer_dtype(c, 0, c->row->dtypes);
    for (int i = 0; i < 3 && s == KN_OK; i++) s = kni_infer_rank(c, i, 3, 3);
    if (s) return s;
    const kn_dim directions = a->direction == 2 ? 2 : 1, steps = c->in[0]->dims[0], batch = c->in[0]->dims[1];
    const kn_dim ins = c->in[0]->dims[2], hidden = c->in[KNI_RECURRENT_WEIGHT_H]->dims[2];
    const kn_dim rows = kni_dim_mul(hidden, cells[cell].gates);
    const struct {
        const char *what;
        int rank;
        kn_dim dims[3];
    } due[KNI_RECURRENT_OPERANDS] = {
        [KNI_RECURRENT_WEIGHT] = {"the weight", 3, {directions, rows, ins}},
        [KNI_RECURRENT_WEIGHT_H] = {"the recurrent weight", 3, {directions, rows, hidden}},
        [KNI_RECURRENT_BIAS] = {"the bias", 2, {directions, kni_dim_mul(rows, 2)}},
        [KNI_RECURRENT_LENGTHS] = {"the lengths", 1, {batch}},
        [KNI_RECURRENT_H] = {"the initial h", 3, {directions, batch, hidden}},
        [KNI_RECURRENT_C] = {"the initial c", 3, {directions, batch, hidden}},
        [KNI_RECURRENT_PEEPHOLES] = {"the peepholes", 2, {directions, kni_dim_mul(hidden, 3)}}};
    for (int i = 1; i < c->n_in && s == KN_OK; i++)
        s = check_operand(c, i, due[i].what, due[i].rank, due[i].dims);
    if (s) return s;
    const uint8_t dtype = c->in[0]->dtype;
    *c->out[0] = (kni_type){.dtype = dtype, .rank = 4, .dims = {steps, directions, batch, hidden}};
    for (int i = 1; i < c->n_out; i++)
        *c->out[i] = (kni_type){.dtype = dtype, .rank = 3, .dims = {directions, batch, hidden}};
    return KN_OK;
}

/* ---- the reference kernels */

static kn_status launch_recurrent(kni_launch *l)
{
    static const kni_kernel *const kernels[] = {[KNI_RECURRENT_RNN] = &kni_kernel_rnn,
                                                [KNI_RECURRENT_GRU] = &kni_kernel_gru,
                                                [KNI_RECURRENT_LSTM] = &kni_kernel_lstm};
    const kni_recurrent_attributes *a = l->attributes;
    const kni_recurrent_sizes z = kni_recurrent_sizes_of(l->row, l->in);
    const int64_t sizes[] = {z.steps, z.batch, z.ins, z.hidden, z.directions, a->direction};
    int64_t kinds[KNI_RECURRENT_ACTIVATIONS] = {0};
    for (int i = 0; i < a->activations.rank; i++) kinds[i] = a->activations.dims[i];
    l->kernel = kernels[z.cell];
    l->items = z.directions * z.batch;
    l->temps[l->n_temps++] = l->items * z.hidden * (z.cell == KNI_RECURRENT_RNN ? 1 : 4);
    kni_launch_ints(l, sizes, KNI_COUNT(sizes));
    for (int i = KNI_RECURRENT_BIAS; i < l->row->max_in; i++)
        kni_launch_int(l, i < l->n_in && l->in[i] != NULL);
    if (z.cell == KNI_RECURRENT_LSTM) kni_launch_int(l, a->input_forget != 0);
    if (z.cell == KNI_RECURRENT_GRU) kni_launch_int(l, a->linear_before_reset != 0);
    kni_launch_ints(l, kinds, KNI_RECURRENT_ACTIVATIONS);
    for (int i = 0; i < KNI_RECURRENT_ACTIVATIONS; i++) kni_launch_real(l, a->alpha[i]);
    for (int i = 0; i < KNI_RECURRENT_ACTIVATIONS; i++) kni_launch_real(l, a->beta[i]);
    kni_launch_real(l, a->clip);
    return KN_OK;
}

OP(lstm,
   .doc = "c = f c + i g, h = o tanh(c) with gates i, o, f (sigmoid) and g (tanh) of w x + r h + bias, step "
          "by step",
   .min_in = 3, .max_in = 8, .n_out = 3, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS,
   .flags = KNI_FLAG_WIDE | KNI_FLAG_LOWERS_WELL | KNI_FLAG_LOWERS_EARLY, .wide = &kni_wide,
   .tolerance = {32, 4}, .schema = lstm_schema, .attribute_bytes = sizeof(kni_recurrent_attributes),
   .infer = infer_recurrent, .launch = launch_recurrent, .lower = kni_recurrent_lower,
   .native = &kni_cpu_lstm)

OP(gru,
   .doc = "h = (1 - z) g + z h with gates z, s (sigmoid) of w x + r h + bias and g = tanh(w x + r (s h) + "
          "bias), step by step",
   .min_in = 3, .max_in = 6, .n_out = 2, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS,
   .flags = KNI_FLAG_WIDE | KNI_FLAG_LOWERS_WELL | KNI_FLAG_LOWERS_EARLY, .wide = &kni_wide,
   .tolerance = {32, 4}, .schema = gru_schema, .attribute_bytes = sizeof(kni_recurrent_attributes),
   .infer = infer_recurrent, .launch = launch_recurrent, .lower = kni_recurrent_lower, .native = &kni_cpu_gru)

OP(rnn, .doc = "h = tanh(w x + r h + bias), step by step", .min_in = 3, .max_in = 6, .n_out = 2,
   .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS,
   .flags = KNI_FLAG_WIDE | KNI_FLAG_LOWERS_WELL | KNI_FLAG_LOWERS_EARLY, .wide = &kni_wide,
   .tolerance = {32, 4}, .schema = rnn_schema, .attribute_bytes = sizeof(kni_recurrent_attributes),
   .infer = infer_recurrent, .launch = launch_recurrent, .lower = kni_recurrent_lower, .native = &kni_cpu_rnn)

/* ---- the public functions */

/* What the activations of ONNX take where nothing is said. */
static const struct {
    double alpha, beta;
} gate_defaults[] = {
    [KN_GATE_AFFINE] = {1, 0},      [KN_GATE_LEAKY_RELU] = {0.01, 0},    [KN_GATE_THRESHOLDED_RELU] = {1, 0},
    [KN_GATE_SCALED_TANH] = {1, 1}, [KN_GATE_HARD_SIGMOID] = {0.2, 0.5}, [KN_GATE_ELU] = {1, 0},
    [KN_GATE_SOFTPLUS] = {0, 0}};

static kn_recurrent_result run_recurrent(const kn_op *row, kn_tensor x, kn_tensor weight, kn_tensor weight_h,
                                         const kn_recurrent_args *args)
{
    static const kn_recurrent_args defaults = {.direction = KN_ONWARD};
    const kn_recurrent_args *g = args ? args : &defaults;
    kni_recurrent_attributes a = {.direction = g->direction,
                                  .linear_before_reset = g->linear_before_reset,
                                  .input_forget = g->input_forget,
                                  .clip = kn_real_or(g->clip, 0)};
    while (a.activations.rank < KNI_RECURRENT_ACTIVATIONS && g->activations[a.activations.rank].kind) {
        const int i = a.activations.rank++, kind = (int)g->activations[i].kind;
        const bool known = kind > 0 && kind <= KN_GATE_SOFTPLUS;
        a.activations.dims[i] = kind;
        a.alpha[i] = kn_real_or(g->activations[i].alpha, known ? gate_defaults[kind].alpha : 0);
        a.beta[i] = kn_real_or(g->activations[i].beta, known ? gate_defaults[kind].beta : 0);
    }
    kn_tensor in[KNI_RECURRENT_OPERANDS] = {x,          weight, weight_h, g->bias,
                                            g->lengths, g->h,   g->c,     g->peepholes};
    kn_recurrent_result r = {KN_NONE, KN_NONE, KN_NONE};
    kn_tensor out[3] = {KN_NONE, KN_NONE, KN_NONE};
    kni_apply_many(row, in, row->max_in, &a, out, row->n_out);
    r.y = out[0];
    r.h = out[1];
    r.c = out[2];
    return r;
}

kn_recurrent_result kn_lstm(kn_tensor x, kn_tensor weight, kn_tensor weight_h, const kn_recurrent_args *args)
{
    return run_recurrent(&kni_op_lstm, x, weight, weight_h, args);
}

kn_recurrent_result kn_gru(kn_tensor x, kn_tensor weight, kn_tensor weight_h, const kn_recurrent_args *args)
{
    return run_recurrent(&kni_op_gru, x, weight, weight_h, args);
}

kn_recurrent_result kn_rnn(kn_tensor x, kn_tensor weight, kn_tensor weight_h, const kn_recurrent_args *args)
{
    return run_recurrent(&kni_op_rnn, x, weight, weight_h, args);
}
