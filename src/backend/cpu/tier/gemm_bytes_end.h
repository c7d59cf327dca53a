/* The ends of rows of integer products: without zero points, scaled where that is wanted, and where they belong. Part of gemm_bytes.c. */

#if defined(KNI_TIER_V4)

/* What belongs to the columns of a strip, in registers. */
typedef struct end_columns {
    vec zeros[VECTORS], terms[VECTORS], bias[VECTORS];
    __m512 scale[VECTORS], shift[VECTORS];
} end_columns;

INLINE void load_end(end_columns *c, const kni_gemm_i8_end *e)
{
    for (int v = 0; v < VECTORS; v++) {
        c->zeros[v] = c->terms[v] = c->bias[v] = vec_zero();
        c->scale[v] = c->shift[v] = _mm512_setzero_ps();
        if (e->row_sums) c->zeros[v] = vec_load(e->column_zeros + v * LANES);
        if (e->row_zeros) c->terms[v] = vec_load(e->column_terms + v * LANES);
        if (e->of_rows) continue;
        c->bias[v] = vec_load(e->bias + v * LANES);
        c->scale[v] = _mm512_loadu_ps(e->scale + v * LANES);
        c->shift[v] = _mm512_loadu_ps(e->shift + v * LANES);
    }
}

/* In f64, which holds every sum and its product with the scale to within what rounding sees. */
INLINE __m256i eight_bytes(__m256i sums, __m256 scale, const kni_gemm_i8_end *e)
{
    __m512d x = _mm512_mul_pd(_mm512_cvtepi32_pd(sums), _mm512_cvtps_pd(scale));
    x = _mm512_max_pd(x, _mm512_set1_pd(e->low - e->zero));
    x = _mm512_min_pd(x, _mm512_set1_pd(e->high - e->zero));
    return _mm512_cvt_roundpd_epi32(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

INLINE __m128i sixteen_bytes(vec x, __m512 scale, const kni_gemm_i8_end *e)
{
    const __m256i low = eight_bytes(_mm512_castsi512_si256(x), _mm512_castps512_ps256(scale), e);
    const __m256i high = eight_bytes(_mm512_extracti64x4_epi64(x, 1), _mm512_extractf32x8_ps(scale, 1), e);
    const vec both = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(both, vec_all(e->zero)));
}

/* Only lanes of the segment are written, because memory in front of it may belong to somebody else. */
INLINE void put_segments(const kni_gemm_i8_end *e, int64_t at, vec x[VECTORS],
                         const kni_gemm_i8_result result)
{
    for (int i = 0; i < e->n_segments; i++) {
        const kni_gemm_i8_segment *s = &e->segments[i];
        const uint32_t mask = (uint32_t)((((uint64_t)1 << s->count) - 1) << s->at);
        const int64_t to = at + s->to - s->at;
        if (result == KNI_GEMM_I8_BYTES) {
            _mm256_mask_storeu_epi8(e->to + to, mask, _mm512_castsi512_si256(x[0]));
            continue;
        }
        for (int v = 0; v < VECTORS; v++)
            _mm512_mask_storeu_epi32((int32_t *)(void *)e->to + to + v * LANES,
                                     (__mmask16)(mask >> (v * LANES)), x[v]);
    }
}

INLINE void end_as(const kni_gemm_i8_end *e, const int32_t *sums, int rows, const kni_gemm_i8_result result)
{
    end_columns c;
    vec taken[VECTORS] = {vec_zero(), vec_zero()}, x[VECTORS];
    const bool one_zero = e->row_sums && e->one_zero;
    load_end(&c, e);
    for (int i = 0; i < rows; i++) {
        if (e->row_zeros && (i == 0 || e->row_zeros[i] != e->row_zeros[i - 1]))
            for (int v = 0; v < VECTORS; v++)
                taken[v] = _mm512_mullo_epi32(c.terms[v], vec_all(e->row_zeros[i]));
        if (e->of_rows)
            for (int v = 0; v < VECTORS; v++) {
                c.bias[v] = vec_all(e->bias[i]);
                c.scale[v] = _mm512_set1_ps(e->scale[i]);
                c.shift[v] = _mm512_set1_ps(e->shift[i]);
            }
        const vec zero =
            vec_all(one_zero ? (int32_t)((uint32_t)*e->column_zeros * (uint32_t)e->row_sums[i]) : 0);
        for (int v = 0; v < VECTORS; v++) {
            x[v] = _mm512_add_epi32(vec_load(sums + i * COLUMNS + v * LANES), c.bias[v]);
            if (one_zero)
                x[v] = _mm512_sub_epi32(x[v], zero);
            else if (e->row_sums)
                x[v] = _mm512_sub_epi32(x[v], _mm512_mullo_epi32(c.zeros[v], vec_all(e->row_sums[i])));
            if (e->row_zeros) x[v] = _mm512_sub_epi32(x[v], taken[v]);
            if (result == KNI_GEMM_I8_REALS)
                x[v] = _mm512_castps_si512(
                    _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(x[v]), c.scale[v]), c.shift[v]));
        }
        if (result == KNI_GEMM_I8_BYTES)
            x[0] = _mm512_castsi256_si512(
                _mm256_set_m128i(sixteen_bytes(x[1], c.scale[1], e), sixteen_bytes(x[0], c.scale[0], e)));
        put_segments(e, i * e->step, x, result);
    }
}

#else

/* In f64, which holds every sum and its product with the scale to within what rounding sees. The sum with `whole` has no fraction, and its
   lowest bits are those of the number. */
INLINE uint8_t scaled(int32_t sum, float scale, double low, double high, uint8_t zero)
{
    const double whole = 0x1.8p52;
    double v = (double)sum * (double)scale;
    v = v > low ? v : low;
    v = v < high ? v : high;
    v += whole;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint8_t)(bits + zero);
}

static void end_bytes(uint8_t *restrict to, const int32_t *restrict sums, const float *restrict scale,
                      const kni_gemm_i8_end *e)
{
    const double low = e->low - e->zero, high = e->high - e->zero;
    const uint8_t zero = (uint8_t)e->zero;
    for (int j = 0; j < COLUMNS; j++) to[j] = scaled(sums[j], scale[j], low, high, zero);
}

static void end_reals(float *restrict to, const int32_t *restrict sums, const float *restrict scale,
                      const float *restrict shift)
{
    for (int j = 0; j < COLUMNS; j++) to[j] = (float)sums[j] * scale[j] + shift[j];
}

/* The sums of a row without zero points and with the bias. */
static void exact_sums(uint32_t *restrict to, const kni_gemm_i8_end *e, const int32_t *restrict sums, int i,
                       const int32_t *restrict bias)
{
    for (int j = 0; j < COLUMNS; j++) to[j] = (uint32_t)sums[j] + (uint32_t)bias[j];
    if (e->row_sums) {
        const uint32_t row_sum = (uint32_t)e->row_sums[i];
        for (int j = 0; j < COLUMNS; j++) to[j] -= (uint32_t)e->column_zeros[j] * row_sum;
    }
    if (e->row_zeros) {
        const uint32_t row_zero = (uint32_t)e->row_zeros[i];
        for (int j = 0; j < COLUMNS; j++) to[j] -= row_zero * (uint32_t)e->column_terms[j];
    }
}

/* What belongs to the row, for all columns. */
typedef struct end_row {
    int32_t bias[COLUMNS];
    float scale[COLUMNS], shift[COLUMNS];
} end_row;

INLINE void end_as(const kni_gemm_i8_end *e, const int32_t *sums, int rows, const kni_gemm_i8_result result)
{
    const size_t size = result == KNI_GEMM_I8_BYTES ? 1 : 4;
    end_row own;
    union {
        uint32_t sums[COLUMNS];
        float reals[COLUMNS];
        uint8_t bytes[COLUMNS];
    } x;
    for (int i = 0; i < rows; i++) {
        int32_t exact[COLUMNS];
        for (int j = 0; e->of_rows && j < COLUMNS; j++) {
            own.bias[j] = e->bias[i];
            own.scale[j] = e->scale[i];
            own.shift[j] = e->shift[i];
        }
        exact_sums(x.sums, e, sums + i * COLUMNS, i, e->of_rows ? own.bias : e->bias);
        memcpy(exact, x.sums, sizeof exact);
        if (result == KNI_GEMM_I8_BYTES)
            end_bytes(x.bytes, exact, e->of_rows ? own.scale : e->scale, e);
        else if (result == KNI_GEMM_I8_REALS)
            end_reals(x.reals, exact, e->of_rows ? own.scale : e->scale, e->of_rows ? own.shift : e->shift);
        for (int k = 0; k < e->n_segments; k++) {
            const kni_gemm_i8_segment *s = &e->segments[k];
            memcpy(e->to + (i * e->step + s->to) * (int64_t)size, (const char *)&x + (size_t)s->at * size,
                   (size_t)s->count * size);
        }
    }
}

#endif

static void end_rows(const kni_gemm_i8_end *e, const int32_t *sums, int rows)
{
    if (e->result == KNI_GEMM_I8_SUMS)
        end_as(e, sums, rows, KNI_GEMM_I8_SUMS);
    else if (e->result == KNI_GEMM_I8_BYTES)
        end_as(e, sums, rows, KNI_GEMM_I8_BYTES);
    else
        end_as(e, sums, rows, KNI_GEMM_I8_REALS);
}
