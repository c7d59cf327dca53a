/* Checksums of safetensors files and of .npz: every flipped bit and every cut of a checkpoint is noticed, with a text that says where; files
   without checksums and files that others wrote anew are read; what other programs need to compute the same. */
#define _GNU_SOURCE
#include "store/store_object.h"
#include "support/checksum.h"
#include "support/failure.h"
#include "test_store_net.h"
#include <sys/stat.h>
#include <unistd.h>

/* ---- the function */

static void test_crc32c(void)
{
    static unsigned char data[20011];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * i >> 3);
    CHECK(kni_crc32c(0, "123456789", 9) == 0xe3069283 && kni_crc32c_plain(0, "123456789", 9) == 0xe3069283);
    CHECK(kni_crc32c(0, data, 0) == 0);
    for (size_t n = 0; n < sizeof data; n += 997) {
        uint32_t whole = kni_crc32c(0, data, n);
        CHECK(kni_crc32c_plain(0, data, n) == whole);
        CHECK(kni_crc32c(kni_crc32c(0, data, n / 3), data + n / 3, n - n / 3) == whole);
    }
}

/* ---- a small checkpoint */

static kn_state small_state(void)
{
    kn_state state = kn_state_make();
    const float weights[6] = {1, -2, 3, 4.5f, 5, 6};
    const uint8_t bytes[4] = {1, 0, 1, 1};
    CHECK(kn_state_put(state, "model/", "weight", kn_from(weights, KN_F32, KN_SHAPE(2, 3))) == KN_OK);
    CHECK(kn_state_put(state, "model/", "same", kn_from(weights, KN_F32, KN_SHAPE(3, 2))) == KN_OK);
    CHECK(kn_state_put(state, "model/", "mask", kn_from(bytes, KN_BOOL, KN_SHAPE(4))) == KN_OK);
    CHECK(kn_state_put(state, "model/", "empty", kn_zeros(KN_SHAPE(0, 4), KN_F16)) == KN_OK);
    CHECK(kn_state_put_int(state, "learner/", "step", 7) == KN_OK);
    /* Names that one bit makes the same, and a shape that one bit makes empty. */
    CHECK(kn_state_put(state, "", "a", kn_from(weights, KN_F32, KN_SHAPE(2))) == KN_OK);
    CHECK(kn_state_put(state, "", "e", kn_from(weights, KN_F32, KN_SHAPE(2))) == KN_OK);
    /* In the file: U8 with a text that says dtype and shape, and F4. */
    CHECK(kn_state_put(state, "", "i4", kn_from(bytes, KN_I4, KN_SHAPE(3, 1))) == KN_OK);
    CHECK(kn_state_put(state, "", "f4", kn_from(bytes, KN_F4_E2M1, KN_SHAPE(4))) == KN_OK);
    CHECK(kn_state_put_text(state, "note", "a \"text\" with \x1b and \xc3\xa4 and \xff") == KN_OK);
    return state;
}

static kni_buffer small_file_as(kn_store_format format)
{
    kn_state state = small_state();
    kni_buffer file = {0};
    void *data = NULL;
    size_t bytes = 0;
    CHECK(kn_state_write_memory(state, &data, &bytes, format) == KN_OK);
    kni_buffer_append(&file, data, bytes);
    free(data);
    kn_state_free(state);
    return file;
}

static kni_buffer small_file(void) { return small_file_as(KN_STORE_SAFETENSORS); }

/* Everything of a state as one text, to compare what two loads gave. */
static kni_buffer description(kn_state state)
{
    kni_buffer out = {0};
    const char *text;
    kn_tensor value;
    for (int64_t i = 0; i < kn_state_count(state); i++) {
        double elements[8] = {0};
        kni_buffer_format(&out, "%s", kn_state_name(state, i, &value));
        kni_buffer_format(&out, " %s %d", kn_dtype_name(kn_dtype_of(value)), (int)kn_rank(value));
        for (int32_t k = 0; k < kn_rank(value); k++) kni_buffer_format(&out, " %d", (int)kn_size(value, k));
        CHECK(kn_read_as(value, KN_F64, elements, (size_t)kn_count(value) * sizeof *elements) == KN_OK);
        for (int64_t k = 0; k < kn_count(value); k++) kni_buffer_format(&out, " %a", elements[k]);
        kni_buffer_text(&out, "\n");
    }
    for (int64_t i = 0; i < kn_state_text_count(state); i++) {
        const char *name = kn_state_text_name(state, i, &text);
        kni_buffer_format(&out, "%s = %s\n", name, text);
    }
    return out;
}

/* ---- damage */

static void test_every_bit(kn_store_format format)
{
    kni_buffer file = small_file_as(format);
    kn_state state = kn_state_make();
    CHECK(kn_state_read_memory(state, file.data, file.length) == KN_OK);
    kni_buffer good = description(state);
    kn_state_free(state);
    size_t silent = 0, unnamed = 0, unproven = 0;
    for (size_t bit = 0; bit < file.length * 8; bit++) {
        file.data[bit / 8] ^= (char)(1 << bit % 8);
        state = kn_state_make();
        uint64_t before = kni_damage_count();
        if (kn_state_read_memory(state, file.data, file.length) == KN_OK) {
            kni_buffer now = description(state);
            if (now.length != good.length || memcmp(now.data, good.data, good.length)) {
                if (!silent++) printf("  bit %zu changes what is read\n", bit);
            }
            kni_buffer_free(&now);
        } else {
            unproven += kni_damage_count() == before;
            if (!strstr(kn_last_error(), "damaged") && !unnamed++)
                printf("  bit %zu: %s\n", bit, kn_last_error());
            CHECK(kn_state_count(state) == 0);
        }
        kn_state_free(state);
        file.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    CHECK(silent == 0 && unnamed == 0 && unproven == 0);
    kni_buffer_free(&good);
    kni_buffer_free(&file);
}

static void test_every_cut(kn_store_format format)
{
    kni_buffer file = small_file_as(format);
    size_t bad = 0;
    for (size_t n = 0; n < file.length; n++) {
        char *cut = malloc(n ? n : 1);
        memcpy(cut, file.data, n);
        kn_state state = kn_state_make();
        uint64_t before = kni_damage_count();
        bad += kn_state_read_memory(state, cut, n) == KN_OK || !strstr(kn_last_error(), "damaged") ||
               kni_damage_count() == before;
        kn_state_free(state);
        free(cut);
    }
    CHECK(bad == 0);
    kni_buffer_free(&file);
}

static size_t place_of(const kni_buffer *file, const char *words)
{
    const char *found = memmem(file->data, file->length, words, strlen(words));
    return CHECK(found != NULL) ? (size_t)(found - file->data) : 0;
}

static void test_says_where(void)
{
    kni_buffer file = small_file();
    kn_state state = kn_state_make();
    file.data[file.length - 1] ^= 1; /* of the narrowest dtype: the mask */
    CHECK_ERROR(kn_state_read_memory(state, file.data, file.length), "tensor 'model/mask' (bytes ");
    file.data[file.length - 1] ^= 1;
    size_t at = place_of(&file, "[2,3]");
    memcpy(file.data + at, "[3,2]", 5);
    CHECK_ERROR(kn_state_read_memory(state, file.data, file.length), "the header (names, ");
    memcpy(file.data + at, "[2,3]", 5);
    /* Without its checksums a file of this version is damaged too, or hiding them would be enough. */
    at = place_of(&file, "kiln.checksum");
    file.data[at] = 'K';
    CHECK_ERROR(kn_state_read_memory(state, file.data, file.length), "is no list of the 10 checksums");
    kn_state_free(state);
    kni_buffer_free(&file);
}

/* ---- when, and how to go without */

static void test_lazily(void)
{
    kni_buffer file = small_file();
    file.data[file.length - 1] ^= 1;
    CHECK(kni_file_write(in_folder("lazy.safetensors"), file.data, file.length) == KN_OK);
    for (int map = 0; map < 2; map++) {
        kn_store store = kn_store_open(in_folder("lazy.safetensors"), &(kn_store_args){.map = map});
        int64_t mask = kn_store_find(store, "model/mask"), weight = kn_store_find(store, "model/weight");
        CHECK(kn_ok(kn_store_tensor(store, weight)));
        CHECK_POISON(kn_store_tensor(store, mask), "damaged: tensor 'model/mask'");
        kni_store *inside =
            kni_store_open(in_folder("lazy.safetensors"), &(kn_store_args){.map = map}, "test");
        CHECK_POISON(kni_store_rows(inside, mask, 0, 1), "damaged: tensor 'model/mask'");
        kni_store_close(inside);
        CHECK_ERROR(kn_store_check(store, NULL), "damaged: tensor 'model/mask'");
        kn_store_close(store);
        kn_store_args skip = {.map = map, .skip_checksum = true};
        store = kn_store_open(in_folder("lazy.safetensors"), &skip);
        CHECK_VALUES(kn_store_tensor(store, mask), 0, 1, 0, 1, 0);
        CHECK_ERROR(kn_store_check(store, NULL), "damaged: tensor 'model/mask'");
        kn_store_close(store);
    }
    kni_buffer_free(&file);
    CHECK_ERROR(kn_store_check(NULL, NULL), "store is NULL");
}

static void test_check_counts(void)
{
    static const struct {
        const char *path;
        int64_t checked;
    } files[] = {{"tests/store/golden/state_2.safetensors", 16},
                 {"tests/store/golden/stored_3.safetensors", 11},
                 {"tests/store/golden/state_1.safetensors", 0},
                 {"tests/store/files/dtypes.safetensors", 0},
                 {"tests/store/files/numpy_dtypes.npz", 12}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kn_store store = kn_store_open(files[i].path, NULL);
        int64_t checked = -1;
        CHECK(kn_store_check(store, &checked) == KN_OK);
        if (!CHECK(checked == files[i].checked)) printf("  %s: %lld\n", files[i].path, (long long)checked);
        kn_store_close(store);
    }
}

/* What `kn_load` reads is compared as well, and a module keeps its values. */
static void test_load(void)
{
    Net net;
    net_make(&net);
    CHECK(kn_load(KN_MODULE_OF(Net, &net), "tests/store/files/net_state.pt", NULL, NULL) == KN_OK);
    CHECK(kn_save(KN_MODULE_OF(Net, &net), in_folder("net.safetensors"), NULL) == KN_OK);
    kni_buffer file = content_of(in_folder("net.safetensors"));
    for (size_t i = 0; i < 3; i++) {
        size_t at = file.length - 1 - i * 40;
        file.data[at] ^= 0x10;
        CHECK_ERROR(kn_load_memory(KN_MODULE_OF(Net, &net), file.data, file.length, NULL, NULL),
                    "damaged: tensor '");
        CHECK(net_is_filled(&net));
        kn_load_args skip = {.store = {.skip_checksum = true}};
        CHECK(kn_load_memory(KN_MODULE_OF(Net, &net), file.data, file.length, &skip, NULL) == KN_OK);
        file.data[at] ^= 0x10;
        CHECK(kn_load_memory(KN_MODULE_OF(Net, &net), file.data, file.length, NULL, NULL) == KN_OK);
    }
    kni_buffer_free(&file);
    net_drop(&net);
}

/* ---- other programs */

/* The same content in another layout, as Python's safetensors would write it with the metadata it read: the order of the
   tensors, of the metadata and of the members differs, and there are spaces. */
static void test_other_layout(void)
{
    static const char other[] =
        "{ \"b\": {\"shape\":[2], \"dtype\":\"U8\", \"data_offsets\":[0,2]},\n"
        "\"a\": {\"data_offsets\":[2,3], \"dtype\":\"U8\", \"shape\":[1]},"
        "\"__metadata__\": {\"kiln.checksum\":\"%s\", \"z\":\"1\", \"kiln.format\":\"2\"} }";
    kn_state state = kn_state_make();
    const uint8_t values[3] = {5, 6, 7};
    CHECK(kn_state_put(state, "", "a", kn_from(values + 2, KN_U8, KN_SHAPE(1))) == KN_OK);
    CHECK(kn_state_put(state, "", "b", kn_from(values, KN_U8, KN_SHAPE(2))) == KN_OK);
    CHECK(kn_state_put_text(state, "z", "1") == KN_OK);
    CHECK(kn_state_write(state, in_folder("first.safetensors"), KN_STORE_AUTO) == KN_OK);
    kn_store store = kn_store_open(in_folder("first.safetensors"), NULL);
    const char *name = "", *text = "";
    for (int64_t i = 0; strcmp(name, "kiln.checksum") && kn_store_text(store, i, &name, &text); i++) continue;
    /* Computed once by a short program in Python from the words of docs/checksums.md. */
    if (!CHECK(!strcmp(text, "crc32c 33e647b7 86b737ba 8ae86991"))) printf("  %s\n", text);
    kni_buffer header = {0}, file = {0};
    kni_buffer_format(&header, other, text);
    unsigned char length[8];
    kni_put_little(length, header.length, 8);
    kni_buffer_append(&file, length, 8);
    kni_buffer_append(&file, header.data, header.length);
    kni_buffer_append(&file, values, 3);
    kn_state back = kn_state_make();
    CHECK(kn_state_read_memory(back, file.data, file.length) == KN_OK);
    CHECK_VALUES(kn_state_get(back, "", "b"), 0, 5, 6);
    file.data[file.length - 1] ^= 2;
    CHECK_ERROR(kn_state_read_memory(back, file.data, file.length), "tensor 'a'");
    kn_state_free(back);
    kn_state_free(state);
    kn_store_close(store);
    kni_buffer_free(&header);
    kni_buffer_free(&file);
}

/* A pipe gets the same bytes as a file, though nobody can go back in it. */
static void test_pipe(void)
{
    kn_state state = small_state();
    kni_buffer file = small_file();
    CHECK(mkfifo(in_folder("pipe.safetensors"), 0600) == 0);
    FILE *reader = fopen(in_folder("pipe.safetensors"), "r+b"); /* both ends, so that nobody waits */
    CHECK(kn_state_write(state, in_folder("pipe.safetensors"), KN_STORE_AUTO) == KN_OK);
    char *got = calloc(1, file.length);
    CHECK(reader && fread(got, 1, file.length, reader) == file.length);
    CHECK(!memcmp(got, file.data, file.length));
    if (reader) fclose(reader);
    free(got);
    kni_buffer_free(&file);
    kn_state_free(state);
}

static void test_names(void)
{
    kn_state state = kn_state_make();
    CHECK(kn_state_put_int(state, "", "bad \xff name", 1) == KN_OK);
    CHECK_ERROR(kn_state_write(state, in_folder("names.safetensors"), KN_STORE_AUTO), "is not UTF-8");
    kn_state_free(state);
    state = kn_state_make();
    CHECK(kn_state_put_text(state, "kiln.checksum", "mine") == KN_OK);
    CHECK_ERROR(kn_state_write(state, in_folder("names.safetensors"), KN_STORE_AUTO), "is Kiln's own");
    kn_state_free(state);
}

int main(void)
{
    folder_make();
    test_crc32c();
    test_every_bit(KN_STORE_SAFETENSORS);
    test_every_bit(KN_STORE_NUMPY);
    test_every_cut(KN_STORE_SAFETENSORS);
    test_every_cut(KN_STORE_NUMPY);
    test_says_where();
    test_lazily();
    test_check_counts();
    test_load();
    test_other_layout();
    test_pipe();
    test_names();
    folder_remove();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
