/* Biases and scales of integer products, as the driver takes them. */
#include "backend/cpu/gemm_i8_finish.h"
#include "ops/integer_products.h"

static kni_tensor *operand(const kn_record *r, int i) { return i < r->n_in ? kni_in(r, i) : NULL; }

bool kni_gemm_i8_finish_start(kni_gemm_i8_finish *f, const kn_record *r, int64_t channels, bool of_rows)
{
    const kni_type all = {.rank = 1, .dims = {channels}}, one = {.rank = 1, .dims = {1}};
    kni_tensor *bias = operand(r, KNI_INTEGER_BIAS), *scale = operand(r, KNI_INTEGER_SCALE),
               *zero = operand(r, KNI_INTEGER_Y_ZERO);
    const bool is_signed = kni_dtypes[kni_out(r, 0)->type.dtype].kind == KNI_KIND_SIGNED;
    kni_borrowed number = {NULL, 0};
    *f = (kni_gemm_i8_finish){.scales = scale != NULL};
    const bool reals = kni_out(r, 0)->type.dtype == KN_F32;
    if (bias && !kni_host_borrow_expanded(bias, &all, reals ? KN_F32 : KN_I32, &f->bias)) return false;
    const bool one_scale = !of_rows && scale && kni_count(&scale->type) == 1;
    if (scale && !kni_host_borrow_expanded(scale, one_scale ? &one : &all, KN_F32, &f->scale)) return false;
    if (zero && !kni_host_borrow_expanded(zero, &one, KN_I32, &number)) return false;
    f->of_rows = of_rows;
    f->reals = reals;
    f->scaling = (kni_gemm_i8_scaling){.scale = f->scale.data,
                                       .shift = reals ? f->bias.data : NULL,
                                       .one_scale = one_scale,
                                       .zero = number.data ? *(const int32_t *)number.data : 0,
                                       .low = is_signed ? INT8_MIN : 0,
                                       .high = is_signed ? INT8_MAX : UINT8_MAX};
    if (number.data) kni_host_unborrow(&number);
    return true;
}

void kni_gemm_i8_finish_end(kni_gemm_i8_finish *f)
{
    if (f->bias.data) kni_host_unborrow(&f->bias);
    if (f->scale.data) kni_host_unborrow(&f->scale);
}

void kni_gemm_i8_finish_place(const kni_gemm_i8_finish *f, kni_gemm_i8_args *g, void *result, int64_t at)
{
    g->c = (int32_t *)result + at;
    g->bytes = (uint8_t *)result + at;
    g->reals = f->reals ? (float *)result + at : NULL;
    g->scaling = f->scales ? &f->scaling : NULL;
    g->bias = f->reals ? NULL : f->bias.data;
    g->of_rows = f->of_rows;
}
