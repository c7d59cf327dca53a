/* What follows a product in its group: the kernel of the product computes it where the sums are finished, or it runs over ranges of
   results while these are in the caches. */
#ifndef KNI_BACKEND_CPU_PRODUCT_TAIL_H
#define KNI_BACKEND_CPU_PRODUCT_TAIL_H

#include "backend/cpu/finish_kind.h"
#include "backend/cpu/group_strips.h"

typedef struct kni_product_tail {
    kni_finish finish;                /* what comes first */
    float *made;                      /* the product's results, [.., channels, plane], which finish changes in place */
    int64_t count, channels, plane;   /* of made */
    const kni_strip_program *program; /* what comes then; NULL: nothing */
    const kni_strip_memory *memory;
} kni_product_tail;

/* Whether it can run over any range: no row of an operand repeats within a strip. */
bool kni_product_tail_has_ranges(const kni_product_tail *tail);
/* Elements begin .. end - 1 of the result are finished sums. From any thread. NULL: nothing follows. */
void kni_product_tail_run(const kni_product_tail *tail, int64_t begin, int64_t end);
/* All of them, on the team. */
void kni_product_tail_whole(const kni_product_tail *tail);

/* The finish of a kernel that can do all of them: where it is something, it is the whole tail. */
static inline kni_finish kni_product_finish(const kni_product_tail *tail)
{
    return tail && !tail->program ? tail->finish : (kni_finish){KNI_FINISH_NONE};
}
/* Of a kernel that knows no channels. */
static inline kni_finish kni_product_bounds(const kni_product_tail *tail)
{
    const kni_finish f = kni_product_finish(tail);
    return f.mean ? (kni_finish){KNI_FINISH_NONE} : f;
}

#endif
