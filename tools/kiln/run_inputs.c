/* Inputs of ONNX models for kiln run. */
#define KN_NO_SITES 1
#include "run_inputs.h"
#include "kiln.h"
#include <errno.h>
#include <kn.h>
#include <kn/data.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RANDOM_TEXTS = 1 << 20 };

/* ---- sizes */

/* The size of that name in an input that was read; -1: there is none. */
static int64_t size_read(const value_source *from, const char *name)
{
    for (int32_t i = 0; i < from->n; i++) {
        const kn_onnx_port *port = &from->ports[i];
        bool tensor = from->given[i] && kn_onnx_value_kind(from->given[i]) == KN_ONNX_TENSOR;
        kn_shape shape = tensor ? kn_onnx_value_shape(from->given[i]) : KN_SHAPE(0);
        for (int32_t a = 0; tensor && a < port->rank && a < shape.rank; a++)
            if (port->names[a] && !strcmp(port->names[a], name)) return shape.dims[a];
    }
    return -1;
}

/* What is given for a name, or an input has under it; else, of "past + sequence" and "length / 2", which exporters write, what the names in
   it come to; -1: nothing says anything. */
static int64_t size_named(value_source *from, const char *name)
{
    static const char signs[] = "+-*/";
    const binding *b = kiln_bound(&from->dims, name);
    int64_t size = b ? strtoll(b->file, NULL, 10) : size_read(from, name), total = 0;
    if (size >= 0 || !strpbrk(name, signs)) return size;
    bool any = false;
    for (const char *at = name, *sign = "+"; *sign; at = sign + 1) {
        char part[200];
        char join = *sign;
        at += strspn(at, " ");
        size_t n = strcspn(at, signs), length = n;
        sign = at + n;
        while (length && at[length - 1] == ' ') length--;
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        char *end;
        int64_t value = strtoll(part, &end, 10);
        if (end == part || *end) {
            value = length && length < sizeof part ? size_named(from, part) : -1;
            any |= value >= 0;
        }
        if (value < 0) value = 1;
        if (join == '/' && value == 0) return -1;
        total = join == '+'   ? total + value
                : join == '-' ? total - value
                : join == '*' ? total * value
                              : total / value;
    }
    return any && total >= 0 ? total : -1;
}

int64_t kiln_known_size(value_source *from, const kn_onnx_port *port, int32_t axis)
{
    char own[300];
    snprintf(own, sizeof own, "%s.%d", port->name, (int)axis);
    const binding *b = kiln_bound(&from->dims, own);
    int64_t named = port->names[axis] ? size_named(from, port->names[axis]) : -1;
    if (port->sizes[axis] >= 0) return port->sizes[axis];
    return b ? strtoll(b->file, NULL, 10) : named;
}

int64_t kiln_size_of(value_source *from, const kn_onnx_port *port, int32_t axis)
{
    int64_t size = kiln_known_size(from, port, axis);
    return size < 0 ? 1 : size;
}

/* Whether an input before this one leaves the same name open. */
static bool said_before(const value_source *from, int32_t input, int32_t axis)
{
    const char *name = from->ports[input].names[axis];
    for (int32_t i = 0; name && i <= input; i++)
        for (int32_t a = 0; a < (i == input ? axis : from->ports[i].rank); a++)
            if (from->ports[i].names[a] && !strcmp(from->ports[i].names[a], name)) return true;
    return false;
}

/* Names the sizes that nothing says anything of. */
static void say_open_sizes(value_source *from, const bool *open)
{
    const char *before = "; sizes that are 1 unless --dim gives them: ";
    for (int32_t i = 0, k = 0; i < from->n; i++)
        for (int32_t a = 0; a < from->ports[i].rank; a++, k++) {
            const kn_onnx_port *port = &from->ports[i];
            if (!open[k] || said_before(from, i, a)) continue;
            fputs(before, stderr);
            before = ", ";
            if (port->names[a])
                kiln_print_plain(stderr, port->names[a], 64);
            else
                fprintf(stderr, "%.64s.%d", port->name, (int)a);
        }
}

/* ---- random values */

/* Floats are normal, bytes take all their values, other integers are 0 or 1, so that they serve as masks and as indices of anything. */
static kn_tensor random_tensor(const kn_onnx_port *port, kn_shape shape)
{
    if (port->dtype == KN_BOOL) return kn_random_bernoulli(shape, 0.5, KN_BOOL);
    if (port->dtype == KN_U8) return kn_random_int(shape, 0, 256, KN_U8);
    if (port->dtype == KN_I8) return kn_random_int(shape, -128, 128, KN_I8);
    if (kn_dtype_is_integer(port->dtype)) return kn_random_int(shape, 0, 2, port->dtype);
    if (kn_dtype_is_float(port->dtype)) return kn_random_normal(shape, 0, 1, port->dtype);
    return kn_cast(kn_random_int(shape, 0, 2, KN_I32), port->dtype);
}

static kn_onnx_value random_texts(kn_shape shape)
{
    static const char *const words[] = {"one", "Two", "three four", "", "5"};
    const int n_words = sizeof words / sizeof *words;
    int64_t n = 1;
    for (int32_t a = 0; a < shape.rank; a++) n = n > RANDOM_TEXTS ? n : n * shape.dims[a];
    const char **texts = n <= RANDOM_TEXTS ? calloc((size_t)n + 1, sizeof *texts) : NULL;
    for (int64_t i = 0; texts && i < n; i++) texts[i] = words[i % n_words];
    kn_onnx_value value = texts ? kn_onnx_value_strings(texts, NULL, shape) : NULL;
    free(texts);
    if (!value) kiln_run_failed();
    return value;
}

kn_onnx_value kiln_random_value(value_source *from, const kn_onnx_port *port)
{
    kn_shape shape = {port->rank > 0 ? port->rank : 0, {0}};
    for (int32_t a = 0; a < shape.rank; a++) shape.dims[a] = kiln_size_of(from, port, a);
    if (port->kind == KN_ONNX_STRINGS) return random_texts(shape);
    kn_onnx_value value = NULL;
    if (port->kind == KN_ONNX_TENSOR && port->dtype) {
        value = kn_onnx_value_tensor(random_tensor(port, shape));
        if (!value) kiln_run_failed();
        return value;
    }
    fprintf(stderr, "kiln run: there are no random values of %s; give the input: --input %s=FILE.pb\n",
            port->type, port->name);
    return NULL;
}

void kiln_say_random(value_source *from, int64_t seed)
{
    bool *open = calloc((size_t)from->n * KN_MAX_RANK + 1, sizeof *open);
    for (int32_t i = 0, k = 0; open && i < from->n; i++)
        for (int32_t a = 0; a < from->ports[i].rank; a++, k++)
            open[k] = !from->given[i] && !from->ports[i].has_default &&
                      kiln_known_size(from, &from->ports[i], a) < 0;
    fprintf(stderr, "random inputs from seed %lld: floats are normal, bytes any, other integers 0 or 1%s",
            (long long)seed, from->inputs.n ? " (those given are not)" : "");
    if (open) say_open_sizes(from, open);
    fputs("\n", stderr);
    free(open);
}

/* ---- pictures */

bool kiln_read_channels(const char *text, double *channels)
{
    int n = 0;
    for (const char *at = text; n < KILN_CHANNELS; n++) {
        char *end;
        channels[n] = strtod(at, &end);
        if (end == at) return false;
        at = end + (*end == ',');
        if (*end && *end != ',') return false;
        if (*end) continue;
        for (int i = n + 1; n == 0 && i < KILN_CHANNELS; i++) channels[i] = channels[0];
        return true;
    }
    return false;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && !strcasecmp(text + n - m, ending);
}

static bool is_picture(const char *path)
{
    return ends_with(path, ".png") || ends_with(path, ".jpg") || ends_with(path, ".jpeg");
}

/* y = (x / 255 - mean) / std by channel, for an image [channels, height, width] of bytes. */
static kn_tensor scaled(const value_source *from, kn_tensor image, int64_t channels)
{
    kn_shape shape = KN_SHAPE(channels, 1, 1);
    kn_tensor x = kn_mul_scalar(kn_cast(image, KN_F32), 1.0 / 255);
    x = kn_sub(x, kn_cast(kn_from(from->mean, KN_F64, shape), KN_F32));
    return kn_div(x, kn_cast(kn_from(from->std, KN_F64, shape), KN_F32));
}

/* A picture has the channels and the size that the input has, and lies as it does: channels before rows and columns, or last. */
static kn_onnx_value read_picture(value_source *from, const kn_onnx_port *port, const binding *b)
{
    int32_t first = port->rank == 4;
    bool last = port->rank >= 3 && port->sizes[port->rank - 1] >= 1 && port->sizes[port->rank - 1] <= 3 &&
                port->sizes[first] != 1 && port->sizes[first] != 3;
    int32_t at = last ? port->rank - 1 : first, rows = last ? first : first + 1;
    if (port->kind != KN_ONNX_TENSOR || port->rank < 3 || port->rank > 4) {
        fprintf(stderr, "kiln run: %s is a picture, and the input '%s' is %s [%s], which is none\n", b->file,
                port->name, port->type, port->shape);
        return NULL;
    }
    int64_t channels = port->sizes[at] == 1 ? 1 : 3, sizes[2] = {0};
    for (int k = 0; k < 2; k++) {
        int64_t size = kiln_size_of(from, port, rows + k);
        if (port->sizes[rows + k] >= 0 || size > 1) sizes[k] = size;
    }
    kn_image_args args = {.channels = (int32_t)channels, .height = sizes[0], .width = sizes[1]};
    kn_tensor x = kn_image_read(b->file, &args);
    if (port->dtype != KN_U8) x = kn_cast(scaled(from, x, channels), port->dtype);
    if (last) x = kn_permute(x, KN_SHAPE(1, 2, 0));
    if (first) x = kn_unsqueeze(x, 0);
    kn_onnx_value value = kn_onnx_value_tensor(x);
    if (!value) kiln_run_failed();
    return value;
}

/* ---- strings */

/* A file with a 0 behind it; NULL with the failure printed. */
static char *read_text(const char *path)
{
    size_t length = 0, room = 1 << 16;
    FILE *file = fopen(path, "rb");
    if (!file) return fprintf(stderr, "kiln run: cannot open '%s': %s\n", path, strerror(errno)), NULL;
    char *text = malloc(room);
    for (size_t got = 1; text && got;) {
        got = fread(text + length, 1, room - 1 - length, file);
        length += got;
        char *more = length + 1 == room ? realloc(text, room *= 2) : text;
        if (!more) free(text);
        text = more;
    }
    if (text && ferror(file)) {
        free(text);
        text = NULL;
    }
    fclose(file);
    if (!text) return fprintf(stderr, "kiln run: cannot read '%s'\n", path), NULL;
    text[length] = 0;
    return text;
}

/* Lines become texts where they lie; the last needs no end. */
static const char **lines_of(char *text, int64_t *n)
{
    int64_t room = 1;
    for (const char *at = text; *at; at++) room += *at == '\n';
    const char **lines = calloc((size_t)room, sizeof *lines);
    for (char *at = text; lines && *at;) {
        char *end = at + strcspn(at, "\n"), *next = end + (*end == '\n');
        if (end > at && end[-1] == '\r') end--;
        *end = 0;
        lines[(*n)++] = at;
        at = next;
    }
    return lines;
}

/* A text file has one string to a line; rows of an input with a fixed number of columns follow each other. */
static kn_onnx_value read_texts(const kn_onnx_port *port, const binding *b)
{
    int64_t n = 0;
    char *text = ends_with(b->file, ".txt") ? read_text(b->file) : NULL;
    if (!ends_with(b->file, ".txt"))
        fprintf(stderr,
                "kiln run: the input '%s' takes strings: a file .txt with one to a line, or ONNX's own .pb\n",
                port->name);
    const char **lines = text ? lines_of(text, &n) : NULL;
    int64_t columns = port->rank == 2 && port->sizes[1] > 0 ? port->sizes[1] : 1;
    kn_shape shape = port->rank == 2 ? KN_SHAPE(n / columns, columns) : KN_SHAPE(n);
    if (port->rank == 0) shape.rank = 0;
    kn_onnx_value value = NULL;
    if (lines && (port->rank > 2 || n % columns || (port->rank == 0 && n != 1)))
        fprintf(stderr, "kiln run: %s has %lld lines, and the input '%s' is %s [%s]\n", b->file, (long long)n,
                port->name, port->type, port->shape);
    else if (lines && !(value = kn_onnx_value_strings(lines, NULL, shape)))
        kiln_run_failed();
    free(lines);
    free(text);
    return value;
}

/* ---- files */

kn_onnx_value kiln_read_value(value_source *from, const kn_onnx_port *port, const binding *b)
{
    kn_onnx_value value = NULL;
    if (is_picture(b->file)) return read_picture(from, port, b);
    if (ends_with(b->file, ".pb")) {
        value = kn_onnx_value_read(b->file, port->type);
        if (!value) kiln_run_failed();
        return value;
    }
    if (port->kind == KN_ONNX_STRINGS) return read_texts(port, b);
    kn_tensor t = kn_keep(kiln_read_tensor("kiln run", b));
    if (!kn_ok(t)) return NULL;
    bool other = port->kind == KN_ONNX_TENSOR && port->dtype && kn_dtype_of(t) != port->dtype;
    if (other && !from->cast) {
        fprintf(stderr, "kiln run: %s is %s, the input '%s' %s; --cast makes the one of the other\n", b->file,
                kn_dtype_name(kn_dtype_of(t)), port->name, kn_dtype_name(port->dtype));
        return NULL;
    }
    value = kn_onnx_value_tensor(other ? kn_cast(t, port->dtype) : t);
    if (!value) kiln_run_failed();
    return value;
}

int kiln_print_nodes(kn_onnx model)
{
    size_t bytes = kn_onnx_print(model, NULL, 0) + 1;
    char *text = bytes > 1 ? malloc(bytes) : NULL;
    if (!text) return kiln_run_failed();
    kn_onnx_print(model, text, bytes);
    fputs(text, stdout);
    free(text);
    return 0;
}
