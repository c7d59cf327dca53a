/* kn_onnx_program: a model as a program, with sizes that are known only when it runs. */
#include "core/objects.h"
#include "onnx/build/build.h"
#include "onnx/run/session.h"
#include "onnx/run/weights.h"
#include "support/buffer.h"
#include "support/failure.h"
#include <kn/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_NAME = 44 };

typedef struct making {
    kni_onnx *session;
    const kn_onnx_program_args *args;
    kni_conversion c;
    kni_building building;
} making;

/* ---- sizes of inputs */

static const kn_onnx_size *size_given(const making *m, const char *name)
{
    for (int32_t i = 0; i < m->args->n_sizes; i++)
        if (m->args->sizes[i].name && !strcmp(m->args->sizes[i].name, name)) return &m->args->sizes[i];
    return NULL;
}

static const kn_onnx_given *value_given(const making *m, const char *name)
{
    for (int32_t i = 0; i < m->args->n_given; i++)
        if (m->args->given[i].input && !strcmp(m->args->given[i].input, name)) return &m->args->given[i];
    return NULL;
}

static bool is_kept(const making *m, const char *name)
{
    for (int32_t i = 0; i < m->args->n_kept; i++)
        if (m->args->kept[i] && !strcmp(m->args->kept[i], name)) return true;
    return false;
}

/* A name of a size as the builder takes it: a letter, then letters, digits and underscores. */
static void clean_name(const char *name, char *out)
{
    size_t n = 0;
    bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z');
    if (!letter) out[n++] = 'n';
    for (; *name && n + 1 < SIZE_NAME; name++) {
        bool good = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                    (*name >= '0' && *name <= '9');
        out[n++] = good ? *name : '_';
    }
    out[n] = 0;
}

/* The size of an axis as text: a number that is declared or given, else a name, which is introduced with its bounds. */
static bool size_text(making *m, const kn_onnx_port *port, int32_t axis, char *text, size_t room)
{
    char own[300], name[SIZE_NAME];
    snprintf(own, sizeof own, "%s.%d", port->name, (int)axis);
    const char *declared = port->names[axis] ? port->names[axis] : own;
    const kn_onnx_size *given = size_given(m, own);
    if (!given) given = size_given(m, declared);
    int64_t number = port->sizes[axis];
    if (number < 0 && given && given->low == given->high) number = given->low;
    if (number >= 0) return snprintf(text, room, "%lld", (long long)number) < (int)room;
    clean_name(declared, name);
    if (given &&
        kn_builder_size(m->building.builder, name, given->low, given->high > 0 ? given->high : INT64_MAX)) {
        kni_onnx_build_failed(&m->c);
        return false;
    }
    return snprintf(text, room, "%s", name) < (int)room;
}

/* The port of the tensor that an optional holds, which a program takes in its place. */
static kn_onnx_port port_inside(const making *m, int32_t i)
{
    kn_onnx_port port = m->session->inputs[i];
    const kni_onnx_model *model = m->session->plan.model;
    const kni_onnx_declared *d = model->values[model->graph->inputs[i]].declared;
    d = port.kind == KN_ONNX_OPTIONAL && d ? d->inner : NULL;
    if (!d || d->kind != KNI_ONNX_TENSOR || d->rank < 0 || d->rank > KN_MAX_RANK) return port;
    port.kind = d->type == KNI_ONNX_STRING ? KN_ONNX_STRINGS : KN_ONNX_TENSOR;
    port.dtype = kni_onnx_dtype(d->type);
    port.rank = d->rank;
    for (int32_t a = 0; a < d->rank; a++) {
        port.sizes[a] = d->dims[a].value;
        port.names[a] = d->dims[a].value < 0 ? d->dims[a].name : NULL;
    }
    return port;
}

static kni_datum make_input(making *m, const kn_onnx_port *port)
{
    char shape[KN_MAX_RANK * (SIZE_NAME + 4)] = "";
    if (port->kind != KN_ONNX_TENSOR || !port->dtype || port->rank < 0) {
        kni_convert_fail(&m->c, KN_ERROR_UNSUPPORTED,
                         "input '%s' is %s [%s]; an input of a program is a tensor with a known number of "
                         "axes, or is given its value",
                         port->name, port->type, port->shape);
        return KNI_ABSENT;
    }
    for (int32_t a = 0; a < port->rank; a++) {
        size_t at = strlen(shape);
        if (a) at += (size_t)snprintf(shape + at, sizeof shape - at, ", ");
        if (!size_text(m, port, a, shape + at, sizeof shape - at)) return KNI_ABSENT;
    }
    kn_program_value value = kn_builder_input(m->building.builder, port->name, port->dtype, shape);
    kni_datum x = value.id ? kni_onnx_build_result(&m->c, value) : KNI_ABSENT;
    kni_entry *e = kni_entry_of(&m->c, x);
    if (e) e->is_input = true;
    if (!value.id) kni_onnx_build_failed(&m->c);
    return x;
}

static kni_datum given_input(making *m, const kn_onnx_port *port, const kn_onnx_given *given)
{
    if (kn_ok(given->value) && port->dtype && kn_dtype_of(given->value) != port->dtype)
        kni_convert_fail(&m->c, KN_ERROR_DTYPE, "the value given for input '%s' is %s; it must be %s",
                         port->name, kn_dtype_name(kn_dtype_of(given->value)), kn_dtype_name(port->dtype));
    if (kni_convert_failed(&m->c)) return KNI_ABSENT;
    kn_tensor t = kn_to(kn_alias(given->value), m->session->plan.host);
    return kni_entry_host(&m->c, t);
}

static void bind_inputs(making *m)
{
    const kni_onnx *session = m->session;
    kni_conversion *c = &m->c;
    int32_t made = kni_made_mark(c);
    for (int32_t i = 0; i < session->n_inputs && !c->status; i++) {
        const kn_onnx_port port = port_inside(m, i);
        const kn_onnx_given *given = value_given(m, port.name);
        if (!given && port.has_default && !is_kept(m, port.name)) continue;
        if (i >= session->plan.model->graph->n_inputs && session->plan.model->ir_version < 4 &&
            session->folds)
            kni_convert_fail(
                c, KN_ERROR_UNSUPPORTED,
                "input '%s' is a weight that was computed with when the model was loaded; no_simplify of "
                "kn_onnx_args lets it be given",
                port.name);
        kni_datum x = given ? given_input(m, &port, given) : make_input(m, &port);
        if (!c->status) kni_bind(c, session->plan.model->graph->inputs[i], x);
    }
    kni_made_leave(c, made);
}

/* ---- names that nothing has */

static bool has_input(const kni_onnx *session, const char *name)
{
    bool found = false;
    for (int32_t i = 0; i < session->n_inputs; i++) found |= name && !strcmp(name, session->inputs[i].name);
    return found;
}

static kn_status no_input(const kni_onnx *session, const char *name)
{
    kni_buffer text = {0};
    for (int32_t i = 0; i < session->n_inputs; i++) {
        kni_buffer_text(&text, i ? ", " : "");
        kni_buffer_text(&text, session->inputs[i].name);
    }
    kn_status s = kni_failure(KN_ERROR_ARGUMENT,
                              "kn_onnx_program: the model has no input called '%.200s'; it has %.200s",
                              name ? name : "(null)", kni_buffer_string(&text));
    kni_buffer_free(&text);
    return s;
}

static kn_status check_names(const making *m)
{
    const kni_onnx *session = m->session;
    for (int32_t k = 0; k < m->args->n_given; k++)
        if (!has_input(session, m->args->given[k].input)) return no_input(session, m->args->given[k].input);
    for (int32_t k = 0; k < m->args->n_kept; k++)
        if (!has_input(session, m->args->kept[k])) return no_input(session, m->args->kept[k]);
    for (int32_t k = 0; k < m->args->n_sizes; k++) {
        kn_status s = kni_session_size_check(session, &m->args->sizes[k], "kn_onnx_program");
        if (s) return s;
    }
    return KN_OK;
}

/* ---- the whole */

static kn_program finish(making *m)
{
    const kni_onnx_graph *graph = m->session->plan.model->graph;
    int32_t n = m->session->n_outputs;
    kn_program_value *values = kni_convert_memory(&m->c, (size_t)n + 1, sizeof *values);
    const char **names = kni_convert_memory(&m->c, (size_t)n + 1, sizeof *names);
    for (int32_t k = 0; k < n && !m->c.status; k++) {
        kni_datum x = kni_bound(&m->c, graph->outputs[k]);
        if (kni_kind_of(&m->c, x) != KNI_IS_TENSOR)
            kni_convert_fail(&m->c, KN_ERROR_UNSUPPORTED,
                             "output '%s' is no tensor of numbers, which are all that a program gives",
                             m->session->outputs[k].name);
        values[k] = kni_onnx_build_operand(&m->c, x);
        names[k] = m->session->outputs[k].name;
    }
    return m->c.status ? NULL : kn_builder_finish(m->building.builder, values, names, n);
}

static kn_program make_program(making *m)
{
    kni_onnx *session = m->session;
    kn_program program = NULL;
    size_t n = (size_t)session->plan.model->n_values + 1;
    m->building.builder = kn_builder_new();
    m->building.params = calloc(n, sizeof *m->building.params);
    m->building.roles = kni_onnx_roles(session->plan.model);
    m->building.keeps_weights = session->keeps_weights;
    if (!m->building.builder || !m->building.params || !m->building.roles) {
        kni_failure_memory("kn_onnx_program");
    } else if (kni_conversion_start(&m->c, &session->plan, &kni_target_build, &m->building)) {
        m->c.max_trips = session->max_trips;
        bind_inputs(m);
        kni_graph_nodes(&m->c, session->plan.model->graph);
        program = finish(m);
        kni_conversion_end(&m->c);
    }
    kn_builder_free(m->building.builder);
    free(m->building.params);
    free(m->building.roles);
    return program;
}

kn_program kn_onnx_program(kn_onnx model, const kn_onnx_program_args *args)
{
    static const kn_onnx_program_args defaults = KN_ONNX_PROGRAM_ARGS_DEFAULTS;
    KNI_USE(onnx, session, model);
    if (!session) return NULL;
    kn_program program = NULL;
    making m = {.session = session, .args = args ? args : &defaults};
    if (check_names(&m)) return NULL;
    kn_scope scope = kn_scope_begin();
    kn_device before = kn_device_current();
    kn_device_use(session->plan.host);
    program = make_program(&m);
    if (!program && m.building.has_loops) {
        /* A loop whose values change their sizes from trip to trip is none of a program: written out it is. */
        making again = {.session = session, .args = m.args, .building = {.unrolls = true}};
        program = make_program(&again);
    }
    const uint32_t passes = KN_PASS_ALL | (session->keeps_weights ? KN_PASS_KEEP_PARAMS : 0);
    if (program && !m.args->no_simplify && kn_program_simplify(program, passes)) {
        kn_program_free(program);
        program = NULL;
    }
    kn_device_use(before);
    kn_scope_end(scope, KN_NONE);
    return program;
}
