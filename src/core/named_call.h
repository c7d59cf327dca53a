/* Public functions made of ops, such as a layer's forward function. */
#ifndef KNI_NAMED_CALL_H
#define KNI_NAMED_CALL_H

#include <kn/tensor.h>

/* First in such a function: until it returns, ops are its parts. Failures have its name and the line of its caller, also those that a
   queue finds late. */
#define KNI_NAMED_CALL                                                                                       \
    __attribute__((cleanup(kni_named_call_leave), unused)) kni_named_call kni_this_named_call =              \
        kni_named_call_enter(__func__)

typedef struct kni_named_call {
    const char *name; /* what both were before */
    kn_device device;
} kni_named_call;
kni_named_call kni_named_call_enter(const char *function);
void kni_named_call_leave(kni_named_call *before);

#endif
