/* The functions of SQLite that are used, opened at run time. */
#ifndef KNI_DATA_SQLITE_LIBRARY_H
#define KNI_DATA_SQLITE_LIBRARY_H

#include <kn/base.h>

#if __has_include(<sqlite3.h>)
#define KNI_HAS_SQLITE 1
#include <sqlite3.h>

typedef struct kni_sqlite_functions {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close_v2)(sqlite3 *);
    const char *(*errmsg)(sqlite3 *);
    int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*finalize)(sqlite3_stmt *);
    int (*step)(sqlite3_stmt *);
    int (*reset)(sqlite3_stmt *);
    int (*stmt_readonly)(sqlite3_stmt *);
    int (*column_count)(sqlite3_stmt *);
    const char *(*column_name)(sqlite3_stmt *, int);
    int (*column_type)(sqlite3_stmt *, int);
    sqlite3_int64 (*column_int64)(sqlite3_stmt *, int);
    double (*column_double)(sqlite3_stmt *, int);
    const void *(*column_blob)(sqlite3_stmt *, int);
    int (*column_bytes)(sqlite3_stmt *, int);
    int (*bind_int64)(sqlite3_stmt *, int, sqlite3_int64);
    int (*bind_blob64)(sqlite3_stmt *, int, const void *, sqlite3_uint64, void (*)(void *));
} kni_sqlite_functions;

extern kni_sqlite_functions kni_sqlite;
#else
#define KNI_HAS_SQLITE 0
#endif

/* Opens the library, or says how to get it. */
kn_status kni_sqlite_library_open(void);

#endif
