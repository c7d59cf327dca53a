/* What a row's CPU entry holds. Rows name their entry, so that a program links the kernels of the ops it
   calls and no others. */
#ifndef KNI_NATIVE_H
#define KNI_NATIVE_H

#include "core/dtype.h"
#include <kn/backend.h>

enum {
    KNI_TIER_SLOTS = 6 /* scalar, v2, v3, v4, neon, simd128 */
};

/* y[i] = f(in[0][i], in[1][i], ...) for contiguous elements of the compute type; y may be one of the inputs.
   Truths (results of comparisons, the condition of select) are bytes of 0 or 1. */
typedef void (*kni_strip_fn)(int64_t n, void *y, const void *const *in, const double *params);

struct kni_step;
struct kni_product_tail;

typedef struct kni_native {
    /* Elementwise rows: one function by tier and compute type, NULL where the row has no such type. */
    const kni_strip_fn (*strips)[KNI_COMPUTE_COUNT];
    /* Others: runs the record, or answers KN_ERROR_UNSUPPORTED (without a text) for operands it does not
       handle, which sends the record to the row's lowering or reference kernel. */
    kn_status (*run)(const kn_record *r);
    /* Independent records of the row that share the team in one run; NULL: each alone. */
    kn_status (*run_many)(const kn_record *const *records, int32_t n);
#ifndef KN_FREESTANDING
    /* Products: runs the record and what follows it in its group (backend/cpu/product_tail.h). NULL: nothing follows. */
    kn_status (*run_product)(const kn_record *r, const struct kni_product_tail *tail);
    /* Maps of channels, y = (x - mean[c]) * scale[c] + shift[c] in f32: gives the numbers, `channels` means and as many scales and
       shifts behind them. False without memory. */
    bool (*channel_map)(const kn_record *r, float *map, int64_t channels);
    /* Elementwise rows without strips of their own: the strip of one step of their body, on the tier in use. NULL: the step has
       none in this compute type. */
    kni_strip_fn (*strip_of)(const struct kni_step *step, int compute);
    /* The work of an element (fetch_ahead.h) where the kernel asks for memory that later tiles of a group read; 0: it does not. */
    uint8_t ahead;
#endif
} kni_native;

/* Small machines have no caches to fill: {.run = run_softmax, KNI_AHEAD(KNI_WORK_HEAVY)}. */
#ifndef KN_FREESTANDING
#define KNI_AHEAD(work) .ahead = (work)
static inline int kni_native_ahead(const kni_native *native) { return native->ahead; }
#else
#define KNI_AHEAD(work)
static inline int kni_native_ahead(const kni_native *native) { return native ? 0 : 0; }
#endif

struct kni_line_program;
/* The entry of a row along lines whose kernel is its body: kiln-gen makes the program (backend/cpu/line_program.h). A row names it
   by KNI_BY_LINES(op). */
typedef struct kni_line_entry {
    kni_native native;
    const struct kni_line_program *program;
} kni_line_entry;
#define KNI_BY_LINES(op_name) &kni_lines_##op_name.native

#endif
