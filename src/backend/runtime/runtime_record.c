/* Sequences of launches as graphs: captured from the stream once, replayed as one call. Of each launch is noted which
   node of the graph it became and what it was given, so that it can be given other numbers. */
#include "backend/runtime/runtime.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include <string.h>

typedef struct noted_launch {
    void *node; /* NULL: it is not known, or there is none */
    void *function;
    kni_launch_shape shape;
    uint32_t n_buffers, param_bytes;
    void *buffers[];
} noted_launch;

struct kni_recording {
    void *graph, *executable;
    noted_launch **launches; /* NULL entries: without memory to note them */
    uint32_t n, room;
    bool incomplete;            /* some are not noted at all */
    kni_runtime_spread *spread; /* while it is made; NULL without memory: it stays one line */
};

static size_t noted_bytes(uint32_t n_buffers) { return sizeof(noted_launch) + n_buffers * sizeof(void *); }

static void forget(kni_runtime *rt, kni_recording *r)
{
    rt->recordings--;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->launches[i]) kni_free(r->launches[i], noted_bytes(r->launches[i]->n_buffers));
    if (r->launches) kni_free(r->launches, r->room * sizeof *r->launches);
    kni_runtime_spread_free(r->spread);
    kni_free(r, sizeof *r);
}

kn_status kni_runtime_record_begin(kni_driver *d)
{
    kni_runtime *rt = kni_runtime_of(d);
    kn_status status = kni_runtime_enter_outside(rt, "another recording");
    if (status) return status;
    kni_recording *r = kni_allocate(sizeof *r);
    if (!r) return kni_fail(KN_ERROR_MEMORY, "%s: no memory for a recording", rt->name);
    *r = (kni_recording){.n = 0};
    rt->recordings++;
    status = kni_runtime_result(rt, rt->api->capture_begin(rt->stream, KNI_RT_CAPTURE_RELAXED),
                                "beginning a recording");
    if (status) {
        forget(rt, r);
        return status;
    }
    rt->recording = true;
    rt->noted = r;
    rt->written_known = false;
    r->spread = rt->driver.record_writes ? kni_runtime_spread_new() : NULL;
    return KN_OK;
}

void *kni_runtime_latest_node(kni_runtime *rt)
{
    int state = 0;
    uint64_t id = 0;
    void *graph = NULL, *const *nodes = NULL;
    size_t n = 0;
    if (rt->api->capture_info(rt->stream, &state, &id, &graph, &nodes, &n)) return NULL;
    return n == 1 && nodes ? nodes[0] : NULL;
}

/* ---- what reads and writes what */

void kni_runtime_record_writes(kni_driver *d, const uint64_t *written)
{
    kni_runtime *rt = kni_runtime_of(d);
    memcpy(rt->written, written, sizeof rt->written);
    rt->written_known = true;
}

void kni_runtime_record_before(kni_runtime *rt)
{
    if (KNI_UNLIKELY(rt->recording) && rt->noted->spread) kni_runtime_spread_begin(rt, rt->noted->spread);
}

void kni_runtime_record_after(kni_runtime *rt, void *const *reads, int n_reads, void *const *writes,
                              int n_writes)
{
    if (KNI_UNLIKELY(rt->recording) && rt->noted->spread)
        kni_runtime_spread_end(rt, rt->noted->spread, reads, n_reads, writes, n_writes);
}

/* Splits the buffers of a launch into those that it reads and those that it writes. */
static void note_launch(kni_runtime *rt, void *const *buffers, uint32_t n)
{
    void *reads[KNI_RUNTIME_ARGUMENTS], *writes[KNI_RUNTIME_ARGUMENTS];
    int n_reads = 0, n_writes = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool written = !rt->written_known || i >= 128 || rt->written[i / 64] >> i % 64 & 1;
        if (written)
            writes[n_writes++] = buffers[i];
        else
            reads[n_reads++] = buffers[i];
    }
    rt->written_known = false;
    kni_runtime_record_after(rt, reads, n_reads, writes, n_writes);
}

/* ---- launches */

void kni_runtime_record_launch(kni_runtime *rt, const kni_module *m, const kni_launch_shape *shape,
                               void *const *buffers, uint32_t n_buffers, uint32_t param_bytes)
{
    kni_recording *r = rt->noted;
    note_launch(rt, buffers, n_buffers);
    noted_launch **launches = kni_grow(r->launches, &r->room, r->n + 1, sizeof *launches);
    r->incomplete |= !launches;
    if (r->incomplete) return;
    r->launches = launches;
    noted_launch *l = kni_allocate(noted_bytes(n_buffers));
    r->launches[r->n++] = l;
    if (!l) return;
    bool any = shape->groups[0] && shape->groups[1] && shape->groups[2];
    *l =
        (noted_launch){any ? kni_runtime_latest_node(rt) : NULL, m->function, *shape, n_buffers, param_bytes};
    memcpy(l->buffers, buffers, n_buffers * sizeof *buffers);
}

static void free_pending(kni_runtime *rt)
{
    while (rt->n_pending) rt->driver.free(&rt->driver, rt->pending[--rt->n_pending]);
}

static void destroy_graph(kni_runtime *rt, kni_recording *r)
{
    if (rt->lost || !kni_runtime_ours(rt) || rt->api->context_set(rt->context)) return;
    if (r->executable) (void)rt->api->executable_destroy(r->executable);
    if (r->graph) (void)rt->api->graph_destroy(r->graph);
}

static int prepare(kni_runtime *rt, kni_recording *r)
{
    int result = rt->api->graph_instantiate(&r->executable, r->graph, 0);
    if (result) r->executable = NULL;
    if (!result && rt->api->graph_upload) result = rt->api->graph_upload(r->executable, rt->stream);
    if (result && r->executable) {
        (void)rt->api->executable_destroy(r->executable);
        r->executable = NULL;
    }
    return result;
}

/* Whatever went wrong in between, the stream is usable again afterwards. */
kni_recording *kni_runtime_record_end(kni_driver *d)
{
    kni_runtime *rt = kni_runtime_of(d);
    kni_recording *r = rt->noted;
    if (!rt->recording) {
        kni_fail(KN_ERROR_INTERNAL, "%s: a recording ends that did not begin", rt->name);
        return NULL;
    }
    kn_status status = kni_runtime_enter(rt);
    if (!status) kni_runtime_record_before(rt);
    rt->recording = false;
    rt->noted = NULL;
    if (!status)
        status = kni_runtime_result(rt, rt->api->capture_end(rt->stream, &r->graph), "ending a recording");
    if (!status && r->spread) kni_runtime_spread_edges(rt, r->spread, r->graph);
    kni_runtime_spread_free(r->spread);
    r->spread = NULL;
    if (!status) {
        int result = prepare(rt, r);
        if (result == KNI_RT_OUT_OF_MEMORY && d->make_room) {
            d->make_room(d->owner);
            result = prepare(rt, r);
        }
        status = kni_runtime_result(rt, result, "preparing a recording");
    }
    if (status) {
        destroy_graph(rt, r);
        forget(rt, r);
        r = NULL;
    }
    free_pending(rt);
    return r;
}

kn_status kni_runtime_replay(kni_driver *d, kni_recording *r)
{
    kni_runtime *rt = kni_runtime_of(d);
    kn_status status = kni_runtime_enter_outside(rt, "replaying a recording");
    return status ? status
                  : kni_runtime_result(rt, rt->api->graph_launch(r->executable, rt->stream),
                                       "replaying a recording");
}

kn_status kni_runtime_record_params(kni_driver *d, kni_recording *r, uint32_t launch, const void *params,
                                    uint32_t param_bytes)
{
    kni_runtime *rt = kni_runtime_of(d);
    void *arguments[KNI_RUNTIME_ARGUMENTS];
    noted_launch *l = launch < r->n && !r->incomplete ? r->launches[launch] : NULL;
    if (l && !(l->shape.groups[0] && l->shape.groups[1] && l->shape.groups[2])) return KN_OK;
    if (!l || !l->node || l->param_bytes != param_bytes || l->n_buffers + 1 > KNI_RUNTIME_ARGUMENTS)
        return KN_ERROR_UNSUPPORTED;
    kn_status status = kni_runtime_enter(rt);
    if (status) return status;
    for (uint32_t i = 0; i < l->n_buffers; i++) arguments[i] = &l->buffers[i];
    arguments[l->n_buffers] = (void *)(uintptr_t)params;
    const uint32_t *g = l->shape.groups;
    kni_node_launch node = {.function = l->function,
                            .grid = {g[0], g[1], g[2]},
                            .block = {l->shape.workgroup, 1, 1},
                            .shared = l->shape.shared_bytes,
                            .parameters = arguments};
    return kni_runtime_result(rt, rt->api->node_set(r->executable, l->node, &node),
                              "giving a recording other numbers");
}

void kni_runtime_record_free(kni_driver *d, kni_recording *r)
{
    if (!r) return;
    destroy_graph(kni_runtime_of(d), r);
    forget(kni_runtime_of(d), r);
}

void kni_runtime_record_close(kni_runtime *rt)
{
    if (!rt->recording) return;
    kni_recording *r = rt->noted;
    (void)rt->api->capture_end(rt->stream, &r->graph);
    rt->recording = false;
    rt->noted = NULL;
    kni_runtime_record_free(&rt->driver, r);
    free_pending(rt);
}
