/* What is kept of cuDNN for a device: its handle, and the plans of graphs by what they were made from. */
#include "backend/cuda/cuda_cudnn.h"
#include "core/allocator.h"
#include <string.h>

enum { PLANS = 64 };

struct kni_dnn {
    const kni_cuda_graph_api *api;
    void *handle;
    uint64_t clock;
    kni_dnn_kept plans[PLANS];
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
    if (api->set_stream(s->handle, c->stream)) {
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
    for (int i = 0; i < PLANS; i++)
        if (s->plans[i].plan) (void)s->api->release(s->plans[i].plan);
    if (!c->lost) (void)s->api->destroy(s->handle);
    kni_free(s, sizeof *s);
    c->dnn = NULL;
}

const kni_dnn_kept *kni_dnn_find(kni_cuda *c, const void *key, size_t bytes,
                                 void (*build)(kni_dnn_graph *g, const void *key))
{
    struct kni_dnn *s = state_of(c);
    if (!s || bytes > KNI_DNN_KEY) return NULL;
    kni_dnn_kept *oldest = &s->plans[0];
    for (int i = 0; i < PLANS; i++) {
        kni_dnn_kept *p = &s->plans[i];
        if (p->used && p->bytes == bytes && !memcmp(p->key, key, bytes)) {
            p->used = ++s->clock;
            return p->plan ? p : NULL;
        }
        if (p->used < oldest->used) oldest = p;
    }
    if (oldest->plan) (void)s->api->release(oldest->plan);
    kni_dnn_graph g = {.api = s->api, .handle = s->handle};
    build(&g, key);
    memset(oldest, 0, sizeof *oldest);
    memcpy(oldest->key, key, bytes);
    oldest->bytes = bytes;
    oldest->used = ++s->clock;
    oldest->plan = kni_dnn_plan(&g, &oldest->workspace);
    return oldest->plan ? oldest : NULL;
}

kn_status kni_dnn_execute(kni_cuda *c, const kni_dnn_kept *plan, const int64_t *ids, void **memory, int count,
                          void *workspace, const char *what)
{
    bool timed = kni_cuda_profile_begin(c);
    int failed = kni_dnn_run(c->dnn->api, c->dnn->handle, plan->plan, ids, memory, count, workspace);
    if (timed) kni_cuda_profile_end(c, "cudnn");
    if (!failed) return KN_OK;
    kn_status status = c->recording ? KN_OK : kni_cuda_result(c, c->api->stream_wait(c->stream), what);
    if (status) return status;
    return kni_fail(KN_ERROR_INTERNAL, "%s: cuDNN failed in %s (its error %d)", c->name, what,
                    (int32_t)failed);
}
