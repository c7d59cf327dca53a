/* Custom ops by name, and making rows at run time. */
#ifndef KNI_CUSTOM_ROWS_H
#define KNI_CUSTOM_ROWS_H

#include "ops/op.h"

enum { KNI_CUSTOM_NAME = 48 }; /* of a name, with its end */

const kn_op *kni_custom_by_name(const char *name);
/* The attributes of a call that names none; NULL: zeros. */
const void *kni_custom_defaults(const kn_op *row);

/* Whether a new row may have this name; failures begin with the function's. */
kn_status kni_custom_check_name(const char *function, const char *name);
/* Gives the row a number, for as long as the program runs. Fails where the name is taken or there are too many. */
kn_status kni_custom_add(const char *function, kn_op *row, const void *defaults);
/* The same for a row that nobody calls by name. False: there are too many. */
bool kni_custom_number(kn_op *row);

#endif
