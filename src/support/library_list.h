/* The libraries that Kiln opens at run time where it finds them: their names, in one place. */
#ifndef KNI_SUPPORT_LIBRARY_LIST_H
#define KNI_SUPPORT_LIBRARY_LIST_H

#include <kn/base.h>

typedef enum kni_library_id {
    KNI_LIBRARY_NCURSES,
    KNI_LIBRARY_ZLIB,
    KNI_LIBRARY_PNG,
    KNI_LIBRARY_JPEG,
    KNI_LIBRARY_SQLITE,
    KNI_LIBRARY_OPENCL,
    KNI_LIBRARY_VULKAN,
    KNI_LIBRARY_OBJC,
    KNI_LIBRARY_METAL,
    KNI_LIBRARY_CUDA,
    KNI_LIBRARY_NVRTC,
    KNI_LIBRARY_CUBLASLT,
    KNI_LIBRARY_CUDNN,
    KNI_LIBRARY_NVML,
    KNI_LIBRARY_COUNT
} kni_library_id;

typedef struct kni_library_names {
    const char *name;     /* "libpng" */
    const char *purpose;  /* ".png images" */
    const char *package;  /* "libpng16-16" */
    const char *folders;  /* the variable with a list of folders that are looked at first, NULL for none */
    const char *folder;   /* one that is looked at last, NULL for none */
    const char *files[5]; /* to try in turn, the last one NULL: "libpng16.so.16" */
} kni_library_names;
extern const kni_library_names kni_libraries[KNI_LIBRARY_COUNT];

/* Opens one of the library's files; NULL where it is in none of the places. The handle is for dlsym and dlclose. */
void *kni_library_load(const kni_library_names *names, const char *file);

#endif
