/* The CPU's kernels of rows that update operands: a loop over elements for each type, whose choices are constants of an inlined
   function, so that no loop has branches; and the list of these rows. */
#include "gen.h"
#include "gen_body.h"
#include "gen_expression.h"
#include "gen_file.h"
#include <string.h>

#define FOLDER "src/backend/cpu/generated/"

typedef struct strip {
    const char *name, *type;
    kni_body body;
    gen_body text;
    /* What is known before the loop: operands that may be absent, then attributes that are choices. */
    char known[2 * KNI_BODY_OPERANDS][4];
    int n_known;
} strip;

static bool is_single(const strip *s, int i)
{
    return (s->body.operands[i] & KNI_OPERAND_LEVEL) == KNI_LEVEL_ALL;
}

static void note_known(strip *s, char kind, int index)
{
    char name[16];
    snprintf(name, sizeof name, "%c%d", kind, index);
    for (int i = 0; i < s->n_known; i++)
        if (!strcmp(s->known[i], name)) return;
    memcpy(s->known[s->n_known++], name, 4);
}

/* Single operands are read before the loop: nothing in it depends on whether they are given. */
static void find_known(strip *s)
{
    s->n_known = 0;
    for (int i = 0; i < s->body.n_in; i++)
        if (s->body.operands[i] & KNI_OPERAND_OPTIONAL && !is_single(s, i)) note_known(s, 'h', i);
    for (int k = 0; k < s->body.n; k++) {
        kni_step step = kni_body_step(&s->body, k);
        if (step.kind == KNI_STEP_HAS) note_known(s, 'h', step.index);
        if (step.kind == KNI_STEP_CHOICE) note_known(s, 'c', step.index);
    }
}

static void print_loop(FILE *f, const strip *s)
{
    fprintf(f, "static inline __attribute__((always_inline)) void %s_loop(\n    UPDATE_ARGUMENTS", s->name);
    for (int i = 0; i < s->n_known; i++) fprintf(f, ", const bool %s", s->known[i]);
    fputs(")\n{\n", f);
    for (int i = 0; i < s->body.n_numbers; i++)
        fprintf(f, "    const %s p%d = (%s)numbers[%d].real;\n", s->type, i, s->type, i);
    for (int i = 0; i < s->body.n_in; i++)
        if (is_single(s, i))
            fprintf(f, "    const %s s%d = in[%d] ? *(const %s *)in[%d] : %d;\n", s->type, i, i, s->type, i,
                    (s->body.operands[i] & KNI_OPERAND_ONE) != 0);
        else
            fprintf(f, "    const %s *x%d = in[%d];\n", s->type, i, i);
    for (int k = 0; k < s->body.n_out; k++) fprintf(f, "    %s *y%d = out[%d];\n", s->type, k, k);
    fprintf(f, "    EACH_ALONE\n    for (int64_t i = 0; i < n; i++) {\n        %s\n    }\n}\n",
            s->text.statements);
}

/* Calls the loop with the constants that are true now. */
static void print_call(FILE *f, const strip *s)
{
    fprintf(f, "static void %s_strip(UPDATE_ARGUMENTS, uint32_t choices)\n{\n    (void)choices;\n", s->name);
    for (int i = 0; i < s->n_known; i++)
        if (s->known[i][0] == 'h')
            fprintf(f, "    const bool %s = in[%s] != NULL;\n", s->known[i], s->known[i] + 1);
        else
            fprintf(f, "    const bool %s = choices >> %s & 1;\n", s->known[i], s->known[i] + 1);
    for (int bits = 0; bits < 1 << s->n_known; bits++) {
        fputs(bits ? "    else " : "    ", f);
        if (bits + 1 < 1 << s->n_known) {
            fputs("if (", f);
            for (int i = 0; i < s->n_known; i++)
                fprintf(f, "%s%s%s", i ? " && " : "", bits >> i & 1 ? "" : "!", s->known[i]);
            fputs(")\n        ", f);
        }
        fprintf(f, "%s_loop(n, out, in, numbers", s->name);
        for (int i = 0; i < s->n_known; i++) fputs(bits >> i & 1 ? ", true" : ", false", f);
        fputs(");\n", f);
    }
    fputs("}\n", f);
}

static bool print_strip(FILE *f, int i, int compute)
{
    static strip s;
    s.name = gen_row(i)->name;
    s.type = gen_types[compute].name;
    s.body = kni_body_of_draft(gen_draft(i));
    if (!gen_statements(i, compute, &s.text)) {
        gen_complain(i, 0, "the C made of it is too long: name parts of it");
        return false;
    }
    find_known(&s);
    fputs("\n", f);
    print_loop(f, &s);
    print_call(f, &s);
    return true;
}

static bool is_update(int i)
{
    const kni_body body = kni_body_of_draft(gen_draft(i));
    return kni_body_updates(&body);
}

static int write_strips(int compute)
{
    char path[128];
    snprintf(path, sizeof path, FOLDER "update_strips_%s.inc", gen_types[compute].suffix);
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    bool good = true;
    for (int i = 0; i < gen_row_count() && good; i++)
        if (is_update(i)) good = print_strip(f, i, compute);
    return gen_finish_file(f, path) || !good;
}

static int write_entries(void)
{
    const char *path = FOLDER "update_entries.inc";
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    for (int i = 0; i < gen_row_count(); i++)
        if (is_update(i)) fprintf(f, "ENTRY(%s)\n", gen_row(i)->name);
    return gen_finish_file(f, path);
}

int gen_update(void)
{
    return write_strips(KNI_COMPUTE_F32) | write_strips(KNI_COMPUTE_F64) | write_entries();
}
