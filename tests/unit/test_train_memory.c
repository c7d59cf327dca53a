/* A run whose memory ends: whichever calloc of the fit fails, the fit says so or does without, and the next one trains. */
#define _GNU_SOURCE
#include "support/failing_calloc.h"
#include "test_train_run.h"

#if !FAILING_CALLOC
int main(void)
{
    check_skip("a sanitizer's own calloc");
    return check_report();
}
#else
/* Trains with the nth calloc of the fit failing; false when it has fewer. */
static bool train(int64_t n, int *failures)
{
    Run run;
    if (!run_make(&run, NULL, 1, NULL)) return false;
    CHECK_OK(kn_learner_add_metric(run.learner, kn_metric_accuracy(-1)));
    until_failure = n;
    kn_status s = kn_learner_fit(run.learner);
    bool failed = !until_failure;
    until_failure = 0;
    CHECK(s == KN_OK || (failed && s == KN_ERROR_MEMORY));
    *failures += s != KN_OK;
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(kn_learner_ended(run.learner) == KN_RUN_FINISHED && kn_learner_epoch_count(run.learner) == 1);
    run_free(&run);
    return failed;
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    int failures = 0;
    int64_t n = 1;
    while (n < 1000 && train(n, &failures)) n++;
    CHECK(n < 1000 && failures > 3);
    kn_device_use(NULL);
    kn_device_close(device);
    return check_report();
}
#endif
