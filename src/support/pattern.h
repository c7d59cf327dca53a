/* Extended regular expressions that users write, compiled in one place. */
#ifndef KNI_SUPPORT_PATTERN_H
#define KNI_SUPPORT_PATTERN_H

#include <kn/base.h>
#include <regex.h>

/* flags: REG_NOSUB or 0. Freed with regfree after KN_OK. KN_ERROR_ARGUMENT: the text names the function and what is wrong
   with the pattern. */
kn_status kni_pattern_compile(regex_t *pattern, const char *text, int flags, const char *function);

#endif
