/* A model as a module of Kiln: load it, run it, train it on. */
#ifndef NET_H
#define NET_H

#include <kn.h>
#include <kn/nn/module.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct net {
    kn_param features_0_weight; /* f32 [8, 1, 5, 5] */
    kn_param features_0_bias; /* f32 [8] */
    kn_param features_3_weight; /* f32 [16, 8, 5, 5] */
    kn_param features_3_bias; /* f32 [16] */
    kn_param classifier_weight; /* f32 [5, 256] */
    kn_param classifier_bias; /* f32 [5] */
} net;
extern const kn_module_type net_type;

/* Makes the model from a file of weights, or from the bytes of one. Free it with net_free. */
#ifndef KN_FREESTANDING
kn_status net_load(net *m, const char *path);
#endif
kn_status net_load_memory(net *m, const void *data, size_t bytes);
void net_free(net *m);

/* Runs it. Takes temporaries.
   image: f32 [batch, 1, 28, 28]
   gives scores: f32 [batch, 5]
 */
kn_tensor net_forward(const net *m, kn_tensor image);

#ifdef __cplusplus
}
#endif

#endif
