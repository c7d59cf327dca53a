/* The builder itself: where it stands, what a launch gives, blocks, loops and functions. */
#include "core/error.h"
#include "ir/builder_internal.h"
#include <stdarg.h>
#include <string.h>

void kni_ir_fail(kni_ir_builder *b, const char *format, ...)
{
    if (b->status != KN_OK || !b->ir) return;
    va_list arguments;
    va_start(arguments, format);
    b->status = kni_ir_fail_at(b->ir, b->line, b->column, KN_ERROR_ARGUMENT, format, arguments);
    va_end(arguments);
}

static void no_memory(kni_ir_builder *b)
{
    if (b->status == KN_OK) b->status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
}

static void open_block(kni_ir_builder *b, uint32_t block, kni_ir_id owner)
{
    if (b->status != KN_OK) return;
    if (!block) {
        no_memory(b);
    } else if (b->depth == KNI_IR_MAX_DEPTH) {
        kni_ir_fail(b, "blocks are nested deeper than %d", (int32_t)KNI_IR_MAX_DEPTH);
    } else {
        b->stack[b->depth] = block;
        b->owners[b->depth++] = owner;
    }
}

kni_ir_builder kni_ir_begin(const char *name, uint32_t workgroup)
{
    kni_ir_builder b = {.ir = kni_ir_new(name ? name : "")};
    if (!b.ir) {
        no_memory(&b);
        return b;
    }
    b.ir->workgroup = workgroup;
    if (!kni_ir_name_fits(name, sizeof b.ir->name)) kni_ir_fail(&b, "'%s' is no name for a kernel", name);
    open_block(&b, b.ir->body, 0);
    return b;
}

kni_ir *kni_ir_finish(kni_ir_builder *b)
{
    if (b->depth != 1 || b->function) kni_ir_fail(b, "a block was not closed");
    if (b->status == KN_OK) b->status = kni_ir_verify(b->ir);
    kni_ir *ir = b->ir;
    b->ir = NULL;
    if (b->status == KN_OK) return ir;
    kni_ir_free(ir);
    return NULL;
}

/* ---- what a launch gives */

static kni_ir_binding *add_binding(kni_ir_builder *b, const char *name, int dtype)
{
    if (b->status != KN_OK) return NULL;
    kni_ir *ir = b->ir;
    if (!kni_ir_name_fits(name, sizeof ir->bindings[0].name)) {
        kni_ir_fail(b, "'%s' is no name for a buffer", name);
    } else if (!kni_dtype_usable(dtype)) {
        kni_ir_fail(b, "buffer '%s' cannot have that dtype", name);
    } else if (ir->n_bindings == KNI_IR_MAX_BINDINGS) {
        kni_ir_fail(b, "more than %d buffers and arrays", (int32_t)KNI_IR_MAX_BINDINGS);
    }
    for (uint32_t i = 0; b->status == KN_OK && i < ir->n_bindings; i++)
        if (!strcmp(ir->bindings[i].name, name)) kni_ir_fail(b, "two buffers are called '%s'", name);
    if (b->status != KN_OK) return NULL;
    kni_ir_binding *k = &ir->bindings[ir->n_bindings++];
    memcpy(k->name, name, strlen(name) + 1);
    k->dtype = (uint8_t)dtype;
    k->aligned = 1;
    return k;
}

uint32_t kni_ir_buffer(kni_ir_builder *b, const char *name, int dtype, int access)
{
    if (b->status == KN_OK && b->ir->n_bindings != b->ir->n_buffers)
        kni_ir_fail(b, "buffer '%s' is declared after an array", name);
    if (b->item_params) kni_ir_fail(b, "buffer '%s' is declared after the params of items", name);
    if (!(access & (KNI_IR_READ | KNI_IR_WRITE)) || (access & ~(KNI_IR_READ | KNI_IR_WRITE | KNI_IR_ALIASES)))
        kni_ir_fail(b, "buffer '%s' is neither read nor written", name);
    kni_ir_binding *k = add_binding(b, name, dtype);
    if (!k) return 0;
    k->space = KNI_IR_GLOBAL;
    k->access = (uint8_t)access;
    k->length = -1;
    return b->ir->n_buffers++;
}

uint32_t kni_ir_array(kni_ir_builder *b, const char *name, int dtype, int space, int64_t length)
{
    if (space != KNI_IR_SHARED && space != KNI_IR_PRIVATE)
        kni_ir_fail(b, "array '%s' has no such space", name);
    if (length < 1 || length > KNI_IR_MAX_ARRAY)
        kni_ir_fail(b, "array '%s' has %D elements; 1 to %d are possible", name, length,
                    (int32_t)KNI_IR_MAX_ARRAY);
    kni_ir_binding *k = add_binding(b, name, dtype);
    if (!k) return 0;
    k->space = (uint8_t)space;
    k->access = KNI_IR_READ | KNI_IR_WRITE;
    k->length = length;
    return b->ir->n_bindings - 1;
}

uint32_t kni_ir_table(kni_ir_builder *b, const char *name, int dtype)
{
    if (kni_bytes_of(dtype) % 4) kni_ir_fail(b, "table '%s' is of words", name);
    kni_ir_binding *k = add_binding(b, name, dtype);
    if (!k) return 0;
    k->space = KNI_IR_TABLE;
    k->access = KNI_IR_READ;
    k->length = 0;
    k->first = b->ir->n_words;
    return b->ir->n_bindings - 1;
}

void kni_ir_table_add(kni_ir_builder *b, uint32_t table, uint64_t bits)
{
    for (uint32_t i = 0; b->status == KN_OK && i < (uint32_t)kni_bytes_of(b->ir->bindings[table].dtype);
         i += 4)
        if (!kni_ir_word_add(b->ir, (uint32_t)(bits >> i * 8))) no_memory(b);
    if (b->status == KN_OK) b->ir->bindings[table].length++;
}

uint32_t kni_ir_param_add(kni_ir_builder *b, const char *name, int dtype, uint32_t count)
{
    if (b->status != KN_OK) return 0;
    kni_ir *ir = b->ir;
    if (!kni_ir_name_fits(name, sizeof ir->params[0].name))
        kni_ir_fail(b, "'%s' is no name for a number", name);
    if (!kni_ir_is_compute(dtype) || kni_is_bool(dtype)) kni_ir_fail(b, "'%s' cannot have that dtype", name);
    if (count > KNI_IR_MAX_ARRAY) kni_ir_fail(b, "'%s' has more than %d numbers", name, KNI_IR_MAX_ARRAY);
    if (ir->n_params == KNI_IR_MAX_PARAMS) kni_ir_fail(b, "more than %d numbers", (int32_t)KNI_IR_MAX_PARAMS);
    for (uint32_t i = 0; b->status == KN_OK && i < ir->n_params; i++)
        if (!strcmp(ir->params[i].name, name)) kni_ir_fail(b, "two numbers are called '%s'", name);
    if (b->status != KN_OK) return 0;
    uint32_t size = kni_bytes_of(dtype);
    kni_ir_param *p = &ir->params[ir->n_params];
    memcpy(p->name, name, strlen(name) + 1);
    p->dtype = (uint8_t)dtype;
    p->count = count;
    uint32_t end = 0;
    if (ir->n_params) {
        const kni_ir_param *last = p - 1;
        end = last->offset + kni_bytes_of(last->dtype) * (last->count ? last->count : 1);
    }
    p->offset = (end + size - 1) / size * size;
    /* A multiple of 8, as the struct of the emitted texts has. */
    ir->param_bytes = (p->offset + size * (count ? count : 1) + 7) / 8 * 8;
    return ir->n_params++;
}

void kni_ir_add_item_params(kni_ir_builder *b)
{
    if (b->status != KN_OK) return;
    if (b->ir->n_params) {
        kni_ir_fail(b, "the params of items come first");
        return;
    }
    kni_ir_param_add(b, "items", KN_I64, 0);
    for (uint32_t i = 0; i < b->ir->n_buffers; i++) {
        char name[48];
        kni_text text = {name, sizeof name, 0};
        kni_text_format(&text, "offset_%s", b->ir->bindings[i].name);
        kni_ir_param_add(b, name, KN_I64, 0);
    }
    b->item_params = true;
}

/* ---- nodes */

kni_ir_node *kni_ir_add(kni_ir_builder *b, int code, int dtype, int lanes, kni_ir_id *id)
{
    if (b->status != KN_OK) return NULL;
    *id = kni_ir_new_node(b->ir);
    if (!*id) {
        no_memory(b);
        return NULL;
    }
    kni_ir_node *node = kni_ir_at(b->ir, *id);
    node->code = (uint8_t)code;
    node->type = (kni_ir_type){(uint8_t)dtype, (uint8_t)lanes};
    node->line = b->line;
    node->column = b->column;
    kni_ir_append(b->ir, b->stack[b->depth - 1], *id);
    return node;
}

kni_ir_id kni_ir_add3(kni_ir_builder *b, int code, kni_ir_type type, kni_ir_id x, kni_ir_id y, kni_ir_id z)
{
    kni_ir_id id = 0;
    kni_ir_node *node = kni_ir_add(b, code, type.dtype, type.lanes, &id);
    if (!node) return 0;
    node->a = x;
    node->b = y;
    node->c = z;
    return id;
}

kni_ir_type kni_ir_type_of(kni_ir_builder *b, kni_ir_id x)
{
    kni_ir_type none = {KN_DTYPE_NONE, 0};
    if (b->status != KN_OK) return none;
    if (x && x < b->ir->n_nodes && kni_ir_has_value(kni_ir_at(b->ir, x))) return kni_ir_at(b->ir, x)->type;
    kni_ir_fail(b, "an operand has no value");
    return none;
}

bool kni_ir_is_truth(kni_ir_builder *b, kni_ir_id x)
{
    kni_ir_type t = kni_ir_type_of(b, x);
    if (b->status == KN_OK && (!kni_is_bool(t.dtype) || t.lanes != 1))
        kni_ir_fail(b, "a condition is a truth");
    return b->status == KN_OK;
}

kni_ir_id kni_ir_add_list(kni_ir_builder *b, int code, kni_ir_type type, const kni_ir_id *ids, int n)
{
    if (b->status != KN_OK) return 0;
    uint32_t first = b->ir->n_lists;
    for (int i = 0; i < n; i++)
        if (!kni_ir_list_add(b->ir, ids[i])) {
            no_memory(b);
            return 0;
        }
    kni_ir_id id = 0;
    kni_ir_node *node = kni_ir_add(b, code, type.dtype, type.lanes, &id);
    if (!node) return 0;
    node->u.list.first = first;
    node->u.list.count = (uint32_t)n;
    return id;
}

/* ---- control */

static uint32_t inner_block(kni_ir_builder *b, kni_ir_id owner, int which)
{
    uint32_t block = b->status == KN_OK ? kni_ir_new_block(b->ir) : 0;
    if (b->status == KN_OK && !block) no_memory(b);
    if (block) kni_ir_at(b->ir, owner)->u.blocks[which] = block;
    return block;
}

/* The statement whose block is open innermost; NULL (and a failure) when it is no `code`. */
static kni_ir_node *open_statement(kni_ir_builder *b, int code, const char *what)
{
    if (b->status != KN_OK) return NULL;
    kni_ir_id owner = b->owners[b->depth - 1];
    if (owner && kni_ir_at(b->ir, owner)->code == code) return kni_ir_at(b->ir, owner);
    kni_ir_fail(b, "%s", what);
    return NULL;
}

static void next_block(kni_ir_builder *b, int which)
{
    kni_ir_id owner = b->owners[--b->depth];
    open_block(b, inner_block(b, owner, which), owner);
}

void kni_ir_if(kni_ir_builder *b, kni_ir_id condition)
{
    if (!kni_ir_is_truth(b, condition)) return;
    kni_ir_id id = kni_ir_add3(b, KNI_IR_IF, (kni_ir_type){0, 0}, condition, 0, 0);
    open_block(b, inner_block(b, id, 0), id);
}

void kni_ir_else(kni_ir_builder *b)
{
    kni_ir_node *node = open_statement(b, KNI_IR_IF, "else without an if");
    if (!node) return;
    if (node->u.blocks[1])
        kni_ir_fail(b, "an if has two elses");
    else
        next_block(b, 1);
}

kni_ir_id kni_ir_for(kni_ir_builder *b, kni_ir_id from, kni_ir_id below, kni_ir_id step)
{
    kni_ir_type t = kni_ir_type_of(b, from), u = kni_ir_type_of(b, below), v = kni_ir_type_of(b, step);
    if (b->status == KN_OK &&
        (!kni_ir_is_integer(t.dtype) || t.lanes != 1 || !kni_ir_same_type(t, u) || !kni_ir_same_type(t, v)))
        kni_ir_fail(b, "a loop counts with integers of one type");
    kni_ir_id id = kni_ir_add3(b, KNI_IR_FOR, t, from, below, step);
    if (id) open_block(b, inner_block(b, id, 0), id);
    return b->status == KN_OK ? id : 0;
}

kni_ir_id kni_ir_for_apart(kni_ir_builder *b, kni_ir_id from, kni_ir_id below, kni_ir_id step)
{
    kni_ir_id id = kni_ir_for(b, from, below, step);
    if (id) kni_ir_at(b->ir, id)->detail = 1;
    return id;
}

void kni_ir_loop(kni_ir_builder *b)
{
    kni_ir_id id = kni_ir_add3(b, KNI_IR_LOOP, (kni_ir_type){0, 0}, 0, 0, 0);
    if (id) open_block(b, inner_block(b, id, 0), id);
}

void kni_ir_loop_test(kni_ir_builder *b, kni_ir_id condition)
{
    kni_ir_node *node = open_statement(b, KNI_IR_LOOP, "a loop's test outside a loop");
    if (!node || !kni_ir_is_truth(b, condition)) return;
    if (node->u.blocks[1]) kni_ir_fail(b, "a loop has two tests");
    kni_ir_add3(b, KNI_IR_TEST, (kni_ir_type){0, 0}, condition, 0, 0);
    if (b->status == KN_OK) next_block(b, 1);
}

void kni_ir_loop_step(kni_ir_builder *b)
{
    kni_ir_node *node = open_statement(b, KNI_IR_LOOP, "a loop's step outside a loop");
    if (!node) return;
    if (!node->u.blocks[1] || node->u.blocks[2])
        kni_ir_fail(b, "a loop's step comes after its body");
    else
        next_block(b, 2);
}

void kni_ir_end(kni_ir_builder *b)
{
    if (b->status != KN_OK) return;
    kni_ir_id owner = b->owners[b->depth - 1];
    if (!owner) {
        kni_ir_fail(b, "nothing is open");
        return;
    }
    const kni_ir_node *node = kni_ir_at(b->ir, owner);
    if (node->code == KNI_IR_LOOP && !node->u.blocks[1]) kni_ir_fail(b, "a loop has no test");
    b->depth--;
}

static void leave_loop(kni_ir_builder *b, int code, const char *name)
{
    if (b->status != KN_OK) return;
    for (int i = b->depth - 1; i >= 0 && b->owners[i]; i--)
        if (kni_ir_at(b->ir, b->owners[i])->code != KNI_IR_IF) {
            kni_ir_add3(b, code, (kni_ir_type){0, 0}, 0, 0, 0);
            return;
        }
    kni_ir_fail(b, "%s outside a loop", name);
}

void kni_ir_break(kni_ir_builder *b) { leave_loop(b, KNI_IR_BREAK, "break"); }

void kni_ir_continue(kni_ir_builder *b) { leave_loop(b, KNI_IR_CONTINUE, "continue"); }

void kni_ir_return(kni_ir_builder *b, kni_ir_id value)
{
    if (b->status != KN_OK) return;
    if (!b->function) {
        if (value) kni_ir_fail(b, "a kernel returns no value");
    } else if (!value) {
        kni_ir_fail(b, "a function returns a value");
    } else {
        kni_ir_type t = kni_ir_type_of(b, value);
        if (b->status == KN_OK && !kni_ir_same_type(t, b->ir->functions[b->function - 1].result))
            kni_ir_fail(b, "a function returns a value of another type");
    }
    kni_ir_add3(b, KNI_IR_RETURN, (kni_ir_type){0, 0}, value, 0, 0);
}

/* ---- functions */

uint32_t kni_ir_function_begin(kni_ir_builder *b, const char *name, kni_ir_type result,
                               const kni_ir_type *arguments, int n)
{
    if (b->status != KN_OK) return 0;
    kni_ir *ir = b->ir;
    if (b->function) kni_ir_fail(b, "function '%s' begins inside another", name);
    if (!kni_ir_name_fits(name, sizeof ir->functions[0].name))
        kni_ir_fail(b, "'%s' is no name for a function", name);
    if (n < 0 || n > KNI_IR_MAX_ARGUMENTS)
        kni_ir_fail(b, "function '%s' has more than %d arguments", name, (int32_t)KNI_IR_MAX_ARGUMENTS);
    for (uint32_t i = 0; b->status == KN_OK && i < ir->n_functions; i++)
        if (!strcmp(ir->functions[i].name, name)) kni_ir_fail(b, "two functions are called '%s'", name);
    for (int i = -1; b->status == KN_OK && i < n; i++) {
        kni_ir_type t = i < 0 ? result : arguments[i];
        if (!kni_ir_is_compute(t.dtype) || !kni_ir_lanes_fit(t.lanes))
            kni_ir_fail(b, "function '%s' has a type that nothing is computed in", name);
    }
    if (b->status != KN_OK) return 0;
    uint32_t number = ir->n_functions;
    kni_ir_function *f = kni_ir_new_function(ir);
    if (!f) {
        no_memory(b);
        return 0;
    }
    memcpy(f->name, name, strlen(name) + 1);
    f->result = result;
    f->n_arguments = n;
    for (int i = 0; i < n; i++) f->arguments[i] = arguments[i];
    f->body = kni_ir_new_block(ir);
    b->function = number + 1;
    open_block(b, f->body, 0);
    return number;
}

kni_ir_id kni_ir_argument(kni_ir_builder *b, int number)
{
    if (b->status != KN_OK) return 0;
    if (!b->function || number < 0 || number >= b->ir->functions[b->function - 1].n_arguments) {
        kni_ir_fail(b, "no such argument");
        return 0;
    }
    kni_ir_type t = b->ir->functions[b->function - 1].arguments[number];
    kni_ir_id id = 0;
    kni_ir_node *node = kni_ir_add(b, KNI_IR_ARGUMENT, t.dtype, t.lanes, &id);
    if (node) node->index = (uint32_t)number;
    return id;
}

void kni_ir_function_end(kni_ir_builder *b)
{
    if (b->status != KN_OK) return;
    if (!b->function || b->owners[b->depth - 1]) {
        kni_ir_fail(b, "no function ends here");
        return;
    }
    b->depth--;
    b->function = 0;
}

kni_ir_id kni_ir_call(kni_ir_builder *b, uint32_t function, const kni_ir_id *arguments, int n)
{
    if (b->status != KN_OK) return 0;
    if (function >= b->ir->n_functions || (b->function && function + 1 >= b->function)) {
        kni_ir_fail(b, "a function calls only those before it");
        return 0;
    }
    kni_ir_function f = b->ir->functions[function];
    if (n != f.n_arguments)
        kni_ir_fail(b, "'%s' takes %d arguments, not %d", f.name, (int32_t)f.n_arguments, (int32_t)n);
    for (int i = 0; b->status == KN_OK && i < n; i++) {
        kni_ir_type t = kni_ir_type_of(b, arguments[i]);
        if (b->status == KN_OK && !kni_ir_same_type(t, f.arguments[i]))
            kni_ir_fail(b, "argument %d of '%s' has another type", (int32_t)i, f.name);
    }
    kni_ir_id id = kni_ir_add_list(b, KNI_IR_CALL, f.result, arguments, n);
    if (id) kni_ir_at(b->ir, id)->index = function;
    return id;
}
