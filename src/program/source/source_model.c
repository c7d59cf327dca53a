/* The model as a module: its struct, the descriptor, and its weights under their paths. */
#include "core/error.h"
#include "core/text.h"
#include "program/source/source_parts.h"
#include <kn/state.h>
#include <kn/tensor.h>

/* ---- paths */

/* The number of block b in a path that has it as one of its parts, "layers.3.weight"; where the part begins and ends. */
static bool numbered(const char *path, int32_t b, size_t *from, size_t *to)
{
    char part[16];
    int n = snprintf(part, sizeof part, ".%d.", (int)b);
    const char *at = path ? strstr(path, part) : NULL;
    if (!at || strstr(at + 1, part)) return false;
    *from = (size_t)(at - path);
    *to = *from + (size_t)n;
    return true;
}

/* Whether all members of a group are called PREFIX.B.REST with the block's number and, but for that, the same names in every block. */
static bool keeps_paths(const kni_source *s, const kni_source_group *g, size_t *prefix)
{
    for (int32_t i = 0; i < g->n_members * g->count; i++) {
        int32_t b = i / g->n_members;
        const char *path = s->values[g->members[i]].path,
                   *first = s->values[g->members[i % g->n_members]].path;
        size_t from, to, first_from, first_to;
        if (!numbered(path, b, &from, &to) || !numbered(first, 0, &first_from, &first_to)) return false;
        if (i == 0) *prefix = from;
        bool same = from == *prefix && first_from == from &&
                    !memcmp(path, s->values[g->members[0]].path, from) &&
                    !strcmp(path + to, first + first_to);
        if (!same) return false;
    }
    return true;
}

/* What stands before the number of a group's block in paths. */
static void print_group_path(const kni_source *s, kni_buffer *out, const kni_source_group *g)
{
    size_t prefix;
    if (keeps_paths(s, g, &prefix))
        kni_buffer_append(out, s->values[g->members[0]].path, prefix);
    else
        kni_buffer_text(out, g->name);
}

/* The name of a block's member, in paths behind the number. */
static const char *member_path(const kni_source *s, const kni_source_group *g, int32_t member)
{
    size_t prefix, from, to;
    int32_t first = g->members[member];
    if (keeps_paths(s, g, &prefix) && numbered(s->values[first].path, 0, &from, &to))
        return s->values[first].path + to;
    return s->values[first].name;
}

void kni_source_path(const kni_source *s, kni_buffer *out, int32_t value)
{
    const kni_source_value *v = &s->values[value];
    if (v->block < 0) {
        kni_buffer_text(out, v->path);
        return;
    }
    const kni_source_group *g = &s->groups[v->block];
    print_group_path(s, out, g);
    kni_buffer_format(out, ".%d.%s", (int)(v->member / g->n_members),
                      member_path(s, g, v->member % g->n_members));
}

/* ---- what is printed */

void kni_source_type(kni_buffer *out, const kni_type *t)
{
    char size[2000];
    kni_buffer_format(out, "%s [", kn_dtype_name((kn_dtype)t->dtype));
    for (int32_t i = 0; i < t->rank; i++) {
        kni_text text = {size, sizeof size, 0};
        kni_dim_print(&text, t->dims[i]);
        kni_buffer_format(out, "%s%s", i ? ", " : "", size);
    }
    kni_buffer_text(out, "]");
}

static bool is_own_member(const kni_source *s, int32_t v)
{
    return s->values[v].place == KNI_SOURCE_FIELD && s->values[v].block < 0;
}

static void print_member(kni_source *s, kni_buffer *out, int32_t value)
{
    kni_buffer_format(out, "    kn_param %s; /* ", s->values[value].name);
    kni_source_type(out, &s->p->values[value].type);
    kni_buffer_text(out, " */\n");
}

void kni_source_print_structs(kni_source *s, kni_buffer *out)
{
    for (int32_t g = 0; g < s->n_groups; g++) {
        if (!s->groups[g].n_members) continue;
        kni_buffer_format(out, "/* One of the %d %s. */\ntypedef struct %s_%s {\n", (int)s->groups[g].count,
                          s->groups[g].name, s->name, s->groups[g].name);
        for (int32_t i = 0; i < s->groups[g].n_members; i++) print_member(s, out, s->groups[g].members[i]);
        kni_buffer_format(out, "} %s_%s;\n\n", s->name, s->groups[g].name);
    }
    kni_buffer_format(out, "typedef struct %s {\n", s->name);
    for (int32_t v = 0; v < s->p->n_values; v++)
        if (is_own_member(s, v)) print_member(s, out, v);
    for (int32_t g = 0; g < s->n_groups; g++)
        if (s->groups[g].n_members)
            kni_buffer_format(out, "    %s_%s %s[%d];\n", s->name, s->groups[g].name, s->groups[g].name,
                              (int)s->groups[g].count);
    if (!s->has_fields) kni_buffer_text(out, "    char no_weights;\n");
    kni_buffer_format(out, "} %s;\n", s->name);
}

/* Weights are trained where they are named floats and no buffers; the rest is saved and not trained. */
static void print_field(const kni_source *s, kni_buffer *out, const char *owner, int32_t value,
                        const char *path)
{
    const kni_program_value *v = &s->p->values[value];
    bool trained = v->origin == KNI_FROM_PARAM && !v->buffer && kn_dtype_is_float((kn_dtype)v->type.dtype);
    kni_buffer_format(out, "    {%s, ", trained ? "KN_FIELD_PARAM" : "KN_FIELD_BUFFER");
    kni_source_text(out, path);
    kni_buffer_format(out, ", KN_OFFSET_OF(%s, %s, kn_param), 0, 0, 0},\n", owner, s->values[value].name);
}

void kni_source_print_descriptors(kni_source *s, kni_buffer *out)
{
    char owner[160];
    for (int32_t g = 0; g < s->n_groups; g++) {
        const kni_source_group *group = &s->groups[g];
        if (!group->n_members) continue;
        snprintf(owner, sizeof owner, "%s_%s", s->name, group->name);
        kni_buffer_format(out, "static const kn_field %s_fields[] = {\n", group->name);
        for (int32_t i = 0; i < group->n_members; i++)
            print_field(s, out, owner, group->members[i], member_path(s, group, i));
        kni_buffer_format(
            out, "    {0}};\nstatic const kn_module_type %s_type = {\"%s\", sizeof(%s), %s_fields};\n\n",
            owner, group->name, owner, group->name);
    }
    kni_buffer_text(out, "static const kn_field fields[] = {\n");
    for (int32_t v = 0; v < s->p->n_values; v++)
        if (is_own_member(s, v)) print_field(s, out, s->name, v, s->values[v].path);
    for (int32_t g = 0; g < s->n_groups; g++) {
        const kni_source_group *group = &s->groups[g];
        if (!group->n_members) continue; /* all of them read the same weights */
        kni_buffer path = {0};
        print_group_path(s, &path, group);
        kni_buffer_text(out, "    {KN_FIELD_ARRAY, ");
        kni_source_text(out, kni_buffer_string(&path));
        kni_buffer_format(out, ", KN_OFFSET_OF(%s, %s[0], %s_%s), &%s_%s_type, %d, 0},\n", s->name,
                          group->name, s->name, group->name, s->name, group->name, (int)group->count);
        kni_buffer_free(&path);
    }
    kni_buffer_format(out, "    {0}};\nconst kn_module_type %s_type = {\"%s\", sizeof(%s), fields};\n\n",
                      s->name, s->name, s->name);
}

/* ---- the weights themselves */

/* A member of a block has another name in the file than in the program, which the file's metadata tells. */
static kn_status put_name(const kni_source *s, kn_state state, int32_t value, const char *path)
{
    const kni_program_value *v = &s->p->values[value];
    const char *name = v->origin == KNI_FROM_PARAM ? kni_name_at(s->p, v->name) : "";
    return *name && strcmp(name, path) != 0 ? kn_state_put_text(state, path, name) : KN_OK;
}

kn_state kni_source_weights(kni_source *s)
{
    kn_state state = kn_state_make();
    kn_status status = state ? KN_OK : KN_ERROR_MEMORY;
    for (int32_t v = 0; v < s->p->n_values && status == KN_OK; v++) {
        const kni_program_value *x = &s->p->values[v];
        if (s->values[v].place != KNI_SOURCE_FIELD) continue;
        kni_buffer path = {0};
        kni_source_path(s, &path, v);
        kn_tensor t = x->live ? kn_alias(x->tensor) : x->tensor;
        status = path.failed ? kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for a path")
                             : kn_state_put(state, "", kni_buffer_string(&path), t);
        if (status == KN_OK) status = put_name(s, state, v, kni_buffer_string(&path));
        kni_buffer_free(&path);
    }
    if (status == KN_OK) return state;
    kn_state_free(state);
    kni_source_failed(s, status);
    return NULL;
}
