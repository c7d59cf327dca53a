/* The list of kept large blocks, oldest first, and how large blocks are rounded and mapped. A freestanding build
   has a buffer instead of a system and keeps none. */
#ifndef KN_FREESTANDING
#if defined(__linux__)
#define _DEFAULT_SOURCE 1 /* madvise */
#include <sys/mman.h>
#endif
#include "core/large_blocks.h"
#include "core/life.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { HUGE_PAGE = 2 << 20, HUGE_MIN = 4 * HUGE_PAGE };

typedef struct kept {
    void *p;
    size_t size;
} kept;

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_INNER);
static kept blocks[KNI_LARGE_ENTRIES]; /* the oldest first */
static int n_blocks;
static _Atomic int64_t bytes_kept; /* written under the lock */

/* Steps of an eighth of the power of two below: few sizes, so that blocks fit again, and little waste. A rounded size rounds to
   itself, because a kept block is found by it. */
size_t kni_large_size(size_t bytes)
{
    size_t step = KNI_LARGE_MIN / 8;
    while (step < bytes / 16 + (bytes % 16 != 0)) step *= 2;
    if (bytes >= HUGE_MIN && step < HUGE_PAGE) step = HUGE_PAGE;
    return (bytes + step - 1) & ~(step - 1);
}

size_t kni_large_alignment(size_t size) { return size >= HUGE_MIN ? HUGE_PAGE : 64; }

void kni_large_advise(void *p, size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (size >= HUGE_MIN) (void)madvise(p, size, MADV_HUGEPAGE);
#else
    (void)p, (void)size;
#endif
}

/* Callers hold the lock. */
static void *remove_at(int i)
{
    void *p = blocks[i].p;
    atomic_fetch_sub_explicit(&bytes_kept, (int64_t)blocks[i].size, memory_order_relaxed);
    n_blocks--;
    memmove(&blocks[i], &blocks[i + 1], (size_t)(n_blocks - i) * sizeof *blocks);
    return p;
}

void *kni_large_take(size_t *size, size_t most)
{
    void *p = NULL;
    if (kni_large_bytes() < (int64_t)*size) return NULL;
    kni_guard_lock(&lock);
    int best = -1;
    for (int i = n_blocks - 1; i >= 0; i--) {
        const size_t have = blocks[i].size;
        if (have < *size || have > most || (best >= 0 && have >= blocks[best].size)) continue;
        best = i;
        if (have == *size) break;
    }
    if (best >= 0) {
        *size = blocks[best].size;
        p = remove_at(best);
    }
    kni_guard_unlock(&lock);
    return p;
}

bool kni_large_keep(void *p, size_t size, int64_t most)
{
    if ((int64_t)size > most) return false;
    kni_large_trim(most - (int64_t)size);
    kni_guard_lock(&lock);
    void *oldest = n_blocks == KNI_LARGE_ENTRIES ? remove_at(0) : NULL;
    blocks[n_blocks++] = (kept){p, size};
    atomic_fetch_add_explicit(&bytes_kept, (int64_t)size, memory_order_relaxed);
    kni_guard_unlock(&lock);
    free(oldest);
    return true;
}

void kni_large_trim(int64_t most)
{
    while (kni_large_bytes() > most) {
        kni_guard_lock(&lock);
        void *p = n_blocks ? remove_at(0) : NULL;
        kni_guard_unlock(&lock);
        free(p); /* outside the lock: unmapping takes long */
        if (!p) return;
    }
}

int64_t kni_large_bytes(void) { return atomic_load_explicit(&bytes_kept, memory_order_relaxed); }
#endif
