/* Listing folders: the order of the names, and that nothing stays open or in memory, also when reading fails half-way.
   Writing files: which folder is synced, and the modes they have. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/file.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder_name[64];
static int reads_left = -1; /* after this many entries reading fails; below 0: never */

/* Stands before the C library's. MemorySanitizer needs its own there, which tells it what was written. */
#if !UNDER_MEMORY_SANITIZER
struct dirent *readdir(DIR *stream)
{
    static struct dirent *(*next)(DIR *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "readdir");
    if (reads_left == 0) {
        errno = EIO;
        return NULL;
    }
    if (reads_left > 0) reads_left--;
    return next(stream);
}

/* Files of these names in the root lie in the folder instead, so that anybody may write them. */
static const char root_name[] = "/test_support_folder", root_temporary[] = "/.test_support_folder.tmp";

static const char *instead_of(const char *path, char out[100])
{
    if (strcmp(path, root_name) && strcmp(path, root_temporary)) return path;
    snprintf(out, 100, "%s%s", folder_name, path);
    return out;
}

int open(const char *path, int flags, ...)
{
    char other[100];
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return (int)syscall(SYS_openat, AT_FDCWD, instead_of(path, other), flags, mode);
}

int stat(const char *path, struct stat *about)
{
    char other[100];
    return fstatat(AT_FDCWD, instead_of(path, other), about, 0);
}

int rename(const char *from, const char *to)
{
    char others[2][100];
    return renameat(AT_FDCWD, instead_of(from, others[0]), AT_FDCWD, instead_of(to, others[1]));
}

/* How syncing a folder fails, 0: not at all. */
static int sync_failure;
static struct stat synced; /* the folder that was synced last */

int fsync(int descriptor)
{
    static int (*next)(int);
    struct stat about;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "fsync");
    bool folder = fstat(descriptor, &about) == 0 && S_ISDIR(about.st_mode);
    if (folder) synced = about;
    if (!folder || !sync_failure) return next(descriptor);
    errno = sync_failure;
    return -1;
}

/* A file's name is on the disk when its folder is: the one it lies in, be it the current one or the root. */
static void the_folder_is_synced(void)
{
    char inside[100], there[100];
    snprintf(inside, sizeof inside, "%s/file", folder_name);
    snprintf(there, sizeof there, "%s%s", folder_name, root_name);
    const char *const paths[] = {inside, "test_support_folder.tmp", root_name},
                      *const made[] = {inside, paths[1], there}, *const folders[] = {folder_name, ".", "/"};
    for (int i = 0; i < 3; i++) {
        struct stat wanted;
        memset(&synced, 0, sizeof synced);
        CHECK(kni_file_write(paths[i], "x", 1) == KN_OK && fstatat(AT_FDCWD, folders[i], &wanted, 0) == 0);
        CHECK(synced.st_ino == wanted.st_ino && synced.st_dev == wanted.st_dev);
        CHECK(unlink(made[i]) == 0);
    }
}

/* A folder that cannot be synced at all is no failure of the file in it; a disk that fails is. */
static void folders_that_do_not_sync(const char *path)
{
    sync_failure = EINVAL;
    CHECK(kni_file_write(path, "x", 1) == KN_OK);
    sync_failure = EIO;
    CHECK_ERROR(kni_file_write(path, "x", 1), "write the folder of");
    sync_failure = 0;
}
#endif

static void in_folder(char *path, size_t n, int i) { snprintf(path, n, "%s/%c%d", folder_name, 'z' - i, i); }

static void names_are_sorted(void)
{
    kni_folder folder;
    CHECK(kni_folder_read(&folder, folder_name) == KN_OK && folder.count == 20);
    bool sorted = true;
    for (int64_t i = 1; i < folder.count; i++) sorted &= strcmp(folder.names[i - 1], folder.names[i]) < 0;
    CHECK(sorted && !strcmp(folder.names[0], "g19") && !strcmp(folder.names[19], "z0"));
    kni_folder_free(&folder);
    CHECK(folder.names == NULL && folder.count == 0);
    CHECK_ERROR(kni_folder_read(&folder, "test_support_folder/none"), "list the folder");
}

/* The lowest free descriptor is the same as before. */
static void nothing_stays_open(void)
{
    int before = dup(0);
    close(before);
    for (int fails = 0; fails < 2; fails++) {
        kni_folder folder;
        reads_left = fails ? 5 : -1;
        kn_status s = kni_folder_read(&folder, folder_name);
        reads_left = -1;
        CHECK((s != KN_OK) == (fails == 1));
        kni_folder_free(&folder);
    }
    int after = dup(0);
    close(after);
    CHECK(before >= 0 && before == after);
}

/* A folder that cannot be read to its end gives an error and no names. */
static void half_a_folder_is_none(void)
{
    kni_folder folder;
    reads_left = 5;
    CHECK_ERROR(kni_folder_read(&folder, folder_name), "list the folder");
    reads_left = -1;
    CHECK(folder.names == NULL && folder.count == 0);
}

static void no_folder_where_a_file_is(void)
{
    char path[96];
    in_folder(path, sizeof path, 0);
    CHECK(kni_folder_make(folder_name) == KN_OK); /* it exists */
    CHECK(kni_folder_make(path) != KN_OK);
}

/* A new file has the mode that the user asks for by umask; one that is replaced keeps its own. */
static void modes(void)
{
    char path[96];
    struct stat about;
    snprintf(path, sizeof path, "%s/mode", folder_name);
    mode_t before = umask(027);
    CHECK(kni_file_write(path, "x", 1) == KN_OK && lstat(path, &about) == 0);
    CHECK((about.st_mode & 07777) == 0640);
    CHECK(chmod(path, 0604) == 0 && kni_file_write(path, "y", 1) == KN_OK && lstat(path, &about) == 0);
    CHECK((about.st_mode & 07777) == 0604);
    umask(before);
    CHECK(unlink(path) == 0);
}

int main(void)
{
    char path[96];
    snprintf(folder_name, sizeof folder_name, "test_support_folder_%ld.tmp", (long)getpid());
    CHECK(mkdir(folder_name, 0700) == 0);
    for (int i = 0; i < 20; i++) {
        in_folder(path, sizeof path, i);
        FILE *f = fopen(path, "wb");
        CHECK(f && fclose(f) == 0);
    }
    names_are_sorted();
    no_folder_where_a_file_is();
    modes();
    if (UNDER_MEMORY_SANITIZER)
        check_skip("MemorySanitizer: folders that fail half-way");
    else {
        in_folder(path, sizeof path, 0);
        folders_that_do_not_sync(path);
        the_folder_is_synced();
        nothing_stays_open();
        half_a_folder_is_none();
    }
    for (int i = 0; i < 20; i++) {
        in_folder(path, sizeof path, i);
        unlink(path);
    }
    CHECK(rmdir(folder_name) == 0);
    return check_report();
}
