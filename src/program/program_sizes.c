/* Sizes that no input has as they are: "2 * n" and "n + 3" give n too, where everything else in the sum is known. */
#include "core/error.h"
#include "core/text.h"
#include "program/run_state.h"

/* ---- messages */

const char *kni_run_input_name(const kni_program *p, int32_t i, char *number)
{
    if (p->input_names && p->input_names[i] >= 0) return kni_name_at(p, p->input_names[i]);
    kni_text text = {number, KNI_RUN_NUMBER, 0};
    kni_text_format(&text, "%d", i);
    return number;
}

void kni_run_tell(const kni_run *run, kn_dim d, kni_text *text)
{
    kn_dim symbols[KNI_RUN_SIZES];
    char number[KNI_RUN_NUMBER];
    const char *before = ": ";
    int32_t n = kni_dim_symbols(d, symbols, 0, KNI_RUN_SIZES);
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = 0; i < run->n_sizes; i++) {
            if (run->symbols[i] != symbols[k]) continue;
            if (run->told[i] < 0)
                kni_text_format(text, "%s%s is %D", before, kni_dim_name(symbols[k]), run->sizes[i]);
            else
                kni_text_format(text, "%s%s is %D by input '%s'", before, kni_dim_name(symbols[k]),
                                run->sizes[i], kni_run_input_name(run->p, run->told[i], number));
            before = ", ";
        }
}

/* "n is 3 by axis 0 of input 'x', but 4 by axis 1" where both are one input. */
static void tell_both_axes(const kni_run *run, kn_dim d, int a, int64_t size, kni_text *text)
{
    for (int32_t k = 0; k < run->n_sizes; k++)
        if (run->symbols[k] == d)
            kni_text_format(text, ": %s is %D by axis %d, but %D by axis %d", kni_dim_name(d), run->sizes[k],
                            run->axes[k], size, a);
}

kn_status kni_run_differs(const kni_run *run, int32_t i, int a, const kni_type *have)
{
    char told[300] = "", number[KNI_RUN_NUMBER];
    kni_text text = {told, sizeof told, 0};
    const kni_type *want = &run->p->values[run->p->inputs[i]].type;
    const char *name = kni_run_input_name(run->p, i, number);
    kn_dim d = want->dims[a];
    bool alone = kni_dim_kind_of(d) == KNI_DIM_SYMBOL, own = false;
    for (int32_t k = 0; k < run->n_sizes; k++) own |= run->symbols[k] == d && run->told[k] == i;
    if (own)
        tell_both_axes(run, d, a, have->dims[a], &text);
    else
        kni_run_tell(run, d, &text);
    if (*told && alone && !own) kni_text_format(&text, ", but %D by input '%s'", have->dims[a], name);
    if (*told && !alone && kni_run_size(run, d) >= 0)
        kni_text_format(&text, ", so %D is %D, but %D here", d, kni_run_size(run, d), have->dims[a]);
    return kni_fail(KN_ERROR_SHAPE, "kn_program_run: input '%s' is %S; the program takes %S%s", name, have,
                    want, told);
}

void kni_run_explain(const kni_run *run)
{
    const kni_program *p = run->p;
    kn_status code = kni_latest_code();
    char number[KNI_RUN_NUMBER];
    if (!p->loose || code == KN_ERROR_MEMORY || code == KN_ERROR_DEVICE) return;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const kni_tensor *x = p->inputs[i] < 0 ? NULL : kni_peek(run->now[p->inputs[i]]);
        const kni_type *was = x ? &p->values[p->inputs[i]].type : NULL;
        if (!x || (was->rank == x->type.rank && kni_same_dims(was, &x->type))) continue;
        kni_error_continued(
            "; input '%s' is %S, and the program is a trace made with %S, which keeps such sizes: build "
            "it with kn_builder for others",
            kni_run_input_name(p, i, number), &x->type, was);
        return;
    }
}

/* ---- finding sizes */

/* factor * symbol + rest, where the symbol is the one thing in d that is not known yet. */
static bool is_linear(const kni_run *run, kn_dim d, kn_dim *symbol, int64_t *factor, int64_t *rest)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    bool found = false;
    if (kni_dim_kind_of(d) != KNI_DIM_SUM) return false;
    *rest = 0;
    for (int i = 0, n = kni_dim_terms(d, terms); i < n; i++) {
        int64_t value = terms[i].coefficient;
        bool known = true;
        for (int k = 0; k < terms[i].n_factors && known; k++) {
            int64_t size = kni_run_size(run, terms[i].factors[k]);
            known = size >= 0 && !__builtin_mul_overflow(value, size, &value);
        }
        if (known && __builtin_add_overflow(*rest, value, rest)) return false;
        if (known) continue;
        if (found || terms[i].n_factors != 1 || kni_dim_kind_of(terms[i].factors[0]) != KNI_DIM_SYMBOL)
            return false;
        found = true;
        *symbol = terms[i].factors[0];
        *factor = terms[i].coefficient;
    }
    return found;
}

/* Notes the symbols that follow from one type. have: the sizes of an input; NULL: any that are possible. */
static bool solve(kni_run *run, int32_t input, const kni_type *want, const kni_type *have)
{
    bool any = false;
    for (int a = 0; a < want->rank && run->n_sizes < KNI_RUN_SIZES; a++) {
        kn_dim symbol;
        int64_t factor, rest, value;
        if (!is_linear(run, want->dims[a], &symbol, &factor, &rest)) continue;
        value = kni_dim_low(symbol);
        if (have && (__builtin_sub_overflow(have->dims[a], rest, &rest) || rest % factor)) continue;
        if (have) value = rest / factor;
        if (value < kni_dim_low(symbol) || value > kni_dim_high(symbol)) continue;
        run->symbols[run->n_sizes] = symbol;
        run->told[run->n_sizes] = input;
        run->axes[run->n_sizes] = a;
        run->sizes[run->n_sizes++] = value;
        any = true;
    }
    return any;
}

void kni_run_solve(kni_run *run, const kn_tensor *inputs)
{
    const kni_program *p = run->p;
    bool again = true;
    while (again) {
        again = false;
        for (int32_t i = 0; i < p->n_inputs; i++) {
            const kni_tensor *x = p->inputs[i] < 0 ? NULL : kni_peek(inputs[i]);
            if (x) again |= solve(run, i, &p->values[p->inputs[i]].type, &x->type);
        }
    }
}

/* The symbols that stand alone in a shape, or follow from others. */
static void find_known(kni_run *run)
{
    const kni_program *p = run->p;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const kni_type *t = p->inputs[i] < 0 ? NULL : &p->values[p->inputs[i]].type;
        for (int a = 0; t && a < t->rank && run->n_sizes < KNI_RUN_SIZES; a++) {
            if (kni_dim_kind_of(t->dims[a]) != KNI_DIM_SYMBOL) continue;
            run->symbols[run->n_sizes] = t->dims[a];
            run->sizes[run->n_sizes++] = kni_dim_low(t->dims[a]);
        }
    }
    for (bool again = true; again;) {
        again = false;
        for (int32_t i = 0; i < p->n_inputs; i++)
            if (p->inputs[i] >= 0) again |= solve(run, i, &p->values[p->inputs[i]].type, NULL);
    }
}

/* The name of a symbol, in the type or the size, whose value follows from no input; NULL: there is none. */
static const char *untold(const kni_run *run, const kni_type *t, kn_dim size)
{
    kn_dim symbols[KNI_RUN_SIZES];
    int32_t n = size == KNI_DIM_BAD ? 0 : kni_dim_symbols(size, symbols, 0, KNI_RUN_SIZES);
    for (int a = 0; t && a < t->rank; a++) n = kni_dim_symbols(t->dims[a], symbols, n, KNI_RUN_SIZES);
    for (int32_t k = 0; k < n; k++) {
        bool known = false;
        for (int32_t j = 0; j < run->n_sizes; j++) known |= run->symbols[j] == symbols[k];
        if (!known) return kni_dim_name(symbols[k]);
    }
    return NULL;
}

static void note_read(kni_run *run, kn_dim symbol)
{
    if (run->n_sizes < KNI_RUN_SIZES) run->symbols[run->n_sizes++] = symbol;
}

/* The symbols that nodes bind, which no input may need. */
static void find_read(kni_run *run)
{
    const kni_program *p = run->p;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const kni_program_node *n = &p->nodes[i];
        if (n->kind == KNI_NODE_SIZE) note_read(run, n->size);
        for (int32_t k = 0; k < n->n_out && n->kind != KNI_NODE_OP; k++)
            for (int32_t a = 0; a < p->values[kni_node_out(p, n)[k]].type.rank; a++)
                if (kni_binds_axis(p, n, k, a)) note_read(run, p->values[kni_node_out(p, n)[k]].type.dims[a]);
    }
}

static kn_status check_input(const kni_run *run, int32_t i)
{
    const kni_program *p = run->p;
    const kni_type *t = &p->values[p->inputs[i]].type;
    const char *name = untold(run, t, KNI_DIM_BAD);
    if (!name) return KN_OK;
    return kni_fail(KN_ERROR_SHAPE,
                    "input '%s' is %S, which does not tell %s: an input needs %s alone, or as in 2 * %s + 3",
                    p->input_names && p->input_names[i] >= 0 ? kni_name_at(p, p->input_names[i]) : "", t,
                    name, name, name);
}

/* A name that only an attribute or the trips of a loop have could never get a value. */
static kn_status check_node(const kni_run *run, const kni_program_node *n)
{
    const kni_program *p = run->p;
    const char *name = n->kind == KNI_NODE_LOOP ? untold(run, NULL, n->loop.trips) : NULL;
    for (int32_t i = 0; i < n->n_out && !name; i++)
        name = untold(run, &p->values[kni_node_out(p, n)[i]].type, KNI_DIM_BAD);
    if (!name) return KN_OK;
    return kni_fail_op(KN_ERROR_SHAPE, n->kind == KNI_NODE_OP ? n->row->name : "loop",
                       "the size '%s' stands in no input's shape", name);
}

kn_status kni_program_check_sizes(kni_program *p)
{
    kni_run run = {.p = p};
    kni_dims *before = kni_dims_enter(p->dims);
    kn_status s = KN_OK;
    find_known(&run);
    for (int32_t i = 0; i < p->n_inputs && s == KN_OK && !p->loose; i++)
        if (p->inputs[i] >= 0) s = check_input(&run, i);
    find_read(&run);
    for (int32_t i = 0; i < p->n_nodes && s == KN_OK && !p->loose; i++) s = check_node(&run, &p->nodes[i]);
    kni_dims_enter(before);
    return s;
}
