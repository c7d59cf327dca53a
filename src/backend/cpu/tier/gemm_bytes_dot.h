/* Products of bytes with instructions that sum four of them: the part of gemm_bytes.c that only such processors run. */

/* One row of a panel: its quads from q on; returns the sum of their bytes. */
static int32_t pack_row(char *out, const uint8_t *from, int64_t col, int64_t k, int64_t q, uint8_t flip)
{
    const int64_t whole = col == 1 ? k / 4 : 0;
    const uint32_t flips = flip * 0x01010101u;
    int32_t sum = 0;
    for (int64_t t = 4 * q; t < whole * 4; t++) sum += (int8_t)(from[t] ^ flip);
    for (; q < whole; q++) {
        const uint32_t word = (uint32_t)word_at(from + 4 * q) ^ flips;
        memcpy(out + q * ROWS * 4, &word, 4);
    }
    for (; q < (k + 3) / 4; q++) {
        uint8_t quad[4];
        read_quad(quad, from + 4 * q * col, col, k - 4 * q, flip, &sum);
        memcpy(out + q * ROWS * 4, quad, 4);
    }
    return sum;
}

#if defined(KNI_TIER_V4)
/* Words 16 by 16. */
INLINE void turn_panel(vec r[16])
{
    vec t[16];
    UNROLL
    for (int i = 0; i < 16; i += 4) {
        const vec a = _mm512_unpacklo_epi32(r[i], r[i + 1]), b = _mm512_unpackhi_epi32(r[i], r[i + 1]);
        const vec c = _mm512_unpacklo_epi32(r[i + 2], r[i + 3]),
                  d = _mm512_unpackhi_epi32(r[i + 2], r[i + 3]);
        t[i] = _mm512_unpacklo_epi64(a, c);
        t[i + 1] = _mm512_unpackhi_epi64(a, c);
        t[i + 2] = _mm512_unpacklo_epi64(b, d);
        t[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        const vec a = _mm512_shuffle_i32x4(t[i], t[4 + i], 0x44),
                  b = _mm512_shuffle_i32x4(t[i], t[4 + i], 0xee);
        const vec c = _mm512_shuffle_i32x4(t[8 + i], t[12 + i], 0x44),
                  d = _mm512_shuffle_i32x4(t[8 + i], t[12 + i], 0xee);
        r[i] = _mm512_shuffle_i32x4(a, c, 0x88);
        r[4 + i] = _mm512_shuffle_i32x4(a, c, 0xdd);
        r[8 + i] = _mm512_shuffle_i32x4(b, d, 0x88);
        r[12 + i] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

/* The quads of many rows in order, 16 quads at a time, and their sums; returns how many quads. */
DOT_PRODUCTS static int64_t pack_rows_at_once(char *to, const uint8_t *a, int64_t row, int64_t rows,
                                              int64_t k, uint8_t flip, int32_t *sums)
{
    const vec flips = vec_all((int32_t)(flip * 0x01010101u)), ones = vec_all(0x01010101);
    const __mmask16 used = (__mmask16)((1 << ROWS) - 1);
    const int64_t quads = k / 64 * 16;
    vec total = vec_zero();
    for (int64_t q = 0; q < quads; q += 16) {
        vec r[16];
        UNROLL
        for (int i = 0; i < 16; i++)
            r[i] = i < rows ? vec_flipped(vec_load(a + i * row + 4 * q), flips) : vec_zero();
        turn_panel(r);
        UNROLL
        for (int i = 0; i < 16; i++) {
            total = _mm512_dpbusd_epi32(total, ones, r[i]);
            _mm512_mask_storeu_epi32(to + (q + i) * ROWS * 4, used, r[i]);
        }
    }
    _mm512_mask_storeu_epi32(sums, used, total);
    return quads;
}
#endif

static void pack_quads(void *to, const uint8_t *a, int64_t row, int64_t col, int64_t rows, int64_t k,
                       uint8_t flip, int32_t *sums)
{
    int64_t done = 0;
    for (int64_t i = 0; i < ROWS; i++) sums[i] = 0;
#if defined(KNI_TIER_V4)
    if (col == 1 && rows > 3) done = pack_rows_at_once(to, a, row, rows, k, flip, sums);
#endif
    for (int64_t i = 0; i < rows; i++)
        sums[i] += pack_row((char *)to + i * 4, a + i * row, col, k, done, flip);
    for (int64_t i = rows; i < ROWS; i++)
        for (int64_t q = done; q < (k + 3) / 4; q++) memset((char *)to + q * ROWS * 4 + i * 4, 0, 4);
}

static void interleave_quads(void *to, const uint8_t *const rows[4], uint8_t flip)
{
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (int j = 0; j < COLUMNS; j += 16) {
        __m128i r[4];
        for (int t = 0; t < 4; t++)
            r[t] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(rows[t] + j)), flips);
        const __m128i low01 = _mm_unpacklo_epi8(r[0], r[1]), high01 = _mm_unpackhi_epi8(r[0], r[1]);
        const __m128i low23 = _mm_unpacklo_epi8(r[2], r[3]), high23 = _mm_unpackhi_epi8(r[2], r[3]);
        __m128i *out = (__m128i *)((char *)to + j * 4);
        _mm_storeu_si128(out, _mm_unpacklo_epi16(low01, low23));
        _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(low01, low23));
        _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(high01, high23));
        _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(high01, high23));
    }
}

static void gather_quads(void *to, const uint8_t *b, int64_t col, uint8_t flip)
{
    const uint32_t flips = flip * 0x01010101u;
    for (int j = 0; j < COLUMNS; j++) {
        const uint32_t word = (uint32_t)word_at(b + j * col) ^ flips;
        memcpy((char *)to + j * 4, &word, 4);
    }
}

DOT_PRODUCTS static void sum_quads(const void *strip, int64_t quads, int32_t *sums)
{
    const vec ones = vec_all(0x01010101);
    vec s[VECTORS];
    for (int v = 0; v < VECTORS; v++) s[v] = vec_zero();
    for (int64_t q = 0; q < quads; q++)
        for (int v = 0; v < VECTORS; v++)
            s[v] = quads_of(s[v], ones, vec_load((const char *)strip + (q * VECTORS + v) * LANES * 4));
    for (int v = 0; v < VECTORS; v++) vec_store(sums + v * LANES, s[v]);
}

/* ---- two strips at once, and few rows of A, where the rows of B are read by whole vectors: a byte for each of 2 * COLUMNS columns */

enum { PARTS = 4 }; /* vectors of words of 2 * COLUMNS columns */

#if defined(KNI_TIER_V4)
#define UNPACK(name, suffix)                                                                                 \
    INLINE vec name(vec a, vec b) { return _mm512_##suffix(a, b); }
/* 128-bit lane l of part p has columns 16 l + 4 p ..; brings them in order. */
INLINE void order_lanes(vec v[PARTS])
{
    const vec a = _mm512_shuffle_i32x4(v[0], v[1], 0x44), b = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
    const vec c = _mm512_shuffle_i32x4(v[2], v[3], 0x44), d = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    v[0] = _mm512_shuffle_i32x4(a, c, 0x88);
    v[1] = _mm512_shuffle_i32x4(a, c, 0xdd);
    v[2] = _mm512_shuffle_i32x4(b, d, 0x88);
    v[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}
#else
#define UNPACK(name, suffix)                                                                                 \
    INLINE vec name(vec a, vec b) { return _mm256_##suffix(a, b); }
INLINE void order_lanes(vec v[PARTS])
{
    const vec a = v[0], b = v[1], c = v[2], d = v[3];
    v[0] = _mm256_permute2x128_si256(a, b, 0x20);
    v[1] = _mm256_permute2x128_si256(c, d, 0x20);
    v[2] = _mm256_permute2x128_si256(a, b, 0x31);
    v[3] = _mm256_permute2x128_si256(c, d, 0x31);
}
#endif
UNPACK(low_bytes, unpacklo_epi8)
UNPACK(high_bytes, unpackhi_epi8)
UNPACK(low_pairs, unpacklo_epi16)
UNPACK(high_pairs, unpackhi_epi16)

/* The first `columns` bytes of a row. */
INLINE vec load_columns(const uint8_t *b, int64_t columns)
{
    if (columns >= 2 * COLUMNS) return vec_load(b);
#if defined(KNI_TIER_V4)
    return _mm512_maskz_loadu_epi8(((__mmask64)1 << columns) - 1, b);
#else
    uint8_t row[2 * COLUMNS] = {0};
    memcpy(row, b, (size_t)columns);
    return vec_load(row);
#endif
}

/* Where row k begins. */
INLINE int64_t row_of(const int64_t *offsets, int64_t row, int64_t k)
{
    return offsets ? offsets[k] : k * row;
}

/* The quads of all columns, their lanes out of order, from row k of `rows` on; behind the last there are zeros. */
INLINE void read_quads(vec out[PARTS], const uint8_t *b, const int64_t *offsets, int64_t row, int64_t k,
                       int64_t rows, int64_t columns, vec flips)
{
    vec r[4];
    UNROLL
    for (int t = 0; t < 4; t++)
        r[t] = k + t < rows ? vec_flipped(load_columns(b + row_of(offsets, row, k + t), columns), flips)
                            : vec_zero();
    const vec low01 = low_bytes(r[0], r[1]), high01 = high_bytes(r[0], r[1]);
    const vec low23 = low_bytes(r[2], r[3]), high23 = high_bytes(r[2], r[3]);
    out[0] = low_pairs(low01, low23);
    out[1] = high_pairs(low01, low23);
    out[2] = low_pairs(high01, high23);
    out[3] = high_pairs(high01, high23);
}

INLINE void put_quads(char *first, char *second, vec v[PARTS])
{
    order_lanes(v);
    UNROLL
    for (int i = 0; i < VECTORS; i++) {
        vec_store(first + i * LANES * 4, v[i]);
        vec_store(second + i * LANES * 4, v[VECTORS + i]);
    }
}

static void pack_two(void *first, void *second, const uint8_t *b, const int64_t *offsets, int64_t row,
                     int64_t k, int64_t columns, uint8_t flip)
{
    const vec flips = vec_all((int32_t)(flip * 0x01010101u));
    const int64_t whole = columns >= 2 * COLUMNS ? k / 4 : 0, step = COLUMNS * 4;
    vec v[PARTS];
    int64_t q = 0;
    for (; q < whole; q++) {
        read_quads(v, b, offsets, row, 4 * q, 4 * q + 4, 2 * COLUMNS, flips);
        put_quads((char *)first + q * step, (char *)second + q * step, v);
    }
    for (; 4 * q < k; q++) {
        read_quads(v, b, offsets, row, 4 * q, k, columns, flips);
        put_quads((char *)first + q * step, (char *)second + q * step, v);
    }
}

/* The sums of rows `rows` of a panel, and of the columns behind them. */
DOT_PRODUCTS INLINE void few_rows(const char *a, const uint8_t *b, const int64_t *offsets, int64_t row,
                                  int64_t k, uint8_t flip, int32_t *sums, int32_t *column_sums,
                                  const int rows)
{
    const vec flips = vec_all((int32_t)(flip * 0x01010101u)), ones = vec_all(0x01010101);
    vec s[KNI_GEMM_I8_FEW][PARTS], columns[PARTS];
    UNROLL
    for (int p = 0; p < PARTS; p++) {
        columns[p] = vec_zero();
        UNROLL
        for (int i = 0; i < rows; i++) s[i][p] = vec_zero();
    }
    for (int64_t at = 0; at < k; at += 4, a += ROWS * 4) {
        vec v[PARTS];
        if (at + 4 <= k)
            read_quads(v, b, offsets, row, at, at + 4, 2 * COLUMNS, flips);
        else
            read_quads(v, b, offsets, row, at, k, 2 * COLUMNS, flips);
        UNROLL
        for (int p = 0; p < PARTS; p++) columns[p] = quads_of(columns[p], ones, v[p]);
        UNROLL
        for (int i = 0; i < rows; i++) {
            const vec left = vec_all(word_at(a + i * 4));
            UNROLL
            for (int p = 0; p < PARTS; p++) s[i][p] = quads_of(s[i][p], left, v[p]);
        }
    }
    order_lanes(columns);
    for (int p = 0; p < PARTS; p++) vec_store(column_sums + p * LANES, columns[p]);
    for (int i = 0; i < rows; i++) {
        order_lanes(s[i]);
        for (int p = 0; p < PARTS; p++)
            vec_store(sums + ((p / VECTORS) * rows + i) * COLUMNS + p % VECTORS * LANES, s[i][p]);
    }
}

DOT_PRODUCTS static void few(const void *panel, const uint8_t *b, const int64_t *offsets, int64_t row,
                             int64_t k, int rows, uint8_t flip, int32_t *sums, int32_t *column_sums)
{
    switch (rows) {
    case 1:
        few_rows(panel, b, offsets, row, k, flip, sums, column_sums, 1);
        break;
    case 2:
        few_rows(panel, b, offsets, row, k, flip, sums, column_sums, 2);
        break;
    case 3:
        few_rows(panel, b, offsets, row, k, flip, sums, column_sums, 3);
        break;
    default:
        few_rows(panel, b, offsets, row, k, flip, sums, column_sums, 4);
    }
}

/* ---- columns of B that lie in order */

/* Words 4 by 4. */
INLINE void turn_words(char *to, int64_t step, const uint8_t *b, int64_t col, __m128i flips)
{
    __m128i r[4];
    for (int j = 0; j < 4; j++) r[j] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(b + j * col)), flips);
    const __m128i low01 = _mm_unpacklo_epi32(r[0], r[1]), high01 = _mm_unpackhi_epi32(r[0], r[1]);
    const __m128i low23 = _mm_unpacklo_epi32(r[2], r[3]), high23 = _mm_unpackhi_epi32(r[2], r[3]);
    _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi64(low01, low23));
    _mm_storeu_si128((__m128i *)(to + step), _mm_unpackhi_epi64(low01, low23));
    _mm_storeu_si128((__m128i *)(to + 2 * step), _mm_unpacklo_epi64(high01, high23));
    _mm_storeu_si128((__m128i *)(to + 3 * step), _mm_unpackhi_epi64(high01, high23));
}

static void pack_turned(void *strip, const uint8_t *b, int64_t col, int64_t quads, uint8_t flip)
{
    const __m128i flips = _mm_set1_epi8((char)flip);
    const int64_t fours = quads / 4 * 4;
    for (int64_t q = 0; q < fours; q += 4)
        for (int j = 0; j < COLUMNS; j += 4)
            turn_words((char *)strip + (q * COLUMNS + j) * 4, COLUMNS * 4, b + j * col + 4 * q, col, flips);
    for (int64_t q = fours; q < quads; q++)
        gather_quads((char *)strip + q * COLUMNS * 4, b + 4 * q, col, flip);
}

/* The product of a row and a column that both lie in order, and the sum of the column. a has k signed bytes. */
DOT_PRODUCTS INLINE void dot_columns(const uint8_t *a, const uint8_t *b, int64_t col, int64_t k, uint8_t flip,
                                     int32_t *sums, int32_t *column_sums, const int columns)
{
    const vec flips = vec_all((int32_t)(flip * 0x01010101u)), ones = vec_all(0x01010101);
    const int64_t step = LANES * 4, whole = k / step * step;
    vec s[4], c[4];
    UNROLL
    for (int j = 0; j < columns; j++) s[j] = c[j] = vec_zero();
    for (int64_t t = 0; t < whole; t += step) {
        const vec left = vec_load(a + t);
        UNROLL
        for (int j = 0; j < columns; j++) {
            const vec right = vec_flipped(vec_load(b + j * col + t), flips);
            s[j] = quads_of(s[j], left, right);
            c[j] = quads_of(c[j], ones, right);
        }
    }
    for (int j = 0; j < columns; j++) {
        int32_t parts[2][LANES];
        uint32_t sum = 0, column = 0;
        vec_store(parts[0], s[j]);
        vec_store(parts[1], c[j]);
        for (int i = 0; i < LANES; i++) sum += (uint32_t)parts[0][i], column += (uint32_t)parts[1][i];
        for (int64_t t = whole; t < k; t++) {
            const uint8_t right = b[j * col + t] ^ flip;
            sum += (uint32_t)((int8_t)a[t] * right);
            column += right;
        }
        sums[j] = (int32_t)sum;
        column_sums[j] = (int32_t)column;
    }
}

DOT_PRODUCTS static void dot(const uint8_t *a, const uint8_t *b, int64_t col, int64_t columns, int64_t k,
                             uint8_t flip, int32_t *sums, int32_t *column_sums)
{
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4) dot_columns(a, b + j * col, col, k, flip, sums + j, column_sums + j, 4);
    for (; j < columns; j++) dot_columns(a, b + j * col, col, k, flip, sums + j, column_sums + j, 1);
}

const kni_gemm_i8_kernels KNI_TIER_FN(kni_gemm_i8_dot) = {.tile_rows = ROWS,
                                                          .tile_columns = COLUMNS,
                                                          .width = 1,
                                                          .pack_a = pack_quads,
                                                          .interleave = interleave_quads,
                                                          .gather = gather_quads,
                                                          .column_sums = sum_quads,
                                                          .tile = quads_tile,
                                                          .end = end_rows,
                                                          .taps = lone_row,
                                                          .pack_two = pack_two,
                                                          .pack_turned = pack_turned,
                                                          .few = few,
                                                          .dot = dot};
