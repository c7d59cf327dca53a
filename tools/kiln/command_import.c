/* kiln import: an ONNX model, or a program in a file, as C: against this library, or as one file that needs nothing. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include "run_files.h"
#include <errno.h>
#include <kn.h>
#include <kn/onnx.h>
#include <kn/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST = 256 };

typedef struct job {
    const char *path, *folder, *name;
    bindings values, dims;
    const char *kept[MOST], *outputs[MOST];
    int n_kept, n_outputs;
    bool standalone, blob, embed, fold, no_simplify, dump, save;
    kn_onnx_size sizes[MOST];
    kn_onnx_given given[MOST];
    char *names[2 * MOST]; /* texts that sizes and given values point to */
    int n_names;
    char made_name[49];
} job;

static int failed(void)
{
    fprintf(stderr, "kiln import: %s\n", kn_last_error());
    return 1;
}

/* The name of a binding as a text of its own; NULL without memory. */
static char *own_name(job *j, const binding *b)
{
    char *text = malloc(b->length + 1);
    if (!text) return NULL;
    memcpy(text, b->name, b->length);
    text[b->length] = 0;
    return j->names[j->n_names++] = text;
}

/* N, or LO..HI, or LO.. */
static bool read_range(const char *text, int64_t *low, int64_t *high)
{
    char *end;
    *low = *high = strtoll(text, &end, 10);
    if (end == text || *low < 0) return false;
    if (!*end) return true;
    if (strncmp(end, "..", 2) != 0) return false;
    *high = 0;
    if (!end[2]) return true;
    const char *second = end + 2;
    *high = strtoll(second, &end, 10);
    return end != second && !*end && *high >= *low;
}

static int read_sizes(job *j)
{
    for (int i = 0; i < j->dims.n; i++) {
        kn_onnx_size *s = &j->sizes[i];
        s->name = own_name(j, &j->dims.of[i]);
        if (s->name && read_range(j->dims.of[i].file, &s->low, &s->high)) continue;
        fprintf(stderr, "kiln import: '%s' is no size; write --dim NAME=8 or --dim NAME=1..512\n",
                j->dims.of[i].name);
        return 2;
    }
    return 0;
}

static int read_values(job *j)
{
    for (int i = 0; i < j->values.n; i++) {
        const binding *b = &j->values.of[i];
        size_t n = strlen(b->file);
        j->given[i].input = own_name(j, b);
        if (n > 3 && !strcmp(b->file + n - 3, ".pb")) {
            kn_onnx_value value = kn_onnx_value_read(b->file, NULL);
            if (!value) return failed();
            j->given[i].value = kn_keep(kn_onnx_value_as_tensor(value));
            kn_onnx_value_free(value);
        } else {
            j->given[i].value = kn_keep(kiln_read_tensor("kiln import", b));
            if (!kn_ok(j->given[i].value)) return 1;
        }
        if (!j->given[i].input || !kn_ok(j->given[i].value)) return failed();
    }
    return 0;
}

static bool is_word(const char *text)
{
    static const char *const words[] = {
        "auto",     "bool",    "break",    "call",     "carried",  "case",    "char",    "class",   "const",
        "continue", "default", "divided",  "double",   "else",     "enum",    "errno",   "extern",  "false",
        "float",    "for",     "goto",     "grown",    "inline",   "int",     "larger",  "long",    "main",
        "new",      "out",     "param_at", "places",   "register", "result",  "results", "return",  "scope",
        "shared",   "short",   "signed",   "sizeof",   "sizes",    "smaller", "stacked", "static",  "status",
        "step",     "struct",  "switch",   "template", "this",     "true",    "truth",   "typedef", "union",
        "unsigned", "void",    "volatile", "while",    "xor"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text, words[i])) return true;
    return false;
}

/* The file's name without its folder and ending, as a name in C. */
static const char *default_name(job *j)
{
    const char *slash = strrchr(j->path, '/'), *from = slash ? slash + 1 : j->path;
    size_t n = 0;
    for (; *from && *from != '.' && n + 1 < sizeof j->made_name; from++) {
        char c = *from;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_',
             digit = c >= '0' && c <= '9';
        if (n == 0 && digit) j->made_name[n++] = 'm';
        j->made_name[n++] = letter || digit ? c : '_';
    }
    j->made_name[n] = 0;
    /* Short names, and words of C, are what the written functions use themselves. */
    if (n && (n < 3 || is_word(j->made_name)) && n + 6 < sizeof j->made_name)
        memcpy(j->made_name + n, "_model", 7);
    return n ? j->made_name : "model";
}

static bool is_decided(const job *j, const char *name)
{
    for (int i = 0; i < j->n_kept; i++)
        if (!strcmp(j->kept[i], name)) return true;
    for (int i = 0; i < j->values.n; i++)
        if (!strcmp(j->given[i].input, name)) return true;
    return false;
}

/* What the program leaves out of what the model can take. Before version 4 of the format all weights were inputs, which means nothing. */
static void say_left_out(const job *j, kn_onnx model)
{
    kn_onnx_info info;
    kn_onnx_port port;
    if (kn_onnx_describe(model, &info) || info.ir_version < 4) return;
    for (int32_t i = 0; i < kn_onnx_inputs(model); i++) {
        if (kn_onnx_input(model, i, &port) || !port.has_default || is_decided(j, port.name)) continue;
        fputs("kiln import: the input '", stderr);
        kiln_print_plain(stderr, port.name, 64);
        fputs("' may be left out of a run and is left out of the program", stderr);
        fputs(port.kind == KN_ONNX_OPTIONAL ? "" : ", which has its default", stderr);
        fputs("; --keep NAME makes it an input, --value NAME=FILE gives it a value\n", stderr);
    }
}

static bool is_program(const char *path)
{
    size_t n = strlen(path);
    return n > 12 && !strcmp(path + n - 12, ".safetensors");
}

/* Makes the folder and those above it. */
static int make_folder(const char *path)
{
    char part[4096];
    size_t n = strlen(path);
    if (n >= sizeof part) return fputs("kiln import: the path of the folder is too long\n", stderr), 1;
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i]) continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) == 0 || errno == EEXIST) continue;
        return fprintf(stderr, "kiln import: cannot make the folder '%s': %s\n", part, strerror(errno)), 1;
    }
    return 0;
}

static kn_program read_program(job *j)
{
    if (is_program(j->path)) return kn_program_load(j->path, NULL);
    kn_onnx_args load = {.no_simplify = j->no_simplify,
                         .keep_weights = !j->standalone && !j->fold,
                         .keep_stored = j->standalone && !j->fold,
                         .outputs = j->outputs,
                         .n_outputs = j->n_outputs};
    kn_onnx model = kn_onnx_load(j->path, &load);
    if (!model) return NULL;
    kn_onnx_program_args args = {j->sizes,       j->dims.n, j->given, j->values.n,
                                 j->no_simplify, j->kept,   j->n_kept};
    say_left_out(j, model);
    kn_program p = kn_onnx_program(model, &args);
    kn_onnx_free(model);
    return p;
}

static int dump(kn_program p)
{
    size_t n = kn_program_print(p, NULL, 0);
    char *text = malloc(n + 1);
    if (!text) return fputs("kiln import: no memory\n", stderr), 1;
    kn_program_print(p, text, n + 1);
    fputs(text, stdout);
    free(text);
    return 0;
}

static int write_standalone(const job *j, kn_program p)
{
    char path[4096], weights[4096];
    if (snprintf(path, sizeof path, "%s/%s.c", j->folder, j->name) >= (int)sizeof path ||
        snprintf(weights, sizeof weights, "%s/%s.bin", j->folder, j->name) >= (int)sizeof weights)
        return fprintf(stderr, "kiln import: the path of the folder is too long\n"), 1;
    kn_program_to_c_args args = {.name = j->name, .weights = j->blob ? weights : NULL};
    return kn_program_to_c(p, path, &args) ? failed() : 0;
}

static int write_program(const job *j, kn_program p)
{
    char path[4096];
    int code = 0;
    if (j->dump) code = dump(p);
    if (!code && j->folder) code = make_folder(j->folder);
    if (!code && j->folder && j->save) {
        snprintf(path, sizeof path, "%s/%s.program.safetensors", j->folder, j->name);
        if (kn_program_save(p, path, NULL)) code = failed();
    }
    if (code || !j->folder) return code;
    if (j->standalone) return write_standalone(j, p);
    return kn_program_to_source(p, j->folder, &(kn_program_to_source_args){j->name, j->embed}) ? failed() : 0;
}

static int execute(job *j)
{
    int code = read_sizes(j);
    if (!code) code = read_values(j);
    if (code) return code;
    kn_program p = read_program(j);
    if (!p) return failed();
    code = write_program(j, p);
    kn_program_free(p);
    return code;
}

static int read_options(job *j, int count, char **arguments)
{
    bool bad = false;
    for (int i = 0; i < count; i++) {
        const char *text = NULL;
        if (kiln_option(arguments, i, "--standalone"))
            j->standalone = true;
        else if (kiln_option(arguments, i, "--blob"))
            j->blob = true;
        else if (kiln_option(arguments, i, "--embed"))
            j->embed = true;
        else if (kiln_option(arguments, i, "--fold"))
            j->fold = true;
        else if (kiln_option(arguments, i, "--no-simplify"))
            j->no_simplify = true;
        else if (kiln_option(arguments, i, "--dump"))
            j->dump = true;
        else if (kiln_option(arguments, i, "--save"))
            j->save = true;
        else if (kiln_option_value(count, arguments, &i, "--dim", &text, &bad))
            bad = bad || j->dims.n == MOST || !kiln_bind(&j->dims, text);
        else if (kiln_option_value(count, arguments, &i, "--value", &text, &bad))
            bad = bad || j->values.n == MOST || !kiln_bind(&j->values, text);
        else if (kiln_option_value(count, arguments, &i, "--keep", &text, &bad)) {
            bad = bad || j->n_kept == MOST;
            if (!bad) j->kept[j->n_kept++] = text;
        } else if (kiln_option_value(count, arguments, &i, "--output", &text, &bad)) {
            bad = bad || j->n_outputs == MOST;
            if (!bad) j->outputs[j->n_outputs++] = text;
        } else if (kiln_option_value(count, arguments, &i, "--name", &j->name, &bad) ||
                   kiln_option_value(count, arguments, &i, "-o", &j->folder, &bad))
            ;
        else if (arguments[i][0] == '-' || j->path)
            return kiln_usage_error("import takes no argument '%s'", arguments[i]);
        else
            j->path = arguments[i];
        if (bad) return kiln_usage_error("the value of '%s' is missing or makes no sense", arguments[i]);
    }
    if (!j->path) return kiln_usage_error("import needs a file");
    if (!j->folder && !j->dump) return kiln_usage_error("import needs -o FOLDER or --dump");
    if (!j->name) j->name = default_name(j);
    return 0;
}

int kiln_command_import(int count, char **arguments)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return fputs("kiln import: no memory\n", stderr), 1;
    kn_scope scope = kn_scope_begin();
    int code = read_options(j, count, arguments);
    if (!code) code = execute(j);
    kn_scope_end(scope, KN_NONE);
    for (int i = 0; i < j->n_names; i++) free(j->names[i]);
    free(j->values.of);
    free(j->dims.of);
    free(j);
    return code;
}
