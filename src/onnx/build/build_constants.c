/* Constants of the model as params, buffers and constants of the program. */
#include "core/dtype.h"
#include "onnx/build/build.h"
#include "onnx/run/weights.h"
#include <string.h>

enum { FEW = 16, MOST_STEPS = 64 };

bool kni_onnx_build_is_weight(const kni_conversion *c, const kni_entry *e)
{
    const kni_building *b = kni_building_of(c);
    if (!e || !b->keeps_weights) return false;
    return e->of_weights || (e->constant && b->roles[e->constant->value] != KNI_ONNX_PLAIN);
}

/* Whether another param has the name: inner graphs may use one again, and a pass makes several constants of one that is shared. */
static bool is_taken(const kni_building *b, const kni_onnx_model *model, const char *name)
{
    for (int32_t i = 0; i < model->n_values; i++)
        if (b->params[i].id && model->values[i].name && !strcmp(model->values[i].name, name)) return true;
    return false;
}

/* Whether what was computed when the model was loaded is trained: it is made of a weight. A mask or a table is made of counts and shapes. */
static bool is_made_of_weights(const kni_conversion *c, int32_t value)
{
    const kni_building *b = kni_building_of(c);
    const kni_onnx_model *model = c->plan->model;
    for (int32_t step = 0; step < MOST_STEPS && value >= 0; step++) {
        const kni_onnx_value *v = &model->values[value];
        if (b->roles[value] == KNI_ONNX_WEIGHT) return true;
        if (v->initializer || v->node < 0 || !v->graph) return false;
        const kni_onnx_node *node = &v->graph->nodes[v->node];
        for (int32_t i = 0; i < node->n_in; i++)
            if (node->in[i] >= 0 && b->roles[node->in[i]] == KNI_ONNX_WEIGHT) return true;
        value = node->n_in ? node->in[0] : -1;
    }
    return false;
}

kn_program_value kni_onnx_build_constant(kni_conversion *c, const kni_stored *constant)
{
    kni_building *b = kni_building_of(c);
    kn_program_value *known = &b->params[constant->value];
    const kni_onnx_value *v = &c->plan->model->values[constant->value];
    if (known->id) return *known;
    uint8_t role = b->roles[constant->value];
    bool trained = role == KNI_ONNX_WEIGHT || (!v->initializer && is_made_of_weights(c, constant->value));
    bool number = role == KNI_ONNX_PLAIN && !trained && (!v->initializer || v->literal),
         small = number && kn_count(constant->tensor) <= FEW;
    if (small || kn_rank(constant->tensor) == 0 || !v->name || !*v->name)
        return *known = kn_builder_constant(b->builder, constant->tensor);
    const char *name = v->name;
    if ((v->graph && v->graph->parent) || is_taken(b, c->plan->model, name))
        name = kni_onnx_arena_format(c->arena, "%s.%d", v->name, (int)constant->value);
    if (!name) return KN_NO_VALUE;
    return *known = trained ? kn_builder_param(b->builder, name, constant->tensor)
                            : kn_builder_buffer(b->builder, name, constant->tensor);
}
