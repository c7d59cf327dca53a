/* Memory that later work will read, asked for while the processor computes. It is asked for in small portions all along
   the way: a processor has few requests under way at a time, and waits when it is asked for more. */
#ifndef KNI_BACKEND_CPU_FETCH_AHEAD_H
#define KNI_BACKEND_CPU_FETCH_AHEAD_H

#include "core/platform.h"
#include <stdint.h>

enum {
    KNI_AHEAD_RANGES = 8,
    KNI_AHEAD_LINE = 64,
    KNI_AHEAD_PIECE = 1 << 10, /* work between two portions */
    KNI_AHEAD_UNIT = 1 << 16,  /* a line, in `rate` and `credit` */
    KNI_WORK_LIGHT = 1,        /* of an element: a sum or a product */
    KNI_WORK_STATISTICS = 2,   /* mean and variance of rows with what is done with them */
    KNI_WORK_DIVISION = 2,
    KNI_WORK_HEAVY = 8 /* a function of mathematics */
};

typedef struct kni_ahead {
    struct {
        const char *from;
        int64_t lines;
    } ranges[KNI_AHEAD_RANGES];
    int32_t n, at;        /* ranges, and the one that is next */
    int64_t rate, credit; /* for each unit of work, and what is due */
} kni_ahead;

/* What the kernels of rows ask for that this thread runs; NULL: nothing. */
extern KNI_THREAD_LOCAL kni_ahead *kni_rows_ahead;

static inline void kni_ahead_fetch(kni_ahead *a, int64_t work)
{
#if defined(__GNUC__)
    a->credit += work * a->rate;
    while (a->credit >= KNI_AHEAD_UNIT && a->at < a->n) {
        int64_t lines = a->credit / KNI_AHEAD_UNIT, left = a->ranges[a->at].lines;
        if (lines > left) lines = left;
        const char *from = a->ranges[a->at].from, *end = from + lines * KNI_AHEAD_LINE;
        for (; from < end; from += KNI_AHEAD_LINE) __builtin_prefetch(from, 0, 2);
        a->credit -= lines * KNI_AHEAD_UNIT;
        a->ranges[a->at].from = end;
        a->ranges[a->at].lines -= lines;
        a->at += lines == left;
    }
#else
    (void)a, (void)work;
#endif
}

/* Where the piece of a row that begins at `first` ends: pieces are short only where memory is asked for between them. */
static inline int64_t kni_rows_piece(int64_t first, int64_t n, int64_t work)
{
#ifdef KN_FREESTANDING
    (void)first, (void)work; /* small machines have no caches to fill */
    return n;
#else
    kni_ahead *a = kni_rows_ahead;
    if (!a) return n;
    int64_t piece = KNI_AHEAD_PIECE / work;
    if (piece > n - first) piece = n - first;
    kni_ahead_fetch(a, piece * work);
    return first + piece;
#endif
}

#endif
