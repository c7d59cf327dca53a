/* What the converters of numbers, shapes and products share: converters that several tables name, axes and types of nodes. */
#ifndef KNI_ONNX_CONVERT_NUMBERS_H
#define KNI_ONNX_CONVERT_NUMBERS_H

#include "core/dtype.h"
#include "onnx/convert.h"

/* The parameters of every converter. */
#define KNI_CONVERTS                                                                                         \
    kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in, kni_datum *out,         \
        int32_t n_out
#define KNI_UNUSED_COUNTS ((void)n_in, (void)n_out)

/* A row of a table: of the standard's own domain, for all versions from `since` on. */
#define KNI_ONNX_ROW(op, since, convert, types)                                                              \
    {                                                                                                        \
        "", op, since, 0, convert, 0, types                                                                  \
    }

/* ---- types */

/* Whether the elements are whole numbers or truths, stored ones too. */
static inline bool kni_is_whole(kn_dtype dtype)
{
    int kind = kni_dtypes[dtype].kind;
    return kind == KNI_KIND_BOOL || kind == KNI_KIND_UNSIGNED || kind == KNI_KIND_SIGNED;
}
/* x as f32 where it is f16, bf16 or of a dtype that is only stored: for what is computed in several steps. */
kni_datum kni_widened(kni_conversion *c, kni_datum x);
/* A cast to a small float; what lies beyond its range, infinities too, becomes the largest number. */
kni_datum kni_saturated_cast(kni_conversion *c, kni_datum x, kn_dtype dtype);
/* The dtype that an attribute of a node names with the numbers of the format; `otherwise` where there is none. Fails for types that Kiln
   has no tensors of. */
kn_dtype kni_node_dtype(kni_conversion *c, const kni_onnx_node *node, const char *attribute,
                        kn_dtype otherwise);

/* ---- axes */

/* The axes that an input (where it is given) or the attribute "axes" names, from 0 on, of a tensor of `rank` axes: how many, or -1 where
   none are given at all. No axis comes twice. */
int32_t kni_axes_given(kni_conversion *c, const kni_onnx_node *node, kni_datum input, int32_t rank,
                       int32_t axes[KN_MAX_RANK]);
/* start, start + 1 ... along `axis` of a tensor of `rank` axes, whose other axes have size 1; i64. */
kni_datum kni_counting_along(kni_conversion *c, int64_t start, kni_extent length, int32_t axis, int32_t rank);
/* x with the elements of an axis in the other order. */
kni_datum kni_reversed(kni_conversion *c, kni_datum x, int32_t axis);
/* x[start:stop:step] along one axis, as ONNX and Python count: KN_END is the end in the direction of the step. */
kni_datum kni_stepped_slice(kni_conversion *c, kni_datum x, int32_t axis, kni_extent start, kni_extent stop,
                            int64_t step);
/* The sizes that a and b broadcast to; returns the rank. */
int32_t kni_broadcast_extents(kni_conversion *c, const kni_extent *a, int32_t rank_a, const kni_extent *b,
                              int32_t rank_b, kni_extent out[KN_MAX_RANK]);
/* An op of rank 0 whose value is a whole number, which may be an expression; i64. */
static inline kni_datum kni_extent_value(kni_conversion *c, kni_extent e)
{
    return kni_known_list(c, &e, 1, true);
}

/* ---- converters that the tables of several files name */

void kni_convert_cast(KNI_CONVERTS);
void kni_convert_cast_like(KNI_CONVERTS);
/* A tensor of numbers as one of texts, and the other way round. */
kni_datum kni_texts_of_numbers(kni_conversion *c, kni_datum x);
kni_datum kni_numbers_of_texts(kni_conversion *c, kni_datum x, kn_dtype dtype);

void kni_convert_reshape(KNI_CONVERTS);
void kni_convert_pad(KNI_CONVERTS);
void kni_convert_slice(KNI_CONVERTS);
void kni_convert_crop(KNI_CONVERTS);
void kni_convert_split(KNI_CONVERTS);
void kni_convert_range(KNI_CONVERTS);
void kni_convert_constant_of_shape(KNI_CONVERTS);
void kni_convert_eye_like(KNI_CONVERTS);
void kni_convert_one_hot(KNI_CONVERTS);
void kni_convert_trilu(KNI_CONVERTS);
void kni_convert_gather(KNI_CONVERTS);
void kni_convert_gather_elements(KNI_CONVERTS);
void kni_convert_compress(KNI_CONVERTS);
void kni_convert_reverse_sequence(KNI_CONVERTS);
void kni_convert_random(KNI_CONVERTS);
void kni_convert_bernoulli(KNI_CONVERTS);
void kni_convert_multinomial(KNI_CONVERTS);
void kni_convert_einsum(KNI_CONVERTS);
void kni_convert_dft(KNI_CONVERTS);
void kni_convert_stft(KNI_CONVERTS);
void kni_convert_window(KNI_CONVERTS);
void kni_convert_mel_weights(KNI_CONVERTS);

#endif
