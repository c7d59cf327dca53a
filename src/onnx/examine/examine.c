/* kn_onnx_examine: walks a model with types and sizes alone. */
#include "onnx/examine/examine.h"
#include "core/objects.h"
#include "onnx/run/custom_operator.h"
#include "onnx/run/session.h"
#include "support/argument.h"
#include "support/failure.h"
#include <kn/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known and no larger is computed, as it would be when the model is loaded. */
enum { SMALL = 64 << 10, NAME = 300 };

/* ---- values without content */

kni_datum kni_examine_unknown(kni_conversion *c, kn_dtype dtype, const kni_extent *extents, int32_t rank)
{
    kni_datum x = KNI_ABSENT;
    kni_entry *e = kni_entry_new(c, KNI_IS_TENSOR, &x);
    kn_shape shape = {rank, {0}};
    if (!e) return KNI_ABSENT;
    for (int32_t a = 0; a < rank; a++) shape.dims[a] = extents[a].value;
    kn_tensor t = kni_now_of_type(dtype, shape);
    if (!kn_ok(t)) {
        kni_convert_fail(c, kn_error_code(t), "%s", kni_failure_taken());
        return KNI_ABSENT;
    }
    kni_entry_describe(e, t);
    e->device = t;
    return x;
}

static bool is_known(kni_conversion *c, const kni_entry *e) { return (void)c, (void)e, false; }

static bool read_nothing(kni_conversion *c, kni_entry *e, const char *what)
{
    (void)e;
    kni_examining_of(c)->asks = true;
    kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "%s is known only when the model runs", what);
    return false;
}

static void wait_for_nothing(kni_conversion *c) { (void)c; }

/* ---- sizes */

/* What is taken for a size that the model leaves open: INPUT.AXIS goes first. -1: no input has it. */
static int64_t size_taken(const kni_onnx_findings *found, const char *own, const char *name)
{
    const char *names[] = {own, name};
    for (int k = 0; k < 2; k++)
        for (int32_t i = 0; names[k] && i < found->sums.sizes; i++)
            if (!strcmp(found->sizes[i].name, names[k])) return found->sizes[i].taken;
    return -1;
}

/* The sizes that a declared type stands for; false where one is not known. */
static bool declared_extents(const kni_onnx_findings *found, const kni_onnx_declared *d, kni_extent *extents)
{
    if (!d || d->kind != KNI_ONNX_TENSOR || d->rank < 0 || d->rank > KN_MAX_RANK || !kni_onnx_dtype(d->type))
        return false;
    for (int32_t a = 0; a < d->rank; a++) {
        int64_t size = d->dims[a].value >= 0 ? d->dims[a].value : size_taken(found, NULL, d->dims[a].name);
        if (size < 0) return false;
        extents[a] = KNI_EXTENT(size);
    }
    return true;
}

/* ---- nodes */

/* Results of a node that was not converted: what the file declares them to be, else of no known type. */
static void guess_result(kni_conversion *c, int32_t value)
{
    kni_examining *x = kni_examining_of(c);
    const kni_onnx_declared *declared = c->plan->model->values[value].declared;
    kni_extent extents[KN_MAX_RANK];
    x->unknown[value] = !declared_extents(x->found, declared, extents);
    kni_datum guess = KNI_ABSENT;
    int32_t made = kni_made_mark(c);
    if (!x->unknown[value])
        guess = kni_examine_unknown(c, kni_onnx_dtype(declared->type), extents, declared->rank);
    kni_bind(c, value, guess);
    kni_made_leave(c, made);
}

static void guess_results(kni_conversion *c, const kni_onnx_node *node)
{
    for (int32_t k = 0; k < node->n_out; k++)
        if (node->out[k] >= 0) guess_result(c, node->out[k]);
}

static bool has_operands(const kni_examining *x, const kni_onnx_node *node)
{
    for (int32_t k = 0; k < node->n_in; k++)
        if (node->in[k] >= 0 && x->unknown[node->in[k]]) return false;
    return true;
}

/* The text of the failure without the name of the node, which stands before it. */
static void note_failure(kni_conversion *c, kni_examined_node *noted)
{
    const char *text = kni_examining_of(c)->held.text, *name = strstr(text, "): ");
    if (!strncmp(text, "node '", 6) && name) text = name + 3;
    noted->code = c->status;
    noted->reason = kni_onnx_arena_copy(kni_examining_of(c)->found->arena, text, strlen(text));
    noted->state = KNI_NODE_FAILS;
    if (noted->reason) c->status = KN_OK;
}

static void note_result(kni_conversion *c, const kni_planned_node *planned, kni_examined_node *noted,
                        int64_t troubles)
{
    kni_examining *x = kni_examining_of(c);
    const kni_onnx_node *node = noted->node;
    bool inner = planned->converter && planned->converter->flags & KNI_ONNX_INNER && x->troubles > troubles;
    if (c->status == KN_ERROR_MEMORY) return; /* ours: nothing is known of the node */
    if (c->status && (x->asks || inner)) {
        c->status = KN_OK;
        noted->state = noted->state == KNI_NODE_FAILS ? KNI_NODE_FAILS : KNI_NODE_DEPENDS;
    } else if (c->status) {
        note_failure(c, noted);
    } else {
        if (noted->state == KNI_NODE_UNSEEN) noted->state = KNI_NODE_WORKS;
        noted->macs = kni_capped_sum(noted->macs, kni_capped_product(x->times, kni_onnx_macs(c, node)));
        for (int32_t k = 0; k < node->n_out; k++)
            if (node->out[k] >= 0 && x->unknown[node->out[k]]) guess_result(c, node->out[k]);
        return;
    }
    x->troubles++;
    if (!c->status) guess_results(c, node);
}

static void examine_node(kni_conversion *c, const kni_onnx_node *node)
{
    kni_examining *x = kni_examining_of(c);
    const kni_planned_node *planned = &c->plan->nodes[node->place];
    kni_examined_node *noted = &x->found->nodes[node->place];
    bool custom = planned->converter && kni_onnx_is_custom(planned->converter);
    noted->node = node;
    for (int32_t k = 0; k < node->n_out; k++)
        if (node->out[k] >= 0) x->unknown[node->out[k]] = false;
    if (custom || (planned->converter && !has_operands(x, node))) {
        if (custom || noted->state == KNI_NODE_UNSEEN)
            noted->state = custom ? KNI_NODE_WORKS : KNI_NODE_DEPENDS;
        if (!custom) x->troubles++;
        guess_results(c, node);
        return;
    }
    int64_t troubles = x->troubles;
    x->asks = false;
    x->held.text[0] = 0;
    kni_convert_one(c, node);
    note_result(c, planned, noted, troubles);
}

const kni_onnx_target kni_target_examine = {
    .now = true,
    .emit = kni_now_emit,
    .is_known = is_known,
    .read = read_nothing,
    .wait = wait_for_nothing,
    .node = examine_node,
    .branch = kni_examine_branch,
    .loop = kni_examine_loop,
    .scan = kni_examine_scan,
};

/* ---- inputs */

static const kn_onnx_size *size_given(const kn_onnx_size *sizes, int32_t n, const char *own, const char *name)
{
    for (int32_t i = 0; i < n; i++)
        if (!strcmp(sizes[i].name, own)) return &sizes[i];
    for (int32_t i = 0; i < n && name; i++)
        if (!strcmp(sizes[i].name, name)) return &sizes[i];
    return NULL;
}

static bool note_size(kni_onnx_findings *found, const kn_onnx_size *given, const char *own, const char *name)
{
    bool is_own = !name || (given && !strcmp(given->name, own));
    if (size_taken(found, own, NULL) >= 0 || (!is_own && size_taken(found, NULL, name) >= 0)) return true;
    const char *kept = is_own ? kni_onnx_arena_copy(found->arena, own, strlen(own)) : name;
    int64_t size = !given ? 1 : given->high > 0 ? given->high : given->low > 0 ? given->low : 1;
    if (given && given->low == given->high) size = given->low;
    found->sizes[found->sums.sizes++] = (kn_onnx_open_size){kept, size, given != NULL};
    return kept != NULL;
}

/* All sizes that inputs leave open, each once. */
static bool note_sizes(const kni_onnx *session, kni_onnx_findings *found, const kn_onnx_size *sizes,
                       int32_t n)
{
    char own[NAME];
    size_t axes = 0;
    for (int32_t i = 0; i < session->n_inputs; i++)
        axes += session->inputs[i].rank > 0 ? (size_t)session->inputs[i].rank : 0;
    found->sizes = kni_onnx_arena_take(found->arena, axes + 1, sizeof *found->sizes);
    bool good = found->sizes != NULL;
    for (int32_t i = 0; i < session->n_inputs; i++)
        for (int32_t a = 0; a < session->inputs[i].rank && good; a++) {
            if (session->inputs[i].sizes[a] >= 0) continue;
            const char *name = session->inputs[i].names[a];
            snprintf(own, sizeof own, "%s.%d", session->inputs[i].name, (int)a);
            good = note_size(found, size_given(sizes, n, own, name), own, name);
        }
    return good;
}

static void bind_input(kni_conversion *c, const kni_onnx *session, int32_t i)
{
    char own[NAME];
    kni_examining *x = kni_examining_of(c);
    const kn_onnx_port *port = &session->inputs[i];
    int32_t value = session->plan.model->graph->inputs[i];
    kni_extent extents[KN_MAX_RANK];
    if (port->has_default && port->kind != KN_ONNX_OPTIONAL) return;
    x->unknown[value] = port->kind != KN_ONNX_TENSOR || !port->dtype || port->rank < 0;
    if (x->unknown[value]) return;
    for (int32_t a = 0; a < port->rank; a++) {
        snprintf(own, sizeof own, "%s.%d", port->name, (int)a);
        extents[a] =
            KNI_EXTENT(port->sizes[a] >= 0 ? port->sizes[a] : size_taken(x->found, own, port->names[a]));
    }
    int32_t made = kni_made_mark(c);
    kni_bind(c, value, kni_examine_unknown(c, port->dtype, extents, port->rank));
    kni_made_leave(c, made);
}

/* ---- the whole */

static kn_status walk_model(kni_onnx *session, kni_examining *x)
{
    kni_conversion c;
    kni_now_start(&x->now, &session->plan);
    x->now.types_alone = x->now.ahead = x->now.waits = true;
    x->now.one_place = false;
    x->now.small = SMALL;
    if (!kni_conversion_start(&c, &session->plan, &kni_target_examine, x)) return KN_ERROR_MEMORY;
    c.max_trips = session->max_trips;
    for (int32_t i = 0; i < session->n_inputs; i++) bind_input(&c, session, i);
    kni_graph_nodes(&c, session->plan.model->graph);
    kn_status s = c.status;
    kni_conversion_end(&c);
    return s;
}

static kn_status examine(kni_onnx *session, kni_onnx_findings *found)
{
    kni_examining x = {.found = found, .times = 1};
    kn_device before = kn_device_current(), null = kn_device_open("null");
    x.unknown = calloc((size_t)session->plan.model->n_values + 1, sizeof *x.unknown);
    kn_status s = null && x.unknown ? KN_OK : KN_ERROR_MEMORY;
    kn_scope scope = kn_scope_begin();
    kni_failure_hold(&x.held);
    if (s == KN_OK) kn_device_use(null);
    if (s == KN_OK) s = walk_model(session, &x);
    (void)kni_failure_release(&x.held, KN_OK, KN_NONE);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(before);
    if (null) kn_device_close(null);
    free(x.unknown);
    return s ? kni_failure_memory("kn_onnx_examine") : KN_OK;
}

static kn_status check_sizes(const kni_onnx *session, const kn_onnx_size *sizes, int32_t n)
{
    kn_status s = n > 0 ? kni_given(sizes, "kn_onnx_examine", "sizes") : KN_OK;
    for (int32_t k = 0; k < n && s == KN_OK; k++)
        s = kni_session_size_check(session, &sizes[k], "kn_onnx_examine");
    return s;
}

kn_status kn_onnx_examine(kn_onnx model, const kn_onnx_size *sizes, int32_t n_sizes, kn_onnx_examined *result)
{
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    kn_status s = check_sizes(session, sizes, n_sizes);
    if (s) return s;
    kni_onnx_findings *found = kni_onnx_findings_new(session->plan.model->n_nodes);
    if (!found || !note_sizes(session, found, sizes, n_sizes))
        s = kni_failure_memory(__func__);
    else
        s = examine(session, found);
    if (s == KN_OK) s = kni_onnx_findings_finish(found, &session->plan);
    if (s) {
        kni_onnx_findings_free(found);
        return s;
    }
    kni_exclusive_enter(&session->plan.lock);
    kni_onnx_findings *older = session->findings;
    session->findings = found;
    kni_exclusive_leave(&session->plan.lock);
    kni_onnx_findings_free(older);
    if (result) *result = found->sums;
    return KN_OK;
}
