/* Derived gradients beside written ones, for every row that has a body and a gradient: values on a grid with 0, infinities, NaN,
   ties, huge and tiny numbers, in f64 and f32, and what each costs. Where they differ the table of test_gradients.h says why; a
   difference without a reason fails, and so does a reason without a difference. --markdown prints docs/gradients.md. */
#include "test_gradients.h"
#include "core/device_object.h"
#include "ops/body_derive.h"
#include "ops/body_print.h"
#include "ops/defined.h"
#include "ops/scalar_row.h"
#include "support/check.h"
#include "wrap/decorator.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Rows whose gradient is no body have no such text. */
#define KN_OP(number, name, ...) extern const kni_body_text kni_slope_text_##name __attribute__((weak));
#include "ops/elementwise.def"
#undef KN_OP

kn_backend *kni_autodiff_open(const char *argument, kn_backend *const *inner, int32_t n_inner);

enum { MAX_POINTS = 40000, MAX_OPERANDS = 8 };

static kn_device plain, taping, reference;
static int ran, ran_words;

/* ---- a device that counts what a gradient runs */

static int words_of(const kn_op *row)
{
    kni_body_tree tree;
    int n = 0;
    if (!row->body) return 1;
    kni_body_tree_of(row->body, &tree);
    for (int i = 0; i < tree.n; i++) n += tree.nodes[i].n_in > 0;
    return n;
}

static kn_status count_and_forward(kn_backend *b, const kn_record *const *records, int32_t n)
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        bool works = !(records[i]->flags & KN_RECORD_DROP) && !records[i]->row->view;
        if (works) ran++, ran_words += words_of(records[i]->row);
        s = kni_forward(b, records[i]);
    }
    return s;
}

static bool open_devices(void)
{
    plain = kn_device_open("cpu");
    reference = kn_device_open("ref");
    if (!CHECK(plain && reference)) return false;
    kn_backend *leaf = kni_device_find(plain, "test")->backend;
    kn_backend *counting = kni_decorator_new("counting", KN_TRAIT_STATELESS, &leaf, 1, count_and_forward, 0);
    if (!CHECK(counting != NULL)) return false;
    kn_backend *tape = kni_autodiff_open("", &counting, 1);
    kn_device device = tape ? kni_device_make(tape, "autodiff(counting(cpu))") : NULL;
    taping = device ? kni_device_handle(device) : NULL;
    return CHECK(taping != NULL);
}

/* ---- what a row's gradient is */

static void name_operand(const kn_op *row, int operand, finding *r)
{
    static const char *const lists[] = {"", "x", "a b", "a b c", "a b c d"};
    const char *at = row->in ? row->in : lists[row->max_in];
    for (int i = 0; i < operand; i++) at = strchr(at, ' ') + 1;
    snprintf(r->operand_name, sizeof r->operand_name, "%.*s", (int)strcspn(at, " @?:"), at);
}

static const kni_body_text *slope_text(const kn_op *row)
{
    static const struct {
        uint16_t number;
        const kni_body_text *text;
    } texts[] = {
#define KN_OP(number, name, ...) {number, &kni_slope_text_##name},
#include "ops/elementwise.def"
#undef KN_OP
    };
    for (size_t i = 0; i < KNI_COUNT(texts); i++)
        if (texts[i].number == row->number) return texts[i].text;
    return NULL;
}

/* The formula that is derived. */
static void print_derived(const kn_op *row, int operand, char *to, size_t bytes)
{
    static kni_body_gradient gradient;
    static finding names[KNI_BODY_OPERANDS];
    const char *operands[KNI_BODY_OPERANDS], *scalars[KNI_BODY_SCALARS] = {NULL};
    kni_text text = {to, bytes, 0};
    for (int i = 0; i < row->max_in; i++) {
        name_operand(row, i, &names[i]);
        operands[i] = names[i].operand_name;
    }
    operands[row->max_in] = "dy";
    operands[row->max_in + 1] = "y";
    for (int i = 0; row->schema && row->schema[i].name; i++) scalars[i] = row->schema[i].name;
    to[0] = 0;
    if (!kni_body_derive_short(row->body, operand, &gradient)) return;
    if (gradient.root < 0)
        kni_text_string(&text, "0");
    else
        kni_graph_print(&gradient.graph, gradient.root, operands, scalars, &text);
}

static void describe(const kn_op *row, int operand, finding *r)
{
    name_operand(row, operand, r);
    const kni_body_text *text = row->kind == KNI_ELEMENTWISE ? slope_text(row) : NULL;
    char formula[500] = "";
    const char *what = !kni_gradient_of(row) ? "lowering"
                       : !text               ? "function"
                       : text->text          ? "body"
                                             : "derived";
    if (text && !text->text) print_derived(row, operand, formula, sizeof formula);
    if (text && text->text) snprintf(formula, sizeof formula, "%s", text->text);
    snprintf(r->gradient, sizeof r->gradient, *formula ? "%s `%s`" : "%s", what, formula);
}

/* ---- points */

typedef struct points {
    kn_dtype dtype;
    int n, n_in;
    double *in[MAX_OPERANDS], *dy, *written, *derived;
} points;

static int grid_of(kn_dtype dtype, int n_in, double *grid)
{
    bool wide = dtype == KN_F64;
    double tiny = wide ? 1e-300 : 1e-37, root = wide ? 3e154 : 3e19, huge = wide ? 1.5e308 : 3e38;
    const double full[] = {0.25,   0.5,  1,    wide ? 1 - 4 * DBL_EPSILON : 1 - 4 * FLT_EPSILON,
                           0.9999, 1.5,  2,    3,
                           4.5,    6,    12,   25,
                           120,    1e4,  1e-4, 1e-9,
                           tiny,   root, huge, INFINITY};
    const double some[] = {0.5, 1, 2, 3, tiny, huge, INFINITY}, few[] = {1, 2, INFINITY};
    const double *from = n_in <= 2 ? full : n_in == 3 ? some : few;
    int n_from = (int)(n_in <= 2 ? sizeof full : n_in == 3 ? sizeof some : sizeof few) / (int)sizeof(double);
    int n = 0;
    for (int i = 0; i < n_from; i++) grid[n++] = from[i], grid[n++] = -from[i];
    grid[n++] = 0;
    if (n_in <= 3) grid[n++] = -0.0;
    grid[n++] = NAN;
    return n;
}

static const double cotangents[] = {1, -2.5, 0, 1e30};

static bool make_points(points *p, const kn_op *row, kn_dtype dtype)
{
    double grid[64];
    int n_grid = grid_of(dtype, row->max_in, grid), n_dy = row->max_in > 3 ? 2 : row->max_in > 2 ? 3 : 4;
    *p = (points){.dtype = dtype, .n = n_dy, .n_in = row->max_in};
    for (int i = 0; i < p->n_in; i++) p->n *= n_grid;
    double *memory = malloc(sizeof(double) * (size_t)p->n * (size_t)(p->n_in + 3));
    if (!CHECK(memory && p->n <= MAX_POINTS)) return false;
    for (int i = 0; i < p->n_in; i++) p->in[i] = memory + (size_t)i * (size_t)p->n;
    p->dy = memory + (size_t)p->n_in * (size_t)p->n;
    p->written = p->dy + p->n;
    p->derived = p->written + p->n;
    for (int k = 0; k < p->n; k++) {
        int rest = k / n_dy;
        p->dy[k] = cotangents[k % n_dy];
        for (int i = 0; i < p->n_in; i++, rest /= n_grid) p->in[i][k] = grid[rest % n_grid];
        if (row->rule == KNI_RULE_SELECT) p->in[0][k] = p->in[0][k] > 0;
    }
    return true;
}

static kn_tensor tensor_of(const points *p, const double *values, kn_dtype dtype)
{
    return kn_keep(kn_cast(kn_from(values, KN_F64, KN_SHAPE(p->n)), dtype));
}

static void tensors_of(const points *p, const kn_op *row, kn_tensor *in, kn_tensor *dy)
{
    for (int i = 0; i < p->n_in; i++)
        in[i] = tensor_of(p, p->in[i], i == 0 && row->rule == KNI_RULE_SELECT ? KN_BOOL : p->dtype);
    *dy = tensor_of(p, p->dy, p->dtype);
}

static bool read_points(const points *p, kn_tensor x, double *to)
{
    return kn_read_as(x, KN_F64, to, sizeof(double) * (size_t)p->n) == KN_OK;
}

/* False: it has none. */
static bool run_written(points *p, const kn_op *row, int operand, const double *scalars, finding *r)
{
    kn_device_use(taping);
    kn_scope s = kn_scope_begin();
    kn_tensor in[MAX_OPERANDS], dy, g = KN_NONE;
    tensors_of(p, row, in, &dy);
    in[operand] = kn_require_grad(in[operand]);
    kn_tensor y = kn_keep(kni_apply(row, in, p->n_in, scalars));
    ran = ran_words = 0;
    kn_status status = kn_grad(&y, &dy, 1, &in[operand], 1, 0, &g);
    r->written_ops = ran, r->written_words = ran_words;
    bool good = status == KN_OK && read_points(p, g, p->written);
    kn_scope_end(s, KN_NONE);
    return good;
}

static bool run_derived(points *p, const kn_op *row, int operand, const double *scalars, finding *r)
{
    static kni_body_gradient gradient;
    static kni_step steps[KNI_BODY_MAX_STEPS];
    if (!kni_body_derive_short(row->body, operand, &gradient)) return false;
    r->derived_words = 0;
    if (gradient.root < 0) {
        memset(p->derived, 0, sizeof(double) * (size_t)p->n);
        return true;
    }
    r->derived_words = kni_graph_words(&gradient.graph, gradient.root);
    /* Strips know truths as operands of where alone. */
    kn_device_use(row->rule == KNI_RULE_SELECT ? reference : plain);
    kn_scope s = kn_scope_begin();
    kn_tensor all[2 * MAX_OPERANDS], in[MAX_OPERANDS];
    tensors_of(p, row, all, &all[p->n_in]);
    all[p->n_in + 1] = kn_keep(kni_apply(row, all, p->n_in, scalars));
    uint32_t used = kni_graph_operands(&gradient.graph, gradient.root);
    uint8_t numbers[2 * MAX_OPERANDS] = {0};
    int n_in = 0;
    for (int i = 0; i < p->n_in + 2; i++)
        if (used >> i & 1) numbers[i] = (uint8_t)n_in, in[n_in++] = all[i];
    kni_body body = {.steps = steps, .n_in = (uint8_t)n_in, .n_out = 1};
    body.n = (uint8_t)kni_graph_steps(&gradient.graph, gradient.root, numbers, steps, KNI_BODY_MAX_STEPS);
    kn_op made = {.name = "derived",
                  .number = 60000,
                  .min_in = (int8_t)n_in,
                  .max_in = (int8_t)n_in,
                  .n_out = 1,
                  .kind = KNI_ELEMENTWISE,
                  .rule = row->rule == KNI_RULE_SELECT && used & 1 ? KNI_RULE_SELECT : KNI_RULE_PROMOTE,
                  .dtypes = KNI_FLOATS,
                  .schema = row->schema,
                  .attribute_bytes = row->attribute_bytes,
                  .infer = kni_infer_row,
                  .body = &body,
                  .native = &kni_cpu_defined_points};
    kn_tensor g = body.n ? kn_keep(kni_apply(&made, in, n_in, scalars)) : KN_NONE;
    bool good = CHECK(body.n > 0) && read_points(p, g, p->derived);
    if (!CHECK(good)) printf("%s: %s\n", row->name, kn_last_error());
    kn_scope_end(s, KN_NONE);
    return good;
}

/* ---- differences */

static int differ(const points *p, double a, double b)
{
    bool wide = p->dtype == KN_F64;
    double relative = wide ? 1e-9 : 1e-4, least = wide ? 1e-290 : 1e-35;
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? SAME : NANS;
    if (a == b) return SAME;
    if (isinf(a) || isinf(b)) return INFINITIES;
    double size = fmax(fabs(a), fabs(b));
    if (fabs(a - b) <= relative * size + least) return SAME;
    return a == 0 || b == 0 ? ZEROS : VALUES;
}

/* NaN has no sign that all libraries print alike. */
static const char *shown(double v, char *to)
{
    if (isnan(v))
        snprintf(to, 24, "NaN");
    else
        snprintf(to, 24, "%g", v);
    return to;
}

static void note_differences(const points *p, finding *r)
{
    for (int k = 0; k < p->n; k++) {
        int kind = differ(p, p->written[k], p->derived[k]);
        if (kind == SAME || r->counts[kind]++) continue;
        char *to = r->examples[kind], a[24], b[24], c[24];
        size_t room = sizeof r->examples[kind];
        int at = snprintf(to, room, "%s ", p->dtype == KN_F64 ? "f64" : "f32");
        for (int i = 0; i < p->n_in; i++)
            at += snprintf(to + at, room - (size_t)at, "%s%s", i ? ", " : "(", shown(p->in[i][k], a));
        snprintf(to + at, room - (size_t)at, "), %s: %s and %s", shown(p->dy[k], a), shown(p->written[k], b),
                 shown(p->derived[k], c));
    }
}

static void compare_operand(const kn_op *row, int operand)
{
    const settings *s = settings_of(row->name);
    finding r = {.op = row->name, .operand = operand};
    describe(row, operand, &r);
    for (int k = 0; k == 0 || (s && k < s->n); k++) {
        const double *scalars = s ? s->values[k] : NULL;
        for (int wide = 1; wide >= 0; wide--) {
            points p;
            if (!make_points(&p, row, wide ? KN_F64 : KN_F32)) return;
            bool written = run_written(&p, row, operand, scalars, &r);
            bool derived = run_derived(&p, row, operand, scalars, &r);
            if (written && derived) note_differences(&p, &r);
            r.has_written |= written;
            r.has_derived |= derived;
            r.points += p.n;
            free(p.in[0]);
        }
    }
    report(&r);
}

static void compare_points(void)
{
    for (int i = 0; i < kni_op_count(); i++) {
        const kn_op *row = kni_op_by_number(i);
        if (!row || !kni_is_pointwise(row) || !(kni_gradient_of(row) || row->lower)) continue;
        if (row->flags & (KNI_FLAG_NO_GRADIENT | KNI_FLAG_ZERO_GRADIENT)) continue;
        for (int k = row->rule == KNI_RULE_SELECT; k < row->max_in; k++) compare_operand(row, k);
    }
}

/* ---- rows along lines */

enum { LINES = 14, WIDTH = 4, ELEMENTS = LINES * WIDTH };
static const double lines[LINES][WIDTH] = {{1, 2, 3, 4},
                                           {2, 2, 1, 0},
                                           {0, 0, 0, 0},
                                           {-0.0, 3, -1, 2},
                                           {0, 5, 0, 2},
                                           {-3, -3, -3, -3},
                                           {1e200, 2e200, 1, 2},
                                           {1e-200, 2e-200, 0, -1e-200},
                                           {-800, 0, 800, 1},
                                           {INFINITY, 1, 2, 3},
                                           {-INFINITY, 1, 2, 3},
                                           {INFINITY, INFINITY, 0, 1},
                                           {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
                                           {NAN, 1, 2, 3}};

/* Channels are the second axis, and their lines go down the first. */
static bool by_channel(const kn_op *row) { return row->line.axes == KNI_LINE_CHANNEL; }

static kn_tensor operand_along(const kn_op *row, int i)
{
    uint8_t bits = row->body->operands[i], level = bits & KNI_OPERAND_LEVEL;
    double v[ELEMENTS];
    int64_t targets[LINES];
    for (int l = 0; l < LINES; l++)
        for (int k = 0; k < WIDTH; k++)
            v[by_channel(row) ? k * LINES + l : l * WIDTH + k] =
                i == row->line.operand ? lines[l][k] : cos(l * 1.3 + k * 2.1 + i);
    if (bits & KNI_OPERAND_INDEX) {
        for (int l = 0; l < LINES; l++) targets[l] = l == 4 ? -100 : l % WIDTH;
        return kn_keep(kn_from(targets, KN_I64, KN_SHAPE(LINES)));
    }
    for (int k = 0; k < LINES && level != KNI_LEVEL_ELEMENT; k++) v[k] = 0.75 + 0.25 * k;
    if (level == KNI_LEVEL_LINE) return kn_keep(kn_from(v, KN_F64, KN_SHAPE(LINES)));
    if (level == KNI_LEVEL_PLACE) return kn_keep(kn_from(v, KN_F64, KN_SHAPE(WIDTH)));
    return kn_keep(kn_from(v, KN_F64, by_channel(row) ? KN_SHAPE(WIDTH, LINES) : KN_SHAPE(LINES, WIDTH)));
}

/* Attributes as the row keeps them. */
static void fill_attributes(const kn_op *row, const kn_attribute_value *values, char *to)
{
    for (const kn_attribute *a = row->schema; a && a->name; a++)
        for (const kn_attribute_value *v = values; v->name; v++) {
            if (strcmp(v->name, a->name)) continue;
            if (a->type == KNI_ATTR_INT) memcpy(to + a->offset, &v->integer, sizeof v->integer);
            if (a->type == KNI_ATTR_REAL) memcpy(to + a->offset, &v->real, sizeof v->real);
            if (a->type == KNI_ATTR_INTS) memcpy(to + a->offset, &v->list, sizeof v->list);
        }
}

typedef struct along {
    const kn_op *row;
    const kn_attribute_value *values;
    char attributes[512];
    kn_tensor all[3 * MAX_OPERANDS]; /* operands, cotangents, results */
    double written[ELEMENTS], derived[ELEMENTS];
    int n;
} along;

static kn_tensor cotangent_of(kn_tensor y)
{
    double v[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) v[i] = 1 + 0.5 * sin(i * 1.9);
    return kn_keep(kn_from(v, KN_F64, kn_shape_of_tensor(y)));
}

static bool run_forward(along *a, kn_device device, int operand)
{
    const kn_op *row = a->row;
    int n_in = row->max_in, n_out = row->n_out;
    kn_device_use(device);
    for (int i = 0; i < n_in; i++) a->all[i] = operand_along(row, i);
    if (operand >= 0) a->all[operand] = kn_require_grad(a->all[operand]);
    kn_tensor *out = &a->all[n_in + n_out];
    bool good = CHECK(kn_call(row->name, a->all, n_in, a->values, out, n_out) == KN_OK);
    for (int k = 0; k < n_out; k++) {
        out[k] = kn_keep(out[k]);
        a->all[n_in + k] = cotangent_of(out[k]);
    }
    a->n = (int)kn_count(a->all[operand < 0 ? 0 : operand]);
    if (!good) printf("%s: %s\n", row->name, kn_last_error());
    return good;
}

static bool written_along(along *a, int operand, finding *r)
{
    kn_scope s = kn_scope_begin();
    int n_in = a->row->max_in, n_out = a->row->n_out;
    kn_tensor g = KN_NONE;
    bool good = run_forward(a, taping, operand);
    ran = ran_words = 0;
    kn_status status = kn_grad(&a->all[n_in + n_out], &a->all[n_in], n_out, &a->all[operand], 1, 0, &g);
    r->written_ops = ran, r->written_words = ran_words;
    good =
        good && status == KN_OK && kn_read_as(g, KN_F64, a->written, sizeof(double) * (size_t)a->n) == KN_OK;
    kn_scope_end(s, KN_NONE);
    return good;
}

static kni_type wanted;
static kn_status infer_wanted(kni_infer *c)
{
    kni_type_copy(c->out[0], &wanted);
    return KN_OK;
}

static bool derived_along(along *a, int operand, finding *r)
{
    static kni_body_gradient gradient;
    static kni_step steps[KNI_BODY_MAX_STEPS];
    const kn_op *row = a->row;
    int n_in = row->max_in, n_out = row->n_out, n = 0;
    if (!kni_body_derive_short(row->body, operand, &gradient)) return false;
    memset(a->derived, 0, sizeof a->derived);
    r->derived_words = 0;
    if (gradient.root < 0) return true;
    r->derived_words = kni_graph_words(&gradient.graph, gradient.root);
    kn_scope s = kn_scope_begin();
    uint32_t used = kni_graph_operands(&gradient.graph, gradient.root) | 1u << row->line.operand;
    uint8_t numbers[3 * MAX_OPERANDS] = {0}, bits[3 * MAX_OPERANDS];
    kn_tensor in[MAX_OPERANDS];
    bool good = run_forward(a, reference, -1);
    wanted = kni_peek(a->all[operand])->type;
    for (int i = 0; i < n_in + 2 * n_out; i++) {
        if (!(used >> i & 1)) continue;
        bits[n] = row->body->operands[i < n_in + n_out ? i : i - n_out];
        numbers[i] = (uint8_t)n;
        in[n++] = a->all[i];
    }
    bits[n] = (uint8_t)gradient.level;
    kni_body body = {.steps = steps, .n_in = (uint8_t)n, .n_out = 1, .operands = bits};
    body.n = (uint8_t)kni_graph_steps(&gradient.graph, gradient.root, numbers, steps, KNI_BODY_MAX_STEPS);
    static const uint8_t per[] = {KNI_PER_LINE, KNI_PER_LINE, KNI_PER_PLACE, KNI_PER_ELEMENT};
    kn_op made = {.name = "derived",
                  .number = 60000,
                  .min_in = (int8_t)n,
                  .max_in = (int8_t)n,
                  .n_out = 1,
                  .kind = KNI_COMPOSITE,
                  .dtypes = KNI_FLOATS,
                  .schema = row->schema,
                  .attribute_bytes = row->attribute_bytes,
                  .line = row->line,
                  .sums = row->sums,
                  .infer = infer_wanted,
                  .body = &body};
    made.line.operand = numbers[row->line.operand];
    made.line.results = per[gradient.level];
    kn_tensor g = body.n ? kn_keep(kni_apply(&made, in, n, a->attributes)) : KN_NONE;
    a->n = (int)kn_count(a->all[operand]);
    good = good && body.n && kn_read_as(g, KN_F64, a->derived, sizeof(double) * (size_t)a->n) == KN_OK;
    if (!CHECK(good)) printf("%s: %s\n", row->name, kn_last_error());
    kn_scope_end(s, KN_NONE);
    return good;
}

static void note_along(const along *a, finding *r)
{
    const points p = {.dtype = KN_F64};
    bool whole = a->n == ELEMENTS;
    for (int i = 0; i < a->n; i++) {
        int line = !whole ? i : by_channel(a->row) ? i % LINES : i / WIDTH;
        int place = by_channel(a->row) ? i / LINES : i % WIDTH;
        int kind = differ(&p, a->written[i], a->derived[i]);
        double size = 0;
        for (int k = 0; k < a->n; k++) {
            int other = !whole ? line : by_channel(a->row) ? k % LINES : k / WIDTH;
            if (other == line && isfinite(a->written[k])) size = fmax(size, fabs(a->written[k]));
        }
        /* Sums of a line in another order. */
        if (kind >= ZEROS && fabs(a->written[i] - a->derived[i]) <= 1e-12 * size) continue;
        if (kind == SAME || r->counts[kind]++) continue;
        const double *x = lines[line % LINES];
        char t[6][24];
        for (int k = 0; k < WIDTH; k++) shown(x[k], t[k]);
        shown(a->written[i], t[4]);
        shown(a->derived[i], t[5]);
        if (whole)
            snprintf(r->examples[kind], sizeof r->examples[kind], "(%s, %s, %s, %s) at %d: %s and %s", t[0],
                     t[1], t[2], t[3], place, t[4], t[5]);
        else
            snprintf(r->examples[kind], sizeof r->examples[kind], "at %d: %s and %s", i, t[4], t[5]);
    }
}

static void compare_lines(void)
{
    for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
        const kn_op *row = kni_op_by_name(questions[q].op);
        for (int i = 0; CHECK(row != NULL) && i < row->max_in; i++) {
            if (row->body->operands[i] & KNI_OPERAND_INDEX) continue;
            static along a;
            memset(&a, 0, sizeof a);
            a.row = row;
            a.values = questions[q].attributes;
            fill_attributes(row, a.values, a.attributes);
            finding r = {.op = row->name, .operand = i, .points = 0, .variant = questions[q].variant};
            describe(row, i, &r);
            r.has_written = written_along(&a, i, &r);
            r.has_derived = derived_along(&a, i, &r);
            r.points = a.n;
            if (r.has_written && r.has_derived) note_along(&a, &r);
            report(&r);
        }
    }
}

int main(int argc, char **argv)
{
    markdown = argc > 1 && !strcmp(argv[1], "--markdown");
    put("%s", opening);
    if (open_devices()) {
        compare_points();
        compare_lines();
    }
    if (!markdown) check_reasons();
    if (!markdown) return check_report();
    fputs(page, stdout);
    return check_failed > 0;
}
