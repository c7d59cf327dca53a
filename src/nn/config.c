/* Settings as JSON: written with their names, read with checks that name the line and what was probably meant. */
#include "nn/module_walk.h"
#include "nn/settings.h"
#include "support/failure.h"
#include "support/json.h"
#include "support/similar.h"
#include <string.h>

enum { DEEPEST = 60 };

bool kni_is_setting(const kn_field *field)
{
    return field->kind >= KN_FIELD_INT && field->kind <= KN_FIELD_TEXT;
}

/* ---- writing */

static void write_real(kni_buffer *out, double value, bool json)
{
    const char *word = value != value ? "nan" : value > 0 ? "inf" : "-inf";
    if (value - value == 0)
        kni_json_write_number(out, value);
    else
        kni_buffer_format(out, json ? "\"%s\"" : "%s", word);
}

static void write_ints(kni_buffer *out, const kn_ints *list)
{
    kni_buffer_text(out, "[");
    for (int i = 0; i < list->rank && i < KN_MAX_RANK; i++)
        kni_buffer_format(out, i ? ", %lld" : "%lld", (long long)list->dims[i]);
    kni_buffer_text(out, "]");
}

static void write_word(kni_buffer *out, const char *text, size_t length, bool json)
{
    if (json)
        kni_json_write_text(out, text, length);
    else
        kni_buffer_append(out, text, length);
}

/* Where 0 stands for something else, people read its word, and KN_ZERO as the 0 it means. */
static void write_int(kni_buffer *out, const kn_field *field, int64_t value, bool json)
{
    if (!json && field->names && value == 0)
        kni_buffer_text(out, field->names[0]);
    else
        kni_buffer_format(out, "%lld", (long long)(!json && field->names && value == KN_ZERO ? 0 : value));
}

/* RmsNorm's eps may hold KN_ZERO. */
static double shown_real(double value) { return value == (double)KN_ZERO ? 0 : value; }

void kni_setting_write(kni_buffer *out, const kn_field *field, const void *address, bool json)
{
    int32_t number;
    const char *end;
    switch (field->kind) {
    case KN_FIELD_INT:
        write_int(out, field, *(const int64_t *)address, json);
        break;
    case KN_FIELD_REAL:
        write_real(out, json ? *(const double *)address : shown_real(*(const double *)address), json);
        break;
    case KN_FIELD_BOOL:
        kni_buffer_text(out, *(const bool *)address ? "true" : "false");
        break;
    case KN_FIELD_ENUM:
        memcpy(&number, address, sizeof number);
        if (number >= 0 && (size_t)number < field->count && field->names[number])
            write_word(out, field->names[number], strlen(field->names[number]), json);
        else
            kni_buffer_format(out, "%d", (int)number);
        break;
    case KN_FIELD_INTS:
        write_ints(out, address);
        break;
    case KN_FIELD_TEXT:
        end = memchr(address, 0, field->count);
        write_word(out, address, end ? (size_t)(end - (const char *)address) : field->count, json);
        break;
    default:
        break;
    }
}

static void indent(kni_buffer *out, int depth) { kni_buffer_format(out, "\n%*s", 2 * depth, ""); }

static void write_object(kni_buffer *out, const void *config, const kn_module_type *type, int depth);

static void write_modules(kni_buffer *out, const kn_field *f, void *first, int64_t n, int depth)
{
    bool many = f->kind == KN_FIELD_ARRAY || f->kind == KN_FIELD_LIST;
    if (!many && n == 0) kni_buffer_text(out, "null");
    if (many) kni_buffer_text(out, "[");
    for (int64_t i = 0; i < n; i++) {
        if (i) kni_buffer_text(out, ",");
        if (many) indent(out, depth + 1);
        write_object(out, (char *)first + (size_t)i * f->type->size, f->type, depth + many);
    }
    if (many && n) indent(out, depth);
    if (many) kni_buffer_text(out, "]");
}

static void write_object(kni_buffer *out, const void *config, const kn_module_type *type, int depth)
{
    bool any = false;
    kni_buffer_text(out, "{");
    for (const kn_field *f = type->fields; f->kind != KN_FIELD_END && depth < DEEPEST; f++) {
        if (!f->type && !kni_is_setting(f)) continue;
        if (any) kni_buffer_text(out, ",");
        any = true;
        indent(out, depth + 1);
        kni_json_write_text(out, f->name, strlen(f->name));
        kni_buffer_text(out, ": ");
        void *first;
        int64_t n = f->type ? kni_field_modules(f, (void *)config, &first) : 0;
        if (f->type)
            write_modules(out, f, first, n, depth + 1);
        else
            kni_setting_write(out, f, (const char *)config + f->offset, true);
    }
    if (any) indent(out, depth);
    kni_buffer_text(out, "}");
}

/* ---- reading: everything is checked before anything is changed */

typedef struct reading {
    const char *name; /* of the text, for messages */
    bool apply;
} reading;

static kn_status wrong(const reading *r, const kni_json *at, const char *field, const char *wanted)
{
    return kni_failure(KN_ERROR_ARGUMENT, "%.200s:%d:%d: '%.100s' must be %s", r->name, (int)at->line,
                       (int)at->column, field, wanted);
}

static kn_status read_real(const reading *r, const kn_field *f, double *address, const kni_json *value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"inf", __builtin_inf()}, {"-inf", -__builtin_inf()}, {"nan", __builtin_nan("")}};
    double number = value->number;
    if (value->kind == KNI_JSON_TEXT) {
        for (size_t i = 0; i < 3; i++)
            if (strcmp(value->text, words[i].word) == 0) {
                if (r->apply) *address = words[i].value;
                return KN_OK;
            }
    }
    if (value->kind != KNI_JSON_NUMBER)
        return wrong(r, value, f->name, "a number (or \"inf\", \"-inf\", \"nan\")");
    if (r->apply) *address = number;
    return KN_OK;
}

static kn_status read_enum(const reading *r, const kn_field *f, void *address, const kni_json *value)
{
    kni_buffer list = {0};
    for (size_t i = 0; i < f->count; i++) {
        if (!f->names[i]) continue;
        int32_t number = (int32_t)i;
        if (value->kind == KNI_JSON_TEXT && strcmp(value->text, f->names[i]) == 0) {
            if (r->apply) memcpy(address, &number, sizeof number);
            kni_buffer_free(&list);
            return KN_OK;
        }
        kni_buffer_format(&list, "%s\"%s\"", list.length ? ", " : "one of ", f->names[i]);
    }
    kn_status s = wrong(r, value, f->name, kni_buffer_string(&list));
    kni_buffer_free(&list);
    return s;
}

static kn_status read_ints(const reading *r, const kn_field *f, kn_ints *address, const kni_json *value)
{
    kn_ints list = {0};
    if (value->kind != KNI_JSON_ARRAY || value->count > KN_MAX_RANK)
        return wrong(r, value, f->name, "a list of at most 8 whole numbers");
    for (const kni_json *m = value->first; m; m = m->next) {
        if (m->kind != KNI_JSON_NUMBER || !m->whole) return wrong(r, m, f->name, "a list of whole numbers");
        list.dims[list.rank++] = m->integer;
    }
    if (r->apply) *address = list;
    return KN_OK;
}

static kn_status read_setting(const reading *r, const kn_field *f, void *address, const kni_json *value)
{
    switch (f->kind) {
    case KN_FIELD_INT:
        if (value->kind != KNI_JSON_NUMBER || !value->whole)
            return wrong(r, value, f->name, "a whole number");
        if (r->apply) *(int64_t *)address = value->integer;
        return KN_OK;
    case KN_FIELD_REAL:
        return read_real(r, f, address, value);
    case KN_FIELD_BOOL:
        if (value->kind != KNI_JSON_BOOL) return wrong(r, value, f->name, "true or false");
        if (r->apply) *(bool *)address = value->truth;
        return KN_OK;
    case KN_FIELD_ENUM:
        return read_enum(r, f, address, value);
    case KN_FIELD_INTS:
        return read_ints(r, f, address, value);
    default:
        if (value->kind != KNI_JSON_TEXT || value->length >= f->count || strlen(value->text) != value->length)
            return wrong(r, value, f->name, "a text that fits in its field");
        if (r->apply) memcpy(address, value->text, value->length + 1);
        return KN_OK;
    }
}

static kn_status read_object(const reading *r, void *config, const kn_module_type *type,
                             const kni_json *object);

/* A list that is still empty is made as long as the text says; otherwise the numbers must agree. */
static kn_status make_list(const reading *r, const kn_field *f, void *config, const kni_json *value,
                           int64_t n)
{
    void *list = NULL;
    char *address = (char *)config + f->offset;
    bool optional = f->kind == KN_FIELD_OPTIONAL;
    int64_t wanted = optional ? 1 : value->count;
    if (n == wanted || f->kind == KN_FIELD_MODULE) return KN_OK;
    memcpy(&list, address, sizeof list);
    if (list || wanted > INT32_MAX) return wrong(r, value, f->name, "as long as the list that is there");
    if (!r->apply || wanted == 0) return KN_OK;
    list = kn_module_list(f->type, (int32_t)wanted);
    if (!list) return KN_ERROR_MEMORY;
    memcpy(address, &list, sizeof list);
    int32_t counter = (int32_t)wanted;
    if (!optional) memcpy((char *)config + f->count, &counter, sizeof counter);
    return KN_OK;
}

static kn_status read_modules(const reading *r, const kn_field *f, void *config, const kni_json *value)
{
    void *first = NULL;
    bool many = f->kind == KN_FIELD_ARRAY || f->kind == KN_FIELD_LIST;
    if (many && value->kind != KNI_JSON_ARRAY) return wrong(r, value, f->name, "a list");
    if (f->kind == KN_FIELD_OPTIONAL && value->kind == KNI_JSON_NULL) return KN_OK;
    if (f->kind == KN_FIELD_ARRAY && value->count != (int64_t)f->count)
        return wrong(r, value, f->name, "as long as the array that is there");
    /* While checking, the modules of a list that is still to be made are NULL. */
    kn_status s = config ? make_list(r, f, config, value, kni_field_modules(f, config, &first)) : KN_OK;
    if (s != KN_OK) return s;
    int64_t n = config ? kni_field_modules(f, config, &first) : 0;
    const kni_json *m = many ? value->first : value;
    for (int64_t i = 0; m && s == KN_OK; i++, m = many ? m->next : NULL) {
        void *inner = i < n ? (char *)first + (size_t)i * f->type->size : NULL;
        s = read_object(r, inner, f->type, m);
    }
    return s;
}

static kn_status unknown(const reading *r, const kn_module_type *type, const kni_json *m)
{
    const char *nearest = NULL;
    size_t distance = (size_t)-1;
    for (const kn_field *f = type->fields; f->kind != KN_FIELD_END; f++) {
        size_t d = kni_edit_distance(m->key, f->name, distance - 1);
        if ((!f->type && !kni_is_setting(f)) || d >= distance || !kni_is_similar(m->key, f->name)) continue;
        nearest = f->name;
        distance = d;
    }
    return kni_failure(KN_ERROR_ARGUMENT, "%.200s:%d:%d: %s has no setting '%.100s'%s%s%s", r->name,
                       (int)m->line, (int)m->column, type->name, m->key, nearest ? "; did you mean '" : "",
                       nearest ? nearest : "", nearest ? "'?" : "");
}

static kn_status read_object(const reading *r, void *config, const kn_module_type *type,
                             const kni_json *object)
{
    if (object->kind != KNI_JSON_OBJECT) return wrong(r, object, type->name, "an object in { }");
    kn_status s = KN_OK;
    for (const kni_json *m = object->first; m && s == KN_OK; m = m->next) {
        const kn_field *f = type->fields;
        while (f->kind != KN_FIELD_END && strcmp(f->name, m->key) != 0) f++;
        if (kni_json_member(object, m->key) != m)
            s = wrong(r, m, m->key, "given once");
        else if (f->kind == KN_FIELD_END || (!f->type && !kni_is_setting(f)))
            s = unknown(r, type, m);
        else if (f->type)
            s = read_modules(r, f, config, m);
        else
            s = read_setting(r, f, config ? (char *)config + f->offset : NULL, m);
    }
    return s;
}

kn_status kni_config_read(void *config, const kn_module_type *type, const char *json, size_t length,
                          const char *name)
{
    if (!config || !type || !json)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_config_parse: an argument is NULL");
    kni_json_document document = kni_json_parse(json, length, name);
    if (!document) return KN_ERROR_ARGUMENT;
    kn_status s = read_object(&(reading){name, false}, config, type, kni_json_root(document));
    if (s == KN_OK) s = read_object(&(reading){name, true}, config, type, kni_json_root(document));
    kni_json_free(document);
    return s;
}

kn_status kn_config_parse(void *config, const kn_module_type *type, const char *json, size_t length)
{
    return kni_config_read(config, type, json, length, "config");
}

/* ---- the whole text */

kn_status kni_config_write(kni_buffer *out, const void *config, const kn_module_type *type)
{
    if (!config || !type)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_config_format: the config or its type is NULL");
    write_object(out, config, type, 0);
    kni_buffer_text(out, "\n");
    return out->failed ? kni_failure_memory("kn_config_format") : KN_OK;
}

size_t kn_config_format(const void *config, const kn_module_type *type, char *buffer, size_t n)
{
    kni_buffer out = {0};
    if (kni_config_write(&out, config, type) != KN_OK) kni_buffer_clear(&out);
    size_t length = kni_buffer_copy(&out, buffer, n);
    kni_buffer_free(&out);
    return length;
}
