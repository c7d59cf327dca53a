/* Host arrays: memory, the seeded generator, rounding, and laying them out as tensors. The generator must stay equal
   to tests/conform/conform_values.py. */
#include "conform_values.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const kiln_layout_names[KILN_LAYOUT_COUNT] = {"contiguous", "transposed", "sliced", "broadcast",
                                                          "scalar",     "empty",      "large"};

void *kiln_allocate(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "kiln: out of memory\n");
        exit(3);
    }
    return p;
}

int64_t kiln_shape_count(const kn_shape *shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++) count *= shape->dims[i];
    return count;
}

bool kiln_shape_equal(const kn_shape *a, const kn_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank);
}

kiln_array kiln_array_new(kn_dtype dtype, kn_shape shape)
{
    kiln_array a = {.dtype = dtype, .shape = shape, .count = kiln_shape_count(&shape)};
    size_t bytes = (size_t)a.count * 8;
    if (kn_dtype_is_float(dtype))
        a.real = kiln_allocate(bytes);
    else
        a.integer = kiln_allocate(bytes);
    return a;
}

void kiln_array_free(kiln_array *a)
{
    free(a->real);
    free(a->integer);
    *a = (kiln_array){0};
}

/* ---- values from seeds */

uint64_t kiln_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

typedef struct ranked {
    uint64_t word;
    int64_t place;
} ranked;

static int compare_ranked(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->word != b->word) return a->word < b->word ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* For each word its place in the sorted order. */
static int64_t *ranks_of(const uint64_t *words, int64_t n)
{
    ranked *order = kiln_allocate(sizeof *order * (size_t)n);
    int64_t *ranks = kiln_allocate(sizeof *ranks * (size_t)n);
    for (int64_t i = 0; i < n; i++) order[i] = (ranked){words[i], i};
    if (n > 0) qsort(order, (size_t)n, sizeof *order, compare_ranked);
    for (int64_t i = 0; i < n; i++) ranks[order[i].place] = i;
    free(order);
    return ranks;
}

static uint64_t *words_of(const kiln_array *a, uint64_t seed, uint32_t flags)
{
    uint64_t *words = kiln_allocate(sizeof *words * (size_t)a->count);
    for (int64_t i = 0; i < a->count; i++)
        words[i] = kiln_mix(seed + (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15));
    int rank = a->shape.rank;
    if (!(flags & KILN_SYMMETRIC) || rank < 2 || a->shape.dims[rank - 1] != a->shape.dims[rank - 2])
        return words;
    int64_t n = a->shape.dims[rank - 1];
    for (int64_t start = 0; start < a->count; start += n * n)
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; c < r; c++) words[start + r * n + c] = words[start + c * n + r];
    return words;
}

static double special_value(double value, unsigned pick, uint32_t flags)
{
    static const struct {
        uint32_t flag;
        unsigned place;
        double value;
    } specials[] = {{KILN_NAN, 0, NAN},         {KILN_INF, 1, INFINITY}, {KILN_INF, 2, -INFINITY},
                    {KILN_ZEROS, 3, 0.0},       {KILN_ZEROS, 4, -0.0},   {KILN_EXTREME, 5, 65504.0},
                    {KILN_EXTREME, 6, -65504.0}};
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if ((flags & specials[i].flag) && pick == specials[i].place) value = specials[i].value;
    return value;
}

static void make_floats(kiln_array *a, const uint64_t *words, const int64_t *ranks, double low, double high,
                        uint32_t flags)
{
    int rank = a->shape.rank;
    int64_t columns = rank >= 2 ? a->shape.dims[rank - 1] : 1, rows = rank >= 2 ? a->shape.dims[rank - 2] : 1;
    for (int64_t i = 0; i < a->count; i++) {
        double unit =
            ranks ? ((double)ranks[i] + 0.5) / (double)a->count : (double)(words[i] >> 11) * 0x1p-53;
        double value = low + unit * (high - low);
        if (flags & KILN_TIES) value = floor(value * 2.0) * 0.5;
        value = special_value(value, (unsigned)(kiln_mix(words[i]) & 7), flags);
        if ((flags & KILN_DOMINANT) && rank >= 2)
            value = value + (i % columns == i / columns % rows ? 1.0 : 0.0) * (double)columns;
        a->real[i] = kiln_round(value, a->dtype);
    }
}

static void integer_limits(kn_dtype dtype, int64_t *lowest, uint64_t *highest)
{
    int bits = (int)kn_dtype_bytes(dtype, 1) * 8;
    bool is_signed = dtype >= KN_I64 && dtype <= KN_I8;
    *lowest = is_signed ? -(INT64_C(1) << (bits - 2)) * 2 : 0;
    *highest = UINT64_MAX >> (64 - bits + is_signed);
}

static void make_integers(kiln_array *a, const uint64_t *words, const int64_t *ranks, double low, double high,
                          uint32_t flags)
{
    int64_t lowest;
    uint64_t highest;
    integer_limits(a->dtype, &lowest, &highest);
    double from = ceil(low > (double)lowest ? low : (double)lowest);
    double to = floor(high < (double)highest ? high : (double)highest);
    if (!(from <= (double)highest)) from = (double)lowest;
    int64_t first = (int64_t)from;
    uint64_t span = to > from ? (uint64_t)(to - from) + 1 : 1;
    for (int64_t i = 0; i < a->count; i++) {
        uint64_t word = ranks ? (uint64_t)ranks[i] : words[i];
        unsigned pick = (unsigned)(kiln_mix(words[i]) & 7);
        a->integer[i] = first + (int64_t)(word % span);
        if ((flags & KILN_ZEROS) && (pick == 3 || pick == 4)) a->integer[i] = 0;
        if ((flags & KILN_EXTREME) && pick == 5) a->integer[i] = (int64_t)highest;
        if ((flags & KILN_EXTREME) && pick == 6) a->integer[i] = lowest;
    }
}

void kiln_array_make(kiln_array *a, uint64_t seed, double low, double high, uint32_t flags)
{
    uint64_t *words = words_of(a, seed, flags);
    int64_t *ranks = flags & KILN_DISTINCT ? ranks_of(words, a->count) : NULL;
    if (a->real)
        make_floats(a, words, ranks, low, high, flags);
    else if (a->dtype != KN_BOOL)
        make_integers(a, words, ranks, low, high, flags);
    else
        for (int64_t i = 0; i < a->count; i++) a->integer[i] = (int64_t)(words[i] >> 63);
    free(ranks);
    free(words);
}

/* ---- rounding and storing */

static uint16_t half_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00); /* 65520 and above round to infinity */
    if (magnitude < 0x38800000) {
        /* Subnormal: a multiple of 2^-24; the product and its rounding to an integer are exact. */
        float scaled = fabsf(value) * 0x1p24f;
        return (uint16_t)(sign | (uint16_t)nearbyintf(scaled));
    }
    uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double mantissa = bits & 1023, sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(mantissa + 1024, exponent - 25) : ldexp(mantissa, -24));
}

static uint16_t brain_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return 0x7FC0;
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static double brain_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

double kiln_round(double value, kn_dtype dtype)
{
    if (dtype == KN_F32) return (float)value;
    if (dtype == KN_F16) return half_value(half_bits((float)value));
    if (dtype == KN_BF16) return brain_value(brain_bits((float)value));
    return value;
}

void kiln_store(const kiln_array *a, int64_t i, void *place)
{
    if (a->dtype == KN_F64) {
        memcpy(place, &a->real[i], 8);
    } else if (a->dtype == KN_F32) {
        float value = (float)a->real[i];
        memcpy(place, &value, 4);
    } else if (a->dtype == KN_F16 || a->dtype == KN_BF16) {
        uint16_t bits = a->dtype == KN_F16 ? half_bits((float)a->real[i]) : brain_bits((float)a->real[i]);
        memcpy(place, &bits, 2);
    } else {
        /* Little-endian hosts only, as the data files are. */
        memcpy(place, &a->integer[i], (size_t)kn_dtype_bytes(a->dtype, 1));
    }
}

/* ---- layouts */

/* Strides and the block's size in elements of a layout; the offset of the first element. */
static int64_t lay_out(const kn_shape *shape, kiln_layout layout, unsigned stretched, int64_t *strides,
                       int64_t *offset)
{
    int64_t extent = 1;
    *offset = 0;
    if (layout == KILN_PACKED && shape->rank == 4) {
        const int64_t *dims = shape->dims;
        int64_t row = 3 * dims[1] * dims[3];
        strides[3] = 1, strides[1] = dims[3], strides[2] = row, strides[0] = dims[2] * row;
        *offset = dims[1] * dims[3];
        return dims[0] * strides[0];
    }
    for (int k = 0; k < shape->rank; k++) {
        int axis = layout == KILN_TRANSPOSED ? k : shape->rank - 1 - k;
        bool sliced = layout == KILN_SLICED && (axis == 0 || axis >= shape->rank - 2);
        if (layout == KILN_BROADCAST && (stretched >> axis & 1)) {
            strides[axis] = 0;
            continue;
        }
        strides[axis] = sliced ? 2 * extent : extent;
        if (sliced) *offset += extent;
        extent *= sliced ? 2 * shape->dims[axis] + 1 : shape->dims[axis];
    }
    return extent;
}

bool kiln_has_channels(const kn_shape *shape)
{
    int64_t positions = 1;
    for (int i = 2; i < shape->rank; i++) positions *= shape->dims[i];
    return shape->rank > 2 && shape->rank < 6 && shape->dims[0] > 0 && shape->dims[1] > 1 && positions > 1;
}

/* Made with the channels as the last axis, and turned: on any device a view of elements in that order. */
static kn_tensor channels_last(const kiln_array *a)
{
    size_t element = (size_t)kn_dtype_bytes(a->dtype, 1);
    unsigned char *block = kiln_allocate((size_t)a->count * element);
    const int rank = a->shape.rank;
    const int64_t channels = a->shape.dims[1];
    kn_shape turned = a->shape;
    kn_ints back = {rank, {0}};
    int64_t positions = 1;
    for (int i = 2; i < rank; i++) {
        positions *= a->shape.dims[i];
        turned.dims[i - 1] = a->shape.dims[i];
        back.dims[i] = i - 1;
    }
    turned.dims[rank - 1] = channels;
    back.dims[1] = rank - 1;
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t at = i % positions, channel = i / positions % channels,
                      image = i / positions / channels;
        kiln_store(a, i, block + (size_t)((image * positions + at) * channels + channel) * element);
    }
    kn_tensor t = kn_permute(kn_from(block, a->dtype, turned), back);
    free(block);
    return t;
}

/* What lies between the elements of a slice must not matter: NaN, and the bits of a large integer. */
static void fill_gaps(unsigned char *block, kn_dtype dtype, size_t bytes)
{
    memset(block, dtype == KN_BOOL ? 1 : 0xFF, bytes);
}

kn_tensor kiln_tensor(const kiln_array *a, kiln_layout layout, unsigned stretched)
{
    int64_t strides[KN_MAX_RANK] = {0}, offset, at[KN_MAX_RANK] = {0};
    if (layout == KILN_CHANNELS_LAST && kiln_has_channels(&a->shape)) return channels_last(a);
    size_t element = (size_t)kn_dtype_bytes(a->dtype, 1);
    int64_t extent = lay_out(&a->shape, layout, stretched, strides, &offset);
    if (extent < 1) extent = 1;
    unsigned char *block = kiln_allocate((size_t)extent * element);
    fill_gaps(block, a->dtype, (size_t)extent * element);
    for (int64_t i = 0; i < a->count; i++) {
        int64_t place = offset;
        for (int k = 0; k < a->shape.rank; k++) place += at[k] * strides[k];
        kiln_store(a, i, block + (size_t)place * element);
        for (int k = a->shape.rank - 1; k >= 0 && ++at[k] == a->shape.dims[k]; k--) at[k] = 0;
    }
    if (layout == KILN_TRANSPOSED || layout == KILN_SLICED || layout == KILN_BROADCAST ||
        layout == KILN_PACKED) {
        /* The block belongs to the tensor from here on. */
        unsigned char *first = a->count ? block + (size_t)offset * element : block;
        return kn_wrap(first, a->dtype, a->shape, strides, free, block);
    }
    kn_tensor t = kn_from(block, a->dtype, a->shape);
    free(block);
    return t;
}

bool kiln_array_read(kiln_array *a, kn_tensor t)
{
    kn_dtype dtype = kn_dtype_of(t);
    *a = (kiln_array){0};
    if (!kn_ok(t) || dtype == KN_DTYPE_NONE) return false;
    *a = kiln_array_new(dtype, kn_shape_of_tensor(t));
    kn_dtype wide = a->real ? KN_F64 : dtype == KN_U64 ? KN_U64 : KN_I64;
    void *place = a->real ? (void *)a->real : (void *)a->integer;
    if (kn_read_as(t, wide, place, (size_t)a->count * 8) == KN_OK) return true;
    kiln_array_free(a);
    return false;
}
