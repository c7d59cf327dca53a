/* JSON lines: one object in each line, whose members are the columns of a table. */
#include "core/objects.h"
#include "data/data_table.h"
#include "support/json.h"
#include <stdlib.h>
#include <string.h>

/* The parser counts lines within its text, which is one line: "NAME:1:column" loses its 1. */
static kn_status parse_failure(const char *name, const char *place)
{
    const char *text = kni_failure_taken();
    size_t n = strlen(place);
    char rest[KNI_FAILURE_TEXT] = "";
    bool ours = !strncmp(text, place, n) && !strncmp(text + n, ":1:", 3);
    strncpy(rest, ours ? text + n + 2 : text, sizeof rest - 1);
    return ours ? kni_failure(KN_ERROR_ARGUMENT, "%s%s", place, rest)
                : kni_failure(KN_ERROR_ARGUMENT, "%s: %s", name, rest);
}

static kn_status list_cell(const kni_data_table *t, int32_t at, const kni_json *value, int64_t line,
                           kni_cell *cell)
{
    kni_list_number *numbers = malloc((size_t)(value->count ? value->count : 1) * sizeof *numbers);
    if (!numbers) return kni_failure_memory("kn_dataset_json_lines");
    *cell = (kni_cell){.kind = KNI_CELL_LIST, .numbers = numbers};
    for (const kni_json *v = value->first; v; v = v->next) {
        if (v->kind != KNI_JSON_NUMBER)
            return kni_data_table_failure(t, line, at, "the list holds something that is no number", NULL, 0);
        numbers[cell->length++] = (kni_list_number){v->number, v->integer, v->whole};
    }
    return KN_OK;
}

static kn_status make_cell(const kni_data_table *t, int32_t at, const kni_json *value, int64_t line,
                           kni_cell *cell)
{
    *cell = (kni_cell){.kind = KNI_CELL_MISSING};
    if (!value || value->kind == KNI_JSON_NULL) return KN_OK;
    switch (value->kind) {
    case KNI_JSON_BOOL:
        cell->kind = KNI_CELL_INT;
        cell->integer = value->truth;
        return KN_OK;
    case KNI_JSON_NUMBER:
        cell->kind = value->whole ? KNI_CELL_INT : KNI_CELL_REAL;
        cell->integer = value->integer;
        cell->real = value->number;
        return KN_OK;
    case KNI_JSON_TEXT:
        cell->kind = KNI_CELL_TEXT;
        cell->text = value->text;
        cell->length = value->length;
        return KN_OK;
    case KNI_JSON_ARRAY:
        if (kni_data_table_column_is_list(t, at)) return list_cell(t, at, value, line, cell);
        return kni_data_table_failure(t, line, at, "an array; mark the column as list", NULL, 0);
    default:
        return kni_data_table_failure(t, line, at, "an object inside the object", NULL, 0);
    }
}

/* The member of column `at`. Members have no order, so that columns nobody asked for are found by their names as well, those
   of one name one after the other. */
static kn_status find_member(const kni_data_table *t, int32_t at, const kni_json *object, const char *file,
                             int64_t line, const kni_json **member)
{
    const char *key = kni_data_table_column_name(t, at);
    const kni_json *m = object->first;
    int32_t skip = at, columns = 1, members = 0;
    *member = NULL;
    if (!key) {
        while (m && skip-- > 0) m = m->next;
        *member = m;
        return KN_OK;
    }
    if (kni_data_table_all_columns(t)) {
        columns = skip = 0;
        for (int32_t i = 0; i < kni_data_table_columns(t); i++) {
            bool same = !strcmp(kni_data_table_column_name(t, i), key);
            columns += same;
            skip += same && i < at;
        }
    } else
        skip = 0;
    for (; m; m = m->next)
        if (!strcmp(m->key, key) && members++ == skip) *member = m;
    return members <= columns ? KN_OK : kni_data_table_column_twice(file, line, key);
}

static kn_status add_object(kni_data_table *t, const kni_json *object, const char *name, int64_t line)
{
    if (object->kind != KNI_JSON_OBJECT)
        return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: the line is no object", name, (long long)line);
    kn_status status = KN_OK;
    if (kni_data_table_wants_columns(t)) {
        for (const kni_json *m = object->first; m && status == KN_OK; m = m->next)
            status = kni_data_table_add_column(t, m->key, strlen(m->key));
        if (status == KN_OK && kni_data_table_wants_columns(t))
            return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: the object is empty", name, (long long)line);
    }
    int32_t n = kni_data_table_columns(t);
    kni_cell *cells = status == KN_OK ? calloc((size_t)n, sizeof *cells) : NULL;
    if (!cells) return status == KN_OK ? kni_failure_memory("kn_dataset_json_lines") : status;
    for (int32_t i = 0; i < n && status == KN_OK; i++) {
        const kni_json *member;
        status = find_member(t, i, object, name, line, &member);
        if (status == KN_OK) status = make_cell(t, i, member, line, &cells[i]);
    }
    if (status == KN_OK) status = kni_data_table_add_row(t, cells, line);
    for (int32_t i = 0; i < n; i++) free((void *)(uintptr_t)cells[i].numbers);
    free(cells);
    return status;
}

kn_status kni_json_line(kni_data_table *t, const char *line, size_t bytes, const char *name, int64_t number)
{
    if (bytes && line[bytes - 1] == '\r') bytes--;
    size_t blank = 0;
    while (blank < bytes && (line[blank] == ' ' || line[blank] == '\t')) blank++;
    if (blank == bytes) return KN_OK;
    kni_buffer place = {0};
    kni_buffer_format(&place, "%s:%lld", name, (long long)number);
    kni_json_document document = kni_json_parse(line, bytes, kni_buffer_string(&place));
    kn_status status = document ? add_object(t, kni_json_root(document), name, number)
                                : parse_failure(name, kni_buffer_string(&place));
    kni_json_free(document);
    kni_buffer_free(&place);
    return status;
}

/* Hands each line over; what is left is moved to the front. */
typedef struct lines {
    kni_data_table *table;
    const char *name;
    int64_t number;
    kni_buffer rest;
} lines;

static kn_status feed_lines(lines *l, const char *data, size_t bytes)
{
    kn_status status = KN_OK;
    while (bytes && status == KN_OK) {
        const char *end = memchr(data, '\n', bytes);
        size_t n = end ? (size_t)(end - data) : bytes;
        if (!end || l->rest.length) kni_buffer_append(&l->rest, data, n);
        if (l->rest.failed) return kni_failure_memory("kn_dataset_json_lines");
        if (!end) return KN_OK;
        status = l->rest.length ? kni_json_line(l->table, l->rest.data, l->rest.length, l->name, l->number)
                                : kni_json_line(l->table, data, n, l->name, l->number);
        l->number++;
        kni_buffer_clear(&l->rest);
        data += n + 1;
        bytes -= n + 1;
    }
    return status;
}

kn_dataset kn_dataset_json_lines(const char *path, const kn_table_args *args)
{
    KNI_NAMED;
    if (kni_given(path, __func__, "path") != KN_OK) return NULL;
    kni_data_table *table = kni_data_table_make(path, args);
    if (!table) return NULL;
    enum { PIECE = 1 << 16 };
    char *piece = malloc(PIECE);
    FILE *file = piece ? fopen(path, "rb") : NULL;
    lines l = {table, path, 1, {0}};
    kn_status status = KN_OK;
    if (!piece)
        status = kni_failure_memory("kn_dataset_json_lines");
    else if (!file)
        status = kni_failure(KN_ERROR_IO, "%s: cannot be opened for reading", path);
    size_t n;
    while (status == KN_OK && (n = fread(piece, 1, PIECE, file)) > 0) status = feed_lines(&l, piece, n);
    if (status == KN_OK && ferror(file)) status = kni_failure(KN_ERROR_IO, "%s: reading failed", path);
    if (status == KN_OK && l.rest.length)
        status = kni_json_line(table, l.rest.data, l.rest.length, path, l.number);
    if (status == KN_OK && kni_data_table_wants_columns(table))
        status = kni_failure(KN_ERROR_ARGUMENT, "%s: the file is empty", path);
    if (file) fclose(file);
    free(piece);
    kni_buffer_free(&l.rest);
    return kni_data_table_finish(table, status);
}
