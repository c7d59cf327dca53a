/* Opening the Vulkan loader, one instance for the process, and its devices. */
#include "backend/vulkan/vulkan_api.h"
#include "core/life.h"
#include "support/library.h"
#include <dlfcn.h>
#include <string.h>

static kni_vulkan_api api;
static vk_instance instance;

static const struct {
    const char *name;
    void *place;
} functions[] = {
    {"vkCreateInstance", &api.create_instance},
    {"vkEnumeratePhysicalDevices", &api.enumerate_adapters},
    {"vkGetPhysicalDeviceProperties", &api.properties},
    {"vkGetPhysicalDeviceProperties2", &api.properties_2},
    {"vkGetPhysicalDeviceFeatures2", &api.features_2},
    {"vkGetPhysicalDeviceMemoryProperties", &api.memory_types},
    {"vkGetPhysicalDeviceQueueFamilyProperties", &api.queue_families},
    {"vkEnumerateDeviceExtensionProperties", &api.extensions},
    {"vkCreateDevice", &api.create_device},
    {"vkDestroyDevice", &api.destroy_device},
    {"vkGetDeviceQueue", &api.get_queue},
    {"vkDeviceWaitIdle", &api.wait_device},
    {"vkCreateBuffer", &api.create_buffer},
    {"vkDestroyBuffer", &api.destroy_buffer},
    {"vkGetBufferMemoryRequirements", &api.requirements},
    {"vkAllocateMemory", &api.allocate},
    {"vkFreeMemory", &api.free},
    {"vkBindBufferMemory", &api.bind},
    {"vkMapMemory", &api.map},
    {"vkCreateFence", &api.create_fence},
    {"vkDestroyFence", &api.destroy_fence},
    {"vkWaitForFences", &api.wait_fences},
    {"vkResetFences", &api.reset_fences},
    {"vkCreateCommandPool", &api.create_command_pool},
    {"vkDestroyCommandPool", &api.destroy_command_pool},
    {"vkAllocateCommandBuffers", &api.allocate_commands},
    {"vkFreeCommandBuffers", &api.free_commands},
    {"vkBeginCommandBuffer", &api.begin},
    {"vkEndCommandBuffer", &api.end},
    {"vkQueueSubmit", &api.submit},
    {"vkCreateShaderModule", &api.create_module},
    {"vkDestroyShaderModule", &api.destroy_module},
    {"vkCreatePipelineCache", &api.create_cache},
    {"vkDestroyPipelineCache", &api.destroy_cache},
    {"vkGetPipelineCacheData", &api.cache_data},
    {"vkCreateComputePipelines", &api.create_pipelines},
    {"vkDestroyPipeline", &api.destroy_pipeline},
    {"vkCreatePipelineLayout", &api.create_layout},
    {"vkDestroyPipelineLayout", &api.destroy_layout},
    {"vkCreateDescriptorSetLayout", &api.create_set_layout},
    {"vkDestroyDescriptorSetLayout", &api.destroy_set_layout},
    {"vkCreateDescriptorPool", &api.create_set_pool},
    {"vkDestroyDescriptorPool", &api.destroy_set_pool},
    {"vkResetDescriptorPool", &api.reset_set_pool},
    {"vkAllocateDescriptorSets", &api.allocate_sets},
    {"vkUpdateDescriptorSets", &api.update_sets},
    {"vkCmdBindPipeline", &api.bind_pipeline},
    {"vkCmdBindDescriptorSets", &api.bind_sets},
    {"vkCmdPushConstants", &api.push},
    {"vkCmdDispatch", &api.dispatch},
    {"vkCmdCopyBuffer", &api.copy},
    {"vkCmdFillBuffer", &api.fill},
    {"vkCmdPipelineBarrier", &api.barrier},
};

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_LOADING);

#define INSTALL "(Debian: apt install libvulkan1 mesa-vulkan-drivers)"

static const char *load_locked(void)
{
    const kni_library_names *names = &kni_libraries[KNI_LIBRARY_VULKAN];
    void *library = NULL;
    if (KNI_MEMORY_SANITIZER) return "Vulkan drivers cannot be used under MemorySanitizer";
    for (int i = 0; names->files[i] && !library; i++) library = kni_library_load(names, names->files[i]);
    if (!library)
        return "libvulkan.so.1 is not on this machine: install the Vulkan loader and a driver " INSTALL;
    /* The loader itself has functions of Vulkan 1.1 that need no instance to be found. */
    for (int i = 0; i < KNI_COUNT(functions); i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address) {
            dlclose(library);
            return "libvulkan.so.1 is older than Vulkan 1.1: install a newer loader";
        }
        memcpy(functions[i].place, &address, sizeof address);
    }
    const vk_application application = {
        .is = VK_IS_APPLICATION, .name = "kiln", .engine = "kiln", .api_version = VK_NEEDED_VERSION};
    const vk_instance_info info = {.is = VK_IS_INSTANCE, .application = &application};
    int32_t status = api.create_instance(&info, NULL, &instance);
    if (!status) return NULL;
    instance = NULL;
    return status == VK_NO_DRIVER
               ? "the Vulkan loader is here but finds no driver; install one " INSTALL
               : "the Vulkan loader makes no instance of Vulkan 1.1; install a newer driver " INSTALL;
}

const kni_vulkan_api *kni_vulkan_load(const char **why)
{
    kni_guard_lock(&lock);
    *why = instance ? NULL : load_locked();
    kni_guard_unlock(&lock);
    return *why ? NULL : &api;
}

enum { MAX_ADAPTERS = 32, MAX_FAMILIES = 32, NO_FAMILY = 0xffffffff };

/* The queue family for kernels: one that does nothing but compute and copy where there is one. */
static uint32_t family_of(const kni_vulkan_api *a, vk_adapter adapter)
{
    vk_queue_family families[MAX_FAMILIES];
    uint32_t n = MAX_FAMILIES, best = NO_FAMILY;
    a->queue_families(adapter, &n, families);
    for (uint32_t i = 0; i < n; i++) {
        bool computes = families[i].count && (families[i].flags & VK_QUEUE_COMPUTES);
        if (computes && (best == NO_FAMILY || !(families[i].flags & 1))) best = i;
    }
    return best;
}

bool kni_vulkan_adapter(const kni_vulkan_api *a, int32_t n, vk_adapter *adapter, uint32_t *family,
                        int32_t *total)
{
    vk_adapter adapters[MAX_ADAPTERS];
    uint32_t count = MAX_ADAPTERS;
    int32_t seen = 0;
    bool found = false;
    if (a->enumerate_adapters(instance, &count, adapters) < 0) count = 0;
    for (uint32_t i = 0; i < count; i++) {
        vk_properties p;
        uint32_t f = family_of(a, adapters[i]);
        memset(&p, 0, sizeof p);
        a->properties(adapters[i], &p);
        if (f == NO_FAMILY || p.api_version < VK_NEEDED_VERSION) continue;
        if (seen == n) {
            *adapter = adapters[i];
            *family = f;
            found = true;
        }
        seen++;
    }
    if (total) *total = seen;
    return found;
}

const char *kni_vulkan_status(int32_t status)
{
    static const struct {
        int32_t status;
        const char *name;
    } names[] = {{VK_TIMED_OUT, "VK_TIMEOUT"},
                 {VK_NO_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},
                 {VK_NO_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
                 {VK_NOT_STARTED, "VK_ERROR_INITIALIZATION_FAILED"},
                 {VK_LOST, "VK_ERROR_DEVICE_LOST"},
                 {VK_NO_EXTENSION, "VK_ERROR_EXTENSION_NOT_PRESENT"},
                 {VK_NO_FEATURE, "VK_ERROR_FEATURE_NOT_PRESENT"},
                 {VK_NO_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},
                 {VK_TOO_MANY, "VK_ERROR_TOO_MANY_OBJECTS"},
                 {-12, "VK_ERROR_FRAGMENTED_POOL"},
                 {-13, "VK_ERROR_UNKNOWN"}};
    for (int i = 0; i < KNI_COUNT(names); i++)
        if (names[i].status == status) return names[i].name;
    return "an unknown status";
}
