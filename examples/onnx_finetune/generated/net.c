/* net, written from a program by Kiln. */
#include "net.h"
#include <kn/call.h>
#ifndef KN_FREESTANDING
#include <kn/store.h>
#endif

static const kn_field fields[] = {
    {KN_FIELD_PARAM, "features.0.weight", KN_OFFSET_OF(net, features_0_weight, kn_param), 0, 0, 0},
    {KN_FIELD_PARAM, "features.0.bias", KN_OFFSET_OF(net, features_0_bias, kn_param), 0, 0, 0},
    {KN_FIELD_PARAM, "features.3.weight", KN_OFFSET_OF(net, features_3_weight, kn_param), 0, 0, 0},
    {KN_FIELD_PARAM, "features.3.bias", KN_OFFSET_OF(net, features_3_bias, kn_param), 0, 0, 0},
    {KN_FIELD_PARAM, "classifier.weight", KN_OFFSET_OF(net, classifier_weight, kn_param), 0, 0, 0},
    {KN_FIELD_PARAM, "classifier.bias", KN_OFFSET_OF(net, classifier_bias, kn_param), 0, 0, 0},
    {0}};
const kn_module_type net_type = {"net", sizeof(net), fields};

#ifndef KN_FREESTANDING

kn_status net_load(net *m, const char *path)
{
    *m = (net){0};
    kn_store file = kn_store_open(path, NULL);
    if (!file) return KN_ERROR_IO;
    kn_status status = kn_load_new(KN_MODULE_OF(net, m), file);
    kn_store_close(file);
    if (status != KN_OK) net_free(m);
    return status;
}

kn_status net_load_memory(net *m, const void *data, size_t bytes)
{
    *m = (net){0};
    kn_store file = kn_store_open_memory(data, bytes, NULL);
    if (!file) return KN_ERROR_IO;
    kn_status status = kn_load_new(KN_MODULE_OF(net, m), file);
    kn_store_close(file);
    if (status != KN_OK) net_free(m);
    return status;
}

void net_free(net *m) { kn_module_drop(KN_MODULE_OF(net, m)); }

#else

#error "without files weights are part of the program: import it with --embed"

#endif

/* Sizes that are known when it runs. */
typedef struct net_sizes {
    int64_t batch;
} net_sizes;

kn_tensor net_forward(const net *m, kn_tensor image)
{
    net_sizes sizes;
    sizes.batch = kn_size(image, 0);
    const net_sizes *n = &sizes;
    kn_scope scope = kn_scope_begin();
    kn_tensor features_0_Conv = kn_conv2d(image, kn_value(m->features_0_weight), kn_value(m->features_0_bias), NULL);
    kn_tensor features_1_Relu = kn_relu(features_0_Conv);
    kn_tensor features_2_MaxPool = kn_max_pool2d(features_1_Relu, KN_INTS(2, 2), NULL);
    kn_tensor features_3_Conv = kn_conv2d(features_2_MaxPool, kn_value(m->features_3_weight), kn_value(m->features_3_bias), NULL);
    kn_tensor features_4_Relu = kn_relu(features_3_Conv);
    kn_tensor features_5_MaxPool = kn_max_pool2d(features_4_Relu, KN_INTS(2, 2), NULL);
    kn_tensor flatten_Flatten = kn_reshape(features_5_MaxPool, KN_SHAPE(n->batch, 256));
    kn_tensor scores = kn_linear(flatten_Flatten, kn_value(m->classifier_weight), kn_value(m->classifier_bias));
    return kn_scope_end(scope, scores);
}
