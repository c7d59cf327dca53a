/* The CPU's programs of lines: for each row along lines that has no kernel of its own, its body as steps on strips. */
#include "backend/cpu/line_program.h"
#include "core/allocator.h"
#include "gen.h"
#include "gen_body.h"
#include "gen_file.h"
#include "ops/body_words.h"
#include "ops/scalar_row.h"
#include "ops/word_numbers.h"

/* The entries that this program generates need not exist for it to link. */
#define KN_OP(number, name, ...) __attribute__((weak)) const kni_line_entry kni_lines_##name = {{0}, NULL};
#include "ops/ops.def"
#undef KN_OP

static const struct {
    const kn_op *row;
    const kni_native *entry;
} rows[] = {
#define KN_OP(number, name, ...) {&kni_op_##name, KNI_BY_LINES(name)},
#include "ops/ops.def"
#undef KN_OP
};

/* Whether the row says that the CPU runs its body. */
static bool runs_by_lines(const kn_op *row)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].row == row) return row->native == rows[i].entry;
    return false;
}

static void print_entry(FILE *f, int kind, int word)
{
    static const char *const truths[KNI_STEP_KINDS] = {
        [KNI_STEP_AND] = "and", [KNI_STEP_OR] = "or", [KNI_STEP_XOR] = "xor", [KNI_STEP_NOT] = "not"};
    const kn_op *row = kind == KNI_STEP_WORD     ? kni_word_row(word)
                       : kind == KNI_STEP_EXPN   ? kni_word_row(KNI_WORD_exp)
                       : kind == KNI_STEP_SELECT ? kni_select_row()
                                                 : NULL;
    if (row)
        fprintf(f, ", .entry = &kni_cpu_%s", row->name);
    else
        fprintf(f, ", .entry = &kni_line_%s", truths[kind] ? truths[kind] : kni_word_at(word)->name);
}

static void print_numbers(FILE *f, const kni_line_program *p, const char *name)
{
    if (!p->n_numbers) return;
    fprintf(f, "static const kni_line_number numbers_%s[] = {\n", name);
    for (int i = 0; i < p->n_numbers; i++) {
        const kni_line_number *x = &p->numbers[i];
        fprintf(f, "    {.kind = %d, .index = %d, .n_in = %d, .in = {%d, %d, %d}, .truths = %d, .truth = %d",
                x->kind, x->index, x->n_in, x->in[0], x->in[1], x->in[2], x->truths, x->truth);
        if (x->value - x->value != 0)
            fprintf(f, ", .value = %s__builtin_inf()", x->value < 0 ? "-" : "");
        else
            fprintf(f, ", .value = %.17g", x->value);
        if (x->kind == KNI_STEP_WORD || x->kind == KNI_STEP_EXPN) print_entry(f, x->kind, x->index);
        fputs("},\n", f);
    }
    fputs("};\n", f);
}

static void print_steps(FILE *f, const kni_line_program *p, const char *name)
{
    fprintf(f, "static const kni_line_step steps_%s[] = {\n", name);
    for (int i = 0; i < p->n_once + p->n_steps; i++) {
        const kni_line_step *s = &p->steps[i];
        fprintf(f,
                "    {.kind = %d, .n_in = %d, .wide = %d, .type = %d, .types = {%d, %d, %d}, .index = %d, "
                ".in = {%d, %d, %d}, .out = %d, .word_kind = %d, .word = %d",
                s->kind, s->n_in, s->wide, s->type, s->types[0], s->types[1], s->types[2], s->index, s->in[0],
                s->in[1], s->in[2], s->out, s->word_kind, s->word);
        if (s->kind == KNI_LINE_CALL) print_entry(f, s->word_kind, s->word);
        fputs("},\n", f);
    }
    fputs("};\n", f);
}

static bool print_program(FILE *f, int i)
{
    const char *name = gen_row(i)->name, *why;
    const kni_body body = kni_body_of_draft(gen_draft(i));
    kni_line_program *p = kni_line_compile(&body, &why);
    if (!p) {
        char text[160];
        snprintf(text, sizeof text, "the CPU cannot run it line by line: %s; give the row a kernel",
                 why ? why : "no memory");
        gen_complain(i, 0, text);
        return false;
    }
    fprintf(f, "\n/* %s: %s */\n", name, gen_text(i));
    print_numbers(f, p, name);
    print_steps(f, p, name);
    fprintf(f,
            "LINES(%s, .n_numbers = %d, .n_once = %d, .n_steps = %d, .n_wide = %d, .n_narrow = %d, "
            ".n_results = %d, "
            ".picks = %d, .indices = %d, .numbers = %s%s, .steps = steps_%s,\n      .results = {",
            name, p->n_numbers, p->n_once, p->n_steps, p->n_wide, p->n_narrow, p->n_results, p->picks,
            p->indices, p->n_numbers ? "numbers_" : "NULL", p->n_numbers ? name : "", name);
    for (int k = 0; k < p->n_results; k++)
        fprintf(f, "%s{%d, %d, %d, %d}", k ? ", " : "", p->results[k].from, p->results[k].type,
                p->results[k].wide, p->results[k].down);
    fputs("})\n", f);
    kni_free(p, p->bytes);
    return true;
}

int gen_lines(void)
{
    const char *path = "src/backend/cpu/generated/line_programs.inc";
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    bool good = true;
    for (int i = 0; i < gen_row_count(); i++)
        if (runs_by_lines(gen_row(i))) good &= print_program(f, i);
    return gen_finish_file(f, path) || !good;
}
