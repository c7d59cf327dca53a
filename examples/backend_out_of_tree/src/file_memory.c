/* The memory of the device: a temporary file. Blocks are ranges of it; freed ones are used again by size. */
#define _POSIX_C_SOURCE 200809L
#include "file_leaf.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 48 };

struct block {
    off_t offset;
    size_t bytes; /* room, a power of two */
    int class;
    block *next; /* free block of the same size */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static off_t end;
static block *spare[CLASSES];

block *block_new(size_t bytes)
{
    int class = 6;
    while (class < CLASSES && (size_t)1 << class < bytes) class ++;
    if (class == CLASSES) return NULL;
    pthread_mutex_lock(&lock);
    if (!file) file = tmpfile();
    block *b = file ? spare[class] : NULL;
    if (b) {
        spare[class] = b->next;
    } else if (file && (b = malloc(sizeof *b))) {
        *b = (block){end, (size_t)1 << class, class, NULL};
        end += (off_t)b->bytes;
    }
    pthread_mutex_unlock(&lock);
    return b;
}

void block_free(void *memory)
{
    block *b = memory;
    pthread_mutex_lock(&lock);
    b->next = spare[b->class];
    spare[b->class] = b;
    pthread_mutex_unlock(&lock);
}

size_t block_bytes(const block *b) { return b->bytes; }

bool block_write(const block *b, size_t offset, const void *from, size_t bytes)
{
    return !bytes || pwrite(fileno(file), from, bytes, b->offset + (off_t)offset) == (ssize_t)bytes;
}

/* What was never written reads as zeros. */
bool block_read(const block *b, size_t offset, void *to, size_t bytes)
{
    ssize_t got = bytes ? pread(fileno(file), to, bytes, b->offset + (off_t)offset) : 0;
    if (got >= 0 && (size_t)got < bytes) memset((char *)to + got, 0, bytes - (size_t)got);
    return got >= 0;
}

static size_t bytes_of(const kn_tensor_info *x, int64_t n) { return (size_t)kn_dtype_bytes(x->dtype, n); }

kn_status leaf_allocate(uint32_t id)
{
    kn_tensor_info y = {.size = sizeof y};
    kn_status s = kn_backend_tensor(id, &y);
    if (s) return s;
    block *b = block_new(bytes_of(&y, y.count));
    if (!b) return kn_backend_fail(KN_ERROR_MEMORY, "file: the file cannot grow; free tensors sooner");
    s = kn_backend_adopt(id, b, b->bytes, block_free);
    if (s) block_free(b);
    return s;
}

kn_status leaf_store(uint32_t id, const void *elements)
{
    kn_tensor_info y = {.size = sizeof y};
    void *memory;
    kn_status s = kn_backend_tensor(id, &y);
    if (s == KN_OK) s = kn_backend_memory(id, &memory);
    if (s) return s;
    if (!memory || !block_write(memory, bytes_of(&y, y.offset), elements, bytes_of(&y, y.count)))
        return kn_backend_fail(KN_ERROR_DEVICE, "file: writing to the file failed");
    return KN_OK;
}

/* The first and the last element that the tensor names, from where its memory begins. */
static void reach(const kn_tensor_info *x, int64_t *low, int64_t *high)
{
    *low = *high = x->offset;
    for (int a = 0; a < x->shape.rank; a++) {
        int64_t step = (x->shape.dims[a] - 1) * x->strides[a];
        if (step < 0)
            *low += step;
        else
            *high += step;
    }
}

/* Elements by strides, in order. `from` is where the first element lies. */
static void gather(const kn_tensor_info *x, const char *from, char *to)
{
    int64_t at[KN_MAX_RANK] = {0}, place = 0;
    size_t bytes = bytes_of(x, 1);
    for (int64_t i = 0; i < x->count; i++) {
        memcpy(to + (size_t)i * bytes, from + place * (int64_t)bytes, bytes);
        for (int a = x->shape.rank - 1; a >= 0; a--) {
            place += x->strides[a];
            if (++at[a] < x->shape.dims[a]) break;
            place -= at[a] * x->strides[a];
            at[a] = 0;
        }
    }
}

void *leaf_load(uint32_t id, kn_tensor_info *info)
{
    void *memory = NULL;
    info->size = sizeof *info;
    if (kn_backend_tensor(id, info) || kn_backend_memory(id, &memory)) return NULL;
    char *out = malloc(bytes_of(info, info->count) + 1), *span = NULL;
    int64_t low = 0, high = 0;
    if (out && info->count && memory) {
        reach(info, &low, &high);
        span = malloc(bytes_of(info, high - low + 1));
        if (!span || !block_read(memory, bytes_of(info, low), span, bytes_of(info, high - low + 1))) {
            free(out);
            out = NULL;
        } else {
            gather(info, span + bytes_of(info, info->offset - low), out);
        }
        free(span);
    } else if (out && info->count && info->data) {
        gather(info, info->data, out); /* a number lies with its tensor, not on the device */
    } else if (info->count) {
        free(out);
        out = NULL;
    }
    if (!out) (void)kn_backend_fail(KN_ERROR_MEMORY, "file: a tensor could not be read from the file");
    return out;
}
