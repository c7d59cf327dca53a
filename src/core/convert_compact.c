/* kni_convert for microcontrollers and compact builds: one loop over elements with a load and a store by dtype, in place of a loop
   for every pair. Same results, a twentieth of the code. */
#include "core/dtype.h"
#include "core/math/half.h"
#include "core/platform.h"
#include "core/saturate.h"
#include <string.h>

#if defined(KN_FREESTANDING) || defined(KN_COMPACT)

/* An element on its way: a float, or an integer of 64 bits whose sign `is_unsigned` tells. */
typedef struct element {
    bool is_float, is_unsigned;
    double real;
    int64_t whole;
} element;

static element load(const void *from, int dtype)
{
    const kni_dtype_row *row = &kni_dtypes[dtype];
    element e = {row->kind == KNI_KIND_FLOAT, dtype == KN_U64, 0, 0};
    bool negative = row->kind == KNI_KIND_SIGNED;
    uint64_t bits = 0;
    memcpy(&bits, from, row->bytes);
    float f;
    switch (dtype) {
    case KN_F64:
        memcpy(&e.real, from, 8);
        break;
    case KN_F32:
        memcpy(&f, from, 4), e.real = (double)f;
        break;
    case KN_F16:
        e.real = (double)kni_f16_to_f32((uint16_t)bits);
        break;
    case KN_BF16:
        e.real = (double)kni_bf16_to_f32((uint16_t)bits);
        break;
    default:
        if (negative && row->bits < 64 && (bits >> (row->bits - 1) & 1)) bits |= ~UINT64_C(0) << row->bits;
        e.whole = kni_is_bool(dtype) ? bits != 0 : (int64_t)bits;
    }
    return e;
}

static double as_real(const element *e)
{
    return e->is_float ? e->real : e->is_unsigned ? (double)(uint64_t)e->whole : (double)e->whole;
}

static void store(void *to, int dtype, const element *e)
{
    uint64_t bits = 0;
    double real = as_real(e);
    float f = e->is_float ? (float)e->real : e->is_unsigned ? (float)(uint64_t)e->whole : (float)e->whole;
    switch (dtype) {
    case KN_F64:
        memcpy(&bits, &real, 8);
        break;
    case KN_F32:
        memcpy(&bits, &f, 4);
        break;
    case KN_F16:
        bits = kni_f64_to_f16(real);
        break;
    case KN_BF16:
        bits = kni_f64_to_bf16(real);
        break;
    case KN_BOOL:
        bits = e->is_float ? e->real != 0 : e->whole != 0;
        break;
    case KN_U64:
        bits = e->is_float ? kni_f64_to_u64(e->real) : (uint64_t)e->whole;
        break;
    default:
        bits = (uint64_t)(e->is_float ? kni_f64_to_i64(e->real) : e->whole);
        break;
    }
    memcpy(to, &bits, kni_bytes_of(dtype));
}

/* No tensor has a stored dtype where this is not linked. */
KNI_OPTIONAL void kni_convert_small(void *to, int to_dtype, int64_t to_stride, const void *from,
                                    int from_dtype, int64_t from_stride, int64_t n);

void kni_convert(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                 int64_t from_stride, int64_t n)
{
    int64_t to_bytes = kni_bytes_of(to_dtype), from_bytes = kni_bytes_of(from_dtype);
    if (to_dtype == from_dtype && to_stride == 1 && from_stride == 1) {
        if (n > 0) memcpy(to, from, (size_t)(n * to_bytes));
        return;
    }
    if ((kni_dtype_stored(to_dtype) || kni_dtype_stored(from_dtype)) && to_dtype != from_dtype) {
        kni_convert_small(to, to_dtype, to_stride, from, from_dtype, from_stride, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        element e = load((const char *)from + i * from_stride * from_bytes, from_dtype);
        store((char *)to + i * to_stride * to_bytes, to_dtype, &e);
    }
}

#endif
