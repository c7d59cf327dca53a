/* The interpreter of bodies, once for each wide type. */
#include "ops/body.h"
#include "ops/scalar_words.h"

/* A value on the stack; words use v or t as they declare. */
#define DEFINE_EVALUATE(S, T)                                                                                \
    typedef struct cell_##S {                                                                                \
        T v;                                                                                                 \
        int t;                                                                                               \
    } cell_##S;                                                                                              \
    static void apply_##S(int word, cell_##S *c);                                                            \
    static void evaluate_##S(const kni_step *steps, int n_steps, int64_t n, T *out, bool truth,              \
                             const void *const *in, uint32_t truths, const double *params)                   \
    {                                                                                                        \
        cell_##S stack[KNI_BODY_STACK + 1] = {{0, 0}}, local[KNI_BODY_MAX_LOCALS] = {{0, 0}};                \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            cell_##S *top = stack;                                                                           \
            for (int k = 0; k < n_steps; k++) {                                                              \
                const kni_step *s = &steps[k];                                                               \
                switch (s->kind) {                                                                           \
                case KNI_STEP_INPUT:                                                                         \
                    if (truths >> s->index & 1)                                                              \
                        top->t = ((const int64_t *)in[s->index])[i] != 0;                                    \
                    else                                                                                     \
                        top->v = ((const T *)in[s->index])[i];                                               \
                    top++;                                                                                   \
                    break;                                                                                   \
                case KNI_STEP_PARAM:                                                                         \
                    (top++)->v = (T)params[s->index];                                                        \
                    break;                                                                                   \
                case KNI_STEP_CONSTANT:                                                                      \
                    (top++)->v = (T)s->value;                                                                \
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
                    break;                                                                                   \
                }                                                                                            \
            }                                                                                                \
            out[i] = truth ? (T)stack[0].t : stack[0].v;                                                     \
        }                                                                                                    \
    }

DEFINE_EVALUATE(f64, double)
DEFINE_EVALUATE(i64, int64_t)
DEFINE_EVALUATE(u64, uint64_t)

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

void kni_body_evaluate(const kni_body *body, int wide, int64_t n, void *out, const void *const *in,
                       uint32_t truths, const double *params)
{
    kni_step steps[KNI_BODY_MAX_STEPS];
    for (int k = 0; k < body->n; k++) steps[k] = kni_body_step(body, k);
    bool truth = gives_truth(&steps[body->n - 1]);
    if (wide == KNI_COMPUTE_F64)
        evaluate_f64(steps, body->n, n, out, truth, in, truths, params);
    else if (wide == KNI_COMPUTE_I64)
        evaluate_i64(steps, body->n, n, out, truth, in, truths, params);
    else
        evaluate_u64(steps, body->n, n, out, truth, in, truths, params);
}
