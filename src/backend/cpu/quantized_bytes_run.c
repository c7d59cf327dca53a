/* Elementwise ops on quantized bytes on the CPU: each is one walk over its operands, strip by strip. */
#include "backend/cpu/isa.h"
#include "backend/cpu/quantize_kernels.h"
#include "backend/host/host.h"
#include "core/allocator.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/quantized_bytes.h"
#include <string.h>

static const kni_quantize_kernels *const kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_quantize_f32);

enum { PIECE = 1 << 14, STRIP = 1024 };

/* One operand or the result: bytes with their scale. */
typedef struct bytes {
    uint8_t *data;
    bool is_signed;
    float scale, zero;
} bytes;

typedef struct job {
    const kni_quantize_kernels *kernels;
    bytes a, b, y;
    float *reals;      /* the operand or result in f32 */
    int64_t n, period; /* period: after so many elements b begins again, of which there are a strip more */
    bool multiplies;
    void (*strip)(const struct job *j, int64_t first, int64_t n);
} job;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static float number_of(const kn_record *r, int i)
{
    float value = 0;
    kni_tensor *t = kni_in(r, i);
    kni_convert(&value, KN_F32, 1, kni_pointer(t), t->type.dtype, 1, 1);
    return value;
}

static bytes scaled(const kn_record *r, void *data, int dtype, int scale)
{
    return (bytes){data, dtype == KN_I8, number_of(r, scale), number_of(r, scale + 1)};
}

static void run_piece(void *context, int64_t task, int worker)
{
    const job *j = context;
    const int64_t end = smaller(j->n, (task + 1) * PIECE);
    (void)worker;
    for (int64_t first = task * PIECE; first < end; first += STRIP)
        j->strip(j, first, smaller(STRIP, end - first));
}

static void run(job *j)
{
    j->kernels = kernels[kni_cpu_tier()];
    kni_parallel_for((j->n + PIECE - 1) / PIECE, run_piece, j);
}

static void back_strip(const job *j, int64_t first, int64_t n)
{
    j->kernels->to_reals(j->reals + first, j->a.data + first, n, j->a.is_signed, j->a.zero, j->a.scale);
}

static void there_strip(const job *j, int64_t first, int64_t n)
{
    j->kernels->to_bytes(j->y.data + first, j->reals + first, n, j->y.is_signed, j->y.scale, j->y.zero);
}

static void table_strip(const job *j, int64_t first, int64_t n)
{
    const uint8_t flip = j->a.is_signed ? 0x80 : 0;
    const bool permutes = j->kernels->permute && kni_cpu_has_byte_permutes();
    (permutes ? j->kernels->permute : j->kernels->look_up)(j->y.data + first, j->a.data + first, n, flip,
                                                           j->b.data);
}

static void binary_strip(const job *j, int64_t first, int64_t n)
{
    float a[STRIP], b[STRIP];
    j->kernels->to_reals(a, j->a.data + first, n, j->a.is_signed, j->a.zero, j->a.scale);
    const uint8_t *from = j->b.data + (j->period < j->n ? first % j->period : first);
    j->kernels->to_reals(b, from, n, j->b.is_signed, j->b.zero, j->b.scale);
    j->kernels->combine(a, b, n, j->multiplies);
    j->kernels->to_bytes(j->y.data + first, a, n, j->y.is_signed, j->y.scale, j->y.zero);
}

static kn_status run_quantize_bytes(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_borrowed in;
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    if (!kni_host_borrow(x, KN_F32, &in)) return KN_ERROR_MEMORY;
    job j = {.reals = in.data, .n = kni_count(&x->type), .strip = there_strip};
    j.y = scaled(r, y->storage->data, y->type.dtype, 1);
    run(&j);
    kni_host_unborrow(&in);
    return KN_OK;
}

static kn_status run_dequantize_bytes(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_borrowed in;
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    if (!kni_host_borrow(x, x->type.dtype, &in)) return KN_ERROR_MEMORY;
    job j = {.reals = (float *)y->storage->data, .n = kni_count(&x->type), .strip = back_strip};
    j.a = scaled(r, in.data, x->type.dtype, 1);
    run(&j);
    kni_host_unborrow(&in);
    return KN_OK;
}

static kn_status run_byte_table(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *table = kni_in(r, 1), *y = kni_out(r, 0);
    kni_borrowed in = {NULL, 0}, entries = {NULL, 0};
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    if (kni_host_borrow(x, x->type.dtype, &in) && kni_host_borrow(table, table->type.dtype, &entries)) {
        job j = {
            .a = {in.data, x->type.dtype == KN_I8, 0, 0}, .n = kni_count(&x->type), .strip = table_strip};
        j.b.data = entries.data;
        j.y.data = y->storage->data;
        run(&j);
    } else {
        s = KN_ERROR_MEMORY;
    }
    if (in.data) kni_host_unborrow(&in);
    if (entries.data) kni_host_unborrow(&entries);
    return s;
}

/* Whether x has the last axes of y and none before: it is met again and again. */
static bool repeats(const kni_type *x, const kni_type *y)
{
    int64_t count = 1;
    for (int a = 1; a <= y->rank && count < kni_count(x); a++) {
        if (a > x->rank || x->dims[x->rank - a] != y->dims[y->rank - a]) return false;
        count *= y->dims[y->rank - a];
    }
    return count == kni_count(x);
}

/* An operand that is met again and again, with a strip of it behind its end. */
static uint8_t *repeated(const uint8_t *data, int64_t period)
{
    uint8_t *copy = kni_allocate((size_t)(period + STRIP));
    if (copy) memcpy(copy, data, (size_t)period);
    for (int64_t done = period; copy && done < period + STRIP; done *= 2)
        memcpy(copy + done, copy, (size_t)smaller(done, period + STRIP - done));
    return copy;
}

static kn_status run_binary(const kn_record *r, bool multiplies)
{
    int first = KNI_BYTES_A, second = KNI_BYTES_B;
    kni_tensor *y = kni_out(r, 0);
    const int64_t n = kni_count(&y->type);
    if (kni_count(&kni_in(r, first)->type) != n) first = KNI_BYTES_B, second = KNI_BYTES_A;
    kni_tensor *a = kni_in(r, first), *b = kni_in(r, second);
    if (kni_count(&a->type) != n || !repeats(&b->type, &y->type)) return KN_ERROR_UNSUPPORTED;
    kni_borrowed in[2] = {{NULL, 0}};
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    if (kni_host_borrow(a, a->type.dtype, &in[0]) && kni_host_borrow(b, b->type.dtype, &in[1])) {
        job j = {.n = n, .period = kni_count(&b->type), .multiplies = multiplies, .strip = binary_strip};
        uint8_t *copy = j.period < n ? repeated(in[1].data, j.period) : NULL;
        j.a = scaled(r, in[0].data, a->type.dtype, first + 1);
        j.b = scaled(r, copy ? copy : in[1].data, b->type.dtype, second + 1);
        j.y = scaled(r, y->storage->data, y->type.dtype, KNI_BYTES_Y_SCALE);
        if (copy || j.period >= n)
            run(&j);
        else
            s = KN_ERROR_MEMORY;
        if (copy) kni_free(copy, (size_t)(j.period + STRIP));
    } else {
        s = KN_ERROR_MEMORY;
    }
    for (int i = 0; i < 2; i++)
        if (in[i].data) kni_host_unborrow(&in[i]);
    return s;
}

static kn_status run_quantized_sum(const kn_record *r) { return run_binary(r, false); }
static kn_status run_quantized_product(const kn_record *r) { return run_binary(r, true); }

const kni_native kni_cpu_quantize_bytes = {.run = run_quantize_bytes};
const kni_native kni_cpu_dequantize_bytes = {.run = run_dequantize_bytes};
const kni_native kni_cpu_byte_table = {.run = run_byte_table};
const kni_native kni_cpu_quantized_sum = {.run = run_quantized_sum};
const kni_native kni_cpu_quantized_product = {.run = run_quantized_product};
