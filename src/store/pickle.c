/* The machine that runs a pickle: a stack of values, marks, a memo and an arena. Each opcode takes at least one byte and makes
   at most one value, what calls copy is counted, and all memory together is bounded by the size of the file. */
#include "store/pickle.h"
#include "support/failure.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 16, NEWEST_PROTOCOL = 5, LONGEST_PROBLEM = 500, COPIES_PER_BYTE = 4 };

struct kni_pickle_block {
    struct kni_pickle_block *next;
    max_align_t bytes[];
};

/* ---- memory */

static bool spend(kni_pickle *p, size_t bytes)
{
    uint64_t allowed = kni_source_allowance(p->source);
    if (p->memory <= allowed && bytes <= allowed - p->memory) {
        p->memory += bytes;
        return true;
    }
    kni_pickle_bad(p, "it needs more memory than the %llu bytes that the file's size justifies",
                   (unsigned long long)allowed);
    return false;
}

bool kni_pickle_copies(kni_pickle *p, size_t count)
{
    if (count <= p->bytes && (p->copied += count) / COPIES_PER_BYTE <= p->bytes) return true;
    kni_pickle_bad(p, "it copies more than its own size");
    return false;
}

void *kni_pickle_take(kni_pickle *p, size_t bytes)
{
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!p->blocks || bytes > p->block_bytes - p->block_used) {
        size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        if (!spend(p, room)) return NULL;
        struct kni_pickle_block *block = malloc(sizeof *block + room);
        if (!block) {
            p->status = kni_failure_memory("reading a pickle");
            return NULL;
        }
        block->next = p->blocks;
        p->blocks = block;
        p->block_used = 0;
        p->block_bytes = room;
    }
    void *taken = (char *)p->blocks->bytes + p->block_used;
    p->block_used += bytes;
    return taken;
}

void kni_pickle_free(kni_pickle *p)
{
    while (p->blocks) {
        struct kni_pickle_block *next = p->blocks->next;
        free(p->blocks);
        p->blocks = next;
    }
    free(p->stack);
    free(p->marks);
    free(p->memo);
    p->stack = p->memo = NULL;
    p->marks = NULL;
}

kni_pickle_value *kni_pickle_make(kni_pickle *p, kni_pickle_kind kind)
{
    kni_pickle_value *value = kni_pickle_take(p, sizeof *value);
    if (!value) return NULL;
    memset(value, 0, sizeof *value);
    value->kind = kind;
    return value;
}

bool kni_pickle_append(kni_pickle *p, kni_pickle_value *list, kni_pickle_value *item)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        kni_pickle_value **items = kni_pickle_take(p, capacity * sizeof *items);
        if (!items) return false;
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return true;
}

kn_status kni_pickle_bad(kni_pickle *p, const char *format, ...)
{
    char text[LONGEST_PROBLEM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return p->status = kni_source_bad(p->source, "pickle, byte %zu: %s", p->at, text);
}

bool kni_pickle_is_text(const kni_pickle_value *value, const char *text)
{
    return value->kind == KNI_PICKLE_TEXT && value->length == strlen(text) &&
           !memcmp(value->text, text, value->length);
}

/* ---- stack, marks, memo: all return false with the failure noted */

static bool bad(kni_pickle *p, const char *what)
{
    kni_pickle_bad(p, "%s", what);
    return false;
}

/* An array with room for one more than count. */
static bool room_for(kni_pickle *p, void **array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) return true;
    size_t wanted = *capacity ? *capacity : 64;
    while (wanted <= count) wanted *= 2;
    if (!spend(p, (wanted - *capacity) * size)) return false;
    void *bigger = realloc(*array, wanted * size);
    if (!bigger) {
        p->status = kni_failure_memory("reading a pickle");
        return false;
    }
    memset((char *)bigger + *capacity * size, 0, (wanted - *capacity) * size);
    *array = bigger;
    *capacity = wanted;
    return true;
}

static bool push(kni_pickle *p, kni_pickle_value *value)
{
    void *stack = p->stack;
    if (!value || !room_for(p, &stack, &p->stack_capacity, p->depth, sizeof *p->stack)) return false;
    p->stack = stack;
    p->stack[p->depth++] = value;
    return true;
}

/* What lies above the latest mark may be taken, no more. */
static size_t available(const kni_pickle *p)
{
    return p->depth - (p->mark_count ? p->marks[p->mark_count - 1] : 0);
}

static kni_pickle_value *pop(kni_pickle *p)
{
    if (available(p) > 0) return p->stack[--p->depth];
    bad(p, "a value is taken from an empty stack");
    return NULL;
}

static bool pop_mark(kni_pickle *p, size_t *from)
{
    if (!p->mark_count) return bad(p, "a mark is missing");
    *from = p->marks[--p->mark_count];
    return true;
}

static bool take_bytes(kni_pickle *p, size_t bytes, const unsigned char **from)
{
    if (bytes > p->bytes - p->at) return bad(p, "the pickle was cut");
    *from = p->data + p->at;
    p->at += bytes;
    return true;
}

static bool take_number(kni_pickle *p, int bytes, uint64_t *value)
{
    const unsigned char *from;
    if (!take_bytes(p, (size_t)bytes, &from)) return false;
    *value = kni_little(from, bytes);
    return true;
}

/* Up to the end of the line. */
static bool take_line(kni_pickle *p, const char **text, size_t *length)
{
    const unsigned char *from = p->data + p->at, *end = memchr(from, '\n', p->bytes - p->at);
    if (!end) return bad(p, "a line without end");
    *text = (const char *)from;
    *length = (size_t)(end - from);
    p->at += *length + 1;
    return true;
}

static bool put_memo(kni_pickle *p, uint64_t index)
{
    void *memo = p->memo;
    if (available(p) == 0) return bad(p, "nothing to remember");
    /* Up to here the pickle has made no more values than it has bytes, so a larger number is forged. */
    if (index > p->at - p->start) return bad(p, "a place of the memo beyond the pickle's size");
    if (!room_for(p, &memo, &p->memo_capacity, (size_t)index, sizeof *p->memo)) return false;
    p->memo = memo;
    p->memo[index] = p->stack[p->depth - 1];
    if (index >= p->memo_next) p->memo_next = (size_t)index + 1;
    return true;
}

static bool get_memo(kni_pickle *p, uint64_t index)
{
    if (index >= p->memo_capacity || !p->memo[index]) return bad(p, "an empty place of the memo is read");
    return push(p, p->memo[index]);
}

/* ---- opcodes. A row has a function and a number or kind that it works with. */

typedef struct opcode opcode;
struct opcode {
    bool (*run)(kni_pickle *p, const opcode *o);
    int32_t number; /* bytes of an argument, or how many values */
    kni_pickle_kind kind;
};

static bool op_skip(kni_pickle *p, const opcode *o)
{
    const unsigned char *ignored;
    return take_bytes(p, (size_t)o->number, &ignored);
}

static bool op_protocol(kni_pickle *p, const opcode *o)
{
    uint64_t version;
    if (!take_number(p, o->number, &version)) return false;
    if (version <= NEWEST_PROTOCOL) return true;
    kni_pickle_bad(p, "protocol %d; up to %d is known", (int)version, NEWEST_PROTOCOL);
    return false;
}

static bool op_mark(kni_pickle *p, const opcode *o)
{
    (void)o;
    void *marks = p->marks;
    if (!room_for(p, &marks, &p->mark_capacity, p->mark_count, sizeof *p->marks)) return false;
    p->marks = marks;
    p->marks[p->mark_count++] = p->depth;
    return true;
}

static bool op_pop(kni_pickle *p, const opcode *o)
{
    (void)o;
    size_t ignored;
    if (available(p) == 0 && p->mark_count) return pop_mark(p, &ignored);
    return pop(p) != NULL;
}

static bool op_pop_mark(kni_pickle *p, const opcode *o)
{
    (void)o;
    return pop_mark(p, &p->depth);
}

static bool op_duplicate(kni_pickle *p, const opcode *o)
{
    (void)o;
    return available(p) ? push(p, p->stack[p->depth - 1]) : bad(p, "nothing to duplicate");
}

/* A constant or an empty container. */
static bool op_constant(kni_pickle *p, const opcode *o)
{
    kni_pickle_value *value = kni_pickle_make(p, o->kind);
    if (value && o->kind == KNI_PICKLE_BOOL) value->integer = o->number;
    return push(p, value);
}

static bool op_integer(kni_pickle *p, const opcode *o)
{
    uint64_t number;
    if (!take_number(p, o->number, &number)) return false;
    kni_pickle_value *value = kni_pickle_make(p, KNI_PICKLE_INT);
    if (value) value->integer = o->number == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
    return push(p, value);
}

/* Two's complement of any length. */
static bool op_long(kni_pickle *p, const opcode *o)
{
    uint64_t bytes;
    const unsigned char *from;
    if (!take_number(p, o->number, &bytes) || bytes > SIZE_MAX || !take_bytes(p, (size_t)bytes, &from))
        return false;
    kni_pickle_value *value = kni_pickle_make(p, bytes > 8 ? KNI_PICKLE_LONG : KNI_PICKLE_INT);
    if (value && bytes <= 8) {
        uint64_t number = kni_little(from, (int)bytes);
        if (bytes && bytes < 8 && from[bytes - 1] & 0x80) number |= UINT64_MAX << 8 * bytes;
        value->integer = (int64_t)number;
    }
    return push(p, value);
}

/* Eight bytes, the highest first. */
static bool op_real(kni_pickle *p, const opcode *o)
{
    const unsigned char *from;
    if (!take_bytes(p, (size_t)o->number, &from)) return false;
    uint64_t bits = 0;
    for (int i = 0; i < o->number; i++) bits = bits << 8 | from[i];
    kni_pickle_value *value = kni_pickle_make(p, KNI_PICKLE_REAL);
    if (value) memcpy(&value->real, &bits, sizeof bits);
    return push(p, value);
}

/* Texts and bytes with their length before them stay where they are. */
static bool op_text(kni_pickle *p, const opcode *o)
{
    uint64_t length;
    const unsigned char *from;
    if (!take_number(p, o->number, &length)) return false;
    if (length > p->bytes - p->at) return bad(p, "the pickle was cut inside a text");
    if (!take_bytes(p, (size_t)length, &from)) return false;
    kni_pickle_value *value = kni_pickle_make(p, o->kind);
    if (value) {
        value->text = (const char *)from;
        value->length = (size_t)length;
    }
    return push(p, value);
}

/* A tuple, list, set or dict of what lies above the mark. */
static bool op_collect(kni_pickle *p, const opcode *o)
{
    size_t from;
    if (!pop_mark(p, &from)) return false;
    size_t count = p->depth - from;
    if (o->kind == KNI_PICKLE_DICT && count % 2) return bad(p, "a key without a value");
    kni_pickle_value *value = kni_pickle_make(p, o->kind);
    if (!value) return false;
    if (count && !(value->items = kni_pickle_take(p, count * sizeof *value->items))) return false;
    if (count) memcpy(value->items, p->stack + from, count * sizeof *value->items);
    value->count = value->capacity = count;
    p->depth = from;
    return push(p, value);
}

static bool op_tuple(kni_pickle *p, const opcode *o)
{
    kni_pickle_value *value = kni_pickle_make(p, KNI_PICKLE_TUPLE);
    size_t count = (size_t)o->number;
    if (!value || available(p) < count) return value && bad(p, "a tuple of more values than there are");
    if (!(value->items = kni_pickle_take(p, count * sizeof *value->items))) return false;
    p->depth -= count;
    memcpy(value->items, p->stack + p->depth, count * sizeof *value->items);
    value->count = value->capacity = count;
    return push(p, value);
}

static bool fill_container(kni_pickle *p, size_t from, kni_pickle_kind kind)
{
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;
    if (from <= floor) return bad(p, "values without a container");
    kni_pickle_value *container = p->stack[from - 1];
    if (container->kind != kind) return bad(p, "values are put into something of another kind");
    if (kind == KNI_PICKLE_DICT && (p->depth - from) % 2) return bad(p, "a key without a value");
    for (size_t i = from; i < p->depth; i++)
        if (!kni_pickle_append(p, container, p->stack[i])) return false;
    p->depth = from;
    return true;
}

/* Puts the values above the mark into the container below it. */
static bool op_fill(kni_pickle *p, const opcode *o)
{
    size_t from;
    return pop_mark(p, &from) && fill_container(p, from, o->kind);
}

static bool op_put_one(kni_pickle *p, const opcode *o)
{
    size_t count = (size_t)o->number;
    if (available(p) < count + 1) return bad(p, "values without a container");
    return fill_container(p, p->depth - count, o->kind);
}

static bool op_put(kni_pickle *p, const opcode *o)
{
    uint64_t index;
    return take_number(p, o->number, &index) && put_memo(p, index);
}

static bool op_get(kni_pickle *p, const opcode *o)
{
    uint64_t index;
    return take_number(p, o->number, &index) && get_memo(p, index);
}

static bool op_memoize(kni_pickle *p, const opcode *o)
{
    (void)o;
    return put_memo(p, p->memo_next);
}

/* ---- names and what they make */

static bool push_global(kni_pickle *p, const char *module, size_t module_length, const char *name,
                        size_t name_length)
{
    const kni_pickle_global *global = kni_pickle_find_global(module, module_length, name, name_length);
    if (!global) {
        kni_pickle_bad(p,
                       "it wants to use '%.*s.%.*s', which is not on the list of known names; save a plain "
                       "state_dict of tensors",
                       (int)(module_length < 100 ? module_length : 100), module,
                       (int)(name_length < 100 ? name_length : 100), name);
        return false;
    }
    kni_pickle_value *value = kni_pickle_make(p, KNI_PICKLE_GLOBAL);
    if (value) value->global = global;
    return push(p, value);
}

static bool op_global(kni_pickle *p, const opcode *o)
{
    (void)o;
    const char *module, *name;
    size_t module_length, name_length;
    return take_line(p, &module, &module_length) && take_line(p, &name, &name_length) &&
           push_global(p, module, module_length, name, name_length);
}

static bool op_stack_global(kni_pickle *p, const opcode *o)
{
    (void)o;
    kni_pickle_value *name = pop(p), *module = name ? pop(p) : NULL;
    if (!module) return false;
    if (name->kind != KNI_PICKLE_TEXT || module->kind != KNI_PICKLE_TEXT)
        return bad(p, "a name that is no text");
    return push_global(p, module->text, module->length, name->text, name->length);
}

static bool call_global(kni_pickle *p, const kni_pickle_value *callable, const kni_pickle_value *arguments)
{
    if (callable->kind != KNI_PICKLE_GLOBAL) return bad(p, "a call of something that is no name");
    if (arguments->kind != KNI_PICKLE_TUPLE) return bad(p, "a call whose arguments are no tuple");
    const kni_pickle_global *global = callable->global;
    kni_pickle_value *result = NULL;
    if (!global->call) {
        kni_pickle_bad(p, "'%s.%s' is called, which is known only by name", global->module, global->name);
        return false;
    }
    p->status = global->call(p, global, arguments, &result);
    return !p->status && push(p, result);
}

/* REDUCE and NEWOBJ: a name and its arguments. NEWOBJ_EX has named arguments too, which must be none. */
static bool op_call(kni_pickle *p, const opcode *o)
{
    kni_pickle_value *named = o->number == 3 ? pop(p) : NULL;
    if (o->number == 3 && (!named || named->kind != KNI_PICKLE_DICT || named->count))
        return named && bad(p, "a call with named arguments");
    kni_pickle_value *arguments = pop(p), *callable = arguments ? pop(p) : NULL;
    return callable && call_global(p, callable, arguments);
}

static bool op_build(kni_pickle *p, const opcode *o)
{
    (void)o;
    kni_pickle_value *state = pop(p);
    if (!state) return false;
    if (available(p) == 0) return bad(p, "a state without its object");
    p->status = kni_pickle_build(p, p->stack[p->depth - 1], state);
    return !p->status;
}

static bool op_persistent(kni_pickle *p, const opcode *o)
{
    (void)o;
    kni_pickle_value *id = pop(p), *result = NULL;
    if (!id) return false;
    if (!p->persistent) return bad(p, "a persistent id where none is expected");
    p->status = p->persistent(p, id, &result);
    return !p->status && push(p, result);
}

static const opcode opcodes[] = {
    [0x80] = {op_protocol, 1, 0},
    [0x95] = {op_skip, 8, 0},
    ['('] = {op_mark, 0, 0},
    ['0'] = {op_pop, 0, 0},
    ['1'] = {op_pop_mark, 0, 0},
    ['2'] = {op_duplicate, 0, 0},
    ['N'] = {op_constant, 0, KNI_PICKLE_NONE},
    [0x88] = {op_constant, 1, KNI_PICKLE_BOOL},
    [0x89] = {op_constant, 0, KNI_PICKLE_BOOL},
    [']'] = {op_constant, 0, KNI_PICKLE_LIST},
    [')'] = {op_constant, 0, KNI_PICKLE_TUPLE},
    ['}'] = {op_constant, 0, KNI_PICKLE_DICT},
    [0x8f] = {op_constant, 0, KNI_PICKLE_SET},
    ['J'] = {op_integer, 4, 0},
    ['K'] = {op_integer, 1, 0},
    ['M'] = {op_integer, 2, 0},
    [0x8a] = {op_long, 1, 0},
    [0x8b] = {op_long, 4, 0},
    ['G'] = {op_real, 8, 0},
    ['T'] = {op_text, 4, KNI_PICKLE_TEXT},
    ['U'] = {op_text, 1, KNI_PICKLE_TEXT},
    ['X'] = {op_text, 4, KNI_PICKLE_TEXT},
    [0x8c] = {op_text, 1, KNI_PICKLE_TEXT},
    [0x8d] = {op_text, 8, KNI_PICKLE_TEXT},
    ['B'] = {op_text, 4, KNI_PICKLE_BYTES},
    ['C'] = {op_text, 1, KNI_PICKLE_BYTES},
    [0x8e] = {op_text, 8, KNI_PICKLE_BYTES},
    [0x96] = {op_text, 8, KNI_PICKLE_BYTES},
    ['t'] = {op_collect, 0, KNI_PICKLE_TUPLE},
    ['l'] = {op_collect, 0, KNI_PICKLE_LIST},
    ['d'] = {op_collect, 0, KNI_PICKLE_DICT},
    [0x91] = {op_collect, 0, KNI_PICKLE_SET},
    [0x85] = {op_tuple, 1, 0},
    [0x86] = {op_tuple, 2, 0},
    [0x87] = {op_tuple, 3, 0},
    ['a'] = {op_put_one, 1, KNI_PICKLE_LIST},
    ['s'] = {op_put_one, 2, KNI_PICKLE_DICT},
    ['e'] = {op_fill, 0, KNI_PICKLE_LIST},
    ['u'] = {op_fill, 0, KNI_PICKLE_DICT},
    [0x90] = {op_fill, 0, KNI_PICKLE_SET},
    ['q'] = {op_put, 1, 0},
    ['r'] = {op_put, 4, 0},
    [0x94] = {op_memoize, 0, 0},
    ['h'] = {op_get, 1, 0},
    ['j'] = {op_get, 4, 0},
    ['c'] = {op_global, 0, 0},
    [0x93] = {op_stack_global, 0, 0},
    ['R'] = {op_call, 2, 0},
    [0x81] = {op_call, 2, 0},
    [0x92] = {op_call, 3, 0},
    ['b'] = {op_build, 0, 0},
    ['Q'] = {op_persistent, 0, 0},
};

const kni_pickle_value *kni_pickle_run(kni_pickle *p)
{
    if (p->memo_next) memset(p->memo, 0, p->memo_next * sizeof *p->memo);
    p->depth = p->mark_count = p->memo_next = p->copied = 0;
    p->start = p->at;
    p->status = KN_OK;
    for (;;) {
        if (p->at >= p->bytes) {
            kni_pickle_bad(p, "it ends without a stop");
            return NULL;
        }
        unsigned char code = p->data[p->at++];
        if (code == '.') break;
        const opcode *o = code < sizeof opcodes / sizeof *opcodes ? &opcodes[code] : NULL;
        if (!o || !o->run) {
            kni_pickle_bad(p, "opcode 0x%02x is not one that is read here", code);
            return NULL;
        }
        if (!o->run(p, o)) return NULL;
    }
    if (p->depth == 1 && !p->mark_count) return p->stack[0];
    kni_pickle_bad(p, "it leaves %zu values instead of one", p->depth);
    return NULL;
}
