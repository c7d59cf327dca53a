/* Arguments that must be there: one text for all of them. */
#ifndef KNI_SUPPORT_ARGUMENT_H
#define KNI_SUPPORT_ARGUMENT_H

#include <kn/base.h>

/* KN_ERROR_ARGUMENT with the text "FUNCTION: the NAME is NULL" where it is, else KN_OK. */
kn_status kni_given(const void *argument, const char *function, const char *name);

#endif
