/* The list of values beside params. */
#include "optim/param_list.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <kn/update.h>
#include <stdlib.h>

void kni_param_list_free(kni_param_list *list)
{
    for (int64_t i = 0; i < list->n; i++) kn_param_drop(&list->at[i].value);
    free(list->at);
    *list = (kni_param_list){0};
}

kn_param *kni_param_list_find(const kni_param_list *list, kn_tensor leaf, int64_t *hint)
{
    for (int64_t k = 0; k < list->n; k++) {
        int64_t i = (*hint + k) % list->n;
        if (list->at[i].leaf.bits != leaf.bits) continue;
        *hint = i + 1;
        return &list->at[i].value;
    }
    return NULL;
}

kn_status kni_param_list_add(kni_param_list *list, kn_tensor leaf, kn_tensor value, const char *function)
{
    kn_status s = kni_failure_of(value);
    if (s) return s;
    if (list->n == list->room) {
        int64_t room = list->room ? list->room * 2 : 16;
        struct kni_param_pair *at = realloc(list->at, (size_t)room * sizeof *at);
        if (!at) return kni_failure_memory(function);
        list->at = at;
        list->room = room;
    }
    kn_param made = kn_param_make(value);
    s = kni_failure_of(kn_value(made));
    if (s) return s;
    kn_param_freeze(&made, true);
    list->at[list->n].leaf = leaf;
    list->at[list->n++].value = made;
    return KN_OK;
}

kn_status kni_param_add(kn_param *value, kn_tensor term, double factor)
{
    return kn_sgd_update(value, term, NULL, &(kn_sgd_update_args){.lr = -factor, .scale = KN_NONE});
}
