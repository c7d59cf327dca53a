/* What is worth keeping between runs of a program: compiled kernels. One file for each entry, in the folder
   kiln-kernels of $KN_CACHE_DIR, else of $XDG_CACHE_HOME/kiln, else of ~/.cache/kiln; KN_CACHE=off keeps nothing. Both folders
   belong to the user alone, and no file is touched that this cache did not write. Entries are
   written beside their place and renamed, so any number of processes may share it; the oldest go when all together pass
   KN_CACHE_MEGABYTES (512). The cache is a convenience: nothing here tells a failure. */
#ifndef KNI_SUPPORT_DISK_CACHE_H
#define KNI_SUPPORT_DISK_CACHE_H

#include "support/buffer.h"

/* kind: "cuda", a short word. key: all that the bytes depend on (text, compiler, device), compared in full. True when found;
   the bytes are then in `out`. A file that was cut or made for another key is none. */
bool kni_disk_cache_get(const char *kind, const void *key, size_t key_bytes, kni_buffer *out);
void kni_disk_cache_put(const char *kind, const void *key, size_t key_bytes, const void *data, size_t bytes);

#endif
