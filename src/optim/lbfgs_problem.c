/* The params of a module as one long vector, and the loss and gradient there. */
#include "optim/lbfgs_problem.h"
#include "support/failure.h"
#include <kn/contraction.h>
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>

void kni_lbfgs_set(kni_lbfgs_problem *p, kn_tensor *place, kn_tensor value)
{
    kn_tensor owned = kn_own(value);
    kn_status s = kni_failure_dropped(owned);
    if (p->status == KN_OK) p->status = s;
    kn_drop(*place);
    *place = s ? KN_NONE : owned;
}

static double number(kni_lbfgs_problem *p, kn_tensor x)
{
    if (p->status == KN_OK) p->status = kni_failure_of(x);
    double value = p->status == KN_OK ? kn_item(x) : 0;
    kn_drop(x);
    return value;
}

double kni_lbfgs_dot(kni_lbfgs_problem *p, kn_tensor a, kn_tensor b)
{
    return p->status ? 0 : number(p, kn_dot(a, b));
}

double kni_lbfgs_largest(kni_lbfgs_problem *p, kn_tensor x)
{
    return p->status ? 0 : number(p, kn_max_abs(x, KN_AXES_ALL, false));
}

static kn_tensor gather(const kni_lbfgs_problem *p, kn_grads grads)
{
    kn_tensor *parts = malloc((size_t)p->n * sizeof *parts);
    if (!parts) return kn_poison(KN_ERROR_MEMORY, "kn_optim_step_closure: no memory for the gradients");
    kn_scope scope = kn_scope_begin();
    for (int64_t i = 0; i < p->n; i++) {
        kn_tensor value = kn_value(*p->params[i]), gradient = kn_grads_get(grads, value);
        parts[i] = kn_reshape(gradient.bits ? gradient : kn_zeros_like(value), KN_SHAPE(kn_count(value)));
    }
    kn_tensor whole = kn_concat(parts, (int32_t)p->n, 0);
    free(parts);
    return kn_scope_end(scope, whole);
}

double kni_lbfgs_evaluate(kni_lbfgs_problem *p, kn_tensor *gradient)
{
    double loss = 0;
    kn_grads grads = NULL;
    if (p->status) return 0;
    kni_failure_mark before = kni_failure_mark_now();
    p->status = kni_failure_since(before, p->closure(p->context, &loss, &grads), "the closure");
    if (p->status == KN_OK && !grads)
        p->status = kni_failure(KN_ERROR_ARGUMENT, "kn_optim_step_closure: the closure gave no gradients");
    kn_no_grad_begin();
    if (p->status == KN_OK) kni_lbfgs_set(p, gradient, gather(p, grads));
    kn_no_grad_end();
    kn_grads_free(grads);
    return loss;
}

void kni_lbfgs_begin(kni_lbfgs_problem *p)
{
    for (int64_t i = 0; i < p->n && p->status == KN_OK; i++)
        kni_lbfgs_set(p, &p->start[i], kn_detach(kn_value(*p->params[i])));
}

void kni_lbfgs_move(kni_lbfgs_problem *p, double t, kn_tensor direction)
{
    int64_t offset = 0;
    kn_no_grad_begin();
    for (int64_t i = 0; i < p->n && p->status == KN_OK; i++) {
        kn_tensor value = kn_value(*p->params[i]);
        int64_t count = kn_count(value);
        kn_tensor part = kn_reshape(kn_narrow(direction, 0, offset, count), kn_shape_of_tensor(value));
        p->status = kn_param_set(p->params[i], kn_add(p->start[i], kn_mul_scalar(part, t)));
        offset += count;
    }
    kn_no_grad_end();
}
