/* Running a model: inputs are checked against what it declares, bound, and its results handed out. */
#include "onnx/run/now.h"
#include "onnx/run/session.h"
#include "support/failure.h"
#include <kn/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_TEXT = 160 };

/* Where inputs come from and outputs go to: tensors or values. */
typedef struct ports_given {
    const kn_tensor *tensors;
    kni_held *const *held;
    kn_tensor *tensors_out;
    kni_held **held_out;
} ports_given;

/* ---- inputs */

static const char *shape_of(const kni_entry *e, char *text)
{
    size_t n = 0;
    text[0] = 0;
    for (int32_t a = 0; a < e->rank && n + 32 < SHAPE_TEXT; a++)
        n +=
            (size_t)snprintf(text + n, SHAPE_TEXT - n, a ? ", %lld" : "%lld", (long long)e->extents[a].value);
    return text;
}

static const char *kind_word(const kni_entry *e)
{
    static const char *const words[] = {"nothing",    "a tensor",    "strings",
                                        "a sequence", "an optional", "a map"};
    return e->kind == KNI_IS_TENSOR ? kn_dtype_name(e->dtype) : words[e->kind];
}

static void refuse(kni_conversion *c, const kn_onnx_port *port, const kni_entry *e, kn_status code,
                   const char *why)
{
    char text[SHAPE_TEXT];
    bool shaped = e->kind == KNI_IS_TENSOR || e->kind == KNI_IS_STRINGS;
    kni_convert_fail(c, code, "input '%s' is %s%s%s%s; the model takes %s [%s]%s", port->name, kind_word(e),
                     shaped ? " [" : "", shaped ? shape_of(e, text) : "", shaped ? "]" : "", port->type,
                     port->shape, why);
}

/* The size that a name stands for, known from this input or one before it. */
static bool same_size(const kni_onnx *session, const kni_conversion *c, int32_t input, int32_t axis,
                      int64_t size)
{
    const char *name = session->inputs[input].names[axis];
    for (int32_t i = 0; i <= input; i++) {
        const kn_onnx_port *port = &session->inputs[i];
        const kni_entry *e = kni_entry_of(c, (kni_datum){c->now[session->plan.model->graph->inputs[i]]});
        if (!e || (e->kind != KNI_IS_TENSOR && e->kind != KNI_IS_STRINGS)) continue;
        for (int32_t a = 0; a < port->rank && a < e->rank; a++)
            if (port->names[a] && !strcmp(port->names[a], name) && e->extents[a].value != size) return false;
    }
    return true;
}

static void check_input(const kni_onnx *session, kni_conversion *c, int32_t i, const kni_entry *e)
{
    static const uint8_t kinds[] = {[KN_ONNX_TENSOR] = KNI_IS_TENSOR,
                                    [KN_ONNX_STRINGS] = KNI_IS_STRINGS,
                                    [KN_ONNX_SEQUENCE] = KNI_IS_SEQUENCE,
                                    [KN_ONNX_OPTIONAL] = KNI_IS_OPTIONAL,
                                    [KN_ONNX_MAP] = KNI_IS_MAP};
    const kn_onnx_port *port = &session->inputs[i];
    if (port->kind == KN_ONNX_NOTHING || port->kind == KN_ONNX_OPTIONAL) return;
    if (e->kind != (kni_datum_kind)kinds[port->kind] ||
        (e->kind == KNI_IS_TENSOR && e->dtype != port->dtype)) {
        refuse(c, port, e, KN_ERROR_DTYPE, "");
        return;
    }
    if (port->rank < 0) return;
    bool fits = e->rank == port->rank;
    for (int32_t a = 0; a < e->rank && fits; a++)
        fits = port->sizes[a] < 0 || port->sizes[a] == e->extents[a].value;
    if (!fits) {
        refuse(c, port, e, KN_ERROR_SHAPE, "");
        return;
    }
    for (int32_t a = 0; a < e->rank && !c->status; a++)
        if (port->names[a] && !same_size(session, c, i, a, e->extents[a].value))
            refuse(c, port, e, KN_ERROR_SHAPE, ", where one name is one size in all inputs");
}

/* A value from outside as one of the run's. */
static kni_datum take_held(kni_conversion *c, kni_held *held)
{
    kni_datum x = KNI_ABSENT;
    if (!held || c->status) return KNI_ABSENT;
    if (held->kind == KNI_IS_TENSOR) return kni_now_borrow(c, held->tensor);
    kni_entry *e = kni_entry_new(c, held->kind, &x);
    if (!e) return KNI_ABSENT;
    if (held->kind == KNI_IS_STRINGS) {
        e->strings = kni_held_use(held);
        e->texts = held->strings;
        e->rank = held->rank;
        for (int32_t a = 0; a < e->rank; a++) e->extents[a] = KNI_EXTENT(held->sizes[a]);
        return x;
    }
    e->depth = held->depth;
    e->items = calloc((size_t)held->n + 1, sizeof *e->items);
    if (!e->items) {
        kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for %lld values", (long long)held->n);
        return KNI_ABSENT;
    }
    for (int64_t i = 0; i < held->n; i++) {
        kni_datum item = take_held(c, held->items[i]);
        kni_entry_use(c, item);
        e->items[e->n_items++] = item;
    }
    return x;
}

static void bind_inputs(const kni_onnx *session, kni_conversion *c, const ports_given *given, int32_t n_in)
{
    const kni_onnx_graph *graph = session->plan.model->graph;
    int32_t made = kni_made_mark(c);
    for (int32_t i = 0; i < session->n_inputs && !c->status; i++) {
        kni_datum x = KNI_ABSENT;
        if (i < n_in && given->tensors && given->tensors[i].bits) {
            kn_tensor t = kn_keep(given->tensors[i]);
            if (kn_ok(t))
                x = kni_now_borrow(c, t);
            else
                kni_convert_fail(c, kn_error_code(t), "input '%s': %s", session->inputs[i].name,
                                 kni_failure_taken());
        } else if (i < n_in && given->held) {
            x = take_held(c, given->held[i]);
        }
        if (c->status) break;
        if (kni_is_given(x)) {
            if (session->plan.model->ir_version < 4 && session->folds && i >= graph->n_inputs)
                kni_convert_fail(
                    c, KN_ERROR_UNSUPPORTED,
                    "input '%s' is a weight that was computed with when the model was loaded; no_simplify of "
                    "kn_onnx_args lets it be given",
                    session->inputs[i].name);
            kni_bind(c, graph->inputs[i], x);
            check_input(session, c, i, kni_entry_of(c, x));
        } else if (!session->inputs[i].has_default) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "input '%s' is missing; the model takes %s [%s]",
                             session->inputs[i].name, session->inputs[i].type, session->inputs[i].shape);
        }
    }
    kni_made_leave(c, made);
}

/* ---- outputs */

static kni_held *give_held(kni_conversion *c, kni_datum x)
{
    kni_entry *e = kni_entry_of(c, x);
    if (!e || c->status) return NULL;
    kni_held *held = NULL;
    if (e->kind == KNI_IS_TENSOR) {
        kn_tensor t = kni_now_on_device(c, e);
        held = t.bits ? kni_held_tensor(kn_alias(t)) : NULL;
    } else if (e->kind == KNI_IS_STRINGS) {
        return kni_held_use(e->strings);
    } else {
        held = kni_held_list(e->kind, e->n_items);
        for (int64_t i = 0; held && i < e->n_items; i++) kni_held_place(held, i, give_held(c, e->items[i]));
    }
    if (!held) kni_convert_fail(c, KN_ERROR_MEMORY, "%s", kni_failure_taken());
    return held;
}

static void give_outputs(const kni_onnx *session, kni_conversion *c, const ports_given *given)
{
    const kni_onnx_graph *graph = session->plan.model->graph;
    for (int32_t k = 0; k < session->n_outputs && !c->status; k++) {
        kni_datum x = kni_bound(c, graph->outputs[k]);
        kni_entry *e = kni_entry_of(c, x);
        if (!e && session->outputs[k].kind != KN_ONNX_OPTIONAL)
            kni_convert_fail(c, KN_ERROR_INTERNAL, "output '%s' has no value", session->outputs[k].name);
        if (e && given->held_out) given->held_out[k] = give_held(c, x);
        if (!e || given->held_out) continue;
        if (e->kind == KNI_IS_OPTIONAL) e = kni_entry_of(c, kni_optional_value(c, x));
        if (e && e->kind != KNI_IS_TENSOR)
            kni_convert_fail(c, KN_ERROR_DTYPE,
                             "output '%s' is %s and no tensor of numbers; kn_onnx_run_values gives it",
                             session->outputs[k].name, kind_word(e));
        kn_tensor t = e && !c->status ? kni_now_on_device(c, e) : KN_NONE;
        given->tensors_out[k] = t.bits ? kn_alias(t) : KN_NONE;
        if (t.bits && !kn_ok(given->tensors_out[k]))
            kni_convert_fail(c, kn_error_code(t), "%s", kni_failure_taken());
    }
}

/* ---- the whole */

static void add_times(kni_onnx *session, const kni_conversion *c)
{
    kni_exclusive_enter(&session->plan.lock);
    for (int32_t i = 0; i < session->plan.model->n_nodes; i++) session->times[i] += c->times[i];
    session->runs++;
    kni_exclusive_leave(&session->plan.lock);
}

static kn_status convert_model(kni_onnx *session, kni_conversion *c, const ports_given *given, int32_t n_in)
{
    kni_exclusive_enter(&session->plan.lock);
    bool measures = session->measures;
    kni_exclusive_leave(&session->plan.lock);
    if (measures) c->times = calloc((size_t)session->plan.model->n_nodes + 1, sizeof *c->times);
    c->max_trips = session->max_trips;
    bind_inputs(session, c, given, n_in);
    kni_graph_nodes(c, session->plan.model->graph);
    give_outputs(session, c, given);
    if (c->times && !c->status) add_times(session, c);
    free(c->times);
    return c->status;
}

static kn_status check_counts(const kni_onnx *session, const void *in, int32_t n_in, const void *out,
                              int32_t n_out, const char *function)
{
    int32_t needed = 0;
    for (int32_t i = 0; i < session->n_inputs; i++)
        if (!session->inputs[i].has_default) needed = i + 1;
    bool good = n_in >= needed && n_in <= session->n_inputs && n_out == session->n_outputs;
    if (good && (in || !n_in) && (out || !n_out)) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: %d inputs and %d outputs are given; the model has %d and %d",
                       function, in ? n_in : 0, out ? n_out : 0, session->n_inputs, session->n_outputs);
}

static kn_status run_session(kni_onnx *session, const ports_given *given, int32_t n_in)
{
    kni_conversion c;
    kni_now now;
    kni_now_start(&now, &session->plan);
    if (!now.device) return kni_latest_code();
    if (!kni_conversion_start(&c, &session->plan, &kni_target_now, &now)) return KN_ERROR_MEMORY;
    kn_status s = convert_model(session, &c, given, n_in);
    kni_conversion_end(&c);
    return s;
}

kn_status kn_onnx_run(kn_onnx model, const kn_tensor *in, int32_t n_in, kn_tensor *out, int32_t n_out)
{
    for (int32_t k = 0; out && k < n_out; k++) out[k] = KN_NONE;
    KNI_USE(onnx, session, model);
    kn_scope scope = kn_scope_begin();
    ports_given given = {.tensors = in, .tensors_out = out};
    kn_status s = session ? check_counts(session, in, n_in, out, n_out, __func__) : KNI_NO_OBJECT(model);
    if (s == KN_OK) s = run_session(session, &given, n_in);
    for (int32_t k = 0; s && out && k < n_out; k++) out[k] = kn_poison(s, kni_failure_latest());
    kn_scope_end_many(scope, out, out ? n_out : 0);
    return s;
}

/* The values behind handles; NULL for no value. Each is in use until the list is left. */
static kn_status held_of(const kn_onnx_value *in, int32_t n, kni_held **held, const char *function)
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        if (!in[i]) continue;
        kni_object_use use = kni_object_enter(in[i], &kni_kind_onnx_datum, function);
        held[i] = kni_held_use(use.object);
        if (!use.object) s = KN_ERROR_HANDLE;
        kni_object_leave(&use);
    }
    return s;
}

static kn_status make_values(kni_held **held, kn_onnx_value *out, int32_t n, const char *function)
{
    kn_status s = KN_OK;
    for (int32_t k = 0; k < n; k++) {
        if (held[k] && s == KN_OK) {
            out[k] = kni_object_make(&kni_kind_onnx_datum, held[k], function);
            if (!out[k]) s = KN_ERROR_MEMORY;
        } else {
            kni_held_leave(held[k]);
        }
        held[k] = NULL;
    }
    for (int32_t k = 0; s && k < n; k++) {
        kn_onnx_value_free(out[k]);
        out[k] = NULL;
    }
    return s;
}

kn_status kn_onnx_run_values(kn_onnx model, const kn_onnx_value *in, int32_t n_in, kn_onnx_value *out,
                             int32_t n_out)
{
    for (int32_t k = 0; out && k < n_out; k++) out[k] = NULL;
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    kn_status s = check_counts(session, in, n_in, out, n_out, __func__);
    if (s) return s;
    kn_scope scope = kn_scope_begin();
    kni_held **held = calloc((size_t)n_in + (size_t)n_out + 1, sizeof(kni_held *));
    if (!held) s = kni_failure_memory(__func__);
    if (s == KN_OK) s = held_of(in, n_in, held, __func__);
    ports_given given = {.held = held, .held_out = held + n_in};
    if (s == KN_OK) s = run_session(session, &given, n_in);
    for (int32_t i = 0; held && i < n_in; i++) kni_held_leave(held[i]);
    for (int32_t k = 0; held && s && k < n_out; k++)
        kni_held_leave(given.held_out[k]), given.held_out[k] = NULL;
    if (s == KN_OK) s = make_values(given.held_out, out, n_out, __func__);
    free(held);
    kn_scope_end(scope, KN_NONE);
    return s;
}
