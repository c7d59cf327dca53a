/* Compiling beside the thread that runs: texts that a plan will probably ask for (runtime_ahead.c). */
#ifndef KNI_RUNTIME_AHEAD_H
#define KNI_RUNTIME_AHEAD_H

#include "backend/runtime/runtime.h"
#include "support/buffer.h"

/* What a text was compiled to: read from the cache on disk, or made just now; neither where it did not compile. */
typedef struct kni_runtime_image {
    kni_buffer kept;
    void *data;
    size_t bytes;
} kni_runtime_image;
void kni_runtime_image_free(kni_runtime_image *image);

/* ---- in runtime_kernel.c */
/* All that an image depends on: the library, driver and compiler, the options, the entry, at its end the text. NULL without memory. */
char *kni_runtime_key(const kni_runtime *rt, const kni_runtime_options *o, const char *text,
                      const char *entry, size_t *bytes);
/* Compiles without a word about what fails, in any thread; NULL after a failure. */
void *kni_runtime_compile_silently(const kni_runtime_options *o, const char *text, size_t *bytes);

/* ---- of the driver's table */
void kni_runtime_compile_ahead(kni_driver *d, const char *text, const char *entry);
void kni_runtime_forget_ahead(kni_driver *d);

/* What was made for the key, which is the caller's then, after waiting for it where it is being made; false where nobody has begun. */
bool kni_runtime_ahead_take(kni_runtime *rt, const char *key, size_t key_bytes, kni_runtime_image *image);
/* Ends and joins the threads. In a forked child there are none: what they had is left alone. */
void kni_runtime_ahead_close(kni_runtime *rt);

#endif
