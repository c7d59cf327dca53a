/* linear on the CPU: one GEMM whose right side is the weight read transposed, with the bias added to each finished
   block. */
#include "backend/cpu/gemm_lasting.h"
#include "backend/cpu/matmul_run.h"
#include "backend/cpu/product_tail.h"
#include "backend/host/host.h"
#include "core/strided_copy.h"
#include "ops/native.h"

/* The step between the rows of x when one step leads through all of them. */
static bool row_step(const kni_tensor *x, int64_t *step)
{
    int rank = x->type.rank - 1;
    int64_t dims[KN_MAX_RANK], strides[1][KN_MAX_RANK];
    *step = 0;
    if (rank == 0) return true;
    for (int i = 0; i < rank; i++) {
        dims[i] = x->type.dims[i];
        strides[0][i] = x->strides[i];
    }
    if (kni_collapse(rank, dims, 1, strides) > 1) return false;
    *step = strides[0][0];
    return true;
}

static kn_status run_linear_product(const kn_record *r, const kni_product_tail *tail)
{
    kni_tensor *x = kni_in(r, 0), *w = kni_in(r, 1), *bias = r->n_in > 2 ? kni_in(r, 2) : NULL,
               *y = kni_out(r, 0);
    if (kni_dtypes[x->type.dtype].kind != KNI_KIND_FLOAT || !kni_gemm_takes(x->type.dtype))
        return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(y);
    int64_t n = w->type.dims[0], k = w->type.dims[1], step;
    if (s || kni_count(&y->type) == 0) return s;
    kni_borrowed rows = {kni_pointer(x), 0};
    int64_t element = x->strides[x->type.rank - 1];
    if (!row_step(x, &step)) {
        if (!kni_host_borrow(x, x->type.dtype, &rows)) return KN_ERROR_MEMORY;
        step = k;
        element = 1;
    }
    kni_gemm_type type = kni_gemm_type_of(x->type.dtype);
    kni_gemm_args g = {.m = kni_count(&y->type) / n,
                       .n = n,
                       .k = k,
                       .a = rows.data,
                       .b = kni_pointer(w),
                       .c = y->storage->data,
                       .type_a = type,
                       .type_b = type,
                       .type_c = type,
                       .a_row = step,
                       .a_col = element,
                       .b_row = w->strides[1],
                       .b_col = w->strides[0],
                       .c_row = n,
                       .c_col = 1,
                       .alpha = 1,
                       .bias = bias ? kni_pointer(bias) : NULL,
                       .bias_kind = bias ? KNI_GEMM_BIAS_PER_COLUMN : KNI_GEMM_NO_BIAS,
                       .bias_stride = bias ? bias->strides[0] : 0,
                       .finish = kni_product_bounds(tail),
                       .reproducible = kni_reproducible()};
    kni_gemm_packed packed;
    if (kni_gemm_keeps_b(w, g.m) && kni_gemm_lasting_b(&packed, w, g.b, type, k, n, g.b_row, g.b_col))
        g.b_packed = &packed;
    bool good = kni_gemm(&g);
    kni_host_unborrow(&rows);
    if (good && tail && kni_product_bounds(tail).kind == KNI_FINISH_NONE) tail->whole(tail);
    return good ? KN_OK : kni_gemm_no_memory(r->row->name);
}

static kn_status run_linear(const kn_record *r) { return run_linear_product(r, NULL); }

#ifndef KN_FREESTANDING
const kni_native kni_cpu_linear = {.run = run_linear, .run_product = run_linear_product};
#else
const kni_native kni_cpu_linear = {.run = run_linear};
#endif
