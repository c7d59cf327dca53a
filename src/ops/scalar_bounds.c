/* Which numbers the elementwise rows take: one table, read by their shape rule, so that kn_call and programs are checked
   as the functions are. NaN is outside every range; a row that is not listed takes any number. */
#include "ops/scalar_row.h"

typedef enum bound {
    NOT_NEGATIVE, /* the number is 0 or more */
    NOT_ZERO,
    ORDERED /* the number is not above the next one */
} bound;

static const struct {
    uint16_t op;
    uint8_t number; /* which of p0 .. p3 */
    uint8_t bound;
} bounds[] = {
    {KNI_OP_hardtanh, 0, ORDERED},
    {KNI_OP_soft_shrink, 0, NOT_NEGATIVE},
    {KNI_OP_celu, 0, NOT_ZERO},
};

kn_status kni_check_numbers(const kn_op *row, const double *p)
{
    for (int i = 0; i < KNI_COUNT(bounds); i++) {
        int k = bounds[i].number;
        if (bounds[i].op != row->number) continue;
        const char *name = row->schema[k].name;
        if (bounds[i].bound == NOT_NEGATIVE && !(p[k] >= 0))
            return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "%s is %g: it must be 0 or more", name, p[k]);
        if (bounds[i].bound == NOT_ZERO && p[k] == 0)
            return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "%s is 0: it must be another number", name);
        if (bounds[i].bound == ORDERED && p[k] > p[k + 1])
            return kni_fail_op(KN_ERROR_ARGUMENT, row->name,
                               "%s is %g, above %s %g: give the lower bound first", name, p[k],
                               row->schema[k + 1].name, p[k + 1]);
    }
    return KN_OK;
}
