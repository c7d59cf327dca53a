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
    int64_t n; /* of the strings or the items */
} kni_held;

/* With one user, or NULL with the failure told. Takes the tensor. */
kni_held *kni_held_tensor(kn_tensor t);
/* Copies the texts. */
kni_held *kni_held_strings(const kni_onnx_text *texts, const int64_t *sizes, int32_t rank);
/* A sequence, an optional or a map of items that it gets users of its own of; NULL items: room for n of them. */
kni_held *kni_held_list(kni_datum_kind kind, kni_held *const *items, int64_t n);
kni_held *kni_held_use(kni_held *held);
void kni_held_leave(kni_held *held);

#endif
