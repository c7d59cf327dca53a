/* Casts from and to stored dtypes, on every device: the codes of a type are few, so both ways are tables. */
#include "core/small_types.h"
#include "ops/stored_ops.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/sort.h>
#include <kn/tensor.h>
#include <string.h>

#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)

enum { CODES = 256 };

/* ---- from codes: value = table[code] */

static kn_tensor values_of(kn_tensor x, int stored, kn_dtype dtype)
{
    double values[CODES];
    for (unsigned i = 0; i < CODES; i++) values[i] = kni_small_value(stored, i);
    /* f32 holds the values of all stored floats; the smallest power of two is subnormal there. */
    kn_dtype in_table = dtype == KN_F64 ? KN_F64 : (kn_dtype)kni_natural_dtype(stored);
    double table[CODES];
    kni_convert(table, in_table, 1, values, KN_F64, 1, CODES);
    kn_tensor codes = kn_bitcast(x, KN_U8); /* first: it says on which device the table is made */
    kn_tensor y = kn_index_take(kn_from(table, in_table, KN_SHAPE(CODES)), 0, codes);
    return in_table == dtype ? y : kn_cast(y, dtype);
}

/* ---- to codes. The bits of floats, with those of negative ones turned over, are integers in the order of the values, NaNs at both
   ends: so a code belongs to an interval of such keys, and the intervals are found with kni_small_code itself. */

typedef struct intervals {
    int stored;
    bool saturate, wide; /* keys of f64, else of f32 */
    int n;
    int64_t first[CODES + 3]; /* of each interval but the lowest */
    uint8_t codes[CODES + 4];
} intervals;

static unsigned code_of_key(const intervals *t, int64_t key)
{
    double value;
    if (t->wide) {
        int64_t bits = key < 0 ? key ^ INT64_MAX : key;
        memcpy(&value, &bits, sizeof value);
    } else {
        int32_t bits = (int32_t)(key < 0 ? key ^ INT32_MAX : key);
        float single;
        memcpy(&single, &bits, sizeof single);
        value = (double)single;
    }
    return kni_small_code(t->stored, value, t->saturate);
}

/* The codes of keys from `low` to `high`, between which each code has one interval; below `low` all is entered. */
static void add_intervals(intervals *t, int64_t low, int64_t high)
{
    unsigned at_low = code_of_key(t, low), at_high = code_of_key(t, high);
    if (at_low == at_high || t->n >= CODES + 3) return;
    uint64_t span = (uint64_t)high - (uint64_t)low;
    if (span == 1) {
        t->first[t->n] = high;
        t->codes[++t->n] = (uint8_t)at_high;
        return;
    }
    int64_t middle = (int64_t)((uint64_t)low + span / 2);
    add_intervals(t, low, middle);
    add_intervals(t, middle, high);
}

/* Where two ends have one code, as NaNs on both sides of the numbers do, a search by halves would see nothing between them: the
   ends and zero part the keys into pieces in which codes only rise or only fall. */
static void find_intervals(intervals *t)
{
    int64_t infinity = t->wide ? INT64_C(0x7FF) << 52 : INT64_C(0xFF) << 23;
    int64_t last = t->wide ? INT64_MAX : INT32_MAX;
    const int64_t parts[] = {-last - 1, -infinity - 2, -infinity - 1, -1, 0, infinity, infinity + 1, last};
    t->n = 0;
    t->codes[0] = (uint8_t)code_of_key(t, parts[0]);
    for (int i = 0; i + 1 < KNI_COUNT(parts); i++) add_intervals(t, parts[i], parts[i + 1]);
}

static kn_tensor code_of_float(kn_tensor x, int stored, bool saturate, bool wide)
{
    intervals t = {.stored = stored, .saturate = saturate, .wide = wide};
    find_intervals(&t);
    kn_dtype whole = wide ? KN_I64 : KN_I32;
    int64_t first[CODES + 3];
    kni_convert(first, whole, 1, t.first, KN_I64, 1, t.n);
    kn_tensor bits = kn_keep(kn_bitcast(x, whole));
    kn_tensor sign = kn_bitwise_right_shift_scalar(bits, wide ? 63 : 31);
    kn_tensor mask = kn_bitwise_and_scalar(sign, wide ? INT64_MAX : INT32_MAX);
    kn_tensor key = kn_bitwise_xor(bits, mask);
    kn_tensor place = kn_searchsorted(kn_from(first, whole, KN_SHAPE(t.n)), key, true);
    return kn_index_take(kn_from(t.codes, KN_U8, KN_SHAPE(t.n + 1)), 0, place);
}

/* Whole numbers keep their lowest bits, as in a cast between integers. */
static kn_tensor code_of_integer(kn_tensor x, int stored, bool saturate)
{
    x = saturate ? kni_saturate_integer(x, stored) : kn_cast(x, KN_I64);
    return kn_bitwise_and_scalar(kn_cast(x, KN_U8), kni_small_count(stored) - 1);
}

static kn_tensor codes_of(kn_tensor x, int stored, bool saturate)
{
    kn_dtype from = kn_dtype_of(x);
    if (kni_dtypes[stored].kind != KNI_KIND_FLOAT) return code_of_integer(x, stored, saturate);
    if (kni_is_half(from)) x = kn_cast(x, KN_F32);
    if (!kn_dtype_is_float(from)) x = kn_cast(x, KN_F64);
    return code_of_float(x, stored, saturate, kn_dtype_of(x) == KN_F64);
}

kn_tensor kni_cast_stored(kn_tensor x, int dtype, bool saturate)
{
    int from = kn_dtype_of(x);
    if (from == dtype) return kn_alias(x);
    if (kni_dtype_stored(from)) x = values_of(x, from, kni_dtype_stored(dtype) ? KN_F32 : (kn_dtype)dtype);
    if (!kni_dtype_stored(dtype)) return x;
    return kni_bitcast(codes_of(x, dtype, saturate), (kn_dtype)dtype);
}

#endif
