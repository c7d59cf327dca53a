/* The compact form of each body, which rows name, and the list of the texts. */
#include "gen.h"
#include "gen_body.h"
#include "gen_expression.h"
#include "gen_file.h"
#include "gen_made.h"

static void print_list(FILE *f, const char *type, const char *what, const char *name)
{
    fprintf(f, "static const %s %s_%s[] = ", type, what, name);
}

static void print_constant(FILE *f, double value)
{
    if (value - value != 0)
        fprintf(f, "%s__builtin_inf()", value < 0 ? "-" : "");
    else
        fprintf(f, "%.17g", value);
}

void gen_print_code(FILE *f, const kni_body_draft *d)
{
    fputs("{", f);
    for (int k = 0; k < d->n; k++) fprintf(f, "%s%d", k ? ", " : "", d->code[k]);
    fputs("}", f);
}

void gen_print_constants(FILE *f, const kni_body_draft *d)
{
    fputs("{", f);
    for (int k = 0; k < d->n_constants; k++) {
        if (k) fputs(", ", f);
        print_constant(f, d->constants[k]);
    }
    fputs(d->n_constants ? "}" : "0}", f);
}

static void print_field(FILE *f, const char *what, const char *name, bool exists)
{
    if (exists) fprintf(f, ", .%s = %s_%s", what, what, name);
}

/* The function that fills the numbers of a body from a record's attributes. */
static bool print_numbers(FILE *f, int i)
{
    static gen_body host;
    const kni_body_draft *d = gen_draft(i);
    if (!gen_host_statements(i, &host)) {
        gen_complain(i, 0, "the C made of its `.host` is too long: name parts of it");
        return false;
    }
    fprintf(
        f,
        "static void numbers_%s(const kn_attribute *schema, const void *attributes, kni_body_number *n)\n{\n",
        gen_row(i)->name);
    fprintf(f, "    %s\n", host.statements);
    for (int k = 0; k < d->n_numbers; k++)
        if (d->numbers[k] < KNI_NUMBER_HOST)
            fprintf(f, "    n[%d] = kni_body_attribute(&schema[%d], attributes);\n", k, d->numbers[k]);
        else
            fprintf(f, "    n[%d] = kni_body_real(%s);\n", k,
                    gen_local_name(d->numbers[k] - KNI_NUMBER_HOST));
    fputs("}\n", f);
    return true;
}

static bool print_body(FILE *f, int i)
{
    const kni_body_draft *d = gen_draft(i);
    const char *name = gen_row(i)->name;
    bool hosted = gen_host(i) != NULL;
    fprintf(f, "\n/* %s: %s%s%s */\n", name, hosted ? gen_host_text(i) : "", hosted ? "; " : "", gen_text(i));
    print_list(f, "uint8_t", "code", name);
    gen_print_code(f, d);
    fputs(";\n", f);
    if (d->n_constants) {
        print_list(f, "double", "constants", name);
        gen_print_constants(f, d);
        fputs(";\n", f);
    }
    bool listed = gen_row(i)->kind != KNI_ELEMENTWISE; /* not all operands are elements */
    if (listed) {
        print_list(f, "uint8_t", "operands", name);
        fputs("{", f);
        int n = d->n_in + d->n_out * (d->updates ? 2 : 1);
        for (int k = 0; k < n; k++) fprintf(f, "%s%d", k ? ", " : "", d->operands[k]);
        fputs("};\n", f);
    }
    if (hosted && !print_numbers(f, i)) return false;
    fprintf(f, "const kni_body kni_body_%s = {.code = code_%s, .n = %d, .n_in = %d, .n_out = %d", name, name,
            d->n, d->n_in, d->n_out);
    print_field(f, "constants", name, d->n_constants > 0);
    print_field(f, "operands", name, listed);
    print_field(f, "numbers", name, hosted);
    if (hosted) fprintf(f, ", .n_numbers = %d", d->n_numbers);
    const kni_body body = kni_body_of_draft(d);
    static kni_body_tree tree;
    kni_body_tree_of(&body, &tree);
    int words = gen_made_words(&tree, 0), wide = gen_made_words(&tree, 1u << KNI_CHOICE_DOUBLES);
    if (words || wide) fprintf(f, ", .draws = {%d, %d}", words, wide);
    fprintf(f, "%s};\n", d->updates ? ", .updates = 1" : "");
    return true;
}

static int write_bodies(void)
{
    const char *path = "src/ops/generated/bodies.c";
    FILE *f = gen_start_file(path);
    if (!f) return 1;
    fputs("#include \"ops/scalar_row.h\"\n#include \"ops/scalar_words.h\"\n", f);
    bool good = true;
    for (int i = 0; i < gen_row_count(); i++) good &= print_body(f, i);
    return gen_finish_file(f, path) || !good;
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
