/* Kernels of this backend that are written in the kernel language: found by name and dtypes, compiled once, launched. */
#ifndef KNI_GPU_TEXT_H
#define KNI_GPU_TEXT_H

#include "backend/gpu/gpu.h"

enum { KNI_GPU_TEXT_BUFFERS = 8, KNI_GPU_TEXT_NUMBERS = 20 };

/* A text with several kernels; `name` says which text it is, in messages and keys. */
typedef struct kni_gpu_text {
    const char *name, *text;
    size_t bytes;
} kni_gpu_text;

extern const kni_gpu_text kni_gpu_rows_text; /* gpu_rows_text.c */

/* One launch: buffers and numbers in the order of the kernel's parameters. `size` counts workgroups of a kernel that is made
   of them, else items. */
typedef struct kni_gpu_call {
    const char *kernel;
    int element; /* what T is computed in */
    int n_buffers, n_numbers;
    int64_t size;
    uint8_t storage[KNI_GPU_TEXT_BUFFERS];
    kni_gpu_block *blocks[KNI_GPU_TEXT_BUFFERS];
    int64_t offsets[KNI_GPU_TEXT_BUFFERS], numbers[KNI_GPU_TEXT_NUMBERS];
} kni_gpu_call;

/* Compiles the kernel of a launch to come where it is not yet: what it lacks is then told before others have written. */
kn_status kni_gpu_find_text(kni_gpu *g, const kni_gpu_text *text, const kni_gpu_call *call);
/* A kernel that reports gets the record's cell: *cell, taken where it is -1 so far. */
kn_status kni_gpu_launch_text(kni_gpu *g, const kni_gpu_text *text, const kn_record *r, int *cell,
                              const kni_gpu_call *call);

/* The elements of x in row-major order: its own memory from *offset on, or a copy; *made is to be given back, NULL: none. */
kn_status kni_gpu_dense(kni_gpu *g, kni_tensor *x, kni_gpu_block **block, int64_t *offset,
                        kni_gpu_block **made);

#endif
