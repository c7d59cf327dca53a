/* What becomes of a sum and its bias before a kernel of products stores it. */
#ifndef KNI_BACKEND_CPU_FINISH_KIND_H
#define KNI_BACKEND_CPU_FINISH_KIND_H

/* Where `mean` is there, s becomes (s - mean[c]) * scale[c] + shift[c] for output channel c. Then nothing, max(s, low), or
   min(max(s, low), high), with the words' own rules for NaN and -0. f32 alone. */
typedef enum { KNI_FINISH_NONE, KNI_FINISH_LOW, KNI_FINISH_BOTH } kni_finish_kind;
typedef struct {
    kni_finish_kind kind;
    float low, high;
    const float *mean, *scale, *shift;
} kni_finish;

/* Freestanding programs have no groups, and kernels without what follows are smaller. */
static inline kni_finish_kind kni_finish_kind_of(const kni_finish *f)
{
#ifdef KN_FREESTANDING
    return (void)f, KNI_FINISH_NONE;
#else
    return f->kind;
#endif
}

/* The same for the channels from `c` on. */
static inline kni_finish kni_finish_from(kni_finish f, long c)
{
    if (!f.mean) return f;
    f.mean += c;
    f.scale += c;
    f.shift += c;
    return f;
}
static inline int kni_finishes(const kni_finish *f) { return f->mean || f->kind != KNI_FINISH_NONE; }

#endif
