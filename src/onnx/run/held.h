/* What a kn_onnx_value is inside: a tensor, strings, a sequence, an optional or a map that never changes, with its users counted. */
#ifndef KNI_ONNX_HELD_H
#define KNI_ONNX_HELD_H

#include "onnx/convert.h"
#include <stdatomic.h>

typedef struct kni_held {
    _Atomic int32_t users;
    kni_datum_kind kind;
    kn_tensor tensor; /* owned */
    int32_t rank;     /* of strings */
    int64_t sizes[KN_MAX_RANK];
    kni_onnx_text *strings; /* one block with the bytes behind them */
    struct kni_held **items;
    int64_t n;     /* of the strings or the items */
    int32_t depth; /* of lists in lists */
} kni_held;

/* Lists in lists end at some depth, since they are walked by calls in calls. */
enum { KNI_DEEPEST_LIST = 64 };

/* With one user, or NULL with the failure told. Takes the tensor. */
kni_held *kni_held_tensor(kn_tensor t);
/* Copies the texts. */
kni_held *kni_held_strings(const kni_onnx_text *texts, const int64_t *sizes, int32_t rank);
/* A sequence, an optional or a map with room for n items; kni_held_place puts one there with one of its users. */
kni_held *kni_held_list(kni_datum_kind kind, int64_t n);
void kni_held_place(kni_held *list, int64_t i, kni_held *item);
kni_held *kni_held_use(kni_held *held);
void kni_held_leave(kni_held *held);

#endif
