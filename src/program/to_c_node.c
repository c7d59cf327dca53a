/* Regions and nodes of a program as C: views, joins, If, loops and calls. Kernels are in to_c_body.c and to_c_kernel.c. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/objects.h"
#include "core/text.h"
#include "ops/body.h"
#include "program/to_c.h"
#include <string.h>

void kni_c_line(kni_c *c)
{
    for (int32_t i = 0; i < c->indent; i++) kni_ir_text_add(&c->code, "    ");
}

static void print_bytes(kni_ir_text *t, const kni_type *type)
{
    kni_c_dim(t, kni_c_product(type, 0, type->rank));
    if (kni_bytes_of(type->dtype) > 1) kni_ir_text_add(t, " * %d", kni_bytes_of(type->dtype));
}

void kni_c_print_move(kni_c *c, const char *to, const char *from, const kni_type *t)
{
    kni_c_line(c);
    kni_ir_text_add(&c->code, "kiln_move(%s, %s, ", to, from);
    print_bytes(&c->code, t);
    kni_ir_text_add(&c->code, ");\n");
}

/* ---- views: the same memory where the elements stay in order, else a copy */

typedef struct viewing {
    kni_c_bound bound; /* first: kni_c_fit fills it in */
    bool in_order;     /* at all points so far */
} viewing;

/* Strides, then the offset. */
static kn_status view_at(void *context, int64_t *numbers, int32_t *n)
{
    viewing *w = context;
    const kni_program_node *node = w->bound.node;
    const kni_type *x = w->bound.in[0], *y = w->bound.out[0];
    int64_t strides[KN_MAX_RANK] = {0}, own[KN_MAX_RANK] = {0};
    kni_contiguous_strides(x->rank, x->dims, own);
    kni_view v = {
        .attributes = w->bound.attributes, .in = x, .out = y, .in_strides = own, .strides = strides};
    if (!node->row->view(&v))
        return kni_fail_op(KN_ERROR_UNSUPPORTED, node->row->name, "its elements cannot be copied by strides");
    for (int a = 0; a < y->rank; a++) numbers[(*n)++] = strides[a];
    numbers[(*n)++] = v.offset;
    if (kni_count(y) == 0)
        *n = -1;
    else if (!kni_is_contiguous(y->rank, y->dims, strides))
        w->in_order = false;
    return KN_OK;
}

static kn_status print_gather(kni_c *c, const kni_program_node *n, const kni_c_formula *f)
{
    int32_t x = kni_node_in(c->p, n)[0], y = kni_node_out(c->p, n)[0];
    const kni_type *t = &c->p->values[y].type;
    int bytes = kni_bytes_of(t->dtype);
    kn_status s = kni_c_make(c, y);
    if (s) return s;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "{ /* %s */\n", n->row->name);
    c->indent++;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "const int64_t n[] = {");
    for (int a = 0; a < t->rank; a++) {
        kni_c_dim(&c->code, t->dims[a]);
        kni_ir_text_add(&c->code, ", ");
    }
    kni_ir_text_add(&c->code, "0}, steps[] = {");
    for (int a = 0; a < t->rank; a++) {
        kni_c_formula_text(&c->code, &f[a]);
        kni_ir_text_add(&c->code, ", ");
    }
    kni_ir_text_add(&c->code, "0};\n");
    kni_c_line(c);
    kni_ir_text_add(&c->code, "kiln_gather(%s, ", kni_c_address(c, y));
    kni_ir_text_add(&c->code, "%s + (", kni_c_address(c, x));
    kni_c_formula_text(&c->code, &f[t->rank]);
    kni_ir_text_add(&c->code, ") * %d, %d, %d, n, steps);\n", bytes, bytes, (int)t->rank);
    c->indent--;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "}\n");
    return KN_OK;
}

static kn_status print_view(kni_c *c, const kni_program_node *n)
{
    kni_c_formula f[KNI_C_NUMBERS];
    int32_t count, x = kni_node_in(c->p, n)[0], y = kni_node_out(c->p, n)[0];
    viewing *w = kni_allocate(sizeof *w);
    if (!w) return kni_c_no_memory();
    memset(w, 0, sizeof *w);
    w->in_order = true;
    kn_status s = kni_c_fit(c, n, view_at, w, f, &count);
    bool in_order = w->in_order;
    kni_free(w, sizeof *w);
    if (s) return s;
    if (count < 0) return kni_c_make(c, y);
    if (!in_order) return print_gather(c, n, f);
    kni_c_formula offset = f[c->p->values[y].type.rank];
    if (offset.n == 1 && !offset.pieces[0].a && !offset.pieces[0].b) return kni_c_alias(c, y, x, NULL);
    kni_ir_text t = {0};
    kni_ir_text_add(&t, "(");
    kni_c_formula_text(&t, &offset);
    kni_ir_text_add(&t, ") * %d", kni_bytes_of(c->p->values[y].type.dtype));
    s = t.failed ? kni_c_no_memory() : kni_c_alias(c, y, x, t.data);
    kni_ir_text_free(&t);
    return s;
}

/* ---- joins: rows that put any number of operands behind each other along an axis */

static bool is_join(const kn_op *row)
{
    return row->max_in < 0 && row->kind == KNI_MOVEMENT && row->flags & KNI_FLAG_MOVES && row->schema &&
           !strcmp(row->schema[0].name, "axis");
}

static kn_status print_join(kni_c *c, const kni_program_node *n)
{
    const kni_program *p = c->p;
    int32_t y = kni_node_out(p, n)[0];
    const kni_type *t = &p->values[y].type;
    _Alignas(8) char attributes[KNI_C_ATTRIBUTES];
    int64_t axis;
    kn_status s = kni_c_check_node(c, n);
    if (s == KN_OK) s = kni_c_attributes(c, n, attributes);
    if (s == KN_OK) s = kni_c_make(c, y);
    if (s) return s;
    memcpy(&axis, attributes + n->row->schema[0].offset, sizeof axis);
    kn_dim before = 0, inner = kni_c_product(t, (int)axis + 1, t->rank),
           outer = kni_c_product(t, 0, (int)axis);
    int bytes = kni_bytes_of(t->dtype);
    for (int32_t i = 0; i < n->n_in; i++) {
        int32_t x = kni_node_in(p, n)[i];
        const kni_type *own = &p->values[x].type;
        if (own->dtype != t->dtype)
            return kni_fail_op(KN_ERROR_UNSUPPORTED, n->row->name,
                               "operands of several dtypes: cast them first");
        kni_c_line(c);
        kni_ir_text_add(&c->code, "kiln_rows(%s + ", kni_c_address(c, y));
        kni_c_dim(&c->code, kni_dim_mul(before, inner));
        kni_ir_text_add(&c->code, " * %d, ", bytes);
        kni_c_dim(&c->code, kni_dim_mul(t->dims[axis], inner));
        kni_ir_text_add(&c->code, " * %d, %s, ", bytes, kni_c_address(c, x));
        kni_c_dim(&c->code, kni_dim_mul(own->dims[axis], inner));
        kni_ir_text_add(&c->code, " * %d, ", bytes);
        kni_c_dim(&c->code, outer);
        kni_ir_text_add(&c->code, ");\n");
        before = kni_dim_add(before, own->dims[axis]);
    }
    return KN_OK;
}

/* ---- ops */

static kn_status check_dtypes(const kni_c *c, const kni_program_node *n)
{
    const int32_t *all = kni_node_out(c->p, n);
    for (int32_t i = 0; i < n->n_in + n->n_out; i++)
        if (all[i] >= 0 && !kni_dtype_usable(c->p->values[all[i]].type.dtype))
            return kni_fail_op(KN_ERROR_UNSUPPORTED, n->row->name, "%T has no form in C: cast it before",
                               (int)c->p->values[all[i]].type.dtype);
    return KN_OK;
}

static kn_status print_op(kni_c *c, const kni_program_node *n)
{
    const kn_op *row = n->row;
    if (kni_c_is_small_cast(c, n)) return kni_c_print_small_cast(c, n);
    kn_status s = row->view || is_join(row) ? KN_OK : check_dtypes(c, n);
    if (s) return s;
    if (row->flags & KNI_FLAG_RANDOM)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name,
                           "it has no freestanding form: it draws random numbers");
    if (row->host || row->source)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name, "it has no freestanding form: it is a custom op");
    if (row->view) return print_view(c, n);
    if (row->body) return kni_c_print_body(c, n);
    if (row->launch) return kni_c_print_kernel(c, n);
    if (is_join(row)) return print_join(c, n);
    return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name,
                       "it has no freestanding form: it is computed by other ops, which the program can be "
                       "built of");
}

/* ---- control */

static kn_status print_branch(kni_c *c, const kni_program_node *n, int32_t region)
{
    const kni_program_region *r = &c->p->regions[region];
    c->indent++;
    kn_status s = kni_c_print_region(c, region);
    for (int32_t i = 0; i < n->n_out && s == KN_OK; i++) {
        int32_t y = kni_node_out(c->p, n)[i];
        kni_c_print_move(c, kni_c_address(c, y), kni_c_address(c, r->results[i]), &c->p->values[y].type);
    }
    c->indent--;
    return s;
}

static kn_status print_if(kni_c *c, const kni_program_node *n)
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n->n_out && s == KN_OK; i++) s = kni_c_make(c, kni_node_out(c->p, n)[i]);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "if (*(%s)) {\n", kni_c_address(c, kni_node_in(c->p, n)[0]));
    if (s == KN_OK) s = print_branch(c, n, n->regions[0]);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "} else {\n");
    if (s == KN_OK) s = print_branch(c, n, n->regions[1]);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "}\n");
    return s;
}

/* The function's arguments lie in memory of its own. */
static kn_status print_call(kni_c *c, const kni_program_node *n)
{
    const kni_program_region *f = &c->p->regions[n->regions[0]];
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n->n_in; i++)
        kni_c_print_move(c, c->places[f->arguments[i]].address, kni_c_address(c, kni_node_in(c->p, n)[i]),
                         &c->p->values[f->arguments[i]].type);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "if ((status = kiln_call_%d()) != 0) return status;\n", n->regions[0]);
    for (int32_t i = 0; i < n->n_out && s == KN_OK; i++) {
        int32_t y = kni_node_out(c->p, n)[i];
        s = kni_c_make(c, y);
        if (s == KN_OK)
            kni_c_print_move(c, kni_c_address(c, y), c->places[f->results[i]].address, &c->p->values[y].type);
    }
    return s;
}

typedef struct looping {
    kni_c *c;
    const kni_program_node *n;
    const kni_loop *l;
    const kni_program_region *body;
    const int32_t *in, *out;
    int32_t number; /* of the loop: its variables are t<number> ... */
    int32_t next
        [KNI_PROGRAM_VALUES]; /* blocks that carried values wait in until all are read; -1: none is needed */
} looping;

static kn_status begin_values(looping *w)
{
    kni_c *c = w->c;
    kn_status s = kni_c_make(c, w->body->arguments[0]);
    for (int32_t i = 0; i < w->l->n_carried && s == KN_OK; i++) {
        int32_t x = w->body->arguments[1 + i];
        int64_t count;
        s = kni_c_make(c, x);
        if (s) return s;
        kni_c_print_move(c, kni_c_address(c, x), kni_c_address(c, w->in[w->l->conditional + i]),
                         &c->p->values[x].type);
        s = kni_c_limit(c, &c->p->values[x].type, x, &count);
        w->next[i] = s ? -1 : kni_c_take(c, count * kni_bytes_of(c->p->values[x].type.dtype));
        if (w->next[i] < 0) return s ? s : KN_ERROR_MEMORY;
    }
    for (int32_t i = 0; i < w->l->n_stacked && s == KN_OK; i++)
        s = kni_c_make(c, w->out[w->l->n_carried + i]);
    return s;
}

/* Slices lie in what they are cut from. */
static kn_status cut_slices(looping *w)
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < w->l->n_sliced && s == KN_OK; i++) {
        int32_t x = w->body->arguments[1 + w->l->n_carried + i];
        kni_ir_text t = {0};
        kni_ir_text_add(&t, "t%d * (", w->number);
        print_bytes(&t, &w->c->p->values[x].type);
        kni_ir_text_add(&t, ")");
        s = t.failed ? kni_c_no_memory()
                     : kni_c_alias(w->c, x, w->in[w->l->conditional + w->l->n_carried + i], t.data);
        kni_ir_text_free(&t);
    }
    return s;
}

/* What a trip leaves: rows of stacks, whether there is another trip, and the carried values, which may be each other's. */
static void end_trip(looping *w)
{
    kni_c *c = w->c;
    const kni_loop *l = w->l;
    const int32_t *results = w->body->results;
    for (int32_t i = 0; i < l->n_stacked; i++) {
        int32_t x = results[l->conditional + l->n_carried + i];
        kni_ir_text row = {0};
        kni_ir_text_add(&row, "%s + t%d * (", kni_c_address(c, w->out[l->n_carried + i]), w->number);
        print_bytes(&row, &c->p->values[x].type);
        kni_ir_text_add(&row, ")");
        if (row.failed) c->code.failed = true;
        kni_c_print_move(c, row.data ? row.data : "0", kni_c_address(c, x), &c->p->values[x].type);
        kni_ir_text_free(&row);
    }
    if (l->conditional) {
        kni_c_line(c);
        kni_ir_text_add(&c->code, "go%d = *(%s);\n", w->number, kni_c_address(c, results[0]));
    }
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < l->n_carried; i++) {
            char next[24];
            kni_text text = {next, sizeof next, 0};
            int32_t x = w->body->arguments[1 + i];
            kni_text_format(&text, "M%d", w->next[i]);
            kni_c_touch(c, w->next[i]);
            kni_c_print_move(c, pass ? kni_c_address(c, x) : next,
                             pass ? next : kni_c_address(c, results[l->conditional + i]),
                             &c->p->values[x].type);
        }
}

/* What is cut must have a slice for each trip: sizes that only may be equal are compared. */
static void check_slices(looping *w)
{
    kni_c *c = w->c;
    for (int32_t i = 0; i < w->l->n_sliced; i++) {
        kn_dim slices = c->p->values[w->in[w->l->conditional + w->l->n_carried + i]].type.dims[0];
        if (kni_dim_equal(slices, w->l->trips) == KNI_YES) continue;
        kni_c_line(c);
        kni_ir_text_add(&c->code, "if ((");
        kni_c_dim(&c->code, slices);
        kni_ir_text_add(&c->code, ") != n%d) return %s_BAD_SIZE;\n", w->number, c->name);
    }
}

static void print_head(looping *w)
{
    kni_c *c = w->c;
    const kni_loop *l = w->l;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "const int64_t n%d = ", w->number);
    kni_c_dim(&c->code, l->trips != KNI_DIM_BAD ? l->trips : l->max_trips);
    kni_ir_text_add(&c->code, ";\n");
    kni_c_line(c);
    kni_ir_text_add(&c->code, "int64_t t%d;\n", w->number);
    check_slices(w);
    if (!l->conditional) return;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "int go%d = *(%s);\n", w->number, kni_c_address(c, w->in[0]));
}

static kn_status print_trips(looping *w)
{
    kni_c *c = w->c;
    const kni_loop *l = w->l;
    kn_status s = begin_values(w);
    if (s) return s;
    if (c->n_loops == KNI_C_DEPTH)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, "loop", "loops are nested deeper than %d", (int)KNI_C_DEPTH);
    kni_c_begin_loop(c);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "for (t%d = 0; t%d < n%d", w->number, w->number, w->number);
    if (l->conditional) kni_ir_text_add(&c->code, " && go%d", w->number);
    kni_ir_text_add(&c->code, "; t%d++) {\n", w->number);
    c->indent++;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "*(int64_t *)%s = t%d;\n", kni_c_address(c, w->body->arguments[0]), w->number);
    s = cut_slices(w);
    if (s == KN_OK) s = kni_c_print_region(c, w->n->regions[0]);
    if (s == KN_OK) end_trip(w);
    c->indent--;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "}\n");
    if (l->trips == KNI_DIM_BAD) {
        kni_c_line(c);
        kni_ir_text_add(&c->code, "if (go%d) return %s_BAD_LOOP;\n", w->number, c->name);
    }
    kni_c_end_loop(c);
    return s;
}

static kn_status refuse_stacks(const kni_c *c, const looping *w)
{
    char room[80];
    return kni_fail(
        KN_ERROR_UNSUPPORTED,
        "kn_program_to_c: a condition may end the loop that makes %s, so that its size is known only "
        "when it has run, and memory cannot be planned",
        kni_c_value_name(c, w->out[w->l->n_carried], room, sizeof room));
}

static kn_status print_loop(kni_c *c, const kni_program_node *n)
{
    looping w = {.c = c,
                 .n = n,
                 .l = &n->loop,
                 .body = &c->p->regions[n->regions[0]],
                 .in = kni_node_in(c->p, n),
                 .out = kni_node_out(c->p, n),
                 .number = n->regions[0]};
    if (kni_binds_sizes(c->p, n)) return refuse_stacks(c, &w);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "{ /* loop */\n");
    c->indent++;
    print_head(&w);
    kn_status s = print_trips(&w);
    c->indent--;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "}\n");
    for (int32_t i = 0; i < w.l->n_carried && s == KN_OK; i++)
        s = kni_c_alias(c, w.out[i], w.body->arguments[1 + i], NULL);
    return s;
}

/* What the node makes, by the names that its values have. */
static void print_names(kni_c *c, const kni_program_node *n)
{
    const char *before = " /* ";
    for (int32_t i = 0; i < n->n_out; i++) {
        int32_t name = c->p->values[kni_node_out(c->p, n)[i]].name;
        if (name < 0) continue;
        kni_ir_text_add(&c->code, "%s", before);
        kni_c_print_name(&c->code, kni_name_at(c->p, name));
        before = ", ";
    }
    if (*before == ',') kni_ir_text_add(&c->code, " */");
}

static kn_status refuse_size(const kni_c *c, const kni_program_node *n)
{
    char room[80];
    return kni_fail(
        KN_ERROR_UNSUPPORTED,
        "kn_program_to_c: size '%s' is what %s is when the program runs, so that memory cannot be planned",
        kni_dim_name(n->size), kni_c_value_name(c, kni_node_in(c->p, n)[0], room, sizeof room));
}

/* Many nodes have the same op, so a failure also says which value was to be made. */
static kn_status print_named_op(kni_c *c, const kni_program_node *n)
{
    char text[600], room[100];
    kn_status s = print_op(c, n);
    if (s == KN_OK || s == KN_ERROR_MEMORY) return s;
    kni_text copy = {text, sizeof text, 0};
    kni_text_string(&copy, kni_failure_latest());
    return kni_fail(s, "%s (it makes %s)", text,
                    kni_c_value_name(c, kni_node_out(c->p, n)[0], room, sizeof room));
}

kn_status kni_c_print_region(kni_c *c, int32_t region)
{
    const kni_program_region *r = &c->p->regions[region];
    kn_status s = KN_OK;
    for (int32_t i = 0; i < r->n_nodes && s == KN_OK; i++) {
        const kni_program_node *n = &c->p->nodes[r->nodes[i]];
        c->step++;
        kni_c_line(c);
        kni_ir_text_add(&c->code, "KILN_STEP;");
        print_names(c, n);
        kni_ir_text_add(&c->code, "\n");
        s = n->kind == KNI_NODE_OP     ? print_named_op(c, n)
            : n->kind == KNI_NODE_IF   ? print_if(c, n)
            : n->kind == KNI_NODE_LOOP ? print_loop(c, n)
            : n->kind == KNI_NODE_SIZE ? refuse_size(c, n)
                                       : print_call(c, n);
    }
    c->step++;
    return s;
}
