/* The failure of an argument that is NULL. */
#include "support/argument.h"
#include "support/failure.h"

kn_status kni_given(const void *argument, const char *function, const char *name)
{
    return argument ? KN_OK : kni_failure(KN_ERROR_ARGUMENT, "%s: the %s is NULL", function, name);
}
