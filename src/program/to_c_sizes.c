/* Sizes as C, what the entry checks of them, and nodes with numbers for sizes: at all sizes there are, or, where these are too many, at the
   ends of their ranges and at a few thousand others. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "program/to_c.h"
#include <string.h>

enum { ALL_POINTS = 4096, SOME_POINTS = 2048 };

/* ---- text */

static void print_sum(kni_ir_text *t, kn_dim d)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    int n = kni_dim_terms(d, terms);
    kni_ir_text_add(t, "(");
    for (int i = 0; i < n; i++) {
        int64_t k = terms[i].coefficient;
        if (i || k < 0) kni_ir_text_add(t, k < 0 ? (i ? " - " : "-") : " + ");
        uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
        bool one = size == 1 && terms[i].n_factors;
        if (!one) kni_ir_text_add(t, "%lldLL", (long long)size);
        for (int f = 0; f < terms[i].n_factors; f++) {
            if (f || !one) kni_ir_text_add(t, " * ");
            kni_c_dim(t, terms[i].factors[f]);
        }
    }
    kni_ir_text_add(t, ")");
}

void kni_c_dim(kni_ir_text *t, kn_dim d)
{
    static const char *const between[] = {
        [KNI_DIM_QUOTIENT] = "kiln_div(", [KNI_DIM_MAXIMUM] = "kiln_max(", [KNI_DIM_MINIMUM] = "kiln_min("};
    kn_dim a, b;
    if (!kni_dim_is_expression(d)) {
        kni_ir_text_add(t, "%lld", (long long)d);
        return;
    }
    kni_dim_kind kind = kni_dim_kind_of(d);
    if (kind == KNI_DIM_SYMBOL) {
        kni_ir_text_add(t, "size_%s", kni_dim_name(d));
        return;
    }
    if (kind == KNI_DIM_SUM) {
        print_sum(t, d);
        return;
    }
    kni_dim_operands(d, &a, &b);
    kni_ir_text_add(t, "%s", between[kind]);
    kni_c_dim(t, a);
    kni_ir_text_add(t, ", ");
    kni_c_dim(t, b);
    kni_ir_text_add(t, ")");
}

kn_dim kni_c_product(const kni_type *t, int first, int last)
{
    kn_dim d = 1;
    for (int a = first; a < last; a++) d = kni_dim_mul(d, t->dims[a]);
    return d;
}

/* ---- points */

/* The name of an input that has the size. */
static const char *input_with(const kni_program *p, kn_dim d)
{
    kn_dim symbols[KN_MAX_RANK];
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const kni_type *t = p->inputs[i] < 0 ? NULL : &p->values[p->inputs[i]].type;
        int32_t n = 0;
        for (int a = 0; t && a < t->rank; a++) n = kni_dim_symbols(t->dims[a], symbols, n, KN_MAX_RANK);
        for (int32_t k = 0; k < n; k++)
            if (symbols[k] == d) return kni_name_at(p, p->input_names ? p->input_names[i] : -1);
    }
    return "";
}

static kn_status check_symbols(const kni_c *c)
{
    for (int32_t i = 0; i < c->run.n_sizes; i++) {
        kn_dim d = c->run.symbols[i];
        if (!kni_c_is_name(kni_dim_name(d)))
            return kni_fail(KN_ERROR_UNSUPPORTED, "kn_program_to_c: size '%s' cannot be a name in C",
                            kni_dim_name(d));
        if (kni_dim_high(d) < INT64_MAX) continue;
        return kni_fail(
            KN_ERROR_UNSUPPORTED,
            "kn_program_to_c: size '%s' has no upper bound, so that memory cannot be planned: bound it, "
            "a size of input '%s', with kn_builder_size, or with --dim %s=1..512 of 'kiln import'",
            kni_dim_name(d), input_with(c->p, d), kni_dim_name(d));
    }
    return KN_OK;
}

/* How many sizes there are, at most limit + 1. */
static int64_t count_points(const kni_c *c, int64_t limit)
{
    int64_t n = 1;
    for (int32_t i = 0; i < c->run.n_sizes && n <= limit; i++) {
        int64_t range = kni_dim_high(c->run.symbols[i]) - kni_dim_low(c->run.symbols[i]) + 1;
        n = range > limit ? limit + 1 : n * range;
    }
    return n > limit ? limit + 1 : n;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void fill_point(const kni_c *c, int32_t number, int64_t *sizes)
{
    uint64_t state = (uint64_t)number * 0x9e3779b97f4a7c15u + 1;
    int64_t rest = number;
    int32_t corner = number;
    for (int32_t i = 0; i < c->run.n_sizes; i++) {
        int64_t low = kni_dim_low(c->run.symbols[i]), range = kni_dim_high(c->run.symbols[i]) - low + 1;
        if (c->every_point) {
            sizes[i] = low + rest % range;
            rest /= range;
        } else if (number < 64) {
            sizes[i] = low + (corner >> i % 6 & 1 ? range - 1 : 0);
        } else {
            /* Small sizes as often as large ones. */
            int64_t within = number % 2 && range > 16 ? 16 : range;
            sizes[i] = low + (int64_t)(next_random(&state) % (uint64_t)within);
        }
    }
}

static size_t table_bytes(const kni_c *c, int32_t columns)
{
    return (size_t)c->n_points * (size_t)columns * sizeof(int64_t);
}

kn_status kni_c_find_points(kni_c *c)
{
    c->run.p = c->p;
    c->run.n_sizes = kni_program_symbols(c->p, c->run.symbols, KNI_RUN_SIZES);
    kn_status s = check_symbols(c);
    if (s) return s;
    int64_t all = count_points(c, ALL_POINTS);
    c->every_point = all <= ALL_POINTS;
    c->n_points = c->every_point ? (int32_t)all : SOME_POINTS;
    c->points = kni_allocate(table_bytes(c, c->run.n_sizes + 1));
    c->numbers = kni_allocate(table_bytes(c, KNI_C_NUMBERS));
    c->sizes = kni_allocate(table_bytes(c, KNI_C_CANDIDATES));
    if (!c->points || !c->numbers || !c->sizes) return kni_c_no_memory();
    for (int32_t i = 0; i < c->n_points; i++) fill_point(c, i, c->points + i * c->run.n_sizes);
    return KN_OK;
}

void kni_c_free_points(kni_c *c)
{
    kni_free(c->points, c->points ? table_bytes(c, c->run.n_sizes + 1) : 0);
    kni_free(c->numbers, c->numbers ? table_bytes(c, KNI_C_NUMBERS) : 0);
    kni_free(c->sizes, c->sizes ? table_bytes(c, KNI_C_CANDIDATES) : 0);
}

void kni_c_go_to(kni_c *c, int32_t point)
{
    for (int32_t i = 0; i < c->run.n_sizes; i++) c->run.sizes[i] = c->points[point * c->run.n_sizes + i];
}

/* ---- checks of the entry */

typedef struct checks {
    kni_c *c;
    kni_ir_text *t;
    kn_dim done[512], sizes[512]; /* parts, and sizes, that were checked */
    int32_t n, n_sizes;
    kn_status status;
} checks;

static void check_part(checks *k, kn_dim d);

/* A divisor is positive, or there is no quotient. */
static void check_operands(checks *k, kn_dim d, kni_dim_kind kind)
{
    kn_dim a, b;
    kni_dim_operands(d, &a, &b);
    check_part(k, a);
    check_part(k, b);
    if (kind != KNI_DIM_QUOTIENT || kni_dim_low(b) > 0) return;
    kni_ir_text_add(k->t, "    if (");
    kni_c_dim(k->t, b);
    kni_ir_text_add(k->t, " < 1) return %s_BAD_SIZE;\n", k->c->name);
}

static void fail_part(checks *k, kn_dim d, const char *why)
{
    char text[200] = "";
    kni_text t = {text, sizeof text, 0};
    kni_dim_print(&t, d);
    k->status = kni_fail(KN_ERROR_UNSUPPORTED, "kn_program_to_c: size '%s' %s", text, why);
}

/* What a size is made of: it may be negative, but it has to be known and to fit. */
static void check_part(checks *k, kn_dim d)
{
    if (!kni_dim_is_expression(d) || k->status) return;
    for (int32_t i = 0; i < k->n; i++)
        if (k->done[i] == d) return;
    kni_dim_kind kind = kni_dim_kind_of(d);
    if (kind == KNI_DIM_SYMBOL) {
        bool known = false;
        for (int32_t i = 0; i < k->c->run.n_sizes; i++) known |= k->c->run.symbols[i] == d;
        if (!known) fail_part(k, d, "stands in no input's shape");
        return;
    }
    if (kind == KNI_DIM_SUM) {
        kni_dim_term terms[KNI_DIM_TERMS];
        int n = kni_dim_terms(d, terms);
        for (int i = 0; i < n; i++)
            for (int f = 0; f < terms[i].n_factors; f++) check_part(k, terms[i].factors[f]);
    } else {
        check_operands(k, d, kind);
    }
    if (k->n < 512) k->done[k->n++] = d;
    bool fits = kni_dim_low(d) > INT64_MIN && kni_dim_high(d) < INT64_MAX;
    if (!fits && !k->status) fail_part(k, d, "can be too large to be computed within its bounds");
}

/* A size itself is not negative. */
static void check_dim(checks *k, kn_dim d)
{
    if (!kni_dim_is_expression(d) || k->status) return;
    for (int32_t i = 0; i < k->n_sizes; i++)
        if (k->sizes[i] == d) return;
    check_part(k, d);
    if (k->n_sizes < 512) k->sizes[k->n_sizes++] = d;
    if (kni_dim_low(d) >= 0 || k->status) return;
    kni_ir_text_add(k->t, "    if (");
    kni_c_dim(k->t, d);
    kni_ir_text_add(k->t, " < 0) return %s_BAD_SIZE;\n", k->c->name);
}

kn_status kni_c_check_sizes(kni_c *c, kni_ir_text *t)
{
    checks *k = kni_allocate(sizeof *k);
    if (!k) return kni_c_no_memory();
    memset(k, 0, sizeof *k);
    k->c = c;
    k->t = t;
    for (int32_t v = 0; v < c->p->n_values; v++)
        for (int a = 0; a < c->p->values[v].type.rank; a++) check_dim(k, c->p->values[v].type.dims[a]);
    for (int32_t n = 0; n < c->p->n_nodes; n++)
        if (c->p->nodes[n].kind == KNI_NODE_LOOP && c->p->nodes[n].loop.trips != KNI_DIM_BAD)
            check_dim(k, c->p->nodes[n].loop.trips);
    kn_status s = k->status;
    kni_free(k, sizeof *k);
    return s;
}

/* ---- a node with numbers for sizes */

/* The row's rule, which refuses what does not fit and brings the attributes into their normal form: no axis is negative. */
static kn_status infer(const kni_program_node *n, const kni_type *const *in, void *attributes)
{
    kni_type types[KNI_C_RESULTS], *results[KNI_C_RESULTS];
    for (int i = 0; i < n->n_out; i++) {
        types[i] = (kni_type){0};
        results[i] = &types[i];
    }
    kni_infer c = {n->row, in, n->n_in, attributes, results, n->n_out};
    return n->row->infer(&c);
}

static kn_status check_counts(const kni_program_node *n)
{
    if (n->n_out <= KNI_C_RESULTS && n->n_in <= KNI_C_OPERANDS && n->row->attribute_bytes <= KNI_C_ATTRIBUTES)
        return KN_OK;
    return kni_fail_op(KN_ERROR_UNSUPPORTED, n->row->name, "too many operands for a program in C");
}

kn_status kni_c_attributes(const kni_c *c, const kni_program_node *n, void *attributes)
{
    const kni_type *in[KNI_C_OPERANDS];
    kn_status s = check_counts(n);
    if (s) return s;
    for (int32_t i = 0; i < n->n_in; i++) {
        int32_t v = kni_node_in(c->p, n)[i];
        in[i] = v < 0 ? NULL : &c->p->values[v].type;
    }
    if (n->row->attribute_bytes) memcpy(attributes, kni_node_attributes(c->p, n), n->row->attribute_bytes);
    return infer(n, in, attributes);
}

kn_status kni_c_bind(kni_c *c, const kni_program_node *n, kni_c_bound *b)
{
    const kni_program *p = c->p;
    const int32_t *all = kni_node_out(p, n);
    b->c = c;
    b->node = n;
    b->possible = true;
    kn_status s = check_counts(n);
    if (s) return s;
    for (int32_t i = 0; i < n->n_out + n->n_in; i++) {
        kni_type *t = &b->types[i];
        const kni_type **place = i < n->n_out ? &b->out[i] : &b->in[i - n->n_out];
        *place = all[i] < 0 ? NULL : t;
        if (all[i] < 0) continue;
        *t = p->values[all[i]].type;
        for (int a = 0; a < t->rank; a++) {
            t->dims[a] = kni_run_size(&c->run, t->dims[a]);
            b->possible &= t->dims[a] >= 0;
        }
    }
    if (!b->possible) return KN_OK;
    memset(b->attributes, 0, sizeof b->attributes);
    if (n->row->attribute_bytes) memcpy(b->attributes, kni_node_attributes(p, n), n->row->attribute_bytes);
    s = kni_run_attributes(&c->run, n->row, b->attributes);
    return s ? s : infer(n, b->in, b->attributes);
}

kn_status kni_c_check_node(kni_c *c, const kni_program_node *n)
{
    kni_c_bound *b = kni_allocate(sizeof *b);
    if (!b) return kni_c_no_memory();
    kn_status s = KN_OK;
    for (int32_t i = 0; i < c->n_points && s == KN_OK; i++) {
        kni_c_go_to(c, i);
        s = kni_c_bind(c, n, b);
    }
    kni_free(b, sizeof *b);
    return s;
}
