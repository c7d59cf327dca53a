/* Schedules made of others (warm-up, composed, sequential), the plateau, and what all schedules share: running, reporting,
   saving. */
#include "optim/schedule_object.h"
#include "support/buffer.h"
#include "support/failure.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

double kn_schedule_peek(kn_schedule schedule)
{
    return schedule ? schedule->kind->rate(schedule, schedule->step) : 0;
}

static void advance(kn_schedule s)
{
    if (s->kind->advance)
        s->kind->advance(s);
    else
        for (int32_t i = 0; i < s->n_parts; i++) advance(s->parts[i]);
    s->step++;
}

double kn_schedule_next(kn_schedule schedule)
{
    double rate = kn_schedule_peek(schedule);
    if (schedule) advance(schedule);
    return rate;
}

void kn_schedule_free(kn_schedule schedule)
{
    if (!schedule) return;
    for (int32_t i = 0; i < schedule->n_parts; i++) kn_schedule_free(schedule->parts[i]);
    free(schedule->parts);
    free(schedule->milestones);
    free(schedule);
}

/* A schedule that takes the parts over, also when it fails. */
static kn_schedule make_of(const kni_schedule_kind *kind, const kn_schedule *parts, int32_t n,
                           const char *function)
{
    bool whole = parts && n > 0;
    for (int32_t i = 0; whole && i < n; i++) whole = parts[i] != NULL;
    kn_schedule s = NULL;
    if (!whole)
        kni_failure(KN_ERROR_ARGUMENT, "%s: %s", function,
                    parts && n > 0 ? "a part is NULL" : "at least one part is needed");
    else
        s = kni_schedule_make(kind, function);
    if (s) s->parts = malloc((size_t)n * sizeof *s->parts);
    if (s && s->parts) {
        memcpy(s->parts, parts, (size_t)n * sizeof *parts);
        s->n_parts = n;
        return s;
    }
    if (s) kni_failure_memory(function);
    free(s);
    for (int32_t i = 0; parts && i < n; i++) kn_schedule_free(parts[i]);
    return NULL;
}

/* ---- warm-up */

static double warm_up_rate(const struct kn_schedule_object *s, int64_t t)
{
    double rate = kn_schedule_peek(s->parts[0]);
    return t < s->length ? rate * ((double)t / (double)s->length) : rate;
}
static void warm_up_advance(struct kn_schedule_object *s)
{
    if (s->step >= s->length) advance(s->parts[0]);
}
static const kni_schedule_kind kind_warm_up = {"warm_up", warm_up_rate, warm_up_advance};

kn_schedule kn_schedule_warm_up(int64_t steps, kn_schedule after)
{
    if (steps < 0) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_schedule_warm_up: %lld steps", (long long)steps);
        kn_schedule_free(after);
        return NULL;
    }
    kn_schedule s = make_of(&kind_warm_up, &after, 1, "kn_schedule_warm_up");
    if (s) s->length = steps;
    return s;
}

/* ---- composed */

static double composed_rate(const struct kn_schedule_object *s, int64_t t)
{
    (void)t;
    bool product = s->choice == KN_SCHEDULE_PRODUCT;
    double rate = product ? 1 : 0;
    for (int32_t i = 0; i < s->n_parts; i++) {
        double part = kn_schedule_peek(s->parts[i]);
        rate = product ? rate * part : rate + part;
    }
    return s->choice == KN_SCHEDULE_MEAN ? rate / s->n_parts : rate;
}
static const kni_schedule_kind kind_composed = {"composed", composed_rate, NULL};

kn_schedule kn_schedule_composed(const kn_schedule *parts, int32_t n, kn_schedule_reduction reduction)
{
    kn_schedule s = make_of(&kind_composed, parts, n, "kn_schedule_composed");
    if (s && (reduction < KN_SCHEDULE_PRODUCT || reduction > KN_SCHEDULE_MEAN)) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_schedule_composed: %d is no reduction", (int)reduction);
        kn_schedule_free(s);
        return NULL;
    }
    if (s) s->choice = reduction;
    return s;
}

/* ---- sequential */

static int32_t active_part(const struct kn_schedule_object *s, int64_t t)
{
    int32_t i = 0;
    while (i < s->n_parts - 1 && t >= s->milestones[i]) i++;
    return i;
}
static double sequential_rate(const struct kn_schedule_object *s, int64_t t)
{
    return kn_schedule_peek(s->parts[active_part(s, t)]);
}
static void sequential_advance(struct kn_schedule_object *s) { advance(s->parts[active_part(s, s->step)]); }
static const kni_schedule_kind kind_sequential = {"sequential", sequential_rate, sequential_advance};

kn_schedule kn_schedule_sequential(const kn_schedule *parts, int32_t n, const int64_t *milestones)
{
    const char *function = "kn_schedule_sequential";
    kn_schedule s = make_of(&kind_sequential, parts, n, function);
    if (!s) return NULL;
    bool rising = n == 1 || milestones;
    for (int32_t i = 0; rising && i < n - 1; i++) rising = milestones[i] > (i ? milestones[i - 1] : -1);
    s->milestones = rising ? calloc((size_t)n, sizeof *s->milestones) : NULL;
    if (!s->milestones) {
        if (rising)
            kni_failure_memory(function);
        else
            kni_failure(KN_ERROR_ARGUMENT, "%s: %d rising milestones are needed for %d parts", function,
                        n - 1, n);
        kn_schedule_free(s);
        return NULL;
    }
    if (n > 1) memcpy(s->milestones, milestones, (size_t)(n - 1) * sizeof *milestones);
    return s;
}

/* ---- plateau. Numbers: factor, lowest rate, threshold, patience, cooldown. choice: higher is better. */

static double plateau_rate(const struct kn_schedule_object *s, int64_t t)
{
    (void)t;
    return s->plateau.lr;
}
static const kni_schedule_kind kind_plateau = {"plateau", plateau_rate, NULL};

kn_schedule kn_schedule_plateau(const kn_plateau_args *args)
{
    static const kn_plateau_args usual = KN_PLATEAU_ARGS_DEFAULTS;
    kn_plateau_args a = args ? *args : usual;
    double lr = kn_real_or(a.lr, usual.lr), factor = kn_real_or(a.factor, usual.factor);
    double threshold = kn_real_or(a.threshold, usual.threshold), min_lr = kn_real_or(a.min_lr, 0);
    int64_t patience = a.patience < 0 ? 0 : kn_int_or(a.patience, usual.patience);
    int64_t cooldown = kn_int_or(a.cooldown, 0);
    bool fits = lr > 0 && factor > 0 && factor < 1 && min_lr >= 0 && threshold >= 0;
    if (!fits || cooldown < 0) {
        kni_failure(KN_ERROR_ARGUMENT,
                    "kn_schedule_plateau: lr %s, factor %s (0 to 1), min_lr %s, threshold %s, "
                    "cooldown %lld: none may be negative",
                    KNI_NUMBER(lr), KNI_NUMBER(factor), KNI_NUMBER(min_lr), KNI_NUMBER(threshold),
                    (long long)cooldown);
        return NULL;
    }
    kn_schedule s = kni_schedule_make(&kind_plateau, "kn_schedule_plateau");
    if (!s) return NULL;
    const double numbers[] = {factor, min_lr, threshold, (double)patience, (double)cooldown};
    memcpy(s->numbers, numbers, sizeof numbers);
    s->choice = a.higher_is_better;
    s->plateau.lr = lr;
    s->plateau.best = a.higher_is_better ? -DBL_MAX : DBL_MAX;
    return s;
}

static void report_plateau(kn_schedule s, double metric)
{
    double best = s->plateau.best, threshold = s->numbers[2];
    bool better = s->choice ? metric > best * (1 + threshold) : metric < best * (1 - threshold);
    s->plateau.bad = better ? 0 : s->plateau.bad + 1;
    if (better) s->plateau.best = metric;
    if (s->plateau.cooling > 0) {
        s->plateau.cooling--;
        s->plateau.bad = 0;
    }
    if ((double)s->plateau.bad <= s->numbers[3]) return;
    double lower = s->plateau.lr * s->numbers[0];
    if (lower < s->numbers[1]) lower = s->numbers[1];
    if (s->plateau.lr - lower > 1e-8) s->plateau.lr = lower;
    s->plateau.cooling = (int64_t)s->numbers[4];
    s->plateau.bad = 0;
}

void kn_schedule_report(kn_schedule schedule, double metric)
{
    if (!schedule) return;
    if (schedule->kind == &kind_plateau) report_plateau(schedule, metric);
    for (int32_t i = 0; i < schedule->n_parts; i++) kn_schedule_report(schedule->parts[i], metric);
}

/* ---- saving: the step and the plateau's memory; parts under "0." "1." ... */

static kn_status part_prefix(kni_buffer *b, const char *prefix, int32_t part, const char *function)
{
    kni_buffer_format(b, "%s%d.", prefix, part);
    return b->failed ? kni_failure_memory(function) : KN_OK;
}

kn_status kn_schedule_save(kn_schedule schedule, kn_state state, const char *prefix)
{
    if (!schedule || !state)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_schedule_save: the schedule or the state is NULL");
    if (!prefix) prefix = "";
    kn_status s = kn_state_put_int(state, prefix, "step", schedule->step);
    if (schedule->kind == &kind_plateau) {
        if (s == KN_OK) s = kn_state_put_real(state, prefix, "lr", schedule->plateau.lr);
        if (s == KN_OK) s = kn_state_put_real(state, prefix, "best", schedule->plateau.best);
        if (s == KN_OK) s = kn_state_put_int(state, prefix, "bad", schedule->plateau.bad);
        if (s == KN_OK) s = kn_state_put_int(state, prefix, "cooling", schedule->plateau.cooling);
    }
    for (int32_t i = 0; i < schedule->n_parts && s == KN_OK; i++) {
        kni_buffer name = {0};
        s = part_prefix(&name, prefix, i, "kn_schedule_save");
        if (s == KN_OK) s = kn_schedule_save(schedule->parts[i], state, kni_buffer_string(&name));
        kni_buffer_free(&name);
    }
    return s;
}

/* Whether the state has all that the schedule needs; with set, takes it over. */
static kn_status load(kn_schedule schedule, kn_state state, const char *prefix, bool set)
{
    struct kn_schedule_object copy = *schedule;
    bool found = kn_state_get_int(state, prefix, "step", &copy.step) && copy.step >= 0;
    if (schedule->kind == &kind_plateau)
        found = found && kn_state_get_real(state, prefix, "lr", &copy.plateau.lr) &&
                kn_state_get_real(state, prefix, "best", &copy.plateau.best) &&
                kn_state_get_int(state, prefix, "bad", &copy.plateau.bad) &&
                kn_state_get_int(state, prefix, "cooling", &copy.plateau.cooling);
    if (!found)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_schedule_load: the state has no whole %s schedule under '%s'",
                           schedule->kind->name, prefix);
    if (set) *schedule = copy;
    kn_status s = KN_OK;
    for (int32_t i = 0; i < schedule->n_parts && s == KN_OK; i++) {
        kni_buffer name = {0};
        s = part_prefix(&name, prefix, i, "kn_schedule_load");
        if (s == KN_OK) s = load(schedule->parts[i], state, kni_buffer_string(&name), set);
        kni_buffer_free(&name);
    }
    return s;
}

kn_status kn_schedule_load(kn_schedule schedule, kn_state state, const char *prefix)
{
    if (!schedule || !state)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_schedule_load: the schedule or the state is NULL");
    kn_status s = load(schedule, state, prefix ? prefix : "", false);
    return s ? s : load(schedule, state, prefix ? prefix : "", true);
}
