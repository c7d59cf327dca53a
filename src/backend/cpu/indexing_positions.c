/* Reads index operands: converts them to i64, resolves negative ones and rejects those outside their axis. */
#include "backend/cpu/indexing_positions.h"
#include <string.h>

static kn_status start(const kn_record *r, kni_positions *p)
{
    memset(p, 0, sizeof *p);
    kni_tensor *index = kni_in(r, 1);
    p->n = kni_count(&index->type);
    if (!kni_host_borrow(index, KN_I64, &p->borrowed)) return KN_ERROR_MEMORY;
    p->at = p->borrowed.data;
    return KN_OK;
}

/* Where no element moves no index is looked at, as in the reference kernels, which walk the elements. */
static bool nothing_moves(const kn_record *r)
{
    return kni_count(r->n_in > 2 ? &kni_in(r, 2)->type : &kni_out(r, 0)->type) == 0;
}

static kn_status make(const kn_record *r, kni_positions *p, int64_t n)
{
    p->made_bytes = n ? (size_t)n * sizeof(int64_t) : 1;
    p->made = kni_allocate(p->made_bytes);
    return p->made ? KN_OK : kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for %D positions", n);
}

static kn_status outside(const kn_record *r, int64_t index, int64_t axis, int64_t size)
{
    return kni_fail_op(KN_ERROR_INDEX, r->row->name, "index %D is out of range for axis %D of size %D", index,
                       axis, size);
}

/* Bits of what happens in the list: 1 a negative index, 2 one that is outside. A difference is negative exactly
   where an index passes that end; those that wrap around are far outside and wrap to negative ones. */
static int look(const int64_t *at, int64_t n, int64_t size, bool negative)
{
    uint64_t low = 0, below = 0, above = 0, last = (uint64_t)size - 1, room = negative ? (uint64_t)size : 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t index = (uint64_t)at[i];
        low |= index;
        below |= index + room;
        above |= last - index;
    }
    return (int)(low >> 63 | (below | above) >> 63 << 1);
}

kn_status kni_positions_of_axis(const kn_record *r, int64_t axis, bool negative, kni_positions *p)
{
    kn_status s = start(r, p);
    if (s || nothing_moves(r)) return s;
    int64_t size = kni_in(r, 0)->type.dims[axis];
    int found = look(p->at, p->n, size, negative);
    for (int64_t i = 0; found & 2 && i < p->n; i++)
        if (p->at[i] >= size || p->at[i] < (negative ? -size : 0)) return outside(r, p->at[i], axis, size);
    if (!found) return KN_OK;
    s = make(r, p, p->n);
    if (s) return s;
    for (int64_t i = 0; i < p->n; i++) p->made[i] = p->at[i] < 0 ? p->at[i] + size : p->at[i];
    p->at = p->made;
    return KN_OK;
}

kn_status kni_positions_of_tuples(const kn_record *r, int64_t batch, kni_positions *p)
{
    kn_status s = start(r, p);
    if (s) return s;
    const kni_type *x = &kni_in(r, 0)->type, *index = &kni_in(r, 1)->type;
    int64_t depth = index->dims[index->rank - 1], tuples = kni_count_dims(index->rank - 1, index->dims);
    p->n = tuples;
    if (nothing_moves(r)) return KN_OK;
    s = make(r, p, tuples);
    if (s) return s;
    int64_t per_batch = kni_count_dims(index->rank - 1 - (int)batch, index->dims + batch);
    for (int64_t t = 0; t < tuples; t++) {
        int64_t place = t / per_batch;
        for (int64_t k = 0; k < depth; k++) {
            int64_t at = p->at[t * depth + k], size = x->dims[batch + k];
            if (at < -size || at >= size) return outside(r, at, batch + k, size);
            place = place * size + (at < 0 ? at + size : at);
        }
        p->made[t] = place;
    }
    p->at = p->made;
    return KN_OK;
}

void kni_positions_free(kni_positions *p)
{
    kni_host_unborrow(&p->borrowed);
    if (p->made) kni_free(p->made, p->made_bytes);
    p->made = NULL;
}
