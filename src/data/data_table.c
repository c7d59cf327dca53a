/* Typed columns in memory: conversion of cells with errors that name file, line and column; samples from them. */
#include "data/data_table.h"
#include <stdlib.h>
#include <string.h>

typedef struct column {
    kn_column spec;
    char *name;        /* asked for, or given by a header; NULL: none */
    bool by_place;     /* no name was asked for */
    kni_buffer values; /* of its dtype, one for each row, or all of them for lists and texts */
    kni_buffer ends;   /* lists and texts: where each row's values end, in bytes (size_t) */
    kni_names texts;   /* categories */
    bool fixed;        /* the categories are given */
} column;

typedef struct field {
    int32_t first, count; /* columns */
} field;

struct kni_data_table {
    char *name;
    int32_t n_columns, n_fields;
    bool open; /* columns are still to come */
    column *columns;
    field fields[KN_SAMPLE_FIELDS];
    kni_cell *converted; /* scratch of a row */
    int64_t rows;
};

/* The kinds of columns as rows of data. */
static const struct {
    kn_dtype dtype;
    int32_t bytes;
    bool whole;
} kinds[] = {[KN_COLUMN_REAL] = {KN_F32, 4, false},
             [KN_COLUMN_REAL64] = {KN_F64, 8, false},
             [KN_COLUMN_INT] = {KN_I64, 8, true},
             [KN_COLUMN_CATEGORY] = {KN_I64, 8, true},
             [KN_COLUMN_TEXT] = {KN_U8, 1, true}};

static bool is_varying(const column *c) { return c->spec.list || c->spec.kind == KN_COLUMN_TEXT; }

static char *copy_text(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}

/* ---- columns */

static kn_status add_column(kni_data_table *t, const kn_column *spec, const char *name, size_t length)
{
    column *columns = realloc(t->columns, ((size_t)t->n_columns + 1) * sizeof *columns);
    if (columns) t->columns = columns;
    kni_cell *converted = realloc(t->converted, ((size_t)t->n_columns + 1) * sizeof *converted);
    if (converted) t->converted = converted;
    if (!columns || !converted) return kni_failure_memory("kn_table");
    column *c = &t->columns[t->n_columns];
    *c = (column){.spec = *spec, .by_place = t->open || !name};
    if (name && !(c->name = copy_text(name, length))) return kni_failure_memory("kn_table");
    c->spec.name = c->name;
    t->n_columns++;
    bool joins = spec->join && t->n_columns > 1;
    if (!joins && t->n_fields >= KN_SAMPLE_FIELDS)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: more than %d fields; join columns of one kind into a vector", t->name,
                           KN_SAMPLE_FIELDS);
    if (!joins) t->fields[t->n_fields++] = (field){t->n_columns - 1, 0};
    t->fields[t->n_fields - 1].count++;
    const column *head = &t->columns[t->fields[t->n_fields - 1].first];
    if (joins && (head->spec.kind != spec->kind || is_varying(head) || is_varying(c)))
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: column %d cannot join the one before it: both must be numbers of one kind",
                           t->name, (int)t->n_columns);
    return KN_OK;
}

static const kni_data_table *table_of(const kni_dataset *dataset);

static bool same_column(const column *c, const column *source, bool same_place)
{
    if (source->spec.kind != KN_COLUMN_CATEGORY) return false;
    return c->name && source->name ? !strcmp(c->name, source->name) : same_place;
}

static kn_status take_categories(kni_data_table *t, kn_dataset from)
{
    KNI_USE(dataset, set, from);
    if (!set) return KNI_NO_OBJECT(from);
    const kni_data_table *source = table_of(set);
    if (!source) return kni_failure(KN_ERROR_ARGUMENT, "%s: categories must come from a table", t->name);
    for (int32_t i = 0; i < t->n_columns; i++) {
        column *c = &t->columns[i];
        if (c->spec.kind != KN_COLUMN_CATEGORY) continue;
        /* Of several columns with the name, the one at the same place has the texts, or else the first. */
        const column *s = NULL;
        for (int32_t j = 0; j < source->n_columns; j++)
            if (same_column(c, &source->columns[j], i == j) && (!s || i == j)) s = &source->columns[j];
        if (!s) continue;
        c->fixed = true;
        if (!kni_names_copy(&c->texts, &s->texts)) return kni_failure_memory("kn_table");
    }
    return KN_OK;
}

static kn_status check_column(const kni_data_table *t, const kn_column *c, int32_t i)
{
    if (c->kind >= KN_COLUMN_REAL && c->kind <= KN_COLUMN_TEXT && c->missing >= KN_MISSING_ERROR &&
        c->missing <= KN_MISSING_SKIP && !(c->list && c->kind >= KN_COLUMN_CATEGORY))
        return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: column %d has an unknown kind, missing or list", t->name,
                       (int)i + 1);
}

kni_data_table *kni_data_table_make(const char *name, const kn_table_args *args)
{
    static const kn_table_args plain = {0};
    if (!args) args = &plain;
    kni_data_table *t = calloc(1, sizeof *t);
    if (!t || !(t->name = copy_text(name, strlen(name)))) {
        free(t);
        kni_failure_memory("kn_table");
        return NULL;
    }
    t->open = !args->columns;
    kn_status status = KN_OK;
    for (int32_t i = 0; !t->open && i < args->n_columns && status == KN_OK; i++) {
        const kn_column *c = &args->columns[i];
        status = check_column(t, c, i);
        if (status == KN_OK) status = add_column(t, c, c->name, c->name ? strlen(c->name) : 0);
    }
    if (status == KN_OK && args->columns && args->n_columns < 1)
        status = kni_failure(KN_ERROR_ARGUMENT, "%s: no columns are asked for", name);
    if (status == KN_OK && args->categories) status = take_categories(t, args->categories);
    if (status == KN_OK) return t;
    kni_data_table_free(t);
    return NULL;
}

void kni_data_table_free(kni_data_table *t)
{
    if (!t) return;
    for (int32_t i = 0; i < t->n_columns; i++) {
        free(t->columns[i].name);
        kni_buffer_free(&t->columns[i].values);
        kni_buffer_free(&t->columns[i].ends);
        kni_names_free(&t->columns[i].texts);
    }
    free(t->columns);
    free(t->converted);
    free(t->name);
    free(t);
}

bool kni_data_table_wants_columns(const kni_data_table *table) { return table->open && !table->n_columns; }

kn_status kni_data_table_add_column(kni_data_table *table, const char *name, size_t length)
{
    return add_column(table, &(kn_column){.kind = KN_COLUMN_REAL, .join = true}, name, length);
}

kn_status kni_data_table_name_column(kni_data_table *table, int32_t at, const char *name, size_t length)
{
    char *copy = copy_text(name, length);
    if (!copy) return kni_failure_memory("kn_table");
    free(table->columns[at].name);
    table->columns[at].name = copy;
    return KN_OK;
}

int32_t kni_data_table_columns(const kni_data_table *table) { return table->n_columns; }

const char *kni_data_table_column_asked(const kni_data_table *table, int32_t at)
{
    return table->columns[at].by_place ? NULL : table->columns[at].name;
}

const char *kni_data_table_column_name(const kni_data_table *table, int32_t at)
{
    return table->columns[at].name;
}

bool kni_data_table_all_columns(const kni_data_table *table) { return table->open; }

kn_status kni_data_table_column_twice(const char *file, int64_t line, const char *name)
{
    char where[32] = "";
    if (line > 0) snprintf(where, sizeof where, ":%lld", (long long)line);
    return kni_failure(KN_ERROR_ARGUMENT,
                       "%s%s: there are several columns '%.60s'; give each a name of its own, or leave the "
                       "name out to take columns by their places",
                       file, where, name);
}

bool kni_data_table_column_is_list(const kni_data_table *table, int32_t at)
{
    return table->columns[at].spec.list;
}

/* ---- rows */

kn_status kni_data_table_failure(const kni_data_table *t, int64_t line, int32_t at, const char *what,
                                 const char *text, size_t length)
{
    char place[32] = "", shown[48] = "";
    const char *name = t->columns[at].name;
    if (!name) {
        kni_buffer number = {0};
        kni_buffer_format(&number, "%d", (int)at + 1);
        kni_buffer_copy(&number, place, sizeof place);
        kni_buffer_free(&number);
        name = place;
    }
    /* Only the beginning of a long value, and nothing that a terminal would obey. */
    size_t n = length < 40 ? length : 40;
    for (size_t i = 0; text && i < n; i++)
        shown[i] = (unsigned char)text[i] < 32 || text[i] == 127 ? '?' : text[i];
    if (text)
        return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: column '%.60s': '%s%s' %s", t->name, (long long)line,
                           name, shown, length > n ? "..." : "", what);
    return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: column '%.60s': %s", t->name, (long long)line, name,
                       what);
}

static kn_status convert_number(const kni_data_table *t, int32_t at, kni_cell *cell, int64_t line)
{
    bool whole = kinds[t->columns[at].spec.kind].whole;
    const char *text = cell->text;
    size_t length = cell->length;
    switch (cell->kind) {
    case KNI_CELL_TEXT:
        if (whole ? kni_parse_int(text, length, &cell->integer) : kni_parse_real(text, length, &cell->real))
            return KN_OK;
        return kni_data_table_failure(t, line, at, whole ? "is not a whole number" : "is not a number", text,
                                      length);
    case KNI_CELL_INT:
        cell->real = (double)cell->integer;
        return KN_OK;
    case KNI_CELL_REAL:
        if (!whole) return KN_OK;
        if (cell->real >= -0x1p63 && cell->real < 0x1p63 && (double)(int64_t)cell->real == cell->real) {
            cell->integer = (int64_t)cell->real;
            return KN_OK;
        }
        return kni_data_table_failure(t, line, at, "the number is not whole", NULL, 0);
    default:
        return kni_data_table_failure(t, line, at, "a list; mark the column as list", NULL, 0);
    }
}

static kn_status convert_category(kni_data_table *t, int32_t at, kni_cell *cell, int64_t line)
{
    column *c = &t->columns[at];
    if (cell->kind != KNI_CELL_TEXT)
        return kni_data_table_failure(t, line, at, "a number where a text is expected", NULL, 0);
    cell->integer = c->fixed ? kni_names_find(&c->texts, cell->text, cell->length)
                             : kni_names_add(&c->texts, cell->text, cell->length);
    if (cell->integer >= 0) return KN_OK;
    if (!c->fixed) return kni_failure_memory("kn_table");
    return kni_data_table_failure(t, line, at, "is not among the known categories", cell->text, cell->length);
}

static bool is_missing(const kni_cell *cell, bool number)
{
    if (cell->kind == KNI_CELL_MISSING) return true;
    if (cell->kind != KNI_CELL_TEXT) return false;
    if (!number) return cell->length == 0;
    for (size_t i = 0; i < cell->length; i++)
        if (cell->text[i] != ' ' && cell->text[i] != '\t') return false;
    return true;
}

/* *skip is set when the row is to be left out. */
static kn_status convert_cell(kni_data_table *t, int32_t at, kni_cell *cell, int64_t line, bool *skip)
{
    const kn_column *spec = &t->columns[at].spec;
    bool text = spec->kind == KN_COLUMN_TEXT || spec->kind == KN_COLUMN_CATEGORY;
    if (is_missing(cell, !text)) {
        if (spec->missing == KN_MISSING_SKIP) {
            *skip = true;
            return KN_OK;
        }
        if (text) {
            *cell = (kni_cell){.kind = KNI_CELL_TEXT, .text = ""};
        } else if (spec->missing == KN_MISSING_FILL && !spec->list) {
            *cell = (kni_cell){.kind = KNI_CELL_REAL, .real = spec->fill};
        } else
            return kni_data_table_failure(t, line, at, "the value is missing", NULL, 0);
    }
    if (spec->kind == KN_COLUMN_CATEGORY) return KN_OK; /* numbered when the row is sure to stay */
    if (spec->kind == KN_COLUMN_TEXT)
        return cell->kind == KNI_CELL_TEXT
                   ? KN_OK
                   : kni_data_table_failure(t, line, at, "a number where a text is expected", NULL, 0);
    if (!spec->list) return convert_number(t, at, cell, line);
    return cell->kind == KNI_CELL_LIST
               ? KN_OK
               : kni_data_table_failure(t, line, at, "not a list of numbers", NULL, 0);
}

static void append_number(kni_buffer *values, kn_column_kind kind, double real, int64_t integer)
{
    float single = (float)real;
    const void *from = kind == KN_COLUMN_REAL ? (const void *)&single
                       : kinds[kind].whole    ? (const void *)&integer
                                              : (const void *)&real;
    kni_buffer_append(values, from, (size_t)kinds[kind].bytes);
}

static kn_status store_cell(kni_data_table *t, int32_t at, const kni_cell *cell, int64_t line)
{
    column *c = &t->columns[at];
    if (cell->kind == KNI_CELL_LIST)
        for (size_t i = 0; i < cell->length; i++) {
            kni_list_number n = cell->numbers[i];
            double v = n.real;
            bool whole = n.whole || (v >= -0x1p63 && v < 0x1p63 && (double)(int64_t)v == v);
            if (c->spec.kind == KN_COLUMN_INT && !whole)
                return kni_data_table_failure(t, line, at, "a number of the list is not whole", NULL, 0);
            append_number(&c->values, c->spec.kind, v, n.whole ? n.integer : whole ? (int64_t)v : 0);
        }
    else if (c->spec.kind == KN_COLUMN_TEXT)
        kni_buffer_append(&c->values, cell->text, cell->length);
    else
        append_number(&c->values, c->spec.kind, cell->real, cell->integer);
    if (is_varying(c)) kni_buffer_append(&c->ends, &c->values.length, sizeof c->values.length);
    return c->values.failed || c->ends.failed ? kni_failure_memory("kn_table") : KN_OK;
}

kn_status kni_data_table_add_row(kni_data_table *t, const kni_cell *cells, int64_t line)
{
    if (line <= 0) line = t->rows + 1;
    bool skip = false;
    for (int32_t i = 0; i < t->n_columns; i++) {
        t->converted[i] = cells[i];
        kn_status status = convert_cell(t, i, &t->converted[i], line, &skip);
        if (status != KN_OK) return status;
    }
    if (skip) return KN_OK;
    for (int32_t i = 0; i < t->n_columns; i++) {
        kn_status status = KN_OK;
        if (t->columns[i].spec.kind == KN_COLUMN_CATEGORY)
            status = convert_category(t, i, &t->converted[i], line);
        if (status == KN_OK) status = store_cell(t, i, &t->converted[i], line);
        if (status != KN_OK) return status;
    }
    t->rows++;
    return KN_OK;
}

/* ---- the data set */

static int64_t table_length(void *self) { return ((kni_data_table *)self)->rows; }

static kn_tensor varying_value(const column *c, int64_t index)
{
    const size_t *ends = (const size_t *)(const void *)c->ends.data;
    size_t begin = index ? ends[index - 1] : 0, bytes = ends[index] - begin;
    int32_t each = kinds[c->spec.kind].bytes;
    return kn_from(c->values.data ? c->values.data + begin : "", kinds[c->spec.kind].dtype,
                   KN_SHAPE((int64_t)(bytes / (size_t)each)));
}

/* Rows of a field of numbers, one after the other. */
static kn_status numbers_value(const kni_data_table *t, const field *f, const int64_t *indices, int64_t n,
                               bool batch, kn_sample *out)
{
    const column *head = &t->columns[f->first];
    size_t each = (size_t)kinds[head->spec.kind].bytes, width = (size_t)f->count, total;
    char *data = NULL;
    if (!__builtin_mul_overflow((size_t)n * width, each, &total)) data = malloc(total ? total : 1);
    if (!data) return kni_failure_memory("kn_table");
    for (int64_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            memcpy(data + ((size_t)i * width + j) * each, head[j].values.data + (size_t)indices[i] * each,
                   each);
    kn_shape shape = {0};
    if (batch) shape.dims[shape.rank++] = n;
    if (f->count > 1 || t->open) shape.dims[shape.rank++] = f->count;
    kn_status status = kn_sample_add(out, kn_from(data, kinds[head->spec.kind].dtype, shape));
    free(data);
    return status;
}

static kn_status table_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const kni_data_table *t = self;
    kn_status status = KN_OK;
    for (int32_t f = 0; f < t->n_fields && status == KN_OK; f++) {
        const column *head = &t->columns[t->fields[f].first];
        status = is_varying(head) ? kn_sample_add(sample, varying_value(head, index))
                                  : numbers_value(t, &t->fields[f], &index, 1, false, sample);
    }
    return status;
}

static kn_status table_get_many(void *self, const int64_t *indices, int64_t n, const kn_sample_key *keys,
                                kn_sample *batch)
{
    (void)keys;
    const kni_data_table *t = self;
    kn_status status = KN_OK;
    for (int32_t f = 0; f < t->n_fields && status == KN_OK; f++)
        status = numbers_value(t, &t->fields[f], indices, n, true, batch);
    return status;
}

static const char *table_name_at(void *self, int64_t index)
{
    const kni_data_table *t = self;
    if (index >= t->n_columns) return NULL;
    return t->columns[index].name ? t->columns[index].name : "";
}

static void table_close(void *self) { kni_data_table_free(self); }

static const kn_dataset_type table_type = {"table", table_length, table_get,
                                           NULL,    table_close,  table_name_at};
/* A table of numbers alone has batches at once. */
static const kn_dataset_type numbers_type = {"table",        table_length, table_get,
                                             table_get_many, table_close,  table_name_at};

static const kni_data_table *table_of(const kni_dataset *dataset)
{
    const kni_data_table *t = kni_dataset_self(dataset, &table_type);
    return t ? t : kni_dataset_self(dataset, &numbers_type);
}

kn_dataset kni_data_table_finish(kni_data_table *table, kn_status status)
{
    if (!table) return NULL;
    bool varying = false;
    for (int32_t i = 0; i < table->n_columns; i++) varying |= is_varying(&table->columns[i]);
    return kni_dataset_finish(varying ? &table_type : &numbers_type, table, status);
}

static const column *category_column(const kni_dataset *dataset, int32_t at)
{
    const kni_data_table *t = table_of(dataset);
    return t && at >= 0 && at < t->n_columns ? &t->columns[at] : NULL;
}

const char *kn_table_category(kn_dataset dataset, int32_t column_index, int64_t value)
{
    KNI_USE(dataset, d, dataset);
    const column *c = category_column(d, column_index);
    return c ? kni_names_at(&c->texts, value) : NULL;
}

int64_t kn_table_category_count(kn_dataset dataset, int32_t column_index)
{
    KNI_USE(dataset, d, dataset);
    const column *c = category_column(d, column_index);
    return c ? c->texts.count : 0;
}
