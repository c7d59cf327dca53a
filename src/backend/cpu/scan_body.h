/* The scans of one element type. The including file defines `element`, the type `wide` that totals are kept
   in, SUMS_OVERFLOW where a sum may leave the range of `wide`, and SCAN(name), which names the functions. A line is
   n elements `step` apart (negative: a reverse scan); `width` lines lie side by side.
   Where sums may overflow, only magnitudes that cannot are added in another order than from the first element on:
   otherwise a part alone could be infinite where the sum is not, or finite where the sum became infinite before. */

/* The totals of n elements of one line: four chains in turn; and the sum of their magnitudes where sums may overflow. */
static wide SCAN(total)(const element *x, int64_t n, int64_t step, bool product, double *magnitude)
{
    wide chain[4];
    double reach[4] = {0, 0, 0, 0};
    for (int c = 0; c < 4; c++) chain[c] = product ? 1 : 0;
    for (int64_t k = 0; k < n; k++) {
        wide v = (wide)x[k * step];
        wide *c = &chain[k & 3];
        *c = product ? *c * v : *c + v;
        if (SUMS_OVERFLOW) reach[k & 3] += __builtin_fabs((double)v);
    }
    *magnitude = (reach[0] + reach[1]) + (reach[2] + reach[3]);
    return product ? (chain[0] * chain[1]) * (chain[2] * chain[3])
                   : (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

static bool SCAN(four_fit)(wide before, const element *p, int64_t step)
{
    double magnitude = __builtin_fabs((double)before);
    for (int i = 0; i < 4; i++) magnitude += __builtin_fabs((double)p[i * step]);
    return magnitude <= LARGEST_MAGNITUDE;
}

/* Sums of four elements at a time, so that only one addition in four waits for the one before. */
static wide SCAN(sum_line)(const element *x, element *y, int64_t n, int64_t step, bool exclusive, wide carry)
{
    int64_t k = 0;
    while (k < n) {
        const element *p = x + k * step;
        element *q = y + k * step;
        if (k + 4 > n || (SUMS_OVERFLOW && !SCAN(four_fit)(carry, p, step))) {
            wide next = carry + (wide)p[0];
            q[0] = (element)(exclusive ? carry : next);
            carry = next;
            k++;
            continue;
        }
        wide a = (wide)p[0], b = a + (wide)p[step], c = b + (wide)p[2 * step], d = c + (wide)p[3 * step];
        wide before = carry;
        q[0] = (element)(exclusive ? before : before + a);
        q[step] = (element)(before + (exclusive ? a : b));
        q[2 * step] = (element)(before + (exclusive ? b : c));
        q[3 * step] = (element)(before + (exclusive ? c : d));
        carry = before + d;
        k += 4;
    }
    return carry;
}

static wide SCAN(product_line)(const element *x, element *y, int64_t n, int64_t step, bool exclusive,
                               wide carry)
{
    for (int64_t k = 0; k < n; k++) {
        wide next = carry * (wide)x[k * step];
        y[k * step] = (element)(exclusive ? carry : next);
        carry = next;
    }
    return carry;
}

static void SCAN(fold)(const kni_scan_lines *l, bool product)
{
    const element *x = l->x;
    element *y = l->y;
    if (l->width == 1) {
        wide start = product ? 1 : 0;
        if (l->carry) memcpy(&start, l->carry, sizeof start);
        if (product)
            SCAN(product_line)(x, y, l->n, l->step, l->exclusive, start);
        else
            SCAN(sum_line)(x, y, l->n, l->step, l->exclusive, start);
        return;
    }
    wide carry[KNI_SCAN_COLUMNS];
    for (int64_t j = 0; j < l->width; j++) carry[j] = product ? 1 : 0;
    for (int64_t k = 0; k < l->n; k++) {
        const element *p = x + k * l->step;
        element *q = y + k * l->step;
        for (int64_t j = 0; j < l->width; j++) {
            wide next = product ? carry[j] * (wide)p[j] : carry[j] + (wide)p[j];
            q[j] = (element)(l->exclusive ? carry[j] : next);
            carry[j] = next;
        }
    }
}

static void SCAN(sum)(const kni_scan_lines *l) { SCAN(fold)(l, false); }
static void SCAN(product)(const kni_scan_lines *l) { SCAN(fold)(l, true); }

static bool SCAN(chunk_total)(const kni_scan_lines *l, bool product, int64_t chunks, void *result)
{
    double magnitude;
    wide total = SCAN(total)(l->x, l->n, l->step, product, &magnitude);
    memcpy(result, &total, sizeof total);
    return !SUMS_OVERFLOW || magnitude <= LARGEST_MAGNITUDE / (double)chunks;
}

/* carries[i] becomes the total before chunk i. */
static void SCAN(carries)(void *totals, int64_t n, bool product)
{
    wide *t = totals, carry = product ? 1 : 0;
    for (int64_t i = 0; i < n; i++) {
        wide next = product ? carry * t[i] : carry + t[i];
        t[i] = carry;
        carry = next;
    }
}

/* The latest of equal extremes; once NaN came, the latest NaN. */
static void SCAN(extreme)(const kni_scan_lines *l, bool smallest)
{
    const element *x = l->x;
    element *y = l->y, best[KNI_SCAN_COLUMNS];
    int64_t at[KNI_SCAN_COLUMNS];
    for (int64_t j = 0; j < l->width; j++) {
        best[j] = x[j];
        at[j] = 0;
    }
    for (int64_t k = 0; k < l->n; k++) {
        const element *p = x + k * l->step;
        for (int64_t j = 0; j < l->width; j++) {
            bool better = (smallest ? p[j] <= best[j] : p[j] >= best[j]) || IS_NAN(p[j]);
            best[j] = better ? p[j] : best[j];
            at[j] = better ? k : at[j];
            y[k * l->step + j] = best[j];
            l->positions[k * l->step + j] = at[j];
        }
    }
}

static void SCAN(largest)(const kni_scan_lines *l) { SCAN(extreme)(l, false); }
static void SCAN(smallest)(const kni_scan_lines *l) { SCAN(extreme)(l, true); }

/* h[k] = a[k] h[k-1] + b[k] */
static void SCAN(linear)(const kni_scan_lines *l)
{
    const element *a = l->x, *b = l->more;
    element *y = l->y;
    wide h[KNI_SCAN_COLUMNS];
    for (int64_t j = 0; j < l->width; j++) y[j] = (element)(h[j] = (wide)b[j]);
    for (int64_t k = 1; k < l->n; k++) {
        int64_t at = k * l->step;
        for (int64_t j = 0; j < l->width; j++) {
            h[j] = (wide)a[at + j] * h[j] + (wide)b[at + j];
            y[at + j] = (element)h[j];
        }
    }
}

static const kni_scan_kernels SCAN(kernels) = {SCAN(sum),    SCAN(product),     SCAN(largest), SCAN(smallest),
                                               SCAN(linear), SCAN(chunk_total), SCAN(carries)};
