/* Copies of devices that compile kernels: each kind of strides is copied to the bit, several parts come with one launch, and what turns
   large images goes by tiles. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "backend/gpu/gpu.h"
#include "core/device_object.h"
#include "support/check.h"
#include <stdlib.h>

static kn_device exact, device;
static kni_gpu *gpu;

/* Kernels of the device whose key begins so. */
static int count_kernels(const char *name)
{
    int n = 0;
    for (uint32_t i = 0; i < gpu->kernel_room; i++)
        n += gpu->kernels[i] && gpu->kernels[i]->key_bytes > 4 && !memcmp(gpu->kernels[i]->key, name, 4);
    return n;
}

/* Whole numbers that go on. Their bits differ in each byte of the dtype. */
static kn_tensor counted(kn_device on, kn_shape shape, int dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    kn_device_use(on);
    kn_tensor x = kn_arange(0, (double)n, 1, KN_I64);
    return kn_reshape(kn_cast(kn_mul_scalar(x, 2654435761.0 / 4096), (kn_dtype)dtype), shape);
}

static bool same(kn_tensor a, kn_tensor b)
{
    const size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(a), kn_count(a));
    char *x = malloc(bytes), *y = malloc(bytes);
    bool equal =
        kn_count(a) == kn_count(b) && !kn_read(a, x, bytes) && !kn_read(b, y, bytes) && !memcmp(x, y, bytes);
    free(x);
    free(y);
    return equal;
}

/* ---- turned images */

typedef kn_tensor (*maker)(kn_device on, int dtype);

static kn_tensor planes(kn_device on, int dtype)
{
    return kn_permute(counted(on, KN_SHAPE(2, 64, 24, 16), dtype), KN_AXES(0, 2, 3, 1));
}
static kn_tensor pixels(kn_device on, int dtype)
{
    return kn_permute(counted(on, KN_SHAPE(2, 24, 16, 72), dtype), KN_AXES(0, 3, 1, 2));
}
static kn_tensor odd(kn_device on, int dtype)
{
    return kn_permute(counted(on, KN_SHAPE(3, 67, 7, 13), dtype), KN_AXES(3, 0, 2, 1));
}
static kn_tensor cut(kn_device on, int dtype)
{
    kn_tensor x = kn_narrow(counted(on, KN_SHAPE(130, 3, 140), dtype), 2, 3, 130);
    return kn_permute(kn_narrow(x, 0, 5, 120), KN_AXES(2, 1, 0));
}
static kn_tensor backwards(kn_device on, int dtype)
{
    return kn_permute(kn_flip(counted(on, KN_SHAPE(128, 4, 64), dtype), KN_AXES(1)), KN_AXES(2, 1, 0));
}

static const maker makers[] = {planes, pixels, odd, cut, backwards};
static const int dtypes[] = {KN_BF16, KN_F32, KN_I64, KN_U8};

static void turns(void)
{
    for (int i = 0; i < KNI_COUNT(makers); i++)
        for (int k = 0; k < KNI_COUNT(dtypes); k++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor want = kn_keep(kn_reshape(makers[i](exact, dtypes[k]), KN_SHAPE(-1)));
            kn_tensor x = makers[i](device, dtypes[k]);
            int before = count_kernels("turn");
            kn_tensor got = kn_keep(kn_reshape(x, KN_SHAPE(-1)));
            if (!CHECK(same(got, want))) printf("  turned %d, %s\n", i, kn_dtype_name((kn_dtype)dtypes[k]));
            if (i == 0 && k == 0) CHECK(count_kernels("turn") == before + 1);
            kn_scope_end(scope, KN_NONE);
        }
}

/* ---- several parts */

static kn_tensor joined(kn_device on, int n, int axis, bool turned)
{
    kn_tensor x[40];
    for (int i = 0; i < n; i++) {
        x[i] = counted(on, KN_SHAPE(8, 4, 2 + i % 3), KN_F32);
        if (turned && i % 2)
            x[i] = kn_permute(counted(on, KN_SHAPE(2 + i % 3, 4, 8), KN_F32), KN_AXES(2, 1, 0));
        if (axis != 2) x[i] = kn_narrow(x[i], 2, 0, 2);
    }
    return kn_concat(x, n, axis);
}

/* Sixteen parts at most are joined in a launch, whatever their strides. */
static void joins(void)
{
    static const int counts[] = {1, 2, 4, 16, 17, 40};
    for (int i = 0; i < KNI_COUNT(counts); i++)
        for (int axis = 0; axis < 3; axis++)
            for (int turned = 0; turned < 2; turned++) {
                kn_scope scope = kn_scope_begin();
                kn_tensor want = kn_keep(joined(exact, counts[i], axis, turned)), x[40];
                kn_device_use(device);
                for (int k = 0; k < counts[i]; k++) x[k] = counted(device, KN_SHAPE(8, 4, 2), KN_F32);
                uint64_t before = gpu->launches;
                CHECK(kn_count(kn_concat(x, counts[i], 1)) == counts[i] * 64);
                CHECK(gpu->launches - before == (counts[i] > 1 ? (uint64_t)(counts[i] + 15) / 16 : 0));
                if (!CHECK(same(kn_keep(joined(device, counts[i], axis, turned)), want)))
                    printf("  %d joined along %d, turned %d\n", counts[i], axis, turned);
                kn_scope_end(scope, KN_NONE);
            }
}

/* Parts that can be moved 16 bytes at a time are not held up by others once they are large. */
static void keeps_wide_accesses(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor got[2][2];
    for (int i = 0; i < 2; i++)
        for (int large = 0; large < 2; large++) {
            kn_device on = i ? device : exact;
            int64_t rows = large ? 640 : 64;
            kn_tensor x[2] = {counted(on, KN_SHAPE(rows, 1024), KN_BF16),
                              kn_permute(counted(on, KN_SHAPE(8, rows), KN_BF16), KN_AXES(1, 0))};
            uint64_t before = gpu->launches;
            got[i][large] = kn_keep(kn_concat(x, 2, 1));
            if (i) CHECK(gpu->launches == before + 1 + (uint64_t)large);
        }
    CHECK(same(got[1][0], got[0][0]) && same(got[1][1], got[0][1]));
    kn_scope_end(scope, KN_NONE);
}

/* What has another dtype is cast, and all parts are joined in one launch nevertheless. */
static void joins_dtypes(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor got[2];
    for (int i = 0; i < 2; i++) {
        kn_device on = i ? device : exact;
        kn_tensor x[3] = {counted(on, KN_SHAPE(4, 8), KN_F32), counted(on, KN_SHAPE(4, 6), KN_BF16),
                          counted(on, KN_SHAPE(4, 2), KN_F32)};
        uint64_t before = gpu->launches;
        got[i] = kn_keep(kn_concat(x, 3, 1));
        if (i) CHECK(gpu->launches == before + 2);
    }
    CHECK(same(got[1], got[0]));
    kn_scope_end(scope, KN_NONE);
}

/* Indices and rows that lie evenly apart are not copied first. */
static void reads_rows_where_they_lie(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor taken[2], added[2];
    for (int i = 0; i < 2; i++) {
        kn_device on = i ? device : exact;
        kn_device_use(on);
        kn_tensor table = kn_keep(counted(on, KN_SHAPE(50, 64), KN_F32));
        kn_tensor all = kn_keep(kn_reshape(kn_arange(0, 48, 1, KN_I64), KN_SHAPE(12, 4)));
        kn_tensor at = kn_keep(kn_reshape(kn_narrow(all, 1, 2, 1), KN_SHAPE(12)));
        kn_tensor rows =
            kn_keep(kn_cast(kn_reshape(kn_arange(0, 12 * 3 * 64, 1, KN_F32), KN_SHAPE(12, 3, 64)), KN_F32));
        kn_tensor values = kn_keep(kn_reshape(kn_narrow(rows, 1, 1, 1), KN_SHAPE(12, 64)));
        uint64_t before = gpu->launches;
        taken[i] = kn_keep(kn_embedding(table, at, NULL));
        if (i) CHECK(gpu->launches == before + 1);
        added[i] = kn_keep(kn_index_assign(table, 0, at, values, KN_UPDATE_ADD));
    }
    CHECK(same(taken[1], taken[0]) && same(added[1], added[0]));
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    setenv("KN_OPENCL_OPTIONS", "-cl-opt-disable", 0);
    exact = kn_device_open("cpu");
    device = kn_device_open("opencl:0");
    if (!device) {
        check_skip("no OpenCL device");
        return check_report();
    }
    gpu = (kni_gpu *)(void *)kni_opencl_open("0", NULL, 0);
    if (!CHECK(exact && gpu)) return check_report();
    turns();
    joins();
    keeps_wide_accesses();
    joins_dtypes();
    reads_rows_where_they_lie();
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
