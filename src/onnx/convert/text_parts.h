/* Converters of operators on strings that have files of their own, and what these share. */
#ifndef KNI_ONNX_CONVERT_TEXT_H
#define KNI_ONNX_CONVERT_TEXT_H

#include "onnx/convert/regex.h"
#include "onnx/strings.h"

kni_convert_function kni_convert_tokenizer;
kni_convert_function kni_convert_tfidf_vectorizer;

/* A list of texts that grows. */
typedef struct kni_text_list {
    kni_onnx_text *texts;
    int64_t count, room;
} kni_text_list;
void kni_text_list_add(kni_conversion *c, kni_text_list *list, const char *data, size_t bytes);

/* The regular expression; NULL with the node failed, which then says what is wrong with the pattern. */
kni_regex *kni_regex_of(kni_conversion *c, kni_onnx_arena *arena, const kni_onnx_text *pattern);

#endif
