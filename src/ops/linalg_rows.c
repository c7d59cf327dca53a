/* Shape rules and small steps that the rows, gradients and composites of linear algebra share. */
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"

const kn_attribute kni_upper_schema[] = {
    {"upper", KNI_ATTR_INT, KNI_STATIC, (uint16_t)offsetof(kni_flag_attributes, flag)}, {0}};
const kn_attribute kni_strict_schema[] = {
    {"strict", KNI_ATTR_INT, KNI_STATIC, (uint16_t)offsetof(kni_flag_attributes, flag)}, {0}};
const kn_attribute kni_complete_schema[] = {
    {"complete", KNI_ATTR_INT, KNI_STATIC, (uint16_t)offsetof(kni_flag_attributes, flag)}, {0}};
const kn_attribute kni_full_schema[] = {
    {"full", KNI_ATTR_INT, KNI_STATIC, (uint16_t)offsetof(kni_flag_attributes, flag)}, {0}};

kn_status kni_infer_matrix(const kni_infer *c, int i)
{
    kn_status s = kni_infer_dtype(c, i, c->row->dtypes);
    return s ? s : kni_infer_rank(c, i, 2, KN_MAX_RANK);
}

kn_status kni_infer_square(const kni_infer *c, int i)
{
    kn_status s = kni_infer_matrix(c, i);
    if (s) return s;
    const kni_type *t = c->in[i];
    if (kni_dims_agree(kni_matrix_rows(t), kni_matrix_columns(t))) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "needs square matrices: the last two axes of %S are %D and %D",
                          t, kni_matrix_rows(t), kni_matrix_columns(t));
}

void kni_infer_batched(const kni_infer *c, int k, int dtype, kn_dim rows, kn_dim columns)
{
    const kni_type *x = c->in[0];
    kni_type *y = c->out[k];
    int rank = x->rank - 2;
    for (int i = 0; i < rank; i++) y->dims[i] = x->dims[i];
    if (rows != -1) y->dims[rank++] = rows;
    if (columns != -1) y->dims[rank++] = columns;
    y->rank = (uint8_t)rank;
    y->dtype = (uint8_t)dtype;
}

int64_t kni_matrix_count(const kni_type *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank - 2; i++) n *= t->dims[i];
    return n;
}

const kni_type *kni_matrices(kn_tensor a, const char *name)
{
    const kni_type *t = kni_type_of(a);
    if (t && t->rank >= 2) return t;
    if (t) kni_fail_op(KN_ERROR_SHAPE, name, "needs at least two axes, not %S", t);
    return NULL;
}

kn_tensor kni_no_matrices(const char *name, kn_tensor a)
{
    if (kni_is_poisoned(a)) return a;
    if (kni_type_of(a)) return kni_poison_latest();
    const kni_tensor *x = kni_resolve(a, name);
    kn_tensor error;
    return x && kni_tensor_failed(x, &error) ? error : kni_poison_latest();
}

kn_tensor kni_transposed(kn_tensor x) { return kn_transpose(x, -2, -1); }
kn_tensor kni_rows_of(kn_tensor x, int64_t start, int64_t n) { return kn_narrow(x, -2, start, n); }
kn_tensor kni_columns_of(kn_tensor x, int64_t start, int64_t n) { return kn_narrow(x, -1, start, n); }

kni_context kni_stand_by(kn_tensor x)
{
    kni_thread *t = kni_thread_self();
    const kni_tensor *slot = kni_peek(x);
    kni_context before = kni_context_push(t);
    if (slot) t->context.current = slot->device;
    return before;
}

void kni_stand_back(kni_context before) { kni_context_pop(kni_thread_self(), &before); }

kn_tensor kni_unit_like(kn_tensor x, int64_t n)
{
    kni_context before = kni_stand_by(x);
    kn_tensor unit = kn_eye(n, n, kn_dtype_of(x));
    kni_stand_back(before);
    return unit;
}

kn_tensor kni_solve_left(kn_tensor a, kn_tensor b, bool upper, bool transpose, bool unit)
{
    kni_triangular_attributes attributes = {upper, transpose, unit};
    kn_tensor in[2] = {a, b};
    return kni_apply(&kni_op_triangular_solve, in, 2, &attributes);
}

kn_tensor kni_solve_right(kn_tensor b, kn_tensor a, bool upper, bool transpose, bool unit)
{
    return kni_transposed(kni_solve_left(a, kni_transposed(b), upper, !transpose, unit));
}

/* The permutation as an index of x's shape. */
static kn_tensor row_index(kn_tensor permutation, kn_shape shape)
{
    return kn_expand(kn_unsqueeze(permutation, -1), shape);
}

kn_tensor kni_permute_rows(kn_tensor x, kn_tensor permutation)
{
    if (!kn_ok(x)) return x;
    return kn_gather(x, -2, row_index(permutation, kn_shape_of_tensor(x)));
}

kn_tensor kni_unpermute_rows(kn_tensor x, kn_tensor permutation)
{
    if (!kn_ok(x)) return x;
    kn_tensor index = row_index(permutation, kn_shape_of_tensor(x));
    return kn_scatter(kn_zeros_like(x), -2, index, x, KN_UPDATE_ADD);
}

/* Appends the matrix axes of t to a batch. */
static kn_shape with_matrix(const kni_type *t, int batch, const int64_t *dims)
{
    kn_shape s = {.rank = batch + 2};
    for (int i = 0; i < batch; i++) s.dims[i] = dims[i];
    s.dims[batch] = kni_matrix_rows(t);
    s.dims[batch + 1] = kni_matrix_columns(t);
    return s;
}

void kni_broadcast_batches(kn_tensor *a, kn_tensor *b)
{
    const kni_type *ta = kni_type_of(*a), *tb = kni_type_of(*b);
    if (!ta || !tb || ta->rank < 2 || tb->rank < 2) return;
    int batch_a = ta->rank - 2, batch_b = tb->rank - 2, batch = batch_a > batch_b ? batch_a : batch_b;
    int64_t dims[KN_MAX_RANK];
    bool same = batch_a == batch_b;
    for (int i = 0; i < batch; i++) {
        int from_a = i - (batch - batch_a), from_b = i - (batch - batch_b);
        int64_t da = from_a < 0 ? 1 : ta->dims[from_a], db = from_b < 0 ? 1 : tb->dims[from_b];
        if (da != db && da != 1 && db != 1) return; /* the op's rule tells */
        same &= da == db;
        dims[i] = da == 1 ? db : da;
    }
    if (same) return;
    kn_shape shape_a = with_matrix(ta, batch, dims), shape_b = with_matrix(tb, batch, dims);
    *a = kn_expand(*a, shape_a);
    *b = kn_expand(*b, shape_b);
}
