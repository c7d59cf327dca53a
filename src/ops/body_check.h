/* What the text of a body alone does not show: whether its steps have a meaning where it computes. */
#ifndef KNI_BODY_CHECK_H
#define KNI_BODY_CHECK_H

#include "ops/body.h"

/* NULL where every step has a meaning on integers and on floats, as far as the body meets them; else what is wrong, and the
   step that it is wrong with. */
const char *kni_body_meaningless(const kni_body *body, bool integers, bool floats, int *step);

#endif
