/* The functions of AMD's HIP, found with dlopen: no header of theirs is needed to build. Their names are in
   backend/runtime/runtime_api.h; what HIP says with other arguments than CUDA is put right in hip_api.c. */
#ifndef KNI_HIP_API_H
#define KNI_HIP_API_H

#include "backend/runtime/runtime_api.h"

enum { KNI_HIP_ARCHITECTURE = 256 };

typedef struct kni_hip_api {
    kni_runtime_api common;
    kni_runtime_compiler_api compiler;
    bool compiles; /* the compiler was found */
    int version;   /* 50221153 for 5.2.21153 */
    /* The device's instruction set with its features, "gfx90a:sramecc+:xnack-"; "" where it is not told. */
    void (*architecture)(int device, char text[KNI_HIP_ARCHITECTURE]);
} kni_hip_api;

/* Opened once for the process; NULL after a failure (unless silent): what is missing and what to do. */
const kni_hip_api *kni_hip_library(bool silent);

/* Attributes of devices. */
enum {
    KNI_HIP_ATTRIBUTE_THREADS = 56,
    KNI_HIP_ATTRIBUTE_PROCESSORS = 63,
    KNI_HIP_ATTRIBUTE_SHARED = 74,
    KNI_HIP_ATTRIBUTE_WAVE = 87
};

#endif
