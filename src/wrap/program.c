/* kn_program: records that were noted while they ran, and run again with other operands. */
#include "core/device_object.h"
#include "core/objects.h"
#include "core/param_value.h"
#include "core/text.h"
#include "ops/autocast_state.h"
#include "ops/record.h"
#include <kn/program.h>
#include <kn/tensor.h>
#include <string.h>

/* Where a value comes from. */
typedef enum origin { MADE, INPUT, CONSTANT, PARAM } origin;

typedef struct value {
    uint8_t origin;
    int32_t number;   /* of the input */
    int32_t last;     /* record that reads it last, -1: none */
    kn_tensor handle; /* as it was seen; of params the param */
    kn_tensor
        alias; /* owned: keeps the value from being freed while it can be met again; constants keep theirs */
} value;

typedef struct operation {
    const kn_op *row;
    int32_t first, n_in, n_out; /* in the list of operands: results, then operands */
    int32_t attributes;         /* where its attributes begin, in bytes */
    uint64_t serial;            /* of the call that made it */
    const char *site;           /* the user's line, NULL: not known */
} operation;

typedef struct kni_program {
    kni_capture capture;      /* first */
    kn_device device, handle; /* handle: told when the device is gone by the time the program runs */
    uint64_t counter, draws;  /* of random numbers: before the first record, and how many there were */
    value *values;
    operation *operations;
    int32_t *operands; /* values, -1 where one is absent */
    char *attributes;
    int32_t n_values, n_operations, n_operands, n_attributes;
    int32_t value_room, operation_room, operand_room, attribute_room;
    int32_t *outputs;
    int32_t n_inputs, n_outputs;
    int32_t n_placed;    /* operations that have their sites */
    const char *refused; /* why there will be no program */
    bool no_memory;
    int32_t depth; /* of the context it was begun in */
} kni_program;

static void *grown(void *block, int32_t *room, int32_t needed, size_t size, bool *failed)
{
    uint32_t now = (uint32_t)*room;
    void *p = needed <= *room ? block : kni_grow(block, &now, (uint32_t)needed, size);
    if (now > INT32_MAX || (!p && needed > *room)) {
        *failed = true;
        return block;
    }
    *room = (int32_t)now;
    return p;
}

/* ---- noting */

static kn_tensor own_alias(const kni_tensor *x)
{
    kn_tensor t = kni_alias_kept(kni_thread_self(), x, x->device);
    return kni_is_poisoned(t) ? t : kn_own(t);
}

/* The same elements in the same memory: keeping, detaching and naming anew make other slots for one value. */
static bool same_value(const kni_tensor *a, const kni_tensor *b)
{
    if (!a || !b || !a->storage || a->storage != b->storage || a->offset != b->offset ||
        a->type.dtype != b->type.dtype || !kni_same_dims(&a->type, &b->type))
        return false;
    return !memcmp(a->strides, b->strides, a->type.rank * sizeof *a->strides);
}

static int32_t add_value(kni_program *p, origin from, kn_tensor handle, const kni_tensor *x)
{
    p->values = grown(p->values, &p->value_room, p->n_values + 1, sizeof *p->values, &p->no_memory);
    if (p->no_memory) return -1;
    kn_tensor alias = from == PARAM ? KN_NONE : own_alias(x);
    if (kni_is_poisoned(alias)) {
        p->no_memory = true;
        return -1;
    }
    p->values[p->n_values] = (value){(uint8_t)from, -1, -1, handle, alias};
    return p->n_values++;
}

/* The value that a handle names; a constant where it is a new one. */
static int32_t value_of(kni_program *p, kn_tensor handle)
{
    const kni_tensor *x = kni_peek(handle);
    for (int32_t i = p->n_values; i-- > 0;)
        if (p->values[i].handle.bits == handle.bits) return i;
    if (!x) return -1;
    if (x->flags & KNI_TENSOR_PARAM) return add_value(p, PARAM, handle, x);
    for (int32_t i = p->n_values; i-- > 0;)
        if (p->values[i].origin != PARAM && same_value(kni_peek(p->values[i].alias), x)) return i;
    return add_value(p, CONSTANT, handle, x);
}

/* A call's line is noted when it returns: that of an operation is there by the time of the next one, or when the call
   that it was a part of is over. Calls without a line are waited for until theirs could not be found any more. */
static void find_sites(kni_program *p, bool over)
{
    uint64_t now = kni_thread_self()->serial;
    for (; p->n_placed < p->n_operations; p->n_placed++) {
        operation *o = &p->operations[p->n_placed];
        o->site = kni_site_of(o->serial);
        if (!o->site && !over && now < o->serial + KNI_SITE_REACH) return;
    }
}

static void note(kni_capture *capture, const kn_record *r, const kn_tensor *in)
{
    kni_program *p = (kni_program *)capture;
    kni_thread *t = kni_thread_self();
    if (p->no_memory || p->refused || kni_out(r, 0)->device != p->device) return;
    find_sites(p, false);
    t->context.capture = NULL; /* aliases are no ops, but owning one may be told of */
    if (r->n_in > 0 && in[0].bits && kn_is_param(in[0]) && r->row->n_out > 1)
        p->refused = "a param was updated";
    int32_t n = r->n_in + r->n_out, bytes = (r->attribute_bytes + 7) & ~7;
    p->operands = grown(p->operands, &p->operand_room, p->n_operands + n, sizeof *p->operands, &p->no_memory);
    p->attributes = grown(p->attributes, &p->attribute_room, p->n_attributes + bytes, 1, &p->no_memory);
    p->operations =
        grown(p->operations, &p->operation_room, p->n_operations + 1, sizeof *p->operations, &p->no_memory);
    int32_t at = p->n_operands;
    for (int i = 0; i < r->n_in && !p->no_memory; i++)
        p->operands[at + r->n_out + i] = kni_in(r, i) ? value_of(p, in[i]) : -1;
    for (int i = 0; i < r->n_out && !p->no_memory; i++)
        p->operands[at + i] = add_value(p, MADE, kni_handle(r->ids[i]), kni_out(r, i));
    if (!p->no_memory) {
        p->operations[p->n_operations++] =
            (operation){r->row, at, r->n_in, r->n_out, p->n_attributes, t->serial, NULL};
        if (r->attribute_bytes) memcpy(p->attributes + p->n_attributes, r->attributes, r->attribute_bytes);
        p->n_operands += n;
        p->n_attributes += bytes;
    }
    t->context.capture = capture;
}

/* ---- beginning, ending */

static void destroy_program(void *object)
{
    kni_program *p = object;
    for (int32_t i = 0; i < p->n_values; i++)
        if (p->values[i].alias.bits) kn_drop(p->values[i].alias);
    kni_free(p->values, (size_t)p->value_room * sizeof *p->values);
    kni_free(p->operations, (size_t)p->operation_room * sizeof *p->operations);
    kni_free(p->operands, (size_t)p->operand_room * sizeof *p->operands);
    kni_free(p->attributes, (size_t)p->attribute_room);
    kni_free(p->outputs, (size_t)p->n_outputs * sizeof *p->outputs);
    kni_free(p, sizeof *p);
}

static void abandon(kni_capture *capture) { destroy_program(capture); }

kn_status kn_program_begin(kn_device device)
{
    kni_thread *t = kni_thread_self();
    device = kni_device_given(device, "kn_program_begin");
    if (!device) return kni_latest_code();
    if (t->context.capture)
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_program_begin: this thread makes a program already: end it first");
    kni_program *p = kni_allocate(sizeof *p);
    if (!p) return kni_fail(KN_ERROR_MEMORY, "kn_program_begin: no memory for a program");
    memset(p, 0, sizeof *p);
    p->capture.note = note;
    p->capture.abandon = abandon;
    p->depth = t->context.depth;
    p->device = device;
    p->handle = kni_device_handle(device);
    p->counter = atomic_load(&device->rng_counter);
    t->context.capture = &p->capture;
    return KN_OK;
}

const kni_object_kind kni_kind_program = {"kn_program", "program", "freed", destroy_program};

void kn_program_free(kn_program program) { kni_object_free(program, &kni_kind_program, __func__); }

static int32_t find_seen(const kni_program *p, kn_tensor handle)
{
    const kni_tensor *x = kni_peek(handle);
    for (int32_t i = p->n_values; i-- > 0;)
        if (p->values[i].handle.bits == handle.bits) return i;
    for (int32_t i = p->n_values; i-- > 0;)
        if (x && same_value(kni_peek(p->values[i].alias), x)) return i;
    return -1;
}

static kn_status name_inputs(kni_program *p, const kn_tensor *inputs, int32_t n)
{
    p->n_inputs = n;
    for (int32_t i = 0; i < n; i++) {
        int32_t v = find_seen(p, inputs[i]);
        if (v < 0) continue; /* no op read it */
        if (p->values[v].origin == MADE)
            return kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: input %d was made by an op of the program",
                            i);
        if (p->values[v].origin == PARAM)
            return kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: input %d is a param: it is read anew anyway",
                            i);
        p->values[v].origin = INPUT;
        p->values[v].number = i;
    }
    return KN_OK;
}

static kn_status name_outputs(kni_program *p, const kn_tensor *outputs, int32_t n)
{
    p->outputs = kni_allocate((size_t)n * sizeof *p->outputs);
    if (!p->outputs) return kni_fail(KN_ERROR_MEMORY, "kn_program_end: no memory for the outputs");
    p->n_outputs = n;
    for (int32_t i = 0; i < n; i++) {
        p->outputs[i] = find_seen(p, outputs[i]);
        if (p->outputs[i] < 0)
            return kni_fail(KN_ERROR_ARGUMENT,
                            "kn_program_end: output %d is of no op between kn_program_begin and here on %s",
                            i, p->device->name);
    }
    return KN_OK;
}

/* What the program holds of values that were only met while it was noted is given up. */
static void settle(kni_program *p)
{
    for (int32_t o = 0; o < p->n_operations; o++)
        for (int32_t k = 0; k < p->operations[o].n_in; k++) {
            int32_t v = p->operands[p->operations[o].first + p->operations[o].n_out + k];
            if (v >= 0) p->values[v].last = o;
        }
    for (int32_t i = 0; i < p->n_outputs; i++) p->values[p->outputs[i]].last = p->n_operations;
    for (int32_t i = 0; i < p->n_values; i++) {
        value *v = &p->values[i];
        if (v->origin == CONSTANT || !v->alias.bits) continue;
        kn_drop(v->alias);
        v->alias = KN_NONE;
    }
}

kn_program kn_program_end(const kn_tensor *inputs, int32_t n_inputs, const kn_tensor *outputs,
                          int32_t n_outputs)
{
    kni_thread *t = kni_thread_self();
    kni_program *p = (kni_program *)t->context.capture;
    if (!p) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: nothing was begun with kn_program_begin on this thread");
        return NULL;
    }
    if (p->depth != t->context.depth) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: the program was begun outside of the function that Kiln "
                                    "has called and that this "
                                    "call is made in: end it where it was begun");
        return NULL;
    }
    t->context.capture = NULL;
    find_sites(p, true);
    kn_status s = KN_OK;
    if (n_inputs < 0 || n_outputs < 0 || (n_inputs && !inputs) || (n_outputs && !outputs))
        s = kni_fail(KN_ERROR_ARGUMENT, "kn_program_end: the lists of %d inputs and %d outputs are missing",
                     n_inputs, n_outputs);
    else if (p->no_memory)
        s = kni_fail(KN_ERROR_MEMORY, "kn_program_end: there was no memory to note all ops");
    else if (p->refused)
        s = kni_fail(KN_ERROR_UNSUPPORTED, "kn_program_end: %s: that is no part of a program", p->refused);
    if (s == KN_OK) s = name_inputs(p, inputs, n_inputs);
    if (s == KN_OK) s = name_outputs(p, outputs, n_outputs);
    if (s) {
        destroy_program(p);
        return NULL;
    }
    p->draws = atomic_load(&p->device->rng_counter) - p->counter;
    settle(p);
    return kni_object_make(&kni_kind_program, p, __func__);
}

/* ---- running */

/* Random ops get the device's key as it is now and counters of this run. */
static void renew_numbers(const kni_program *p, const kn_op *row, char *attributes, uint64_t base)
{
    for (const kn_attribute *a = row->schema; a && a->name; a++) {
        if (a->dynamic != KNI_DYNAMIC || a->type != KNI_ATTR_INT) continue;
        int64_t word;
        memcpy(&word, attributes + a->offset, sizeof word);
        if (!strcmp(a->name, "key"))
            word = (int64_t)kni_rng_key(p->device);
        else if (!strcmp(a->name, "counter"))
            word = (int64_t)((uint64_t)word - p->counter + base);
        memcpy(attributes + a->offset, &word, sizeof word);
    }
}

static kn_status run_operation(const kni_program *p, int32_t number, kn_tensor *now, uint64_t base)
{
    enum { MOST = 64, ROOM = 1024 };
    const operation *o = &p->operations[number];
    _Alignas(8) char attributes[ROOM];
    kn_tensor in[MOST], out[MOST];
    if (o->n_in > MOST || o->n_out > MOST || o->row->attribute_bytes > ROOM)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, o->row->name, "too many operands for a program");
    if (o->row->attribute_bytes) memcpy(attributes, p->attributes + o->attributes, o->row->attribute_bytes);
    if (p->draws) renew_numbers(p, o->row, attributes, base);
    for (int32_t i = 0; i < o->n_in; i++) {
        int32_t v = p->operands[o->first + o->n_out + i];
        in[i] = v < 0 ? KN_NONE : now[v];
    }
    kni_apply_many(o->row, in, o->n_in, o->row->attribute_bytes ? attributes : NULL, out, o->n_out);
    if (o->site)
        kn_site_note(o->site); /* failures belong to the line that the op was noted from, now or later */
    if (kni_is_poisoned(out[0])) return kni_latest_code();
    for (int32_t i = 0; i < o->n_out; i++) now[p->operands[o->first + i]] = kn_keep(out[i]);
    /* What nobody reads any more goes at once, so that a queue sees it die. */
    for (int32_t i = 0; i < o->n_in + o->n_out; i++) {
        int32_t v = p->operands[o->first + i];
        bool mine = v >= 0 && p->values[v].origin == MADE && now[v].bits && p->values[v].last <= number;
        if (!mine) continue;
        kn_drop(now[v]);
        now[v] = KN_NONE;
    }
    return KN_OK;
}

static kn_status start_values(const kni_program *p, const kn_tensor *inputs, kn_tensor *now)
{
    for (int32_t i = 0; i < p->n_values; i++) {
        const value *v = &p->values[i];
        now[i] = v->origin == CONSTANT ? v->alias
                 : v->origin == PARAM  ? v->handle
                 : v->origin == INPUT  ? kn_keep(inputs[v->number])
                                       : KN_NONE;
        if (kni_is_poisoned(now[i])) return kni_fail_again(now[i], "program_run");
    }
    return KN_OK;
}

kn_status kn_program_run(kn_program program, const kn_tensor *inputs, int32_t n_in, kn_tensor *outputs,
                         int32_t n_out)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    if (n_in != p->n_inputs || n_out != p->n_outputs || (n_in && !inputs) || (n_out && !outputs))
        return kni_fail(KN_ERROR_ARGUMENT, "kn_program_run: %d inputs and %d outputs given; it has %d and %d",
                        n_in, n_out, p->n_inputs, p->n_outputs);
    if (!kni_device_find(p->handle, "kn_program_run")) return KN_ERROR_DEVICE;
    kn_scope scope = kn_scope_begin();
    kni_thread *t = kni_thread_self();
    size_t bytes = (size_t)(p->n_values ? p->n_values : 1) * sizeof(kn_tensor);
    kn_tensor *now = kni_allocate(bytes);
    kn_status s = now ? start_values(p, inputs, now) : kni_fail(KN_ERROR_MEMORY, "kn_program_run: no memory");
    uint64_t base = s == KN_OK && p->draws ? kni_rng_reserve(p->device, p->draws) : 0;
    kni_context before = kni_context_push(t);
    t->context.current = p->device;
    t->context.autocast = KN_DTYPE_NONE; /* the casts of its making are among its records */
    for (int32_t i = 0; i < p->n_operations && s == KN_OK; i++) s = run_operation(p, i, now, base);
    kni_context_pop(t, &before);
    for (int32_t i = 0; i < n_out; i++) {
        int32_t v = p->outputs[i];
        /* Values from outside stay whose they are, and every output has a handle of its own. */
        bool own = p->values[v].origin == MADE;
        for (int32_t k = 0; k < i; k++) own = own && p->outputs[k] != v;
        outputs[i] = s ? kni_poison_latest() : own ? now[v] : kn_alias(now[v]);
    }
    kni_free(now, now ? bytes : 0);
    kn_scope_end_many(scope, outputs, n_out);
    return s;
}

/* ---- printing */

static void print_operation(const kni_program *p, const operation *o, kni_text *text)
{
    static const char prefix[] = {[MADE] = '%', [INPUT] = '$', [CONSTANT] = '#', [PARAM] = '@'};
    for (int32_t i = 0; i < o->n_out; i++)
        kni_text_format(text, "%s%%%d", i ? ", " : "", p->operands[o->first + i]);
    kni_text_format(text, " = %s(", o->row->name);
    for (int32_t i = 0; i < o->n_in; i++) {
        int32_t v = p->operands[o->first + o->n_out + i];
        if (i) kni_text_string(text, ", ");
        if (v < 0) {
            kni_text_string(text, "none");
            continue;
        }
        kni_text_char(text, prefix[p->values[v].origin]);
        kni_text_int(text, p->values[v].origin == INPUT ? p->values[v].number : v);
    }
    kni_text_string(text, ")\n");
}

size_t kn_program_print(kn_program program, char *buffer, size_t bytes)
{
    kni_text text = {buffer, buffer ? bytes : 0, 0};
    if (buffer && bytes) buffer[0] = 0;
    KNI_USE(program, p, program);
    if (!p) return 0;
    for (int32_t i = 0; i < p->n_operations; i++) print_operation(p, &p->operations[i], &text);
    kni_text_string(&text, "outputs");
    for (int32_t i = 0; i < p->n_outputs; i++) kni_text_format(&text, " %%%d", p->outputs[i]);
    kni_text_string(&text, "\n");
    return text.length;
}
