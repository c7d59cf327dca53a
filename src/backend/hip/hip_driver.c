/* Opens HIP devices: what is HIP's own beside backend/runtime, which has streams, copies, kernels and recordings. */
#include "backend/hip/hip_driver.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"
#include <string.h>

typedef struct kni_hip {
    kni_runtime runtime; /* first: it is the driver's own pointer */
    char architecture[KNI_HIP_ARCHITECTURE];
} kni_hip;

static kni_hip *hip_of(kni_runtime *rt) { return (kni_hip *)rt->driver.self; }
/* The common functions are first in it. */
static const kni_hip_api *api_of(const kni_runtime *rt) { return (const kni_hip_api *)rt->api; }

static void describe(kni_runtime *rt)
{
    kni_hip *h = hip_of(rt);
    char model[80];
    kni_text text = {rt->driver.description, sizeof rt->driver.description, 0};
    kni_runtime_model(rt, model, sizeof model);
    api_of(rt)->architecture(rt->device, h->architecture);
    rt->driver.processors = (uint32_t)kni_runtime_attribute(rt, KNI_HIP_ATTRIBUTE_PROCESSORS);
    /* Memory of a workgroup needs no asking for, so there is no more of it than that. */
    rt->shared_most = (uint32_t)kni_runtime_attribute(rt, KNI_HIP_ATTRIBUTE_SHARED);
    uint32_t wave = (uint32_t)kni_runtime_attribute(rt, KNI_HIP_ATTRIBUTE_WAVE);
    kni_text_format(&text, "%s, %s, %u compute units, waves of %u, %D MiB, HIP %d.%d", model, h->architecture,
                    rt->driver.processors, wave, rt->driver.memory_bytes >> 20,
                    (int32_t)(api_of(rt)->version / 10000000), (int32_t)(api_of(rt)->version / 100000 % 100));
    rt->driver.caps =
        (kni_ir_caps){.dialect = KNI_IR_HIP,
                      .f64 = true,
                      .i64 = true,
                      .half_storage = true,
                      .subgroups = wave == 32 || wave == 64,
                      .atomics = true,
                      .float_atomics = true,
                      .subgroup = wave == 32 || wave == 64 ? wave : 1,
                      .max_workgroup = (uint32_t)kni_runtime_attribute(rt, KNI_HIP_ATTRIBUTE_THREADS),
                      .shared_bytes = rt->shared_most,
                      .vector_bytes = 16};
}

/* 9 of "gfx90a:xnack-", 11 of "gfx1100"; 0 of what is no such name. The last two of the letters are smaller numbers. */
static int generation(const char *architecture)
{
    size_t n = strcspn(architecture, ":");
    int number = 0;
    if (n < 6 || strncmp(architecture, "gfx", 3)) return 0;
    for (size_t i = 3; i < n - 2; i++) {
        if (architecture[i] < '0' || architecture[i] > '9') return 0;
        number = number * 10 + (architecture[i] - '0');
    }
    return number;
}

static kn_status check(kni_runtime *rt)
{
    const kni_hip *h = hip_of(rt);
    if (generation(h->architecture) < 9)
        return kni_fail(KN_ERROR_DEVICE,
                        "%s is %s; Kiln needs gfx900 or later, whose f32 numbers keep subnormal values",
                        rt->name, h->architecture[0] ? h->architecture : "of an unknown architecture");
    if (!api_of(rt)->compiles)
        return kni_fail(
            KN_ERROR_UNSUPPORTED,
            "hip: compiling kernels needs libhiprtc.so of the driver's version: install ROCm's hip-runtime "
            "and name the folder of the file in KN_HIP_LIBRARIES");
    return KN_OK;
}

/* Products and sums stay apart, as on every other device; divisions are rounded correctly where nothing else is said. */
static kn_status options(kni_runtime *rt, kni_runtime_options *o)
{
    const kni_hip *h = hip_of(rt);
    kni_text text = {o->architecture, sizeof o->architecture, 0};
    kni_text_format(&text, "--offload-arch=%s", h->architecture);
    if (text.length >= sizeof o->architecture)
        return kni_fail(KN_ERROR_UNSUPPORTED, "%s: the name of its architecture is too long: %s", rt->name,
                        h->architecture);
    o->list[0] = o->architecture;
    o->list[1] = "-O3";
    o->list[2] = "-ffp-contract=off";
    o->n = 3;
    o->compiler = &api_of(rt)->compiler;
    o->code_bytes = api_of(rt)->compiler.code_bytes;
    o->code = api_of(rt)->compiler.code;
    return KN_OK;
}

static const kni_runtime_kind kind = {.device = "hip",
                                      .name = "HIP",
                                      .compiler = "hiprtc",
                                      .compilers = 1, /* its calls wait for each other */
                                      .tool = "rocm-smi",
                                      .hides = "HIP_VISIBLE_DEVICES",
                                      .profile = "KN_HIP_PROFILE",
                                      .graphs = "KN_HIP_GRAPHS",
                                      .most_items = UINT32_MAX,
                                      .bytes = sizeof(kni_hip),
                                      .describe = describe,
                                      .check = check,
                                      .options = options};

kni_driver *kni_hip_driver_open(int32_t number)
{
    const kni_hip_api *api = kni_hip_library(false);
    kni_runtime *rt = api ? kni_runtime_open(&kind, &api->common, number) : NULL;
    return rt ? &rt->driver : NULL;
}

kn_backend *kni_hip_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)inner;
    return kni_gpu_open_numbered("hip", argument, n_inner, kni_hip_driver_open);
}

bool kni_hip_describe(int32_t n, char *text, size_t bytes)
{
    const kni_hip_api *api = kni_hip_library(true);
    kni_hip h = {.runtime = {.kind = &kind, .api = api ? &api->common : NULL}};
    h.runtime.driver.self = &h;
    return kni_runtime_describe(&h.runtime, n, text, bytes);
}
