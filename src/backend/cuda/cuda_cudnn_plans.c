/* What is kept of cuDNN for a device: its handle, and the plans of graphs by what they were made from. A network may need
   a hundred in each step, and recordings hold what plans launch: none of them goes while there is a recording. */
#include "backend/cuda/cuda_cudnn.h"
#include "core/allocator.h"
#include <string.h>

enum { MOST_PLANS = 512 /* unless recordings hold more */ };

struct kni_dnn {
    const kni_cuda_graph_api *api;
    void *handle;
    uint64_t clock;
    kni_dnn_kept *plans;
    uint32_t count, room;
};

static struct kni_dnn *state_of(kni_cuda *c)
{
    if (c->dnn || !c->vendor) return c->dnn;
    const kni_cuda_graph_api *api = kni_cuda_graph_library();
    struct kni_dnn *s = api ? kni_allocate(sizeof *s) : NULL;
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->api = api;
    if (api->create(&s->handle)) {
        kni_free(s, sizeof *s);
        return NULL;
    }
    if (api->set_stream(s->handle, c->runtime.stream)) {
        (void)api->destroy(s->handle);
        kni_free(s, sizeof *s);
        return NULL;
    }
    c->dnn = s;
    return s;
}

void kni_dnn_free(kni_cuda *c)
{
    struct kni_dnn *s = c->dnn;
    if (!s) return;
    for (size_t i = 0; i < s->count; i++)
        if (s->plans[i].plan) (void)s->api->release(s->plans[i].plan);
    if (s->plans) kni_free(s->plans, s->room * sizeof *s->plans);
    if (!c->runtime.lost) (void)s->api->destroy(s->handle);
    kni_free(s, sizeof *s);
    c->dnn = NULL;
}

static void release_oldest(struct kni_dnn *s)
{
    kni_dnn_kept *oldest = &s->plans[0];
    for (size_t i = 1; i < s->count; i++)
        if (s->plans[i].used < oldest->used) oldest = &s->plans[i];
    if (oldest->plan) (void)s->api->release(oldest->plan);
    *oldest = s->plans[--s->count];
}

/* Room for one more; false without memory, and where the device is lost. */
static bool make_room(kni_cuda *c, struct kni_dnn *s)
{
    if (s->count >= MOST_PLANS && !kni_runtime_is_held(&c->runtime)) {
        /* What they launched may still run. */
        int result = c->api->common.stream_wait(c->runtime.stream);
        kni_runtime_note(&c->runtime, result, "waiting for what plans launched");
        if (result) return false;
        while (s->count >= MOST_PLANS) release_oldest(s);
    }
    kni_dnn_kept *plans = kni_grow(s->plans, &s->room, s->count + 1, sizeof *plans);
    if (plans) s->plans = plans;
    return plans != NULL;
}

const kni_dnn_kept *kni_dnn_find(kni_cuda *c, const void *key, size_t bytes,
                                 void (*build)(kni_dnn_graph *g, const void *key))
{
    struct kni_dnn *s = state_of(c);
    if (!s || bytes > KNI_DNN_KEY) return NULL;
    for (size_t i = 0; i < s->count; i++) {
        kni_dnn_kept *p = &s->plans[i];
        if (p->bytes != bytes || memcmp(p->key, key, bytes) != 0) continue;
        p->used = ++s->clock;
        return p->plan ? p : NULL;
    }
    if (!make_room(c, s)) return NULL;
    kni_dnn_graph g = {.api = s->api, .handle = s->handle};
    build(&g, key);
    kni_dnn_kept *made = &s->plans[s->count++];
    memset(made, 0, sizeof *made);
    memcpy(made->key, key, bytes);
    made->bytes = bytes;
    made->used = ++s->clock;
    made->plan = kni_dnn_plan(&g, &made->workspace);
    return made->plan ? made : NULL;
}

kn_status kni_dnn_execute(kni_cuda *c, const kni_dnn_kept *plan, const int64_t *ids, void **memory, int count,
                          void *workspace, const char *what)
{
    bool timed = kni_runtime_profile_begin(&c->runtime);
    int failed = kni_dnn_run(c->dnn->api, c->dnn->handle, plan->plan, ids, memory, count, workspace);
    if (timed) kni_runtime_profile_end(&c->runtime, "cudnn");
    if (!failed) return KN_OK;
    kn_status status =
        c->runtime.recording
            ? KN_OK
            : kni_runtime_result(&c->runtime, c->api->common.stream_wait(c->runtime.stream), what);
    if (status) return status;
    return kni_fail(KN_ERROR_INTERNAL, "%s: cuDNN failed in %s (its error %d)", c->runtime.name, what,
                    (int32_t)failed);
}
