/* What follows a product in its group: the kernel of the product computes it where the sums are finished, or it runs over ranges of
   results while these are in the caches. */
#ifndef KNI_BACKEND_CPU_PRODUCT_TAIL_H
#define KNI_BACKEND_CPU_PRODUCT_TAIL_H

#include "backend/cpu/finish_kind.h"
#include "backend/cpu/group_strips.h"

typedef struct kni_product_tail {
    kni_finish finish; /* all of the tail, where it is not KNI_FINISH_NONE and the kernel can do it */
    const kni_strip_program *program; /* all of it, in any case */
    const kni_strip_memory *memory;
} kni_product_tail;

/* Elements begin .. end - 1 of the result are finished sums. From any thread. NULL: nothing follows. */
static inline void kni_product_tail_run(const kni_product_tail *tail, int64_t begin, int64_t end)
{
    if (tail) kni_strip_run(tail->program, tail->memory, begin, end);
}
/* All of them, on the team. */
void kni_product_tail_whole(const kni_product_tail *tail);

/* The finish of a kernel that can do all of them. */
static inline kni_finish kni_product_finish(const kni_product_tail *tail)
{
    return tail ? tail->finish : (kni_finish){KNI_FINISH_NONE, 0, 0};
}

#endif
