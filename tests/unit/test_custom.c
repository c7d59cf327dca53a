/* Custom ops, DLPack, printing, symbolic sizes. */
#include "core/dim.h"
#include "support/check.h"
#include <kn/dlpack.h>

static kn_status same_type(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    if (in[0].dtype != KN_F64) return kn_custom_fail(KN_ERROR_DTYPE, "cube takes f64");
    out[0] = in[0];
    return KN_OK;
}

static kn_status cube(void *context, const kn_span *in, const kn_span *out)
{
    int64_t n = 1;
    for (int i = 0; i < in[0].shape.rank; i++) n *= in[0].shape.dims[i];
    const double *x = in[0].data;
    double *y = out[0].data;
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * x[i] * x[i] * *(double *)context;
    return KN_OK;
}

static kn_status cube_gradient(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                               kn_tensor *grads)
{
    (void)out;
    grads[0] = kn_mul(dy[0], kn_mul_scalar(kn_square(in[0]), 3 * *(double *)context));
    return KN_OK;
}

static kn_op_handle custom_ops(void)
{
    static double scale = 2;
    kn_custom_op op = {"test_cube", 1, 1, same_type, cube, NULL, cube_gradient, &scale};
    kn_op_handle h = kn_custom_register(&op);
    CHECK(h != NULL);
    CHECK(!kn_custom_register(&op) && strstr(kn_last_error(), "taken"));
    op.name = "nothing";
    op.forward = NULL;
    CHECK(!kn_custom_register(&op) && strstr(kn_last_error(), "forward and lower"));
    kn_scope s = kn_scope_begin();
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_tensor x = kn_require_grad(kn_from((double[]){1, 2, 3, 4}, KN_F64, KN_SHAPE(2, 2))), y, g, gg;
    kn_tensor turned = kn_transpose(x, 0, 1);
    CHECK(kn_custom_call(h, &turned, &y) == KN_OK);
    CHECK_VALUES(y, 0, 2, 54, 16, 128);
    kn_tensor t = kn_keep(kn_sum(y, KN_AXES_ALL, false));
    CHECK(kn_grad(&t, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
    CHECK_VALUES(g, 0, 6, 24, 54, 96);
    t = kn_keep(kn_sum(g, KN_AXES_ALL, false));
    CHECK(kn_grad(&t, NULL, 1, &x, 1, 0, &gg) == KN_OK);
    CHECK_VALUES(gg, 0, 12, 24, 36, 48);
    kn_tensor wrong = kn_ones(KN_SHAPE(2), KN_F32);
    CHECK_ERROR(kn_custom_call(h, &wrong, &y), "cube takes f64");
    kn_device_use(NULL);
    kn_scope_end(s, KN_NONE);
    return h;
}

/* A registered op stays, under its handle and its name. */
static void after_shutdown(kn_op_handle h)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from((double[]){1, 2}, KN_F64, KN_SHAPE(2))), y;
    CHECK(kn_custom_call(h, &x, &y) == KN_OK);
    CHECK_VALUES(y, 0, 2, 16);
    CHECK(kn_call("test_cube", &x, 1, NULL, &y, 1) == KN_OK);
    CHECK_VALUES(y, 0, 2, 16);
    kn_scope_end(s, KN_NONE);
}

static kn_status two_types(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = out[1] = in[0];
    return KN_OK;
}

static kn_status half_broken(void *context, const kn_tensor *in, kn_tensor *out)
{
    (void)context;
    out[0] = kn_neg(in[0]);
    out[1] = kn_reshape(in[0], KN_SHAPE(7));
    return KN_OK;
}

/* A failure of any result is the call's, by handle as by name. */
static void later_result_fails(void)
{
    kn_op_handle h =
        kn_custom_register(&(kn_custom_op){"test_half", 1, 2, two_types, NULL, half_broken, NULL, NULL});
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), by_handle[2], by_name[2];
    kn_status status = kn_custom_call(h, &x, by_handle);
    CHECK(status != KN_OK && status == kn_call("test_half", &x, 1, NULL, by_name, 2));
    CHECK(!kn_ok(by_handle[1]) && kn_ok(by_handle[0]) == kn_ok(by_name[0]));
    kn_scope_end(s, KN_NONE);
}

static void dlpack(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_transpose(kn_from((float[]){1, 2, 3, 4, 5, 6}, KN_F32, KN_SHAPE(2, 3)), 0, 1));
    struct DLManagedTensor *m = kn_to_dlpack(x);
    CHECK(m && m->dl_tensor.ndim == 2 && m->dl_tensor.shape[0] == 3 && m->dl_tensor.strides[0] == 1);
    CHECK(m->dl_tensor.dtype.code == kDLFloat && m->dl_tensor.dtype.bits == 32);
    kn_tensor y = kn_from_dlpack(m);
    CHECK_VALUES(y, 0, 1, 4, 2, 5, 3, 6);
    CHECK_POISON(kn_from_dlpack(NULL), "NULL");
    m = kn_to_dlpack(x);
    m->dl_tensor.device.device_type = kDLCUDA;
    CHECK_POISON(kn_from_dlpack(m), "host memory");
    kn_scope_end(s, KN_NONE);
}

static void prints(kn_tensor t, const char *want)
{
    char text[2048];
    size_t n = kn_format(t, text, sizeof text, NULL);
    CHECK(n == strlen(text));
    if (!CHECK(!strcmp(text, want))) printf("got:\n%s\nwant:\n%s\n", text, want);
}

static void printing(void)
{
    kn_scope s = kn_scope_begin();
    prints(kn_from((float[]){1, 2.5f, -3, 4}, KN_F32, KN_SHAPE(2, 2)),
           "[[ 1.0000,  2.5000],\n [-3.0000,  4.0000]] f32[2, 2]");
    prints(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)), "[1.0, 2.0] f32[2]");
    prints(kn_from((int64_t[]){1, -20, 3}, KN_I64, KN_SHAPE(3)), "[  1, -20,   3] i64[3]");
    prints(kn_from((uint8_t[]){1, 0}, KN_BOOL, KN_SHAPE(2)), "[ true, false] bool[2]");
    prints(kn_from((double[]){1e-10, 1}, KN_F64, KN_SHAPE(2)), "[1.0000e-10, 1.0000e+00] f64[2]");
    prints(kn_from((double[]){__builtin_nan(""), -__builtin_inf()}, KN_F64, KN_SHAPE(2)),
           "[ nan, -inf] f64[2]");
    prints(kn_scalar(3.25, KN_F32), "3.2500 f32[]");
    prints(kn_zeros(KN_SHAPE(0, 3), KN_F32), "[] f32[0, 3]");
    prints(kn_arange(0, 2000, 1, KN_I32), "[   0,    1,    2, ..., 1997, 1998, 1999] i32[2000]");
    kn_scope_end(s, KN_NONE);
}

static void symbolic_sizes(void)
{
    /* A negative size of a user's is no expression, and none is made of it. */
    CHECK(kni_dim_mul(-70000, 2) == KNI_DIM_BAD && kni_dim_add(-5, 3) == KNI_DIM_BAD);
    CHECK(kni_dim_low(-70000) == -70000 && kni_dim_floor_div(-70000, 2) == KNI_DIM_BAD);
    kni_dims *dims = kni_dims_new(), *before = kni_dims_enter(dims);
    kn_dim batch = kni_dim_symbol("batch", 1, 64), two = kni_dim_mul(batch, 2);
    CHECK(kni_dim_mul(2, batch) == two);
    CHECK(kni_dim_low(two) == 2 && kni_dim_high(two) == 128);
    CHECK(kni_dim_floor_div(two, 2) == batch);
    CHECK(kni_dim_sub(two, two) == 0);
    CHECK(kni_dim_equal(batch, 100) == KNI_NO && kni_dim_equal(batch, 7) == KNI_MAYBE &&
          kni_dim_equal(batch, batch) == KNI_YES);
    kn_dim conv = kni_dim_add(kni_dim_floor_div(kni_dim_sub(kni_dim_add(batch, 2), 3), 2), 1);
    CHECK(kni_dim_evaluate(conv, &batch, (int64_t[]){9}, 1) == 5);
    CHECK(kni_dim_mul(INT64_MAX, 2) == KNI_DIM_BAD && kni_dim_sub(1, 2) == KNI_DIM_BAD);
    kni_dims_enter(before);
    kni_dims_free(dims);
}

static void promotion(void)
{
    static const struct {
        kn_dtype a, b, both;
    } rules[] = {{KN_F16, KN_BF16, KN_F32}, {KN_F16, KN_I64, KN_F16}, {KN_U8, KN_I8, KN_I16},
                 {KN_U16, KN_I8, KN_I32},   {KN_U32, KN_I32, KN_I64}, {KN_U64, KN_I64, KN_I64},
                 {KN_BOOL, KN_U8, KN_U8},   {KN_I8, KN_I32, KN_I32},  {KN_F32, KN_F64, KN_F64},
                 {KN_BF16, KN_F32, KN_F32}, {KN_U8, KN_I64, KN_I64},  {KN_U64, KN_U8, KN_U64}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        CHECK(kn_dtype_promote(rules[i].a, rules[i].b) == rules[i].both);
        CHECK(kn_dtype_promote(rules[i].b, rules[i].a) == rules[i].both);
    }
    kn_scope s = kn_scope_begin();
    kn_tensor half = kn_keep(kn_ones(KN_SHAPE(2), KN_F16));
    CHECK(kn_dtype_of(kn_add(half, kn_ones(KN_SHAPE(2), KN_BF16))) == KN_F32);
    CHECK(kn_dtype_of(kn_add(half, kn_ones(KN_SCALAR_SHAPE, KN_F64))) ==
          KN_F16); /* rank 0 widens only across kinds */
    CHECK(kn_dtype_of(kn_add_scalar(kn_ones(KN_SHAPE(2), KN_I32), 0.5)) == KN_F32);
    CHECK(kn_dtype_of(kn_add_scalar(kn_ones(KN_SHAPE(2), KN_I32), 2)) == KN_I32);
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    promotion();
    kn_op_handle h = custom_ops();
    later_result_fails();
    dlpack();
    printing();
    symbolic_sizes();
    CHECK(kn_shutdown() == 0);
    after_shutdown(h);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
