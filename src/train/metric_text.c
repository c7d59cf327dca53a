/* Error rates of characters and words, and ROUGE-L. */
#include "support/failure.h"
#include "train/metric_ratio.h"
#include "train/metric_tokens.h"
#include <stdlib.h>
#include <string.h>

typedef struct totals {
    double numerator, denominator;
    int64_t separator;
} totals;

static kn_status add_distance(totals *t, kni_tokens said, kni_tokens wanted)
{
    int64_t distance = kni_tokens_distance(said, wanted);
    if (distance < 0) return kni_failure_memory("kn_metric_update");
    t->numerator += (double)distance;
    t->denominator += (double)wanted.n;
    return KN_OK;
}

static kn_status compare_characters(void *context, kni_tokens said, kni_tokens wanted)
{
    return add_distance(context, said, wanted);
}

typedef struct word {
    const int64_t *ids;
    int64_t n;
} word;

/* Cuts a sequence into words behind those that are there. */
static int64_t cut(kni_tokens text, int64_t separator, word *words)
{
    int64_t n = 0, begin = 0;
    for (int64_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.ids[i] != separator) continue;
        if (i > begin) words[n++] = (word){text.ids + begin, i - begin};
        begin = i + 1;
    }
    return n;
}

/* Equal words get equal numbers. */
static void number_words(const word *words, int64_t n, int64_t *numbers)
{
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = i;
        for (int64_t j = 0; j < i && numbers[i] == i; j++)
            if (words[j].n == words[i].n &&
                !memcmp(words[j].ids, words[i].ids, (size_t)words[i].n * sizeof(int64_t)))
                numbers[i] = numbers[j];
    }
}

static kn_status compare_words(void *context, kni_tokens said, kni_tokens wanted)
{
    totals *t = context;
    size_t room = (size_t)(said.n + wanted.n + 1);
    word *words = malloc(room * sizeof *words);
    int64_t *numbers = malloc(room * sizeof *numbers);
    kn_status status = words && numbers ? KN_OK : kni_failure_memory("kn_metric_update");
    if (!status) {
        int64_t a = cut(said, t->separator, words), b = cut(wanted, t->separator, words + a);
        number_words(words, a + b, numbers);
        status = add_distance(t, (kni_tokens){numbers, a}, (kni_tokens){numbers + a, b});
    }
    free(words);
    free(numbers);
    return status;
}

/* F1 = 2 common / (said + wanted), for precision common / said and recall common / wanted. */
static kn_status compare_common(void *context, kni_tokens said, kni_tokens wanted)
{
    totals *t = context;
    int64_t common = kni_tokens_common(said, wanted);
    if (common < 0) return kni_failure_memory("kn_metric_update");
    if (said.n + wanted.n > 0) t->numerator += 2 * (double)common / (double)(said.n + wanted.n);
    t->denominator += 1;
    return KN_OK;
}

/* integers[0]: padding; integers[1]: the separator of words. */
static kn_status measure(kni_ratio *r, const kn_step_output *output, kni_tokens_fn fn, double *numerator,
                         double *denominator)
{
    totals t = {0, 0, r->integers[1]};
    kn_status status = kni_tokens_each(output, r->name, r->integers[0], fn, &t);
    *numerator = t.numerator;
    *denominator = t.denominator;
    return status;
}

static kn_status measure_characters(kni_ratio *r, const kn_step_output *output,
                                    const kn_metric_context *context, double *numerator, double *denominator)
{
    (void)context;
    return measure(r, output, compare_characters, numerator, denominator);
}

static kn_status measure_words(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                               double *numerator, double *denominator)
{
    (void)context;
    return measure(r, output, compare_words, numerator, denominator);
}

static kn_status measure_rouge(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                               double *numerator, double *denominator)
{
    (void)context;
    return measure(r, output, compare_common, numerator, denominator);
}

static const kni_ratio_kind characters_kind = {
    .name = "char_error_rate", .text = KNI_RATIO_PERCENT, .measure = measure_characters};
static const kni_ratio_kind words_kind = {
    .name = "word_error_rate", .text = KNI_RATIO_PERCENT, .measure = measure_words};
static const kni_ratio_kind rouge_kind = {
    .name = "rouge_l", .higher_is_better = true, .text = KNI_RATIO_PERCENT, .measure = measure_rouge};

kn_metric kn_metric_char_error_rate(int64_t pad) { return kni_ratio_make(&characters_kind, NULL, 0, pad, 0); }

kn_metric kn_metric_word_error_rate(int64_t pad, int64_t separator)
{
    return kni_ratio_make(&words_kind, NULL, 0, pad, separator);
}

kn_metric kn_metric_rouge_l(int64_t pad) { return kni_ratio_make(&rouge_kind, NULL, 0, pad, 0); }
