/* Memory that is taken piece by piece and given back at once. */
#ifndef KNI_ONNX_ARENA_H
#define KNI_ONNX_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kni_onnx_arena kni_onnx_arena;

/* NULL without memory. */
kni_onnx_arena *kni_onnx_arena_new(void);
void kni_onnx_arena_free(kni_onnx_arena *arena);
/* Room for count things of `size` bytes, aligned for all types and filled with zeros; NULL without memory or where the product is too
   large. Of no things it is not NULL. */
void *kni_onnx_arena_take(kni_onnx_arena *arena, size_t count, size_t size);
/* A copy with a 0 behind it; NULL without memory. */
char *kni_onnx_arena_copy(kni_onnx_arena *arena, const char *text, size_t bytes);
/* As printf does; NULL without memory. */
char *kni_onnx_arena_format(kni_onnx_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Gives back what was taken since a mark, for memory that each run needs anew. */
typedef struct kni_onnx_arena_mark {
    void *chunk;
    size_t used;
} kni_onnx_arena_mark;
kni_onnx_arena_mark kni_onnx_arena_now(const kni_onnx_arena *arena);
void kni_onnx_arena_back(kni_onnx_arena *arena, kni_onnx_arena_mark mark);

#endif
