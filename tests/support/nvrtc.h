/* Where NVIDIA's compiler is, for tests that need no GPU: the file KN_NVRTC names, what the loader finds, the folders of
   KN_CUDA_LIBRARIES, or pip's package nvidia-cuda-nvrtc of the python3 on the path. */
#ifndef NVRTC_H
#define NVRTC_H

#include "support/check.h"
#include <dlfcn.h>
#include <stdlib.h>

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
static const char nvrtc_absent[] = "no NVRTC: CUDA texts are not compiled (pip install nvidia-cuda-nvrtc, or "
                                   "KN_NVRTC=path of libnvrtc.so.12)";

/* Tries the names in each folder of a list with colons; the path of the one that opened stays in `path`. */
static inline void *nvrtc_in(const char *folders, char *path, size_t room)
{
    while (folders && *folders) {
        int length = (int)strcspn(folders, ":\n");
        for (int i = 0; i < 3 && length; i++) {
            snprintf(path, room, "%.*s/%s", length, folders, nvrtc_names[i]);
            void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
            if (library) return library;
        }
        folders += length + (folders[length] != 0);
    }
    return NULL;
}

/* NULL where there is none; a name in KN_NVRTC that cannot be opened is a failure. */
static inline void *nvrtc_open(char *path, size_t room)
{
    const char *named = getenv("KN_NVRTC");
    void *library = NULL;
    snprintf(path, room, "%s", named ? named : "");
    if (UNDER_MEMORY_SANITIZER) return NULL;
    if (named && *named) {
        library = dlopen(named, RTLD_NOW | RTLD_GLOBAL);
        if (!CHECK(library != NULL)) printf("KN_NVRTC: %s\n", dlerror());
        return library;
    }
    for (int i = 0; i < 3 && !library; i++) {
        snprintf(path, room, "%s", nvrtc_names[i]);
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    if (!library) library = nvrtc_in(getenv("KN_CUDA_LIBRARIES"), path, room);
    if (library) return library;
    char folders[2000] = "";
    FILE *packages = popen("python3 bench/gpu/libraries.py 2>/dev/null", "r");
    if (packages && !fgets(folders, sizeof folders, packages)) folders[0] = 0;
    if (packages) pclose(packages);
    return nvrtc_in(folders, path, room);
}

#endif
