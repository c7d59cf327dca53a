/* The table behind all handles of objects (a store, an optimiser, a loader ...). A handle looks like a pointer but is
   never followed: it names a slot and the slot's generation, so that what was freed, belongs to another kind or is
   garbage is an error and no crash. Every part of the library may include this header; it needs only the public types. */
#ifndef KNI_OBJECTS_H
#define KNI_OBJECTS_H

#include <kn/base.h>

/* What one kind of object is called in messages, and how one ends. */
typedef struct kni_object_kind {
    const char *type;              /* "kn_store" */
    const char *noun;              /* "the store was" */
    const char *ended;             /* "closed" */
    void (*destroy)(void *object); /* when its handle has ended and nobody uses it any more */
} kni_object_kind;

/* Each is defined by the part that makes such objects. */
extern const kni_object_kind kni_kind_grads, kni_kind_program, kni_kind_builder, kni_kind_user_kernel;
extern const kni_object_kind kni_kind_state, kni_kind_store;
extern const kni_object_kind kni_kind_optim, kni_kind_accumulator, kni_kind_ema, kni_kind_schedule;
extern const kni_object_kind kni_kind_dataset, kni_kind_loader;
extern const kni_object_kind kni_kind_onnx, kni_kind_onnx_datum;
extern const kni_object_kind kni_kind_metric, kni_kind_renderer, kni_kind_learner;

/* A new handle for the object. Without memory it destroys the object and returns NULL after a failure. */
void *kni_object_make(const kni_object_kind *kind, void *object, const char *function);

/* An object in use: it is not destroyed before the use ends, also where it is freed meanwhile by a callback or by
   another thread; its handle ends at once. */
typedef struct kni_object_use {
    void *object; /* NULL, with the failure told: there is no such object */
    void *slot;
    const char *function; /* whose name goes before failures told meanwhile that name no function */
    uint64_t failure;     /* the thread's latest one at the beginning */
} kni_object_use;
kni_object_use kni_object_enter(const void *handle, const kni_object_kind *kind, const char *function);
void kni_object_leave(kni_object_use *use);

/* Declares `name`, a kni_KIND pointer that is NULL where the handle is no good, in use until the block ends. For public
   functions: __func__ is the name in the message. */
#define KNI_USE(kind, name, handle)                                                                          \
    __attribute__((cleanup(kni_object_leave))) kni_object_use name##_use =                                   \
        kni_object_enter((handle), &kni_kind_##kind, __func__);                                              \
    kni_##kind *name = name##_use.object
/* The same for an object of another part: name is a bool. */
#define KNI_USE_OTHER(kind, name, handle)                                                                    \
    __attribute__((cleanup(kni_object_leave))) kni_object_use name##_use =                                   \
        kni_object_enter((handle), &kni_kind_##kind, __func__);                                              \
    bool name = name##_use.object != NULL
/* For public functions without an object: failures inside that name no function get this one's name, as in KNI_USE. */
#define KNI_NAMED                                                                                            \
    __attribute__((cleanup(kni_object_leave), unused)) kni_object_use kni_named_use =                        \
        kni_object_none(__func__)
kni_object_use kni_object_none(const char *function);
/* For public functions that end tensors for the user: the message of a later use names this function and its line, not kn_drop.
   It stands before KNI_USE. */
#define KNI_ENDS                                                                                             \
    __attribute__((cleanup(kni_ends_leave), unused)) const char *kni_ends_before = kni_ends_enter(__func__)
const char *kni_ends_enter(const char *function);
void kni_ends_leave(const char **before);
/* An owned tensor that another thread has made is handed to the caller's: its line is that of the call in progress. */
void kni_tensor_handed(kn_tensor t);

/* The status of a handle that is no good. */
#define KNI_NO_OBJECT(handle) ((handle) ? KN_ERROR_HANDLE : KN_ERROR_ARGUMENT)

/* A device's handle has rules of its own (core/device.c). False, with the failure told under the function's name, where
   it is closed or none. */
bool kni_device_is_open(kn_device device, const char *function);
/* By the traits of its stack; false, with nothing told, where the device is closed or NULL. */
bool kni_device_tapes(kn_device device);   /* notes what gradients need */
bool kni_device_on_host(kn_device device); /* its tensors lie in host memory */

/* A lock around what is done once in a process, such as loading a library, which fork() waits for. */
void kni_once_begin(void);
void kni_once_end(void);

/* Acts on the object of a good handle by atomics alone, for signal handlers. False, with nothing told, for others. */
bool kni_object_signal(const void *handle, const kni_object_kind *kind, void (*act)(void *object));

/* The text of the thread's latest failure, for a failure that tells it in other words or to other people: the older one is
   not logged by itself any more. Good until the thread's next failure. */
const char *kni_failure_taken(void);
/* The number of the thread's latest failure, 0 before the first; each has another one. */
uint64_t kni_error_number(void);
/* The thread's latest failure says why a device does not run a record, and is none if something else runs it: it is not logged by
   itself, and kni_error_excused() holds until the next failure. */
void kni_error_excuse(void);
bool kni_error_excused(void);
/* The code of the thread's latest failure. */
kn_status kni_latest_code(void);
/* The status that a function of the user's returned, `before` being kni_error_number() before it ran. A failure without a text gets
   one that names the function, so that no older one is taken for it. */
kn_status kni_told(uint64_t before, kn_status status, const char *function);
/* The text to look at: it is still logged when its call ends. */
const char *kni_failure_latest(void);
/* kn_error_text for use inside the library: what has just failed is not logged before its line is there, and a text that is cut
   ends after a word. */
size_t kni_error_text(kn_tensor t, char *buffer, size_t n);
/* The status of a handle: what a bad one carries becomes the thread's latest failure again, not a second one. */
kn_status kni_failure_again(kn_tensor t);
/* A failure that has just been told inside gets the name of the function that was called; one that has a line keeps its name. */
void kni_error_renamed_by(const char *function);

/* What the public function that frees objects does. NULL is nothing, and so is what kn_shutdown has freed; a handle that
   is no good, and an object that belongs to another one, is a failure and frees nothing. */
void kni_object_free(const void *handle, const kni_object_kind *kind, const char *function);

/* Whether kn_shutdown has ended the handle, or something else had before: it is nobody's to free. */
bool kni_object_is_older(const void *handle);

/* Makes the object part of another one, whose type is given: the user can go on using it, but only
   kni_object_free_adopted frees it. NULL after a failure. */
void *kni_object_adopt(const void *handle, const kni_object_kind *kind, const char *owner,
                       const char *function);
/* by: the public function that frees the owner. */
void kni_object_free_adopted(const void *handle, const kni_object_kind *kind, const char *by);
/* Frees what a function that has failed was to adopt; nothing, and no second failure, where that is another's or bad. */
void kni_object_discard(const void *handle, const kni_object_kind *kind, const char *by);

#endif
