/* Files with dtypes that are only stored: what is written, that it comes back as it was, and what is refused. */
#define _GNU_SOURCE
#include "core/small_types.h"
#include "store/store_object.h"
#include "test_store_net.h"
#include <kn/nn/attention_layers.h>

#define GOLDEN "tests/store/golden/stored_3"

typedef struct sample {
    const char *name;
    kn_shape shape;
} sample;

static const sample samples[] = {{"even", {2, {2, 4}}},  {"odd", {2, {3, 5}}}, {"scalar", {0, {0}}},
                                 {"empty", {2, {0, 3}}}, {"one", {1, {1}}},    {"three", {1, {3}}},
                                 {"all", {2, {2, 128}}}};
enum { SAMPLES = sizeof samples / sizeof *samples };

static int64_t count_of(const kn_shape *shape) { return kni_store_elements(shape, 1); }

static kn_tensor make(kn_dtype dtype, const kn_shape *shape)
{
    uint8_t codes[256];
    for (int64_t i = 0; i < count_of(shape); i++) codes[i] = (uint8_t)(i * 7 % kni_small_count(dtype));
    return kn_from(codes, dtype, *shape);
}

/* One sample of each stored dtype, or all of them, and one tensor of another dtype. */
static kn_state stored_state(bool all)
{
    kn_state state = kn_state_make();
    char name[64];
    for (int d = KN_F8_E4M3; d <= KN_U2; d++)
        for (int i = 0; i < SAMPLES; i++) {
            if (!all && i != d % 3) continue;
            snprintf(name, sizeof name, "%s \"%s\"", kn_dtype_name((kn_dtype)d), samples[i].name);
            CHECK(kn_state_put(state, "", name, make((kn_dtype)d, &samples[i].shape)) == KN_OK);
        }
    CHECK(kn_state_put(state, "", "other", kn_ones(KN_SHAPE(3), KN_F32)) == KN_OK);
    CHECK(kn_state_put_text(state, "note", "kept") == KN_OK);
    return state;
}

static void check_same(kn_state wanted, kn_state got)
{
    CHECK(kn_state_count(got) == kn_state_count(wanted));
    CHECK(kn_state_text_count(got) == 1); /* what is Kiln's own is no text of the state */
    for (int64_t i = 0; i < kn_state_count(wanted); i++) {
        kn_tensor want, have;
        uint8_t a[1024] = {0}, b[1024] = {0};
        const char *name = kn_state_name(wanted, i, &want);
        have = kn_state_get(got, "", name);
        kn_shape x = kn_shape_of_tensor(want), y = kn_shape_of_tensor(have);
        size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(want), kn_count(want));
        bool good = kn_dtype_of(have) == kn_dtype_of(want) && x.rank == y.rank &&
                    !memcmp(x.dims, y.dims, (size_t)x.rank * sizeof *x.dims) &&
                    kn_read(want, a, bytes) == KN_OK && kn_read(have, b, bytes) == KN_OK &&
                    !memcmp(a, b, bytes);
        if (!CHECK(good)) printf("  %s: %s %d\n", name, kn_dtype_name(kn_dtype_of(have)), (int)y.rank);
    }
}

static void comes_back_as_it_was(kn_store_format format)
{
    kn_state state = stored_state(true), again = kn_state_make();
    void *data = NULL;
    size_t bytes = 0;
    CHECK(kn_state_write_memory(state, &data, &bytes, format) == KN_OK);
    CHECK(kn_state_read_memory(again, data, bytes) == KN_OK);
    check_same(state, again);
    free(data);
    kn_state_free(state), kn_state_free(again);
}

static void old_files_are_read_and_still_written(const char *golden, const char *name)
{
    kn_state state = stored_state(false), old = kn_state_make();
    CHECK(kn_state_read(old, golden) == KN_OK);
    check_same(state, old);
    CHECK(kn_state_write(state, in_folder(name), KN_STORE_AUTO) == KN_OK);
    kni_buffer committed = content_of(golden), now = content_of(in_folder(name));
    CHECK(same_content(&committed, &now));
    kni_buffer_free(&committed), kni_buffer_free(&now);
    kn_state_free(state), kn_state_free(old);
}

/* The header of one tensor's file as text, with a zero at its end. */
static char *header_of(kn_tensor t, kni_buffer *file)
{
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "x", t) == KN_OK);
    void *data = NULL;
    size_t bytes = 0;
    CHECK(kn_state_write_memory(state, &data, &bytes, KN_STORE_AUTO) == KN_OK);
    kni_buffer_append(file, data, bytes);
    free(data);
    kn_state_free(state);
    uint64_t n = kni_little((const unsigned char *)file->data, 8);
    char *text = calloc((size_t)n + 1, 1);
    memcpy(text, file->data + 8, (size_t)n);
    return text;
}

static void files_have_the_names_of_others(void)
{
    static const struct {
        kn_dtype dtype;
        kn_shape shape;
        const char *words; /* of the header */
        const char *last;  /* the last byte: 0, 7, 14, 21 ... modulo the codes, packed */
    } rows[] = {
        {KN_F8_E4M3, {1, {3}}, "{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_offsets\":[0,3]}", "\x0e"},
        {KN_F8_E5M2, {1, {3}}, "{\"dtype\":\"F8_E5M2\",\"shape\":[3],", "\x0e"},
        {KN_F8_E4M3_FNUZ, {1, {3}}, "{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[3],", "\x0e"},
        {KN_F8_E5M2_FNUZ, {1, {3}}, "{\"dtype\":\"F8_E5M2FNUZ\",\"shape\":[3],", "\x0e"},
        {KN_E8M0, {1, {3}}, "{\"dtype\":\"F8_E8M0\",\"shape\":[3],", "\x0e"},
        {KN_F4_E2M1, {2, {1, 4}}, "{\"dtype\":\"F4\",\"shape\":[1,4],\"data_offsets\":[0,2]}", "\x5e"},
        {KN_F4_E2M1, {1, {3}}, "{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}", "\x0e"},
        {KN_I4, {2, {2, 2}}, "{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}", "\x5e"},
        {KN_U4, {2, {2, 2}}, "\\\"x\\\":{\\\"dtype\\\":\\\"u4\\\",\\\"shape\\\":[2,2]}", "\x5e"},
        {KN_I2, {1, {5}}, "\\\"x\\\":{\\\"dtype\\\":\\\"i2\\\",\\\"shape\\\":[5]}", "\x00"},
        {KN_U2, {1, {4}}, "{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}", "\x6c"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kni_buffer file = {0};
        char *text = header_of(make(rows[i].dtype, &rows[i].shape), &file);
        if (!CHECK(strstr(text, rows[i].words))) printf("  row %zu: %s\n", i, text);
        CHECK(strstr(text, "\"kiln.format\":\"3\""));
        if (!CHECK(file.data[file.length - 1] == rows[i].last[0]))
            printf("  row %zu: %02x\n", i, (unsigned char)file.data[file.length - 1]);
        free(text);
        kni_buffer_free(&file);
    }
    kni_buffer file = {0};
    char *text = header_of(kn_ones(KN_SHAPE(3), KN_F16), &file);
    CHECK(strstr(text, "\"kiln.format\":\"2\"") && !strstr(text, KNI_STORE_DTYPES_NAME));
    free(text);
    kni_buffer_free(&file);
}

/* ---- hostile files */

static size_t forge(char *file, const char *header, size_t data)
{
    size_t n = strlen(header);
    memset(file, 0, 8);
    kni_put_little((unsigned char *)file, n, 8);
    memcpy(file + 8, header, n);
    memset(file + 8 + n, 0x5a, data);
    return 8 + n + data;
}

static void forged_dtypes_are_refused(void)
{
#define TENSOR ",\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}"
#define META(text) "{\"__metadata__\":{\"kiln.dtypes\":\"" text "\"}"
    static const struct {
        const char *header, *words;
    } rows[] = {
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[4]}}") TENSOR, NULL},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[3]}}") TENSOR, NULL},
        {META("{}") TENSOR, NULL},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[5]}}") TENSOR, "does not fit"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[2]}}") TENSOR, "does not fit"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i2\\\",\\\"shape\\\":[4]}}") TENSOR, "does not fit"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[]}}") TENSOR, "does not fit"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[0,4]}}") TENSOR, "does not fit"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[4294967296,4294967296]}}") TENSOR,
         "does not fit"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[9223372036854775807]}}") TENSOR,
         "does not fit"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[-4]}}") TENSOR, "no size"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[1,1,1,1,1,1,1,1,1,1,1,1,4]}}") TENSOR,
         "axes"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":4}}") TENSOR, "no shape"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\"}}") TENSOR, "no shape"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i3\\\",\\\"shape\\\":[4]}}") TENSOR,
         "no dtype that is only stored"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"f32\\\",\\\"shape\\\":[4]}}") TENSOR,
         "no dtype that is only stored"},
        {META("{\\\"x\\\":{\\\"dtype\\\":7,\\\"shape\\\":[4]}}") TENSOR, "no dtype that is only stored"},
        {META("{\\\"x\\\":{\\\"shape\\\":[4]}}") TENSOR, "no dtype that is only stored"},
        {META("{\\\"x\\\":[1]}") TENSOR, "is no object"},
        {META("[]") TENSOR, "is no JSON object"},
        {META("{\\\"x\\\":") TENSOR, "kiln.dtypes:1:"},
        {META("{\\\"y\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[4]}}") TENSOR,
         "names 'y', which is not there"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[4]},\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\","
              "\\\"shape\\\":[4]}}") TENSOR,
         "'x'"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[4]}}") ",\"x\":{\"dtype\":\"I8\","
                                                                          "\"shape\":[2],"
                                                                          "\"data_offsets\":[0,2]}}",
         "which has the dtype i8"},
        {META("{\\\"x\\\":{\\\"dtype\\\":\\\"i4\\\",\\\"shape\\\":[4]}}") ",\"x\":{\"dtype\":\"U8\","
                                                                          "\"shape\":[2,1],"
                                                                          "\"data_offsets\":[0,2]}}",
         "does not fit"},
        {"{\"x\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]}}", NULL},
        {"{\"x\":{\"dtype\":\"F4\",\"shape\":[5],\"data_offsets\":[0,2]}}", "has 2 bytes"},
        {"{\"x\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,2]}}", "has 2 bytes"},
        {"{\"x\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,2]}}", "has 2 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char file[1024];
        size_t bytes = forge(file, rows[i].header, 2);
        kn_store store = kn_store_open_memory(file, bytes, NULL);
        if (!rows[i].words) {
            CHECK(store && kn_ok(kn_store_tensor(store, 0)));
        } else if (!CHECK(!store && strstr(kn_last_error(), rows[i].words))) {
            printf("  row %zu: %s\n", i, store ? "was opened" : kn_last_error());
        }
        kn_store_close(store);
    }
    /* The limit is that of the elements in memory. */
    char file[1024];
    size_t bytes = forge(file, rows[0].header, 2);
    CHECK(!kn_store_open_memory(file, bytes, &(kn_store_args){.limit = 3}));
    CHECK(strstr(kn_last_error(), "limit of 3"));
    kn_state state = kn_state_make();
    CHECK(kn_state_put_text(state, KNI_STORE_DTYPES_NAME, "{}") == KN_OK);
    CHECK_ERROR(kn_state_write(state, in_folder("x.safetensors"), KN_STORE_AUTO), "Kiln's own");
    kn_state_free(state);
}

static void large_packed_tensors_are_justified(void)
{
    /* 20 million elements of two bits are 5 MB of the file: above what may be repeated without a limit. */
    enum { N = 20000001 };
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "x", kn_ones(KN_SHAPE(N), KN_U2)) == KN_OK);
    CHECK(kn_state_write(state, in_folder("large.safetensors"), KN_STORE_AUTO) == KN_OK);
    kn_state_free(state);
    kn_store store = kn_store_open(in_folder("large.safetensors"), NULL);
    kn_store_entry entry = {0};
    CHECK(kn_store_at(store, 0, &entry));
    CHECK(entry.dtype == KN_U2 && entry.shape.dims[0] == N && entry.bytes == N / 4 + 1);
    kn_tensor x = kn_store_tensor(store, 0);
    CHECK(kn_count(x) == N && kn_dtype_of(x) == KN_U2);
    kn_drop(x);
    kn_store_close(store);
}

/* ---- NumPy */

static void npy_says_what_to_write(void)
{
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "x", kn_ones(KN_SHAPE(2), KN_F8_E5M2)) == KN_OK);
    CHECK_ERROR(kn_state_write(state, in_folder("x.npy"), KN_STORE_AUTO),
                ".npy cannot say that its elements are f8_e5m2; write .npz or .safetensors");
    kn_state_free(state);
}

/* ---- maps and modules */

static void bytes_are_used_in_place(void)
{
    enum { N = 1 << 20 };
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "f8", kn_ones(KN_SHAPE(N), KN_F8_E4M3)) == KN_OK);
    CHECK(kn_state_put(state, "", "i4", kn_ones(KN_SHAPE(N), KN_I4)) == KN_OK);
    CHECK(kn_state_write(state, in_folder("map.safetensors"), KN_STORE_AUTO) == KN_OK);
    kn_state_free(state);
    kn_store store = kn_store_open(in_folder("map.safetensors"), &(kn_store_args){.map = true});
    int64_t before = kn_memory_stats().bytes_now;
    kn_tensor f8 = kn_own(kn_store_tensor(store, kn_store_find(store, "f8")));
    CHECK(kn_memory_stats().bytes_now - before < N);
    kn_tensor i4 = kn_own(kn_store_tensor(store, kn_store_find(store, "i4"))); /* unpacked: a copy */
    CHECK(kn_memory_stats().bytes_now - before >= N);
    CHECK(kn_item(kn_slice(f8, 0, N - 1, N, 1)) == 1 && kn_item(kn_slice(i4, 0, N - 1, N, 1)) == 1);
    kn_drop(f8), kn_drop(i4);
    kn_store_close(store);
}

static void modules_are_saved_so(void)
{
    Net net, other;
    net_make(&net), net_make(&other);
    CHECK(kn_save(KN_MODULE_OF(Net, &net), in_folder("f8.safetensors"),
                  &(kn_save_args){.cast = KN_F8_E4M3}) == KN_OK);
    CHECK(kn_load(KN_MODULE_OF(Net, &other), in_folder("f8.safetensors"), NULL, NULL) == KN_OK);
    kn_scope scope = kn_scope_begin();
    kn_tensor want = kn_cast(kn_cast(kn_value(net.fc1.weight), KN_F8_E4M3), KN_F32);
    CHECK(kn_dtype_of(kn_value(other.fc1.weight)) == KN_F32);
    CHECK(kn_item(kn_all(kn_equal(want, kn_value(other.fc1.weight)), KN_AXES_ALL, false)) == 1);
    CHECK(kn_item(kn_all(kn_equal(kn_value(net.fc1.weight), kn_value(other.fc1.weight)), KN_AXES_ALL,
                         false)) == 0);
    kn_scope_end(scope, KN_NONE);
    CHECK_ERROR(kn_save(KN_MODULE_OF(Net, &net), in_folder("i4.safetensors"), &(kn_save_args){.cast = KN_I4}),
                "floats cannot be stored as i4");
    net_drop(&net), net_drop(&other);
}

/* Rows of query, key and value begin inside a byte of the packed in_proj_bias of three times three elements. */
static void rows_may_begin_inside_a_byte(void)
{
    kn_nn_attention a = {0}, b = {0};
    CHECK(kn_nn_attention_init(&a, 3, 1, NULL) == KN_OK && kn_nn_attention_init(&b, 3, 1, NULL) == KN_OK);
    kn_scope scope = kn_scope_begin();
    const float values[3] = {-6, 0.5f, 3};
    CHECK(kn_param_set(&a.key.bias, kn_from(values, KN_F32, KN_SHAPE(3))) == KN_OK);
    kn_module from = KN_MODULE_OF(kn_nn_attention, &a), to = KN_MODULE_OF(kn_nn_attention, &b);
    CHECK(kn_save(from, in_folder("f4.safetensors"), &(kn_save_args){.cast = KN_F4_E2M1}) == KN_OK);
    kn_store store = kn_store_open(in_folder("f4.safetensors"), NULL);
    kn_store_entry entry = {0};
    CHECK(kn_store_at(store, kn_store_find(store, "in_proj_bias"), &entry));
    CHECK(entry.dtype == KN_F4_E2M1 && entry.shape.dims[0] == 9 && entry.bytes == 5);
    kn_store_close(store);
    CHECK(kn_load(to, in_folder("f4.safetensors"), NULL, NULL) == KN_OK);
    float got[3] = {0};
    CHECK(kn_read(kn_value(b.key.bias), got, sizeof got) == KN_OK && !memcmp(got, values, sizeof got));
    kn_scope_end(scope, KN_NONE);
    kn_module_drop(from), kn_module_drop(to);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--write")) { /* test_store_dtypes --write FILE: for a new version */
        kn_state state = stored_state(false);
        CHECK(kn_state_write(state, argv[2], KN_STORE_AUTO) == KN_OK);
        kn_state_free(state);
        return check_report();
    }
    folder_make();
    comes_back_as_it_was(KN_STORE_SAFETENSORS);
    comes_back_as_it_was(KN_STORE_NUMPY);
    old_files_are_read_and_still_written(GOLDEN ".safetensors", "golden.safetensors");
    old_files_are_read_and_still_written(GOLDEN ".npz", "golden.npz");
    files_have_the_names_of_others();
    forged_dtypes_are_refused();
    large_packed_tensors_are_justified();
    npy_says_what_to_write();
    bytes_are_used_in_place();
    modules_are_saved_so();
    rows_may_begin_inside_a_byte();
    folder_remove();
    kn_memory_trim();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
