/* Kernels, functions and statements of a parsed text become IR. */
#include "ir/parse_lower.h"
#include "core/dtype.h"
#include "core/error.h"
#include <string.h>

static void at(kni_tree_lowering *l, uint32_t line, uint32_t column)
{
    l->b.line = line;
    l->b.column = column;
}

/* ---- names in the IR: a launch adds params of its own, and two scopes may have an array of one name */

static bool name_taken(const kni_ir *ir, const char *name, bool param)
{
    for (uint32_t i = 0; i < (param ? ir->n_params : ir->n_bindings); i++)
        if (!strcmp(param ? ir->params[i].name : ir->bindings[i].name, name)) return true;
    return false;
}

static const char *free_name(const kni_tree_lowering *l, const char *name, bool param,
                             char room[KNI_TREE_NAME])
{
    memcpy(room, name, strlen(name) + 1);
    size_t stem = strlen(name) < KNI_TREE_NAME - 8 ? strlen(name) : KNI_TREE_NAME - 8;
    for (int n = 2; l->b.ir && name_taken(l->b.ir, room, param) && n < 10000; n++) {
        char digits[8];
        int count = 0;
        for (int v = n; v; v /= 10) digits[count++] = (char)('0' + v % 10);
        size_t length = stem;
        room[length++] = '_';
        while (count) room[length++] = digits[--count];
        room[length] = 0;
    }
    return room;
}

/* ---- declarations */

static void declare(kni_tree_lowering *l, kni_tree_statement *s)
{
    char name[KNI_TREE_NAME];
    kni_tree_symbol *v = s->symbol;
    switch (v->kind) {
    case KNI_TREE_ARRAY:
    case KNI_TREE_SHARED:
        v->number = kni_ir_array(&l->b, free_name(l, v->name, false, name), v->memory,
                                 v->kind == KNI_TREE_ARRAY ? KNI_IR_PRIVATE : KNI_IR_SHARED, v->length);
        return;
    case KNI_TREE_TILE:
        v->value = kni_ir_tile(&l->b, v->access, v->memory);
        return;
    default:
        break;
    }
    /* A local that is given no value begins as zero, so that no device shows what memory held before. */
    kni_ir_id first = s->value ? kni_tree_value(l, s->value, v->type) : kni_tree_number(l, v->type, 0);
    at(l, s->line, s->column);
    v->value = v->assigned || !s->value ? kni_ir_variable(&l->b, v->type, 1, first) : first;
}

/* ---- changes */

static void assign(kni_tree_lowering *l, kni_tree_statement *s)
{
    kni_tree_symbol *v = s->symbol;
    kni_ir_id element = s->at ? kni_tree_value(l, s->at, KN_I64) : 0, value;
    if (s->action == KNI_TREE_UPDATE) {
        at(l, s->line, s->column);
        kni_ir_id old =
            s->at ? kni_ir_load(&l->b, v->number, element, v->type, 1) : kni_ir_get(&l->b, v->value);
        old = kni_ir_cast(&l->b, old, s->operands);
        kni_ir_id by = kni_tree_value(l, s->value, s->operands);
        at(l, s->line, s->column);
        value = kni_ir_cast(&l->b, kni_ir_word(&l->b, s->word, old, by), v->type);
    } else {
        value = kni_tree_value(l, s->value, v->type);
    }
    at(l, s->line, s->column);
    if (s->at)
        kni_ir_store(&l->b, v->number, element, value);
    else
        kni_ir_set(&l->b, v->value, value);
}

/* ---- control. Each answers whether what follows it is never reached. */

static bool sequence(kni_tree_lowering *l, kni_tree_statement *s);

static bool if_statement(kni_tree_lowering *l, kni_tree_statement *s)
{
    bool truth;
    if (kni_tree_constant(s->condition, &truth)) return sequence(l, truth ? s->body : s->otherwise);
    kni_ir_id condition = kni_tree_truth(l, s->condition);
    at(l, s->line, s->column);
    kni_ir_if(&l->b, condition);
    bool left = sequence(l, s->body), both = false;
    if (s->otherwise) {
        kni_ir_else(&l->b);
        both = sequence(l, s->otherwise) && left;
    }
    kni_ir_end(&l->b);
    return both;
}

static void for_statement(kni_tree_lowering *l, kni_tree_statement *s)
{
    kni_tree_symbol *k = s->symbol;
    kni_ir_id from = kni_tree_value(l, s->value, k->type), below = kni_tree_value(l, s->bound, k->type);
    at(l, s->line, s->column);
    if (!strcmp(s->word, "le")) below = kni_ir_word(&l->b, "add", below, kni_ir_whole(&l->b, k->type, 1));
    k->value = kni_ir_for(&l->b, from, below, kni_ir_whole(&l->b, k->type, s->step_by));
    sequence(l, s->body);
    kni_ir_end(&l->b);
}

static void loop_statement(kni_tree_lowering *l, kni_tree_statement *s)
{
    if (s->first) sequence(l, s->first);
    at(l, s->line, s->column);
    kni_ir_loop(&l->b);
    kni_ir_id condition = kni_tree_truth(l, s->condition);
    at(l, s->line, s->column);
    kni_ir_loop_test(&l->b, condition);
    sequence(l, s->body);
    if (s->step) {
        kni_ir_loop_step(&l->b);
        sequence(l, s->step);
    }
    kni_ir_end(&l->b);
}

static bool one(kni_tree_lowering *l, kni_tree_statement *s)
{
    kni_ir_id value;
    at(l, s->line, s->column);
    switch (s->action) {
    case KNI_TREE_BLOCK:
        return sequence(l, s->first);
    case KNI_TREE_DECLARE:
        declare(l, s);
        return false;
    case KNI_TREE_ASSIGN:
    case KNI_TREE_UPDATE:
        assign(l, s);
        return false;
    case KNI_TREE_IF:
        return if_statement(l, s);
    case KNI_TREE_FOR:
        for_statement(l, s);
        return false;
    case KNI_TREE_LOOP:
        loop_statement(l, s);
        return false;
    case KNI_TREE_BREAK:
        kni_ir_break(&l->b);
        return true;
    case KNI_TREE_CONTINUE:
        kni_ir_continue(&l->b);
        return true;
    case KNI_TREE_RETURN:
        value = s->value ? kni_tree_value(l, s->value, l->result) : 0;
        at(l, s->line, s->column);
        kni_ir_return(&l->b, value);
        return true;
    default:
        kni_tree_value(l, s->value, 0);
        return false;
    }
}

/* What stands behind a jump is never reached and left out. */
static bool sequence(kni_tree_lowering *l, kni_tree_statement *s)
{
    for (; s; s = s->next)
        if (one(l, s)) return true;
    return false;
}

/* ---- functions and kernels */

/* Names that the text assigns to although they are given from outside become variables. */
static void own_parameters(kni_tree_lowering *l, kni_tree_function *f)
{
    at(l, f->line, f->column);
    for (int i = -1; i < f->n_parameters; i++) {
        kni_tree_symbol *s = i < 0 ? f->item : f->parameters[i];
        if (!s || !s->assigned || s->kind == KNI_TREE_BUFFER) continue;
        s->value = kni_ir_variable(&l->b, s->type, 1, kni_tree_given(l, s));
        s->kind = KNI_TREE_LOCAL;
    }
}

static void lower_function(kni_tree_lowering *l, kni_tree_function *f)
{
    kni_ir_type result = {f->result, 1}, arguments[KNI_IR_MAX_ARGUMENTS];
    for (int i = 0; i < f->n_parameters; i++) arguments[i] = (kni_ir_type){f->parameters[i]->type, 1};
    at(l, f->line, f->column);
    f->number = kni_ir_function_begin(&l->b, f->name, result, arguments, f->n_parameters);
    l->result = f->result;
    own_parameters(l, f);
    if (!sequence(l, f->body)) kni_ir_return(&l->b, kni_tree_number(l, f->result, 0));
    kni_ir_function_end(&l->b);
    l->result = 0;
}

static void mark_called(kni_tree_function *f)
{
    for (int i = 0; i < f->n_calls; i++)
        if (!f->calls[i]->called) {
            f->calls[i]->called = true;
            mark_called(f->calls[i]);
        }
}

static void declare_launch(kni_tree_lowering *l, kni_parser *p, kni_tree_function *k)
{
    char name[KNI_TREE_NAME];
    uint32_t buffer = 0;
    for (int i = 0; i < k->n_parameters; i++) {
        kni_tree_symbol *s = k->parameters[i];
        if (s->kind != KNI_TREE_BUFFER) continue;
        if (p->storage && p->storage[buffer]) s->memory = p->storage[buffer];
        s->number = kni_ir_buffer(&l->b, s->name, s->memory, s->access);
        buffer++;
    }
    kni_ir_add_item_params(&l->b);
    for (int i = 0; i < k->n_parameters; i++) {
        kni_tree_symbol *s = k->parameters[i];
        if (s->kind == KNI_TREE_BUFFER) continue;
        /* Truths among the numbers travel as index. */
        int dtype = kni_is_bool(s->type) ? KN_I64 : s->type;
        s->number = kni_ir_param_add(&l->b, free_name(l, s->name, true, name), dtype,
                                     s->kind == KNI_TREE_UNIFORM ? (uint32_t)s->length : 0);
    }
}

kni_ir *kni_tree_lower(kni_parser *p, kni_tree_function *kernel)
{
    kni_tree_lowering l = {.b = kni_ir_begin(kernel->name, kernel->workgroup), .real = p->real};
    size_t length = strlen(p->file),
           cut = l.b.ir && length >= sizeof l.b.ir->file ? length - sizeof l.b.ir->file + 1 : 0;
    if (l.b.ir) memcpy(l.b.ir->file, p->file + cut, length - cut + 1);
    at(&l, kernel->line, kernel->column);
    declare_launch(&l, p, kernel);
    mark_called(kernel);
    for (kni_tree_function *f = p->functions; f; f = f->next)
        if (f->called) lower_function(&l, f);
    own_parameters(&l, kernel);
    sequence(&l, kernel->body);
    return kni_ir_finish(&l.b);
}
