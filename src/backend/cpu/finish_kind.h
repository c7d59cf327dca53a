/* What becomes of a sum and its bias before a kernel of products stores it. */
#ifndef KNI_BACKEND_CPU_FINISH_KIND_H
#define KNI_BACKEND_CPU_FINISH_KIND_H

/* Nothing, max(s, low), or min(max(s, low), high), with the words' own rules for NaN and -0. f32 alone. */
typedef enum { KNI_FINISH_NONE, KNI_FINISH_LOW, KNI_FINISH_BOTH } kni_finish_kind;
typedef struct {
    kni_finish_kind kind;
    float low, high;
} kni_finish;

#endif
