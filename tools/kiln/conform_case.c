/* Running one case: its layouts against the stored values, or the error it must give. */
#include "conform_run.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe_attributes(const kiln_attributes *a, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < a->n && used < room; i++) {
        const kiln_attribute *x = &a->item[i];
        used += (size_t)snprintf(text + used, room - used, " %s=", x->name);
        if (used >= room) return;
        if (x->type == KILN_TEXT)
            used += (size_t)snprintf(text + used, room - used, "'%s'", x->text);
        else if (x->type != KILN_INTS)
            used += (size_t)snprintf(text + used, room - used, "%g", x->real);
        for (int j = 0; x->type == KILN_INTS && j < x->list.rank && used < room; j++)
            used += (size_t)snprintf(text + used, room - used, "%s%lld", j ? "," : "",
                                     (long long)x->list.dims[j]);
    }
}

static void describe_operands(const kiln_case *c, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < c->n_in && used < room; i++) {
        const kiln_operand *x = &c->in[i];
        if (x->kind == KILN_OPERAND_NONE) continue;
        used += (size_t)snprintf(text + used, room - used, " %s[", kn_dtype_name(x->dtype));
        for (int j = 0; j < x->shape.rank && used < room; j++)
            used += (size_t)snprintf(text + used, room - used, "%s%lld", j ? "," : "",
                                     (long long)x->shape.dims[j]);
        if (used < room) used += (size_t)snprintf(text + used, room - used, "]");
    }
}

void kiln_result(const kiln_check *k, const char *wrong)
{
    kiln_run *run = k->run;
    const bool lacks =
        wrong && strstr(wrong, "unsupported: ") == wrong && strstr(wrong, "the device has no f64");
    if (!wrong)
        run->passed++;
    else if (lacks)
        run->lacking++;
    else if (strstr(wrong, "unsupported: ") == wrong)
        run->skipped++;
    else
        run->failed++;
    if ((!wrong || lacks) && !run->verbose) return;
    char attributes[256], operands[256];
    describe_attributes(&k->c->attributes, attributes, sizeof attributes);
    describe_operands(k->c, operands, sizeof operands);
    printf("%s %s %s %s (%s)%s%s%s%s\n",
           lacks   ? "none"
           : wrong ? "FAIL"
                   : "ok",
           k->c->op, kn_dtype_name(k->c->dtype), k->label, k->c->name, operands, attributes,
           wrong ? ": " : "", wrong ? wrong : "");
    if (wrong) fflush(stdout);
}

void kiln_result_text(const kiln_check *k, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    kiln_result(k, text);
}

void kiln_cell_note(const kiln_check *k, kiln_layout layout, const char *no)
{
    if (!k->row) return;
    kiln_cell *cell = &k->run->cells[k->row->number][k->c->dtype][layout];
    if (!no) {
        cell->checks++;
    } else if (!cell->no) {
        cell->no = kiln_allocate(strlen(no) + 1);
        strcpy(cell->no, no);
    }
}

static int call_row(const kiln_case *c, const kn_op_info *row, const kn_tensor *in, kn_tensor *out)
{
    kn_attribute_value values[KILN_MAX_ATTRIBUTES + 1] = {{0}};
    for (int i = 0; i < c->attributes.n; i++) {
        const kiln_attribute *a = &c->attributes.item[i];
        values[i] = (kn_attribute_value){a->name, a->integer, a->real, a->list};
    }
    int n_out = row->n_out < 1 ? 1 : row->n_out;
    kn_status s = kn_call(c->op, in, c->n_in, values, out, row->n_out);
    if (s != KN_OK && kn_ok(out[0])) out[0] = kn_poison(s, NULL);
    return n_out;
}

int kiln_invoke(const kiln_case *c, const kn_op_info *row, const kn_tensor *in, kn_tensor *out)
{
    for (int i = 0; i < KILN_MAX_OUTPUTS; i++) out[i] = KN_NONE;
    const kiln_adapter *adapter = kiln_adapter_find(c->op);
    if (adapter) return adapter->run(in, c->n_in, &c->attributes, out, KILN_MAX_OUTPUTS);
    if (row) return call_row(c, row, in, out);
    out[0] = kn_poison(KN_ERROR_ARGUMENT, "neither an adapter nor a row of the op table has this name");
    return 1;
}

void kiln_case_values(const kiln_case *c, kiln_array *values)
{
    for (int i = 0; i < c->n_in; i++)
        values[i] = c->in[i].kind == KILN_OPERAND_NONE ? (kiln_array){0} : kiln_operand_values(&c->in[i]);
}

void kiln_free_values(kiln_array *values, int n)
{
    for (int i = 0; i < n; i++) kiln_array_free(&values[i]);
}

void kiln_case_operands(const kiln_case *c, const kiln_array *values, kiln_layout layout,
                        const unsigned *stretched, kn_tensor *in)
{
    for (int i = 0; i < c->n_in; i++) {
        in[i] = KN_NONE;
        if (c->in[i].kind != KILN_OPERAND_NONE)
            in[i] = kn_keep(kiln_tensor(&values[i], layout, stretched ? stretched[i] : 0));
    }
}

const char *kiln_failure_text(kn_tensor t, char *text, size_t room)
{
    size_t used = (size_t)snprintf(
        text, room, "%s", kn_error_code(t) == KN_ERROR_UNSUPPORTED ? "unsupported: " : "it failed: ");
    kn_error_text(t, text + used, room - used);
    return text;
}

void kiln_compare_output(const kiln_check *k, int index, kn_tensor result, const kiln_array *values)
{
    const kiln_output *y = &k->c->out[index];
    char text[512];
    kiln_array got, want;
    if (!kiln_array_read(&got, result)) {
        kiln_result(k, kn_ok(result) ? kn_last_error() : kiln_failure_text(result, text, sizeof text));
        return;
    }
    if (y->dtype == KN_DTYPE_NONE || y->shape_only) {
        bool same =
            y->dtype == KN_DTYPE_NONE || (got.dtype == y->dtype && kiln_shape_equal(&got.shape, &y->shape));
        kiln_result(k, same ? NULL : "the result has another dtype or shape than expected");
        kiln_array_free(&got);
        return;
    }
    want = kiln_wide_values(y->dtype, y->shape, y->values);
    kiln_tolerance tolerance = kiln_tolerance_of(k, values, k->c->n_in, &want);
    const char *wrong = kiln_compare(k, &got, &want, &tolerance);
    if (wrong && k->c->n_out > 1)
        kiln_result_text(k, "output %d: %s", index, wrong);
    else
        kiln_result(k, wrong);
    kiln_array_free(&got);
    kiln_array_free(&want);
}

static void check_values(const kiln_check *k, kiln_layout layout, bool taken)
{
    kiln_array values[KILN_MAX_INPUTS];
    kn_tensor in[KILN_MAX_INPUTS], out[KILN_MAX_OUTPUTS];
    kn_scope scope = kn_scope_begin();
    kiln_case_values(k->c, values);
    if (taken)
        for (int i = 0; i < k->c->n_in; i++)
            in[i] = values[i].dtype == KN_DTYPE_NONE ? KN_NONE : kiln_tensor(&values[i], layout, 0);
    else
        kiln_case_operands(k->c, values, layout, NULL, in);
    int n = kiln_invoke(k->c, k->row, in, out);
    char text[512];
    if (n > 0 && !kn_ok(out[0]) && out[0].bits)
        kiln_result(k, kiln_failure_text(out[0], text, sizeof text));
    else if (n != k->c->n_out)
        kiln_result_text(k, "%d outputs, expected %d", n, k->c->n_out);
    else
        for (int i = 0; i < n; i++) kiln_compare_output(k, i, out[i], values);
    kn_scope_end(scope, KN_NONE);
    kiln_free_values(values, k->c->n_in);
}

static void check_error(const kiln_check *k)
{
    kiln_array values[KILN_MAX_INPUTS];
    kn_tensor in[KILN_MAX_INPUTS], out[KILN_MAX_OUTPUTS];
    kn_scope scope = kn_scope_begin();
    kiln_case_values(k->c, values);
    kiln_case_operands(k->c, values, KILN_CONTIGUOUS, NULL, in);
    kiln_invoke(k->c, k->row, in, out);
    char text[512] = "";
    kn_status status = kn_ok(out[0]) ? KN_OK : kn_error_code(out[0]);
    kn_error_text(out[0], text, sizeof text);
    if (status == KN_OK) {
        /* Some failures are found by the device when the values are computed. */
        kiln_array got;
        if (kiln_array_read(&got, out[0])) kiln_array_free(&got);
        status = kn_ok(out[0]) ? KN_OK : kn_error_code(out[0]);
        kn_error_text(out[0], text, sizeof text);
    }
    if (status == KN_OK)
        kiln_result(k, "it must be an error, but it gave a result");
    else if (!(k->c->status >> status & 1))
        kiln_result_text(k, "the wrong status %s: %s", kn_status_name(status), text);
    else if (!strstr(text, k->c->text))
        kiln_result_text(k, "'%s' is not in the message: %s", k->c->text, text);
    else
        kiln_result(k, NULL);
    kn_scope_end(scope, KN_NONE);
    kiln_free_values(values, k->c->n_in);
}

static bool any_rank_above(const kiln_case *c, int rank)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i].kind != KILN_OPERAND_NONE && c->in[i].shape.rank > rank) return true;
    return false;
}

/* Whether an operand is an image, or may be taken for one. */
static bool any_channels(const kiln_case *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i].kind != KILN_OPERAND_NONE && kiln_has_channels(&c->in[i].shape)) return true;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static kiln_layout variant_layout(const kiln_case *c)
{
    if (ends_with(c->name, "-broadcast") || ends_with(c->name, "-ranks")) return KILN_BROADCAST;
    if (ends_with(c->name, "-scalar")) return KILN_SCALAR;
    return ends_with(c->name, "-empty") ? KILN_EMPTY : KILN_CONTIGUOUS;
}

void kiln_run_case(kiln_run *run, const kiln_case *c)
{
    kn_op_info row;
    kiln_check k = {run, c, "", kn_op_find(c->op, &row) ? &row : NULL};
    if (c->own_tolerance) run->own_tolerance++;
    if (c->status && run->as_c) return;
    if (c->status) {
        k.label = "error";
        check_error(&k);
        return;
    }
    kiln_layout variant = variant_layout(c);
    k.label = kiln_layout_names[variant];
    if (run->as_c) {
        k.label = "as C";
        kiln_run_as_c(&k);
        return;
    }
    check_values(&k, KILN_CONTIGUOUS, false);
    kiln_cell_note(&k, variant, NULL);
    if (!kiln_adapter_find(c->op) && k.row) {
        k.label = "taken";
        check_values(&k, KILN_CONTIGUOUS, true);
    }
    for (int layout = KILN_TRANSPOSED; c->layouts && layout <= KILN_SLICED; layout++) {
        k.label = kiln_layout_names[layout];
        if (!any_rank_above(c, layout == KILN_TRANSPOSED ? 1 : 0)) {
            kiln_cell_note(&k, (kiln_layout)layout, "no operand has enough axes");
            continue;
        }
        check_values(&k, (kiln_layout)layout, false);
        kiln_cell_note(&k, (kiln_layout)layout, NULL);
    }
    if (c->layouts && any_channels(c)) {
        k.label = "channels last";
        check_values(&k, KILN_CHANNELS_LAST, false);
    }
    kiln_run_stored(&k);
    if (run->tapes && c->differentiated) kiln_run_gradients(&k);
    if (c->always_large) {
        kiln_run_always_large(&k);
        return;
    }
    if (!kiln_first_time(run, c->op, c->dtype)) {
        if (k.row && !c->no_large && !run->cells[row.number][c->dtype][KILN_LARGE].checks) kiln_run_large(&k);
        return;
    }
    kiln_run_shapes(&k);
    if (k.row && !run->first[row.number]) {
        run->first[row.number] = kiln_allocate(sizeof *c);
        *run->first[row.number] = *c;
    }
}
