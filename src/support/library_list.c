/* The table of the libraries that are opened at run time, and where their files are looked for. */
#include "support/library_list.h"
#include <kn/system.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef __wasi__
#include <dlfcn.h>
#endif

#define OF_HIP "KN_HIP_LIBRARIES", "/opt/rocm/lib"
#define OF_CUDA "KN_CUDA_LIBRARIES", "/usr/local/cuda/lib64"

const kni_library_names kni_libraries[KNI_LIBRARY_COUNT] = {
    [KNI_LIBRARY_NCURSES] = {"ncurses",
                             "the dashboard",
                             "libncursesw6",
                             NULL,
                             NULL,
                             {"libncursesw.so.6", "libncursesw.so", "libncursesw.6.dylib"}},
    [KNI_LIBRARY_ZLIB] = {"zlib",
                          "compressed .npz, .png, .gz",
                          "zlib1g",
                          NULL,
                          NULL,
                          {"libz.so.1", "libz.so", "libz.1.dylib", "libz.dylib"}},
    [KNI_LIBRARY_PNG] = {"libpng",
                         ".png images",
                         "libpng16-16",
                         NULL,
                         NULL,
                         {"libpng16.so.16", "libpng16.so", "libpng16.dylib"}},
    [KNI_LIBRARY_JPEG] = {"TurboJPEG",
                          ".jpg images",
                          "libturbojpeg0",
                          NULL,
                          NULL,
                          {"libturbojpeg.so.0", "libturbojpeg.so", "libturbojpeg.dylib"}},
    [KNI_LIBRARY_SQLITE] = {"SQLite",
                            "data sets in SQLite files",
                            "libsqlite3-0",
                            NULL,
                            NULL,
                            {"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"}},
#define DEVICE(name, id, title, package, folders, folder, ...)                                               \
    [KNI_LIBRARY_##id] = {title, #name " devices", package, folders, folder, {__VA_ARGS__}},
#include "core/devices.def"
#undef DEVICE
    [KNI_LIBRARY_NVRTC] = {"NVRTC",
                           "kernels on cuda devices",
                           "nvidia-cuda-nvrtc",
                           OF_CUDA,
                           {"libnvrtc.so.14", "libnvrtc.so.13", "libnvrtc.so.12"}},
    [KNI_LIBRARY_CUBLASLT] = {"cuBLASLt",
                              "NVIDIA's matrix products",
                              "nvidia-cublas",
                              OF_CUDA,
                              {"libcublasLt.so.14", "libcublasLt.so.13", "libcublasLt.so.12"}},
    [KNI_LIBRARY_CUDNN] = {"cuDNN", "attention on cuda devices", "nvidia-cudnn", OF_CUDA, {"libcudnn.so.9"}},
    [KNI_LIBRARY_NVML] = {"NVML", "metrics of the GPU", "libnvidia-ml1", NULL, NULL, {"libnvidia-ml.so.1"}},
    [KNI_LIBRARY_METAL] = {"Metal",
                           "metal devices",
                           "macOS itself",
                           "KN_METAL_LIBRARIES",
                           "/System/Library/Frameworks/Metal.framework",
                           {"Metal"}},
    [KNI_LIBRARY_HIPRTC] = {"hiprtc",
                            "kernels on hip devices",
                            "in Debian a part of the driver",
                            OF_HIP,
                            {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5"}},
};

/* Runtimes of GPUs have threads and memory of their own and are not made to be unloaded. */
#define HOW_TO_OPEN (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

#ifdef __wasi__
void *kni_library_load(const kni_library_names *names, const char *file)
{
    (void)names, (void)file;
    return NULL;
}
#else
static void *load_in(const char *folder, size_t length, const char *file)
{
    char path[1024];
    int written = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, file);
    if (!length || written < 0 || (size_t)written >= sizeof path) return NULL;
    return dlopen(path, HOW_TO_OPEN);
}

void *kni_library_load(const kni_library_names *names, const char *file)
{
    const char *folders = names->folders ? getenv(names->folders) : NULL;
    void *handle = NULL;
    while (folders && *folders && !handle) {
        size_t length = strcspn(folders, ":");
        handle = load_in(folders, length, file);
        folders += length + (folders[length] == ':');
    }
    if (!handle) handle = dlopen(file, HOW_TO_OPEN);
    if (!handle && names->folder) handle = load_in(names->folder, strlen(names->folder), file);
    return handle;
}
#endif

bool kn_library_at(int32_t index, kn_library_info *info)
{
    if (index < 0 || index >= KNI_LIBRARY_COUNT || !info) return false;
    const kni_library_names *names = &kni_libraries[index];
    *info = (kn_library_info){names->name, names->purpose, names->package, NULL};
#ifndef __wasi__
    for (int i = 0; names->files[i] && !info->file; i++) {
        void *handle = kni_library_load(names, names->files[i]);
        if (handle) info->file = names->files[i];
        if (handle) dlclose(handle);
    }
#endif
    return true;
}
