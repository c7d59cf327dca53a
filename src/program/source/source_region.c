/* Statements: one for each op, If as if, loops as for. A value that is read more than once is kept until its function, or the trip of its
   loop, ends; others are temporaries that the next op takes. */
#include "core/error.h"
#include "program/source/source_parts.h"
#include <kn/tensor.h>

void kni_source_line(kni_source *s) { kni_buffer_format(&s->body, "%*s", (int)(4 * s->indent), ""); }

/* ---- who reads what */

static void count_value(kni_source *s, int32_t value, int32_t weight)
{
    if (value >= 0) s->values[value].reads += weight;
}

static void count_results(kni_source *s, int32_t region)
{
    const kni_program_region *r = &s->p->regions[region];
    for (int32_t i = 0; i < r->n_results; i++) count_value(s, r->results[i], 1);
}

/* Values that a region reads from around it are read twice: it does not take them. */
static void hold_outer(kni_source *s, int32_t value, int32_t region)
{
    if (value >= 0 && s->p->values[value].region != region) s->values[value].reads += 2;
}

static void hold_read_inside(kni_source *s, int32_t region)
{
    const kni_program *p = s->p;
    const kni_program_region *r = &p->regions[region];
    for (int32_t i = 0; i < r->n_nodes; i++) {
        const kni_program_node *n = &p->nodes[r->nodes[i]];
        for (int32_t k = 0; k < n->n_in; k++) hold_outer(s, kni_node_in(p, n)[k], region);
        for (int q = 0; q < 2 && n->kind != KNI_NODE_CALL; q++)
            if (n->regions[q] >= 0) hold_read_inside(s, n->regions[q]);
    }
    for (int32_t i = 0; i < r->n_results; i++) hold_outer(s, r->results[i], region);
}

/* The carried values and the trip's number are variables of the loop. */
static void hold_arguments(kni_source *s, const kni_program_node *n)
{
    const kni_program_region *body = &s->p->regions[n->regions[0]];
    for (int32_t i = 0; i < 1 + n->loop.n_carried; i++)
        if (i || s->values[body->arguments[i]].reads) s->values[body->arguments[i]].reads += 2;
}

void kni_source_count(kni_source *s, int32_t region, int32_t from, int32_t to)
{
    const kni_program *p = s->p;
    for (int32_t i = from; i < to; i++) {
        const kni_program_node *n = &p->nodes[p->regions[region].nodes[i]];
        for (int32_t k = 0; k < n->n_in; k++)
            count_value(s, kni_node_in(p, n)[k], n->kind == KNI_NODE_LOOP ? 2 : 1);
        for (int r = 0; r < 2 && n->kind != KNI_NODE_CALL; r++) {
            if (n->regions[r] < 0) continue;
            kni_source_count(s, n->regions[r], 0, p->regions[n->regions[r]].n_nodes);
            count_results(s, n->regions[r]);
            hold_read_inside(s, n->regions[r]);
        }
        if (n->kind == KNI_NODE_LOOP) hold_arguments(s, n);
    }
}

/* ---- values */

static bool is_kept(const kni_source *s, int32_t value) { return s->values[value].reads > 1; }

void kni_source_begin_value(kni_source *s, int32_t value)
{
    if (s->values[value].reads == 0)
        kni_buffer_text(&s->body, "kn_drop(");
    else
        kni_buffer_format(&s->body, is_kept(s, value) ? "kn_tensor %s = kn_keep(" : "kn_tensor %s = ",
                          s->values[value].name);
}

void kni_source_end_value(kni_source *s, int32_t value)
{
    kni_buffer_text(&s->body, s->values[value].reads == 1 ? ";\n" : ");\n");
}

/* A value handed to a place that takes it: a second handle where others read it too. */
static void print_given(kni_source *s, int32_t value)
{
    bool taken = value >= 0 && s->values[value].place == KNI_SOURCE_LOCAL && !is_kept(s, value);
    bool made = value >= 0 && s->values[value].place == KNI_SOURCE_INLINE;
    if (!taken && !made) kni_buffer_text(&s->body, "kn_alias(");
    kni_source_operand(s, &s->body, value);
    if (!taken && !made) kni_buffer_text(&s->body, ")");
}

/* ---- If */

static void declare(kni_source *s, int32_t value)
{
    kni_source_line(s);
    kni_buffer_format(&s->body, "kn_tensor %s = KN_NONE;\n", s->values[value].name);
}

static void print_branch(kni_source *s, const kni_program_node *n, int32_t region)
{
    const kni_program *p = s->p;
    const kni_program_region *r = &p->regions[region];
    s->indent++;
    kni_source_nodes(s, region, 0, r->n_nodes);
    for (int32_t i = 0; i < r->n_results; i++) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "%s = ", s->values[kni_node_out(p, n)[i]].name);
        print_given(s, r->results[i]);
        kni_buffer_text(&s->body, ";\n");
    }
    s->indent--;
}

static void keep_results(kni_source *s, const kni_program_node *n)
{
    const int32_t *out = kni_node_out(s->p, n);
    for (int32_t i = 0; i < n->n_out; i++) {
        if (!is_kept(s, out[i])) continue;
        kni_source_line(s);
        kni_buffer_format(&s->body, "%s = kn_keep(%s);\n", s->values[out[i]].name, s->values[out[i]].name);
    }
}

/* Sizes that the branches give differently. */
static void print_chosen_sizes(kni_source *s, const kni_program_node *n)
{
    const kni_program *p = s->p;
    for (int32_t i = 0; i < n->n_out; i++) {
        int32_t v = kni_node_out(p, n)[i];
        for (int32_t a = 0; a < p->values[v].type.rank; a++) {
            if (!kni_binds_axis(p, n, i, a)) continue;
            kni_source_line(s);
            kni_source_size(s, &s->body, p->values[v].type.dims[a]);
            kni_buffer_format(&s->body, " = kn_size(%s, %d);\n", s->values[v].name, (int)a);
        }
    }
}

static void print_if(kni_source *s, const kni_program_node *n)
{
    const kni_program *p = s->p;
    for (int32_t i = 0; i < n->n_out; i++) declare(s, kni_node_out(p, n)[i]);
    s->helpers[KNI_SOURCE_TRUTH] = true;
    kni_source_line(s);
    kni_buffer_text(&s->body, "if (truth(");
    print_given(s, kni_node_in(p, n)[0]);
    kni_buffer_text(&s->body, ")) {\n");
    print_branch(s, n, n->regions[0]);
    kni_source_line(s);
    kni_buffer_text(&s->body, "} else {\n");
    print_branch(s, n, n->regions[1]);
    kni_source_line(s);
    kni_buffer_text(&s->body, "}\n");
    keep_results(s, n);
    print_chosen_sizes(s, n);
}

/* ---- loops */

/* The carried values as variables that each trip replaces, and lists for what is stacked. */
static void begin_loop(kni_source *s, const kni_program_node *n, int32_t number)
{
    const kni_program *p = s->p;
    const kni_loop *l = &n->loop;
    const int32_t *in = kni_node_in(p, n) + l->conditional;
    const kni_program_region *body = &p->regions[n->regions[0]];
    for (int32_t i = 0; i < l->n_carried; i++) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "kn_tensor %s = kn_own(", s->values[body->arguments[1 + i]].name);
        print_given(s, in[i]);
        kni_buffer_text(&s->body, ");\n");
    }
    if (l->conditional) {
        kni_source_line(s);
        s->helpers[KNI_SOURCE_TRUTH] = true;
        kni_buffer_format(&s->body, "bool again_%d = truth(", (int)number);
        print_given(s, in[-1]);
        kni_buffer_text(&s->body, ");\n");
    }
    if (l->n_stacked) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "int64_t trips_%d = ", (int)number);
        if (l->conditional)
            kni_buffer_text(&s->body, "0");
        else
            kni_source_size(s, &s->body, l->trips);
        kni_buffer_text(&s->body, ";\n");
    }
    for (int32_t i = 0; i < l->n_stacked; i++) {
        kni_source_line(s);
        if (l->conditional)
            kni_buffer_format(&s->body, "kn_tensor *stack_%d_%d = NULL;\n", (int)number, (int)i);
        else
            kni_buffer_format(&s->body,
                              "kn_tensor *stack_%d_%d = calloc((size_t)trips_%d + 1, sizeof *stack_%d_%d);\n",
                              (int)number, (int)i, (int)number, (int)number, (int)i);
    }
}

static void print_for(kni_source *s, const kni_program_node *n, int32_t number)
{
    const kni_loop *l = &n->loop;
    const kni_program_region *body = &s->p->regions[n->regions[0]];
    kni_source_line(s);
    kni_buffer_format(&s->body, "for (int64_t t_%d = 0; ", (int)number);
    if (l->trips != KNI_DIM_BAD) {
        kni_buffer_format(&s->body, "t_%d < ", (int)number);
        kni_source_size(s, &s->body, l->trips);
    }
    if (l->conditional)
        kni_buffer_format(&s->body, l->trips != KNI_DIM_BAD ? " && again_%d" : "again_%d", (int)number);
    kni_buffer_format(&s->body, "; t_%d++) {\n", (int)number);
    s->indent++;
    kni_source_line(s);
    kni_buffer_format(&s->body, "kn_scope step_%d = kn_scope_begin();\n", (int)number);
    if (s->values[body->arguments[0]].reads > 0) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "kn_tensor %s = kn_keep(kn_scalar_int(t_%d, KN_I64));\n",
                          s->values[body->arguments[0]].name, (int)number);
    }
    const int32_t *sliced = kni_node_in(s->p, n) + l->conditional + l->n_carried;
    for (int32_t i = 0; i < l->n_sliced; i++) {
        int32_t inside = body->arguments[1 + l->n_carried + i];
        if (!s->values[inside].reads) continue;
        kni_source_line(s);
        kni_source_begin_value(s, inside);
        kni_buffer_text(&s->body, "kn_select(");
        kni_source_operand(s, &s->body, sliced[i]);
        kni_buffer_format(&s->body, ", 0, t_%d)", (int)number);
        kni_source_end_value(s, inside);
    }
}

/* A list whose length is not known before the loop has run grows with it. */
static void end_row(kni_source *s, const kni_loop *l, int32_t number, int32_t i)
{
    int k = number, next = l->n_carried + i;
    if (l->conditional) {
        s->helpers[KNI_SOURCE_GROWN] = true;
        kni_source_line(s);
        kni_buffer_format(&s->body, "stack_%d_%d = grown(stack_%d_%d, t_%d);\n", k, (int)i, k, (int)i, k);
    }
    kni_source_line(s);
    kni_buffer_format(&s->body, "if (stack_%d_%d) stack_%d_%d[t_%d] = next_%d[%d];\n", k, (int)i, k, (int)i,
                      k, k, next);
    kni_source_line(s);
    kni_buffer_format(&s->body, "else kn_drop(next_%d[%d]);\n", k, next);
}

/* What the trip gives leaves its scope; the carried values replace those of before. */
static void end_trip(kni_source *s, const kni_program_node *n, int32_t number)
{
    const kni_loop *l = &n->loop;
    const kni_program_region *body = &s->p->regions[n->regions[0]];
    int32_t given = l->n_carried + l->n_stacked, first = l->conditional;
    if (l->conditional) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "again_%d = truth(", (int)number);
        print_given(s, body->results[0]);
        kni_buffer_text(&s->body, ");\n");
    }
    if (given) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "kn_tensor next_%d[] = {", (int)number);
        for (int32_t i = 0; i < given; i++) {
            if (i) kni_buffer_text(&s->body, ", ");
            kni_buffer_text(&s->body, "kn_own(");
            print_given(s, body->results[first + i]);
            kni_buffer_text(&s->body, ")");
        }
        kni_buffer_text(&s->body, "};\n");
    }
    kni_source_line(s);
    kni_buffer_format(&s->body, "kn_scope_end(step_%d, KN_NONE);\n", (int)number);
    for (int32_t i = 0; i < l->n_carried; i++) {
        const char *name = s->values[body->arguments[1 + i]].name;
        kni_source_line(s);
        kni_buffer_format(&s->body, "kn_drop(%s);\n", name);
        kni_source_line(s);
        kni_buffer_format(&s->body, "%s = next_%d[%d];\n", name, (int)number, (int)i);
    }
    for (int32_t i = 0; i < l->n_stacked; i++) end_row(s, l, number, i);
    if (l->conditional && l->n_stacked) {
        kni_source_line(s);
        kni_buffer_format(&s->body, "trips_%d = t_%d + 1;\n", (int)number, (int)number);
    }
    s->indent--;
    kni_source_line(s);
    kni_buffer_text(&s->body, "}\n");
}

static void end_loop(kni_source *s, const kni_program_node *n, int32_t number)
{
    const kni_program *p = s->p;
    const kni_loop *l = &n->loop;
    const kni_program_region *body = &p->regions[n->regions[0]];
    const int32_t *out = kni_node_out(p, n);
    for (int32_t i = 0; i < l->n_carried; i++) {
        const char *name = s->values[body->arguments[1 + i]].name;
        kni_source_line(s);
        kni_source_begin_value(s, out[i]);
        kni_buffer_format(&s->body, "kn_alias(%s)", name);
        kni_source_end_value(s, out[i]);
        kni_source_line(s);
        kni_buffer_format(&s->body, "kn_drop(%s);\n", name);
    }
    if (l->conditional && l->n_stacked) {
        kni_source_line(s);
        kni_source_size(s, &s->body, p->values[out[l->n_carried]].type.dims[0]);
        kni_buffer_format(&s->body, " = trips_%d;\n", (int)number);
    }
    for (int32_t i = 0; i < l->n_stacked; i++) {
        const kni_type *t = &p->values[out[l->n_carried + i]].type;
        kni_source_line(s);
        kni_source_begin_value(s, out[l->n_carried + i]);
        kni_buffer_format(&s->body, "stacked(stack_%d_%d, trips_%d, ", (int)number, (int)i, (int)number);
        kni_source_shape(s, &s->body, t->rank, t->dims);
        kni_buffer_text(&s->body, ", ");
        kni_source_dtype(&s->body, (kn_dtype)t->dtype);
        kni_buffer_text(&s->body, ")");
        kni_source_end_value(s, out[l->n_carried + i]);
        s->helpers[KNI_SOURCE_STACKED] = true;
    }
}

static void print_loop(kni_source *s, const kni_program_node *n)
{
    const kni_program_region *body = &s->p->regions[n->regions[0]];
    int32_t number = s->made++;
    begin_loop(s, n, number);
    print_for(s, n, number);
    kni_source_nodes(s, n->regions[0], 0, body->n_nodes);
    end_trip(s, n, number);
    end_loop(s, n, number);
}

/* ---- calls of functions */

static void print_call(kni_source *s, const kni_program_node *n)
{
    const kni_program *p = s->p;
    const int32_t *in = kni_node_in(p, n), *out = kni_node_out(p, n);
    int32_t number = s->made++;
    kni_source_line(s);
    kni_buffer_format(&s->body, "kn_tensor called_%d[%d];\n", (int)number, (int)(n->n_out ? n->n_out : 1));
    kni_source_line(s);
    kni_buffer_format(&s->body, "function_%d(m", (int)n->regions[0]);
    kni_source_sizes_given(s, &s->body);
    for (int32_t i = 0; i < n->n_in; i++) {
        kni_buffer_text(&s->body, ", ");
        kni_source_operand(s, &s->body, in[i]);
    }
    kni_buffer_format(&s->body, ", called_%d);\n", (int)number);
    for (int32_t i = 0; i < n->n_out; i++) {
        kni_source_line(s);
        kni_source_begin_value(s, out[i]);
        kni_buffer_format(&s->body, "called_%d[%d]", (int)number, (int)i);
        kni_source_end_value(s, out[i]);
    }
}

/* ---- sizes that are values */

static void print_read(kni_source *s, const kni_program_node *n)
{
    s->helpers[KNI_SOURCE_READ] = true;
    kni_source_line(s);
    kni_source_size(s, &s->body, n->size);
    kni_buffer_text(&s->body, " = size_in(");
    print_given(s, kni_node_in(s->p, n)[0]);
    kni_buffer_text(&s->body, ");\n");
}

void kni_source_nodes(kni_source *s, int32_t region, int32_t from, int32_t to)
{
    const kni_program *p = s->p;
    for (int32_t i = from; i < to; i++) {
        const kni_program_node *n = &p->nodes[p->regions[region].nodes[i]];
        if (n->kind == KNI_NODE_OP)
            kni_source_op(s, n);
        else if (n->kind == KNI_NODE_IF)
            print_if(s, n);
        else if (n->kind == KNI_NODE_LOOP)
            print_loop(s, n);
        else if (n->kind == KNI_NODE_SIZE)
            print_read(s, n);
        else
            print_call(s, n);
    }
}
