/* Large blocks that were freed are kept mapped for the next results of their size: fresh pages from the system
   cost more than most ops that fill them. Below a few thousand bytes the lists of each thread do it (allocator.h). */
#ifndef KNI_LARGE_BLOCKS_H
#define KNI_LARGE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KNI_LARGE_MIN = 16 << 10,
    KNI_LARGE_ENTRIES = 256, /* blocks that are kept at most */
    /* Bytes that may be kept whatever was in use at most: a model's results have many sizes, few of them at a time. */
    KNI_LARGE_ALWAYS = 64 << 20
};

/* The bytes that a large block of at least `bytes` really has; blocks are exchanged by this size. */
size_t kni_large_size(size_t bytes);
/* How a block of that size is best aligned in memory. */
size_t kni_large_alignment(size_t size);
/* Asks the system for huge pages under a fresh block. */
void kni_large_advise(void *p, size_t size);

/* The smallest kept block of *size bytes or more, of `most` at most, and its size; NULL when there is none. */
void *kni_large_take(size_t *size, size_t most);
/* Keeps a block, and gives the oldest ones up until at most `most` bytes are kept; false when it does not fit. */
bool kni_large_keep(void *p, size_t size, int64_t most);
/* Frees the oldest blocks until at most `most` bytes are kept. */
void kni_large_trim(int64_t most);
/* Bytes kept now. */
int64_t kni_large_bytes(void);

#endif
