/* The strips of programs of lines that are made at run time: those of all words are linked. */
#include "backend/cpu/line_program.h"
#include "ops/body_words.h"
#include "ops/word_numbers.h"

static const kni_native *entry_of_word(int word)
{
    if (word == KNI_WORD_normal_cdf) return &kni_line_normal_cdf;
    if (word == KNI_WORD_polygamma) return &kni_line_polygamma;
    if (word == KNI_WORD_stop) return &kni_line_stop;
    const kn_op *row = kni_word_row(word);
    return row && row->native && row->native->strips ? row->native : NULL;
}

const kni_native *kni_line_entry_of(int step_kind, int word)
{
    switch (step_kind) {
    case KNI_STEP_WORD:
        return entry_of_word(word);
    case KNI_STEP_EXPN:
        return kni_word_row(KNI_WORD_exp)->native;
    case KNI_STEP_SELECT:
        return kni_select_row()->native;
    case KNI_STEP_AND:
        return &kni_line_and;
    case KNI_STEP_OR:
        return &kni_line_or;
    case KNI_STEP_XOR:
        return &kni_line_xor;
    case KNI_STEP_NOT:
        return &kni_line_not;
    default:
        return NULL;
    }
}

/* False: a word has no strips at all. */
bool kni_line_bind(kni_line_program *p)
{
    kni_line_number *numbers = (kni_line_number *)p->numbers;
    kni_line_step *steps = (kni_line_step *)p->steps;
    bool good = true;
    for (int i = 0; i < p->n_numbers; i++) {
        bool word = numbers[i].kind == KNI_STEP_WORD || numbers[i].kind == KNI_STEP_EXPN;
        if (word) numbers[i].entry = kni_line_entry_of(numbers[i].kind, numbers[i].index);
        good &= !word || numbers[i].entry;
    }
    for (int i = 0; i < p->n_once + p->n_steps; i++) {
        if (steps[i].kind != KNI_LINE_CALL) continue;
        steps[i].entry = kni_line_entry_of(steps[i].word_kind, steps[i].word);
        good &= steps[i].entry != NULL;
    }
    return good;
}
