/* What follows a product in its group: the kernel of the product computes it where the sums are finished, or it runs over ranges of
   results while these are in the caches. Kernels call it by address, so that programs without groups link none of it. */
#ifndef KNI_BACKEND_CPU_PRODUCT_TAIL_H
#define KNI_BACKEND_CPU_PRODUCT_TAIL_H

#include "backend/cpu/finish_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kni_strip_program;
struct kni_strip_memory;

typedef struct kni_product_tail kni_product_tail;
struct kni_product_tail {
    kni_finish finish; /* what comes first */
    float *made;       /* the product's results, [.., channels, plane], which finish changes in place */
    int64_t count, channels, plane;          /* of made */
    const struct kni_strip_program *program; /* what comes then; NULL: nothing */
    const struct kni_strip_memory *memory;
    bool has_ranges; /* it can run over any range: no row of an operand repeats within a strip */
    /* Elements begin .. end - 1 of the result are finished sums. From any thread. */
    void (*run)(const kni_product_tail *tail, int64_t begin, int64_t end);
    /* All of them are, and the team runs it. */
    void (*whole)(const kni_product_tail *tail);
};

/* Sets what runs it; program and memory are there. */
void kni_product_tail_start(kni_product_tail *tail);

/* The finish of a kernel that can do all of them: where it is something, it is the whole tail. NULL: nothing follows. */
static inline kni_finish kni_product_finish(const kni_product_tail *tail)
{
#ifdef KN_FREESTANDING
    tail = NULL; /* there are no groups */
#endif
    return tail && !tail->program ? tail->finish : (kni_finish){.kind = KNI_FINISH_NONE};
}
/* Of a kernel that knows no channels. */
static inline kni_finish kni_product_bounds(const kni_product_tail *tail)
{
    const kni_finish f = kni_product_finish(tail);
    return f.mean ? (kni_finish){.kind = KNI_FINISH_NONE} : f;
}

#endif
