/* What converters of ai.onnx.ml share. */
#ifndef KNI_ONNX_CONVERT_LEARNING_H
#define KNI_ONNX_CONVERT_LEARNING_H

#include "onnx/convert.h"

kni_convert_function kni_convert_cast_map;
kni_convert_function kni_convert_category_mapper;
kni_convert_function kni_convert_dict_vectorizer;
kni_convert_function kni_convert_label_encoder;
kni_convert_function kni_convert_zip_map;
kni_convert_function kni_convert_linear_classifier;
kni_convert_function kni_convert_linear_regressor;
kni_convert_function kni_convert_svm_classifier;
kni_convert_function kni_convert_svm_regressor;
kni_convert_function kni_convert_tree_ensemble;
kni_convert_function kni_convert_tree_classifier;
kni_convert_function kni_convert_tree_regressor;

/* What models compute with: f64 of f64, else f32. */
kn_dtype kni_learning_dtype(kni_conversion *c, kni_datum x);
/* Features as rows in this dtype: [C] is one row. Fails where x has another rank. */
kni_datum kni_learning_rows(kni_conversion *c, kni_datum x, kn_dtype dtype);
/* Numbers of an attribute as a tensor of a dtype. */
kni_datum kni_learning_reals(kni_conversion *c, const double *reals, const int64_t *sizes, int32_t rank,
                             kn_dtype dtype);
kni_datum kni_learning_wholes(kni_conversion *c, const int64_t *wholes, const int64_t *sizes, int32_t rank);
/* The list `name` of a node as doubles, or the tensor name_as_tensor; NULL with *n 0 where there is neither. *wide (may be NULL) becomes
   true where they are doubles in the file. */
const double *kni_learning_list(kni_conversion *c, const kni_onnx_node *node, const char *name, int64_t *n,
                                bool *wide);
/* A tensor of an attribute as doubles. */
const double *kni_learning_tensor(kni_conversion *c, const kni_onnx_tensor *tensor, int64_t *n);

/* How many scores there are is known: one alone is changed by PROBIT only. `name` is that of the attribute's value. */
kni_datum kni_learning_post(kni_conversion *c, kni_datum scores, int64_t n_scores, const char *name);
/* Two classes from one score: 1 - s and s, -s and s, and of LOGISTIC sigmoid(-s) and sigmoid(s). */
kni_datum kni_learning_two(kni_conversion *c, kni_datum score, bool complement, const char *post);

/* Labels of classes: of a list of whole numbers, of texts, or the numbers of the classes themselves. */
typedef struct kni_learning_labels {
    const int64_t *wholes;
    const kni_onnx_text *texts;
    int64_t count;
} kni_learning_labels;
kni_learning_labels kni_learning_labels_of(const kni_onnx_node *node, const char *wholes);
/* The labels that classes [N] have, unless the node's output is not wanted. */
kni_datum kni_learning_label(kni_conversion *c, const kni_onnx_node *node, const kni_learning_labels *labels,
                             kni_datum classes);
/* The first class of the highest score in each row. */
kni_datum kni_learning_best(kni_conversion *c, kni_datum scores);
/* 0 or 1: whether the only score of a row is above a limit. */
kni_datum kni_learning_above(kni_conversion *c, kni_datum score, double limit);

#endif
