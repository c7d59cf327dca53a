/* Words and numbers that have no meaning where a body computes. */
#include "ops/body_check.h"

const char *kni_body_meaningless(const kni_body *body, bool integers, bool floats, int *step)
{
    for (int i = 0; i < body->n; i++) {
        kni_step s = kni_body_step(body, i);
        *step = i;
        if (s.kind == KNI_STEP_CONSTANT && integers && s.value != (double)(int64_t)s.value)
            return "a fraction, and the row takes integers";
        if (s.kind == KNI_STEP_EXPN && integers) return "no meaning for integers, which the row takes";
        if (s.kind != KNI_STEP_WORD) continue;
        if (integers && !kni_word_at(s.index)->integers)
            return "no meaning for integers, which the row takes";
        if (floats && !kni_word_at(s.index)->floats) return "no meaning for floats, which the row takes";
    }
    return NULL;
}
