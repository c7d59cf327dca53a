/* kiln inspect: what is in a file of weights, as a table or as JSON, and with --check whether it is what was written. Without it
   no tensor is read, and a damaged file is shown as far as it can be. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include <kn.h>
#include <kn/program.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = {"unknown", "safetensors", "PyTorch", "NumPy"};

static size_t shape_text(const kn_shape *shape, char *text, size_t n)
{
    size_t at = (size_t)snprintf(text, n, "[");
    for (int32_t i = 0; i < shape->rank; i++)
        at += (size_t)snprintf(text + at, n - at, i ? ", %lld" : "%lld", (long long)shape->dims[i]);
    return at + (size_t)snprintf(text + at, n - at, "]");
}

static int64_t elements(const kn_shape *shape)
{
    int64_t n = 1;
    for (int32_t i = 0; i < shape->rank; i++) n *= shape->dims[i];
    return n;
}

void kiln_print_plain(FILE *to, const char *text, size_t longest)
{
    size_t n = 0;
    for (; *text && n < longest; text++, n++)
        putc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, to);
    if (*text) fputs("...", to);
}

static void print_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

/* ---- the table */

typedef struct widths {
    int name, dtype, shape, bytes;
    int64_t elements, total;
} widths;

static int wider(int a, int b) { return a > b ? a : b; }

static widths measure(kn_store store)
{
    widths w = {4, 5, 5, 5, 0, 0};
    kn_store_entry e;
    char text[200];
    for (int64_t i = 0; kn_store_at(store, i, &e); i++) {
        w.name = wider(w.name, strlen(e.name) > 100 ? 103 : (int)strlen(e.name));
        w.dtype = wider(w.dtype, (int)strlen(e.dtype_text));
        w.shape = wider(w.shape, (int)shape_text(&e.shape, text, sizeof text));
        w.elements += elements(&e.shape);
        w.total += e.bytes;
    }
    w.bytes = wider(w.bytes, snprintf(text, sizeof text, "%lld", (long long)w.total));
    return w;
}

static void print_name(const char *name, int width)
{
    size_t length = strlen(name);
    kiln_print_plain(stdout, name, 100);
    printf("%*s", width - (length > 100 ? 103 : (int)length), "");
}

static void print_table(const char *path, kn_store store)
{
    const char *name, *text;
    kn_store_entry e;
    char shape[200];
    printf("%s: %s\n", path, format_names[kn_store_format_of(store)]);
    bool first = true;
    for (int64_t i = 0; kn_store_text(store, i, &name, &text); i++) {
        if (!strcmp(name, KILN_PROGRAM)) continue; /* shown below, in other words */
        fputs(first ? "metadata:\n  " : "  ", stdout);
        first = false;
        kiln_print_plain(stdout, name, 100);
        fputs(" = ", stdout);
        kiln_print_plain(stdout, text, 200);
        putchar('\n');
    }
    widths w = measure(store);
    printf("%-*s  %-*s  %-*s  %*s\n", w.name, "name", w.dtype, "dtype", w.shape, "shape", w.bytes, "bytes");
    for (int64_t i = 0; kn_store_at(store, i, &e); i++) {
        shape_text(&e.shape, shape, sizeof shape);
        print_name(e.name, w.name);
        printf("  %-*s  %-*s  %*lld\n", w.dtype, e.dtype_text, w.shape, shape, w.bytes, (long long)e.bytes);
    }
    printf("%lld tensors, %lld elements, %lld bytes\n", (long long)kn_store_count(store),
           (long long)w.elements, (long long)w.total);
}

/* ---- the program */

static bool holds_program(kn_store store)
{
    const char *name, *text;
    for (int64_t i = 0; kn_store_text(store, i, &name, &text); i++)
        if (!strcmp(name, KILN_PROGRAM)) return true;
    return false;
}

static void print_sizes(kn_program p, int32_t n)
{
    kn_program_size_info size;
    for (int32_t i = 0; i < n && kn_program_size(p, i, &size) == KN_OK; i++) {
        printf("  size %s: %lld ", size.name, (long long)size.low);
        if (size.high < INT64_MAX)
            printf("to %lld\n", (long long)size.high);
        else
            puts("or more");
    }
}

void kiln_print_port(FILE *to, const char *word, const kn_program_port *port)
{
    fprintf(to, "  %s ", word);
    kiln_print_plain(to, port->name, 64);
    if (port->dtype)
        fprintf(to, ": %s [%s]\n", kn_dtype_name(port->dtype), port->shape);
    else
        fputs(": no op reads it\n", to);
}

static void print_text(kn_program p)
{
    size_t bytes = kn_program_print(p, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (!text) return;
    kn_program_print(p, text, bytes);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        kiln_print_plain(stdout, line, bytes);
        putchar('\n');
    }
    free(text);
}

/* 1 where the program is damaged, or needs what this Kiln does not have. */
static int print_program(const char *path, bool text)
{
    kn_program_info info;
    kn_program_port port;
    kn_program p = kn_program_load(path, &(kn_program_load_args){.skip_checksum = true, .map = true});
    if (!p || kn_program_describe(p, &info)) {
        fprintf(stderr, "kiln inspect: %s\n", kn_last_error());
        return 1;
    }
    printf("program: %d ops, %d of If, loop and call, %d functions, %d params with %lld elements, %d "
           "constants%s\n",
           info.ops, info.controls, info.functions, info.params, (long long)info.elements, info.constants,
           info.trace ? ", from a trace" : "");
    print_sizes(p, info.sizes);
    for (int32_t i = 0; i < info.inputs && kn_program_input(p, i, &port) == KN_OK; i++)
        kiln_print_port(stdout, "input", &port);
    for (int32_t i = 0; i < info.outputs && kn_program_output(p, i, &port) == KN_OK; i++)
        kiln_print_port(stdout, "output", &port);
    if (text) print_text(p);
    kn_program_free(p);
    return 0;
}

/* ---- JSON */

static void print_json(const char *path, kn_store store)
{
    const char *name, *text;
    kn_store_entry e;
    char shape[200];
    widths w = measure(store);
    fputs("{\"file\": ", stdout);
    print_quoted(path);
    printf(", \"format\": \"%s\",\n \"metadata\": {", format_names[kn_store_format_of(store)]);
    for (int64_t i = 0; kn_store_text(store, i, &name, &text); i++) {
        if (i) fputs(", ", stdout);
        print_quoted(name);
        fputs(": ", stdout);
        print_quoted(text);
    }
    fputs("},\n \"tensors\": [", stdout);
    for (int64_t i = 0; kn_store_at(store, i, &e); i++) {
        shape_text(&e.shape, shape, sizeof shape);
        fputs(i ? ",\n  {\"name\": " : "\n  {\"name\": ", stdout);
        print_quoted(e.name);
        printf(", \"dtype\": \"%s\", \"shape\": %s, \"bytes\": %lld}", e.dtype_text, shape,
               (long long)e.bytes);
    }
    printf("],\n \"elements\": %lld, \"bytes\": %lld}\n", (long long)w.elements, (long long)w.total);
}

/* 1 where a checksum is wrong. */
static int check(const char *path, const char *top)
{
    int64_t checked = 0;
    kn_store store = kn_store_open(path, &(kn_store_args){.top_key = top, .map = true});
    if (!store) {
        fprintf(stderr, "kiln inspect: %s\n", kn_last_error());
        return 1;
    }
    kn_status status = kn_store_check(store, &checked);
    int64_t all = kn_store_count(store);
    kn_store_close(store);
    if (status)
        fprintf(stderr, "kiln inspect: %s\n", kn_last_error());
    else if (checked)
        printf("checksums: good (%lld of %lld tensors have one)\n", (long long)checked, (long long)all);
    else
        puts("checksums: the file has none");
    return status != KN_OK;
}

int kiln_command_inspect(int count, char **arguments)
{
    const char *path = NULL, *top = NULL;
    for (int i = 0; i < count; i++)
        if (arguments[i][0] != '-' && kiln_looks_like_onnx(arguments[i]))
            return kiln_inspect_onnx(count, arguments);
    bool json = false, bad = false, checks = false, program = false;
    for (int i = 0; i < count; i++) {
        if (kiln_option(arguments, i, "--json"))
            json = true;
        else if (kiln_option(arguments, i, "--check"))
            checks = true;
        else if (kiln_option(arguments, i, "--program"))
            program = true;
        else if (kiln_option_value(count, arguments, &i, "--top", &top, &bad)) {
            if (bad) return kiln_usage_error("--top needs the name of an entry");
        } else if (arguments[i][0] == '-' || path)
            return kiln_usage_error("inspect takes one file, --json, --program and --check, not '%s'",
                                    arguments[i]);
        else
            path = arguments[i];
    }
    if (!path) return kiln_usage_error("inspect needs a file");
    if (!top) top = "";
    if (checks && json) return kiln_usage_error("inspect takes --json or --check, not both");
    if (checks) return check(path, top);
    kn_store store = kn_store_open(path, &(kn_store_args){.top_key = top, .skip_checksum = true});
    if (!store) {
        fprintf(stderr, "kiln inspect: %s\n", kn_last_error());
        return 1;
    }
    bool holds = holds_program(store);
    if (json)
        print_json(path, store);
    else
        print_table(path, store);
    kn_store_close(store);
    if (program && !holds) {
        fprintf(stderr, "kiln inspect: %s holds no program; kn_program_save writes one\n", path);
        return 1;
    }
    return holds && !json ? print_program(path, program) : 0;
}
