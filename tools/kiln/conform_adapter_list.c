/* The adapters of all families. A family whose file is not linked is a null pointer: the references are weak. */
#include "conform_adapter.h"
#include <string.h>

#define FAMILIES(FAMILY)                                                                                     \
    FAMILY(elementwise)                                                                                      \
    FAMILY(activation)                                                                                       \
    FAMILY(shape)                                                                                            \
    FAMILY(creation)                                                                                         \
    FAMILY(indexing)                                                                                         \
    FAMILY(reduce)                                                                                           \
    FAMILY(scan)                                                                                             \
    FAMILY(sort)                                                                                             \
    FAMILY(contraction)                                                                                      \
    FAMILY(attention)                                                                                        \
    FAMILY(functional)                                                                                       \
    FAMILY(loss)                                                                                             \
    FAMILY(spatial)                                                                                          \
    FAMILY(window)                                                                                           \
    FAMILY(image)                                                                                            \
    FAMILY(linalg)                                                                                           \
    FAMILY(composites)                                                                                       \
    FAMILY(signal)                                                                                           \
    FAMILY(further)                                                                                          \
    FAMILY(random)                                                                                           \
    FAMILY(custom)                                                                                           \
    FAMILY(quantize)                                                                                         \
    FAMILY(autodiff)

#define FAMILY(name) extern const kiln_adapter kiln_adapters_##name[] __attribute__((weak));
FAMILIES(FAMILY)
#undef FAMILY

const kiln_adapter *kiln_adapter_find(const char *name)
{
#define FAMILY(family) kiln_adapters_##family,
    const kiln_adapter *const families[] = {FAMILIES(FAMILY)};
#undef FAMILY
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const kiln_adapter *a = families[f]; a && a->name; a++)
            if (!strcmp(a->name, name)) return a;
    return NULL;
}
