/* Opens and closes a CUDA device and turns results of the driver into statuses: the primary context, one stream of its
   own, memory, what happens when the device is lost or the process forks. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "backend/cuda/cuda_driver.h"
#include "backend/cuda/cuda_hopper.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include <string.h>

#if KNI_THREADS
/* CUDA does not survive fork(): the child's calls fail in odd ways or hang, so they are refused. */
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

static kn_status fail_lost(const kni_cuda *c) { return kni_fail(KN_ERROR_DEVICE, "%s", c->lost_text); }

void kni_cuda_note(kni_cuda *c, int result, const char *doing)
{
    if (KNI_LIKELY(!ends_context(result)) || c->lost) return;
    const char *text = NULL, *name = NULL;
    kni_text line = {c->lost_text, sizeof c->lost_text, 0};
    c->api->error_string(result, &text);
    c->api->error_name(result, &name);
    kni_text_format(&line,
                    "%s was lost, seen while %s: %s (%s); what it held is gone: close it and open it again",
                    c->name, doing, text ? text : "unknown error", name ? name : "no name");
    c->lost = true;
}

kn_status kni_cuda_result(kni_cuda *c, int result, const char *doing)
{
    if (KNI_LIKELY(!result)) return KN_OK;
    const char *text = NULL, *name = NULL;
    c->api->error_string(result, &text);
    c->api->error_name(result, &name);
    if (!text) text = "unknown error";
    if (!name) name = "no name";
    if (result == KNI_CU_OUT_OF_MEMORY)
        return kni_fail(
            KN_ERROR_MEMORY,
            "%s: no device memory for %s: use smaller batches, free tensors, or end other programs on this "
            "GPU (nvidia-smi lists them)",
            c->name, doing);
    if (result == KNI_CU_DEINITIALISED)
        return kni_fail(KN_ERROR_DEVICE, "%s: the driver has shut down because the process ends", c->name);
    kni_cuda_note(c, result, doing);
    if (c->lost) return fail_lost(c);
    return kni_fail(KN_ERROR_INTERNAL, "%s: %s failed: %s (%s)", c->name, doing, text, name);
}

bool kni_cuda_ours(const kni_cuda *c) { return c->forks == forks_now(); }

kn_status kni_cuda_enter(kni_cuda *c)
{
    if (KNI_UNLIKELY(!kni_cuda_ours(c)))
        return kni_fail(
            KN_ERROR_DEVICE,
            "%s was opened before fork(), and CUDA does not work in the child: open devices after "
            "fork(), or start the child with exec",
            c->name);
    if (KNI_UNLIKELY(c->lost)) return fail_lost(c);
    return kni_cuda_result(c, c->api->context_set(c->context), "making the context current");
}

kn_status kni_cuda_enter_outside(kni_cuda *c, const char *doing)
{
    kn_status status = kni_cuda_enter(c);
    if (status || !c->recording) return status;
    return kni_fail(KN_ERROR_INTERNAL, "%s: %s cannot be recorded", c->name, doing);
}

/* ---- memory */

static void *cuda_allocate(kni_driver *d, size_t bytes)
{
    kni_cuda *c = kni_cuda_of(d);
    kni_cuda_address address = 0;
    if (kni_cuda_enter(c)) return NULL;
    int result = c->api->memory_allocate(&address, bytes ? bytes : 1);
    if (result == KNI_CU_OUT_OF_MEMORY) return NULL;
    return kni_cuda_result(c, result, "an allocation") ? NULL : (void *)(uintptr_t)address;
}

static void cuda_free(kni_driver *d, void *memory)
{
    kni_cuda *c = kni_cuda_of(d);
    /* What a lost device or another process held is gone with its context. */
    if (!memory || c->lost || !kni_cuda_ours(c)) return;
    if (c->recording && c->n_pending < KNI_CUDA_PENDING) {
        c->pending[c->n_pending++] = memory;
        return;
    }
    int result = c->api->context_set(c->context);
    if (!result) result = c->api->memory_free(kni_cuda_at(memory, 0));
    kni_cuda_note(c, result, "freeing memory");
}

void *kni_cuda_own(kni_cuda *c, size_t bytes)
{
    void *memory = c->driver.allocate(&c->driver, bytes);
    if (!memory && c->driver.make_room && !c->lost) {
        c->driver.make_room(c->driver.owner);
        memory = c->driver.allocate(&c->driver, bytes);
    }
    if (memory) c->driver.own_bytes += (int64_t)bytes;
    return memory;
}

void kni_cuda_disown(kni_cuda *c, void *memory, size_t bytes)
{
    if (!memory) return;
    c->driver.own_bytes -= (int64_t)bytes;
    c->driver.free(&c->driver, memory);
}

void *kni_cuda_scratch(kni_cuda *c, size_t bytes)
{
    if (c->scratch && bytes <= c->scratch_bytes) return c->scratch;
    if (c->n_older_scratch == KNI_COUNT(c->older_scratch)) return NULL;
    size_t wanted = bytes > 2 * c->scratch_bytes ? bytes : 2 * c->scratch_bytes;
    void *memory = kni_cuda_own(c, wanted);
    if (!memory && wanted > bytes) memory = kni_cuda_own(c, wanted = bytes);
    if (!memory) return NULL;
    if (c->scratch) {
        c->older_bytes[c->n_older_scratch] = c->scratch_bytes;
        c->older_scratch[c->n_older_scratch++] = c->scratch;
    }
    c->scratch = memory;
    c->scratch_bytes = wanted;
    return memory;
}

static void free_scratch(kni_cuda *c)
{
    kni_cuda_disown(c, c->scratch, c->scratch_bytes);
    c->scratch = NULL;
    c->scratch_bytes = 0;
    for (int i = 0; i < KNI_CUDA_WORKSPACES; i++) {
        kni_cuda_disown(c, c->workspaces[i], KNI_CUDA_WORKSPACE);
        c->workspaces[i] = NULL;
    }
    for (; c->n_older_scratch; c->n_older_scratch--)
        kni_cuda_disown(c, c->older_scratch[c->n_older_scratch - 1], c->older_bytes[c->n_older_scratch - 1]);
}

static void cuda_trim(kni_driver *d)
{
    kni_cuda *c = kni_cuda_of(d);
    if (!kni_cuda_is_held(c)) free_scratch(c);
}

static kn_status cuda_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                           size_t bytes)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter(c);
    if (status || !bytes) return status;
    kni_cuda_record_before(c);
    status = kni_cuda_result(
        c, c->api->copy_on(kni_cuda_at(to, to_offset), kni_cuda_at(from, from_offset), bytes, c->stream),
        "copying on the device");
    void *read = (void *)(uintptr_t)from;
    kni_cuda_record_after(c, &read, 1, &to, 1);
    return status;
}

static kn_status cuda_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter(c);
    if (status || !bytes) return status;
    kni_cuda_record_before(c);
    status = kni_cuda_result(c, c->api->set_bytes(kni_cuda_at(to, offset), 0, bytes, c->stream),
                             "filling with zeros");
    kni_cuda_record_after(c, NULL, 0, &to, 1);
    return status;
}

static kn_status cuda_sync(kni_driver *d)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_cuda_enter_outside(c, "waiting for the device");
    return status ? status : kni_cuda_result(c, c->api->stream_wait(c->stream), "waiting for the device");
}

/* ---- opening and closing */

static void cuda_close(kni_driver *d)
{
    kni_cuda *c = kni_cuda_of(d);
    bool ours = kni_cuda_ours(c);
    if (ours && c->context && !c->api->context_set(c->context)) {
        kni_cuda_record_close(c);
        if (!c->lost && c->stream) kni_cuda_note(c, c->api->stream_wait(c->stream), "closing");
        kni_cuda_products_free(c);
        kni_hopper_free(c);
        kni_dnn_free(c);
        free_scratch(c);
        kni_cuda_profile_free(c);
        kni_cuda_staging_free(c);
        if (c->stream) (void)c->api->stream_destroy(c->stream);
        (void)c->api->context_set(NULL);
    }
    if (ours && c->context) (void)c->api->context_release(c->device);
    /* What else uses the context of a lost device has lost it too. */
    if (ours && c->lost) (void)c->api->context_reset(c->device);
    kni_free(c, sizeof *c);
}

static int attribute(kni_cuda *c, int number)
{
    int value = 0;
    return c->api->device_attribute(&value, number, c->device) ? 0 : value;
}

static void describe(kni_cuda *c)
{
    char model[80] = "";
    size_t bytes = 0;
    kni_text text = {c->driver.description, sizeof c->driver.description, 0};
    (void)c->api->device_name(model, (int)sizeof model, c->device);
    model[sizeof model - 1] = 0;
    (void)c->api->device_memory(&bytes, c->device);
    c->driver.memory_bytes = (int64_t)bytes;
    c->driver.processors = (uint32_t)attribute(c, KNI_CU_ATTRIBUTE_PROCESSORS);
    c->major = attribute(c, KNI_CU_ATTRIBUTE_MAJOR);
    c->minor = attribute(c, KNI_CU_ATTRIBUTE_MINOR);
    c->shared_most = (uint32_t)attribute(c, KNI_CU_ATTRIBUTE_SHARED_MOST);
    kni_text_format(&text, "%s, compute capability %d.%d, %u multiprocessors, %D MiB, driver for CUDA %d.%d",
                    model, (int32_t)c->major, (int32_t)c->minor, c->driver.processors, (int64_t)(bytes >> 20),
                    (int32_t)(kni_cuda_driver_version() / 1000),
                    (int32_t)(kni_cuda_driver_version() % 1000 / 10));
    c->driver.caps = (kni_ir_caps){.dialect = KNI_IR_CUDA,
                                   .f64 = true,
                                   .i64 = true,
                                   .half_storage = true,
                                   .subgroups = true,
                                   .atomics = true,
                                   .float_atomics = true,
                                   .tiles = c->major >= 8,
                                   .subgroup = 32,
                                   .max_workgroup = (uint32_t)attribute(c, KNI_CU_ATTRIBUTE_THREADS),
                                   .shared_bytes = (uint32_t)attribute(c, KNI_CU_ATTRIBUTE_SHARED),
                                   .vector_bytes = 16};
}

static const kni_driver functions = {.addresses = true,
                                     .allocate = cuda_allocate,
                                     .free = cuda_free,
                                     .upload = kni_cuda_upload,
                                     .download = kni_cuda_download,
                                     .copy = cuda_copy,
                                     .fill_zero = cuda_fill_zero,
                                     .sync = cuda_sync,
                                     .trim = cuda_trim,
                                     .compile = kni_cuda_compile,
                                     .unload = kni_cuda_unload,
                                     .launch = kni_cuda_launch,
                                     .record_begin = kni_cuda_record_begin,
                                     .record_end = kni_cuda_record_end,
                                     .replay = kni_cuda_replay,
                                     .record_params = kni_cuda_record_params,
                                     .record_free = kni_cuda_record_free,
                                     .record_writes = kni_cuda_record_writes,
                                     .product = kni_cuda_record_product,
                                     .attention = kni_cuda_attention,
                                     .convolution = kni_cuda_convolution,
                                     .attention_grad = kni_cuda_attention_grad,
                                     .profile = kni_cuda_profile_report,
                                     .close = cuda_close};

static int open_stream(kni_cuda *c)
{
    int result = c->api->context_retain(&c->context, c->device);
    if (result) {
        c->context = NULL;
        return result;
    }
    result = c->api->context_set(c->context);
    return result ? result : c->api->stream_create(&c->stream, KNI_CU_STREAM_APART);
}

static kn_status open_context(kni_cuda *c, int32_t number)
{
    int count = 0, result = c->api->device_count(&count);
    if (!result && number >= count)
        return kni_fail(KN_ERROR_DEVICE,
                        "cuda: there is no %s: the driver finds %d GPU%s (CUDA_VISIBLE_DEVICES may hide "
                        "others)",
                        c->name, (int32_t)count, count == 1 ? "" : "s");
    if (!result) result = c->api->device_get(&c->device, number);
    if (result) return kni_cuda_result(c, result, "finding the device");
    describe(c);
    if (c->major < 7)
        return kni_fail(KN_ERROR_DEVICE, "%s has compute capability %d.%d; Kiln needs 7.0 or later", c->name,
                        (int32_t)c->major, (int32_t)c->minor);
    result = open_stream(c);
    if (result && ends_context(result)) {
        /* The context still has the fault of an earlier life. */
        if (c->context) (void)c->api->context_release(c->device);
        (void)c->api->context_reset(c->device);
        result = open_stream(c);
    }
    if (!ends_context(result)) return kni_cuda_result(c, result, "opening the device");
    (void)kni_cuda_result(c, result, "opening the device");
    return kni_fail(
        KN_ERROR_DEVICE,
        "%s was lost in this process, and the driver does not give it back: start the program again",
        c->name);
}

kni_driver *kni_cuda_driver_open(int32_t number)
{
    const kni_cuda_driver_api *api = kni_cuda_driver_library(false);
    if (!api) return NULL;
    kni_cuda *c = kni_allocate(sizeof *c);
    if (!c) {
        kni_fail(KN_ERROR_MEMORY, "no memory to open cuda:%d", number);
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->api = api;
    c->driver = functions;
    c->driver.self = c;
    c->driver.name = c->name;
    c->forks = forks_now();
    c->vendor = kni_cuda_vendor();
    kni_text text = {c->name, sizeof c->name, 0};
    kni_text_format(&text, "cuda:%d", number);
    /* Kernels cannot be compiled without it, so a device that has none is not opened. */
    if (open_context(c, number) || !kni_cuda_compiler_library()) {
        cuda_close(&c->driver);
        return NULL;
    }
    kni_cuda_profile_open(c);
    const char *graphs = kni_environment("KN_CUDA_GRAPHS");
    if ((graphs && !strcmp(graphs, "off")) || !api->capture_info || !api->node_set) {
        c->driver.record_begin = NULL;
        c->driver.record_end = NULL;
        c->driver.replay = NULL;
        c->driver.record_params = NULL;
        c->driver.record_free = NULL;
        c->driver.record_writes = NULL;
    }
    /* For measuring what it brings: everything stays in the order it was launched in. */
    if (graphs && !strcmp(graphs, "line")) c->driver.record_writes = NULL;
    return &c->driver;
}

bool kni_cuda_describe(int32_t n, char *text, size_t bytes)
{
    const kni_cuda_driver_api *api = kni_cuda_driver_library(true);
    kni_cuda c = {.api = api};
    int count = 0;
    if (!api || n < 0 || api->device_count(&count) || n >= count || api->device_get(&c.device, n))
        return false;
    describe(&c);
    kni_text line = {text, bytes, 0};
    kni_text_format(&line, "cuda:%d  %s", n, c.driver.description);
    return true;
}
