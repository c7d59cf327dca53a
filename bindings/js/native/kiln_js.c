/* What JavaScript calls beside the library's own functions: the same with flat arguments, where those take structs. Tensors are
   64-bit numbers there (BigInt), and every text and list lies in memory that JavaScript has asked for. The small module exports these
   functions of the library beside those of this file: */
// small: kn_last_error kn_error_code kn_call kn_own kn_drop kn_alias kn_dtype_of kn_scalar kn_scalar_int kn_device_cpu
// small: kn_device_use kn_seed kn_version kn_store_count kn_store_tensor kn_store_close
#include <kn.h>
#include <kn/call.h>
#include <kn/op_info.h>
#include <kn/store.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))

/* JavaScript lays out attributes itself. */
_Static_assert(sizeof(kn_attribute_value) == 96 && offsetof(kn_attribute_value, integer) == 8 &&
                   offsetof(kn_attribute_value, real) == 16 && offsetof(kn_attribute_value, list) == 24,
               "kn_attribute_value is laid out as src/runtime.js has it");
_Static_assert(sizeof(kn_shape) == 72 && offsetof(kn_shape, dims) == 8,
               "kn_shape is laid out as src/runtime.js has it");

void *kjs_allocate(size_t bytes);
EXPORT(kjs_allocate) void *kjs_allocate(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}
void kjs_free(void *p);
EXPORT(kjs_free) void kjs_free(void *p) { free(p); }

/* dims has room for KN_MAX_RANK. */
int32_t kjs_shape(kn_tensor t, int64_t *dims);
EXPORT(kjs_shape) int32_t kjs_shape(kn_tensor t, int64_t *dims)
{
    kn_shape s = kn_shape_of_tensor(t);
    if (s.rank > 0) memcpy(dims, s.dims, (size_t)s.rank * sizeof *dims);
    return kn_ok(t) ? s.rank : -1;
}

kn_tensor kjs_from(const void *data, int32_t dtype, int32_t rank, const int64_t *dims);
EXPORT(kjs_from) kn_tensor kjs_from(const void *data, int32_t dtype, int32_t rank, const int64_t *dims)
{
    kn_shape s = {rank, {0}};
    if (rank >= 0 && rank <= KN_MAX_RANK) memcpy(s.dims, dims, (size_t)rank * sizeof *dims);
    return kn_from(data, (kn_dtype)dtype, s);
}

/* The bytes of all elements; -1 for no tensor. */
int64_t kjs_bytes(kn_tensor t);
EXPORT(kjs_bytes) int64_t kjs_bytes(kn_tensor t)
{
    int64_t n = kn_count(t);
    return n < 0 ? -1 : kn_dtype_bytes(kn_dtype_of(t), n);
}

/* Begins to read; reading has room for KJS_READING bytes. */
enum { KJS_READING = 64 };
_Static_assert(sizeof(kn_reading) <= KJS_READING, "src/kiln.js makes room for a kn_reading");
int32_t kjs_read(kn_tensor t, void *buffer, size_t bytes, kn_reading *reading);
EXPORT(kjs_read) int32_t kjs_read(kn_tensor t, void *buffer, size_t bytes, kn_reading *reading)
{
    return kn_read_async(t, buffer, bytes, reading);
}

/* 1: the buffer is filled; 0: not yet; below 0: a failure. */
int32_t kjs_read_ready(kn_reading *reading);
EXPORT(kjs_read_ready) int32_t kjs_read_ready(kn_reading *reading)
{
    bool ready = false;
    kn_status s = kn_read_ready(reading, false, &ready);
    return s ? -(int32_t)s : ready;
}

/* Names of a store's tensors, and a tensor by its place. */
const char *kjs_store_name(kn_store store, int64_t i);
EXPORT(kjs_store_name) const char *kjs_store_name(kn_store store, int64_t i)
{
    kn_store_entry entry;
    return kn_store_at(store, i, &entry) ? entry.name : NULL;
}

kn_store kjs_store_open(const void *data, size_t bytes);
EXPORT(kjs_store_open) kn_store kjs_store_open(const void *data, size_t bytes)
{
    return kn_store_open_memory(data, bytes, NULL);
}
