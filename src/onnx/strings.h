/* Tensors of strings: they live on the host, and no op knows them. Operators that only move elements run all the same: on numbers that
   stand for the strings, which come back afterwards. Equal strings have equal numbers, and numbers are in the order of the bytes. */
#ifndef KNI_ONNX_STRINGS_H
#define KNI_ONNX_STRINGS_H

#include "onnx/convert.h"

/* For the session: called instead of the row of a node where the row is not KNI_ONNX_HOST and an operand is strings. True: the outputs
   are made, or the node failed. False: the operator knows strings (Cast), or only hands them through (Identity, sequences and
   optionals), and its row is called as always. */
bool kni_convert_strings(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out);

/* The strings of some tensors, each once and in order; text 0 is the empty one. Lives until the node is converted. */
typedef struct kni_string_pool {
    const kni_onnx_text **texts;
    int64_t count;
} kni_string_pool;

/* numbers[i]: in[i] with an i64 number for each string; what is no strings stays as it is. */
kni_string_pool kni_strings_to_numbers(kni_conversion *c, const kni_datum *in, int32_t n, kni_datum *numbers);
/* The strings that numbers stand for, in their shape. */
kni_datum kni_strings_from_numbers(kni_conversion *c, const kni_string_pool *pool, kni_datum numbers);

/* The sizes of a tensor of strings, which are always numbers. `sizes` has room for KN_MAX_RANK. */
int32_t kni_string_sizes(kni_conversion *c, kni_datum strings, int64_t *sizes);
/* Strings in a shape of numbers. */
kni_datum kni_strings_shaped(kni_conversion *c, const kni_onnx_text *texts, const int64_t *sizes,
                             int32_t rank);
/* Bytes in order, shorter ones first. */
int kni_text_order(const kni_onnx_text *a, const kni_onnx_text *b);
bool kni_text_same(const kni_onnx_text *a, const kni_onnx_text *b);

/* ---- UTF-8 (utf8.c) */

/* The character at `data` and how many bytes it has (at least 1); -1 and 1 byte where there is none. bytes is not 0. */
int32_t kni_utf8_read(const char *data, size_t bytes, size_t *used);
/* Writes 1 to 4 bytes and returns how many. */
size_t kni_utf8_write(int32_t letter, char *data);
/* How many characters, bytes that are none counted one by one. */
int64_t kni_utf8_count(const char *data, size_t bytes);
/* One letter as another one; itself where there is none. */
int32_t kni_letter_lower(int32_t letter);
int32_t kni_letter_upper(int32_t letter);
/* Calls `pair` with each letter and the letter that it becomes, in both directions of all pairs. */
void kni_letter_pairs(void (*pair)(void *state, int32_t from, int32_t to), void *state);

#endif
