/* The rule of writing in place (ops/record.h) for a group of records. */
#include "graph/group.h"
#include "ops/record.h"

/* The place by which a record of the group reads the tensor last, when it dies there; NULL: it lives on. */
static const kn_record *last_reader(const kni_group *g, uint32_t id, int *place)
{
    for (int i = 0; i < g->n_records; i++) {
        const kn_record *r = g->records[i];
        for (*place = 0; *place < r->n_in && *place < 64; ++*place)
            if (r->ids[r->n_out + *place] == id && (r->last_use >> *place & 1)) return r;
    }
    return NULL;
}

bool kni_group_sees_once(const kni_group *g, uint32_t id)
{
    const kni_storage *memory = kni_slot(id)->storage;
    for (int i = 0; i < g->n_inputs; i++)
        if (g->inputs[i] != id && kni_slot(g->inputs[i])->storage == memory) return false;
    return true;
}

bool kni_group_has_one_reader(const kni_group *g, uint32_t id)
{
    int readers = 0;
    for (int i = 0; i < g->n_records; i++) {
        const kn_record *r = g->records[i];
        bool reads = false;
        for (int k = 0; k < r->n_in && !reads; k++) reads = r->ids[r->n_out + k] == id;
        readers += reads;
    }
    return readers == 1;
}

bool kni_group_may_overwrite(const kni_group *g, uint32_t id, const kni_tensor *y)
{
    int place;
    if (!kni_fits_over(kni_slot(id), y, y->order)) return false;
    const kn_record *r = last_reader(g, id, &place);
    if (!r || !kni_group_sees_once(g, id)) return false;
    if (g->kind == KNI_GROUP_SINGLE) return kni_may_overwrite_promised(r, place, y);
    if (g->kind == KNI_GROUP_MANY)
        return kni_group_has_one_reader(g, id) && kni_may_overwrite_promised(r, place, y);
    return true;
}

bool kn_backend_group_reuse(const kn_group *group, uint32_t input, uint32_t output)
{
    kni_tensor *y = kni_slot(output);
    if (!kni_group_may_overwrite(group, input, y)) return false;
    kni_take_memory(y, kni_slot(input));
    return true;
}
