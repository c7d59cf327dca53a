/* What every decorator shares: a backend that forwards records and values. */
#ifndef KNI_DECORATOR_H
#define KNI_DECORATOR_H

#include <kn/backend.h>

typedef kn_status (*kni_execute_fn)(kn_backend *b, const kn_record *const *records, int32_t n);

/* A decorator around inner; `self_bytes` zeroed bytes hang at b->self. NULL after a failure. It forwards `supports`, `read`,
   `write` and `sync`, and has no entry that is not its own: a queue around it gives it single records. */
kn_backend *kni_decorator_new(const char *name, uint32_t traits, kn_backend *const *inner, int32_t n_inner,
                              kni_execute_fn execute, size_t self_bytes);

/* Runs the records one by one until one fails. */
static inline kn_status kni_each_record(kn_backend *b, const kn_record *const *records, int32_t n,
                                        kn_status (*one)(kn_backend *b, const kn_record *r))
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n && s == KN_OK; i++) s = one(b, records[i]);
    return s;
}

/* Runs one record on the first inner backend. */
static inline kn_status kni_forward(kn_backend *b, const kn_record *r)
{
    return b->inner[0]->execute(b->inner[0], &r, 1);
}

#endif
