/* Ops of converters: checks what they are given and hands them to the target. */
#include "onnx/run/conversion.h"

void kni_emit_many(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                   const kni_given_attribute *attributes, kni_datum *out, int32_t n_out)
{
    for (int32_t k = 0; k < n_out; k++) out[k] = KNI_ABSENT;
    /* Optional operands at the end of a list are not there. */
    while (n_in > 0 && !kni_is_given(in[n_in - 1])) n_in--;
    if (!c->status) c->target->emit(c, op, in, n_in, attributes, out, n_out);
}

kni_datum kni_emit(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                   const kni_given_attribute *attributes)
{
    kni_datum y;
    kni_emit_many(c, op, in, n_in, attributes, &y, 1);
    return y;
}

kni_datum kni_emit1(kni_conversion *c, const char *op, kni_datum x) { return kni_emit(c, op, &x, 1, NULL); }

kni_datum kni_emit2(kni_conversion *c, const char *op, kni_datum a, kni_datum b)
{
    return kni_emit(c, op, KNI_LIST(a, b), NULL);
}

kni_datum kni_emit3(kni_conversion *c, const char *op, kni_datum a, kni_datum b, kni_datum d)
{
    return kni_emit(c, op, KNI_LIST(a, b, d), NULL);
}
