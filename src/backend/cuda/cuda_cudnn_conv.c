/* Convolutions by cuDNN in f32, f16 and bf16: forward with what may follow it, gradients of images and of kernels, described by the
   steps of their operands. Its engines for 16 bits and for f32 rounded to 10 bits read images with channels last in place and
   others through a copy in their workspace; those that round nothing do it the other way round. Weights may lie either way: engines
   copy them, which is little. */
#include "backend/cuda/cuda_cudnn.h"
#include "core/error.h"
#include <string.h>

/* Ids of the tensors in memory. */
enum { ID_X = 1, ID_W, ID_Y, ID_BIAS, ID_ADDED, IDS };

enum { AXES = KNI_CONVOLUTION_AXES, RANK = KNI_CONVOLUTION_RANK };
typedef struct plan_key {
    int64_t family; /* told apart from other graphs by its length and this */
    int64_t what, dtype, axes, images, channels, outs, groups, bias, added, relu, exact, transforms;
    int64_t x_size[AXES], kernel[AXES], y_size[AXES], stride[AXES], dilation[AXES];
    int64_t padding[AXES], padding_end[AXES];
    int64_t x_steps[RANK], w_steps[RANK], y_steps[RANK];
} plan_key;

static int library_type(int dtype)
{
    return !kni_is_half(dtype) ? KNI_DNN_F32 : kni_is_brain(dtype) ? KNI_DNN_BF16 : KNI_DNN_F16;
}

/* An id of 0: inside the graph, in f32. */
static void *tensor(kni_dnn_graph *g, const plan_key *k, int64_t id, int64_t outer, int64_t inner,
                    const int64_t *size, const int64_t *steps)
{
    kni_dnn_tensor t = {.id = id,
                        .dtype = id ? library_type((int)k->dtype) : KNI_DNN_F32,
                        .flags = id ? 0 : KNI_DNN_INSIDE,
                        .rank = (int)k->axes + 2,
                        .dims = {outer, inner}};
    memcpy(t.dims + 2, size, (size_t)k->axes * sizeof *size);
    memcpy(t.steps, steps, (size_t)t.rank * sizeof *steps);
    return kni_dnn_add_tensor(g, &t);
}

/* y, or a sum on the way to it. */
static void *result(kni_dnn_graph *g, const plan_key *k, bool last)
{
    return tensor(g, k, last ? ID_Y : 0, k->images, k->outs, k->y_size, k->y_steps);
}

/* In the order that the library's compiled engines know: the other addend, the bias, relu. */
static void build_forward(kni_dnn_graph *g, const plan_key *k, const kni_dnn_convolution *p, void *x, void *w)
{
    const int64_t one[AXES] = {1, 1, 1}, steps[RANK] = {k->outs, 1, k->outs, k->outs, k->outs};
    void *y = result(g, k, !k->added && !k->bias && !k->relu), *next;
    kni_dnn_add_convolution(g, p, x, w, y);
    if (k->added) {
        void *other = tensor(g, k, ID_ADDED, k->images, k->outs, k->y_size, k->y_steps);
        next = result(g, k, !k->bias && !k->relu);
        kni_dnn_add_pointwise(g, KNI_DNN_ADD, 0, y, other, NULL, next, false);
        y = next;
    }
    if (k->bias) {
        void *bias = tensor(g, k, ID_BIAS, 1, k->outs, one, steps);
        next = result(g, k, !k->relu);
        kni_dnn_add_pointwise(g, KNI_DNN_ADD, 0, y, bias, NULL, next, false);
        y = next;
    }
    if (k->relu) kni_dnn_add_pointwise(g, KNI_DNN_RELU, 0, y, NULL, NULL, result(g, k, true), false);
}

static void build(kni_dnn_graph *g, const void *given)
{
    const plan_key *k = given;
    kni_dnn_convolution p = {.what = (int)k->what, .axes = (int)k->axes};
    memcpy(p.stride, k->stride, sizeof p.stride);
    memcpy(p.padding, k->padding, sizeof p.padding);
    memcpy(p.padding_end, k->padding_end, sizeof p.padding_end);
    memcpy(p.dilation, k->dilation, sizeof p.dilation);
    static const int forbidden[] = {[KNI_DNN_TRANSFORMS_NONE] = KNI_DNN_PLAIN,
                                    [KNI_DNN_TRANSFORMS_SMALL] = KNI_DNN_FINE,
                                    [KNI_DNN_TRANSFORMS_LARGE] = 0};
    g->limits = KNI_DNN_READY | (k->exact ? KNI_DNN_EXACT : 0) | forbidden[k->transforms];
    void *x = tensor(g, k, ID_X, k->images, k->channels, k->x_size, k->x_steps);
    void *w = tensor(g, k, ID_W, k->outs, k->channels / k->groups, k->kernel, k->w_steps);
    if (k->what == KNI_CONVOLUTION_FORWARD)
        build_forward(g, k, &p, x, w);
    else
        kni_dnn_add_convolution(g, &p, x, w, result(g, k, true));
}

static void describe(kni_text *text, const void *given)
{
    static const char *const whats[] = {"a convolution", "a convolution's gradient by its input",
                                        "a convolution's gradient by its weight"};
    const plan_key *k = given;
    const int axes = (int)k->axes;
    kni_text_format(text, "%s of %D x %D channels", whats[k->what], k->images, k->channels);
    kni_text_dims(text, axes, k->x_size);
    kni_text_format(text, " to %D", k->outs);
    kni_text_dims(text, axes, k->y_size);
    kni_text_string(text, " by");
    kni_text_dims(text, axes, k->kernel);
    kni_text_format(text, " in %T%s, %D groups, strides", (int)k->dtype,
                    k->x_steps[1] == 1 && k->channels > 1 ? " with channels last" : "", k->groups);
    kni_text_dims(text, axes, k->stride);
    if (k->added || k->bias || k->relu)
        kni_text_format(text, ", with%s%s%s", k->bias ? " bias" : "", k->added ? " sum" : "",
                        k->relu ? " relu" : "");
}

/* Relu in the same call would hide what a transform spoiled. */
static bool may_transform(const kni_convolution *p)
{
    return p->transformed && p->dtype == KN_F32 && !p->relu;
}

static void make_key(const kni_cuda *c, const kni_convolution *p, plan_key *key)
{
    memset(key, 0, sizeof *key);
    key->family = 'c', key->what = p->what, key->dtype = p->dtype, key->axes = p->axes;
    key->images = p->images, key->channels = p->channels, key->outs = p->outs, key->groups = p->groups;
    key->added = p->added.memory != NULL, key->relu = p->relu;
    key->bias = p->bias.memory || key->added || key->relu;
    key->exact = p->dtype == KN_F32 && !p->tf32;
    key->transforms = may_transform(p) ? c->transforms : KNI_DNN_TRANSFORMS_NONE;
    const int64_t *const from[] = {p->x_size,   p->kernel,  p->y_size,     p->stride,
                                   p->dilation, p->padding, p->padding_end};
    int64_t *const to[] = {key->x_size,   key->kernel,  key->y_size,     key->stride,
                           key->dilation, key->padding, key->padding_end};
    for (int i = 0; i < KNI_COUNT(from); i++) memcpy(to[i], from[i], (size_t)p->axes * sizeof **from);
    memcpy(key->x_steps, p->x_steps, (size_t)(p->axes + 2) * sizeof *key->x_steps);
    memcpy(key->w_steps, p->w_steps, (size_t)(p->axes + 2) * sizeof *key->w_steps);
    memcpy(key->y_steps, p->y_steps, (size_t)(p->axes + 2) * sizeof *key->y_steps);
}

static bool takes(const kni_convolution *p)
{
    if ((!kni_is_half(p->dtype) && p->dtype != KN_F32) || p->groups < 1) return false;
    return p->axes >= 2 && p->axes <= AXES &&
           (p->what == KNI_CONVOLUTION_FORWARD || !(p->bias.memory || p->added.memory || p->relu));
}

/* A bias of zeros for what has none, since the compiled engines that add and clip have one. NULL: there is none. */
static void *zeros_of(kni_cuda *c, const kni_convolution *p)
{
    const size_t bytes = (size_t)p->outs * kni_bytes_of(p->dtype);
    if (bytes > KNI_CUDA_ZEROS) return NULL;
    if (c->zeros || c->runtime.recording) return c->zeros;
    void *memory = kni_cuda_own(c, KNI_CUDA_ZEROS);
    if (memory && c->runtime.driver.fill_zero(&c->runtime.driver, memory, 0, KNI_CUDA_ZEROS)) {
        kni_cuda_disown(c, memory, KNI_CUDA_ZEROS);
        memory = NULL;
    }
    return c->zeros = memory;
}

/* The memory of each tensor of the graph; how many, 0 where the library cannot have them. */
static int bind(kni_cuda *c, const kni_convolution *p, const plan_key *key, int64_t *ids, void **memory)
{
    const kni_place *places[] = {&p->x, &p->w, &p->y, &p->bias, &p->added};
    int count = 0;
    for (int i = 0; i < KNI_COUNT(places); i++) {
        const kni_place *at = places[i];
        const bool wanted = i < 3 || (i + 1 == ID_BIAS ? key->bias : key->added);
        if (!wanted) continue;
        char *found =
            at->memory ? (char *)at->memory + at->offset * (int64_t)kni_bytes_of(p->dtype) : zeros_of(c, p);
        if (!found || (uintptr_t)found % 16) return 0; /* as the graph says it is aligned */
        ids[count] = ID_X + i;
        memory[count++] = found;
    }
    return count;
}

/* About what the pass over the results of a transform takes, in milliseconds: a launch, and the reading of them. */
static float time_after(const kni_convolution *p)
{
    const double launch = 0.003, bytes_of_one = 2e9;
    double bytes = kni_bytes_of(p->dtype);
    if (p->what == KNI_CONVOLUTION_FILTER)
        bytes *= (double)p->outs * (double)p->channels / (double)p->groups *
                 (double)kni_count_dims(p->axes, p->kernel);
    else if (p->what == KNI_CONVOLUTION_DATA)
        bytes *= (double)p->images * (double)p->channels * (double)kni_count_dims(p->axes, p->x_size);
    else
        bytes *= (double)p->images * (double)p->outs * (double)kni_count_dims(p->axes, p->y_size);
    return (float)(launch + bytes / bytes_of_one);
}

static kn_status convolve(kni_cuda *c, const kni_convolution *p, void **workspace)
{
    static const kni_dnn_kind kind = {build, describe, true};
    plan_key key;
    int64_t ids[IDS];
    void *memory[IDS];
    kn_status status = kni_runtime_enter(&c->runtime);
    if (status) return status;
    if (!takes(p)) return KN_ERROR_UNSUPPORTED;
    make_key(c, p, &key);
    int count = bind(c, p, &key, ids, memory);
    kni_dnn_kept *plan = count ? kni_dnn_find(c, &key, sizeof key, &kind) : NULL;
    if (!plan) return KN_ERROR_UNSUPPORTED;
    kni_dnn_time(c, plan, ids, memory, count, time_after(p));
    if (p->only_transformed && !plan->choices[0].transforms) return KN_ERROR_UNSUPPORTED;
    const int64_t bytes = plan->choices[0].workspace;
    *workspace = bytes > 0 ? kni_cuda_scratch(c, (size_t)bytes) : NULL;
    if (bytes > 0 && !*workspace) return KN_ERROR_UNSUPPORTED;
    if (p->transformed) *p->transformed = plan->choices[0].transforms;
    return kni_dnn_execute(c, plan, ids, memory, count, *workspace, "a convolution");
}

/* Every place of a convolution must be named below: what is not known to be read or written is run too early. */
enum { CONVOLUTION_BYTES = 424 };
_Static_assert(sizeof(kni_convolution) == CONVOLUTION_BYTES, "say below what else it reads and writes");

kn_status kni_cuda_convolution(kni_driver *d, const kni_convolution *p)
{
    kni_cuda *c = kni_cuda_of(d);
    void *workspace = NULL;
    if (KNI_LIKELY(!c->runtime.recording)) return convolve(c, p, &workspace);
    kni_runtime_record_before(&c->runtime);
    kn_status status = convolve(c, p, &workspace);
    void *operands[] = {p->x.memory, p->w.memory, p->y.memory, p->bias.memory, p->added.memory};
    const int made = p->what == KNI_CONVOLUTION_FORWARD ? 2 : p->what == KNI_CONVOLUTION_DATA ? 0 : 1;
    void *writes[] = {operands[made], workspace};
    operands[made] = NULL;
    if (!status)
        kni_runtime_record_after(&c->runtime, operands, KNI_COUNT(operands), writes, KNI_COUNT(writes));
    return status;
}
