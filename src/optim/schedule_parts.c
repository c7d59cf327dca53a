/* Schedules made of others (warm-up, composed, sequential), the plateau, and what all schedules share: running, reporting,
   saving. */
#include "optim/schedule_object.h"
#include "support/buffer.h"
#include "support/failure.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

static double peek(const kni_schedule *s) { return s->kind->rate(s, s->step); }

static void advance(kni_schedule *s)
{
    if (s->kind->advance)
        s->kind->advance(s);
    else
        for (int32_t i = 0; i < s->n_parts; i++) advance(s->parts[i]);
    s->step++;
}

double kn_schedule_peek(kn_schedule handle)
{
    KNI_USE(schedule, s, handle);
    return s ? peek(s) : 0;
}

double kn_schedule_next(kn_schedule handle)
{
    KNI_USE(schedule, s, handle);
    if (!s) return 0;
    double rate = peek(s);
    advance(s);
    return rate;
}

static void free_parts(const kn_schedule *handles, int32_t n, const char *by)
{
    for (int32_t i = 0; i < n; i++) kni_object_free_adopted(handles[i], &kni_kind_schedule, by);
}

static void destroy_schedule(void *object)
{
    kni_schedule *s = object;
    free_parts(s->handles, s->n_parts, "kn_schedule_free");
    free(s->handles);
    free(s->parts);
    free(s->milestones);
    free(s);
}

const kni_object_kind kni_kind_schedule = {"kn_schedule", "schedule", "freed", destroy_schedule};

kn_schedule kni_schedule_handle(kni_schedule *schedule, const char *function)
{
    return schedule ? kni_object_make(&kni_kind_schedule, schedule, function) : NULL;
}

void kn_schedule_free(kn_schedule schedule) { kni_object_free(schedule, &kni_kind_schedule, __func__); }

/* Takes the parts over; false, with the failure told, at the first that is no good. */
static bool adopt(kni_schedule *s, const kn_schedule *parts, int32_t n, const char *function)
{
    for (; s->n_parts < n; s->n_parts++) {
        if (!parts[s->n_parts]) {
            kni_failure(KN_ERROR_ARGUMENT, "%s: a part is NULL: it is missing, or could not be made",
                        function);
            return false;
        }
        void *part = kni_object_adopt(parts[s->n_parts], &kni_kind_schedule, "kn_schedule", function);
        if (!part) return false;
        s->parts[s->n_parts] = part;
        s->handles[s->n_parts] = parts[s->n_parts];
    }
    return true;
}

/* A schedule that takes the parts over, also when it fails. */
static kni_schedule *make_of(const kni_schedule_kind *kind, const kn_schedule *parts, int32_t n,
                             const char *function)
{
    kni_schedule *s = NULL;
    if (!parts || n < 1)
        kni_failure(KN_ERROR_ARGUMENT, "%s: at least one part is needed", function);
    else
        s = kni_schedule_make(kind, function);
    if (s) {
        s->parts = malloc((size_t)n * sizeof *s->parts);
        s->handles = malloc((size_t)n * sizeof *s->handles);
        if (!s->parts || !s->handles)
            kni_failure_memory(function);
        else if (adopt(s, parts, n, function))
            return s;
        destroy_schedule(s);
    }
    for (int32_t i = 0; parts && i < n; i++) kni_object_discard(parts[i], &kni_kind_schedule, function);
    return NULL;
}

/* ---- warm-up */

static double warm_up_rate(const kni_schedule *s, int64_t t)
{
    double rate = peek(s->parts[0]);
    return t < s->length ? rate * ((double)t / (double)s->length) : rate;
}
static void warm_up_advance(kni_schedule *s)
{
    if (s->step >= s->length) advance(s->parts[0]);
}
static const kni_schedule_kind kind_warm_up = {"warm_up", warm_up_rate, warm_up_advance};

kn_schedule kn_schedule_warm_up(int64_t steps, kn_schedule after)
{
    if (steps < 0) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_schedule_warm_up: %lld steps", (long long)steps);
        kni_object_discard(after, &kni_kind_schedule, __func__);
        return NULL;
    }
    kni_schedule *s = make_of(&kind_warm_up, &after, 1, __func__);
    if (s) s->length = steps;
    return kni_schedule_handle(s, __func__);
}

/* ---- composed */

static double composed_rate(const kni_schedule *s, int64_t t)
{
    (void)t;
    bool product = s->choice == KN_SCHEDULE_PRODUCT;
    double rate = product ? 1 : 0;
    for (int32_t i = 0; i < s->n_parts; i++) {
        double part = peek(s->parts[i]);
        rate = product ? rate * part : rate + part;
    }
    return s->choice == KN_SCHEDULE_MEAN ? rate / s->n_parts : rate;
}
static const kni_schedule_kind kind_composed = {"composed", composed_rate, NULL};

kn_schedule kn_schedule_composed(const kn_schedule *parts, int32_t n, kn_schedule_reduction reduction)
{
    kni_schedule *s = make_of(&kind_composed, parts, n, "kn_schedule_composed");
    if (s && (reduction < KN_SCHEDULE_PRODUCT || reduction > KN_SCHEDULE_MEAN)) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_schedule_composed: %d is no reduction", (int)reduction);
        destroy_schedule(s);
        return NULL;
    }
    if (s) s->choice = reduction;
    return kni_schedule_handle(s, __func__);
}

/* ---- sequential */

static int32_t active_part(const kni_schedule *s, int64_t t)
{
    int32_t i = 0;
    while (i < s->n_parts - 1 && t >= s->milestones[i]) i++;
    return i;
}
static double sequential_rate(const kni_schedule *s, int64_t t) { return peek(s->parts[active_part(s, t)]); }
static void sequential_advance(kni_schedule *s) { advance(s->parts[active_part(s, s->step)]); }
static const kni_schedule_kind kind_sequential = {"sequential", sequential_rate, sequential_advance};

kn_schedule kn_schedule_sequential(const kn_schedule *parts, int32_t n, const int64_t *milestones)
{
    const char *function = "kn_schedule_sequential";
    kni_schedule *s = make_of(&kind_sequential, parts, n, function);
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
        destroy_schedule(s);
        return NULL;
    }
    if (n > 1) memcpy(s->milestones, milestones, (size_t)(n - 1) * sizeof *milestones);
    return kni_schedule_handle(s, function);
}

/* ---- plateau. Numbers: factor, lowest rate, threshold, patience, cooldown. choice: higher is better. */

static double plateau_rate(const kni_schedule *s, int64_t t)
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
                    "kn_schedule_plateau: lr %s must be above 0, factor %s above 0 and below 1, min_lr %s, "
                    "threshold %s and cooldown %lld 0 or more",
                    KNI_NUMBER(lr), KNI_NUMBER(factor), KNI_NUMBER(min_lr), KNI_NUMBER(threshold),
                    (long long)cooldown);
        return NULL;
    }
    kni_schedule *s = kni_schedule_make(&kind_plateau, "kn_schedule_plateau");
    if (!s) return NULL;
    const double numbers[] = {factor, min_lr, threshold, (double)patience, (double)cooldown};
    memcpy(s->numbers, numbers, sizeof numbers);
    s->choice = a.higher_is_better;
    s->plateau.lr = lr;
    s->plateau.best = a.higher_is_better ? -DBL_MAX : DBL_MAX;
    return kni_schedule_handle(s, __func__);
}

static void report_plateau(kni_schedule *s, double metric)
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

static void report(kni_schedule *s, double metric)
{
    if (s->kind == &kind_plateau) report_plateau(s, metric);
    for (int32_t i = 0; i < s->n_parts; i++) report(s->parts[i], metric);
}

void kn_schedule_report(kn_schedule handle, double metric)
{
    KNI_USE(schedule, s, handle);
    if (s) report(s, metric);
}

/* ---- saving: the step and the plateau's memory; parts under "0." "1." ... */

static kn_status part_prefix(kni_buffer *b, const char *prefix, int32_t part, const char *function)
{
    kni_buffer_format(b, "%s%d.", prefix, part);
    return b->failed ? kni_failure_memory(function) : KN_OK;
}

static kn_status save(const kni_schedule *schedule, kn_state state, const char *prefix)
{
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
        if (s == KN_OK) s = save(schedule->parts[i], state, kni_buffer_string(&name));
        kni_buffer_free(&name);
    }
    return s;
}

kn_status kn_schedule_save(kn_schedule handle, kn_state state, const char *prefix)
{
    KNI_USE(schedule, schedule, handle);
    if (!schedule) return KNI_NO_OBJECT(handle);
    KNI_USE_OTHER(state, there, state);
    return there ? save(schedule, state, prefix ? prefix : "") : KNI_NO_OBJECT(state);
}

/* Whether the state has all that the schedule needs; with set, takes it over. */
static kn_status load(kni_schedule *schedule, kn_state state, const char *prefix, bool set)
{
    kni_schedule copy = *schedule;
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

kn_status kn_schedule_load(kn_schedule handle, kn_state state, const char *prefix)
{
    KNI_USE(schedule, schedule, handle);
    if (!schedule) return KNI_NO_OBJECT(handle);
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    kn_status s = load(schedule, state, prefix ? prefix : "", false);
    return s ? s : load(schedule, state, prefix ? prefix : "", true);
}
