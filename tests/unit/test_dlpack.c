/* DLPack with a version: flags, stored dtypes, packed elements, and what is refused. */
#include "core/small_types.h"
#include "support/check.h"
#include <kn/dlpack.h>

static int deleted;

static void count_versioned(DLManagedTensorVersioned *managed)
{
    (void)managed;
    deleted++;
}

static void count_plain(DLManagedTensor *managed)
{
    (void)managed;
    deleted++;
}

/* A managed tensor over the caller's arrays. */
static DLManagedTensorVersioned managed_of(void *data, DLDataType type, int rank, int64_t *shape,
                                           int64_t *strides, uint64_t flags)
{
    return (DLManagedTensorVersioned){.version = {1, 0},
                                      .deleter = count_versioned,
                                      .flags = flags,
                                      .dl_tensor = {.data = data,
                                                    .device = {kDLCPU, 0},
                                                    .ndim = rank,
                                                    .dtype = type,
                                                    .shape = shape,
                                                    .strides = strides}};
}

static const struct {
    kn_dtype dtype;
    DLDataType type;
} rows[] = {{KN_F32, {kDLFloat, 32, 1}},
            {KN_BOOL, {kDLBool, 8, 1}},
            {KN_F8_E4M3, {kDLFloat8_e4m3fn, 8, 1}},
            {KN_F8_E5M2, {kDLFloat8_e5m2, 8, 1}},
            {KN_F8_E4M3_FNUZ, {kDLFloat8_e4m3fnuz, 8, 1}},
            {KN_F8_E5M2_FNUZ, {kDLFloat8_e5m2fnuz, 8, 1}},
            {KN_E8M0, {kDLFloat8_e8m0fnu, 8, 1}},
            {KN_F4_E2M1, {kDLFloat4_e2m1fn, 4, 1}},
            {KN_I4, {kDLInt, 4, 1}},
            {KN_U4, {kDLUInt, 4, 1}},
            {KN_I2, {kDLInt, 2, 1}},
            {KN_U2, {kDLUInt, 2, 1}}};
enum { ROWS = sizeof rows / sizeof *rows };

static void every_dtype_goes_out_and_comes_back(void)
{
    for (int i = 0; i < ROWS; i++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_transpose(
            kn_cast(kn_reshape(kn_from((float[]){0, 1, 1, 0, 1, 0}, KN_F32, KN_SHAPE(6)), KN_SHAPE(2, 3)),
                    rows[i].dtype),
            0, 1));
        DLManagedTensorVersioned *m = kn_to_dlpack_versioned(x, false);
        if (!CHECK(m != NULL)) continue;
        DLDataType type = m->dl_tensor.dtype;
        CHECK(m->version.major == 1);
        CHECK(type.code == rows[i].type.code && type.bits == rows[i].type.bits && type.lanes == 1);
        CHECK(m->flags == (type.bits < 8 ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0));
        CHECK(m->dl_tensor.shape[0] == 3 && m->dl_tensor.strides[0] == 1);
        kn_tensor back = kn_keep(kn_from_dlpack_versioned(m));
        CHECK(kn_dtype_of(back) == rows[i].dtype);
        CHECK(kn_item(kn_all(kn_equal(x, back), KN_AXES_ALL, false)) == 1);
        kn_scope_end(scope, KN_NONE);
    }
}

static void a_copy_is_its_own(void)
{
    kn_tensor x = kn_keep(kn_transpose(kn_from((float[]){1, 2, 3, 4, 5, 6}, KN_F32, KN_SHAPE(2, 3)), 0, 1));
    DLManagedTensorVersioned *m = kn_to_dlpack_versioned(x, true);
    CHECK(m && m->flags == DLPACK_FLAG_BITMASK_IS_COPIED);
    CHECK(m->dl_tensor.strides[0] == 2 && m->dl_tensor.strides[1] == 1);
    CHECK(((float *)m->dl_tensor.data)[1] == 4);
    ((float *)m->dl_tensor.data)[0] = 100;
    CHECK_VALUES(x, 0, 1, 4, 2, 5, 3, 6);
    m->deleter(m);
    m = kn_to_dlpack_versioned(kn_scalar(3, KN_F32), true);
    CHECK(m && *(float *)m->dl_tensor.data == 3 && m->dl_tensor.ndim == 0);
    m->deleter(m);
    kn_drop(x);
}

static void wrapped_memory_is_shown_as_read_only(void)
{
    float data[3] = {1, 2, 3};
    int64_t shape[1] = {3};
    DLManagedTensorVersioned in =
        managed_of(data, (DLDataType){kDLFloat, 32, 1}, 1, shape, NULL, DLPACK_FLAG_BITMASK_READ_ONLY);
    deleted = 0;
    kn_tensor x = kn_keep(kn_from_dlpack_versioned(&in));
    DLManagedTensorVersioned *m = kn_to_dlpack_versioned(x, false);
    CHECK(m && m->dl_tensor.data == data && m->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
    m->deleter(m);
    /* Not even where it is the last use. */
    kn_drop(kn_keep(kn_add_scalar(kn_from_dlpack_versioned(&in), 1)));
    CHECK(data[0] == 1 && data[2] == 3);
    CHECK(deleted == 1);
    kn_drop(x);
    CHECK(deleted == 2);
}

/* 5 elements, the first in the lowest bits. */
static void packed_elements_are_unpacked(void)
{
    unsigned char four[3] = {0x21, 0x7f, 0x08}, two[2] = {0xe4, 0x03};
    int64_t shape[1] = {5}, empty[2] = {0, 3};
    deleted = 0;
    DLManagedTensorVersioned in = managed_of(four, (DLDataType){kDLInt, 4, 1}, 1, shape, NULL, 0);
    CHECK_VALUES(kn_cast(kn_from_dlpack_versioned(&in), KN_I8), 0, 1, 2, -1, 7, -8);
    in.dl_tensor.dtype.code = kDLUInt;
    CHECK_VALUES(kn_cast(kn_from_dlpack_versioned(&in), KN_U8), 0, 1, 2, 15, 7, 8);
    in.dl_tensor.dtype.code = kDLFloat4_e2m1fn;
    CHECK_VALUES(kn_cast(kn_from_dlpack_versioned(&in), KN_F32), 0, 0.5, 1, -6, 6, -0.0);
    in.dl_tensor.byte_offset = 1;
    shape[0] = 3;
    CHECK_VALUES(kn_cast(kn_from_dlpack_versioned(&in), KN_F32), 0, -6, 6, -0.0);
    shape[0] = 5;
    in = managed_of(two, (DLDataType){kDLInt, 2, 1}, 1, shape, NULL, 0);
    CHECK_VALUES(kn_cast(kn_from_dlpack_versioned(&in), KN_I8), 0, 0, 1, -2, -1, -1);
    in = managed_of(NULL, (DLDataType){kDLInt, 2, 1}, 2, empty, NULL, 0);
    kn_tensor none = kn_from_dlpack_versioned(&in);
    CHECK(kn_dtype_of(none) == KN_I2 && kn_count(none) == 0 && kn_size(none, 1) == 3);
    kn_drop(none);
    CHECK(deleted == 6);
    /* The form without a version is packed. */
    DLManagedTensor plain = {.dl_tensor = in.dl_tensor, .deleter = count_plain};
    plain.dl_tensor.data = two, plain.dl_tensor.ndim = 1, plain.dl_tensor.shape = shape;
    CHECK_VALUES(kn_cast(kn_from_dlpack(&plain), KN_I8), 0, 0, 1, -2, -1, -1);
    CHECK(deleted == 7);
    /* Vectors that fill a byte, as PyTorch's float4_e2m1fn_x2: the last axis counts them. */
    int64_t pairs[2] = {1, 2};
    in = managed_of(four, (DLDataType){kDLFloat4_e2m1fn, 4, 2}, 2, pairs, NULL, 0);
    kn_tensor x = kn_keep(kn_from_dlpack_versioned(&in));
    CHECK(kn_rank(x) == 2 && kn_size(x, 1) == 4);
    CHECK_VALUES(kn_cast(x, KN_F32), 0, 0.5, 1, -6, 6);
    kn_drop(x);
}

static void what_does_not_fit_is_refused(void)
{
    unsigned char data[64] = {0};
    int64_t shape[2] = {2, 3}, strides[2] = {1, 2}, huge[2] = {INT64_MAX, 3}, negative[1] = {-1};
    deleted = 0;
    DLManagedTensorVersioned in = managed_of(data, (DLDataType){kDLInt, 4, 1}, 2, shape, strides, 0);
    CHECK_POISON(kn_from_dlpack_versioned(&in), "packed and have strides");
    in.dl_tensor.strides = NULL, in.dl_tensor.shape = huge;
    CHECK_POISON(kn_from_dlpack_versioned(&in), "too large");
    in.dl_tensor.dtype.lanes = 2;
    in.dl_tensor.shape = (int64_t[]){3, INT64_MAX};
    CHECK_POISON(kn_from_dlpack_versioned(&in), "too large");
    in.dl_tensor.ndim = 0;
    CHECK_POISON(kn_from_dlpack_versioned(&in), "a scalar is a vector of 2");
    in = managed_of(data, (DLDataType){kDLInt, 4, 1}, 1, negative, NULL, 0);
    CHECK_POISON(kn_from_dlpack_versioned(&in), "negative");
    in = managed_of(NULL, (DLDataType){kDLInt, 4, 1}, 2, shape, NULL, 0);
    CHECK_POISON(kn_from_dlpack_versioned(&in), "the data is NULL");
    in = managed_of(data, (DLDataType){kDLFloat6_e2m3fn, 6, 1}, 1, shape, NULL,
                    DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    CHECK_POISON(kn_from_dlpack_versioned(&in), "float6_e2m3fn");
    in = managed_of(data, (DLDataType){kDLFloat, 32, 4}, 1, shape, NULL, 0);
    CHECK_POISON(kn_from_dlpack_versioned(&in), "float32 in vectors of 4");
    in = managed_of(data, (DLDataType){kDLFloat, 32, 1}, 1, shape, NULL, 0);
    in.version = (DLPackVersion){2, 7};
    CHECK_POISON(kn_from_dlpack_versioned(&in), "version 2.7 of DLPack, and Kiln knows 1.1");
    in.version = (DLPackVersion){1, 99}; /* a later minor version only adds */
    kn_drop(kn_keep(kn_from_dlpack_versioned(&in)));
    CHECK(deleted == 10); /* whatever happens, what was given is let go once */
    CHECK_POISON(kn_from_dlpack_versioned(NULL), "kn_from_dlpack_versioned: the DLPack tensor is NULL");
    CHECK(!kn_to_dlpack_versioned(KN_NONE, false));
    CHECK(!kn_to_dlpack(kn_ones(KN_SHAPE(2), KN_I4)));
    CHECK(strstr(kn_last_error(), "use kn_to_dlpack_versioned()"));
    CHECK(!kn_to_dlpack_versioned(kn_reshape(kn_ones(KN_SHAPE(2), KN_F32), KN_SHAPE(3)), false));
    CHECK(strstr(kn_last_error(), "kn_reshape"));
}

/* Padding bits of another program may be anything, and its memory stays as it is. */
static void padding_is_not_read(void)
{
    unsigned char data[3] = {0xf1, 0x02, 0xff};
    int64_t shape[1] = {3};
    DLManagedTensorVersioned in = managed_of(data, (DLDataType){kDLUInt, 4, 1}, 1, shape, NULL,
                                             DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    CHECK_VALUES(kn_cast(kn_from_dlpack_versioned(&in), KN_U8), 0, 1, 2, 15);
    CHECK(data[0] == 0xf1 && data[2] == 0xff);
}

static void memory_may_run_out(void)
{
    unsigned char data[2] = {0x21, 0x43};
    int64_t shape[1] = {4};
    deleted = 0;
    int tries = 0;
    for (int64_t n = 0; n < 20; n++) {
        DLManagedTensorVersioned in = managed_of(data, (DLDataType){kDLUInt, 4, 1}, 1, shape, NULL, 0);
        kn_memory_fail_after(n);
        kn_tensor x = kn_from_dlpack_versioned(&in);
        DLManagedTensorVersioned *m = kn_to_dlpack_versioned(x, true);
        kn_memory_fail_after(-1);
        if (m) m->deleter(m);
        kn_drop(x);
        tries++;
    }
    CHECK(deleted == tries);
}

int main(void)
{
    every_dtype_goes_out_and_comes_back();
    a_copy_is_its_own();
    wrapped_memory_is_shown_as_read_only();
    packed_elements_are_unpacked();
    padding_is_not_read();
    what_does_not_fit_is_refused();
    memory_may_run_out();
    kn_memory_trim();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
