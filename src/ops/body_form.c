/* Comparing bodies with short formulas. */
#include "ops/body_form.h"
#include "core/platform.h"
#include "ops/word_numbers.h"

enum { STEPS = 3 };

static const kni_step forms[][STEPS] = {
    [KNI_FORM_ADD] = {{KNI_STEP_INPUT, 0, 0}, {KNI_STEP_INPUT, 1, 0}, {KNI_STEP_WORD, KNI_WORD_add, 0}},
    [KNI_FORM_SUB] = {{KNI_STEP_INPUT, 0, 0}, {KNI_STEP_INPUT, 1, 0}, {KNI_STEP_WORD, KNI_WORD_sub, 0}},
    [KNI_FORM_MUL] = {{KNI_STEP_INPUT, 0, 0}, {KNI_STEP_INPUT, 1, 0}, {KNI_STEP_WORD, KNI_WORD_mul, 0}},
    [KNI_FORM_RELU] = {{KNI_STEP_INPUT, 0, 0}, {KNI_STEP_CONSTANT, 0, 0}, {KNI_STEP_WORD, KNI_WORD_max, 0}},
    [KNI_FORM_SQUARE] = {{KNI_STEP_INPUT, 0, 0}, {KNI_STEP_INPUT, 0, 0}, {KNI_STEP_WORD, KNI_WORD_mul, 0}},
};

/* The index of a constant is its place in the body's list. */
static bool same(kni_step a, const kni_step *b)
{
    return a.kind == b->kind && (a.kind == KNI_STEP_CONSTANT ? a.value == b->value : a.index == b->index);
}

kni_form kni_body_form(const kni_body *body)
{
    if (!body || body->n != STEPS) return KNI_FORM_OTHER;
    for (int f = KNI_FORM_OTHER + 1; f < KNI_COUNT(forms); f++) {
        int i = 0;
        while (i < STEPS && same(kni_body_step(body, i), &forms[f][i])) i++;
        if (i == STEPS) return (kni_form)f;
    }
    return KNI_FORM_OTHER;
}

bool kni_body_requires(const kni_body *body)
{
    for (int i = 0; body && i < body->n; i++)
        if (kni_body_step(body, i).kind == KNI_STEP_REQUIRE) return true;
    return false;
}
