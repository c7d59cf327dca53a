/* The rows of orthogonal factorisations: qr, eigh, svd. */
#include "ops/generated/linalg_kernels.h"
#include "ops/linalg_rows.h"

static int64_t flag_of(const void *attributes)
{
    return ((const kni_flag_attributes *)attributes)->flag != 0;
}

/* ---- qr */

static kn_status infer_qr(kni_infer *c)
{
    kn_status s = kni_infer_matrix(c, 0);
    if (s) return s;
    const kni_type *a = c->in[0];
    kn_dim m = kni_matrix_rows(a), n = kni_matrix_columns(a),
           k = flag_of(c->attributes) ? m : kni_dim_min(m, n);
    kni_infer_batched(c, 0, a->dtype, m, k);
    kni_infer_batched(c, 1, a->dtype, k, n);
    return KN_OK;
}

static kn_status launch_qr(kni_launch *l)
{
    int64_t m = kni_matrix_rows(l->in[0]), n = kni_matrix_columns(l->in[0]),
            k = kni_matrix_columns(l->out[0]);
    l->kernel = &kni_kernel_qr;
    l->items = kni_matrix_count(l->in[0]);
    l->n_temps = 3;
    l->temps[0] = l->items * m * n;
    l->temps[1] = l->items * m * k;
    l->temps[2] = l->items * n;
    kni_launch_int(l, m);
    kni_launch_int(l, n);
    kni_launch_int(l, k);
    return KN_OK;
}

OP(qr, .doc = "a = q r, q' q = 1, r upper triangular", .min_in = 1, .max_in = 1, .n_out = 2,
   .kind = KNI_LINALG, .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {32, 1},
   .schema = kni_complete_schema, .attribute_bytes = sizeof(kni_flag_attributes), .infer = infer_qr,
   .launch = launch_qr)

kn_qr_result kn_qr(kn_tensor a, bool complete)
{
    kni_flag_attributes attributes = {complete};
    kn_tensor out[2];
    kni_apply_many(&kni_op_qr, &a, 1, &attributes, out, 2);
    return (kn_qr_result){out[0], out[1]};
}

/* ---- eigh */

static kn_status infer_eigh(kni_infer *c)
{
    kn_status s = kni_infer_square(c, 0);
    if (s) return s;
    kni_infer_batched(c, 0, c->in[0]->dtype, kni_matrix_rows(c->in[0]), -1);
    kni_infer_batched(c, 1, c->in[0]->dtype, kni_matrix_rows(c->in[0]), kni_matrix_rows(c->in[0]));
    return KN_OK;
}

static kn_status launch_eigh(kni_launch *l)
{
    int64_t n = kni_matrix_rows(l->in[0]);
    l->kernel = &kni_kernel_eigh;
    l->items = kni_matrix_count(l->in[0]);
    l->n_temps = 3;
    l->temps[0] = l->temps[1] = l->items * n * n;
    l->temps[2] = 3 * l->items * n;
    kni_launch_int(l, n);
    kni_launch_int(l, flag_of(l->attributes));
    return KN_OK;
}

#define NOT_FINITE                                                                                           \
    "matrix %D of the batch has no result: row %D holds a NaN or an infinity, or the steps did not converge"

OP(eigh, .doc = "a v = v diag(values), a symmetric", .min_in = 1, .max_in = 1, .n_out = 2, .kind = KNI_LINALG,
   .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {32, 1}, .schema = kni_upper_schema,
   .attribute_bytes = sizeof(kni_flag_attributes), .infer = infer_eigh, .launch = launch_eigh,
   .report = NOT_FINITE)

kn_eigh_result kn_eigh(kn_tensor a, bool upper)
{
    kni_flag_attributes attributes = {upper};
    kn_tensor out[2];
    kni_apply_many(&kni_op_eigh, &a, 1, &attributes, out, 2);
    return (kn_eigh_result){out[0], out[1]};
}

/* ---- svd */

static kn_status infer_svd(kni_infer *c)
{
    kn_status s = kni_infer_matrix(c, 0);
    if (s) return s;
    const kni_type *a = c->in[0];
    kn_dim m = kni_matrix_rows(a), n = kni_matrix_columns(a), k = kni_dim_min(m, n);
    int64_t full = flag_of(c->attributes);
    kni_infer_batched(c, 0, a->dtype, m, full ? m : k);
    kni_infer_batched(c, 1, a->dtype, k, -1);
    kni_infer_batched(c, 2, a->dtype, full ? n : k, n);
    return KN_OK;
}

static kn_status launch_svd(kni_launch *l)
{
    int64_t m = kni_matrix_rows(l->in[0]), n = kni_matrix_columns(l->in[0]);
    int64_t left = kni_matrix_columns(l->out[0]), right = kni_matrix_rows(l->out[2]);
    int64_t tall = m < n ? n : m, low = m < n ? m : n, wide = m < n ? right : left;
    l->kernel = &kni_kernel_svd;
    l->items = kni_matrix_count(l->in[0]);
    l->n_temps = 4;
    l->temps[0] = l->items * low * tall;
    l->temps[1] = l->items * wide * tall;
    l->temps[2] = l->items * low * low;
    l->temps[3] = l->items * 4 * low;
    kni_launch_int(l, m);
    kni_launch_int(l, n);
    kni_launch_int(l, left);
    kni_launch_int(l, right);
    return KN_OK;
}

OP(svd, .doc = "a = u diag(s) vh", .min_in = 1, .max_in = 1, .n_out = 3, .kind = KNI_LINALG,
   .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {32, 1}, .schema = kni_full_schema,
   .attribute_bytes = sizeof(kni_flag_attributes), .infer = infer_svd, .launch = launch_svd,
   .report = NOT_FINITE)

kn_svd_result kn_svd(kn_tensor a, bool full)
{
    kni_flag_attributes attributes = {full};
    kn_tensor out[3];
    kni_apply_many(&kni_op_svd, &a, 1, &attributes, out, 3);
    return (kn_svd_result){out[0], out[1], out[2]};
}
