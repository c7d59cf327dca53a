/* What line words give for one line, in wide types. */
#ifndef KNI_BODY_REDUCE_H
#define KNI_BODY_REDUCE_H

#include "ops/body.h"

/* A value in f64, i64 or u64; an index or a truth in i64. */
typedef union kni_cell {
    double f;
    int64_t i;
    uint64_t u;
} kni_cell;

/* Line word `word` of n values of wide type `wide`; truths for any and all. */
kni_cell kni_body_reduce(int word, int wide, const kni_cell *x, int64_t n);

#endif
