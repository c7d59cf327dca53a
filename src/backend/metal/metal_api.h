/* The part of Metal that the driver uses, reached through the Objective-C runtime: no header of Apple's is needed to build. A message is
   objc_msgSend called as a function of the method's own type, and so it is listed here once for each type that occurs. */
#ifndef KNI_METAL_API_H
#define KNI_METAL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct metal_object *metal_id; /* any object of Objective-C, a class too */
typedef struct metal_selector *metal_sel;

/* MTLSize and NSRange. */
typedef struct metal_size {
    uint64_t width, height, depth;
} metal_size;
typedef struct metal_range {
    uint64_t at, length;
} metal_range;

enum {
    METAL_SHARED = 0,       /* MTLResourceStorageModeShared: host and device see it */
    METAL_PRIVATE = 2 << 4, /* MTLResourceStorageModePrivate: the device alone */
    METAL_FAILED = 5,       /* MTLCommandBufferStatusError */
    METAL_SAFE_MATH = 0,    /* MTLMathModeSafe */
    METAL_PRECISE_MATH = 1, /* MTLMathFloatingPointFunctionsPrecise */
    METAL_APPLE_6 = 1006,   /* MTLGPUFamily: Apple's own from A13 and M1 on */
    METAL_MAC_2 = 2002,     /* and any GPU of a Mac of these years */
    METAL_MOST_SET_BYTES = 4096
};

/* Methods, each by the name of its selector. */
typedef struct kni_metal_selectors {
    metal_sel alloc, init, retain, release, responds, text_from, characters, description, code;
    metal_sel count, object_at;
    metal_sel name, unified, family, most_buffer, working_set, shared_bytes;
    metal_sel new_queue, new_buffer, contents;
    metal_sel fast_math, math_mode, math_functions, new_library, new_function, new_pipeline, most_threads,
        width;
    metal_sel commands, compute, blit, commit, wait, status, error, end;
    metal_sel set_pipeline, set_buffer, set_bytes, dispatch, copy, fill;
} kni_metal_selectors;

typedef struct kni_metal_api {
    metal_id (*find_class)(const char *name);
    metal_sel (*selector)(const char *name);
    void *(*push_pool)(void);
    void (*pop_pool)(void *pool);
    metal_id (*all_devices)(
        void); /* MTLCopyAllDevices: an array to release, NULL where there is no such function */
    metal_id (*default_device)(void); /* MTLCreateSystemDefaultDevice */
    /* objc_msgSend by what it takes and gives. */
    metal_id (*get)(metal_id, metal_sel);
    metal_id (*get_at)(metal_id, metal_sel, uint64_t);
    metal_id (*get_text)(metal_id, metal_sel, const char *);
    metal_id (*get_of)(metal_id, metal_sel, metal_id);
    metal_id (*get_sized)(metal_id, metal_sel, uint64_t, uint64_t);
    metal_id (*get_library)(metal_id, metal_sel, metal_id, metal_id, metal_id *);
    metal_id (*get_pipeline)(metal_id, metal_sel, metal_id, metal_id *);
    const char *(*get_characters)(metal_id, metal_sel);
    void *(*get_address)(metal_id, metal_sel);
    uint64_t (*get_number)(metal_id, metal_sel);
    bool (*get_truth)(metal_id, metal_sel);
    bool (*get_truth_of)(metal_id, metal_sel, int64_t);
    bool (*get_truth_named)(metal_id, metal_sel, metal_sel);
    void (*tell)(metal_id, metal_sel);
    void (*tell_number)(metal_id, metal_sel, int64_t);
    void (*tell_of)(metal_id, metal_sel, metal_id);
    void (*tell_buffer)(metal_id, metal_sel, metal_id, uint64_t, uint64_t);
    void (*tell_bytes)(metal_id, metal_sel, const void *, uint64_t, uint64_t);
    void (*tell_sizes)(metal_id, metal_sel, metal_size, metal_size);
    void (*tell_copy)(metal_id, metal_sel, metal_id, uint64_t, metal_id, uint64_t, uint64_t);
    void (*tell_fill)(metal_id, metal_sel, metal_id, metal_range, uint8_t);
    kni_metal_selectors s;
} kni_metal_api;

/* The runtime and the framework, opened once; NULL where they are not, with why and what to do. */
const kni_metal_api *kni_metal_load(const char **why);
/* Device n of those that can run kernels, retained; NULL past the last. *total, where asked for, is how many there are. */
metal_id kni_metal_device(const kni_metal_api *a, int32_t n, int32_t *total);

/* A text of Foundation's with one reference; NULL without memory. */
metal_id kni_metal_text(const kni_metal_api *a, const char *characters);
static inline void kni_metal_release(const kni_metal_api *a, metal_id object)
{
    if (object) a->tell(object, a->s.release);
}

#endif
