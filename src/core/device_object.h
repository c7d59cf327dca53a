/* An opened device: a stack of backends, its random numbers, and the leaf that decides what mixes. */
#ifndef KNI_DEVICE_OBJECT_H
#define KNI_DEVICE_OBJECT_H

#include "core/platform.h"
#include <kn/backend.h>
#include <stdatomic.h>

struct kn_device_object {
    kn_backend *backend; /* top of the stack */
    kn_backend *leaf;    /* innermost first backend; tensors mix when leaves are of one name */
    /* The first of the stack's inner chain with the trait, NULL: none. */
    kn_backend *tape, *queue;
    bool host;            /* the leaf's tensors lie in host memory */
    const kn_want *wants; /* the leaf's, or what KN_LAYOUT says */
    int32_t n_wants;
    _Atomic bool closed;
    _Atomic uint64_t rng_key, rng_counter;
    char name[128];
    /* core/device.c alone uses these. */
    uint64_t generation;
    uint32_t place;                        /* of its handle, with the generation */
    uint32_t opens;                        /* how often it was opened and not closed */
    uint32_t holders;                      /* open stacks that contain its backend, itself included */
    bool spent;                            /* closed, and another device has its backends */
    bool is_spare, seen;                   /* nothing refers to a spare; seen: by the sweep that finds them */
    struct kn_device_object *next;         /* in the list of all devices */
    struct kn_device_object *next_closed;  /* in the list of stacks that can serve again, or of spares */
    struct kn_device_object **closed_link; /* points at it in the list of stacks; NULL: not listed */
};

/* Inside the library a kn_device is the address of the device. A user's kn_device is a handle: what comes from a user goes
   through kni_device_find or kni_device_given, and what goes to a user through kni_device_handle or kni_device_opened. */

/* The calling thread's device, or the default one; NULL after a failure. */
kn_device kni_device_current(void);
/* The device of a user's handle; NULL after a failure under the function's name when it is closed or none. */
kn_device kni_device_find(kn_device handle, const char *function);
/* The same, with the current device for NULL. */
kn_device kni_device_given(kn_device handle, const char *function);
/* The handle of a device, valid until the device is closed. */
kn_device kni_device_handle(kn_device device);
/* The same for somebody who opens the device and will close it. */
kn_device kni_device_opened(kn_device device);
/* The CPU, opened when it is not open yet. */
kn_device kni_device_cpu(void);
/* Wraps a backend into a device that lives until kn_shutdown; that of a leaf is made once. */
kn_device kni_device_make(kn_backend *backend, const char *name);
void kni_devices_shutdown(void);
/* Devices give back what they keep for later. */
void kni_devices_trim(void);
/* A new device made of a closed stack of this very name, so that opening and closing in a loop takes no memory; NULL when there is
   none that nobody else uses. inner: the backend it must stand around, NULL: any. */
kn_device kni_device_reopen(const char *name, const kn_backend *inner);
/* The key of the device's random numbers; another one while a segment is run again. */
uint64_t kni_rng_key(kn_device device);
/* Reserves n random counters; each gives four 32-bit words. */
uint64_t kni_rng_reserve(kn_device device, uint64_t n);

static inline bool kni_same_leaf(kn_device a, kn_device b) { return a->leaf == b->leaf; }

#endif
