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

const char *kni_line_word_name(int word)
{
    static const char *const names[KNI_LINE_WORDS] = {"sum",  "mean", "highest", "lowest", "top",   "down",
                                                      "prod", "any",  "all",     "argmax", "argmin"};
    return names[word];
}

/* In the order of the kinds, so that a code belongs to the last kind whose base is not above it. */
const uint8_t kni_step_base[KNI_STEP_RESULT + 1] = {
    [KNI_STEP_INPUT] = 0,  [KNI_STEP_PARAM] = 8,    [KNI_STEP_CONSTANT] = 16, [KNI_STEP_STORE] = 32,
    [KNI_STEP_LOCAL] = 40, [KNI_STEP_SELECT] = 48,  [KNI_STEP_AND] = 49,      [KNI_STEP_OR] = 50,
    [KNI_STEP_XOR] = 51,   [KNI_STEP_NOT] = 52,     [KNI_STEP_EXPN] = 53,     [KNI_STEP_LENGTH] = 54,
    [KNI_STEP_PLACE] = 55, [KNI_STEP_AT] = 56,      [KNI_STEP_REQUIRE] = 57,  [KNI_STEP_WORD] = 64,
    [KNI_STEP_LINE] = 192, [KNI_STEP_RESULT] = 208,
};

kni_step kni_body_step(const kni_body *body, int i)
{
    if (!body->code) return body->steps[i];
    int kind = KNI_STEP_RESULT;
    while (body->code[i] < kni_step_base[kind]) kind--;
    kni_step step = {(uint8_t)kind, (uint8_t)(body->code[i] - kni_step_base[kind]), 0};
    if (kind == KNI_STEP_CONSTANT) step.value = body->constants[step.index];
    return step;
}
