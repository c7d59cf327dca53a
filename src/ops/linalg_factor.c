/* The rows of triangular factorisations and systems: cholesky, triangular_solve, lu, solve, det, cofactor. */
#include "ops/generated/linalg_kernels.h"
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/wide.h"

extern const kni_native kni_cpu_cholesky, kni_cpu_triangular_solve, kni_cpu_lu;

/* ---- cholesky */

static kn_status infer_square_same(kni_infer *c)
{
    kn_status s = kni_infer_square(c, 0);
    return s ? s : kni_infer_same(c);
}

static kn_status launch_cholesky(kni_launch *l)
{
    l->kernel = &kni_kernel_cholesky;
    l->items = kni_matrix_count(l->in[0]);
    kni_launch_int(l, kni_matrix_rows(l->in[0]));
    kni_launch_int(l, ((const kni_flag_attributes *)l->attributes)->flag);
    return KN_OK;
}

OP(cholesky, .doc = "l l' = a, l lower triangular; or l'", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_LINALG, .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = kni_upper_schema, .attribute_bytes = sizeof(kni_flag_attributes), .infer = infer_square_same,
   .launch = launch_cholesky, .native = &kni_cpu_cholesky,
   .report = "matrix %D of the batch is not positive definite: its leading minor of order %D is not positive")

kn_tensor kn_cholesky(kn_tensor a, bool upper)
{
    kni_flag_attributes attributes = {upper};
    return kni_apply(&kni_op_cholesky, &a, 1, &attributes);
}

/* ---- triangular_solve */

static const kn_attribute triangular_schema[] = {
    KNI_ATTR(kni_triangular_attributes, upper, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_triangular_attributes, transpose, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_triangular_attributes, unit, KNI_ATTR_INT, KNI_STATIC),
    {0}};

/* Operand 0 is square, operand 1 has as many rows and the same batch; the result has the type of operand 1. */
static kn_status infer_system(kni_infer *c)
{
    kn_status s = kni_infer_square(c, 0);
    if (s == KN_OK) s = kni_infer_matrix(c, 1);
    if (s) return s;
    const kni_type *a = c->in[0], *b = c->in[1];
    if (a->dtype != b->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "operands are %T and %T: convert one with kn_cast()",
                              (int)a->dtype, (int)b->dtype);
    if (!kni_dims_agree(kni_matrix_rows(a), kni_matrix_rows(b)))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "a %S needs a right side of %D rows, not %S", a,
                              kni_matrix_rows(a), b);
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank - 2; i++) same = kni_dims_agree(a->dims[i], b->dims[i]);
    if (!same)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the leading axes do not broadcast: a %S, right side %S", a,
                              b);
    *c->out[0] = *b;
    c->out[0]->weak = 0;
    return KN_OK;
}

static kn_status launch_triangular_solve(kni_launch *l)
{
    const kni_triangular_attributes *t = l->attributes;
    l->kernel = &kni_kernel_triangular_solve;
    l->items = kni_matrix_count(l->in[0]);
    kni_launch_int(l, kni_matrix_rows(l->in[1]));
    kni_launch_int(l, kni_matrix_columns(l->in[1]));
    kni_launch_int(l, t->upper != 0);
    kni_launch_int(l, t->transpose != 0);
    kni_launch_int(l, t->unit != 0);
    return KN_OK;
}

OP(triangular_solve, .doc = "x with a x = b, a triangular", .min_in = 2, .max_in = 2, .n_out = 1,
   .kind = KNI_LINALG, .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = triangular_schema, .attribute_bytes = sizeof(kni_triangular_attributes), .infer = infer_system,
   .launch = launch_triangular_solve, .native = &kni_cpu_triangular_solve)

kn_tensor kn_triangular_solve(kn_tensor a, kn_tensor b, const kn_triangular_args *args)
{
    static const kn_triangular_args defaults;
    if (!args) args = &defaults;
    kni_call call = kni_call_begin("triangular_solve");
    kni_broadcast_batches(&a, &b);
    kn_tensor x = args->right ? kni_solve_right(b, a, args->upper, args->transpose, args->unit)
                              : kni_solve_left(a, b, args->upper, args->transpose, args->unit);
    return kni_call_end(call, x);
}

/* ---- lu: packed factors, permutation, its sign */

static kn_status infer_lu(kni_infer *c)
{
    kn_status s = kni_infer_matrix(c, 0);
    if (s) return s;
    const kni_type *a = c->in[0];
    kni_infer_batched(c, 0, a->dtype, kni_matrix_rows(a), kni_matrix_columns(a));
    kni_infer_batched(c, 1, KN_I64, kni_matrix_rows(a), -1);
    kni_infer_batched(c, 2, a->dtype, -1, -1);
    return KN_OK;
}

static kn_status launch_lu(kni_launch *l)
{
    l->kernel = &kni_kernel_lu;
    l->items = kni_matrix_count(l->in[0]);
    kni_launch_int(l, kni_matrix_rows(l->in[0]));
    kni_launch_int(l, kni_matrix_columns(l->in[0]));
    kni_launch_int(l, ((const kni_flag_attributes *)l->attributes)->flag);
    return KN_OK;
}

OP(lu, .doc = "a[p] = l u: packed factors, p and its sign", .min_in = 1, .max_in = 1, .n_out = 3,
   .kind = KNI_LINALG, .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = kni_strict_schema, .attribute_bytes = sizeof(kni_flag_attributes), .infer = infer_lu,
   .launch = launch_lu, .native = &kni_cpu_lu,
   .report = "matrix %D of the batch is singular: column %D has no pivot")

kni_lu_parts kni_lu_factor(kn_tensor a, bool strict)
{
    kni_flag_attributes attributes = {strict};
    kn_tensor out[3];
    kni_apply_many(&kni_op_lu, &a, 1, &attributes, out, 3);
    return (kni_lu_parts){out[0], out[1], out[2]};
}

/* ---- solve */

static kn_status lower_solve(kni_lowering *l)
{
    kni_lu_parts f = kni_lu_factor(l->in[0], true);
    kn_tensor lu = kn_keep(f.lu), b = kni_permute_rows(l->in[1], f.permutation);
    l->out[0] = kni_solve_left(lu, kni_solve_left(lu, b, false, false, true), true, false, false);
    return KN_OK;
}

OP(solve, .doc = "x with a x = b", .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_LINALG,
   .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .dtypes = KNI_FLOATS, .tolerance = {32, 1},
   .infer = infer_system, .lower = lower_solve)

/* Whether b is a batch of vectors for a: rank 1, or the shape of a without its last axis. */
static bool holds_vectors(const kni_type *a, const kni_type *b)
{
    if (b->rank == 1) return true;
    if (b->rank != a->rank - 1) return false;
    for (int i = 0; i < b->rank; i++)
        if (b->dims[i] != a->dims[i]) return false;
    return true;
}

kn_tensor kn_solve(kn_tensor a, kn_tensor b)
{
    const kni_type *ta = kni_type_of(a), *tb = kni_type_of(b);
    bool vectors = ta && tb && ta->rank >= 2 && holds_vectors(ta, tb);
    kni_call call = kni_call_begin("solve");
    if (vectors) b = kn_unsqueeze(b, -1);
    kni_broadcast_batches(&a, &b);
    kn_tensor x = kni_binary(&kni_op_solve, a, b);
    return kni_call_end(call, vectors ? kn_squeeze(x, -1) : x);
}

kn_tensor kn_inverse(kn_tensor a)
{
    const kni_type *t = kni_type_of(a);
    kni_call call = kni_call_begin("inverse");
    kn_tensor unit = t && t->rank ? kni_unit_like(a, kni_matrix_columns(t)) : a;
    kni_broadcast_batches(&a, &unit);
    return kni_call_end(call, kni_binary(&kni_op_solve, a, unit));
}

/* ---- det and its derivative */

static kn_status infer_det(kni_infer *c)
{
    kn_status s = kni_infer_square(c, 0);
    if (s) return s;
    kni_infer_batched(c, 0, c->in[0]->dtype, -1, -1);
    return KN_OK;
}

static kn_status launch_det(kni_launch *l)
{
    int64_t n = kni_matrix_rows(l->in[0]);
    l->kernel = &kni_kernel_det;
    l->items = kni_matrix_count(l->in[0]);
    l->n_temps = 1;
    l->temps[0] = l->items * n * n;
    kni_launch_int(l, n);
    return KN_OK;
}

static kn_status launch_cofactor(kni_launch *l)
{
    int64_t n = kni_matrix_rows(l->in[0]);
    l->kernel = &kni_kernel_cofactor;
    l->items = kni_matrix_count(l->in[0]);
    l->n_temps = 2;
    l->temps[0] = 2 * l->items * n * n;
    l->temps[1] = 2 * l->items * n;
    kni_launch_int(l, n);
    return KN_OK;
}

OP(det, .doc = "the determinant of a", .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_LINALG,
   .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {32, 1}, .infer = infer_det,
   .launch = launch_det)
OP(cofactor, .doc = "det(a) a^-T, continued to singular a", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_LINALG, .flags = KNI_FLAG_WIDE, .dtypes = KNI_FLOATS, .tolerance = {32, 1},
   .infer = infer_square_same, .launch = launch_cofactor)

kn_tensor kn_det(kn_tensor a) { return kni_unary(&kni_op_det, a); }
