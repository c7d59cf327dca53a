/* What a tier exports to the entries of rows that make values of scalars. Internal to made_run.c and tier/made_strips.c. */
#ifndef KNI_BACKEND_CPU_MADE_TABLE_H
#define KNI_BACKEND_CPU_MADE_TABLE_H

#include "backend/cpu/tier.h"
#include "ops/body.h"
#include "ops/op.h"

/* The most elements of a strip; a multiple of 4. */
#ifdef KN_FREESTANDING
enum { KNI_MADE_STRIP = 32 };
#else
enum { KNI_MADE_STRIP = 512 };
#endif

/* Elements first .. first + n - 1 of the row's body. in holds its operands and words the random words of these elements, as
   kni_made_words gives them; numbers are the scalars in the order of the row's schema. The result may lie over an operand. */
#define MADE_ARGUMENTS                                                                                       \
    const int n, const int64_t first, void *y, const void *const *in, const uint32_t *words,                 \
        const kni_body_number *numbers, const uint32_t choices
typedef void kni_made_strip(MADE_ARGUMENTS);

/* The indices that these elements draw at; false: their own, and none is written. */
#define PLACES_ARGUMENTS                                                                                     \
    const int n, const int64_t first, int64_t *y, const kni_body_number *numbers, const uint32_t choices
typedef bool kni_made_places(PLACES_ARGUMENTS);

typedef struct kni_made_strips {
    kni_made_strip *strips[KNI_COMPUTE_COUNT];
    kni_made_places *places; /* NULL: elements draw at their own indices */
} kni_made_strips;

/* words[j * KNI_MADE_STRIP + k] = word j of the `draws` that element k has, of the generator's blocks from counter on. */
KNI_TIER_DECLARE(void, kni_made_words, (uint64_t key, uint64_t counter, int n, int draws, uint32_t *words));

#define ENTRY(name, ...) KNI_TIER_DECLARE(extern const kni_made_strips, kni_made_##name, );
#include "backend/cpu/generated/made_entries.inc"
#undef ENTRY

/* What a strip computes in, a kni_compute. single: one value is made for all elements, in f64 as all scalars are. */
static inline int kni_made_compute(const kn_op *row, bool single, int dtype)
{
    if (row->sums == KNI_SUMS_REAL) return KNI_COMPUTE_F64;
    if (!kni_is_float(dtype)) return KNI_COMPUTE_I64;
    return single || row->sums == KNI_SUMS_WIDE ? KNI_COMPUTE_F64 : kni_compute_of[dtype];
}

#endif
