/* The scans of the CPU, by element type: totals of f32 are kept in f64, as PyTorch does. */
#ifndef KNI_SCAN_TABLES_H
#define KNI_SCAN_TABLES_H

#include <stdbool.h>
#include <stdint.h>

enum { KNI_SCAN_COLUMNS = 64 };

typedef struct kni_scan_lines {
    const void *x, *more; /* more: the second operand of a linear recurrence */
    void *y;
    int64_t *positions; /* of extremes */
    const void *carry;  /* the total before the first element, NULL for none; one line only */
    int64_t n, step, width;
    bool exclusive;
} kni_scan_lines;

typedef void (*kni_scan_fn)(const kni_scan_lines *l);
typedef struct kni_scan_kernels {
    kni_scan_fn sum, product, largest, smallest, linear;
    /* The total of one line, 8 bytes, false where those of so many chunks may overflow; and totals of chunks into what
       comes before each. */
    bool (*chunk_total)(const kni_scan_lines *l, bool product, int64_t chunks, void *result);
    void (*carries)(void *totals, int64_t n, bool product);
} kni_scan_kernels;

/* By the dtype of the elements: f32, f64, i64 or u64. */
const kni_scan_kernels *kni_scan_kernels_of(int dtype);

#endif
