/* What other layers read off a row instead of knowing the op: forms of bodies, what scans combine, the autocast policy, pieces;
   and what they read off a device's stack instead of knowing its name. */
#include "core/objects.h"
#include "ops/body_form.h"
#include "ops/movement_rows.h"
#include "ops/pieces.h"
#include "support/check.h"
#include <kn/autocast.h>
#include <kn/custom_op.h>
#include <kn/device.h>

/* A row with one of the short formulas is found by its body, and no other row is. */
static void forms(void)
{
    static const struct {
        const kn_op *row;
        kni_form form;
    } known[] = {{&kni_op_add, KNI_FORM_ADD},
                 {&kni_op_sub, KNI_FORM_SUB},
                 {&kni_op_mul, KNI_FORM_MUL},
                 {&kni_op_relu, KNI_FORM_RELU},
                 {&kni_op_square, KNI_FORM_SQUARE}};
    int found = 0;
    for (int number = 0; number < kni_op_count(); number++) {
        const kn_op *row = kni_op_by_number(number);
        found += row && kni_body_form(row->body) != KNI_FORM_OTHER;
    }
    CHECK(found == KNI_COUNT(known));
    for (int i = 0; i < KNI_COUNT(known); i++) CHECK(kni_body_form(known[i].row->body) == known[i].form);
    CHECK(kni_body_form(kni_op_clamp.body) == KNI_FORM_OTHER && kni_body_form(NULL) == KNI_FORM_OTHER);
}

/* Each scan has its own way to combine, and no other row has one. */
static void scans(void)
{
    unsigned seen = 0;
    for (int number = 0; number < kni_op_count(); number++) {
        const kn_op *row = kni_op_by_number(number);
        if (!row) continue;
        CHECK((row->combine != KNI_COMBINE_NONE) == (row->kind == KNI_SCAN));
        if (row->combine) CHECK(!(seen >> row->combine & 1));
        seen |= 1u << row->combine;
    }
    CHECK(kni_op_cumprod.combine == KNI_COMBINE_PRODUCT && kni_op_cummin.combine == KNI_COMBINE_LEAST);
}

/* One row converts; what a library knows by name are the two of the tanh form of gelu. */
static void flags(void)
{
    int converting = 0, known = 0, narrowed = 0, widened = 0;
    for (int number = 0; number < kni_op_count(); number++) {
        const kn_op *row = kni_op_by_number(number);
        if (!row) continue;
        converting += kni_converts(row);
        known += row->known != KNI_KNOWN_NONE;
        narrowed += row->autocast == KNI_AUTOCAST_NARROW;
        widened += row->autocast == KNI_AUTOCAST_WIDEN;
        CHECK(kn_autocast_policy(number) == row->autocast);
        /* A short f32 is for those that are short in halves as well. */
        CHECK(!(row->flags & KNI_FLAG_SHORT_SINGLE) || row->flags & KNI_FLAG_SHORT_HALF);
    }
    CHECK(converting == 1 && kni_converts(&kni_op_cast) && !kni_converts(&kni_op_bitcast));
    CHECK(known == 2 && kni_op_gelu_approximate.known == KNI_KNOWN_GELU_TANH);
    CHECK(narrowed == 7 && widened == 28);
    CHECK(kni_op_attention.autocast == KNI_AUTOCAST_NARROW && kni_op_tan.autocast == KNI_AUTOCAST_WIDEN);
    CHECK(kni_op_sin.autocast == KNI_AUTOCAST_NONE && kni_op_softmax.autocast == KNI_AUTOCAST_NONE);
}

static kni_type matrix(int64_t rows, int64_t columns)
{
    return (kni_type){.dtype = KN_F32, .rank = 2, .dims = {rows, columns}};
}

/* A slice is a piece where it cuts one axis by steps of 1, an embedding where no row is padding; nothing else is one. */
static void pieces(void)
{
    kni_type whole = matrix(6, 4), rows = matrix(2, 4), corner = matrix(2, 3), none = matrix(0, 4);
    kni_slice_attributes a = {KN_INTS(3, 0), KN_INTS(5, 4), KN_INTS(1, 1)};
    int64_t padding = -1;
    kni_piece piece;
    CHECK(kni_piece_of(&kni_op_slice, &whole, &rows, &a, &piece));
    CHECK(!piece.rows && piece.axis == 0 && piece.start == 3 && piece.size == 2);
    CHECK(kni_piece_of(&kni_op_slice, &whole, &whole, &a, &piece) && piece.axis == -1);
    CHECK(!kni_piece_of(&kni_op_slice, &whole, &corner, &a, &piece));
    CHECK(!kni_piece_of(&kni_op_slice, &whole, &none, &a, &piece));
    a.step = KN_INTS(2, 1);
    CHECK(!kni_piece_of(&kni_op_slice, &whole, &rows, &a, &piece));
    CHECK(kni_piece_of(&kni_op_embedding, &whole, &rows, &padding, &piece) && piece.rows);
    padding = 1;
    CHECK(!kni_piece_of(&kni_op_embedding, &whole, &rows, &padding, &piece));
    CHECK(!kni_piece_of(&kni_op_exp, &whole, &whole, NULL, &piece));
}

/* The row of a defined op, as a queue or a group sees it. */
static void defined(void)
{
    kn_op_handle relu = kn_op_define("columns_relu", &(kn_body_args){.body = "y = max(x, 0)"});
    if (!CHECK(relu != NULL)) return;
    const kn_op *row = relu;
    CHECK(kni_body_form(row->body) == KNI_FORM_RELU && row->autocast == KNI_AUTOCAST_NONE);
}

/* A stack tapes wherever the tape stands in it, and has its tensors on the host where its leaf has. */
static void devices(void)
{
    static const struct {
        const char *spec;
        bool tapes, host;
    } stacks[] = {{"cpu", false, true},
                  {"fusion(ref)", false, true},
                  {"autodiff(cpu)", true, true},
                  {"profile(autodiff(fusion(cpu)))", true, true},
                  {"check(autodiff(cpu),ref)", true, true},
                  {"null", false, true}};
    for (int i = 0; i < KNI_COUNT(stacks); i++) {
        kn_device device = kn_device_open(stacks[i].spec);
        if (!CHECK(device != NULL)) continue;
        CHECK(kni_device_tapes(device) == stacks[i].tapes);
        CHECK(kni_device_on_host(device) == stacks[i].host);
        kn_device_close(device);
    }
    kn_device closed = kn_device_open("autodiff(trace(cpu))");
    kn_device_close(closed);
    CHECK(!kni_device_tapes(closed) && !kni_device_on_host(closed));
    CHECK(!kni_device_tapes(NULL) && !kni_device_on_host(NULL));
}

int main(void)
{
    forms();
    scans();
    flags();
    pieces();
    defined();
    devices();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
