/* The table of values of a conversion: making, counting and ending them; failing; memory. */
#include "onnx/run/conversion.h"
#include "core/objects.h"
#include "support/failure.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256, MOST_ENTRIES = INT32_MAX / 2, TEXT = 480 };

/* ---- failing and memory */

void kni_convert_fail(kni_conversion *c, kn_status code, const char *format, ...)
{
    if (c->status) return;
    char text[TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (code == KN_OK) code = KN_ERROR_INTERNAL;
    if (c->node && c->node->domain[0])
        c->status =
            kni_failure(code, "node '%s' (%s.%s): %s", c->node->name, c->node->domain, c->node->op, text);
    else if (c->node)
        c->status = kni_failure(code, "node '%s' (%s): %s", c->node->name, c->node->op, text);
    else
        c->status = kni_failure(code, "%s", text);
}

bool kni_convert_failed(const kni_conversion *c) { return c->status != KN_OK; }

bool kni_converts_now(const kni_conversion *c) { return c->target->now; }

void *kni_convert_memory(kni_conversion *c, size_t count, size_t size)
{
    if (c->status) return NULL;
    void *memory = kni_onnx_arena_take(c->scratch, count, size);
    if (!memory) kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for %zu things of %zu bytes", count, size);
    return memory;
}

/* ---- entries */

kni_entry *kni_entry_of(const kni_conversion *c, kni_datum x)
{
    if (x.id <= 0 || x.id > c->n_entries) return NULL;
    return &c->chunks[(x.id - 1) / CHUNK][(x.id - 1) % CHUNK];
}

/* Makes room for one more number in a list. */
static bool grow(int32_t **list, int32_t n, int32_t *room)
{
    if (n < *room) return true;
    if (*room > INT32_MAX / 2) return false;
    int32_t more = *room ? 2 * *room : 64;
    int32_t *larger = realloc(*list, (size_t)more * sizeof **list);
    if (!larger) return false;
    *list = larger;
    *room = more;
    return true;
}

static bool grow_chunks(kni_conversion *c)
{
    kni_entry **chunks = realloc(c->chunks, ((size_t)c->n_chunks + 1) * sizeof *chunks);
    if (!chunks) return false;
    c->chunks = chunks;
    chunks[c->n_chunks] = malloc(CHUNK * sizeof **chunks);
    if (!chunks[c->n_chunks]) return false;
    c->n_chunks++;
    return true;
}

/* The place of a new entry; -1 without memory. */
static int32_t take_place(kni_conversion *c)
{
    if (c->n_unused) return c->unused[--c->n_unused];
    if (c->n_entries >= MOST_ENTRIES) return -1;
    if (c->n_entries == c->n_chunks * CHUNK && !grow_chunks(c)) return -1;
    return c->n_entries++;
}

kni_entry *kni_entry_new(kni_conversion *c, kni_datum_kind kind, kni_datum *x)
{
    *x = KNI_ABSENT;
    if (c->status) return NULL;
    int32_t place = grow(&c->made, c->n_made, &c->made_room) ? take_place(c) : -1;
    if (place < 0) {
        kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for another value");
        return NULL;
    }
    x->id = place + 1;
    kni_entry *e = &c->chunks[place / CHUNK][place % CHUNK];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    e->users = 1;
    c->made[c->n_made++] = x->id;
    return e;
}

void kni_entry_use(kni_conversion *c, kni_datum x)
{
    kni_entry *e = kni_entry_of(c, x);
    if (e) e->users++;
}

static void end_entry(kni_conversion *c, kni_entry *e)
{
    if (e->host.bits && !e->host_borrowed) kn_drop(e->host);
    if (e->device.bits && !e->device_borrowed && e->device.bits != e->host.bits) kn_drop(e->device);
    free(e->content);
    free(e->ints);
    free(e->reals);
    kni_held_leave(e->strings);
    kni_datum *items = e->items;
    int64_t n = e->n_items;
    memset(e, 0, sizeof *e);
    for (int64_t i = 0; i < n; i++) kni_entry_leave(c, items[i]);
    free(items);
}

void kni_entry_leave(kni_conversion *c, kni_datum x)
{
    kni_entry *e = kni_entry_of(c, x);
    if (!e || --e->users > 0) return;
    end_entry(c, e);
    /* Without memory for the list the place is not used again, which harms nothing. */
    if (grow(&c->unused, c->n_unused, &c->unused_room)) c->unused[c->n_unused++] = x.id - 1;
}

int32_t kni_made_mark(const kni_conversion *c) { return c->n_made; }

void kni_made_leave(kni_conversion *c, int32_t mark)
{
    while (c->n_made > mark) kni_entry_leave(c, (kni_datum){c->made[--c->n_made]});
}

void kni_made_add(kni_conversion *c, kni_datum x)
{
    if (!kni_entry_of(c, x) || c->status) return;
    if (!grow(&c->made, c->n_made, &c->made_room)) {
        kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for another value");
        return;
    }
    kni_entry_use(c, x);
    c->made[c->n_made++] = x.id;
}

void kni_entry_describe(kni_entry *e, kn_tensor t)
{
    kn_shape shape = kn_shape_of_tensor(t);
    e->dtype = kn_dtype_of(t);
    e->rank = shape.rank;
    for (int32_t a = 0; a < shape.rank; a++) e->extents[a] = KNI_EXTENT(shape.dims[a]);
}

kni_datum kni_entry_host(kni_conversion *c, kn_tensor t)
{
    kni_datum x = KNI_ABSENT;
    if (!c->status && !kn_ok(t)) kni_convert_fail(c, kn_error_code(t), "%s", kni_failure_taken());
    kni_entry *e = c->status ? NULL : kni_entry_new(c, KNI_IS_TENSOR, &x);
    if (!e) return kn_drop(t), KNI_ABSENT;
    kni_entry_describe(e, t);
    e->host = kn_keep(t);
    e->near = true;
    return x;
}

kni_datum kni_entry_constant(kni_conversion *c, kni_stored *constant)
{
    kni_datum x;
    kni_entry *e = kni_entry_new(c, constant->strings ? KNI_IS_STRINGS : KNI_IS_TENSOR, &x);
    if (!e) return KNI_ABSENT;
    e->constant = constant;
    e->near = true;
    if (constant->strings) {
        e->strings = kni_held_use(constant->strings);
        e->texts = e->strings->strings;
        e->rank = e->strings->rank;
        for (int32_t a = 0; a < e->rank; a++) e->extents[a] = KNI_EXTENT(e->strings->sizes[a]);
        return x;
    }
    kni_entry_describe(e, constant->tensor);
    e->host = constant->tensor;
    e->host_borrowed = true;
    return x;
}

/* ---- values of the model */

void kni_bind(kni_conversion *c, int32_t value, kni_datum x)
{
    kni_datum before = {c->now[value]};
    kni_entry_use(c, x);
    c->now[value] = x.id;
    kni_entry_leave(c, before);
}

kni_datum kni_bound(kni_conversion *c, int32_t value)
{
    if (value < 0 || c->status) return KNI_ABSENT;
    if (!c->now[value] && c->plan->constants[value]) {
        kni_datum x = kni_entry_constant(c, c->plan->constants[value]);
        kni_bind(c, value, x);
        return x;
    }
    return (kni_datum){c->now[value]};
}

void kni_graph_leave(kni_conversion *c, const kni_onnx_graph *graph)
{
    for (int32_t i = 0; i < graph->n_inputs; i++) kni_bind(c, graph->inputs[i], KNI_ABSENT);
    for (int32_t k = 0; k < graph->n_nodes; k++)
        for (int32_t i = 0; i < graph->nodes[k].n_out; i++)
            if (graph->nodes[k].out[i] >= 0) kni_bind(c, graph->nodes[k].out[i], KNI_ABSENT);
}

/* ---- the whole */

bool kni_conversion_start(kni_conversion *c, const kni_onnx_plan *plan, const kni_onnx_target *target,
                          void *state)
{
    *c = (kni_conversion){.plan = plan, .target = target, .state = state};
    size_t n = (size_t)plan->model->n_values + 1;
    c->arena = kni_onnx_arena_new();
    c->scratch = kni_onnx_arena_new();
    c->now = calloc(n, sizeof *c->now);
    if (c->arena && c->scratch && c->now) return true;
    kni_conversion_end(c);
    kni_failure_memory("kn_onnx");
    return false;
}

void kni_conversion_end(kni_conversion *c)
{
    for (int32_t i = 0; i < c->n_entries; i++) {
        kni_entry *e = kni_entry_of(c, (kni_datum){i + 1});
        if (!e->users) continue;
        e->n_items = 0; /* each is ended by itself */
        end_entry(c, e);
    }
    for (int32_t i = 0; i < c->n_chunks; i++) free(c->chunks[i]);
    free(c->chunks);
    free(c->unused);
    free(c->made);
    free(c->now);
    kni_onnx_arena_free(c->arena);
    kni_onnx_arena_free(c->scratch);
    c->chunks = NULL;
    c->unused = c->made = c->now = NULL;
    c->arena = c->scratch = NULL;
    c->n_entries = c->n_chunks = 0;
}
