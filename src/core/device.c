/* The list of opened devices, the current one of each thread, and their random counters. */
#include "core/backends.h"
#include "core/device_object.h"
#include "core/error.h"
#include "core/text.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <string.h>

static kni_mutex lock = KNI_MUTEX_INIT;
static kn_device all;
static _Atomic(kn_device) default_device;

/* Linked only when the program opens devices by name; otherwise the CPU is the default. */
#if defined(__GNUC__) && !defined(KN_FREESTANDING)
__attribute__((weak))
#endif
KN_API kn_device
kn_device_open(const char *spec);

/* A closed stack of decorators without state of their own serves again, so that opening and closing in a loop
   takes no memory. */
kn_device kni_device_reopen(const char *name)
{
    kn_device found = NULL;
    kni_lock(&lock);
    for (kn_device d = all; d && !found; d = d->next) {
        bool plain = !strcmp(d->backend->name, "autodiff") || !strcmp(d->backend->name, "nan") ||
                     !strcmp(d->backend->name, "fusion");
        if (plain && atomic_load(&d->closed) && !strcmp(d->name, name)) found = d;
    }
    if (found) atomic_store(&found->closed, false);
    kni_unlock(&lock);
    return found;
}

kn_device kni_device_make(kn_backend *backend, const char *name)
{
    kn_device d = backend ? kni_allocate(sizeof *d) : NULL;
    if (!d) {
        kni_fail(KN_ERROR_MEMORY, "no memory to open the device %s", name);
        return NULL;
    }
    memset(d, 0, sizeof *d);
    d->backend = backend;
    if (!backend->device) backend->device = d;
    d->leaf = backend;
    for (; d->leaf->inner[0]; d->leaf = d->leaf->inner[0])
        if (!strcmp(d->leaf->name, "fusion")) d->queue = d->leaf;
    d->tapes = !strcmp(backend->name, "autodiff");
    d->host = true;
    if (d->leaf->control) (void)d->leaf->control(d->leaf, KNI_CONTROL_HOST, &d->host);
    kni_text text = {d->name, sizeof d->name, 0};
    kni_text_string(&text, name);
    kni_lock(&lock);
    d->next = all;
    all = d;
    kni_unlock(&lock);
    return d;
}

bool kni_device_known(kn_device device, const char *function)
{
    kni_lock(&lock);
    kn_device d = all;
    while (d && d != device) d = d->next;
    kni_unlock(&lock);
    if (!d)
        kni_fail(KN_ERROR_DEVICE,
                 "%s: this is no open device: it was never one, or kn_shutdown() has ended it", function);
    return d != NULL;
}

kn_device kni_device_given(kn_device device, const char *function)
{
    if (!device) return kni_device_current();
    return kni_device_known(device, function) ? device : NULL;
}

/* Innermost backends come last in the list of devices, so each is closed once: by the device made of it. */
void kni_devices_shutdown(void)
{
    kni_lock(&lock);
    while (all) {
        kn_device d = all;
        all = d->next;
        if (d->backend->device == d) d->backend->device = NULL;
        if (d->backend->close) d->backend->close(d->backend);
        kni_free(d, sizeof *d);
    }
    atomic_store(&default_device, NULL);
    kni_unlock(&lock);
}

void kni_devices_trim(void)
{
    kni_lock(&lock);
    for (kn_device d = all; d; d = d->next)
        if (!d->backend->inner[0] && d->backend->control) (void)d->backend->control(d->backend, "trim", NULL);
    kni_unlock(&lock);
}

static kn_device open_default(void)
{
#ifdef KN_FREESTANDING
    return kn_device_cpu();
#else
    const char *spec = kni_environment("KN_DEVICE");
    if (spec && *spec && kn_device_open) return kn_device_open(spec);
    if (spec && *spec) kni_log(1, "KN_DEVICE=%s is ignored: this program links no kn_device_open()", spec);
    return kn_device_cpu();
#endif
}

kn_device kni_device_current(void)
{
    const kni_thread *t = kni_thread_self();
    kn_device d = t->route ? t->route : t->call_name && t->call_device ? t->call_device : t->current;
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
    if (!device || kni_device_known(device, "kn_device_use")) kni_thread_self()->current = device;
}

kn_device kn_device_current(void) { return kni_device_current(); }

const char *kn_device_name(kn_device device)
{
    return device && kni_device_known(device, "kn_device_name") ? device->name : "none";
}

void kn_device_close(kn_device device)
{
    if (!device || !kni_device_known(device, "kn_device_close")) return;
    kni_thread *t = kni_thread_self();
    if (t->current == device) t->current = NULL;
    /* A leaf belongs to everyone who opened it. */
    if (device->leaf == device->backend) return;
    atomic_store(&device->closed, true);
    kn_device expected = device;
    (void)atomic_compare_exchange_strong(&default_device, &expected, NULL);
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
