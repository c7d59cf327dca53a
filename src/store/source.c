/* The bytes behind a store: a file that is read piece by piece, a mapped file, or the caller's memory. Every access is
   checked against the size that was found when it was opened. */
#define _GNU_SOURCE
#include "store/store_object.h"
#include "support/failure.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY_PER_BYTE = 32, FREE_MEMORY = 1 << 26 };

uint64_t kni_source_allowance(const kni_source *source)
{
    uint64_t bytes =
        source->bytes < UINT64_MAX / MEMORY_PER_BYTE ? source->bytes * MEMORY_PER_BYTE : UINT64_MAX;
    return bytes > FREE_MEMORY ? bytes : FREE_MEMORY;
}

static kni_source *make_source(const char *name)
{
    size_t length = strlen(name) + 1;
    kni_source *source = calloc(1, sizeof *source + length);
    if (!source) {
        kni_failure_memory("kn_store_open");
        return NULL;
    }
    memcpy(source->name, name, length);
    source->fd = -1;
    source->references = 1;
    return source;
}

static kn_status open_file(kni_source *source)
{
    struct stat info;
    /* Without waiting: a pipe without a writer would block here, before it is refused. */
    source->fd = open(source->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd < 0 || fstat(source->fd, &info) != 0)
        return kni_failure(KN_ERROR_IO, "cannot open '%s': %s", source->name, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return kni_failure(KN_ERROR_IO, "cannot open '%s': it is not a plain file", source->name);
    source->bytes = info.st_size < 0 ? 0 : (uint64_t)info.st_size;
    return KN_OK;
}

kni_source *kni_source_open(const char *path, bool map)
{
    kni_source *source = make_source(path);
    if (!source) return NULL;
    kn_status status = map ? kni_file_map_open(&source->map, path) : open_file(source);
    if (status) {
        kni_source_release(source);
        return NULL;
    }
    if (map) {
        source->data = source->map.data ? source->map.data : (const unsigned char *)"";
        source->bytes = source->map.bytes;
    }
    return source;
}

kni_source *kni_source_memory(const void *data, size_t bytes)
{
    kni_source *source = make_source("memory");
    if (!source) return NULL;
    source->data = data ? data : (const unsigned char *)"";
    source->bytes = data ? bytes : 0;
    return source;
}

kni_source *kni_source_retain(kni_source *source)
{
    __atomic_add_fetch(&source->references, 1, __ATOMIC_RELAXED);
    return source;
}

void kni_source_release(kni_source *source)
{
    if (!source || __atomic_sub_fetch(&source->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (source->fd >= 0) close(source->fd);
    kni_file_map_close(&source->map);
    free(source);
}

kn_status kni_source_read(const kni_source *source, uint64_t offset, void *out, size_t bytes)
{
    if (offset > source->bytes || bytes > source->bytes - offset)
        return kni_source_damaged(source, "%zu bytes are wanted at byte %llu, but the file ends at byte %llu",
                                  bytes, (unsigned long long)offset, (unsigned long long)source->bytes);
    if (source->data) {
        if (bytes) memcpy(out, source->data + offset, bytes);
        return KN_OK;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(source->fd, (char *)out + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return kni_source_bad(source, "%s", strerror(errno));
        if (got == 0) return kni_source_bad(source, "the file became shorter while it was read");
        done += (size_t)got;
    }
    return KN_OK;
}

static kn_status tell(const kni_source *source, const char *kind, const char *format, va_list arguments)
{
    char text[KNI_FAILURE_TEXT], plain[KNI_FAILURE_TEXT];
    vsnprintf(text, sizeof text, format, arguments);
    kni_escape(plain, sizeof plain, text);
    return kni_failure(KN_ERROR_IO, "%s: %s%s", source->name, kind, plain);
}

kn_status kni_source_bad(const kni_source *source, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kn_status status = tell(source, "", format, arguments);
    va_end(arguments);
    return status;
}

kn_status kni_source_damaged(const kni_source *source, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kn_status status = tell(source, "damaged: ", format, arguments);
    va_end(arguments);
    kni_damage_note();
    return status;
}
