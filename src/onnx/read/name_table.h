/* Numbers by name: a table for as many names as it was made for. */
#ifndef KNI_ONNX_NAME_TABLE_H
#define KNI_ONNX_NAME_TABLE_H

#include "onnx/arena.h"

typedef struct kni_name_place {
    const char *name; /* NULL: free */
    uint32_t hash;
    int32_t number;
} kni_name_place;

typedef struct kni_name_table {
    kni_name_place *entries;
    size_t mask;
    int32_t count;
} kni_name_table;

/* False without memory. Names are not copied. */
bool kni_name_table_make(kni_name_table *names, kni_onnx_arena *arena, size_t count);
/* Where the number of a name is, which is -1 for a new one. */
int32_t *kni_name_table_put(kni_name_table *names, const char *name);
/* The same without making one: NULL where the name is not there. */
const int32_t *kni_name_table_at(const kni_name_table *names, const char *name);
/* -1: no such name. */
int32_t kni_name_table_find(const kni_name_table *names, const char *name);

#endif
