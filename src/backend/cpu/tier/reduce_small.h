/* The reduction kernels for machines with little memory for code: one element at a time, in exactly the order
   of the vector kernels in reduce_body.h. The same definitions are expected from the including file. */
enum { LANES = KNI_FOLD_LANES, CHAINS = 4 };

typedef element (*combine)(element a, element b);
static element add(element a, element b) { return a + b; }
static element multiply(element a, element b) { return a * b; }
#ifdef ELEMENT_IS_FLOAT
#define IS_NAN(v) ((v) != (v))
#else
#define IS_NAN(v) false
#endif
static element larger(element a, element b) { return a > b || IS_NAN(a) ? a : b; }
static element smaller(element a, element b) { return a < b || IS_NAN(a) ? a : b; }

/* Steps of 16 elements go to four chains in turn. */
static void block_with(combine op, element neutral, const element *x, int64_t n, element *lanes)
{
    element chain[CHAINS][LANES];
    for (int i = 0; i < CHAINS * LANES; i++) chain[i / LANES][i % LANES] = neutral;
    for (int64_t i = 0; i < n; i++) {
        element *to = &chain[i / LANES % CHAINS][i % LANES];
        *to = op(*to, x[i]);
    }
    for (int i = 0; i < LANES; i++) lanes[i] = op(op(chain[0][i], chain[1][i]), op(chain[2][i], chain[3][i]));
}

static void merge_with(combine op, element *a, const element *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) a[i] = op(a[i], b[i]);
}

static void rows_with(combine op, element neutral, const element *x, int64_t rows, int64_t n, int64_t stride,
                      element *y)
{
    for (int64_t r = 0; r < rows; r++) {
        element lanes[LANES];
        block_with(op, neutral, x + r * stride, n, lanes);
        for (int half = LANES / 2; half > 0; half /= 2) merge_with(op, lanes, lanes + half, half);
        y[r] = lanes[0];
    }
}

static void columns_with(combine op, element neutral, const element *x, int64_t rows, int64_t stride,
                         int64_t n, element *y)
{
    for (int64_t j = 0; j < n; j++) {
        element chain[CHAINS] = {neutral, neutral, neutral, neutral};
        for (int64_t r = 0; r < rows; r++) chain[r % CHAINS] = op(chain[r % CHAINS], x[r * stride + j]);
        y[j] = op(op(chain[0], chain[1]), op(chain[2], chain[3]));
    }
}

static int64_t find(const void *x, int64_t n, const void *value)
{
    const element *p = x, wanted = *(const element *)value;
    for (int64_t i = 0; i < n; i++)
        if (p[i] == wanted || (IS_NAN(p[i]) && IS_NAN(wanted))) return i;
    return n;
}

static void best_rows_with(int smallest, const void *x, int64_t first, int64_t rows, int64_t stride,
                           int64_t n, void *best, void *at)
{
    element *values = best;
    lane_int *places = at;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j++) {
            element e = ((const element *)x)[r * stride + j];
            bool better = (smallest ? e < values[j] : e > values[j]) || (IS_NAN(e) && !IS_NAN(values[j]));
            if (first + r > 0 && !better) continue;
            values[j] = e;
            places[j] = (lane_int)(first + r);
        }
}
