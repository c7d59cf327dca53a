/* Rows that resample, cut and search images, in programs: at sizes that are known only when they run, and printed as C. */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include "support/exported_programs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef kn_program_value value;

/* One op; its inputs have the size n. */
typedef struct shown {
    const char *name, *op, *in[3];
    kn_dtype dtypes[3]; /* 0: f32 */
    kn_builder_attribute attributes[12];
    int n_out;
} shown;

static const shown table[] = {
    {"linear",
     "resample",
     {"1, n, n, 2"},
     {0},
     {{"axes", "1, 2", 0}, {"size", "2 * n, n", 0}, {"mode", "1", 0}},
     1},
    {"cubic",
     "resample",
     {"2, n, 3"},
     {0},
     {{"axes", "1", 0},
      {"size", "5", 0},
      {"mode", "2", 0},
      {"cubic", NULL, -0.5},
      {"exclude_outside", "1", 0}},
     1},
    {"nearest",
     "resample",
     {"n, 4"},
     {KN_U8},
     {{"axes", "0", 0}, {"size", "3 * n", 0}, {"transform", "2", 0}, {"rule", "2", 0}, {"scale0", NULL, 3}},
     1},
    {"mean",
     "avg_pool",
     {"1, 2, n"},
     {0},
     {{"axes", "1", 0},
      {"window", "3", 0},
      {"stride", "1", 0},
      {"padding", "2", 0},
      {"exclude_padding", "1", 0}},
     1},
    {"im2col",
     "im2col",
     {"2, n, 4"},
     {0},
     {{"axes", "2", 0}, {"window", "1, 2", 0}, {"padding_end", "0, 3", 0}},
     1},
    {"col2im", "col2im", {"1, 3, n"}, {0}, {{"axes", "1", 0}, {"window", "3", 0}, {"size", "n + 2", 0}}, 1},
    {"distinct", "distinct", {"n, 2"}, {0}, {{"by_axis", "1", 0}, {"unsorted", "1", 0}}, 5},
    {"roi",
     "roi_align",
     {"16, n, 4, 5", "2, 4", "2"},
     {0, 0, KN_I64},
     {{"size", "2, 3", 0}, {"samples", "2", 0}, {"scale", NULL, 1}},
     1},
    {"nms",
     "nms",
     {"1, n, 4", "1, 2, n"},
     {0},
     {{"limit", "3", 0}, {"share", NULL, 0.5}, {"middle", "1", 0}},
     1},
};
enum { SHOWN = sizeof table / sizeof *table };

static kn_program program_of(const shown *s, int32_t *n_in)
{
    value in[3], out[5];
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 8);
    for (*n_in = 0; *n_in < 3 && s->in[*n_in]; ++*n_in)
        in[*n_in] =
            kn_builder_input(b, s->in[*n_in], s->dtypes[*n_in] ? s->dtypes[*n_in] : KN_F32, s->in[*n_in]);
    kn_builder_op_many(b, s->op, in, *n_in, s->attributes, out, s->n_out);
    kn_program p = kn_builder_finish(b, out, NULL, s->n_out);
    if (!CHECK(p != NULL)) printf("  %s: %s\n", s->name, kn_last_error());
    kn_builder_free(b);
    return p;
}

/* What printed C is compared with: the program itself. */
static struct {
    kn_program program;
    int32_t n_in, n_out;
} running;

static kn_status run_it(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    (void)net;
    return kn_program_run(running.program, in, running.n_in, out, running.n_out);
}

static void printed_rows_agree(const char *folder)
{
    static const proof_run runs[] = {{{3}, 0}, {{8}, 1}, {{1}, 2}};
    static const proof_net net;
    for (int i = 0; i < SHOWN; i++) {
        kn_scope scope = kn_scope_begin();
        char command[1200];
        running.program = program_of(&table[i], &running.n_in);
        running.n_out = table[i].n_out;
        exported_truth truth = {&net, run_it, runs, 3};
        if (CHECK(running.program &&
                  exported_write_program(running.program, table[i].name, folder, false, &truth))) {
            snprintf(command, sizeof command,
                     "cd %s && gcc -std=c99 -O1 -ffreestanding -nostdlib -static -Wall -Wextra -Werror "
                     "-pedantic -o %s %s.c "
                     "%s_main.c && ./%s",
                     folder, table[i].name, table[i].name, table[i].name, table[i].name);
            if (!CHECK(system(command) == 0)) printf("  %s\n", table[i].name);
        }
        kn_program_free(running.program);
        kn_scope_end(scope, KN_NONE);
    }
}

/* ---- what conformance cases do not say */

static void resampling_is_exact_where_it_can_be(void)
{
    kn_scope scope = kn_scope_begin();
    const float line[] = {1, 2, 3, 4};
    kn_tensor x = kn_keep(kn_from(line, KN_F32, KN_SHAPE(4)));
    kn_resample_args halves = {.scale = {0.5}};
    CHECK_VALUES(kn_resample(x, KN_INTS(2), &halves), 0, 1, 3); /* 0.5 and 2.5 are halfway: down */
    halves.rule = KN_RESAMPLE_ROUND_UP;
    CHECK_VALUES(kn_resample(x, KN_INTS(2), &halves), 0, 2, 4);
    kn_resample_args crop = {
        .mode = KN_RESAMPLE_LINEAR, .transform = KN_RESAMPLE_CROP, .begin = {0.4f}, .end = {1}, .outside = 9};
    CHECK_VALUES(kn_resample(x, KN_INTS(3), &crop), 1e-6, 2.2, 3.1, 4); /* the end is not outside */
    crop.end[0] = 1.5;
    CHECK_VALUES(kn_resample(x, KN_INTS(2), &crop), 1e-6, 2.2, 9);
    crop.outside = INFINITY;
    CHECK_VALUES(kn_resample(kn_reshape(x, KN_SHAPE(4, 1)), KN_INTS(2, 1), &crop), 1e-6, 2.2, INFINITY);
    kn_resample_args linear = {.mode = KN_RESAMPLE_LINEAR};
    const uint8_t bytes[] = {0, 255, 10, 11};
    CHECK_VALUES(kn_resample(kn_from(bytes, KN_U8, KN_SHAPE(4)), KN_INTS(8), &linear), 0, 0, 64, 191, 194, 71,
                 10, 11, 11);
    CHECK_VALUES(kn_resample(x, KN_INTS(4), &linear), 0, 1, 2, 3, 4);
    kn_scope_end(scope, KN_NONE);
}

static void boxes_hide_each_other(void)
{
    kn_scope scope = kn_scope_begin();
    const float corners[] = {0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0.4f, 2, 2, 3, 3, 5, 5, 5, 9};
    const float points[] = {0.5f, 0.9f, 0.7f, NAN, 0.1f};
    kn_tensor boxes = kn_keep(kn_from(corners, KN_F32, KN_SHAPE(1, 5, 4)));
    kn_tensor scores = kn_keep(kn_from(points, KN_F32, KN_SHAPE(1, 1, 5)));
    kn_nms_args args = {.limit = 5, .share = 0.5};
    kn_nms_result r = kn_nms(boxes, scores, &args);
    CHECK_VALUES(r.count, 0, 3);
    CHECK_VALUES(r.kept, 0, 0, 0, 1, 0, 0, 2, 0, 0, 4, 0, 0, 0, 0, 0, 0);
    args = (kn_nms_args){.limit = 1, .share = 0.5, .bounded = true, .least = 0.9f};
    CHECK_VALUES(kn_nms(boxes, scores, &args).count, 0, 0); /* above, not at */
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    const char *base = getenv("TMPDIR");
    char folder[256], command[512];
    snprintf(folder, sizeof folder, "%s/kiln_image_rows_XXXXXX", base ? base : "/tmp");
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    printed_rows_agree(folder);
    resampling_is_exact_where_it_can_be();
    boxes_hide_each_other();
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
