/* Device strings and the decorators check, nan, trace and profile. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <stdlib.h>
#include <time.h>

static void strings(void)
{
    CHECK(kn_device_open("cpu") == kn_device_open(" cpu "));
    CHECK(!kn_device_open("gpu9") && strstr(kn_last_error(), "'gpu9'") &&
          strstr(kn_last_error(), "autodiff"));
    CHECK(!kn_device_open("autodiff") && strstr(kn_last_error(), "1 devices"));
    CHECK(!kn_device_open("autodiff(cpu") && strstr(kn_last_error(), "closing bracket"));
    CHECK(!kn_device_open("autodiff(cpu))") && strstr(kn_last_error(), "left over"));
    CHECK(!kn_device_open("check(cpu)") && strstr(kn_last_error(), "takes 2"));
    CHECK(!kn_device_open("") && !kn_device_open(NULL));
    CHECK(!kn_device_open("nan(nan(nan(nan(nan(nan(nan(nan(nan(nan(cpu))))))))))"));
    kn_device d = kn_device_open("autodiff( check(cpu, ref) )");
    CHECK(d && !strcmp(kn_device_name(d), "autodiff(check(cpu,ref))"));
}

static void mixing(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor a = kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2));
    kn_device_use(kn_device_open("ref"));
    kn_tensor b = kn_keep(kn_from((float[]){3, 4}, KN_F32, KN_SHAPE(2)));
    kn_device_use(NULL);
    a = kn_keep(a);
    CHECK_POISON(kn_add(a, b), "kn_to()");
    CHECK_VALUES(kn_add(a, kn_to(b, kn_device_of(a))), 0, 4, 6);
    kn_device tape = kn_device_open("autodiff(cpu)");
    kn_tensor c = kn_require_grad(kn_to(kn_alias(a), tape)), g;
    kn_tensor y = kn_keep(kn_sum(kn_mul(c, a), KN_AXES_ALL, false)); /* the plain operand is a constant */
    CHECK(kn_grad(&y, NULL, 1, &c, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 1, 2);
    kn_device closed = kn_device_open("nan(cpu)");
    kn_tensor d = kn_to(kn_alias(a), closed);
    kn_device_close(closed);
    CHECK_VALUES(d, 0, 1, 2);
    CHECK_POISON(kn_neg(d), "has been closed");
    kn_scope_end(s, KN_NONE);
}

static void finds_nan(void)
{
    kn_scope s = kn_scope_begin();
    kn_device_use(kn_device_open("nan(cpu)"));
    kn_tensor x = kn_keep(kn_from((float[]){1, 0}, KN_F32, KN_SHAPE(2)));
    CHECK_POISON(kn_log(x), "kn_log: makes NaN or infinity from finite operands, at element 1");
    CHECK_VALUES(kn_exp(x), 1e-6, 2.718281828, 1);
    kn_tensor inf = kn_keep(kn_from((float[]){1, __builtin_inff()}, KN_F32, KN_SHAPE(2)));
    CHECK(kn_ok(kn_neg(inf))); /* what comes in bad is not this op's doing */
    kn_device_use(NULL);
    kn_scope_end(s, KN_NONE);
}

/* The terms are a hundred times the sum, so their roundings are not small beside it. */
static void check_measures_by_the_terms(void)
{
    kn_scope s = kn_scope_begin();
    static const float a[] = {
        -1467967208423424.f,  -83190200808767488.f,    -83635382758932480.f,     -1475336030126080.f,
        -83190200808767488.f, -4.714367210322133e+18f, -4.7396114475400561e+18f, -83607061744582656.f,
        83635382758932480.f,  4.7396114475400561e+18f, 4.7649903749323817e+18f,  84054494257610752.f,
        -1475336030126080.f,  -83607061744582656.f,    -84054494257610752.f,     -1482733574422528.f};
    kn_device d = kn_device_open("check(cpu,ref)");
    kn_device_use(d);
    kn_tensor x = kn_keep(kn_from(a, KN_F32, KN_SHAPE(4, 4)));
    kn_tensor y = kn_matmul(x, x);
    CHECK(kn_ok(y));
    kn_device_use(NULL);
    kn_scope_end(s, KN_NONE);
}

static void compares(void)
{
    char text[200];
    kn_scope s = kn_scope_begin();
    kn_device d = kn_device_open("check(cpu,ref)");
    kn_device_use(d);
    kn_tensor x = kn_keep(kn_random_normal(KN_SHAPE(13, 70), 0, 1, KN_F32));
    CHECK(kn_ok(kn_matmul(kn_tanh(x), kn_transpose(x, 0, 1))));
    CHECK(kn_ok(kn_softmax(x, 1)));
    CHECK(kn_device_report(d, NULL, text, sizeof text) > 0 &&
          strstr(text, "ops gave the same on cpu and ref"));
    kn_device_use(NULL);
    kn_scope_end(s, KN_NONE);
}

static void reports(void)
{
    static char text[1 << 16];
    kn_scope s = kn_scope_begin();
    kn_device trace = kn_device_open("trace(cpu)"), profile = kn_device_open("profile(cpu)");
    kn_device_use(trace);
    CHECK(kn_ok(kn_exp(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)))));
    CHECK(kn_device_report(trace, NULL, text, sizeof text) > 0);
    CHECK(strstr(text, "exp(f32[2]) -> f32[2]\ndrop f32[2]") != NULL); /* the operand died with the op */
    kn_device_use(profile);
    for (int i = 0; i < 3; i++) CHECK(kn_ok(kn_exp(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)))));
    CHECK(kn_device_report(profile, NULL, text, sizeof text) > 0);
    CHECK(!strncmp(text, "microseconds\tcalls\tGB/s\top\tsite\n", 32));
    CHECK(strstr(text, "exp\t") && strstr(text, "test_decorators.c:"));
    CHECK(kn_device_report(profile, "chrome-trace", text, sizeof text) > 0);
    CHECK(strstr(text, "\"traceEvents\":[{\"ph\":\"X\"") && strstr(text, "\"name\":\"exp\""));
    /* Of many events the latest stay, and their times count from the first that stayed. */
    static char all[4 << 20];
    kn_tensor x = kn_keep(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)));
    for (int i = 0; i < 10000; i++) kn_drop(kn_exp(x));
    CHECK(kn_device_report(profile, "chrome-trace", all, sizeof all) < sizeof all);
    CHECK(strstr(all, "\"ts\":") && strstr(all, "\"ts\":0,") == strstr(all, "\"ts\":"));
    CHECK(kn_device_report(kn_device_open("cpu"), NULL, text, sizeof text) == 0);
    kn_device_use(NULL);
    kn_scope_end(s, KN_NONE);
}

/* ---- a profile with more names and lines than it has room for */

/* One group: after x, which has its own line, four steps that tell chain i from all others. */
static void chain(kn_device d, kn_tensor x, int i)
{
    for (int k = 0; k < 4; k++, i /= 5)
        x = i % 5 == 0   ? kn_neg(x)
            : i % 5 == 1 ? kn_abs(x)
            : i % 5 == 2 ? kn_sin(x)
            : i % 5 == 3 ? kn_cos(x)
                         : kn_relu(x);
    CHECK(kn_ok(kn_keep(x)) && kn_sync(d) == KN_OK);
}

/* The lines of a report, the calls of all of them, and the most calls that one has, with its op. */
typedef struct report_sums {
    int lines, calls, most;
    char op[80];
} report_sums;

static report_sums sums_of(kn_device d)
{
    static char text[1 << 17];
    report_sums sums = {0};
    CHECK(kn_device_report(d, NULL, text, sizeof text) < sizeof text);
    for (const char *at = strchr(text, '\n') + 1; *at; at = strchr(at, '\n') + 1, sums.lines++) {
        int calls = 0;
        char op[80] = "";
        CHECK(sscanf(at, "%*d\t%d\t%*g\t%79s", &calls, op) == 2);
        sums.calls += calls;
        if (calls <= sums.most) continue;
        sums.most = calls;
        memcpy(sums.op, op, sizeof op);
    }
    return sums;
}

/* What does not fit any more is counted with the last name, and with the last of the op's lines: no call is lost. */
static void full_profiles(void)
{
    enum { NAMES = 256, ROWS = 512, CHAINS = NAMES + 44 };
    kn_scope s = kn_scope_begin();
    kn_device d = kn_device_open("profile(fusion(cpu))");
    kn_device_use(d);
    kn_tensor x = kn_keep(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)));
    for (int i = 0; i < CHAINS; i++) chain(d, kn_exp(x), i);
    report_sums sums = sums_of(d);
    CHECK(sums.lines == NAMES && sums.calls == CHAINS && sums.most == 1 + CHAINS - NAMES);
    if (!CHECK(!strcmp(sums.op, "exp+neg+abs+neg+sin"))) printf("  %s\n", sums.op); /* the last name */
    kn_device_close(d);
    d = kn_device_open("profile(fusion(cpu))");
    kn_device_use(d);
    x = kn_keep(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)));
    for (int i = 0; i < NAMES; i++) chain(d, kn_exp(x), i);
    for (int i = 0; i < NAMES; i++) chain(d, kn_exp(x), i);
    sums = sums_of(d);
    CHECK(sums.lines == ROWS && sums.calls == ROWS && sums.most == 1);
    for (int i = 0; i < NAMES; i++) chain(d, kn_exp(x), i);
    sums = sums_of(d);
    if (!CHECK(sums.lines == ROWS && sums.calls == 3 * NAMES && sums.most == 1 + NAMES))
        printf("  %d lines, %d calls, %d in one\n", sums.lines, sums.calls, sums.most);
    kn_device_use(NULL);
    kn_device_close(d);
    kn_scope_end(s, KN_NONE);
}

/* Each op of the trace takes less time than the whole did, alone and in a group. */
static void durations_are_short(const char *device)
{
    static char text[1 << 16];
    kn_scope s = kn_scope_begin();
    kn_device profile = kn_device_open(device);
    kn_device_use(profile);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    CHECK(kn_item(kn_sum(kn_exp(kn_ones(KN_SHAPE(100), KN_F32)), KN_AXES_ALL, false)) > 270);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double most = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3,
           sum = 0;
    int n = 0;
    CHECK(kn_device_report(profile, "chrome-trace", text, sizeof text) > 0);
    for (const char *at = text; (at = strstr(at, "\"dur\":")) != NULL; n++) sum += strtod(at += 6, NULL);
    if (!CHECK(n > 0 && sum >= 0 && sum <= most))
        printf("  %s: %d ops took %g of %g\n", device, n, sum, most);
    kn_device_use(NULL);
    kn_device_close(profile);
    kn_scope_end(s, KN_NONE);
}

/* Results on the null device are laid out as elsewhere, though there is nothing in them. */
static void null_lays_out(void)
{
    kn_scope s = kn_scope_begin();
    int64_t strides[2] = {0, 0};
    kn_device_use(kn_device_open("null"));
    kn_tensor y = kn_keep(kn_exp(kn_zeros(KN_SHAPE(3, 4), KN_F32)));
    CHECK(kn_strides(y, strides) == KN_OK && strides[0] == 4 && strides[1] == 1);
    kn_indexed both = kn_sort(y, 1, false);
    CHECK(kn_strides(both.indices, strides) == KN_OK && strides[0] == 4 && strides[1] == 1);
    kn_device_use(NULL);
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    strings();
    mixing();
    finds_nan();
    compares();
    check_measures_by_the_terms();
    reports();
    durations_are_short("profile(cpu)");
    durations_are_short("profile(fusion(cpu))");
    durations_are_short("fusion(profile(cpu))");
    full_profiles();
    null_lays_out();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
