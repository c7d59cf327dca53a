/* Batch norm into the contraction before it: a convolution or a linear layer whose result only an affine map of its channels reads takes
   the map into its weight and bias. Batch norm that does not train is such a map, as are sums and products with a constant. */
#include "core/error.h"
#include "ops/affine.h"
#include "program/passes.h"
#include <kn/tensor.h>
#include <string.h>

enum { MOST_OPERANDS = KNI_PROGRAM_VALUES };

typedef struct absorbing {
    kni_program *p;
    kni_readers readers;
} absorbing;

/* The node that alone reads the result of node n, where it stands in the same region; -1: there is none. */
static int32_t only_reader(const absorbing *a, const kni_program_node *n, int32_t region)
{
    const kni_program *p = a->p;
    int32_t y = kni_node_out(p, n)[0];
    if (kni_reads_of(&a->readers, y) != 1 || y >= a->readers.n_values) return -1;
    int32_t reader = a->readers.node[y];
    if (reader < 0 || p->nodes[reader].kind != KNI_NODE_OP || p->nodes[reader].n_out != 1) return -1;
    return p->values[kni_node_out(p, &p->nodes[reader])[0]].region == region ? reader : -1;
}

/* The operands of the map on the CPU but for y, which is the contraction's result; -1 where one is not the same in every run, else
   which one y is. */
static int32_t fixed_operands(const kni_program *p, const kni_program_node *map, int32_t y, kn_tensor *in)
{
    int32_t operand = -1;
    for (int32_t i = 0; i < map->n_in; i++) {
        int32_t v = kni_node_in(p, map)[i];
        in[i] = KN_NONE;
        if (v == y) operand = i;
        if (v == y || v < 0) continue;
        if (!kni_value_may_fold(p, &p->values[v])) return -1;
        in[i] = kni_pass_tensor(&p->values[v]);
        if (kni_is_poisoned(in[i])) return -1;
    }
    return operand;
}

/* Whether the map of the last axis is another one for operands of another rank, as a trace may get them. */
static bool depends_on_rank(const kni_program_node *map, const kn_tensor *in)
{
    for (int32_t i = 0; i < map->n_in; i++)
        if (in[i].bits && kni_peek(in[i])->type.rank > 1) return true;
    return kni_affine_from_first(map->row);
}

/* Weight and bias with the map taken in; false where that cannot be. They are owned. */
static bool compute(const kni_program *p, const kni_program_node *n, const kni_program_node *map,
                    kn_tensor *weight, kn_tensor *bias)
{
    kn_tensor in[MOST_OPERANDS];
    kni_affine affine;
    const int32_t *own = kni_node_in(p, n);
    int32_t y = kni_node_out(p, n)[0], axis = kni_absorb_axis(n->row);
    int32_t operand = fixed_operands(p, map, y, in);
    if (operand < 0 || (axis < 0 && p->loose && depends_on_rank(map, in))) return false;
    if (!kni_affine_of(map->row, kni_node_attributes(p, map), &p->values[y].type, axis, in, map->n_in,
                       operand, &affine))
        return false;
    *weight = kni_pass_tensor(&p->values[own[1]]);
    *bias = own[2] < 0 ? KN_NONE : kni_pass_tensor(&p->values[own[2]]);
    kn_tensor before = *weight;
    if (kni_is_poisoned(*weight) || kni_is_poisoned(*bias) ||
        !kni_absorb(n->row, kni_node_attributes(p, n), affine, weight, bias))
        return false;
    *weight = weight->bits == before.bits ? KN_NONE : kn_own(*weight);
    *bias = bias->bits ? kn_own(*bias) : KN_NONE;
    if (!kni_is_poisoned(*weight) && !kni_is_poisoned(*bias)) return true;
    kn_drop(*weight);
    kn_drop(*bias);
    return false;
}

/* The value that gets the tensor for an operand: the operand itself where nobody else reads it, so that a weight keeps its name, else a
   new constant. -1 without memory. */
static int32_t value_for(const absorbing *a, int32_t operand, kn_tensor tensor)
{
    if (!tensor.bits || (operand >= 0 && kni_reads_of(&a->readers, operand) == 1)) return operand;
    kni_type type = kni_peek(tensor)->type;
    return kni_build_value(a->p, KNI_FROM_CONSTANT, &type, 0, NULL);
}

/* Gives the contraction another weight and bias, which are owned; where that fails nothing has changed. */
static kn_status set_weights(absorbing *a, const kni_program_node *n, const kn_tensor tensors[2])
{
    kni_program *p = a->p;
    int32_t before = p->n_values, made[2], *in = p->operands + n->first + n->n_out + 1;
    for (int i = 0; i < 2; i++) {
        made[i] = value_for(a, in[i], tensors[i]);
        if (made[i] >= 0 || !tensors[i].bits) continue;
        p->n_values = before;
        kn_drop(tensors[0]);
        kn_drop(tensors[1]);
        return KN_ERROR_MEMORY;
    }
    for (int i = 0; i < 2; i++) {
        if (made[i] != in[i] && in[i] >= 0 && in[i] < a->readers.n_values) a->readers.count[in[i]]--;
        if (tensors[i].bits) kni_value_set_tensor(&p->values[made[i]], tensors[i]);
        in[i] = made[i];
    }
    return KN_OK;
}

static bool is_fixed(const kni_program *p, int32_t value)
{
    return value >= 0 && kni_value_may_fold(p, &p->values[value]);
}

static bool can_absorb(const kni_program *p, const kni_program_node *n)
{
    if (n->kind != KNI_NODE_OP || kni_absorb_axis(n->row) == KNI_NO_CHANNELS || n->n_in != 3) return false;
    const int32_t *in = kni_node_in(p, n);
    return in[1] != in[2] && is_fixed(p, in[1]) && (in[2] < 0 || is_fixed(p, in[2]));
}

/* Takes in the map behind a contraction, whose result the contraction then gives. *map: the map's node, -1 where nothing was done. */
static kn_status absorb(absorbing *a, int32_t region, const kni_program_node *n, int32_t *map)
{
    kni_program *p = a->p;
    kn_tensor tensors[2];
    kni_pass_run run;
    int32_t reader = only_reader(a, n, region);
    *map = -1;
    if (reader < 0) return KN_OK;
    int32_t *y = &p->operands[n->first], *z = &p->operands[p->nodes[reader].first];
    if (p->nodes[reader].n_in > MOST_OPERANDS || !kni_same_type(&p->values[*y].type, &p->values[*z].type))
        return KN_OK;
    kn_status s = kni_pass_run_begin(&run);
    if (s) return s;
    bool good = compute(p, n, &p->nodes[reader], &tensors[0], &tensors[1]);
    if (!good) kni_error_forget(kni_thread_self());
    kni_pass_run_end(&run);
    if (!good) return KN_OK;
    s = set_weights(a, n, tensors);
    if (s) return s;
    int32_t given = *z;
    *z = *y;
    *y = given;
    *map = reader;
    return KN_OK;
}

static void take_out(kni_program_region *r, int32_t node)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < r->n_nodes; i++)
        if (r->nodes[i] != node) r->nodes[kept++] = r->nodes[i];
    r->n_nodes = kept;
}

kn_status kni_pass_batch_norm(kni_program *p, int64_t *changed)
{
    absorbing a = {.p = p};
    kn_status s = kni_readers_find(p, &a.readers);
    for (int32_t r = 0; r < p->n_regions; r++)
        for (int32_t i = 0; i < p->regions[r].n_nodes && s == KN_OK; i++) {
            const kni_program_node *n = &p->nodes[p->regions[r].nodes[i]];
            int32_t map = 0;
            while (map >= 0 && s == KN_OK && can_absorb(p, n)) {
                s = absorb(&a, r, n, &map);
                if (map < 0) continue;
                take_out(&p->regions[r], map);
                (*changed)++;
            }
        }
    kni_readers_free(&a.readers);
    return s;
}
