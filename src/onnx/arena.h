/* Memory that is taken piece by piece and given back at once. */
#ifndef KNI_ONNX_ARENA_H
#define KNI_ONNX_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kni_arena kni_arena;

/* NULL without memory. */
kni_arena *kni_arena_new(void);
void kni_arena_free(kni_arena *arena);
/* Room for count things of `size` bytes, aligned for all types and filled with zeros; NULL without memory or where the product is too
   large. Of no things it is not NULL. */
void *kni_arena_take(kni_arena *arena, size_t count, size_t size);
/* A copy with a 0 behind it; NULL without memory. */
char *kni_arena_copy(kni_arena *arena, const char *text, size_t bytes);
/* As printf does; NULL without memory. */
char *kni_arena_format(kni_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Gives back what was taken since a mark, for memory that each run needs anew. */
typedef struct kni_arena_mark {
    void *chunk;
    size_t used;
} kni_arena_mark;
kni_arena_mark kni_arena_now(const kni_arena *arena);
void kni_arena_back(kni_arena *arena, kni_arena_mark mark);

#endif
