/* What a trace has met: its values by the handles and by the elements that they had. */
#ifndef KNI_TRACE_MET_H
#define KNI_TRACE_MET_H

#include "program/program_data.h"

enum { KNI_BY_HANDLE, KNI_BY_ELEMENTS, KNI_MET_WAYS };

/* What a value of the program was when it was met. */
typedef struct kni_met {
    kn_tensor handle;            /* of params the param */
    kn_tensor alias;             /* owned: keeps the value from being freed while it can be met again */
    uint32_t hash[KNI_MET_WAYS]; /* 0: it cannot be found so */
    int32_t next[KNI_MET_WAYS];  /* the value before it with as good as the same hash; -1: none */
} kni_met;

typedef struct kni_met_list {
    kni_met *of; /* of each value, in the order they were noted */
    int32_t n, room;
    int32_t *heads[KNI_MET_WAYS]; /* the latest value of each hash; -1: none */
    int32_t n_heads;              /* a power of two */
} kni_met_list;

/* Notes what the next value is; false without memory. */
bool kni_met_note(kni_met_list *list, kn_tensor handle, const kni_tensor *x, bool param);
/* The latest value that was met as this handle, else as these elements; -1: none. */
int32_t kni_met_find(const kni_met_list *list, kn_tensor handle);
void kni_met_free(kni_met_list *list);

#endif
