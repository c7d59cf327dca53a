/* Opens and closes a device and turns results of the driver into statuses: the primary context, one stream of its
   own, memory, what happens when the device is lost or the process forks. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "backend/runtime/runtime_ahead.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include <string.h>

#if KNI_THREADS
/* Neither CUDA nor HIP survives fork(): the child's calls fail in odd ways or hang, so they are refused. */
static _Atomic uint64_t forks;
static void count_fork(void) { forks++; }
static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, count_fork); }
static uint64_t forks_now(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return forks;
}
#else
static uint64_t forks_now(void) { return 0; }
#endif

/* ---- results */

/* After these the context answers nothing else any more. */
static bool ends_context(int result)
{
    static const short list[] = {46,  214, 220, 226, 700, 702, 709, 710, 714,
                                 715, 716, 717, 718, 719, 721, 810, 911, 999};
    for (int i = 0; i < KNI_COUNT(list); i++)
        if (list[i] == result) return true;
    return false;
}

static kn_status fail_lost(const kni_runtime *rt) { return kni_fail(KN_ERROR_DEVICE, "%s", rt->lost_text); }

void kni_runtime_note(kni_runtime *rt, int result, const char *doing)
{
    if (KNI_LIKELY(!ends_context(result)) || rt->lost) return;
    const char *text = NULL, *name = NULL;
    kni_text line = {rt->lost_text, sizeof rt->lost_text, 0};
    rt->api->error_string(result, &text);
    rt->api->error_name(result, &name);
    kni_text_format(&line,
                    "%s was lost, seen while %s: %s (%s); what it held is gone: close it and open it again",
                    rt->name, doing, text ? text : "unknown error", name ? name : "no name");
    rt->lost = true;
}

kn_status kni_runtime_result(kni_runtime *rt, int result, const char *doing)
{
    if (KNI_LIKELY(!result)) return KN_OK;
    const char *text = NULL, *name = NULL;
    rt->api->error_string(result, &text);
    rt->api->error_name(result, &name);
    if (!text) text = "unknown error";
    if (!name) name = "no name";
    if (result == KNI_RT_OUT_OF_MEMORY)
        return kni_fail(
            KN_ERROR_MEMORY,
            "%s: no device memory for %s: use smaller batches, free tensors, or end other programs on this "
            "GPU (%s lists them)",
            rt->name, doing, rt->kind->tool);
    if (result == KNI_RT_DEINITIALISED)
        return kni_fail(KN_ERROR_DEVICE, "%s: the driver has shut down because the process ends", rt->name);
    kni_runtime_note(rt, result, doing);
    if (rt->lost) return fail_lost(rt);
    return kni_fail(KN_ERROR_INTERNAL, "%s: %s failed: %s (%s)", rt->name, doing, text, name);
}

bool kni_runtime_ours(const kni_runtime *rt) { return rt->forks == forks_now(); }

kn_status kni_runtime_enter(kni_runtime *rt)
{
    if (KNI_UNLIKELY(!kni_runtime_ours(rt)))
        return kni_fail(KN_ERROR_DEVICE,
                        "%s was opened before fork(), and %s does not work in the child: open devices after "
                        "fork(), or start the child with exec",
                        rt->name, rt->kind->name);
    if (KNI_UNLIKELY(rt->lost)) return fail_lost(rt);
    return kni_runtime_result(rt, rt->api->context_set(rt->context), "making the context current");
}

kn_status kni_runtime_enter_outside(kni_runtime *rt, const char *doing)
{
    kn_status status = kni_runtime_enter(rt);
    if (status || !rt->recording) return status;
    return kni_fail(KN_ERROR_INTERNAL, "%s: %s cannot be recorded", rt->name, doing);
}

/* ---- memory */

static void *runtime_allocate(kni_driver *d, size_t bytes)
{
    kni_runtime *rt = kni_runtime_of(d);
    kni_runtime_address address = 0;
    if (kni_runtime_enter(rt)) return NULL;
    int result = rt->api->memory_allocate(&address, bytes ? bytes : 1);
    if (result == KNI_RT_OUT_OF_MEMORY) return NULL;
    return kni_runtime_result(rt, result, "an allocation") ? NULL : (void *)(uintptr_t)address;
}

static void runtime_free(kni_driver *d, void *memory)
{
    kni_runtime *rt = kni_runtime_of(d);
    /* What a lost device or another process held is gone with its context. */
    if (!memory || rt->lost || !kni_runtime_ours(rt)) return;
    if (rt->recording && rt->n_pending < KNI_RUNTIME_PENDING) {
        rt->pending[rt->n_pending++] = memory;
        return;
    }
    int result = rt->api->context_set(rt->context);
    if (!result) result = rt->api->memory_free(kni_runtime_at(memory, 0));
    kni_runtime_note(rt, result, "freeing memory");
}

static kn_status runtime_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                              size_t bytes)
{
    kni_runtime *rt = kni_runtime_of(d);
    kn_status status = kni_runtime_enter(rt);
    if (status || !bytes) return status;
    kni_runtime_record_before(rt);
    status = kni_runtime_result(
        rt,
        rt->api->copy_on(kni_runtime_at(to, to_offset), kni_runtime_at(from, from_offset), bytes, rt->stream),
        "copying on the device");
    void *read = (void *)(uintptr_t)from;
    kni_runtime_record_after(rt, &read, 1, &to, 1);
    return status;
}

static kn_status runtime_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    kni_runtime *rt = kni_runtime_of(d);
    kn_status status = kni_runtime_enter(rt);
    if (status || !bytes) return status;
    kni_runtime_record_before(rt);
    status = kni_runtime_result(rt, rt->api->set_bytes(kni_runtime_at(to, offset), 0, bytes, rt->stream),
                                "filling with zeros");
    kni_runtime_record_after(rt, NULL, 0, &to, 1);
    return status;
}

static kn_status runtime_sync(kni_driver *d)
{
    kni_runtime *rt = kni_runtime_of(d);
    kn_status status = kni_runtime_enter_outside(rt, "waiting for the device");
    return status ? status
                  : kni_runtime_result(rt, rt->api->stream_wait(rt->stream), "waiting for the device");
}

/* ---- opening and closing */

static void runtime_close(kni_driver *d)
{
    kni_runtime *rt = kni_runtime_of(d);
    bool ours = kni_runtime_ours(rt);
    kni_runtime_ahead_close(rt);
    if (ours && rt->context && !rt->api->context_set(rt->context)) {
        kni_runtime_record_close(rt);
        if (!rt->lost && rt->stream) kni_runtime_note(rt, rt->api->stream_wait(rt->stream), "closing");
        if (rt->kind->close) rt->kind->close(rt);
        kni_runtime_profile_free(rt);
        kni_runtime_staging_free(rt);
        if (rt->stream) (void)rt->api->stream_destroy(rt->stream);
        (void)rt->api->context_set(NULL);
    }
    if (ours && rt->context) (void)rt->api->context_release(rt->device);
    /* What else uses the context of a lost device has lost it too. */
    if (ours && rt->lost) (void)rt->api->context_reset(rt->device);
    kni_free(rt, rt->kind->bytes);
}

int kni_runtime_attribute(kni_runtime *rt, int number)
{
    int value = 0;
    return rt->api->device_attribute(&value, number, rt->device) ? 0 : value;
}

void kni_runtime_model(kni_runtime *rt, char *model, size_t bytes)
{
    size_t memory = 0;
    model[0] = 0;
    (void)rt->api->device_name(model, (int)bytes, rt->device);
    model[bytes - 1] = 0;
    (void)rt->api->device_memory(&memory, rt->device);
    rt->driver.memory_bytes = (int64_t)memory;
}

static const kni_driver functions = {.addresses = true,
                                     .allocate = runtime_allocate,
                                     .free = runtime_free,
                                     .upload = kni_runtime_upload,
                                     .download = kni_runtime_download,
                                     .copy = runtime_copy,
                                     .fill_zero = runtime_fill_zero,
                                     .sync = runtime_sync,
                                     .compile = kni_runtime_compile,
                                     .compile_ahead = kni_runtime_compile_ahead,
                                     .forget_ahead = kni_runtime_forget_ahead,
                                     .unload = kni_runtime_unload,
                                     .launch = kni_runtime_launch,
                                     .record_begin = kni_runtime_record_begin,
                                     .record_end = kni_runtime_record_end,
                                     .replay = kni_runtime_replay,
                                     .record_params = kni_runtime_record_params,
                                     .record_free = kni_runtime_record_free,
                                     .record_writes = kni_runtime_record_writes,
                                     .profile = kni_runtime_profile_report,
                                     .close = runtime_close};

static int open_stream(kni_runtime *rt)
{
    int result = rt->api->context_retain(&rt->context, rt->device);
    if (result) {
        rt->context = NULL;
        return result;
    }
    result = rt->api->context_set(rt->context);
    return result ? result : rt->api->stream_create(&rt->stream, KNI_RT_STREAM_APART);
}

static kn_status open_context(kni_runtime *rt, int32_t number)
{
    int count = 0, result = rt->api->device_count(&count);
    if (!result && number >= count)
        return kni_fail(KN_ERROR_DEVICE, "%s: there is no %s: the driver finds %d GPU%s (%s may hide others)",
                        rt->kind->device, rt->name, (int32_t)count, count == 1 ? "" : "s", rt->kind->hides);
    if (!result) result = rt->api->device_get(&rt->device, number);
    if (result) return kni_runtime_result(rt, result, "finding the device");
    rt->kind->describe(rt);
    kn_status status = rt->kind->check(rt);
    if (status) return status;
    result = open_stream(rt);
    if (result && ends_context(result)) {
        /* The context still has the fault of an earlier life. */
        if (rt->context) (void)rt->api->context_release(rt->device);
        (void)rt->api->context_reset(rt->device);
        result = open_stream(rt);
    }
    if (!ends_context(result)) return kni_runtime_result(rt, result, "opening the device");
    (void)kni_runtime_result(rt, result, "opening the device");
    return kni_fail(
        KN_ERROR_DEVICE,
        "%s was lost in this process, and the driver does not give it back: start the program again",
        rt->name);
}

/* Which of the drivers' recordings there are: none where the library lacks a function, or the variable says off. */
static void choose_recordings(kni_runtime *rt)
{
#define ABSENT(field, cuda, hip, arguments) || !rt->api->field
    bool lacks = false KNI_RUNTIME_RECORD_LIST(ABSENT);
    const char *graphs = kni_environment(rt->kind->graphs);
    if ((graphs && !strcmp(graphs, "off")) || lacks) {
        rt->driver.record_begin = NULL;
        rt->driver.record_end = NULL;
        rt->driver.replay = NULL;
        rt->driver.record_params = NULL;
        rt->driver.record_free = NULL;
        rt->driver.record_writes = NULL;
    }
    /* For measuring what it brings: everything stays in the order it was launched in. */
    if (graphs && !strcmp(graphs, "line")) rt->driver.record_writes = NULL;
}

kni_runtime *kni_runtime_open(const kni_runtime_kind *kind, const kni_runtime_api *api, int32_t number)
{
    if (!api) return NULL;
    kni_runtime *rt = kni_allocate(kind->bytes);
    if (!rt) {
        kni_fail(KN_ERROR_MEMORY, "no memory to open %s:%d", kind->device, number);
        return NULL;
    }
    memset(rt, 0, kind->bytes);
    rt->kind = kind;
    rt->api = api;
    rt->driver = functions;
    rt->driver.self = rt;
    rt->driver.name = rt->name;
    rt->forks = forks_now();
    kni_text text = {rt->name, sizeof rt->name, 0};
    kni_text_format(&text, "%s:%d", kind->device, number);
    if (open_context(rt, number)) {
        runtime_close(&rt->driver);
        return NULL;
    }
    kni_runtime_profile_open(rt);
    choose_recordings(rt);
    const char *ahead = kni_environment("KN_COMPILE_AHEAD");
    if (ahead && !strcmp(ahead, "off")) rt->driver.compile_ahead = NULL;
    return rt;
}

bool kni_runtime_describe(kni_runtime *rt, int32_t number, char *text, size_t bytes)
{
    int count = 0;
    if (!rt->api || number < 0 || rt->api->device_count(&count) || number >= count ||
        rt->api->device_get(&rt->device, number))
        return false;
    rt->kind->describe(rt);
    kni_text line = {text, bytes, 0};
    kni_text_format(&line, "%s:%d  %s", rt->kind->device, number, rt->driver.description);
    return true;
}
