/* Whether matrix products round every multiplication and addition, as processors without a fused one do. */
#ifndef KNI_REPRODUCIBLE_H
#define KNI_REPRODUCIBLE_H

#include <stdbool.h>

/* kn_set_reproducible or KN_REPRODUCIBLE=1. */
bool kni_reproducible(void);

#endif
