/* Two neighbouring elementwise rows in f32 as one loop over a strip: a value that only the second row reads stays in a
   register of the processor. Sums, products and relu are so short that reading and writing strips takes most of their time. */
#ifndef KNI_BACKEND_CPU_STRIP_PAIRS_H
#define KNI_BACKEND_CPU_STRIP_PAIRS_H

#include "backend/cpu/tier.h"
#include "ops/native.h"

/* Rows that may come first and, with the first's result as their operand 0, second. */
enum { KNI_FIRST_ADD, KNI_FIRST_SUB, KNI_FIRST_MUL, KNI_FIRST_RELU, KNI_FIRSTS };
enum { KNI_SECOND_ADD, KNI_SECOND_SUB, KNI_SECOND_MUL, KNI_SECOND_RELU, KNI_SECOND_SQUARE, KNI_SECONDS };

/* The operands: those of the first, then the other one of the second. No numbers. */
typedef struct kni_strip_pairs {
    kni_strip_fn fn[KNI_FIRSTS][KNI_SECONDS];
} kni_strip_pairs;

KNI_TIER_DECLARE(extern const kni_strip_pairs, kni_strip_pair_table, );

#endif
