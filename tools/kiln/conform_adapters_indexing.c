/* Functions that read and write by index: those that are no rows, or whose signature differs from their row's. */
#include "conform_adapter_words.h"

#define AXIS (int32_t) kiln_int(a, "axis", 0)
#define UPDATE (kn_update) kiln_int(a, "update", 0)

SIMPLE(take_from, kn_index_take(in[0], AXIS, in[1]))
SIMPLE(index_select, kn_index_select(in[0], AXIS, in[1]))
SIMPLE(select_update, kn_index_assign(in[0], AXIS, in[1], in[2], UPDATE))
SIMPLE(gather_from, kn_gather(in[0], AXIS, in[1]))
SIMPLE(scatter_into, kn_scatter(in[0], AXIS, in[1], in[2], UPDATE))
SIMPLE(take_along, kn_gather_along(in[0], AXIS, in[1]))
SIMPLE(put, kn_put(in[0], in[1], in[2], UPDATE))
SIMPLE(mask_where, kn_mask_where(in[0], in[1], in[2]))
SIMPLE(mask_fill, kn_mask_fill(in[0], in[1], kiln_real(a, "value", 0)))
SIMPLE(mask_select, kn_mask_select(in[0], in[1]))
SIMPLE(nonzero_of, kn_nonzero(in[0]))
SIMPLE(argwhere, kn_argwhere(in[0]))

ADAPTER(mask_select_bounded)
{
    (void)n, (void)room;
    kn_mask_select_result r = kn_mask_select_bounded(in[0], in[1], kiln_int(a, "capacity", 0));
    out[0] = r.values;
    out[1] = r.count;
    return 2;
}

ADAPTER(nonzero_axes)
{
    (void)n, (void)a, (void)room;
    int rank = kn_rank(in[0]);
    return kiln_outputs(kn_nonzero_axes(in[0], out), out, rank);
}

const kiln_adapter kiln_adapters_indexing[] = {
    ENTRY(take_from),           ENTRY(index_select), ENTRY(select_update), ENTRY(gather_from),
    ENTRY(scatter_into),        ENTRY(take_along),   ENTRY(put),           ENTRY(mask_where),
    ENTRY(mask_fill),           ENTRY(mask_select),  ENTRY(nonzero_of),    ENTRY(argwhere),
    ENTRY(mask_select_bounded), ENTRY(nonzero_axes), {NULL, NULL}};
