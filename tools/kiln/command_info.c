/* kiln info: what this build is and what it finds on this machine. */
#include "kiln.h"
#ifndef __wasi__
#include <dlfcn.h>
#endif
#include <inttypes.h>
#include <kn.h>
#include <kn/op_info.h>
#include <kn/system.h>
#include <stdio.h>
#include <string.h>

static const char *compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown compiler";
#endif
}

static void print_tiers(void)
{
    kn_cpu_tier_info tier;
    printf("instruction sets:");
    for (int i = 0; kn_cpu_tier_at(i, &tier); i++) {
        if (!tier.built && !tier.in_use) continue;
        printf(" %s%s", tier.name,
               tier.in_use      ? " (in use)"
               : tier.available ? ""
                                : " (not on this machine)");
    }
    printf("\n");
}

static void print_devices(void)
{
    char name[64], text[256];
    printf("devices:");
    for (int i = 0; kn_device_enumerate(i, name, sizeof name); i++) printf(" %s", name);
    printf("\n");
    for (int i = 0; kn_device_describe(i, text, sizeof text); i++) printf("  %s\n", text);
    kn_device device = kn_device_current();
    printf("default device: %s\n", device ? kn_device_name(device) : kn_last_error());
}

/* ---- what Kiln opens at run time where it is there */

typedef struct optional_library {
    const char *name, *purpose, *package;
    const char *files[5];
} optional_library;

static const optional_library libraries[] = {
    {"ncurses",
     "the dashboard",
     "libncursesw6",
     {"libncursesw.so.6", "libncursesw.so", "libncursesw.6.dylib"}},
    {"zlib", "compressed .npz, .png, .gz", "zlib1g", {"libz.so.1", "libz.so", "libz.1.dylib", "libz.dylib"}},
    {"libpng", ".png images", "libpng16-16", {"libpng16.so.16", "libpng16.so", "libpng16.dylib"}},
    {"TurboJPEG",
     ".jpg images",
     "libturbojpeg0",
     {"libturbojpeg.so.0", "libturbojpeg.so", "libturbojpeg.dylib"}},
    {"SQLite",
     "data sets in SQLite files",
     "libsqlite3-0",
     {"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"}},
    {"OpenCL", "opencl devices", "ocl-icd-libopencl1", {"libOpenCL.so.1", "libOpenCL.so", "libOpenCL.dylib"}},
    {"CUDA driver", "cuda devices", "NVIDIA's driver", {"libcuda.so.1"}},
    {"NVRTC",
     "kernels on cuda devices",
     "nvidia-cuda-nvrtc",
     {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}},
    {"cuBLASLt",
     "NVIDIA's matrix products",
     "nvidia-cublas",
     {"libcublasLt.so", "libcublasLt.so.13", "libcublasLt.so.12"}},
    {"cuDNN", "attention on cuda devices", "nvidia-cudnn", {"libcudnn.so.9"}},
};

/* The file by which the loader finds it, NULL where it does not. */
static const char *found_as(const optional_library *library)
{
#ifdef __wasi__
    (void)library;
#else
    for (int i = 0; library->files[i]; i++) {
        void *handle = dlopen(library->files[i], RTLD_LAZY | RTLD_LOCAL);
        if (!handle) continue;
        dlclose(handle);
        return library->files[i];
    }
#endif
    return NULL;
}

static void print_libraries(void)
{
    printf("libraries: none needed; those that are opened where they are found:\n");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const optional_library *l = &libraries[i];
        const char *file = found_as(l);
        printf("  %-12s %-38s ", l->name, l->purpose);
        if (file)
            printf("found (%s)\n", file);
        else
            printf("not found (%s)\n", l->package);
    }
}

int kiln_command_info(int count, char **arguments)
{
    if (count > 0) return kiln_usage_error("info takes no argument '%s'", arguments[0]);
    printf("kiln %s, built with %s\n", kn_version(), compiler());
    print_devices();
    print_tiers();
    printf("threads: %d\n", kn_get_threads());
    int ops = 0;
    kn_op_info op;
    for (int i = 0; i < kn_op_count(); i++) ops += kn_op_at(i, &op);
    printf("ops: %d\n", ops);
    print_libraries();
    return 0;
}
