/* Softmax, norms, embedding and rotary embedding as public functions: those that are no rows. */
#include "conform_adapter_words.h"

#define AXIS (int32_t) kiln_int(a, "axis", -1)
#define EPS kiln_real(a, "eps", 1e-5)

/* Operand i, KN_NONE past the last one. */
static kn_tensor at(const kn_tensor *in, int n, int i) { return i < n ? in[i] : KN_NONE; }

static kn_rope_args rope_args(const kiln_attributes *a)
{
    return (kn_rope_args){.theta = kiln_real(a, "theta", 0),
                          .offset = kiln_int(a, "offset", 0),
                          .interleaved = kiln_int(a, "interleaved", 0) != 0};
}

SIMPLE(softmin, kn_softmin(in[0], AXIS))
SIMPLE(quiet_softmax, kn_quiet_softmax(in[0], AXIS))
SIMPLE(group_norm, kn_group_norm(in[0], at(in, n, 1), at(in, n, 2), kiln_int(a, "groups", 1), EPS))
SIMPLE(instance_norm, kn_instance_norm(in[0], at(in, n, 1), at(in, n, 2), EPS))
SIMPLE(local_response_norm,
       kn_local_response_norm(in[0], &(kn_local_response_norm_args){.size = kiln_int(a, "size", 0),
                                                                    .alpha = kiln_real(a, "alpha", 0),
                                                                    .beta = kiln_real(a, "beta", 0),
                                                                    .k = kiln_real(a, "k", 0)}))
SIMPLE(embedding_function,
       kn_embedding(in[0], in[1], &(kn_embedding_args){.padding_index = kiln_int(a, "padding_index", 0)}))
SIMPLE(rope_function, kn_rope(in[0], KN_NONE, KN_NONE, (kn_rope_args[1]){rope_args(a)}))
SIMPLE(dropout_function, kn_dropout(in[0], kiln_real(a, "p", 0), kiln_int(a, "training", 0) != 0))
SIMPLE(feature_dropout, kn_feature_dropout(in[0], kiln_real(a, "p", 0), kiln_int(a, "training", 0) != 0))
SIMPLE(alpha_dropout, kn_alpha_dropout(in[0], kiln_real(a, "p", 0), kiln_int(a, "training", 0) != 0))

static int run_rope_tables(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)in, (void)n, (void)room;
    kn_rope_args args = rope_args(a);
    kn_rope_table t = kn_rope_tables(kiln_int(a, "tokens", 1), kiln_int(a, "size", 2),
                                     (kn_dtype)kiln_int(a, "dtype", KN_F32), &args);
    out[0] = t.cosines;
    out[1] = t.sines;
    return 2;
}

const kiln_adapter kiln_adapters_functional[] = {
    ENTRY(softmin),         ENTRY(quiet_softmax),       ENTRY(group_norm),
    ENTRY(instance_norm),   ENTRY(local_response_norm), ENTRY(embedding_function),
    ENTRY(rope_function),   ENTRY(rope_tables),         ENTRY(dropout_function),
    ENTRY(feature_dropout), ENTRY(alpha_dropout),       {NULL, NULL}};
