/* Where check(a, b) may find a difference that is none: the reference computes in f64, and a queue fails later than it. An
   excuse names the op and how far apart the two results may be. */
#ifndef FUZZ_EXCUSES_H
#define FUZZ_EXCUSES_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the text of check tells: "x gives 1, y gives 2 at element 0 of a result [3] of f32 by op add". */
typedef struct told {
    char op[64], dtype[16];
    double a, b;
    bool a_is_ref, b_is_ref;
} told;

/* Both dtype and op are names; no dtype is all of them. */
typedef struct excuse {
    const char *op, *dtype;
    double relative, absolute; /* the gap is at most relative times the larger result, plus absolute */
    const char *why;
} excuse;

static const char slope_why[] = "the slope is rounded to f32 on the CPU";
static const char bound_why[] =
    "the bound is rounded to f32 on the CPU, so an x beside it is on its other side";
static const char quotient_why[] = "a quotient is rounded to the dtype before its floor is taken";
/* 1 / sqrt(eps) is 316, elements are up to 4, sums of up to some hundreds of them are rounded. */
static const char mean_why[] = "where all elements are equal their mean is a rounding away from them";
static const char variance_why[] =
    "lines of nearly equal elements are divided by what is left of their variance";
/* The terms are up to scale |g|. Their roundings, about 4 * 2^-24 of that, leave the bound of check from a scale of 7 on; with an eps
   of 1e-5 the result is then at least scale^2 eps = 5e-4 of the terms where all of g is parallel, as a line of one element is. Where
   one element of two or three cancels, with g up to 4, the gap is at most 4e-5 more. */
static const char parallel_why[] = "g and its part along x cancel where they are nearly parallel";
/* Below -104 the exponential is 0 in f32. x times the number, and the number itself, are rounded to f32 before it. */
static const char exponent_why[] = "the rounding of the exponent is magnified by its size";
static const char cancel_why[] = "terms of opposite signs cancel";

/* The bounds that are drawn and that f32 does not hold are 0.1 and 1e-5, other numbers are at most 3. */
static const excuse excuses[] = {
    {"logit", "f32", 3e-4, 0, "1 - eps is rounded to f32 before the logarithm magnifies it"},
    {"leaky_relu", "f32", 0x1p-22, 0, slope_why},
    {"leaky_relu_grad", "f32", 0x1p-22, 0, slope_why},
    {"floor_div", "f32", 0x1p-22, 1, quotient_why},
    {"floor_div", "f16", 0x1p-10, 1, quotient_why},
    {"is_close", "bool", 0, 1, bound_why},
    {"threshold", NULL, 0, 3.2, bound_why},
    {"hard_shrink", NULL, 0, 0.11, bound_why},
    {"soft_shrink", NULL, 0, 1e-6, bound_why},
    {"shrink", NULL, 0, 3.2, bound_why},
    {"softplus", NULL, 0, 7, "at the bound, which beta x is rounded to, results are ln(2) / beta apart"},
    {"softplus_grad", NULL, 0.75, 0, "at the bound, which beta x is rounded to, the sigmoid becomes 1"},
    {"random_normal", "f32", 0, 2e-6, "the cosine of normal numbers cancels where it is near 0"},
    {"layer_norm", "f64", 0.5, 316 * 4 * 16 * 0x1p-53, mean_why},
    {"batch_norm_train", "f64", 0.5, 316 * 4 * 16 * 0x1p-53, mean_why},
    {"layer_norm", NULL, 0.5, 0, variance_why},
    {"layer_norm_grad", NULL, 0.5, 1e-4, variance_why},
    {"layer_norm_affine_grad", NULL, 0.5, 1e-4, variance_why},
    {"batch_norm_train", NULL, 0.5, 0, variance_why},
    {"batch_norm_train_grad", NULL, 0.5, 1e-4, variance_why},
    {"rms_norm_grad", "f32", 7e-4, 4e-5, parallel_why},
    {"gelu_approximate", "f32", 2e-5, 0,
     "far out the rounding of the exponent to f32 is magnified by its size"},
    {"gelu_grad", "f32", 1e-3, 1e-6, "the terms of the slope cancel near x = -0.75"},
    {"gelu_approximate_grad", "f32", 1e-3, 1e-6, "the terms of the slope cancel near x = -0.75"},
    {"elu_grad", "f32", 104 * 0x1p-23, 0, exponent_why},
    {"silu_grad", "f32", 1e-3, 1e-6, "1 + x (1 - sigmoid(x)) cancels near x = -1.28"},
    {"mish_grad", "f32", 1e-4, 1e-6, "the terms of the slope cancel near x = -1.19"},
    {"addcmul", NULL, 1e-3, 1e-5, cancel_why},
    {"addcdiv", NULL, 1e-3, 1e-5, cancel_why},
    {"mul_add", NULL, 1e-3, 1e-5, cancel_why},
    {"lerp", NULL, 1e-3, 1e-5, cancel_why},
    {"cross_entropy", NULL, 1e-3, 1e-5, cancel_why},
    {"cross_entropy_grad", NULL, 1e-3, 1e-5, cancel_why},
    {"binary_cross_entropy", NULL, 1e-3, 1e-5, cancel_why},
};

/* Names, each between two blanks. Where products or squares are summed they overflow in f32 and not in f64, and infinities meet
   zeros in another order. The y of a row of gradients may be any number: exp(y) of log_softmax_grad overflows too. */
static const char summed_products[] =
    " softmax_grad log_softmax_grad matmul linear conv conv_transpose conv_weight_grad attention "
    "attention_grad dropout_attention dropout_attention_grad scan_linear var_mean fft"
    " layer_norm layer_norm_grad layer_norm_affine_grad rms_norm rms_norm_grad rms_norm_affine_grad"
    " batch_norm_train batch_norm_train_grad ";
static const char other_sums[] = " sum mean cumsum logsumexp softmax log_softmax avg_pool adaptive_avg_pool ";
static const char other_products[] = " prod cumprod det cofactor lu solve triangular_solve cholesky qr ";
/* The product of two overflows in f32 before the third, a 0, is multiplied with it, or an infinity of the other sign added: NaN, as
   in PyTorch. */
static const char products_of_three[] = " addcmul addcdiv mul_add lerp hard_sigmoid silu_grad ";
/* Updates that multiply an element several times: the product overflows in f32, and not in f64, before the last factor comes. */
static const char repeated_products[] = " scatter scatter_nd select_assign ";
/* Elements above 1.8e19 have squares that f32 does not hold: the variance is infinite and the results are zeros. PyTorch has zeros or
   NaN there. */
static const char overflowing_norms[] = " layer_norm rms_norm batch_norm_train ";
static const char overflowing_sums[] = " layer_norm_affine_grad rms_norm_affine_grad batch_norm_train_grad ";
/* With a number as an operand that the half does not hold, or in a formula, the result is rounded in f32 and then to the half, as in PyTorch: where
   the first rounding makes a tie it is one step off. */
static const char rounded_twice[] = " add sub mul div hard_swish ";

/* What only the elements tell: a queue meets it when it runs, the reference at once. */
static const char *const later[] = {"is out of range", "is not positive definite", "is singular",
                                    "holds a NaN or an infinity", NULL};

static bool named(const char *names, const char *name)
{
    char word[80];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(names, word);
}

static bool tells_one_of(const char *const *words, const char *text)
{
    while (*words && !strstr(text, *words)) words++;
    return *words;
}

static bool read_told(const char *text, told *t)
{
    const char *first = strstr(text, " gives "), *second = first ? strstr(first + 7, " gives ") : NULL;
    const char *result = second ? strstr(second, "] of ") : NULL;
    if (!result || sscanf(result, "] of %15[a-z0-9] by op %63[a-z0-9_]", t->dtype, t->op) != 2) return false;
    t->a = strtod(first + 7, NULL), t->b = strtod(second + 7, NULL);
    t->a_is_ref = first - text >= 4 && !memcmp(first - 4, " ref", 4);
    t->b_is_ref = !memcmp(second - 4, " ref", 4);
    return true;
}

/* From a number of the half to the next larger one. */
static double step_of_half(const char *dtype, double value)
{
    int exponent, bits = strcmp(dtype, "f16") ? 8 : 11, least = strcmp(dtype, "f16") ? -133 : -24;
    frexp(value, &exponent);
    return ldexp(1, exponent - bits > least ? exponent - bits : least);
}

static bool is_one_step(const told *t, double larger, double gap)
{
    bool half = !strcmp(t->dtype, "f16") || !strcmp(t->dtype, "bf16");
    return half && gap <= 1.0001 * step_of_half(t->dtype, larger); /* of nine digits */
}

/* Squares of elements above 1.8e19 overflow, so that their line adds nothing to a sum over lines that is large for the reference.
   check tells of no gap below 16 * 2^-23 times the largest operand, which is 3e13 then. */
static bool lost_a_line(const told *t, double a, double b)
{
    if (!strcmp(t->dtype, "f64") || !named(overflowing_sums, t->op)) return false;
    return (!t->a_is_ref && b > 3e13 && a <= 1e-6 * b) || (!t->b_is_ref && a > 3e13 && b <= 1e-6 * a);
}

/* The reference overflows in no product of f32. */
static bool overflows_in_updates(const told *t)
{
    double reference = t->a_is_ref ? t->a : t->b;
    return t->a_is_ref != t->b_is_ref && isfinite(reference) && named(repeated_products, t->op) &&
           !strcmp(t->dtype, "f32");
}

static bool excused_values(const told *t)
{
    if (!isfinite(t->a) || !isfinite(t->b))
        return overflows_in_updates(t) || named(summed_products, t->op) || named(other_products, t->op) ||
               named(products_of_three, t->op);
    double a = fabs(t->a), b = fabs(t->b), larger = a > b ? a : b, gap = fabs(t->a - t->b);
    /* Smaller than any number that f32 holds with all its bits. */
    if (larger < 0x1p-126 && strcmp(t->dtype, "f64")) return true;
    /* ref adds f64 terms one after the other, so the errors of equal terms all have one sign. The message prints nine digits. */
    if (gap == 0 && !strcmp(t->dtype, "f64"))
        return named(summed_products, t->op) || named(other_sums, t->op);
    if ((a == 0 || b == 0) && strcmp(t->dtype, "f64") && named(overflowing_norms, t->op)) return true;
    if (lost_a_line(t, a, b)) return true;
    if (named(rounded_twice, t->op) && is_one_step(t, larger, gap)) return true;
    for (size_t i = 0; i < sizeof excuses / sizeof *excuses; i++) {
        const excuse *e = &excuses[i];
        if (!strcmp(e->op, t->op) && (!e->dtype || !strcmp(e->dtype, t->dtype)))
            return gap <= e->relative * larger + e->absolute;
    }
    return false;
}

/* Whether a text of check, from a program on the stack `spec`, tells of no fault. */
static bool excused(const char *spec, const char *text)
{
    told t;
    const char *failure = strstr(text, " succeeds where ");
    if (!failure) return read_told(text, &t) && excused_values(&t);
    if (strstr(failure, "no memory ")) return true; /* one takes more of it than the other */
    return strstr(spec, "fusion") && tells_one_of(later, failure);
}

#endif
