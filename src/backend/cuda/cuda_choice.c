/* Times the ways of a library, and keeps on disk which was the fastest. */
#include "backend/cuda/cuda_choice.h"
#include "support/disk_cache.h"
#include <string.h>

typedef struct disk_key {
    int64_t version;
    char device[sizeof((kni_driver *)0)->description];
    unsigned char key[KNI_CUDA_CHOICE_KEY];
} disk_key;

static bool make_key(const kni_cuda *c, const kni_cuda_choice *choice, disk_key *k)
{
    if (choice->bytes > sizeof k->key) return false;
    memset(k, 0, sizeof *k);
    k->version = choice->version;
    memcpy(k->device, c->runtime.driver.description, sizeof k->device);
    memcpy(k->key, choice->key, choice->bytes);
    return true;
}

int kni_cuda_choice_known(const kni_cuda *c, const kni_cuda_choice *choice, int most)
{
    disk_key k;
    kni_buffer found = {0};
    int32_t number = -1;
    if (!make_key(c, choice, &k)) return -1;
    if (kni_disk_cache_get(choice->kind, &k, sizeof k, &found) && found.length == sizeof number)
        memcpy(&number, found.data, sizeof number);
    kni_buffer_free(&found);
    return number >= 0 && number < most ? number : -1;
}

void kni_cuda_choice_keep(const kni_cuda *c, const kni_cuda_choice *choice, int32_t fastest)
{
    disk_key k;
    if (make_key(c, choice, &k)) kni_disk_cache_put(choice->kind, &k, sizeof k, &fastest, sizeof fastest);
}

/* Milliseconds of some runs, after one that does not count; below 0 where one fails. */
enum { RUNS = 3 };
static float time_of(kni_cuda *c, int (*run)(void *self, int way), void *self, int way, void *const events[2])
{
    const kni_runtime_api *api = &c->api->common;
    void *stream = c->runtime.stream;
    float milliseconds = -1;
    int failed = run(self, way);
    if (!failed) failed = api->event_record(events[0], stream);
    for (int i = 0; i < RUNS && !failed; i++) failed = run(self, way);
    if (!failed) failed = api->event_record(events[1], stream);
    if (!failed) failed = api->event_wait(events[1]);
    if (!failed) failed = api->event_elapsed(&milliseconds, events[0], events[1]);
    return failed ? -1 : milliseconds;
}

int kni_cuda_choice_time(kni_cuda *c, int count, int (*run)(void *self, int way), void *self,
                         const float *more)
{
    const kni_runtime_api *api = &c->api->common;
    void *events[2] = {NULL, NULL};
    float best = -1;
    int fastest = -1;
    bool good = !api->event_create(&events[0], 0) && !api->event_create(&events[1], 0);
    for (int i = 0; i < count && good; i++) {
        float taken = time_of(c, run, self, i, events);
        if (taken >= 0 && more) taken += RUNS * more[i];
        if (taken < 0 || (best >= 0 && taken >= best)) continue;
        best = taken;
        fastest = i;
    }
    for (int i = 0; i < 2; i++)
        if (events[i]) (void)api->event_destroy(events[i]);
    return fastest;
}
