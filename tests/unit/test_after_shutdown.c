/* What a program may still do after kn_shutdown(): read why something failed, and free what it holds. */
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <pthread.h>

static int told;

static void count(void *context, kn_log_level level, const char *text)
{
    (void)context;
    if (level != KN_LOG_ERROR) return;
    told++;
    printf("logged: %s\n", text);
}

static kn_tensor unfit(void) { return kn_add(kn_ones(KN_SHAPE(2), KN_F32), kn_ones(KN_SHAPE(3), KN_F32)); }

static void the_latest_error_outlives_the_library(void)
{
    CHECK(!kn_ok(unfit()));
    const char *why = kn_last_error();
    CHECK(strstr(why, "kn_add: ") && strstr(why, "test_after_shutdown.c:"));
    char copy[600];
    snprintf(copy, sizeof copy, "%s", why);
    CHECK(kn_shutdown() >= 0);
    CHECK(!strcmp(why, copy));
    CHECK(kn_last_error() == why);
    CHECK(kn_memory_stats().bytes_now > 0); /* asking has begun the thread's state anew */
    CHECK(kn_shutdown() == 0);
    CHECK(!strcmp(why, copy) && kn_memory_stats().bytes_now == 0);
    /* It stays until the thread's next failure, in the next life too. */
    CHECK(kn_ok(kn_neg(kn_ones(KN_SHAPE(2), KN_F32))));
    CHECK(!strcmp(why, copy));
    CHECK(!kn_device_open("nonsense"));
    CHECK(strstr(kn_last_error(), "nonsense"));
    CHECK(kn_shutdown() == 0);
}

static void *fail_and_shut_down(void *context)
{
    (void)context;
    CHECK(!kn_ok(unfit()));
    const char *why = kn_last_error();
    CHECK(kn_shutdown() == 0);
    CHECK(strstr(why, "kn_add: "));
    return NULL;
}

static void it_is_the_thread_own(void)
{
    pthread_t other;
    CHECK(!pthread_create(&other, NULL, fail_and_shut_down, NULL));
    pthread_join(other, NULL);
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
}

static void freeing_is_nothing(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    kn_nn_linear layer = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    kn_tensor owned = kn_own(kn_ones(KN_SHAPE(2), KN_F32)), kept = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    kn_param param = kn_param_make(kn_ones(KN_SHAPE(2), KN_F32));
    kn_sample sample = {0};
    CHECK(kn_sample_add(&sample, kn_ones(KN_SHAPE(2), KN_F32)) == KN_OK);
    kn_scope scope = kn_scope_begin();
    CHECK(kn_shutdown() > 0);
    told = 0;
    kn_log_set(count, NULL);
    kn_drop(owned);
    kn_drop(kept);
    kn_param_drop(&param);
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &layer));
    kn_sample_drop(&sample);
    kn_device_close(device);
    CHECK(told == 0);
    /* In the next life too, where its slots are in use again. */
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    kn_drop(owned);
    kn_device_close(device);
    CHECK(told == 0 && kn_ok(x));
    kn_scope_end(scope, KN_NONE);
    CHECK(told == 1 && strstr(kn_last_error(), "kn_shutdown() has ended this scope"));
    /* Using is an error still, and so is dropping twice what this life made. */
    CHECK_POISON(kn_neg(owned), "names no live tensor");
    told = 0;
    kn_drop(x);
    kn_drop(x);
    (void)kn_last_error();
    CHECK(told == 1);
    kn_log_set(NULL, NULL);
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
}

int main(void)
{
    the_latest_error_outlives_the_library();
    it_is_the_thread_own();
    freeing_is_nothing();
    return check_report();
}
