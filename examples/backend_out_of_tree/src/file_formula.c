/* Elementwise ops from their formulas: the words that this leaf knows, and a small stack machine over them. Everything is computed in
   f64 and rounded to f32 at the end of each op. */
#include "file_leaf.h"
#include <math.h>
#include <string.h>

static double add(const double *v) { return v[0] + v[1]; }
static double sub(const double *v) { return v[0] - v[1]; }
static double mul(const double *v) { return v[0] * v[1]; }
static double divide(const double *v) { return v[0] / v[1]; }
static double larger(const double *v) { return v[0] != v[0] || v[0] > v[1] ? v[0] : v[1]; }
static double smaller(const double *v) { return v[0] != v[0] || v[0] < v[1] ? v[0] : v[1]; }
static double neg(const double *v) { return -v[0]; }
static double absolute(const double *v) { return fabs(v[0]); }
static double sign(const double *v) { return (v[0] > 0) - (v[0] < 0); }
static double round_even(const double *v) { return rint(v[0]); }
static double down(const double *v) { return floor(v[0]); }
static double up(const double *v) { return ceil(v[0]); }
static double toward_zero(const double *v) { return trunc(v[0]); }
static double root(const double *v) { return sqrt(v[0]); }
static double inverse_root(const double *v) { return 1 / sqrt(v[0]); }
static double exponential(const double *v) { return exp(v[0]); }
static double exponential2(const double *v) { return exp2(v[0]); }
static double exponential_less_1(const double *v) { return expm1(v[0]); }
static double logarithm(const double *v) { return log(v[0]); }
static double logarithm2(const double *v) { return log2(v[0]); }
static double logarithm_1_plus(const double *v) { return log1p(v[0]); }
static double sine(const double *v) { return sin(v[0]); }
static double cosine(const double *v) { return cos(v[0]); }
static double hyperbolic_tangent(const double *v) { return tanh(v[0]); }
static double error_function(const double *v) { return erf(v[0]); }
static double sigmoid(const double *v) { return 1 / (1 + exp(-v[0])); }
static double lt(const double *v) { return v[0] < v[1]; }
static double le(const double *v) { return v[0] <= v[1]; }
static double gt(const double *v) { return v[0] > v[1]; }
static double ge(const double *v) { return v[0] >= v[1]; }
static double eq(const double *v) { return v[0] == v[1]; }
static double ne(const double *v) { return v[0] != v[1]; }
static double is_nan(const double *v) { return v[0] != v[0]; }
static double both(const double *v) { return v[0] != 0 && v[1] != 0; }
static double either(const double *v) { return v[0] != 0 || v[1] != 0; }
static double differ(const double *v) { return (v[0] != 0) != (v[1] != 0); }
static double isnt(const double *v) { return v[0] == 0; }
static double choose(const double *v) { return v[0] != 0 ? v[1] : v[2]; }

static const struct {
    const char *word;
    double (*run)(const double *operands);
} words[] = {{"add", add},
             {"sub", sub},
             {"mul", mul},
             {"div", divide},
             {"max", larger},
             {"min", smaller},
             {"neg", neg},
             {"abs", absolute},
             {"sign", sign},
             {"round", round_even},
             {"floor", down},
             {"ceil", up},
             {"trunc", toward_zero},
             {"sqrt", root},
             {"rsqrt", inverse_root},
             {"exp", exponential},
             {"exp2", exponential2},
             {"expm1", exponential_less_1},
             {"log", logarithm},
             {"log2", logarithm2},
             {"log1p", logarithm_1_plus},
             {"sin", sine},
             {"cos", cosine},
             {"tanh", hyperbolic_tangent},
             {"erf", error_function},
             {"sigmoid", sigmoid},
             {"lt", lt},
             {"le", le},
             {"gt", gt},
             {"ge", ge},
             {"eq", eq},
             {"ne", ne},
             {"isnan", is_nan},
             {"both", both},
             {"either", either},
             {"differ", differ},
             {"isnt", isnt},
             {"select", choose}};

static int find(const char *word)
{
    int n = (int)(sizeof words / sizeof *words);
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i].word, word)) return i;
    return -1;
}

/* A formula with its words found: how many steps, 0 where the leaf does not know it. */
static int32_t compile(const struct kn_op *row, kn_body_step *steps)
{
    int32_t n = kn_backend_body(row, steps, sizeof *steps, MAX_STEPS);
    if (n > MAX_STEPS) return 0;
    for (int32_t i = 0; i < n; i++) {
        if (steps[i].kind != KN_BODY_WORD) continue;
        steps[i].index = find(steps[i].word);
        if (steps[i].index < 0 || steps[i].arity > 3) return 0;
    }
    return n;
}

bool formula_known(const struct kn_op *row)
{
    kn_body_step steps[MAX_STEPS];
    return compile(row, steps) > 0;
}

static double evaluate(const kn_body_step *steps, int32_t n, double *const *in, int64_t at,
                       const double *params)
{
    double stack[MAX_STEPS], locals[64] = {0};
    int top = 0;
    for (int32_t i = 0; i < n; i++) {
        const kn_body_step *s = &steps[i];
        switch (s->kind) {
        case KN_BODY_INPUT:
            stack[top++] = in[s->index][at];
            break;
        case KN_BODY_PARAM:
            stack[top++] = params[s->index];
            break;
        case KN_BODY_CONSTANT:
            stack[top++] = s->value;
            break;
        case KN_BODY_LOCAL:
            stack[top++] = locals[s->index];
            break;
        case KN_BODY_STORE:
            locals[s->index] = stack[--top];
            break;
        case KN_BODY_WORD:
            top -= s->arity;
            stack[top] = words[s->index].run(&stack[top]);
            top++;
            break;
        }
    }
    return stack[top - 1];
}

bool formula_run(const kn_record *r, double *const *in, int64_t n, double *out)
{
    kn_body_step steps[MAX_STEPS];
    double params[MAX_OPERANDS] = {0};
    int32_t n_steps = compile(r->row, steps);
    if (!n_steps || kn_backend_body_dtype(r) != KN_F32) return false;
    for (int i = 0; i < MAX_OPERANDS && kn_backend_body_param(r, i, &params[i]); i++) {}
    for (int64_t i = 0; i < n; i++) out[i] = (double)(float)evaluate(steps, n_steps, in, i, params);
    return true;
}
