/* What a case becomes in other shapes and dtypes: broadcast, scalar, empty and large operands, and dtypes that have no
   stored values. The expected results are the oracle's. */
#include "conform_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of the largest operand: past strips, blocks and the sizes from which threads share the work. */
enum { LARGE_FLAT = 70049, LARGE_ROWS = 7, LARGE_COLUMNS = 10007, LARGE_MOVED = 20000, LARGE_DEEP = 6000 };

/* ---- the same on two devices */

static int run_on(kn_device device, const kiln_check *k, const kiln_array *values, kiln_layout layout,
                  const unsigned *stretched, kn_tensor *out)
{
    kn_tensor in[KILN_MAX_INPUTS];
    kn_device_use(device);
    kiln_case_operands(k->c, values, layout, stretched, in);
    int n = kiln_invoke(k->c, k->row, in, out);
    kn_sync(device); /* what is found when the values are computed poisons them; the callers look */
    kn_device_use(k->run->device);
    return n;
}

/* terms: of each output (kiln_magnitudes), or NULL. */
static void compare_outputs(const kiln_check *k, const kiln_array *values, const kn_tensor *got, int n_got,
                            const kn_tensor *want, int n_want, const kiln_array *terms)
{
    char text[512];
    if (n_got > 0 && got[0].bits && !kn_ok(got[0])) {
        kiln_result(k, kiln_failure_text(got[0], text, sizeof text));
        return;
    }
    if (n_got != n_want) {
        kiln_result_text(k, "%d outputs, the oracle gives %d", n_got, n_want);
        return;
    }
    const char *wrong = NULL;
    for (int i = 0; i < n_got && !wrong; i++) {
        kiln_array a, b;
        if (!kiln_array_read(&b, want[i])) {
            wrong = "the oracle's result cannot be read";
        } else if (!kiln_array_read(&a, got[i])) {
            wrong = "the result cannot be read";
        } else {
            kiln_tolerance tolerance = kiln_tolerance_of(k, values, k->c->n_in, &b);
            if (terms && terms[i].count == b.count) tolerance.terms = terms[i].real;
            if (terms) tolerance.drift = kiln_drift(k->c);
            /* The oracle's own result is rounded. */
            if (tolerance.steps > 0)
                tolerance.steps *= 2;
            else if (tolerance.ulps > 0 || tolerance.roots > 0)
                tolerance.ulps += 1;
            wrong = kiln_compare(k, &a, &b, &tolerance);
            kiln_array_free(&a);
        }
        kiln_array_free(&b);
    }
    kiln_result(k, wrong);
}

/* Runs the case on both devices and compares. False, with the reason in `text`, when the oracle refuses; a device
   that accepts what the oracle refuses fails. */
static bool against_oracle(const kiln_check *k, const kiln_array *values, kiln_layout layout,
                           const unsigned *stretched, char *text, size_t room)
{
    kn_tensor got[KILN_MAX_OUTPUTS], want[KILN_MAX_OUTPUTS];
    kn_scope scope = kn_scope_begin();
    int n_want = run_on(k->run->oracle, k, values, KILN_CONTIGUOUS, NULL, want);
    bool accepted = n_want > 0 ? kn_ok(want[0]) : false;
    if (accepted) {
        int n_got = run_on(k->run->device, k, values, layout, stretched, got);
        compare_outputs(k, values, got, n_got, want, n_want, NULL);
    } else {
        kn_error_text(want[0], text, room);
        run_on(k->run->device, k, values, layout, stretched, got);
        /* Some failures are found by the device when the values are computed. */
        kiln_array late;
        if (kn_ok(got[0]) && kiln_array_read(&late, got[0])) kiln_array_free(&late);
        if (kn_ok(got[0])) kiln_result_text(k, "it gives a result where the oracle says: %s", text);
    }
    kn_scope_end(scope, KN_NONE);
    return accepted;
}

static bool try_case(const kiln_check *k, const kiln_case *changed, const char *label, char *text,
                     size_t room)
{
    kiln_check check = {k->run, changed, label, k->row};
    kiln_array values[KILN_MAX_INPUTS];
    kiln_case_values(changed, values);
    bool accepted = against_oracle(&check, values, KILN_CONTIGUOUS, NULL, text, room);
    kiln_free_values(values, changed->n_in);
    return accepted;
}

/* ---- broadcast: operands with stride 0 */

/* Makes the values equal along the first axis. */
static void flatten_first_axis(kiln_array *a)
{
    int64_t inner = a->shape.dims[0] ? a->count / a->shape.dims[0] : 0;
    for (int64_t i = inner; i < a->count; i++) {
        if (a->real)
            a->real[i] = a->real[i % inner];
        else
            a->integer[i] = a->integer[i % inner];
    }
}

static void run_broadcast(const kiln_check *k)
{
    bool matrices = k->row && !strcmp(k->row->kind, "linalg");
    kiln_array values[KILN_MAX_INPUTS];
    unsigned stretched[KILN_MAX_INPUTS] = {0};
    bool any = false;
    kiln_case_values(k->c, values);
    for (int i = 0; i < k->c->n_in; i++) {
        const kiln_operand *x = &k->c->in[i];
        bool special = x->flags & (KILN_SYMMETRIC | KILN_DOMINANT);
        if (x->kind == KILN_OPERAND_NONE || x->dtype != k->c->dtype) continue;
        if (x->shape.rank < (matrices || special ? 3 : 1) || values[i].count == 0) continue;
        flatten_first_axis(&values[i]);
        stretched[i] = 1;
        any = true;
    }
    char text[512] = "no operand has an axis to stretch";
    kiln_check check = {k->run, k->c, "broadcast", k->row};
    bool done = any && against_oracle(&check, values, KILN_BROADCAST, stretched, text, sizeof text);
    kiln_cell_note(&check, KILN_BROADCAST, done ? NULL : text);
    kiln_free_values(values, k->c->n_in);
}

/* ---- shapes: candidates are tried until the oracle takes one */

typedef bool (*reshape_fn)(kiln_case *c, int candidate);

static void clear_axes(kiln_case *c)
{
    for (int i = 0; i < c->attributes.n; i++) {
        kiln_attribute *a = &c->attributes.item[i];
        if (!strcmp(a->name, "axis")) a->integer = 0, a->real = 0;
        if (!strcmp(a->name, "axes")) a->list = KN_AXES_ALL;
    }
}

static bool make_scalar(kiln_case *c, int candidate)
{
    if (candidate > 3 || c->n_in == 0) return false;
    for (int i = 0; i < c->n_in; i++)
        if (i == 0 || candidate < 2) c->in[i].shape.rank = 0;
    if (candidate & 1) clear_axes(c);
    return true;
}

/* Replaces sizes by `size`: of operand 0 only or of all operands where they equal operand 0's, on the first axis, the
   last, or every axis. */
static bool replace_sizes(kiln_case *c, int candidate, int64_t size)
{
    if (c->n_in == 0 || c->in[0].shape.rank == 0) return false;
    bool last = candidate & 1, alone = candidate >= 2 && candidate < 4, everywhere = candidate >= 4;
    int64_t old = c->in[0].shape.dims[last ? c->in[0].shape.rank - 1 : 0];
    for (int i = 0; i < c->n_in; i++) {
        kn_shape *s = &c->in[i].shape;
        if (alone && i > 0) break;
        for (int a = 0; a < s->rank; a++)
            if (s->dims[a] == old && (everywhere || a == (last ? s->rank - 1 : 0))) s->dims[a] = size;
    }
    return true;
}

static bool make_empty(kiln_case *c, int candidate)
{
    return candidate < 6 && replace_sizes(c, candidate, 0);
}

static int64_t largest_count(const kiln_case *c)
{
    int64_t most = 1;
    for (int i = 0; i < c->n_in; i++) {
        int64_t n = kiln_shape_count(&c->in[i].shape);
        if (c->in[i].kind != KILN_OPERAND_NONE && n > most) most = n;
    }
    return most;
}

static int64_t large_budget(const kiln_case *c)
{
    static const char *const flat[] = {"elementwise", "movement", "reduce", "scan",
                                       "indexing",    "create",   "random"};
    kn_op_info row;
    if (!kn_op_find(c->op, &row)) return LARGE_DEEP;
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        if (!strcmp(row.kind, flat[i])) return LARGE_MOVED;
    return LARGE_DEEP;
}

static bool same_shapes(const kiln_case *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i].kind != KILN_OPERAND_MADE || !kiln_shape_equal(&c->in[i].shape, &c->in[0].shape))
            return false;
    return c->n_in > 0;
}

static void replace_attributes(kiln_case *c)
{
    for (int i = 0; i < c->large_attributes.n; i++) {
        const kiln_attribute *with = &c->large_attributes.item[i];
        int at = 0;
        while (at < c->attributes.n && strcmp(c->attributes.item[at].name, with->name)) at++;
        if (at == KILN_MAX_ATTRIBUTES) return;
        c->attributes.item[at] = *with;
        if (at == c->attributes.n) c->attributes.n++;
    }
}

/* All sizes above 1 times k. */
static void scale_all(kiln_case *c, int64_t budget)
{
    static const int64_t factors[] = {1025, 513, 257, 129, 65, 33, 17, 9, 5, 3, 2};
    kiln_case *scaled = kiln_allocate(sizeof *scaled);
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        *scaled = *c;
        for (int i = 0; i < c->n_in; i++)
            for (int a = 0; a < c->in[i].shape.rank; a++)
                if (c->in[i].shape.dims[a] > 1) scaled->in[i].shape.dims[a] *= factors[f];
        if (largest_count(scaled) <= budget || factors[f] == 2) break;
    }
    *c = *scaled;
    free(scaled);
}

static bool make_large(kiln_case *c, int candidate)
{
    int64_t budget = large_budget(c);
    replace_attributes(c);
    if (c->n_large) {
        for (int i = 0; i < c->n_in; i++) c->in[i].shape = c->large[i];
        return candidate == 0;
    }
    if (c->elementwise && same_shapes(c)) {
        for (int i = 0; i < c->n_in; i++) c->in[i].shape = (kn_shape){2, {LARGE_ROWS, LARGE_COLUMNS}};
        return candidate == 0;
    }
    if (candidate == 0) {
        scale_all(c, budget);
        return true;
    }
    if (candidate > 6 || c->n_in == 0 || c->in[0].shape.rank == 0) return false;
    int64_t old = c->in[0].shape.dims[(candidate - 1) & 1 ? c->in[0].shape.rank - 1 : 0];
    int64_t count = kiln_shape_count(&c->in[0].shape);
    if (old == 0 || count == 0) return false;
    return replace_sizes(c, candidate - 1, old * (budget / count + 1) + 1);
}

static void run_candidates(const kiln_check *k, kiln_layout layout, reshape_fn reshape)
{
    kiln_case *changed = kiln_allocate(sizeof *changed);
    char text[512] = "no operand has an axis";
    bool done = false;
    for (int candidate = 0; !done; candidate++) {
        *changed = *k->c;
        if (!reshape(changed, candidate)) break;
        done = try_case(k, changed, kiln_layout_names[layout], text, sizeof text);
    }
    kiln_cell_note(k, layout, done ? NULL : text);
    free(changed);
}

void kiln_run_shapes(const kiln_check *k)
{
    if (k->c->layouts) run_broadcast(k);
    if (!k->c->elementwise) run_candidates(k, KILN_SCALAR, make_scalar);
    if (!k->c->elementwise) run_candidates(k, KILN_EMPTY, make_empty);
    kiln_run_large(k);
}

void kiln_run_large(const kiln_check *k)
{
    if (k->c->no_large)
        kiln_cell_note(k, KILN_LARGE, "every case says that it has no large form");
    else
        run_candidates(k, KILN_LARGE, make_large);
}

/* The oracle once, the device in each layout that a kernel for large operands may read by its steps or have to copy. */
void kiln_run_always_large(const kiln_check *k)
{
    static const struct {
        kiln_layout layout;
        const char *label;
    } forms[] = {
        {KILN_CONTIGUOUS, "large"}, {KILN_PACKED, "large, packed"}, {KILN_TRANSPOSED, "large, transposed"}};
    kiln_case *changed = kiln_allocate(sizeof *changed);
    kiln_array values[KILN_MAX_INPUTS];
    kn_tensor got[KILN_MAX_OUTPUTS], want[KILN_MAX_OUTPUTS];
    kn_scope scope = kn_scope_begin();
    *changed = *k->c;
    (void)make_large(changed, 0);
    kiln_case_values(changed, values);
    kiln_check check = {k->run, changed, "large", k->row};
    int n_want = run_on(k->run->oracle, &check, values, KILN_CONTIGUOUS, NULL, want);
    kiln_array terms[KILN_MAX_OUTPUTS] = {{0}};
    if (!kiln_magnitudes(&check, values, terms)) kiln_result(&check, kn_last_error());
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        kn_scope inner = kn_scope_begin();
        check.label = forms[i].label;
        int n_got = run_on(k->run->device, &check, values, forms[i].layout, NULL, got);
        compare_outputs(&check, values, got, n_got, want, n_want, terms);
        kn_scope_end(inner, KN_NONE);
    }
    kn_scope_end(scope, KN_NONE);
    kiln_free_values(terms, KILN_MAX_OUTPUTS);
    kiln_free_values(values, changed->n_in);
    free(changed);
}

/* ---- dtypes without stored values */

static void run_dtype(const kiln_check *k, kn_dtype dtype)
{
    kiln_case *changed = kiln_allocate(sizeof *changed);
    *changed = *k->c;
    changed->dtype = dtype;
    for (int i = 0; i < changed->n_in; i++)
        if (k->c->in[i].dtype == k->c->dtype) changed->in[i].dtype = dtype;
    bool taken = k->row->dtypes >> dtype & 1;
    char text[512] = "";
    kiln_check check = {k->run, changed, taken ? "contiguous" : "other dtype", k->row};
    kiln_array values[KILN_MAX_INPUTS];
    kiln_case_values(changed, values);
    bool accepted = against_oracle(&check, values, KILN_CONTIGUOUS, NULL, text, sizeof text);
    for (int layout = KILN_CONTIGUOUS; accepted && taken && layout <= KILN_SLICED; layout++) {
        check.label = kiln_layout_names[layout];
        kiln_cell_note(&check, (kiln_layout)layout, NULL);
        if (layout != KILN_CONTIGUOUS)
            against_oracle(&check, values, (kiln_layout)layout, NULL, text, sizeof text);
    }
    kiln_free_values(values, changed->n_in);
    if (accepted && taken) {
        kiln_run_shapes(&check);
        if (changed->elementwise) run_candidates(&check, KILN_SCALAR, make_scalar);
        if (changed->elementwise) run_candidates(&check, KILN_EMPTY, make_empty);
    } else if (!accepted) {
        kiln_cell_note(&check, KILN_CONTIGUOUS, text);
        if (taken)
            kiln_result_text(&check, "the row takes this dtype, but: %s", text);
        else
            kiln_result(&check, text[0] ? NULL : "it fails without a message");
    }
    free(changed);
}

void kiln_run_dtypes(const kiln_check *k)
{
    bool varies = false;
    for (int i = 0; i < k->c->n_in; i++) varies = varies || k->c->in[i].dtype == k->c->dtype;
    for (int d = KN_F64; varies && d <= KN_BOOL; d++)
        if (!(k->run->stored[k->row->number] >> d & 1) && kiln_first_time(k->run, k->c->op, (kn_dtype)d))
            run_dtype(k, (kn_dtype)d);
}
