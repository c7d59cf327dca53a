/* The words of bodies and the compact form's steps. */
#include "ops/body.h"
#include "ops/op.h"
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
const uint8_t kni_step_base[KNI_STEP_KINDS] = {
    [KNI_STEP_INPUT] = 0,    [KNI_STEP_PARAM] = 8,   [KNI_STEP_CONSTANT] = 24, [KNI_STEP_STORE] = 40,
    [KNI_STEP_LOCAL] = 56,   [KNI_STEP_SELECT] = 72, [KNI_STEP_AND] = 73,      [KNI_STEP_OR] = 74,
    [KNI_STEP_XOR] = 75,     [KNI_STEP_NOT] = 76,    [KNI_STEP_EXPN] = 77,     [KNI_STEP_LENGTH] = 78,
    [KNI_STEP_PLACE] = 79,   [KNI_STEP_AT] = 80,     [KNI_STEP_REQUIRE] = 81,  [KNI_STEP_REAL] = 82,
    [KNI_STEP_WORD] = 96,    [KNI_STEP_LINE] = 192,  [KNI_STEP_RESULT] = 208,  [KNI_STEP_HAS] = 216,
    [KNI_STEP_CHOICE] = 224, [KNI_STEP_DRAW] = 240,  [KNI_STEP_ELEMENT] = 252,
};

kni_step kni_body_step(const kni_body *body, int i)
{
    if (!body->code) return body->steps[i];
    int kind = KNI_STEP_KINDS - 1;
    while (body->code[i] < kni_step_base[kind]) kind--;
    kni_step step = {(uint8_t)kind, (uint8_t)(body->code[i] - kni_step_base[kind]), 0};
    if (kind == KNI_STEP_CONSTANT) step.value = body->constants[step.index];
    return step;
}

kni_body_number kni_body_attribute(const kn_attribute *a, const void *attributes)
{
    const void *at = (const char *)attributes + a->offset;
    return a->type == KNI_ATTR_INT ? kni_body_whole(*(const int64_t *)at)
                                   : kni_body_real(*(const double *)at);
}

uint32_t kni_body_choices(const kn_attribute *schema, const void *attributes)
{
    uint32_t choices = 0;
    for (int i = 0; schema && schema[i].name; i++)
        if (schema[i].dynamic == KNI_CHOICE &&
            *(const int64_t *)((const char *)attributes + schema[i].offset))
            choices |= 1u << i;
    return choices;
}
