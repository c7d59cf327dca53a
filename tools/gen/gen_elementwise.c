/* The CPU's elementwise kernels: a STRIP line for each row with a body and each type it computes in, and the
   table of each row's strips. */
#include "gen.h"
#include "gen_body.h"
#include "gen_expression.h"
#include "gen_file.h"
#include "ops/native.h"

/* The entries that this program generates need not exist for it to link. */
#define KN_OP(number, name, ...)                                                                             \
    extern const kni_native kni_cpu_##name;                                                                  \
    __attribute__((weak)) const kni_native kni_cpu_##name = {0};
#include "ops/elementwise.def"
#undef KN_OP

static const kn_op *const rows[] = {
#define KN_OP(number, name, ...) &kni_op_##name,
#include "ops/elementwise.def"
#undef KN_OP
};
enum { ROWS = sizeof rows / sizeof *rows, GROUPS = 8 };

#define FOLDER "src/backend/cpu/generated/"

/* The place of row i among the bodies, -1 where it has none. */
static int body_of(int i)
{
    for (int k = 0; k < gen_row_count(); k++)
        if (gen_row(k) == rows[i]) return k;
    return -1;
}

/* Types that a small target leaves out are marked WIDE; those it can afford are not. */
static const char *guard_of(const gen_body *body, int compute)
{
    if (compute == KNI_COMPUTE_F32 || compute == KNI_COMPUTE_I32) return "STRIP";
    return compute == KNI_COMPUTE_I64 && body->cheap ? "STRIP" : "WIDE_STRIP";
}

static bool print_strips(FILE *f, int i)
{
    const kn_op *row = gen_row(i);
    for (int c = 0; c < KNI_COMPUTE_COUNT; c++) {
        gen_body body;
        if (!gen_row_computes(row, c)) continue;
        if (!gen_expression(i, c, &body)) {
            gen_complain(i, 0, "the C made of it is too long: name parts of it");
            return false;
        }
        const char *type = gen_types[c].name, *suffix = gen_types[c].suffix;
        if (body.array) {
            fprintf(f, "ARRAY_%s(%s, %s, %s, %s)\n", guard_of(&body, c), row->name, suffix, type, body.array);
            continue;
        }
        fprintf(f, "%s(%s, %s, %s, (%s), (%s), %s)\n", guard_of(&body, c), row->name, suffix,
                body.truth ? "uint8_t" : type, body.before, body.statements, body.expression);
    }
    return true;
}

/* Whether a body behind those of the ops has strips; the other gradients run word by word. */
static bool has_strips(int k) { return gen_row(k)->native != NULL; }

/* The rows of elementwise.def come in its order, those of other families have no strips. */
static int write_strips(int group)
{
    char path[128];
    snprintf(path, sizeof path, FOLDER "elementwise_strips_%d.inc", group);
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    bool good = true;
    for (int i = group; i < ROWS && good; i += GROUPS)
        if (body_of(i) >= 0) good = print_strips(f, body_of(i));
    for (int k = gen_row_count() + group; k < gen_all_count() && good; k += GROUPS)
        if (has_strips(k)) good = print_strips(f, k);
    return gen_finish_file(f, path) || !good;
}

/* ENTRY(name, f32, f64, i32, i64, u64): S where there is a strip, W where small targets leave it out. */
static void print_entry(FILE *f, int k)
{
    fprintf(f, "ENTRY(%s", gen_row(k)->name);
    for (int c = 0; c < KNI_COMPUTE_COUNT; c++) {
        gen_body body;
        bool computes = gen_row_computes(gen_row(k), c) && gen_expression(k, c, &body);
        fprintf(f, ", %s", computes ? guard_of(&body, c) : "NO");
    }
    fputs(")\n", f);
}

static int write_entries(void)
{
    const char *path = FOLDER "elementwise_entries.inc";
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    for (int i = 0; i < ROWS; i++)
        if (body_of(i) >= 0) print_entry(f, body_of(i));
    for (int k = gen_row_count(); k < gen_all_count(); k++)
        if (has_strips(k)) print_entry(f, k);
    return gen_finish_file(f, path);
}

int gen_elementwise(void)
{
    int bad = 0;
    for (int group = 0; group < GROUPS; group++) bad |= write_strips(group);
    return bad | write_entries();
}
