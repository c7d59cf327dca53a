/* What load_adapters.c understands on the way in, on the way out: names and layouts as PyTorch has them. */
#ifndef KNI_STORE_SAVE_ADAPTERS_H
#define KNI_STORE_SAVE_ADAPTERS_H

#include "store/store_object.h"

/* Beside each value of a save. */
typedef struct kni_save_source {
    bool in_attention; /* a param of a projection of kn_nn_attention */
    kn_tensor made;    /* owned: a value that is no param's, KN_NONE for others */
} kni_save_source;

/* Turns the projections of each attention into what nn.MultiheadAttention has: in_proj_weight and in_proj_bias with the rows of
   query, key and value (q_proj_weight and so on where keys have another width), and out_proj. Attention that PyTorch's cannot
   express (fewer heads of keys, heads of another width, a bias here and none there) keeps its names. Values go away, so
   writing->count becomes smaller; names are replaced in new memory. */
kn_status kni_save_adapt(kni_store_writing *writing, kni_save_source *sources);

#endif
