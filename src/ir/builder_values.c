/* Values of the builder: constants, what a launch gives, arithmetic, choices and conversions. */
#include "ir/builder_internal.h"
#include "ops/body.h"
#include <string.h>

static kni_ir_id constant(kni_ir_builder *b, int dtype, int64_t whole, double real)
{
    if (!kni_ir_is_compute(dtype)) {
        kni_ir_fail(b, "a constant of a type that nothing is computed in");
        return 0;
    }
    kni_ir_id id = 0;
    kni_ir_node *node = kni_ir_add(b, KNI_IR_CONSTANT, dtype, 1, &id);
    if (!node) return 0;
    if (dtype == KN_F32)
        node->u.real = (double)(float)real;
    else if (dtype == KN_F64)
        node->u.real = real;
    else if (kni_is_bool(dtype))
        node->u.whole = whole != 0;
    else if (dtype == KN_I32)
        node->u.whole = (int32_t)whole;
    else if (dtype == KN_U32)
        node->u.whole = (int64_t)(uint32_t)whole;
    else
        node->u.whole = whole;
    return id;
}

kni_ir_id kni_ir_whole(kni_ir_builder *b, int dtype, int64_t value)
{
    return constant(b, dtype, value, (double)value);
}

kni_ir_id kni_ir_real(kni_ir_builder *b, int dtype, double value)
{
    int64_t whole = 0;
    if (kni_ir_is_integer(dtype)) {
        uint64_t wide = 0;
        kni_convert(&wide, dtype == KN_U64 || dtype == KN_U32 ? KN_U64 : KN_I64, 1, &value, KN_F64, 1, 1);
        whole = (int64_t)wide;
    } else if (kni_is_bool(dtype)) {
        whole = value != 0;
    }
    return constant(b, dtype, whole, value);
}

kni_ir_id kni_ir_param_value(kni_ir_builder *b, uint32_t number)
{
    if (b->status != KN_OK) return 0;
    if (number >= b->ir->n_params || b->ir->params[number].count) {
        kni_ir_fail(b, "no such number");
        return 0;
    }
    kni_ir_id id = 0;
    kni_ir_node *node = kni_ir_add(b, KNI_IR_PARAM, b->ir->params[number].dtype, 1, &id);
    if (node) node->index = number;
    return id;
}

/* One integer, else the builder fails. */
static bool is_position(kni_ir_builder *b, kni_ir_id at)
{
    kni_ir_type t = kni_ir_type_of(b, at);
    if (b->status == KN_OK && (!kni_ir_is_integer(t.dtype) || t.lanes != 1))
        kni_ir_fail(b, "a position is one integer");
    return b->status == KN_OK;
}

kni_ir_id kni_ir_element(kni_ir_builder *b, uint32_t number, kni_ir_id at)
{
    if (!is_position(b, at)) return 0;
    if (number >= b->ir->n_params || !b->ir->params[number].count) {
        kni_ir_fail(b, "no such array of numbers");
        return 0;
    }
    kni_ir_id id = 0;
    kni_ir_node *node = kni_ir_add(b, KNI_IR_ELEMENT, b->ir->params[number].dtype, 1, &id);
    if (!node) return 0;
    node->index = number;
    node->a = at;
    return id;
}

kni_ir_id kni_ir_builtin_value(kni_ir_builder *b, int builtin, int axis, int dtype)
{
    bool has_axis = builtin == KNI_IR_GROUP || builtin == KNI_IR_GROUPS;
    if (builtin < 0 || builtin >= KNI_IR_BUILTINS || axis < 0 || axis > (has_axis ? 2 : 0) ||
        !kni_ir_is_integer(dtype)) {
        kni_ir_fail(b, "no such number of the launch");
        return 0;
    }
    kni_ir_id id = 0;
    kni_ir_node *node = kni_ir_add(b, KNI_IR_BUILTIN, dtype, 1, &id);
    if (!node) return 0;
    node->index = (uint32_t)builtin;
    node->detail = (uint8_t)axis;
    return id;
}

/* ---- arithmetic */

kni_ir_id kni_ir_spread(kni_ir_builder *b, kni_ir_id scalar, int lanes)
{
    kni_ir_type t = kni_ir_type_of(b, scalar);
    if (b->status != KN_OK || lanes == 1) return b->status == KN_OK ? scalar : 0;
    if (t.lanes != 1 || !kni_ir_lanes_fit(lanes)) {
        kni_ir_fail(b, "only a scalar becomes a vector, of 2, 4, 8 or 16");
        return 0;
    }
    return kni_ir_add3(b, KNI_IR_VECTOR, (kni_ir_type){t.dtype, (uint8_t)lanes}, scalar, 0, 0);
}

kni_ir_id kni_ir_lane(kni_ir_builder *b, kni_ir_id vector, int lane)
{
    kni_ir_type t = kni_ir_type_of(b, vector);
    if (b->status != KN_OK) return 0;
    if (lane < 0 || lane >= t.lanes) {
        kni_ir_fail(b, "no such lane");
        return 0;
    }
    if (t.lanes == 1) return vector;
    kni_ir_id id = kni_ir_add3(b, KNI_IR_LANE, (kni_ir_type){t.dtype, 1}, vector, 0, 0);
    if (id) kni_ir_at(b->ir, id)->index = (uint32_t)lane;
    return id;
}

kni_ir_id kni_ir_pack(kni_ir_builder *b, const kni_ir_id *scalars, int lanes)
{
    if (!kni_ir_lanes_fit(lanes)) kni_ir_fail(b, "a vector has 2, 4, 8 or 16 lanes");
    kni_ir_type first = {KN_DTYPE_NONE, 1};
    for (int i = 0; b->status == KN_OK && i < lanes; i++) {
        kni_ir_type t = kni_ir_type_of(b, scalars[i]);
        if (i == 0) first = t;
        if (b->status == KN_OK && (t.lanes != 1 || t.dtype != first.dtype))
            kni_ir_fail(b, "a vector is made of scalars of one type");
    }
    if (b->status != KN_OK || lanes == 1) return b->status == KN_OK ? scalars[0] : 0;
    return kni_ir_add_list(b, KNI_IR_PACK, (kni_ir_type){first.dtype, (uint8_t)lanes}, scalars, lanes);
}

int kni_ir_spread_all(kni_ir_builder *b, kni_ir_id *const *ids, int n)
{
    int lanes = 1;
    for (int i = 0; i < n; i++) {
        kni_ir_type t = kni_ir_type_of(b, *ids[i]);
        if (b->status != KN_OK) return 0;
        if (t.lanes != 1 && lanes != 1 && t.lanes != lanes) {
            kni_ir_fail(b, "vectors of %d and %d lanes meet", (int32_t)lanes, (int32_t)t.lanes);
            return 0;
        }
        if (t.lanes != 1) lanes = t.lanes;
    }
    for (int i = 0; i < n; i++)
        if (kni_ir_type_of(b, *ids[i]).lanes != lanes) *ids[i] = kni_ir_spread(b, *ids[i], lanes);
    return b->status == KN_OK ? lanes : 0;
}

/* x == y (or, not equal, x != y) of truths. */
static kni_ir_id same_truth(kni_ir_builder *b, kni_ir_id x, kni_ir_id y, bool equal)
{
    kni_ir_id one = kni_ir_and(b, x, kni_ir_not(b, y)), other = kni_ir_and(b, kni_ir_not(b, x), y);
    kni_ir_id differ = kni_ir_or(b, one, other);
    return equal ? kni_ir_not(b, differ) : differ;
}

kni_ir_id kni_ir_word_at(kni_ir_builder *b, int word, kni_ir_id x, kni_ir_id y)
{
    if (b->status != KN_OK) return 0;
    if (word < 0 || word >= kni_word_count()) {
        kni_ir_fail(b, "no such word");
        return 0;
    }
    const kni_word *w = kni_word_at(word);
    if ((w->arity == 2) != (y != 0)) kni_ir_fail(b, "'%s' takes %d operands", w->name, (int32_t)w->arity);
    int lanes = kni_ir_spread_all(b, (kni_ir_id *const[]){&x, &y}, w->arity);
    if (!lanes) return 0;
    kni_ir_type t = kni_ir_type_of(b, x);
    if (w->arity == 2 && kni_ir_type_of(b, y).dtype != t.dtype) {
        kni_ir_fail(b, "'%s' of %T and %T", w->name, (int)t.dtype, (int)kni_ir_type_of(b, y).dtype);
        return 0;
    }
    if (kni_is_bool(t.dtype) && (!strcmp(w->name, "eq") || !strcmp(w->name, "ne")))
        return same_truth(b, x, y, w->name[0] == 'e');
    if (kni_is_bool(t.dtype) || !(kni_is_float(t.dtype) ? w->floats : w->integers)) {
        kni_ir_fail(b, "'%s' has no meaning for %T", w->name, (int)t.dtype);
        return 0;
    }
    if (w->truth) t.dtype = KN_BOOL;
    kni_ir_id id = kni_ir_add3(b, KNI_IR_WORD, t, x, y, 0);
    if (id) kni_ir_at(b->ir, id)->index = (uint32_t)word;
    return id;
}

kni_ir_id kni_ir_word(kni_ir_builder *b, const char *name, kni_ir_id x, kni_ir_id y)
{
    for (int i = 0; i < kni_word_count(); i++)
        if (!strcmp(kni_word_at(i)->name, name)) return kni_ir_word_at(b, i, x, y);
    kni_ir_fail(b, "'%s' is no word", name);
    return 0;
}

kni_ir_id kni_ir_near(kni_ir_builder *b, const char *name, kni_ir_id x, kni_ir_id y)
{
    kni_ir_id id = kni_ir_word(b, name, x, y);
    if (id) kni_ir_at(b->ir, id)->detail = 1;
    return id;
}

kni_ir_id kni_ir_fma(kni_ir_builder *b, kni_ir_id x, kni_ir_id y, kni_ir_id z)
{
    if (!kni_ir_spread_all(b, (kni_ir_id *const[]){&x, &y, &z}, 3)) return 0;
    kni_ir_type t = kni_ir_type_of(b, x);
    if (!kni_is_float(t.dtype) || kni_ir_type_of(b, y).dtype != t.dtype ||
        kni_ir_type_of(b, z).dtype != t.dtype) {
        kni_ir_fail(b, "fma takes three floats of one type");
        return 0;
    }
    return kni_ir_add3(b, KNI_IR_FMA, t, x, y, z);
}

static kni_ir_id truths(kni_ir_builder *b, int code, kni_ir_id x, kni_ir_id y)
{
    int n = code == KNI_IR_NOT ? 1 : 2;
    if (!kni_ir_spread_all(b, (kni_ir_id *const[]){&x, &y}, n)) return 0;
    kni_ir_type t = kni_ir_type_of(b, x);
    if (!kni_is_bool(t.dtype) || (n == 2 && !kni_is_bool(kni_ir_type_of(b, y).dtype))) {
        kni_ir_fail(b, "and, or and not take truths");
        return 0;
    }
    return kni_ir_add3(b, code, t, x, y, 0);
}

kni_ir_id kni_ir_and(kni_ir_builder *b, kni_ir_id x, kni_ir_id y) { return truths(b, KNI_IR_AND, x, y); }

kni_ir_id kni_ir_or(kni_ir_builder *b, kni_ir_id x, kni_ir_id y) { return truths(b, KNI_IR_OR, x, y); }

kni_ir_id kni_ir_not(kni_ir_builder *b, kni_ir_id x) { return truths(b, KNI_IR_NOT, x, 0); }

kni_ir_id kni_ir_select(kni_ir_builder *b, kni_ir_id condition, kni_ir_id yes, kni_ir_id no)
{
    if (!kni_ir_spread_all(b, (kni_ir_id *const[]){&condition, &yes, &no}, 3)) return 0;
    kni_ir_type t = kni_ir_type_of(b, yes);
    if (!kni_is_bool(kni_ir_type_of(b, condition).dtype) || kni_ir_type_of(b, no).dtype != t.dtype) {
        kni_ir_fail(b, "a choice takes a truth and two values of one type");
        return 0;
    }
    return kni_ir_add3(b, KNI_IR_SELECT, t, condition, yes, no);
}

/* ---- conversions */

kni_ir_id kni_ir_cast(kni_ir_builder *b, kni_ir_id x, int dtype)
{
    kni_ir_type t = kni_ir_type_of(b, x);
    if (b->status != KN_OK || t.dtype == dtype) return b->status == KN_OK ? x : 0;
    if (!kni_ir_is_compute(dtype)) {
        kni_ir_fail(b, "a conversion to a type that nothing is computed in");
        return 0;
    }
    return kni_ir_add3(b, KNI_IR_CAST, (kni_ir_type){(uint8_t)dtype, t.lanes}, x, 0, 0);
}

kni_ir_id kni_ir_bitcast(kni_ir_builder *b, kni_ir_id x, int dtype)
{
    kni_ir_type t = kni_ir_type_of(b, x);
    if (b->status != KN_OK || t.dtype == dtype) return b->status == KN_OK ? x : 0;
    if (!kni_ir_is_compute(dtype) || kni_is_bool(dtype) || kni_is_bool(t.dtype) ||
        kni_dtypes[dtype].bits != kni_dtypes[t.dtype].bits) {
        kni_ir_fail(b, "the bits of %T are no %T", (int)t.dtype, dtype);
        return 0;
    }
    return kni_ir_add3(b, KNI_IR_BITCAST, (kni_ir_type){(uint8_t)dtype, t.lanes}, x, 0, 0);
}

kni_ir_id kni_ir_round_to(kni_ir_builder *b, kni_ir_id x, int storage_dtype)
{
    kni_ir_type t = kni_ir_type_of(b, x);
    if (b->status != KN_OK || t.dtype == storage_dtype) return b->status == KN_OK ? x : 0;
    if (!kni_dtype_usable(storage_dtype)) {
        kni_ir_fail(b, "rounding to a dtype that nothing is stored in");
        return 0;
    }
    kni_ir_id id = kni_ir_add3(b, KNI_IR_CAST, t, x, 0, 0);
    if (id) kni_ir_at(b->ir, id)->detail = (uint8_t)storage_dtype;
    return id;
}

kni_ir_id kni_ir_philox(kni_ir_builder *b, kni_ir_id key, kni_ir_id counter, kni_ir_id word)
{
    if (!is_position(b, key) || !is_position(b, counter) || !is_position(b, word)) return 0;
    key = kni_ir_cast(b, key, KN_I64);
    counter = kni_ir_cast(b, counter, KN_I64);
    word = kni_ir_cast(b, word, KN_I64);
    return kni_ir_add3(b, KNI_IR_PHILOX, (kni_ir_type){KN_I64, 1}, key, counter, word);
}
