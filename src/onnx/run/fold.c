/* Computes, before the first run, what depends on constants alone. */
#include "core/dtype.h"
#include "onnx/run/now.h"
#include "onnx/run/session.h"
#include "onnx/run/weights.h"
#include "support/failure.h"
#include <kn/device.h>
#include <stdlib.h>

enum { SMALL = 64 << 10 };

/* Before version 4 of the format all initializers had to be inputs, which says nothing; since then those are meant to be given. */
static bool is_given(const kni_onnx *session, int32_t value)
{
    const kni_onnx_graph *graph = session->plan.model->graph;
    if (session->plan.model->ir_version < 4) return false;
    for (int32_t i = 0; i < graph->n_defaults; i++)
        if (graph->inputs[graph->n_inputs + i] == value) return true;
    return false;
}

/* roles: NULL where weights may be computed with. */
static bool may_fold(const kni_onnx *session, const kni_onnx_node *node, const uint8_t *roles)
{
    const kni_planned_node *planned = &session->plan.nodes[node->place];
    if (!planned->converter || planned->converter->flags & (KNI_ONNX_RANDOM | KNI_ONNX_INNER)) return false;
    for (int32_t i = 0; i < node->n_in; i++)
        if (node->in[i] >= 0 && (!session->plan.constants[node->in[i]] || is_given(session, node->in[i])))
            return false;
    for (int32_t i = 0; i < node->n_in && roles; i++)
        if (node->in[i] >= 0 && roles[node->in[i]] != KNI_ONNX_PLAIN) return false;
    return true;
}

static int64_t bytes_of(const kni_stored *constant)
{
    if (!constant || constant->strings) return 0;
    return kn_dtype_bytes(kn_dtype_of(constant->tensor), kn_count(constant->tensor));
}

/* Whether the first result has wider elements than an operand of several. */
static bool widens(const kni_conversion *c, const kni_onnx *session, const kni_onnx_node *node)
{
    const kni_entry *y =
        node->n_out && node->out[0] >= 0 ? kni_entry_of(c, (kni_datum){c->now[node->out[0]]}) : NULL;
    bool found = false;
    for (int32_t i = 0; y && y->kind == KNI_IS_TENSOR && i < node->n_in; i++) {
        const kni_stored *x = node->in[i] < 0 ? NULL : session->plan.constants[node->in[i]];
        found |= x && !x->strings && kni_dtype_widens(kn_dtype_of(x->tensor), y->dtype, kn_count(x->tensor));
    }
    return found;
}

/* Results that are stored: small ones, and those that are no larger than what they are made of. Sequences are made anew in each run. */
static bool worth_storing(const kni_conversion *c, const kni_onnx *session, const kni_onnx_node *node)
{
    int64_t before = 0, after = 0, small = SMALL;
    for (int32_t i = 0; i < node->n_in; i++)
        if (node->in[i] >= 0) before += bytes_of(session->plan.constants[node->in[i]]);
    if (session->keeps_stored && widens(c, session, node)) small = 0;
    for (int32_t k = 0; k < node->n_out; k++) {
        const kni_entry *e = node->out[k] < 0 ? NULL : kni_entry_of(c, (kni_datum){c->now[node->out[k]]});
        if (!e) continue;
        if (e->kind == KNI_IS_STRINGS) continue;
        if (e->kind != KNI_IS_TENSOR) return false;
        int64_t n = 1;
        for (int32_t a = 0; a < e->rank; a++) n *= e->extents[a].value;
        after += kn_dtype_bytes(e->dtype, n);
    }
    return after <= small || after <= before;
}

static kn_status store(kni_conversion *c, kni_onnx *session, int32_t value)
{
    kni_entry *e = kni_entry_of(c, (kni_datum){c->now[value]});
    if (!e) return KN_OK;
    if (e->kind == KNI_IS_STRINGS)
        return kni_session_add_constant(session, value, KN_NONE, kni_held_use(e->strings));
    kn_tensor host = kni_entry_read(c, e, "a constant");
    kn_tensor t = kn_ok(host) ? kn_own(kn_alias(host)) : KN_NONE;
    return kn_ok(t) ? kni_session_add_constant(session, value, t, NULL) : kni_failure_memory("kn_onnx_load");
}

static kn_status fold_node(kni_conversion *c, kni_onnx *session, const kni_onnx_node *node)
{
    kn_status s = KN_OK;
    kni_convert_one(c, node);
    bool good = !c->status && worth_storing(c, session, node);
    c->status = KN_OK; /* a node that fails does so again when it runs */
    for (int32_t k = 0; k < node->n_out && s == KN_OK; k++) {
        if (node->out[k] < 0) continue;
        if (good) s = store(c, session, node->out[k]);
        kni_bind(c, node->out[k], KNI_ABSENT);
    }
    if (good && s == KN_OK) session->plan.nodes[node->place].folded = true;
    for (int32_t i = 0; i < node->n_in; i++)
        if (node->in[i] >= 0) kni_bind(c, node->in[i], KNI_ABSENT);
    return s;
}

static kn_status fold_graph(kni_conversion *c, kni_onnx *session, const kni_onnx_graph *graph,
                            const uint8_t *roles)
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < graph->n_nodes && s == KN_OK; i++) {
        const kni_onnx_node *node = &graph->nodes[i];
        if (may_fold(session, node, roles)) s = fold_node(c, session, node);
        for (int32_t k = 0; k < node->n_attributes; k++)
            for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count && s == KN_OK;
                 g++)
                s = fold_graph(c, session, node->attributes[k].graphs[g], roles);
    }
    return s;
}

kn_status kni_session_fold(kni_onnx *session)
{
    kni_conversion c;
    kni_now now;
    kni_failure_held held;
    uint8_t *roles = session->keeps_weights ? kni_onnx_roles(session->plan.model) : NULL;
    if (session->keeps_weights && !roles) return kni_failure_memory("kn_onnx_load");
    kn_scope scope = kn_scope_begin();
    kni_now_start(&now, &session->plan);
    now.ahead = true;
    kn_status s = KN_ERROR_MEMORY;
    if (kni_conversion_start(&c, &session->plan, &kni_target_now, &now)) {
        c.max_trips = session->max_trips;
        kni_failure_hold(&held);
        s = fold_graph(&c, session, session->plan.model->graph, roles);
        (void)kni_failure_release(&held, KN_OK, KN_NONE);
        kni_conversion_end(&c);
    }
    kn_scope_end(scope, KN_NONE);
    free(roles);
    return s;
}
