/* The verifier: types and numbers of a single node. */
#include "ir/verify_internal.h"
#include "ops/body.h"
#include <string.h>

static kni_ir_type type_of(const kni_ir_checker *c, kni_ir_id id) { return kni_ir_at(c->ir, id)->type; }

static bool operand_is(const kni_ir_checker *c, kni_ir_id id, int dtype, int lanes)
{
    return type_of(c, id).dtype == dtype && type_of(c, id).lanes == lanes;
}

/* Every operand that is there has the node's type. */
static bool all_alike(const kni_ir_checker *c, kni_ir_node *node, int first)
{
    for (int i = first; i < 3; i++) {
        kni_ir_id id = *kni_ir_operand(node, i);
        if (id && !kni_ir_same_type(type_of(c, id), node->type)) return false;
    }
    return true;
}

#define RULE(name) static const char *name(kni_ir_checker *c, kni_ir_node *node)
#define NEEDS(condition, text)                                                                               \
    if (!(condition)) return text

RULE(constant)
{
    (void)c;
    NEEDS(node->type.lanes == 1, "a constant is a scalar");
    switch (node->type.dtype) {
    case KN_BOOL:
        return node->u.whole == 0 || node->u.whole == 1 ? NULL : "a truth is 0 or 1";
    case KN_I32:
        return node->u.whole == (int32_t)node->u.whole ? NULL : "an i32 constant does not fit";
    case KN_U32:
        return node->u.whole == (int64_t)(uint32_t)node->u.whole ? NULL : "a u32 constant does not fit";
    case KN_F32:
        return node->u.real != node->u.real || (double)(float)node->u.real == node->u.real
                   ? NULL
                   : "an f32 constant does not fit";
    default:
        return NULL;
    }
}

RULE(param)
{
    NEEDS(!c->function, "a function knows its arguments only");
    NEEDS(node->index < c->ir->n_params, "no such number");
    const kni_ir_param *p = &c->ir->params[node->index];
    NEEDS((node->code == KNI_IR_ELEMENT) == (p->count != 0), "a number is no array, an array no number");
    NEEDS(node->type.dtype == p->dtype && node->type.lanes == 1, "a number has the type it is declared with");
    if (node->code == KNI_IR_ELEMENT && kni_ir_at(c->ir, node->a)->code == KNI_IR_CONSTANT)
        NEEDS((uint64_t)kni_ir_at(c->ir, node->a)->u.whole < p->count, "outside the array of numbers");
    return NULL;
}

RULE(builtin)
{
    NEEDS(!c->function, "a function knows its arguments only");
    NEEDS(node->index < KNI_IR_BUILTINS, "no such number of the launch");
    bool axes = node->index == KNI_IR_GROUP || node->index == KNI_IR_GROUPS;
    NEEDS(node->detail <= (axes ? 2 : 0), "no such axis");
    NEEDS(kni_ir_is_integer(node->type.dtype) && node->type.lanes == 1,
          "a number of the launch is an integer");
    NEEDS((node->index == KNI_IR_ITEM) == !c->ir->workgroup,
          c->ir->workgroup ? "a kernel of workgroups has no item" : "a kernel of items has no workgroup");
    return NULL;
}

RULE(argument)
{
    NEEDS(c->function, "only a function has arguments");
    const kni_ir_function *f = &c->ir->functions[c->function - 1];
    NEEDS(node->index < (uint32_t)f->n_arguments, "no such argument");
    NEEDS(kni_ir_same_type(node->type, f->arguments[node->index]),
          "an argument has the type it is declared with");
    return NULL;
}

RULE(word)
{
    NEEDS(node->index < (uint32_t)kni_word_count(), "no such word");
    const kni_word *w = kni_word_at((int)node->index);
    kni_ir_type t = type_of(c, node->a);
    NEEDS((w->arity == 2) == (node->b != 0), "a word has as many operands as it takes");
    NEEDS(!node->b || kni_ir_same_type(type_of(c, node->b), t), "a word takes operands of one type");
    NEEDS(!kni_is_bool(t.dtype) && (kni_is_float(t.dtype) ? w->floats : w->integers),
          "a word has no meaning there");
    NEEDS(node->type.lanes == t.lanes && node->type.dtype == (w->truth ? KN_BOOL : t.dtype),
          "a word's result has another type");
    NEEDS(!node->detail || (node->detail == 1 && t.dtype == KN_F32 &&
                            (!strcmp(w->name, "exp2") || !strcmp(w->name, "div"))),
          "only exp2 and div of f32 may come near");
    return NULL;
}

RULE(fused)
{
    NEEDS(kni_is_float(node->type.dtype) && all_alike(c, node, 0), "fma takes floats of its type");
    return NULL;
}

RULE(truths)
{
    NEEDS(kni_is_bool(node->type.dtype) && all_alike(c, node, 0), "and, or and not take truths");
    return NULL;
}

RULE(select)
{
    NEEDS(operand_is(c, node->a, KN_BOOL, node->type.lanes), "a choice takes a truth for each lane");
    NEEDS(all_alike(c, node, 1), "a choice is between values of its type");
    return NULL;
}

RULE(cast)
{
    NEEDS(type_of(c, node->a).lanes == node->type.lanes, "a conversion keeps the lanes");
    NEEDS(!node->detail || (node->code == KNI_IR_CAST && kni_dtype_usable(node->detail)),
          "a conversion by way of no dtype");
    if (node->code == KNI_IR_BITCAST)
        NEEDS(kni_dtypes[node->type.dtype].bits == kni_dtypes[type_of(c, node->a).dtype].bits &&
                  !kni_is_bool(node->type.dtype) && !kni_is_bool(type_of(c, node->a).dtype),
              "the same bits in another size");
    return NULL;
}

RULE(vector)
{
    NEEDS(node->type.lanes > 1 && operand_is(c, node->a, node->type.dtype, 1), "a vector copies a scalar");
    return NULL;
}

RULE(lane)
{
    kni_ir_type t = type_of(c, node->a);
    NEEDS(node->type.lanes == 1 && node->type.dtype == t.dtype && node->index < t.lanes, "no such lane");
    return NULL;
}

RULE(pack)
{
    NEEDS(node->type.lanes > 1 && node->u.list.count == node->type.lanes,
          "a vector is made of as many scalars");
    for (uint32_t i = 0; i < node->u.list.count; i++)
        NEEDS(operand_is(c, c->ir->lists[node->u.list.first + i], node->type.dtype, 1),
              "a vector is made of scalars of its type");
    return NULL;
}

RULE(philox)
{
    NEEDS(node->type.dtype == KN_I64 && all_alike(c, node, 0), "random bits are of i64");
    return NULL;
}

RULE(call)
{
    NEEDS(node->index < c->ir->n_functions, "no such function");
    NEEDS(!c->function || node->index + 1 < c->function, "a function calls only those before it");
    const kni_ir_function *f = &c->ir->functions[node->index];
    NEEDS(node->u.list.count == (uint32_t)f->n_arguments, "a call has as many arguments as the function");
    NEEDS(kni_ir_same_type(node->type, f->result), "a call has the type of its function");
    for (uint32_t i = 0; i < node->u.list.count; i++)
        NEEDS(kni_ir_same_type(type_of(c, c->ir->lists[node->u.list.first + i]), f->arguments[i]),
              "an argument has another type");
    return NULL;
}

/* The binding is there, may be used here, and a constant position lies inside an array. */
static const char *memory(kni_ir_checker *c, const kni_ir_node *node, int needs, int64_t elements)
{
    NEEDS(node->index < c->ir->n_bindings, "no such buffer");
    const kni_ir_binding *b = &c->ir->bindings[node->index];
    NEEDS((b->access & needs) == needs,
          needs & KNI_IR_WRITE ? "the buffer is not written" : "the buffer is not read");
    NEEDS(!c->function || b->space == KNI_IR_PRIVATE || b->space == KNI_IR_TABLE,
          "a function knows its arguments and arrays only");
    if (b->space == KNI_IR_PRIVATE) {
        uint32_t *owner = &c->owners[node->index];
        if (!*owner) *owner = c->function + 1;
        NEEDS(*owner == c->function + 1, "an array belongs to one function");
    }
    bool tile = node->code == KNI_IR_TILE_LOAD || node->code == KNI_IR_TILE_STORE;
    const kni_ir_node *at = kni_ir_at(c->ir, tile ? node->b : node->a);
    if (b->space != KNI_IR_GLOBAL && at->code == KNI_IR_CONSTANT)
        NEEDS(at->u.whole >= 0 && at->u.whole <= b->length - elements, "outside the array");
    return NULL;
}

RULE(load)
{
    NEEDS(!node->b == !node->c, "a load where a truth holds has a value else");
    NEEDS(!node->b || operand_is(c, node->b, KN_BOOL, node->type.lanes), "a truth for each lane");
    NEEDS(!node->c || kni_ir_same_type(type_of(c, node->c), node->type),
          "the value else has the load's type");
    return memory(c, node, KNI_IR_READ, node->b ? 1 : node->type.lanes);
}

RULE(store)
{
    NEEDS(!node->c || operand_is(c, node->c, KN_BOOL, type_of(c, node->b).lanes), "a truth for each lane");
    return memory(c, node, KNI_IR_WRITE, node->c ? 1 : type_of(c, node->b).lanes);
}

RULE(atomic)
{
    const char *wrong = memory(c, node, KNI_IR_READ | KNI_IR_WRITE, 1);
    NEEDS(!wrong, wrong);
    const kni_ir_binding *b = &c->ir->bindings[node->index];
    NEEDS(node->detail < KNI_IR_COMBINES && node->detail != KNI_IR_MULTIPLY, "no such atomic");
    NEEDS((node->detail == KNI_IR_COMPARE) == (node->c != 0), "compare and exchange expects a value");
    NEEDS(node->detail != KNI_IR_COMPARE || kni_ir_is_integer(node->type.dtype),
          "compare and exchange of integers");
    NEEDS(node->type.lanes == 1 && !kni_is_bool(node->type.dtype) && node->type.dtype == b->dtype &&
              all_alike(c, node, 1),
          "an atomic works on scalars of the buffer's dtype");
    NEEDS(b->space != KNI_IR_PRIVATE, "an atomic on what nobody else sees");
    return NULL;
}

RULE(variable)
{
    NEEDS(all_alike(c, node, 0), "a variable has one type");
    return NULL;
}

RULE(set)
{
    NEEDS(kni_ir_same_type(type_of(c, node->b), type_of(c, node->a)), "a variable has one type");
    return NULL;
}

RULE(counted)
{
    NEEDS(kni_ir_is_integer(node->type.dtype) && node->type.lanes == 1 && all_alike(c, node, 0),
          "a loop counts with integers of one type");
    const kni_ir_node *step = kni_ir_at(c->ir, node->c);
    bool is_signed = node->type.dtype == KN_I32 || node->type.dtype == KN_I64;
    if (step->code == KNI_IR_CONSTANT)
        NEEDS(is_signed ? step->u.whole > 0 : step->u.whole != 0, "a loop counts upwards");
    return NULL;
}

RULE(report)
{
    NEEDS(!c->function, "only a kernel reports");
    NEEDS(c->ir->reports, "a kernel that reports says so");
    NEEDS(operand_is(c, node->a, KN_I64, 1), "a report is an i64");
    return NULL;
}

/* What only a kernel of workgroups can do. */
RULE(together)
{
    NEEDS(!c->function, "only a kernel does something together");
    NEEDS(c->ir->workgroup, "a kernel of items has no workgroup");
    c->has_barriers = true;
    bool number = node->type.lanes == 1 && !kni_is_bool(node->type.dtype);
    if (node->code == KNI_IR_BARRIER) return NULL;
    NEEDS(number && kni_ir_same_type(type_of(c, node->a), node->type), "invocations combine one number each");
    NEEDS(node->code == KNI_IR_SHUFFLE || node->detail <= KNI_IR_MAX, "no such way to combine");
    return NULL;
}

RULE(tile)
{
    NEEDS(!c->function, "only a kernel has tiles");
    NEEDS(c->ir->workgroup, "a kernel of items has no tiles");
    c->has_barriers = true;
    if (node->code == KNI_IR_TILE) {
        bool small = kni_is_half(node->type.dtype);
        NEEDS(node->detail <= KNI_IR_TILE_SUM && node->type.lanes == 1 &&
                  (node->type.dtype == KN_F32 || (small && node->detail != KNI_IR_TILE_SUM)),
              "a tile is left or right of f16, bf16 or f32, or a sum of f32");
        return NULL;
    }
    kni_ir_type t = type_of(c, node->a);
    if (node->code == KNI_IR_TILE_FILL) {
        NEEDS(operand_is(c, node->b, KN_F32, 1), "a tile is filled with one f32");
        return NULL;
    }
    if (node->code == KNI_IR_TILE_MULTIPLY) {
        NEEDS(kni_ir_at(c->ir, node->a)->detail == KNI_IR_TILE_SUM &&
                  kni_ir_at(c->ir, node->b)->detail == KNI_IR_TILE_LEFT &&
                  kni_ir_at(c->ir, node->c)->detail == KNI_IR_TILE_RIGHT &&
                  type_of(c, node->b).dtype == type_of(c, node->c).dtype,
              "a sum tile takes a left and a right tile of one dtype");
        return NULL;
    }
    const char *wrong = memory(c, node, node->code == KNI_IR_TILE_LOAD ? KNI_IR_READ : KNI_IR_WRITE, 1);
    NEEDS(!wrong, wrong);
    NEEDS(c->ir->bindings[node->index].dtype == t.dtype, "a tile has its buffer's dtype");
    NEEDS(c->ir->bindings[node->index].space != KNI_IR_PRIVATE, "a tile of what nobody else sees");
    return NULL;
}

RULE(get)
{
    NEEDS(kni_ir_same_type(type_of(c, node->a), node->type), "a variable has one type");
    return NULL;
}

static const char *(*const rules[KNI_IR_CODES])(kni_ir_checker *, kni_ir_node *) = {
    [KNI_IR_CONSTANT] = constant,
    [KNI_IR_PARAM] = param,
    [KNI_IR_ELEMENT] = param,
    [KNI_IR_BUILTIN] = builtin,
    [KNI_IR_ARGUMENT] = argument,
    [KNI_IR_WORD] = word,
    [KNI_IR_FMA] = fused,
    [KNI_IR_AND] = truths,
    [KNI_IR_OR] = truths,
    [KNI_IR_NOT] = truths,
    [KNI_IR_SELECT] = select,
    [KNI_IR_CAST] = cast,
    [KNI_IR_BITCAST] = cast,
    [KNI_IR_VECTOR] = vector,
    [KNI_IR_LANE] = lane,
    [KNI_IR_PACK] = pack,
    [KNI_IR_PHILOX] = philox,
    [KNI_IR_CALL] = call,
    [KNI_IR_LOAD] = load,
    [KNI_IR_STORE] = store,
    [KNI_IR_ATOMIC] = atomic,
    [KNI_IR_VARIABLE] = variable,
    [KNI_IR_GET] = get,
    [KNI_IR_SET] = set,
    [KNI_IR_FOR] = counted,
    [KNI_IR_REPORT] = report,
    [KNI_IR_BARRIER] = together,
    [KNI_IR_SUBGROUP] = together,
    [KNI_IR_WORKGROUP] = together,
    [KNI_IR_SHUFFLE] = together,
    [KNI_IR_SCAN] = together,
    [KNI_IR_TILE] = tile,
    [KNI_IR_TILE_FILL] = tile,
    [KNI_IR_TILE_LOAD] = tile,
    [KNI_IR_TILE_STORE] = tile,
    [KNI_IR_TILE_MULTIPLY] = tile,
};

/* Statements have no type; all others have one that can be computed in (tiles are checked by their rule). */
static bool type_fits(const kni_ir_node *node)
{
    if (node->code == KNI_IR_TILE) return true;
    if (kni_ir_codes[node->code].flags & KNI_IR_ACTS) return node->type.dtype == KN_DTYPE_NONE;
    return kni_ir_is_compute(node->type.dtype) && kni_ir_lanes_fit(node->type.lanes);
}

kn_status kni_ir_check_node(kni_ir_checker *c, kni_ir_node *node)
{
    if (!type_fits(node)) return kni_ir_refuse(c->ir, node, "a type that nothing is computed in");
    const char *wrong = rules[node->code] ? rules[node->code](c, node) : NULL;
    return wrong ? kni_ir_refuse(c->ir, node, "%s", wrong) : KN_OK;
}
