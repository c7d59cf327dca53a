/* Tells what is in a model: everything here is in the file, so names are written with odd characters escaped. */
#include "onnx/describe.h"
#include "onnx/read/name_table.h"
#include "support/damage.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_TEXT = 160, LARGEST = 10 };

void kni_onnx_write_name(kni_buffer *text, const char *name)
{
    char plain[NAME_TEXT];
    kni_escape(plain, sizeof plain, name);
    kni_buffer_text(text, plain);
}

/* ---- types */

static void write_dims(kni_buffer *text, const kni_onnx_declared *d)
{
    kni_buffer_text(text, " [");
    for (int32_t i = 0; i < d->rank; i++) {
        if (i) kni_buffer_text(text, ", ");
        if (d->dims[i].value >= 0)
            kni_buffer_format(text, "%lld", (long long)d->dims[i].value);
        else
            kni_onnx_write_name(text, d->dims[i].name ? d->dims[i].name : "?");
    }
    kni_buffer_text(text, "]");
}

void kni_onnx_write_declared(kni_buffer *text, const kni_onnx_declared *d)
{
    static const char *const words[] = {[KNI_ONNX_SEQUENCE] = "sequence of ",
                                        [KNI_ONNX_OPTIONAL] = "optional ",
                                        [KNI_ONNX_SPARSE] = "sparse "};
    for (; d && d->kind != KNI_ONNX_UNKNOWN; d = d->inner) {
        if (d->kind == KNI_ONNX_MAP)
            kni_buffer_format(text, "map from %s to ", kni_onnx_type_name(d->type));
        else if (d->kind != KNI_ONNX_TENSOR)
            kni_buffer_text(text, words[d->kind]);
        if (d->kind != KNI_ONNX_TENSOR && d->kind != KNI_ONNX_SPARSE) continue;
        kni_buffer_text(text, kni_onnx_type_name(d->type));
        if (d->rank < 0)
            kni_buffer_text(text, " of any shape");
        else
            write_dims(text, d);
        return;
    }
    kni_buffer_text(text, "what is not declared");
}

static void write_ports(kni_buffer *text, const kni_onnx_model *m, const char *title, const int32_t *values,
                        int32_t count)
{
    kni_buffer_format(text, "%s:\n", title);
    for (int32_t i = 0; i < count; i++) {
        kni_buffer_text(text, "  ");
        kni_onnx_write_name(text, m->values[values[i]].name);
        kni_buffer_text(text, ": ");
        kni_onnx_write_declared(text, m->values[values[i]].declared);
        kni_buffer_text(text, "\n");
    }
}

/* ---- who made it */

static void write_head(kni_buffer *text, const kni_onnx_model *m)
{
    kni_buffer_text(text, "made by ");
    kni_onnx_write_name(text, *m->producer ? m->producer : "an unnamed program");
    kni_buffer_text(text, *m->producer_version ? " " : "");
    kni_onnx_write_name(text, m->producer_version);
    kni_buffer_format(text, ", version %lld of the format\noperators of", (long long)m->ir_version);
    for (int32_t i = 0; i < m->n_opsets; i++) {
        kni_buffer_text(text, i ? ", " : " ");
        kni_onnx_write_name(text, *m->opsets[i].domain ? m->opsets[i].domain : "ai.onnx");
        kni_buffer_format(text, " %lld", (long long)m->opsets[i].version);
    }
    kni_buffer_text(text, m->n_opsets ? "\n" : " no named version\n");
    for (int32_t i = 0; i < m->n_metadata; i++) {
        kni_buffer_text(text, i ? "  " : "metadata:\n  ");
        kni_onnx_write_name(text, m->metadata[2 * i]);
        kni_buffer_text(text, " = ");
        kni_onnx_write_name(text, m->metadata[2 * i + 1]);
        kni_buffer_text(text, "\n");
    }
}

/* ---- operators */

typedef struct op_count {
    const char *domain, *op;
    int32_t count;
} op_count;

typedef struct op_counts {
    kni_onnx_arena *arena;
    kni_name_table names; /* "domain.op" */
    op_count *counts;
    int32_t n, inner; /* nodes of inner graphs */
    bool failed;
} op_counts;

static void count_node(op_counts *c, const kni_onnx_node *n)
{
    char *key = kni_onnx_arena_format(c->arena, "%s.%s", n->domain, n->op);
    if (!key) {
        c->failed = true;
        return;
    }
    int32_t *number = kni_name_table_put(&c->names, key);
    if (*number < 0) {
        *number = c->n++;
        c->counts[*number] = (op_count){n->domain, n->op, 0};
    }
    c->counts[*number].count++;
}

/* The reader bounds how deep graphs lie in each other. */
static void count_nodes(op_counts *c, const kni_onnx_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const kni_onnx_node *n = &g->nodes[i];
        count_node(c, n);
        c->inner += g->parent != NULL;
        for (int32_t a = 0; a < n->n_attributes; a++)
            for (int64_t k = 0; n->attributes[a].graphs && k < n->attributes[a].count; k++)
                count_nodes(c, n->attributes[a].graphs[k]);
    }
}

static int more_often(const void *a, const void *b)
{
    const op_count *p = a, *q = b;
    if (p->count != q->count) return p->count < q->count ? 1 : -1;
    int order = strcmp(p->op, q->op);
    return order ? order : strcmp(p->domain, q->domain);
}

static bool write_ops(kni_buffer *text, const kni_onnx_model *m, kni_onnx_arena *arena)
{
    op_counts c = {arena, {0}, NULL, 0, 0, false};
    c.counts = kni_onnx_arena_take(arena, (size_t)m->n_nodes, sizeof *c.counts);
    if (!c.counts || !kni_name_table_make(&c.names, arena, (size_t)m->n_nodes)) return false;
    count_nodes(&c, m->graph);
    if (c.failed) return false;
    if (c.n) qsort(c.counts, (size_t)c.n, sizeof *c.counts, more_often);
    kni_buffer_format(text, "%d nodes", (int)m->n_nodes);
    if (c.inner) kni_buffer_format(text, ", %d of them in inner graphs", (int)c.inner);
    kni_buffer_text(text, c.n ? ":\n" : "\n");
    for (int32_t i = 0; i < c.n; i++) {
        kni_buffer_format(text, "  %6d  ", (int)c.counts[i].count);
        if (*c.counts[i].domain) {
            kni_onnx_write_name(text, c.counts[i].domain);
            kni_buffer_text(text, ".");
        }
        kni_onnx_write_name(text, c.counts[i].op);
        kni_buffer_text(text, "\n");
    }
    return true;
}

/* ---- parameters */

static int by_address(const void *a, const void *b)
{
    uintptr_t p = (uintptr_t) * (const kni_onnx_tensor *const *)a,
              q = (uintptr_t) * (const kni_onnx_tensor *const *)b;
    return p < q ? -1 : p > q;
}

static int larger(const void *a, const void *b)
{
    const kni_onnx_tensor *p = *(const kni_onnx_tensor *const *)a, *q = *(const kni_onnx_tensor *const *)b;
    if (p->bytes != q->bytes) return p->bytes < q->bytes ? 1 : -1;
    return strcmp(p->name, q->name);
}

/* Each tensor once, though calls of a function may share it. */
static int32_t list_tensors(const kni_onnx_model *m, const kni_onnx_tensor **tensors)
{
    int32_t n = 0, kept = 0;
    for (int32_t i = 0; i < m->n_values; i++)
        if (m->values[i].initializer) tensors[n++] = m->values[i].initializer;
    if (n) qsort(tensors, (size_t)n, sizeof *tensors, by_address);
    for (int32_t i = 0; i < n; i++)
        if (!kept || tensors[kept - 1] != tensors[i]) tensors[kept++] = tensors[i];
    if (kept) qsort(tensors, (size_t)kept, sizeof *tensors, larger);
    return kept;
}

static void write_sums(kni_buffer *text, const kni_onnx_tensor *const *tensors, int32_t n)
{
    long long elements[KNI_ONNX_TYPE_COUNT] = {0}, bytes[KNI_ONNX_TYPE_COUNT] = {0};
    long long all_elements = 0, all_bytes = 0;
    for (int32_t i = 0; i < n; i++) {
        elements[tensors[i]->type] += tensors[i]->count;
        bytes[tensors[i]->type] += (long long)tensors[i]->bytes;
        all_elements += tensors[i]->count;
        all_bytes += (long long)tensors[i]->bytes;
    }
    kni_buffer_format(text, "%d parameters with %lld elements in %lld bytes\n", (int)n, all_elements,
                      all_bytes);
    for (int32_t type = 0; type < KNI_ONNX_TYPE_COUNT; type++)
        if (elements[type])
            kni_buffer_format(text, "  %-14s %12lld elements %14lld bytes\n", kni_onnx_type_name(type),
                              elements[type], bytes[type]);
}

static bool write_params(kni_buffer *text, const kni_onnx_model *m, kni_onnx_arena *arena)
{
    const kni_onnx_tensor **tensors = kni_onnx_arena_take(arena, (size_t)m->n_values, sizeof *tensors);
    if (!tensors) return false;
    int32_t n = list_tensors(m, tensors);
    write_sums(text, tensors, n);
    if (n) kni_buffer_text(text, "largest:\n");
    for (int32_t i = 0; i < n && i < LARGEST; i++) {
        const kni_onnx_tensor *t = tensors[i];
        kni_buffer_format(text, "  %12zu bytes  %s [", t->bytes, kni_onnx_type_name(t->type));
        for (int32_t k = 0; k < t->rank; k++)
            kni_buffer_format(text, k ? ", %lld" : "%lld", (long long)t->sizes[k]);
        kni_buffer_text(text, "]  ");
        kni_onnx_write_name(text, t->name);
        kni_buffer_text(text, "\n");
    }
    return true;
}

kn_status kni_onnx_describe(const kni_onnx_model *m, kni_buffer *text)
{
    kni_onnx_arena *arena = kni_onnx_arena_new();
    write_head(text, m);
    write_ports(text, m, "inputs", m->graph->inputs, m->graph->n_inputs);
    write_ports(text, m, "outputs", m->graph->outputs, m->graph->n_outputs);
    bool good = arena && write_params(text, m, arena) && write_ops(text, m, arena);
    kni_onnx_arena_free(arena);
    return good && !text->failed ? KN_OK : kni_failure_memory("describing an ONNX model");
}
