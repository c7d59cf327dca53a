/* The rows of the optimisers' updates: one pass over a param, its gradient and its states. The formulas are those of
   PyTorch (and of the authors for Adan). */
#include "core/math/math.h"
#include "ops/generated/update_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/update_rules.h"
#include <string.h>

static double correction(double beta, int64_t step) { return 1 - kni_pow_f64(beta, (double)step); }

/* ---- the numbers of each rule, in the order of its kernel's parameters */

static void sgd_numbers(const void *attributes, double *n)
{
    const kni_sgd_attributes *a = attributes;
    n[0] = a->lr;
    n[1] = a->weight_decay;
    n[2] = a->first ? 0 : a->momentum;
    n[3] = a->first ? 1 : 1 - a->dampening;
    n[4] = a->nesterov ? a->momentum : 0;
}
const kni_update_rule kni_sgd_rule = {1, 0, 5, sgd_numbers};

static void adam_numbers(const void *attributes, double *n)
{
    const kni_adam_attributes *a = attributes;
    n[0] = a->lr / correction(a->beta1, a->step);
    n[1] = 1 - a->beta1;
    n[2] = a->beta2;
    n[3] = 1 - a->beta2;
    n[4] = 1 / kni_sqrt_f64(correction(a->beta2, a->step));
    n[5] = a->eps;
    n[6] = a->decoupled ? 0 : a->weight_decay;
    n[7] = a->decoupled ? a->lr * a->weight_decay : 0;
    n[8] = a->cautious ? 1 : 0;
}
const kni_update_rule kni_adam_rule = {3, 2, 9, adam_numbers};

static void rmsprop_numbers(const void *attributes, double *n)
{
    const kni_rmsprop_attributes *a = attributes;
    n[0] = a->lr;
    n[1] = a->alpha;
    n[2] = 1 - a->alpha;
    n[3] = a->eps;
    n[4] = a->weight_decay;
    n[5] = a->momentum;
}
const kni_update_rule kni_rmsprop_rule = {3, 1, 6, rmsprop_numbers};

static void adagrad_numbers(const void *attributes, double *n)
{
    const kni_adagrad_attributes *a = attributes;
    n[0] = a->lr / (1 + (double)(a->step - 1) * a->lr_decay);
    n[1] = a->eps;
    n[2] = a->weight_decay;
}
const kni_update_rule kni_adagrad_rule = {1, 1, 3, adagrad_numbers};

static void adan_numbers(const void *attributes, double *n)
{
    const kni_adan_attributes *a = attributes;
    n[0] = a->lr / correction(a->beta1, a->step);
    n[1] = a->lr * a->beta2 / correction(a->beta2, a->step);
    n[2] = a->beta1;
    n[3] = a->beta2;
    n[4] = a->beta3;
    n[5] = 1 - a->beta1;
    n[6] = 1 - a->beta2;
    n[7] = 1 - a->beta3;
    n[8] = 1 / kni_sqrt_f64(correction(a->beta3, a->step));
    n[9] = a->eps;
    n[10] = a->no_prox ? 1 - a->lr * a->weight_decay : 1 + a->lr * a->weight_decay;
    n[11] = a->step == 1;
}
const kni_update_rule kni_adan_rule = {4, 4, 12, adan_numbers};

/* ---- shapes and launches */

static const char *const operand_names[] = {"param", "gradient", "state 1", "state 2", "state 3", "state 4"};

/* What PyTorch's optimisers demand of their numbers, by the name in the row's schema. A learning rate may be negative here:
   sums of gradients are made so. */
static kn_status infer_numbers(const kni_infer *c)
{
    static const struct {
        const char *name;
        double low, below;
    } ranges[] = {{"eps", 0, 0},   {"weight_decay", 0, 0}, {"momentum", 0, 0}, {"lr_decay", 0, 0},
                  {"alpha", 0, 0}, {"beta1", 0, 1},        {"beta2", 0, 1},    {"beta3", 0, 1}};
    for (const kn_attribute *a = c->row->schema; a->name; a++) {
        if (a->type != KNI_ATTR_REAL) continue;
        double value = *(const double *)((const char *)c->attributes + a->offset);
        if (value != value)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is nan: it must be a number", a->name);
        for (int i = 0; i < KNI_COUNT(ranges); i++) {
            if (strcmp(a->name, ranges[i].name) != 0) continue;
            if (ranges[i].below > 0 && !(value >= 0 && value < ranges[i].below))
                return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is %g: it must be 0 or more and below %g",
                                      a->name, value, ranges[i].below);
            kn_status s = kni_infer_at_least(c, a->name, value, ranges[i].low);
            if (s) return s;
        }
    }
    return KN_OK;
}

static kn_status infer_update(kni_infer *c, const kni_update_rule *rule)
{
    const kni_type *p = c->in[0];
    kn_status s = kni_infer_dtype(c, 0, KNI_FLOATS);
    if (s == KN_OK) s = infer_numbers(c);
    for (int i = 1; i < 2 + rule->states && s == KN_OK; i++) {
        const kni_type *x = i < c->n_in ? c->in[i] : NULL;
        if (!x && i >= 2 + rule->required) continue;
        if (!x) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the %s is missing", operand_names[i]);
        bool agrees = x->dtype == p->dtype && x->rank == p->rank;
        for (int a = 0; a < p->rank && agrees; a++) agrees = kni_dims_agree(x->dims[a], p->dims[a]);
        if (!agrees)
            s = kni_infer_fail(c, KN_ERROR_SHAPE, "the %s %S of %T does not fit the param %S of %T",
                               operand_names[i], x, (int)x->dtype, p, (int)p->dtype);
    }
    const kni_type *scale = 2 + rule->states < c->n_in ? c->in[2 + rule->states] : NULL;
    if (s == KN_OK && scale && (scale->rank != 0 || !kni_is_float(scale->dtype)))
        s = kni_infer_fail(c, KN_ERROR_SHAPE, "the scale %S of %T must be a float of rank 0", scale,
                           (int)scale->dtype);
    for (int k = 0; k < c->n_out && s == KN_OK; k++) {
        kni_type *y = c->out[k];
        *y = *p;
        y->weak = 0;
        if (k == 0 || (k + 1 < c->n_in && c->in[k + 1])) continue;
        y->rank = 1;
        y->dims[0] = 0;
    }
    return s;
}

static kn_status launch_update(kni_launch *l, const kni_update_rule *rule, const kni_kernel *kernel)
{
    double numbers[KNI_UPDATE_NUMBERS];
    l->kernel = kernel;
    l->items = kni_count(l->in[0]);
    for (int i = 2 + rule->required; i < 3 + rule->states; i++)
        kni_launch_int(l, i < l->n_in && l->in[i] ? 1 : 0);
    rule->numbers(l->attributes, numbers);
    for (int i = 0; i < rule->n_numbers; i++) kni_launch_real(l, numbers[i]);
    return KN_OK;
}

static kn_status at_least_one(const kni_infer *c, int64_t step)
{
    if (step >= 1) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_ARGUMENT, "step is %D; the first is 1", step);
}

static kn_status infer_sgd(kni_infer *c) { return infer_update(c, &kni_sgd_rule); }
static kn_status infer_rmsprop(kni_infer *c) { return infer_update(c, &kni_rmsprop_rule); }
static kn_status infer_adam(kni_infer *c)
{
    kn_status s = at_least_one(c, ((const kni_adam_attributes *)c->attributes)->step);
    return s ? s : infer_update(c, &kni_adam_rule);
}
static kn_status infer_adagrad(kni_infer *c)
{
    kn_status s = at_least_one(c, ((const kni_adagrad_attributes *)c->attributes)->step);
    return s ? s : infer_update(c, &kni_adagrad_rule);
}
static kn_status infer_adan(kni_infer *c)
{
    kn_status s = at_least_one(c, ((const kni_adan_attributes *)c->attributes)->step);
    return s ? s : infer_update(c, &kni_adan_rule);
}

static kn_status launch_sgd(kni_launch *l) { return launch_update(l, &kni_sgd_rule, &kni_kernel_sgd_update); }
static kn_status launch_adam(kni_launch *l)
{
    return launch_update(l, &kni_adam_rule, &kni_kernel_adam_update);
}
static kn_status launch_rmsprop(kni_launch *l)
{
    return launch_update(l, &kni_rmsprop_rule, &kni_kernel_rmsprop_update);
}
static kn_status launch_adagrad(kni_launch *l)
{
    return launch_update(l, &kni_adagrad_rule, &kni_kernel_adagrad_update);
}
static kn_status launch_adan(kni_launch *l)
{
    return launch_update(l, &kni_adan_rule, &kni_kernel_adan_update);
}

/* ---- the rows */

#define REAL(type, field) KNI_ATTR(type, field, KNI_ATTR_REAL, KNI_DYNAMIC)
#define COUNT(type, field) KNI_ATTR(type, field, KNI_ATTR_INT, KNI_DYNAMIC)
#define CHOICE(type, field) KNI_ATTR(type, field, KNI_ATTR_INT, KNI_STATIC)

static const kn_attribute sgd_schema[] = {REAL(kni_sgd_attributes, lr),
                                          REAL(kni_sgd_attributes, momentum),
                                          REAL(kni_sgd_attributes, dampening),
                                          REAL(kni_sgd_attributes, weight_decay),
                                          CHOICE(kni_sgd_attributes, nesterov),
                                          COUNT(kni_sgd_attributes, first),
                                          {0}};
static const kn_attribute adam_schema[] = {REAL(kni_adam_attributes, lr),
                                           REAL(kni_adam_attributes, beta1),
                                           REAL(kni_adam_attributes, beta2),
                                           REAL(kni_adam_attributes, eps),
                                           REAL(kni_adam_attributes, weight_decay),
                                           COUNT(kni_adam_attributes, step),
                                           CHOICE(kni_adam_attributes, decoupled),
                                           CHOICE(kni_adam_attributes, cautious),
                                           {0}};
static const kn_attribute rmsprop_schema[] = {
    REAL(kni_rmsprop_attributes, lr),       REAL(kni_rmsprop_attributes, alpha),
    REAL(kni_rmsprop_attributes, eps),      REAL(kni_rmsprop_attributes, weight_decay),
    REAL(kni_rmsprop_attributes, momentum), {0}};
static const kn_attribute adagrad_schema[] = {
    REAL(kni_adagrad_attributes, lr),    REAL(kni_adagrad_attributes, lr_decay),
    REAL(kni_adagrad_attributes, eps),   REAL(kni_adagrad_attributes, weight_decay),
    COUNT(kni_adagrad_attributes, step), {0}};
static const kn_attribute adan_schema[] = {REAL(kni_adan_attributes, lr),
                                           REAL(kni_adan_attributes, beta1),
                                           REAL(kni_adan_attributes, beta2),
                                           REAL(kni_adan_attributes, beta3),
                                           REAL(kni_adan_attributes, eps),
                                           REAL(kni_adan_attributes, weight_decay),
                                           COUNT(kni_adan_attributes, step),
                                           CHOICE(kni_adan_attributes, no_prox),
                                           {0}};

/* What the rows have in common: param, gradient, `states` states and a scale in, the param and the states out. Terms of
   both signs are added, so errors are measured by the largest operand too. */
#define UPDATE(states, required)                                                                             \
    .min_in = 2 + (required), .max_in = 3 + (states), .n_out = 1 + (states), .kind = KNI_COMPOSITE,          \
    .flags = KNI_FLAG_NO_GRADIENT | KNI_FLAG_ALIAS, .dtypes = KNI_FLOATS, .tolerance = {8, 0.01f}

OP(sgd_update, .doc = "d = g + decay p, b = momentum b + (1 - dampening) d, p - lr (b, or d + momentum b)",
   UPDATE(1, 0), .schema = sgd_schema, .attribute_bytes = sizeof(kni_sgd_attributes), .infer = infer_sgd,
   .launch = launch_sgd, .native = &kni_cpu_sgd_update)
OP(adam_update,
   .doc = "m = mix(m, g, beta1), v = mix(v, g^2, beta2), p - lr m' / (sqrt(v') + eps), ' bias-corrected",
   UPDATE(3, 2), .schema = adam_schema, .attribute_bytes = sizeof(kni_adam_attributes), .infer = infer_adam,
   .launch = launch_adam, .native = &kni_cpu_adam_update)
OP(rmsprop_update, .doc = "v = mix(v, g^2, alpha), b = momentum b + g / (sqrt(v - m^2) + eps), p - lr b",
   UPDATE(3, 1), .schema = rmsprop_schema, .attribute_bytes = sizeof(kni_rmsprop_attributes),
   .infer = infer_rmsprop, .launch = launch_rmsprop, .native = &kni_cpu_rmsprop_update)
OP(adagrad_update, .doc = "v = v + g^2, p - lr / (1 + (step - 1) lr_decay) g / (sqrt(v) + eps)", UPDATE(1, 1),
   .schema = adagrad_schema, .attribute_bytes = sizeof(kni_adagrad_attributes), .infer = infer_adagrad,
   .launch = launch_adagrad, .native = &kni_cpu_adagrad_update)
OP(adan_update,
   .doc =
       "m = mix(m, g), d = mix(d, g - g'), v = mix(v, (g + beta2 (g - g'))^2), p - (lr1 m + lr2 d) / sqrt(v)",
   UPDATE(4, 4), .schema = adan_schema, .attribute_bytes = sizeof(kni_adan_attributes), .infer = infer_adan,
   .launch = launch_adan, .native = &kni_cpu_adan_update)
