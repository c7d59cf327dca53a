/* Emitted C, compiled by the system's compiler while the program goes on (KN_JIT=cc), and loaded when it is there. */
#ifndef KNI_JIT_CC_H
#define KNI_JIT_CC_H

#include <stdbool.h>
#include <stdint.h>

/* What kni_ir_emit makes in C: items or workgroups begin .. end - 1. */
typedef void (*kni_jit_fn)(void *const *buffers, int64_t *fault, const void *params, int64_t begin,
                           int64_t end);

typedef struct kni_jit kni_jit;

/* Whether KN_JIT asks for it: "cc" compiles in the background, "cc:wait" at once (for tests and measurements). */
bool kni_jit_wanted(void);
bool kni_jit_waits(void);

/* Starts to compile a text, or takes it from the cache on disk. KN_CC names the compiler ("cc"). NULL where it cannot be
   started; one line of the log says why, once for the process. */
kni_jit *kni_jit_start(const char *text, const char *entry);
/* The function once it is there, else NULL: it is being compiled or cannot be. Quick; may be called before each run. */
kni_jit_fn kni_jit_ready(kni_jit *jit);
/* True when it will never be ready. */
bool kni_jit_failed(const kni_jit *jit);
/* Ends a compiler that still runs; the function may not be called any more. */
void kni_jit_free(kni_jit *jit);

#endif
