/* matmul_integer and matmul_dequantized on the CPU. A right side without batch axes makes one product of all rows; equal batch axes are one call; others run
   matrix by matrix. */
#include "backend/cpu/gemm_i8_finish.h"
#include "backend/cpu/matmul_run.h"
#include "backend/host/host.h"
#include "core/made_forms.h"
#include "ops/integer_products.h"
#include "ops/native.h"

typedef struct operands {
    kni_gemm_i8_args g;
    kni_borrowed a, b, a_zero, b_zero;
    kni_gemm_i8_finish finish;
    const kni_type *types[2];
} operands;

static void release(operands *o)
{
    kni_borrowed *all[] = {&o->a, &o->b, &o->a_zero, &o->b_zero};
    for (int i = 0; i < 4; i++)
        if (all[i]->data) kni_host_unborrow(all[i]);
    kni_gemm_i8_finish_end(&o->finish);
}

/* The zero points of an operand as one for each row or column of each matrix, or one for all (step 0); `summed` is the axis from the end
   that has none. */
static bool borrow_zeros(const kn_record *r, int i, int summed, kni_borrowed *out, int64_t *step)
{
    kni_tensor *zero = i + 2 < r->n_in ? kni_in(r, i + 2) : NULL;
    if (!zero) return true;
    kni_type shape = kni_in(r, i)->type;
    *step = kni_count(&zero->type) != 1;
    shape.dims[shape.rank - summed] = 1;
    if (!*step) shape = (kni_type){.rank = 1, .dims = {1}};
    return kni_host_borrow_expanded(zero, &shape, KN_I32, out);
}

/* A whole operand of matrices that lie anyhow: their own memory, or a copy in order. */
static bool borrow_matrices(kni_tensor *x, kni_borrowed *out)
{
    return kni_host_borrow(x, x->type.dtype, out);
}

static bool start(operands *o, const kn_record *r)
{
    kni_tensor *a = kni_in(r, 0), *b = kni_in(r, 1);
    const int rank = b->type.rank;
    const bool turned = rank == 2 && b->strides[0] == 1 && b->type.dims[0] != 1; /* read as it lies */
    o->types[0] = &a->type;
    o->types[1] = &b->type;
    o->g = (kni_gemm_i8_args){.m = a->type.dims[a->type.rank - 2],
                              .n = b->type.dims[rank - 1],
                              .k = a->type.dims[a->type.rank - 1],
                              .batch = 1,
                              .a_count = 1,
                              .a_unsigned = a->type.dtype == KN_U8,
                              .b_unsigned = b->type.dtype == KN_U8,
                              .a_row = a->type.dims[a->type.rank - 1],
                              .a_col = 1,
                              .b_row = turned ? 1 : b->type.dims[rank - 1],
                              .b_col = turned ? b->strides[1] : 1,
                              .c_row = b->type.dims[rank - 1]};
    bool good = borrow_matrices(a, &o->a);
    if (turned)
        o->b = (kni_borrowed){kni_pointer(b), 0};
    else
        good = good && borrow_matrices(b, &o->b);
    good = good && borrow_zeros(r, 0, 1, &o->a_zero, &o->g.a_zero_step) &&
           borrow_zeros(r, 1, 2, &o->b_zero, &o->g.b_zero_step) &&
           kni_gemm_i8_finish_start(&o->finish, r, o->g.n, false);
    if (good && !o->b.copy_bytes && kni_count(&b->type) == o->g.k * o->g.n) {
        o->g.b = o->b.data;
        if (kni_form_used(b->storage)) kni_gemm_i8_keep_b(&o->g, b);
    }
    return good;
}

/* The place of matrix number `batch` of the result in an operand whose batch axes broadcast. */
static int64_t matrix_of(const kni_type *y, const kni_type *x, int64_t batch)
{
    int64_t place = 0, step = 1;
    for (int a = 3; a <= y->rank; a++) {
        const int64_t size = y->dims[y->rank - a], at = batch % size;
        const int64_t own = a <= x->rank ? x->dims[x->rank - a] : 1;
        if (own != 1) place += at * step;
        step *= own;
        batch /= size;
    }
    return place;
}

static bool same_batch(const kni_type *y, const kni_type *x)
{
    for (int a = 3; a <= y->rank; a++)
        if ((a <= x->rank ? x->dims[x->rank - a] : 1) != y->dims[y->rank - a]) return false;
    return true;
}

static void place(operands *o, int64_t a, int64_t b)
{
    kni_gemm_i8_args *g = &o->g;
    g->a = (const uint8_t *)o->a.data + a * g->m * g->k;
    g->b = (const uint8_t *)o->b.data + b * g->k * g->n;
    g->a_zero = o->a_zero.data ? (const int32_t *)o->a_zero.data + a * g->m * g->a_zero_step : NULL;
    g->b_zero = o->b_zero.data ? (const int32_t *)o->b_zero.data + b * g->n * g->b_zero_step : NULL;
}

static bool multiply(operands *o, const kni_type *y, void *result)
{
    kni_gemm_i8_args *g = &o->g;
    const int64_t batch = kni_count(y) / g->m / g->n, one = kni_count(o->types[1]) == g->k * g->n;
    place(o, 0, 0);
    kni_gemm_i8_finish_place(&o->finish, g, result, 0);
    if (batch == 1) return kni_gemm_i8(g);
    if (one && same_batch(y, o->types[0])) {
        g->m *= batch;
        return kni_gemm_i8(g);
    }
    if (same_batch(y, o->types[0]) && same_batch(y, o->types[1])) {
        g->batch = g->a_count = batch;
        g->a_batch = g->m * g->k;
        g->b_batch = g->k * g->n;
        g->c_batch = g->m * g->n;
        g->b_zero_batch = g->n * g->b_zero_step;
        return kni_gemm_i8(g);
    }
    for (int64_t i = 0; i < batch; i++) {
        place(o, matrix_of(y, o->types[0], i), matrix_of(y, o->types[1], i));
        kni_gemm_i8_finish_place(&o->finish, g, result, i * g->m * g->n);
        if (!kni_gemm_i8(g)) return false;
    }
    return true;
}

static kn_status run_matmul_integer(const kn_record *r)
{
    kni_tensor *y = kni_out(r, 0);
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    operands o = {.a = {NULL, 0}};
    const bool good = start(&o, r) && multiply(&o, &y->type, y->storage->data);
    release(&o);
    return good ? KN_OK : kni_gemm_no_memory(r->row->name);
}

const kni_native kni_cpu_matmul_integer = {.run = run_matmul_integer};
const kni_native kni_cpu_matmul_dequantized = {.run = run_matmul_integer};
