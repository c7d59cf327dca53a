/* Handles, the three states of ownership, scopes, and the errors of their misuse. */
#include "support/check.h"
#include <pthread.h>

static kn_tensor vector(double a, double b)
{
    double v[] = {a, b};
    return kn_from(v, KN_F64, KN_SHAPE(2));
}

static void temporaries(void)
{
    kn_scope s = kn_scope_begin();
    int64_t before = kn_memory_stats().tensors_now;
    kn_tensor y = kn_add(kn_add(vector(1, 2), vector(3, 4)), vector(5, 6));
    CHECK_VALUES(y, 0, 9, 12);
    CHECK(kn_memory_stats().tensors_now == before + 1);
    kn_tensor x = vector(1, 2);
    kn_tensor z = kn_add(x, x); /* the same one twice is one use */
    CHECK_VALUES(z, 0, 2, 4);
    CHECK_POISON(kn_add(x, vector(0, 0)), "already taken by kn_add at ");
    CHECK_POISON(kn_neg(x), "keep it with kn_keep() to use it twice");
    kn_scope_end(s, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
}

static kn_tensor square(kn_tensor x)
{
    x = kn_keep(x);
    return kn_mul(x, x);
}

static kn_tensor residual(kn_tensor x)
{
    kn_scope s = kn_scope_begin();
    x = kn_keep(x);
    return kn_scope_end(s, kn_add(x, kn_mul(square(x), x)));
}

static void kept(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(vector(3, 2));
    CHECK(kn_keep(x).bits == x.bits);
    CHECK_VALUES(kn_add(x, square(x)), 0, 12, 6);
    CHECK_VALUES(kn_add(square(x), x), 0, 12, 6);
    CHECK_VALUES(residual(vector(3, 2)), 0, 30, 10);
    CHECK_VALUES(residual(x), 0, 30, 10);
    CHECK(kn_ok(x)); /* a kept tensor survives an inner scope that kept it again */
    kn_scope inner = kn_scope_begin();
    kn_tensor y = kn_scope_end(inner, x);
    CHECK(y.bits == x.bits && kn_ok(x));
    CHECK_VALUES(kn_neg(x), 0, -3, -2);
    CHECK_VALUES(kn_neg(x), 0, -3, -2);
    kn_scope_end(s, KN_NONE);
    CHECK(!kn_ok(x));
    CHECK_POISON(kn_neg(x), "ended with its scope at");
}

static void owned(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_own(vector(1, 2));
    kn_scope_end(s, KN_NONE);
    CHECK_VALUES(kn_neg(x), 0, -1, -2);
    CHECK(kn_assign(&x, kn_neg(x)) == KN_OK);
    CHECK_VALUES(x, 0, -1, -2);
    kn_drop(x);
    CHECK(!kn_ok(x));
    CHECK_POISON(kn_neg(x), "dropped by kn_drop");
    kn_drop(KN_NONE);
}

static void garbage(void)
{
    kn_scope s = kn_scope_begin();
    CHECK_POISON(kn_neg(KN_NONE), "KN_NONE");
    CHECK_POISON(kn_neg((kn_tensor){UINT64_C(0x7FFFFFFFFFFFFFFF)}), "names no live tensor");
    CHECK_POISON(kn_neg((kn_tensor){12345}), "names no live tensor");
    kn_tensor bad = kn_neg(KN_NONE);
    CHECK_POISON(kn_add(kn_exp(bad), vector(1, 2)), "kn_neg: KN_NONE");
    double v[2];
    CHECK_ERROR(kn_read(bad, v, sizeof v), "carries an error");
    CHECK_ERROR(kn_read(vector(1, 2), v, 3), "16 bytes, the buffer 3");
    CHECK(kn_rank((kn_tensor){99}) == -1);
    CHECK(kn_item(bad) != kn_item(bad));
    kn_scope_end(s, KN_NONE);
}

static void nesting(void)
{
    enum { DEEP = 10000 };
    static kn_scope scopes[DEEP];
    int64_t before = kn_memory_stats().tensors_now;
    for (int i = 0; i < DEEP; i++) {
        scopes[i] = kn_scope_begin();
        kn_tensor t = kn_keep(vector(i, i));
        CHECK(i % 1000 || kn_ok(t));
    }
    kn_tensor out = kn_scope_end(scopes[0], kn_add(vector(1, 1), vector(2, 2)));
    CHECK_VALUES(out, 0, 3, 3);
    CHECK(kn_memory_stats().tensors_now == before + 1);
    kn_scope_end(scopes[5], KN_NONE);
    CHECK(strstr(kn_last_error(), "has ended already") != NULL);
    kn_drop(out);
}

static void many_results(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor r[2] = {vector(1, 2), kn_keep(vector(3, 4))};
    kn_tensor gone = vector(5, 6);
    kn_scope_end_many(s, r, 2);
    CHECK(kn_ok(r[0]) && kn_ok(r[1]) && !kn_ok(gone));
    CHECK_VALUES(kn_add(r[0], r[1]), 0, 4, 6);
    CHECK(!kn_ok(r[1])); /* handed out as a temporary, so the op took it */
}

static kn_tensor shared_temporary, shared_owned;

static void *other_thread(void *argument)
{
    bool *good = argument;
    char text[300];
    kn_tensor y = kn_neg(shared_temporary);
    kn_error_text(y, text, sizeof text);
    good[0] = strstr(text, "another thread") != NULL;
    good[1] = kn_item(kn_sum(shared_owned, KN_AXES_ALL, false)) == 3;
    return NULL;
}

static void threads(void)
{
    bool good[2] = {false, false};
    pthread_t thread;
    kn_scope s = kn_scope_begin();
    shared_temporary = vector(1, 2);
    shared_owned = kn_own(vector(1, 2));
    int64_t before = kn_memory_stats().tensors_now;
    CHECK(pthread_create(&thread, NULL, other_thread, good) == 0);
    pthread_join(thread, NULL);
    CHECK(good[0]);
    CHECK(good[1]);
    CHECK(kn_memory_stats().tensors_now == before); /* a thread's root scope ends with it */
    kn_drop(shared_owned);
    kn_scope_end(s, KN_NONE);
}

static int logged;
static char last_line[600];
static void count_errors(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)level;
    logged++;
    strncpy(last_line, text, sizeof last_line - 1);
}

static void logging(void)
{
    kn_scope s = kn_scope_begin();
    kn_log_set(count_errors, NULL);
    kn_tensor bad = kn_add(vector(1, 2), kn_from((double[]){1, 2, 3}, KN_F64, KN_SHAPE(3)));
    CHECK(logged == 1); /* once, at the origin */
    CHECK(strstr(last_line, "test_ownership.c:") != NULL);
    CHECK(strstr(last_line, "[2]") && strstr(last_line, "[3]"));
    (void)kn_exp(kn_neg(bad));
    CHECK(logged == 1);
    kn_log_set(NULL, NULL);
    kn_scope_end(s, KN_NONE);
}

static int released;
static void note_release(void *context) { *(int *)context += 1; }

static void wrapping(void)
{
    static double buffer[6] = {1, 2, 3, 4, 5, 6};
    int64_t strides[] = {1, 2};
    kn_scope s = kn_scope_begin();
    kn_tensor w = kn_keep(kn_wrap(buffer, KN_F64, KN_SHAPE(2, 3), strides, note_release, &released));
    CHECK_VALUES(w, 0, 1, 3, 5, 2, 4, 6);
    kn_tensor y = kn_neg(kn_alias(w)); /* never writes into the caller's memory */
    CHECK_VALUES(y, 0, -1, -3, -5, -2, -4, -6);
    CHECK(buffer[0] == 1 && released == 0);
    kn_scope_end(s, KN_NONE);
    CHECK(released == 1);
    kn_tensor bad = kn_wrap(NULL, KN_F64, KN_SHAPE(2), NULL, note_release, &released);
    CHECK_POISON(bad, "data is NULL");
    CHECK(released == 2);
}

static void shapes(void)
{
    CHECK_POISON(kn_from((double[]){1}, KN_F64, KN_SHAPE(-1)), "negative size");
    CHECK_POISON(kn_from((double[]){1}, KN_F64, KN_SHAPE(INT64_MAX, 3)), "2^63");
    CHECK_POISON(kn_from((double[]){1}, KN_C64, KN_SHAPE(1)), "dtype");
    CHECK_POISON(kn_from((double[]){1}, KN_F64, ((kn_shape){9, {1}})), "rank 9");
    kn_tensor empty = kn_from(NULL, KN_F32, KN_SHAPE(0, 5));
    CHECK(kn_ok(empty) && kn_count(empty) == 0);
    kn_drop(empty);
}

int main(void)
{
    temporaries();
    kept();
    owned();
    garbage();
    nesting();
    many_results();
    threads();
    logging();
    wrapping();
    shapes();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
