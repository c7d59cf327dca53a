/* Operators of the user's: their list, and what their callbacks may ask and do. */
#include "onnx/run/custom_operator.h"
#include "core/objects.h"
#include "onnx/run/conversion.h"
#include "onnx/run/now.h"
#include "support/argument.h"
#include "support/exclusive.h"
#include "support/failure.h"
#include <kn/device.h>
#include <kn/onnx.h>
#include <kn/op_info.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATTRIBUTES = 32 };

/* Kept for ever: sessions refer to them. */
typedef struct registered {
    kni_onnx_converter converter;
    kn_onnx_operator op;
    struct registered *next;
} registered;

static kni_exclusive lock = KNI_EXCLUSIVE_INIT;
static registered *operators;

struct kn_onnx_call {
    kni_conversion *c;
    const kni_onnx_node *node;
    const kni_datum *in;
    kni_datum *out;
    int32_t n_in, n_out;
};

static bool serves(const registered *r, const kni_onnx_node *node)
{
    return !strcmp(r->op.name, node->op) && !strcmp(r->op.domain ? r->op.domain : "", node->domain) &&
           r->op.since <= node->version;
}

static const registered *find(const kni_onnx_node *node)
{
    kni_exclusive_enter(&lock);
    const registered *r = operators;
    while (r && !serves(r, node)) r = r->next;
    kni_exclusive_leave(&lock);
    return r;
}

const kni_onnx_converter *kni_onnx_custom_of(const kni_onnx_node *node)
{
    const registered *r = find(node);
    return r ? &r->converter : NULL;
}

static void run_custom(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    /* The row of the plan: another registration may have come since. */
    const registered *r = (const registered *)(const void *)c->plan->nodes[node->place].converter;
    kn_onnx_call call = {c, node, in, out, n_in, n_out};
    kni_failure_mark before = kni_failure_mark_now();
    kn_status s = r->op.run(r->op.context, &call);
    if (s && !c->status) s = kni_failure_since(before, s, r->op.name);
    if (s) kni_convert_fail(c, s, "%s", kni_failure_taken());
    for (int32_t k = 0; k < n_out && !c->status; k++)
        if (kni_is_wanted(node, k) && !kni_is_given(out[k]))
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "the operator has made no result %d", k);
}

bool kni_onnx_is_custom(const kni_onnx_converter *converter) { return converter->convert == run_custom; }

kn_status kn_onnx_register(const kn_onnx_operator *op)
{
    KNI_NAMED;
    if (!op || !op->run || !op->name)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: an operator has a name and a function", __func__);
    registered *r = malloc(sizeof *r);
    if (!r) return kni_failure_memory(__func__);
    /* It may draw numbers or have effects, so it is never run ahead. */
    r->converter = (kni_onnx_converter){
        op->domain ? op->domain : "", op->name, op->since, 0, run_custom, KNI_ONNX_RANDOM, ""};
    r->op = *op;
    if (!strcmp(r->converter.domain, "ai.onnx")) r->op.domain = r->converter.domain = "";
    kni_exclusive_enter(&lock);
    r->next = operators;
    operators = r;
    kni_exclusive_leave(&lock);
    return KN_OK;
}

/* ---- asking */

int32_t kn_onnx_call_inputs(const kn_onnx_call *call) { return call->n_in; }
int32_t kn_onnx_call_outputs(const kn_onnx_call *call) { return call->n_out; }

kn_onnx_operand kn_onnx_call_input(const kn_onnx_call *call, int32_t i)
{
    return (kn_onnx_operand){i >= 0 && i < call->n_in ? call->in[i].id : 0};
}

int64_t kn_onnx_call_int(const kn_onnx_call *call, const char *name, int64_t otherwise)
{
    return kni_node_int(call->node, name, otherwise);
}

double kn_onnx_call_real(const kn_onnx_call *call, const char *name, double otherwise)
{
    return kni_node_real(call->node, name, otherwise);
}

const char *kn_onnx_call_text(const kn_onnx_call *call, const char *name, const char *otherwise)
{
    return kni_node_text(call->node, name, otherwise);
}

const int64_t *kn_onnx_call_ints(const kn_onnx_call *call, const char *name, int64_t *count)
{
    return kni_node_ints(call->node, name, count);
}

const float *kn_onnx_call_reals(const kn_onnx_call *call, const char *name, int64_t *count)
{
    return kni_node_reals(call->node, name, count);
}

const char *kn_onnx_call_text_at(const kn_onnx_call *call, const char *name, int64_t i, size_t *bytes)
{
    int64_t n = 0;
    const kni_onnx_text *texts = kni_node_texts(call->node, name, &n);
    if (bytes) *bytes = 0;
    if (i < 0 || i >= n) return NULL;
    if (bytes) *bytes = texts[i].bytes;
    return texts[i].data;
}

kn_onnx_operand kn_onnx_call_constant(kn_onnx_call *call, const char *name)
{
    const kni_onnx_tensor *tensor = kni_node_tensor(call->node, name);
    return (kn_onnx_operand){tensor ? kni_constant_of(call->c, tensor).id : 0};
}

int64_t kn_onnx_call_size(const kn_onnx_call *call, kn_onnx_operand x, int32_t axis)
{
    const kni_entry *e = kni_entry_of(call->c, (kni_datum){x.id});
    bool shaped = e && (e->kind == KNI_IS_TENSOR || e->kind == KNI_IS_STRINGS);
    if (!shaped || axis < 0 || axis >= e->rank || e->extents[axis].text) return -1;
    return e->extents[axis].value;
}

kn_dtype kn_onnx_call_dtype(const kn_onnx_call *call, kn_onnx_operand x)
{
    return kni_dtype_of(call->c, (kni_datum){x.id});
}

int32_t kn_onnx_call_rank(const kn_onnx_call *call, kn_onnx_operand x)
{
    kni_datum d = {x.id};
    return kni_kind_of(call->c, d) == KNI_IS_TENSOR ? kni_rank_of(call->c, d) : -1;
}

/* ---- doing */

/* What the op says its attribute is; of an op that says nothing of it, what the value looks like. */
static kn_attribute_type type_of(const char *op, const kn_attribute_value *value)
{
    kn_op_info info;
    kn_attribute_info a;
    for (int32_t i = 0; kn_op_find(op, &info) && kn_op_attribute(info.number, i, &a); i++)
        if (!strcmp(a.name, value->name)) return a.type;
    if (value->list.rank > 0) return KN_ATTRIBUTE_LIST;
    return value->real != 0 ? KN_ATTRIBUTE_REAL : KN_ATTRIBUTE_INT;
}

/* Attributes as converters give them; lists are put into `extents`. False with the node failed. */
static bool take_attributes(kni_conversion *c, const char *op, const kn_attribute_value *from,
                            kni_given_attribute *to, kni_extent (*extents)[KN_MAX_RANK])
{
    int32_t n = 0;
    for (; from && from->name; from++, n++) {
        int32_t rank = from->list.rank;
        if (n == MOST_ATTRIBUTES || rank < 0 || rank > KN_MAX_RANK) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT,
                             "attribute '%s' of %s: at most %d attributes, and lists of %d numbers",
                             from->name, op, (int)MOST_ATTRIBUTES, KN_MAX_RANK);
            return false;
        }
        kn_attribute_type type = type_of(op, from);
        for (int32_t i = 0; i < rank; i++) extents[n][i] = KNI_EXTENT(from->list.dims[i]);
        to[n] = (kni_given_attribute){
            from->name, type == KN_ATTRIBUTE_REAL, type == KN_ATTRIBUTE_INT ? -1 : rank, from->real,
            extents[n], KNI_EXTENT(from->integer)};
    }
    to[n] = (kni_given_attribute){0};
    return true;
}

void kn_onnx_call_op(kn_onnx_call *call, const char *op, const kn_onnx_operand *in, int32_t n_in,
                     const kn_attribute_value *attributes, kn_onnx_operand *out, int32_t n_out)
{
    kni_given_attribute list[MOST_ATTRIBUTES + 1];
    kni_extent extents[MOST_ATTRIBUTES][KN_MAX_RANK];
    kni_datum *both = kni_convert_memory(call->c, (size_t)n_in + (size_t)n_out + 1, sizeof *both);
    /* Operands and results may be the same variables. */
    for (int32_t i = 0; both && i < n_in; i++) both[i] = (kni_datum){in[i].id};
    for (int32_t k = 0; k < n_out; k++) out[k] = (kn_onnx_operand){0};
    if (!both || !take_attributes(call->c, op, attributes, list, extents)) return;
    kni_emit_many(call->c, op, both, n_in, list, both + n_in, n_out);
    for (int32_t k = 0; k < n_out; k++) out[k] = (kn_onnx_operand){both[n_in + k].id};
}

kn_tensor kn_onnx_call_tensor(kn_onnx_call *call, kn_onnx_operand x)
{
    kni_entry *e = kni_entry_of(call->c, (kni_datum){x.id});
    if (!call->c->target->now)
        kni_convert_fail(call->c, KN_ERROR_UNSUPPORTED, "%s reads tensors, so it cannot be part of a program",
                         call->node->op);
    else if (!e || e->kind != KNI_IS_TENSOR)
        kni_convert_fail(call->c, KN_ERROR_DTYPE, "a tensor is needed");
    return call->c->status ? kn_poison(call->c->status, kni_failure_latest()) : kni_now_on_device(call->c, e);
}

kn_onnx_operand kn_onnx_call_made(kn_onnx_call *call, kn_tensor t)
{
    /* In a program it is a constant, which lies on the host. */
    if (!call->c->target->now)
        return (kn_onnx_operand){kni_entry_host(call->c, kn_to(t, call->c->plan->host)).id};
    kn_tensor kept = kn_keep(t);
    if (!kn_ok(kept)) kni_convert_fail(call->c, kn_error_code(kept), "%s", kni_failure_taken());
    return (kn_onnx_operand){call->c->status ? 0 : kni_now_borrow(call->c, kept).id};
}

void kn_onnx_call_output(kn_onnx_call *call, int32_t i, kn_onnx_operand x)
{
    if (i >= 0 && i < call->n_out) call->out[i] = (kni_datum){x.id};
}

kn_status kn_onnx_call_fail(kn_onnx_call *call, const char *message)
{
    kni_convert_fail(call->c, KN_ERROR_ARGUMENT, "%s", message ? message : "it has failed");
    return call->c->status;
}
