/* What users write as patterns is compiled here, and what is wrong with it becomes a text. */
#include "support/pattern.h"
#include "support/failure.h"
#include "support/library.h"
#include <string.h>

kn_status kni_pattern_compile(regex_t *pattern, const char *text, int flags, const char *function)
{
    char why[120] = "";
    int bad = regcomp(pattern, text, REG_EXTENDED | flags);
    kni_library_wrote(pattern, sizeof *pattern);
    if (!bad) return KN_OK;
    regerror(bad, pattern, why, sizeof why);
    kni_library_wrote(why, sizeof why);
    return kni_failure(KN_ERROR_ARGUMENT, "%s: the pattern '%.200s' is no regular expression: %s", function,
                       text, why);
}
