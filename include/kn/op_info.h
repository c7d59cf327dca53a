/* The op table as data: what ops there are, what they take, how they run. For bindings of other languages, for the
   kiln command and for tests. Linking one of these functions links every row. */
#ifndef KN_OP_INFO_H
#define KN_OP_INFO_H

#include <kn/backend.h>
#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kn_gradient_kind {
    KN_GRADIENT_YES = 0,
    KN_GRADIENT_CONSTANT = 1, /* its results are constants to the tape: comparisons, indices, integers */
    KN_GRADIENT_ZERO = 2,     /* zero almost everywhere: sign, floor */
    KN_GRADIENT_ERROR = 3     /* asking for it is an error that says so */
} kn_gradient_kind;

typedef enum kn_attribute_type {
    KN_ATTRIBUTE_INT = 0,
    KN_ATTRIBUTE_REAL = 1,
    KN_ATTRIBUTE_LIST = 2
} kn_attribute_type;

/* All texts live as long as the process. */
typedef struct kn_op_info {
    int32_t number;         /* append-only, part of the wire format */
    const char *name;       /* as kn_call takes it */
    const char *doc;        /* the formula first */
    const char *kind;       /* "elementwise", "reduce" ... */
    int32_t min_in, max_in; /* max_in -1: any number */
    int32_t n_out;
    uint32_t dtypes;      /* bit d: computes on kn_dtype d */
    bool converts_to_f32; /* integer and bool operands become f32 first */
    bool commutes, random;
    bool has_body, has_kernel, has_lowering, has_view, has_native;
    kn_gradient_kind gradient;
    double ulps, roots; /* tolerance: |a - b| <= (ulps + roots * sqrt(K)) * eps * max(|b|, scale) */
    bool alone;         /* each element of a result is computed by itself: K is 1 */
    int32_t n_attributes;
    const char *body; /* the formula that kernels are made of, NULL: it has none */
    const char
        *host; /* what the body computes with beside attributes, made of them once for each call; or NULL */
    uint32_t
        stored; /* bit d: takes tensors of kn_dtype d, which is only stored: it moves, compares or casts them */
    const char *
        operands; /* "x weight bias": their names in order, "x ..." for any number. Those beyond min_in may be KN_NONE */
} kn_op_info;

typedef struct kn_attribute_info {
    const char *name;
    kn_attribute_type type;
    bool dynamic;    /* may change between replays of one plan */
    bool takes_size; /* a kn_builder takes sizes for it, "2 * batch": it is known when the program runs */
} kn_attribute_info;

/* One more than the highest number. */
KN_API int32_t kn_op_count(void);
/* False where a number is unused. */
KN_API bool kn_op_at(int32_t number, kn_op_info *info);
KN_API bool kn_op_find(const char *name, kn_op_info *info);
KN_API bool kn_op_attribute(int32_t number, int32_t index, kn_attribute_info *info);
/* How a device would run an op for a dtype; why (may be NULL) gets a short reason where it would not. */
KN_API kn_support kn_op_support(kn_device device, int32_t number, kn_dtype dtype, const char **why);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/op_info_sites.h>
#endif

#endif
