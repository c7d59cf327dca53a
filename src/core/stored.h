/* How a tensor gets into what outlives the call: params, gradients, samples, states. */
#ifndef KNI_CORE_STORED_H
#define KNI_CORE_STORED_H

#include <kn/base.h>

/* An owned tensor with the value of t, for whoever stores it: t itself where it is a temporary, else an alias, so that the
   caller's tensor and the stored one end independently. Poisoned on failure. */
kn_tensor kni_stored(kn_tensor t);

#endif
