/* Autocast: which ops round their operands to a shorter float and which ask for f32. */
#include "ops/autocast_state.h"
#include <kn/autocast.h>
#include <kn/elementwise.h>

enum { NARROW = -1, WIDEN = 1 };

typedef struct policy {
    uint16_t op;
    int8_t treats;
} policy;

/* Contractions are where a shorter float pays. Ops whose results outgrow f16 or lose too much in a sum are computed in
   f32; norms and softmax compute in f32 inside whatever they are given and return it in their operand's dtype, and cross
   entropy, whose logits are often the largest tensor of all, reads them as they are and returns f32. */
static const policy policies[] = {
    {KNI_OP_matmul, NARROW},     {KNI_OP_linear, NARROW},
    {KNI_OP_conv, NARROW},       {KNI_OP_conv_transpose, NARROW},
    {KNI_OP_attention, NARROW},  {KNI_OP_exp, WIDEN},
    {KNI_OP_exp2, WIDEN},        {KNI_OP_expm1, WIDEN},
    {KNI_OP_log, WIDEN},         {KNI_OP_log2, WIDEN},
    {KNI_OP_log10, WIDEN},       {KNI_OP_log1p, WIDEN},
    {KNI_OP_pow, WIDEN},         {KNI_OP_reciprocal, WIDEN},
    {KNI_OP_rsqrt, WIDEN},       {KNI_OP_sinh, WIDEN},
    {KNI_OP_cosh, WIDEN},        {KNI_OP_tan, WIDEN},
    {KNI_OP_acos, WIDEN},        {KNI_OP_asin, WIDEN},
    {KNI_OP_erfinv, WIDEN},      {KNI_OP_softplus, WIDEN},
    {KNI_OP_sum, WIDEN},         {KNI_OP_prod, WIDEN},
    {KNI_OP_mean, WIDEN},        {KNI_OP_var_mean, WIDEN},
    {KNI_OP_logsumexp, WIDEN},   {KNI_OP_cumsum, WIDEN},
    {KNI_OP_cumprod, WIDEN},     {KNI_OP_cumlogsumexp, WIDEN},
    {KNI_OP_log_softmax, WIDEN}, {KNI_OP_binary_cross_entropy, WIDEN},
    {KNI_OP_ctc_loss, WIDEN},
};

static int policy_of(uint32_t op)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (policies[i].op == op) return policies[i].treats;
    return 0;
}

/* What operand x becomes: f32 and the short floats change among each other, all else stays as it is. */
static kn_dtype wanted(kn_tensor x, int treats)
{
    const kni_tensor *slot = kni_is_poisoned(x) ? NULL : kni_peek(x);
    if (!slot || slot->type.weak) return KN_DTYPE_NONE;
    int dtype = slot->type.dtype;
    if (treats == NARROW)
        return dtype == KN_F32 || dtype == KN_F16 || dtype == KN_BF16
                   ? (kn_dtype)kni_this_thread.context.autocast
                   : KN_DTYPE_NONE;
    return dtype == KN_F16 || dtype == KN_BF16 ? KN_F32 : KN_DTYPE_NONE;
}

/* An operand that stands in several places is cast once: a temporary can be taken once only. */
static bool cast_operands(const kn_op *row, const kn_tensor *in, int n, kn_tensor *cast)
{
    int treats = kni_this_thread.context.autocast ? policy_of(row->number) : 0;
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
    if (dtype && dtype != KN_F32 && dtype != KN_BF16 && dtype != KN_F16) {
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
    if (before == KN_DTYPE_NONE || before == KN_BF16 || before == KN_F16)
        kni_this_thread.context.autocast = (uint8_t)before;
}

kn_dtype kn_autocast_dtype(void) { return (kn_dtype)kni_this_thread.context.autocast; }

int32_t kn_autocast_policy(int32_t op_number) { return op_number < 0 ? 0 : policy_of((uint32_t)op_number); }
