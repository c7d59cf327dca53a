/* Channels last: which results are promised so, that values do not depend on it, and that groups over such operands are one walk
   through memory. The leaf of the schedules' tests wants it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unsetenv */
#endif
#include "../support/check.h"
#include "test_sched_leaf.h"
#include <math.h>

static kn_device cpu, leaf, queued;

static bool last(kn_tensor x)
{
    kn_shape s = kn_shape_of_tensor(x);
    int64_t strides[KN_MAX_RANK] = {0}, own[KN_MAX_RANK];
    if (s.rank < 3 || kn_strides(x, strides) != KN_OK) return false;
    kni_order_strides(KNI_ORDER_CHANNELS, s.rank, s.dims, own);
    return !memcmp(strides, own, (size_t)s.rank * sizeof *own);
}

static kn_tensor numbers(kn_device device, kn_shape shape, int seed)
{
    static float values[1 << 16];
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    for (int64_t i = 0; i < n; i++) values[i] = (float)((i * 37 + seed * 11) % 23 - 11) / 8;
    return kn_keep(kn_to(kn_from(values, KN_F32, shape), device));
}

static bool close_to(kn_tensor a, kn_tensor b)
{
    static float x[1 << 16], y[1 << 16];
    int64_t n = kn_count(a);
    size_t bytes = (size_t)n * sizeof *x;
    if (kn_count(b) != n || kn_read(a, x, bytes) || kn_read(b, y, bytes)) return false;
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(x[i] - y[i]) <= 1e-4f * (1 + fabsf(y[i])))) return false;
    return true;
}

/* What a small network gives on a device. */
enum { CONV, NORM, RELU, SUM, POOL, MEAN, PADDED, JOINED, PART, FLAT, TURNED, OUTPUTS };
static void network(kn_device device, kn_tensor *y)
{
    kn_tensor x = numbers(device, KN_SHAPE(2, 3, 8, 6), 1), w = numbers(device, KN_SHAPE(8, 3, 3, 3), 2);
    kn_tensor scale = numbers(device, KN_SHAPE(8), 3), shift = numbers(device, KN_SHAPE(8), 4);
    kn_tensor bias = numbers(device, KN_SHAPE(8, 1, 1), 5);
    y[CONV] = kn_keep(kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.padding = {1, 1}}));
    y[NORM] = kn_keep(kn_batch_norm_train(y[CONV], scale, shift, 1e-5).y);
    y[RELU] = kn_keep(kn_relu(y[NORM]));
    y[SUM] = kn_keep(kn_add(bias, kn_add(y[RELU], y[CONV])));
    y[POOL] = kn_keep(kn_max_pool2d(y[SUM], KN_AXES(2, 2), NULL));
    y[MEAN] = kn_keep(kn_mean(y[SUM], KN_AXES(2, 3), false));
    y[PADDED] = kn_keep(kn_pad(y[SUM], &(kn_pad_args){.before = KN_AXES(1, 2), .after = KN_AXES(2, 1)}));
    y[JOINED] = kn_keep(kn_concat((kn_tensor[]){y[SUM], y[CONV]}, 2, 1));
    y[PART] = kn_keep(kn_mul_scalar(kn_narrow(y[JOINED], 1, 3, 7), 2));
    y[FLAT] = kn_keep(kn_reshape(y[SUM], KN_SHAPE(2, -1)));
    y[TURNED] = kn_keep(kn_relu(kn_permute(y[SUM], KN_AXES(0, 2, 3, 1))));
}

static void promises(void)
{
    kn_tensor plain[OUTPUTS], eager[OUTPUTS], later[OUTPUTS];
    network(cpu, plain);
    network(leaf, eager);
    network(queued, later);
    for (int i = 0; i < OUTPUTS; i++) {
        const bool wanted = i != MEAN && i != FLAT && i != TURNED;
        CHECK(kn_ok(plain[i]) && kn_ok(eager[i]) && kn_ok(later[i]));
        CHECK(!last(plain[i]));
        if (!CHECK(last(eager[i]) == wanted)) printf("eager result %d\n", i);
        if (!CHECK(last(later[i]) == wanted)) printf("queued result %d\n", i);
        if (!CHECK(close_to(eager[i], plain[i]))) printf("eager values %d\n", i);
        if (!CHECK(close_to(later[i], plain[i]))) printf("queued values %d\n", i);
        kn_drop(plain[i]);
        kn_drop(eager[i]);
        kn_drop(later[i]);
    }
}

/* The gradient of the weight is row-major, that of the image channels last. */
static void gradients(void)
{
    kn_device taped = kn_device_open("autodiff(fusion(leaf))");
    kn_tensor x = kn_require_grad(numbers(taped, KN_SHAPE(2, 4, 6, 6), 1));
    kn_tensor w = kn_require_grad(numbers(taped, KN_SHAPE(8, 4, 3, 3), 2));
    kn_tensor y = kn_conv2d(x, w, KN_NONE, NULL), loss = kn_keep(kn_sum(kn_square(y), KN_AXES_ALL, false)),
              grads[2];
    CHECK(kn_grad(&loss, NULL, 1, (kn_tensor[]){x, w}, 2, 0, grads) == KN_OK);
    CHECK(last(grads[0]));
    CHECK(!last(grads[1]));
    kn_drop(x);
    kn_drop(w);
}

static kn_tensor channels_last(kn_tensor x)
{
    kn_tensor turned = kn_permute(x, KN_AXES(0, 2, 3, 1));
    kn_shape shape = kn_shape_of_tensor(turned);
    return kn_keep(kn_permute(kn_reshape(kn_reshape(turned, KN_SHAPE(-1)), shape), KN_AXES(0, 3, 1, 2)));
}

/* Elements are found without a division and several at a time, as for row-major operands. */
static void walks_are_linear(void)
{
    kn_tensor a = channels_last(numbers(leaf, KN_SHAPE(2, 8, 4, 6), 1));
    kn_tensor b = channels_last(numbers(leaf, KN_SHAPE(2, 8, 4, 6), 2)), c = kn_keep(kn_add(a, b));
    CHECK(last(a) && last(c));
    leaf_launched = 0;
    leaf_holds = true;
    kn_tensor y = kn_keep(kn_relu(kn_add(kn_mul_scalar(a, 3), kn_mul(b, c))));
    CHECK(leaf_release(KN_GROUP_POINTWISE, &y, 1) == KN_OK);
    CHECK(leaf_launched == 1 && last(y));
    CHECK(leaf_divisions == 0);
    CHECK(leaf_aligned == 4);
    /* An operand in the other order does cost divisions, which the count above would see. */
    CHECK(kn_ok(kn_add(a, numbers(leaf, KN_SHAPE(2, 8, 4, 6), 3))));
    CHECK(leaf_divisions > 0);
    kn_drop(y);
    kn_drop(a);
    kn_drop(b);
    kn_drop(c);
}

/* Sums of each channel go down columns that lie side by side, those of row-major images along rows. */
static void sums_are_columns(void)
{
    kn_tensor a = channels_last(numbers(leaf, KN_SHAPE(2, 64, 2, 3), 1));
    kn_tensor rows = numbers(cpu, KN_SHAPE(2, 64, 2, 3), 1);
    kn_tensor y = kn_keep(kn_sum(a, KN_AXES(0, 2, 3), false)),
              expected = kn_sum(rows, KN_AXES(0, 2, 3), false);
    CHECK(close_to(y, expected));
    CHECK(leaf_schedule == KNI_SCHED_OUTER);
    CHECK(kn_ok(kn_sum(kn_to(rows, leaf), KN_AXES(0, 2, 3), false)));
    CHECK(leaf_schedule == KNI_SCHED_INNER);
    kn_drop(y);
    kn_drop(a);
    kn_drop(rows);
}

/* A view of a value that the same group makes counts elements as they lie. */
static void views_inside_groups(void)
{
    kn_tensor out[2];
    for (int i = 0; i < 2; i++) {
        kn_tensor x = numbers(i ? queued : cpu, KN_SHAPE(4, 4, 4, 4), 1);
        kn_tensor w = numbers(i ? queued : cpu, KN_SHAPE(4, 4, 1, 1), 2);
        kn_tensor y = kn_keep(kn_relu(kn_conv2d(x, w, KN_NONE, NULL)));
        kn_tensor turned = kn_permute(y, KN_AXES(0, 2, 3, 1));
        out[i] = kn_keep(kn_add(kn_mul_scalar(turned, 2), kn_exp(kn_permute(y, KN_AXES(3, 2, 1, 0)))));
        kn_drop(y);
    }
    CHECK(close_to(out[1], out[0]));
    kn_drop(out[0]);
    kn_drop(out[1]);
}

/* A temporary that lies as the result is to lie gives it its memory. */
static void written_in_place(void)
{
    kn_tensor x = numbers(queued, KN_SHAPE(2, 4, 6, 6), 1), w = numbers(queued, KN_SHAPE(8, 4, 1, 1), 2);
    kn_tensor made = kn_keep(kn_conv2d(x, w, KN_NONE, NULL)), plain = numbers(cpu, KN_SHAPE(2, 4, 6, 6), 1);
    CHECK(kn_sync(queued) == KN_OK);
    kn_tensor y = kn_keep(kn_relu(made));
    kn_drop(made);
    CHECK(kn_sync(queued) == KN_OK);
    kn_tensor expected = kn_relu(kn_conv2d(plain, numbers(cpu, KN_SHAPE(8, 4, 1, 1), 2), KN_NONE, NULL));
    CHECK(last(y) && close_to(y, expected));
    kn_drop(y);
}

/* Nothing else has its axis of channels where images have it: heads of attention lie there, for one. */
static void convolutions_alone_want_it(void)
{
    int found = 0;
    for (int i = 0; i < UINT16_MAX; i++) {
        const kn_op *row = kni_op_by_number(i);
        if (row && row->layout == KNI_LAYOUT_WANTS) found += CHECK(!strncmp(row->name, "conv", 4));
    }
    CHECK(found == 2);
}

int main(void)
{
    unsetenv("KN_LAYOUT"); /* the leaf alone wants it */
    kn_backend_register("leaf", leaf_open);
    cpu = kn_device_open("cpu");
    leaf = kn_device_open("leaf");
    queued = kn_device_open("fusion(leaf)");
    CHECK(leaf && queued);
    convolutions_alone_want_it();
    promises();
    gradients();
    walks_are_linear();
    sums_are_columns();
    views_inside_groups();
    written_in_place();
    return check_report();
}
