/* Rows by their reference kernels: the text of the kernel is parsed for the dtypes at hand and printed as C, as devices that compile
   kernels do it; the numbers of its launch are formulas of the sizes. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "ir/emitter.h"
#include "ir/kernel_texts.h"
#include "ir/parse.h"
#include "program/to_c.h"
#include <string.h>

enum { MAX_BUFFERS = 32 };

static const kni_ir_caps caps = {
    .dialect = KNI_IR_C99, .f64 = true, .i64 = true, .half_storage = true, .subgroup = 1, .max_workgroup = 1};

/* One call. Its first field is what kni_c_fit fills in. */
typedef struct call {
    kni_c_bound bound;
    kni_launch launch; /* at the point that was looked at last */
    bool filled;
    const kni_kernel *kernel;
    double reals[KNI_MAX_KERNEL_REALS];
    int n_reals, n_ints, n_temps;
    int element, n_buffers;
    uint8_t storage[MAX_BUFFERS];
    uint32_t wide; /* bit n: result n is computed in a block of its own and rounded at the end */
    int32_t blocks[MAX_BUFFERS];
    kni_c_formula formulas[KNI_C_NUMBERS];
} call;

/* ---- the launch */

static kn_status same_launch(call *a, const kni_launch *l)
{
    bool same = a->kernel == l->kernel && a->n_ints == l->n_ints && a->n_reals == l->n_reals &&
                a->n_temps == l->n_temps &&
                !memcmp(a->reals, l->reals, (size_t)l->n_reals * sizeof *l->reals);
    if (same) return KN_OK;
    return kni_fail_op(KN_ERROR_UNSUPPORTED, l->row->name,
                       "its kernel, or a real number that it is called with, depends on the sizes");
}

static kn_status launch_at(void *context, int64_t *numbers, int32_t *n)
{
    call *a = context;
    kni_launch *l = &a->launch;
    const kni_program_node *node = a->bound.node;
    memset(l, 0, sizeof *l);
    l->row = node->row;
    l->attributes = a->bound.attributes;
    l->in = a->bound.in;
    l->out = a->bound.out;
    l->n_in = node->n_in;
    l->n_out = node->n_out;
    bool empty = true;
    for (int i = 0; i < node->n_out; i++) empty &= kni_count(l->out[i]) == 0;
    if (empty) *n = -1;
    kn_status s = empty ? KN_OK : node->row->launch(l);
    if (s || empty) return s;
    const kni_kernel *k = l->kernel;
    if (!k || l->n_temps != k->n_temp || 1 + l->n_ints + l->n_temps > KNI_C_NUMBERS ||
        k->n_in + k->n_out + k->n_temp > MAX_BUFFERS)
        return kni_fail_op(KN_ERROR_INTERNAL, node->row->name, "the reference kernel was set up wrongly");
    if (!a->filled) {
        a->filled = true;
        a->kernel = k;
        a->n_ints = l->n_ints;
        a->n_reals = l->n_reals;
        a->n_temps = l->n_temps;
        memcpy(a->reals, l->reals, sizeof a->reals);
    }
    s = same_launch(a, l);
    numbers[(*n)++] = l->items;
    for (int i = 0; i < l->n_ints; i++) numbers[(*n)++] = l->ints[i];
    for (int i = 0; i < l->n_temps; i++) numbers[(*n)++] = l->temps[i];
    return s;
}

/* ---- dtypes */

static const kni_type *type_of(const call *a, int32_t value)
{
    return value < 0 ? NULL : &a->bound.c->p->values[value].type;
}

static int element_of(const call *a)
{
    const kni_kernel *k = a->kernel;
    const kni_program *p = a->bound.c->p;
    const kni_program_node *n = a->bound.node;
    int dtype = KN_F32;
    bool found = false;
    for (int i = 0; i < n->n_in && i < k->n_in && !found; i++)
        if (k->buffers[i] == 'T' && kni_node_in(p, n)[i] >= 0)
            dtype = type_of(a, kni_node_in(p, n)[i])->dtype, found = true;
    for (int i = 0; i < n->n_out && !found; i++)
        if (k->buffers[k->n_in + i] == 'T') dtype = type_of(a, kni_node_out(p, n)[i])->dtype, found = true;
    int compute = kni_compute_dtype[kni_compute_of[dtype]];
    return compute == KN_I32 ? KN_I64 : compute;
}

static int letter_dtype(const call *a, char letter)
{
    return letter == 'T' ? a->element : letter == 'i' ? KN_I64 : KN_F64;
}

/* ---- buffers */

static bool most_of_piece(const kni_c_piece *f, int64_t *most)
{
    int64_t p = kni_dim_high(f->p), q = kni_dim_high(f->q), y;
    return f->a >= 0 && p < INT64_MAX && q < INT64_MAX && !__builtin_mul_overflow(f->a, p, most) &&
           !__builtin_mul_overflow(f->b > 0 ? f->b : 0, q, &y) && !__builtin_add_overflow(*most, y, most) &&
           *most <= INT32_MAX / 8;
}

/* The most that a formula can be, for temporaries: its sizes at their largest. */
static kn_status most_of(const call *a, const kni_c_formula *f, int64_t *most)
{
    *most = 0;
    for (int32_t i = 0; i < f->n; i++) {
        int64_t here;
        if (!most_of_piece(&f->pieces[i], &here))
            return kni_fail_op(KN_ERROR_UNSUPPORTED, a->bound.node->row->name,
                               "its temporary memory has no bound, or one above 2 GiB");
        if (here > *most) *most = here;
    }
    return KN_OK;
}

static kn_status give_result(call *a, int buffer, int32_t value)
{
    kni_c *c = a->bound.c;
    const kni_type *t = type_of(a, value);
    int computed = letter_dtype(a, a->kernel->buffers[buffer]);
    a->storage[buffer] = t->dtype;
    kn_status s = kni_c_make(c, value);
    if (s || !kni_is_float(t->dtype) || kni_dtypes[t->dtype].bits >= kni_dtypes[computed].bits) return s;
    /* A kernel may read its results back, which must not be rounded until the end. */
    int64_t count;
    s = kni_c_limit(c, t, value, &count);
    if (s) return s;
    a->wide |= 1u << buffer;
    a->storage[buffer] = (uint8_t)computed;
    a->blocks[buffer] = kni_c_take(c, count * kni_bytes_of(computed));
    return a->blocks[buffer] < 0 ? KN_ERROR_MEMORY : KN_OK;
}

static kn_status give_buffers(call *a)
{
    kni_c *c = a->bound.c;
    const kni_kernel *k = a->kernel;
    const kni_program_node *n = a->bound.node;
    kn_status s = KN_OK;
    a->n_buffers = k->n_in + k->n_out + k->n_temp;
    for (int i = 0; i < a->n_buffers && s == KN_OK; i++) {
        int out = i - k->n_in, temp = out - k->n_out;
        a->blocks[i] = -1;
        a->storage[i] = (uint8_t)letter_dtype(a, k->buffers[i]);
        if (i < k->n_in && i < n->n_in && kni_node_in(c->p, n)[i] >= 0) {
            a->storage[i] = type_of(a, kni_node_in(c->p, n)[i])->dtype;
        } else if (out >= 0 && temp < 0 && out < n->n_out) {
            s = give_result(a, i, kni_node_out(c->p, n)[out]);
        } else if (i >= k->n_in) {
            int64_t most = 1;
            if (temp >= 0) s = most_of(a, &a->formulas[1 + a->n_ints + temp], &most);
            if (s == KN_OK && (a->blocks[i] = kni_c_take(c, 8 * most)) < 0) s = KN_ERROR_MEMORY;
        }
    }
    return s;
}

/* ---- the kernel's text */

static kni_ir *parse(const call *a)
{
    size_t bytes;
    const char *file, *text = kni_kernel_text(a->kernel->name, &bytes, &file);
    if (!text) {
        (void)kni_fail_op(KN_ERROR_INTERNAL, a->bound.node->row->name, "its kernel has no text");
        return NULL;
    }
    kni_ir_parse_options options = {file, a->kernel->name, a->element, KN_F64, a->storage, 0};
    return kni_ir_parse(text, bytes, &options);
}

/* Names that no other kernel of the file has, for the entry and its functions. */
static void rename_parts(kni_ir *ir, int32_t number, const char *row)
{
    kni_text name = {ir->name, 40, 0};
    kni_text_format(&name, "%s_%d", row, number);
    for (uint32_t i = 0; i < ir->n_functions; i++) {
        char old[48];
        memcpy(old, ir->functions[i].name, sizeof old);
        kni_text text = {ir->functions[i].name, sizeof old, 0};
        kni_text_format(&text, "f%d_%s", number, old);
    }
}

static kn_status find_kernel(call *a, int32_t *number)
{
    kni_c *c = a->bound.c;
    char key[160];
    bool is_new;
    kni_text text = {key, sizeof key, 0};
    kni_text_format(&text, "%s %d", a->kernel->name, a->element);
    for (int i = 0; i < a->n_buffers; i++) kni_text_format(&text, " %d", (int)a->storage[i]);
    *number = kni_c_kernel_of(c, key, &is_new);
    if (*number < 0) return KN_ERROR_MEMORY;
    if (!is_new) return KN_OK;
    kni_ir *ir = c->kernels[*number].ir = parse(a);
    kn_status s = ir ? kni_ir_simplify(ir) : kni_latest_code();
    if (s) return s;
    rename_parts(ir, *number, a->bound.node->row->name);
    s = kni_ir_legalise(ir, &caps);
    if (s == KN_OK) s = kni_ir_emit_part(ir, &caps, &c->functions, kni_c_uses, c);
    kni_ir_text_add(&c->functions, "\n");
    return s;
}

/* ---- the call */

static void print_buffers(const call *a)
{
    kni_c *c = a->bound.c;
    const kni_kernel *k = a->kernel;
    const kni_program_node *n = a->bound.node;
    kni_ir_text_add(&c->code, "void *b[] = {");
    for (int i = 0; i < a->n_buffers; i++) {
        int out = i - k->n_in;
        if (i) kni_ir_text_add(&c->code, ", ");
        if (a->blocks[i] >= 0)
            kni_ir_text_add(&c->code, "M%d", a->blocks[i]);
        else if (i < k->n_in && i < n->n_in && kni_node_in(c->p, n)[i] >= 0)
            kni_ir_text_add(&c->code, "(void *)%s", kni_c_address(c, kni_node_in(c->p, n)[i]));
        else if (out >= 0 && out < n->n_out)
            kni_ir_text_add(&c->code, "%s", kni_c_address(c, kni_node_out(c->p, n)[out]));
        else
            kni_ir_text_add(&c->code, "(void *)&kiln_none");
    }
    kni_ir_text_add(&c->code, "};\n");
}

static void print_real(kni_ir_text *t, double v)
{
    if (v != v)
        kni_ir_text_add(t, "KNI_NAN_F64");
    else if (v - v != 0)
        kni_ir_text_add(t, v < 0 ? "-KNI_INF_F64" : "KNI_INF_F64");
    else
        kni_ir_text_add(t, "%r", v);
}

static kn_status print_params(const call *a, const kni_ir *ir)
{
    kni_c *c = a->bound.c;
    int ints = 0, reals = 0;
    kni_ir_text_add(&c->code, "const struct %s_params p = {", ir->name);
    for (uint32_t i = 0; i < ir->n_params; i++) {
        const kni_ir_param *p = &ir->params[i];
        if (i) kni_ir_text_add(&c->code, ", ");
        if (i == 0)
            kni_c_formula_text(&c->code, &a->formulas[0]);
        else if (i <= (uint32_t)a->n_buffers)
            kni_ir_text_add(&c->code, "0");
        if (i <= (uint32_t)a->n_buffers) continue;
        if (p->count) kni_ir_text_add(&c->code, "{");
        for (uint32_t j = 0; j < (p->count ? p->count : 1); j++) {
            bool real = kni_is_float(p->dtype);
            if (real ? reals >= a->n_reals : ints >= a->n_ints)
                return kni_fail_op(KN_ERROR_INTERNAL, a->bound.node->row->name,
                                   "its kernel declares more numbers than it was given");
            if (j) kni_ir_text_add(&c->code, ", ");
            if (real)
                print_real(&c->code, a->reals[reals++]);
            else
                kni_c_formula_text(&c->code, &a->formulas[1 + ints++]);
        }
        if (p->count) kni_ir_text_add(&c->code, "}");
    }
    kni_ir_text_add(&c->code, "};\n");
    return KN_OK;
}

static void print_rounding(const call *a)
{
    kni_c *c = a->bound.c;
    for (int i = 0; i < a->n_buffers; i++) {
        if (!(a->wide >> i & 1)) continue;
        int32_t value = kni_node_out(c->p, a->bound.node)[i - a->kernel->n_in];
        const kni_type *t = type_of(a, value);
        const char *to = kni_dtypes[t->dtype].name, *from = kni_dtypes[a->storage[i]].name;
        kni_ir_text name = {0};
        kni_ir_text_add(&name, "kni_cast_%s_%s", to, from);
        if (name.data) kni_c_uses(c, name.data);
        kni_c_line(c);
        kni_ir_text_add(&c->code, "for (int64_t i = 0; i < ");
        kni_c_dim(&c->code, kni_c_product(t, 0, t->rank));
        kni_ir_text_add(&c->code, "; i++) ((%s *)%s)[i] = %s(((const %s *)M%d)[i]);\n",
                        kni_dialect_storage_type(t->dtype), kni_c_address(c, value),
                        name.data ? name.data : "", kni_dialect_storage_type(a->storage[i]), a->blocks[i]);
        kni_ir_text_free(&name);
    }
}

static kn_status print_call(call *a)
{
    kni_c *c = a->bound.c;
    int32_t number, count;
    kn_status s =
        kni_c_fit(c, a->bound.node, launch_at, a, a->formulas, &count); /* no number: all is empty */
    for (int i = 0; count < 0 && i < a->bound.node->n_out && s == KN_OK; i++)
        s = kni_c_make(c, kni_node_out(c->p, a->bound.node)[i]);
    if (s || count < 0) return s;
    a->element = element_of(a);
    s = give_buffers(a);
    if (s == KN_OK) s = find_kernel(a, &number);
    if (s) return s;
    const kni_ir *ir = c->kernels[number].ir;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "{ /* %s */\n", a->bound.node->row->name);
    c->indent++;
    kni_c_line(c);
    print_buffers(a);
    kni_c_line(c);
    s = print_params(a, ir);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "%s(b, kiln_fault, &p, 0, p.u_items);\n", ir->name);
    print_rounding(a);
    if (ir->reports) {
        kni_c_line(c);
        kni_ir_text_add(&c->code, "if (kiln_fault[0]) return %s_BAD_%s;\n", c->name,
                        a->bound.node->row->report ? "NUMBER" : "INDEX");
    }
    c->indent--;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "}\n");
    return s;
}

kn_status kni_c_print_kernel(kni_c *c, const kni_program_node *n)
{
    call *a = kni_allocate(sizeof *a);
    if (!a) return kni_c_no_memory();
    memset(a, 0, sizeof *a);
    a->bound.c = c;
    a->bound.node = n;
    kn_status s = print_call(a);
    kni_free(a, sizeof *a);
    return s;
}
