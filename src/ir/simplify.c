/* Simplification. */
#include "ir/ir_internal.h"

kn_status kni_ir_simplify(kni_ir *ir)
{
    (void)ir;
    return KN_OK;
}
