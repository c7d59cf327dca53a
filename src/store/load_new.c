/* kn_load_new: the params of a module that has none yet, from a file. */
#include "store/store_object.h"
#include "support/failure.h"
#include <kn/store.h>
#include <kn/tensor.h>

static kn_tensor tensor_at(void *context, const char *path)
{
    int64_t index = kn_store_find(context, path);
    if (index >= 0) return kn_store_tensor(context, index);
    return kni_poisoned(KN_ERROR_IO, "kn_load_new: the file has no tensor called '%.200s'", path);
}

kn_status kn_load_new(kn_module module, kn_store store)
{
    KNI_USE(store, file, store);
    return file ? kn_module_fill(module, tensor_at, store) : KNI_NO_OBJECT(store);
}
