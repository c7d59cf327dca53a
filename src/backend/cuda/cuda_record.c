/* Sequences of launches as CUDA graphs: recorded from the stream once, replayed as one call. */
#include "backend/cuda/cuda_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"

struct kni_recording {
    void *executable;
    /* of a kept batch */
    kni_cuda *owner; /* NULL once it is closed */
    kni_recording *next;
};

kn_status kni_cuda_record_begin(kni_driver *d)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter_outside(c, "another recording");
    if (!status)
        status = kni_cuda_result(c, c->api->capture_begin(c->stream, KNI_CU_CAPTURE_RELAXED),
                                 "beginning a recording");
    c->recording = c->recording || !status;
    return status;
}

static void free_pending(kni_cuda *c)
{
    while (c->n_pending) c->driver.free(&c->driver, c->pending[--c->n_pending]);
}

/* Whatever went wrong in between, the stream is usable again afterwards. */
kni_recording *kni_cuda_record_end(kni_driver *d)
{
    kni_cuda *c = kni_cuda_of(d);
    void *graph = NULL, *executable = NULL;
    if (!c->recording) {
        kni_fail(KN_ERROR_INTERNAL, "%s: a recording ends that did not begin", c->name);
        return NULL;
    }
    c->recording = false;
    kn_status status = kni_cuda_enter(c);
    if (!status) status = kni_cuda_result(c, c->api->capture_end(c->stream, &graph), "ending a recording");
    if (!status)
        status =
            kni_cuda_result(c, c->api->graph_instantiate(&executable, graph, 0), "preparing a recording");
    if (graph) (void)c->api->graph_destroy(graph);
    if (!status)
        status = kni_cuda_result(c, c->api->graph_upload(executable, c->stream), "preparing a recording");
    kni_recording *r = status ? NULL : kni_allocate(sizeof *r);
    if (!status && !r) kni_fail(KN_ERROR_MEMORY, "%s: no memory for a recording", c->name);
    if (r) *r = (kni_recording){.executable = executable};
    if (!r && executable && !c->lost) (void)c->api->executable_destroy(executable);
    free_pending(c);
    return r;
}

kn_status kni_cuda_replay(kni_driver *d, kni_recording *r)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter_outside(c, "replaying a recording");
    return status
               ? status
               : kni_cuda_result(c, c->api->graph_launch(r->executable, c->stream), "replaying a recording");
}

void kni_cuda_record_free(kni_driver *d, kni_recording *r)
{
    kni_cuda *c = kni_cuda_of(d);
    if (!r) return;
    if (!c->lost && !kni_cuda_enter(c)) (void)c->api->executable_destroy(r->executable);
    kni_free(r, sizeof *r);
}

/* ---- batches */

kn_status kni_cuda_batch_begin(kni_driver *d)
{
    kn_status status = kni_cuda_record_begin(d);
    if (!status) kni_cuda_of(d)->batching = true;
    return status;
}

/* The executable graph of a recording: the one that is there, with the new arguments, or a new one. */
static kn_status make_executable(kni_cuda *c, void *graph, void **executable)
{
    kni_graph_update answer = {0, NULL, NULL};
    if (*executable && !c->api->graph_update(*executable, graph, &answer)) return KN_OK;
    if (*executable) (void)c->api->executable_destroy(*executable);
    *executable = NULL;
    return kni_cuda_result(c, c->api->graph_instantiate(executable, graph, 0), "preparing a batch");
}

static kn_status run_batch(kni_cuda *c, void **executable)
{
    void *graph = NULL;
    c->recording = c->batching = false;
    kn_status status = kni_cuda_result(c, c->api->capture_end(c->stream, &graph), "ending a batch");
    if (!status) status = make_executable(c, graph, executable);
    if (!status) status = kni_cuda_result(c, c->api->graph_launch(*executable, c->stream), "running a batch");
    if (graph) (void)c->api->graph_destroy(graph);
    free_pending(c);
    return status;
}

kn_status kni_cuda_batch_flush(kni_cuda *c)
{
    void *executable = NULL;
    if (!c->batching) return KN_OK;
    kn_status status = run_batch(c, &executable);
    if (executable) (void)c->api->executable_destroy(executable);
    return status;
}

kn_status kni_cuda_batch_end(kni_driver *d, kni_recording **kept)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter(c);
    /* Somebody waited in between: all has been run. */
    if (status || !c->batching) return status;
    kni_recording *r = *kept;
    if (r && r->owner != c) {
        kni_cuda_batch_free(r);
        r = NULL;
    }
    *kept = r;
    if (!r && (r = kni_allocate(sizeof *r))) {
        *r = (kni_recording){.owner = c, .next = c->batches};
        *kept = c->batches = r;
    }
    /* Without memory to keep it, it runs once. */
    return r ? run_batch(c, &r->executable) : kni_cuda_batch_flush(c);
}

void kni_cuda_batch_free(void *kept)
{
    kni_recording *r = kept;
    if (!r) return;
    kni_cuda *c = r->owner;
    for (kni_recording **at = c ? &c->batches : NULL; at && *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    if (c && r->executable && !c->lost && !kni_cuda_enter(c)) (void)c->api->executable_destroy(r->executable);
    kni_free(r, sizeof *r);
}

void kni_cuda_batches_free(kni_cuda *c)
{
    void *graph = NULL;
    if (c->recording) (void)c->api->capture_end(c->stream, &graph);
    if (graph) (void)c->api->graph_destroy(graph);
    c->recording = c->batching = false;
    free_pending(c);
    while (c->batches) {
        kni_recording *r = c->batches;
        c->batches = r->next;
        if (r->executable && !c->lost) (void)c->api->executable_destroy(r->executable);
        *r = (kni_recording){.executable = NULL};
    }
}
