/* Sequences of launches as CUDA graphs: recorded from the stream once, replayed as one call. */
#include "backend/cuda/cuda_driver.h"
#include "core/allocator.h"
#include "core/error.h"

struct kni_recording {
    void *executable;
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
    if (r) r->executable = executable;
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
