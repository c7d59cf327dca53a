/* Lowering at run time: the row's function runs on the given device, its results become the record's. */
#include "core/call_site.h"
#include "core/param_value.h"
#include "ops/autocast_state.h"
#include "ops/record.h"
#include "ops/wide.h"

enum { MAX_OPERANDS = 64, MAX_DEPTH = 16 };

kn_tensor kni_alias_kept(kni_thread *t, const kni_tensor *x, kn_device device)
{
    uint32_t id = kni_tensor_new(t);
    if (id == KNI_NO_SLOT) {
        kni_fail(KN_ERROR_MEMORY, "no memory for another tensor");
        return kni_poison_latest();
    }
    kni_tensor *y = kni_slot(id);
    kni_param_copy_value(y, x);
    y->device = device;
    y->state = KNI_KEPT;
    return kni_handle(id);
}

/* Moves the value of a result into the slot that the record named for it. */
static kn_status adopt(const kn_record *r, int i, kn_tensor result)
{
    kni_tensor *y = kni_out(r, i), *x = kni_peek(result);
    if (kni_is_poisoned(result)) return kni_fail_again(result, r->row->name);
    if (!x)
        return kni_fail_op(KN_ERROR_INTERNAL, r->row->name,
                           "its lowering said all went well and gave no tensor as result %d", i);
    if (x->type.dtype != y->type.dtype || !kni_same_dims(&x->type, &y->type))
        return kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "lowering gave %S of %T where %S of %T was due",
                           &x->type, (int)x->type.dtype, &y->type, (int)y->type.dtype);
    kn_device device = y->device;
    uint8_t weak = y->type.weak;
    kni_param_copy_value(y, x);
    y->device = device;
    y->type.weak = weak;
    return KN_OK;
}

kn_status kni_lower_record(const kn_record *r, kn_device device)
{
    return kni_lower_record_by(r, device, r->row->lower);
}

kn_status kni_lower_record_by(const kn_record *r, kn_device device, kni_lower_fn lower)
{
    kni_thread *t = kni_thread_self();
    kn_tensor in[MAX_OPERANDS], out[MAX_OPERANDS];
    if (r->n_in > MAX_OPERANDS || r->n_out > MAX_OPERANDS || t->context.depth_of_lowering >= MAX_DEPTH)
        return kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "lowering is too deep or too wide");
    kn_scope scope = kn_scope_begin();
    kni_context before = kni_context_push(t);
    uint64_t serial = t->serial++;       /* a line that the lowering notes is not that of the op itself */
    t->context.autocast = KN_DTYPE_NONE; /* the policy of its op has been applied */
    t->context.route = device;
    t->context.depth_of_lowering++;
    const kni_wide_steps *wide = r->row->wide;
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_in; i++) {
        in[i] = kni_in(r, i) ? kni_alias_kept(t, kni_in(r, i), device) : KN_NONE;
        if (wide && in[i].bits) {
            /* An integer becomes the half first, which may not hold it, and then f32, as for the ops that have kernels. */
            if (r->row->rule == KNI_RULE_PROMOTE && !kni_is_float(kni_in(r, i)->type.dtype))
                in[i] = kn_keep(wide->as(in[i], kni_out(r, 0)->type.dtype));
            in[i] = kn_keep(wide->widen(in[i]));
        }
        if (kni_is_poisoned(in[i]) && s == KN_OK) s = kni_fail_again(in[i], r->row->name);
    }
    for (int i = 0; i < r->n_out; i++) out[i] = KN_NONE;
    kni_lowering l = {r->row, r->attributes, in, r->n_in, out, r->n_out};
    if (!before.call_name) t->context.call_name = r->row->name;
    if (s == KN_OK) s = lower(&l);
    for (int i = 0; i < r->n_out && s == KN_OK; i++)
        s = adopt(r, i, wide ? wide->as(out[i], kni_out(r, i)->type.dtype) : out[i]);
    kni_context_pop(t, &before);
    kni_serial_back(t, serial);
    kn_scope_end(scope, KN_NONE);
    return s;
}
