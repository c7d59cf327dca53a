/* What is kept of cuDNN for a device: its handle, and the plans of graphs by what they were made from. A network may need
   a hundred in each step, and recordings hold what plans launch: none of them goes while there is a recording. Which plan was the fastest
   is kept on disk, so that a process times only what no process before it had. */
#include "backend/cuda/cuda_choice.h"
#include "backend/cuda/cuda_cudnn.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include <string.h>

enum { MOST_PLANS = 512 /* unless recordings hold more */ };

struct kni_dnn {
    const kni_cuda_graph_api *api;
    void *handle;
    bool times; /* not with KN_CUDNN_TIME=off */
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
    const char *times = kni_environment("KN_CUDNN_TIME");
    s->times = !times || strcmp(times, "off") != 0;
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

void *kni_dnn_handle(kni_cuda *c)
{
    const struct kni_dnn *s = state_of(c);
    return s ? s->handle : NULL;
}

static void release_plans(const struct kni_dnn *s, kni_dnn_kept *kept, int first)
{
    while (kept->n_choices > first) (void)s->api->release(kept->choices[--kept->n_choices].plan);
}

void kni_dnn_free(kni_cuda *c)
{
    struct kni_dnn *s = c->dnn;
    if (!s) return;
    for (size_t i = 0; i < s->count; i++) release_plans(s, &s->plans[i], 0);
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
    release_plans(s, oldest, 0);
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

static void tell_missing(const kni_cuda *c, const kni_dnn_kind *kind, const void *key)
{
    char line[200];
    kni_text text = {line, sizeof line, 0};
    if (!kind->describe) return;
    kind->describe(&text, key);
    kni_log(KN_LOG_WARNING, "%s: cuDNN has no plan for %s: it runs in another way", c->runtime.name, line);
}

/* ---- which plan was the fastest */

static kni_cuda_choice choice_of(const kni_cuda *c, const kni_dnn_kept *kept)
{
    return (kni_cuda_choice){"cudnn", c->dnn->api->version(), kept->key, kept->bytes};
}

static void put_first(kni_dnn_kept *kept, int fastest)
{
    const kni_dnn_choice first = kept->choices[0];
    kept->choices[0] = kept->choices[fastest];
    kept->choices[fastest] = first;
}

/* The plans that are to be timed, or the one that was found to be the fastest. */
static void make_plans(kni_cuda *c, kni_dnn_graph *g, kni_dnn_kept *made, bool times)
{
    const kni_cuda_choice choice = choice_of(c, made);
    const int known = times ? kni_cuda_choice_known(c, &choice, KNI_DNN_TRIED) : -1;
    made->n_choices = kni_dnn_plan(g, made->choices, known >= 0 ? known + 1 : times ? KNI_DNN_TRIED : 1);
    if (known < 0 || known >= made->n_choices) return;
    put_first(made, known);
    release_plans(c->dnn, made, 1);
}

kni_dnn_kept *kni_dnn_find(kni_cuda *c, const void *key, size_t bytes, const kni_dnn_kind *kind)
{
    struct kni_dnn *s = state_of(c);
    if (!s || bytes > KNI_DNN_KEY) return NULL;
    for (size_t i = 0; i < s->count; i++) {
        kni_dnn_kept *p = &s->plans[i];
        if (p->bytes != bytes || memcmp(p->key, key, bytes) != 0) continue;
        p->used = ++s->clock;
        return p->n_choices ? p : NULL;
    }
    if (!make_room(c, s)) return NULL;
    kni_dnn_graph g = {.api = s->api, .handle = s->handle};
    kind->build(&g, key);
    kni_dnn_kept *made = &s->plans[s->count++];
    memset(made, 0, sizeof *made);
    memcpy(made->key, key, bytes);
    made->bytes = bytes;
    made->used = ++s->clock;
    make_plans(c, &g, made, s->times && kind->timed);
    if (!made->n_choices) tell_missing(c, kind, key);
    return made->n_choices ? made : NULL;
}

/* The plans of a key over the memory of one call. */
typedef struct trial {
    kni_cuda *cuda;
    kni_dnn_kept *kept;
    const int64_t *ids;
    void **memory;
    int count;
} trial;

static int try_plan(void *self, int way)
{
    enum { NO_MEMORY = -1 };
    /* What a trial takes stays with the device: a plan that wants very much must be the library's first. */
    const int64_t most = INT64_C(256) << 20;
    trial *t = self;
    const kni_dnn_choice *choice = &t->kept->choices[way];
    const struct kni_dnn *s = t->cuda->dnn;
    if (way > 0 && choice->workspace > most) return NO_MEMORY;
    void *workspace = choice->workspace > 0 ? kni_cuda_scratch(t->cuda, (size_t)choice->workspace) : NULL;
    if (choice->workspace > 0 && !workspace) return NO_MEMORY;
    return kni_dnn_run(s->api, s->handle, choice->plan, t->ids, t->memory, t->count, workspace);
}

void kni_dnn_time(kni_cuda *c, kni_dnn_kept *kept, const int64_t *ids, void **memory, int count, float after)
{
    trial t = {c, kept, ids, memory, count};
    if (KNI_LIKELY(kept->n_choices < 2) || kept->timed || c->runtime.recording) return;
    kept->timed = true;
    float more[KNI_DNN_TRIED];
    for (int i = 0; i < kept->n_choices; i++) more[i] = kept->choices[i].transforms ? after : 0;
    const int fastest = kni_cuda_choice_time(c, kept->n_choices, try_plan, &t, more);
    if (fastest >= 0) {
        const kni_cuda_choice choice = choice_of(c, kept);
        put_first(kept, fastest);
        kni_cuda_choice_keep(c, &choice, fastest);
    }
    /* A recording may hold what the others launched; and what ran last may have failed on its way. */
    if (kni_runtime_is_held(&c->runtime) || c->runtime.lost || c->api->common.stream_wait(c->runtime.stream))
        return;
    release_plans(c->dnn, kept, 1);
}

kn_status kni_dnn_execute(kni_cuda *c, const kni_dnn_kept *plan, const int64_t *ids, void **memory, int count,
                          void *workspace, const char *what)
{
    bool timed = kni_runtime_profile_begin(&c->runtime);
    int failed =
        kni_dnn_run(c->dnn->api, c->dnn->handle, plan->choices[0].plan, ids, memory, count, workspace);
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
