/* Fuzzes the reader of JSON. */
#include "fuzz.h"
#include "support/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    kni_json_document document = kni_json_parse((const char *)data, bytes, "fuzz");
    const kni_json *root = kni_json_root(document);
    if (root) (void)kni_json_member(root, "a");
    kni_json_free(document);
    return 0;
}
