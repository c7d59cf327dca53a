/* Autocast: rounding the operands of rows that say so to a shorter float, and widening those of others. */
#include "ops/autocast_state.h"
#include <kn/autocast.h>
#include <kn/elementwise.h>

/* What operand x becomes: f32 and the short floats change among each other, all else stays as it is. */
static kn_dtype wanted(kn_tensor x, int treats)
{
    const kni_tensor *slot = kni_is_poisoned(x) ? NULL : kni_peek(x);
    if (!slot || slot->type.weak) return KN_DTYPE_NONE;
    int dtype = slot->type.dtype;
    if (treats == KNI_AUTOCAST_NARROW)
        return dtype == KN_F32 || kni_is_half(dtype) ? (kn_dtype)kni_this_thread.context.autocast
                                                     : KN_DTYPE_NONE;
    return kni_is_half(dtype) ? KN_F32 : KN_DTYPE_NONE;
}

/* An operand that stands in several places is cast once: a temporary can be taken once only. */
static bool cast_operands(const kn_op *row, const kn_tensor *in, int n, kn_tensor *cast)
{
    int treats = kni_this_thread.context.autocast ? row->autocast : KNI_AUTOCAST_NONE;
    bool any = false;
    if (!treats) return false;
    for (int i = 0; i < n; i++) {
        int same = 0;
        while (in[same].bits != in[i].bits) same++;
        kn_dtype to = wanted(in[i], treats);
        const kni_tensor *slot = to ? kni_peek(in[i]) : NULL;
        bool changes = slot && slot->type.dtype != to;
        cast[i] = same < i ? cast[same] : changes ? kn_cast(in[i], to) : in[i];
        any |= changes;
    }
    return any;
}

kn_dtype kn_autocast_begin(kn_dtype dtype)
{
    if (dtype && dtype != KN_F32 && !kni_is_half(dtype)) {
        kni_fail(KN_ERROR_DTYPE, "kn_autocast_begin: it rounds to KN_BF16 or KN_F16; KN_F32 turns it off");
        return (kn_dtype)kni_this_thread.context.autocast;
    }
    atomic_store(&kni_autocast_operands, cast_operands);
    kn_dtype before = (kn_dtype)kni_this_thread.context.autocast;
    kni_this_thread.context.autocast = (uint8_t)(dtype == KN_F32 ? KN_DTYPE_NONE : dtype);
    return before;
}

void kn_autocast_end(kn_dtype before)
{
    if (before == KN_DTYPE_NONE || kni_is_half(before)) kni_this_thread.context.autocast = (uint8_t)before;
}

kn_dtype kn_autocast_dtype(void) { return (kn_dtype)kni_this_thread.context.autocast; }
