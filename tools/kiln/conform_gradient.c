/* Gradients of a case on a device that tapes: against PyTorch's, against central differences in f64, and the gradient of
   the gradient against differences of the gradient. */
#include "conform_run.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A gradient is made of several ops: it may be this many times as far off as its row (at least that many ulps). In
   halves each of them rounds: so many times, relative to the size of the terms that
   it sums, at least its largest element. */
static const double gradient_factor = 64, half_gradient_steps = 6;
/* Central differences: the step, and the error relative to the sum of |terms|. */
static const double step = 1e-5, difference_room = 2e-6, second_room = 2e-5;

typedef struct problem {
    const kiln_check *k;
    kiln_array values[KILN_MAX_INPUTS];
    int wrt[KILN_MAX_INPUTS], n_wrt;
} problem;

/* A tensor of cotangents for an output, as the generator makes them. */
static kn_tensor cotangent(const kiln_check *k, int output, kn_tensor y)
{
    kiln_array a = kiln_array_new(KN_F64, kn_shape_of_tensor(y));
    kiln_array_make(&a, k->c->out[output].cotangent, -1, 1, 0);
    kiln_array narrow = a;
    narrow.dtype = kn_dtype_of(y);
    kn_tensor t = kn_keep(kiln_tensor(&narrow, KILN_CONTIGUOUS, 0));
    kiln_array_free(&a);
    return t;
}

/* Runs the case with the wanted operands as leaves. The float outputs and their cotangents; -1 on failure. */
static int run_taped(const problem *p, kiln_layout layout, kn_tensor *leaves, kn_tensor *outputs,
                     kn_tensor *cotangents)
{
    kn_tensor in[KILN_MAX_INPUTS], out[KILN_MAX_OUTPUTS];
    kiln_case_operands(p->k->c, p->values, layout, NULL, in);
    for (int w = 0; w < p->n_wrt; w++) leaves[w] = in[p->wrt[w]] = kn_require_grad(in[p->wrt[w]]);
    int n = kiln_invoke(p->k->c, p->k->row, in, out), count = 0;
    for (int i = 0; i < n; i++) {
        if (!kn_ok(out[i])) {
            outputs[0] = out[i];
            return -1;
        }
        if (!kn_dtype_is_float(kn_dtype_of(out[i])) || i >= p->k->c->n_out) continue;
        outputs[count] = kn_keep(out[i]);
        cotangents[count] = cotangent(p->k, i, outputs[count]);
        count++;
    }
    return count;
}

/* Gradients as tensors; false with the failure told. */
static bool gradients(const problem *p, kiln_layout layout, uint32_t flags, kn_tensor *leaves,
                      kn_tensor *grads)
{
    kn_tensor outputs[KILN_MAX_OUTPUTS], cotangents[KILN_MAX_OUTPUTS];
    char text[512];
    int n = run_taped(p, layout, leaves, outputs, cotangents);
    if (n < 0) {
        kiln_result(p->k, kiln_failure_text(outputs[0], text, sizeof text));
        return false;
    }
    if (kn_grad(outputs, cotangents, n, leaves, p->n_wrt, flags | KN_GRAD_ALLOW_UNUSED, grads) == KN_OK)
        return true;
    kiln_result_text(p->k, "kn_grad failed: %s", kn_last_error());
    return false;
}

static bool read_gradient(const problem *p, int w, kn_tensor gradient, kiln_array *a)
{
    if (gradient.bits) return kiln_array_read(a, gradient);
    *a = kiln_array_new(p->values[p->wrt[w]].dtype, p->values[p->wrt[w]].shape);
    memset(a->real, 0, (size_t)a->count * 8);
    return true;
}

/* The coarsest dtype that a gradient passes through: the operand's, or that of a narrower output. */
static kn_dtype coarsest(const problem *p, kn_dtype dtype)
{
    for (int i = 0; i < p->k->c->n_out; i++) {
        kn_dtype d = p->k->c->out[i].dtype;
        if (d != KN_DTYPE_NONE && kn_dtype_limits(d).eps > kn_dtype_limits(dtype).eps) dtype = d;
    }
    return dtype;
}

static const char *compare_gradient(const problem *p, int w, kn_tensor gradient, kiln_array *want,
                                    double terms)
{
    kiln_array got;
    if (!read_gradient(p, w, gradient, &got)) return "the gradient cannot be read";
    want->dtype = p->values[p->wrt[w]].dtype;
    kiln_tolerance t = kiln_tolerance_of(p->k, p->values, p->k->c->n_in, want);
    t.dtype = coarsest(p, want->dtype);
    t.ulps = (t.ulps > 1 ? t.ulps : 1) * gradient_factor;
    t.roots *= gradient_factor;
    t.level = fmax(kiln_largest(want), terms);
    t.steps = kiln_is_half(t.dtype) ? half_gradient_steps : 0;
    t.scale = t.level;
    const char *wrong = kiln_compare(p->k, &got, want, &t);
    kiln_array_free(&got);
    return wrong;
}

static void check_stored(const problem *p, kiln_layout layout)
{
    kn_tensor leaves[KILN_MAX_INPUTS], grads[KILN_MAX_INPUTS];
    kn_scope scope = kn_scope_begin();
    if (gradients(p, layout, 0, leaves, grads)) {
        const char *wrong = NULL;
        int operand = 0;
        for (int g = 0; g < p->k->c->n_grads && !wrong; g++) {
            int w = 0;
            operand = p->k->c->grad_operand[g];
            while (w < p->n_wrt && p->wrt[w] != operand) w++;
            if (w == p->n_wrt) continue;
            kiln_array want = kiln_wide_values(KN_F64, p->k->c->in[operand].shape, p->k->c->grad_values[g]);
            wrong = compare_gradient(p, w, grads[w], &want, p->k->c->grad_size[g]);
            kiln_array_free(&want);
        }
        if (wrong)
            kiln_result_text(p->k, "operand %d: %s", operand, wrong);
        else
            kiln_result(p->k, NULL);
    }
    kn_scope_end(scope, KN_NONE);
}

/* ---- differences, all in f64 */

/* A random direction for each operand. */
static void make_directions(const problem *p, uint64_t salt, kiln_array *directions)
{
    for (int w = 0; w < p->n_wrt; w++) {
        directions[w] = kiln_array_new(KN_F64, p->values[p->wrt[w]].shape);
        kiln_array_make(&directions[w], kiln_mix(salt + (uint64_t)w), -1, 1, 0);
    }
}

static void move(problem *p, const kiln_array *directions, double by)
{
    for (int w = 0; w < p->n_wrt; w++) {
        kiln_array *x = &p->values[p->wrt[w]];
        for (int64_t i = 0; i < x->count; i++) x->real[i] += by * directions[w].real[i];
    }
}

/* Sum of the elements of a times those of b; the sum of absolute terms is added to *size. */
static double dot(const kiln_array *a, const kiln_array *b, double *size)
{
    double sum = 0;
    for (int64_t i = 0; i < a->count && i < b->count; i++) {
        sum += a->real[i] * b->real[i];
        *size += fabs(a->real[i] * b->real[i]);
    }
    return sum;
}

/* The sum of outputs times cotangents: what the gradient is the gradient of. */
static double objective(const problem *p, double *size)
{
    kn_tensor leaves[KILN_MAX_INPUTS], outputs[KILN_MAX_OUTPUTS], cotangents[KILN_MAX_OUTPUTS];
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    int n = run_taped(p, KILN_CONTIGUOUS, leaves, outputs, cotangents);
    kn_no_grad_end();
    double sum = n < 0 ? NAN : 0;
    for (int i = 0; i < n; i++) {
        kiln_array y, c;
        if (!kiln_array_read(&y, outputs[i])) continue;
        if (kiln_array_read(&c, cotangents[i])) sum += dot(&y, &c, size);
        kiln_array_free(&c);
        kiln_array_free(&y);
    }
    kn_scope_end(scope, KN_NONE);
    return sum;
}

/* The sum over operands of gradients times directions; false with the failure told. */
static bool along(const problem *p, const kn_tensor *grads, const kiln_array *directions, double *sum,
                  double *size)
{
    *sum = 0;
    for (int w = 0; w < p->n_wrt; w++) {
        kiln_array g;
        if (!read_gradient(p, w, grads[w], &g)) {
            kiln_result(p->k, "the gradient cannot be read");
            return false;
        }
        *sum += dot(&g, &directions[w], size);
        kiln_array_free(&g);
    }
    return true;
}

static bool gradient_along(const problem *p, const kiln_array *directions, double *sum, double *size)
{
    kn_tensor leaves[KILN_MAX_INPUTS], grads[KILN_MAX_INPUTS];
    kn_scope scope = kn_scope_begin();
    bool good = gradients(p, KILN_CONTIGUOUS, 0, leaves, grads) && along(p, grads, directions, sum, size);
    kn_scope_end(scope, KN_NONE);
    return good;
}

/* A NaN is never within the room. */
static bool agrees(double analytic, double numeric, double room) { return fabs(analytic - numeric) <= room; }

/* size is that of the terms, room the error allowed. The self-test leaves out sums that cancel to less than a
   thousandth of their terms. */
static void tell_difference(const kiln_check *k, double analytic, double numeric, double size, double room)
{
    room *= size;
    if (!agrees(analytic, numeric, room)) {
        kiln_result_text(k, "%.12g along a direction, by differences %.12g (room %.3g)", analytic, numeric,
                         room);
        return;
    }
    kiln_result(k, NULL);
    for (int s = 0; k->run->self_test && fabs(analytic) > 1e-3 * size && s < KILN_SPOIL_COUNT; s++)
        if (kiln_spoil_tried((kiln_spoil)s, NULL))
            kiln_spoil_note(k, KILN_DIFFERENCES, (kiln_spoil)s,
                            !agrees(kiln_spoil_value(analytic, (kiln_spoil)s), numeric, room));
}

static void check_differences(problem *p)
{
    kiln_array directions[KILN_MAX_INPUTS];
    double size = 1, unused = 0, analytic;
    make_directions(p, p->k->c->out[0].cotangent, directions);
    if (gradient_along(p, directions, &analytic, &size)) {
        move(p, directions, step);
        double above = objective(p, &size);
        move(p, directions, -2 * step);
        double below = objective(p, &unused);
        move(p, directions, step);
        tell_difference(p->k, analytic, (above - below) / (2 * step), size, difference_room);
    }
    kiln_free_values(directions, p->n_wrt);
}

/* The derivative along v of the gradient along w, by the tape; false with the failure told. A gradient that does not
   depend on the operands is on no tape, and its derivative is zero. */
static bool second_along(const problem *p, const kiln_array *w_directions, const kiln_array *v, double *sum,
                         double *size)
{
    kn_tensor leaves[KILN_MAX_INPUTS], grads[KILN_MAX_INPUTS], weights[KILN_MAX_INPUTS],
        seconds[KILN_MAX_INPUTS];
    kn_tensor parts[KILN_MAX_INPUTS];
    kn_scope scope = kn_scope_begin();
    bool good = gradients(p, KILN_CONTIGUOUS, KN_GRAD_CREATE_GRAPH, leaves, grads);
    int n = 0;
    for (int w = 0; good && w < p->n_wrt; w++) {
        if (!grads[w].bits || !kn_is_require_grad(grads[w])) continue;
        parts[n] = kn_keep(grads[w]);
        weights[n++] = kn_keep(kiln_tensor(&w_directions[w], KILN_CONTIGUOUS, 0));
    }
    *sum = 0;
    if (good && n > 0) {
        good = kn_grad(parts, weights, n, leaves, p->n_wrt, KN_GRAD_ALLOW_UNUSED, seconds) == KN_OK;
        if (!good) kiln_result_text(p->k, "kn_grad of the gradient failed: %s", kn_last_error());
        good = good && along(p, seconds, v, sum, size);
    }
    kn_scope_end(scope, KN_NONE);
    return good;
}

static void check_second(problem *p)
{
    kiln_array v[KILN_MAX_INPUTS], w[KILN_MAX_INPUTS];
    double size = 1, unused = 0, analytic, above, below;
    make_directions(p, p->k->c->out[0].cotangent + 1000, v);
    make_directions(p, p->k->c->out[0].cotangent + 2000, w);
    if (second_along(p, w, v, &analytic, &size)) {
        move(p, v, step);
        bool good = gradient_along(p, w, &above, &size);
        move(p, v, -2 * step);
        good = good && gradient_along(p, w, &below, &unused);
        move(p, v, step);
        if (good) tell_difference(p->k, analytic, (above - below) / (2 * step), size, second_room);
    }
    kiln_free_values(v, p->n_wrt);
    kiln_free_values(w, p->n_wrt);
}

/* Differences need finite operands and results in f64. */
static bool can_differ(const problem *p)
{
    if (p->k->c->dtype != KN_F64 || coarsest(p, KN_F64) != KN_F64) return false;
    for (int i = 0; i < p->k->c->n_in; i++)
        for (int64_t n = 0; p->values[i].real && n < p->values[i].count; n++)
            if (!isfinite(p->values[i].real[n])) return false;
    return true;
}

/* Notes for the rows of a case that a second gradient was checked, or why this case has none. */
static void note_second(const kiln_check *k, bool done)
{
    for (int i = -1; i < k->c->n_covers; i++) {
        kn_op_info row;
        if (!kn_op_find(i < 0 ? k->c->op : k->c->covers[i], &row)) continue;
        if (done)
            k->run->second[row.number] = true;
        else if (k->c->text[0] && !k->run->no_second[row.number])
            k->run->no_second[row.number] = strcpy(kiln_allocate(strlen(k->c->text) + 1), k->c->text);
    }
}

static bool any_channels(const problem *p)
{
    for (int i = 0; i < p->k->c->n_in; i++)
        if (p->values[i].dtype != KN_DTYPE_NONE && kiln_has_channels(&p->values[i].shape)) return true;
    return false;
}

/* A device that refuses a dtype in the simplest op has it in none. */
static bool refuses_dtype(const kiln_check *k, const char **why)
{
    kn_op_info simplest;
    return kn_op_find("neg", &simplest) &&
           kn_op_support(k->run->device, simplest.number, k->c->dtype, why) == KN_SUPPORT_NO;
}

void kiln_run_gradients(const kiln_check *check)
{
    kiln_check k = *check;
    problem p = {.k = &k};
    const char *why = "";
    if (refuses_dtype(&k, &why)) {
        k.label = "gradient";
        kiln_result_text(&k, "unsupported: %s", why);
        return;
    }
    kiln_case_values(k.c, p.values);
    for (int i = 0; i < k.c->n_in; i++)
        if ((k.c->differentiated >> i & 1) && p.values[i].real) p.wrt[p.n_wrt++] = i;
    if (p.n_wrt && k.c->n_grads) {
        k.label = "gradient";
        check_stored(&p, KILN_CONTIGUOUS);
        if (k.c->layouts) {
            k.label = "gradient, sliced";
            check_stored(&p, KILN_SLICED);
            k.label = "gradient, channels last";
            if (any_channels(&p)) check_stored(&p, KILN_CHANNELS_LAST);
        }
    }
    if (p.n_wrt && !k.c->no_differences && can_differ(&p)) {
        k.label = "gradient by differences";
        check_differences(&p);
        k.label = "second gradient";
        if (k.c->second) check_second(&p);
        if (k.c->second) note_second(&k, true);
    }
    if (!k.c->second) note_second(&k, false);
    kiln_free_values(p.values, k.c->n_in);
}
