/* Folders and paths: existence, making, listing in a fixed order, removing with all inside. */
#define _GNU_SOURCE
#include "support/failure.h"
#include "support/file.h"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REMOVE_DEPTH = 64 };

static kn_status folder_failure(const char *what, const char *path)
{
    return kni_failure(KN_ERROR_IO, "cannot %s '%s': %s", what, path, strerror(errno));
}

bool kni_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool kni_file_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

char *kni_path_join(const char *a, const char *b)
{
    size_t first = strlen(a), second = strlen(b);
    if (first == 0) return strdup(b);
    bool slash = a[first - 1] != '/';
    char *path = malloc(first + second + 2);
    if (!path) return NULL;
    memcpy(path, a, first);
    if (slash) path[first] = '/';
    memcpy(path + first + slash, b, second + 1);
    return path;
}

/* Another process may make the folder at the same moment, so an existing one is success. */
static bool make_one(const char *path)
{
    return mkdir(path, 0777) == 0 || ((errno == EEXIST || errno == EISDIR) && kni_file_is_folder(path));
}

kn_status kni_folder_make(const char *path)
{
    char *copy = strdup(path);
    if (!copy) return kni_failure_memory("making a folder");
    kn_status status = KN_OK;
    if (!*copy) {
        errno = ENOENT;
        status = folder_failure("make the folder", path);
    }
    /* At the end of each part: the folder up to here. */
    for (char *p = copy; !status && *p; p++) {
        char after = p[1];
        if (*p == '/' || (after != '/' && after != 0)) continue;
        p[1] = 0;
        if (!make_one(copy)) status = folder_failure("make the folder", copy);
        p[1] = after;
    }
    free(copy);
    return status;
}

/* ---- listing */

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool add_name(kni_folder *folder, size_t *capacity, const char *name)
{
    if ((size_t)folder->count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 16;
        if (wanted > SIZE_MAX / sizeof *folder->names) return false;
        char **names = realloc(folder->names, wanted * sizeof *names);
        if (!names) return false;
        folder->names = names;
        *capacity = wanted;
    }
    char *copy = strdup(name);
    if (!copy) return false;
    folder->names[folder->count++] = copy;
    return true;
}

kn_status kni_folder_read(kni_folder *folder, const char *path)
{
    size_t capacity = 0;
    kn_status status = KN_OK;
    folder->names = NULL;
    folder->count = 0;
    DIR *stream = opendir(path);
    if (!stream) return folder_failure("list the folder", path);
    while (!status) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (!entry) {
            if (errno) status = folder_failure("list the folder", path);
            break;
        }
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (!add_name(folder, &capacity, entry->d_name)) status = kni_failure_memory("listing a folder");
    }
    closedir(stream);
    if (status)
        kni_folder_free(folder);
    else if (folder->count > 1)
        qsort(folder->names, (size_t)folder->count, sizeof *folder->names, by_bytes);
    return status;
}

void kni_folder_free(kni_folder *folder)
{
    for (int64_t i = 0; i < folder->count; i++) free(folder->names[i]);
    free(folder->names);
    folder->names = NULL;
    folder->count = 0;
}

/* ---- removing */

static kn_status remove_inside(const char *path, int depth)
{
    struct stat info;
    if (lstat(path, &info) != 0) return folder_failure("remove", path);
    if (!S_ISDIR(info.st_mode)) return unlink(path) == 0 ? KN_OK : folder_failure("remove", path);
    if (depth == 0) return kni_failure(KN_ERROR_IO, "cannot remove '%s': folders too deep inside", path);
    kni_folder folder;
    kn_status status = kni_folder_read(&folder, path);
    if (status) return status;
    for (int64_t i = 0; !status && i < folder.count; i++) {
        char *inside = kni_path_join(path, folder.names[i]);
        status = inside ? remove_inside(inside, depth - 1) : kni_failure_memory("removing a folder");
        free(inside);
    }
    kni_folder_free(&folder);
    if (!status && rmdir(path) != 0) status = folder_failure("remove", path);
    return status;
}

kn_status kni_path_remove(const char *path) { return remove_inside(path, REMOVE_DEPTH); }
