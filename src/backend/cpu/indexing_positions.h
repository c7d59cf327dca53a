/* The positions that an index operand names, checked against the axes it points into. */
#ifndef KNI_INDEXING_POSITIONS_H
#define KNI_INDEXING_POSITIONS_H

#include "backend/host/host.h"

typedef struct kni_positions {
    const int64_t *at;
    int64_t n;
    kni_borrowed borrowed; /* the index operand as i64 */
    int64_t *made;         /* an array of our own, where the operand's values are not the positions */
    size_t made_bytes;
} kni_positions;

/* Positions along one axis; negative: whether negative indices count from the end. An index outside fails
   with KN_ERROR_INDEX. Free with kni_positions_free, also after a failure. */
kn_status kni_positions_of_axis(const kn_record *r, int64_t axis, bool negative, kni_positions *p);
/* Row-major positions in the first axes of operand 0 of the tuples in the last axis of operand 1; the first `batch` axes are those
   of the tuples themselves. */
kn_status kni_positions_of_tuples(const kn_record *r, int64_t batch, kni_positions *p);
void kni_positions_free(kni_positions *p);

#endif
