/* The reference backend, the oracle of the tests: every op by its reference kernel or body in wide
   types, one thread, no cleverness. */
#include "backend/host/host.h"
#include "core/backends.h"
#include "core/device_object.h"
#include "ops/body.h"

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    const kn_op *row = r->row;
    if (row->view) return kni_host_view(r);
    if (row->host) return kni_host_custom(r);
    if (kni_has_no_work(r)) return kni_host_allocate_empty(r);
    if (kni_is_pointwise(row) || kni_body_hosted(row->body)) return kni_host_body(r);
    if (row->body) return kni_host_lines(r);
    if (row->launch) return kni_host_reference(r, false);
    if (row->lower) return kni_lower_record(r, b->device);
    return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name, "the reference backend has no kernel for it");
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (records[i]->flags & KN_RECORD_DROP) continue;
        kn_status s = execute_one(b, records[i]);
        if (KNI_UNLIKELY(b->device && b->device->n_wants) && s == KN_OK) s = kni_host_arrange(records[i]);
        if (s) return s;
    }
    return KN_OK;
}

static kn_support supports(kn_backend *b, const kn_op *row, kn_dtype dtype, const char **why)
{
    (void)b;
    return kni_host_supports(row, dtype, why, false);
}

static kn_backend ref = {
    .size = sizeof(kn_backend),
    .abi = KN_BACKEND_ABI,
    .name = "ref",
    .traits = KN_TRAIT_HOST | KNI_TRAIT_ORDERS,
    .execute = execute,
    .supports = supports,
    .write = kni_host_write,
    .read = kni_host_read,
    .sync = kni_host_sync,
};

kn_backend *kni_ref_backend(void) { return &ref; }
