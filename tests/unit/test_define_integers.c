/* Integer bodies: every device gives the same bits for all words and dtypes, at 0, the least and the greatest as well. What is below 32
   bits is computed in i32, u32 in i64, and cut to the dtype once, at the end. */
#define _DEFAULT_SOURCE
#include "ops/body.h"
#include "ops/defined.h"
#include "support/check.h"
#include <kn/custom_op.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 22, VALUES = 12, COUNT = VALUES * VALUES, DTYPES = 8 };

static const char *const bodies[BODIES] = {
    "y = a / b",
    "q = a / b; y = q * b + 1",
    "y = (a + b) / 2",
    "y = a * b / b",
    "y = a * b / 3 + a * a",
    "y = floordiv(a + b, 3) - rem(a, b)",
    "y = fmod(a * 3, b) + floordiv(a, b)",
    "y = pow(a, 3) / 7 + pow(2, b)",
    "y = max(a + b, 100) - min(a - b, b)",
    "y = abs(-a) * sign(b)",
    "y = floor(a) + ceil(b) + round(a) / 2 + trunc(b / 3)",
    "y = gcd(a, b) / 2",
    "y = (a & b) | (a ^ ~b)",
    "y = (a << 3) >> 2",
    "y = a << b",
    "y = a >> b",
    "y = a < b || a == 3 ? a / 2 : a >= 7 && b != 2 ? b / 2 : a + b",
    "y = isnan(a) || isinf(b) ? 1 : isfinite(b) && a > 1 && b <= 5 ? a / 4 : 2",
    "y = stop(a) / 2 + 1 / 2 + 7 / 2 * b",
    "y = a * s / (b + s)",
    "y = (a + b) / c + d * e", /* more than GPUs take: lowered */
    "q = (a * b + c) / (d + s); y = e > 3 ? q / 2 : fmod(q, e + 7)",
};
static const kn_dtype dtypes[DTYPES] = {KN_I32, KN_U8, KN_U64, KN_I8, KN_I16, KN_I64, KN_U16, KN_U32};

static kn_op_handle ops[BODIES];

static void define_all(void)
{
    bool used[256] = {false};
    for (int i = 0; i < BODIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "whole_%d", i);
        ops[i] = kn_op_define(name, &(kn_body_args){.in = i < BODIES - 2 ? "a b" : "a b c d e",
                                                    .takes = KN_BODY_INTEGERS,
                                                    .scalars = {{"s", 3}},
                                                    .body = bodies[i]});
        if (!CHECK(ops[i] != NULL)) printf("%s: %s\n", bodies[i], kn_last_error());
        if (!ops[i]) exit(1);
        const kni_body *body = &kni_defined_of(ops[i])->body;
        for (int k = 0; k < body->n; k++) {
            kni_step s = kni_body_step(body, k);
            if (s.kind == KNI_STEP_WORD) used[s.index] = true;
        }
    }
    for (int w = 0; w < kni_word_count(); w++)
        if (kni_word_at(w)->integers && !CHECK(used[w]))
            printf("no body has the word '%s'\n", kni_word_at(w)->name);
}

static kn_tensor operand(kn_dtype dtype, int turn)
{
    bool is_signed = dtype == KN_I8 || dtype == KN_I16 || dtype == KN_I32 || dtype == KN_I64;
    int bits = 8 * (int)kn_dtype_bytes(dtype, 1);
    int64_t greatest = is_signed ? INT64_MAX >> (64 - bits) : (int64_t)(UINT64_MAX >> (64 - bits));
    int64_t least = is_signed ? -greatest - 1 : 0;
    const int64_t own[VALUES] = {0, 1, 2, 3, 7, 100, least, greatest, greatest - 1, -1, -7, least + 5};
    int64_t v[COUNT];
    for (int i = 0; i < COUNT; i++) v[i] = own[(turn % 2 ? i % VALUES : i / VALUES + turn / 2) % VALUES];
    return kn_keep(kn_cast(kn_from(v, KN_I64, KN_SHAPE(COUNT)), dtype));
}

/* The result of body i as i64. */
static void run(const char *device, int i, kn_dtype dtype, int64_t *y)
{
    kn_scope s = kn_scope_begin();
    kn_tensor in[5], out = KN_NONE;
    memset(y, 0x5a, sizeof *y * COUNT);
    for (int k = 0; k < 5; k++) in[k] = operand(dtype, k);
    if (!CHECK(kn_custom_call(ops[i], in, &out) == KN_OK) ||
        !CHECK(kn_read_as(out, KN_I64, y, sizeof *y * COUNT) == KN_OK))
        printf("%s: %s: %s\n", device, bodies[i], kn_last_error());
    kn_scope_end(s, KN_NONE);
}

static int64_t expected[DTYPES][BODIES][COUNT];

static void compute_expected(void)
{
    kn_device ref = kn_device_open("ref");
    kn_device_use(ref);
    for (int d = 0; d < DTYPES; d++)
        for (int i = 0; i < BODIES; i++) run("ref", i, dtypes[d], expected[d][i]);
    kn_device_use(NULL);
    kn_device_close(ref);
}

static void compare(const char *what, const char *name, int first, int n_dtypes)
{
    kn_device device = kn_device_open(name);
    if (!device) {
        check_skip(name);
        return;
    }
    kn_device_use(device);
    for (int d = first; d < first + n_dtypes; d++)
        for (int i = 0; i < BODIES; i++) {
            int64_t y[COUNT];
            int at = 0;
            if (n_dtypes > 1 && (i + d) % 4 && !check_part(d * BODIES + i, 4)) continue;
            run(what, i, dtypes[d], y);
            while (at < COUNT && y[at] == expected[d][i][at]) at++;
            if (!CHECK(at == COUNT))
                printf("%s, %s, '%s': element %d is %lld, on ref %lld\n", what, kn_dtype_name(dtypes[d]),
                       bodies[i], at, (long long)y[at], (long long)expected[d][i][at]);
        }
    kn_device_use(NULL);
    kn_device_close(device);
}

/* Facts that no device is asked for. */
static void known_results(const char *name)
{
    kn_device device = kn_device_open(name);
    if (!device) return;
    kn_device_use(device);
    kn_scope s = kn_scope_begin();
    kn_tensor in[2], y;
    in[0] = kn_keep(kn_from((int32_t[]){100, 2147483647, 7, -7, INT32_MIN}, KN_I32, KN_SHAPE(5)));
    in[1] = kn_keep(kn_from((int32_t[]){7, 3, 0, 2, -1}, KN_I32, KN_SHAPE(5)));
    CHECK(kn_custom_call(ops[0], in, &y) == KN_OK);
    CHECK_VALUES(y, 0, 14, 715827882, 0, -3, -2147483648.0);
    CHECK(kn_custom_call(ops[1], in, &y) == KN_OK);
    CHECK_VALUES(y, 0, 99, 2147483647, 1, -5, -2147483647);
    in[0] = kn_keep(kn_from((uint8_t[]){200, 255}, KN_U8, KN_SHAPE(2)));
    in[1] = kn_keep(kn_from((uint8_t[]){100, 255}, KN_U8, KN_SHAPE(2)));
    CHECK(kn_custom_call(ops[2], in, &y) == KN_OK);
    CHECK_VALUES(y, 0, 150, 255);
    CHECK(kn_custom_call(ops[3], in, &y) == KN_OK);
    CHECK_VALUES(y, 0, 200, 255);
    /* 2^31 does not fit the i32 that i32 is computed in. */
    in[0] = kn_keep(kn_from((int32_t[]){65536}, KN_I32, KN_SHAPE(1)));
    in[1] = kn_keep(kn_from((int32_t[]){32768}, KN_I32, KN_SHAPE(1)));
    CHECK(kn_custom_call(ops[3], in, &y) == KN_OK);
    CHECK_VALUES(y, 0, -65536);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* ---- numbers that are no integers, or not those of the dtype */

static void numbers_that_do_not_fit(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor i32 = kn_keep(kn_from((int32_t[]){10, -3}, KN_I32, KN_SHAPE(2))),
              u64 = kn_keep(kn_from((uint64_t[]){10, 3}, KN_U64, KN_SHAPE(2))),
              f32 = kn_keep(kn_from((float[]){10, -3}, KN_F32, KN_SHAPE(2))), y;
    CHECK(!kn_op_define(
        "w_half", &(kn_body_args){.takes = KN_BODY_INTEGERS, .scalars = {{"s", 0.5}}, .body = "y = x * s"}));
    CHECK_ERROR(KN_ERROR_ARGUMENT, "the scalar 's' is no integer");
    CHECK(!kn_op_define("w_digits",
                        &(kn_body_args){.takes = KN_BODY_INTEGERS, .body = "y = x + 9007199254740993"}));
    CHECK_ERROR(KN_ERROR_ARGUMENT, "line 1, column 9: a number from 2^53 on loses digits");
    CHECK(kn_op_define(
              "w_times",
              &(kn_body_args){.takes = KN_BODY_NUMBERS, .scalars = {{"s", 2}}, .body = "y = x * s"}) != NULL);
    CHECK(kn_op_define(
              "w_more",
              &(kn_body_args){.takes = KN_BODY_TRUTHS, .scalars = {{"s", 2}}, .body = "y = x > s"}) != NULL);
    kn_attribute_value v[2] = {{.name = "s", .real = 2.5}, {0}};
    CHECK(kn_call("w_times", &i32, 1, v, &y, 1) != KN_OK);
    CHECK_ERROR(KN_ERROR_ARGUMENT, "kn_w_times: s = 2.5 is a fraction, and the operands are i32");
    CHECK(kn_call("w_more", &i32, 1, v, &y, 1) != KN_OK);
    CHECK(kn_call("w_times", &f32, 1, v, &y, 1) == KN_OK);
    CHECK_VALUES(y, 0, 25, -7.5);
    CHECK(kn_call("w_more", &f32, 1, v, &y, 1) == KN_OK);
    v[0].real = 1e20;
    CHECK(kn_call("w_times", &i32, 1, v, &y, 1) != KN_OK);
    CHECK_ERROR(KN_ERROR_ARGUMENT, "s = 1e20 does not fit i32");
    v[0].real = (double)NAN;
    CHECK(kn_call("w_times", &i32, 1, v, &y, 1) != KN_OK);
    v[0].real = -1;
    CHECK(kn_call("w_times", &i32, 1, v, &y, 1) == KN_OK);
    CHECK_VALUES(y, 0, -10, 3);
    CHECK(kn_call("w_times", &u64, 1, v, &y, 1) != KN_OK);
    kn_op_handle far =
        kn_op_define("w_far", &(kn_body_args){.takes = KN_BODY_INTEGERS, .body = "y = x & 4294967295"});
    CHECK(kn_custom_call(far, &i32, &y) != KN_OK);
    CHECK_ERROR(KN_ERROR_ARGUMENT, "the body's constant 4294967300 does not fit i32");
    CHECK(kn_custom_call(far, &u64, &y) == KN_OK);
    CHECK_VALUES(y, 0, 10, 3);
    kn_scope_end(s, KN_NONE);
}

int main(int argc, char **argv)
{
    setenv("KN_JIT", "off", 1);
    const char *gpu =
        argc > 1 ? argv[1] : "opencl:0"; /* by default few dtypes: its compiler takes its time */
    char fused[80];
    define_all();
    compute_expected();
    numbers_that_do_not_fit();
    known_results("ref");
    known_results("cpu");
    known_results("fusion(cpu)");
    known_results(gpu);
    compare("cpu", "cpu", 0, DTYPES);
    compare("fusion(cpu)", "fusion(cpu)", 0, DTYPES);
    setenv("KN_JIT", "cc:wait", 1);
    compare("compiled", "fusion(cpu)", 0, 1);
    setenv("KN_JIT", "off", 1);
    snprintf(fused, sizeof fused, "fusion(%s)", gpu);
    compare(gpu, fused, argc > 1 ? 0 : 1, argc > 1 ? DTYPES : 1);
    return check_report();
}
