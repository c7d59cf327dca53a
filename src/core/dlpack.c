/* DLPack in and out, without copies where elements lie as ours do: one to a byte below eight bits. */
#include "core/device_object.h"
#include "core/dtype.h"
#include "core/param_value.h"
#include "core/small_types.h"
#include "core/strided_copy.h"
#include "core/text.h"
#include <kn/dlpack.h>
#include <kn/tensor.h>
#include <string.h>

static const struct {
    uint8_t code, bits, dtype;
} types[] = {
    {kDLFloat, 64, KN_F64},
    {kDLFloat, 32, KN_F32},
    {kDLFloat, 16, KN_F16},
    {kDLBfloat, 16, KN_BF16},
    {kDLInt, 64, KN_I64},
    {kDLInt, 32, KN_I32},
    {kDLInt, 16, KN_I16},
    {kDLInt, 8, KN_I8},
    {kDLUInt, 64, KN_U64},
    {kDLUInt, 32, KN_U32},
    {kDLUInt, 16, KN_U16},
    {kDLUInt, 8, KN_U8},
    {kDLBool, 8, KN_BOOL},
    {kDLFloat8_e4m3fn, 8, KN_F8_E4M3},
    {kDLFloat8_e5m2, 8, KN_F8_E5M2},
    {kDLFloat8_e4m3fnuz, 8, KN_F8_E4M3_FNUZ},
    {kDLFloat8_e5m2fnuz, 8, KN_F8_E5M2_FNUZ},
    {kDLFloat8_e8m0fnu, 8, KN_E8M0},
    {kDLFloat4_e2m1fn, 4, KN_F4_E2M1},
    {kDLInt, 4, KN_I4},
    {kDLUInt, 4, KN_U4},
    {kDLInt, 2, KN_I2},
    {kDLUInt, 2, KN_U2},
};

/* Vectors are taken where one fills a byte, as PyTorch's float4_e2m1fn_x2 does. */
static int dtype_of(DLDataType t)
{
    if (t.lanes != 1 && (t.lanes < 1 || t.bits >= 8 || t.lanes * t.bits != 8)) return KN_DTYPE_NONE;
    for (int i = 0; i < KNI_COUNT(types); i++)
        if (types[i].code == t.code && types[i].bits == t.bits) return types[i].dtype;
    return KN_DTYPE_NONE;
}

static DLDataType type_of(int dtype)
{
    for (int i = 0; i < KNI_COUNT(types); i++)
        if (types[i].dtype == dtype) return (DLDataType){types[i].code, types[i].bits, 1};
    return (DLDataType){0, 0, 0};
}

/* ---- in */

/* A managed tensor of either layout, and who takes it. */
typedef struct incoming {
    const DLTensor *tensor;
    void (*release)(void *managed);
    void *managed;
    const char *function;
    bool padded; /* elements below eight bits lie one to a byte */
} incoming;

/* Says which element type it is, by DLPack's name of the kind and the bits, and what to do. */
static void no_such_type(kni_text *text, DLDataType t)
{
    static const char *const kinds[] = {[kDLInt] = "int",
                                        [kDLUInt] = "uint",
                                        [kDLFloat] = "float",
                                        [3] = "opaque",
                                        [kDLBfloat] = "bfloat",
                                        [kDLComplex] = "complex",
                                        [kDLBool] = "bool",
                                        [kDLFloat8_e3m4] = "float8_e3m4",
                                        [kDLFloat8_e4m3] = "float8_e4m3",
                                        [kDLFloat8_e4m3b11fnuz] = "float8_e4m3b11fnuz",
                                        [kDLFloat8_e4m3fn] = "float8_e4m3fn",
                                        [kDLFloat8_e4m3fnuz] = "float8_e4m3fnuz",
                                        [kDLFloat8_e5m2] = "float8_e5m2",
                                        [kDLFloat8_e5m2fnuz] = "float8_e5m2fnuz",
                                        [kDLFloat8_e8m0fnu] = "float8_e8m0fnu",
                                        [kDLFloat6_e2m3fn] = "float6_e2m3fn",
                                        [kDLFloat6_e3m2fn] = "float6_e3m2fn",
                                        [kDLFloat4_e2m1fn] = "float4_e2m1fn"};
    const char *kind = t.code < KNI_COUNT(kinds) ? kinds[t.code] : NULL;
    kni_text_string(text, "the element type is ");
    if (kind)
        kni_text_string(text, kind);
    else
        kni_text_format(text, "DLPack code %d of ", (int)t.code);
    if (!kind || t.code <= kDLBool) kni_text_format(text, "%d%s", (int)t.bits, kind ? "" : " bits");
    if (t.lanes != 1) kni_text_format(text, " in vectors of %d", (int)t.lanes);
    kni_text_string(text, ", which Kiln does not have; convert it first, such as to float32");
}

static bool is_packed(const incoming *from)
{
    return from->tensor->dtype.bits < 8 && !(from->padded && from->tensor->dtype.lanes == 1);
}

/* Whether the elements follow each other without strides of their own. */
static bool is_dense(const DLTensor *t)
{
    int64_t step = 1;
    for (int32_t i = t->ndim - 1; i >= 0 && t->strides; i--) {
        if (t->shape[i] == 1) continue;
        if (t->shape[i] == 0) return true;
        if (t->strides[i] != step) return false;
        if (__builtin_mul_overflow(step, t->shape[i], &step)) return false;
    }
    return true;
}

/* NULL where nothing is wrong. */
static const char *fault_of(const incoming *from, char *buffer, size_t n)
{
    const DLTensor *t = from->tensor;
    kni_text text = {buffer, n, 0};
    buffer[0] = 0;
    kni_text_format(&text, "%s: ", from->function);
    if (t->device.device_type != kDLCPU)
        kni_text_string(&text, "only host memory can be taken over; copy it to the CPU first");
    else if (!dtype_of(t->dtype))
        no_such_type(&text, t->dtype);
    else if (t->ndim < 0 || t->ndim > KN_MAX_RANK)
        kni_text_string(&text, "the rank is above 8");
    else if (t->ndim > 0 && !t->shape)
        kni_text_string(&text, "the shape is NULL, and the rank is not 0");
    else if (is_packed(from) && !is_dense(t))
        kni_text_format(&text, "elements of %d bits are packed and have strides; make them contiguous first",
                        (int)t->dtype.bits);
    else if (t->dtype.lanes != 1 && !t->ndim)
        kni_text_format(&text, "a scalar is a vector of %d elements", (int)t->dtype.lanes);
    else
        return NULL;
    return buffer;
}

/* A copy with one element to a byte. */
static kn_tensor unpack(const incoming *from, int dtype, kn_shape shape, const void *data)
{
    const DLTensor *t = from->tensor;
    int64_t n = 1, sized;
    bool good = true;
    if (t->dtype.lanes != 1)
        good = !__builtin_mul_overflow(shape.dims[t->ndim - 1], (int64_t)t->dtype.lanes, &sized) &&
               (shape.dims[t->ndim - 1] = sized, true);
    for (int32_t i = 0; i < shape.rank; i++) {
        good = good && shape.dims[i] >= 0;
        if (shape.dims[i] == 0) n = 0;
    }
    for (int32_t i = 0; i < shape.rank && n && good; i++)
        good = !__builtin_mul_overflow(n, shape.dims[i], &n);
    if (!good || (n && !data)) {
        kni_fail(KN_ERROR_ARGUMENT, "%s: the sizes are negative or too large, or the data is NULL",
                 from->function);
        return kni_poison_latest();
    }
    uint8_t *codes = n ? kni_allocate((size_t)n) : NULL;
    if (n && !codes) {
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for %D unpacked elements", from->function, n);
        return kni_poison_latest();
    }
    if (n) kni_unpack(codes, data, n, t->dtype.bits);
    kn_tensor made = kn_from(n ? codes : (const void *)"", (kn_dtype)dtype, shape);
    if (n) kni_free(codes, (size_t)n);
    return made;
}

static kn_tensor take(const incoming *from)
{
    const DLTensor *t = from->tensor;
    char text[200];
    const char *why = fault_of(from, text, sizeof text);
    if (why) {
        from->release(from->managed);
        return kn_poison(KN_ERROR_ARGUMENT, why);
    }
    int dtype = dtype_of(t->dtype);
    kn_shape shape = {t->ndim, {0}};
    if (t->ndim) memcpy(shape.dims, t->shape, (size_t)t->ndim * sizeof *t->shape);
    void *data = t->data ? (char *)t->data + t->byte_offset : NULL;
    if (!is_packed(from))
        return kn_wrap(data, (kn_dtype)dtype, shape, t->strides, from->release, from->managed);
    kn_tensor made = unpack(from, dtype, shape, data);
    from->release(from->managed);
    return made;
}

static void release(void *context)
{
    DLManagedTensor *managed = context;
    if (managed->deleter) managed->deleter(managed);
}

kn_tensor kn_from_dlpack(struct DLManagedTensor *managed)
{
    if (!managed) return kn_poison(KN_ERROR_ARGUMENT, "kn_from_dlpack: the DLPack tensor is NULL");
    return take(&(incoming){&managed->dl_tensor, release, managed, "kn_from_dlpack", false});
}

static void release_versioned(void *context)
{
    DLManagedTensorVersioned *managed = context;
    if (managed->deleter) managed->deleter(managed);
}

kn_tensor kn_from_dlpack_versioned(struct DLManagedTensorVersioned *managed)
{
    static const char name[] = "kn_from_dlpack_versioned";
    if (!managed) return kn_poison(KN_ERROR_ARGUMENT, "kn_from_dlpack_versioned: the DLPack tensor is NULL");
    if (managed->version.major != DLPACK_MAJOR_VERSION) {
        kni_fail(
            KN_ERROR_ARGUMENT,
            "%s: the tensor has version %d.%d of DLPack, and Kiln knows %d.%d: ask for max_version (%d, %d)",
            name, (int)managed->version.major, (int)managed->version.minor, DLPACK_MAJOR_VERSION,
            DLPACK_MINOR_VERSION, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
        /* Version, context and deleter have their places in all versions. */
        kn_tensor poison = kni_poison_latest();
        release_versioned(managed);
        return poison;
    }
    bool padded = managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    return take(&(incoming){&managed->dl_tensor, release_versioned, managed, name, padded});
}

/* ---- out */

/* A DLPack view and the storage it keeps alive. Only one of the two forms is given away. */
typedef struct view {
    DLManagedTensor managed;
    DLManagedTensorVersioned versioned;
    kni_storage *storage;
    int64_t shape[KN_MAX_RANK], strides[KN_MAX_RANK];
    unsigned char inline_value[8];
} view;

static void end_view(view *v)
{
    if (v->storage) kni_storage_release(v->storage);
    kni_free(v, sizeof *v);
}

static void delete_view(DLManagedTensor *managed) { end_view(managed->manager_ctx); }

static void delete_versioned(DLManagedTensorVersioned *managed) { end_view(managed->manager_ctx); }

/* The tensor that is shown, NULL with the failure noted. */
static const kni_tensor *shown(kn_tensor t, const char *name)
{
    const kni_tensor *from = kni_is_poisoned(t) ? NULL : kni_resolve(t, name);
    if (!from) {
        if (kni_is_poisoned(t)) kni_fail_carried(t, name, "the tensor");
        return NULL;
    }
    if (from->device->host) return from;
    kni_fail_op(KN_ERROR_DEVICE, name, "the tensor is not in host memory: move it with kn_to()");
    return NULL;
}

/* Fills the view with the tensor's memory, or fails. */
static bool fill(view *v, DLTensor *d, const kni_tensor *from, const char *name)
{
    kni_tensor value = {.storage = NULL}, *x = &value;
    kn_tensor poison;
    kni_param_copy_value(x, from);
    if (x->node && kni_node_release) kni_node_release(x->node);
    kni_storage_wait(x->storage);
    v->storage = x->storage;
    if (kni_tensor_failed(x, &poison)) {
        kni_fail_again(poison, name);
        return false;
    }
    if (x->storage ? !x->storage->data : !(x->flags & KNI_TENSOR_SCALAR)) {
        kni_fail_op(KN_ERROR_DEVICE, name, "the device %s computes nothing and has no memory to show",
                    from->device->name);
        return false;
    }
    memcpy(v->shape, x->type.dims, sizeof v->shape);
    memcpy(v->strides, x->strides, sizeof v->strides);
    memcpy(v->inline_value, x->inline_value.bytes, sizeof v->inline_value);
    d->data = v->storage ? kni_data(x, (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, 1))
                         : (void *)v->inline_value;
    d->device = (DLDevice){kDLCPU, 0};
    d->ndim = x->type.rank;
    d->dtype = type_of(x->type.dtype);
    d->shape = v->shape;
    d->strides = v->strides;
    return true;
}

/* NULL with the failure noted. */
static view *make_view(kn_tensor t, const char *name, bool versioned)
{
    const kni_tensor *from = shown(t, name);
    if (!from) return NULL;
    if (!versioned && kni_narrow_bits(from->type.dtype)) {
        kni_fail_op(
            KN_ERROR_DTYPE, name,
            "this form of DLPack packs %T, a tensor has one element to a byte: use kn_to_dlpack_versioned()",
            (int)from->type.dtype);
        return NULL;
    }
    view *v = kni_allocate(sizeof *v);
    if (!v) {
        kni_fail_op(KN_ERROR_MEMORY, name, "no memory");
        return NULL;
    }
    memset(v, 0, sizeof *v);
    if (fill(v, versioned ? &v->versioned.dl_tensor : &v->managed.dl_tensor, from, name)) return v;
    end_view(v);
    return NULL;
}

/* Whoever gets the view may write to the tensor's memory without a word. */
static void lend(const view *v)
{
    if (v->storage) atomic_fetch_or(&kni_storage_owner(v->storage)->flags, KNI_STORAGE_EXPORTED);
}

struct DLManagedTensor *kn_to_dlpack(kn_tensor t)
{
    view *v = make_view(t, "to_dlpack", false);
    if (!v) return NULL;
    v->managed.manager_ctx = v;
    v->managed.deleter = delete_view;
    lend(v);
    return &v->managed;
}

/* Contiguous memory of the view's own in the place of the tensor's. */
static bool copy_view(view *v, DLTensor *d, int dtype, const char *name)
{
    kn_shape shape = {d->ndim, {0}};
    int64_t n = 1, strides[KN_MAX_RANK];
    memcpy(shape.dims, v->shape, (size_t)d->ndim * sizeof *v->shape);
    for (int32_t i = 0; i < shape.rank; i++) n *= shape.dims[i];
    kni_storage *own = kni_storage_new((size_t)kn_dtype_bytes((kn_dtype)dtype, n));
    if (!own) {
        kni_fail_op(KN_ERROR_MEMORY, name, "no memory for a copy");
        return false;
    }
    kni_contiguous_strides(shape.rank, shape.dims, strides);
    kni_copy_strided(own->data, dtype, strides, d->data, dtype, v->strides, shape.rank, shape.dims);
    if (v->storage) kni_storage_release(v->storage);
    v->storage = own;
    d->data = own->data;
    memcpy(v->strides, strides, (size_t)shape.rank * sizeof *strides);
    return true;
}

struct DLManagedTensorVersioned *kn_to_dlpack_versioned(kn_tensor t, bool copy)
{
    static const char name[] = "to_dlpack_versioned";
    view *v = make_view(t, name, true);
    if (!v) return NULL;
    DLManagedTensorVersioned *m = &v->versioned;
    if (copy && !copy_view(v, &m->dl_tensor, dtype_of(m->dl_tensor.dtype), name)) {
        end_view(v);
        return NULL;
    }
    m->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    m->manager_ctx = v;
    m->deleter = delete_versioned;
    if (copy)
        m->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    else
        lend(v);
    if (m->dl_tensor.dtype.bits < 8) m->flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    /* Wrapped memory may be a mapped file's, or another's that is read-only. */
    if (v->storage && (kni_storage_flags(v->storage) & (KNI_STORAGE_READ_ONLY | KNI_STORAGE_WRAPPED)))
        m->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    return m;
}
