/* Finds and opens NVIDIA's libraries at run time, once for the process: the folders of KN_CUDA_LIBRARIES, then what the
   loader knows, then the usual folder of the toolkit. A failure is not remembered, so that a later try can succeed. */
#include "backend/cuda/cuda_api.h"
#include "core/error.h"
#include "core/life.h"
#include "core/platform.h"
#include "core/text.h"
#include "support/library_list.h"
#include <kn/tensor.h>
#include <string.h>

#if KNI_THREADS
#include <dlfcn.h>

enum { OLDEST_DRIVER = 12000 };

#define COMMON_DRIVER(field, name, hip, arguments) {name, offsetof(kni_cuda_driver_api, common.field)},
#define COMMON_COMPILER(field, name, hip, arguments) {name, offsetof(kni_cuda_compiler_api, common.field)},
#define DRIVER_SYMBOL(field, name, arguments) {name, offsetof(kni_cuda_driver_api, field)},
#define COMPILER_SYMBOL(field, name, arguments) {name, offsetof(kni_cuda_compiler_api, field)},
#define PRODUCT_SYMBOL(field, name, arguments) {name, offsetof(kni_cuda_product_api, field)},
#define GRAPH_SYMBOL(field, name, arguments) {name, offsetof(kni_cuda_graph_api, field)},
#define RECURRENT_SYMBOL(field, name, arguments) {name, offsetof(kni_cuda_recurrent_api, field)},
static const kni_runtime_symbol driver_symbols[] = {KNI_RUNTIME_LIST(COMMON_DRIVER)
                                                        KNI_CUDA_DRIVER_LIST(DRIVER_SYMBOL)};
static const kni_runtime_symbol record_symbols[] = {KNI_RUNTIME_RECORD_LIST(COMMON_DRIVER)
                                                        KNI_RUNTIME_OPTIONAL_LIST(COMMON_DRIVER)};
static const kni_runtime_symbol compiler_symbols[] = {KNI_RUNTIME_COMPILER_LIST(COMMON_COMPILER)
                                                          KNI_CUDA_COMPILER_LIST(COMPILER_SYMBOL)};
static const kni_runtime_symbol product_symbols[] = {KNI_CUDA_PRODUCT_LIST(PRODUCT_SYMBOL)};
static const kni_runtime_symbol graph_symbols[] = {KNI_CUDA_GRAPH_LIST(GRAPH_SYMBOL)};
static const kni_runtime_symbol recurrent_symbols[] = {KNI_CUDA_RECURRENT_LIST(RECURRENT_SYMBOL)};

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_LOADING);
static kni_cuda_driver_api driver_api;
static kni_cuda_compiler_api compiler_api;
static kni_cuda_product_api product_api;
static kni_cuda_graph_api graph_api;
static kni_cuda_recurrent_api recurrent_api;
static bool driver_open, compiler_open, product_open, graph_open, recurrent_open;
static int version;
static bool quiet; /* nothing is told: somebody only asks what there is */

/* kni_fail, unless quiet; under the lock. */
static kn_status tell(kn_status code, const char *format, ...)
{
    char line[KNI_ERROR_TEXT];
    kni_text text = {line, sizeof line, 0};
    va_list arguments;
    if (quiet) return code;
    va_start(arguments, format);
    kni_text_format_list(&text, format, arguments);
    va_end(arguments);
    return kni_fail(code, "%s", line);
}

bool kni_cuda_vendor(void)
{
    const char *value = kni_environment("KN_VENDOR");
    return !value || (strcmp(value, "off") && strcmp(value, "0"));
}

int kni_cuda_driver_version(void) { return version; }

static void *load(kni_library_id id, int file)
{
    return kni_library_load(&kni_libraries[id], kni_libraries[id].files[file]);
}

/* All symbols or a failure that names the one that is absent. */
static kn_status find_all(void *handle, const char *file, const kni_runtime_symbol *symbols, size_t count,
                          void *api)
{
    const char *absent = kni_runtime_find(handle, symbols, count, api);
    if (!absent) return KN_OK;
    return tell(KN_ERROR_UNSUPPORTED, "cuda: %s has no function %s: it is too old; update it", file, absent);
}

static kn_status explain_init(int result)
{
    if (result == KNI_RT_NO_DEVICE)
        return tell(KN_ERROR_DEVICE, "cuda: the driver finds no GPU: see nvidia-smi, and whether "
                                     "CUDA_VISIBLE_DEVICES hides it");
    if (result == KNI_CU_DRIVER_MISMATCH)
        return tell(KN_ERROR_DEVICE,
                    "cuda: libcuda.so.1 and the kernel's driver differ in version: restart the machine, or "
                    "the container with the host's driver");
    if (result == KNI_CU_STUB)
        return tell(KN_ERROR_DEVICE, "cuda: libcuda.so.1 is the toolkit's stub: install NVIDIA's driver, or "
                                     "take the folder of stubs out of LD_LIBRARY_PATH");
    const char *text = NULL;
    driver_api.common.error_string(result, &text);
    return tell(KN_ERROR_DEVICE, "cuda: the driver does not start: %s (error %d); nvidia-smi may tell more",
                text ? text : "unknown", (int32_t)result);
}

static kn_status open_driver(void)
{
    void *handle = load(KNI_LIBRARY_CUDA, 0);
    if (!handle)
        return tell(KN_ERROR_DEVICE,
                    "cuda: no driver: libcuda.so.1 is not found; install NVIDIA's driver (it "
                    "comes with it), or name its folder in KN_CUDA_LIBRARIES");
    /* A driver without the newest functions says so through its version, which is the clearer message. */
    int (*get_version)(int *) = NULL;
    void *address = dlsym(handle, "cuDriverGetVersion");
    memcpy(&get_version, &address, sizeof address);
    int found = 0;
    if (!get_version || get_version(&found) || found < OLDEST_DRIVER) {
        dlclose(handle);
        return tell(
            KN_ERROR_DEVICE,
            "cuda: the driver is too old: it is made for CUDA %d.%d, Kiln needs one for %d.%d or later; "
            "update NVIDIA's driver",
            (int32_t)(found / 1000), (int32_t)(found % 1000 / 10), (int32_t)(OLDEST_DRIVER / 1000),
            (int32_t)(OLDEST_DRIVER % 1000 / 10));
    }
    kn_status status = find_all(handle, "libcuda.so.1", driver_symbols,
                                sizeof driver_symbols / sizeof *driver_symbols, &driver_api);
    kni_runtime_find_some(handle, record_symbols, sizeof record_symbols / sizeof *record_symbols,
                          &driver_api);
    int result = status ? 0 : driver_api.common.init(0);
    if (result) status = explain_init(result);
    /* Once initialised it stays: it has threads of its own. */
    if (status) return status;
    version = found;
    driver_open = true;
    return KN_OK;
}

/* The major version at the end of "libnvrtc.so.12". */
static int major_of(const char *file)
{
    const char *dot = strrchr(file, '.');
    int major = 0;
    for (const char *p = dot ? dot + 1 : ""; *p >= '0' && *p <= '9'; p++) major = 10 * major + (*p - '0');
    return major;
}

/* Libraries of a newer major version than the driver's make code that it cannot load, so those are not tried. */
static kn_status open_library(kni_library_id id, const char *purpose, const kni_runtime_symbol *symbols,
                              size_t count, void *api)
{
    const kni_library_names *names = &kni_libraries[id];
    const char *newest = NULL, *oldest = NULL;
    void *handle = NULL;
    int file = 0;
    for (int i = 0; names->files[i] && !handle; i++) {
        oldest = names->files[i];
        if (major_of(names->files[i]) > version / 1000) continue;
        if (!newest) newest = names->files[i];
        file = i;
        handle = load(id, i);
    }
    if (!handle)
        return tell(KN_ERROR_UNSUPPORTED,
                    "cuda: %s needs %s (or an older one from %d on): install the CUDA toolkit or pip's %s "
                    "and name the folder of the file in KN_CUDA_LIBRARIES",
                    purpose, newest ? newest : oldest, major_of(oldest), names->package);
    kn_status status = find_all(handle, names->files[file], symbols, count, api);
    if (status) dlclose(handle);
    return status;
}

const kni_cuda_driver_api *kni_cuda_driver_library(bool silent)
{
    kni_guard_lock(&lock);
    quiet = silent;
    kn_status status = driver_open ? KN_OK : open_driver();
    kni_guard_unlock(&lock);
    return status ? NULL : &driver_api;
}

const kni_cuda_compiler_api *kni_cuda_compiler_library(void)
{
    kni_guard_lock(&lock);
    quiet = false;
    if (!compiler_open)
        compiler_open =
            open_library(KNI_LIBRARY_NVRTC, "compiling kernels", compiler_symbols,
                         sizeof compiler_symbols / sizeof *compiler_symbols, &compiler_api) == KN_OK;
    bool good = compiler_open;
    kni_guard_unlock(&lock);
    return good ? &compiler_api : NULL;
}

const kni_cuda_product_api *kni_cuda_product_library(void)
{
    static bool noted;
    kni_guard_lock(&lock);
    quiet = true;
    if (!product_open)
        product_open = open_library(KNI_LIBRARY_CUBLASLT, "NVIDIA's matrix products", product_symbols,
                                    sizeof product_symbols / sizeof *product_symbols, &product_api) == KN_OK;
    bool good = product_open, note = !good && !noted;
    noted = noted || note;
    kni_guard_unlock(&lock);
    if (note)
        kni_log(KN_LOG_WARNING,
                "cuda: libcublasLt.so is not found, so matrix products run in Kiln's own kernels; install it "
                "(pip: nvidia-cublas) and name its folder in KN_CUDA_LIBRARIES");
    return good ? &product_api : NULL;
}

/* Its version does not follow that of CUDA. */
static bool open_cudnn(const kni_runtime_symbol *symbols, size_t count, void *api)
{
    void *handle = load(KNI_LIBRARY_CUDNN, 0);
    if (!handle) return false;
    if (find_all(handle, kni_libraries[KNI_LIBRARY_CUDNN].files[0], symbols, count, api) == KN_OK)
        return true;
    dlclose(handle);
    return false;
}

static bool open_graphs(void)
{
    return open_cudnn(graph_symbols, sizeof graph_symbols / sizeof *graph_symbols, &graph_api);
}

const kni_cuda_graph_api *kni_cuda_graph_library(void)
{
    static bool noted;
    kni_guard_lock(&lock);
    quiet = true;
    if (!graph_open) graph_open = open_graphs();
    bool good = graph_open, note = !good && !noted;
    noted = noted || note;
    kni_guard_unlock(&lock);
    if (note)
        kni_log(KN_LOG_WARNING,
                "cuda: libcudnn.so.9 is not found, so attention runs in Kiln's own kernels; install it (pip: "
                "nvidia-cudnn) and name its folder in KN_CUDA_LIBRARIES");
    return good ? &graph_api : NULL;
}
/* Where it is absent, the library of graphs is too, which has said so. */
const kni_cuda_recurrent_api *kni_cuda_recurrent_library(void)
{
    kni_guard_lock(&lock);
    quiet = true;
    if (!recurrent_open)
        recurrent_open = open_cudnn(recurrent_symbols, sizeof recurrent_symbols / sizeof *recurrent_symbols,
                                    &recurrent_api);
    bool good = recurrent_open;
    kni_guard_unlock(&lock);
    return good ? &recurrent_api : NULL;
}
#else
static kn_status no_loader(void)
{
    return kni_fail(KN_ERROR_UNSUPPORTED, "cuda: this build cannot open libraries at run time");
}
bool kni_cuda_vendor(void) { return false; }
int kni_cuda_driver_version(void) { return 0; }
const kni_cuda_driver_api *kni_cuda_driver_library(bool silent)
{
    if (!silent) no_loader();
    return NULL;
}
const kni_cuda_compiler_api *kni_cuda_compiler_library(void)
{
    no_loader();
    return NULL;
}
const kni_cuda_product_api *kni_cuda_product_library(void) { return NULL; }
const kni_cuda_graph_api *kni_cuda_graph_library(void) { return NULL; }
const kni_cuda_recurrent_api *kni_cuda_recurrent_library(void) { return NULL; }
#endif
