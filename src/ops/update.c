/* The rows of the optimisers' updates: one pass over a param, its gradient and its states. The formulas are those of
   PyTorch (and of the authors for Adan). */
#include "ops/scalar_row.h"
#include "ops/update_rules.h"
#include <string.h>

/* ---- shapes */

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

/* Operands are param, gradient, the states and a scale of rank 0; the first `min_in` must be given. */
static kn_status infer_update(kni_infer *c)
{
    const kni_type *p = c->in[0];
    int last = c->row->max_in - 1; /* the scale */
    kn_status s = kni_infer_dtype(c, 0, KNI_FLOATS);
    if (s == KN_OK) s = infer_numbers(c);
    for (int i = 1; i < last && s == KN_OK; i++) {
        const kni_type *x = i < c->n_in ? c->in[i] : NULL;
        if (!x && i >= c->row->min_in) continue;
        if (!x) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the %s is missing", operand_names[i]);
        bool agrees = x->dtype == p->dtype && x->rank == p->rank;
        for (int a = 0; a < p->rank && agrees; a++) agrees = kni_dims_agree(x->dims[a], p->dims[a]);
        if (!agrees)
            s = kni_infer_fail(c, KN_ERROR_SHAPE, "the %s %S of %T does not fit the param %S of %T",
                               operand_names[i], x, (int)x->dtype, p, (int)p->dtype);
    }
    const kni_type *scale = last < c->n_in ? c->in[last] : NULL;
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

static kn_status at_least_one(const kni_infer *c, int64_t step)
{
    if (step >= 1) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_ARGUMENT, "step is %D; the first is 1", step);
}

static kn_status infer_adam(kni_infer *c)
{
    kn_status s = at_least_one(c, ((const kni_adam_attributes *)c->attributes)->step);
    return s ? s : infer_update(c);
}
static kn_status infer_adagrad(kni_infer *c)
{
    kn_status s = at_least_one(c, ((const kni_adagrad_attributes *)c->attributes)->step);
    return s ? s : infer_update(c);
}
static kn_status infer_adan(kni_infer *c)
{
    kn_status s = at_least_one(c, ((const kni_adan_attributes *)c->attributes)->step);
    return s ? s : infer_update(c);
}

/* ---- the rows */

#define REAL(type, field) KNI_ATTR(type, field, KNI_ATTR_REAL, KNI_DYNAMIC)
#define COUNT(type, field) KNI_ATTR(type, field, KNI_ATTR_INT, KNI_DYNAMIC)
#define CHOICE(type, field) KNI_ATTR(type, field, KNI_ATTR_INT, KNI_CHOICE)

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

/* What the rows have in common: param p, gradient g, `states` states and a scale in, the new param and states out. Terms of both
   signs are added, so errors are measured by the largest operand too. */
#define UPDATE(op_name, struct_type, states, required, op_in, op_out, host, formula, ...)                    \
    HOSTED_BODY(op_name, host, formula)                                                                      \
    OP(op_name, .min_in = 2 + (required), .max_in = 3 + (states), .n_out = 1 + (states),                     \
       .kind = KNI_COMPOSITE, .flags = KNI_FLAG_NO_GRADIENT | KNI_FLAG_ALIAS, .dtypes = KNI_FLOATS,          \
       .tolerance = {8, 0.01f}, .attribute_bytes = sizeof(struct_type), .in = op_in, .out = op_out,          \
       .body = &kni_body_##op_name, .native = &kni_cpu_##op_name, __VA_ARGS__)

UPDATE(
    sgd_update, kni_sgd_attributes, 1, 0, "p g b?0 scale@all?1", "p' b'",
    "keep = first > 0 ? 0 : momentum; fresh = first > 0 ? 1 : 1 - dampening; ahead = nesterov ? momentum : 0",
    "d = g * scale + weight_decay * p; b' = keep * b + fresh * d; "
    "p' = p - lr * (has(b) ? (ahead > 0 ? d + ahead * b' : b') : d)",
    .doc = "d = g + decay p, b = momentum b + (1 - dampening) d, p - lr (b, or d + momentum b)",
    .schema = sgd_schema, .infer = infer_update)
UPDATE(adam_update, kni_adam_attributes, 3, 2, "p g m v w?0 scale@all?1", "p' m' v' w'",
       "rate = lr / (1 - pow(beta1, step)); f1 = 1 - beta1; f2 = 1 - beta2; root = 1 / sqrt(1 - pow(beta2, "
       "step)); "
       "added = decoupled ? 0 : weight_decay; shrink = decoupled ? lr * weight_decay : 0",
       "d = g * scale + added * p; m' = m + (d - m) * f1; v' = v * beta2 + d * d * f2; "
       "w' = has(w) && w > v' ? w : v'; against = m' > 0 && p < 0 || m' < 0 && p > 0; "
       "q = cautious && against ? p : p - p * shrink; p' = q - rate * (m' / (sqrt(w') * root + eps))",
       .doc = "m = mix(m, g, beta1), v = mix(v, g^2, beta2), p - lr m' / (sqrt(v') + eps), ' bias-corrected",
       .schema = adam_schema, .infer = infer_adam)
UPDATE(
    rmsprop_update, kni_rmsprop_attributes, 3, 1, "p g v m?0 b?0 scale@all?1", "p' v' m' b'",
    "fresh = 1 - alpha",
    "d = g * scale + weight_decay * p; v' = v * alpha + d * d * fresh; m' = m + (d - m) * fresh; "
    "q = d / (sqrt(has(m) ? v' - m' * m' : v') + eps); b' = has(b) ? momentum * b + q : q; p' = p - lr * b'",
    .doc = "v = mix(v, g^2, alpha), b = momentum b + g / (sqrt(v - m^2) + eps), p - lr b",
    .schema = rmsprop_schema, .infer = infer_update)
UPDATE(adagrad_update, kni_adagrad_attributes, 1, 1, "p g v scale@all?1", "p' v'",
       "rate = lr / (1 + (step - 1) * lr_decay)",
       "d = g * scale + weight_decay * p; v' = v + d * d; p' = p - rate * (d / (sqrt(v') + eps))",
       .doc = "v = v + g^2, p - lr / (1 + (step - 1) lr_decay) g / (sqrt(v) + eps)", .schema = adagrad_schema,
       .infer = infer_adagrad)
/* The last step divides by one plus the decay; without it (no_prox) the first one multiplies by one minus it. */
UPDATE(adan_update, kni_adan_attributes, 4, 4, "p g m t v l scale@all?1", "p' m' t' v' l'",
       "rate1 = lr / (1 - pow(beta1, step)); rate2 = lr * beta2 / (1 - pow(beta2, step)); "
       "f1 = 1 - beta1; f2 = 1 - beta2; f3 = 1 - beta3; root = 1 / sqrt(1 - pow(beta3, step)); first = step "
       "== 1; "
       "shrink = no_prox ? 1 - lr * weight_decay : 1 + lr * weight_decay; "
       "before = shrink < 1 ? shrink : 1; after = shrink > 1 ? shrink : 1",
       "l' = g * scale; c = first ? 0 : l' - l; m' = m * beta1 + l' * f1; t' = t * beta2 + c * f2; "
       "a = c * beta2 + l'; v' = v * beta3 + a * a * f3; under = sqrt(v') * root + eps; "
       "p' = (p * before - rate1 * (m' / under) - rate2 * (t' / under)) / after",
       .doc = "m = mix(m, g), d = mix(d, g - g'), v = mix(v, (g + beta2 (g - g'))^2), p - (lr1 m + lr2 d) / "
              "sqrt(v)",
       .schema = adan_schema, .infer = infer_adan)
