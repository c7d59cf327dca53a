/* AG News: CSV files without a header, whose columns are the class (1 to 4), the title and the description. */
#include "data/data_internal.h"
#include <string.h>

/* Moves the label behind the texts and counts it from 0. */
static kn_status put_label_last(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    int64_t label = kn_item_int(sample->fields[0]);
    if (label < 1 || label > 4)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: class %lld is not 1 to 4", (const char *)context,
                           (long long)label);
    kn_drop(sample->fields[0]);
    memmove(sample->fields, sample->fields + 1, 2 * sizeof *sample->fields);
    sample->n = 2;
    return kn_sample_add(sample, kn_scalar_int(label - 1, KN_I64));
}

kn_dataset kn_dataset_ag_news(const char *folder, const char *split)
{
    static const kn_column columns[] = {{.name = "1", .kind = KN_COLUMN_INT},
                                        {.name = "2", .kind = KN_COLUMN_TEXT},
                                        {.name = "3", .kind = KN_COLUMN_TEXT}};
    if (strcmp(split, "train") && strcmp(split, "test")) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_ag_news: the split is 'train' or 'test', not '%s'", split);
        return NULL;
    }
    kni_buffer path = {0};
    kni_buffer_format(&path, "%s/%s.csv", folder, split);
    kn_dataset table = NULL;
    if (path.failed)
        kni_failure_memory("kn_dataset_ag_news");
    else if (!kni_file_exists(path.data))
        kni_failure(KN_ERROR_IO, "%s: there is no such file; 'kiln data ag_news' says where to get it",
                    path.data);
    else
        table = kn_dataset_csv(path.data,
                               &(kn_table_args){.columns = columns, .n_columns = 3, .no_header = true});
    kni_buffer_free(&path);
    static char name[] = "kn_dataset_ag_news";
    kn_dataset made = kn_dataset_map(table, put_label_last, name);
    kn_dataset_free(table);
    return made;
}
