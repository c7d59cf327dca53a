/* Common subexpressions: a node that computes what another one before it has computed, in its region or one around it, goes; who read it
   reads the other. Constants with the same few elements become one first, since a trace has one for each number. */
#include "core/allocator.h"
#include "core/error.h"
#include "ops/stored_ops.h"
#include "program/passes.h"
#include <kn/tensor.h>
#include <string.h>

enum { ATTRIBUTE_BYTES = 1024, CONSTANT_BYTES = 1024, MOST_OPERANDS = KNI_PROGRAM_VALUES };

/* Nodes and constants by hash, in lists. What a region adds is taken out again when it ends. */
typedef struct merging {
    kni_program *p;
    int32_t *renamed; /* of each value: who stands for it */
    int32_t *heads, *next;
    uint64_t *hashes; /* of nodes */
    int32_t n_heads, n_entries;
    int64_t *changed;
} merging;

static uint64_t mixed(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

/* ---- nodes */

/* Attributes as the row's rule normalises them: axis -1 and the last axis are the same. False where the rule refuses them. */
static bool normalise(const kni_program *p, const kni_program_node *n, char *attributes)
{
    const kni_type *in[MOST_OPERANDS];
    kni_type types[MOST_OPERANDS] = {{0}}, *out[MOST_OPERANDS];
    if (n->n_in > MOST_OPERANDS || n->n_out > MOST_OPERANDS || n->row->attribute_bytes > ATTRIBUTE_BYTES)
        return false;
    if (!n->row->attribute_bytes) return true;
    for (int32_t i = 0; i < n->n_in; i++) {
        int32_t v = kni_node_in(p, n)[i];
        in[i] = v < 0 ? NULL : &p->values[v].type;
    }
    for (int32_t i = 0; i < n->n_out; i++) out[i] = &types[i];
    memcpy(attributes, kni_node_attributes(p, n), n->row->attribute_bytes);
    kni_infer c = {n->row, in, n->n_in, attributes, out, n->n_out};
    return kni_infer_stored(&c) == KN_OK;
}

/* The bytes of an attribute that mean something: lists are as long as they say. */
static size_t attribute_bytes(const kn_attribute *a, const char *place)
{
    int32_t rank;
    if (a->type != KNI_ATTR_INTS) return sizeof(int64_t);
    memcpy(&rank, place + a->offset + offsetof(kn_ints, rank), sizeof rank);
    return offsetof(kn_ints, dims) + (size_t)(rank > 0 && rank <= KN_MAX_RANK ? rank : 0) * sizeof(int64_t);
}

static uint64_t hash_of(const kni_program *p, const kni_program_node *n, const char *attributes)
{
    uint64_t hash = mixed(hash_start, &n->row, sizeof n->row);
    hash = mixed(hash, kni_node_in(p, n), (size_t)n->n_in * sizeof(int32_t));
    for (const kn_attribute *a = kni_schema_of(n->row); a->name; a++) {
        kn_ints list = {0, {0}};
        size_t bytes = attribute_bytes(a, attributes);
        memcpy(&list, attributes + a->offset, bytes);
        if (a->type == KNI_ATTR_INTS)
            hash = mixed(mixed(hash, &list.rank, sizeof list.rank), list.dims, sizeof list.dims);
        else
            hash = mixed(hash, &list, bytes);
    }
    return hash;
}

static bool same_attributes(const kn_op *row, const char *a, const char *b)
{
    for (const kn_attribute *at = kni_schema_of(row); at->name; at++) {
        kn_ints x = {0, {0}}, y = {0, {0}};
        size_t bytes = attribute_bytes(at, a);
        if (bytes != attribute_bytes(at, b)) return false;
        if (at->type != KNI_ATTR_INTS) {
            if (memcmp(a + at->offset, b + at->offset, bytes) != 0) return false;
            continue;
        }
        memcpy(&x, a + at->offset, bytes);
        memcpy(&y, b + at->offset, bytes);
        if (x.rank != y.rank || memcmp(x.dims, y.dims, sizeof x.dims) != 0) return false;
    }
    return true;
}

static bool same_node(const kni_program *p, const kni_program_node *a, const char *attributes,
                      const kni_program_node *b)
{
    _Alignas(8) char others[ATTRIBUTE_BYTES];
    if (a->row != b->row || a->n_in != b->n_in || a->n_out != b->n_out) return false;
    if (memcmp(kni_node_in(p, a), kni_node_in(p, b), (size_t)a->n_in * sizeof(int32_t)) != 0) return false;
    return normalise(p, b, others) && same_attributes(a->row, attributes, others);
}

/* A node before this one that computes the same, -1: none, and it is added. */
static int32_t find_node(merging *m, int32_t node)
{
    _Alignas(8) char attributes[ATTRIBUTE_BYTES];
    const kni_program *p = m->p;
    const kni_program_node *n = &p->nodes[node];
    if (kni_node_is_opaque(n)) return -1;
    if (!normalise(p, n, attributes)) return kni_error_forget(kni_thread_self()), -1;
    uint64_t hash = hash_of(p, n, attributes);
    int32_t *head = &m->heads[hash % (uint64_t)m->n_heads];
    for (int32_t i = *head; i >= 0; i = m->next[i])
        if (m->hashes[i] == hash && same_node(p, n, attributes, &p->nodes[i])) return i;
    m->hashes[node] = hash;
    m->next[node] = *head;
    *head = node;
    return -1;
}

static void rename_all(const merging *m, int32_t *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (values[i] >= 0) values[i] = m->renamed[values[i]];
}

static void merge_region(merging *m, int32_t region)
{
    kni_program *p = m->p;
    kni_program_region *r = &p->regions[region];
    int32_t kept = 0;
    for (int32_t i = 0; i < r->n_nodes; i++) {
        int32_t node = r->nodes[i];
        const kni_program_node *n = &p->nodes[node];
        rename_all(m, p->operands + n->first + n->n_out, n->n_in);
        int32_t same = n->kind == KNI_NODE_OP ? find_node(m, node) : -1;
        for (int32_t k = 0; k < n->n_out && same >= 0; k++) {
            int32_t gone = kni_node_out(p, n)[k], stays = kni_node_out(p, &p->nodes[same])[k];
            m->renamed[gone] = stays;
            kni_value_inherit(p, stays, gone);
        }
        for (int k = 0; k < 2 && (n->kind == KNI_NODE_IF || n->kind == KNI_NODE_LOOP); k++)
            if (n->regions[k] >= 0) merge_region(m, n->regions[k]);
        if (same < 0)
            r->nodes[kept++] = node;
        else
            (*m->changed)++;
    }
    r->n_nodes = kept;
    rename_all(m, r->results, r->n_results);
    for (int32_t i = kept; i-- > 0;) { /* latest first: each is the first of its list */
        int32_t node = r->nodes[i];
        if (p->nodes[node].kind != KNI_NODE_OP || kni_node_is_opaque(&p->nodes[node])) continue;
        int32_t *head = &m->heads[m->hashes[node] % (uint64_t)m->n_heads];
        if (*head == node) *head = m->next[node];
    }
}

/* ---- constants */

/* The elements of a constant that is short enough to be compared; -1 where it is not. */
static int64_t read_constant(const kni_program_value *v, char *bytes)
{
    const kni_tensor *x = v->origin == KNI_FROM_CONSTANT ? kni_peek(v->tensor) : NULL;
    int64_t n = x ? kni_type_bytes(&x->type) : -1;
    if (n < 0 || n > CONSTANT_BYTES) return -1;
    if (n == 0 || kn_read(v->tensor, bytes, (size_t)n) == KN_OK) return n;
    kni_error_forget(kni_thread_self());
    return -1;
}

static bool same_constant(const kni_program *p, int32_t a, const char *bytes, int64_t n, int32_t b)
{
    char others[CONSTANT_BYTES];
    const kni_program_value *x = &p->values[a], *y = &p->values[b];
    if (!kni_same_type(&x->type, &y->type) ||
        !kni_same_type(&kni_peek(x->tensor)->type, &kni_peek(y->tensor)->type))
        return false;
    return read_constant(y, others) == n && memcmp(bytes, others, (size_t)n) == 0;
}

static void merge_constants(merging *m)
{
    char bytes[CONSTANT_BYTES];
    kni_program *p = m->p;
    for (int32_t i = 0; i < p->n_values; i++) {
        int64_t n = read_constant(&p->values[i], bytes);
        if (n < 0) continue;
        uint64_t hash = mixed(hash_start, bytes, (size_t)n);
        int32_t *head = &m->heads[hash % (uint64_t)m->n_heads], other = *head;
        while (other >= 0 && !(m->hashes[other] == hash && same_constant(p, i, bytes, n, other)))
            other = m->next[other];
        m->hashes[i] = hash;
        if (other >= 0) {
            m->renamed[i] = other;
            kni_value_inherit(p, other, i);
            continue;
        }
        m->next[i] = *head;
        *head = i;
    }
}

/* ---- the pass */

static void clear(const merging *m) { memset(m->heads, -1, (size_t)m->n_heads * sizeof *m->heads); }

kn_status kni_pass_common(kni_program *p, int64_t *changed)
{
    merging m = {.p = p, .n_heads = p->n_nodes + p->n_values + 1, .changed = changed};
    m.n_entries = m.n_heads;
    size_t lists = (size_t)m.n_heads * sizeof(int32_t), hashes = (size_t)m.n_entries * sizeof *m.hashes;
    m.renamed = kni_allocate(lists);
    m.heads = kni_allocate(lists);
    m.next = kni_allocate(lists);
    m.hashes = kni_allocate(hashes);
    kn_status s = KN_OK;
    if (m.renamed && m.heads && m.next && m.hashes) {
        for (int32_t i = 0; i < p->n_values; i++) m.renamed[i] = i;
        memset(m.hashes, 0, hashes);
        kni_dims *before = kni_dims_enter(p->dims);
        clear(&m);
        merge_constants(&m);
        for (int32_t i = 0; i < p->n_regions; i++) {
            if (i > 0 && p->regions[i].name < 0) continue;
            clear(&m); /* a function sees nothing of others */
            merge_region(&m, i);
        }
        kni_dims_enter(before);
    } else {
        s = kni_fail(KN_ERROR_MEMORY, "kn_program_simplify: no memory to compare %d nodes", p->n_nodes);
    }
    kni_free(m.renamed, m.renamed ? lists : 0);
    kni_free(m.heads, m.heads ? lists : 0);
    kni_free(m.next, m.next ? lists : 0);
    kni_free(m.hashes, m.hashes ? hashes : 0);
    return s;
}
