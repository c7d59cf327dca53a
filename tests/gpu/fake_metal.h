/* What the two files of the stand-in for Metal share, and what tests ask of it. */
#ifndef FAKE_METAL_H
#define FAKE_METAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The message or function number `after` from now on (1: the next) fails; how many of its name there were. */
void fake_metal_fail(const char *name, int after);
long fake_metal_calls(const char *name);
long fake_metal_live(void); /* objects */
void fake_metal_limit(long bytes);
void fake_metal_break(int code); /* the next command buffer fails with this code */

/* ---- fake_metal_kernel.c */
typedef struct fake_kernel fake_kernel;
/* A text as a library; NULL after a failure, with the compiler's words. FAKE_METAL_RUN=off compiles and runs nothing. */
fake_kernel *fake_metal_compile(const char *text, char *words, size_t bytes);
/* The kernel of that name; NULL where the text has none. */
fake_kernel *fake_metal_entry(fake_kernel *library, const char *name);
void fake_metal_run(const fake_kernel *kernel, const uint64_t *addresses, const uint32_t groups[3],
                    uint32_t members);

#endif
