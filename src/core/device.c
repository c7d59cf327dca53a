/* The list of opened devices, the current one of each thread, and their random counters. */
#include "core/backends.h"
#include "core/device_object.h"
#include "core/error.h"
#include "core/life.h"
#include "core/live.h"
#include "core/objects.h"
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
enum { BUCKETS = 64, FIRST_SWEEP = 64 };

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_OUTER);
static kn_device all;
static kn_device
    left_to_parent; /* devices of before a fork, kept so that nothing that refers to them breaks */
static kn_device closed[BUCKETS]; /* stacks that can serve again, by name */
static kn_device spare;           /* spent devices that nothing refers to any more */
static uint32_t n_spent, sweep_at = FIRST_SWEEP;
static _Atomic(kn_device) default_device;
static place *places;
static uint32_t n_places, place_room, free_places;
static uint64_t generations;        /* counted over all devices, and never again from the start */
static uint64_t first_alive = 1;    /* generations below are older than kn_shutdown or fork */
static uint64_t ended_with_library; /* those up to this one are older than kn_shutdown */

/* The name of the current device that this thread closed, until it chooses another or has been warned. */
static KNI_THREAD_LOCAL char closed_here[sizeof((kn_device)0)->name];

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

static kn_device handle_of(kn_device d)
{
    return (kn_device)((uintptr_t)d->generation << (PLACE_BITS + 1) | (uintptr_t)d->place << 1 | 1);
}

/* Under the lock. */
static void give_place(kn_device d, uint32_t i)
{
    d->place = i;
    d->generation = new_generation();
    places[i] = (place){d, d->generation, 0};
}

kn_device kni_device_handle(kn_device device)
{
    if (!device) return NULL;
    kni_guard_lock(&lock);
    kn_device handle = handle_of(device);
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
    uint32_t i = free_places - 1;
    free_places = places[i].next;
    give_place(d, i);
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
        d->next_closed = NULL;
        d->closed_link = NULL;
    }
    if (last) {
        last->next = left_to_parent;
        left_to_parent = all;
    }
    all = NULL;
    memset(closed, 0, sizeof closed);
    spare = NULL;
    n_spent = 0;
    free_places = 0;
    for (uint32_t i = 0; i < n_places; i++) {
        places[i].next = free_places;
        free_places = i + 1;
    }
    first_alive = generations + 1;
    closed_here[0] = 0;
    atomic_store(&default_device, NULL);
}

#ifndef KN_FREESTANDING
/* What the device wants with channels last: what its leaf says, or KN_LAYOUT. */
static void choose_wants(kn_device d)
{
    static const kn_want everything = {KN_WANT_ANY, 2, UINT32_MAX};
    const char *text = kni_environment("KN_LAYOUT");
    d->wants = d->leaf->wants;
    d->n_wants = d->leaf->n_wants;
    if (!text || !*text) return;
    const bool channels = !strcmp(text, "channels-last");
    if (!channels && strcmp(text, "row-major")) {
        kni_log(KN_LOG_WARNING, "KN_LAYOUT=%s is no layout: write channels-last or row-major", text);
    } else if (d->leaf->traits & KNI_TRAIT_ORDERS) {
        d->wants = channels ? &everything : NULL;
        d->n_wants = channels;
    }
}
#else
static void choose_wants(kn_device d) { (void)d; }
#endif

static void describe(kn_device d, kn_backend *backend, const char *name)
{
    d->backend = backend;
    d->leaf = backend;
    for (; d->leaf->inner[0]; d->leaf = d->leaf->inner[0]) {
        if (!d->tape && d->leaf->traits & KN_TRAIT_TAPES) d->tape = d->leaf;
        if (!d->queue && d->leaf->traits & KN_TRAIT_QUEUES) d->queue = d->leaf;
    }
    d->host = d->leaf->traits & KN_TRAIT_HOST;
    choose_wants(d);
    kni_text text = {d->name, sizeof d->name, 0};
    kni_text_string(&text, name);
}

/* ---- stacks that serve again

   The backends of a closed stack serve the next one who opens its name, as another device: tensors, tapes and threads that refer to
   the closed device find it closed for ever. It is spent then, and becomes a spare when nothing refers to it. */

/* Takes a device out of the list of closed stacks, where it is at most once. Under the lock. */
static void unlist(kn_device d)
{
    if (!d->closed_link) return;
    *d->closed_link = d->next_closed;
    if (d->next_closed) d->next_closed->closed_link = d->closed_link;
    d->next_closed = NULL;
    d->closed_link = NULL;
}

/* Open stacks hold each of their decorators; those over one device share it. One that was closed on its own serves nobody else
   while a stack around it is open. Under the lock. */
static void hold(kn_backend *b)
{
    if (!b || !b->inner[0]) return;
    if (b->device && b->device->holders++ == 0) unlist(b->device);
    hold(b->inner[0]);
    hold(b->inner[1]);
}

/* Whether no open stack holds the decorators down to `inner`. */
static bool idle(const kn_backend *b, const kn_backend *inner)
{
    if (!b || !b->inner[0] || b == inner) return true;
    return b->device && !b->device->holders && idle(b->inner[0], inner) && idle(b->inner[1], inner);
}

static void see(kn_device d) { d->seen = true; }

/* Looks which spent devices nothing refers to. Only a thread that is alone and in no call can tell. Under the lock. */
static void sweep(void)
{
    const kni_thread *t = &kni_this_thread;
    if (t->context.call_name || t->runs_for || t->depth_of_calls || kni_threads_close()) return;
    if (t->context.current) see(t->context.current);
    bool taped = kni_live_devices(see);
    for (kn_device d = all; d; d = d->next) {
        bool kept = d->seen || (taped && d->tape);
        d->seen = false;
        if (!d->spent || d->is_spare || kept) continue;
        d->is_spare = true;
        d->next_closed = spare;
        spare = d;
        n_spent--;
    }
    kni_threads_reopen();
    sweep_at = 2 * n_spent + FIRST_SWEEP;
}

/* A device that takes the place of a closed one, NULL without memory. Under the lock. */
static kn_device successor(kn_device old)
{
    if (!spare && n_spent >= sweep_at) sweep();
    kn_device d = spare ? spare : kni_allocate(sizeof *d), next = spare ? spare->next : all;
    if (!d) return NULL;
    if (d == spare)
        spare = d->next_closed;
    else
        all = d;
    memset(d, 0, sizeof *d);
    d->next = next;
    describe(d, old->backend, old->name);
    give_place(d, old->place);
    if (d->backend->device == old) d->backend->device = d;
    old->spent = true;
    n_spent++;
    return d;
}

kn_device kni_device_reopen(const char *name, const kn_backend *inner)
{
    kni_guard_lock(&lock);
    kn_device old = closed[bucket_of(name)];
    while (old && (strcmp(old->name, name) || (inner && old->backend->inner[0] != inner) ||
                   !idle(old->backend, inner)))
        old = old->next_closed;
    kn_device d = old ? successor(old) : NULL;
    if (d) {
        unlist(old);
        d->opens = 1;
        hold(d->backend);
    }
    kni_guard_unlock(&lock);
    return d;
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
    static kni_life_hook hook = {.forked = KNI_IN_CHILD(forked)};
    kni_fork_watch(&hook);
    kn_device made = backend ? of_leaf(backend) : NULL;
    if (made) return made;
    kn_device d = backend ? kni_allocate(sizeof *d) : NULL;
    if (d) {
        memset(d, 0, sizeof *d);
        describe(d, backend, name);
    }
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

bool kni_device_is_open(kn_device device, const char *function)
{
    return kni_device_find(device, function) != NULL;
}

/* Whether kn_shutdown has ended what the handle names, or it had been closed before: it is nobody's to close. */
static bool is_older(kn_device handle)
{
    uintptr_t bits = (uintptr_t)handle;
    kni_guard_lock(&lock);
    bool older = bits & 1 && (uint64_t)bits >> (PLACE_BITS + 1) <= ended_with_library;
    kni_guard_unlock(&lock);
    return older;
}

/* The open device behind a handle. NULL, without an error, for any other handle. */
static kn_device find_open(kn_device handle)
{
    bool older;
    kn_device was;
    kni_guard_lock(&lock);
    kn_device d = handle ? find(handle, &older, &was) : NULL;
    kni_guard_unlock(&lock);
    return d && !atomic_load(&d->closed) ? d : NULL;
}

bool kni_device_tapes(kn_device device)
{
    kn_device d = find_open(device);
    return d && d->tape;
}

bool kni_device_on_host(kn_device device)
{
    kn_device d = find_open(device);
    return d && d->host;
}

kn_device kni_device_given(kn_device device, const char *function)
{
    return device ? kni_device_find(device, function) : kni_device_current();
}

/* Each backend is closed once: by the latest device made of it. Innermost ones come last, but for those below an autodiff that
   stands around an opened device, which does not ask them when it closes. */
void kni_devices_shutdown(void)
{
    kni_guard_lock(&lock);
    kn_device list = all;
    all = NULL;
    memset(closed, 0, sizeof closed);
    spare = NULL;
    n_spent = 0;
    kni_free(places, place_room * sizeof *places);
    places = NULL;
    n_places = place_room = free_places = 0;
    ended_with_library = generations;
    first_alive = generations + 1;
    closed_here[0] = 0;
    atomic_store(&default_device, NULL);
    kni_guard_unlock(&lock);
    while (list) {
        kn_device d = list;
        list = d->next;
        kn_backend *b = d->spent ? NULL : d->backend;
        if (b && b->device == d) b->device = NULL;
        if (b && b->close) b->close(b);
        kni_free(d, sizeof *d);
    }
}

/* The leaf behind this one in the list of devices, NULL: the first one. Leaves stay where they are while the library lives. */
static kn_device next_leaf(kn_device leaf)
{
    kni_guard_lock(&lock);
    kn_device d = leaf ? leaf->next : all;
    while (d && d->backend->inner[0]) d = d->next;
    kni_guard_unlock(&lock);
    return d;
}

void kni_devices_trim(void)
{
    for (kn_device d = next_leaf(NULL); d; d = next_leaf(d))
        if (d->backend->trim) d->backend->trim(d->backend);
}

static kn_device open_default(void)
{
#ifdef KN_FREESTANDING
    return kni_device_cpu();
#else
    const char *spec = kni_environment("KN_DEVICE");
    if (spec && *spec && kn_device_open) {
        kn_device handle = kn_device_open(spec);
        if (handle) return kni_device_find(handle, "KN_DEVICE");
        kni_fail(KN_ERROR_DEVICE, "the environment variable KN_DEVICE is %s: %s", spec, kni_failure_taken());
        return NULL;
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

/* A leaf that was closed may be the default device itself, which goes on. */
static KNI_COLD void tell_fallback(kn_device d)
{
    if (strcmp(closed_here, d->name))
        kni_log(KN_LOG_WARNING,
                "%s was the current device and has been closed: new tensors go to the default device, %s; "
                "choose one "
                "with kn_device_use()",
                closed_here, d->name);
    closed_here[0] = 0;
}

static kn_device find_default(void)
{
    kn_device d = atomic_load_explicit(&default_device, memory_order_acquire);
    if (d) return d;
    d = open_default();
    if (!d) return NULL;
    kn_device expected = NULL;
    /* Two threads may open it at once: the first one wins, the other stays in the list unused. */
    return atomic_compare_exchange_strong(&default_device, &expected, d) ? d : expected;
}

kn_device kni_device_current(void)
{
    const kni_thread *t = kni_thread_self();
    const kni_context *c = &t->context;
    kn_device d = c->route ? c->route : c->call_name && c->call_device ? c->call_device : c->current;
    if (KNI_UNLIKELY(d && d == c->current && atomic_load_explicit(&d->closed, memory_order_relaxed)))
        return closed_current(d);
    if (d) return d;
    d = find_default();
    if (KNI_UNLIKELY(closed_here[0] && d)) tell_fallback(d);
    return d;
}

void kn_device_use(kn_device device)
{
    kn_device d = device ? kni_device_find(device, "kn_device_use") : NULL;
    if (!d && device) return;
    kni_thread_self()->context.current = d;
    closed_here[0] = 0;
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
    if (device->opens++ == 0) hold(device->backend);
    kn_device handle = handle_of(device);
    kni_guard_unlock(&lock);
    return handle;
}

/* Whether a stack can serve again under its name: no decorator keeps what it cannot forget. */
static bool serves_again(const kn_backend *b)
{
    if (!b || !b->inner[0]) return true;
    bool forgets = b->reset || b->traits & KN_TRAIT_STATELESS;
    return forgets && serves_again(b->inner[0]) && serves_again(b->inner[1]);
}

/* Under the lock: the stack can serve again when it is closed and no other open one stands on it. */
static void list_closed(kn_device d)
{
    if (!atomic_load(&d->closed) || d->holders || d->spent || !serves_again(d->backend)) return;
    kn_device *first = &closed[bucket_of(d->name)];
    d->next_closed = *first;
    if (d->next_closed) d->next_closed->closed_link = &d->next_closed;
    d->closed_link = first;
    *first = d;
}

/* What a decorator noted ends with the last open stack that holds it, which goes on holding it until then. */
static void let_go(kn_backend *b)
{
    if (!b || !b->inner[0]) return;
    kn_device d = b->device;
    kni_guard_lock(&lock);
    bool last = d && d->holders == 1;
    if (d && !last) d->holders--;
    kni_guard_unlock(&lock);
    if (last && b->reset) b->reset(b);
    let_go(b->inner[0]);
    let_go(b->inner[1]);
    if (!last) return;
    kni_guard_lock(&lock);
    d->holders--;
    list_closed(d);
    kni_guard_unlock(&lock);
}

/* Whether this close was the last one; false after a failure when the device was not open. */
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
    if (last && leaf && !stays) give_place(d, d->place);
    if (last && !leaf) {
        places[d->place].generation = new_generation();
        atomic_store(&d->closed, true);
    }
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
    if (is_older(device)) return;
    kn_device d = device ? kni_device_find(device, "kn_device_close") : NULL;
    if (!d) return;
    bool leaf = d->leaf == d->backend;
    if (!close_once(device, d, leaf)) return;
    kni_thread *t = kni_thread_self();
    if (t->context.current == d) {
        t->context.current = NULL;
        memcpy(closed_here, d->name, sizeof closed_here);
    }
    if (leaf) return;
    kn_device expected = d;
    (void)atomic_compare_exchange_strong(&default_device, &expected, NULL);
    let_go(d->backend);
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
    return t->context.replay_device == device ? t->context.replay_key : atomic_load(&device->rng_key);
}

uint64_t kni_rng_reserve(kn_device device, uint64_t n)
{
    const kni_context *c = &kni_thread_self()->context;
    if (c->replay_device != device) return atomic_fetch_add(&device->rng_counter, n);
    uint64_t counter = *c->replay_counter;
    *c->replay_counter += n;
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
    return device->queue && device->queue->submit ? device->queue->submit(device->queue) : KN_OK;
}

/* The first in the inner chain that has such a text answers. */
size_t kn_device_report(kn_device device, const char *kind, char *buffer, size_t bytes)
{
    kn_report report = {sizeof report, buffer, buffer ? bytes : 0, 0};
    if (buffer && bytes) buffer[0] = 0;
    device = kni_device_given(device, "kn_device_report");
    for (kn_backend *b = device ? device->backend : NULL; b; b = b->inner[0])
        if (b->report && b->report(b, kind ? kind : "report", &report) == KN_OK) return report.length;
    return 0;
}
