/* kiln ops: the op table as text, single ops, as a matrix of support, and as the page docs/ops.md. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include <inttypes.h>
#include <kn.h>
#include <kn/op_info.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 16, MAX_NAMES = 64 };

/* Rows without a gradient of their own whose lowering is recorded in their place come after the public kinds. */
enum { GRADIENT_LOWERED = KN_GRADIENT_ERROR + 1 };

static const char *const gradient_names[] = {"yes", "constant", "zero", "no", "lowered"};
static const char *const gradient_reasons[] = {
    "", "results are constants to the tape", "the derivative is zero almost everywhere",
    "the row has no gradient; asking for one is an error", "the ops it is made of are on the tape"};

static int gradient_of(const kn_op_info *op)
{
    return op->gradient == KN_GRADIENT_ERROR && op->has_lowering ? GRADIENT_LOWERED : (int)op->gradient;
}

/* The dtypes of a mask in a few words. */
static const char *dtypes_text(uint32_t mask, char *text, size_t room)
{
    static const struct {
        uint32_t mask;
        const char *name;
    } groups[] = {{0x1E, "floats"}, {0x1E0, "signed"}, {0x1E00, "unsigned"}};
    size_t used = 0;
    text[0] = 0;
    if ((mask & 0x3FFE) == 0x3FFE) return "all";
    for (int g = 0; g < 3; g++) {
        if ((mask & groups[g].mask) != groups[g].mask) continue;
        used += (size_t)snprintf(text + used, room - used, "%s%s", used ? " " : "", groups[g].name);
        mask &= ~groups[g].mask;
    }
    for (int d = KN_F64; d <= KN_BOOL && used < room; d++)
        if (mask >> d & 1)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? " " : "",
                                     kn_dtype_name((kn_dtype)d));
    return text;
}

static const char *arity_text(const kn_op_info *op, char *text, size_t room)
{
    if (op->max_in < 0)
        snprintf(text, room, "%d+", op->min_in);
    else if (op->max_in != op->min_in)
        snprintf(text, room, "%d-%d", op->min_in, op->max_in);
    else
        snprintf(text, room, "%d", op->min_in);
    size_t used = strlen(text);
    snprintf(text + used, room - used, ">%d", op->n_out);
    return text;
}

/* "x weight [bias]": in brackets what may be left out. */
static const char *operands_text(const kn_op_info *op, char *text, size_t room)
{
    size_t used = 0;
    const char *at = op->operands;
    text[0] = 0;
    for (int i = 0; *at && used < room; i++) {
        size_t n = strcspn(at, " ");
        bool optional = op->max_in >= 0 && i >= op->min_in;
        used += (size_t)snprintf(text + used, room - used, "%s%s%.*s%s", i ? " " : "", optional ? "[" : "",
                                 (int)n, at, optional ? "]" : "");
        at += n + (at[n] == ' ');
    }
    return text;
}

static const char *attribute_type(const kn_attribute_info *a)
{
    static const char *const names[][2] = {[KN_ATTRIBUTE_INT] = {"whole number", "size"},
                                           [KN_ATTRIBUTE_REAL] = {"real number", "real number"},
                                           [KN_ATTRIBUTE_LIST] = {"list of whole numbers", "list of sizes"}};
    return strcmp(a->name, "dtype") ? names[a->type][a->takes_size] : "dtype, by its name";
}

/* One op: what kn_builder_op and kn_call take. */
static void print_op(const kn_op_info *op)
{
    char text[200];
    kn_attribute_info a;
    printf("%s: %s\n", op->name, op->doc);
    if (op->body) printf("  %s%s%s\n", op->host ? op->host : "", op->host ? "; " : "", op->body);
    printf("\nkind       %s, number %d\n", op->kind, op->number);
    printf("operands   %s\n", *op->operands ? operands_text(op, text, sizeof text) : "none");
    printf("results    %d\n", op->n_out);
    printf("dtypes     %s%s\n", dtypes_text(op->dtypes, text, sizeof text),
           op->stored ? ", and those that are only stored" : "");
    printf("gradient   %s\n", gradient_names[gradient_of(op)]);
    if (!op->n_attributes) puts("attributes none");
    for (int i = 0; kn_op_attribute(op->number, i, &a); i++)
        printf("%-10s %-14s %s\n", i ? "" : "attributes", a.name, attribute_type(&a));
}

/* The ops of these names; returns the exit code. */
static int print_ops(const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        kn_op_info op;
        if (kn_op_find(names[i], &op)) {
            if (i) putchar('\n');
            print_op(&op);
            continue;
        }
        const char *separator = "; there are ";
        fprintf(stderr, "kiln ops: no op is called '%s'", names[i]);
        for (int number = 0; number < kn_op_count(); number++) {
            if (!kn_op_at(number, &op) || (!strstr(op.name, names[i]) && !strstr(names[i], op.name)))
                continue;
            fprintf(stderr, "%s%s", separator, op.name);
            separator = ", ";
        }
        fputs("\n", stderr);
        return 1;
    }
    return 0;
}

static void print_table(void)
{
    char dtypes[128], arity[32];
    printf("%4s %-28s %-12s %-6s %-24s %-9s %s\n", "no", "name", "kind", "arity", "dtypes", "gradient",
           "formula");
    int count = 0;
    for (int number = 0; number < kn_op_count(); number++) {
        kn_op_info op;
        if (!kn_op_at(number, &op)) continue;
        count++;
        printf("%4d %-28s %-12s %-6s %-24s %-9s %s\n", op.number, op.name, op.kind,
               arity_text(&op, arity, sizeof arity), dtypes_text(op.dtypes, dtypes, sizeof dtypes),
               gradient_names[gradient_of(&op)], op.doc);
    }
    printf("%d ops\n", count);
}

typedef struct {
    const char *spec;
    kn_device device;
} column;

/* How a device takes an op: one answer per dtype, and the reasons for its refusals, each with its dtypes. */
typedef struct {
    kn_support support[KN_BOOL + 1];
    int n_reasons;
    struct {
        const char *text;
        uint32_t dtypes;
    } reasons[KN_BOOL + 1];
} answer;

static answer ask(kn_device device, const kn_op_info *op)
{
    answer a = {.n_reasons = 0};
    for (int d = KN_F64; d <= KN_BOOL; d++) {
        /* A device that computes nothing takes everything; what the op refuses is refused there too. */
        const char *why = "the op does not take this dtype";
        a.support[d] = KN_SUPPORT_NO;
        if (!op->dtypes || op->dtypes >> d & 1)
            a.support[d] = kn_op_support(device, op->number, (kn_dtype)d, &why);
        if (a.support[d] != KN_SUPPORT_NO) continue;
        int r = 0;
        while (r < a.n_reasons && strcmp(a.reasons[r].text, why)) r++;
        if (r == a.n_reasons) a.reasons[a.n_reasons++].text = why;
        a.reasons[r].dtypes |= 1u << d;
    }
    return a;
}

/* One line per op and device. */
static void print_matrix(const column *columns, int n_columns)
{
    static const char letters[] = "-nlr";
    printf("n native, l lowered to other ops, r reference kernel, - no.\n"
           "No device refuses a layout: a kernel that wants its operands contiguous gets copies.\n"
           "%-28s %-14s",
           "op", "device");
    for (int d = KN_F64; d <= KN_BOOL; d++) printf(" %4s", kn_dtype_name((kn_dtype)d));
    printf("  %-8s  reasons\n", "gradient");
    for (int number = 0; number < kn_op_count(); number++) {
        kn_op_info op;
        if (!kn_op_at(number, &op) || !strcmp(op.kind, "system")) continue;
        for (int c = 0; c < n_columns; c++) {
            answer a = ask(columns[c].device, &op);
            const char *separator = "  ";
            char dtypes[128];
            printf("%-28s %-14s", op.name, columns[c].spec);
            for (int d = KN_F64; d <= KN_BOOL; d++) printf(" %4c", letters[a.support[d]]);
            bool bare = gradient_of(&op) == KN_GRADIENT_YES && a.n_reasons == 0;
            printf(bare ? "  %s" : "  %-8s", gradient_names[gradient_of(&op)]);
            if (gradient_of(&op) != KN_GRADIENT_YES) {
                printf("%sgradient: %s", separator, gradient_reasons[gradient_of(&op)]);
                separator = "; ";
            }
            for (int r = 0; r < a.n_reasons; r++, separator = "; ")
                printf("%s%s: %s", separator, dtypes_text(a.reasons[r].dtypes, dtypes, sizeof dtypes),
                       a.reasons[r].text);
            printf("\n");
        }
    }
}

static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void print_json_support(const column *c, const kn_op_info *op)
{
    static const char *const names[] = {"no", "native", "lowered", "reference"};
    answer a = ask(c->device, op);
    char dtypes[128];
    print_json_text(c->spec);
    printf(": {\"dtypes\": {");
    for (int d = KN_F64; d <= KN_BOOL; d++)
        printf("%s\"%s\": \"%s\"", d == KN_F64 ? "" : ", ", kn_dtype_name((kn_dtype)d), names[a.support[d]]);
    printf("}, \"refusals\": [");
    for (int r = 0; r < a.n_reasons; r++) {
        printf("%s{\"dtypes\": \"%s\", \"reason\": ", r ? ", " : "",
               dtypes_text(a.reasons[r].dtypes, dtypes, sizeof dtypes));
        print_json_text(a.reasons[r].text);
        putchar('}');
    }
    printf("]}");
}

/* The matrix for machines: an array with an object per op. */
static void print_json(const column *columns, int n_columns)
{
    const char *separator = "[\n";
    for (int number = 0; number < kn_op_count(); number++) {
        kn_op_info op;
        if (!kn_op_at(number, &op) || !strcmp(op.kind, "system")) continue;
        printf("%s{\"number\": %d, \"op\": \"%s\", \"kind\": \"%s\", \"gradient\": \"%s\", "
               "\"gradient_reason\": ",
               separator, op.number, op.name, op.kind, gradient_names[gradient_of(&op)]);
        print_json_text(gradient_reasons[gradient_of(&op)]);
        printf(", \"devices\": {");
        for (int c = 0; c < n_columns; c++) {
            if (c) printf(", ");
            print_json_support(&columns[c], &op);
        }
        printf("}}");
        separator = ",\n";
    }
    printf("\n]\n");
}

/* Opens every device that has a name of its own; decorators, which need one to stand around, are left out. */
static int open_all(column *columns)
{
    static char names[MAX_DEVICES][64];
    int n = 0;
    for (int i = 0; n < MAX_DEVICES && kn_device_enumerate(i, names[n], sizeof names[n]); i++) {
        columns[n] = (column){names[n], kn_device_open(names[n])};
        if (columns[n].device) n++;
    }
    return n;
}

/* The matrix of the named devices, of all that there are when none was named; returns the exit code. */
static int matrix_of(const char *const *specs, int n_specs, bool json)
{
    column columns[MAX_DEVICES];
    int n = n_specs ? 0 : open_all(columns), code = 0;
    for (; n < n_specs && !code; n++) {
        columns[n] = (column){specs[n], kn_device_open(specs[n])};
        if (columns[n].device) continue;
        fprintf(stderr, "kiln: cannot open the device '%s': %s\n", specs[n], kn_last_error());
        code = 1;
        n--;
    }
    if (!code && json)
        print_json(columns, n);
    else if (!code)
        print_matrix(columns, n);
    while (n > 0) kn_device_close(columns[--n].device);
    return code;
}

/* A formula may hold bars, which end a cell. */
static void print_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|') putchar('\\');
        putchar(*text);
    }
}

static void print_markdown(void)
{
    static const char *const words[][2] = {[KN_ATTRIBUTE_INT] = {"", ": size"},
                                           [KN_ATTRIBUTE_REAL] = {": real", ": real"},
                                           [KN_ATTRIBUTE_LIST] = {": list", ": sizes"}};
    char dtypes[128], arity[32], operands[200];
    const char *const kinds[] = {"create", "random", "elementwise", "movement",    "indexing",
                                 "reduce", "scan",   "sorting",     "contraction", "composite",
                                 "window", "linalg", "system"};
    printf(
        "# Ops\n\nGenerated by `kiln ops --markdown`; do not edit. One row per op of the table: its "
        "number (append-only, "
        "part of the wire\nformat), its operands (in brackets what may be left out), operands > results, the "
        "dtypes it computes on, its attributes\nand its gradient. Attributes are whole numbers unless the "
        "page "
        "says real, list (of whole numbers), size or sizes: those may depend\non sizes that are known when a "
        "program runs ([programs.md](programs.md)). `kiln ops NAME` prints one op.\nA line in code letters "
        "is the body of the row: all kernels of an elementwise op are "
        "made of "
        "it, those of GPUs\nfor others.\n"
        "Functions that are combinations of these are in the headers under `include/kn`.\n");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bool any = false;
        for (int number = 0; number < kn_op_count(); number++) {
            kn_op_info op;
            kn_attribute_info attribute;
            if (!kn_op_at(number, &op) || strcmp(op.kind, kinds[k])) continue;
            if (!any) {
                printf(
                    "\n## %s\n\n| no | name | formula | operands | arity | dtypes | attributes | gradient |\n"
                    "|---|---|---|---|---|---|---|---|\n",
                    kinds[k]);
            }
            any = true;
            printf("| %d | %s | ", op.number, op.name);
            print_cell(op.doc);
            if (op.body) {
                printf(" <br>`");
                if (op.host) print_cell(op.host), printf("; ");
                print_cell(op.body);
                putchar('`');
            }
            printf(" | %s | %s | %s |", operands_text(&op, operands, sizeof operands),
                   arity_text(&op, arity, sizeof arity), dtypes_text(op.dtypes, dtypes, sizeof dtypes));
            for (int i = 0; kn_op_attribute(number, i, &attribute); i++)
                printf("%s %s%s", i ? "," : "", attribute.name, words[attribute.type][attribute.takes_size]);
            printf(" | %s |\n", gradient_names[gradient_of(&op)]);
        }
    }
}

int kiln_command_ops(int count, char **arguments)
{
    bool matrix = false, markdown = false, json = false, onnx = false, bad = false;
    const char *specs[MAX_DEVICES], *spec = NULL, *names[MAX_NAMES];
    int n_specs = 0, n_names = 0;
    for (int i = 0; i < count; i++) {
        if (kiln_option(arguments, i, "--matrix"))
            matrix = true;
        else if (kiln_option(arguments, i, "--markdown"))
            markdown = true;
        else if (kiln_option(arguments, i, "--json"))
            json = true;
        else if (kiln_option(arguments, i, "--onnx"))
            onnx = true;
        else if (*arguments[i] != '-' && n_names < MAX_NAMES)
            names[n_names++] = arguments[i];
        else if (!kiln_option_value(count, arguments, &i, "--device", &spec, &bad))
            return kiln_usage_error("ops has no option '%s'", arguments[i]);
        if (bad) return kiln_usage_error("%s needs a value", arguments[i]);
        if (!spec) continue;
        if (n_specs == MAX_DEVICES) return kiln_usage_error("at most %d devices", MAX_DEVICES);
        specs[n_specs++] = spec;
        spec = NULL;
    }
    if (onnx && (n_names || matrix || json || n_specs))
        return kiln_usage_error("--onnx goes with --markdown alone");
    if (onnx) return kiln_ops_onnx(markdown);
    if (n_names && (matrix || markdown || json || n_specs))
        return kiln_usage_error("ops takes names of ops or options, not both");
    if (n_names) return print_ops(names, n_names);
    if (matrix && markdown) return kiln_usage_error("--matrix and --markdown exclude each other");
    if ((n_specs || json) && !matrix) return kiln_usage_error("--device and --json go with --matrix");
    if (matrix) return matrix_of(specs, n_specs, json);
    if (markdown)
        print_markdown();
    else
        print_table();
    return 0;
}
