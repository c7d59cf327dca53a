/* What the readers of PyTorch's three file forms share: from the values of a pickle to the directory of a store. */
#ifndef KNI_STORE_PYTORCH_H
#define KNI_STORE_PYTORCH_H

#include "store/pickle.h"

/* Where the bytes of a storage are. */
typedef struct kni_storage_place {
    uint64_t container, span;
    int64_t member; /* entry of the archive, or -1 */
} kni_storage_place;

typedef struct kni_pytorch {
    kni_store *store;
    bool swapped;       /* the file was written by a machine of the other byte order */
    size_t pickle_size; /* bounds how much the walk visits */
    kn_status (*locate)(struct kni_pytorch *f, const kni_pickle_storage *storage, kni_storage_place *place);
    void *context;
} kni_pytorch;

/* Lists the tensors under the entry that holds the weights, and the plain values of the whole. */
kn_status kni_pytorch_list(kni_pytorch *f, const kni_pickle_value *root);
/* ('storage', class, key, location, elements[, view]) */
kn_status kni_pytorch_storage(kni_pickle *p, const kni_pickle_value *id, kni_pickle_value **result);

#endif
