/* Tensors: making, owning, asking, reading, printing, and the errors they carry.

   Ownership in one rule: used once, pass it; used more than once, keep it.
   - temporary: what a function returns. The first function that returns a tensor from it takes it.
   - kept:      x = kn_keep(x). Borrowed by ops, freed when its scope ends or by kn_drop.
   - owned:     x = kn_own(x). Outlives scopes, may be read from any thread, freed by kn_drop.
   Queries, reads and prints borrow, and so do kn_item, kn_grad and kn_backward: a value that was only borrowed stays
   until its scope ends or kn_drop. A loop of steps has a scope in each step, or drops what it only read (the loss). */
#ifndef KN_TENSOR_H
#define KN_TENSOR_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dtypes */

/* Bytes that n elements occupy in a tensor, or -1 when that passes 2^63 or the dtype is unknown. Types of fewer than 8 bits take a
   byte for each element, with the code in its lowest bits; files hold them packed. */
KN_API int64_t kn_dtype_bytes(kn_dtype dtype, int64_t n);
/* "f32", "bool" ...; "unknown" for a code that is none. */
KN_API const char *kn_dtype_name(kn_dtype dtype);
/* The dtype called name, or KN_DTYPE_NONE. */
KN_API kn_dtype kn_dtype_by_name(const char *name);
/* Of the dtypes that ops compute with. */
KN_API bool kn_dtype_is_float(kn_dtype dtype);
KN_API bool kn_dtype_is_integer(kn_dtype dtype);
/* Whether tensors only store the dtype: floats of 8 and 4 bits, powers of two, integers of 4 and 2 bits. They can be made, cast, compared,
   viewed, moved, read, printed and saved; arithmetic wants a cast first. */
KN_API bool kn_dtype_is_stored(kn_dtype dtype);
/* Freestanding programs link what stored dtypes need only where they call this, anywhere; other programs always have it. True. */
KN_API bool kn_stored_dtypes_use(void);
/* The dtype that an op on a and b computes in: PyTorch's table; u64 with a signed integer gives i64. */
KN_API kn_dtype kn_dtype_promote(kn_dtype a, kn_dtype b);
/* The limits of a float dtype: eps, smallest normal, largest; zeros for others. */
typedef struct kn_float_limits {
    double eps, smallest_normal, max;
    int32_t bits, digits;
} kn_float_limits;
KN_API kn_float_limits kn_dtype_limits(kn_dtype dtype);

/* ---- making tensors, on the calling thread's device (kn_device_use) */

/* Copies contiguous elements of dtype from memory. Of a bool every byte but 0 is true. */
KN_API kn_tensor kn_from(const void *data, kn_dtype dtype, kn_shape shape);
/* Uses the caller's buffer, on the CPU uncopied but for bools other than 0 and 1 (true, also if written later); GPUs copy; strides in elements or NULL.
   release(context) is called once when the last user is gone, also on failure; NULL when the buffer outlives the tensor. */
KN_API kn_tensor kn_wrap(void *data, kn_dtype dtype, kn_shape shape, const int64_t *strides,
                         void (*release)(void *context), void *context);
KN_API kn_tensor kn_scalar(double value, kn_dtype dtype);
KN_API kn_tensor kn_scalar_int(int64_t value, kn_dtype dtype);

/* ---- ownership and scopes */

typedef struct kn_scope {
    uint32_t depth, thread, serial;
} kn_scope;

KN_API kn_tensor kn_keep(kn_tensor t);
KN_API kn_tensor kn_own(kn_tensor t);
/* Frees a tensor now. Dropping KN_NONE or a poisoned tensor does nothing. */
KN_API void kn_drop(kn_tensor t);
/* Rebinds an owned handle: drops *handle and makes value owned in its place. */
KN_API kn_status kn_assign(kn_tensor *handle, kn_tensor value);
/* A second handle to the same value, as a temporary. */
KN_API kn_tensor kn_alias(kn_tensor t);
KN_API kn_scope kn_scope_begin(void);
/* Notes where a scope began; kn_scope_begin calls it with the caller's line. */
KN_API void kn_site_scope(kn_scope scope, const char *site);
/* Frees all that was made since, inner scopes included, and hands result (KN_NONE for nothing) out as a temporary.
   Ending a scope a second time, or on another thread, changes nothing and is an error in kn_last_error(). */
KN_API kn_tensor kn_scope_end(kn_scope scope, kn_tensor result);
KN_API void kn_scope_end_many(kn_scope scope, kn_tensor *results, int32_t n);

/* ---- asking */

KN_API bool kn_ok(kn_tensor t); /* valid and not poisoned */
KN_API kn_dtype kn_dtype_of(kn_tensor t);
KN_API int32_t kn_rank(kn_tensor t);               /* -1 on a bad handle */
KN_API int64_t kn_size(kn_tensor t, int32_t axis); /* negative axes count from the end; -1 on error */
KN_API kn_shape kn_shape_of_tensor(kn_tensor t);
KN_API int64_t kn_count(kn_tensor t); /* number of elements, -1 on error */
/* Fills strides[rank] (in elements) of the tensor's memory; forces a strided layout. */
KN_API kn_status kn_strides(kn_tensor t, int64_t *strides);
KN_API kn_device kn_device_of(kn_tensor t);

/* ---- reading. All wait for the device but kn_read_async. */

/* Copies the elements, contiguous and in the tensor's dtype, into a buffer of exactly `bytes` bytes. */
KN_API KN_MUST_CHECK kn_status kn_read(kn_tensor t, void *buffer, size_t bytes);
/* The same, converted to dtype. */
KN_API KN_MUST_CHECK kn_status kn_read_as(kn_tensor t, kn_dtype dtype, void *buffer, size_t bytes);
/* Reads n tensors with one wait. */
KN_API KN_MUST_CHECK kn_status kn_read_many(const kn_tensor *t, void *const *buffers, const size_t *bytes,
                                            int32_t n);
/* A read that is under way; its fields are the library's. */
typedef struct kn_reading {
    kn_tensor tensor;
    void *buffer, *leaf;
    size_t bytes;
    uint64_t ticket;
    uint32_t slot;
    bool under_way;
} kn_reading;
/* Begins what kn_read does and does not wait for the device, where that can copy by itself; elsewhere it reads at once. The tensor may be
   dropped; the buffer, the device and *reading stay until kn_read_ready has said that it is ready, or has failed. */
KN_API KN_MUST_CHECK kn_status kn_read_async(kn_tensor t, void *buffer, size_t bytes, kn_reading *reading);
/* Whether the buffer is filled; wait: not before it is. For loops of events, which must not stand still. */
KN_API KN_MUST_CHECK kn_status kn_read_ready(kn_reading *reading, bool wait, bool *ready);
/* The single element of a tensor of one element. NaN (or 0) with kn_last_error() on failure. */
KN_API double kn_item(kn_tensor t);
KN_API int64_t kn_item_int(kn_tensor t);

/* ---- printing, as NumPy does */

typedef struct kn_print_options {
    int64_t precision;  /* digits after the point, 0 = 4, KN_ZERO = 0 */
    int64_t edge_items; /* shown at each end of a summarised axis, 0 = 3 */
    int64_t threshold;  /* elements above which axes are summarised, 0 = 1000 */
    int32_t line_width; /* 0 = 80 */
} kn_print_options;
#define KN_PRINT_OPTIONS_DEFAULTS KN_FIELDS(4, 3, 1000, 80)

/* Writes text of at most n - 1 bytes and a final 0; returns the length the whole text has. */
KN_API size_t kn_format(kn_tensor t, char *buffer, size_t n, const kn_print_options *options);
/* Prints to standard output (through the print callback where there is none). */
KN_API kn_status kn_print(kn_tensor t);

/* ---- errors */

/* The first error a poisoned tensor carries, "" and KN_OK for a good one and for KN_NONE; a handle that names no live tensor has
   KN_ERROR_HANDLE. Returns the length of the whole text. */
KN_API size_t kn_error_text(kn_tensor t, char *buffer, size_t n);
KN_API kn_status kn_error_code(kn_tensor t);
/* The calling thread's latest failure with the line of the call; never NULL, valid until its next failure, kn_shutdown or not. */
KN_API const char *kn_last_error(void);
KN_API const char *kn_status_name(kn_status status);
/* A poisoned tensor of your own, for functions of yours that fail. The thread's latest failure handed on, with NULL or its
   own text and its code, stays that one failure and is logged once. */
KN_API kn_tensor kn_poison(kn_status code, const char *message);

typedef enum kn_log_level { KN_LOG_ERROR = 0, KN_LOG_WARNING = 1, KN_LOG_INFO = 2 } kn_log_level;
typedef void (*kn_log_fn)(void *context, kn_log_level level, const char *text);
/* Receives each error once, at its origin, on the thread that failed. NULL (the default) is silent. A thread that is
   failing while another one calls this may still use the function that was set before. */
KN_API void kn_log_set(kn_log_fn fn, void *context);

/* ---- memory, threads, version */

typedef struct kn_memory {
    int64_t bytes_now, bytes_peak, allocations, limit;
    int64_t tensors_now, slots;
    int64_t bytes_cached; /* freed large blocks, kept mapped for later results; not in bytes_now */
} kn_memory;
KN_API kn_memory kn_memory_stats(void);

typedef enum kn_tensor_state {
    KN_TENSOR_TEMPORARY = 0,
    KN_TENSOR_KEPT = 1,
    KN_TENSOR_OWNED = 2,
    KN_TENSOR_PARAM = 3
} kn_tensor_state;
typedef struct kn_live_tensor {
    kn_shape shape;
    kn_dtype dtype;
    kn_tensor_state state;
    int64_t bytes;    /* of its elements; views share theirs */
    const char *site; /* "train.c:41": the line that made it; NULL where no line was noted */
} kn_live_tensor;
/* Fills list with the tensors that are alive, at most capacity of them, and returns how many there are. Call it while no
   other thread makes or frees tensors. A loop that leaves 10,000 alive, owned or not, is warned of in the log, once a line. */
KN_API int64_t kn_live_tensors(kn_live_tensor *list, int64_t capacity);
/* No allocation may take the total past limit bytes, cached blocks included; those are given back before one
   fails. 0 removes the limit. */
KN_API void kn_memory_limit(int64_t limit);
/* Gives all cached large blocks and the calling thread's small ones back to the system; devices with memory of their own
   give back what they keep for later. */
KN_API void kn_memory_trim(void);
/* Fails the nth allocation from now (1 = the next); 0 turns it off. For tests. */
KN_API void kn_memory_fail_after(int64_t n);
/* Must be the first call: everything is carved from buffer and malloc is never used. */
KN_API kn_status kn_init_static(void *buffer, size_t bytes);
/* Ends the library and frees all it holds. Returns how many owned tensors and params were alive (others end with their
   scopes), or a negative kn_status, and then nothing was freed: other threads that used the library have not ended (a
   loader's workers count, the library's own team does not), or a function that the library runs called it. All that was
   made before is an error from then on, for ever (freeing an object is nothing); the next use begins anew. A forked
   child does so too: it may open and use new cpu devices, and all that its parent made is an error there. */
KN_API int64_t kn_shutdown(void);
/* 0 = one per core. */
KN_API void kn_set_threads(int32_t n);
KN_API int32_t kn_get_threads(void);
/* Results never depend on the number of threads. With true (or KN_REPRODUCIBLE=1) matrix products also give the
   same bits on every processor, at the price of fused multiply-add; all other ops always do. */
KN_API void kn_set_reproducible(bool reproducible);

#define KN_VERSION_MAJOR 0
#define KN_VERSION_MINOR 1
#define KN_VERSION_PATCH 0
KN_API const char *kn_version(void);

/* ---- DLPack (kn/dlpack.h has the structs) */
struct DLManagedTensor;
struct DLManagedTensorVersioned;
/* Takes over a DLPack tensor in host memory without a copy; its deleter runs when the last user is gone. Elements of 4 and 2
   bits are packed in this form: they are unpacked into a copy. Kiln never writes to memory that it took over. */
KN_API kn_tensor kn_from_dlpack(struct DLManagedTensor *managed);
/* The same of the form with a version; another major version than 1 is refused. Elements of 4 and 2 bits that lie one to a byte
   (IS_SUBBYTE_TYPE_PADDED) need no copy. */
KN_API kn_tensor kn_from_dlpack_versioned(struct DLManagedTensorVersioned *managed);
/* A DLPack view of t; the caller calls its deleter. NULL on error, and for elements of 4 and 2 bits. */
KN_API struct DLManagedTensor *kn_to_dlpack(kn_tensor t);
/* The same with a version and flags: READ_ONLY where t lies in memory that was wrapped, IS_COPIED with `copy`, for contiguous
   memory that nobody else sees, and IS_SUBBYTE_TYPE_PADDED for elements of 4 and 2 bits. */
KN_API struct DLManagedTensorVersioned *kn_to_dlpack_versioned(kn_tensor t, bool copy);

#ifdef __cplusplus
}
#endif
#endif
