/* Typed columns in memory, filled row by row by the readers of CSV, JSON lines and SQLite. */
#ifndef KNI_DATA_DATA_TABLE_H
#define KNI_DATA_DATA_TABLE_H

#include "data/data_internal.h"

typedef enum kni_cell_kind {
    KNI_CELL_MISSING,
    KNI_CELL_TEXT, /* also what is to be read as a number */
    KNI_CELL_INT,
    KNI_CELL_REAL,
    KNI_CELL_LIST /* numbers[count] */
} kni_cell_kind;

/* An element of a list; integers stay exact. */
typedef struct kni_list_number {
    double real;
    int64_t integer;
    bool whole; /* integer is its value */
} kni_list_number;

/* What a reader found in a row for one column; texts and numbers are borrowed. */
typedef struct kni_cell {
    kni_cell_kind kind;
    const char *text;
    size_t length; /* of the text, or of the list */
    int64_t integer;
    double real;
    const kni_list_number *numbers;
} kni_cell;

typedef struct kni_data_table kni_data_table;

/* name: the file, for messages. */
kni_data_table *kni_data_table_make(const char *name, const kn_table_args *args);
/* True while the columns are not known: all columns of the source are wanted. Give them before the first row. */
bool kni_data_table_wants_columns(const kni_data_table *table);
kn_status kni_data_table_add_column(kni_data_table *table, const char *name, size_t length);
/* The name that a header gives to a column that was asked for by its place. */
kn_status kni_data_table_name_column(kni_data_table *table, int32_t at, const char *name, size_t length);
int32_t kni_data_table_columns(const kni_data_table *table);
/* The name asked for, or NULL for the column at its place. */
const char *kni_data_table_column_asked(const kni_data_table *table, int32_t column);
/* Its name, asked for or given by the source, or NULL. */
const char *kni_data_table_column_name(const kni_data_table *table, int32_t column);
/* True when no columns were asked for: the table has those of the source. */
bool kni_data_table_all_columns(const kni_data_table *table);
/* The failure of a name that was asked for and stands in the source more than once; line 0: none. */
kn_status kni_data_table_column_twice(const char *file, int64_t line, const char *name);
bool kni_data_table_column_is_list(const kni_data_table *table, int32_t column);
/* Adds a row of one cell for each column; line is for messages (0: the rows are counted). */
kn_status kni_data_table_add_row(kni_data_table *table, const kni_cell *cells, int64_t line);
/* "NAME:line: column 'age': ..." as a failure. */
kn_status kni_data_table_failure(const kni_data_table *table, int64_t line, int32_t column, const char *what,
                                 const char *text, size_t length);
/* The data set of it, or NULL when status is a failure; the table is taken over. */
kn_dataset kni_data_table_finish(kni_data_table *table, kn_status status);
void kni_data_table_free(kni_data_table *table);

/* ---- parsers that fill a table */

typedef struct kni_csv kni_csv;
kni_csv *kni_csv_make(kni_data_table *table, const char *name, const kn_table_args *args);
kn_status kni_csv_feed(kni_csv *csv, const char *data, size_t bytes);
kn_status kni_csv_finish(kni_csv *csv);
void kni_csv_free(kni_csv *csv);
/* One line without its end. */
kn_status kni_json_line(kni_data_table *table, const char *line, size_t bytes, const char *name,
                        int64_t number);

#endif
