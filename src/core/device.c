/* The list of opened devices, the current one of each thread, and their random counters. */
#include "core/backends.h"
#include "core/device_object.h"
#include "core/error.h"
#include "core/life.h"
#include "core/text.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <string.h>

/* A handle of a device is no address: it has a place in this list and a generation, which ends when the device is closed. So a
   handle that is closed, or older than kn_shutdown or fork, is told and never followed. */
typedef struct place {
    kn_device device; /* NULL: free */
    uint64_t generation;
    uint32_t next; /* free place, from 1 on; 0: none */
} place;

#if UINTPTR_MAX > UINT32_MAX
enum { PLACE_BITS = 24, LIFE_BITS = 39 };
#else
enum { PLACE_BITS = 10, LIFE_BITS = 21 };
#endif
#define LIFE_MASK ((UINT64_C(1) << LIFE_BITS) - 1)
enum { BUCKETS = 64 };

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_OUTER);
static kn_device all;
static kn_device
    left_to_parent; /* devices of before a fork, kept so that nothing that refers to them breaks */
static kn_device closed[BUCKETS]; /* devices that can serve again, by name */
static _Atomic(kn_device) default_device;
static place *places;
static uint32_t n_places, place_room, free_places;
static uint64_t generations;     /* counted over all devices, and never again from the start */
static uint64_t first_alive = 1; /* generations below are older than kn_shutdown or fork */

/* Linked only when the program opens devices by name; otherwise the CPU is the default. */
#if defined(__GNUC__) && !defined(KN_FREESTANDING)
__attribute__((weak))
#endif
KN_API kn_device
kn_device_open(const char *spec);

static uint32_t bucket_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h % BUCKETS;
}

/* Generation 0 is none, so that no handle is NULL; the lowest bit tells a handle from an address. */
static uint64_t new_generation(void)
{
    generations = (generations + 1) & LIFE_MASK;
    if (!generations) generations = 1;
    return generations;
}

static kn_device handle_at(uint32_t i)
{
    return (kn_device)((uintptr_t)places[i].generation << (PLACE_BITS + 1) | (uintptr_t)i << 1 | 1);
}

kn_device kni_device_handle(kn_device device)
{
    if (!device) return NULL;
    kni_guard_lock(&lock);
    kn_device handle = handle_at(device->place);
    kni_guard_unlock(&lock);
    return handle;
}

/* Under the lock; false without memory or room. */
static bool take_place(kn_device d)
{
    if (!free_places) {
        if (n_places >> PLACE_BITS) return false;
        place *grown = kni_grow(places, &place_room, n_places + 1, sizeof *places);
        if (!grown) return false;
        places = grown;
        places[n_places] = (place){NULL, 0, 0};
        free_places = ++n_places;
    }
    d->place = free_places - 1;
    free_places = places[d->place].next;
    places[d->place] = (place){d, new_generation(), 0};
    return true;
}

/* What refers to a device of the parent must find it still, and find it closed. */
static void forked(void)
{
    kn_device last = NULL;
    for (kn_device d = all; d; last = d, d = d->next) {
        atomic_store(&d->closed, true);
        if (d->backend->device == d) d->backend->device = NULL;
        places[d->place].device = NULL;
    }
    if (last) {
        last->next = left_to_parent;
        left_to_parent = all;
    }
    all = NULL;
    memset(closed, 0, sizeof closed);
    free_places = 0;
    for (uint32_t i = 0; i < n_places; i++) {
        places[i].next = free_places;
        free_places = i + 1;
    }
    first_alive = generations + 1;
    atomic_store(&default_device, NULL);
}

kn_device kni_device_reopen(const char *name, const kn_backend *inner)
{
    kni_guard_lock(&lock);
    kn_device *at = &closed[bucket_of(name)];
    while (*at && (strcmp((*at)->name, name) || (inner && (*at)->backend->inner[0] != inner)))
        at = &(*at)->next_closed;
    kn_device d = *at;
    if (d) {
        *at = d->next_closed;
        d->next_closed = NULL;
        places[d->place].generation = new_generation();
        atomic_store(&d->rng_key, 0);
        atomic_store(&d->rng_counter, 0);
        atomic_store(&d->closed, false);
        d->opens = 1;
    }
    kni_guard_unlock(&lock);
    return d;
}

static void describe(kn_device d, kn_backend *backend, const char *name)
{
    memset(d, 0, sizeof *d);
    d->backend = backend;
    d->leaf = backend;
    for (; d->leaf->inner[0]; d->leaf = d->leaf->inner[0])
        if (!strcmp(d->leaf->name, "fusion")) d->queue = d->leaf;
    d->tapes = !strcmp(backend->name, "autodiff");
    d->host = true;
    if (d->leaf->control) (void)d->leaf->control(d->leaf, KNI_CONTROL_HOST, &d->host);
    kni_text text = {d->name, sizeof d->name, 0};
    kni_text_string(&text, name);
}

/* Leaves are there once for all. */
static kn_device of_leaf(const kn_backend *backend)
{
    kni_guard_lock(&lock);
    kn_device d = backend->inner[0] ? NULL : backend->device;
    kni_guard_unlock(&lock);
    return d;
}

kn_device kni_device_make(kn_backend *backend, const char *name)
{
    static kni_life_hook hook = {.forked = forked};
    kni_life_watch(&hook);
    kn_device made = backend ? of_leaf(backend) : NULL;
    if (made) return made;
    kn_device d = backend ? kni_allocate(sizeof *d) : NULL;
    if (d) describe(d, backend, name);
    kni_guard_lock(&lock);
    made = d && !backend->inner[0] ? backend->device : NULL; /* another thread may have been faster */
    bool good = d && !made && take_place(d);
    if (good) {
        if (!backend->device) backend->device = d;
        d->next = all;
        all = d;
    }
    kni_guard_unlock(&lock);
    if (good) return d;
    kni_free(d, sizeof *d);
    if (made) return made;
    kni_fail(KN_ERROR_MEMORY, "no memory to open the device %s", name);
    return NULL;
}

/* A device by its own address, which backends know it by. Under the lock. */
static kn_device by_address(kn_device device)
{
    kn_device d = all;
    while (d && d != device) d = d->next;
    return d;
}

static bool older_life(uint64_t generation) { return generation < first_alive || generation > generations; }

/* Under the lock; *older: it is none of this life; *was: the closed device that it named. */
static kn_device find(kn_device handle, bool *older, kn_device *was)
{
    uintptr_t bits = (uintptr_t)handle;
    uint32_t i = (uint32_t)(bits >> 1 & ((1u << PLACE_BITS) - 1));
    uint64_t generation = (uint64_t)bits >> (PLACE_BITS + 1);
    *older = !(bits & 1) || older_life(generation);
    *was = bits & 1 && !*older && i < n_places ? places[i].device : NULL;
    if (!(bits & 1)) return by_address(handle);
    return i < n_places && places[i].generation == generation ? places[i].device : NULL;
}

kn_device kni_device_find(kn_device handle, const char *function)
{
    bool older;
    kn_device was;
    kni_guard_lock(&lock);
    kn_device d = find(handle, &older, &was);
    kni_guard_unlock(&lock);
    if (d && atomic_load(&d->closed)) d = NULL; /* the handle came from one of its tensors */
    if (!d && older)
        kni_fail(KN_ERROR_DEVICE,
                 "%s: this is no open device: it was never one, kn_shutdown() has ended it, or it was opened "
                 "before "
                 "this process was forked; open it again",
                 function);
    else if (!d)
        kni_fail(KN_ERROR_DEVICE, "%s: the device%s%s has been closed; open it again with kn_device_open()",
                 function, was ? " " : "", was ? was->name : "");
    return d;
}

kn_device kni_device_given(kn_device device, const char *function)
{
    return device ? kni_device_find(device, function) : kni_device_current();
}

/* Innermost backends come last in the list of devices, so each is closed once: by the device made of it. */
void kni_devices_shutdown(void)
{
    kni_guard_lock(&lock);
    kn_device list = all;
    all = NULL;
    memset(closed, 0, sizeof closed);
    kni_free(places, place_room * sizeof *places);
    places = NULL;
    n_places = place_room = free_places = 0;
    first_alive = generations + 1;
    atomic_store(&default_device, NULL);
    kni_guard_unlock(&lock);
    while (list) {
        kn_device d = list;
        list = d->next;
        if (d->backend->device == d) d->backend->device = NULL;
        if (d->backend->close) d->backend->close(d->backend);
        kni_free(d, sizeof *d);
    }
}

/* Devices are never taken out of the list while the library lives, so it can be walked without the lock. */
void kni_devices_trim(void)
{
    kni_guard_lock(&lock);
    kn_device d = all;
    kni_guard_unlock(&lock);
    for (; d; d = d->next)
        if (!d->backend->inner[0] && d->backend->control) (void)d->backend->control(d->backend, "trim", NULL);
}

static kn_device open_default(void)
{
#ifdef KN_FREESTANDING
    return kni_device_cpu();
#else
    const char *spec = kni_environment("KN_DEVICE");
    if (spec && *spec && kn_device_open) {
        kn_device handle = kn_device_open(spec);
        return handle ? kni_device_find(handle, "KN_DEVICE") : NULL;
    }
    if (spec && *spec) kni_log(1, "KN_DEVICE=%s is ignored: this program links no kn_device_open()", spec);
    return kni_device_cpu();
#endif
}

static KNI_COLD kn_device closed_current(kn_device d)
{
    kn_device left = left_to_parent;
    while (left && left != d) left = left->next;
    kni_fail(KN_ERROR_DEVICE,
             "the current device %s %s; give kn_device_use() another one, or NULL for the default", d->name,
             left ? "was opened before this process was forked" : "has been closed");
    return NULL;
}

kn_device kni_device_current(void)
{
    const kni_thread *t = kni_thread_self();
    kn_device d = t->route ? t->route : t->call_name && t->call_device ? t->call_device : t->current;
    if (KNI_UNLIKELY(d && d == t->current && atomic_load_explicit(&d->closed, memory_order_relaxed)))
        return closed_current(d);
    if (d) return d;
    d = atomic_load_explicit(&default_device, memory_order_acquire);
    if (d) return d;
    d = open_default();
    if (!d) return NULL;
    kn_device expected = NULL;
    /* Two threads may open it at once: the first one wins, the other stays in the list unused. */
    return atomic_compare_exchange_strong(&default_device, &expected, d) ? d : expected;
}

void kn_device_use(kn_device device)
{
    kn_device d = device ? kni_device_find(device, "kn_device_use") : NULL;
    if (d || !device) kni_thread_self()->current = d;
}

kn_device kn_device_current(void) { return kni_device_handle(kni_device_current()); }

const char *kn_device_name(kn_device device)
{
    kn_device d = device ? kni_device_find(device, "kn_device_name") : NULL;
    return d ? d->name : "none";
}

kn_device kni_device_opened(kn_device device)
{
    kni_guard_lock(&lock);
    device->opens++;
    kn_device handle = handle_at(device->place);
    kni_guard_unlock(&lock);
    return handle;
}

/* Whether a stack can serve again under its name. What comes from outside keeps state that nobody here knows. */
static bool serves_again(const kn_backend *b)
{
    static const char *const known[] = {"autodiff", "nan", "fusion", "trace", "profile", "check"};
    if (!b->inner[0]) return true;
    for (int i = 0; i < KNI_COUNT(known); i++)
        if (!strcmp(b->name, known[i]))
            return serves_again(b->inner[0]) && (!b->inner[1] || serves_again(b->inner[1]));
    return false;
}

/* What decorators noted ends with the device. */
static void reset(kn_backend *b)
{
    if (!b || !b->inner[0]) return;
    if (b->control) (void)b->control(b, KNI_CONTROL_RESET, NULL);
    reset(b->inner[0]);
    reset(b->inner[1]);
}

/* Whether this close was the last one; false with the failure told when the device was not open. */
static bool close_once(kn_device handle, kn_device d, bool leaf)
{
    bool older;
    kn_device was;
    kni_guard_lock(&lock);
    bool opened = find(handle, &older, &was) == d && d->opens > 0; /* two threads may close it at once */
    if (opened) d->opens--;
    bool last = opened && d->opens == 0;
    /* A leaf goes on below other stacks, and as the default device for whoever names none. */
    bool stays = leaf && atomic_load(&default_device) == d;
    if (last && !stays) places[d->place].generation = new_generation();
    if (last && !leaf) atomic_store(&d->closed, true);
    kni_guard_unlock(&lock);
    if (!opened)
        kni_fail(
            KN_ERROR_DEVICE,
            "kn_device_close: the device %s has been closed as often as it was opened already; close each "
            "kn_device_open() once",
            d->name);
    return last;
}

void kn_device_close(kn_device device)
{
    kn_device d = device ? kni_device_find(device, "kn_device_close") : NULL;
    if (!d) return;
    bool leaf = d->leaf == d->backend, again = !leaf && serves_again(d->backend);
    if (!close_once(device, d, leaf)) return;
    kni_thread *t = kni_thread_self();
    if (t->current == d) t->current = NULL;
    if (leaf) return;
    kn_device expected = d;
    (void)atomic_compare_exchange_strong(&default_device, &expected, NULL);
    if (!again) return;
    reset(d->backend);
    kni_guard_lock(&lock);
    d->next_closed = closed[bucket_of(d->name)];
    closed[bucket_of(d->name)] = d;
    kni_guard_unlock(&lock);
}

void kn_seed(kn_device device, uint64_t seed)
{
    device = kni_device_given(device, "kn_seed");
    if (!device) return;
    atomic_store(&device->rng_key, seed);
    atomic_store(&device->rng_counter, 0);
}

uint64_t kni_rng_key(kn_device device)
{
    const kni_thread *t = kni_thread_self();
    return t->replay_device == device ? t->replay_key : atomic_load(&device->rng_key);
}

uint64_t kni_rng_reserve(kn_device device, uint64_t n)
{
    kni_thread *t = kni_thread_self();
    if (t->replay_device != device) return atomic_fetch_add(&device->rng_counter, n);
    uint64_t counter = t->replay_counter;
    t->replay_counter += n;
    return counter;
}

static kn_status closed_failure(const char *name, kn_device device)
{
    return kni_fail_op(KN_ERROR_DEVICE, name, "the device %s has been closed", device->name);
}

kn_status kn_sync(kn_device device)
{
    device = kni_device_given(device, "kn_sync");
    if (!device) return kni_latest_code();
    if (atomic_load(&device->closed)) return closed_failure("sync", device);
    return device->backend->sync ? device->backend->sync(device->backend) : KN_OK;
}

kn_status kn_submit(kn_device device)
{
    device = kni_device_given(device, "kn_submit");
    if (!device) return kni_latest_code();
    if (atomic_load(&device->closed)) return closed_failure("submit", device);
    return device->queue ? device->queue->control(device->queue, KNI_CONTROL_SUBMIT, NULL) : KN_OK;
}

size_t kn_device_report(kn_device device, const char *kind, char *buffer, size_t bytes)
{
    kni_report report = {buffer, buffer ? bytes : 0, 0};
    if (buffer && bytes) buffer[0] = 0;
    device = kni_device_given(device, "kn_device_report");
    kn_backend *b = device ? device->backend : NULL;
    if (!b || !b->control || b->control(b, kind ? kind : "report", &report) != KN_OK) return 0;
    return report.length;
}
