/* The line search of L-BFGS: brackets a step that meets the strong Wolfe conditions, then closes in by cubic interpolation. */
#include "optim/lbfgs_problem.h"
#include "support/scalar_math.h"
#include <kn/tensor.h>

static const double decrease = 1e-4, curvature = 0.9, smallest_bracket = 1e-9;

static double size(double x) { return x < 0 ? -x : x; }
static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

/* The minimum of the cubic through two points with their slopes, inside low .. high. */
static double cubic(const kni_lbfgs_point *a, const kni_lbfgs_point *b, double low, double high)
{
    const kni_lbfgs_point *near = a->t <= b->t ? a : b, *far = a->t <= b->t ? b : a;
    double d1 = near->slope + far->slope - 3 * (near->loss - far->loss) / (near->t - far->t);
    double square = d1 * d1 - near->slope * far->slope;
    if (!(square >= 0)) return (low + high) / 2;
    double d2 = kni_sqrt(square);
    double at = far->t - (far->t - near->t) * ((far->slope + d2 - d1) / (far->slope - near->slope + 2 * d2));
    return smaller(larger(at, low), high);
}

static void copy_point(kni_lbfgs_problem *p, kni_lbfgs_point *to, const kni_lbfgs_point *from)
{
    kn_tensor place = to->gradient;
    kni_lbfgs_set(p, &place, kn_alias(from->gradient));
    *to = *from;
    to->gradient = place;
}

static void evaluate_at(kni_lbfgs_problem *p, kni_lbfgs_point *point, double t, kn_tensor direction)
{
    kni_lbfgs_move(p, t, direction);
    point->t = t;
    point->loss = kni_lbfgs_evaluate(p, &point->gradient);
    point->slope = kni_lbfgs_dot(p, point->gradient, direction);
}

/* Moves a guess that is too near an end of the bracket away from it, once it happens twice. */
static double keep_off_ends(double t, double low, double high, bool *stuck)
{
    double margin = 0.1 * (high - low);
    if (!(smaller(high - t, t - low) < margin)) {
        *stuck = false;
        return t;
    }
    if (!*stuck && t < high && t > low) {
        *stuck = true;
        return t;
    }
    *stuck = false;
    return size(t - high) < size(t - low) ? high - margin : low + margin;
}

typedef struct search {
    kni_lbfgs_problem *problem;
    kni_lbfgs_point start, bracket[2], trial;
    kn_tensor direction;
    int turns, most, evaluations;
    bool done; /* bracket[0] meets the conditions */
} search;

static bool too_high(const search *s)
{
    return s->trial.loss > s->start.loss + decrease * s->trial.t * s->start.slope;
}
static bool flat_enough(const search *s) { return size(s->trial.slope) <= -curvature * s->start.slope; }

/* Walks on until a bracket, or the step itself, is found. */
static void find_bracket(search *s, double t)
{
    kni_lbfgs_problem *p = s->problem;
    kni_lbfgs_point *before = &s->bracket[0];
    copy_point(p, before, &s->start);
    evaluate_at(p, &s->trial, t, s->direction);
    s->evaluations = 1;
    for (; s->turns < s->most && p->status == KN_OK; s->turns++) {
        bool rises = too_high(s) || (s->turns > 1 && s->trial.loss >= before->loss);
        if (!rises && flat_enough(s)) {
            copy_point(p, before, &s->trial);
            s->done = true;
            return;
        }
        if (rises || s->trial.slope >= 0) {
            copy_point(p, &s->bracket[1], &s->trial);
            return;
        }
        double next = cubic(before, &s->trial, s->trial.t + 0.01 * (s->trial.t - before->t), s->trial.t * 10);
        copy_point(p, before, &s->trial);
        evaluate_at(p, &s->trial, next, s->direction);
        s->evaluations++;
    }
    copy_point(p, before, &s->start);
    copy_point(p, &s->bracket[1], &s->trial);
}

static int lowest(const search *s) { return s->bracket[0].loss <= s->bracket[1].loss ? 0 : 1; }

/* Closes in on the step; returns the side of the bracket that is the result. */
static int zoom(search *s)
{
    kni_lbfgs_problem *p = s->problem;
    double reach = kni_lbfgs_largest(p, s->direction);
    bool stuck = false;
    int low = lowest(s);
    while (!s->done && s->turns < s->most && p->status == KN_OK) {
        kni_lbfgs_point *a = &s->bracket[0], *b = &s->bracket[1];
        double left = smaller(a->t, b->t), right = larger(a->t, b->t);
        if ((right - left) * reach < smallest_bracket) break;
        double t = keep_off_ends(cubic(a, b, left, right), left, right, &stuck);
        evaluate_at(p, &s->trial, t, s->direction);
        s->evaluations++;
        s->turns++;
        kni_lbfgs_point *best = &s->bracket[low], *other = &s->bracket[1 - low];
        if (too_high(s) || s->trial.loss >= best->loss) {
            copy_point(p, other, &s->trial);
            low = lowest(s);
            continue;
        }
        if (flat_enough(s))
            s->done = true;
        else if (s->trial.slope * (other->t - best->t) >= 0)
            copy_point(p, other, best);
        copy_point(p, best, &s->trial);
    }
    return low;
}

int kni_lbfgs_search(kni_lbfgs_problem *p, kni_lbfgs_point *now, double t, kn_tensor direction, int most)
{
    search s = {.problem = p, .direction = direction, .most = most};
    copy_point(p, &s.start, now);
    find_bracket(&s, t);
    int low = s.done ? 0 : zoom(&s);
    copy_point(p, now, &s.bracket[low]);
    kn_drop(s.start.gradient);
    kn_drop(s.trial.gradient);
    kn_drop(s.bracket[0].gradient);
    kn_drop(s.bracket[1].gradient);
    return s.evaluations;
}
