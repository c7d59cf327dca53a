/* The parser of conformance data; tests/conform/generate.py writes the files. */
#include "conform_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 2, HEADER = 12 };
enum { MAX_ELEMENTS = 1 << 20 };

/* What is left of a record. Reading past the end sets `bad` and gives zeros. */
typedef struct reader {
    const unsigned char *at;
    size_t left;
    const char *bad;
} reader;

static void fail(reader *r, const char *what)
{
    if (!r->bad) r->bad = what;
    r->left = 0;
}

static const unsigned char *take(reader *r, size_t bytes)
{
    static const unsigned char zeros[16];
    if (bytes > r->left) {
        fail(r, "it ends too early");
        return bytes <= sizeof zeros ? zeros : NULL;
    }
    const unsigned char *p = r->at;
    r->at += bytes;
    r->left -= bytes;
    return p;
}

static uint64_t take_bits(reader *r, int bytes)
{
    const unsigned char *p = take(r, (size_t)bytes);
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | p[i];
    return value;
}

static uint8_t take_byte(reader *r) { return (uint8_t)take_bits(r, 1); }

static double take_double(reader *r)
{
    uint64_t bits = take_bits(r, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float take_float(reader *r)
{
    uint32_t bits = (uint32_t)take_bits(r, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void take_string(reader *r, char *text, size_t room)
{
    size_t length = (size_t)take_bits(r, 2);
    const unsigned char *p = take(r, length);
    if (length >= room) fail(r, "a text is too long");
    if (!p || r->bad) length = 0;
    if (length) memcpy(text, p, length);
    text[length] = 0;
}

static kn_shape take_shape(reader *r)
{
    kn_shape shape = {0};
    int rank = take_byte(r);
    if (rank > KN_MAX_RANK) {
        fail(r, "a rank is above 8");
        return shape;
    }
    shape.rank = rank;
    for (int i = 0; i < rank; i++) shape.dims[i] = (int64_t)take_bits(r, 8);
    return shape;
}

/* The same for a shape, whose sizes must be sane; a list of an attribute may hold anything. */
static kn_shape take_sizes(reader *r)
{
    kn_shape shape = take_shape(r);
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0 || shape.dims[i] > MAX_ELEMENTS)
            fail(r, "a size is out of range");
        else
            count *= shape.dims[i];
        if (count > MAX_ELEMENTS) fail(r, "a shape is too large");
        if (r->bad) return (kn_shape){0};
    }
    return shape;
}

static kn_dtype take_dtype(reader *r)
{
    int code = take_byte(r);
    if (code <= KN_BOOL) return (kn_dtype)code;
    fail(r, "a dtype is unknown");
    return KN_DTYPE_NONE;
}

static size_t wide_bytes(kn_dtype dtype, const kn_shape *shape)
{
    return (size_t)kiln_shape_count(shape) * (dtype == KN_BOOL ? 1 : 8);
}

static int take_count(reader *r, int most)
{
    int n = take_byte(r);
    if (n <= most) return n;
    fail(r, "a list is too long");
    return 0;
}

static void take_operand(reader *r, kiln_operand *x)
{
    int kind = take_byte(r);
    x->kind = (kiln_operand_kind)kind;
    x->dtype = take_dtype(r);
    x->shape = take_sizes(r);
    if (kind == KILN_OPERAND_MADE) {
        x->seed = take_bits(r, 8);
        x->low = take_double(r);
        x->high = take_double(r);
        x->flags = (uint32_t)take_bits(r, 4);
    } else if (kind == KILN_OPERAND_LITERAL) {
        x->literal = take(r, wide_bytes(x->dtype, &x->shape));
        x->literal_dtype = x->dtype;
        x->literal_count = kiln_shape_count(&x->shape);
    } else if (kind != KILN_OPERAND_NONE) {
        fail(r, "an operand is of no known kind");
    }
    if (kind != KILN_OPERAND_NONE && x->dtype == KN_DTYPE_NONE) fail(r, "an operand has no dtype");
}

static void take_attributes(reader *r, kiln_attributes *a)
{
    a->n = take_count(r, KILN_MAX_ATTRIBUTES);
    for (int i = 0; i < a->n; i++) {
        kiln_attribute *item = &a->item[i];
        take_string(r, item->name, sizeof item->name);
        item->type = take_byte(r);
        if (item->type == KILN_INT) {
            item->integer = (int64_t)take_bits(r, 8);
            item->real = (double)item->integer;
        } else if (item->type == KILN_REAL) {
            item->real = take_double(r);
            item->integer = item->real > -9e18 && item->real < 9e18 ? (int64_t)item->real : 0;
        } else if (item->type == KILN_INTS) {
            item->list = take_shape(r);
        } else if (item->type == KILN_TEXT) {
            take_string(r, item->text, sizeof item->text);
        } else {
            fail(r, "an attribute is of no known type");
        }
    }
}

static void take_outputs(reader *r, kiln_case *c)
{
    c->n_out = take_count(r, KILN_MAX_OUTPUTS);
    for (int k = 0; k < c->n_out; k++) {
        kiln_output *y = &c->out[k];
        int code = take_byte(r);
        y->shape_only = (code & 0x80) != 0;
        if ((code & 0x7F) > KN_BOOL) fail(r, "a dtype is unknown");
        y->dtype = r->bad ? KN_DTYPE_NONE : (kn_dtype)(code & 0x7F);
        y->cotangent = take_bits(r, 8);
        if (y->dtype == KN_DTYPE_NONE) continue;
        y->shape = take_sizes(r);
        if (!y->shape_only) y->values = take(r, wide_bytes(y->dtype, &y->shape));
    }
}

static void take_gradients(reader *r, kiln_case *c)
{
    c->differentiated = take_bits(r, 8);
    if (c->n_in < 64 && c->differentiated >> c->n_in) fail(r, "a gradient of an operand that is not there");
    c->n_grads = take_count(r, KILN_MAX_INPUTS);
    for (int g = 0; g < c->n_grads; g++) {
        int i = take_byte(r);
        if (i >= c->n_in) {
            fail(r, "a gradient of an operand that is not there");
            return;
        }
        c->grad_operand[g] = i;
        if (c->sized_grads) c->grad_size[g] = take_double(r);
        c->grad_values[g] = take(r, wide_bytes(KN_F64, &c->in[i].shape));
    }
}

static void take_case(reader *r, kiln_case *c)
{
    memset(c, 0, sizeof *c);
    take_string(r, c->op, sizeof c->op);
    take_string(r, c->name, sizeof c->name);
    c->dtype = take_dtype(r);
    int flags = take_byte(r);
    c->elementwise = flags & 1;
    c->layouts = flags & 2;
    c->second = flags & 4;
    c->no_large = flags & 8;
    c->always_large = flags & 128;
    c->own_tolerance = flags & 16;
    c->no_differences = flags & 32;
    c->sized_grads = flags & 64;
    c->ulps = take_float(r);
    c->roots = take_float(r);
    c->status = (uint32_t)take_bits(r, 4);
    take_string(r, c->text, sizeof c->text);
    c->n_covers = take_count(r, KILN_MAX_COVERS);
    for (int i = 0; i < c->n_covers; i++) take_string(r, c->covers[i], sizeof c->covers[i]);
    c->n_in = take_count(r, KILN_MAX_INPUTS);
    for (int i = 0; i < c->n_in; i++) take_operand(r, &c->in[i]);
    take_attributes(r, &c->attributes);
    c->n_large = take_count(r, KILN_MAX_INPUTS);
    for (int i = 0; i < c->n_large; i++) c->large[i] = take_sizes(r);
    take_attributes(r, &c->large_attributes);
    take_outputs(r, c);
    take_gradients(r, c);
    if (c->always_large && !c->n_large) fail(r, "a case that is always large has no sizes");
    if (c->n_large && c->n_large != c->n_in) fail(r, "large shapes for another number of operands");
    if (r->left) fail(r, "a record is longer than its content");
}

bool kiln_file_use(kiln_file *f, unsigned char *bytes, size_t size, const char *name)
{
    memset(f, 0, sizeof *f);
    snprintf(f->path, sizeof f->path, "%s", name);
    f->bytes = bytes;
    f->size = size;
    reader r = {bytes, size, NULL};
    bool good = size >= HEADER && !memcmp(bytes, "KNCF", 4);
    if (good) {
        take(&r, 4);
        good = take_bits(&r, 4) == VERSION;
        f->records = (uint32_t)take_bits(&r, 4);
    }
    f->at = HEADER;
    if (good) return true;
    fprintf(stderr,
            "kiln: %s is no conformance data of version %d; write it with tests/conform/generate.py\n", name,
            VERSION);
    kiln_file_close(f);
    return false;
}

bool kiln_file_open(kiln_file *f, const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET)) {
        if (file) fclose(file);
        fprintf(stderr, "kiln: cannot read %s\n", path);
        return false;
    }
    unsigned char *bytes = kiln_allocate((size_t)size);
    size_t got = fread(bytes, 1, (size_t)size, file);
    fclose(file);
    return kiln_file_use(f, bytes, got, path);
}

void kiln_file_close(kiln_file *f)
{
    free(f->bytes);
    f->bytes = NULL;
}

int kiln_file_next(kiln_file *f, kiln_case *c)
{
    if (f->at == f->size) return 0;
    reader head = {f->bytes + f->at, f->size - f->at, NULL};
    size_t length = (size_t)take_bits(&head, 4);
    reader r = {head.at, length, NULL};
    if (head.bad || length > head.left)
        fail(&r, "a record is longer than the file");
    else
        take_case(&r, c);
    if (!r.bad) {
        f->at += 4 + length;
        return 1;
    }
    fprintf(stderr, "kiln: %s is broken at byte %zu: %s\n", f->path, f->at, r.bad);
    return -1;
}

kiln_array kiln_wide_values(kn_dtype dtype, kn_shape shape, const unsigned char *values)
{
    kiln_array a = kiln_array_new(dtype, shape);
    for (int64_t i = 0; i < a.count; i++) {
        if (a.real)
            memcpy(&a.real[i], values + 8 * i, 8);
        else if (dtype == KN_BOOL)
            a.integer[i] = values[i] != 0;
        else
            memcpy(&a.integer[i], values + 8 * i, 8);
    }
    return a;
}

static kiln_array literal_values(const kiln_operand *x)
{
    kn_shape line = {1, {x->literal_count}};
    kiln_array stored = kiln_wide_values(x->literal_dtype, line, x->literal);
    kiln_array a = kiln_array_new(x->dtype, x->shape);
    for (int64_t i = 0; i < a.count; i++) {
        int64_t k = stored.count ? i % stored.count : 0;
        double value = !stored.count ? 0 : stored.real ? stored.real[k] : (double)stored.integer[k];
        if (a.real)
            a.real[i] = kiln_round(value, a.dtype);
        else if (a.dtype == KN_BOOL)
            a.integer[i] = value != 0;
        else
            a.integer[i] = stored.integer && stored.count  ? stored.integer[k]
                           : value > -9e18 && value < 9e18 ? (int64_t)value
                                                           : 0;
    }
    kiln_array_free(&stored);
    return a;
}

kiln_array kiln_operand_values(const kiln_operand *x)
{
    if (x->kind == KILN_OPERAND_LITERAL) return literal_values(x);
    kiln_array a = kiln_array_new(x->dtype, x->shape);
    kiln_array_make(&a, x->seed, x->low, x->high, x->flags);
    return a;
}
