/* Bool bytes other than 0 and 1 become true on the way in, whatever the way; empty tensors and NULL; and what has no memory
   to show. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/checksum.h"
#include "support/file.h"
#include <kn/custom_op.h>
#include <kn/data/loader.h>
#include <kn/data/source.h>
#include <kn/dlpack.h>
#include <kn/op_info.h>
#include <kn/program.h>
#include <kn/store.h>
#include <math.h>
#include <stdlib.h>

static const unsigned char odd[6] = {0, 2, 1, 255, 128, 0};

/* The tensor's memory itself holds zeros and ones, which others may look at: reading it would normalise too. */
static void has_normal_bytes(kn_tensor x)
{
    DLManagedTensor *view = kn_to_dlpack(x);
    if (!view) {
        CHECK(strstr(kn_device_name(kn_device_current()), "opencl") != NULL);
        return;
    }
    const DLTensor *t = &view->dl_tensor;
    int64_t inner = t->ndim == 2 ? t->shape[1] : 1;
    for (int64_t i = 0; i < 6; i++) {
        int64_t at = t->ndim == 2 ? i / inner * t->strides[0] + i % inner * t->strides[1]
                                  : i * (t->strides ? t->strides[0] : 1);
        unsigned char byte = ((const unsigned char *)t->data)[(int64_t)t->byte_offset + at];
        if (!CHECK(byte == (odd[i] != 0))) printf("  byte %d is %d\n", (int)i, byte);
    }
    view->deleter(view);
}

/* Everything that counts, sums or selects sees zeros and ones. */
static void is_normal(kn_tensor x)
{
    unsigned char back[6];
    x = kn_keep(x);
    has_normal_bytes(x);
    CHECK(kn_read(x, back, sizeof back) == KN_OK);
    for (int i = 0; i < 6; i++) CHECK(back[i] == (odd[i] != 0));
    CHECK_VALUES(kn_nonzero(kn_reshape(x, KN_SHAPE(6))), 0, 1, 2, 3, 4);
    CHECK_VALUES(kn_sum(x, KN_AXES_ALL, false), 0, 4);
    CHECK_VALUES(kn_count_nonzero(x, KN_AXES_ALL, false), 0, 4);
    CHECK_VALUES(kn_equal(kn_reshape(x, KN_SHAPE(6)), kn_ones(KN_SHAPE(6), KN_BOOL)), 0, 0, 1, 1, 1, 1, 0);
    kn_tensor values = kn_from((float[]){1, 2, 3, 4, 5, 6}, KN_F32, KN_SHAPE(6));
    CHECK_VALUES(kn_mask_select(values, kn_reshape(x, KN_SHAPE(6))), 0, 2, 3, 4, 5);
    kn_drop(x);
}

static int released;
static void release(void *context) { released++, (void)context; }

static void from_memory(void)
{
    unsigned char own[12], good[3] = {1, 0, 1};
    memcpy(own, odd, 6);
    is_normal(kn_from(odd, KN_BOOL, KN_SHAPE(6)));
    is_normal(kn_from(odd, KN_BOOL, KN_SHAPE(2, 3)));
    is_normal(kn_wrap(own, KN_BOOL, KN_SHAPE(2, 3), NULL, NULL, NULL));
    released = 0;
    is_normal(kn_wrap(own, KN_BOOL, KN_SHAPE(6), NULL, release, NULL));
    CHECK(released == 1 && !memcmp(own, odd, 6)); /* the caller's memory is not written */
    /* Strided: each element twice, the one between odd as well; and backwards. */
    for (int i = 0; i < 12; i++) own[i] = i % 2 ? 77 : odd[i / 2];
    is_normal(kn_wrap(own, KN_BOOL, KN_SHAPE(2, 3), (const int64_t[]){6, 2}, NULL, NULL));
    /* The same, odd only where the strides reach. */
    for (int i = 0; i < 12; i++) own[i] = i % 2 || (odd[i / 2] && i < 6) ? 1 : odd[i / 2];
    is_normal(kn_wrap(own, KN_BOOL, KN_SHAPE(6), (const int64_t[]){2}, NULL, NULL));
    for (int i = 0; i < 6; i++) own[i] = odd[5 - i];
    is_normal(kn_wrap(own + 5, KN_BOOL, KN_SHAPE(3, 2), (const int64_t[]){-2, -1}, NULL, NULL));
    CHECK_VALUES(kn_from((unsigned char[]){9}, KN_BOOL, KN_SCALAR_SHAPE), 0, 1);
    /* What is fine already is not copied. */
    kn_tensor x = kn_keep(kn_wrap(good, KN_BOOL, KN_SHAPE(3), NULL, NULL, NULL));
    good[1] = 1;
    CHECK(kn_device_current() != kn_device_cpu() || kn_item_int(kn_sum(x, KN_AXES_ALL, false)) == 3);
    kn_drop(x);
}

/* What has other bytes than 0 and 1 is computed with as what has only those: `same` is given both and returns what to compare. */
typedef kn_tensor same_fn(kn_tensor m, kn_tensor x);
static kn_tensor first_of(kn_nonzero_result r)
{
    kn_drop(r.count);
    return r.indices;
}
#define SAME(name, expression)                                                                               \
    static kn_tensor same_##name(kn_tensor m, kn_tensor x)                                                   \
    {                                                                                                        \
        (void)x;                                                                                             \
        return expression;                                                                                   \
    }
SAME(nonzero, kn_nonzero(m))
SAME(nonzero_turned, kn_nonzero(kn_transpose(m, 0, 1)))
SAME(nonzero_bounded, first_of(kn_nonzero_bounded(m, 100)))
SAME(count, kn_count_nonzero(m, KN_AXES(1), false))
SAME(sum, kn_sum(m, KN_AXES_ALL, false))
SAME(sum_rows, kn_sum(m, KN_AXES(0), false))
SAME(prod, kn_prod(m, KN_AXES(0), false))
SAME(any, kn_any(m, KN_AXES(1), false))
SAME(all, kn_all(m, KN_AXES(0), false))
SAME(max, kn_max(m, KN_AXES(1), false))
SAME(argmax, kn_argmax(m, 1, false))
SAME(cumsum, kn_cumsum(m, 1))
SAME(where, kn_where(m, x, kn_zeros_like(x)))
SAME(mask_select, kn_mask_select(x, m))
SAME(mask_fill, kn_mask_fill(x, m, 7))
SAME(logical_not, kn_logical_not(m))
SAME(logical_xor, kn_logical_xor(m, kn_greater_scalar(x, 50)))
SAME(bitwise_and, kn_bitwise_and(m, kn_greater_scalar(x, 50)))
SAME(bitwise_not, kn_bitwise_not(m))
SAME(equal, kn_equal(m, kn_ones_like(m)))
SAME(less, kn_less(m, kn_ones_like(m)))
SAME(add, kn_add(m, x))
SAME(sort, kn_sort(m, 1, false).values)
SAME(argsort, kn_argsort(m, 1, false))
SAME(unique, kn_unique(m).values)
SAME(one_hot, kn_one_hot(kn_cast(m, KN_I64), 2, KN_F32))
SAME(concat, kn_concat((kn_tensor[]){m, m}, 2, 0))
static same_fn *const same[] = {same_nonzero,
                                same_nonzero_turned,
                                same_nonzero_bounded,
                                same_count,
                                same_sum,
                                same_sum_rows,
                                same_prod,
                                same_any,
                                same_all,
                                same_max,
                                same_argmax,
                                same_cumsum,
                                same_where,
                                same_mask_select,
                                same_mask_fill,
                                same_logical_not,
                                same_logical_xor,
                                same_bitwise_and,
                                same_bitwise_not,
                                same_equal,
                                same_less,
                                same_add,
                                same_sort,
                                same_argsort,
                                same_unique,
                                same_one_hot,
                                same_concat};

enum { ROWS = 12, COLUMNS = 250 };

static bool equal_bytes(kn_tensor a, kn_tensor b)
{
    static unsigned char of_a[ROWS * COLUMNS * 32], of_b[sizeof of_a];
    int64_t n = kn_dtype_bytes(kn_dtype_of(a), kn_count(a));
    bool good = kn_ok(a) && kn_ok(b) && kn_dtype_of(a) == kn_dtype_of(b) && kn_count(a) == kn_count(b) &&
                n <= (int64_t)sizeof of_a && kn_read(a, of_a, (size_t)n) == KN_OK &&
                kn_read(b, of_b, (size_t)n) == KN_OK && !memcmp(of_a, of_b, (size_t)n);
    return good;
}

/* In memory that is shared, and written after the tensor was made. */
static void written_later(void)
{
    static unsigned char clean[ROWS * COLUMNS], shared[ROWS * COLUMNS];
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < ROWS * COLUMNS; i++) clean[i] = shared[i] = i * 7919 % 11 < 4;
    kn_tensor good = kn_keep(kn_from(clean, KN_BOOL, KN_SHAPE(ROWS, COLUMNS)));
    kn_tensor wrapped = kn_keep(kn_wrap(shared, KN_BOOL, KN_SHAPE(ROWS, COLUMNS), NULL, NULL, NULL));
    kn_tensor shown = kn_keep(kn_from(clean, KN_BOOL, KN_SHAPE(ROWS, COLUMNS)));
    DLManagedTensor *view = kn_to_dlpack(shown);
    if (!CHECK(view != NULL)) return;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        ((unsigned char *)view->dl_tensor.data)[i] = shared[i] = (unsigned char)(clean[i] ? i % 255 + 1 : 0);
    kn_tensor x = kn_keep(kn_reshape(kn_arange(0, ROWS * COLUMNS, 1, KN_F32), KN_SHAPE(ROWS, COLUMNS)));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        kn_tensor want = kn_keep(same[i](good, x));
        if (!CHECK(equal_bytes(same[i](wrapped, x), want)) || !CHECK(equal_bytes(same[i](shown, x), want)))
            printf("  case %d on %s\n", (int)i, kn_device_name(kn_device_current()));
    }
    for (int d = 1; d < KN_DTYPE_COUNT; d++) {
        kn_tensor want = kn_keep(kn_cast(good, (kn_dtype)d));
        if (!kn_ok(want)) continue; /* nothing is computed in blocks of quantised numbers */
        CHECK(equal_bytes(kn_cast(wrapped, (kn_dtype)d), want));
        CHECK(equal_bytes(kn_cast(kn_transpose(kn_transpose(shown, 0, 1), 0, 1), (kn_dtype)d), want));
    }
    (void)kn_scope_end(scope, KN_NONE);
    view->deleter(view);
}

static void nothing(DLManagedTensor *managed) { (void)managed; }

static void from_dlpack(void)
{
    unsigned char own[6];
    int64_t shape[1] = {6};
    memcpy(own, odd, 6);
    DLManagedTensor managed = {.dl_tensor = {.data = own,
                                             .device = {kDLCPU, 0},
                                             .ndim = 1,
                                             .dtype = {kDLBool, 8, 1},
                                             .shape = shape},
                               .deleter = nothing};
    is_normal(kn_from_dlpack(&managed));
    CHECK(!memcmp(own, odd, 6));
}

/* NumPy's and safetensors' files, from memory. */
static void from_files(void)
{
    static const char npy_header[] = "{'descr': '|b1', 'fortran_order': False, 'shape': (6,), }";
    unsigned char npy[128 + 6] = "\x93NUMPY\x01\x00";
    memset(npy + 10, ' ', 118);
    npy[8] = 118, npy[9] = 0;
    memcpy(npy + 10, npy_header, sizeof npy_header - 1);
    npy[127] = '\n';
    memcpy(npy + 128, odd, 6);
    static const char text[] = "{\"x\":{\"dtype\":\"BOOL\",\"shape\":[6],\"data_offsets\":[0,6]}}      ";
    unsigned char safe[8 + sizeof text - 1 + 6] = {sizeof text - 1};
    memcpy(safe + 8, text, sizeof text - 1);
    memcpy(safe + 8 + sizeof text - 1, odd, 6);
    const struct {
        const void *data;
        size_t bytes;
    } files[] = {{npy, sizeof npy}, {safe, sizeof safe}};
    for (int i = 0; i < 2; i++) {
        kn_store store = kn_store_open_memory(files[i].data, files[i].bytes, NULL);
        if (!CHECK(store)) {
            printf("%s\n", kn_last_error());
            continue;
        }
        kn_tensor x = kn_store_tensor(store, 0);
        if (CHECK(kn_ok(x))) is_normal(x);
        kn_store_close(store);
    }
}

/* Writes the odd bytes over those of the one bool tensor with these truths in a file, and mends the checksum that a zip has of
   the member they end. */
static void spoil(kni_buffer *file)
{
    static const unsigned char good[6] = {0, 1, 1, 1, 1, 0};
    unsigned char *at = memmem(file->data, file->length, good, 6), *begin = at;
    if (!CHECK(at != NULL)) return;
    for (unsigned char *p = (unsigned char *)file->data; p < at; p++)
        if (!memcmp(p, "\x93NUMPY", 6)) begin = p;
    size_t bytes = (size_t)(at + 6 - begin);
    uint32_t before = kni_crc32(0, begin, bytes);
    memcpy(at, odd, 6);
    uint32_t after = kni_crc32(0, begin, bytes);
    for (size_t i = 0; i + 4 <= file->length; i++)
        if (!memcmp(file->data + i, &before, 4)) memcpy(file->data + i, &after, 4);
}

/* The same of files that PyTorch, NumPy and safetensors wrote, copied and mapped into memory. */
static void from_spoiled_files(void)
{
    static const char *const names[] = {"torch_dtypes.pt", "torch_dtypes_legacy.pt", "numpy_dtypes.npz",
                                        "dtypes.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[80];
        kni_buffer file = {0};
        snprintf(path, sizeof path, "tests/store/files/%s", names[i]);
        if (!CHECK(kni_file_read(path, 0, &file) == KN_OK)) continue;
        spoil(&file);
        snprintf(path, sizeof path, "truths_%s", names[i]);
        CHECK(kni_file_write(path, file.data, file.length) == KN_OK);
        kni_buffer_free(&file);
        for (int map = 0; map < 2; map++) {
            kn_store store = kn_store_open(path, &(kn_store_args){.map = map});
            kn_tensor x = kn_store_tensor(store, kn_store_find(store, "bool"));
            if (CHECK(kn_ok(x)))
                is_normal(x);
            else
                printf("  %s: %s\n", path, kn_last_error());
            kn_store_close(store);
        }
        CHECK(kni_path_remove(path) == KN_OK);
    }
}

/* Params, states and batches have what the tensors have that they are made of. */
static void handed_on(void)
{
    kn_param p = kn_param_make(kn_zeros(KN_SHAPE(6), KN_BOOL));
    CHECK(kn_param_set(&p, kn_from(odd, KN_BOOL, KN_SHAPE(6))) == KN_OK);
    is_normal(kn_alias(kn_value(p)));
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "x", kn_value(p)) == KN_OK);
    void *data;
    size_t bytes;
    if (CHECK(kn_state_write_memory(state, &data, &bytes, KN_STORE_SAFETENSORS) == KN_OK)) {
        for (int i = 0; i < 6; i++) CHECK(((unsigned char *)data)[bytes - 6 + (size_t)i] == (odd[i] != 0));
        free(data);
    }
    kn_state_free(state);
    kn_param_drop(&p);

    unsigned char shared[6];
    memcpy(shared, odd, 6);
    kn_tensor field = kn_keep(kn_wrap(shared, KN_BOOL, KN_SHAPE(6), NULL, NULL, NULL));
    kn_dataset set = kn_dataset_tensors(&field, 1);
    for (int32_t workers = 0; workers < 2; workers++) {
        kn_loader loader = kn_loader_make(set, &(kn_loader_args){.batch_size = 6, .workers = workers});
        kn_sample batch = {0};
        if (CHECK(kn_loader_next(loader, &batch) == KN_OK && batch.n == 1)) has_normal_bytes(batch.fields[0]);
        kn_sample_drop(&batch);
        kn_loader_free(loader);
    }
    kn_dataset_free(set);
    kn_drop(field);
}

/* A kernel that stores other numbers than 0 and 1. */
static void from_kernel(void)
{
    kn_kernel *stores =
        kn_kernel_compile("kernel stores(index item, in u8 x[], out bool y[]) { y[item] = x[item]; }", NULL);
    kn_tensor x = kn_from(odd, KN_U8, KN_SHAPE(6)), y;
    if (!CHECK(stores != NULL) || !CHECK(kn_kernel_run(stores, &x, 1, NULL, &y, 1) == KN_OK))
        printf("  %s\n", kn_last_error());
    else
        is_normal(y);
    if (stores) kn_kernel_free(stores);
}

/* A custom op whose function writes any byte. */
static kn_status infer_odd(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    out[0].dtype = KN_BOOL;
    return KN_OK;
}
static kn_status write_odd(void *context, const kn_span *in, const kn_span *out)
{
    (void)context, (void)in;
    memcpy(out[0].data, odd, 6);
    return KN_OK;
}

static void from_custom_op(void)
{
    kn_op_handle op = kn_custom_register(&(kn_custom_op){
        .name = "odd_truths", .n_in = 1, .n_out = 1, .infer = infer_odd, .forward = write_odd});
    kn_tensor x = kn_zeros(KN_SHAPE(6), KN_F32), y;
    CHECK(kn_custom_call(op, &x, &y) == KN_OK);
    is_normal(y);
    CHECK_POISON(kn_bitcast(kn_from(odd, KN_U8, KN_SHAPE(6)), KN_BOOL), "bool has no bits");
}

/* ---- no elements, no attributes, no memory */

static void empty(void)
{
    kn_tensor none = kn_keep(kn_from(NULL, KN_F32, KN_SHAPE(0, 3)));
    CHECK(kn_ok(none) && kn_read(none, NULL, 0) == KN_OK && kn_read_as(none, KN_F64, NULL, 0) == KN_OK);
    kn_tensor wrapped = kn_keep(kn_wrap(NULL, KN_F32, KN_SHAPE(0), NULL, NULL, NULL));
    CHECK(kn_ok(wrapped) && kn_read(wrapped, NULL, 0) == KN_OK);
    CHECK(kn_read(kn_concat((kn_tensor[]){none, none}, 2, 0), NULL, 0) == KN_OK);
    CHECK(kn_read(kn_transpose(kn_add(none, none), 0, 1), NULL, 0) == KN_OK);
    CHECK(kn_read(kn_cast(wrapped, KN_F16), NULL, 0) == KN_OK);
    CHECK(kn_ok(kn_from(NULL, KN_BOOL, KN_SHAPE(0))));
    kn_drop(none), kn_drop(wrapped);
}

static void program_without_attributes(kn_device device)
{
    kn_tensor x = kn_keep(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2))), y, out;
    CHECK(kn_program_begin(device) == KN_OK);
    y = kn_keep(kn_neg(x));
    kn_program p = kn_program_end(&x, 1, &y, 1);
    CHECK(kn_program_run(p, &x, 1, &out, 1) == KN_OK);
    CHECK_VALUES(out, 0, -1, -2);
    kn_program_free(p);
    kn_drop(x), kn_drop(y);
}

static void nothing_to_show(const char *name)
{
    kn_device_use(kn_device_open(name));
    CHECK(kn_to_dlpack(kn_zeros(KN_SHAPE(1000), KN_F32)) == NULL);
    CHECK(strstr(kn_last_error(), "has no memory to show") != NULL);
    CHECK(kn_to_dlpack(kn_exp(kn_zeros(KN_SHAPE(1000), KN_F32))) == NULL);
    struct DLManagedTensor *one = kn_to_dlpack(kn_scalar(3, KN_F32));
    CHECK(one && *(float *)one->dl_tensor.data == 3);
    if (one) one->deleter(one);
}

/* Every dtype has its code and its width in DLPack, and comes back as itself. */
static void dtypes_in_dlpack(void)
{
    static const struct {
        kn_dtype dtype;
        DLDataType type;
    } rows[] = {{KN_F64, {kDLFloat, 64, 1}},   {KN_F32, {kDLFloat, 32, 1}}, {KN_F16, {kDLFloat, 16, 1}},
                {KN_BF16, {kDLBfloat, 16, 1}}, {KN_I64, {kDLInt, 64, 1}},   {KN_I32, {kDLInt, 32, 1}},
                {KN_I16, {kDLInt, 16, 1}},     {KN_I8, {kDLInt, 8, 1}},     {KN_U64, {kDLUInt, 64, 1}},
                {KN_U32, {kDLUInt, 32, 1}},    {KN_U16, {kDLUInt, 16, 1}},  {KN_U8, {kDLUInt, 8, 1}},
                {KN_BOOL, {kDLBool, 8, 1}}};
    kn_device_use(kn_device_cpu());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        DLManagedTensor *d = kn_to_dlpack(kn_ones(KN_SHAPE(3), rows[i].dtype));
        if (!CHECK(d != NULL)) continue;
        DLDataType got = d->dl_tensor.dtype;
        CHECK(got.code == rows[i].type.code && got.bits == rows[i].type.bits && got.lanes == 1);
        kn_tensor back = kn_keep(kn_from_dlpack(d));
        CHECK(kn_dtype_of(back) == rows[i].dtype);
        kn_drop(back);
    }
}

/* ---- orders of polygamma */

static void orders(void)
{
    static const double bad[] = {0,    -1,    0.5,   1.5,         2147483648.0,
                                 1e18, -1e18, 1e300, (double)NAN, (double)INFINITY};
    kn_device_use(kn_device_open("autodiff(cpu)"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kn_tensor x = kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)), y;
        const kn_attribute_value order[] = {{.name = "order", .real = bad[i]}, {0}};
        CHECK_ERROR(kn_call("polygamma", &x, 1, order, &y, 1), "order");
    }
    for (int32_t order = 1; order > 0 && order <= INT32_MAX - 1;
         order = order == 3 ? INT32_MAX - 1 : order + 1) {
        kn_tensor x = kn_keep(kn_require_grad(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)))), g;
        kn_tensor y = kn_keep(kn_sum(kn_polygamma(x, order), KN_AXES_ALL, false));
        CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK && kn_ok(g));
        if (order == INT32_MAX - 1) break;
    }
    kn_tensor x = kn_keep(kn_require_grad(kn_from((float[]){1}, KN_F32, KN_SHAPE(1)))), g;
    kn_tensor y = kn_keep(kn_polygamma(x, INT32_MAX));
    /* The order of the slope is no int32 any more: NaN, as for all orders above 170. */
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    double slope = kn_item(g);
    CHECK(slope != slope);
}

int main(void)
{
    static const char *const names[] = {"cpu", "ref", "fusion(cpu)", "autodiff(fusion(cpu))"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kn_device device = kn_device_open(names[i]);
        kn_device_use(device);
        from_memory();
        from_dlpack();
        written_later();
        from_files();
        from_spoiled_files();
        handed_on();
        from_kernel();
        empty();
        program_without_attributes(device);
    }
    from_custom_op();
    nothing_to_show("null");
    nothing_to_show("fusion(null)");
    dtypes_in_dlpack();
    orders();
    return check_report();
}
