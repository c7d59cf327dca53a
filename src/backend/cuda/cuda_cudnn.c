/* Describes graphs to cuDNN and runs their plans. */
#include "backend/cuda/cuda_cudnn.h"
#include <string.h>

/* Kinds of descriptors, types and names of attributes, of cudnn_graph.h. */
enum {
    KIND_POINTWISE = 0,
    KIND_CONVOLUTION = 1,
    KIND_OPERATION_FORWARD = 10,
    KIND_OPERATION_FILTER = 11,
    KIND_OPERATION_DATA = 12,
    KIND_OPERATION_POINTWISE = 13,
    KIND_PACK = 16,
    KIND_TENSOR = 17,
    KIND_PRODUCT = 18,
    KIND_OPERATION_PRODUCT = 19,
    KIND_REDUCTION = 21,
    KIND_OPERATION_REDUCTION = 22,
    KIND_OPERATION_RESHAPE = 31,

    TYPE_DTYPE = 1,
    TYPE_BOOL = 2,
    TYPE_I64 = 3,
    TYPE_F32 = 4,
    TYPE_POINTER = 6,
    TYPE_CONVOLUTION = 7,
    TYPE_POINTWISE = 14,
    TYPE_DESCRIPTOR = 15,
    TYPE_REDUCTION = 18,

    POINTWISE_MODE = 0,
    POINTWISE_PRECISION = 1,
    POINTWISE_AXIS = 9,
    CONVOLUTION_TYPE = 100,
    CONVOLUTION_MODE = 101,
    CONVOLUTION_DILATION = 102,
    CONVOLUTION_STRIDE = 103,
    CONVOLUTION_AFTER = 104, /* padding */
    CONVOLUTION_BEFORE = 105,
    CONVOLUTION_AXES = 106,
    OPERATION_POINTWISE = 750,
    OPERATION_POINTWISE_X = 751,
    OPERATION_POINTWISE_B = 752,
    OPERATION_POINTWISE_Y = 753,
    OPERATION_POINTWISE_ALPHA = 754,
    OPERATION_POINTWISE_ALPHA_2 = 755,
    OPERATION_POINTWISE_T = 758,
    TENSOR_ALIGNMENT = 900,
    TENSOR_DTYPE = 901,
    TENSOR_DIMS = 902,
    TENSOR_STEPS = 903,
    TENSOR_ID = 906,
    TENSOR_INSIDE = 907,
    TENSOR_VALUE = 908,
    PACK_IDS = 1000,
    PACK_MEMORY = 1001,
    PACK_WORKSPACE = 1003,
    PRODUCT_TYPE = 1500,
    OPERATION_PRODUCT_A = 1520,
    OPERATION_PRODUCT_B = 1521,
    OPERATION_PRODUCT_C = 1522,
    OPERATION_PRODUCT = 1523,
    REDUCTION_MODE = 1600,
    REDUCTION_TYPE = 1601,
    OPERATION_REDUCTION_X = 1610,
    OPERATION_REDUCTION_Y = 1611,
    OPERATION_REDUCTION = 1612,
    OPERATION_RESHAPE_X = 2200,
    OPERATION_RESHAPE_Y = 2201,

    FIRST_INSIDE = 1000,
    NO_ROOM = -1
};

/* ---- descriptors */

static void *make(kni_dnn_graph *g, int kind)
{
    void *d = NULL;
    if (g->failed) return NULL;
    if (g->n_all == KNI_DNN_MOST) {
        g->failed = NO_ROOM;
        return NULL;
    }
    g->failed = g->api->make(kind, &d);
    if (g->failed) return NULL;
    g->all[g->n_all++] = d;
    return d;
}

static void set(kni_dnn_graph *g, void *d, int name, int type, int64_t count, const void *values)
{
    if (!g->failed) g->failed = g->api->set(d, name, type, count, values);
}

static void set_descriptor(kni_dnn_graph *g, void *d, int name, void *value)
{
    if (!g->failed) g->failed = g->api->set(d, name, TYPE_DESCRIPTOR, 1, &value);
}

static void finish(kni_dnn_graph *g, void *d)
{
    if (!g->failed) g->failed = g->api->finalize(d);
}

static void finish_operation(kni_dnn_graph *g, void *operation)
{
    finish(g, operation);
    if (!g->failed && g->n_operations == (int)(sizeof g->operations / sizeof *g->operations))
        g->failed = NO_ROOM;
    if (!g->failed) g->operations[g->n_operations++] = operation;
}

void *kni_dnn_add_tensor(kni_dnn_graph *g, const kni_dnn_tensor *t)
{
    const bool yes = true;
    const int64_t alignment = 16, id = t->id ? t->id : FIRST_INSIDE + g->next_id++;
    void *d = make(g, KIND_TENSOR);
    set(g, d, TENSOR_DTYPE, TYPE_DTYPE, 1, &t->dtype);
    set(g, d, TENSOR_DIMS, TYPE_I64, t->rank ? t->rank : 4, t->dims);
    set(g, d, TENSOR_STEPS, TYPE_I64, t->rank ? t->rank : 4, t->steps);
    set(g, d, TENSOR_ID, TYPE_I64, 1, &id);
    set(g, d, TENSOR_ALIGNMENT, TYPE_I64, 1, &alignment);
    if (t->flags & KNI_DNN_INSIDE) set(g, d, TENSOR_INSIDE, TYPE_BOOL, 1, &yes);
    if (t->flags & KNI_DNN_VALUE) set(g, d, TENSOR_VALUE, TYPE_BOOL, 1, &yes);
    finish(g, d);
    return d;
}

void kni_dnn_add_pointwise(kni_dnn_graph *g, int mode, int axis, void *x, void *b, void *t, void *y,
                           bool truth)
{
    const int precision = truth ? KNI_DNN_BOOL : KNI_DNN_F32;
    const int64_t along = axis;
    const float one = 1;
    void *d = make(g, KIND_POINTWISE);
    set(g, d, POINTWISE_MODE, TYPE_POINTWISE, 1, &mode);
    set(g, d, POINTWISE_PRECISION, TYPE_DTYPE, 1, &precision);
    if (mode == KNI_DNN_INDEX) set(g, d, POINTWISE_AXIS, TYPE_I64, 1, &along);
    finish(g, d);
    void *operation = make(g, KIND_OPERATION_POINTWISE);
    set_descriptor(g, operation, OPERATION_POINTWISE, d);
    set_descriptor(g, operation, OPERATION_POINTWISE_X, x);
    set_descriptor(g, operation, OPERATION_POINTWISE_Y, y);
    set(g, operation, OPERATION_POINTWISE_ALPHA, TYPE_F32, 1, &one);
    set(g, operation, OPERATION_POINTWISE_ALPHA_2, TYPE_F32, 1, &one);
    if (b) set_descriptor(g, operation, OPERATION_POINTWISE_B, b);
    if (t) set_descriptor(g, operation, OPERATION_POINTWISE_T, t);
    finish_operation(g, operation);
}

void kni_dnn_add_reduction(kni_dnn_graph *g, int mode, void *x, void *y)
{
    const int type = KNI_DNN_F32;
    void *d = make(g, KIND_REDUCTION);
    set(g, d, REDUCTION_TYPE, TYPE_DTYPE, 1, &type);
    set(g, d, REDUCTION_MODE, TYPE_REDUCTION, 1, &mode);
    finish(g, d);
    void *operation = make(g, KIND_OPERATION_REDUCTION);
    set_descriptor(g, operation, OPERATION_REDUCTION, d);
    set_descriptor(g, operation, OPERATION_REDUCTION_X, x);
    set_descriptor(g, operation, OPERATION_REDUCTION_Y, y);
    finish_operation(g, operation);
}

void kni_dnn_add_product(kni_dnn_graph *g, void *a, void *b, void *c)
{
    const int type = KNI_DNN_F32;
    void *d = make(g, KIND_PRODUCT);
    set(g, d, PRODUCT_TYPE, TYPE_DTYPE, 1, &type);
    finish(g, d);
    void *operation = make(g, KIND_OPERATION_PRODUCT);
    set_descriptor(g, operation, OPERATION_PRODUCT_A, a);
    set_descriptor(g, operation, OPERATION_PRODUCT_B, b);
    set_descriptor(g, operation, OPERATION_PRODUCT_C, c);
    set_descriptor(g, operation, OPERATION_PRODUCT, d);
    finish_operation(g, operation);
}

void kni_dnn_add_convolution(kni_dnn_graph *g, const kni_dnn_convolution *p, void *x, void *w, void *y)
{
    /* Kind of the operation; attributes alpha, beta, the convolution, and those of w, x and y. */
    static const struct {
        int kind, alpha, beta, convolution, w, x, y;
    } ways[] = {{KIND_OPERATION_FORWARD, 700, 701, 702, 703, 704, 705},
                {KIND_OPERATION_DATA, 706, 707, 708, 709, 710, 711},
                {KIND_OPERATION_FILTER, 712, 713, 714, 715, 716, 717}};
    const int type = KNI_DNN_F32, correlation = 1;
    const int64_t axes = p->axes;
    const float one = 1, zero = 0;
    void *d = make(g, KIND_CONVOLUTION);
    set(g, d, CONVOLUTION_TYPE, TYPE_DTYPE, 1, &type);
    set(g, d, CONVOLUTION_MODE, TYPE_CONVOLUTION, 1, &correlation);
    set(g, d, CONVOLUTION_AXES, TYPE_I64, 1, &axes);
    set(g, d, CONVOLUTION_DILATION, TYPE_I64, axes, p->dilation);
    set(g, d, CONVOLUTION_STRIDE, TYPE_I64, axes, p->stride);
    set(g, d, CONVOLUTION_BEFORE, TYPE_I64, axes, p->padding);
    set(g, d, CONVOLUTION_AFTER, TYPE_I64, axes, p->padding_end);
    finish(g, d);
    void *operation = make(g, ways[p->what].kind);
    set_descriptor(g, operation, ways[p->what].convolution, d);
    set_descriptor(g, operation, ways[p->what].w, w);
    set_descriptor(g, operation, ways[p->what].x, x);
    set_descriptor(g, operation, ways[p->what].y, y);
    set(g, operation, ways[p->what].alpha, TYPE_F32, 1, &one);
    set(g, operation, ways[p->what].beta, TYPE_F32, 1, &zero);
    finish_operation(g, operation);
}

void kni_dnn_add_reshape(kni_dnn_graph *g, void *x, void *y)
{
    void *operation = make(g, KIND_OPERATION_RESHAPE);
    set_descriptor(g, operation, OPERATION_RESHAPE_X, x);
    set_descriptor(g, operation, OPERATION_RESHAPE_Y, y);
    finish_operation(g, operation);
}

/* ---- running */

int kni_dnn_run(const kni_cuda_graph_api *api, void *handle, void *plan, const int64_t *ids, void **memory,
                int count, void *workspace)
{
    void *pack = NULL;
    int failed = api->make(KIND_PACK, &pack);
    if (failed) return failed;
    failed = api->set(pack, PACK_MEMORY, TYPE_POINTER, count, memory);
    if (!failed) failed = api->set(pack, PACK_IDS, TYPE_I64, count, ids);
    if (!failed) failed = api->set(pack, PACK_WORKSPACE, TYPE_POINTER, 1, &workspace);
    if (!failed) failed = api->finalize(pack);
    if (!failed) failed = api->execute(handle, plan, pack);
    (void)api->release(pack);
    return failed;
}
