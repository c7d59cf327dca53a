/* How a row runs on a host backend, for the support matrix. */
#include "backend/host/host.h"
#include "ops/body.h"
#include "ops/native.h"

kn_support kni_host_supports(const kn_op *row, kn_dtype dtype, const char **why, bool natives)
{
    const char *unused;
    if (!why) why = &unused;
    *why = "";
    if (row->dtypes && !(row->dtypes >> dtype & 1)) {
        *why = "the op does not take this dtype";
        return KN_SUPPORT_NO;
    }
    if (row->view || row->host) return KN_SUPPORT_NATIVE;
    if (natives && row->native) return KN_SUPPORT_NATIVE;
    bool body = kni_is_pointwise(row) || kni_body_hosted(row->body);
    if (!natives && (row->body || row->launch)) return KN_SUPPORT_REFERENCE;
    if (row->lower) return KN_SUPPORT_LOWERED;
    if (body || row->launch) return KN_SUPPORT_REFERENCE;
    *why = "no kernel";
    return KN_SUPPORT_NO;
}
