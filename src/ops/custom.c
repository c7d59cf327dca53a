/* Custom ops: rows made at run time around the user's functions. */
#include "core/life.h"
#include "core/objects.h"
#include "ops/custom_rows.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include <kn/custom_op.h>
#include <string.h>

enum { MAX_CUSTOM = 256, MAX_OPERANDS = 8, FIRST_NUMBER = 60000, NAME = KNI_CUSTOM_NAME };

/* The row comes first, so that a row's address is its custom op's. */
typedef struct custom {
    kn_op row;
    kn_custom_op op;
    char name[NAME];
} custom;

static struct {
    const kn_op *row;
    const void *defaults;
} registered[MAX_CUSTOM];
static _Atomic int n_registered, n_unnamed;
static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_INNER);

static const custom *of(const kn_op *row) { return (const custom *)row; }

static kn_type public_type(const kni_type *t)
{
    return (kn_type){(kn_dtype)t->dtype, kni_shape_from_type(t)};
}

/* A status that one of the user's functions returned, `before` having been the thread's latest failure: a failure
   without a text gets one, so that no older one is taken for it. */
static kn_status told(const kn_op *row, const char *function, uint32_t before, kn_status s)
{
    if (s == KN_OK || kni_thread_self()->last_error != before) return s;
    return kni_fail_op(s, row->name, "its %s function failed and told no reason with kn_custom_fail()",
                       function);
}

static uint32_t latest_failure(void) { return kni_thread_self()->last_error; }

static kn_status infer(kni_infer *c)
{
    kn_type in[MAX_OPERANDS], out[MAX_OPERANDS];
    memset(out, 0, sizeof out);
    for (int i = 0; i < c->n_in; i++) in[i] = public_type(c->in[i]);
    uint32_t before = latest_failure();
    kn_status s = told(c->row, "infer", before, of(c->row)->op.infer(of(c->row)->op.context, in, out));
    if (s) return s;
    for (int i = 0; i < c->n_out; i++) {
        if (!kni_dtype_usable(out[i].dtype) || out[i].shape.rank < 0 || out[i].shape.rank > KN_MAX_RANK)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT,
                                  "its infer function gave result %d no dtype or a bad rank", i);
        c->out[i]->dtype = (uint8_t)out[i].dtype;
        c->out[i]->rank = (uint8_t)out[i].shape.rank;
        for (int a = 0; a < out[i].shape.rank; a++)
            c->out[i]->dims[a] = out[i].shape.dims[a] < 0 ? KNI_DIM_BAD : out[i].shape.dims[a];
    }
    return KN_OK;
}

static kn_status lower(kni_lowering *l)
{
    uint32_t before = latest_failure();
    return told(l->row, "lower", before, of(l->row)->op.lower(of(l->row)->op.context, l->in, l->out));
}

static kn_status run_on_host(const kn_op *row, const void *attributes, const kni_span *in,
                             const kni_span *out)
{
    (void)attributes;
    kn_span spans[2][MAX_OPERANDS];
    for (int i = 0; i < row->max_in; i++)
        spans[0][i] = (kn_span){in[i].data, (kn_dtype)in[i].type->dtype, kni_shape_from_type(in[i].type)};
    for (int i = 0; i < row->n_out; i++)
        spans[1][i] = (kn_span){out[i].data, (kn_dtype)out[i].type->dtype, kni_shape_from_type(out[i].type)};
    uint32_t before = latest_failure();
    return told(row, "forward", before, of(row)->op.forward(of(row)->op.context, spans[0], spans[1]));
}

/* A gradient has a float dtype and its operand's shape, or one that the operand would be broadcast to. */
static kn_status check_gradient(const kni_vjp *v, int i, kn_tensor gradient)
{
    const kni_type *g = kni_type_of(gradient), *x = &v->in_types[i];
    if (!g) return KN_OK; /* the error that it carries becomes that of the result */
    if (!kn_dtype_is_float((kn_dtype)g->dtype))
        return kni_fail_op(
            KN_ERROR_DTYPE, v->row->name,
            "its gradient function gave %T for operand %d, which is %T: convert with kn_cast()",
            (int)g->dtype, i, (int)x->dtype);
    bool fits = g->rank >= x->rank;
    for (int k = 1; fits && k <= x->rank; k++) {
        int64_t has = g->dims[g->rank - k], wants = x->dims[x->rank - k];
        fits = has == wants || wants == 1 || has < 0 || wants < 0; /* below 0: not known yet */
    }
    if (fits) return KN_OK;
    return kni_fail_op(KN_ERROR_SHAPE, v->row->name,
                       "its gradient function gave %S for operand %d, which is %S", g, i, x);
}

static kn_status gradient(kni_vjp *v)
{
    kn_tensor in[MAX_OPERANDS], out[MAX_OPERANDS], grads[MAX_OPERANDS] = {{0}};
    for (int i = 0; i < v->n_in; i++) in[i] = kni_vjp_in(v, i);
    for (int i = 0; i < v->n_out; i++) out[i] = kni_vjp_out(v, i);
    uint32_t before = latest_failure();
    kn_status s = told(v->row, "gradient", before,
                       of(v->row)->op.gradient(of(v->row)->op.context, in, out, v->dy, grads));
    for (int i = 0; i < v->n_in && s == KN_OK; i++) {
        if (grads[i].bits && kni_vjp_needs(v, i)) s = check_gradient(v, i, grads[i]);
        if (grads[i].bits && s == KN_OK) kni_vjp_set(v, i, grads[i]);
    }
    return s;
}

/* Names alone, so that who registers an op does not link all rows. */
static bool built_in(const char *name)
{
    static const char *const names[] = {
#define KN_OP(number, name, ...) #name,
#include "ops/ops.def"
#undef KN_OP
    };
    for (int i = 0; i < KNI_COUNT(names); i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

const kn_op *kni_custom_by_name(const char *name)
{
    for (int i = 0; i < atomic_load(&n_registered); i++)
        if (!strcmp(registered[i].row->name, name)) return registered[i].row;
    return NULL;
}

const void *kni_custom_defaults(const kn_op *row)
{
    int i = row->number - FIRST_NUMBER;
    return i >= 0 && i < MAX_CUSTOM && registered[i].row == row ? registered[i].defaults : NULL;
}

kn_status kni_custom_check_name(const char *function, const char *name)
{
    if (!name || !*name || strlen(name) >= NAME)
        return kni_fail(KN_ERROR_ARGUMENT, "%s: a name of 1 to %d characters is needed", function, NAME - 1);
    if (built_in(name))
        return kni_fail(KN_ERROR_ARGUMENT, "%s: %s: this is the name of a built-in op: choose another",
                        function, name);
    return KN_OK;
}

kn_status kni_custom_add(const char *function, kn_op *row, const void *defaults)
{
    kni_guard_lock(&lock);
    int n = atomic_load(&n_registered);
    const char *why = n == MAX_CUSTOM                 ? "too many custom ops"
                      : kni_custom_by_name(row->name) ? "the name is taken"
                                                      : NULL;
    if (!why) {
        row->number = (uint16_t)(FIRST_NUMBER + n);
        registered[n].row = row;
        registered[n].defaults = defaults;
        atomic_store(&n_registered, n + 1);
    }
    kni_guard_unlock(&lock);
    return why ? kni_fail(KN_ERROR_ARGUMENT, "%s: %s: %s", function, row->name, why) : KN_OK;
}

bool kni_custom_number(kn_op *row)
{
    int n = atomic_fetch_add(&n_unnamed, 1);
    if (n > UINT16_MAX - FIRST_NUMBER - MAX_CUSTOM) return false;
    row->number = (uint16_t)(FIRST_NUMBER + MAX_CUSTOM + n);
    return true;
}

static kn_status check(const kn_custom_op *op)
{
    kn_status s = kni_custom_check_name("kn_custom_register", op ? op->name : NULL);
    if (s) return s;
    if (op->n_in < 1 || op->n_in > MAX_OPERANDS || op->n_out < 1 || op->n_out > MAX_OPERANDS)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_custom_register: %s: 1 to %d operands and results", op->name,
                        (int)MAX_OPERANDS);
    if (!op->infer || (!op->forward && !op->lower))
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_custom_register: %s: infer and one of forward and lower are needed", op->name);
    return KN_OK;
}

static void fill(custom *c, const kn_custom_op *op)
{
    memset(c, 0, sizeof *c);
    memcpy(c->name, op->name, strlen(op->name) + 1);
    c->op = *op;
    c->op.name = c->name;
    c->row = (kn_op){.name = c->name,
                     .doc = "custom op",
                     .min_in = (int8_t)op->n_in,
                     .max_in = (int8_t)op->n_in,
                     .n_out = (int8_t)op->n_out,
                     .kind = KNI_SYSTEM,
                     .flags = op->gradient || op->lower ? 0 : KNI_FLAG_NOT_DIFFERENTIABLE,
                     .dtypes = KNI_ALL,
                     .infer = infer,
                     .lower = op->forward ? NULL : lower,
                     .host = op->forward ? run_on_host : NULL,
                     .custom_gradient = op->gradient ? gradient : NULL};
}

kn_op_handle kn_custom_register(const kn_custom_op *op)
{
    if (check(op)) return NULL;
    custom *c = kni_allocate(sizeof *c);
    if (!c) {
        kni_fail(KN_ERROR_MEMORY, "kn_custom_register: no memory");
        return NULL;
    }
    fill(c, op);
    if (kni_custom_add("kn_custom_register", &c->row, NULL) == KN_OK) return &c->row;
    kni_free(c, sizeof *c);
    return NULL;
}

kn_status kn_custom_call(kn_op_handle op, const kn_tensor *in, kn_tensor *out)
{
    if (!in || !out) return kni_fail(KN_ERROR_ARGUMENT, "kn_custom_call: operands or results are NULL");
    if (!op || op->number < FIRST_NUMBER)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_custom_call: this is no registered op");
    kni_apply_many(op, in, op->max_in, kni_custom_defaults(op), out, op->n_out);
    return kni_is_poisoned(out[0]) ? kni_failure_again(out[0]) : KN_OK;
}

kn_status kn_custom_fail(kn_status code, const char *text)
{
    return kni_fail(code == KN_OK ? KN_ERROR_ARGUMENT : code, "%s", text ? text : "no message");
}
