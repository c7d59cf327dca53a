/* The walk over a module's fields that the module functions share. */
#ifndef KNI_NN_MODULE_WALK_H
#define KNI_NN_MODULE_WALK_H

#include <kn/nn/module.h>

typedef struct kni_walk kni_walk;
struct kni_walk {
    /* For every field but modules; address is the member's. NULL skips them. */
    kn_status (*field)(kni_walk *w, kn_module owner, const kn_field *field, void *address);
    /* For every module, before its fields (leave: after them). */
    kn_status (*enter)(kni_walk *w, kn_module module);
    kn_status (*leave)(kni_walk *w, kn_module module);
    void *context;
    const char *function; /* for messages */
    char path[KN_MAX_PATH];
    size_t length;
    int32_t depth;
    const kn_module_type *type,
        *parent; /* of the module whose fields are met now, and of the one around it */
};

kn_status kni_walk_module(kni_walk *w, kn_module module);
/* kn_module_visit for other functions, whose name the messages have then. */
kn_status kni_module_visit(kn_module module, kn_module_visit_fn fn, void *context, const char *function);

/* The modules behind a MODULE, ARRAY, LIST or OPTIONAL field; 0 for other fields. */
int64_t kni_field_modules(const kn_field *field, void *self, void **first);
/* Bytes of the member itself. */
size_t kni_field_bytes(const kn_field *field);

/* The params met so far by their handles. */
typedef struct kni_seen {
    struct kni_seen_slot {
        uint64_t bits;
        kn_param *first;
    } * slots;
    size_t count; /* a power of two, at least twice the number of params */
} kni_seen;

/* Makes room for all params of the module. */
kn_status kni_seen_make(kni_seen *seen, kn_module module, const char *function);
void kni_seen_free(kni_seen *seen);
/* The param that had this handle first, or NULL after noting that param is the first. */
kn_param *kni_seen_before(kni_seen *seen, kn_param *param);

/* Whether an optimiser would train the param: it is on an autodiff device and not frozen. */
bool kni_is_trainable(const kn_param *param);

#endif
