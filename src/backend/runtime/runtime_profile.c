/* How long each kind of work takes on the device, for people who ask with KN_CUDA_PROFILE or KN_HIP_PROFILE: events around every
   launch, added up by label and kernel. It slows things down, and recordings are left out. */
#include "backend/runtime/runtime.h"
#include "core/allocator.h"
#include "core/platform.h"
#include "core/text.h"
#include <string.h>

enum { ENTRIES = 512, PENDING = 1024, NAME = 128 };

typedef struct profile_entry {
    char name[NAME];
    int64_t count;
    double milliseconds;
} profile_entry;

struct kni_runtime_profile {
    profile_entry entries[ENTRIES];
    int n_entries, n_pending;
    struct {
        void *start, *end;
        int entry;
    } pending[PENDING];
};

void kni_runtime_profile_open(kni_runtime *rt)
{
    const char *wanted = kni_environment(rt->kind->profile);
    if (!wanted || !*wanted || !strcmp(wanted, "off")) return;
    rt->profile = kni_allocate(sizeof *rt->profile);
    if (!rt->profile) return;
    memset(rt->profile, 0, sizeof *rt->profile);
    rt->driver.profiling = true;
}

/* The last entry takes what has no place any more. */
static int entry_of(struct kni_runtime_profile *p, const char *name)
{
    for (int i = 0; i < p->n_entries; i++)
        if (!strcmp(p->entries[i].name, name)) return i;
    if (p->n_entries == ENTRIES) return ENTRIES - 1;
    memcpy(p->entries[p->n_entries].name, name, strlen(name) + 1);
    return p->n_entries++;
}

static void settle(kni_runtime *rt)
{
    struct kni_runtime_profile *p = rt->profile;
    for (int i = 0; i < p->n_pending; i++) {
        float milliseconds = 0;
        profile_entry *e = &p->entries[p->pending[i].entry];
        if (!rt->api->event_wait(p->pending[i].end) &&
            !rt->api->event_elapsed(&milliseconds, p->pending[i].start, p->pending[i].end)) {
            e->count++;
            e->milliseconds += (double)milliseconds;
        }
    }
    p->n_pending = 0;
}

bool kni_runtime_profile_begin(kni_runtime *rt)
{
    struct kni_runtime_profile *p = rt->profile;
    if (KNI_LIKELY(!p) || rt->recording || rt->lost) return false;
    if (p->n_pending == PENDING) settle(rt);
    void **events[2] = {&p->pending[p->n_pending].start, &p->pending[p->n_pending].end};
    for (int i = 0; i < 2; i++)
        if (!*events[i] && rt->api->event_create(events[i], 0)) {
            *events[i] = NULL;
            return false;
        }
    return !rt->api->event_record(p->pending[p->n_pending].start, rt->stream);
}

void kni_runtime_profile_end(kni_runtime *rt, const char *kernel)
{
    struct kni_runtime_profile *p = rt->profile;
    char name[NAME];
    kni_text text = {name, sizeof name, 0};
    kni_text_format(&text, "%s: %s", kernel, rt->driver.label);
    if (rt->api->event_record(p->pending[p->n_pending].end, rt->stream)) return;
    p->pending[p->n_pending++].entry = entry_of(p, name);
}

size_t kni_runtime_profile_report(kni_driver *d, char *buffer, size_t bytes)
{
    kni_runtime *rt = kni_runtime_of(d);
    struct kni_runtime_profile *p = rt->profile;
    kni_text text = {buffer, bytes, 0};
    if (!p || kni_runtime_enter(rt)) return 0;
    settle(rt);
    double total = 0;
    bool told[ENTRIES] = {false};
    for (int i = 0; i < p->n_entries; i++) total += p->entries[i].milliseconds;
    kni_text_format(&text, "%g ms of work on %s: milliseconds, part, launches, each in microseconds, what\n",
                    total, rt->name);
    for (int turn = 0; turn < p->n_entries; turn++) {
        int most = -1;
        for (int i = 0; i < p->n_entries; i++)
            if (!told[i] && (most < 0 || p->entries[i].milliseconds > p->entries[most].milliseconds))
                most = i;
        const profile_entry *e = &p->entries[most];
        told[most] = true;
        kni_text_format(&text, "%g %g%% %D %g %s\n", e->milliseconds,
                        total > 0 ? 100 * e->milliseconds / total : 0, e->count,
                        e->count ? 1e3 * e->milliseconds / (double)e->count : 0, e->name);
    }
    return text.length;
}

void kni_runtime_profile_free(kni_runtime *rt)
{
    struct kni_runtime_profile *p = rt->profile;
    if (!p) return;
    for (int i = 0; i < PENDING; i++) {
        if (p->pending[i].start) (void)rt->api->event_destroy(p->pending[i].start);
        if (p->pending[i].end) (void)rt->api->event_destroy(p->pending[i].end);
    }
    kni_free(p, sizeof *p);
    rt->profile = NULL;
}
