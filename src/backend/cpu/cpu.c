/* The CPU backend: views, native kernels, then lowering, then the reference kernel on all threads. */
#include "backend/cpu/elementwise_run.h"
#include "backend/cpu/gemm_workspace.h"
#include "backend/cpu/isa.h"
#include "backend/host/host.h"
#include "core/backends.h"
#include "core/device_object.h"
#include "ops/native.h"
#include <kn/device.h>

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    const kn_op *row = r->row;
    if (row->view) return kni_host_view(r);
    if (row->host) return kni_host_custom(r);
    if (row->native && row->native->strips)
        return kni_cpu_elementwise(r); /* which sees for itself that there is no work */
    if (kni_has_no_work(r)) return kni_host_allocate_empty(r);
    if (row->native) {
        kn_status s = row->native->run(r);
        if (s != KN_ERROR_UNSUPPORTED) return s;
    }
    if (row->lower) return kni_lower_record(r, b->device);
#ifndef KN_FREESTANDING
    if (row->launch) return kni_host_reference(r, true);
#else
    if (row->launch) return kni_host_reference(r, false);
#endif
#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)
    if (kni_is_pointwise(row)) return kni_host_body(r);
#endif
    return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name, "the CPU has no kernel for it");
}

#ifndef KN_FREESTANDING
/* Kernels of another tier than KN_ISA asks for must not run unnoticed. */
static kn_status check_tier(void)
{
    static _Atomic bool checked;
    if (KNI_LIKELY(atomic_load_explicit(&checked, memory_order_relaxed))) return KN_OK;
    kn_status s = kni_cpu_tier_check();
    atomic_store_explicit(&checked, s == KN_OK, memory_order_relaxed);
    return s;
}
#else
static kn_status check_tier(void) { return KN_OK; }
#endif

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    kn_status checked = check_tier();
    if (KNI_UNLIKELY(checked)) return checked;
    for (int32_t i = 0; i < n; i++) {
        if (KNI_UNLIKELY(records[i]->flags & KN_RECORD_DROP)) continue;
        kn_status s = execute_one(b, records[i]);
        if (KNI_UNLIKELY(b->device && b->device->n_wants) && s == KN_OK) s = kni_host_arrange(records[i]);
        if (KNI_UNLIKELY(s)) return s;
    }
    return KN_OK;
}

static kn_support supports(kn_backend *b, const kn_op *row, kn_dtype dtype, const char **why)
{
    (void)b;
    return kni_host_supports(row, dtype, why, true);
}

/* Other threads give their workspace back when they end. */
static void close_cpu(kn_backend *b)
{
    (void)b;
    kni_workspace_release();
}

static kn_backend cpu = {
    .size = sizeof(kn_backend),
    .abi = KN_BACKEND_ABI,
    .name = "cpu",
    .traits = KN_TRAIT_HOST | KNI_TRAIT_ORDERS,
    .execute = execute,
    .supports = supports,
    .write = kni_host_write,
    .read = kni_host_read,
    .sync = kni_host_sync,
    .close = close_cpu,
};

kn_backend *kni_cpu_backend(void) { return &cpu; }

kn_device kni_device_cpu(void) { return kni_device_make(&cpu, "cpu"); }

kn_device kn_device_cpu(void)
{
    kn_device device = kni_device_cpu();
    return device ? kni_device_opened(device) : NULL;
}
