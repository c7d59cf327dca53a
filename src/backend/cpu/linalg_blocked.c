/* Cholesky, LU and triangular systems of large matrices on the CPU: blocks on the diagonal by plain loops, all the rest
   by matrix products, in f64. Small matrices are left to the reference kernels. */
#include "backend/cpu/linalg_blocked.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/matmul_run.h"
#include "core/math/math.h"
#include "ops/linalg_rows.h"
#include "ops/native.h"
#include <string.h>

enum { BLOCK = KNI_LINALG_BLOCK };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

kn_status kni_linalg_no_memory(const kn_record *r)
{
    return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the matrices in f64");
}

kn_status kni_workspace_begin(const kn_record *r, int output, kni_workspace *w)
{
    kni_tensor *y = kni_out(r, output);
    kn_status s = kni_host_allocate(y);
    w->bytes = 0;
    if (s) return s;
    w->data = y->storage->data;
    if (y->type.dtype == KN_F64) return KN_OK;
    int64_t bytes = kn_dtype_bytes(KN_F64, kni_count(&y->type));
    w->data = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
    if (!w->data) return kni_linalg_no_memory(r);
    w->bytes = (size_t)bytes;
    return KN_OK;
}

void kni_workspace_end(const kn_record *r, int output, kni_workspace *w, kn_status status)
{
    kni_tensor *y = kni_out(r, output);
    if (!w->bytes) return;
    if (status == KN_OK)
        kni_convert(y->storage->data, y->type.dtype, 1, w->data, KN_F64, 1, kni_count(&y->type));
    kni_free(w->data, w->bytes);
}

bool kni_multiply_subtract(kni_part_of_matrix c, kni_part_of_matrix a, kni_part_of_matrix b, int64_t m,
                           int64_t n, int64_t k)
{
    if (m <= 0 || n <= 0 || k <= 0) return true;
    kni_gemm_args g = {.m = m,
                       .n = n,
                       .k = k,
                       .a = a.data,
                       .b = b.data,
                       .c = c.data,
                       .type_a = KNI_GEMM_F64,
                       .type_b = KNI_GEMM_F64,
                       .type_c = KNI_GEMM_F64,
                       .a_row = a.row,
                       .a_col = a.column,
                       .b_row = b.row,
                       .b_col = b.column,
                       .c_row = c.row,
                       .c_col = c.column,
                       .alpha = -1,
                       .beta = 1,
                       .reproducible = kni_reproducible()};
    return kni_gemm(&g);
}

/* y -= f x */
static void subtract_row(double *restrict y, const double *restrict x, double f, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] -= f * x[i];
}

/* ---- cholesky: the lower triangle of l becomes the factor */

/* Columns k .. k + size - 1 of all rows from k on; the order of the first minor that is not positive, or 0. */
static int64_t cholesky_columns(double *l, int64_t n, int64_t k, int64_t size)
{
    for (int64_t i = k; i < n; i++)
        for (int64_t j = k; j < k + size && j <= i; j++) {
            const double *a = l + i * n, *b = l + j * n;
            double s = a[j];
            for (int64_t t = k; t < j; t++) s -= a[t] * b[t];
            if (j < i) {
                l[i * n + j] = s / b[j];
                continue;
            }
            if (!(s > 0)) return i + 1;
            l[i * n + i] = kni_sqrt_f64(s);
        }
    return 0;
}

static kn_status cholesky_matrix(const kn_record *r, double *l, int64_t n, int64_t matrix)
{
    for (int64_t k = 0; k < n; k += BLOCK) {
        int64_t size = least(BLOCK, n - k), minor = cholesky_columns(l, n, k, size);
        if (minor) return kni_fail_op(KN_ERROR_NUMERIC, r->row->name, r->row->report, matrix, minor);
        for (int64_t j = k + size; j < n; j += BLOCK) {
            kni_part_of_matrix rows = {l + j * n + k, n, 1}, columns = {l + j * n + k, 1, n},
                               rest = {l + j * n + j, n, 1};
            if (!kni_multiply_subtract(rest, rows, columns, n - j, least(BLOCK, n - j), size))
                return kni_linalg_no_memory(r);
        }
    }
    return KN_OK;
}

/* Copies one triangle of a, transposed when it is the upper one, and zeros above. */
static void load_lower(double *l, const double *a, int64_t n, bool upper)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) l[i * n + j] = j > i ? 0 : upper ? a[j * n + i] : a[i * n + j];
}

static void transpose_square(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double v = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = v;
        }
}

static kn_status run_cholesky(const kn_record *r)
{
    const kni_flag_attributes *attributes = r->attributes;
    const kni_type *t = &kni_out(r, 0)->type;
    int64_t n = kni_matrix_rows(t), matrices = kni_matrix_count(t);
    if (!kni_gemm_has(KNI_GEMM_F64) || n < KNI_LINALG_SMALL || matrices == 0) return KN_ERROR_UNSUPPORTED;
    kni_borrowed a;
    kni_workspace w;
    if (!kni_host_borrow(kni_in(r, 0), KN_F64, &a)) return kni_linalg_no_memory(r);
    kn_status s = kni_workspace_begin(r, 0, &w);
    for (int64_t i = 0; i < matrices && s == KN_OK; i++) {
        double *l = w.data + i * n * n;
        load_lower(l, (const double *)a.data + i * n * n, n, attributes->flag != 0);
        s = cholesky_matrix(r, l, n, i);
        /* The products of block columns also wrote above the diagonal. */
        for (int64_t row = 0; row < n; row++)
            for (int64_t j = row + 1; j < n; j++) l[row * n + j] = 0;
        if (attributes->flag) transpose_square(l, n);
    }
    kni_workspace_end(r, 0, &w, s);
    kni_host_unborrow(&a);
    return s;
}

const kni_native kni_cpu_cholesky = {.run = run_cholesky};

/* ---- lu */

static void swap_rows(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double v = a[i];
        a[i] = b[i];
        b[i] = v;
    }
}

/* Factorises columns k .. k + size - 1 below row k, swapping whole rows; the first column without a pivot, or -1. */
static int64_t lu_panel(double *y, int64_t *p, double *sign, int64_t m, int64_t n, int64_t k, int64_t size)
{
    int64_t missing = -1;
    for (int64_t c = k; c < k + size; c++) {
        int64_t best = c;
        for (int64_t i = c + 1; i < m; i++)
            if (kni_abs_f64(y[i * n + c]) > kni_abs_f64(y[best * n + c])) best = i;
        if (best != c) {
            int64_t held = p[c];
            p[c] = p[best];
            p[best] = held;
            *sign = -*sign;
            swap_rows(y + c * n, y + best * n, n);
        }
        double pivot = y[c * n + c];
        if (pivot == 0) {
            if (missing < 0) missing = c;
            continue;
        }
        for (int64_t i = c + 1; i < m; i++) {
            double f = y[i * n + c] / pivot;
            y[i * n + c] = f;
            subtract_row(y + i * n + c + 1, y + c * n + c + 1, f, k + size - c - 1);
        }
    }
    return missing;
}

static kn_status lu_matrix(const kn_record *r, double *y, int64_t *p, double *sign, int64_t m, int64_t n,
                           int64_t matrix)
{
    bool strict = ((const kni_flag_attributes *)r->attributes)->flag != 0;
    int64_t end = least(m, n);
    *sign = 1;
    for (int64_t i = 0; i < m; i++) p[i] = i;
    for (int64_t k = 0; k < end; k += BLOCK) {
        int64_t size = least(BLOCK, end - k), next = k + size;
        int64_t missing = lu_panel(y, p, sign, m, n, k, size);
        if (missing >= 0 && strict)
            return kni_fail_op(KN_ERROR_NUMERIC, r->row->name, r->row->report, matrix, missing);
        for (int64_t i = k; i < next; i++)
            for (int64_t t = k; t < i; t++)
                subtract_row(y + i * n + next, y + t * n + next, y[i * n + t], n - next);
        kni_part_of_matrix rest = {y + next * n + next, n, 1}, left = {y + next * n + k, n, 1},
                           top = {y + k * n + next, n, 1};
        if (!kni_multiply_subtract(rest, left, top, m - next, n - next, size)) return kni_linalg_no_memory(r);
    }
    return KN_OK;
}

static kn_status run_lu(const kn_record *r)
{
    const kni_type *t = &kni_out(r, 0)->type;
    int64_t m = kni_matrix_rows(t), n = kni_matrix_columns(t), matrices = kni_matrix_count(t);
    if (!kni_gemm_has(KNI_GEMM_F64) || least(m, n) < KNI_LINALG_SMALL || matrices == 0)
        return KN_ERROR_UNSUPPORTED;
    kni_borrowed a;
    kni_workspace w, signs;
    if (!kni_host_borrow(kni_in(r, 0), KN_F64, &a)) return kni_linalg_no_memory(r);
    kn_status s = kni_host_allocate(kni_out(r, 1));
    if (s == KN_OK && (s = kni_workspace_begin(r, 0, &w)) == KN_OK) {
        s = kni_workspace_begin(r, 2, &signs);
        if (s == KN_OK) memcpy(w.data, a.data, (size_t)(matrices * m * n) * sizeof(double));
        int64_t *p = kni_out(r, 1)->storage->data;
        for (int64_t i = 0; i < matrices && s == KN_OK; i++)
            s = lu_matrix(r, w.data + i * m * n, p + i * m, signs.data + i, m, n, i);
        kni_workspace_end(r, 2, &signs, s);
        kni_workspace_end(r, 0, &w, s);
    }
    kni_host_unborrow(&a);
    return s;
}

const kni_native kni_cpu_lu = {.run = run_lu};

/* ---- triangular systems: op(a) as strides, so that a' is nothing special */

typedef struct system_of {
    kni_part_of_matrix a;
    int64_t n, columns;
    bool forward, unit;
} system_of;

/* Rows k .. k + size - 1 of x, among themselves. */
static void solve_block(const system_of *t, double *x, int64_t k, int64_t size)
{
    for (int64_t step = 0; step < size; step++) {
        int64_t i = t->forward ? k + step : k + size - 1 - step;
        const double *row = t->a.data + i * t->a.column;
        double *from = x + i * t->columns;
        if (!t->unit) {
            double pivot = t->a.data[i * (t->a.row + t->a.column)];
            for (int64_t c = 0; c < t->columns; c++) from[c] /= pivot;
        }
        for (int64_t j = t->forward ? i + 1 : k; j < (t->forward ? k + size : i); j++)
            subtract_row(x + j * t->columns, from, row[j * t->a.row], t->columns);
    }
}

static bool solve_system(const system_of *t, double *x)
{
    int64_t n = t->n, blocks = (n + BLOCK - 1) / BLOCK;
    for (int64_t step = 0; step < blocks; step++) {
        int64_t k = (t->forward ? step : blocks - 1 - step) * BLOCK, size = least(BLOCK, n - k);
        int64_t first = t->forward ? k + size : 0, rows = t->forward ? n - first : k;
        solve_block(t, x, k, size);
        kni_part_of_matrix rest = {x + first * t->columns, t->columns, 1},
                           known = {x + k * t->columns, t->columns, 1};
        kni_part_of_matrix a = {t->a.data + first * t->a.row + k * t->a.column, t->a.row, t->a.column};
        if (!kni_multiply_subtract(rest, a, known, rows, t->columns, size)) return false;
    }
    return true;
}

static kn_status run_triangular_solve(const kn_record *r)
{
    const kni_triangular_attributes *attributes = r->attributes;
    const kni_type *t = &kni_out(r, 0)->type;
    int64_t n = kni_matrix_rows(t), columns = kni_matrix_columns(t), matrices = kni_matrix_count(t);
    if (!kni_gemm_has(KNI_GEMM_F64) || n < KNI_LINALG_SMALL || columns < 4 || matrices == 0)
        return KN_ERROR_UNSUPPORTED;
    bool upper = attributes->upper != 0, transpose = attributes->transpose != 0;
    system_of system = {
        {NULL, transpose ? 1 : n, transpose ? n : 1}, n, columns, upper == transpose, attributes->unit != 0};
    kni_borrowed a, b;
    kni_workspace w;
    if (!kni_host_borrow(kni_in(r, 0), KN_F64, &a)) return kni_linalg_no_memory(r);
    kn_status s = kni_host_borrow(kni_in(r, 1), KN_F64, &b) ? KN_OK : kni_linalg_no_memory(r);
    if (s == KN_OK) {
        s = kni_workspace_begin(r, 0, &w);
        if (s == KN_OK) memcpy(w.data, b.data, (size_t)(matrices * n * columns) * sizeof(double));
        for (int64_t i = 0; i < matrices && s == KN_OK; i++) {
            system.a.data = (double *)a.data + i * n * n;
            if (!solve_system(&system, w.data + i * n * columns)) s = kni_linalg_no_memory(r);
        }
        kni_workspace_end(r, 0, &w, s);
        kni_host_unborrow(&b);
    }
    kni_host_unborrow(&a);
    return s;
}

const kni_native kni_cpu_triangular_solve = {.run = run_triangular_solve};
