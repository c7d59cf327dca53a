/* linear_quantized on the CPU: few rows of x are multiplied with the weight as it lies, which is read once for several of them; for more
   rows parts of the weight become f32 and are multiplied as such. */
#include "backend/cpu/isa.h"
#include "backend/cpu/matmul_run.h"
#include "backend/cpu/weights_kernels.h"
#include "backend/host/host.h"
#include "core/allocator.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/quantized_weights.h"

static const kni_weights_kernels *const kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_weights_f32);

enum { FEW = 24, OUTPUTS = 32, PART_BYTES = 1 << 19, LEAST_PART = 64 };

/* Scales or zero points: element [j * row + b * column] belongs to block b of output j. */
typedef struct spread {
    kni_borrowed data;
    int64_t row, column;
} spread;

typedef struct job {
    const kni_weights_kernels *kernels;
    const float *x, *bias;
    const uint8_t *w;
    float *y, *part;
    int64_t m, n, k, block, first;
    bool is_signed;
    spread scale, zero;
} job;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The weights of output j. */
static kni_weights_row row_of(const job *z, int64_t j)
{
    static const float none = 0;
    const float *scales = z->scale.data.data, *zeros = z->zero.data.data;
    return (kni_weights_row){.w = z->w + j * z->k,
                             .k = z->k,
                             .block = z->block,
                             .is_signed = z->is_signed,
                             .scales = scales + j * z->scale.row,
                             .zeros = zeros ? zeros + j * z->zero.row : &none,
                             .scale_step = z->scale.column,
                             .zero_step = z->zero.column};
}

static void multiply_outputs(void *context, int64_t task, int worker)
{
    const job *z = context;
    const int64_t last = smaller(z->n, (task + 1) * OUTPUTS);
    (void)worker;
    for (int64_t i = 0; i < z->m; i += KNI_WEIGHTS_ROWS)
        for (int64_t j = task * OUTPUTS; j < last; j++) {
            const kni_weights_row row = row_of(z, j);
            const int rows = (int)smaller(KNI_WEIGHTS_ROWS, z->m - i);
            float sums[KNI_WEIGHTS_ROWS];
            z->kernels->multiply(sums, z->x + i * z->k, z->k, rows, &row);
            for (int r = 0; r < rows; r++)
                z->y[(i + r) * z->n + j] = z->bias ? sums[r] + z->bias[j] : sums[r];
        }
}

static void make_reals(void *context, int64_t task, int worker)
{
    const job *z = context;
    const kni_weights_row row = row_of(z, z->first + task);
    (void)worker;
    z->kernels->to_reals(z->part + task * z->k, &row);
}

static bool multiply_parts(job *z)
{
    int64_t width = PART_BYTES / (int64_t)sizeof(float) / (z->k + 1) / LEAST_PART * LEAST_PART;
    if (width < LEAST_PART) width = LEAST_PART;
    const size_t bytes = (size_t)(width * z->k + 1) * sizeof(float);
    bool good = true;
    z->part = kni_allocate(bytes);
    if (!z->part) return false;
    for (z->first = 0; good && z->first < z->n; z->first += width) {
        const int64_t columns = smaller(width, z->n - z->first);
        kni_parallel_for(columns, make_reals, z);
        kni_gemm_args g = {.m = z->m,
                           .n = columns,
                           .k = z->k,
                           .a = z->x,
                           .b = z->part,
                           .c = z->y + z->first,
                           .type_a = KNI_GEMM_F32,
                           .type_b = KNI_GEMM_F32,
                           .type_c = KNI_GEMM_F32,
                           .a_row = z->k,
                           .a_col = 1,
                           .b_row = 1,
                           .b_col = z->k,
                           .c_row = z->n,
                           .c_col = 1,
                           .alpha = 1,
                           .bias = z->bias ? z->bias + z->first : NULL,
                           .bias_kind = z->bias ? KNI_GEMM_BIAS_PER_COLUMN : KNI_GEMM_NO_BIAS,
                           .bias_stride = 1,
                           .reproducible = kni_reproducible()};
        good = kni_gemm(&g);
    }
    kni_free(z->part, bytes);
    return good;
}

static bool borrow_spread(const kn_record *r, int i, spread *s)
{
    kni_tensor *t = i < r->n_in ? kni_in(r, i) : NULL;
    if (!t) return true;
    const kni_type *type = &t->type;
    const bool one = kni_count(type) == 1;
    s->row = one ? 0 : type->rank == 2 ? type->dims[1] : 1;
    s->column = type->rank == 2 && !one;
    return kni_host_borrow(t, KN_F32, &s->data);
}

static kn_status run_linear_quantized(const kn_record *r)
{
    kni_tensor *x = kni_in(r, KNI_WEIGHTS_X), *w = kni_in(r, KNI_WEIGHTS_W), *y = kni_out(r, 0);
    kni_tensor *bias = r->n_in > KNI_WEIGHTS_BIAS ? kni_in(r, KNI_WEIGHTS_BIAS) : NULL;
    kni_borrowed in[3] = {{NULL, 0}};
    job z = {.kernels = kernels[kni_cpu_tier()],
             .n = w->type.dims[0],
             .k = w->type.dims[1],
             .block = ((const kni_weights_attributes *)r->attributes)->block,
             .is_signed = w->type.dtype == KN_I8};
    const int64_t bits = ((const kni_weights_attributes *)r->attributes)->bits;
    if (bits && bits != 8) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    const bool blocks = kni_in(r, KNI_WEIGHTS_SCALE)->type.rank == 2;
    if (!blocks || z.block < 1 || z.block > z.k) z.block = z.k > 0 ? z.k : 1;
    bool good = kni_host_borrow(x, KN_F32, &in[0]) && kni_host_borrow(w, w->type.dtype, &in[1]) &&
                (!bias || kni_host_borrow(bias, KN_F32, &in[2])) &&
                borrow_spread(r, KNI_WEIGHTS_SCALE, &z.scale) && borrow_spread(r, KNI_WEIGHTS_ZERO, &z.zero);
    z.x = in[0].data, z.w = in[1].data, z.bias = in[2].data;
    z.y = y->storage->data;
    z.m = kni_count(&y->type) / z.n;
    if (good && z.m <= FEW)
        kni_parallel_for((z.n + OUTPUTS - 1) / OUTPUTS, multiply_outputs, &z);
    else if (good)
        good = multiply_parts(&z);
    for (int i = 0; i < 3; i++)
        if (in[i].data) kni_host_unborrow(&in[i]);
    if (z.scale.data.data) kni_host_unborrow(&z.scale.data);
    if (z.zero.data.data) kni_host_unborrow(&z.zero.data);
    return good ? KN_OK : kni_gemm_no_memory(r->row->name);
}

const kni_native kni_cpu_linear_quantized = {.run = run_linear_quantized};
