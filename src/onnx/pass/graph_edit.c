/* Makers, readers and constants, and nodes that become others. */
#include "onnx/pass/graph_edit.h"
#include <string.h>

/* ---- asking */

kni_onnx_node *kni_edit_maker(const kni_edit *p, int32_t value)
{
    if (value < 0 || value >= p->model->n_values) return NULL;
    const kni_onnx_value *v = &p->model->values[value];
    if (v->node < 0 || v->initializer || !v->graph || v->node >= v->graph->n_nodes) return NULL;
    kni_onnx_node *node = &v->graph->nodes[v->node];
    return *node->op ? node : NULL;
}

bool kni_edit_is(const kni_onnx_node *node, const char *op)
{
    return node && !*node->domain && !strcmp(node->op, op);
}

kni_onnx_node *kni_edit_made_by(const kni_edit *p, int32_t value, const char *op)
{
    kni_onnx_node *node = kni_edit_maker(p, value);
    bool whole = kni_edit_is(node, op) && node->n_in > 0 && node->in[0] >= 0;
    return whole && node->out[0] == value ? node : NULL;
}

const kni_onnx_tensor *kni_edit_constant(const kni_edit *p, int32_t value)
{
    bool none = value < 0 || value >= p->model->n_values || p->settable[value];
    return none ? NULL : p->model->values[value].initializer;
}

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return fraction != 0 ? __builtin_nan("") : sign * __builtin_inf();
    double value = exponent ? 1024 + fraction : fraction;
    for (int e = exponent ? exponent : 1; e < 25; e++) value /= 2;
    for (int e = 25; e < exponent; e++) value *= 2;
    return sign * value;
}

static double bfloat_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

#define READ(type, expression)                                                                               \
    {                                                                                                        \
        type value;                                                                                          \
        memcpy(&value, (const char *)t->data + (size_t)i * sizeof value, sizeof value);                      \
        return (double)(expression);                                                                         \
    }

double kni_edit_element(const kni_onnx_tensor *t, int64_t i)
{
    switch (t->type) {
    case KNI_ONNX_FLOAT:
        READ(float, value)
    case KNI_ONNX_DOUBLE:
        READ(double, value)
    case KNI_ONNX_FLOAT16:
        READ(uint16_t, half_value(value))
    case KNI_ONNX_BFLOAT16:
        READ(uint16_t, bfloat_value(value))
    case KNI_ONNX_INT64:
        READ(int64_t, value)
    case KNI_ONNX_INT32:
        READ(int32_t, value)
    case KNI_ONNX_BOOL:
    case KNI_ONNX_UINT8:
        READ(uint8_t, value)
    case KNI_ONNX_INT8:
        READ(int8_t, value)
    default:
        return __builtin_nan("");
    }
}

/* Casts and shapes do not change the only element, as far as it is looked at here. */
static bool hands_on(const kni_onnx_node *node)
{
    static const char *const ops[] = {"Cast", "CastLike", "Identity", "Unsqueeze", "Squeeze", "Reshape"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (kni_edit_is(node, ops[i])) return true;
    return false;
}

bool kni_edit_real(const kni_edit *p, int32_t value, double *number)
{
    for (int steps = 0; steps < 8; steps++) {
        const kni_onnx_tensor *t = kni_edit_constant(p, value);
        if (t) {
            if (t->count != 1 || t->type == KNI_ONNX_STRING) return false;
            *number = kni_edit_element(t, 0);
            return *number == *number;
        }
        const kni_onnx_node *node = kni_edit_maker(p, value);
        if (!node || !hands_on(node) || node->n_in < 1) return false;
        value = node->in[0];
    }
    return false;
}

bool kni_edit_near(const kni_edit *p, int32_t value, double number)
{
    double found, size = number < 0 ? -number : number;
    return kni_edit_real(p, value, &found) && found - number <= 1e-3 * size && number - found <= 1e-3 * size;
}

const int64_t *kni_edit_ints(kni_edit *p, int32_t value, int64_t *count)
{
    const kni_onnx_tensor *t = kni_edit_constant(p, value);
    if (!t || t->count > 64 || (t->type != KNI_ONNX_INT64 && t->type != KNI_ONNX_INT32)) return NULL;
    int64_t *list = kni_edit_memory(p, (size_t)t->count + 1, sizeof *list);
    for (int64_t i = 0; list && i < t->count; i++) {
        if (t->type == KNI_ONNX_INT64) {
            memcpy(&list[i], (const char *)t->data + (size_t)i * sizeof *list, sizeof *list);
        } else {
            int32_t narrow;
            memcpy(&narrow, (const char *)t->data + (size_t)i * sizeof narrow, sizeof narrow);
            list[i] = narrow;
        }
    }
    *count = t->count;
    return list;
}

const int64_t *kni_edit_axes(kni_edit *p, const kni_onnx_node *node, int64_t *count)
{
    if (node->n_in > 1 && node->in[1] >= 0) return kni_edit_ints(p, node->in[1], count);
    const int64_t *axes = kni_node_ints(node, "axes", count);
    return *count ? axes : NULL;
}

int32_t kni_edit_other(const kni_onnx_node *node, int32_t value)
{
    if (!node || node->n_in != 2 || value < 0) return -1;
    if (node->in[0] == value) return node->in[1];
    return node->in[1] == value ? node->in[0] : -1;
}

bool kni_edit_once(const kni_edit *p, int32_t value)
{
    return value >= 0 && p->uses[value] == 1 && !p->given[value];
}

static int32_t gather_factors(const kni_edit *p, int32_t value, int32_t *factors, int32_t n, int32_t room,
                              int depth)
{
    const kni_onnx_node *node = kni_edit_made_by(p, value, "Mul");
    if (node && node->n_in == 2 && kni_edit_once(p, value) && depth < 6 && node->in[0] >= 0 &&
        node->in[1] >= 0) {
        n = gather_factors(p, node->in[0], factors, n, room, depth + 1);
        return n < 0 ? n : gather_factors(p, node->in[1], factors, n, room, depth + 1);
    }
    if (n >= room) return -1;
    factors[n] = value;
    return n + 1;
}

int32_t kni_edit_factors(const kni_edit *p, const kni_onnx_node *root, int32_t *factors, int32_t room)
{
    if (!kni_edit_is(root, "Mul") || root->n_in != 2 || root->in[0] < 0 || root->in[1] < 0) return 0;
    int32_t n = gather_factors(p, root->in[0], factors, 0, room, 0);
    if (n >= 0) n = gather_factors(p, root->in[1], factors, n, room, 0);
    return n < 0 ? 0 : n;
}

/* ---- changing */

int32_t kni_edit_now(const kni_edit *p, int32_t value)
{
    if (value < 0) return value;
    for (int32_t steps = 0; p->instead[value] != value && steps < p->room; steps++) value = p->instead[value];
    return value;
}

void *kni_edit_memory(kni_edit *p, size_t count, size_t size)
{
    void *memory = p->failed ? NULL : kni_onnx_arena_take(p->model->arena, count, size);
    if (!memory) p->failed = true;
    return memory;
}

/* The node that makes `to` makes `from`, the result of a graph, in its place: names of results stay. */
static bool take_place(kni_edit *p, int32_t from, int32_t to)
{
    kni_onnx_node *maker = kni_edit_maker(p, to), *old = kni_edit_maker(p, from);
    kni_onnx_value *values = p->model->values;
    if (!maker || !old || p->given[to] || values[to].graph != values[from].graph) return false;
    int32_t *out = kni_edit_memory(p, (size_t)maker->n_out, sizeof *out);
    if (!out) return false;
    for (int32_t k = 0; k < maker->n_out; k++) out[k] = maker->out[k] == to ? from : maker->out[k];
    maker->out = out;
    values[from].node = values[to].node;
    values[to].node = -1;
    p->instead[to] = from;
    kni_edit_remove(p, old);
    return true;
}

bool kni_edit_forward(kni_edit *p, int32_t from, int32_t to)
{
    if (p->failed || from < 0 || to < 0 || p->instead[from] != from) return false;
    to = kni_edit_now(p, to);
    if (from == to) return false;
    if (p->given[from]) {
        kni_onnx_node *old = kni_edit_maker(p, from);
        if (!old || old->n_out != 1 || !take_place(p, from, to)) return false;
    } else {
        p->instead[from] = to;
    }
    p->changes++;
    return true;
}

void kni_edit_remove(kni_edit *p, kni_onnx_node *node)
{
    (void)p;
    node->op = "";
    node->n_in = node->n_out = 0;
    node->n_attributes = 0;
}

void kni_edit_become(kni_edit *p, kni_onnx_node *node, const char *domain, const char *op, int32_t version,
                     const int32_t *in, int32_t n_in, const kni_onnx_attribute *attributes,
                     int32_t n_attributes)
{
    int32_t *operands = kni_edit_memory(p, (size_t)n_in, sizeof *operands);
    kni_onnx_attribute *list = kni_edit_memory(p, (size_t)n_attributes, sizeof *list);
    if (!operands || !list) return;
    if (n_in) memcpy(operands, in, sizeof *in * (size_t)n_in);
    if (n_attributes && attributes) memcpy(list, attributes, sizeof *list * (size_t)n_attributes);
    node->domain = domain;
    node->op = op;
    node->version = version;
    node->in = operands;
    node->n_in = n_in;
    node->n_out = 1;
    node->attributes = list;
    node->n_attributes = n_attributes;
    p->changes++;
}

kni_onnx_attribute kni_edit_list(kni_edit *p, const char *name, const int64_t *values, int64_t count)
{
    int64_t *copy = kni_edit_memory(p, (size_t)count, sizeof *copy);
    if (copy && count) memcpy(copy, values, sizeof *values * (size_t)count);
    return (kni_onnx_attribute){
        .name = name, .kind = KNI_ONNX_ATTRIBUTE_INTS, .count = copy ? count : 0, .ints = copy};
}

kni_onnx_attribute kni_edit_int(kni_edit *p, const char *name, int64_t value)
{
    kni_onnx_attribute a = kni_edit_list(p, name, &value, 1);
    a.kind = KNI_ONNX_ATTRIBUTE_INT;
    return a;
}

kni_onnx_attribute kni_edit_text(kni_edit *p, const char *name, const char *text)
{
    kni_onnx_text *copy = kni_edit_memory(p, 1, sizeof *copy);
    if (copy) *copy = (kni_onnx_text){text, strlen(text)};
    return (kni_onnx_attribute){
        .name = name, .kind = KNI_ONNX_ATTRIBUTE_STRING, .count = copy != NULL, .strings = copy};
}

kni_onnx_attribute kni_edit_number(kni_edit *p, const char *name, double value)
{
    float *copy = kni_edit_memory(p, 1, sizeof *copy);
    if (copy) *copy = (float)value;
    return (kni_onnx_attribute){
        .name = name, .kind = KNI_ONNX_ATTRIBUTE_FLOAT, .count = copy ? 1 : 0, .floats = copy};
}
