/* What a failure says and where it is kept: the line of the call, one text per thread, the log, stale scopes. */
#include "support/check.h"
#include <kn/nn.h>
#include <pthread.h>
#include <stdatomic.h>

static kn_tensor vector(double a, double b)
{
    double v[] = {a, b};
    return kn_from(v, KN_F64, KN_SHAPE(2));
}

/* "test_errors.c:<line>" */
static const char *here(int line)
{
    static char text[64];
    snprintf(text, sizeof text, "test_errors.c:%d", line);
    return text;
}

static void last_error_has_the_line(void)
{
    kn_scope s = kn_scope_begin();
    double v[2];
    CHECK_ERROR(kn_read(vector(1, 2), v, 3), here(__LINE__));
    (void)kn_add(vector(1, 2), kn_zeros(KN_SHAPE(3), KN_F64)), (void)0;
    CHECK(strstr(kn_last_error(), here(__LINE__ - 1)) != NULL);
    CHECK(strstr(kn_last_error(), "kn_add") && strstr(kn_last_error(), "[2]"));
    (void)kn_item(kn_zeros(KN_SHAPE(3), KN_F64));
    CHECK(strstr(kn_last_error(), here(__LINE__ - 1)) != NULL);
    kn_param p = kn_param_make(vector(1, 2));
    CHECK_ERROR(kn_param_set(&p, kn_zeros(KN_SHAPE(3), KN_F64)), here(__LINE__));
    kn_param_drop(&p);
    kn_scope_end(s, KN_NONE);
}

static void *fail_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3000; i++) (void)kn_neg(KN_NONE);
    return NULL;
}

static void last_error_is_the_thread_own(void)
{
    double v[2];
    pthread_t other;
    kn_tensor x = vector(1, 2), bad = kn_add(kn_alias(x), kn_zeros(KN_SHAPE(5), KN_F64));
    CHECK(kn_read(x, v, 7) != KN_OK);
    CHECK(pthread_create(&other, NULL, fail_often, NULL) == 0);
    pthread_join(other, NULL);
    CHECK(strstr(kn_last_error(), "16 bytes, the buffer 7") != NULL);
    CHECK_POISON(bad, "used again");
    CHECK(kn_error_code(bad) == KN_ERROR_INTERNAL);
    kn_drop(x);
}

static void a_stale_scope_ends_nothing(void)
{
    kn_scope outer = kn_scope_begin();
    kn_scope first = kn_scope_begin();
    kn_scope_end(first, KN_NONE);
    kn_scope second = kn_scope_begin(); /* at the depth that the first one had */
    kn_tensor x = kn_keep(vector(1, 2));
    kn_scope_end(first, KN_NONE);
    CHECK(strstr(kn_last_error(), "has ended already") && strstr(kn_last_error(), here(__LINE__ - 1)));
    CHECK(kn_ok(x));
    CHECK(kn_scope_end(first, x).bits == x.bits && kn_ok(x));
    kn_scope_end(second, KN_NONE);
    CHECK(!kn_ok(x));
    kn_scope again = kn_scope_begin(), deeper = kn_scope_begin();
    kn_scope_end(again, KN_NONE);
    kn_scope_end_many(deeper, NULL, 0);
    CHECK(strstr(kn_last_error(), "has ended already") && strstr(kn_last_error(), here(__LINE__ - 1)));
    kn_scope_end((kn_scope){1, 9999, 1}, KN_NONE);
    CHECK(strstr(kn_last_error(), "another thread, or never") != NULL);
    kn_scope_end(outer, KN_NONE);
}

static void a_drop_names_its_line(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_own(vector(1, 2));
    kn_tensor y = kn_keep(kn_neg(x));
    kn_drop(x);
    char words[100];
    snprintf(words, sizeof words, "%s", here(__LINE__ - 2));
    CHECK_POISON(kn_exp(x), words);
    CHECK_POISON(kn_exp(x), "kn_drop");
    char dead[200];
    CHECK(kn_error_code(x) == KN_ERROR_HANDLE && kn_error_text(x, dead, sizeof dead) == strlen(dead));
    CHECK(strstr(dead, "names no live tensor") != NULL);
    CHECK(kn_error_code(y) == KN_OK && kn_error_code(KN_NONE) == KN_OK);
    CHECK(kn_ok(y));
    kn_scope_end(s, KN_NONE);
}

/* A tensor that is used after its scope: where the scope began, where it ended, where the tensor was made. */
static void an_ended_scope_names_its_lines(void)
{
    char begun[100], made[100], end[100], text[600];
    kn_scope s = kn_scope_begin();
    snprintf(begun, sizeof begun, "%s)", here(__LINE__ - 1));
    kn_tensor x = kn_keep(vector(1, 2));
    for (int i = 0; i < 5000; i++) kn_drop(kn_exp(x)); /* more calls than the ring of lines holds */
    kn_tensor y = kn_keep(kn_neg(x));
    snprintf(made, sizeof made, "%s", here(__LINE__ - 1));
    kn_scope_end(s, KN_NONE);
    snprintf(end, sizeof end, "%s", here(__LINE__ - 1));
    kn_error_text(kn_exp(y), text, sizeof text);
    CHECK(strstr(text, made) && strstr(text, end));
    CHECK(strstr(text, "(begun at ") && strstr(text, begun));
    /* A scope of the library's own has no line, and takes none from the one that had its depth before. */
    kn_scope plain = (kn_scope_begin)();
    y = kn_keep(kn_neg(vector(1, 2)));
    kn_scope_end(plain, KN_NONE);
    CHECK_POISON(kn_exp(y), "ended with its scope");
    kn_error_text(kn_exp(y), text, sizeof text);
    CHECK(!strstr(text, "begun at"));
}

static _Atomic int heard[2];
static _Atomic bool stop, mixed;
static void listener(void *context, kn_log_level level, const char *text)
{
    (void)level, (void)text;
    atomic_fetch_add((_Atomic int *)context, 1);
    if (context != &heard[0] && context != &heard[1]) atomic_store(&mixed, true);
}

static void *fail_until_told(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) (void)kn_neg(KN_NONE);
    return NULL;
}

static void the_log_may_change_at_any_time(void)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, fail_until_told, NULL) == 0);
    for (int i = 0; i < 2000; i++) kn_log_set(listener, &heard[i & 1]);
    while (atomic_load(&heard[1]) == 0) {}
    kn_log_set(NULL, NULL);
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    CHECK(!atomic_load(&mixed));
}

static char log_lines[8][400];
static int n_log_lines;
static void keep_lines(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)level;
    if (n_log_lines < 8) snprintf(log_lines[n_log_lines++], sizeof log_lines[0], "%s", text);
}

/* What fails inside and is handed on as a poisoned tensor is one failure: one line of the log, one record. */
static void a_failure_that_is_handed_on_is_told_once(void)
{
    kn_scope s = kn_scope_begin();
    char text[500], words[100];
    kn_log_set(keep_lines, NULL);
    kn_tensor first = kn_add(kn_ones(KN_SHAPE(2), KN_F32), kn_ones(KN_SHAPE(3), KN_F32));
    CHECK(n_log_lines == 1);
    CHECK(kn_poison(KN_ERROR_SHAPE, kn_last_error()).bits == first.bits);
    CHECK(kn_poison(KN_ERROR_SHAPE, NULL).bits == first.bits);
    kn_error_text(first, text, sizeof text);
    CHECK(n_log_lines == 1 && !strcmp(text, log_lines[0]));
    /* Read before it was handed on, it was told without a line; the poisoned tensor has one all the same. */
    CHECK((kn_custom_fail)(KN_ERROR_ARGUMENT, "a reason") && !strcmp(kn_last_error(), "a reason"));
    kn_tensor second = kn_poison(KN_ERROR_ARGUMENT, kn_last_error());
    snprintf(words, sizeof words, "%s", here(__LINE__ - 1));
    CHECK_POISON(second, words);
    CHECK_POISON(second, "a reason");
    CHECK(n_log_lines == 2 && !strcmp(log_lines[1], "a reason"));
    /* Another code or another text is another failure. */
    CHECK(kn_poison(KN_ERROR_DTYPE, kn_last_error()).bits != second.bits);
    CHECK(kn_poison(KN_ERROR_DTYPE, "b").bits != second.bits && n_log_lines == 4);
    kn_nn_positional_encoding layer = {0};
    CHECK(kn_nn_positional_encoding_init(&layer, 4, NULL) == KN_OK);
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2, 3, 5), KN_F32));
    CHECK_POISON(kn_nn_positional_encoding_forward(&layer, x, 0), "positional");
    CHECK(n_log_lines == 5 && strstr(log_lines[4], here(__LINE__ - 1)));
    kn_log_set(NULL, NULL);
    kn_scope_end(s, KN_NONE);
}

static kn_param shared;
static void *set_param(void *unused)
{
    (void)unused;
    for (int i = 0; !atomic_load(&stop); i++) {
        kn_tensor v = kn_full(KN_SHAPE(64, 33), (double)(i % 100), KN_F64);
        if (i & 1) v = kn_transpose(kn_full(KN_SHAPE(33, 64), (double)(i % 100), KN_F64), 0, 1);
        if (kn_param_set(&shared, v)) atomic_store(&mixed, true);
    }
    return NULL;
}

/* All elements of a value are equal; a mixture of two would show. */
static void a_param_is_read_whole(void)
{
    static double v[64 * 33];
    pthread_t other;
    atomic_store(&stop, false);
    shared = kn_param_make(kn_zeros(KN_SHAPE(64, 33), KN_F64));
    CHECK(pthread_create(&other, NULL, set_param, NULL) == 0);
    bool whole = true;
    for (int i = 0; i < 3000 && whole; i++) {
        kn_scope s = kn_scope_begin();
        kn_tensor x = i % 3 == 0   ? kn_mul(kn_value(shared), kn_value(shared))
                      : i % 3 == 1 ? kn_alias(kn_value(shared))
                                   : kn_value(shared);
        whole = kn_read(x, v, sizeof v) == KN_OK;
        for (int k = 1; i % 3 && k < 64 * 33; k++) whole = whole && v[k] == v[0];
        int64_t strides[2];
        whole = whole && kn_strides(kn_value(shared), strides) == KN_OK;
        whole = whole && (strides[0] == 1 ? strides[1] == 64 : strides[0] == 33 || strides[0] == 0);
        kn_scope_end(s, KN_NONE);
    }
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    CHECK(whole);
    CHECK(!atomic_load(&mixed));
    kn_param_drop(&shared);
}

int main(void)
{
    last_error_has_the_line();
    last_error_is_the_thread_own();
    a_stale_scope_ends_nothing();
    an_ended_scope_names_its_lines();
    a_drop_names_its_line();
    the_log_may_change_at_any_time();
    a_failure_that_is_handed_on_is_told_once();
    a_param_is_read_whole();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
