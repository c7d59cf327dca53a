/* Files of PyTorch, NumPy and safetensors (tests/store/files, written by tests/store/make_files.py): every dtype, layout and
   form gives the values that their own libraries see, and what is not known is refused with a reason. */
#include "support/check.h"
#include <kn/store.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "tests/store/files/"

typedef struct expected_tensor {
    const char *file, *name;
    kn_dtype dtype;
    int32_t rank;
    int64_t dims[KN_MAX_RANK];
    int count;
    double values[48];
} expected_tensor;

static const expected_tensor expected[] = {
#include "store/expected_files.inc"
};

static kn_store open_file(const char *file, const kn_store_args *args)
{
    char path[200];
    snprintf(path, sizeof path, FOLDER "%s", file);
    return kn_store_open(path, args);
}

static void check_one(const expected_tensor *e, const kn_store_args *args)
{
    kn_store store = open_file(e->file, args);
    int64_t index = kn_store_find(store, e->name);
    if (!CHECK(store != NULL && index >= 0)) {
        printf("  %s '%s': %s\n", e->file, e->name, kn_last_error());
        kn_store_close(store);
        return;
    }
    kn_store_entry entry;
    CHECK(kn_store_at(store, index, &entry) && !strcmp(entry.name, e->name) && entry.dtype == e->dtype);
    int64_t bytes = e->dtype == KN_F4_E2M1 ? e->count / 2 : kn_dtype_bytes(e->dtype, e->count);
    CHECK(entry.bytes == bytes && entry.shape.rank == e->rank);
    for (int32_t i = 0; i < e->rank; i++) CHECK(entry.shape.dims[i] == e->dims[i]);
    kn_tensor t = kn_keep(kn_store_tensor(store, index));
    kn_store_close(store); /* the tensor outlives the store */
    CHECK(kn_ok(t) && kn_dtype_of(t) == e->dtype);
    if (!check_values(t, e->values, e->count, 0, __FILE__, __LINE__)) printf("  %s '%s'\n", e->file, e->name);
}

static void test_values(void)
{
    static const kn_store_args mapped = {.map = true};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        kn_scope scope = kn_scope_begin();
        check_one(&expected[i], NULL);
        check_one(&expected[i], &mapped);
        kn_scope_end(scope, KN_NONE);
    }
}

static bool text_is(kn_store store, const char *wanted, const char *value)
{
    const char *name, *text;
    for (int64_t i = 0; kn_store_text(store, i, &name, &text); i++)
        if (!strcmp(name, wanted)) return !strcmp(text, value);
    return false;
}

/* A checkpoint of a training program: the weights are found among the rest, whose plain values are texts. */
static void test_checkpoint(void)
{
    kn_store store = open_file("net_checkpoint.pt", NULL);
    CHECK(store && kn_store_count(store) == 9 && kn_store_find(store, "fc1.weight") == 0);
    CHECK(text_is(store, "epoch", "7") && text_is(store, "loss", "0.25") && text_is(store, "note", "hello"));
    CHECK(text_is(store, "done", "true") && text_is(store, "nothing", "null"));
    CHECK(text_is(store, "sizes", "[1, 2.5, \"x\"]") && text_is(store, "args.depth", "3"));
    CHECK(text_is(store, "score", "1.5"));
    kn_store_close(store);
    store = open_file("net_checkpoint.pt", &(kn_store_args){.top_key = ""});
    CHECK(kn_store_find(store, "state_dict.fc1.weight") >= 0);
    CHECK(kn_store_find(store, "optimizer.state.0.exp_avg") >= 0 && kn_store_find(store, "best") >= 0);
    kn_store_close(store);
    store = open_file("net_checkpoint.pt", &(kn_store_args){.top_key = "optimizer.state"});
    CHECK(kn_store_find(store, "0.exp_avg_sq") >= 0);
    kn_store_close(store);
    CHECK(!open_file("net_checkpoint.pt", &(kn_store_args){.top_key = "weights"}));
    CHECK(strstr(kn_last_error(), "no entry 'weights'") != NULL);
}

static void test_formats(void)
{
    static const struct {
        const char *file;
        kn_store_format format;
    } rows[] = {{"dtypes.safetensors", KN_STORE_SAFETENSORS},
                {"torch_dtypes.pt", KN_STORE_PYTORCH},
                {"torch_dtypes_legacy.pt", KN_STORE_PYTORCH},
                {"torch_tar.pt", KN_STORE_PYTORCH},
                {"plain.npy", KN_STORE_NUMPY},
                {"numpy_dtypes.npz", KN_STORE_NUMPY}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kn_store store = open_file(rows[i].file, NULL);
        CHECK(kn_store_format_of(store) == rows[i].format);
        kn_store_close(store);
        kn_store_format wrong = rows[i].format == KN_STORE_NUMPY ? KN_STORE_SAFETENSORS : KN_STORE_NUMPY;
        CHECK(!open_file(rows[i].file, &(kn_store_args){.format = wrong}));
    }
    kn_store store = open_file("dtypes.safetensors", NULL);
    CHECK(text_is(store, "who", "safetensors") && text_is(store, "n", "1"));
    kn_store_close(store);
}

static void check_refused(const char *file, const char *words)
{
    kn_store store = open_file(file, NULL);
    CHECK(store == NULL);
    if (!CHECK(strstr(kn_last_error(), words) != NULL)) printf("  %s: %s\n", file, kn_last_error());
    kn_store_close(store);
}

/* A dtype that Kiln does not have is listed, and only reading it fails. */
static void check_unreadable(const char *file, const char *name, const char *words)
{
    kn_store store = open_file(file, NULL);
    kn_store_entry entry;
    int64_t index = kn_store_find(store, name);
    CHECK(kn_store_at(store, index, &entry) && entry.dtype == KN_DTYPE_NONE &&
          !strcmp(entry.dtype_text, words));
    kn_tensor t = kn_store_tensor(store, index);
    CHECK_POISON(t, words);
    CHECK(kn_error_code(t) == KN_ERROR_DTYPE);
    kn_store_close(store);
}

/* A pipe that nobody writes to is refused at once. */
static void test_pipe(void)
{
    char name[64];
    snprintf(name, sizeof name, "test_store_pipe_%ld.tmp", (long)getpid());
    CHECK(mkfifo(name, 0600) == 0);
    alarm(20);
    for (int map = 0; map < 2; map++)
        CHECK(!kn_store_open(name, &(kn_store_args){.map = map}) &&
              strstr(kn_last_error(), "not a plain file"));
    alarm(0);
    unlink(name);
}

static void test_refusals(void)
{
    check_refused("evil.pt", "wants to use 'os.system'");
    check_refused("text.npy", "dtype '<U1'");
    check_refused("records.npy", "records or objects");
    check_refused("none.npy", "No such file");
    check_unreadable("torch_complex.pt", "complex", "c64");
    check_unreadable("torch_stored_views.pt", "f4", "float4_e2m1fn_x2");
    check_refused("ml_e4m3.npy", "dtype '<V1', which Kiln does not have: a type of ml_dtypes");
    check_unreadable("complex.npy", "value", "c128");
    CHECK(!kn_store_open("tests/store/files", NULL));
    CHECK(strstr(kn_last_error(), "not a plain file") != NULL);
    CHECK(!kn_store_open(NULL, NULL) && !kn_store_open_memory(NULL, 3, NULL));
    CHECK(!kn_store_open_memory("", 0, NULL) && strstr(kn_last_error(), "empty") != NULL);
    CHECK(!kn_store_open_memory("hello world", 11, NULL) &&
          strstr(kn_last_error(), "not a safetensors") != NULL);
    CHECK(!open_file("plain.npy", &(kn_store_args){.limit = 10}) &&
          strstr(kn_last_error(), "limit of 10") != NULL);
    CHECK(!open_file("plain.npy", &(kn_store_args){.limit = -1}));
    CHECK_POISON(kn_store_tensor(NULL, 0), "kn_store_tensor: the store is NULL");
    kn_store store = open_file("plain.npy", NULL);
    CHECK_POISON(kn_store_tensor(store, 1), "no tensor 1 of 1");
    CHECK(kn_store_find(store, "other") == -1 && !kn_store_at(store, 1, &(kn_store_entry){0}));
    kn_store_close(store);
    kn_store_close(NULL);
}

/* Arrays in Fortran's order with axes of every small size: the first index runs fastest. */
static void test_fortran_sizes(void)
{
    for (int code = 0; code < 64; code++) {
        int size[3] = {code % 4 + 1, code / 4 % 4 + 1, code / 16 + 1}, n = size[0] * size[1] * size[2];
        unsigned char file[256] = "\x93NUMPY\x01";
        int head = snprintf((char *)file + 10, 100,
                            "{'descr': '|u1', 'fortran_order': True, 'shape': (%d, %d, %d), }", size[0],
                            size[1], size[2]);
        file[8] = (unsigned char)head;
        double want[64];
        for (int i = 0; i < n; i++) file[10 + head + i] = (unsigned char)i;
        for (int i = 0; i < n; i++) { /* i counts with the last index fastest */
            int c = i % size[2], b = i / size[2] % size[1], a = i / size[2] / size[1];
            want[i] = a + size[0] * (b + size[1] * c);
        }
        kn_store store = kn_store_open_memory(file, (size_t)(10 + head + n), NULL);
        kn_tensor t = kn_store_tensor(store, 0);
        CHECK(kn_size(t, 0) == size[0] && kn_size(t, 2) == size[2]);
        check_values(t, want, n, 0, __FILE__, __LINE__);
        kn_drop(t);
        kn_store_close(store);
    }
}

int main(void)
{
    test_values();
    test_checkpoint();
    test_formats();
    test_refusals();
    test_fortran_sizes();
    test_pipe();
    kn_memory_trim();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
