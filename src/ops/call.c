/* Composites: a scope and a name around functions that are made of other ops. Also the launch and vjp
   helpers that rows use. */
#include "core/call_site.h"
#include "ops/op.h"

kni_call kni_call_begin(const char *name)
{
    kni_thread *t = kni_thread_self();
    kni_call c = {kn_scope_begin(), kni_context_push(t), kni_float_enter()};
    kni_call_counts(t);
    if (!t->context.call_name) {
        t->context.call_name = name;
        t->context.call_device = NULL;
    }
    return c;
}

void kni_call_share(const kn_tensor *x, int32_t n)
{
    enum { FEW = 16 }; /* of more, all are kept instead of compared with each other */
    for (int32_t i = 0; i < n; i++) {
        bool twice = n > FEW;
        for (int32_t k = 0; k < i && !twice; k++) twice = x[i].bits == x[k].bits;
        if (twice) (void)kn_keep(x[i]);
    }
}

kn_tensor kni_call_end(kni_call call, kn_tensor result)
{
    /* A composite that hands its operand on was given none. */
    if (KNI_UNLIKELY(!result.bits)) {
        kni_fail_op(KN_ERROR_HANDLE, NULL, "KN_NONE was given where a tensor is needed");
        result = kni_poison_latest();
    }
    kni_call_end_many(call, &result, 1);
    return result;
}

void kni_call_end_many(kni_call call, kn_tensor *results, int n)
{
    kni_context_pop(&kni_this_thread, &call.context);
    kni_scope_end_many(call.scope, results, n, false);
    if (!call.context.call_name) kni_call_ended(&kni_this_thread);
    kni_float_leave(call.env);
}

kn_tensor kni_call_fail(kni_call call, kn_status code, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    kni_fail_op_list(code, NULL, format, a);
    va_end(a);
    return kni_call_end(call, kni_poison_latest());
}

void kni_launch_int(kni_launch *l, int64_t value)
{
    if (l->n_ints < KNI_MAX_KERNEL_INTS) l->ints[l->n_ints] = value;
    l->n_ints++;
}

void kni_launch_ints(kni_launch *l, const int64_t *values, int n)
{
    for (int i = 0; i < n; i++) kni_launch_int(l, values[i]);
}

void kni_launch_real(kni_launch *l, double value)
{
    if (l->n_reals < KNI_MAX_KERNEL_REALS) l->reals[l->n_reals] = value;
    l->n_reals++;
}
