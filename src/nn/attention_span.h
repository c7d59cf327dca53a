/* What stacks of layers share with the attention in them. */
#ifndef KNI_NN_ATTENTION_SPAN_H
#define KNI_NN_ATTENTION_SPAN_H

#include <kn/nn/attention_layers.h>

/* The span of a call (kn_nn_attention_call) that adds so many tokens to a cache with a capacity. */
kn_tensor kni_attention_span(const kn_nn_attention_cache *cache, int64_t tokens);

#endif
