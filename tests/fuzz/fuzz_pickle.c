/* Fuzzes the pickle machine and the walk over its values, without a file around them. */
#include "fuzz.h"
#include "store/pytorch.h"
#include <stdlib.h>

static kn_status locate(kni_pytorch *f, const kni_pickle_storage *storage, kni_storage_place *place)
{
    (void)storage;
    *place = (kni_storage_place){0, f->store->source->bytes, -1};
    return KN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    kni_source *source = kni_source_memory(data, bytes);
    kni_store store = {.source = source, .limit = 1 << 16};
    kni_pickle p = {.data = data, .bytes = bytes, .source = source, .persistent = kni_pytorch_storage};
    kni_pytorch f = {.store = &store, .pickle_size = bytes, .locate = locate};
    const kni_pickle_value *root = kni_pickle_run(&p);
    if (root) kni_pytorch_list(&f, root);
    kni_pickle_free(&p);
    for (int64_t i = 0; i < store.count; i++) free(store.items[i].name);
    for (int64_t i = 0; i < store.text_count; i++) {
        free(store.texts[i].name);
        free(store.texts[i].text);
    }
    free(store.items);
    free(store.texts);
    kni_source_release(source);
    return 0;
}
