/* Folding: constants by the very functions that run kernels, and identities that keep every bit. */
#include "ir/run_internal.h"
#include "ir/simplify_internal.h"
#include "ops/body.h"
#include <string.h>

static kni_ir_node *at(const kni_ir_simplifier *z, kni_ir_id id) { return kni_ir_at(z->ir, id); }

/* The scalar constant behind an operand: itself, or what a vector copies. 0: none. */
static kni_ir_id constant_behind(const kni_ir_simplifier *z, kni_ir_id id)
{
    if (id && at(z, id)->code == KNI_IR_VECTOR) id = at(z, id)->a;
    return kni_ir_is_constant(z->ir, id) ? id : 0;
}

static bool is_nan(const kni_ir_node *constant)
{
    return kni_is_float(constant->type.dtype) && constant->u.real != constant->u.real;
}

/* ---- constants */

static void constant_bytes(const kni_ir_node *constant, uint8_t bytes[8])
{
    memset(bytes, 0, 8);
    if (kni_is_float(constant->type.dtype))
        kni_convert(bytes, constant->type.dtype, 1, &constant->u.real, KN_F64, 1, 1);
    else
        kni_convert(bytes, constant->type.dtype, 1, &constant->u.whole, KN_I64, 1, 1);
}

static void become_constant(kni_ir_node *node, const uint8_t bytes[8])
{
    int dtype = node->type.dtype;
    node->code = KNI_IR_CONSTANT;
    node->type.lanes = 1;
    node->detail = 0;
    node->index = node->a = node->b = node->c = 0;
    memset(&node->u, 0, sizeof node->u);
    if (kni_is_float(dtype))
        kni_convert(&node->u.real, KN_F64, 1, bytes, dtype, 1, 1);
    else
        kni_convert(&node->u.whole, KN_I64, 1, bytes, dtype, 1, 1);
}

/* Turns the node into what it computes when all it needs is constant. NaN is left to the target: a constant cannot say
   which one it is. */
static bool fold_constant(kni_ir_simplifier *z, kni_ir_id id)
{
    kni_ir_node *node = at(z, id);
    kni_ir_apply apply = node->code == KNI_IR_GET ? NULL : kni_ir_apply_of(z->ir, node);
    if (!apply || node->code == KNI_IR_VECTOR || node->code == KNI_IR_LANE) return false;
    uint8_t in[3][8], out[8] = {0};
    kni_ir_step step = {.lanes = 1, .dtype = node->type.dtype, .detail = node->detail};
    step.out_bytes = (uint8_t)kni_bytes_of(node->type.dtype);
    for (int i = 0; i < 3; i++) {
        kni_ir_id o = *kni_ir_operand(node, i), constant = constant_behind(z, o);
        if (!o) continue;
        if (!constant || is_nan(at(z, constant))) return false;
        constant_bytes(at(z, constant), in[i]);
        if (i == 0) step.from = at(z, constant)->type.dtype;
    }
    apply(&step, out, in[0], in[1], in[2], 1);
    kni_ir_node result = {.type = {node->type.dtype, 1}};
    become_constant(&result, out);
    if (is_nan(&result)) return false;
    if (node->type.lanes == 1) {
        become_constant(node, out);
        z->changed = true;
        return true;
    }
    kni_ir_id scalar = kni_ir_simplify_add(z, KNI_IR_CONSTANT, result.type, node);
    if (!scalar) return false;
    at(z, scalar)->u = result.u;
    node = at(z, id);
    node->code = KNI_IR_VECTOR;
    node->detail = 0;
    node->index = node->b = node->c = 0;
    node->a = scalar;
    z->changed = true;
    return true;
}

/* Turns the node into a whole constant (of integers and truths). */
static kni_ir_id become_whole(kni_ir_simplifier *z, kni_ir_id id, int64_t value)
{
    kni_ir_node *node = at(z, id);
    if (node->type.lanes != 1) return id;
    uint8_t bytes[8] = {0};
    kni_convert(bytes, node->type.dtype, 1, &value, KN_I64, 1, 1);
    become_constant(node, bytes);
    z->changed = true;
    return id;
}

/* ---- identities */

/* Whether the operand is the constant; -0.0 is not 0.0. */
static bool is_value(const kni_ir_simplifier *z, kni_ir_id id, double value)
{
    kni_ir_id constant = constant_behind(z, id);
    if (!constant) return false;
    const kni_ir_node *node = at(z, constant);
    if (!kni_is_float(node->type.dtype)) return (double)node->u.whole == value && !__builtin_signbit(value);
    return !memcmp(&node->u.real, &value, sizeof value);
}

static bool is_word(const kni_ir_simplifier *z, kni_ir_id id, const char *name)
{
    return at(z, id)->code == KNI_IR_WORD && !strcmp(kni_word_at((int)at(z, id)->index)->name, name);
}

/* (x + c) + d becomes x + (c + d), of integers, which wrap. */
static kni_ir_id join_sums(kni_ir_simplifier *z, kni_ir_id id)
{
    kni_ir_id inner = at(z, id)->a;
    if (!is_word(z, inner, "add") || at(z, id)->type.lanes != 1 || !kni_ir_is_constant(z->ir, at(z, id)->b) ||
        !kni_ir_is_constant(z->ir, at(z, inner)->b))
        return id;
    kni_ir_id sum = kni_ir_simplify_add(z, KNI_IR_WORD, at(z, id)->type, at(z, id));
    if (!sum) return id;
    at(z, sum)->index = at(z, id)->index;
    at(z, sum)->a = at(z, inner)->b;
    at(z, sum)->b = at(z, id)->b;
    fold_constant(z, sum);
    at(z, id)->a = at(z, inner)->a;
    at(z, id)->b = sum;
    z->changed = true;
    return id;
}

static kni_ir_id fold_integer_word(kni_ir_simplifier *z, kni_ir_id id, const char *name)
{
    kni_ir_node *node = at(z, id);
    static const char *const commutes[] = {"add", "mul", "and", "or", "xor", "min", "max", "eq", "ne"};
    for (size_t i = 0; node->b && i < sizeof commutes / sizeof *commutes; i++)
        if (!strcmp(name, commutes[i]) && constant_behind(z, node->a) && !constant_behind(z, node->b)) {
            kni_ir_id t = node->a;
            node->a = node->b;
            node->b = t;
            z->changed = true;
        }
    bool zero = is_value(z, node->b, 0), one = is_value(z, node->b, 1), alike = node->a == node->b;
    if (!strcmp(name, "add")) return zero ? node->a : join_sums(z, id);
    if (!strcmp(name, "sub")) return zero ? node->a : alike ? become_whole(z, id, 0) : id;
    if (!strcmp(name, "mul")) return one ? node->a : zero ? node->b : id;
    if (!strcmp(name, "div") || !strcmp(name, "floordiv")) return one ? node->a : id;
    if (!strcmp(name, "rem") || !strcmp(name, "fmod")) return one ? become_whole(z, id, 0) : id;
    if (!strcmp(name, "shl") || !strcmp(name, "shr") || !strcmp(name, "xor")) return zero ? node->a : id;
    if (!strcmp(name, "or")) return zero || alike ? node->a : id;
    if (!strcmp(name, "and")) return zero ? node->b : alike ? node->a : id;
    if (!strcmp(name, "min") || !strcmp(name, "max")) return alike ? node->a : id;
    if (!strcmp(name, "floor") || !strcmp(name, "ceil") || !strcmp(name, "round") || !strcmp(name, "trunc"))
        return node->a;
    if (!strcmp(name, "eq") || !strcmp(name, "le") || !strcmp(name, "ge"))
        return alike ? become_whole(z, id, 1) : id;
    if (!strcmp(name, "ne") || !strcmp(name, "lt") || !strcmp(name, "gt"))
        return alike ? become_whole(z, id, 0) : id;
    if (!strcmp(name, "isnan") || !strcmp(name, "isinf")) return become_whole(z, id, 0);
    if (!strcmp(name, "isfinite")) return become_whole(z, id, 1);
    if (!strcmp(name, "neg") || !strcmp(name, "not"))
        return is_word(z, node->a, name) ? at(z, node->a)->a : id;
    return id;
}

static kni_ir_id fold_float_word(kni_ir_simplifier *z, kni_ir_id id, const char *name)
{
    kni_ir_node *node = at(z, id);
    if (!strcmp(name, "mul"))
        return is_value(z, node->b, 1) ? node->a : is_value(z, node->a, 1) ? node->b : id;
    if (!strcmp(name, "div")) return is_value(z, node->b, 1) ? node->a : id;
    if (!strcmp(name, "sub")) return is_value(z, node->b, 0.0) ? node->a : id;
    if (!strcmp(name, "add"))
        return is_value(z, node->b, -0.0) ? node->a : is_value(z, node->a, -0.0) ? node->b : id;
    if (!strcmp(name, "neg")) return is_word(z, node->a, "neg") ? at(z, node->a)->a : id;
    if (!strcmp(name, "abs")) {
        if (is_word(z, node->a, "abs")) return node->a;
        if (is_word(z, node->a, "neg")) node->a = at(z, node->a)->a, z->changed = true;
        return id;
    }
    if (!strcmp(name, "min") || !strcmp(name, "max")) return node->a == node->b ? node->a : id;
    return id;
}

static kni_ir_id fold_truths(kni_ir_simplifier *z, kni_ir_id id)
{
    const kni_ir_node *node = at(z, id);
    if (node->code == KNI_IR_NOT) return at(z, node->a)->code == KNI_IR_NOT ? at(z, node->a)->a : id;
    bool and = node->code == KNI_IR_AND;
    for (int i = 0; i < 2; i++) {
        kni_ir_id x = i ? node->b : node->a, y = i ? node->a : node->b;
        if (is_value(z, x, 1)) return and? y : x;
        if (is_value(z, x, 0)) return and? x : y;
    }
    return node->a == node->b ? node->a : id;
}

/* The conversion of a value that is already what it makes. */
static kni_ir_id fold_cast(kni_ir_simplifier *z, kni_ir_id id)
{
    const kni_ir_node *node = at(z, id), *from = at(z, node->a);
    if (!kni_ir_same_type(node->type, from->type)) {
        /* Through a wider integer and back. */
        if (!node->detail && from->code == KNI_IR_CAST && !from->detail &&
            kni_ir_is_integer(node->type.dtype) && kni_ir_is_integer(from->type.dtype) &&
            kni_ir_same_type(at(z, from->a)->type, node->type) &&
            kni_dtypes[from->type.dtype].bits >= kni_dtypes[node->type.dtype].bits)
            return from->a;
        return id;
    }
    if (!node->detail) return node->a;
    if (from->code == KNI_IR_CAST && from->detail == node->detail) return node->a;
    bool loaded = from->code == KNI_IR_LOAD && !from->b && z->ir->bindings[from->index].dtype == node->detail;
    /* Only where the load's dtype holds all of the storage's values. */
    bool exact = kni_is_float(node->type.dtype) && kni_is_float(node->detail) &&
                 kni_dtypes[node->detail].bits <= kni_dtypes[node->type.dtype].bits;
    return loaded && exact ? node->a : id;
}

static kni_ir_id fold_lane(kni_ir_simplifier *z, kni_ir_id id)
{
    const kni_ir_node *node = at(z, id), *from = at(z, node->a);
    if (from->code == KNI_IR_VECTOR) return from->a;
    if (from->code == KNI_IR_PACK) return z->ir->lists[from->u.list.first + node->index];
    return id;
}

/* A vector whose lanes are all the same, or the lanes of another in order. */
static kni_ir_id fold_pack(kni_ir_simplifier *z, kni_ir_id id)
{
    kni_ir_node *node = at(z, id);
    const kni_ir_id *lanes = &z->ir->lists[node->u.list.first];
    bool copies = true, in_order = true;
    for (uint32_t i = 0; i < node->u.list.count; i++) {
        const kni_ir_node *lane = at(z, lanes[i]), *first = at(z, lanes[0]);
        copies &= lanes[i] == lanes[0];
        in_order &= lane->code == KNI_IR_LANE && first->code == KNI_IR_LANE && lane->a == first->a &&
                    lane->index == i && kni_ir_same_type(at(z, lane->a)->type, node->type);
    }
    if (in_order) return at(z, lanes[0])->a;
    if (!copies) return id;
    node->code = KNI_IR_VECTOR;
    node->a = lanes[0];
    memset(&node->u, 0, sizeof node->u);
    z->changed = true;
    return id;
}

/* Loads and stores whose truth is known. 0: nothing is stored. */
static kni_ir_id fold_memory(kni_ir_simplifier *z, kni_ir_id id)
{
    kni_ir_node *node = at(z, id);
    bool load = node->code == KNI_IR_LOAD;
    kni_ir_id truth = load ? node->b : node->c;
    if (is_value(z, truth, 0)) return load ? node->c : 0;
    if (!is_value(z, truth, 1)) return id;
    if (load) node->b = 0;
    node->c = 0;
    z->changed = true;
    return id;
}

kni_ir_id kni_ir_fold(kni_ir_simplifier *z, kni_ir_id id)
{
    if (fold_constant(z, id)) return id;
    const kni_ir_node *node = at(z, id);
    switch (node->code) {
    case KNI_IR_WORD: {
        const char *name = kni_word_at((int)node->index)->name;
        return kni_is_float(at(z, node->a)->type.dtype) ? fold_float_word(z, id, name)
                                                        : fold_integer_word(z, id, name);
    }
    case KNI_IR_AND:
    case KNI_IR_OR:
    case KNI_IR_NOT:
        return fold_truths(z, id);
    case KNI_IR_SELECT:
        if (is_value(z, node->a, 1) || node->b == node->c) return node->b;
        return is_value(z, node->a, 0) ? node->c : id;
    case KNI_IR_CAST:
        return fold_cast(z, id);
    case KNI_IR_LANE:
        return fold_lane(z, id);
    case KNI_IR_PACK:
        return fold_pack(z, id);
    case KNI_IR_LOAD:
    case KNI_IR_STORE:
        return fold_memory(z, id);
    default:
        return id;
    }
}
