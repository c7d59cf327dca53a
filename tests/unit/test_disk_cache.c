/* The cache on disk: what is put comes back, what is damaged or another's does not, and it stays within its limit. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/disk_cache.h"
#include "support/file.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char base[] = "disk_cache_XXXXXX";
static char folder[64]; /* of the entries */

static bool holds(const char *key, const char *want)
{
    kni_buffer out = {0};
    bool found = kni_disk_cache_get("test", key, strlen(key), &out);
    bool good = want ? found && !strcmp(kni_buffer_string(&out), want) : !found;
    kni_buffer_free(&out);
    return good;
}

static void put(const char *key, const char *data)
{
    kni_disk_cache_put("test", key, strlen(key), data, strlen(data));
}

static void round_trip(void)
{
    CHECK(holds("a kernel", NULL));
    put("a kernel", "its bytes");
    CHECK(holds("a kernel", "its bytes"));
    CHECK(holds("another kernel", NULL));
    put("a kernel", "newer bytes");
    CHECK(holds("a kernel", "newer bytes"));
    put("empty", "");
    CHECK(holds("empty", ""));
}

/* Every cut and every changed byte of the file makes it none. */
static void damage(void)
{
    kni_folder names;
    put("victim", "0123456789");
    CHECK(kni_folder_read(&names, folder) == KN_OK);
    char *path = NULL;
    kni_buffer whole = {0};
    for (int64_t i = 0; i < names.count; i++) {
        char *candidate = kni_path_join(folder, names.names[i]);
        kni_buffer_clear(&whole);
        CHECK(kni_file_read(candidate, 0, &whole) == KN_OK);
        if (whole.length > 10 && !memcmp(whole.data + whole.length - 10, "0123456789", 10) && !path)
            path = candidate;
        else
            free(candidate);
        if (path) break;
    }
    if (CHECK(path != NULL)) {
        for (size_t n = 0; n < whole.length; n++) {
            CHECK(kni_file_write(path, whole.data, n) == KN_OK && holds("victim", NULL));
            whole.data[n] ^= 4;
            CHECK(kni_file_write(path, whole.data, whole.length) == KN_OK && holds("victim", NULL));
            whole.data[n] ^= 4;
        }
        CHECK(kni_file_write(path, whole.data, whole.length) == KN_OK && holds("victim", "0123456789"));
    }
    free(path);
    kni_buffer_free(&whole);
    kni_folder_free(&names);
}

static void limit(void)
{
    char *big = calloc(1, 400001);
    memset(big, 'x', 400000);
    setenv("KN_CACHE_MEGABYTES", "1", 1);
    char key[8] = "big0";
    for (int i = 0; i < 6; i++, key[3]++) put(key, big);
    unsetenv("KN_CACHE_MEGABYTES");
    int kept = 0;
    for (key[3] = '0'; key[3] < '6'; key[3]++) kept += holds(key, big);
    CHECK(kept == 2);
    free(big);
}

static void refused(void)
{
    put("kept", "bytes");
    setenv("KN_CACHE", "off", 1);
    CHECK(holds("kept", NULL));
    unsetenv("KN_CACHE");
    CHECK(holds("kept", "bytes"));
    chmod(folder, 0777); /* anybody could have put code there */
    CHECK(holds("kept", NULL));
    chmod(folder, 0700);
    CHECK(holds("kept", "bytes"));
}

static void write_file(const char *name, const char *text, char *path, size_t room)
{
    snprintf(path, room, "%s", name);
    CHECK(kni_file_write(path, text, strlen(text)) == KN_OK);
    struct timespec old[2] = {{1, 0}, {1, 0}};
    CHECK(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW) == 0); /* older than any entry */
}

static void fill_to_the_limit(void)
{
    char *big = calloc(1, 400001);
    memset(big, 'y', 400000);
    setenv("KN_CACHE_MEGABYTES", "1", 1);
    char key[8] = "more0";
    for (int i = 0; i < 6; i++, key[4]++) put(key, big);
    unsetenv("KN_CACHE_MEGABYTES");
    int kept = 0;
    for (key[4] = '0'; key[4] < '6'; key[4]++) kept += holds(key, big);
    CHECK(kept == 2);
    free(big);
}

/* What Kiln did not make and mark is never removed and never counted, whatever its name, age and size. */
static void leaves_other_files(void)
{
    static const char *const names[] = {"thesis.txt",
                                        "kiln-kernels/thesis.txt",
                                        "kiln-kernels/.hidden",
                                        "kiln-kernels/test-0123456789abcdef0123456789abcdef",
                                        "kiln-kernels/test-0123456789abcdef0123456789abcdef.bak",
                                        "test-0123456789abcdef0123456789abcdef"};
    enum { N = sizeof names / sizeof *names, MEGABYTE = 1 << 20 };
    char paths[N][128], name[128], *large = calloc(1, MEGABYTE + 1);
    memset(large, 'z', MEGABYTE);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%s/%s", base, names[i]);
        write_file(name, large, paths[i], sizeof paths[i]);
    }
    /* A link with an entry's name, which leads to a file that has an entry's magic. */
    char target[128], link_name[128];
    snprintf(name, sizeof name, "%s/marked", base);
    write_file(name, "kncache1 is how it begins", target, sizeof target);
    snprintf(link_name, sizeof link_name, "%s/test-ffffffffffffffffffffffffffffffff", folder);
    CHECK(symlink("../marked", link_name) == 0);
    fill_to_the_limit();
    for (int i = 0; i < N; i++) CHECK(kni_file_exists(paths[i]));
    struct stat about;
    CHECK(lstat(link_name, &about) == 0 && S_ISLNK(about.st_mode) && kni_file_exists(target));
    free(large);
}

/* What begins like an entry and has another name, as a user's copy of one, is neither removed nor counted. */
static void leaves_copies_of_entries(void)
{
#define DIGITS "0123456789abcdef0123456789abcde"
    static const char *const names[] = {"test-" DIGITS "f",
                                        "kiln-kernels/test-" DIGITS "f.bak",
                                        "kiln-kernels/test-" DIGITS "f0",
                                        "kiln-kernels/test-" DIGITS,
                                        "kiln-kernels/test-" DIGITS "F",
                                        "kiln-kernels/test_" DIGITS "f",
                                        "kiln-kernels/test2-" DIGITS "f",
                                        "kiln-kernels/-" DIGITS "f",
                                        "kiln-kernels/a copy",
                                        "kiln-kernels/.test-" DIGITS "f"};
#undef DIGITS
    enum { N = sizeof names / sizeof *names, MEGABYTE = 1 << 20 };
    char paths[N][128], name[128], *large = calloc(1, MEGABYTE + 1);
    memset(large, 'z', MEGABYTE);
    memcpy(large, "kncache1", 8);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "%s/%s", base, names[i]);
        write_file(name, large, paths[i], sizeof paths[i]);
    }
    fill_to_the_limit();
    for (int i = 0; i < N; i++)
        if (!CHECK(kni_file_exists(paths[i]))) printf("  %s is gone\n", paths[i]);
    /* It is the name alone that keeps them: under an entry's name the same file goes. */
    snprintf(name, sizeof name, "%s/test-0123456789abcdef0123456789abcde0", folder);
    char entry[128];
    write_file(name, large, entry, sizeof entry);
    fill_to_the_limit();
    CHECK(!kni_file_exists(entry));
    free(large);
}

/* A foreign file or a link under the very name of an entry is neither read nor replaced. */
static void leaves_what_stands_in_its_place(void)
{
    kni_folder names;
    char path[256] = "", text[] = "the user's own";
    CHECK(kni_path_remove(folder) == KN_OK);
    put("in place", "kernel");
    CHECK(kni_folder_read(&names, folder) == KN_OK && names.count == 1);
    snprintf(path, sizeof path, "%s/%s", folder, names.count ? names.names[0] : "none");
    kni_folder_free(&names);
    CHECK(kni_file_write(path, text, strlen(text)) == KN_OK);
    put("in place", "kernel");
    CHECK(holds("in place", NULL));
    kni_buffer now = {0};
    CHECK(kni_file_read(path, 0, &now) == KN_OK && !strcmp(kni_buffer_string(&now), text));
    kni_buffer_free(&now);

    CHECK(unlink(path) == 0);
    put("in place", "kernel");
    char moved[128];
    snprintf(moved, sizeof moved, "%s/moved", base);
    CHECK(rename(path, moved) == 0 && symlink("../moved", path) == 0);
    CHECK(holds("in place", NULL));
    put("in place", "other");
    struct stat about;
    CHECK(lstat(path, &about) == 0 && S_ISLNK(about.st_mode));
}

static void refuses_a_linked_folder(void)
{
    char other[128];
    snprintf(other, sizeof other, "%s/elsewhere", base);
    CHECK(kni_path_remove(folder) == KN_OK && mkdir(other, 0700) == 0 && symlink("elsewhere", folder) == 0);
    put("linked", "bytes");
    CHECK(holds("linked", NULL));
    kni_folder names;
    CHECK(kni_folder_read(&names, other) == KN_OK && names.count == 0);
    kni_folder_free(&names);
}

/* Of the processor, since a file's way to the disk takes its time. */
static double seconds_used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Fills the folder with copies of one entry under other entries' names. */
static void copy_entry(int copies)
{
    char text[401], from[128] = "", to[128];
    kni_folder names;
    memset(text, 'q', sizeof text - 1);
    text[sizeof text - 1] = 0;
    put("pattern", text);
    if (!CHECK(kni_folder_read(&names, folder) == KN_OK && names.count == 1)) return;
    snprintf(from, sizeof from, "%s/%s", folder, names.names[0]);
    kni_folder_free(&names);
    for (int i = 0; i < copies; i++) {
        snprintf(to, sizeof to, "%s/test-%032x", folder, i);
        CHECK(link(from, to) == 0);
    }
}

/* What it costs to open every file of the folder once. */
static double seconds_of_a_look(void)
{
    kni_folder names;
    double start = seconds_used();
    CHECK(kni_folder_read(&names, folder) == KN_OK);
    for (int64_t i = 0; i < names.count; i++) {
        char path[128], begin[8];
        snprintf(path, sizeof path, "%s/%s", folder, names.names[i]);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        CHECK(read(file, begin, sizeof begin) == (ssize_t)sizeof begin);
        close(file);
    }
    kni_folder_free(&names);
    return seconds_used() - start;
}

/* The folder is not gone through for every entry, be it full or not: of thousands, many are put for a few looks at all. */
static void stays_quick(void)
{
    enum { COPIES = 4000, PUT = 100, LOOKS = 20 };
    char name[128], text[1001];
    kni_folder names;
    memset(text, 'p', sizeof text - 1);
    text[sizeof text - 1] = 0;
    copy_entry(COPIES);
    double look = seconds_of_a_look();
    for (int full = 0; full < 2; full++) {
        if (full) setenv("KN_CACHE_MEGABYTES", "1", 1);
        double start = seconds_used();
        for (int i = 0; i < PUT; i++) {
            snprintf(name, sizeof name, "small %d", i);
            put(name, text);
        }
        double used = seconds_used() - start;
        if (!CHECK(used < LOOKS * look)) printf("  %g s for %d entries, %g s for a look\n", used, PUT, look);
    }
    unsetenv("KN_CACHE_MEGABYTES");
    CHECK(holds(name, text));
    CHECK(kni_folder_read(&names, folder) == KN_OK && names.count > COPIES / 4 &&
          names.count < COPIES * 3 / 4);
    kni_folder_free(&names);
}

int main(void)
{
    if (!CHECK(mkdtemp(base) != NULL)) return check_report();
    snprintf(folder, sizeof folder, "%s/kiln-kernels", base);
    setenv("KN_CACHE_DIR", base, 1);
    round_trip();
    damage();
    limit();
    refused();
    leaves_other_files();
    leaves_copies_of_entries();
    leaves_what_stands_in_its_place();
    refuses_a_linked_folder();
    CHECK(kni_path_remove(base) == KN_OK);
    setenv("KN_CACHE_DIR", "disk_cache_new/deep/folder", 1);
    put("made", "by the way");
    CHECK(holds("made", "by the way"));
    CHECK(kni_path_remove("disk_cache_new") == KN_OK);
    snprintf(base, sizeof base, "disk_cache_XXXXXX");
    if (!CHECK(mkdtemp(base) != NULL)) return check_report();
    snprintf(folder, sizeof folder, "%s/kiln-kernels", base);
    setenv("KN_CACHE_DIR", base, 1);
    stays_quick();
    CHECK(kni_path_remove(base) == KN_OK);
    return check_report();
}
