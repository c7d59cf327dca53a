/* Opening the Objective-C runtime and the Metal framework, and finding the devices. */
#include "backend/metal/metal_api.h"
#include "core/life.h"
#include "support/library.h"
#include <dlfcn.h>
#include <string.h>

static kni_metal_api api;
static bool loaded;

static const struct {
    const char *name;
    void *place;
    bool framework, optional;
} functions[] = {
    {"objc_getClass", &api.find_class, false, false},
    {"sel_registerName", &api.selector, false, false},
    {"objc_autoreleasePoolPush", &api.push_pool, false, false},
    {"objc_autoreleasePoolPop", &api.pop_pool, false, false},
    {"MTLCopyAllDevices", &api.all_devices, true, true},
    {"MTLCreateSystemDefaultDevice", &api.default_device, true, false},
};

/* One function under the types that it is called with. */
static void *const messages[] = {
    &api.get,         &api.get_at,       &api.get_text,        &api.get_of,      &api.get_sized,
    &api.get_library, &api.get_pipeline, &api.get_characters,  &api.get_address, &api.get_number,
    &api.get_truth,   &api.get_truth_of, &api.get_truth_named, &api.tell,        &api.tell_number,
    &api.tell_of,     &api.tell_buffer,  &api.tell_bytes,      &api.tell_sizes,  &api.tell_copy,
    &api.tell_fill,
};

static const struct {
    const char *name;
    metal_sel *place;
} selectors[] = {
    {"alloc", &api.s.alloc},
    {"init", &api.s.init},
    {"retain", &api.s.retain},
    {"release", &api.s.release},
    {"respondsToSelector:", &api.s.responds},
    {"initWithUTF8String:", &api.s.text_from},
    {"UTF8String", &api.s.characters},
    {"localizedDescription", &api.s.description},
    {"code", &api.s.code},
    {"count", &api.s.count},
    {"objectAtIndex:", &api.s.object_at},
    {"name", &api.s.name},
    {"hasUnifiedMemory", &api.s.unified},
    {"supportsFamily:", &api.s.family},
    {"maxBufferLength", &api.s.most_buffer},
    {"recommendedMaxWorkingSetSize", &api.s.working_set},
    {"maxThreadgroupMemoryLength", &api.s.shared_bytes},
    {"newCommandQueue", &api.s.new_queue},
    {"newBufferWithLength:options:", &api.s.new_buffer},
    {"contents", &api.s.contents},
    {"setFastMathEnabled:", &api.s.fast_math},
    {"setMathMode:", &api.s.math_mode},
    {"setMathFloatingPointFunctions:", &api.s.math_functions},
    {"newLibraryWithSource:options:error:", &api.s.new_library},
    {"newFunctionWithName:", &api.s.new_function},
    {"newComputePipelineStateWithFunction:error:", &api.s.new_pipeline},
    {"maxTotalThreadsPerThreadgroup", &api.s.most_threads},
    {"threadExecutionWidth", &api.s.width},
    {"commandBuffer", &api.s.commands},
    {"computeCommandEncoder", &api.s.compute},
    {"blitCommandEncoder", &api.s.blit},
    {"commit", &api.s.commit},
    {"waitUntilCompleted", &api.s.wait},
    {"status", &api.s.status},
    {"error", &api.s.error},
    {"endEncoding", &api.s.end},
    {"setComputePipelineState:", &api.s.set_pipeline},
    {"setBuffer:offset:atIndex:", &api.s.set_buffer},
    {"setBytes:length:atIndex:", &api.s.set_bytes},
    {"dispatchThreadgroups:threadsPerThreadgroup:", &api.s.dispatch},
    {"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", &api.s.copy},
    {"fillBuffer:range:value:", &api.s.fill},
};

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_LOADING);

static void *open_library(kni_library_id id)
{
    void *library = NULL;
    for (int i = 0; kni_libraries[id].files[i] && !library; i++)
        library = kni_library_load(&kni_libraries[id], kni_libraries[id].files[i]);
    return library;
}

#define ELSEWHERE                                                                                            \
    "Metal is a part of macOS and is nowhere else; on this machine try cuda, vulkan, opencl or cpu (kiln "   \
    "info lists the devices)"

static const char *load_locked(void)
{
    if (KNI_MEMORY_SANITIZER) return "Metal cannot be used under MemorySanitizer";
    void *runtime = open_library(KNI_LIBRARY_OBJC);
    void *framework = runtime ? open_library(KNI_LIBRARY_METAL) : NULL;
    if (!runtime) return "libobjc.A.dylib is not on this machine: " ELSEWHERE;
    if (!framework) return "Metal.framework is not on this machine: " ELSEWHERE;
    void *message = dlsym(runtime, "objc_msgSend");
    bool whole = message != NULL;
    for (int i = 0; i < KNI_COUNT(functions); i++) {
        void *address = dlsym(functions[i].framework ? framework : runtime, functions[i].name);
        whole = whole && (address || functions[i].optional);
        memcpy(functions[i].place, &address, sizeof address);
    }
    if (!whole)
        return "the Objective-C runtime or Metal.framework lacks a function: macOS 10.15 or later is needed";
    for (int i = 0; i < KNI_COUNT(messages); i++) memcpy(messages[i], &message, sizeof message);
    for (int i = 0; i < KNI_COUNT(selectors); i++) *selectors[i].place = api.selector(selectors[i].name);
    loaded = true;
    return NULL;
}

const kni_metal_api *kni_metal_load(const char **why)
{
    kni_guard_lock(&lock);
    *why = loaded ? NULL : load_locked();
    kni_guard_unlock(&lock);
    return *why ? NULL : &api;
}

/* Kernels use integers of 64 bits and atomics, which GPUs of both families have. */
static bool can_compute(const kni_metal_api *a, metal_id device)
{
    return a->get_truth_of(device, a->s.family, METAL_APPLE_6) ||
           a->get_truth_of(device, a->s.family, METAL_MAC_2);
}

static metal_id found(const kni_metal_api *a, metal_id device, int32_t n, int32_t *seen)
{
    if (!device || !can_compute(a, device)) return NULL;
    return (*seen)++ == n ? a->get(device, a->s.retain) : NULL;
}

metal_id kni_metal_device(const kni_metal_api *a, int32_t n, int32_t *total)
{
    void *pool = a->push_pool();
    metal_id list = a->all_devices ? a->all_devices() : NULL, result = NULL;
    uint64_t count = list ? a->get_number(list, a->s.count) : 0;
    int32_t seen = 0;
    for (uint64_t i = 0; i < count && i < INT32_MAX; i++) {
        metal_id one = found(a, a->get_at(list, a->s.object_at, i), n, &seen);
        if (one) result = one;
    }
    kni_metal_release(a, list);
    if (!count) {
        metal_id device = a->default_device();
        result = found(a, device, n, &seen);
        kni_metal_release(a, device);
    }
    a->pop_pool(pool);
    if (total) *total = seen;
    return result;
}

metal_id kni_metal_text(const kni_metal_api *a, const char *characters)
{
    metal_id kind = a->find_class("NSString"), text = kind ? a->get(kind, a->s.alloc) : NULL;
    return text ? a->get_text(text, a->s.text_from, characters) : NULL;
}
