/* Memory carved from one caller-supplied buffer, for programs without malloc. */
#ifndef KNI_STATIC_ARENA_H
#define KNI_STATIC_ARENA_H

#include <stdbool.h>
#include <stddef.h>

bool kni_arena_active(void);
bool kni_arena_start(void *buffer, size_t bytes);
void *kni_arena_allocate(size_t bytes); /* aligned to KNI_ARENA_ALIGN, NULL when full */
void kni_arena_free(void *p);

#ifdef KN_FREESTANDING
enum { KNI_ARENA_ALIGN = 16 };
#else
enum { KNI_ARENA_ALIGN = 64 };
#endif

#endif
