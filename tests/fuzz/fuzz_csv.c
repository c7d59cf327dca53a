/* CSV of any bytes, whole and in two pieces, with columns of every kind. The first byte chooses the pieces. */
#include "data/data_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const char *text, size_t size, size_t cut, const kn_table_args *args)
{
    kni_data_table *table = kni_data_table_make("fuzz.csv", args);
    kni_csv *csv = kni_csv_make(table, "fuzz.csv", args);
    kn_status status = kni_csv_feed(csv, text, cut);
    if (status == KN_OK) status = kni_csv_feed(csv, text + cut, size - cut);
    if (status == KN_OK) status = kni_csv_finish(csv);
    kni_csv_free(csv);
    kn_dataset d = kni_data_table_finish(table, status);
    kn_sample sample;
    if (d && kn_dataset_length(d) > 0 && kn_dataset_get(d, kn_dataset_length(d) - 1, &sample) == KN_OK)
        kn_sample_drop(&sample);
    kn_dataset_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const kn_column columns[] = {{.kind = KN_COLUMN_TEXT},
                                        {.kind = KN_COLUMN_CATEGORY, .missing = KN_MISSING_SKIP},
                                        {.kind = KN_COLUMN_REAL64, .missing = KN_MISSING_FILL},
                                        {.kind = KN_COLUMN_INT, .missing = KN_MISSING_FILL}};
    if (!size) return 0;
    const char *text = (const char *)data + 1;
    size_t cut = data[0] % size;
    for (int32_t n = 1; n <= 4; n++)
        parse(text, size - 1, cut, &(kn_table_args){.columns = columns, .n_columns = n});
    parse(text, size - 1, cut, NULL);
    parse(text, size - 1, cut, &(kn_table_args){.no_header = true, .delimiter = ';'});
    return 0;
}
