/* Loading and freeing models. */
#include "onnx/run/session.h"
#include "core/lasting.h"
#include "onnx/pass/pass.h"
#include "onnx/run/file_tensor.h"
#include "support/argument.h"
#include "support/buffer.h"
#include "support/failure.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRIPS = 1 << 24 };

const kni_object_kind kni_kind_onnx = {"kn_onnx", "model", "freed", kni_onnx_destroy};

/* ---- the model is shared by the session and the tensors that lie in its files */

static kni_model_share *share_of(kni_onnx_model *model)
{
    kni_model_share *share = malloc(sizeof *share);
    if (!share) return kni_failure_memory("kn_onnx_load"), NULL;
    atomic_init(&share->users, 1);
    share->model = model;
    return share;
}

static void leave_share(void *context)
{
    kni_model_share *share = context;
    if (atomic_fetch_sub(&share->users, 1) > 1) return;
    kni_onnx_model_free(share->model);
    free(share);
}

/* ---- constants */

kn_status kni_session_add_constant(kni_onnx *session, int32_t value, kn_tensor tensor, kni_held *strings)
{
    kni_stored *constant = calloc(1, sizeof *constant);
    if (!constant) {
        kn_drop(tensor);
        kni_held_leave(strings);
        return kni_failure_memory("kn_onnx_load");
    }
    *constant = (kni_stored){.value = value, .tensor = tensor, .strings = strings};
    kni_lasting(tensor);
    session->plan.constants[value] = constant;
    return KN_OK;
}

static kn_status add_initializer(kni_onnx *session, int32_t value)
{
    const kni_onnx_tensor *tensor = session->plan.model->values[value].initializer;
    if (tensor->type == KNI_ONNX_STRING) {
        kni_held *strings = kni_file_strings(tensor);
        return strings ? kni_session_add_constant(session, value, KN_NONE, strings) : kni_latest_code();
    }
    atomic_fetch_add(&session->share->users, 1);
    kn_tensor t = kn_own(kni_file_tensor(tensor, leave_share, session->share));
    if (!kn_ok(t)) return kni_failure_of(t);
    return kni_session_add_constant(session, value, t, NULL);
}

kn_status kni_session_constants(kni_onnx *session)
{
    kn_status s = KN_OK;
    for (int32_t v = 0; v < session->plan.model->n_values && s == KN_OK; v++)
        if (session->plan.model->values[v].initializer) s = add_initializer(session, v);
    return s;
}

void kni_stored_free(kni_stored *constant)
{
    if (!constant) return;
    kn_drop(constant->tensor);
    kni_held_leave(constant->strings);
    for (kni_stored_copy *copy = constant->copies, *next; copy; copy = next) {
        next = copy->next;
        kn_drop(copy->tensor);
        free(copy);
    }
    free(constant);
}

/* ---- the whole */

void kni_onnx_destroy(void *object)
{
    kni_onnx *session = object;
    for (int32_t v = 0; session->plan.constants && v < session->plan.model->n_values; v++)
        kni_stored_free(session->plan.constants[v]);
    kni_kept_free(&session->plan);
    kni_onnx_findings_free(session->findings);
    if (session->plan.host) kn_device_close(session->plan.host);
    kni_exclusive_destroy(&session->plan.lock);
    free(session->times);
    leave_share(session->share);
    free(session);
}

static kn_status no_output(const kni_onnx_model *model, const char *name)
{
    kni_buffer text = {0};
    for (int32_t k = 0; k < model->graph->n_outputs; k++) {
        kni_buffer_text(&text, k ? ", " : "");
        kni_buffer_text(&text, model->values[model->graph->outputs[k]].name);
    }
    kn_status s =
        kni_failure(KN_ERROR_ARGUMENT, "kn_onnx_load: the model has no output called '%.200s'; it has %.200s",
                    name ? name : "(null)", kni_buffer_string(&text));
    kni_buffer_free(&text);
    return s;
}

/* Leaves the outputs that are asked for. */
static kn_status choose_outputs(kni_onnx_model *model, const kn_onnx_args *args)
{
    int32_t n = args && args->outputs ? args->n_outputs : 0;
    if (n < 1) return KN_OK;
    int32_t *chosen = kni_onnx_arena_take(model->arena, (size_t)n, sizeof *chosen);
    if (!chosen) return kni_failure_memory("kn_onnx_load");
    for (int32_t i = 0; i < n; i++) {
        chosen[i] = -1;
        for (int32_t k = 0; k < model->graph->n_outputs && args->outputs[i]; k++)
            if (!strcmp(model->values[model->graph->outputs[k]].name, args->outputs[i]))
                chosen[i] = model->graph->outputs[k];
        if (chosen[i] < 0) return no_output(model, args->outputs[i]);
    }
    model->graph->outputs = chosen;
    model->graph->n_outputs = n;
    return KN_OK;
}

static kn_status prepare(kni_onnx *session)
{
    session->plan.host = kn_device_cpu();
    if (!session->plan.host) return kni_latest_code();
    kn_device before = kn_device_current();
    kn_device_use(session->plan.host);
    /* Weights may be Constant nodes. */
    const kni_onnx_passes which = {.constants_alone = !session->folds,
                                   .keep_weights = session->keeps_weights,
                                   .keep_stored = session->keeps_stored};
    kn_status s =
        session->folds || session->keeps_weights ? kni_onnx_simplify(session->plan.model, &which) : KN_OK;
    session->times = calloc((size_t)session->plan.model->n_nodes + 1, sizeof *session->times);
    if (s == KN_OK && !session->times) s = kni_failure_memory("kn_onnx_load");
    if (s == KN_OK) s = kni_onnx_plan_make(&session->plan);
    if (s == KN_OK) s = kni_session_constants(session);
    if (s == KN_OK && session->folds) s = kni_session_fold(session);
    if (s == KN_OK) s = kni_session_ports(session);
    kn_device_use(before);
    return s;
}

/* Takes the model; NULL, also of a model that could not be read. */
static kn_onnx open_session(kni_onnx_model *model, const kn_onnx_args *args, const char *function)
{
    if (!model) return NULL;
    kni_onnx *session = calloc(1, sizeof *session);
    kni_model_share *share = session ? share_of(model) : NULL;
    if (!share) {
        kni_onnx_model_free(model);
        free(session);
        kni_failure_memory(function);
        return NULL;
    }
    session->share = share;
    session->plan.model = model;
    session->folds = !args || !args->no_simplify;
    session->keeps_weights = args && args->keep_weights;
    session->keeps_stored = args && args->keep_stored;
    session->max_trips = args && args->max_trips > 0 ? args->max_trips : MAX_TRIPS;
    kni_exclusive_init(&session->plan.lock);
    if (choose_outputs(model, args) == KN_OK && prepare(session) == KN_OK)
        return kni_object_make(&kni_kind_onnx, session, function);
    kni_onnx_destroy(session);
    return NULL;
}

kn_onnx kn_onnx_load(const char *path, const kn_onnx_args *args)
{
    KNI_NAMED;
    if (kni_given(path, __func__, "path")) return NULL;
    return open_session(kni_onnx_model_read(path), args, __func__);
}

kn_onnx kn_onnx_load_memory(const void *data, size_t bytes, const kn_onnx_args *args)
{
    KNI_NAMED;
    if (bytes && kni_given(data, __func__, "data")) return NULL;
    return open_session(kni_onnx_model_read_memory(data, bytes, args ? args->folder : NULL), args, __func__);
}

void kn_onnx_free(kn_onnx model) { kni_object_free(model, &kni_kind_onnx, __func__); }
