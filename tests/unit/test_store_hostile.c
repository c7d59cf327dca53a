/* Bad input and bad luck: files cut at every byte, files with a changed byte, forged headers, a full disk, writers that are
   killed, and two writers at once. Never a crash; always an error or the old file. */
#define _GNU_SOURCE
#include "store/store_object.h"
#include "store/zip.h"
#include "support/checksum.h"
#include "test_store_net.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define FOLDER "tests/store/files/"

static const char *const samples[] = {
    "dtypes.safetensors",    "torch_dtypes.pt",      "torch_dtypes_legacy.pt",
    "torch_tar.pt",          "torch_views.pt",       "net_checkpoint.pt",
    "numpy_dtypes.npz",      "numpy_compressed.npz", "plain.npy",
    "torch_deflated.pt",     "stored.safetensors",   "../golden/stored_3.safetensors",
    "../golden/stored_3.npz"};
enum { SAMPLES = sizeof samples / sizeof *samples };

/* Opens and reads everything; false when something was refused. */
static bool read_everything(const void *data, size_t bytes)
{
    kn_store store = kn_store_open_memory(data, bytes, &(kn_store_args){.limit = 1 << 16});
    if (!store) return false;
    bool good = true;
    for (int64_t i = 0; i < kn_store_count(store); i++) {
        kn_tensor t = kn_store_tensor(store, i);
        good = kn_ok(t) && good;
        kn_drop(t);
    }
    kn_store_close(store);
    return good;
}

static kni_buffer sample(int i)
{
    char path[200];
    snprintf(path, sizeof path, FOLDER "%s", samples[i]);
    return content_of(path);
}

/* What follows the last member that is read, and the padding at the end of a tar archive, carry nothing. */
static size_t needed(int i, size_t length) { return strcmp(samples[i], "torch_tar.pt") ? length : 5 * 512; }

static void test_truncated(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        kni_buffer file = sample(i);
        size_t bad = 0, wanted = needed(i, file.length);
        for (size_t n = 0; n < wanted; n++) {
            /* A copy of exactly n bytes, so that reading past its end is found. */
            char *cut = malloc(n ? n : 1);
            memcpy(cut, file.data, n);
            bad += read_everything(cut, n);
            free(cut);
        }
        if (!CHECK(bad == 0)) printf("  %s: %zu of %zu cuts were not noticed\n", samples[i], bad, wanted);
        CHECK(read_everything(file.data, file.length));
        kni_buffer_free(&file);
    }
}

/* What comes out of a damaged file is not checked, only that reading it ends well. */
static void test_changed_bytes(void)
{
    static const unsigned char changes[] = {0x00, 0xff, 0x80, 0x7f};
    size_t done = 0;
    for (int i = 0; i < SAMPLES; i++) {
        kni_buffer file = sample(i);
        for (size_t at = 0; at < file.length; at++)
            for (size_t k = 0; k < sizeof changes; k++) {
                char kept = file.data[at];
                file.data[at] = (char)changes[k];
                read_everything(file.data, file.length);
                file.data[at] = kept;
                done++;
            }
        CHECK(read_everything(file.data, file.length));
        kni_buffer_free(&file);
    }
    CHECK(done > 100000);
}

/* ---- forged headers */

static void check_header(const char *header, size_t data, const char *words)
{
    size_t length = strlen(header), bytes = 8 + length + data;
    unsigned char *file = calloc(1, bytes);
    kni_put_little(file, length, 8);
    memcpy(file + 8, header, length);
    kn_store store = kn_store_open_memory(file, bytes, NULL);
    CHECK(store == NULL);
    if (!CHECK(strstr(kn_last_error(), words) != NULL)) printf("  %s: %s\n", header, kn_last_error());
    kn_store_close(store);
    free(file);
}

#define T(name, dtype, shape, from, to)                                                                      \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

static void test_safetensors_headers(void)
{
    check_header("{" T("a", "F32", "[2]", 0, 8) "," T("b", "F32", "[1]", 4, 8) "}", 8, "begins at byte 4");
    check_header("{" T("a", "F32", "[2]", 0, 8) "," T("b", "F32", "[1]", 12, 16) "}", 16, "not at 8");
    check_header("{" T("a", "F32", "[2]", 0, 8) "}", 9, "need 8 bytes, the file has 9");
    check_header("{" T("a", "F32", "[2]", 0, 8) "}", 4, "need 8 bytes, the file has 4");
    check_header("{" T("a", "F32", "[3]", 0, 8) "}", 8, "shape and dtype do not give");
    check_header("{" T("a", "F99", "[2]", 0, 8) "}", 8, "unknown dtype 'F99'");
    check_header("{" T("a", "F32", "[-2]", 0, 8) "}", 8, "no size");
    check_header("{" T("a", "F32", "[1.5]", 0, 8) "}", 8, "no size");
    check_header("{" T("a", "F32", "2", 0, 8) "}", 8, "no shape");
    check_header("{" T("a", "F32", "[1,1,1,1,1,1,1,1,2]", 0, 8) "}", 8, "9 axes");
    check_header("{" T("a", "F32", "[4611686018427387904,4]", 0, 0) "}", 0, "do not give");
    check_header("{" T("a", "F32", "[2]", 8, 0) "}", 8, "data_offsets");
    check_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "data_offsets");
    check_header("{\"a\":3}", 0, "no object");
    check_header("{" T("a", "U8", "[1]", 0, 1) "," T("a", "U8", "[1]", 1, 2) "}", 2, "'a'");
    check_header("{\"__metadata__\":{\"a\":1}}", 0, "no text");
    check_header("{\"__metadata__\":[]}", 0, "no object");
    check_header("{\"a\":", 0, "memory: damaged: the header:1:");
    unsigned char huge[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, '{', '}'};
    CHECK(!kn_store_open_memory(huge, sizeof huge, NULL) && strstr(kn_last_error(), "claims") != NULL);
}

/* A pickle of few bytes that describes a tree of 2^40 leaves, and one that nests deeper than any stack. */
static void check_pickle(const void *pickle, size_t length, const char *words)
{
    static const char magic[] =
        "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";
    char *file = malloc(sizeof magic + length + 4);
    memcpy(file, magic, sizeof magic - 1);
    memcpy(file + sizeof magic - 1, pickle, length);
    memcpy(file + sizeof magic - 1 + length, "\x80\x02].", 4);
    kn_store store = kn_store_open_memory(file, sizeof magic - 1 + length + 4, NULL);
    CHECK(store == NULL);
    if (!CHECK(strstr(kn_last_error(), words) != NULL)) printf("  %s\n", kn_last_error());
    kn_store_close(store);
    free(file);
}

static void test_pickles(void)
{
    char laughs[400], deep[4000];
    size_t n = 0;
    memcpy(laughs, "}q\0000", 4);
    n = 4;
    for (int i = 1; i <= 25; i++) { /* {0: previous, 1: previous} */
        const char level[] = {'}', '(', 'K',           0,   'h', (char)(i - 1), 'K',
                              1,   'h', (char)(i - 1), 'u', 'q', (char)i,       '0'};
        memcpy(laughs + n, level, sizeof level);
        n += sizeof level;
    }
    memcpy(laughs + n, "h\x19.", 3);
    n += 3;
    check_pickle(laughs, n, "more than its own size");
    memset(deep, ']', sizeof deep);
    memset(deep + 2000, 'a', 1999);
    deep[3999] = '.';
    check_pickle(deep, sizeof deep, "nested more than");
    check_pickle("}q\0h\0s.", 7, "container");
    check_pickle("h\5.", 3, "memo");
    check_pickle("}r\xff\xff\xff\xff.", 7, "memo");
    check_pickle("(.", 2, "instead of one");
    check_pickle(".", 1, "instead of one");
    check_pickle("0.", 2, "empty stack");
    check_pickle("X\xff\xff\xff\xff.", 6, "cut");
    check_pickle("cbuiltins\neval\n)R.", 18, "'builtins.eval'");
    check_pickle("ctorch._utils\n_rebuild_tensor_v2\n)R.", 36, "without a storage");
    check_pickle("\x80\x06}.", 4, "protocol 6");
    check_pickle("I1\n.", 4, "opcode 0x49");
    check_pickle("K\1Q.", 4, "no storage");
    /* The state of a NumPy dtype is (version, byte order, ...): too short, no text, more than a character. */
    static const char *const states[] = {"(K\3t", "(K\3K\5t", "(K\3\x8c\2<<t"};
    for (int i = 0; i < 3; i++) {
        char pickle[80];
        int size = snprintf(pickle, sizeof pickle, "cnumpy\ndtype\n(\x8c\2%stR%sb.", "f4", states[i]);
        check_pickle(pickle, (size_t)size, "a NumPy dtype with a wrong state");
    }
}

/* A file that holds {"n": a number of NumPy's} shows its value. */
static void check_numpy_number(const char *dtype, const char *bytes, size_t length, const char *want)
{
    char file[256];
    static const char head[] =
        "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
        "\x80\x02M\xe9\x03.\x80\x02}.\x80\x04}\x8c\1ncnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n";
    size_t n = sizeof head - 1;
    memcpy(file, head, n);
    n += (size_t)snprintf(file + n, sizeof file - n, "(\x8c\2%stRC%c", dtype, (char)length);
    memcpy(file + n, bytes, length);
    memcpy(file + n + length, "tRs.\x80\x02].", 8);
    kn_store store = kn_store_open_memory(file, n + length + 8, NULL);
    const char *name, *text = "";
    if (!CHECK(store && kn_store_text(store, 0, &name, &text) && !strcmp(text, want)))
        printf("  %s: '%s' %s\n", dtype, text, store ? "" : kn_last_error());
    kn_store_close(store);
}

static void test_numpy_numbers(void)
{
    check_numpy_number("i1", "\xfe", 1, "-2");
    check_numpy_number("i2", "\xfe\xff", 2, "-2");
    check_numpy_number("i4", "\xfe\xff\xff\xff", 4, "-2");
    check_numpy_number("i8", "\xfe\xff\xff\xff\xff\xff\xff\xff", 8, "-2");
    check_numpy_number("i2", "\xfe\x7f", 2, "32766");
    check_numpy_number("u2", "\xfe\xff", 2, "65534");
    check_numpy_number("f4", "\0\0\0\xc0", 4, "-2");
}

/* The pickles of an old PyTorch file may be longer than the part of the file that is tried first. */
static void test_long_pickle(void)
{
    enum { LONG = 3 << 20 };
    static const char head[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                               "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02}(X\4\0\0\0noteX\0\0\x30\0",
                      tail[] = "u.\x80\x02].";
    char name[64], *text = malloc(LONG);
    snprintf(name, sizeof name, "test_store_long_%ld.tmp", (long)getpid());
    memset(text, 'a', LONG);
    FILE *f = fopen(name, "wb");
    CHECK(f && fwrite(head, 1, sizeof head - 1, f) == sizeof head - 1 && fwrite(text, 1, LONG, f) == LONG &&
          fwrite(tail, 1, sizeof tail - 1, f) == sizeof tail - 1 && fclose(f) == 0);
    kn_store store = kn_store_open(name, NULL);
    if (!CHECK(store != NULL)) printf("  %s\n", kn_last_error());
    kn_store_close(store);
    unlink(name);
    free(text);
}

/* ---- small files that want much memory or time */

static kni_buffer seed(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "tests/fuzz/seeds/%s", name);
    return content_of(path);
}

/* Sanitizers that keep shadows of memory (Thread, Memory) multiply what a process takes. */
#if defined(__SANITIZE_THREAD__)
enum { SHADOWS = 8 };
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
enum { SHADOWS = 8 };
#else
enum { SHADOWS = 1 };
#endif
#else
enum { SHADOWS = 1 };
#endif

/* Each is refused with these words, after at most ten seconds of computing and 160 MB more memory than before. */
static void check_greedy(const void *data, size_t bytes, const char *name, const char *words)
{
    fflush(stdout);
    pid_t child = fork();
    if (!CHECK(child >= 0)) return;
    if (child == 0) {
        struct rusage before, after;
        struct rlimit seconds = {10, 10};
        setrlimit(RLIMIT_CPU, &seconds);
        getrusage(RUSAGE_SELF, &before);
        kn_store store = kn_store_open_memory(data, bytes, NULL);
        getrusage(RUSAGE_SELF, &after);
        if (store) _exit(2);
        if (!strstr(kn_last_error(), words)) {
            printf("  %s: %s\n", name, kn_last_error());
            fflush(stdout);
            _exit(3);
        }
        _exit(after.ru_maxrss - before.ru_maxrss < SHADOWS * 160 * 1024 ? 0 : 4);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    if (!CHECK(status == 0)) printf("  %s: status %x\n", name, (unsigned)status);
}

static void test_greedy(void)
{
    static const char *const files[][2] = {
        {"pytorch/self.pt", "into itself"},        {"pytorch/fibonacci.pt", "copies more than"},
        {"pytorch/copies.pt", "copies more than"}, {"pytorch/square.pt", "more than its own size"},
        {"pytorch/nones.pt", "more memory than"},  {"npz/texts.npz", "bytes, more than the"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kni_buffer file = seed(files[i][0]);
        CHECK(file.length > 0);
        check_greedy(file.data, file.length, files[i][0], files[i][1]);
        kni_buffer_free(&file);
    }
}

/* Expanded tensors of 8 MB each: the store takes one, not three, unless a limit is named. */
static void test_expanded(void)
{
    kni_buffer file = seed("pytorch/expanded.pt");
    kn_store store = kn_store_open_memory(file.data, file.length, NULL);
    CHECK(!store && strstr(kn_last_error(), "repeats") != NULL);
    kn_store_close(store);
    store = kn_store_open_memory(file.data, file.length, &(kn_store_args){.limit = 1 << 23});
    CHECK(kn_store_count(store) == 3);
    kn_store_close(store);
    kni_buffer_free(&file);
}

/* ---- checksums */

static bool has_tensors(const char *entry)
{
    return strstr(entry, ".npy") || strstr(entry, "/data/") || strstr(entry, "data.pkl");
}

/* A changed byte of a member is always told, with the member's name. */
static void test_checksums(void)
{
    static const char *const archives[] = {"torch_dtypes.pt", "torch_views.pt", "numpy_dtypes.npz",
                                           "numpy_compressed.npz", "torch_deflated.pt"};
    int members = 0;
    for (size_t i = 0; i < sizeof archives / sizeof *archives; i++) {
        char path[200];
        snprintf(path, sizeof path, FOLDER "%s", archives[i]);
        kni_buffer file = content_of(path);
        kni_source *source = kni_source_memory(file.data, file.length);
        kni_zip *zip = kni_zip_open(source);
        for (int64_t k = 0; CHECK(zip != NULL) && k < zip->count; k++) {
            const kni_zip_entry *e = &zip->entries[k];
            uint64_t place;
            if (!has_tensors(e->name) || !CHECK(kni_zip_place(zip, source, k, &place) == KN_OK)) continue;
            /* The last bits of deflated bytes may be of no use. */
            size_t at = (size_t)(place + (e->method ? e->packed / 2 : e->packed - 1));
            file.data[at] ^= 0x20;
            bool noticed = !read_everything(file.data, file.length) && strstr(kn_last_error(), e->name);
            if (!CHECK(noticed)) printf("  %s: %s: %s\n", archives[i], e->name, kn_last_error());
            file.data[at] ^= 0x20;
            members++;
        }
        CHECK(read_everything(file.data, file.length));
        kni_zip_free(zip);
        kni_source_release(source);
        kni_buffer_free(&file);
    }
    CHECK(members > 40);
    unsigned char data[20000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * i >> 3);
    uint32_t parts = 0;
    for (size_t i = 0; i < sizeof data; i += 1000) parts = kni_crc32(parts, data + i, 1000);
    CHECK(kni_crc32(0, data, sizeof data) == parts && kni_crc32(0, "123456789", 9) == 0xcbf43926);
}

/* The directory of an archive repeats each entry's own header: a name, method, checksum or size that is damaged in one of
   them is noticed. */
static void test_directory_damage(void)
{
    static const int fields[] = {10, 16, 20, 24,
                                 46}; /* method, checksum, sizes, the first letter of the name */
    kni_buffer file = content_of(FOLDER "numpy_dtypes.npz");
    CHECK(read_everything(file.data, file.length));
    int records = 0;
    for (size_t at = 0; at + 46 < file.length; at++) {
        if (memcmp(file.data + at, "PK\1\2", 4)) continue;
        records++;
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            file.data[at + (size_t)fields[i]] ^= 1;
            bool noticed = !read_everything(file.data, file.length);
            if (!CHECK(noticed)) printf("  field %d of record %d\n", fields[i], records);
            file.data[at + (size_t)fields[i]] ^= 1;
        }
    }
    CHECK(records > 3 && read_everything(file.data, file.length));
    kni_buffer_free(&file);
}

/* Entries that share their bytes would make much of a small file: together they have at most those of the file. */
static void test_entries_that_overlap(void)
{
    enum { BYTES = 400, NAME = 5, LOCAL = 30 + NAME + BYTES, RECORD = 46 + NAME, MOST = 4 };
    unsigned char file[LOCAL + MOST * RECORD + 22];
    for (size_t entries = 1; entries <= MOST; entries++) {
        memset(file, 0, sizeof file);
        memcpy(file, "PK\3\4", 4);
        kni_put_little(file + 18, BYTES, 4);
        kni_put_little(file + 22, BYTES, 4);
        kni_put_little(file + 26, NAME, 2);
        memcpy(file + 30, "a.npy", NAME);
        unsigned char *at = file + LOCAL;
        for (size_t i = 0; i < entries; i++, at += RECORD) { /* all of them at the begin of the file */
            memcpy(at, "PK\1\2", 4);
            kni_put_little(at + 20, BYTES, 4);
            kni_put_little(at + 24, BYTES, 4);
            kni_put_little(at + 28, NAME, 2);
            memcpy(at + 46, "a.npy", NAME);
            at[46] = (unsigned char)('a' + i);
        }
        memcpy(at, "PK\5\6", 4);
        kni_put_little(at + 10, entries, 2);
        kni_put_little(at + 12, entries * RECORD, 4);
        kni_put_little(at + 16, LOCAL, 4);
        kni_source *source = kni_source_memory(file, (size_t)(at + 22 - file));
        kni_zip *zip = kni_zip_open(source);
        if (entries == 1)
            CHECK(zip && zip->count == 1);
        else
            CHECK(!zip && strstr(kn_last_error(), "its entries overlap"));
        kni_zip_free(zip);
        kni_source_release(source);
    }
}

static int told;
static void count_line(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)text;
    told += level == KN_LOG_ERROR;
}

/* A good file is read without a word, a bad one with one; and names cannot steer a terminal. */
static void test_told_once(void)
{
    kni_buffer file = content_of(FOLDER "numpy_dtypes.npz");
    kn_log_set(count_line, NULL);
    CHECK(read_everything(file.data, file.length) && told == 0);
    char *first = memmem(file.data, file.length, "\x93NUMPY", 6);
    first[150] ^= 1; /* the first array has a header of 128 bytes */
    kn_store store = kn_store_open_memory(file.data, file.length, NULL);
    CHECK(told == 0 && !kn_ok(kn_store_tensor(store, 0)));
    CHECK(strstr(kn_last_error(), "checksum") && told == 1);
    kn_store_close(store);
    kni_buffer_free(&file);
    static const char header[] =
        "{\"a\\u001b[2J\\n\\u009b\":{\"dtype\":\"F99\",\"shape\":[9],\"data_offsets\":[0,36]}}";
    unsigned char bytes[8 + sizeof header] = {sizeof header - 1};
    memcpy(bytes + 8, header, sizeof header);
    CHECK(!kn_store_open_memory(bytes, sizeof bytes, NULL));
    if (!CHECK(strstr(kn_last_error(), "'a\\x1b[2J\\x0a\\xc2\\x9b'") && told == 2))
        printf("  %s\n", kn_last_error());
    kn_log_set(NULL, NULL);
}

/* Twenty megabytes of zeros in twenty kilobytes: refused by the file's size, and by the limit of memory before they are there;
   once they are read they count. */
static void test_compressed_memory(void)
{
    enum { BYTES = 20 << 20 };
    const char *path = FOLDER "numpy_zeros.npz";
    CHECK(kn_store_open(path, NULL) == NULL && strstr(kn_last_error(), "32 times the") != NULL);
    kn_store store = kn_store_open(path, &(kn_store_args){.limit = BYTES});
    if (!CHECK(store != NULL)) return;
    int64_t before = kn_memory_stats().bytes_now;
    kn_memory_limit(before + BYTES / 2);
    kn_tensor refused = kn_store_tensor(store, 0);
    CHECK(kn_error_code(refused) == KN_ERROR_MEMORY && strstr(kn_last_error(), "kn_memory_limit") != NULL);
    kn_memory_limit(0);
    kn_tensor zeros = kn_store_tensor(store, 0);
    CHECK(kn_ok(zeros) && kn_memory_stats().bytes_now >= before + BYTES);
    kn_drop(zeros);
    CHECK(kn_memory_stats().bytes_now < before + BYTES);
    kn_store_close(store);
}

/* An archive whose entry claims a gigabyte out of one megabyte is refused by that claim: nothing of it is inflated, or the bytes,
   which are none of deflate, would be what fails. */
static void test_bombs(void)
{
    static const struct {
        const char *entry;
        int64_t limit;
        const char *words;
    } bombs[] = {{"a.npy", 0, "inflate to 1073741824 bytes, more than 32 times"},
                 {"x/data.pkl", 0, "inflate to 1073741824 bytes, more than 32 times"},
                 {"a.npy", 1 << 20, "inflates to 1073741824 bytes, more than the limit of 1048576"},
                 {"a.npy", 1 << 30, "does not inflate"}};
    enum { PACKED = 1 << 20, UNPACKED = 1 << 30 };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        size_t name = strlen(bombs[i].entry), data = 30 + name, central = data + PACKED;
        unsigned char *file = calloc(1, central + 46 + name + 22), *c = file + central, *end = c + 46 + name;
        memcpy(file, "PK\3\4", 4);
        kni_put_little(file + 8, 8, 2);
        kni_put_little(file + 18, PACKED, 4);
        kni_put_little(file + 22, UNPACKED, 4);
        kni_put_little(file + 26, name, 2);
        memcpy(file + 30, bombs[i].entry, name);
        memset(file + data, 0xff, PACKED);
        memcpy(c, "PK\1\2", 4);
        kni_put_little(c + 10, 8, 2);
        kni_put_little(c + 20, PACKED, 4);
        kni_put_little(c + 24, UNPACKED, 4);
        kni_put_little(c + 28, name, 2);
        memcpy(c + 46, bombs[i].entry, name);
        memcpy(end, "PK\5\6", 4);
        kni_put_little(end + 10, 1, 2);
        kni_put_little(end + 12, 46 + name, 4);
        kni_put_little(end + 16, central, 4);
        CHECK(
            !kn_store_open_memory(file, central + 46 + name + 22, &(kn_store_args){.limit = bombs[i].limit}));
        if (!CHECK(strstr(kn_last_error(), bombs[i].words) != NULL)) printf("  %s\n", kn_last_error());
        free(file);
    }
}

/* ---- writing */

static void state_fill(kn_state state, double value, int64_t elements)
{
    CHECK(kn_state_put(state, "", "x", kn_full(KN_SHAPE(elements), value, KN_F32)) == KN_OK);
}

static double first_value(const char *path)
{
    kn_store store = kn_store_open(path, NULL);
    if (!store) return -1;
    kn_tensor t = kn_store_tensor(store, 0);
    float value = -1, *all = malloc((size_t)kn_count(t) * sizeof *all);
    if (kn_ok(t) && kn_read(t, all, (size_t)kn_count(t) * sizeof *all) == KN_OK) {
        value = all[0];
        for (int64_t i = 0; i < kn_count(t); i++)
            if (all[i] != value) value = -2;
    }
    free(all);
    kn_drop(t);
    kn_store_close(store);
    return value;
}

static int64_t files_in_folder(void)
{
    kni_folder folder;
    CHECK(kni_folder_read(&folder, test_folder) == KN_OK);
    int64_t count = folder.count;
    kni_folder_free(&folder);
    return count;
}

/* The limit of a file's size stands for a full disk: it ends a write in the middle. */
static void test_full_disk(void)
{
    struct rlimit old, small = {4096, 4096};
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    static const char *const names[] = {"full.safetensors", "full.npz", "full.npy"};
    for (int i = 0; i < 3; i++) {
        kn_state state = kn_state_make();
        state_fill(state, 1, 100);
        CHECK(kn_state_write(state, in_folder(names[i]), KN_STORE_AUTO) == KN_OK);
        int64_t files = files_in_folder();
        state_fill(state, 2, 100000);
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        kn_status status = kn_state_write(state, in_folder(names[i]), KN_STORE_AUTO);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
        CHECK_ERROR(status, "File too large");
        CHECK(status == KN_ERROR_IO && first_value(in_folder(names[i])) == 1 && files_in_folder() == files);
        kn_state_free(state);
    }
    kn_state state = kn_state_make();
    state_fill(state, 2, 100000);
    if (access("/dev/full", W_OK) == 0)
        CHECK_ERROR(kn_state_write(state, "/dev/full", KN_STORE_AUTO), "No space left");
    else
        check_skip("no /dev/full");
    kn_state_free(state);
}

/* A child that writes a file of one value again and again: rounds times, and never for longer than a minute. 0 when there is no
   child, so that no signal goes astray. */
static pid_t start_writer(const char *path, int first, int step, int rounds)
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) return CHECK(child > 0) ? child : 0;
    alarm(60);
    for (int k = 0; k < rounds; k++) {
        kn_state s = kn_state_make();
        if (kn_state_put(s, "", "x", kn_full(KN_SHAPE(30000), first + k * step, KN_F32)) != KN_OK) _exit(3);
        if (kn_state_write(s, path, KN_STORE_AUTO) != KN_OK) _exit(4);
        kn_state_free(s);
    }
    _exit(0);
}

/* Children that write without end are killed at any moment: what is in the file is always whole. */
static void test_killed(void)
{
    const char *path = in_folder("killed.safetensors");
    kn_state state = kn_state_make();
    state_fill(state, 0, 50000);
    CHECK(kn_state_write(state, path, KN_STORE_AUTO) == KN_OK);
    kn_state_free(state);
    unsigned pause = 1500;
    int seen_new = 0;
    for (int round = 0; round < 20; round++) {
        pid_t child = start_writer(path, 1, 1, 1 << 20);
        if (!child) break;
        usleep(pause);
        pause += 700;
        kill(child, SIGKILL);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        double value = first_value(path);
        CHECK(value >= 0);
        seen_new += value > 0;
    }
    CHECK(seen_new > 0);
    /* The leftover of the last one killed does not stay for ever: the next writer uses its name. */
    state = kn_state_make();
    state_fill(state, -7, 10);
    CHECK(kn_state_write(state, path, KN_STORE_AUTO) == KN_OK && first_value(path) == -7);
    CHECK(!kni_file_exists(in_folder(".killed.safetensors.tmp")));
    kn_state_free(state);
}

/* Two processes that write the same file at once take turns: it is always the whole file of one of them. */
static void test_two_writers(void)
{
    const char *path = in_folder("shared.safetensors");
    pid_t children[2];
    for (int i = 0; i < 2; i++) children[i] = start_writer(path, i + 1, 0, 30);
    for (int k = 0; k < 50; k++) {
        if (kni_file_exists(path)) CHECK(first_value(path) >= 1);
        usleep(500);
    }
    for (int i = 0; i < 2; i++) {
        int status = 1;
        if (children[i]) CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    CHECK(first_value(path) >= 1);
}

/* Only the directory is read when a file is opened: one that is cut afterwards gives an error for the tensors that are gone. */
static void test_cut_while_open(void)
{
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "a", kn_full(KN_SHAPE(1000), 1, KN_F32)) == KN_OK);
    CHECK(kn_state_put(state, "", "b", kn_full(KN_SHAPE(1000), 2, KN_F32)) == KN_OK);
    CHECK(kn_state_write(state, in_folder("cut.safetensors"), KN_STORE_AUTO) == KN_OK);
    kn_state_free(state);
    kn_store store = kn_store_open(in_folder("cut.safetensors"), NULL);
    CHECK(kn_store_count(store) == 2 && truncate(in_folder("cut.safetensors"), 6000) == 0);
    kn_tensor a = kn_store_tensor(store, kn_store_find(store, "a"));
    CHECK(kn_ok(a));
    kn_drop(a);
    CHECK_POISON(kn_store_tensor(store, kn_store_find(store, "b")), "became shorter");
    kn_store_close(store);
}

/* A link is followed, the mode of a file is kept, and a folder is refused. */
static void test_targets(void)
{
    kn_state state = kn_state_make();
    state_fill(state, 3, 10);
    CHECK(kn_state_write(state, in_folder("real.safetensors"), KN_STORE_AUTO) == KN_OK);
    CHECK(symlink("real.safetensors", in_folder("link.safetensors")) == 0);
    state_fill(state, 4, 10);
    CHECK(kn_state_write(state, in_folder("link.safetensors"), KN_STORE_AUTO) == KN_OK);
    CHECK(first_value(in_folder("real.safetensors")) == 4);
    /* The name of the temporary file is a link to another: that one is not touched, and the writer says so. */
    CHECK(symlink("real.safetensors", in_folder(".new.safetensors.tmp")) == 0);
    CHECK_ERROR(kn_state_write(state, in_folder("new.safetensors"), KN_STORE_AUTO), "new.safetensors");
    CHECK(first_value(in_folder("real.safetensors")) == 4 && !kni_file_exists(in_folder("new.safetensors")));
    CHECK(kni_folder_make(in_folder("folder.safetensors/deep")) == KN_OK);
    CHECK_ERROR(kn_state_write(state, in_folder("folder.safetensors"), KN_STORE_AUTO), "is a folder");
    kn_state_free(state);
}

/* What is written to memory is what the file would hold, and comes back from there. */
static void test_memory_writer(void)
{
    static const struct {
        const char *name;
        kn_store_format format;
    } forms[] = {{"same.safetensors", KN_STORE_AUTO}, {"same.npz", KN_STORE_NUMPY}};
    kn_state state = kn_state_make();
    void *data;
    size_t bytes;
    state_fill(state, 3, 10);
    CHECK(kn_state_put_text(state, "note", "kept") == KN_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(kn_state_write(state, in_folder(forms[i].name), KN_STORE_AUTO) == KN_OK);
        CHECK(kn_state_write_memory(state, &data, &bytes, forms[i].format) == KN_OK);
        kni_buffer file = content_of(in_folder(forms[i].name));
        CHECK(bytes == file.length && !memcmp(data, file.data, bytes));
        kn_state back = kn_state_make();
        CHECK(kn_state_read_memory(back, data, bytes) == KN_OK && kn_state_count(back) == 1 &&
              kn_state_text_count(back) == 1);
        CHECK(kn_state_read_memory(back, data, bytes / 2) == KN_ERROR_IO);
        kn_state_free(back);
        kni_buffer_free(&file);
        free(data);
    }
    CHECK(kn_state_write_memory(state, &data, &bytes, KN_STORE_PYTORCH) == KN_ERROR_UNSUPPORTED && !data);
    kn_state_free(state);
}

/* Every allocation of a load fails once: an error each time, and the module keeps its values. */
static void test_memory(void)
{
    Net net;
    net_make(&net);
    kn_module module = KN_MODULE_OF(Net, &net);
    CHECK(kn_load(module, FOLDER "net_state.pt", NULL, NULL) == KN_OK);
    CHECK(kn_save(module, in_folder("memory.safetensors"), NULL) == KN_OK);
    int failures = 0;
    for (int n = 1; n < 200; n++) {
        kn_memory_fail_after(n);
        kn_status status = kn_load(module, in_folder("memory.safetensors"), NULL, NULL);
        kn_memory_fail_after(0);
        failures += status != KN_OK;
        if (!CHECK(net_is_filled(&net))) break;
    }
    CHECK(failures > 0);
    net_drop(&net);
}

/* A report that was never filled is empty after a refusal. */
static void test_report_of_nothing(void)
{
    kn_load_report report;
    memset(&report, 0xff, sizeof report);
    CHECK(kn_load((kn_module){0}, FOLDER "net_state.pt", NULL, &report) == KN_ERROR_ARGUMENT);
    kn_load_report_free(&report);
    memset(&report, 0xff, sizeof report);
    CHECK(kn_load_memory((kn_module){0}, "", 0, NULL, &report) == KN_ERROR_ARGUMENT);
    kn_load_report_free(&report);
}

int main(void)
{
    kn_set_threads(1); /* workers would not survive in the children */
    folder_make();
    test_truncated();
    test_changed_bytes();
    test_safetensors_headers();
    test_pickles();
    test_numpy_numbers();
    test_long_pickle();
    test_greedy();
    test_expanded();
    test_checksums();
    test_directory_damage();
    test_entries_that_overlap();
    test_told_once();
    test_compressed_memory();
    test_bombs();
    test_full_disk();
    test_killed();
    test_two_writers();
    test_targets();
    test_cut_while_open();
    test_memory_writer();
    test_memory();
    test_report_of_nothing();
    folder_remove();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
