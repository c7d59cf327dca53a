/* The cache on disk: a file is a head, the key in full, and the bytes. Entries lie in a folder of their own; only regular files
   there that have an entry's name and begin with the magic are ever read, replaced or removed. */
#define _POSIX_C_SOURCE 200809L
#include "support/disk_cache.h"
#include "support/file.h"
#include "support/mixing.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "kncache1";
static const char own_folder[] = "/kiln-kernels"; /* in the folder that the user names */
enum { HASH_DIGITS = 32 };

typedef struct head {
    char magic[8];
    uint64_t key_bytes, data_bytes, sum; /* sum: of key and data, against a file that was damaged */
} head;

static uint64_t sum_of(const void *data, size_t bytes, uint64_t sum)
{
    const unsigned char *p = data;
    for (; bytes >= 8; p += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        sum = kni_mix(sum ^ word);
    }
    for (; bytes; p++, bytes--) sum = kni_mix(sum ^ *p);
    return sum;
}

/* Whether it is a folder of this user's that nobody else can write to. A link counts only where `links` says so. */
static bool is_private(const char *path, bool links)
{
    struct stat about;
    if ((links ? stat(path, &about) : lstat(path, &about)) != 0) return false;
    return S_ISDIR(about.st_mode) && about.st_uid == geteuid() && !(about.st_mode & (S_IWGRP | S_IWOTH));
}

/* Makes the folder and those above it where they are missing. */
static bool make_private(const char *path, bool links)
{
    struct stat about;
    if (lstat(path, &about) == 0) return is_private(path, links);
    char *above = strdup(path), *slash = above ? strrchr(above, '/') : NULL;
    bool good = above != NULL;
    if (slash && slash != above) {
        *slash = 0;
        good = kni_folder_make(above) == KN_OK;
    }
    free(above);
    if (good) (void)mkdir(path, 0700); /* another process may be faster */
    return good && is_private(path, links);
}

/* The folder of the entries, made when it is not there; false where there is to be none or it is another user's. */
static bool folder_of(kni_buffer *path)
{
    const char *off = getenv("KN_CACHE"), *given = getenv("KN_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (off && !strcmp(off, "off")) return false;
    if (given && *given)
        kni_buffer_text(path, given);
    else if (xdg && *xdg == '/')
        kni_buffer_format(path, "%s/kiln", xdg);
    else if (home && *home == '/')
        kni_buffer_format(path, "%s/.cache/kiln", home);
    if (path->failed || !path->length || !make_private(path->data, true)) return false;
    kni_buffer_text(path, own_folder);
    return !path->failed && make_private(path->data, false);
}

static bool path_of(kni_buffer *path, const char *kind, const void *key, size_t key_bytes)
{
    if (!folder_of(path)) return false;
    uint64_t a = sum_of(key, key_bytes, 1), b = sum_of(key, key_bytes, 2);
    kni_buffer_format(path, "/%s-%016llx%016llx", kind, (unsigned long long)a, (unsigned long long)b);
    return !path->failed;
}

/* Whether it reads like a name of path_of: letters, a dash, the digits of two hashes. */
static bool names_entry(const char *name)
{
    size_t kind = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    return kind > 0 && name[kind] == '-' && strspn(name + kind + 1, "0123456789abcdef") == HASH_DIGITS &&
           !name[kind + 1 + HASH_DIGITS];
}

static bool is_own_file(const struct stat *about)
{
    return S_ISREG(about->st_mode) && about->st_uid == geteuid();
}

/* Whether the file is one that this cache wrote. */
static bool is_entry(int folder, const char *path, struct stat *about)
{
    char begin[sizeof magic];
    int file = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    bool good = fstat(file, about) == 0 && is_own_file(about) &&
                read(file, begin, sizeof begin) == (ssize_t)sizeof begin &&
                !memcmp(begin, magic, sizeof magic);
    close(file);
    return good;
}

static bool take_apart(const kni_buffer *file, const void *key, size_t key_bytes, kni_buffer *out)
{
    head h;
    if (file->length < sizeof h) return false;
    memcpy(&h, file->data, sizeof h);
    size_t rest = file->length - sizeof h;
    if (memcmp(h.magic, magic, sizeof magic) || h.key_bytes != key_bytes || rest < key_bytes ||
        h.data_bytes != rest - key_bytes || memcmp(file->data + sizeof h, key, key_bytes) ||
        sum_of(file->data + sizeof h, rest, 0) != h.sum)
        return false;
    kni_buffer_append(out, file->data + sizeof h + key_bytes, (size_t)h.data_bytes);
    return !out->failed;
}

bool kni_disk_cache_get(const char *kind, const void *key, size_t key_bytes, kni_buffer *out)
{
    kni_buffer path = {0}, file = {0};
    struct stat about;
    bool found = path_of(&path, kind, key, key_bytes) && is_entry(AT_FDCWD, path.data, &about) &&
                 kni_file_read(path.data, (size_t)1 << 30, &file) == KN_OK &&
                 take_apart(&file, key, key_bytes, out);
    kni_buffer_free(&file);
    kni_buffer_free(&path);
    return found;
}

static uint64_t limit_bytes(void)
{
    const char *text = getenv("KN_CACHE_MEGABYTES");
    unsigned long long megabytes = text && *text ? strtoull(text, NULL, 10) : 512;
    return (megabytes < 1u << 20 ? megabytes : 1u << 20) << 20;
}

/* A file that may be an entry by its name. */
typedef struct candidate {
    char name[64];
    uint64_t bytes;
    struct timespec changed;
} candidate;

typedef struct candidates {
    kni_buffer list;
    uint64_t bytes; /* of all files together */
} candidates;

static size_t count_of(const candidates *all) { return all->list.length / sizeof(candidate); }

static int older_first(const void *one, const void *other)
{
    const struct timespec *a = &((const candidate *)one)->changed, *b = &((const candidate *)other)->changed;
    if (a->tv_sec != b->tv_sec) return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static void gather(DIR *dir, candidates *all)
{
    struct stat about;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        candidate c = {.bytes = 0};
        size_t length = strlen(e->d_name);
        if (!names_entry(e->d_name) || length >= sizeof c.name ||
            fstatat(dirfd(dir), e->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !is_own_file(&about))
            continue;
        memcpy(c.name, e->d_name, length + 1);
        c.bytes = (uint64_t)about.st_size;
        c.changed = about.st_mtim;
        kni_buffer_append(&all->list, &c, sizeof c);
        all->bytes += c.bytes;
    }
}

/* Takes out what somebody else laid under an entry's name. Each file is opened for it, which the usual look does without. */
static void leave_entries(int folder, candidates *all)
{
    struct stat about;
    candidate *files = (candidate *)(void *)all->list.data;
    size_t kept = 0;
    all->bytes = 0;
    for (size_t i = 0; i < count_of(all); i++) {
        if (!is_entry(folder, files[i].name, &about)) continue;
        all->bytes += files[i].bytes;
        files[kept++] = files[i];
    }
    all->list.length = kept * sizeof *files;
}

/* Adds up the entries and, where they pass the limit, removes the oldest until an eighth of it is free: the folder is then
   gone through once for many entries, not for each. Answers the bytes that stay. */
static uint64_t trim(const char *folder, uint64_t limit)
{
    DIR *dir = opendir(folder);
    candidates all = {0};
    if (!dir) return 0;
    gather(dir, &all);
    if (!all.list.failed && all.bytes > limit) leave_entries(dirfd(dir), &all);
    if (!all.list.failed && all.bytes > limit) {
        candidate *files = (candidate *)(void *)all.list.data;
        qsort(files, count_of(&all), sizeof *files, older_first);
        for (size_t i = 0; i < count_of(&all) && all.bytes > limit - limit / 8; i++)
            if (unlinkat(dirfd(dir), files[i].name, 0) == 0) all.bytes -= files[i].bytes;
    }
    closedir(dir);
    kni_buffer_free(&all.list);
    return all.bytes;
}

/* Keeps the folder within its limit after `bytes` more. It is looked at when this process first writes there, when what is
   known passes the limit, and after a sixteenth of the limit, since other processes write too. */
static void keep_limit(const char *folder, uint64_t bytes)
{
    static _Atomic uint64_t known_folder, known_bytes, since;
    uint64_t limit = limit_bytes(), name = sum_of(folder, strlen(folder), 3) | 1;
    uint64_t written = atomic_fetch_add(&since, bytes) + bytes;
    if (atomic_load(&known_folder) == name && written < limit / 16 &&
        atomic_load(&known_bytes) + written <= limit)
        return;
    atomic_store(&since, 0);
    atomic_store(&known_bytes, trim(folder, limit));
    atomic_store(&known_folder, name);
}

void kni_disk_cache_put(const char *kind, const void *key, size_t key_bytes, const void *data, size_t bytes)
{
    kni_buffer path = {0}, file = {0};
    struct stat about;
    /* What somebody else laid under an entry's name stays. */
    if (path_of(&path, kind, key, key_bytes) &&
        (lstat(path.data, &about) != 0 || is_entry(AT_FDCWD, path.data, &about))) {
        head h = {.key_bytes = key_bytes, .data_bytes = bytes};
        memcpy(h.magic, magic, sizeof magic);
        kni_buffer_append(&file, &h, sizeof h);
        kni_buffer_append(&file, key, key_bytes);
        kni_buffer_append(&file, data, bytes);
        if (!file.failed) {
            h.sum = sum_of(file.data + sizeof h, file.length - sizeof h, 0);
            memcpy(file.data, &h, sizeof h);
            bool written = kni_file_write(path.data, file.data, file.length) == KN_OK;
            char *slash = strrchr(path.data, '/');
            if (written && slash) {
                *slash = 0;
                keep_limit(path.data, file.length);
            }
        }
    }
    kni_buffer_free(&file);
    kni_buffer_free(&path);
}
