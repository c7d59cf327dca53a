/* The life of an IR module: its growing arrays, and small facts about types and nodes that every pass asks. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/ir_internal.h"
#include <string.h>

bool kni_ir_is_compute(int dtype)
{
    return dtype == KN_F32 || dtype == KN_F64 || dtype == KN_I32 || dtype == KN_I64 || dtype == KN_U32 ||
           dtype == KN_U64 || kni_is_bool(dtype);
}

bool kni_ir_is_integer(int dtype)
{
    return dtype == KN_I32 || dtype == KN_I64 || dtype == KN_U32 || dtype == KN_U64;
}

bool kni_ir_lanes_fit(int lanes)
{
    return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16;
}

bool kni_ir_name_fits(const char *name, size_t room)
{
    size_t n = 0;
    if (!name || (name[0] >= '0' && name[0] <= '9')) return false;
    for (; name[n]; n++) {
        char c = name[n];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (n + 1 >= room || !(letter || (c >= '0' && c <= '9'))) return false;
    }
    return n > 0;
}

/* Makes room for one more element; the count is bounded so that ids and sizes cannot overflow. */
static bool grow(void **data, uint32_t count, uint32_t *room, size_t size)
{
    if (count >= KNI_IR_MAX_NODES) return false;
    void *p = kni_grow(*data, room, count + 1, size);
    if (p) *data = p;
    return p != NULL;
}

kni_ir_id kni_ir_new_node(kni_ir *ir)
{
    if (!grow((void **)&ir->nodes, ir->n_nodes, &ir->node_room, sizeof *ir->nodes)) return 0;
    memset(&ir->nodes[ir->n_nodes], 0, sizeof *ir->nodes);
    return ir->n_nodes++;
}

uint32_t kni_ir_new_block(kni_ir *ir)
{
    if (!grow((void **)&ir->blocks, ir->n_blocks, &ir->block_room, sizeof *ir->blocks)) return 0;
    memset(&ir->blocks[ir->n_blocks], 0, sizeof *ir->blocks);
    return ir->n_blocks++;
}

bool kni_ir_list_add(kni_ir *ir, kni_ir_id id)
{
    if (!grow((void **)&ir->lists, ir->n_lists, &ir->list_room, sizeof *ir->lists)) return false;
    ir->lists[ir->n_lists++] = id;
    return true;
}

bool kni_ir_word_add(kni_ir *ir, uint32_t word)
{
    if (!grow((void **)&ir->words, ir->n_words, &ir->word_room, sizeof *ir->words)) return false;
    ir->words[ir->n_words++] = word;
    return true;
}

kni_ir_function *kni_ir_new_function(kni_ir *ir)
{
    if (!grow((void **)&ir->functions, ir->n_functions, &ir->function_room, sizeof *ir->functions))
        return NULL;
    memset(&ir->functions[ir->n_functions], 0, sizeof *ir->functions);
    return &ir->functions[ir->n_functions++];
}

void kni_ir_append(kni_ir *ir, uint32_t block, kni_ir_id id)
{
    kni_ir_block *k = &ir->blocks[block];
    if (k->last)
        ir->nodes[k->last].next = id;
    else
        k->first = id;
    k->last = id;
}

int kni_ir_block_count(int code)
{
    return code == KNI_IR_IF ? 2 : code == KNI_IR_FOR ? 1 : code == KNI_IR_LOOP ? 3 : 0;
}

bool kni_ir_has_value(const kni_ir_node *node)
{
    return node->type.dtype != KN_DTYPE_NONE && node->code != KNI_IR_VARIABLE && node->code != KNI_IR_TILE;
}

kni_ir *kni_ir_new(const char *name)
{
    kni_ir *ir = kni_allocate(sizeof *ir);
    if (!ir) return NULL;
    memset(ir, 0, sizeof *ir);
    size_t n = strlen(name);
    memcpy(ir->name, name, n < sizeof ir->name ? n : sizeof ir->name - 1);
    kni_ir_new_node(ir);
    kni_ir_new_block(ir);
    ir->body = ir->n_nodes && ir->n_blocks ? kni_ir_new_block(ir) : 0;
    if (ir->body) return ir;
    kni_ir_free(ir);
    return NULL;
}

void kni_ir_free(kni_ir *ir)
{
    if (!ir) return;
    if (ir->nodes) kni_free(ir->nodes, ir->node_room * sizeof *ir->nodes);
    if (ir->blocks) kni_free(ir->blocks, ir->block_room * sizeof *ir->blocks);
    if (ir->lists) kni_free(ir->lists, ir->list_room * sizeof *ir->lists);
    if (ir->words) kni_free(ir->words, ir->word_room * sizeof *ir->words);
    if (ir->functions) kni_free(ir->functions, ir->function_room * sizeof *ir->functions);
    kni_free(ir, sizeof *ir);
}

/* A copy of `count` elements in room for as many; false without memory. */
static bool copy_array(void **to, const void *from, uint32_t count, uint32_t *room, size_t size)
{
    *room = count;
    *to = count ? kni_allocate(count * size) : NULL;
    if (!*to) *room = 0;
    if (*to) memcpy(*to, from, count * size);
    return *to || !count;
}

kni_ir *kni_ir_copy(const kni_ir *ir)
{
    kni_ir *copy = kni_allocate(sizeof *copy);
    if (!copy) return NULL;
    *copy = *ir;
    bool good =
        copy_array((void **)&copy->nodes, ir->nodes, ir->n_nodes, &copy->node_room, sizeof *ir->nodes);
    good &=
        copy_array((void **)&copy->blocks, ir->blocks, ir->n_blocks, &copy->block_room, sizeof *ir->blocks);
    good &= copy_array((void **)&copy->lists, ir->lists, ir->n_lists, &copy->list_room, sizeof *ir->lists);
    good &= copy_array((void **)&copy->words, ir->words, ir->n_words, &copy->word_room, sizeof *ir->words);
    good &= copy_array((void **)&copy->functions, ir->functions, ir->n_functions, &copy->function_room,
                       sizeof *ir->functions);
    if (good) return copy;
    kni_ir_free(copy);
    return NULL;
}

kn_status kni_ir_fail_at(const kni_ir *ir, uint32_t line, uint32_t column, kn_status code, const char *format,
                         va_list arguments)
{
    char buffer[400];
    kni_text text = {buffer, sizeof buffer, 0};
    kni_text_format_list(&text, format, arguments);
    const char *where = ir->file[0] ? ir->file : ir->name;
    if (!line) return kni_fail(code, "kernel %s: %s", ir->name, buffer);
    return kni_fail(code, "%s:%u:%u: %s", where, line, column, buffer);
}
