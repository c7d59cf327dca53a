/* Times the rows along lines on the CPU, in f32 or another dtype: the kernel or lowering that a row has, and its body as a program of lines. Prints
   a table in Markdown: microseconds of the better one of each shape's runs, and how many times as long the body takes.
   docs/adding-an-op.md holds what it printed. Usage: bench_lines [name of a row, or all] [bool]; KN_ISA and KN_THREADS choose tier and threads. */
#define _GNU_SOURCE
#include "support/line_cases.h"
#include <stdio.h>
#include <time.h>

enum { SIZES = 4 };
static const struct {
    int64_t lines, n;
    bool across; /* lines do not lie in one piece */
} sizes[SIZES] = {{256, 64, false}, {512, 1024, false}, {32, 65536, false}, {512, 1024, true}};

static kn_dtype dtype = KN_F32;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The shape for a size: its number of lines, each of its length. */
static line_case case_of(const kn_op *row, int size)
{
    int64_t lines = sizes[size].lines, n = sizes[size].n;
    bool across = sizes[size].across, classes = row->line.axes == KNI_LINE_CLASSES;
    line_case c = {.axis = across || classes ? 1 : 2, .dtype = dtype};
    c.shape = row->line.axes == KNI_LINE_CHANNEL ? KN_SHAPE(8, lines, n / 8)
              : across                           ? KN_SHAPE(1, n, lines)
              : classes                          ? KN_SHAPE(lines, n, 1)
                                                 : KN_SHAPE(1, lines, n);
    return c;
}

static double once(const kn_op *row, const line_operands *o)
{
    kn_tensor out[KNI_BODY_OPERANDS];
    kn_scope s = kn_scope_begin();
    double from = now();
    kni_apply_many(row, o->in, row->body->n_in, &o->attributes, out, row->n_out);
    double took = now() - from;
    if (!kn_ok(out[0])) fprintf(stderr, "%s: %s\n", row->name, kn_last_error());
    kn_scope_end(s, KN_NONE);
    return took;
}

/* The best of both, in turns for half a second. */
static void measure(const line_row *l, int size, double *kernel, double *body)
{
    kn_scope s = kn_scope_begin();
    line_case c = case_of(l->row, size);
    line_operands o;
    line_start(l, &c, &o);
    *kernel = *body = 1e30;
    double until = now() + 5e5;
    for (int turn = 0; turn < 5 || now() < until; turn++) {
        double a = once(&l->own, &o), b = once(&l->copy, &o);
        if (a < *kernel) *kernel = a;
        if (b < *body) *body = b;
    }
    kn_scope_end(s, KN_NONE);
}

int main(int count, char **arguments)
{
    kn_device_use(kn_device_open("cpu"));
    if (count > 2 && !strcmp(arguments[2], "bool")) dtype = KN_BOOL;
    if (!line_rows_find()) return 1;
    printf("| row |");
    for (int i = 0; i < SIZES; i++)
        printf(" %d x %d%s |", (int)sizes[i].lines, (int)sizes[i].n, sizes[i].across ? ", across" : "");
    printf(" body / kernel |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < n_line_rows; i++) {
        const line_row *l = &line_rows[i];
        double product = 1;
        int measured = 0;
        bool named = count < 2 || !strcmp(arguments[1], "all") || !strcmp(arguments[1], l->row->name);
        if (l->why || !named || !(l->row->dtypes >> dtype & 1)) continue;
        printf("| %s |", l->row->name);
        for (int k = 0; k < SIZES; k++) {
            double kernel, body;
            /* The last axes always lie in one piece, and channels never do. */
            bool other = l->row->line.axes == KNI_LINE_LAST || l->row->line.axes == KNI_LINE_CHANNEL;
            if (sizes[k].across && other) {
                printf(" |");
                continue;
            }
            measure(l, k, &kernel, &body);
            measured++;
            printf(" %.1f, %.1f |", kernel, body);
            product *= body / kernel;
        }
        printf(" %.2f |\n", pow(product, 1.0 / measured));
        fflush(stdout);
    }
    line_rows_free();
    return 0;
}
