/* kn_program_to_source: the header, the functions, the weights. */
#include "core/allocator.h"
#include "core/dim_symbols.h"
#include "core/error.h"
#include "core/objects.h"
#include "program/source/source_parts.h"
#include "support/file.h"
#include <kn/store.h>
#include <kn/tensor.h>
#include <stdlib.h>

/* ---- sizes */

void kni_source_sizes_given(const kni_source *s, kni_buffer *out)
{
    if (s->n_sizes) kni_buffer_text(out, ", n");
}

static void print_size_argument(const kni_source *s, kni_buffer *out)
{
    if (s->n_sizes) kni_buffer_format(out, ", %s%s_sizes *n", s->reads_sizes ? "" : "const ", s->name);
}

/* Whether a size is d itself, or a n + b with whole a above 0. */
static bool is_linear(kn_dim size, kn_dim symbol, int64_t *a, int64_t *b)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    *a = 1, *b = 0;
    if (size == symbol) return true;
    if (!kni_dim_is_expression(size) || kni_dim_kind_of(size) != KNI_DIM_SUM) return false;
    int n = kni_dim_terms(size, terms);
    *a = 0;
    for (int i = 0; i < n; i++) {
        if (terms[i].n_factors == 0)
            *b = terms[i].coefficient;
        else if (terms[i].n_factors == 1 && terms[i].factors[0] == symbol && !*a)
            *a = terms[i].coefficient;
        else
            return false;
    }
    return *a > 0;
}

/* "n.batch = kn_size(x, 0);" for each size, from the first input that tells it. */
static kn_status print_sizes_found(kni_source *s, kni_buffer *out)
{
    const kni_program *p = s->p;
    uint32_t at = 0;
    kn_dim d;
    while ((d = kni_dim_symbol_next(&at)) != KNI_DIM_BAD) {
        int64_t a = 0, b = 0;
        int32_t input = -1, axis = 0;
        if (kni_program_reads_size(p, d)) continue;
        for (int pass = 0; pass < 2 && input < 0; pass++)
            for (int32_t i = 0; i < p->n_inputs && input < 0; i++) {
                const kni_type *t = p->inputs[i] < 0 ? NULL : &p->values[p->inputs[i]].type;
                for (axis = 0; t && axis < t->rank; axis++)
                    if (is_linear(t->dims[axis], d, &a, &b) && (pass || (a == 1 && b == 0))) break;
                if (t && axis < t->rank) input = p->inputs[i];
                if (input >= 0) break;
            }
        if (input < 0)
            return kni_fail(KN_ERROR_UNSUPPORTED,
                            "kn_program_to_source: no input tells the size '%s' by itself", kni_dim_name(d));
        kni_buffer_text(out, "    sizes.");
        kni_source_symbol(out, d);
        if (a == 1 && b == 0)
            kni_buffer_format(out, " = kn_size(%s, %d);\n", s->values[input].name, (int)axis);
        else
            kni_buffer_format(out, " = (kn_size(%s, %d) - (%lld)) / %lld;\n", s->values[input].name,
                              (int)axis, (long long)b, (long long)a);
    }
    return KN_OK;
}

/* ---- functions */

/* Counts reads as if nothing had been printed yet. */
static void begin_counting(kni_source *s)
{
    for (int32_t v = 0; v < s->p->n_values; v++) s->values[v].reads = 0;
}

/* Operands that the function reads more than once and that are its arguments. */
static void keep_arguments(kni_source *s, const int32_t *in, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const char *name = s->values[in[i]].name;
        if (s->values[in[i]].reads < 2) continue;
        kni_source_line(s);
        kni_buffer_format(&s->body, "%s = kn_keep(%s);\n", name, name);
    }
}

/* The results, in a form that the end of a scope hands out: nothing that somebody else holds, and nothing twice. */
static void print_handed_out(kni_source *s, const int32_t *results, int32_t n, int32_t i)
{
    int32_t v = results[i];
    bool twice = false;
    for (int32_t k = 0; k < i; k++) twice |= results[k] == v;
    bool own = v >= 0 && s->values[v].place != KNI_SOURCE_FIELD && s->p->values[v].origin != KNI_FROM_INPUT;
    (void)n;
    if (twice || !own) kni_buffer_text(&s->body, "kn_alias(");
    kni_source_operand(s, &s->body, v);
    if (twice || !own) kni_buffer_text(&s->body, ")");
}

static void print_return(kni_source *s, const int32_t *results, int32_t n, const char *into)
{
    kni_source_line(s);
    if (!into) {
        kni_buffer_text(&s->body, "return kn_scope_end(scope, ");
        print_handed_out(s, results, n, 0);
        kni_buffer_text(&s->body, ");\n");
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        kni_buffer_format(&s->body, "%s[%d] = ", into, (int)i);
        print_handed_out(s, results, n, i);
        kni_buffer_text(&s->body, ";\n");
        kni_source_line(s);
    }
    kni_buffer_format(&s->body, "kn_scope_end_many(scope, %s, %d);\n", into, (int)n);
}

static void print_arguments(kni_source *s, kni_buffer *out, const int32_t *in, int32_t n)
{
    for (int32_t i = 0; i < n; i++) kni_buffer_format(out, ", kn_tensor %s", s->values[in[i]].name);
}

/* Whether the function that is printed reads the argument, or hands it on. */
static bool uses(const kni_source *s, const char *name)
{
    char member[24], given[24];
    snprintf(member, sizeof member, "%s->", name);
    snprintf(given, sizeof given, "(%s,", name);
    const char *text = kni_buffer_string(&s->body);
    if (strstr(text, member) || strstr(text, given)) return true;
    given[0] = ' ';
    if (strstr(text, given)) return true;
    snprintf(given, sizeof given, " %s)", name);
    if (strstr(text, given)) return true;
    given[0] = '(';
    return strstr(text, given) != NULL;
}

/* Arguments that a function does not need are named all the same. */
static void print_unused(kni_source *s, kni_buffer *out, const int32_t *in, int32_t n_in)
{
    for (int32_t i = 0; i < n_in; i++)
        if (in[i] >= 0 && s->values[in[i]].reads == 0)
            kni_buffer_format(out, "    (void)%s;\n", s->values[in[i]].name);
    if (!uses(s, "m")) kni_buffer_text(out, "    (void)m;\n");
    if (s->n_sizes && !uses(s, "n")) kni_buffer_text(out, "    (void)n;\n");
}

static bool gives_one(const kni_source_unit *u) { return u->n_out == 1; }

/* The value of the second block that the first one gives it: what the loop carries; and what stands for it in the first block. */
static int32_t carried_into(const kni_source_unit *first, const kni_source_unit *second)
{
    for (int32_t i = 0; i < first->n_in && i < second->n_in; i++)
        if (first->in[i] != second->in[i]) return first->in[i];
    return -1;
}

/* "x", where nothing else is called that. */
static const char *carried_name(const kni_source *s)
{
    for (int32_t v = 0; v < s->p->n_values; v++)
        if (s->values[v].name && !strcmp(s->values[v].name, "x")) return "carried";
    return "x";
}

static void print_unit(kni_source *s, const kni_source_unit *u)
{
    const char *block = u->block >= 0 ? s->groups[u->block].name : NULL;
    bool own = block && s->groups[u->block].n_members; /* weights */
    /* What goes from block to block has a name of its own in each place. */
    int32_t carried = block ? carried_into(u, u + 1) : -1;
    const char *outside = carried >= 0 ? s->values[carried].name : NULL;
    if (carried >= 0) s->values[carried].name = carried_name(s);
    begin_counting(s);
    kni_source_count(s, 0, u->first, u->last);
    for (int32_t i = 0; i < u->n_out; i++) s->values[u->out[i]].reads++;
    kni_buffer_clear(&s->body);
    s->indent = 1;
    keep_arguments(s, u->in, u->n_in);
    s->block = own ? u->block : -1;
    kni_source_nodes(s, 0, u->first, u->last);
    print_return(s, u->out, u->n_out, gives_one(u) ? NULL : "out");
    s->block = -1;
    kni_buffer_format(&s->code, "static %s %s(", gives_one(u) ? "kn_tensor" : "void",
                      block ? block : u->name);
    if (block) s->groups[u->block].shares = own && uses(s, "shared");
    if (block && s->groups[u->block].shares) kni_buffer_format(&s->code, "const %s *shared, ", s->name);
    kni_buffer_format(&s->code, "const %s%s%s *m", s->name, own ? "_" : "", own ? block : "");
    print_size_argument(s, &s->code);
    print_arguments(s, &s->code, u->in, u->n_in);
    kni_buffer_text(&s->code, gives_one(u) ? ")\n{\n" : ", kn_tensor *out)\n{\n");
    print_unused(s, &s->code, u->in, u->n_in);
    kni_buffer_text(&s->code, "    kn_scope scope = kn_scope_begin();\n");
    kni_buffer_append(&s->code, s->body.data, s->body.length);
    kni_buffer_text(&s->code, "}\n\n");
    if (carried >= 0) s->values[carried].name = outside;
}

/* A function of the program, which other functions may call. */
static void print_function(kni_source *s, int32_t region)
{
    const kni_program_region *r = &s->p->regions[region];
    begin_counting(s);
    kni_source_count(s, region, 0, r->n_nodes);
    for (int32_t i = 0; i < r->n_results; i++)
        if (r->results[i] >= 0) s->values[r->results[i]].reads++;
    kni_buffer_clear(&s->body);
    s->indent = 1;
    keep_arguments(s, r->arguments, r->n_arguments);
    kni_source_nodes(s, region, 0, r->n_nodes);
    print_return(s, r->results, r->n_results, "out");
    kni_buffer_text(&s->code, "/* ");
    kni_source_comment(&s->code, kni_name_at(s->p, r->name));
    kni_buffer_format(&s->code, " */\nstatic void function_%d(const %s *m", (int)region, s->name);
    print_size_argument(s, &s->code);
    print_arguments(s, &s->code, r->arguments, r->n_arguments);
    kni_buffer_text(&s->code, ", kn_tensor *out)\n{\n");
    print_unused(s, &s->code, r->arguments, r->n_arguments);
    kni_buffer_text(&s->code, "    kn_scope scope = kn_scope_begin();\n");
    kni_buffer_append(&s->code, s->body.data, s->body.length);
    kni_buffer_text(&s->code, "}\n\n");
}

/* ---- the function that runs it all */

/* How often units and outputs read each value. */
static void count_units(kni_source *s)
{
    const kni_program_region *r = &s->p->regions[0];
    begin_counting(s);
    for (int32_t i = 0; i < s->n_units; i++)
        for (int32_t k = 0; k < s->units[i].n_in; k++) {
            /* What all blocks of a loop read is read more than once. */
            s->values[s->units[i].in[k]].reads += s->units[i].block >= 0 ? 2 : 1;
        }
    for (int32_t i = 0; i < r->n_results; i++)
        if (r->results[i] >= 0) s->values[r->results[i]].reads++;
}

static void print_call_of(kni_source *s, const kni_source_unit *u, const char *model,
                          const char *carried_from, const char *carried)
{
    kni_buffer *out = &s->body;
    kni_buffer_format(out, "%s(%s", u->block >= 0 ? s->groups[u->block].name : u->name, model);
    kni_source_sizes_given(s, out);
    for (int32_t i = 0; i < u->n_in; i++) {
        const char *name = s->values[u->in[i]].name;
        kni_buffer_format(out, ", %s", carried_from && !strcmp(name, carried_from) ? carried : name);
    }
}

static void print_one_unit(kni_source *s, const kni_source_unit *u)
{
    if (gives_one(u)) {
        kni_source_line(s);
        kni_source_begin_value(s, u->out[0]);
        print_call_of(s, u, "m", NULL, NULL);
        kni_buffer_text(&s->body, ")");
        kni_source_end_value(s, u->out[0]);
        return;
    }
    kni_source_line(s);
    kni_buffer_format(&s->body, "kn_tensor %s_results[%d];\n", u->name, (int)(u->n_out ? u->n_out : 1));
    kni_source_line(s);
    print_call_of(s, u, "m", NULL, NULL);
    kni_buffer_format(&s->body, ", %s_results);\n", u->name);
    for (int32_t i = 0; i < u->n_out; i++) {
        kni_source_line(s);
        kni_source_begin_value(s, u->out[i]);
        kni_buffer_format(&s->body, "%s_results[%d]", u->name, (int)i);
        kni_source_end_value(s, u->out[i]);
    }
}

static void print_blocks(kni_source *s, const kni_source_group *g)
{
    const kni_source_unit *first = &s->units[g->first_unit], *last = first + g->count - 1;
    int32_t carried = carried_into(first, first + 1);
    const char *from = s->values[carried].name, *to = s->values[last->out[0]].name;
    char model[160];
    snprintf(model, sizeof model, !g->n_members ? "m" : g->shares ? "m, &m->%s[i]" : "&m->%s[i]", g->name);
    kni_source_line(s);
    kni_buffer_format(&s->body, "kn_tensor %s = kn_alias(%s);\n", to, from);
    kni_source_line(s);
    kni_buffer_format(&s->body, "for (int i = 0; i < %d; i++) %s = ", (int)g->count, to);
    print_call_of(s, first, model, from, to);
    kni_buffer_text(&s->body, ");\n");
    if (s->values[last->out[0]].reads > 1) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "%s = kn_keep(%s);\n", to, to);
    }
}

static void print_units_called(kni_source *s)
{
    for (int32_t i = 0; i < s->n_units; i++) {
        const kni_source_unit *u = &s->units[i];
        if (u->block < 0) {
            print_one_unit(s, u);
            continue;
        }
        print_blocks(s, &s->groups[u->block]);
        i += s->groups[u->block].count - 1;
    }
}

static void print_forward_head(kni_source *s, kni_buffer *out)
{
    const kni_program *p = s->p;
    int32_t n = p->regions[0].n_results;
    if (n == 1)
        kni_buffer_format(out, "kn_tensor %s_forward(const %s *m", s->name, s->name);
    else
        kni_buffer_format(out, "kn_status %s_forward(const %s *m", s->name, s->name);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        bool used = p->inputs[i] >= 0 && p->values[p->inputs[i]].number == i;
        if (used)
            kni_buffer_format(out, ", kn_tensor %s", s->values[p->inputs[i]].name);
        else
            kni_buffer_format(out, ", kn_tensor unused_%d", (int)i);
    }
    kni_buffer_text(out, n == 1 ? ")" : ", kn_tensor *out)");
}

static kn_status print_forward(kni_source *s)
{
    const kni_program *p = s->p;
    const kni_program_region *r = &p->regions[0];
    bool whole = s->n_units == 1 && s->units[0].block < 0;
    kni_buffer_clear(&s->body);
    s->indent = 1;
    begin_counting(s);
    if (whole)
        kni_source_count(s, 0, 0, r->n_nodes);
    else
        count_units(s);
    if (whole)
        for (int32_t i = 0; i < r->n_results; i++)
            if (r->results[i] >= 0) s->values[r->results[i]].reads++;
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (p->inputs[i] >= 0 && p->values[p->inputs[i]].number == i) keep_arguments(s, &p->inputs[i], 1);
    if (whole)
        kni_source_nodes(s, 0, 0, r->n_nodes);
    else
        print_units_called(s);
    print_return(s, r->results, r->n_results, r->n_results == 1 ? NULL : "out");
    print_forward_head(s, &s->code);
    kni_buffer_text(&s->code, "\n{\n");
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (p->inputs[i] < 0 || p->values[p->inputs[i]].number != i)
            kni_buffer_format(&s->code, "    (void)unused_%d;\n", (int)i);
        else if (!s->values[p->inputs[i]].reads)
            kni_buffer_format(&s->code, "    (void)%s;\n", s->values[p->inputs[i]].name);
    kn_status status = KN_OK;
    bool sized = s->n_sizes && uses(s, "n");
    if (sized) {
        kni_buffer_format(&s->code, "    %s_sizes sizes%s;\n", s->name, s->reads_sizes ? " = {0}" : "");
        status = print_sizes_found(s, &s->code);
        kni_buffer_format(&s->code, "    %s%s_sizes *n = &sizes;\n", s->reads_sizes ? "" : "const ", s->name);
    }
    if (!uses(s, "m")) kni_buffer_text(&s->code, "    (void)m;\n");
    kni_buffer_text(&s->code, "    kn_scope scope = kn_scope_begin();\n");
    kni_buffer_append(&s->code, s->body.data, s->body.length);
    if (r->n_results != 1) {
        kni_buffer_format(
            &s->code,
            "    for (int i = 0; i < %d; i++)\n        if (!kn_ok(out[i])) return kn_error_code(out[i]);\n",
            (int)r->n_results);
        kni_buffer_text(&s->code, "    return KN_OK;\n");
    }
    kni_buffer_text(&s->code, "}\n");
    return status;
}

/* ---- helpers of the printed file */

static const char *const helper_texts[KNI_SOURCE_HELPERS] = {
    [KNI_SOURCE_DIVIDED] = "/* a / b, rounded down; b is above 0. */\n"
                           "static int64_t divided(int64_t a, int64_t b) { return a / b - (a % b < 0); }\n\n",
    [KNI_SOURCE_LARGER] = "static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }\n\n",
    [KNI_SOURCE_SMALLER] = "static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }\n\n",
    [KNI_SOURCE_CALL] = "/* An op that has no function of its own. */\n"
                        "static kn_tensor call(const char *op, const kn_tensor *in, int32_t n, const "
                        "kn_attribute_value *attributes)\n"
                        "{\n"
                        "    kn_tensor y = KN_NONE;\n"
                        "    kn_call(op, in, n, attributes, &y, 1);\n"
                        "    return y;\n"
                        "}\n\n",
    [KNI_SOURCE_TRUTH] = "static bool truth(kn_tensor condition)\n"
                         "{\n"
                         "    bool is = kn_item_int(condition) != 0;\n"
                         "    kn_drop(condition);\n"
                         "    return is;\n"
                         "}\n\n",
    [KNI_SOURCE_READ] = "/* A size that was computed; takes the tensor. */\n"
                        "static int64_t size_in(kn_tensor t)\n"
                        "{\n"
                        "    int64_t size = kn_item_int(t);\n"
                        "    kn_drop(t);\n"
                        "    return size;\n"
                        "}\n\n",
    [KNI_SOURCE_GROWN] =
        "/* A list of n tensors with room for another; NULL without memory, and the list is gone. */\n"
        "static kn_tensor *grown(kn_tensor *list, int64_t n)\n"
        "{\n"
        "    if (n > 0 && (!list || (n & (n - 1)) != 0)) return list;\n"
        "    kn_tensor *more = realloc(list, (size_t)(n ? 2 * n : 1) * sizeof *list);\n"
        "    for (int64_t i = 0; list && !more && i < n; i++) kn_drop(list[i]);\n"
        "    if (!more) free(list);\n"
        "    return more;\n"
        "}\n\n",
    [KNI_SOURCE_STACKED] =
        "/* What the trips of a loop gave as one tensor; takes the list. */\n"
        "static kn_tensor stacked(kn_tensor *list, int64_t n, kn_shape shape, kn_dtype dtype)\n"
        "{\n"
        "    kn_tensor y = n == 0  ? kn_zeros(shape, dtype)\n"
        "                  : !list ? kn_poison(KN_ERROR_MEMORY, \"no memory for the results of a loop\")\n"
        "                          : kn_stack(list, (int32_t)n, 0);\n"
        "    for (int64_t i = 0; list && i < n; i++) kn_drop(list[i]);\n"
        "    free(list);\n"
        "    return y;\n"
        "}\n\n",
};

/* ---- the header */

static void print_ports(kni_source *s, kni_buffer *out)
{
    const kni_program *p = s->p;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        if (p->inputs[i] < 0) continue;
        kni_buffer_format(out, "   %s: ", s->values[p->inputs[i]].name);
        kni_source_type(out, &p->values[p->inputs[i]].type);
        kni_buffer_text(out, "\n");
    }
    for (int32_t i = 0; i < p->regions[0].n_results; i++) {
        int32_t v = p->regions[0].results[i];
        const char *name = kni_name_at(p, p->output_names ? p->output_names[i] : -1);
        kni_buffer_text(out, "   gives ");
        kni_source_comment(out, *name ? name : "its result");
        kni_buffer_text(out, ": ");
        if (v >= 0) kni_source_type(out, &p->values[v].type);
        kni_buffer_text(out, "\n");
    }
}

static void print_header(kni_source *s, kni_buffer *out, bool embed)
{
    char guard[80];
    snprintf(guard, sizeof guard, "%s_H", s->name);
    for (char *c = guard; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    kni_buffer_format(
        out, "/* A model as a module of Kiln: load it, run it, train it on. */\n#ifndef %s\n#define %s\n\n",
        guard, guard);
    kni_buffer_text(
        out, "#include <kn.h>\n#include <kn/nn/module.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    kni_source_print_structs(s, out);
    kni_buffer_format(out, "extern const kn_module_type %s_type;\n\n", s->name);
    kni_buffer_format(
        out,
        "/* Makes the model from a file of weights, or from the bytes of one. Free it with %s_free. */\n"
        "#ifndef KN_FREESTANDING\nkn_status %s_load(%s *m, const char *path);\n#endif\n"
        "kn_status %s_load_memory(%s *m, const void *data, size_t bytes);\n",
        s->name, s->name, s->name, s->name, s->name);
    if (embed)
        kni_buffer_format(out,
                          "/* The same from the weights that are linked into the program. */\nkn_status "
                          "%s_load_embedded(%s *m);\n",
                          s->name, s->name);
    kni_buffer_format(out, "void %s_free(%s *m);\n\n/* Runs it. Takes temporaries.\n", s->name, s->name);
    print_ports(s, out);
    if (s->p->regions[0].n_results != 1)
        kni_buffer_format(out, "   out: room for %d results, in this order.",
                          (int)s->p->regions[0].n_results);
    kni_buffer_text(out, " */\n");
    print_forward_head(s, out);
    kni_buffer_text(out, ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* ---- files */

static kn_status write_text(const char *folder, const char *name, const char *ending, const kni_buffer *text)
{
    char path[4096];
    if (text->failed) return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for the text");
    if (snprintf(path, sizeof path, "%s/%s%s", folder, name, ending) >= (int)sizeof path)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_program_to_source: the path of the folder is too long");
    return kni_file_write(path, text->data, text->length);
}

static kn_status write_weights(const kni_source *s, const char *folder, kn_state state)
{
    kni_buffer path = {0};
    kni_buffer_format(&path, "%s/%s.safetensors", folder, s->name);
    kn_status status = path.failed ? kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for a path")
                                   : kn_state_write(state, kni_buffer_string(&path), KN_STORE_SAFETENSORS);
    kni_buffer_free(&path);
    return status;
}

static kn_status write_embedded(const kni_source *s, const char *folder, const kni_source_bytes *weights)
{
    kni_buffer text = {0};
    kni_source_print_bytes(s, &text, weights);
    kn_status status = write_text(folder, s->name, "_weights.c", &text);
    kni_buffer_free(&text);
    return status;
}

/* ---- all of it */

static void print_file(kni_source *s, kni_buffer *file, const kni_source_bytes *weights)
{
    kni_buffer_format(file,
                      "/* %s, written from a program by Kiln. */\n#include \"%s.h\"\n#include "
                      "<kn/call.h>\n#ifndef KN_FREESTANDING\n#include <kn/store.h>\n#endif\n",
                      s->name, s->name);
    /* A freestanding program has neither, and most models need neither. */
    const char *code = kni_buffer_string(&s->code);
    if (strstr(code, "INFINITY") || strstr(code, "NAN")) kni_buffer_text(file, "#include <math.h>\n");
    if (s->helpers[KNI_SOURCE_STACKED]) kni_buffer_text(file, "#include <stdlib.h>\n");
    kni_buffer_text(file, "\n");
    kni_source_print_descriptors(s, file);
    kni_source_print_load(s, file, weights);
    if (s->n_sizes) {
        uint32_t at = 0;
        kn_dim d;
        kni_buffer_text(file, "/* Sizes that are known when it runs. */\ntypedef struct ");
        kni_buffer_format(file, "%s_sizes {\n", s->name);
        while ((d = kni_dim_symbol_next(&at)) != KNI_DIM_BAD) {
            kni_buffer_text(file, "    int64_t ");
            kni_source_symbol(file, d);
            kni_buffer_text(file, ";\n");
        }
        kni_buffer_format(file, "} %s_sizes;\n\n", s->name);
    }
    for (int i = 0; i < KNI_SOURCE_HELPERS; i++)
        if (s->helpers[i]) kni_buffer_text(file, helper_texts[i]);
    kni_buffer_append(file, s->code.data, s->code.length);
}

static kn_status print_functions(kni_source *s)
{
    const kni_program *p = s->p;
    /* A function calls those that were complete before it. */
    for (int32_t r = 1; r < p->n_regions; r++)
        if (p->regions[r].parent < 0) print_function(s, r);
    bool whole = s->n_units == 1 && s->units[0].block < 0;
    for (int32_t i = 0; i < s->n_units && !whole; i++) {
        const kni_source_unit *u = &s->units[i];
        if (u->block >= 0 && s->groups[u->block].first_unit != i) continue;
        print_unit(s, u);
    }
    return print_forward(s);
}

static kn_status write_all(kni_source *s, const char *folder, bool embed)
{
    kni_buffer header = {0}, file = {0};
    kni_source_bytes weights = {0};
    kn_state state = NULL;
    kni_program_region *main = s->p->regions;
    int32_t *as_given = main->nodes, *nodes = malloc(((size_t)main->n_nodes + 1) * sizeof *nodes);
    kn_status status = nodes ? kni_source_name_values(s)
                             : kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for an order");
    for (int32_t v = 0; v < s->p->n_values && status == KN_OK; v++)
        s->has_fields |= s->values[v].place == KNI_SOURCE_FIELD;
    if (status == KN_OK) status = kni_source_order(s, nodes);
    if (status == KN_OK) main->nodes = nodes;
    if (status == KN_OK) status = kni_source_cut(s);
    if (status == KN_OK) status = kni_source_name_blocks(s);
    if (status == KN_OK) status = print_functions(s);
    main->nodes = as_given;
    free(nodes);
    if (status == KN_OK) print_header(s, &header, embed);
    if (status == KN_OK && !(state = kni_source_weights(s))) status = s->status;
    if (status == KN_OK && embed) status = kni_source_bytes_make(&weights, state);
    if (status == KN_OK) print_file(s, &file, embed ? &weights : NULL);
    if (status == KN_OK) status = s->status;
    if (status == KN_OK)
        status = s->code.failed || s->body.failed
                     ? kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for the text")
                     : KN_OK;
    if (status == KN_OK) status = kni_folder_make(folder);
    if (status == KN_OK) status = write_text(folder, s->name, ".h", &header);
    if (status == KN_OK) status = write_text(folder, s->name, ".c", &file);
    if (status == KN_OK) status = write_weights(s, folder, state);
    if (status == KN_OK && embed) status = write_embedded(s, folder, &weights);
    kni_source_bytes_free(&weights);
    kn_state_free(state);
    kni_buffer_free(&header);
    kni_buffer_free(&file);
    return status;
}

static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && n <= 48 && !name[n] && !(name[0] >= '0' && name[0] <= '9');
}

kn_status kn_program_to_source(kn_program program, const char *folder, const kn_program_to_source_args *args)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    kni_source s = {.p = p, .name = args && args->name ? args->name : "model", .block = -1};
    if (folder && is_name(s.name) && kni_source_is_reserved(s.name))
        return kni_fail(
            KN_ERROR_ARGUMENT,
            "kn_program_to_source: '%s' is a word of C or of the printed functions: give another name",
            s.name);
    if (!folder || !is_name(s.name))
        return kni_fail(KN_ERROR_ARGUMENT,
                        folder ? "kn_program_to_source: '%s' cannot be a name in C of at most 48 letters"
                               : "kn_program_to_source: the folder is NULL%s",
                        folder ? s.name : "");
    size_t bytes = ((size_t)p->n_values + 1) * sizeof *s.values;
    s.values = kni_allocate(bytes);
    if (!s.values)
        return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for %d values", (int)p->n_values);
    memset(s.values, 0, bytes);
    kni_dims *before = kni_dims_enter(p->dims);
    s.n_sizes = kni_dim_symbol_count();
    s.reads_sizes = kni_program_reads_sizes(p);
    kn_status status = write_all(&s, folder, args && args->embed);
    kni_dims_enter(before);
    kni_source_free_names(&s);
    kni_source_free_units(&s);
    kni_buffer_free(&s.code);
    kni_buffer_free(&s.body);
    kni_free(s.values, bytes);
    return status;
}
