/* The interpreter of bodies, once for each wide type. */
#include "ops/body.h"
#include "ops/scalar_words.h"

/* Whether an operand is the same for all elements. */
static bool is_single(const kni_body *body, int operand)
{
    return body->operands && (body->operands[operand] & KNI_OPERAND_LEVEL) == KNI_LEVEL_ALL;
}

/* What a word gave, cut to the 32 bits that other backends compute small integers in. */
#define CUT_f64(v) (v)
#define CUT_i64(v) (call->wide == KNI_COMPUTE_I32 ? (int32_t)(v) : (v))
#define CUT_u64(v) (v)

/* A value on the stack; words use v or t as they declare. */
#define DEFINE_EVALUATE(S, T, FIELD)                                                                         \
    typedef struct cell_##S {                                                                                \
        T v;                                                                                                 \
        int t;                                                                                               \
    } cell_##S;                                                                                              \
    static void apply_##S(int word, cell_##S *c);                                                            \
    static void evaluate_##S(const kni_step *steps, const kni_body_call *call, bool truth)                   \
    {                                                                                                        \
        const kni_body *body = call->body;                                                                   \
        cell_##S stack[KNI_BODY_STACK + 1] = {{0, 0}}, local[KNI_BODY_MAX_LOCALS] = {{0, 0}};                \
        for (int64_t i = 0; i < call->n; i++) {                                                              \
            cell_##S *top = stack;                                                                           \
            for (int k = 0; k < body->n; k++) {                                                              \
                const kni_step *s = &steps[k];                                                               \
                switch (s->kind) {                                                                           \
                case KNI_STEP_INPUT:                                                                         \
                    if (call->truths >> s->index & 1)                                                        \
                        top->t = ((const int64_t *)call->in[s->index])[i] != 0;                              \
                    else if (call->in[s->index])                                                             \
                        top->v = ((const T *)call->in[s->index])[is_single(body, s->index) ? 0 : i];         \
                    else                                                                                     \
                        top->v = (body->operands[s->index] & KNI_OPERAND_ONE) != 0;                          \
                    top++;                                                                                   \
                    break;                                                                                   \
                case KNI_STEP_PARAM:                                                                         \
                    (top++)->v = (T)call->numbers[s->index].FIELD;                                           \
                    break;                                                                                   \
                case KNI_STEP_HAS:                                                                           \
                    (top++)->t = call->in[s->index] != NULL;                                                 \
                    break;                                                                                   \
                case KNI_STEP_CHOICE:                                                                        \
                    (top++)->t = call->choices >> s->index & 1;                                              \
                    break;                                                                                   \
                case KNI_STEP_RESULT:                                                                        \
                    top--;                                                                                   \
                    if (call->out[s->index]) ((T *)call->out[s->index])[i] = top->v;                         \
                    break;                                                                                   \
                case KNI_STEP_CONSTANT:                                                                      \
                    (top++)->v = (T)kni_body_real(s->value).FIELD;                                           \
                    break;                                                                                   \
                case KNI_STEP_STORE:                                                                         \
                    local[s->index] = *--top;                                                                \
                    break;                                                                                   \
                case KNI_STEP_LOCAL:                                                                         \
                    *top++ = local[s->index];                                                                \
                    break;                                                                                   \
                case KNI_STEP_SELECT:                                                                        \
                    top -= 2, top[-1] = top[-1].t ? top[0] : top[1];                                         \
                    break;                                                                                   \
                case KNI_STEP_AND:                                                                           \
                    top--, top[-1].t &= top[0].t;                                                            \
                    break;                                                                                   \
                case KNI_STEP_OR:                                                                            \
                    top--, top[-1].t |= top[0].t;                                                            \
                    break;                                                                                   \
                case KNI_STEP_XOR:                                                                           \
                    top--, top[-1].t ^= top[0].t;                                                            \
                    break;                                                                                   \
                case KNI_STEP_NOT:                                                                           \
                    top[-1].t = !top[-1].t;                                                                  \
                    break;                                                                                   \
                default:                                                                                     \
                    top -= kni_word_at(s->index)->arity;                                                     \
                    apply_##S(s->index, top++);                                                              \
                    top[-1].v = CUT_##S(top[-1].v);                                                          \
                    break;                                                                                   \
                }                                                                                            \
            }                                                                                                \
            if (body->n_out < 2) ((T *)call->out[0])[i] = truth ? (T)stack[0].t : stack[0].v;                \
        }                                                                                                    \
    }

DEFINE_EVALUATE(f64, double, real)
DEFINE_EVALUATE(i64, int64_t, whole)
DEFINE_EVALUATE(u64, uint64_t, whole)

enum {
#define WORD1(name, ...) W_##name,
#define WORD2(name, ...) W_##name,
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
};

#define TARGET_VALUE c->v
#define TARGET_TRUTH c->t
#define DEFINE_APPLY(S)                                                                                      \
    static void apply_##S(int word, cell_##S *c)                                                             \
    {                                                                                                        \
        switch (word) {

#define WORD1(name, result, f, i)                                                                            \
    case W_##name:                                                                                           \
        TARGET_##result = kni_word_##name##_f64(c[0].v);                                                     \
        break;
#define WORD2(name, result, f, i)                                                                            \
    case W_##name:                                                                                           \
        TARGET_##result = kni_word_##name##_f64(c[0].v, c[1].v);                                             \
        break;
DEFINE_APPLY(f64)
#include "ops/scalar_words.def"
}
}
#undef WORD1
#undef WORD2
#define WORD1(name, result, f, i)                                                                            \
    case W_##name:                                                                                           \
        TARGET_##result = kni_word_##name##_i64(c[0].v);                                                     \
        break;
#define WORD2(name, result, f, i)                                                                            \
    case W_##name:                                                                                           \
        TARGET_##result = kni_word_##name##_i64(c[0].v, c[1].v);                                             \
        break;
DEFINE_APPLY(i64)
#include "ops/scalar_words.def"
}
}
#undef WORD1
#undef WORD2
#define WORD1(name, result, f, i)                                                                            \
    case W_##name:                                                                                           \
        TARGET_##result = kni_word_##name##_u64(c[0].v);                                                     \
        break;
#define WORD2(name, result, f, i)                                                                            \
    case W_##name:                                                                                           \
        TARGET_##result = kni_word_##name##_u64(c[0].v, c[1].v);                                             \
        break;
DEFINE_APPLY(u64)
#include "ops/scalar_words.def"
}
}

/* Whether a body that ends in this step results in a truth. */
static bool gives_truth(const kni_step *s)
{
    return (s->kind == KNI_STEP_WORD && kni_word_at(s->index)->truth) ||
           (s->kind >= KNI_STEP_AND && s->kind <= KNI_STEP_NOT);
}

void kni_body_run(const kni_body_call *call)
{
    kni_step steps[KNI_BODY_MAX_STEPS];
    const kni_body *body = call->body;
    for (int k = 0; k < body->n; k++) steps[k] = kni_body_step(body, k);
    bool truth = gives_truth(&steps[body->n - 1]);
    if (call->wide == KNI_COMPUTE_F64)
        evaluate_f64(steps, call, truth);
    else if (call->wide == KNI_COMPUTE_I64 || call->wide == KNI_COMPUTE_I32)
        evaluate_i64(steps, call, truth);
    else
        evaluate_u64(steps, call, truth);
}

void kni_body_evaluate(const kni_body *body, int wide, int64_t n, void *out, const void *const *in,
                       uint32_t truths, const double *params)
{
    kni_body_number numbers[4] = {{0, 0}};
    for (int i = 0; i < 4 && params; i++) numbers[i] = kni_body_real(params[i]);
    kni_body_run(&(kni_body_call){body, wide, n, &out, in, truths, numbers, 0});
}

double kni_word_on(int word, const double *x)
{
    int arity = kni_word_at(word)->arity;
    const void *const in[2] = {&x[0], &x[arity - 1]};
    kni_step steps[3] = {{KNI_STEP_INPUT, 0, 0}, {KNI_STEP_INPUT, 1, 0}};
    steps[arity] = (kni_step){KNI_STEP_WORD, (uint8_t)word, 0};
    double y = 0;
    kni_body_evaluate(&(kni_body){.steps = steps, .n = (uint8_t)(arity + 1)}, KNI_COMPUTE_F64, 1, &y, in, 0,
                      NULL);
    return y;
}
