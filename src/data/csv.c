/* CSV by RFC 4180 as a state machine that is fed in pieces, so that a file of any size is read once and never held whole. */
#include "core/objects.h"
#include "data/data_table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum state {
    FIELD_START,
    UNQUOTED,
    QUOTED,
    QUOTE_SEEN, /* inside quotes: the end, or the first of two */
} state;

struct kni_csv {
    kni_data_table *table;
    const char *name;
    char delimiter;
    bool header;      /* the next record is the header */
    bool return_seen; /* a carriage return ended the line, and a line feed may follow */
    state state;
    int32_t mark;        /* bytes of a byte order mark seen, -1 behind the beginning */
    int64_t line, begin; /* now, and where the record began */
    int64_t quote_line;
    kni_buffer text; /* the record's fields, one after the other */
    kni_buffer ends; /* size_t: where each ends */
    int32_t *places; /* the source column of each column asked for */
    kni_cell *cells;
    int64_t width; /* fields in a record, 0 while unknown */
};

kni_csv *kni_csv_make(kni_data_table *table, const char *name, const kn_table_args *args)
{
    kni_csv *c = calloc(1, sizeof *c);
    if (!c) {
        kni_failure_memory("kn_dataset_csv");
        return NULL;
    }
    c->table = table;
    c->name = name;
    c->delimiter = args && args->delimiter ? args->delimiter : ',';
    c->header = !(args && args->no_header);
    c->line = c->begin = 1;
    return c;
}

void kni_csv_free(kni_csv *c)
{
    if (!c) return;
    kni_buffer_free(&c->text);
    kni_buffer_free(&c->ends);
    free(c->places);
    free(c->cells);
    free(c);
}

static kn_status fail(const kni_csv *c, int64_t line, const char *what)
{
    return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: %s", c->name, (long long)line, what);
}

static size_t field_at(const kni_csv *c, int64_t i, const char **text)
{
    const size_t *ends = (const size_t *)(const void *)c->ends.data;
    size_t begin = i ? ends[i - 1] : 0;
    *text = c->text.data ? c->text.data + begin : "";
    return ends[i] - begin;
}

/* The first column behind `after` that the header calls so, or n. */
static int64_t find_name(const kni_csv *c, int64_t n, const char *wanted, int64_t after)
{
    const char *text;
    for (int64_t at = after + 1; at < n; at++)
        if (field_at(c, at, &text) == strlen(wanted) && !memcmp(text, wanted, strlen(wanted))) return at;
    return n;
}

/* The place of each column asked for in the first record, which is the header or gives the number of columns. */
static kn_status find_columns(kni_csv *c, int64_t n)
{
    kn_status status = KN_OK;
    if (kni_data_table_wants_columns(c->table))
        for (int64_t i = 0; i < n && status == KN_OK; i++) {
            const char *text = NULL;
            size_t length = c->header ? field_at(c, i, &text) : 0;
            status = kni_data_table_add_column(c->table, text, length);
        }
    int32_t columns = kni_data_table_columns(c->table);
    c->width = n;
    c->places = malloc((size_t)columns * sizeof *c->places);
    c->cells = calloc((size_t)columns, sizeof *c->cells);
    if (status == KN_OK && (!c->places || !c->cells)) status = kni_failure_memory("kn_dataset_csv");
    for (int32_t i = 0; i < columns && status == KN_OK; i++) {
        const char *wanted = kni_data_table_column_asked(c->table, i), *text;
        int64_t at = i;
        if (wanted && !c->header) {
            if (!kni_parse_int(wanted, strlen(wanted), &at)) at = 0;
            at--;
        } else if (wanted) {
            at = find_name(c, n, wanted, -1);
            if (at < n && find_name(c, n, wanted, at) < n)
                return kni_data_table_column_twice(c->name, c->begin, wanted);
        }
        if (at < 0 || at >= n)
            return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: there is no column '%.60s' among the %lld",
                               c->name, (long long)c->begin, wanted ? wanted : "behind the last",
                               (long long)n);
        c->places[i] = (int32_t)at;
        if (wanted || !c->header) continue;
        size_t length = field_at(c, at, &text);
        status = kni_data_table_name_column(c->table, i, text, length);
    }
    return status;
}

static kn_status end_record(kni_csv *c)
{
    int64_t n = (int64_t)(c->ends.length / sizeof(size_t));
    if (c->text.failed || c->ends.failed) return kni_failure_memory("kn_dataset_csv");
    kn_status status = KN_OK;
    bool first = !c->places;
    if (first && n > 1 << 16) return fail(c, c->begin, "more than 65536 columns");
    if (first) status = find_columns(c, n);
    if (status == KN_OK && n != c->width)
        return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: %lld fields, but the first line has %lld", c->name,
                           (long long)c->begin, (long long)n, (long long)c->width);
    if (status == KN_OK && !(first && c->header)) {
        for (int32_t i = 0; i < kni_data_table_columns(c->table); i++) {
            c->cells[i] = (kni_cell){.kind = KNI_CELL_TEXT};
            c->cells[i].length = field_at(c, c->places[i], &c->cells[i].text);
        }
        status = kni_data_table_add_row(c->table, c->cells, c->begin);
    }
    kni_buffer_clear(&c->text);
    kni_buffer_clear(&c->ends);
    return status;
}

static void end_field(kni_csv *c)
{
    kni_buffer_append(&c->ends, &c->text.length, sizeof c->text.length);
    c->state = FIELD_START;
}

/* A line feed, a carriage return or both, outside quotes. A line without anything is no record. */
static kn_status end_line(kni_csv *c)
{
    kn_status status = KN_OK;
    if (c->state != FIELD_START || c->ends.length) {
        end_field(c);
        status = end_record(c);
    }
    c->state = FIELD_START;
    c->begin = c->line;
    return status;
}

static kn_status plain_character(kni_csv *c, char x)
{
    if (x == c->delimiter) {
        end_field(c);
        return KN_OK;
    }
    if (c->state == QUOTE_SEEN) return fail(c, c->line, "text behind the closing quote of a field");
    if (x == '"' && c->state == FIELD_START) {
        c->state = QUOTED;
        c->quote_line = c->line;
        return KN_OK;
    }
    if (x == '"') return fail(c, c->line, "a quote inside a field that does not begin with one");
    c->state = UNQUOTED;
    kni_buffer_append(&c->text, &x, 1);
    return KN_OK;
}

static kn_status take(kni_csv *c, char x)
{
    if (x == 0) return fail(c, c->line, "a zero byte: this is no text");
    if (c->state == QUOTED) {
        if (x == '\n') c->line++;
        if (x == '"')
            c->state = QUOTE_SEEN;
        else
            kni_buffer_append(&c->text, &x, 1);
        return KN_OK;
    }
    if (x == '\n' && c->return_seen) { /* the second half of what ended the line */
        c->return_seen = false;
        return KN_OK;
    }
    c->return_seen = x == '\r';
    if (x == '\n' || x == '\r') {
        c->line++;
        return end_line(c);
    }
    if (x == '"' && c->state == QUOTE_SEEN) {
        c->state = QUOTED;
        kni_buffer_append(&c->text, &x, 1);
        return KN_OK;
    }
    return plain_character(c, x);
}

kn_status kni_csv_feed(kni_csv *c, const char *data, size_t bytes)
{
    static const char mark[] = "\xef\xbb\xbf";
    kn_status status = KN_OK;
    for (size_t i = 0; i < bytes && status == KN_OK; i++) {
        if (c->mark >= 0 && c->mark < 3 && data[i] == mark[c->mark]) {
            c->mark++;
            continue;
        }
        /* The beginning of a mark that was none is text. */
        int32_t seen = c->mark > 0 && c->mark < 3 ? c->mark : 0;
        c->mark = -1;
        for (int32_t j = 0; j < seen && status == KN_OK; j++) status = take(c, mark[j]);
        if (status == KN_OK) status = take(c, data[i]);
    }
    return c->text.failed && status == KN_OK ? kni_failure_memory("kn_dataset_csv") : status;
}

kn_status kni_csv_finish(kni_csv *c)
{
    kn_status status = KN_OK;
    if (c->state == QUOTED) return fail(c, c->quote_line, "the quoted field that begins here never ends");
    if (c->state != FIELD_START || c->ends.length) status = end_line(c);
    if (status == KN_OK && !c->places) return fail(c, 1, "the file is empty");
    return status;
}

kn_dataset kn_dataset_csv(const char *path, const kn_table_args *args)
{
    KNI_NAMED;
    if (kni_given(path, __func__, "path") != KN_OK) return NULL;
    kni_data_table *table = kni_data_table_make(path, args);
    if (!table) return NULL;
    kni_csv *csv = kni_csv_make(table, path, args);
    FILE *file = csv ? fopen(path, "rb") : NULL;
    enum { PIECE = 1 << 16 };
    char *piece = file ? malloc(PIECE) : NULL;
    kn_status status = KN_OK;
    if (!csv || (file && !piece))
        status = kni_failure_memory("kn_dataset_csv");
    else if (!file)
        status = kni_failure(KN_ERROR_IO, "%s: cannot be opened for reading", path);
    size_t n;
    while (status == KN_OK && (n = fread(piece, 1, PIECE, file)) > 0) status = kni_csv_feed(csv, piece, n);
    if (status == KN_OK && ferror(file)) status = kni_failure(KN_ERROR_IO, "%s: reading failed", path);
    if (status == KN_OK) status = kni_csv_finish(csv);
    if (file) fclose(file);
    free(piece);
    kni_csv_free(csv);
    return kni_data_table_finish(table, status);
}
