/* What a kernel of SPIR-V is given: buffers in set 0 by their numbers, behind them the block of the launch's numbers, and from the
   driver (for one that ends loops, behind it one more buffer, the alarm) six pushed numbers: the first workgroup of this dispatch along each axis, and how many the whole launch has. Its arrays and tables
   are variables of the module. */
#include "ir/spirv/spirv.h"

enum { PUSHED = 6, FIRST_GROUPS = 3 };

static void decorate(kni_spirv *s, uint32_t id, uint32_t decoration, int n, uint32_t value)
{
    kni_spirv_put(s, &s->notes, SPIRV_DECORATE, 2 + n, id, decoration, value);
}

static uint32_t variable(kni_spirv *s, uint32_t type, uint32_t space, uint32_t first_value)
{
    uint32_t pointer = kni_spirv_pointer(s, type, space), id = kni_spirv_id(s);
    kni_spirv_put(s, &s->globals, SPIRV_VARIABLE, first_value ? 4 : 3, pointer, id, space, first_value);
    return id;
}

/* struct { T element[]; } */
static uint32_t block_of(kni_spirv *s, int dtype)
{
    if (s->blocks[dtype]) return s->blocks[dtype];
    uint32_t element = kni_spirv_scalar(s, dtype), array = kni_spirv_id(s), block = kni_spirv_id(s);
    kni_spirv_put(s, &s->globals, SPIRV_TYPE_ENDLESS, 2, array, element);
    kni_spirv_put(s, &s->globals, SPIRV_TYPE_STRUCT, 2, block, array);
    decorate(s, array, SPIRV_STRIDE, 1, (uint32_t)kni_bytes_of(dtype));
    decorate(s, block, SPIRV_BLOCK, 0, 0);
    kni_spirv_put(s, &s->notes, SPIRV_DECORATE_MEMBER, 4, block, 0, SPIRV_OFFSET, 0);
    return s->blocks[dtype] = block;
}

static uint32_t buffer(kni_spirv *s, uint32_t number, int dtype, bool written, bool alone)
{
    uint32_t id = variable(s, block_of(s, dtype), SPIRV_BUFFER, 0);
    decorate(s, id, SPIRV_SET, 1, 0);
    decorate(s, id, SPIRV_BINDING, 1, number);
    if (!written) decorate(s, id, SPIRV_READ_ONLY, 0, 0);
    if (!alone) decorate(s, id, SPIRV_ALIASED, 0, 0);
    return id;
}

static uint32_t table(kni_spirv *s, const kni_ir_binding *b)
{
    uint32_t length = (uint32_t)b->length, type = kni_spirv_array(s, kni_spirv_scalar(s, KN_U32), length);
    uint32_t first[2] = {type, kni_spirv_id(s)};
    kni_spirv_words elements = {NULL, 0, 0};
    for (uint32_t i = 0; i < length; i++)
        kni_spirv_word(s, &elements, kni_spirv_u32(s, s->ir->words[b->first + i]));
    if (s->status == KN_OK)
        kni_spirv_put_list(s, &s->globals, SPIRV_COMPOSITE, first, 2, elements.data, length);
    kni_spirv_words_free(&elements);
    return variable(s, type, SPIRV_PRIVATE, first[1]);
}

static void bindings(kni_spirv *s)
{
    const kni_ir *ir = s->ir;
    for (uint32_t i = 0; i < ir->n_bindings && s->status == KN_OK; i++) {
        const kni_ir_binding *b = &ir->bindings[i];
        uint32_t space = b->space == KNI_IR_SHARED ? SPIRV_WORKGROUP : SPIRV_PRIVATE;
        if (b->space == KNI_IR_GLOBAL)
            s->bindings[i] = buffer(s, i, b->dtype, b->access & KNI_IR_WRITE, s->caps->no_aliases);
        else if (b->space == KNI_IR_TABLE)
            s->bindings[i] = table(s, b);
        else
            s->bindings[i] =
                variable(s, kni_spirv_array(s, kni_spirv_scalar(s, b->dtype), (uint32_t)b->length), space, 0);
    }
    if (ir->param_bytes) s->words = buffer(s, ir->n_buffers, KN_U32, false, true);
    if (kni_spirv_watches(s)) s->alarm = buffer(s, ir->n_buffers + 1, KN_U32, true, true);
}

static void pushed(kni_spirv *s)
{
    uint32_t members[1 + PUSHED] = {kni_spirv_id(s)}, u32 = kni_spirv_scalar(s, KN_U32);
    for (uint32_t i = 0; i < PUSHED; i++) {
        members[1 + i] = u32;
        kni_spirv_put(s, &s->notes, SPIRV_DECORATE_MEMBER, 4, members[0], i, SPIRV_OFFSET, i * 4);
    }
    kni_spirv_put_list(s, &s->globals, SPIRV_TYPE_STRUCT, members, 1 + PUSHED, NULL, 0);
    decorate(s, members[0], SPIRV_BLOCK, 0, 0);
    s->push = variable(s, members[0], SPIRV_PUSH, 0);
}

static uint32_t input(kni_spirv *s, uint32_t type, uint32_t builtin)
{
    uint32_t id = variable(s, type, SPIRV_INPUT, 0);
    decorate(s, id, SPIRV_BUILTIN, 1, builtin);
    return id;
}

/* A kernel of items leaves the workgroup's size to the driver, as constant 0 of its specialisation. */
static void width(kni_spirv *s, uint32_t vector)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32), one = kni_spirv_u32(s, 1), size;
    if (s->ir->workgroup) {
        s->width = kni_spirv_u32(s, s->ir->workgroup);
        return;
    }
    s->width = kni_spirv_id(s);
    kni_spirv_put(s, &s->globals, SPIRV_SPEC_CONSTANT, 3, u32, s->width, 64);
    decorate(s, s->width, SPIRV_SPEC_ID, 1, 0);
    size = kni_spirv_id(s);
    kni_spirv_put(s, &s->globals, SPIRV_SPEC_COMPOSITE, 5, vector, size, s->width, one, one);
    decorate(s, size, SPIRV_BUILTIN, 1, SPIRV_WORKGROUP_SIZE);
}

void kni_spirv_interface(kni_spirv *s)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32), vector = kni_spirv_vector(s, u32, 3);
    s->group = input(s, vector, SPIRV_GROUP_NUMBER);
    s->local = input(s, vector, SPIRV_LOCAL_NUMBER);
    if (s->caps->subgroups) s->lane = input(s, u32, SPIRV_LANE_NUMBER);
    width(s, vector);
    pushed(s);
    bindings(s);
}

/* ---- reading it */

uint32_t kni_spirv_element(kni_spirv *s, uint32_t binding, uint32_t at)
{
    const kni_ir_binding *b = &s->ir->bindings[binding];
    uint32_t element = kni_spirv_scalar(s, b->space == KNI_IR_TABLE ? KN_U32 : b->dtype),
             base = s->bindings[binding];
    if (b->space == KNI_IR_GLOBAL)
        return kni_spirv_make(s, SPIRV_ACCESS, kni_spirv_pointer(s, element, SPIRV_BUFFER), 3, base,
                              kni_spirv_u32(s, 0), at);
    uint32_t space = b->space == KNI_IR_SHARED ? SPIRV_WORKGROUP : SPIRV_PRIVATE;
    return kni_spirv_make(s, SPIRV_ACCESS, kni_spirv_pointer(s, element, space), 2, base, at);
}

uint32_t kni_spirv_number(kni_spirv *s, uint32_t at)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32);
    uint32_t place = kni_spirv_make(s, SPIRV_ACCESS, kni_spirv_pointer(s, u32, SPIRV_BUFFER), 3, s->words,
                                    kni_spirv_u32(s, 0), at);
    return kni_spirv_make(s, SPIRV_LOAD, u32, 1, place);
}

static uint32_t read_pushed(kni_spirv *s, uint32_t number)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32);
    uint32_t place = kni_spirv_make(s, SPIRV_ACCESS, kni_spirv_pointer(s, u32, SPIRV_PUSH), 2, s->push,
                                    kni_spirv_u32(s, number));
    return kni_spirv_make(s, SPIRV_LOAD, u32, 1, place);
}

uint32_t kni_spirv_group_count(kni_spirv *s, uint32_t axis) { return read_pushed(s, FIRST_GROUPS + axis); }

static uint32_t read_axis(kni_spirv *s, uint32_t vector, uint32_t axis)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32);
    uint32_t place = kni_spirv_make(s, SPIRV_ACCESS, kni_spirv_pointer(s, u32, SPIRV_INPUT), 2, vector,
                                    kni_spirv_u32(s, axis));
    return kni_spirv_make(s, SPIRV_LOAD, u32, 1, place);
}

static uint32_t group_number(kni_spirv *s, uint32_t axis)
{
    return kni_spirv_make(s, SPIRV_INT_ADD, kni_spirv_scalar(s, KN_U32), 2, read_axis(s, s->group, axis),
                          read_pushed(s, axis));
}

uint32_t kni_spirv_builtin(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32), axis = node->detail < 3 ? node->detail : 0;
    switch (node->index) {
    case KNI_IR_ITEM: {
        uint32_t first = kni_spirv_make(s, SPIRV_INT_MUL, u32, 2, group_number(s, 0), s->width);
        return kni_spirv_make(s, SPIRV_INT_ADD, u32, 2, first, read_axis(s, s->local, 0));
    }
    case KNI_IR_GROUP:
        return group_number(s, axis);
    case KNI_IR_GROUPS:
        return kni_spirv_group_count(s, axis);
    case KNI_IR_LOCAL:
        return read_axis(s, s->local, 0);
    case KNI_IR_LOCALS:
        return s->width;
    case KNI_IR_LANE_ID:
        if (s->caps->subgroups) return kni_spirv_make(s, SPIRV_LOAD, u32, 1, s->lane);
        break;
    default:
        break;
    }
    kni_spirv_fail(s, node, "a number of the launch that SPIR-V has no name for");
    return 0;
}
