/* From the steps of a body to its tree. */
#include "ops/body_tree.h"
#include "ops/op.h"
#include "ops/word_numbers.h"

static int pops(const kni_step *s)
{
    static const uint8_t by_kind[KNI_STEP_KINDS] = {
        [KNI_STEP_SELECT] = 3,  [KNI_STEP_AND] = 2,  [KNI_STEP_OR] = 2,   [KNI_STEP_XOR] = 2,
        [KNI_STEP_NOT] = 1,     [KNI_STEP_EXPN] = 1, [KNI_STEP_LINE] = 1, [KNI_STEP_AT] = 2,
        [KNI_STEP_REQUIRE] = 2, [KNI_STEP_DRAW] = 3, [KNI_STEP_REAL] = 1,
    };
    return s->kind == KNI_STEP_WORD ? kni_word_at(s->index)->arity : by_kind[s->kind];
}

uint8_t kni_body_level(const kni_body_tree *tree, const kni_body_node *node)
{
    uint8_t level = KNI_LEVEL_ALL;
    for (int i = 0; i < node->n_in; i++) level |= tree->nodes[node->in[i]].level;
    if (node->step.kind == KNI_STEP_PLACE) return KNI_LEVEL_PLACE;
    if (node->step.kind == KNI_STEP_ELEMENT) return KNI_LEVEL_ELEMENT;
    if (node->step.kind == KNI_STEP_AT)
        return (tree->nodes[node->in[0]].level & KNI_LEVEL_LINE) | tree->nodes[node->in[1]].level;
    if (node->step.kind == KNI_STEP_LINE)
        level &= node->step.index == KNI_LINE_DOWN ? KNI_LEVEL_PLACE : KNI_LEVEL_LINE;
    return level;
}

static uint8_t level_of(const kni_body *body, const kni_body_tree *tree, const kni_body_node *node)
{
    if (node->step.kind != KNI_STEP_INPUT) return kni_body_level(tree, node);
    return body->operands ? body->operands[node->step.index] & KNI_OPERAND_LEVEL : KNI_LEVEL_ELEMENT;
}

/* Of what stands side by side: an index or a value makes numbers the same. */
static uint8_t gives_both(const kni_body_tree *tree, const uint8_t *in, int n)
{
    uint8_t gives = KNI_GIVES_NUMBER;
    for (int i = 0; i < n; i++)
        if (tree->nodes[in[i]].gives != KNI_GIVES_NUMBER) gives = tree->nodes[in[i]].gives;
    return gives;
}

static uint8_t gives_of(const kni_body *body, const kni_body_tree *tree, const kni_body_node *node)
{
    static const uint8_t words[KNI_LINE_WORDS] = {
        [KNI_LINE_ANY] = KNI_GIVES_TRUTH,
        [KNI_LINE_ALL] = KNI_GIVES_TRUTH,
        [KNI_LINE_ARGMAX] = KNI_GIVES_INDEX,
        [KNI_LINE_ARGMIN] = KNI_GIVES_INDEX,
    };
    uint8_t bits = body->operands && node->step.kind == KNI_STEP_INPUT ? body->operands[node->step.index] : 0;
    switch (node->step.kind) {
    case KNI_STEP_INPUT:
        return bits & KNI_OPERAND_INDEX ? KNI_GIVES_INDEX : bits & KNI_OPERAND_TRUTH ? KNI_GIVES_TRUTH : 0;
    case KNI_STEP_PARAM:
    case KNI_STEP_CONSTANT:
    case KNI_STEP_LENGTH:
    case KNI_STEP_ELEMENT:
        return KNI_GIVES_NUMBER;
    case KNI_STEP_HAS:
    case KNI_STEP_CHOICE:
    case KNI_STEP_AND:
    case KNI_STEP_OR:
    case KNI_STEP_XOR:
    case KNI_STEP_NOT:
        return KNI_GIVES_TRUTH;
    case KNI_STEP_DRAW:
    case KNI_STEP_PLACE:
        return KNI_GIVES_INDEX;
    case KNI_STEP_EXPN:
    case KNI_STEP_REAL:
        return KNI_GIVES_VALUE;
    case KNI_STEP_LINE:
        return words[node->step.index];
    case KNI_STEP_AT:
        return tree->nodes[node->in[0]].gives;
    case KNI_STEP_REQUIRE:
        return tree->nodes[node->in[1]].gives;
    case KNI_STEP_SELECT:
        return gives_both(tree, node->in + 1, 2);
    default:
        return kni_word_at(node->step.index)->truth ? KNI_GIVES_TRUTH
                                                    : gives_both(tree, node->in, node->n_in);
    }
}

void kni_body_tree_of(const kni_body *body, kni_body_tree *tree)
{
    uint8_t stack[KNI_BODY_STACK + 1], locals[KNI_BODY_MAX_LOCALS];
    int depth = 0;
    tree->n = 0;
    for (int i = 0; i < body->n; i++) {
        kni_step s = kni_body_step(body, i);
        if (s.kind == KNI_STEP_STORE) {
            locals[s.index] = stack[--depth];
        } else if (s.kind == KNI_STEP_LOCAL) {
            stack[depth++] = locals[s.index];
        } else if (s.kind == KNI_STEP_RESULT) {
            tree->results[s.index] = stack[--depth];
        } else {
            kni_body_node *node = &tree->nodes[tree->n];
            *node = (kni_body_node){.step = s, .n_in = (uint8_t)pops(&s)};
            depth -= node->n_in;
            for (int k = 0; k < node->n_in; k++) node->in[k] = stack[depth + k];
            node->level = level_of(body, tree, node);
            node->gives = gives_of(body, tree, node);
            stack[depth++] = (uint8_t)tree->n++;
        }
    }
    if (depth) tree->results[0] = stack[0];
}

/* Node i, or what the select that it is comes to. */
static uint8_t settled(const kni_body_tree *tree, uint32_t known, uint32_t choices, uint8_t i)
{
    for (;;) {
        const kni_body_node *n = &tree->nodes[i];
        const kni_step *condition = &tree->nodes[n->in[0]].step;
        if (n->step.kind != KNI_STEP_SELECT || condition->kind != KNI_STEP_CHOICE ||
            !(known >> condition->index & 1))
            return i;
        i = n->in[choices >> condition->index & 1 ? 1 : 2];
    }
}

void kni_body_settle(kni_body_tree *tree, int n_out, uint32_t known, uint32_t choices)
{
    for (int i = 0; i < tree->n; i++) {
        kni_body_node *n = &tree->nodes[i];
        for (int k = 0; k < n->n_in; k++) n->in[k] = settled(tree, known, choices, n->in[k]);
    }
    for (int k = 0; k < n_out; k++) tree->results[k] = settled(tree, known, choices, tree->results[k]);
}

bool kni_body_is_whole(const kni_body_tree *tree, const kn_attribute *schema, int i)
{
    const kni_body_node *n = &tree->nodes[i];
    const kni_step *s = &n->step;
    switch (s->kind) {
    case KNI_STEP_ELEMENT:
        return true;
    case KNI_STEP_CONSTANT:
        return s->value == (double)kni_body_real(s->value).whole;
    case KNI_STEP_PARAM:
        return schema && schema[s->index].type == KNI_ATTR_INT;
    case KNI_STEP_SELECT:
        return kni_body_is_whole(tree, schema, n->in[1]) && kni_body_is_whole(tree, schema, n->in[2]);
    case KNI_STEP_WORD:
        break;
    default:
        return false;
    }
    if (s->index == KNI_WORD_floor || s->index == KNI_WORD_ceil) return true;
    if (s->index != KNI_WORD_add && s->index != KNI_WORD_sub && s->index != KNI_WORD_mul) return false;
    return kni_body_is_whole(tree, schema, n->in[0]) && kni_body_is_whole(tree, schema, n->in[1]);
}
