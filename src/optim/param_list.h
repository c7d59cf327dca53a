/* Values kept beside the params of a module, found by the param: averages and sums. Each is a frozen param of its own, so that
   the in-place updates work on it. */
#ifndef KNI_OPTIM_PARAM_LIST_H
#define KNI_OPTIM_PARAM_LIST_H

#include <kn/nn/module.h>

typedef struct kni_param_list {
    struct kni_param_pair {
        kn_tensor leaf; /* the param's handle; not owned */
        kn_param value;
    } * at;
    int64_t n, room;
} kni_param_list;

void kni_param_list_free(kni_param_list *list);
/* The value that belongs to the param, or NULL. Params come in the order in which they were added, so that a walk in the same
   order finds each at the hint. */
kn_param *kni_param_list_find(const kni_param_list *list, kn_tensor leaf, int64_t *hint);
/* Adds a value, which is taken. */
kn_status kni_param_list_add(kni_param_list *list, kn_tensor leaf, kn_tensor value, const char *function);
/* value = value + factor term, in place where nothing else refers to it. */
kn_status kni_param_add(kn_param *value, kn_tensor term, double factor);

#endif
