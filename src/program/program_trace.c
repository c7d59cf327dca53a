/* kn_program_begin and kn_program_end: ops that run become a program. What they were given is a constant, a param or an input. */
#include "core/allocator.h"
#include "core/call_site.h"
#include "core/device_object.h"
#include "core/error.h"
#include "core/param_value.h"
#include "ops/record.h"
#include "program/trace_met.h"
#include <kn/tensor.h>
#include <string.h>

typedef struct tracing {
    kni_capture capture; /* first */
    kni_program *p;
    kni_met_list seen;   /* of each value */
    int32_t n_placed;    /* nodes that have their sites */
    const char *refused; /* why there will be no program */
    bool failed;         /* with the failure told */
    int32_t depth;       /* of the context it was begun in */
} tracing;

/* ---- noting */

static int32_t add_outside(tracing *t, kn_tensor handle, const kni_tensor *x)
{
    bool param = x->flags & KNI_TENSOR_PARAM;
    kni_type type = x->type;
    int32_t v = kni_build_value(t->p, param ? KNI_FROM_PARAM : KNI_FROM_CONSTANT, &type, 0, NULL);
    if (v < 0) return -1;
    if (!kni_met_note(&t->seen, handle, x, param)) {
        t->p->n_values--;
        return -1;
    }
    t->p->values[v].live = param;
    if (param) t->p->values[v].tensor = handle;
    return v;
}

/* A call's line is noted when it returns: that of a node is there by the time of the next one, or when the call
   that it was a part of is over. Calls without a line are waited for until theirs could not be found any more. */
static void find_sites(tracing *t, bool over)
{
    uint64_t now = kni_thread_self()->serial;
    for (; t->n_placed < t->p->n_nodes; t->n_placed++) {
        kni_program_node *n = &t->p->nodes[t->n_placed];
        n->site = kni_site_of(n->serial);
        if (!n->site && !over && now < n->serial + KNI_SITE_REACH) return;
    }
}

/* The record as a node; false without memory. Types are those the record has: its rule has run. */
static bool add_record(tracing *t, const kn_record *r, const kn_tensor *in)
{
    enum { MOST = KNI_PROGRAM_VALUES };
    int32_t values[MOST], results[MOST];
    kni_program *p = t->p;
    if (r->n_in > MOST || r->n_out > MOST) return t->refused = "an op has too many operands", true;
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        values[i] = x ? kni_met_find(&t->seen, in[i]) : -1;
        if (x && values[i] < 0) {
            const kni_tensor *given = kni_peek(in[i]);
            values[i] = given ? add_outside(t, in[i], given) : -1;
            if (values[i] < 0) return false;
        }
    }
    if (kni_build_op(p, 0, r->row, values, r->n_in, r->attributes, results, r->n_out)) return false;
    p->nodes[p->n_nodes - 1].serial = kni_thread_self()->serial;
    for (int i = 0; i < r->n_out; i++)
        if (!kni_met_note(&t->seen, kni_handle(r->ids[i]), kni_out(r, i), false)) return false;
    return true;
}

static void note(kni_capture *capture, const kn_record *r, const kn_tensor *in)
{
    tracing *t = (tracing *)capture;
    kni_thread *thread = kni_thread_self();
    if (t->failed || t->refused || kni_out(r, 0)->device != t->p->device) return;
    find_sites(t, false);
    thread->context.capture = NULL; /* aliases are no ops, but owning one may be told of */
    const uint32_t writes = KNI_FLAG_ALIAS | KNI_FLAG_NO_GRADIENT; /* the steps of optimisers */
    if (r->n_in > 0 && in[0].bits && kn_is_param(in[0]) && r->row->n_out > 1 &&
        (r->row->flags & writes) == writes)
        t->refused = "a param was updated";
    else
        t->failed = !add_record(t, r, in);
    thread->context.capture = capture;
}

/* ---- beginning, ending */

static void end_tracing(tracing *t)
{
    kni_met_free(&t->seen);
    kni_free(t, sizeof *t);
}

static void abandon(kni_capture *capture)
{
    tracing *t = (tracing *)capture;
    kni_program *p = t->p;
    end_tracing(t);
    kni_program_destroy(p);
}

kn_status kn_program_begin(kn_device device)
{
    kni_thread *thread = kni_thread_self();
    device = kni_device_given(device, "kn_program_begin");
    if (!device) return kni_latest_code();
    if (thread->context.capture)
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_program_begin: this thread makes a program already: end it first");
    tracing *t = kni_allocate(sizeof *t);
    if (t) memset(t, 0, sizeof *t);
    if (t) t->p = kni_program_new();
    if (!t || !t->p) {
        kni_free(t, t ? sizeof *t : 0);
        return kni_fail(KN_ERROR_MEMORY, "kn_program_begin: no memory for a program");
    }
    t->capture.note = note;
    t->capture.abandon = abandon;
    t->depth = thread->context.depth;
    t->p->loose = true;
    t->p->device = device;
    t->p->handle = kni_device_handle(device);
    t->p->counter = atomic_load(&device->rng_counter);
    thread->context.capture = &t->capture;
    return KN_OK;
}

static kn_status name_inputs(tracing *t, const kn_tensor *inputs, int32_t n)
{
    kni_program *p = t->p;
    size_t bytes = (size_t)n * sizeof *p->inputs;
    p->inputs = kni_allocate(bytes);
    p->input_names = p->inputs ? kni_allocate(bytes) : NULL;
    if (!p->input_names) {
        kni_free(p->inputs, p->inputs ? bytes : 0);
        p->inputs = NULL;
        return kni_fail(KN_ERROR_MEMORY, "kn_program_end: no memory for the inputs");
    }
    p->n_inputs = n;
    for (int32_t i = 0; i < n; i++) {
        int32_t v = kni_met_find(&t->seen, inputs[i]);
        p->inputs[i] = v;
        p->input_names[i] = -1;
        if (v < 0) continue; /* no op read it */
        kni_program_value *x = &p->values[v];
        if (x->origin == KNI_FROM_NODE)
            return kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: input %d was made by an op of the program",
                            i);
        if (x->origin == KNI_FROM_PARAM)
            return kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: input %d is a param: it is read anew anyway",
                            i);
        if (x->origin == KNI_FROM_INPUT)
            return kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: inputs %d and %d are one tensor", x->number,
                            i);
        x->origin = KNI_FROM_INPUT;
        x->number = i;
    }
    return KN_OK;
}

static kn_status name_outputs(tracing *t, const kn_tensor *outputs, int32_t n)
{
    kni_program *p = t->p;
    kni_program_region *r = &p->regions[0];
    p->output_names = kni_allocate((size_t)n * sizeof *p->output_names);
    if (!p->output_names) return kni_fail(KN_ERROR_MEMORY, "kn_program_end: no memory for the outputs");
    p->n_outputs = n;
    for (int32_t i = 0; i < n; i++) {
        int32_t v = kni_met_find(&t->seen, outputs[i]);
        p->output_names[i] = -1;
        if (v < 0)
            return kni_fail(KN_ERROR_ARGUMENT,
                            "kn_program_end: output %d is of no op between kn_program_begin and here on %s",
                            i, p->device->name);
        if (!kni_region_add(&r->results, &r->n_results, &r->result_room, v)) return KN_ERROR_MEMORY;
    }
    return KN_OK;
}

/* Constants keep their tensors; what was only met while it was noted is given up. */
static void keep_constants(tracing *t)
{
    for (int32_t i = 0; i < t->p->n_values; i++) {
        if (t->p->values[i].origin != KNI_FROM_CONSTANT) continue;
        t->p->values[i].tensor = t->seen.of[i].alias;
        t->seen.of[i].alias = KN_NONE;
    }
}

static kn_status check_lists(const tracing *t, const kn_tensor *inputs, int32_t n_inputs,
                             const kn_tensor *outputs, int32_t n_outputs)
{
    if (n_inputs < 0 || n_outputs < 0 || (n_inputs && !inputs) || (n_outputs && !outputs))
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_program_end: the lists of %d inputs and %d outputs are missing", n_inputs,
                        n_outputs);
    if (t->failed) return kni_fail(KN_ERROR_MEMORY, "kn_program_end: there was no memory to note all ops");
    if (t->refused)
        return kni_fail(KN_ERROR_UNSUPPORTED, "kn_program_end: %s: that is no part of a program", t->refused);
    return KN_OK;
}

kn_program kn_program_end(const kn_tensor *inputs, int32_t n_inputs, const kn_tensor *outputs,
                          int32_t n_outputs)
{
    kni_thread *thread = kni_thread_self();
    tracing *t = (tracing *)thread->context.capture;
    if (!t) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: nothing was begun with kn_program_begin on this thread");
        return NULL;
    }
    if (t->depth != thread->context.depth) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: the program was begun outside of the function that Kiln "
                                    "has called and that this "
                                    "call is made in: end it where it was begun");
        return NULL;
    }
    thread->context.capture = NULL;
    find_sites(t, true);
    kn_status s = check_lists(t, inputs, n_inputs, outputs, n_outputs);
    if (s == KN_OK) s = name_inputs(t, inputs, n_inputs);
    if (s == KN_OK) s = name_outputs(t, outputs, n_outputs);
    if (s) {
        abandon(&t->capture);
        return NULL;
    }
    kni_program *p = t->p;
    p->draws = atomic_load(&p->device->rng_counter) - p->counter;
    keep_constants(t);
    end_tracing(t);
    kni_program_settle(p);
    return kni_object_make(&kni_kind_program, p, __func__);
}
