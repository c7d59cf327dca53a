/* Takes the functions of runtime_api.h out of a library. */
#include "backend/runtime/runtime_api.h"
#include "core/platform.h"
#include <string.h>
#if KNI_THREADS
#include <dlfcn.h>

const char *kni_runtime_find(void *handle, const kni_runtime_symbol *symbols, size_t count, void *api)
{
    for (size_t i = 0; i < count; i++) {
        if (!symbols[i].name) continue;
        void *address = dlsym(handle, symbols[i].name);
        if (!address) return symbols[i].name;
        memcpy((char *)api + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

void kni_runtime_find_some(void *handle, const kni_runtime_symbol *symbols, size_t count, void *api)
{
    for (size_t i = 0; i < count; i++) {
        if (!symbols[i].name) continue;
        void *address = dlsym(handle, symbols[i].name);
        memcpy((char *)api + symbols[i].offset, &address, sizeof address);
    }
}
#endif
