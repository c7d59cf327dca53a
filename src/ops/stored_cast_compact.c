/* Casts from and to stored dtypes for microcontrollers and compact builds: element by element in the program's own memory, in place
   of tables and the ops that read them. Same results. */
#include "core/allocator.h"
#include "core/integer_range.h"
#include "core/objects.h"
#include "core/small_types.h"
#include "ops/stored_ops.h"
#include <kn/tensor.h>

#if defined(KN_FREESTANDING) || defined(KN_COMPACT)

/* A piece at a time, so that no second buffer of the tensor's size is needed. */
enum { PIECE = 64 };

static void saturate_elements(uint8_t *to, int dtype, const char *from, int from_dtype, int64_t n)
{
    double values[PIECE];
    size_t bytes = kni_dtypes[from_dtype].bytes;
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t m = n - i < PIECE ? n - i : PIECE;
        kni_convert(values, KN_F64, 1, from + (size_t)i * bytes, from_dtype, 1, m);
        for (int64_t k = 0; k < m; k++) to[i + k] = (uint8_t)kni_small_code(dtype, values[k], true);
    }
}

static kn_tensor cast_elements(kn_tensor x, int dtype, bool saturate, char *from, size_t from_bytes, char *to)
{
    int from_dtype = kn_dtype_of(x);
    kn_shape shape = kn_shape_of_tensor(x);
    int64_t n = kn_count(x);
    if (kn_read(x, from, from_bytes) != KN_OK) return kni_poison_latest();
    if (saturate && kni_dtype_stored(dtype))
        saturate_elements((uint8_t *)to, dtype, from, from_dtype, n);
    else
        kni_convert(to, dtype, 1, from, from_dtype, 1, n);
    return kn_from(to, (kn_dtype)dtype, shape);
}

kn_tensor kni_cast_stored(kn_tensor x, int dtype, bool saturate)
{
    if (kn_dtype_of(x) == (kn_dtype)dtype) return kn_alias(x);
    if (kni_thread_self()->context.capture) {
        kni_fail_op(KN_ERROR_UNSUPPORTED, "cast", "a library built small records no casts of %T",
                    kni_dtype_stored(dtype) ? dtype : (int)kn_dtype_of(x));
        return kni_poison_latest();
    }
    size_t from_bytes = (size_t)kn_dtype_bytes(kn_dtype_of(x), kn_count(x)),
           to_bytes = (size_t)kn_dtype_bytes((kn_dtype)dtype, kn_count(x));
    char *from = kni_allocate(from_bytes + 1), *to = kni_allocate(to_bytes + 1);
    kn_tensor y;
    if (from && to) {
        y = cast_elements(x, dtype, saturate, from, from_bytes, to);
    } else {
        kni_fail_op(KN_ERROR_MEMORY, "cast", "no memory for %D elements", kn_count(x));
        y = kni_poison_latest();
    }
    if (from) kni_free(from, from_bytes + 1);
    if (to) kni_free(to, to_bytes + 1);
    return y;
}

#endif
