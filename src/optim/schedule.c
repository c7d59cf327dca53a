/* Learning-rate schedules that are formulas of the step: constant, linear, cosine, exponential, noam, step, one-cycle, custom. */
#include "optim/optim_object.h"
#include "optim/schedule_object.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <stdlib.h>

kni_schedule *kni_schedule_make(const kni_schedule_kind *kind, const char *function)
{
    kni_schedule *s = calloc(1, sizeof *s);
    if (!s) {
        kni_failure_memory(function);
        return NULL;
    }
    s->kind = kind;
    return s;
}

/* The most common making: a kind with three numbers and a length that must be at least `least`. */
static kni_schedule *make(const kni_schedule_kind *kind, double a, double b, double c, int64_t length,
                          int64_t least, const char *function)
{
    const double all[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        if (kni_optim_check_rate("a rate or factor", all[i], function)) return NULL;
    if (length < least) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: %lld steps; at least %lld", function, (long long)length,
                    (long long)least);
        return NULL;
    }
    kni_schedule *s = kni_schedule_make(kind, function);
    if (!s) return NULL;
    for (int i = 0; i < 3; i++) s->numbers[i] = all[i];
    s->length = length;
    return s;
}

static kn_schedule simple(const kni_schedule_kind *kind, double a, double b, double c, int64_t length,
                          int64_t least, const char *function)
{
    return kni_schedule_handle(make(kind, a, b, c, length, least, function), function);
}

static double constant_rate(const kni_schedule *s, int64_t t)
{
    (void)t;
    return s->numbers[0];
}
static const kni_schedule_kind kind_constant = {"constant", constant_rate, NULL};

kn_schedule kn_schedule_constant(double lr)
{
    return simple(&kind_constant, lr, 0, 0, 1, 1, "kn_schedule_constant");
}

static double linear_rate(const kni_schedule *s, int64_t t)
{
    if (t >= s->length) return s->numbers[1];
    return s->numbers[0] + (s->numbers[1] - s->numbers[0]) * ((double)t / (double)s->length);
}
static const kni_schedule_kind kind_linear = {"linear", linear_rate, NULL};

kn_schedule kn_schedule_linear(double first, double last, int64_t steps)
{
    return simple(&kind_linear, first, last, 0, steps, 1, "kn_schedule_linear");
}

/* From a to b along half a cosine, part 0 to 1. */
static double half_cosine(double a, double b, double part)
{
    return b + (a - b) / 2 * (1 + kni_cos(KNI_PI * part));
}

static double cosine_rate(const kni_schedule *s, int64_t t)
{
    if (s->choice) t %= s->length;
    if (t >= s->length) return s->numbers[1];
    return half_cosine(s->numbers[0], s->numbers[1], (double)t / (double)s->length);
}
static const kni_schedule_kind kind_cosine = {"cosine", cosine_rate, NULL};

kn_schedule kn_schedule_cosine(double high, double low, int64_t steps, bool restart)
{
    kni_schedule *s = make(&kind_cosine, high, low, 0, steps, 1, "kn_schedule_cosine");
    if (s) s->choice = restart;
    return kni_schedule_handle(s, "kn_schedule_cosine");
}

static double exponential_rate(const kni_schedule *s, int64_t t)
{
    return s->numbers[0] * kni_pow(s->numbers[1], (double)(t / s->length));
}
static const kni_schedule_kind kind_exponential = {"exponential", exponential_rate, NULL};
static const kni_schedule_kind kind_step = {"step", exponential_rate, NULL};

kn_schedule kn_schedule_exponential(double first, double gamma)
{
    return simple(&kind_exponential, first, gamma, 0, 1, 1, "kn_schedule_exponential");
}
kn_schedule kn_schedule_step(double first, double gamma, int64_t every)
{
    return simple(&kind_step, first, gamma, 0, every, 1, "kn_schedule_step");
}

static double noam_rate(const kni_schedule *s, int64_t t)
{
    double now = (double)t + 1, warm = s->numbers[1];
    double falling = 1 / kni_sqrt(now), rising = now / (warm * kni_sqrt(warm));
    return s->numbers[0] / kni_sqrt(s->numbers[2]) * (falling < rising ? falling : rising);
}
static const kni_schedule_kind kind_noam = {"noam", noam_rate, NULL};

kn_schedule kn_schedule_noam(double factor, int64_t warm_up, int64_t size)
{
    int64_t least = warm_up < size ? warm_up : size;
    return simple(&kind_noam, factor, (double)warm_up, (double)size, least, 1, "kn_schedule_noam");
}

/* Numbers: max, rise, start rate, end rate. The phases end at rise steps - 1 and at steps - 1. */
static double one_cycle_rate(const kni_schedule *s, int64_t t)
{
    double now = (double)t, last = (double)s->length - 1, top = s->numbers[1] * (double)s->length - 1;
    if (now > last) now = last;
    bool rises = now <= top;
    double from = rises ? s->numbers[2] : s->numbers[0], to = rises ? s->numbers[0] : s->numbers[3];
    double begin = rises ? 0 : top, end = rises ? top : last;
    double part = end > begin ? (now - begin) / (end - begin) : 1;
    return s->choice ? from + (to - from) * part : half_cosine(from, to, part);
}
static const kni_schedule_kind kind_one_cycle = {"one_cycle", one_cycle_rate, NULL};

kn_schedule kn_schedule_one_cycle(const kn_one_cycle_args *args)
{
    const char *function = "kn_schedule_one_cycle";
    if (!args) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: the arguments are NULL", function);
        return NULL;
    }
    static const kn_one_cycle_args usual = KN_ONE_CYCLE_ARGS_DEFAULTS;
    double rise = kn_real_or(args->rise, usual.rise),
           divide = kn_real_or(args->start_factor, usual.start_factor);
    double last = kn_real_or(args->end_factor, usual.end_factor);
    if (!(rise > 0 && rise <= 1) || !(divide > 0) || !(last > 0)) {
        kni_failure(KN_ERROR_ARGUMENT,
                    "%s: rise %s must be above 0 and at most 1, the factors %s and %s above 0", function,
                    KNI_NUMBER(rise), KNI_NUMBER(divide), KNI_NUMBER(last));
        return NULL;
    }
    kni_schedule *s =
        make(&kind_one_cycle, args->max_lr, rise, args->max_lr / divide, args->steps, 1, function);
    if (s) s->numbers[3] = s->numbers[2] / last;
    if (s) s->choice = args->linear;
    return kni_schedule_handle(s, function);
}

static double custom_rate(const kni_schedule *s, int64_t t) { return s->custom(s->context, t); }
static const kni_schedule_kind kind_custom = {"custom", custom_rate, NULL};

kn_schedule kn_schedule_custom(double (*rate)(void *context, int64_t step), void *context)
{
    if (!rate) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_schedule_custom: the function is NULL");
        return NULL;
    }
    kni_schedule *s = kni_schedule_make(&kind_custom, "kn_schedule_custom");
    if (s) s->custom = rate;
    if (s) s->context = context;
    return kni_schedule_handle(s, "kn_schedule_custom");
}
