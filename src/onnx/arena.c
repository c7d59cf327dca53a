/* Arenas: chunks in a list, the newest first. Memory that was given back is kept for the next takes, one chunk at most. */
#include "onnx/arena.h"
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, SMALLEST_CHUNK = 1 << 12, LARGEST_STEP = 1 << 20 };

typedef struct chunk {
    struct chunk *before;
    size_t size, used;
    size_t touched; /* bytes from here on are zeros still */
    alignas(ALIGNMENT) unsigned char data[];
} chunk;

struct kni_onnx_arena {
    chunk *last;
    chunk *spare;
    size_t step; /* size of the next chunk, where no more is asked for */
};

kni_onnx_arena *kni_onnx_arena_new(void)
{
    kni_onnx_arena *arena = calloc(1, sizeof *arena);
    if (arena) arena->step = SMALLEST_CHUNK;
    return arena;
}

void kni_onnx_arena_free(kni_onnx_arena *arena)
{
    if (!arena) return;
    kni_onnx_arena_back(arena, (kni_onnx_arena_mark){NULL, 0});
    free(arena->spare);
    free(arena);
}

static chunk *new_chunk(kni_onnx_arena *arena, size_t bytes)
{
    chunk *c = arena->spare;
    if (c && c->size >= bytes) {
        arena->spare = NULL;
        return c;
    }
    size_t size = bytes > arena->step ? bytes : arena->step;
    if (size > SIZE_MAX - sizeof *c) return NULL;
    c = calloc(1, sizeof *c + size);
    if (!c) return NULL;
    c->size = size;
    if (arena->step < LARGEST_STEP) arena->step *= 2;
    return c;
}

void *kni_onnx_arena_take(kni_onnx_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + (ALIGNMENT - 1)) / ALIGNMENT * ALIGNMENT;
    if (bytes == 0) bytes = ALIGNMENT;
    chunk *c = arena->last;
    if (!c || c->size - c->used < bytes) {
        c = new_chunk(arena, bytes);
        if (!c) return NULL;
        c->before = arena->last;
        arena->last = c;
    }
    unsigned char *at = c->data + c->used;
    if (c->touched > c->used) {
        size_t dirty = c->touched - c->used;
        memset(at, 0, dirty < bytes ? dirty : bytes);
    }
    c->used += bytes;
    if (c->touched < c->used) c->touched = c->used;
    return at;
}

char *kni_onnx_arena_copy(kni_onnx_arena *arena, const char *text, size_t bytes)
{
    char *copy = bytes < SIZE_MAX ? kni_onnx_arena_take(arena, bytes + 1, 1) : NULL;
    if (copy && bytes) memcpy(copy, text, bytes);
    return copy;
}

char *kni_onnx_arena_format(kni_onnx_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : kni_onnx_arena_take(arena, (size_t)length + 1, 1);
    if (!text) return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

kni_onnx_arena_mark kni_onnx_arena_now(const kni_onnx_arena *arena)
{
    return (kni_onnx_arena_mark){arena->last, arena->last ? arena->last->used : 0};
}

/* Of the chunks that are given back the largest stays, so that runs that need the same again allocate nothing. */
void kni_onnx_arena_back(kni_onnx_arena *arena, kni_onnx_arena_mark mark)
{
    while (arena->last && arena->last != mark.chunk) {
        chunk *c = arena->last;
        arena->last = c->before;
        c->used = 0;
        if (arena->spare && arena->spare->size >= c->size) {
            free(c);
        } else {
            free(arena->spare);
            arena->spare = c;
        }
    }
    if (arena->last) arena->last->used = mark.used;
}
