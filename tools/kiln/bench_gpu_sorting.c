/* What `kiln bench --device` measures of ops that order, compact or accumulate f32: one line of `size` Mi elements, and
   16384 lines of `size`. */
#include "bench_gpu.h"

enum { MI = 16, LINES = 16384, COLUMNS = 4096, K = 64 };

static bool prepare_line(bench_gpu *b) { return bench_gpu_operand(b, KN_SHAPE(b->size << 20), KN_F32); }
static bool prepare_lines(bench_gpu *b) { return bench_gpu_operand(b, KN_SHAPE(LINES, b->size), KN_F32); }
static bool prepare_halves(bench_gpu *b)
{
    if (!prepare_line(b)) return false;
    kn_tensor x = kn_own(kn_relu(b->operands[0]));
    kn_drop(b->operands[0]);
    b->operands[0] = x;
    return kn_ok(x);
}

static kn_status finish_pair(bench_gpu *b, kn_indexed y)
{
    kn_tensor values = kn_own(y.values), indices = kn_own(y.indices);
    kn_status s = kn_ok(values) && kn_ok(indices) ? kn_submit(b->device) : KN_ERROR_INTERNAL;
    kn_drop(values);
    kn_drop(indices);
    return s;
}

static kn_status run_sort(bench_gpu *b) { return finish_pair(b, kn_sort(b->operands[0], -1, false)); }
static kn_status run_topk(bench_gpu *b) { return finish_pair(b, kn_topk(b->operands[0], K, -1, NULL)); }
static kn_status run_nonzero(bench_gpu *b) { return bench_gpu_finish(b, kn_nonzero(b->operands[0])); }
static kn_status run_scan(bench_gpu *b) { return bench_gpu_finish(b, kn_cumsum(b->operands[0], -1)); }
static kn_status run_unique(bench_gpu *b)
{
    kn_unique_result r = kn_unique(b->operands[0]);
    kn_drop(r.inverse);
    kn_drop(r.counts);
    return bench_gpu_finish(b, r.values);
}

/* What is read and written at least: f32 in, f32 and i64 out. */
static double bytes_line(const bench_gpu *b) { return 16.0 * (double)(b->size << 20); }
static double bytes_lines(const bench_gpu *b) { return 16.0 * LINES * (double)b->size; }
static double bytes_read(const bench_gpu *b) { return bytes_line(b) / 4; }
static double bytes_lines_read(const bench_gpu *b) { return bytes_lines(b) / 4; }
static double bytes_both(const bench_gpu *b) { return bytes_line(b) / 2; }
static double bytes_lines_both(const bench_gpu *b) { return bytes_lines(b) / 2; }

static const bench_gpu_row rows[] = {
    {"sort", "one line", {MI}, prepare_line, run_sort, bytes_line, bench_gpu_none},
    {"sort_lines", "many lines", {COLUMNS, 1000}, prepare_lines, run_sort, bytes_lines, bench_gpu_none},
    {"topk", "64 of a line", {MI}, prepare_line, run_topk, bytes_read, bench_gpu_none},
    {"topk_lines", "64 of each", {COLUMNS}, prepare_lines, run_topk, bytes_lines_read, bench_gpu_none},
    {"unique", "of one line", {MI}, prepare_line, run_unique, bytes_line, bench_gpu_none},
    {"nonzero", "every other", {MI}, prepare_halves, run_nonzero, bytes_both, bench_gpu_none},
    {"cumsum", "one line", {MI}, prepare_line, run_scan, bytes_both, bench_gpu_none},
    {"cumsum_lines", "many lines", {COLUMNS}, prepare_lines, run_scan, bytes_lines_both, bench_gpu_none},
};

const bench_gpu_row *bench_gpu_sorting_row_at(int i)
{
    return i >= 0 && i < (int)(sizeof rows / sizeof *rows) ? &rows[i] : NULL;
}
