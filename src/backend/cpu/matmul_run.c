/* matmul on the CPU: batch axes are merged where the layouts allow it, and transposed or broadcast operands are
   passed to the GEMM by their strides, without a copy. */
#include "backend/cpu/matmul_run.h"
#include "backend/cpu/gemm_lasting.h"
#include "backend/cpu/product_tail.h"
#include "backend/host/host.h"
#include "core/strided_copy.h"
#include "ops/native.h"

kni_gemm_type kni_gemm_type_of(int dtype)
{
    static const uint8_t types[KN_DTYPE_COUNT] = {
        [KN_F64] = KNI_GEMM_F64, [KN_F32] = KNI_GEMM_F32, [KN_F16] = KNI_GEMM_F16, [KN_BF16] = KNI_GEMM_BF16};
    return (kni_gemm_type)types[dtype];
}

kn_status kni_gemm_no_memory(const char *op_name)
{
    return kni_fail_op(KN_ERROR_MEMORY, op_name, "no memory for the packed operands");
}

/* One operand: the matrix in its last axes and its steps through the batch axes of the result. */
typedef struct {
    const char *data;
    int64_t row, col;
    int64_t steps[KN_MAX_RANK];
    int bytes;
} matrices;

typedef struct {
    matrices a, b, y;
    kni_tensor *right; /* whose matrices b is */
    int64_t m, n, k;
    int rank; /* of the batch */
    int64_t dims[KN_MAX_RANK];
    int dtype;
    kni_finish finish;
} product;

static void start_operand(matrices *s, const kni_tensor *x, const char *data, bool left, const product *p)
{
    int rank = x->type.rank, own = rank > 2 ? rank - 2 : 0;
    s->data = data;
    s->bytes = kni_bytes_of(p->dtype);
    s->row = rank > 1 ? x->strides[rank - 2] : left ? 0 : x->strides[0];
    s->col = rank > 1 ? x->strides[rank - 1] : left ? x->strides[0] : 0;
    for (int i = 0; i < p->rank; i++) {
        int from = i - (p->rank - own);
        s->steps[i] = from < 0 || x->type.dims[from] == 1 ? 0 : x->strides[from];
    }
}

/* Merges batch axes that lie behind each other in all three. */
static void merge_batch(product *p)
{
    int64_t strides[3][KN_MAX_RANK];
    if (p->rank == 0) return;
    for (int i = 0; i < KN_MAX_RANK; i++) {
        strides[0][i] = p->a.steps[i];
        strides[1][i] = p->b.steps[i];
        strides[2][i] = p->y.steps[i];
    }
    p->rank = kni_collapse(p->rank, p->dims, 3, strides);
    for (int i = 0; i < p->rank; i++) {
        p->a.steps[i] = strides[0][i];
        p->b.steps[i] = strides[1][i];
        p->y.steps[i] = strides[2][i];
    }
}

/* One b for all of a batch whose rows follow each other: the rows of the batch are the rows of one product. */
static void merge_rows(product *p)
{
    if (p->rank != 1 || p->b.steps[0] != 0 || p->y.steps[0] != p->m * p->y.row) return;
    if (p->m != 1 && p->a.steps[0] != p->m * p->a.row) return;
    p->a.row = p->m == 1 ? p->a.steps[0] : p->a.row;
    p->y.row = p->m == 1 ? p->y.steps[0] : p->y.row;
    p->m *= p->dims[0];
    p->rank = 0;
}

static bool multiply_floats(const product *p, const int64_t offsets[3])
{
    int last = p->rank - 1;
    kni_gemm_type type = kni_gemm_type_of(p->dtype);
    kni_gemm_args g = {.m = p->m,
                       .n = p->n,
                       .k = p->k,
                       .a = p->a.data + offsets[0] * p->a.bytes,
                       .b = p->b.data + offsets[1] * p->b.bytes,
                       .c = (char *)p->y.data + offsets[2] * p->y.bytes,
                       .type_a = type,
                       .type_b = type,
                       .type_c = type,
                       .a_row = p->a.row,
                       .a_col = p->a.col,
                       .b_row = p->b.row,
                       .b_col = p->b.col,
                       .c_row = p->y.row,
                       .c_col = p->y.col,
                       .batch = last < 0 ? 1 : p->dims[last],
                       .a_batch = last < 0 ? 0 : p->a.steps[last],
                       .b_batch = last < 0 ? 0 : p->b.steps[last],
                       .c_batch = last < 0 ? 0 : p->y.steps[last],
                       .alpha = 1,
                       .finish = p->finish,
                       .reproducible = kni_reproducible()};
    kni_gemm_packed packed;
    /* A single row reads b once, which it does as well where it lies, unless that is across. */
    if (p->rank == 0 && (p->m > 1 || g.b_col != 1) && kni_gemm_keeps_b(p->right, p->m) &&
        kni_gemm_lasting_b(&packed, p->right, g.b, type, g.k, g.n, g.b_row, g.b_col))
        g.b_packed = &packed;
    return kni_gemm(&g);
}

static bool multiply_integers(const product *p, const int64_t offsets[3])
{
    int last = p->rank - 1;
    int64_t batch = last < 0 ? 1 : p->dims[last];
    for (int64_t i = 0; i < batch; i++) {
        int64_t a = offsets[0] + (last < 0 ? 0 : i * p->a.steps[last]);
        int64_t b = offsets[1] + (last < 0 ? 0 : i * p->b.steps[last]);
        int64_t y = offsets[2] + (last < 0 ? 0 : i * p->y.steps[last]);
        kni_gemm_int_args g = {.m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .a = p->a.data + a * p->a.bytes,
                               .b = p->b.data + b * p->b.bytes,
                               .c = (char *)p->y.data + y * p->y.bytes,
                               .a_row = p->a.row,
                               .a_col = p->a.col,
                               .b_row = p->b.row,
                               .b_col = p->b.col,
                               .c_row = p->y.row,
                               .c_col = p->y.col};
        (p->a.bytes == 8 ? kni_gemm_i64 : kni_gemm_i32)(&g);
    }
    return true;
}

/* All products; the innermost batch axis is one call. */
static bool multiply(product *p)
{
    merge_batch(p);
    merge_rows(p);
    bool floats = kni_dtypes[p->dtype].kind == KNI_KIND_FLOAT;
    int64_t outer = kni_count_dims(p->rank > 0 ? p->rank - 1 : 0, p->dims), index[KN_MAX_RANK] = {0};
    int64_t offsets[3] = {0, 0, 0};
    for (int64_t i = 0; i < outer; i++) {
        if (!(floats ? multiply_floats : multiply_integers)(p, offsets)) return false;
        for (int a = p->rank - 2; a >= 0; a--) {
            bool wraps = ++index[a] == p->dims[a];
            int64_t by = wraps ? 1 - p->dims[a] : 1;
            if (wraps) index[a] = 0;
            offsets[0] += by * p->a.steps[a];
            offsets[1] += by * p->b.steps[a];
            offsets[2] += by * p->y.steps[a];
            if (!wraps) break;
        }
    }
    return true;
}

static void start_product(product *p, const kn_record *r, const char *a, const char *b, char *y)
{
    const kni_tensor *x0 = kni_in(r, 0), *x1 = kni_in(r, 1), *out = kni_out(r, 0);
    p->right = kni_in(r, 1);
    int rank_a = x0->type.rank, rank_b = x1->type.rank;
    p->m = rank_a > 1 ? x0->type.dims[rank_a - 2] : 1;
    p->n = rank_b > 1 ? x1->type.dims[rank_b - 1] : 1;
    p->k = x0->type.dims[rank_a - 1];
    p->rank = out->type.rank - (rank_a > 1) - (rank_b > 1);
    for (int i = 0; i < p->rank; i++) p->dims[i] = out->type.dims[i];
    start_operand(&p->a, x0, a, true, p);
    start_operand(&p->b, x1, b, false, p);
    p->y = (matrices){.data = y, .row = p->n, .col = 1, .bytes = p->a.bytes};
    int64_t step = p->m * p->n;
    for (int i = p->rank - 1; i >= 0; i--) {
        p->y.steps[i] = step;
        step *= p->dims[i];
    }
}

/* i8 to u16 are multiplied as i32, whose low bits are theirs. */
static kn_status run_small_integers(const kn_record *r)
{
    kni_tensor *out = kni_out(r, 0), wide[2] = {*kni_in(r, 0), *kni_in(r, 1)};
    kni_borrowed a, b;
    int64_t n = kni_count(&out->type), bytes = kn_dtype_bytes(KN_I32, n);
    if (!kni_host_borrow(kni_in(r, 0), KN_I32, &a)) return KN_ERROR_MEMORY;
    if (!kni_host_borrow(kni_in(r, 1), KN_I32, &b)) {
        kni_host_unborrow(&a);
        return KN_ERROR_MEMORY;
    }
    void *sums = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
    if (sums) {
        product p = {.dtype = KN_I32};
        for (int i = 0; i < 2; i++)
            kni_contiguous_strides(wide[i].type.rank, wide[i].type.dims, wide[i].strides);
        start_product(&p, r, a.data, b.data, sums);
        start_operand(&p.a, &wide[0], a.data, true, &p);
        start_operand(&p.b, &wide[1], b.data, false, &p);
        (void)multiply(&p);
        kni_convert(out->storage->data, out->type.dtype, 1, sums, KN_I32, 1, n);
        kni_free(sums, (size_t)bytes);
    }
    kni_host_unborrow(&a);
    kni_host_unborrow(&b);
    return sums ? KN_OK : kni_gemm_no_memory(r->row->name);
}

static kn_status run_matmul_product(const kn_record *r, const kni_product_tail *tail)
{
    kni_tensor *out = kni_out(r, 0);
    if (kni_dtypes[out->type.dtype].kind == KNI_KIND_FLOAT && !kni_gemm_takes(out->type.dtype))
        return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(out);
    if (s || kni_count(&out->type) == 0) return s;
    if (kni_dtypes[out->type.dtype].bits < 32 && kni_dtypes[out->type.dtype].kind != KNI_KIND_FLOAT)
        return run_small_integers(r);
    product p = {.dtype = out->type.dtype, .finish = kni_product_bounds(tail)};
    start_product(&p, r, kni_pointer(kni_in(r, 0)), kni_pointer(kni_in(r, 1)), out->storage->data);
    if (!multiply(&p)) return kni_gemm_no_memory(r->row->name);
    if (tail && kni_product_bounds(tail).kind == KNI_FINISH_NONE) tail->whole(tail);
    return KN_OK;
}

static kn_status run_matmul(const kn_record *r) { return run_matmul_product(r, NULL); }

#ifndef KN_FREESTANDING
const kni_native kni_cpu_matmul = {.run = run_matmul, .run_product = run_matmul_product};
#else
const kni_native kni_cpu_matmul = {.run = run_matmul};
#endif
