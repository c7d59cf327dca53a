/* Files: whole reads, atomic writes, folders, read-only maps. All failures name the path and the system's reason. */
#ifndef KNI_SUPPORT_FILE_H
#define KNI_SUPPORT_FILE_H

#include "support/buffer.h"
#include <kn/base.h>
#include <stdio.h>

/* Reads a whole file of at most limit bytes (0: no limit) into out. */
kn_status kni_file_read(const char *path, size_t limit, kni_buffer *out);
/* Writes a file so that a reader sees the old content or all of the new, even after a crash: temporary file in the same
   folder, fsync, rename, fsync of the folder. */
kn_status kni_file_write(const char *path, const void *data, size_t bytes);

/* The same in pieces. */
typedef struct kni_atomic_file {
    FILE *file;
    char *path, *temporary;
    char **memory; /* where the bytes are that are written to memory */
} kni_atomic_file;
kn_status kni_atomic_open(kni_atomic_file *f, const char *path);
/* The same into memory, which is the caller's after the commit or the cancel (free); both places must outlive the file. */
kn_status kni_atomic_open_memory(kni_atomic_file *f, char **data, size_t *bytes);
kn_status kni_atomic_write(kni_atomic_file *f, const void *data, size_t bytes);
/* Writes over bytes that were written before, of a file or of memory; a pipe cannot be gone back in. */
kn_status kni_atomic_patch(kni_atomic_file *f, size_t place, const void *data, size_t bytes);
/* Renames it into place; on failure the old file stays and the temporary one is removed. */
kn_status kni_atomic_commit(kni_atomic_file *f);
void kni_atomic_cancel(kni_atomic_file *f);

/* A read-only map of a file, which another process may cut: readers copy what they keep. */
typedef struct kni_file_map {
    const void *data; /* NULL for an empty file */
    size_t bytes;
} kni_file_map;
kn_status kni_file_map_open(kni_file_map *map, const char *path);
void kni_file_map_close(kni_file_map *map);

bool kni_file_exists(const char *path);
bool kni_file_is_folder(const char *path);
/* Makes a folder and those above it. */
kn_status kni_folder_make(const char *path);
/* The names in a folder, sorted by bytes, without "." and ".."; free with kni_folder_free. */
typedef struct kni_folder {
    char **names;
    int64_t count;
} kni_folder;
kn_status kni_folder_read(kni_folder *folder, const char *path);
void kni_folder_free(kni_folder *folder);
/* Removes a file or a whole folder. */
kn_status kni_path_remove(const char *path);
/* "a/b" in a new string, NULL without memory. */
char *kni_path_join(const char *a, const char *b);

#endif
