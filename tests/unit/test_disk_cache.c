/* The cache on disk: what is put comes back, what is damaged or another's does not, and it stays within its limit. */
#define _DEFAULT_SOURCE
#include "support/check.h"
#include "support/disk_cache.h"
#include "support/file.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "disk_cache_XXXXXX";

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

int main(void)
{
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    setenv("KN_CACHE_DIR", folder, 1);
    round_trip();
    damage();
    limit();
    refused();
    CHECK(kni_path_remove(folder) == KN_OK);
    setenv("KN_CACHE_DIR", "disk_cache_new/deep/folder", 1);
    put("made", "by the way");
    CHECK(holds("made", "by the way"));
    CHECK(kni_path_remove("disk_cache_new") == KN_OK);
    return check_report();
}
