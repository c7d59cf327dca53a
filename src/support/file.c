/* Whole reads, atomic writes and read-only maps of files. A write goes to a temporary file beside the target, which is
   locked, so that two writers never share one and a leftover of a killed writer is used again. */
#define _GNU_SOURCE
#include "support/file.h"
#include "support/failure.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifndef __wasi__
#include <sys/file.h>
#include <sys/mman.h>
#endif

enum { TEMPORARY_NAMES = 64, READ_STEP = 1 << 16 };

static kn_status file_failure(const char *what, const char *path)
{
    return kni_failure(KN_ERROR_IO, "cannot %s '%s': %s", what, path, strerror(errno));
}

static kn_status too_large(const char *path, size_t limit)
{
    return kni_failure(KN_ERROR_IO, "'%s' is larger than the %zu bytes that are taken here", path, limit);
}

/* ---- reading */

kn_status kni_file_read(const char *path, size_t limit, kni_buffer *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0) return file_failure("open", path);
    kn_status status = KN_OK;
    size_t known = 0, total = 0;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) known = (size_t)info.st_size;
    if (limit && known > limit) status = too_large(path, limit);
    if (!status && known && !kni_buffer_reserve(out, known + 1))
        status = kni_failure_memory("reading a file");
    /* The size is a hint: a file of /proc has none, and a file may grow while it is read. */
    while (!status) {
        size_t step = total <= known && known ? known + 1 - total : READ_STEP;
        if (!kni_buffer_reserve(out, step)) {
            status = kni_failure_memory("reading a file");
            break;
        }
        ssize_t got = read(fd, out->data + out->length, step);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = file_failure("read", path);
        if (got <= 0) break;
        out->length += (size_t)got;
        out->data[out->length] = 0;
        total += (size_t)got;
        if (limit && total > limit) status = too_large(path, limit);
    }
    close(fd);
    return status;
}

/* ---- atomic writing */

/* True when fd is still the file that name leads to: another writer may have renamed it away before the lock. */
static bool still_named(int fd, const char *name)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && stat(name, &named) == 0 && open_file.st_ino == named.st_ino &&
           open_file.st_dev == named.st_dev;
}

/* Opens and locks a temporary file; -1 with errno, -2 when another writer has it. */
static int open_temporary(const char *name)
{
    /* A link that somebody laid under this name would have another file emptied, so it is refused. */
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return -1;
#ifndef __wasi__
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return -2;
    }
#endif
    if (!still_named(fd, name)) {
        close(fd);
        return -2;
    }
    if (ftruncate(fd, 0) == 0) return fd;
    int kept = errno;
    close(fd);
    errno = kept;
    return -1;
}

/* "folder/.name.tmp" or, for later tries, "folder/.name.tmp3". */
static char *temporary_name(const char *path, int attempt)
{
    size_t length = strlen(path), bytes = length + 16;
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *name = malloc(bytes);
    if (!name) return NULL;
    if (attempt == 0)
        snprintf(name, bytes, "%.*s.%s.tmp", (int)folder, path, path + folder);
    else
        snprintf(name, bytes, "%.*s.%s.tmp%d", (int)folder, path, path + folder, attempt);
    return name;
}

static int open_any_temporary(kni_atomic_file *f)
{
    int fd = -2;
    for (int attempt = 0; attempt < TEMPORARY_NAMES && fd == -2; attempt++) {
        free(f->temporary);
        f->temporary = temporary_name(f->path, attempt);
        if (!f->temporary) {
            errno = ENOMEM;
            return -1;
        }
        fd = open_temporary(f->temporary);
    }
    if (fd == -2) errno = EBUSY;
    return fd < 0 ? -1 : fd;
}

static void forget(kni_atomic_file *f)
{
    free(f->path);
    free(f->temporary);
    memset(f, 0, sizeof *f);
}

kn_status kni_atomic_open(kni_atomic_file *f, const char *path)
{
    struct stat info;
    memset(f, 0, sizeof *f);
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode))
        return kni_failure(KN_ERROR_IO, "cannot write '%s': it is a folder", path);
#ifndef __wasi__
    /* Behind a link the file it leads to is replaced, not the link. */
    if (exists) f->path = realpath(path, NULL);
#endif
    if (!f->path) f->path = strdup(path);
    if (!f->path) return kni_failure_memory("writing a file");
    int fd;
    if (exists && !S_ISREG(info.st_mode)) /* a pipe or a device cannot be replaced */
        fd = open(f->path, O_WRONLY | O_CLOEXEC);
    else
        fd = open_any_temporary(f);
    if (fd >= 0) f->file = fdopen(fd, "wb");
    if (!f->file) {
        kn_status status = file_failure("write", path);
        if (fd >= 0) {
            if (f->temporary) unlink(f->temporary);
            close(fd);
        }
        forget(f);
        return status;
    }
#ifndef __wasi__
    /* The mode of the old file is a courtesy; a file system without modes is no failure. */
    if (exists && f->temporary && fchmod(fd, info.st_mode & 07777) != 0) errno = 0;
#endif
    return KN_OK;
}

kn_status kni_atomic_open_memory(kni_atomic_file *f, char **data, size_t *bytes)
{
    memset(f, 0, sizeof *f);
    *data = NULL;
    *bytes = 0;
    f->path = strdup("memory");
    f->file = f->path ? open_memstream(data, bytes) : NULL;
    f->memory = data;
    if (f->file) return KN_OK;
    forget(f);
    return kni_failure_memory("writing to memory");
}

kn_status kni_atomic_write(kni_atomic_file *f, const void *data, size_t bytes)
{
    if (bytes == 0 || fwrite(data, 1, bytes, f->file) == bytes) return KN_OK;
    return file_failure("write", f->path);
}

kn_status kni_atomic_patch(kni_atomic_file *f, size_t place, const void *data, size_t bytes)
{
    if (f->memory) { /* not by seeking, which leaves a zero behind */
        if (fflush(f->file) != 0) return file_failure("write", f->path);
        memcpy(*f->memory + place, data, bytes);
        return KN_OK;
    }
    if (fseeko(f->file, (off_t)place, SEEK_SET) != 0 || fwrite(data, 1, bytes, f->file) != bytes ||
        fseeko(f->file, 0, SEEK_END) != 0)
        return file_failure("write", f->path);
    return KN_OK;
}

void kni_atomic_cancel(kni_atomic_file *f)
{
    if (!f->file) return;
    if (f->temporary) unlink(f->temporary);
    fclose(f->file);
    forget(f);
}

/* The rename is on the disk only when its folder is. A folder that cannot be synced at all (EINVAL on some file systems, one
   without the right to read it) is no failure; a disk that fails is. */
static kn_status sync_folder_of(const char *path)
{
    kn_status status = KN_OK;
    char *folder = strdup(path);
    if (!folder) return kni_failure_memory("writing a file");
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder)
        *slash = 0;
    else if (slash)
        slash[1] = 0;
    int fd = open(slash ? folder : ".", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (fsync(fd) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT))
            status = file_failure("write the folder of", path);
        close(fd);
    }
    free(folder);
    return status;
}

kn_status kni_atomic_commit(kni_atomic_file *f)
{
    kn_status status = KN_OK;
    bool plain = f->temporary != NULL;
    if (fflush(f->file) != 0 || ferror(f->file) || (plain && fsync(fileno(f->file)) != 0) ||
        (plain && rename(f->temporary, f->path) != 0))
        status = file_failure("write", f->path);
    if (status) {
        kni_atomic_cancel(f);
        return status;
    }
    /* Closed after the rename: the lock keeps others away from the temporary name until it is free. */
    if (fclose(f->file) != 0 && !plain) status = file_failure("write", f->path);
    if (plain) status = sync_folder_of(f->path);
    forget(f);
    return status;
}

kn_status kni_file_write(const char *path, const void *data, size_t bytes)
{
    kni_atomic_file f;
    kn_status status = kni_atomic_open(&f, path);
    if (status) return status;
    status = kni_atomic_write(&f, data, bytes);
    if (!status) return kni_atomic_commit(&f);
    kni_atomic_cancel(&f);
    return status;
}

/* ---- maps */

#ifdef __wasi__
kn_status kni_file_map_open(kni_file_map *map, const char *path)
{
    kni_buffer content = {0};
    map->data = NULL;
    map->bytes = 0;
    kn_status status = kni_file_read(path, 0, &content);
    if (status || content.length == 0) {
        kni_buffer_free(&content);
        return status;
    }
    map->data = content.data;
    map->bytes = content.length;
    return KN_OK;
}

void kni_file_map_close(kni_file_map *map)
{
    free((void *)(uintptr_t)map->data);
    map->data = NULL;
    map->bytes = 0;
}
#else
kn_status kni_file_map_open(kni_file_map *map, const char *path)
{
    struct stat info;
    map->data = NULL;
    map->bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
    if (fd < 0) return file_failure("open", path);
    kn_status status = KN_OK;
    if (fstat(fd, &info) != 0)
        status = file_failure("read", path);
    else if (!S_ISREG(info.st_mode))
        status = kni_failure(KN_ERROR_IO, "cannot map '%s': it is not a plain file", path);
    else if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            status = file_failure("map", path);
        else {
            map->data = data;
            map->bytes = (size_t)info.st_size;
        }
    }
    close(fd);
    return status;
}

void kni_file_map_close(kni_file_map *map)
{
    if (map->data) munmap((void *)(uintptr_t)map->data, map->bytes);
    map->data = NULL;
    map->bytes = 0;
}
#endif
