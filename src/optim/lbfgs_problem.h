/* The problem that L-BFGS solves: a loss of one long vector, the params of a module one after the other. The first failure is
   kept in the problem, and everything after it does nothing. */
#ifndef KNI_LBFGS_PROBLEM_H
#define KNI_LBFGS_PROBLEM_H

#include <kn/optim.h>

typedef struct kni_lbfgs_problem {
    kn_param **params;
    kn_tensor *start; /* the values that kni_lbfgs_move starts from, owned */
    int64_t n, room;
    kn_dtype dtype;
    kn_closure_fn closure;
    void *context;
    kn_status status;
} kni_lbfgs_problem;

/* A point of the line: how far, the loss there, its gradient (owned) and the slope along the direction. */
typedef struct kni_lbfgs_point {
    double t, loss, slope;
    kn_tensor gradient;
} kni_lbfgs_point;

/* Owns the value and drops what was there. */
void kni_lbfgs_set(kni_lbfgs_problem *p, kn_tensor *place, kn_tensor value);
double kni_lbfgs_dot(kni_lbfgs_problem *p, kn_tensor a, kn_tensor b);
double kni_lbfgs_largest(kni_lbfgs_problem *p, kn_tensor x);
/* Evaluates the loss and replaces *gradient. */
double kni_lbfgs_evaluate(kni_lbfgs_problem *p, kn_tensor *gradient);
/* The present values become the start. */
void kni_lbfgs_begin(kni_lbfgs_problem *p);
/* The params become start + t direction. */
void kni_lbfgs_move(kni_lbfgs_problem *p, double t, kn_tensor direction);

/* A step that meets the strong Wolfe conditions, from `now` (t is 0, the slope is along direction) with the first guess t.
   *now becomes that point; the params stay somewhere on the line. Returns the number of evaluations, at most `most`. */
int kni_lbfgs_search(kni_lbfgs_problem *p, kni_lbfgs_point *now, double t, kn_tensor direction, int most);

#endif
