/* What every backend in host memory shares: storage, strided access, views, reference kernels, lowering. */
#ifndef KNI_HOST_H
#define KNI_HOST_H

#include "ops/record.h"

static inline size_t kni_element_bytes(const kni_tensor *x) { return kni_bytes_of(x->type.dtype); }
static inline void *kni_pointer(kni_tensor *x) { return kni_data(x, kni_element_bytes(x)); }
static inline bool kni_contiguous(const kni_tensor *x)
{
    return kni_is_contiguous(x->type.rank, x->type.dims, x->strides);
}

/* Fresh contiguous memory for an output. */
kn_status kni_host_allocate(kni_tensor *y);
/* The same, or the memory of a candidate (bit i: operand i) that kni_may_overwrite allows. */
kn_status kni_host_allocate_or_reuse(const kn_record *r, kni_tensor *y, uint64_t candidates);

/* Brings the results that a kernel wrote into the order that they were promised in; cheap where they lie so. */
#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT) /* small programs have one order */
kn_status kni_host_arrange(const kn_record *r);
#else
static inline kn_status kni_host_arrange(const kn_record *r) { return (void)r, KN_OK; }
#endif

/* The results of a record without work (kni_has_no_work). */
kn_status kni_host_allocate_empty(const kn_record *r);

kn_status kni_host_write(kn_backend *b, uint32_t id, const void *data);
kn_status kni_host_read(kn_backend *b, uint32_t id, void *buffer);
kn_status kni_host_sync(kn_backend *b);

/* A contiguous array of an operand's elements as dtype: its own memory when that fits, else a copy that
   kni_host_unborrow frees. NULL after a failure when there is no memory. */
typedef struct kni_borrowed {
    void *data;
    size_t copy_bytes; /* 0 when it is the operand's own memory */
} kni_borrowed;
bool kni_host_borrow(kni_tensor *x, int dtype, kni_borrowed *out);
/* The same, broadcast to a shape. */
bool kni_host_borrow_expanded(kni_tensor *x, const kni_type *shape, int dtype, kni_borrowed *out);
void kni_host_unborrow(kni_borrowed *b);

/* The steps a host backend tries for a record. KN_ERROR_UNSUPPORTED without text: this step does not apply. */
kn_status kni_host_view(const kn_record *r);
kn_status kni_host_reference(const kn_record *r, bool parallel);
kn_status kni_host_body(const kn_record *r);
/* By the interpreter of bodies along lines; the reference backend alone links it. */
kn_status kni_host_lines(const kn_record *r);
kn_status kni_host_custom(const kn_record *r);
/* For the support matrix; natives: whether the rows' CPU entries count. */
kn_support kni_host_supports(const kn_op *row, kn_dtype dtype, const char **why, bool natives);

#endif
