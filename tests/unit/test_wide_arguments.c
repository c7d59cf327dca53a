/* Axes and counts given as 64 bits: what lies beyond 32 bits is refused and never taken for the number that its lower half is. */
#include "support/check.h"
#include "support/operands.h"
#include <kn/nn.h>
#include <kn/signal.h>

#define WIDE (INT64_C(1) << 32)

static kn_tensor x, y;

static kn_tensor cosine_layer(int64_t axis)
{
    kn_nn_cosine_similarity m = {.axis = axis, .eps = 1e-8};
    return kn_nn_cosine_similarity_forward(&m, x, y);
}

static kn_tensor glu_layer(int64_t axis)
{
    kn_nn_activation m = {.kind = KN_ACTIVATION_GLU, .axis = axis};
    return kn_nn_activation_forward(&m, x);
}

static kn_tensor roll(int64_t a) { return kn_roll(x, KN_INTS(1), KN_AXES(a)); }
static kn_tensor shifted(int64_t a) { return kn_fftshift(x, KN_AXES(a)); }
static kn_tensor shifted_back(int64_t a) { return kn_ifftshift(x, KN_AXES(a)); }
static kn_tensor transformed(int64_t a)
{
    return kn_fftn((kn_complex){x, y}, KN_AXES(a), KN_FFT_BACKWARD).real;
}
static kn_tensor flipped(int64_t a) { return kn_flip(x, KN_AXES(a)); }
static kn_tensor permuted(int64_t a) { return kn_permute(x, KN_AXES(a, 1)); }
static kn_tensor moved(int64_t a) { return kn_movedim(x, KN_AXES(a), KN_AXES(1)); }
static kn_tensor moved_to(int64_t a) { return kn_movedim(x, KN_AXES(1), KN_AXES(a)); }
static kn_tensor squeezed(int64_t a) { return kn_squeeze_dims(kn_unsqueeze(x, 0), KN_AXES(a)); }
static kn_tensor unsqueezed(int64_t a) { return kn_unsqueeze_dims(x, KN_AXES(a)); }
static kn_tensor summed(int64_t a) { return kn_sum(x, KN_AXES(a), false); }
static kn_tensor varied(int64_t a) { return kn_var(x, KN_AXES(a), false, NULL); }
static kn_tensor any(int64_t a) { return kn_any(x, KN_AXES(a), false); }
static kn_tensor normed(int64_t a) { return kn_vector_norm(x, 2, KN_AXES(a), false); }
static kn_tensor contracted(int64_t a) { return kn_tensordot(x, y, KN_AXES(a), KN_AXES(0)); }
static kn_tensor contracted_with(int64_t a) { return kn_tensordot(x, y, KN_AXES(0), KN_AXES(a)); }

static const struct {
    const char *name;
    kn_tensor (*call)(int64_t axis);
} calls[] = {
    {"CosineSimilarity", cosine_layer},
    {"Activation glu", glu_layer},
    {"kn_roll", roll},
    {"kn_fftshift", shifted},
    {"kn_ifftshift", shifted_back},
    {"kn_fftn", transformed},
    {"kn_flip", flipped},
    {"kn_permute", permuted},
    {"kn_movedim from", moved},
    {"kn_movedim to", moved_to},
    {"kn_squeeze_dims", squeezed},
    {"kn_unsqueeze_dims", unsqueezed},
    {"kn_sum", summed},
    {"kn_var", varied},
    {"kn_any", any},
    {"kn_vector_norm", normed},
    {"kn_tensordot a", contracted},
    {"kn_tensordot b", contracted_with},
};

static void functions_refuse_wide_axes(void)
{
    static const int64_t wide[] = {WIDE, -WIDE, 2 * WIDE, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        bool good = kn_ok(calls[i].call(0));
        for (size_t k = 0; k < sizeof wide / sizeof *wide; k++) good = good && !kn_ok(calls[i].call(wide[k]));
        if (!good) printf("%s\n", calls[i].name);
        CHECK(good);
    }
}

/* Every op by name: an attribute that is an axis, or a number of axes, is refused beyond 32 bits where its lower half is taken. */
static void rows_refuse_wide_axes(void)
{
    int tried = 0;
    for (int32_t number = 0; number < kn_op_count(); number++) {
        kn_op_info op;
        kn_attribute_value list[OPERAND_ATTRIBUTES];
        if (!kn_op_at(number, &op) || op.n_out > 8 || op.n_attributes >= OPERAND_ATTRIBUTES) continue;
        operand_attributes(&op, 1, list);
        for (int a = 0; a < op.n_attributes; a++) {
            kn_attribute_info info;
            kn_op_attribute(op.number, a, &info);
            if (info.type == KN_ATTRIBUTE_LIST || !strstr(info.name, "ax")) continue;
            for (int kind = 0; kind < OPERAND_KINDS; kind++) {
                kn_scope s = kn_scope_begin();
                kn_tensor in[8], out[8];
                int32_t n = op.max_in < 0 ? 2 : op.max_in < 8 ? op.max_in : 8;
                for (int i = 0; i < n; i++) in[i] = kn_keep(operand_of_kind(kind, 0));
                list[a].integer = 1;
                if (kn_call(op.name, in, n, list, out, op.n_out) == KN_OK) {
                    tried++;
                    list[a].integer = WIDE + 1;
                    bool refused = kn_call(op.name, in, n, list, out, op.n_out) != KN_OK;
                    if (!refused) printf("%s takes %s = 2^32 + 1\n", op.name, info.name);
                    CHECK(refused);
                }
                kn_scope_end(s, KN_NONE);
            }
        }
    }
    CHECK(tried > 30);
}

int main(void)
{
    kn_device_use(kn_device_cpu());
    x = kn_own(kn_reshape(kn_arange(0, 16, 1, KN_F32), KN_SHAPE(4, 4)));
    y = kn_own(kn_reshape(kn_arange(1, 17, 1, KN_F32), KN_SHAPE(4, 4)));
    functions_refuse_wide_axes();
    rows_refuse_wide_axes();
    kn_drop(x);
    kn_drop(y);
    return check_report();
}
