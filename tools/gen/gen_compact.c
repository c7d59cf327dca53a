/* The compact form of each body, which rows name, and the list of the texts. */
#include "gen.h"
#include "gen_body.h"
#include "gen_file.h"

static void print_list(FILE *f, const char *type, const char *what, const char *name)
{
    fprintf(f, "static const %s %s_%s[] = {", type, what, name);
}

static void print_pointer(FILE *f, const char *what, const char *name, bool exists)
{
    if (exists)
        fprintf(f, "%s_%s, ", what, name);
    else
        fputs("NULL, ", f);
}

static void print_body(FILE *f, int i)
{
    const kni_body_draft *d = gen_draft(i);
    const char *name = gen_row(i)->name;
    fprintf(f, "\n/* %s: %s */\n", name, gen_text(i));
    print_list(f, "uint8_t", "code", name);
    for (int k = 0; k < d->n; k++) fprintf(f, "%s%d", k ? ", " : "", d->code[k]);
    fputs("};\n", f);
    if (d->n_constants) {
        print_list(f, "double", "constants", name);
        for (int k = 0; k < d->n_constants; k++) {
            double value = d->constants[k];
            const char *comma = k ? ", " : "";
            if (value - value != 0)
                fprintf(f, "%s%s__builtin_inf()", comma, value < 0 ? "-" : "");
            else
                fprintf(f, "%s%.17g", comma, value);
        }
        fputs("};\n", f);
    }
    bool lines = gen_row(i)->line.axes != 0;
    if (lines) {
        print_list(f, "uint8_t", "operands", name);
        for (int k = 0; k < d->n_in + d->n_out; k++) fprintf(f, "%s%d", k ? ", " : "", d->operands[k]);
        fputs("};\n", f);
    }
    fprintf(f, "const kni_body kni_body_%s = {code_%s, ", name, name);
    print_pointer(f, "constants", name, d->n_constants > 0);
    print_pointer(f, "operands", name, lines);
    fprintf(f, "%d, %d, %d, NULL};\n", d->n, d->n_in, d->n_out);
}

static int write_bodies(void)
{
    const char *path = "src/ops/generated/bodies.c";
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    fputs("#include \"ops/scalar_row.h\"\n", f);
    for (int i = 0; i < gen_row_count(); i++) print_body(f, i);
    return gen_finish_file(f, path);
}

static int write_texts(void)
{
    const char *path = "src/ops/generated/body_texts.inc";
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    for (int i = 0; i < gen_row_count(); i++) fprintf(f, "TEXT(%s)\n", gen_row(i)->name);
    return gen_finish_file(f, path);
}

int gen_compact(void) { return write_bodies() | write_texts(); }
