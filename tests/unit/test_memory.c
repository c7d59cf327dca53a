/* Memory: every allocation of a training step fails once, limits, the static arena's bookkeeping. */
#include "core/large_blocks.h"
#include "support/check.h"
#include <stdlib.h>

/* Sizes that no machine has are part of the test, also under the address sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

typedef struct model {
    kn_param w1, b1, w2, b2;
} model;

static kn_tensor filled(kn_shape shape, double scale)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_mul_scalar(kn_sin(kn_reshape(kn_arange(0, (double)n, 1, KN_F32), shape)), scale);
}

static kn_status make(model *m)
{
    m->w1 = kn_param_make(filled(KN_SHAPE(16, 12), 0.3));
    m->b1 = kn_param_make(kn_zeros(KN_SHAPE(16), KN_F32));
    m->w2 = kn_param_make(filled(KN_SHAPE(4, 16), 0.3));
    m->b2 = kn_param_make(kn_zeros(KN_SHAPE(4), KN_F32));
    kn_param *all[] = {&m->w1, &m->b1, &m->w2, &m->b2};
    for (int i = 0; i < 4; i++)
        if (!kn_ok(kn_value(*all[i]))) return kn_error_code(kn_value(*all[i]));
    return KN_OK;
}

static void drop(model *m)
{
    kn_param_drop(&m->w1);
    kn_param_drop(&m->b1);
    kn_param_drop(&m->w2);
    kn_param_drop(&m->b2);
}

static kn_status descend(kn_param *p, kn_grads grads)
{
    kn_tensor step = kn_mul_scalar(kn_grads_get(grads, kn_value(*p)), 0.05);
    return kn_param_set(p, kn_sub(kn_detach(kn_alias(kn_value(*p))), step));
}

/* One step with what training usually has: linear layers, norm, dropout, a convolution-free head, a loss. */
static kn_status step(void)
{
    kn_scope s = kn_scope_begin();
    model m = {{{0}}, {{0}}, {{0}}, {{0}}};
    kn_grads grads = NULL;
    kn_status status = make(&m);
    if (status == KN_OK) {
        kn_tensor x = filled(KN_SHAPE(8, 12), 1);
        kn_tensor labels = kn_remainder_scalar(kn_arange(0, 8, 1, KN_I64), 4);
        kn_tensor h = kn_dropout(kn_gelu(kn_linear(x, kn_value(m.w1), kn_value(m.b1))), 0.1, true);
        h = kn_keep(h);
        h = kn_add(h, kn_layer_norm(h, KN_NONE, KN_NONE, 1, 0));
        kn_tensor loss =
            kn_keep(kn_cross_entropy(kn_linear(h, kn_value(m.w2), kn_value(m.b2)), labels, NULL));
        status = kn_backward(loss, &grads);
    }
    kn_param *all[] = {&m.w1, &m.b1, &m.w2, &m.b2};
    for (int i = 0; i < 4 && status == KN_OK; i++) status = descend(all[i], grads);
    kn_grads_free(grads);
    drop(&m);
    kn_scope_end(s, KN_NONE);
    return status;
}

static void sweep(void)
{
    CHECK(step() == KN_OK);
    CHECK(step() == KN_OK);
    kn_memory_trim();
    int64_t bytes = kn_memory_stats().bytes_now, tensors = kn_memory_stats().tensors_now;
    int failures = 0;
    for (int64_t n = 1; n < 100000; n++) {
        kn_memory_trim();
        kn_memory_fail_after(n);
        kn_status s = step();
        kn_memory_fail_after(0);
        kn_memory_trim();
        kn_memory now = kn_memory_stats();
        if (now.tensors_now != tensors || now.bytes_now > bytes + 65536) {
            printf("failing allocation %lld leaves %lld tensors and %lld bytes more\n", (long long)n,
                   (long long)(now.tensors_now - tensors), (long long)(now.bytes_now - bytes));
            CHECK(false);
            break;
        }
        if (s == KN_OK) break;
        failures++;
        if (!CHECK(kn_last_error()[0] != 0)) break;
    }
    printf("%d allocations failed one by one\n", failures);
    CHECK(failures > 50);
    CHECK(step() == KN_OK);
    CHECK(kn_memory_stats().tensors_now == tensors);
}

static void limits(void)
{
    kn_scope s = kn_scope_begin();
    kn_memory_limit(kn_memory_stats().bytes_now + (1 << 20));
    kn_tensor big = kn_zeros(KN_SHAPE(1024, 1024), KN_F32);
    CHECK_POISON(big, "kn_memory_limit");
    CHECK(kn_error_code(big) == KN_ERROR_MEMORY);
    kn_memory_limit(0);
    CHECK(kn_ok(kn_zeros(KN_SHAPE(1024, 1024), KN_F32)));
    CHECK(kn_memory_stats().bytes_peak >= 4 * 1024 * 1024);
    CHECK_POISON(kn_zeros(KN_SHAPE(INT64_MAX / 8, 1), KN_F32), "no memory");
    kn_scope_end(s, KN_NONE);
}

/* A result takes the memory of an operand that dies with the op, whichever operand it is: there is room for one of them. */
static void results_take_memory(void)
{
    enum { SIDE = 1024, BYTES = 4 * SIDE * SIDE };
    kn_scope s = kn_scope_begin();
    kn_device_use(kn_device_cpu());
    kn_tensor row = kn_keep(kn_ones(KN_SHAPE(SIDE), KN_F32));
    kn_memory_trim();
    kn_memory_limit(kn_memory_stats().bytes_now + BYTES + BYTES / 2);
    for (int i = 0; i < 3; i++) {
        kn_tensor x = kn_ones(KN_SHAPE(SIDE, SIDE), KN_F32);
        kn_tensor y = i == 0 ? kn_neg(x) : i == 1 ? kn_sub(x, row) : kn_sub(row, x);
        CHECK(kn_ok(y));
        kn_drop(y);
    }
    kn_memory_limit(0);
    kn_device_use(kn_device_autodiff(kn_device_cpu()));
    kn_scope_end(s, KN_NONE);
}

#if defined(__SANITIZE_ADDRESS__)
enum { KEEPS_BLOCKS = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { KEEPS_BLOCKS = 0 };
#else
enum { KEEPS_BLOCKS = 1 };
#endif
#else
enum { KEEPS_BLOCKS = 1 };
#endif

/* Large blocks are kept when freed, serve the next result of their size, and are given up for the limit and on
   request. What is in use and what is kept never pass the peak together, but for what may always be kept. */
static void kept_blocks(void)
{
    enum { SIDE = 8192, BYTES = 4 * SIDE * SIDE };
    _Static_assert(BYTES / 16 * 15 > KNI_LARGE_ALWAYS, "the bound by the peak is what is looked at");
    kn_memory_trim();
    CHECK(kn_memory_stats().bytes_cached == 0);
    int64_t before = kn_memory_stats().bytes_now;
    kn_drop(kn_zeros(KN_SHAPE(SIDE, SIDE), KN_F32));
    kn_memory m = kn_memory_stats();
    CHECK(m.bytes_now <= before + 4096);
    if (KEEPS_BLOCKS) CHECK(m.bytes_cached >= BYTES);
    CHECK(m.bytes_now + m.bytes_cached <= m.bytes_peak + BYTES / 4);
    for (int i = 0; i < 8; i++) kn_drop(kn_zeros(KN_SHAPE(SIDE, SIDE), KN_F32));
    kn_memory again = kn_memory_stats();
    if (KEEPS_BLOCKS) CHECK(again.allocations == m.allocations);
    CHECK(again.bytes_cached == m.bytes_cached);
    /* Another size takes the place of the kept block. */
    kn_drop(kn_zeros(KN_SHAPE(SIDE, SIDE - 512), KN_F32));
    m = kn_memory_stats();
    CHECK(m.bytes_now + m.bytes_cached <= m.bytes_peak + BYTES / 4);
    kn_memory_limit(m.bytes_now + BYTES + (1 << 16));
    CHECK(kn_memory_stats().bytes_now + kn_memory_stats().bytes_cached <= kn_memory_stats().limit);
    kn_tensor fits = kn_zeros(KN_SHAPE(SIDE, SIDE), KN_F32);
    CHECK(kn_ok(fits));
    kn_drop(fits);
    CHECK(kn_memory_stats().bytes_now + kn_memory_stats().bytes_cached <= kn_memory_stats().limit);
    kn_memory_limit(0);
    kn_memory_trim();
    CHECK(kn_memory_stats().bytes_cached == 0);
}

/* The list of kept blocks is bounded: more take the places of the oldest, and each of the rest is found by its size. */
static void list_of_kept_blocks(void)
{
    enum { HELD = KNI_LARGE_ENTRIES, MORE = 3, STEP = 64 };
    void *made[HELD + MORE];
    kn_memory_trim();
    for (int i = 0; i < HELD + MORE; i++) {
        size_t size = (size_t)(i + 1) * STEP;
        made[i] = aligned_alloc(STEP, size);
        CHECK(made[i] && kni_large_keep(made[i], size, INT64_MAX));
    }
    for (int i = 0; i < MORE; i++)
        CHECK(kni_large_take(&(size_t){(size_t)(i + 1) * STEP}, (size_t)(i + 1) * STEP) == NULL);
    size_t size = STEP; /* of those that are larger the smallest */
    void *smallest = kni_large_take(&size, SIZE_MAX);
    CHECK(smallest == made[MORE] && size == (MORE + 1) * STEP && kni_large_keep(smallest, size, INT64_MAX));
    for (int i = 0; i < HELD; i++) {
        int k = MORE + (i * 37 + HELD - 1) % HELD; /* the newest first, then any */
        void *p = kni_large_take(&(size_t){(size_t)(k + 1) * STEP}, (size_t)(k + 1) * STEP);
        CHECK(p == made[k]);
        free(p);
    }
    CHECK(kni_large_bytes() == 0);
}

/* A block that is taken for fewer bytes than it has is given back by its size, which must not be rounded up once more. */
static void sizes_are_their_own(void)
{
    bool holds = true, own = true;
    for (size_t power = KNI_LARGE_MIN; power <= (size_t)1 << 30; power *= 2)
        for (size_t eighth = 8; eighth < 16; eighth++)
            for (size_t more = 0; more < 40; more++) {
                size_t bytes = power / 8 * eighth - 20 + more, size = kni_large_size(bytes);
                holds = holds && size >= bytes;
                own = own && kni_large_size(size) == size;
            }
    CHECK(holds);
    CHECK(own);
}

/* Results of many sizes, as a model has them, cost no memory of the system from the second run on, though all of them together are
   many times what is in use at once. */
static void runs_take_no_memory(void)
{
    enum { SIZES = 40 };
    kn_scope s = kn_scope_begin();
    kn_device_use(kn_device_cpu());
    kn_memory_trim();
    int64_t after[3];
    for (int run = 0; run < 3; run++) {
        for (int i = 1; i <= SIZES; i++) kn_drop(kn_zeros(KN_SHAPE(5000 * i), KN_F32));
        after[run] = kn_memory_stats().allocations;
    }
    if (KEEPS_BLOCKS) CHECK(after[2] == after[0]);
    kn_device_use(kn_device_autodiff(kn_device_cpu()));
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    kn_device_use(kn_device_autodiff(kn_device_cpu()));
    limits();
    results_take_memory();
    kept_blocks();
    list_of_kept_blocks();
    sizes_are_their_own();
    runs_take_no_memory();
    sweep();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
