/* Opening a library of webgpu.h, one instance for the process, and its adapters. */
#ifndef __wasm__
#include "backend/webgpu/webgpu_api.h"
#include "core/life.h"
#include "support/library.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static kni_webgpu_api api;
static wg_instance instance;

typedef struct function_row {
    const char *name;
    void *place;
} function_row;

static const function_row functions[] = {
    {"wgpuCreateInstance", &api.create_instance},
    {"wgpuInstanceProcessEvents", &api.process_events},
    {"wgpuInstanceRequestAdapter", &api.request_adapter},
    {"wgpuAdapterGetInfo", &api.adapter_info},
    {"wgpuAdapterInfoFreeMembers", &api.free_adapter_info},
    {"wgpuAdapterGetLimits", &api.adapter_limits},
    {"wgpuAdapterRequestDevice", &api.request_device},
    {"wgpuAdapterRelease", &api.release_adapter},
    {"wgpuDeviceGetQueue", &api.get_queue},
    {"wgpuDevicePushErrorScope", &api.push_scope},
    {"wgpuDevicePopErrorScope", &api.pop_scope},
    {"wgpuDeviceDestroy", &api.destroy_device},
    {"wgpuDeviceRelease", &api.release_device},
    {"wgpuQueueRelease", &api.release_queue},
    {"wgpuDeviceCreateBuffer", &api.create_buffer},
    {"wgpuBufferDestroy", &api.destroy_buffer},
    {"wgpuBufferRelease", &api.release_buffer},
    {"wgpuBufferMapAsync", &api.map},
    {"wgpuBufferGetConstMappedRange", &api.mapped},
    {"wgpuBufferUnmap", &api.unmap},
    {"wgpuQueueWriteBuffer", &api.write},
    {"wgpuQueueSubmit", &api.submit},
    {"wgpuDeviceCreateCommandEncoder", &api.create_encoder},
    {"wgpuCommandEncoderBeginComputePass", &api.begin_pass},
    {"wgpuCommandEncoderCopyBufferToBuffer", &api.copy},
    {"wgpuCommandEncoderClearBuffer", &api.clear},
    {"wgpuCommandEncoderFinish", &api.finish},
    {"wgpuCommandEncoderRelease", &api.release_encoder},
    {"wgpuCommandBufferRelease", &api.release_commands},
    {"wgpuComputePassEncoderSetPipeline", &api.set_pipeline},
    {"wgpuComputePassEncoderSetBindGroup", &api.set_group},
    {"wgpuComputePassEncoderDispatchWorkgroups", &api.dispatch},
    {"wgpuComputePassEncoderEnd", &api.end_pass},
    {"wgpuComputePassEncoderRelease", &api.release_pass},
    {"wgpuDeviceCreateShaderModule", &api.create_module},
    {"wgpuShaderModuleRelease", &api.release_module},
    {"wgpuDeviceCreateBindGroupLayout", &api.create_group_layout},
    {"wgpuBindGroupLayoutRelease", &api.release_group_layout},
    {"wgpuDeviceCreatePipelineLayout", &api.create_layout},
    {"wgpuPipelineLayoutRelease", &api.release_layout},
    {"wgpuDeviceCreateComputePipeline", &api.create_pipeline},
    {"wgpuComputePipelineRelease", &api.release_pipeline},
    {"wgpuDeviceCreateBindGroup", &api.create_group},
    {"wgpuBindGroupRelease", &api.release_group},
};
static const function_row extras[] = {
    {"wgpuDevicePoll", &api.poll},
    {"wgpuInstanceEnumerateAdapters", &api.enumerate},
    {"wgpuGetVersion", &api.version},
};

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_LOADING);

static bool find(void *library, const function_row *row)
{
    void *address = dlsym(library, row->name);
    memcpy(row->place, &address, sizeof address);
    return address != NULL;
}

static void *open_library(void)
{
    const kni_library_names *names = &kni_libraries[KNI_LIBRARY_WEBGPU];
    const char *file = getenv("KN_WEBGPU_LIBRARY");
    void *library = NULL;
    if (file && *file) return dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; names->files[i] && !library; i++) library = kni_library_load(names, names->files[i]);
    return library;
}

static const char *load_locked(void)
{
    if (KNI_MEMORY_SANITIZER) return "WebGPU libraries cannot be used under MemorySanitizer";
    void *library = open_library();
    if (!library)
        return "there is no libwgpu_native.so on this machine: take it out of the wheel of 'pip download "
               "wgpu "
               "--no-deps' and let KN_WEBGPU_LIBRARY name it";
    bool all = true;
    for (int i = 0; i < KNI_COUNT(functions); i++) all = find(library, &functions[i]) && all;
    for (int i = 0; i < KNI_COUNT(extras); i++) (void)find(library, &extras[i]);
    if (!all || (api.version && api.version() >> 24 < WG_NEEDED_VERSION)) {
        dlclose(library);
        return "the library of WebGPU is older than wgpu-native 29: take a newer one ('pip download wgpu "
               "--no-deps')";
    }
    wg_instance_extras extras_info = {.chain = {NULL, WG_IS_INSTANCE_EXTRAS}, .drivers = WG_DRIVERS};
    const wg_instance_info info = {.next = api.version ? &extras_info.chain : NULL};
    instance = api.create_instance(&info);
    return instance ? NULL : "the library of WebGPU makes no instance";
}

const kni_webgpu_api *kni_webgpu_load(const char **why)
{
    kni_guard_lock(&lock);
    *why = instance ? NULL : load_locked();
    kni_guard_unlock(&lock);
    return *why ? NULL : &api;
}

wg_instance kni_webgpu_instance(void) { return instance; }

/* ---- adapters */

static void take_adapter(uint32_t status, wg_adapter adapter, wg_text message, void *to, void *also)
{
    (void)message, (void)also;
    if (status == WG_SUCCESS) *(wg_adapter *)to = adapter;
}

static wg_adapter only_adapter(const kni_webgpu_api *a, int32_t n, int32_t *total)
{
    const wg_adapter_options options = {.level = WG_CORE, .power = WG_HIGH_PERFORMANCE};
    wg_adapter found = NULL;
    (void)a->request_adapter(
        instance, &options,
        (wg_adapter_callback){.mode = WG_SPONTANEOUS, .call = take_adapter, .to = &found});
    a->process_events(instance);
    if (total) *total = found != NULL;
    if (!found || !n) return found;
    a->release_adapter(found);
    return NULL;
}

/* OpenGL's adapters, which lack much of what compute needs, are left out. */
static bool computes(const kni_webgpu_api *a, wg_adapter adapter)
{
    wg_adapter_info info = {0};
    if (a->adapter_info(adapter, &info) != WG_SUCCESS) return false;
    bool good = info.backend >= WG_BACKEND_D3D12 && info.backend <= WG_BACKEND_VULKAN;
    a->free_adapter_info(info);
    return good;
}

wg_adapter kni_webgpu_adapter(const kni_webgpu_api *a, int32_t n, int32_t *total)
{
    enum { MAX_ADAPTERS = 32 };
    wg_adapter adapters[MAX_ADAPTERS], found = NULL;
    int32_t seen = 0;
    if (!a->enumerate || !a->version) return only_adapter(a, n, total);
    size_t count = a->enumerate(instance, NULL, NULL);
    if (count > MAX_ADAPTERS) return only_adapter(a, n, total);
    count = a->enumerate(instance, NULL, adapters);
    for (size_t i = 0; i < count; i++) {
        bool here = computes(a, adapters[i]);
        if (here && seen == n)
            found = adapters[i];
        else
            a->release_adapter(adapters[i]);
        seen += here;
    }
    if (total) *total = seen;
    return found;
}
#else
typedef int kni_webgpu_no_library;
#endif
