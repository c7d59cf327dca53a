/* An opened device: a stack of backends, its random numbers, and the leaf that decides what mixes. */
#ifndef KNI_DEVICE_OBJECT_H
#define KNI_DEVICE_OBJECT_H

#include "core/platform.h"
#include <kn/backend.h>
#include <stdatomic.h>

struct kn_device_object {
    kn_backend *backend; /* top of the stack */
    kn_backend *leaf;    /* innermost first backend; tensors mix when leaves are of one name */
    kn_backend *queue;   /* the decorator of the stack that runs records later, NULL: they run at once */
    bool tapes;          /* an autodiff decorator is on top */
    bool host;           /* the leaf's tensors lie in host memory */
    _Atomic bool closed;
    _Atomic uint64_t rng_key, rng_counter;
    char name[128];
    struct kn_device_object *next; /* in the list of all devices */
};

/* control(queue, KNI_CONTROL_SUBMIT, NULL) runs all that a device's queue holds. */
#define KNI_CONTROL_SUBMIT "submit"

/* The argument of the control requests that ask for text. */
typedef struct kni_report {
    char *buffer;
    size_t bytes, length;
} kni_report;

/* The calling thread's device, or the default one; NULL with the failure told. */
kn_device kni_device_current(void);
/* Whether it is in the list of devices; the failure is told under the function's name when not. */
bool kni_device_known(kn_device device, const char *function);
/* The device, or the current one for NULL; NULL with the failure told when it is no device. */
kn_device kni_device_given(kn_device device, const char *function);
/* Wraps a backend into a device that lives until kn_shutdown. */
kn_device kni_device_make(kn_backend *backend, const char *name);
void kni_devices_shutdown(void);
/* Devices give back what they keep for later. */
void kni_devices_trim(void);
/* A closed device of this very name that can serve again, NULL when there is none. */
kn_device kni_device_reopen(const char *name);
/* The key of the device's random numbers; another one while a segment is run again. */
uint64_t kni_rng_key(kn_device device);
/* Reserves n random counters; each gives four 32-bit words. */
uint64_t kni_rng_reserve(kn_device device, uint64_t n);

static inline bool kni_same_leaf(kn_device a, kn_device b) { return a->leaf == b->leaf; }

#endif
