/* The scan kernels of each element type. */
#include "backend/cpu/scan_tables.h"
#include <float.h>
#include <kn/base.h>
#include <string.h>

/* Half of the range, since the sum of magnitudes is rounded too. */
#define LARGEST_MAGNITUDE (DBL_MAX / 2)
#define IS_NAN(v) ((v) != (v))
#define element float
#define wide double
#define SUMS_OVERFLOW 0 /* 2^63 elements of f32 fit an f64 */
#define SCAN(name) name##_f32
#include "backend/cpu/scan_body.h"
#undef element
#undef SUMS_OVERFLOW
#undef SCAN

#define element double
#define SUMS_OVERFLOW 1
#define SCAN(name) name##_f64
#include "backend/cpu/scan_body.h"
#undef element
#undef wide
#undef SUMS_OVERFLOW
#undef SCAN
#undef IS_NAN

#define IS_NAN(v) false
#define SUMS_OVERFLOW 0 /* they wrap, in any order alike */
#define element int64_t
#define wide int64_t
#define SCAN(name) name##_i64
#include "backend/cpu/scan_body.h"
#undef element
#undef wide
#undef SCAN

#define element uint64_t
#define wide uint64_t
#define SCAN(name) name##_u64
#include "backend/cpu/scan_body.h"

const kni_scan_kernels *kni_scan_kernels_of(int dtype)
{
    static const kni_scan_kernels *const by_dtype[KN_DTYPE_COUNT] = {
        [KN_F32] = &kernels_f32, [KN_F64] = &kernels_f64, [KN_I64] = &kernels_i64, [KN_U64] = &kernels_u64};
    return by_dtype[dtype];
}
