/* The words of bodies and the compact form's steps. */
#include "ops/body.h"
#include "ops/scalar_words.h"

/* Meanings that are absent read NONE; no expression begins with an N. */
#define WORD1(name, result, f, i) {#name, 1, RESULT_##result, #f[0] != 'N', #i[0] != 'N'},
#define WORD2(name, result, f, i) {#name, 2, RESULT_##result, #f[0] != 'N', #i[0] != 'N'},
#define RESULT_VALUE 0
#define RESULT_TRUTH 1
static const kni_word words[] = {
#include "ops/scalar_words.def"
};
#undef WORD1
#undef WORD2

int kni_word_count(void) { return (int)(sizeof words / sizeof *words); }

const kni_word *kni_word_at(int index) { return &words[index]; }

const uint8_t kni_step_base[KNI_STEP_WORD + 1] = {
    [KNI_STEP_INPUT] = 0,  [KNI_STEP_PARAM] = 8,   [KNI_STEP_CONSTANT] = 16, [KNI_STEP_STORE] = 32,
    [KNI_STEP_LOCAL] = 40, [KNI_STEP_SELECT] = 48, [KNI_STEP_AND] = 49,      [KNI_STEP_OR] = 50,
    [KNI_STEP_XOR] = 51,   [KNI_STEP_NOT] = 52,    [KNI_STEP_WORD] = 64,
};

kni_step kni_body_step(const kni_body *body, int i)
{
    int kind = KNI_STEP_WORD;
    while (body->code[i] < kni_step_base[kind]) kind--;
    kni_step step = {(uint8_t)kind, (uint8_t)(body->code[i] - kni_step_base[kind]), 0};
    if (kind == KNI_STEP_CONSTANT) step.value = body->constants[step.index];
    return step;
}
