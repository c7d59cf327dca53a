/* AG News: CSV files without a header, whose columns are the class (1 to 4), the title and the description. */
#include "data/data_internal.h"
#include <stdlib.h>
#include <string.h>

static int64_t news_length(void *self) { return kn_dataset_length(self); }

/* The label comes behind the texts and counts from 0. */
static kn_status news_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    kn_status status = kn_dataset_get_keyed(self, index, key, sample);
    if (status != KN_OK) return status;
    int64_t label = kn_item_int(sample->fields[0]);
    kn_drop(sample->fields[0]);
    memmove(sample->fields, sample->fields + 1, 2 * sizeof *sample->fields);
    sample->n = 2;
    if (label < 1 || label > 4)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_ag_news: row %lld has class %lld, not 1 to 4",
                           (long long)index + 1, (long long)label);
    return kn_sample_add(sample, kn_scalar_int(label - 1, KN_I64));
}

static void news_close(void *self) { kn_dataset_free(self); }

static const char *news_name_at(void *self, int64_t index)
{
    static const char *const names[] = {"World", "Sports", "Business", "Sci/Tech"};
    (void)self;
    return index < 4 ? names[index] : NULL;
}

static const kn_dataset_type news_type = {"ag_news", news_length, news_get, NULL, news_close, news_name_at};

kn_dataset kn_dataset_ag_news(const char *folder, const char *split)
{
    KNI_NAMED;
    if (kni_given(folder, __func__, "folder") != KN_OK || kni_given(split, __func__, "split") != KN_OK)
        return NULL;
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
    return table ? kn_dataset_make(&news_type, table) : NULL;
}
