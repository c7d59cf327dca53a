/* Sequences of launches as CUDA graphs: captured from the stream once, replayed as one call. Of each launch is noted which
   node of the graph it became and what it was given, so that it can be given other numbers. */
#include "backend/cuda/cuda_driver.h"
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
    bool incomplete;         /* some are not noted at all */
    kni_cuda_spread *spread; /* while it is made; NULL without memory: it stays one line */
};

static size_t noted_bytes(uint32_t n_buffers) { return sizeof(noted_launch) + n_buffers * sizeof(void *); }

static void forget(kni_cuda *c, kni_recording *r)
{
    c->recordings--;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->launches[i]) kni_free(r->launches[i], noted_bytes(r->launches[i]->n_buffers));
    if (r->launches) kni_free(r->launches, r->room * sizeof *r->launches);
    kni_cuda_spread_free(r->spread);
    kni_free(r, sizeof *r);
}

kn_status kni_cuda_record_begin(kni_driver *d)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter_outside(c, "another recording");
    if (status) return status;
    kni_recording *r = kni_allocate(sizeof *r);
    if (!r) return kni_fail(KN_ERROR_MEMORY, "%s: no memory for a recording", c->name);
    *r = (kni_recording){.n = 0};
    c->recordings++;
    status =
        kni_cuda_result(c, c->api->capture_begin(c->stream, KNI_CU_CAPTURE_RELAXED), "beginning a recording");
    if (status) {
        forget(c, r);
        return status;
    }
    c->recording = true;
    c->noted = r;
    c->written_known = false;
    r->spread = c->driver.record_writes ? kni_cuda_spread_new() : NULL;
    return KN_OK;
}

void *kni_cuda_latest_node(kni_cuda *c)
{
    int state = 0;
    uint64_t id = 0;
    void *graph = NULL, *const *nodes = NULL;
    size_t n = 0;
    if (c->api->capture_info(c->stream, &state, &id, &graph, &nodes, &n)) return NULL;
    return n == 1 && nodes ? nodes[0] : NULL;
}

/* ---- what reads and writes what */

void kni_cuda_record_writes(kni_driver *d, const uint64_t *written)
{
    kni_cuda *c = kni_cuda_of(d);
    memcpy(c->written, written, sizeof c->written);
    c->written_known = true;
}

void kni_cuda_record_before(kni_cuda *c)
{
    if (KNI_UNLIKELY(c->recording) && c->noted->spread) kni_cuda_spread_begin(c, c->noted->spread);
}

void kni_cuda_record_after(kni_cuda *c, void *const *reads, int n_reads, void *const *writes, int n_writes)
{
    if (KNI_UNLIKELY(c->recording) && c->noted->spread)
        kni_cuda_spread_end(c, c->noted->spread, reads, n_reads, writes, n_writes);
}

/* Splits the buffers of a launch into those that it reads and those that it writes. */
static void note_launch(kni_cuda *c, void *const *buffers, uint32_t n)
{
    void *reads[KNI_CUDA_ARGUMENTS], *writes[KNI_CUDA_ARGUMENTS];
    int n_reads = 0, n_writes = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool written = !c->written_known || i >= 128 || c->written[i / 64] >> i % 64 & 1;
        if (written)
            writes[n_writes++] = buffers[i];
        else
            reads[n_reads++] = buffers[i];
    }
    c->written_known = false;
    kni_cuda_record_after(c, reads, n_reads, writes, n_writes);
}

void *kni_cuda_record_workspace(kni_cuda *c, void *usual)
{
    c->workspace = usual;
    if (KNI_LIKELY(!c->recording) || !usual) return usual;
    void **own = &c->workspaces[c->next_workspace];
    c->next_workspace = (c->next_workspace + 1) % KNI_CUDA_WORKSPACES;
    if (!*own) {
        *own = c->driver.allocate(&c->driver, KNI_CUDA_WORKSPACE);
        if (*own) c->driver.own_bytes += KNI_CUDA_WORKSPACE;
    }
    if (*own) c->workspace = *own;
    return c->workspace;
}

/* Every place of a product must be named below: what is not known to be read or written is run too early. */
enum { PRODUCT_BYTES = 232 };
_Static_assert(sizeof(kni_product) == PRODUCT_BYTES, "say below what else a product reads and writes");

kn_status kni_cuda_record_product(kni_driver *d, const kni_product *p)
{
    kni_cuda *c = kni_cuda_of(d);
    if (KNI_LIKELY(!c->recording)) return kni_cuda_product(d, p);
    c->workspace = NULL;
    kni_cuda_record_before(c);
    kn_status status = kni_cuda_product(d, p);
    void *reads[] = {p->a.memory, p->b.memory, p->c.memory, p->bias.memory, p->aux.memory};
    void *writes[] = {p->d.memory, c->workspace};
    if (!status) kni_cuda_record_after(c, reads, KNI_COUNT(reads), writes, KNI_COUNT(writes));
    return status;
}

/* ---- launches */

void kni_cuda_record_launch(kni_cuda *c, const kni_module *m, const kni_launch_shape *shape,
                            void *const *buffers, uint32_t n_buffers, uint32_t param_bytes)
{
    kni_recording *r = c->noted;
    note_launch(c, buffers, n_buffers);
    noted_launch **launches = kni_grow(r->launches, &r->room, r->n + 1, sizeof *launches);
    r->incomplete |= !launches;
    if (r->incomplete) return;
    r->launches = launches;
    noted_launch *l = kni_allocate(noted_bytes(n_buffers));
    r->launches[r->n++] = l;
    if (!l) return;
    bool any = shape->groups[0] && shape->groups[1] && shape->groups[2];
    *l = (noted_launch){any ? kni_cuda_latest_node(c) : NULL, m->function, *shape, n_buffers, param_bytes};
    memcpy(l->buffers, buffers, n_buffers * sizeof *buffers);
}

static void free_pending(kni_cuda *c)
{
    while (c->n_pending) c->driver.free(&c->driver, c->pending[--c->n_pending]);
}

static void destroy_graph(kni_cuda *c, kni_recording *r)
{
    if (c->lost || !kni_cuda_ours(c) || c->api->context_set(c->context)) return;
    if (r->executable) (void)c->api->executable_destroy(r->executable);
    if (r->graph) (void)c->api->graph_destroy(r->graph);
}

static int prepare(kni_cuda *c, kni_recording *r)
{
    int result = c->api->graph_instantiate(&r->executable, r->graph, 0);
    if (result) r->executable = NULL;
    if (!result) result = c->api->graph_upload(r->executable, c->stream);
    if (result && r->executable) {
        (void)c->api->executable_destroy(r->executable);
        r->executable = NULL;
    }
    return result;
}

/* Whatever went wrong in between, the stream is usable again afterwards. */
kni_recording *kni_cuda_record_end(kni_driver *d)
{
    kni_cuda *c = kni_cuda_of(d);
    kni_recording *r = c->noted;
    if (!c->recording) {
        kni_fail(KN_ERROR_INTERNAL, "%s: a recording ends that did not begin", c->name);
        return NULL;
    }
    kn_status status = kni_cuda_enter(c);
    if (!status) kni_cuda_record_before(c);
    c->recording = false;
    c->noted = NULL;
    if (!status) status = kni_cuda_result(c, c->api->capture_end(c->stream, &r->graph), "ending a recording");
    if (!status && r->spread) kni_cuda_spread_edges(c, r->spread, r->graph);
    kni_cuda_spread_free(r->spread);
    r->spread = NULL;
    if (!status) {
        int result = prepare(c, r);
        if (result == KNI_CU_OUT_OF_MEMORY && d->make_room) {
            d->make_room(d->owner);
            result = prepare(c, r);
        }
        status = kni_cuda_result(c, result, "preparing a recording");
    }
    if (status) {
        destroy_graph(c, r);
        forget(c, r);
        r = NULL;
    }
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

kn_status kni_cuda_record_params(kni_driver *d, kni_recording *r, uint32_t launch, const void *params,
                                 uint32_t param_bytes)
{
    kni_cuda *c = kni_cuda_of(d);
    void *arguments[KNI_CUDA_ARGUMENTS];
    noted_launch *l = launch < r->n && !r->incomplete ? r->launches[launch] : NULL;
    if (l && !(l->shape.groups[0] && l->shape.groups[1] && l->shape.groups[2])) return KN_OK;
    if (!l || !l->node || l->param_bytes != param_bytes || l->n_buffers + 1 > KNI_CUDA_ARGUMENTS)
        return KN_ERROR_UNSUPPORTED;
    kn_status status = kni_cuda_enter(c);
    if (status) return status;
    for (uint32_t i = 0; i < l->n_buffers; i++) arguments[i] = &l->buffers[i];
    arguments[l->n_buffers] = (void *)(uintptr_t)params;
    const uint32_t *g = l->shape.groups;
    kni_node_launch node = {.function = l->function,
                            .grid = {g[0], g[1], g[2]},
                            .block = {l->shape.workgroup, 1, 1},
                            .shared = l->shape.shared_bytes,
                            .parameters = arguments};
    return kni_cuda_result(c, c->api->node_set(r->executable, l->node, &node),
                           "giving a recording other numbers");
}

void kni_cuda_record_free(kni_driver *d, kni_recording *r)
{
    if (!r) return;
    destroy_graph(kni_cuda_of(d), r);
    forget(kni_cuda_of(d), r);
}

void kni_cuda_record_close(kni_cuda *c)
{
    if (!c->recording) return;
    kni_recording *r = c->noted;
    (void)c->api->capture_end(c->stream, &r->graph);
    c->recording = false;
    c->noted = NULL;
    kni_cuda_record_free(&c->driver, r);
    free_pending(c);
}
