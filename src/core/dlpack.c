/* DLPack in and out, without copies. */
#include "core/device_object.h"
#include "core/dtype.h"
#include "core/param_value.h"
#include "core/text.h"
#include <kn/dlpack.h>
#include <kn/tensor.h>
#include <string.h>

static const struct {
    uint8_t code, bits, dtype;
} types[] = {
    {kDLFloat, 64, KN_F64}, {kDLFloat, 32, KN_F32}, {kDLFloat, 16, KN_F16}, {kDLBfloat, 16, KN_BF16},
    {kDLInt, 64, KN_I64},   {kDLInt, 32, KN_I32},   {kDLInt, 16, KN_I16},   {kDLInt, 8, KN_I8},
    {kDLUInt, 64, KN_U64},  {kDLUInt, 32, KN_U32},  {kDLUInt, 16, KN_U16},  {kDLUInt, 8, KN_U8},
    {kDLBool, 8, KN_BOOL},
};

static int dtype_of(DLDataType t)
{
    for (int i = 0; i < KNI_COUNT(types) && t.lanes == 1; i++)
        if (types[i].code == t.code && types[i].bits == t.bits) return types[i].dtype;
    return KN_DTYPE_NONE;
}

/* Says which element type it is, by DLPack's name of the kind and the bits, and what to do. */
static const char *no_such_type(DLDataType t, char *buffer, size_t n)
{
    static const char *const kinds[] = {[kDLInt] = "int",        [kDLUInt] = "uint",
                                        [kDLFloat] = "float",    [3] = "opaque",
                                        [kDLBfloat] = "bfloat",  [5] = "complex",
                                        [kDLBool] = "bool",      [7] = "float8_e3m4",
                                        [8] = "float8_e4m3",     [9] = "float8_e4m3b11fnuz",
                                        [10] = "float8_e4m3fn",  [11] = "float8_e4m3fnuz",
                                        [12] = "float8_e5m2",    [13] = "float8_e5m2fnuz",
                                        [14] = "float8_e8m0fnu", [15] = "float6_e2m3fn",
                                        [16] = "float6_e3m2fn",  [17] = "float4_e2m1fn"};
    kni_text text = {buffer, n, 0};
    buffer[0] = 0;
    const char *kind = t.code < KNI_COUNT(kinds) ? kinds[t.code] : NULL;
    kni_text_string(&text, "kn_from_dlpack: the element type is ");
    if (kind)
        kni_text_string(&text, kind);
    else
        kni_text_format(&text, "DLPack code %d of ", (int)t.code);
    if (!kind || t.code <= 6) kni_text_format(&text, "%d%s", (int)t.bits, kind ? "" : " bits");
    if (t.lanes != 1) kni_text_format(&text, " in vectors of %d", (int)t.lanes);
    kni_text_string(&text, ", which Kiln does not have; convert it first, such as to float32");
    return buffer;
}

static void release(void *context)
{
    DLManagedTensor *managed = context;
    if (managed->deleter) managed->deleter(managed);
}

kn_tensor kn_from_dlpack(struct DLManagedTensor *managed)
{
    if (!managed) return kn_poison(KN_ERROR_ARGUMENT, "kn_from_dlpack: the DLPack tensor is NULL");
    const DLTensor *t = &managed->dl_tensor;
    int dtype = dtype_of(t->dtype);
    char text[200];
    const char *why = NULL;
    if (t->device.device_type != kDLCPU)
        why = "kn_from_dlpack: only host memory can be taken over; copy it to the CPU first";
    else if (!dtype)
        why = no_such_type(t->dtype, text, sizeof text);
    else if (t->ndim < 0 || t->ndim > KN_MAX_RANK)
        why = "kn_from_dlpack: the rank is above 8";
    else if (t->ndim > 0 && !t->shape)
        why = "kn_from_dlpack: the shape is NULL, and the rank is not 0";
    if (why) {
        release(managed);
        return kn_poison(KN_ERROR_ARGUMENT, why);
    }
    kn_shape shape = {t->ndim, {0}};
    if (t->ndim) memcpy(shape.dims, t->shape, (size_t)t->ndim * sizeof *t->shape);
    void *data = t->data ? (char *)t->data + t->byte_offset : NULL;
    return kn_wrap(data, (kn_dtype)dtype, shape, t->strides, release, managed);
}

/* A DLPack view and the storage it keeps alive. */
typedef struct view {
    DLManagedTensor managed;
    kni_storage *storage;
    int64_t shape[KN_MAX_RANK], strides[KN_MAX_RANK];
    unsigned char inline_value[8];
} view;

static void delete_view(DLManagedTensor *managed)
{
    view *v = managed->manager_ctx;
    if (v->storage) kni_storage_release(v->storage);
    kni_free(v, sizeof *v);
}

struct DLManagedTensor *kn_to_dlpack(kn_tensor t)
{
    const kni_tensor *from = kni_is_poisoned(t) ? NULL : kni_resolve(t, "to_dlpack");
    if (!from) {
        if (kni_is_poisoned(t)) kni_fail_carried(t, "to_dlpack", "the tensor");
        return NULL;
    }
    if (!from->device->host) {
        kni_fail(KN_ERROR_DEVICE, "kn_to_dlpack: the tensor is not in host memory: move it with kn_to()");
        return NULL;
    }
    view *v = kni_allocate(sizeof *v);
    if (!v) {
        kni_fail(KN_ERROR_MEMORY, "kn_to_dlpack: no memory");
        return NULL;
    }
    memset(v, 0, sizeof *v);
    kni_tensor value = {.storage = NULL}, *x = &value;
    kni_param_copy_value(x, from);
    if (x->node && kni_node_release) kni_node_release(x->node);
    kni_storage_wait(x->storage);
    if (kni_tensor_failed(x, &t)) {
        kni_storage_release(x->storage);
        kni_free(v, sizeof *v);
        kni_fail_again(t, "to_dlpack");
        return NULL;
    }
    if (x->storage ? !x->storage->data : !(x->flags & KNI_TENSOR_SCALAR)) {
        if (x->storage) kni_storage_release(x->storage);
        kni_free(v, sizeof *v);
        kni_fail(KN_ERROR_DEVICE, "kn_to_dlpack: the device %s computes nothing and has no memory to show",
                 from->device->name);
        return NULL;
    }
    memcpy(v->shape, x->type.dims, sizeof v->shape);
    memcpy(v->strides, x->strides, sizeof v->strides);
    memcpy(v->inline_value, x->inline_value.bytes, sizeof v->inline_value);
    v->storage = x->storage;
    DLTensor *d = &v->managed.dl_tensor;
    d->data = v->storage ? kni_data(x, (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, 1))
                         : (void *)v->inline_value;
    d->device = (DLDevice){kDLCPU, 0};
    d->ndim = x->type.rank;
    for (int i = 0; i < KNI_COUNT(types); i++)
        if (types[i].dtype == x->type.dtype) d->dtype = (DLDataType){types[i].code, types[i].bits, 1};
    d->shape = v->shape;
    d->strides = v->strides;
    v->managed.manager_ctx = v;
    v->managed.deleter = delete_view;
    return &v->managed;
}
