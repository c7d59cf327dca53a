/* Decorators in every order: each stack of up to three of them works or is refused with the reason, and all that train give the
   losses of autodiff(cpu), bit by bit. */
#include "support/check.h"
#include <kn/program.h>

static const char *const decorators[] = {"autodiff(%s)", "fusion(%s)",    "trace(%s)",     "profile(%s)",
                                         "nan(%s)",      "check(%s,ref)", "check(cpu,%s)", "check(%s,cpu)"};
enum { DECORATORS = sizeof decorators / sizeof *decorators, STEPS = 3, SPEC = 160 };

/* ---- which stacks make sense, as the documents say it */

/* Whether `word` stands in the spec, and where. */
static const char *first(const char *spec, const char *word) { return strstr(spec, word); }

static int occurrences(const char *spec, const char *word)
{
    int n = 0;
    for (const char *at = spec; (at = strstr(at, word)); at++) n++;
    return n;
}

/* Whether a tape is in the second place of a check. */
static bool tapes_second(const char *spec)
{
    const char *check = first(spec, "check(cpu,"), *tape = NULL;
    for (const char *at = spec; (at = strstr(at, "autodiff")); at++) tape = at;
    return check && tape && tape > check;
}

/* The reason by which a stack is refused; NULL: it works. */
static const char *refusal(const char *spec)
{
    const char *tape = first(spec, "autodiff"), *queue = first(spec, "fusion");
    if (occurrences(spec, "autodiff") > 1) return "one tape is enough";
    if (occurrences(spec, "fusion") > 1) return "one queue is enough";
    if (tape && queue && queue < tape) return "autodiff(fusion(...))";
    if (tapes_second(spec)) return "its first device alone";
    return NULL;
}

/* ---- what is run on them */

static void losses_of(kn_device device, float *losses)
{
    static const float x[] = {0.5f, -1.25f, 2.0f, 0.125f, 1.5f, -0.75f};
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor input = kn_keep(kn_from(x, KN_F32, KN_SHAPE(2, 3)));
    kn_param w =
        kn_param_make(kn_from((float[]){0.1f, -0.2f, 0.3f, 0.4f, 0.5f, -0.6f}, KN_F32, KN_SHAPE(3, 2)));
    for (int i = 0; i < STEPS; i++) {
        kn_tensor g, p = w.handle;
        kn_tensor y = kn_softmax(kn_tanh(kn_matmul(input, kn_value(w))), 1);
        kn_tensor loss = kn_keep(kn_mean(kn_square(kn_sub_scalar(y, 0.25)), KN_AXES_ALL, false));
        CHECK(kn_grad(&loss, NULL, 1, &p, 1, 0, &g) == KN_OK);
        CHECK(kn_param_set(&w, kn_sub(kn_value(w), kn_mul_scalar(g, 0.5))) == KN_OK);
        losses[i] = (float)kn_item(loss);
    }
    kn_param_drop(&w);
    kn_scope_end(scope, KN_NONE);
}

static void computes(kn_device device)
{
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(3)));
    CHECK_VALUES(kn_add(kn_mul(x, x), kn_neg(x)), 0, 0, 2, 6);
    CHECK_VALUES(kn_sum(kn_flip(x, KN_AXES(0)), KN_AXES_ALL, false), 0, 6);
    kn_scope_end(scope, KN_NONE);
}

static int opened, refused, trained;

/* Answers the reason by which it is refused; `inner` is that of the stack inside, which is told first. */
static const char *one_stack(const char *spec, const char *inner, const float *wanted)
{
    const char *reason = inner ? inner : refusal(spec);
    kn_device d = kn_device_open(spec);
    if (!CHECK((d == NULL) == (reason != NULL))) printf("%s: %s\n", spec, d ? "opened" : kn_last_error());
    if (!d) {
        refused++;
        if (reason && !CHECK(strstr(kn_last_error(), reason))) printf("%s: %s\n", spec, kn_last_error());
        return reason;
    }
    opened++;
    computes(d);
    if (first(spec, "autodiff")) {
        float losses[STEPS] = {0};
        losses_of(d, losses);
        if (!CHECK(!memcmp(losses, wanted, sizeof losses)))
            printf("%s: %g %g %g instead of %g %g %g\n", spec, losses[0], losses[1], losses[2], wanted[0],
                   wanted[1], wanted[2]);
        trained++;
    }
    CHECK(kn_sync(d) == KN_OK);
    kn_device_use(NULL);
    kn_device_close(d);
    return NULL;
}

static void around(char *out, const char *decorator, const char *inner)
{
    const char *at = strstr(decorator, "%s");
    *out = 0;
    strncat(out, decorator, (size_t)(at - decorator));
    strcat(out, inner);
    strcat(out, at + 2);
}

static void every_order(void)
{
    float wanted[STEPS];
    kn_device plain = kn_device_open("autodiff(cpu)");
    losses_of(plain, wanted);
    CHECK(wanted[0] > wanted[1] && wanted[1] > wanted[2]);
    for (int a = 0; a < DECORATORS; a++) {
        char one[SPEC], two[SPEC], three[SPEC];
        around(one, decorators[a], "cpu");
        const char *first_reason = one_stack(one, NULL, wanted);
        for (int b = 0; b < DECORATORS; b++) {
            around(two, decorators[b], one);
            const char *second_reason = one_stack(two, first_reason, wanted);
            for (int c = 0; c < DECORATORS; c++) {
                around(three, decorators[c], two);
                (void)one_stack(three, second_reason, wanted);
            }
        }
    }
    printf("%d stacks opened, %d of them trained, %d refused\n", opened, trained, refused);
    CHECK(opened > 300 && trained > 100 && refused > 50);
    kn_device_use(NULL);
    kn_device_close(plain);
}

/* ---- a profile changes nothing */

static kn_fusion_stats stats_of(const char *spec, char *report, size_t bytes)
{
    kn_fusion_stats s = {0};
    float losses[STEPS];
    kn_device d = kn_device_open(spec);
    CHECK(d != NULL);
    losses_of(d, losses);
    losses_of(d, losses);
    CHECK(kn_fusion_stats_of(d, &s) == KN_OK);
    if (report) CHECK(kn_device_report(d, NULL, report, bytes) > 0);
    kn_device_use(NULL);
    kn_device_close(d);
    return s;
}

static bool same_plans(const kn_fusion_stats *a, const kn_fusion_stats *b)
{
    return a->records == b->records && a->submissions == b->submissions && a->plans_made == b->plans_made &&
           a->plan_hits == b->plan_hits && a->groups_run == b->groups_run &&
           a->singles_run == b->singles_run && a->refused == b->refused;
}

static void profile_keeps_plans(void)
{
    static const char *const specs[] = {"profile(autodiff(fusion(cpu)))", "autodiff(profile(fusion(cpu)))",
                                        "autodiff(fusion(profile(cpu)))"};
    static char report[1 << 14];
    kn_fusion_stats plain = stats_of("autodiff(fusion(cpu))", NULL, 0);
    CHECK(plain.groups_run > 0 && plain.plan_hits > 0);
    for (int i = 0; i < 3; i++) {
        kn_fusion_stats s = stats_of(specs[i], report, sizeof report);
        if (!CHECK(same_plans(&s, &plain))) printf("%s\n", specs[i]);
        CHECK(strstr(report, "mul+") || strstr(report, "sub+")); /* a group */
        CHECK(strstr(report, "\tmatmul"));                       /* a product, with what follows it */
        if (i < 2) CHECK(strstr(report, "test_stacks.c:"));      /* the line that made it */
    }
}

/* ---- reports come from the first that has one */

static void reports_pass_through(void)
{
    char text[4096];
    kn_device d = kn_device_open("autodiff(nan(trace(cpu)))");
    computes(d);
    CHECK(kn_device_report(d, NULL, text, sizeof text) > 0 && strstr(text, "mul(f32[3], f32[3]) -> f32[3]"));
    CHECK(kn_device_report(d, "chrome-trace", text, sizeof text) == 0);
    kn_device_use(NULL);
    kn_device_close(d);
}

int main(void)
{
    every_order();
    profile_keeps_plans();
    reports_pass_through();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
