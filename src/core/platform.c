/* The environment, which freestanding targets do not have. */
#include "core/platform.h"

#ifdef KN_FREESTANDING
const char *kni_environment(const char *name)
{
    (void)name;
    return 0;
}
#else
#include <stdlib.h>
const char *kni_environment(const char *name)
{
    return getenv(name);
}
#endif
