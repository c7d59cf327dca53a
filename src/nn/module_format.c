/* The summary of a module as a table: modules with their settings, params with their shapes, totals. */
#include "nn/module_walk.h"
#include "nn/settings.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5, WIDEST = 64 };

/* The rows are made twice: first to find the widths of the columns, then for good. */
typedef struct table {
    kni_buffer out;
    size_t widths[COLUMNS];
    bool measure;
    kni_seen seen;
    int64_t params, trainable, buffers, bytes;
} table;

static void row(table *t, const char *const cells[COLUMNS])
{
    size_t last = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        if (cells[i][0]) last = i;
    for (size_t i = 0; i < last && t->measure; i++) { /* what ends a row may be as long as it likes */
        size_t n = strlen(cells[i]);
        if (n > t->widths[i]) t->widths[i] = n < WIDEST ? n : WIDEST;
    }
    for (size_t i = 0; i <= last && !t->measure; i++) {
        size_t n = strlen(cells[i]), pad = n < t->widths[i] ? t->widths[i] - n : 0;
        bool right = i == 3;
        if (right) kni_buffer_format(&t->out, "%*s", (int)pad, "");
        kni_buffer_text(&t->out, cells[i]);
        if (!right && i < last) kni_buffer_format(&t->out, "%*s", (int)pad, "");
        kni_buffer_text(&t->out, i == last ? "\n" : "  ");
    }
}

static void shape_text(kn_shape shape, char *out, size_t n)
{
    size_t length = (size_t)snprintf(out, n, "[");
    for (int i = 0; i < shape.rank && length < n; i++)
        length += (size_t)snprintf(out + length, n - length, i ? ", %lld" : "%lld", (long long)shape.dims[i]);
    if (length < n) snprintf(out + length, n - length, "]");
}

static kn_status module_row(kni_walk *w, kn_module module)
{
    table *t = w->context;
    kni_buffer text = {0};
    const char *separator = "(";
    kni_buffer_text(&text, module.type->name);
    for (const kn_field *f = module.type->fields; f->kind != KN_FIELD_END; f++) {
        if (!kni_is_setting(f)) continue;
        kni_buffer_format(&text, "%s%s=", separator, f->name);
        kni_setting_write(&text, f, (char *)module.self + f->offset, false);
        separator = ", ";
    }
    if (separator[0] == ',') kni_buffer_text(&text, ")");
    row(t, (const char *const[COLUMNS]){w->length ? w->path : "(all)", kni_buffer_string(&text), "", "", ""});
    bool failed = text.failed;
    kni_buffer_free(&text);
    return failed ? kni_failure_memory("kn_module_format") : KN_OK;
}

static kn_status param_row(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    table *t = w->context;
    kn_param *param = address;
    (void)owner;
    bool buffer = field->kind == KN_FIELD_BUFFER;
    if ((!buffer && field->kind != KN_FIELD_PARAM) || param->handle.bits == 0) return KN_OK;
    kn_tensor value = kn_value(*param);
    if (!kn_ok(value)) {
        row(t, (const char *const[COLUMNS]){w->path, "dropped or poisoned", "", "", ""});
        return KN_OK;
    }
    char shape[160], type[40], count[24];
    bool tied = kni_seen_before(&t->seen, param) != NULL, trainable = !buffer && kni_is_trainable(param);
    int64_t n = kn_count(value);
    shape_text(kn_shape_of_tensor(value), shape, sizeof shape);
    snprintf(type, sizeof type, "%s %s", buffer ? "buffer" : "param", kn_dtype_name(kn_dtype_of(value)));
    snprintf(count, sizeof count, "%lld", (long long)n);
    row(t, (const char *const[COLUMNS]){w->path, type, shape, count,
                                        tied        ? "tied"
                                        : trainable ? "yes"
                                                    : "no"});
    if (tied || t->measure) return KN_OK;
    *(buffer ? &t->buffers : &t->params) += n;
    if (trainable) t->trainable += n;
    t->bytes += kn_dtype_bytes(kn_dtype_of(value), n);
    return KN_OK;
}

static kn_status pass(table *t, kn_module module, bool measure)
{
    kni_walk w = {.field = param_row, .enter = module_row, .context = t, .function = "kn_module_format"};
    t->measure = measure;
    kn_status s = kni_seen_make(&t->seen, module, "kn_module_format");
    if (s != KN_OK) return s;
    row(t, (const char *const[COLUMNS]){"path", "type", "shape", "params", "trainable"});
    s = kni_walk_module(&w, module);
    kni_seen_free(&t->seen);
    return s;
}

static kn_status make_table(table *t, kn_module module)
{
    kn_status s = pass(t, module, true);
    if (s == KN_OK) s = pass(t, module, false);
    if (s != KN_OK) return s;
    kni_buffer_format(&t->out, "%lld params, %lld of them trainable", (long long)t->params,
                      (long long)t->trainable);
    if (t->buffers) kni_buffer_format(&t->out, "; %lld numbers in buffers", (long long)t->buffers);
    kni_buffer_format(&t->out, "; %lld bytes\n", (long long)t->bytes);
    return t->out.failed ? kni_failure_memory("kn_module_format") : KN_OK;
}

size_t kn_module_format(kn_module module, char *buffer, size_t n)
{
    table t = {0};
    if (make_table(&t, module) != KN_OK) kni_buffer_clear(&t.out);
    size_t length = kni_buffer_copy(&t.out, buffer, n);
    kni_buffer_free(&t.out);
    return length;
}

kn_status kn_module_print(kn_module module)
{
    table t = {0};
    kn_status s = make_table(&t, module);
    if (s == KN_OK && fwrite(t.out.data, 1, t.out.length, stdout) != t.out.length)
        s = kni_failure(KN_ERROR_IO, "kn_module_print: cannot write to standard output");
    kni_buffer_free(&t.out);
    return s;
}
