/* What the fuzzers share: reading everything a store offers. A fuzzer is a file fuzz_<parser>.c with seeds in seeds/<parser>. */
#ifndef FUZZ_H
#define FUZZ_H

#include <kn.h>
#include <kn/store.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Opens the bytes as a file and reads every entry, text and tensor of at most 64 KiB. */
static inline void fuzz_store(const uint8_t *data, size_t bytes, kn_store_format format, bool map)
{
    kn_store store =
        kn_store_open_memory(data, bytes, &(kn_store_args){.format = format, .map = map, .limit = 1 << 16});
    const char *name, *text;
    kn_store_entry entry;
    size_t touched = 0;
    for (int64_t i = 0; kn_store_text(store, i, &name, &text); i++) touched += name[0] + text[0];
    for (int64_t i = 0; kn_store_at(store, i, &entry); i++) {
        touched += entry.name[0] + entry.dtype_text[0];
        kn_tensor t = kn_store_tensor(store, i);
        uint8_t buffer[1 << 16];
        int64_t size = kn_ok(t) ? kn_dtype_bytes(kn_dtype_of(t), kn_count(t)) : -1;
        if (size >= 0 && size <= (int64_t)sizeof buffer && kn_read(t, buffer, (size_t)size) == KN_OK && size)
            touched += buffer[size - 1];
        kn_drop(t);
    }
    volatile size_t kept = touched;
    (void)kept;
    kn_store_close(store);
}

#endif
