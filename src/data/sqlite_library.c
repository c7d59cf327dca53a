/* SQLite, opened at run time. */
#include "data/sqlite_library.h"
#include "support/failure.h"
#include "support/library.h"

#if KNI_HAS_SQLITE
kni_sqlite_functions kni_sqlite;

#define SYMBOL(name)                                                                                         \
    {                                                                                                        \
        "sqlite3_" #name, (void **)(void *)&kni_sqlite.name                                                  \
    }
static const kni_library_symbol symbols[] = {SYMBOL(open_v2),
                                             SYMBOL(close_v2),
                                             SYMBOL(errmsg),
                                             SYMBOL(exec),
                                             SYMBOL(prepare_v2),
                                             SYMBOL(finalize),
                                             SYMBOL(step),
                                             SYMBOL(reset),
                                             SYMBOL(stmt_readonly),
                                             SYMBOL(column_count),
                                             SYMBOL(column_name),
                                             SYMBOL(column_type),
                                             SYMBOL(column_int64),
                                             SYMBOL(column_double),
                                             SYMBOL(column_blob),
                                             SYMBOL(column_bytes),
                                             SYMBOL(bind_int64),
                                             SYMBOL(bind_blob64),
                                             {0}};
static kni_library library = {KNI_LIBRARY_SQLITE, "reading SQLite files", symbols, 0};

kn_status kni_sqlite_library_open(void) { return kni_library_open(&library); }
#else
kn_status kni_sqlite_library_open(void)
{
    return kni_failure(
        KN_ERROR_UNSUPPORTED,
        "this build reads no SQLite files: sqlite3.h was absent (Debian: apt install libsqlite3-dev)");
}
#endif
