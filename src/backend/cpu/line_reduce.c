/* The line words: what each line of a block gives. A line's result depends on that line alone. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/line_job.h"

enum { STRIP = 128 };

static double as_double(const kni_line_job *j, const char *x)
{
    double value;
    kni_convert(&value, KN_F64, 1, x, j->dtypes[KNI_GIVES_VALUE], 1, 1);
    return value;
}

/* One line by blocks. Sums of floats are added up in f64. */
static void long_line(const kni_line_job *j, const kni_fold_kernels *fold, bool sums, const char *x, char *y)
{
    int size = j->bytes[KNI_GIVES_VALUE];
    double total = 0;
    for (int64_t at = 0; at < j->n; at += KNI_FOLD_BLOCK) {
        int64_t n = j->n - at < KNI_FOLD_BLOCK ? j->n - at : KNI_FOLD_BLOCK;
        _Alignas(8) char part[8];
        fold->rows(x + at * size, 1, n, n, at && !sums ? part : y);
        if (sums)
            total += as_double(j, y);
        else if (at)
            fold->merge(y, part, 1);
    }
    if (sums) kni_convert(y, j->dtypes[KNI_GIVES_VALUE], 1, &total, KN_F64, 1, 1);
}

static void fold_lines(const kni_line_job *j, int64_t lines, kni_fold which, const char *x, char *y)
{
    const kni_fold_kernels *fold = &j->folds->folds[which];
    int64_t size = j->bytes[KNI_GIVES_VALUE];
    bool sums = which == KNI_FOLD_SUM && j->compute <= KNI_COMPUTE_F64;
    if (j->n <= KNI_FOLD_BLOCK)
        fold->rows(x, lines, j->n, j->n, y);
    else
        for (int64_t i = 0; i < lines; i++) long_line(j, fold, sums, x + i * j->n * size, y + i * size);
}

static void divide(const kni_line_job *j, int64_t lines, char *y)
{
    for (int64_t i = 0; i < lines; i++) {
        if (j->compute == KNI_COMPUTE_F64)
            ((double *)(void *)y)[i] /= (double)j->n;
        else
            ((float *)(void *)y)[i] /= (float)j->n;
    }
}

/* A product of finite floats is 0 where one of them is, also where those before it overflow. */
static void multiply(const kni_line_job *j, int64_t lines, const char *x, char *y)
{
    int size = j->bytes[KNI_GIVES_VALUE];
    if (j->compute > KNI_COMPUTE_F64) {
        fold_lines(j, lines, KNI_FOLD_PROD, x, y);
        return;
    }
    for (int64_t line = 0; line < lines; line++, y += size) {
        double product = 1;
        bool zero = false, finite = true;
        for (int64_t k = 0; k < j->n; k += STRIP) {
            double strip[STRIP];
            int64_t n = j->n - k < STRIP ? j->n - k : STRIP;
            kni_cpu_convert(strip, KN_F64, 1, x, j->dtypes[KNI_GIVES_VALUE], 1, n);
            for (int64_t i = 0; i < n; i++) {
                product *= strip[i];
                zero |= strip[i] == 0;
                finite &= strip[i] - strip[i] == 0;
            }
            x += n * size;
        }
        if (zero && finite) product = 0;
        kni_convert(y, j->dtypes[KNI_GIVES_VALUE], 1, &product, KN_F64, 1, 1);
    }
}

static void reduce_truths(const kni_line_job *j, int64_t lines, bool any, const char *x, char *y)
{
    for (int64_t i = 0; i < lines; i++, x += j->n) {
        int64_t k = 0;
        while (k < j->n && (x[k] != 0) != any) k++;
        y[i] = any == (k < j->n);
    }
}

static void find_extreme(const kni_line_job *j, int64_t lines, kni_fold which, const char *x, char *y)
{
    int64_t size = j->bytes[KNI_GIVES_VALUE], *to = (int64_t *)(void *)y;
    for (int64_t i = 0; i < lines; i++, x += j->n * size) {
        _Alignas(8) char value[8];
        if (j->n <= KNI_FOLD_BLOCK)
            j->folds->folds[which].rows(x, 1, j->n, j->n, value);
        else
            long_line(j, &j->folds->folds[which], false, x, value);
        to[i] = j->folds->find(x, j->n, value);
    }
}

void kni_line_reduce(const kni_line_job *j, int word, int64_t lines, const char *x, char *y)
{
    switch (word) {
    case KNI_LINE_SUM:
    case KNI_LINE_MEAN:
        fold_lines(j, lines, KNI_FOLD_SUM, x, y);
        if (word == KNI_LINE_MEAN) divide(j, lines, y);
        break;
    case KNI_LINE_HIGHEST:
    case KNI_LINE_TOP:
        fold_lines(j, lines, KNI_FOLD_MAX, x, y);
        break;
    case KNI_LINE_LOWEST:
        fold_lines(j, lines, KNI_FOLD_MIN, x, y);
        break;
    case KNI_LINE_PROD:
        multiply(j, lines, x, y);
        break;
    case KNI_LINE_ANY:
    case KNI_LINE_ALL:
        reduce_truths(j, lines, word == KNI_LINE_ANY, x, y);
        break;
    default:
        find_extreme(j, lines, word == KNI_LINE_ARGMAX ? KNI_FOLD_MAX : KNI_FOLD_MIN, x, y);
        break;
    }
}
