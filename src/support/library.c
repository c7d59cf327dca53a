/* Opens system libraries at run time and finds their functions, once for all threads. */
#include "support/library.h"
#include "core/objects.h"
#include "support/failure.h"
#ifndef __wasi__
#include <dlfcn.h>
#include <string.h>
#endif

static kn_status library_absent(const kni_library *library)
{
    const kni_library_names *names = &kni_libraries[library->id];
    return kni_failure(KN_ERROR_UNSUPPORTED, "%s needs %s (Debian: apt install %s)", library->purpose,
                       names->files[0], names->package);
}

#ifdef __wasi__
kn_status kni_library_open(kni_library *library) { return library_absent(library); }
#else
static kn_status find_symbols(kni_library *library, void *handle, const char *file)
{
    for (const kni_library_symbol *s = library->symbols; s->name; s++) {
        void *address = dlsym(handle, s->name);
        if (!address)
            return kni_failure(KN_ERROR_UNSUPPORTED, "%s: the library %s has no function '%s'",
                               library->purpose, file, s->name);
        memcpy(s->address, &address, sizeof address);
    }
    return KN_OK;
}

static kn_status open_locked(kni_library *library)
{
    if (library->state) return KN_OK;
    const kni_library_names *names = &kni_libraries[library->id];
    for (const char *const *file = names->files; *file; file++) {
        void *handle = kni_library_load(names, *file);
        if (!handle) continue;
        kn_status status = find_symbols(library, handle, *file);
        if (status)
            dlclose(handle);
        else
            __atomic_store_n(&library->state, 1, __ATOMIC_RELEASE);
        return status;
    }
    return library_absent(library);
}

/* A failure is not remembered: it costs little, and its text has to be set again anyway. */
kn_status kni_library_open(kni_library *library)
{
    if (__atomic_load_n(&library->state, __ATOMIC_ACQUIRE)) return KN_OK;
    kni_once_begin();
    kn_status status = open_locked(library);
    kni_once_end();
    return status;
}
#endif
