/* JSON lines of any bytes, with columns of every kind and with those of the first line. */
#include "data/data_table.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const char *text, size_t size, const kn_table_args *args)
{
    kni_data_table *table = kni_data_table_make("fuzz.jsonl", args);
    kn_status status = KN_OK;
    int64_t line = 1;
    for (size_t at = 0; at < size && status == KN_OK; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) - at : size - at;
        status = kni_json_line(table, text + at, n, "fuzz.jsonl", line);
        at += n + 1;
    }
    kn_dataset d = kni_data_table_finish(table, status);
    kn_sample sample;
    if (d && kn_dataset_length(d) > 0 && kn_dataset_get(d, kn_dataset_length(d) - 1, &sample) == KN_OK)
        kn_sample_drop(&sample);
    kn_dataset_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const kn_column columns[] = {{.name = "x", .missing = KN_MISSING_FILL},
                                        {.name = "label", .kind = KN_COLUMN_CATEGORY},
                                        {.name = "bag", .kind = KN_COLUMN_INT, .list = true},
                                        {.name = "text", .kind = KN_COLUMN_TEXT, .missing = KN_MISSING_SKIP}};
    parse((const char *)data, size, &(kn_table_args){.columns = columns, .n_columns = 4});
    parse((const char *)data, size, NULL);
    return 0;
}
