/* What is alive, for those who look after what tensors refer to. */
#ifndef KNI_LIVE_H
#define KNI_LIVE_H

#include <kn/base.h>

/* Gives the device of every tensor that is alive to see(), also of those that only tapes refer to. True where one is on a tape.
   For a thread that is alone. */
bool kni_live_devices(void (*see)(kn_device device));

#endif
