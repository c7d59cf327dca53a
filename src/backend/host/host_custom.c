/* Custom ops and users' kernels on host backends: operands as contiguous spans, results in fresh memory. */
#include "backend/host/host.h"
#include "core/spare_bits.h"

enum { MAX_OPERANDS = 16 };

kn_status kni_host_custom(const kn_record *r)
{
    kni_borrowed borrowed[MAX_OPERANDS] = {{NULL, 0}};
    kni_span in[MAX_OPERANDS], out[MAX_OPERANDS];
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_in && s == KN_OK; i++) {
        kni_tensor *x = kni_in(r, i);
        if (!kni_host_borrow(x, x->type.dtype, &borrowed[i])) s = KN_ERROR_MEMORY;
        in[i] = (kni_span){borrowed[i].data, &x->type};
    }
    for (int i = 0; i < r->n_out && s == KN_OK; i++) {
        s = kni_host_allocate(kni_out(r, i));
        if (s == KN_OK) out[i] = (kni_span){kni_out(r, i)->storage->data, &kni_out(r, i)->type};
    }
    if (s == KN_OK) s = r->row->host(r->row, r->attributes, in, out);
    for (int i = 0; i < r->n_out && s == KN_OK; i++)
        if (kni_is_bool(out[i].type->dtype))
            kni_copy_within(out[i].data, out[i].data, 1, kni_count(out[i].type), 1);
    for (int i = 0; i < r->n_in; i++) kni_host_unborrow(&borrowed[i]);
    return s;
}
