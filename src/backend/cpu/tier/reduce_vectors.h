/* The reduction kernels on compiler vectors; reduce_body.h says what the including file defines. The order of
   all additions is that of 16 lanes, whatever the width of a vector. */
/* Numbers that the preprocessor compares. */
#if defined(KNI_TIER_V4)
#define TIER_BYTES 64
#elif defined(KNI_TIER_V3)
#define TIER_BYTES 32
#else
#define TIER_BYTES 16
#endif
#define LANES 16 /* KNI_FOLD_LANES */
#if LANES * ELEMENT_BYTES < TIER_BYTES
#define VECTOR_BYTES (LANES * ELEMENT_BYTES)
#else
#define VECTOR_BYTES TIER_BYTES
#endif
#define WIDTH (VECTOR_BYTES / ELEMENT_BYTES)
#define PARTS (LANES / WIDTH)
enum { CHAINS = 4 };

typedef element vec __attribute__((vector_size(VECTOR_BYTES)));
typedef lane_int mask __attribute__((vector_size(VECTOR_BYTES)));
typedef element vec_in_memory __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(element)), may_alias));
typedef lane_int mask_in_memory
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(element)), may_alias));
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS vec load(const element *p) { return *(const vec_in_memory *)p; }
ALWAYS void store(element *p, vec v) { *(vec_in_memory *)p = v; }
ALWAYS vec all(element x) { return x - (vec){0}; }
ALWAYS vec pick(mask m, vec a, vec b) { return (vec)(((mask)a & m) | ((mask)b & ~m)); }

/* The first n elements at p, the others `rest`. */
ALWAYS vec load_some(const element *p, int64_t n, element rest)
{
    vec v = all(rest);
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

/* Where v is NaN: nowhere for integers, and compilers warn of asking. */
ALWAYS mask is_nan(vec v)
{
#ifdef ELEMENT_IS_FLOAT
    return (mask)(v != v);
#else
    (void)v;
    return (mask){0};
#endif
}

typedef vec (*combine)(vec a, vec b);
ALWAYS vec add(vec a, vec b) { return a + b; }
ALWAYS vec multiply(vec a, vec b) { return a * b; }
/* NaN wins, from either side. */
ALWAYS vec larger(vec a, vec b) { return pick((mask)(a > b) | is_nan(a), a, b); }
ALWAYS vec smaller(vec a, vec b) { return pick((mask)(a < b) | is_nan(a), a, b); }

/* Steps of 16 elements go to four chains in turn. */
ALWAYS void fold_steps(combine op, element neutral, const element *x, int64_t n, vec *total)
{
    vec chain[CHAINS][PARTS];
    for (int c = 0; c < CHAINS; c++)
        for (int p = 0; p < PARTS; p++) chain[c][p] = all(neutral);
    int64_t i = 0;
    for (; i + CHAINS * LANES <= n; i += CHAINS * LANES)
        for (int c = 0; c < CHAINS; c++)
            for (int p = 0; p < PARTS; p++)
                chain[c][p] = op(chain[c][p], load(x + i + c * LANES + p * WIDTH));
    for (int c = 0; c < CHAINS; c++)
        for (int p = 0; p < PARTS; p++) {
            int64_t left = n - (i + c * LANES + p * WIDTH);
            if (left >= WIDTH)
                chain[c][p] = op(chain[c][p], load(x + n - left));
            else if (left > 0)
                chain[c][p] = op(chain[c][p], load_some(x + n - left, left, neutral));
        }
    for (int p = 0; p < PARTS; p++) total[p] = op(op(chain[0][p], chain[1][p]), op(chain[2][p], chain[3][p]));
}

/* Lane i becomes lane i + half, for the lower half of 2 * half lanes. */
ALWAYS vec moved_down(vec v, int half)
{
#if WIDTH >= 16
    if (half == 8)
        return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
    if (half == 4) return __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    if (half == 2) return __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3);
    return __builtin_shufflevector(v, v, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
#elif WIDTH == 8
    if (half == 4) return __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7);
    if (half == 2) return __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3);
    return __builtin_shufflevector(v, v, 1, 1, 1, 1, 1, 1, 1, 1);
#elif WIDTH == 4
    if (half == 2) return __builtin_shufflevector(v, v, 2, 3, 2, 3);
    return __builtin_shufflevector(v, v, 1, 1, 1, 1);
#else
    (void)half;
    return __builtin_shufflevector(v, v, 1, 1);
#endif
}

/* Lane i with lane i + 8, then i + 4, i + 2, i + 1. Only the first n lanes hold anything: a level whose
   upper half holds nothing changes nothing. */
ALWAYS element fold_lanes(combine op, vec *total, int64_t n)
{
#if PARTS >= 8
    if (n > 8)
        for (int p = 0; p < 4; p++) total[p] = op(total[p], total[p + 4]);
#endif
#if PARTS >= 4
    if (n > (PARTS == 8 ? 4 : 8))
        for (int p = 0; p < 2; p++) total[p] = op(total[p], total[p + 2]);
#endif
#if PARTS >= 2
    if (n > WIDTH) total[0] = op(total[0], total[1]);
#endif
    vec v = total[0];
#if WIDTH >= 16
    if (n > 8) v = op(v, moved_down(v, 8));
#endif
#if WIDTH >= 8
    if (n > 4) v = op(v, moved_down(v, 4));
#endif
#if WIDTH >= 4
    if (n > 2) v = op(v, moved_down(v, 2));
#endif
    if (n > 1) v = op(v, moved_down(v, 1));
    return v[0];
}

ALWAYS void block_with(combine op, element neutral, const void *x, int64_t n, void *lanes)
{
    vec total[PARTS];
    fold_steps(op, neutral, x, n, total);
    for (int p = 0; p < PARTS; p++) store((element *)lanes + p * WIDTH, total[p]);
}

ALWAYS void merge_with(combine op, void *a, const void *b, int64_t n)
{
    element *x = a;
    const element *y = b;
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) store(x + i, op(load(x + i), load(y + i)));
    if (i == n) return;
    vec v = op(load_some(x + i, n - i, 0), load_some(y + i, n - i, 0));
    memcpy(x + i, &v, (size_t)(n - i) * sizeof *x);
}

/* Rows of at most 16 elements. A whole vector is loaded and cut where more rows follow. */
ALWAYS void short_rows_with(combine op, element neutral, const element *x, int64_t rows, int64_t n,
                            int64_t stride, element *y)
{
    element ones[LANES];
    mask keep[PARTS];
    for (int i = 0; i < LANES; i++) ones[i] = i < n;
    for (int p = 0; p < PARTS; p++) keep[p] = (mask)(load(ones + p * WIDTH) != all(0));
    int64_t end = (rows - 1) * stride + n;
    for (int64_t r = 0; r < rows; r++) {
        const element *row = x + r * stride;
        vec total[PARTS];
        bool whole = r * stride + LANES <= end;
        for (int p = 0; p < PARTS; p++) {
            int64_t left = n - p * WIDTH;
            vec v = all(neutral);
            if (whole)
                v = pick(keep[p], load(row + p * WIDTH), v);
            else if (left > 0)
                v = load_some(row + p * WIDTH, left < WIDTH ? left : WIDTH, neutral);
            total[p] = op(all(neutral), v);
        }
        y[r] = fold_lanes(op, total, n);
    }
}

ALWAYS void rows_with(combine op, element neutral, const void *x, int64_t rows, int64_t n, int64_t stride,
                      void *y)
{
    if (n <= LANES && stride >= 0) {
        short_rows_with(op, neutral, x, rows, n, stride, y);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        vec total[PARTS];
        fold_steps(op, neutral, (const element *)x + r * stride, n, total);
        ((element *)y)[r] = fold_lanes(op, total, LANES);
    }
}

/* One vector of columns: rows go to four chains in turn. */
ALWAYS vec fold_column(combine op, element neutral, const element *x, int64_t rows, int64_t stride, int64_t n)
{
    vec chain[CHAINS];
    for (int c = 0; c < CHAINS; c++) chain[c] = all(neutral);
    int64_t r = 0;
    for (; r + CHAINS <= rows; r += CHAINS)
        for (int c = 0; c < CHAINS; c++) {
            const element *p = x + (r + c) * stride;
            chain[c] = op(chain[c], n == WIDTH ? load(p) : load_some(p, n, neutral));
        }
    for (int c = 0; r + c < rows; c++) {
        const element *p = x + (r + c) * stride;
        chain[c] = op(chain[c], n == WIDTH ? load(p) : load_some(p, n, neutral));
    }
    return op(op(chain[0], chain[1]), op(chain[2], chain[3]));
}

ALWAYS void columns_with(combine op, element neutral, const void *x, int64_t rows, int64_t stride, int64_t n,
                         void *y)
{
    int64_t j = 0;
    for (; j + WIDTH <= n; j += WIDTH)
        store((element *)y + j, fold_column(op, neutral, (const element *)x + j, rows, stride, WIDTH));
    if (j == n) return;
    vec v = fold_column(op, neutral, (const element *)x + j, rows, stride, n - j);
    memcpy((element *)y + j, &v, (size_t)(n - j) * sizeof v[0]);
}

static int64_t find(const void *x, int64_t n, const void *value)
{
    const element *p = x;
    element wanted;
    memcpy(&wanted, value, sizeof wanted);
    const vec v = all(wanted);
    const mask nan = is_nan(v);
    int64_t i = 0;
    for (; i + CHAINS * WIDTH <= n; i += CHAINS * WIDTH) {
        mask hit = {0};
        for (int c = 0; c < CHAINS; c++) {
            vec e = load(p + i + c * WIDTH);
            hit |= (mask)(e == v) | (is_nan(e) & nan);
        }
        uint64_t words[VECTOR_BYTES / 8], any = 0;
        memcpy(words, &hit, sizeof words);
        for (int w = 0; w < VECTOR_BYTES / 8; w++) any |= words[w];
        if (any) break;
    }
#ifdef ELEMENT_IS_FLOAT
    for (; wanted != wanted && i < n; i++)
        if (p[i] != p[i]) return i;
#endif
    for (; i < n; i++)
        if (p[i] == wanted) return i;
    return n;
}

ALWAYS void best_row_with(int smallest, const element *x, lane_int row, int64_t n, element *best,
                          lane_int *at)
{
    vec old = load_some(best, n, 0), now = load_some(x, n, 0);
    mask place;
    memset(&place, 0, sizeof place);
    memcpy(&place, at, (size_t)n * sizeof *at);
    mask better = smallest ? (mask)(now < old) : (mask)(now > old);
    better |= is_nan(now) & ~is_nan(old);
    vec v = pick(better, now, old);
    place = (place & ~better) | ((row - (mask){0}) & better);
    memcpy(best, &v, (size_t)n * sizeof *best);
    memcpy(at, &place, (size_t)n * sizeof *at);
}

ALWAYS void best_rows_with(int smallest, const void *x, int64_t first, int64_t rows, int64_t stride,
                           int64_t n, void *best, void *at)
{
    for (int64_t r = 0; r < rows; r++) {
        const element *row = (const element *)x + r * stride;
        if (first + r == 0) {
            memcpy(best, row, (size_t)n * sizeof *row);
            memset(at, 0, (size_t)n * sizeof(lane_int));
            continue;
        }
        int64_t j = 0;
        for (; j + WIDTH <= n; j += WIDTH)
            best_row_with(smallest, row + j, (lane_int)(first + r), WIDTH, (element *)best + j,
                          (lane_int *)at + j);
        if (j < n)
            best_row_with(smallest, row + j, (lane_int)(first + r), n - j, (element *)best + j,
                          (lane_int *)at + j);
    }
}
