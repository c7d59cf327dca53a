/* Finds and opens AMD's libraries at run time, once for the process: the folders of KN_HIP_LIBRARIES, then what the loader
   knows, then the usual folder of ROCm. The compiler is a library of its own in AMD's packages and inside the driver's in
   Debian's. A failure is not remembered, so that a later try can succeed. */
#include "backend/hip/hip_api.h"
#include "core/error.h"
#include "core/life.h"
#include "core/platform.h"
#include "support/library_list.h"
#include <string.h>

#if KNI_THREADS
#include <dlfcn.h>

enum {
    OLDEST = 50200000, /* 5.2 */
    PROPERTIES =
        8192, /* room for any version's properties of a device, whose text of the architecture is at */
    ARCHITECTURE_OLD = 396,
    ARCHITECTURE_6 = 1160
};

#define DRIVER_SYMBOL(field, cuda, hip, arguments) {hip, offsetof(kni_hip_api, common.field)},
#define COMPILER_SYMBOL(field, cuda, hip, arguments) {hip, offsetof(kni_hip_api, compiler.field)},
static const kni_runtime_symbol driver_symbols[] = {KNI_RUNTIME_LIST(DRIVER_SYMBOL)};
static const kni_runtime_symbol record_symbols[] = {KNI_RUNTIME_RECORD_LIST(DRIVER_SYMBOL)
                                                        KNI_RUNTIME_OPTIONAL_LIST(DRIVER_SYMBOL)};
static const kni_runtime_symbol compiler_symbols[] = {KNI_RUNTIME_COMPILER_LIST(COMPILER_SYMBOL)};

/* What a kernel of a graph is launched with, as HIP lays it out. */
typedef struct hip_node_launch {
    unsigned block[3];
    void **extra, *function;
    unsigned grid[3];
    void **parameters;
    unsigned shared;
} hip_node_launch;

/* Those whose arguments are HIP's own. */
typedef struct own_api {
    const char *(*error_string)(int error);
    const char *(*error_name)(int error);
    int (*device_set)(int device);
    int (*device_reset)(void);
    int (*node_set)(void *executable, void *node, const hip_node_launch *launch);
    int (*properties)(void *properties, int device), (*properties_6)(void *properties, int device);
} own_api;
static const kni_runtime_symbol own_symbols[] = {
    {"hipGetErrorString", offsetof(own_api, error_string)},
    {"hipGetErrorName", offsetof(own_api, error_name)},
    {"hipSetDevice", offsetof(own_api, device_set)},
    {"hipDeviceReset", offsetof(own_api, device_reset)},
};
static const kni_runtime_symbol own_optional[] = {
    {"hipGraphExecKernelNodeSetParams", offsetof(own_api, node_set)},
    {"hipGetDeviceProperties", offsetof(own_api, properties)},
    {"hipGetDevicePropertiesR0600", offsetof(own_api, properties_6)},
};

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_LOADING);
static kni_hip_api api;
static own_api own;
static bool opened;

/* ---- what CUDA says with other arguments */

static int error_string(int error, const char **text)
{
    *text = own.error_string(error);
    return 0;
}

static int error_name(int error, const char **text)
{
    *text = own.error_name(error);
    return 0;
}

/* A context is the number of the device, which each thread chooses, counted from 1. */
static int context_retain(void **context, int device)
{
    *context = (void *)((uintptr_t)device + 1);
    return own.device_set(device);
}

static int context_release(int device) { return (void)device, 0; }

static int context_reset(int device)
{
    int result = own.device_set(device);
    return result ? result : own.device_reset();
}

static int context_set(void *context) { return context ? own.device_set((int)((uintptr_t)context - 1)) : 0; }

static int node_set(void *executable, void *node, const kni_node_launch *launch)
{
    hip_node_launch l = {.extra = launch->extra,
                         .function = launch->function,
                         .parameters = launch->parameters,
                         .shared = launch->shared};
    memcpy(l.block, launch->block, sizeof l.block);
    memcpy(l.grid, launch->grid, sizeof l.grid);
    return own.node_set(executable, node, &l);
}

static void architecture(int device, char text[KNI_HIP_ARCHITECTURE])
{
    union {
        char bytes[PROPERTIES];
        uint64_t words[PROPERTIES / 8];
    } properties;
    memset(&properties, 0, sizeof properties);
    text[0] = 0;
    bool six = own.properties_6 != NULL;
    int (*ask)(void *properties, int device) = six ? own.properties_6 : own.properties;
    if (!ask || ask(&properties, device)) return;
    memcpy(text, properties.bytes + (six ? ARCHITECTURE_6 : ARCHITECTURE_OLD), KNI_HIP_ARCHITECTURE);
    text[KNI_HIP_ARCHITECTURE - 1] = 0;
}

/* ---- opening */

static kn_status find_driver(void *handle, const char *file, bool silent)
{
    const char *absent = kni_runtime_find(handle, driver_symbols, KNI_COUNT(driver_symbols), &api);
    if (!absent) absent = kni_runtime_find(handle, own_symbols, KNI_COUNT(own_symbols), &own);
    if (absent)
        return silent ? KN_ERROR_UNSUPPORTED
                      : kni_fail(KN_ERROR_UNSUPPORTED, "hip: %s has no function %s: it is too old; update it",
                                 file, absent);
    kni_runtime_find_some(handle, record_symbols, KNI_COUNT(record_symbols), &api);
    kni_runtime_find_some(handle, own_optional, KNI_COUNT(own_optional), &own);
    api.common.error_string = error_string;
    api.common.error_name = error_name;
    api.common.context_retain = context_retain;
    api.common.context_release = context_release;
    api.common.context_reset = context_reset;
    api.common.context_set = context_set;
    api.common.node_set = own.node_set ? node_set : NULL;
    api.architecture = architecture;
    return KN_OK;
}

static kn_status start_driver(const char *file, bool silent)
{
    int version = 0, result = api.common.driver_version(&version);
    if (result || version < OLDEST)
        return silent ? KN_ERROR_DEVICE
                      : kni_fail(KN_ERROR_DEVICE,
                                 "hip: %s is of HIP %d.%d; Kiln needs 5.2 or later: update ROCm", file,
                                 (int32_t)(version / 10000000), (int32_t)(version / 100000 % 100));
    api.version = version;
    result = api.common.init(0);
    if (!result) return KN_OK;
    if (silent) return KN_ERROR_DEVICE;
    if (result == KNI_RT_NO_DEVICE || result == KNI_RT_INVALID_DEVICE)
        return kni_fail(KN_ERROR_DEVICE,
                        "hip: the driver finds no AMD GPU: see rocminfo, whether the kernel's module "
                        "amdgpu is loaded and /dev/kfd may be opened (groups render and video), and "
                        "whether HIP_VISIBLE_DEVICES hides it");
    return kni_fail(KN_ERROR_DEVICE, "hip: the driver does not start: %s (error %d); rocminfo may tell more",
                    own.error_string(result), (int32_t)result);
}

/* The compiler of the driver's own version: a library beside it, or the driver's itself. */
static void find_compiler(void *driver, int file)
{
    const kni_library_names *names = &kni_libraries[KNI_LIBRARY_HIPRTC];
    void *handle = kni_library_load(names, names->files[file]);
    api.compiles =
        (handle && !kni_runtime_find(handle, compiler_symbols, KNI_COUNT(compiler_symbols), &api)) ||
        !kni_runtime_find(driver, compiler_symbols, KNI_COUNT(compiler_symbols), &api);
}

static kn_status open_library(bool silent)
{
    const kni_library_names *names = &kni_libraries[KNI_LIBRARY_HIP];
    void *handle = NULL;
    int file = 0;
    for (; names->files[file]; file++) {
        handle = kni_library_load(names, names->files[file]);
        if (handle) break;
    }
    if (!handle)
        return silent
                   ? KN_ERROR_DEVICE
                   : kni_fail(
                         KN_ERROR_DEVICE,
                         "hip: no driver: %s (or an older one) is not found; install ROCm or Debian's %s, or "
                         "name the folder of the file in %s",
                         names->files[0], names->package, names->folders);
    kn_status status = find_driver(handle, names->files[file], silent);
    if (!status) status = start_driver(names->files[file], silent);
    /* Once initialised it stays: it has threads of its own. */
    if (status) return status;
    find_compiler(handle, file);
    opened = true;
    return KN_OK;
}

const kni_hip_api *kni_hip_library(bool silent)
{
    kni_guard_lock(&lock);
    kn_status status = opened ? KN_OK : open_library(silent);
    kni_guard_unlock(&lock);
    return status ? NULL : &api;
}
#else
const kni_hip_api *kni_hip_library(bool silent)
{
    if (!silent) kni_fail(KN_ERROR_UNSUPPORTED, "hip: this build cannot open libraries at run time");
    return NULL;
}
#endif
