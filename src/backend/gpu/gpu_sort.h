/* Sorted lines on the device, for the rows that are made of them: sort, topk, kthvalue (gpu_sort_rows.c) and unique
   (gpu_compact.c, with nonzero, which looks at a line without sorting it). */
#ifndef KNI_GPU_SORT_H
#define KNI_GPU_SORT_H

#include "backend/gpu/gpu_text.h"

/* How elements are ordered, by their bits. */
typedef enum kni_gpu_order { KNI_GPU_PLAIN, KNI_GPU_SIGNED, KNI_GPU_FLOAT, KNI_GPU_KEYS } kni_gpu_order;

/* Lines along an axis of x seen as [outer, axis, inner]. A key is 32 bits of an element's rank among all values of the dtype
   above the element's place in its line, so that all keys of a line differ and sorting them is stable. Elements of 64 bits
   are sorted by their low halves first; `earlier` then says where the places of the second sort were. */
typedef struct kni_gpu_lines {
    kni_gpu *gpu;
    const kn_record *record;
    kni_tensor *x;
    int64_t lines, axis, inner;
    uint64_t half, infinity; /* the highest bit of an element; where NaN begins */
    int order, raw;          /* kni_gpu_order; the dtype that moves bits of this size */
    int64_t tile;            /* keys that a workgroup sorts */
    bool descending;
    bool ranked;                 /* the keys that are sorted say what the elements are */
    kni_gpu_block *block, *made; /* of x; made: a copy of it */
    int64_t offset;
    kni_gpu_block *keys[3], *cuts;
    kni_gpu_block *spare[2];         /* for buffers that a launch does not use */
    kni_gpu_block *sorted, *earlier; /* among the keys; earlier NULL: places are those of x */
    int64_t row;                     /* keys of a line in `sorted` */
    int cell;
} kni_gpu_lines;

/* A result of which elements `first` to first + n of each sorted line are wanted. */
typedef struct kni_gpu_pick {
    int64_t first, n;
    kni_tensor *values, *positions; /* have memory */
} kni_gpu_pick;

/* Sets up lines for the first operand; false where the device or the size is none for it. */
bool kni_gpu_lines_begin(kni_gpu_lines *l, kni_gpu *g, const kn_record *r, int64_t axis, bool flat,
                         bool descending);
/* The first operand as one line that is not to be sorted, and so may be longer. */
bool kni_gpu_lines_flat(kni_gpu_lines *l, kni_gpu *g, const kn_record *r);
/* Sorts so that the first `want` keys of each line are right; `sorted` and `row` say where. With `direct`, lines that a
   workgroup holds go to the results at once: *done is then true. */
kn_status kni_gpu_lines_sort(kni_gpu_lines *l, int64_t want, const kni_gpu_pick *direct, bool *done);
/* The same lines of keys sorted again by place alone, n from each line: the order of x. */
kn_status kni_gpu_lines_by_place(kni_gpu_lines *l, int64_t n);
/* Fills the results from sorted keys. propagate: the first NaN of the line instead, where there is one. */
kn_status kni_gpu_lines_place(kni_gpu_lines *l, const kni_gpu_pick *pick, bool propagate);
void kni_gpu_lines_end(kni_gpu_lines *l);

/* The rows. KN_ERROR_UNSUPPORTED without a text: not this one. */
kn_status kni_gpu_run_sort(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_topk(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_kthvalue(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_unique(kni_gpu *g, const kn_record *r);
kn_status kni_gpu_run_nonzero(kni_gpu *g, const kn_record *r);

#endif
