/* Reading records in this process, and running a row's lowering in place of a record. */
#ifndef KNI_RECORD_H
#define KNI_RECORD_H

#include "ops/op.h"

static inline kni_tensor *kni_out(const kn_record *r, int i) { return kni_slot(r->ids[i]); }
/* NULL where an optional operand is absent. */
static inline kni_tensor *kni_in(const kn_record *r, int i)
{
    uint32_t id = r->ids[r->n_out + i];
    return id == KNI_NO_SLOT ? NULL : kni_slot(id);
}
/* How many operands there are, up to the last one that is not absent. */
static inline int kni_given(const kn_record *r)
{
    int n = r->n_in;
    while (n > 0 && r->ids[r->n_out + n - 1] == KNI_NO_SLOT) n--;
    return n;
}

static inline bool kni_is_empty(const kni_tensor *x)
{
    for (int a = 0; a < x->type.rank; a++)
        if (x->type.dims[a] == 0) return true;
    return false;
}
/* No operand and no result has elements: a kernel could only count other dimensions out, which may be huge. Nearly every record has
   a first result with elements, which is seen here. */
bool kni_has_nothing(const kn_record *r);
static inline bool kni_has_no_work(const kn_record *r)
{
    if (KNI_LIKELY(r->n_out > 0 && !kni_is_empty(kni_out(r, 0)))) return false;
    return kni_has_nothing(r);
}

/* Whether result y may be written into the memory of operand k. This is the one rule for every backend: the operand dies with
   the record, nobody else refers to its storage, and it lies there as y would lie. No other operand may see that storage,
   because a kernel reads operands in its own order; only an elementwise row, which reads element i of all operands before
   it writes element i, may name the very same view several times. */
bool kni_may_overwrite(const kn_record *r, int k, const kni_tensor *y);
/* The part of the rule that says nothing of who reads x: its memory is ours alone and holds y's elements in y's order. */
bool kni_fits_over(const kni_tensor *x, const kni_tensor *y);

/* Gives y the memory of x, over which it fits. */
static inline void kni_take_memory(kni_tensor *y, const kni_tensor *x)
{
    if (y->storage) kni_storage_release(y->storage);
    kni_storage_written(x->storage);
    y->storage = kni_storage_retain(x->storage);
    y->offset = 0;
    kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
}

/* Runs the row's lowering on `device` and gives the record's outputs the results. */
kn_status kni_lower_record(const kn_record *r, kn_device device);
/* The same by another function than the row's. */
kn_status kni_lower_record_by(const kn_record *r, kn_device device, kni_lower_fn lower);

/* Makes the record's result a view of operand 0's memory. Where the row has none of it (a reshape of a transposed tensor,
   a number without a storage), `copy` first gives `copy->storage` the operand's elements, contiguous. */
typedef kn_status (*kni_copy_fn)(void *context, kni_tensor *x, kni_tensor *copy);
kn_status kni_view_record(const kn_record *r, kni_copy_fn copy, void *context);

/* A new slot with x's value, kept in the thread's scope, on `device`; poisoned without memory. */
kn_tensor kni_alias_kept(kni_thread *t, const kni_tensor *x, kn_device device);

#endif
