/* Convolutions in 16 bits by cuDNN: forward with a bias, gradients of images and of kernels. In f32 its engines round
   operands to fewer bits, so those are not asked for. */
#include "backend/cuda/cuda_cudnn.h"
#include <string.h>

/* Ids of the tensors in memory. */
enum { ID_X = 1, ID_W, ID_Y, ID_BIAS };

typedef struct plan_key {
    int64_t family; /* told apart from other graphs by its length and this */
    int64_t what, dtype, images, channels, outs, groups, bias;
    int64_t x_size[2], kernel[2], y_size[2], stride[2], padding[2], dilation[2];
} plan_key;

static void *operand(kni_dnn_graph *g, const plan_key *k, int64_t id, int64_t outer, int64_t inner,
                     const int64_t *size)
{
    int dtype = kni_is_brain(k->dtype) ? KNI_DNN_BF16 : KNI_DNN_F16;
    int64_t plane = size[0] * size[1];
    return kni_dnn_add_tensor(g, &(kni_dnn_tensor){.id = id,
                                                   .dtype = dtype,
                                                   .dims = {outer, inner, size[0], size[1]},
                                                   .steps = {inner * plane, plane, size[1], 1}});
}

static void build(kni_dnn_graph *g, const void *given)
{
    const plan_key *k = given;
    const int64_t one[2] = {1, 1};
    kni_dnn_convolution p = {.what = (int)k->what};
    memcpy(p.stride, k->stride, sizeof p.stride);
    memcpy(p.padding, k->padding, sizeof p.padding);
    memcpy(p.dilation, k->dilation, sizeof p.dilation);
    void *x = operand(g, k, ID_X, k->images, k->channels, k->x_size);
    void *w = operand(g, k, ID_W, k->outs, k->channels / k->groups, k->kernel);
    void *y = operand(g, k, ID_Y, k->images, k->outs, k->y_size);
    if (!k->bias) {
        kni_dnn_add_convolution(g, &p, x, w, y);
        return;
    }
    int64_t plane = k->y_size[0] * k->y_size[1];
    void *bias = operand(g, k, ID_BIAS, 1, k->outs, one);
    void *sum =
        kni_dnn_add_tensor(g, &(kni_dnn_tensor){.dtype = KNI_DNN_F32,
                                                .flags = KNI_DNN_INSIDE,
                                                .dims = {k->images, k->outs, k->y_size[0], k->y_size[1]},
                                                .steps = {k->outs * plane, plane, k->y_size[1], 1}});
    kni_dnn_add_convolution(g, &p, x, w, sum);
    kni_dnn_add_pointwise(g, KNI_DNN_ADD, 0, sum, bias, NULL, y, false);
}

kn_status kni_cuda_convolution(kni_driver *d, const kni_convolution *p)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_runtime_enter(&c->runtime);
    if (status) return status;
    if (!kni_is_half(p->dtype) || p->groups < 1) return KN_ERROR_UNSUPPORTED;
    plan_key key;
    memset(&key, 0, sizeof key);
    key.family = 'c', key.what = p->what, key.dtype = p->dtype, key.images = p->images;
    key.channels = p->channels, key.outs = p->outs, key.groups = p->groups, key.bias = p->bias.memory != NULL;
    memcpy(key.x_size, p->x_size, sizeof key.x_size);
    memcpy(key.kernel, p->kernel, sizeof key.kernel);
    memcpy(key.y_size, p->y_size, sizeof key.y_size);
    memcpy(key.stride, p->stride, sizeof key.stride);
    memcpy(key.padding, p->padding, sizeof key.padding);
    memcpy(key.dilation, p->dilation, sizeof key.dilation);
    const kni_place *places[] = {&p->x, &p->w, &p->y, &p->bias};
    int64_t ids[4];
    void *memory[4];
    int count = 0;
    for (int i = 0; i < 4; i++) {
        if (!places[i]->memory) continue;
        ids[count] = ID_X + i;
        memory[count++] = (char *)places[i]->memory + places[i]->offset * 2;
        if ((uintptr_t)memory[count - 1] % 16)
            return KN_ERROR_UNSUPPORTED; /* as the graph says it is aligned */
    }
    const kni_dnn_kept *plan = kni_dnn_find(c, &key, sizeof key, build);
    void *workspace = plan ? kni_cuda_scratch(c, (size_t)(plan->workspace > 0 ? plan->workspace : 1)) : NULL;
    if (!workspace) return KN_ERROR_UNSUPPORTED;
    return kni_dnn_execute(c, plan, ids, memory, count, workspace, "a convolution");
}
