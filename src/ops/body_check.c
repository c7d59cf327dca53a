/* Words and numbers that have no meaning where a body computes. */
#include "ops/body_check.h"
#include "ops/body_tree.h"

#define PAST_WHOLE 0x1p53 /* the numbers of bodies are f64 */

/* Whether a word computes with indices, which are integers whatever the row takes. */
static bool is_of_indices(const kni_body_tree *tree, const kni_body_node *node)
{
    bool index = false;
    for (int k = 0; k < node->n_in; k++) index |= tree->nodes[node->in[k]].gives == KNI_GIVES_INDEX;
    return index;
}

const char *kni_body_meaningless(const kni_body *body, bool integers, bool floats, int *step)
{
    kni_body_tree tree;
    int node = 0;
    kni_body_tree_of(body, &tree);
    for (int i = 0; i < body->n; i++) {
        kni_step s = kni_body_step(body, i);
        bool names = s.kind == KNI_STEP_STORE || s.kind == KNI_STEP_LOCAL || s.kind == KNI_STEP_RESULT;
        const kni_body_node *at = names ? NULL : &tree.nodes[node++];
        *step = i;
        if (s.kind == KNI_STEP_CONSTANT && integers && s.value != (double)kni_body_real(s.value).whole)
            return "a fraction, and the row takes integers";
        if (s.kind == KNI_STEP_CONSTANT && integers && !(s.value > -PAST_WHOLE && s.value < PAST_WHOLE))
            return "a number from 2^53 on loses digits: shift or multiply smaller ones";
        if (s.kind == KNI_STEP_EXPN && integers) return "no meaning for integers, which the row takes";
        if (s.kind != KNI_STEP_WORD || is_of_indices(&tree, at)) continue;
        if (integers && !kni_word_at(s.index)->integers)
            return "no meaning for integers, which the row takes";
        if (floats && !kni_word_at(s.index)->floats) return "no meaning for floats, which the row takes";
    }
    return NULL;
}
