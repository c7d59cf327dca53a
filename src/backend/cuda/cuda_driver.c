/* Opens CUDA devices: what is CUDA's own beside backend/runtime, which has streams, copies, kernels and recordings. */
#include "backend/cuda/cuda_driver.h"
#include "backend/cuda/cuda_hopper.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include <string.h>

/* ---- memory for the calls of libraries */

void *kni_cuda_own(kni_cuda *c, size_t bytes)
{
    void *memory = c->runtime.driver.allocate(&c->runtime.driver, bytes);
    if (!memory && c->runtime.driver.make_room && !c->runtime.lost) {
        c->runtime.driver.make_room(c->runtime.driver.owner);
        memory = c->runtime.driver.allocate(&c->runtime.driver, bytes);
    }
    if (memory) c->runtime.driver.own_bytes += (int64_t)bytes;
    return memory;
}

void kni_cuda_disown(kni_cuda *c, void *memory, size_t bytes)
{
    if (!memory) return;
    c->runtime.driver.own_bytes -= (int64_t)bytes;
    c->runtime.driver.free(&c->runtime.driver, memory);
}

void *kni_cuda_scratch(kni_cuda *c, size_t bytes)
{
    enum { LARGE = 128 << 20 };
    if (c->scratch && bytes <= c->scratch_bytes) return c->scratch;
    if (c->n_older_scratch == KNI_COUNT(c->older_scratch)) return NULL;
    /* Small ones double; a large one is as large as it must be, so that a network does not keep twice its largest. */
    size_t wanted = c->scratch_bytes < LARGE / 2 ? 2 * c->scratch_bytes : c->scratch_bytes + LARGE / 4;
    if (bytes > wanted) wanted = bytes;
    void *memory = kni_cuda_own(c, wanted);
    if (!memory && wanted > bytes) memory = kni_cuda_own(c, wanted = bytes);
    if (!memory) return NULL;
    if (c->scratch && !kni_runtime_is_held(&c->runtime)) {
        kni_cuda_disown(c, c->scratch, c->scratch_bytes); /* the driver waits for what uses it */
    } else if (c->scratch) {
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
    kni_cuda_disown(c, c->zeros, KNI_CUDA_ZEROS);
    c->zeros = NULL;
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
    if (!kni_runtime_is_held(&c->runtime)) free_scratch(c);
}

/* ---- what a device is */

static void describe(kni_runtime *rt)
{
    kni_cuda *c = kni_cuda_of(&rt->driver);
    char model[80];
    kni_text text = {rt->driver.description, sizeof rt->driver.description, 0};
    kni_runtime_model(rt, model, sizeof model);
    rt->driver.processors = (uint32_t)kni_runtime_attribute(rt, KNI_CU_ATTRIBUTE_PROCESSORS);
    c->major = kni_runtime_attribute(rt, KNI_CU_ATTRIBUTE_MAJOR);
    c->minor = kni_runtime_attribute(rt, KNI_CU_ATTRIBUTE_MINOR);
    rt->shared_most = (uint32_t)kni_runtime_attribute(rt, KNI_CU_ATTRIBUTE_SHARED_MOST);
    kni_text_format(&text, "%s, compute capability %d.%d, %u multiprocessors, %D MiB, driver for CUDA %d.%d",
                    model, (int32_t)c->major, (int32_t)c->minor, rt->driver.processors,
                    rt->driver.memory_bytes >> 20, (int32_t)(kni_cuda_driver_version() / 1000),
                    (int32_t)(kni_cuda_driver_version() % 1000 / 10));
    rt->driver.own_attention = c->major == 9 && c->minor == 0;
    rt->driver.caps =
        (kni_ir_caps){.dialect = KNI_IR_CUDA,
                      .f64 = true,
                      .i64 = true,
                      .half_storage = true,
                      .subgroups = true,
                      .atomics = true,
                      .float_atomics = true,
                      .tiles = c->major >= 8,
                      .subgroup = 32,
                      .max_workgroup = (uint32_t)kni_runtime_attribute(rt, KNI_CU_ATTRIBUTE_THREADS),
                      .shared_bytes = (uint32_t)kni_runtime_attribute(rt, KNI_CU_ATTRIBUTE_SHARED),
                      .vector_bytes = 16};
}

static kn_status check(kni_runtime *rt)
{
    const kni_cuda *c = kni_cuda_of(&rt->driver);
    if (c->major < 7)
        return kni_fail(KN_ERROR_DEVICE, "%s has compute capability %d.%d; Kiln needs 7.0 or later", rt->name,
                        (int32_t)c->major, (int32_t)c->minor);
    return KN_OK;
}

/* Products and sums stay apart, as on every other device. From 9.0 on the code may use what exists on this very architecture only (sm_90a), which suits code that is compiled
   where it runs. An NVRTC that is older than the device writes PTX for the newest it knows. */
static kn_status cuda_options(kni_runtime *rt, kni_runtime_options *o)
{
    enum { MOST = 64 };
    const kni_cuda *c = kni_cuda_of(&rt->driver);
    const kni_cuda_compiler_api *nvrtc = kni_cuda_compiler_library();
    if (!nvrtc) return kni_latest_code();
    int list[MOST], count = 0, own = c->major * 10 + c->minor, best = 0;
    if (nvrtc->arch_count(&count) || count < 1 || count > MOST || nvrtc->arch_list(list))
        return kni_fail(KN_ERROR_UNSUPPORTED, "%s: NVRTC does not say what it compiles for: update it",
                        rt->name);
    for (int i = 0; i < count; i++)
        if (list[i] <= own && list[i] > best) best = list[i];
    if (!best)
        return kni_fail(
            KN_ERROR_UNSUPPORTED,
            "%s: this NVRTC no longer compiles for compute capability %d.%d: install an older one", rt->name,
            (int32_t)c->major, (int32_t)c->minor);
    kni_text text = {o->architecture, sizeof o->architecture, 0};
    bool native = best == own;
    kni_text_format(&text, "--gpu-architecture=%s_%d%s", native ? "sm" : "compute", (int32_t)best,
                    native && own >= 90 ? "a" : "");
    o->list[0] = o->architecture;
    o->list[1] = "--fmad=false";
    o->list[2] = "--device-as-default-execution-space";
    o->n = 3;
    o->compiler = &nvrtc->common;
    o->code_bytes = native ? nvrtc->common.code_bytes : nvrtc->ptx_bytes;
    o->code = native ? nvrtc->common.code : nvrtc->ptx;
    return KN_OK;
}

static void close_libraries(kni_runtime *rt)
{
    kni_cuda *c = kni_cuda_of(&rt->driver);
    kni_cuda_products_free(c);
    kni_hopper_free(c);
    kni_cuda_layers_free(c);
    kni_dnn_free(c);
    free_scratch(c);
}

static const kni_runtime_kind kind = {.device = "cuda",
                                      .name = "CUDA",
                                      .compiler = "NVRTC",
                                      .compilers = 16,
                                      .tool = "nvidia-smi",
                                      .hides = "CUDA_VISIBLE_DEVICES",
                                      .profile = "KN_CUDA_PROFILE",
                                      .graphs = "KN_CUDA_GRAPHS",
                                      .bytes = sizeof(kni_cuda),
                                      .describe = describe,
                                      .check = check,
                                      .options = cuda_options,
                                      .close = close_libraries};

/* Engines of cuDNN read channels that lie last in place in 16 bits and in f32 rounded to 10 bits, where there are enough of them for a
   load; those for f32 as it is read rows (docs/cuda.md). */
static void choose_wants(kni_cuda *c)
{
    enum { HALVES = 1 << KN_F16 | 1 << KN_BF16, LEAST = 8 };
    static const kn_want halves = {KN_WANT_ANY, LEAST, HALVES},
                         rounded = {KN_WANT_ANY, LEAST, HALVES | 1 << KN_F32};
    const char *tf32 = kni_environment("KN_TF32");
    if (!c->vendor || !kni_cuda_graph_library()) return;
    c->runtime.driver.wants = tf32 && !strcmp(tf32, "on") ? &rounded : &halves;
    c->runtime.driver.n_wants = 1;
}

static uint8_t transforms_allowed(void)
{
    const char *text = kni_environment("KN_CUDNN_TRANSFORM");
    if (!text) return KNI_DNN_TRANSFORMS_SMALL;
    return !strcmp(text, "off")     ? KNI_DNN_TRANSFORMS_NONE
           : !strcmp(text, "large") ? KNI_DNN_TRANSFORMS_LARGE
                                    : KNI_DNN_TRANSFORMS_SMALL;
}

kni_driver *kni_cuda_driver_open(int32_t number)
{
    const kni_cuda_driver_api *api = kni_cuda_driver_library(false);
    kni_runtime *rt = api ? kni_runtime_open(&kind, &api->common, number) : NULL;
    if (!rt) return NULL;
    kni_cuda *c = kni_cuda_of(&rt->driver);
    kni_driver *d = &rt->driver;
    c->api = api;
    c->vendor = kni_cuda_vendor();
    c->transforms = transforms_allowed();
    d->trim = cuda_trim;
    d->product = kni_cuda_record_product;
    d->attention = kni_cuda_attention;
    d->attention_grad = kni_cuda_attention_grad;
    d->convolution = kni_cuda_convolution;
    if (c->vendor) {
        d->recurrence = kni_cuda_recurrence;
        d->recurrence_reserve = kni_cuda_recurrence_reserve;
    }
    choose_wants(c);
    /* Kernels cannot be compiled without it, so a device that has none is not opened. */
    if (kni_cuda_compiler_library()) return d;
    d->close(d);
    return NULL;
}

bool kni_cuda_describe(int32_t n, char *text, size_t bytes)
{
    const kni_cuda_driver_api *api = kni_cuda_driver_library(true);
    kni_cuda c = {.runtime = {.kind = &kind, .api = api ? &api->common : NULL}};
    c.runtime.driver.self = &c;
    return kni_runtime_describe(&c.runtime, n, text, bytes);
}
