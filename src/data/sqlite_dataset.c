/* SQLite: the rows of a query as a table, and a table of samples that is written from a data set and read on demand. */
#define _POSIX_C_SOURCE 200809L
#include "core/objects.h"
#include "data/data_table.h"
#include "data/sqlite_library.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if KNI_HAS_SQLITE

#define SQL kni_sqlite

static kn_status sql_failure(sqlite3 *db, const char *path, const char *what)
{
    return kni_failure(KN_ERROR_IO, "%s: %s: %s", path, what, db ? SQL.errmsg(db) : "no memory");
}

/* SQLite's own locks may be held by a thread that a forked child does not have, so that any call there may hang. */
static kn_status refuse_forked(const char *path)
{
    static _Atomic long first_user;
    long none = 0, me = (long)getpid();
    if (atomic_compare_exchange_strong(&first_user, &none, me) || none == me) return KN_OK;
    return kni_failure(
        KN_ERROR_DEVICE,
        "%s: SQLite was in use before this process was forked, and cannot be used in the child: open the "
        "data set in a new program (exec), or read it before the fork",
        path);
}

static kn_status open_database(const char *path, int flags, sqlite3 **db)
{
    *db = NULL;
    kn_status status = kni_sqlite_library_open();
    if (status == KN_OK) status = refuse_forked(path);
    if (status != KN_OK) return status;
    if (SQL.open_v2(path, db, flags | SQLITE_OPEN_FULLMUTEX, NULL) == SQLITE_OK) return KN_OK;
    status = sql_failure(*db, path, "cannot be opened");
    SQL.close_v2(*db);
    *db = NULL;
    return status;
}

static kn_status prepare(sqlite3 *db, const char *path, const char *text, sqlite3_stmt **statement)
{
    const char *rest = NULL;
    *statement = NULL;
    if (SQL.prepare_v2(db, text, -1, statement, &rest) != SQLITE_OK)
        return sql_failure(db, path, "the query is wrong");
    if (*statement) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: the query is empty", path);
}

/* ---- a query as a table */

static void query_cell(sqlite3_stmt *s, int at, kni_cell *cell)
{
    *cell = (kni_cell){.kind = KNI_CELL_MISSING};
    switch (SQL.column_type(s, at)) {
    case SQLITE_INTEGER:
        cell->kind = KNI_CELL_INT;
        cell->integer = SQL.column_int64(s, at);
        break;
    case SQLITE_FLOAT:
        cell->kind = KNI_CELL_REAL;
        cell->real = SQL.column_double(s, at);
        break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        cell->kind = KNI_CELL_TEXT;
        cell->text = SQL.column_blob(s, at);
        cell->length = (size_t)SQL.column_bytes(s, at);
        if (!cell->text) cell->text = "";
        break;
    default:
        break;
    }
}

/* The first result column behind `after` with this name, or n. */
static int find_name(sqlite3_stmt *s, int n, const char *wanted, int after)
{
    int at = after + 1;
    while (at < n && strcmp(SQL.column_name(s, at), wanted)) at++;
    return at;
}

/* The result column of each column asked for. */
static kn_status query_columns(kni_data_table *t, sqlite3_stmt *s, const char *path, int *places)
{
    int n = SQL.column_count(s);
    for (int32_t i = 0; i < kni_data_table_columns(t); i++) {
        const char *wanted = kni_data_table_column_asked(t, i);
        places[i] = wanted ? find_name(s, n, wanted, -1) : i;
        if (wanted && places[i] < n && find_name(s, n, wanted, places[i]) < n)
            return kni_data_table_column_twice(path, 0, wanted);
        if (places[i] >= n)
            return kni_failure(KN_ERROR_ARGUMENT, "%s: the query gives no column '%.60s'", path,
                               wanted ? wanted : "behind the last");
    }
    return KN_OK;
}

static kn_status read_rows(kni_data_table *t, sqlite3 *db, sqlite3_stmt *s, const char *path)
{
    kn_status status = KN_OK;
    bool wants = kni_data_table_wants_columns(t);
    for (int i = 0; wants && status == KN_OK && i < SQL.column_count(s); i++) {
        const char *name = SQL.column_name(s, i);
        status =
            name ? kni_data_table_add_column(t, name, strlen(name)) : kni_failure_memory("kn_dataset_sqlite");
    }
    int32_t n = kni_data_table_columns(t);
    int *places = calloc((size_t)n + 1, sizeof *places);
    kni_cell *cells = calloc((size_t)n + 1, sizeof *cells);
    if (status == KN_OK && (!places || !cells)) status = kni_failure_memory("kn_dataset_sqlite");
    if (status == KN_OK) status = query_columns(t, s, path, places);
    while (status == KN_OK) {
        int step = SQL.step(s);
        if (step == SQLITE_DONE) break;
        if (step != SQLITE_ROW)
            status = sql_failure(db, path, "reading failed");
        else {
            for (int32_t i = 0; i < n; i++) query_cell(s, places[i], &cells[i]);
            status = kni_data_table_add_row(t, cells, 0);
        }
    }
    free(places);
    free(cells);
    return status;
}

kn_dataset kn_dataset_sqlite(const char *path, const char *query, const kn_table_args *args)
{
    KNI_NAMED;
    if (kni_given(path, __func__, "path") != KN_OK || kni_given(query, __func__, "query") != KN_OK)
        return NULL;
    kni_data_table *table = kni_data_table_make(path, args);
    if (!table) return NULL;
    sqlite3 *db;
    sqlite3_stmt *s = NULL;
    kn_status status = open_database(path, SQLITE_OPEN_READONLY, &db);
    if (status == KN_OK) status = prepare(db, path, query, &s);
    if (status == KN_OK && (!SQL.stmt_readonly(s) || SQL.column_count(s) < 1))
        status = kni_failure(KN_ERROR_ARGUMENT, "%s: the query gives no rows; it must be a SELECT", path);
    if (status == KN_OK) status = read_rows(table, db, s, path);
    if (s) SQL.finalize(s);
    if (db) SQL.close_v2(db);
    return kni_data_table_finish(table, status);
}

/* ---- samples: (row_id, dtypes and shapes, bytes). The layout of a blob: int64 count of fields; for each field int64 dtype,
   rank, sizes; then the fields' bytes. All little-endian (the fields as this machine has them). */

/* "name" as SQL quotes identifiers. */
static void quote_name(kni_buffer *out, const char *name)
{
    kni_buffer_text(out, "\"");
    for (; *name; name++) kni_buffer_append(out, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1);
    kni_buffer_text(out, "\"");
}

static void append_int(kni_buffer *out, int64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)value >> 8 * i);
    kni_buffer_append(out, bytes, 8);
}

static kn_status encode_sample(const kn_sample *sample, kni_buffer *out)
{
    kni_buffer_clear(out);
    append_int(out, sample->n);
    for (int32_t f = 0; f < sample->n; f++) {
        kn_shape shape = kn_shape_of_tensor(sample->fields[f]);
        append_int(out, kn_dtype_of(sample->fields[f]));
        append_int(out, shape.rank);
        for (int32_t i = 0; i < shape.rank; i++) append_int(out, shape.dims[i]);
    }
    for (int32_t f = 0; f < sample->n; f++) {
        kn_tensor t = sample->fields[f];
        size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t));
        if (!kni_buffer_reserve(out, bytes)) return kni_failure_memory("kn_dataset_write_sqlite");
        kn_status status = kn_read(t, out->data + out->length, bytes);
        if (status != KN_OK) return status;
        out->length += bytes;
    }
    return out->failed ? kni_failure_memory("kn_dataset_write_sqlite") : KN_OK;
}

static bool take_int(const uint8_t **data, size_t *bytes, int64_t low, int64_t high, int64_t *value)
{
    if (*bytes < 8) return false;
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v |= (uint64_t)(*data)[i] << 8 * i;
    *data += 8;
    *bytes -= 8;
    *value = (int64_t)v;
    return *value >= low && *value <= high;
}

typedef struct header {
    kn_dtype dtype;
    kn_shape shape;
    int64_t bytes;
} header;

static bool take_header(const uint8_t **data, size_t *bytes, header *h)
{
    int64_t dtype, rank, count = 1;
    if (!take_int(data, bytes, KN_F64, KN_BOOL, &dtype) || !take_int(data, bytes, 0, KN_MAX_RANK, &rank))
        return false;
    *h = (header){.dtype = (kn_dtype)dtype, .shape = {.rank = (int32_t)rank}};
    for (int64_t i = 0; i < rank; i++)
        if (!take_int(data, bytes, 0, INT64_MAX, &h->shape.dims[i]) ||
            __builtin_mul_overflow(count, h->shape.dims[i], &count))
            return false;
    h->bytes = kn_dtype_bytes(h->dtype, count);
    return h->bytes >= 0;
}

static kn_status decode_sample(const uint8_t *data, size_t bytes, const char *path, int64_t row,
                               kn_sample *sample)
{
    header headers[KN_SAMPLE_FIELDS];
    int64_t n = 0;
    bool good = take_int(&data, &bytes, 1, KN_SAMPLE_FIELDS, &n);
    for (int64_t f = 0; f < n && good; f++) good = take_header(&data, &bytes, &headers[f]);
    kn_status status = KN_OK;
    for (int64_t f = 0; f < n && good && status == KN_OK; f++) {
        good = (uint64_t)headers[f].bytes <= bytes;
        if (!good) break;
        status = kn_sample_add(sample, kn_from(data, headers[f].dtype, headers[f].shape));
        data += headers[f].bytes;
        bytes -= (size_t)headers[f].bytes;
    }
    if (good && (status != KN_OK || bytes == 0)) return status;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: row %lld holds no sample that kn_dataset_write_sqlite wrote",
                       path, (long long)row);
}

static kn_status run_sql(sqlite3 *db, const char *path, const char *before, const char *table,
                         const char *after)
{
    kni_buffer text = {0};
    kni_buffer_text(&text, before);
    if (table) quote_name(&text, table);
    kni_buffer_text(&text, after);
    kn_status status = text.failed ? kni_failure_memory("kn_dataset_write_sqlite") : KN_OK;
    if (status == KN_OK && SQL.exec(db, kni_buffer_string(&text), NULL, NULL, NULL) != SQLITE_OK)
        status = sql_failure(db, path, "writing failed");
    kni_buffer_free(&text);
    return status;
}

static kn_status prepare_named(sqlite3 *db, const char *path, const char *before, const char *table,
                               const char *after, sqlite3_stmt **s)
{
    kni_buffer text = {0};
    kni_buffer_text(&text, before);
    quote_name(&text, table);
    kni_buffer_text(&text, after);
    kn_status status = text.failed ? kni_failure_memory("kn_dataset_sqlite_samples")
                                   : prepare(db, path, kni_buffer_string(&text), s);
    kni_buffer_free(&text);
    return status;
}

static kn_status write_rows(kn_dataset dataset, sqlite3 *db, sqlite3_stmt *s, const char *path)
{
    kn_status status = KN_OK;
    kni_buffer blob = {0};
    for (int64_t i = 0; i < kn_dataset_length(dataset) && status == KN_OK; i++) {
        kn_sample sample;
        status = kn_dataset_get(dataset, i, &sample);
        if (status == KN_OK) status = encode_sample(&sample, &blob);
        kn_sample_drop(&sample);
        if (status != KN_OK) break;
        if (SQL.bind_int64(s, 1, i) != SQLITE_OK ||
            SQL.bind_blob64(s, 2, blob.data, blob.length, SQLITE_STATIC) != SQLITE_OK ||
            SQL.step(s) != SQLITE_DONE || SQL.reset(s) != SQLITE_OK)
            status = sql_failure(db, path, "writing failed");
    }
    kni_buffer_free(&blob);
    return status;
}

kn_status kn_dataset_write_sqlite(kn_dataset dataset, const char *path, const char *table)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return KNI_NO_OBJECT(dataset);
    if (kni_given(path, __func__, "path") != KN_OK || kni_given(table, __func__, "table") != KN_OK)
        return KN_ERROR_ARGUMENT;
    sqlite3 *db;
    sqlite3_stmt *s = NULL;
    kn_status status = open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db);
    if (status != KN_OK) return status;
    status = run_sql(db, path, "BEGIN IMMEDIATE", NULL, "");
    if (status == KN_OK) status = run_sql(db, path, "DROP TABLE IF EXISTS ", table, "");
    if (status == KN_OK)
        status =
            run_sql(db, path, "CREATE TABLE ", table, "(row_id INTEGER PRIMARY KEY, sample BLOB NOT NULL)");
    if (status == KN_OK) status = prepare_named(db, path, "INSERT INTO ", table, " VALUES (?, ?)", &s);
    if (status == KN_OK) status = write_rows(dataset, db, s, path);
    if (s) SQL.finalize(s);
    /* Closing without COMMIT takes everything back. */
    if (status == KN_OK) status = run_sql(db, path, "COMMIT", NULL, "");
    SQL.close_v2(db);
    return status;
}

typedef struct stored {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *statement;
    int64_t length;
    bool has_lock;
    pthread_mutex_t lock; /* one statement, used by one thread at a time */
} stored;

static int64_t stored_length(void *self) { return ((stored *)self)->length; }

static kn_status stored_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    stored *d = self;
    kn_status status;
    pthread_mutex_lock(&d->lock);
    if (SQL.bind_int64(d->statement, 1, index) != SQLITE_OK || SQL.step(d->statement) != SQLITE_ROW)
        status = sql_failure(d->db, d->path, "the row cannot be read");
    else {
        const void *blob = SQL.column_blob(d->statement, 0);
        size_t bytes = (size_t)SQL.column_bytes(d->statement, 0);
        status = decode_sample(blob ? blob : "", blob ? bytes : 0, d->path, index, sample);
    }
    SQL.reset(d->statement);
    pthread_mutex_unlock(&d->lock);
    return status;
}

static void stored_close(void *self)
{
    stored *d = self;
    if (d->statement) SQL.finalize(d->statement);
    if (d->db) SQL.close_v2(d->db);
    if (d->has_lock) pthread_mutex_destroy(&d->lock);
    free(d->path);
    free(d);
}

static const kn_dataset_type stored_type = {"sqlite", stored_length, stored_get, NULL, stored_close, NULL};

static kn_status open_stored(stored *d, const char *path, const char *table)
{
    sqlite3_stmt *count = NULL;
    kn_status status = open_database(path, SQLITE_OPEN_READONLY, &d->db);
    if (status == KN_OK) status = prepare_named(d->db, path, "SELECT count(*) FROM ", table, "", &count);
    if (status == KN_OK && SQL.step(count) != SQLITE_ROW) status = sql_failure(d->db, path, "reading failed");
    if (status == KN_OK) d->length = SQL.column_int64(count, 0);
    if (count) SQL.finalize(count);
    if (status == KN_OK)
        status = prepare_named(d->db, path, "SELECT sample FROM ", table, " WHERE row_id = ?", &d->statement);
    return status;
}

kn_dataset kn_dataset_sqlite_samples(const char *path, const char *table)
{
    KNI_NAMED;
    if (kni_given(path, __func__, "path") != KN_OK || kni_given(table, __func__, "table") != KN_OK)
        return NULL;
    stored *d = calloc(1, sizeof *d);
    if (!d || !(d->path = malloc(strlen(path) + 1))) {
        free(d);
        kni_failure_memory("kn_dataset_sqlite_samples");
        return NULL;
    }
    memcpy(d->path, path, strlen(path) + 1);
    d->has_lock = pthread_mutex_init(&d->lock, NULL) == 0;
    return kni_dataset_finish(&stored_type, d, open_stored(d, path, table));
}

#else

kn_dataset kn_dataset_sqlite(const char *path, const char *query, const kn_table_args *args)
{
    KNI_NAMED;
    (void)args;
    if (kni_given(path, __func__, "path") != KN_OK || kni_given(query, __func__, "query") != KN_OK)
        return NULL;
    return kni_sqlite_library_open(), NULL;
}
kn_status kn_dataset_write_sqlite(kn_dataset dataset, const char *path, const char *table)
{
    KNI_NAMED;
    (void)dataset;
    if (kni_given(path, __func__, "path") != KN_OK || kni_given(table, __func__, "table") != KN_OK)
        return KN_ERROR_ARGUMENT;
    return kni_sqlite_library_open();
}
kn_dataset kn_dataset_sqlite_samples(const char *path, const char *table)
{
    KNI_NAMED;
    if (kni_given(path, __func__, "path") != KN_OK || kni_given(table, __func__, "table") != KN_OK)
        return NULL;
    return kni_sqlite_library_open(), NULL;
}

#endif
