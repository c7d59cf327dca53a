/* Included once for each element type with T (its C type), S (its suffix) and D (its dtype): the words of bodies on
   arrays, as the host computes them, and a table of them. No include guard on purpose. */
#define WORD1(name, result, f, i)                                                                            \
    static void JOIN(host_##name##_, S)(int64_t n, const void *a, const void *b, void *y)                    \
    {                                                                                                        \
        (void)b;                                                                                             \
        for (int64_t k = 0; k < n; k++)                                                                      \
            ((RESULT_##result *)y)[k] = JOIN(kni_word_##name##_, S)(((const T *)a)[k]);                      \
    }
#define WORD2(name, result, f, i)                                                                            \
    static void JOIN(host_##name##_, S)(int64_t n, const void *a, const void *b, void *y)                    \
    {                                                                                                        \
        for (int64_t k = 0; k < n; k++)                                                                      \
            ((RESULT_##result *)y)[k] = JOIN(kni_word_##name##_, S)(((const T *)a)[k], ((const T *)b)[k]);   \
    }
#define RESULT_VALUE T
#define RESULT_TRUTH int
#include "ops/scalar_words.def"
#undef RESULT_VALUE
#undef RESULT_TRUTH
#undef WORD1
#undef WORD2
#define RESULT_VALUE D
#define RESULT_TRUTH KN_I32
#define WORD1(name, result, f, i)                                                                            \
    {"kni_word_" #name "_" TEXT(S), "(a)", D, RESULT_##result, JOIN(host_##name##_, S)},
#define WORD2(name, result, f, i)                                                                            \
    {"kni_word_" #name "_" TEXT(S), "(a, b)", D, RESULT_##result, JOIN(host_##name##_, S)},
static const test_case JOIN(words_, S)[] = {
#include "ops/scalar_words.def"
};
#undef RESULT_VALUE
#undef RESULT_TRUTH
#undef WORD1
#undef WORD2
#undef T
#undef S
#undef D
