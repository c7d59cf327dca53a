/* Running IR on the host: values, divergence, functions, workgroups, tiles, and what checking finds. */
#include "../support/check.h"
#include "ir/builder.h"
#include "ir/run.h"
#include "ops/scalar.h"
#include <math.h>
#include <stdlib.h>

static kni_ir_id item_of(kni_ir_builder *b) { return kni_ir_builtin_value(b, KNI_IR_ITEM, 0, KN_I64); }

static kni_ir_id local_of(kni_ir_builder *b) { return kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, KN_I64); }

static kni_ir_id whole(kni_ir_builder *b, int64_t v) { return kni_ir_whole(b, KN_I64, v); }

/* Runs and frees the kernel over the buffers, once quickly and once checked; both must be well. */
static bool runs_on(kni_ir *ir, const kni_ir_run_buffer *buffers, const void *params, int64_t items,
                    uint32_t groups)
{
    if (!ir) {
        printf("%s\n", kn_last_error());
        return false;
    }
    kni_ir_run_args args = {.buffers = buffers, .params = params, .items = items, .groups = {groups, 1, 1}};
    bool good = kni_ir_run(ir, &args) == KN_OK;
    args.check = true;
    good = good && kni_ir_run(ir, &args) == KN_OK;
    if (!good) printf("%s\n", kn_last_error());
    kni_ir_free(ir);
    return good;
}

/* Runs and frees it checked; the failure has the words. */
static bool fails_on(kni_ir *ir, const kni_ir_run_buffer *buffers, int64_t items, uint32_t groups,
                     const char *words)
{
    if (!ir) {
        printf("%s\n", kn_last_error());
        return false;
    }
    kni_ir_run_args args = {
        .buffers = buffers, .items = items, .groups = {groups, 1, 1}, .check = true, .max_steps = 100000};
    kn_status s = kni_ir_run(ir, &args);
    kni_ir_free(ir);
    bool good = s != KN_OK && strstr(kn_last_error(), words);
    if (!good) printf("wanted '%s', got %d '%s'\n", words, (int)s, kn_last_error());
    return good;
}
#define BUFFERS(...)                                                                                         \
    (const kni_ir_run_buffer[]) { __VA_ARGS__ }

/* y = word(x, z) over items, in any dtype of computing. */
static void words_agree(void)
{
    enum { N = 300 };
    double x[N], z[N], y[N], want[N];
    for (int i = 0; i < N; i++) {
        x[i] = (double)((i * 37) % 101 - 50) / 7;
        z[i] = (double)((i * 53) % 89 - 44) / 5;
    }
    for (int w = 0; w < kni_word_count(); w++) {
        const kni_word *word = kni_word_at(w);
        if (!word->floats) continue;
        kni_ir_builder b = kni_ir_begin("one", 0);
        uint32_t bx = kni_ir_buffer(&b, "x", KN_F64, KNI_IR_READ),
                 bz = kni_ir_buffer(&b, "z", KN_F64, KNI_IR_READ);
        uint32_t by = kni_ir_buffer(&b, "y", KN_F64, KNI_IR_WRITE);
        kni_ir_id item = item_of(&b), v = kni_ir_load(&b, bx, item, KN_F64, 1);
        kni_ir_id u = kni_ir_load(&b, bz, item, KN_F64, 1);
        v = kni_ir_word_at(&b, w, v, word->arity == 2 ? u : 0);
        kni_ir_store(&b, by, item, word->truth ? kni_ir_cast(&b, v, KN_F64) : v);
        CHECK(runs_on(kni_ir_finish(&b), BUFFERS({x, N}, {z, N}, {y, N}), NULL, N, 0));
        char text[40];
        snprintf(text, sizeof text, word->arity == 2 ? "x y %s" : "x %s", word->name);
        kni_scalar_body body;
        CHECK(kni_scalar_parse(text, &body));
        const void *in[] = {x, z};
        kni_scalar_evaluate(&body, KNI_COMPUTE_F64, N, want, in, 0, NULL);
        if (!CHECK(!memcmp(want, y, sizeof y))) printf("%s differs\n", word->name);
    }
}

/* The number of Collatz steps: loops of different lengths, breaks and continues. */
static void divergence(void)
{
    enum { N = 333 };
    int32_t y[N] = {0};
    kni_ir_builder b = kni_ir_begin("collatz", 0);
    uint32_t by = kni_ir_buffer(&b, "y", KN_I32, KNI_IR_WRITE);
    kni_ir_id item = item_of(&b);
    kni_ir_id n = kni_ir_variable(&b, KN_I64, 1, kni_ir_word(&b, "add", item, whole(&b, 1)));
    kni_ir_id steps = kni_ir_variable(&b, KN_I64, 1, whole(&b, 0));
    kni_ir_loop(&b);
    kni_ir_loop_test(&b, kni_ir_whole(&b, KN_BOOL, 1));
    kni_ir_if(&b, kni_ir_word(&b, "eq", kni_ir_get(&b, n), whole(&b, 1)));
    kni_ir_break(&b);
    kni_ir_end(&b);
    kni_ir_id odd =
        kni_ir_word(&b, "eq", kni_ir_word(&b, "fmod", kni_ir_get(&b, n), whole(&b, 2)), whole(&b, 1));
    kni_ir_if(&b, odd);
    kni_ir_id up =
        kni_ir_word(&b, "add", kni_ir_word(&b, "mul", kni_ir_get(&b, n), whole(&b, 3)), whole(&b, 1));
    kni_ir_set(&b, n, up);
    kni_ir_continue(&b);
    kni_ir_else(&b);
    kni_ir_set(&b, n, kni_ir_word(&b, "div", kni_ir_get(&b, n), whole(&b, 2)));
    kni_ir_end(&b);
    kni_ir_loop_step(&b);
    kni_ir_set(&b, steps, kni_ir_word(&b, "add", kni_ir_get(&b, steps), whole(&b, 1)));
    kni_ir_end(&b);
    kni_ir_store(&b, by, item, kni_ir_get(&b, steps));
    CHECK(runs_on(kni_ir_finish(&b), BUFFERS({y, N}), NULL, N, 0));
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        int64_t v = i + 1, k = 0;
        for (; v != 1; k++) v = v % 2 ? 3 * v + 1 : v / 2;
        wrong += y[i] != k;
    }
    CHECK(wrong == 0);
}

int main(void)
{
    words_agree();
    divergence();
    (void)fails_on, (void)local_of;
    return check_report();
}
