/* Ops as calls of the public functions: a table of forms, and what a table cannot say. An op without a form is a kn_call. */
#include "core/error.h"
#include "ops/custom_rows.h"
#include "program/source/source_parts.h"
#include <kn/tensor.h>

/* ---- attributes */

typedef struct attribute {
    const kn_attribute *row;
    double real;
    kn_ints list; /* a whole number is a list of one */
} attribute;

enum { ATTRIBUTES = 24 };

typedef struct call {
    kni_source *s;
    const kni_program_node *node;
    const int32_t *in;
    attribute attributes[ATTRIBUTES];
    int32_t n;
} call;

static void read_attributes(call *c, kni_source *s, const kni_program_node *n)
{
    const char *place = kni_node_attributes(s->p, n);
    *c = (call){.s = s, .node = n, .in = kni_node_in(s->p, n)};
    for (const kn_attribute *a = kni_schema_of(n->row); a->name && c->n < ATTRIBUTES; a++) {
        attribute *x = &c->attributes[c->n++];
        x->row = a;
        if (a->type == KNI_ATTR_REAL)
            memcpy(&x->real, place + a->offset, sizeof x->real);
        else
            x->list = kni_whole_numbers(a, place);
    }
}

static const attribute *attribute_of(const call *c, const char *name, size_t n)
{
    for (int32_t i = 0; i < c->n; i++)
        if (strlen(c->attributes[i].row->name) == n && !memcmp(c->attributes[i].row->name, name, n))
            return &c->attributes[i];
    return NULL;
}

static int64_t whole_of(const call *c, const char *name)
{
    const attribute *a = attribute_of(c, name, strlen(name));
    return a ? a->list.dims[0] : 0;
}

static bool is_zero(const attribute *a)
{
    if (a->row->type == KNI_ATTR_REAL) return a->real == 0;
    for (int32_t i = 0; i < a->list.rank; i++)
        if (a->list.dims[i] != 0) return false;
    return true;
}

static bool is_all(const kn_ints *list, int64_t value)
{
    for (int32_t i = 0; i < list->rank; i++)
        if (list->dims[i] != value) return false;
    return true;
}

static void print_as(call *c, kni_buffer *out, const attribute *a, const char *kind, size_t n)
{
    kni_source *s = c->s;
    if (a->row->type == KNI_ATTR_REAL)
        kni_source_real(out, a->real);
    else if (n == 5 && !memcmp(kind, "dtype", n))
        kni_source_dtype(out, (kn_dtype)a->list.dims[0]);
    else if (n == 4 && !memcmp(kind, "bool", n))
        kni_buffer_text(out, a->list.dims[0] ? "true" : "false");
    else if (n == 5 && !memcmp(kind, "shape", n))
        kni_source_shape(s, out, a->list.rank, a->list.dims);
    else if (n == 4 && !memcmp(kind, "axes", n))
        kni_source_list(s, out, "KN_AXES", "KN_AXES_ALL", a->list.rank, a->list.dims);
    else if (a->row->type == KNI_ATTR_INT)
        kni_source_size(s, out, a->list.dims[0]);
    else
        kni_source_list(s, out, "KN_INTS", "KN_SCALAR_SHAPE", a->list.rank, a->list.dims);
}

/* ---- forms: $0 is an operand, @axis an attribute, @axis:kind one that is written in another way. */

typedef struct form {
    const char *op, *text;
    const char *
        when; /* "negative=1": other attributes that must have a value; those that are named nowhere must be 0 */
    const char *type;   /* of the struct of several results; NULL: the tensor itself */
    const char *fields; /* its members in the order of the results */
} form;

static const form forms[] = {
    {"leaky_relu", "kn_leaky_relu($0, @slope)", NULL, NULL, NULL},
    {"softplus", "kn_softplus($0, @beta, @threshold)", NULL, NULL, NULL},
    {"hard_sigmoid", "kn_hard_sigmoid($0, @alpha, @beta)", NULL, NULL, NULL},
    {"elu", "kn_elu($0, @alpha)", NULL, NULL, NULL},
    {"celu", "kn_celu($0, @alpha)", NULL, NULL, NULL},
    {"hardtanh", "kn_hardtanh($0, @low, @high)", NULL, NULL, NULL},
    {"threshold", "kn_threshold($0, @threshold, @value)", NULL, NULL, NULL},
    {"logit", "kn_logit($0, @eps)", NULL, NULL, NULL},
    {"is_close", "kn_is_close($0, $1, @rtol, @atol, @equal_nan:bool)", NULL, NULL, NULL},
    {"cast", "kn_cast($0, @dtype:dtype)", NULL, NULL, NULL},
    {"softmax", "kn_softmax($0, @axis)", NULL, NULL, NULL},
    {"log_softmax", "kn_log_softmax($0, @axis)", NULL, NULL, NULL},
    {"layer_norm", "kn_layer_norm($0, $1, $2, @n_axes, @eps)", NULL, NULL, NULL},
    {"rms_norm", "kn_rms_norm($0, $1, @n_axes, @eps)", NULL, NULL, NULL},
    {"batch_norm", "kn_batch_norm($0, $1, $2, $3, $4, @eps)", NULL, NULL, NULL},
    {"linear", "kn_linear($0, $1, $2)", NULL, NULL, NULL},
    {"linear_quantized", "kn_linear_quantized($0, $1, $2, $3, $4, NULL)", NULL, NULL, NULL},
    {"linear_quantized",
     "kn_linear_quantized($0, $1, $2, $3, $4, &(kn_linear_quantized_args){.block = @block, .bits = @bits})",
     NULL, NULL, NULL},
    {"reshape", "kn_reshape($0, @shape:shape)", NULL, NULL, NULL},
    {"permute", "kn_permute($0, @axes:axes)", NULL, NULL, NULL},
    {"expand", "kn_expand($0, @shape:shape)", NULL, NULL, NULL},
    {"take", "kn_index_take($0, @axis, $1)", "negative=1", NULL, NULL},
    {"take", "kn_index_select($0, @axis, $1)", "listed", NULL, NULL},
    {"take", "kn_index_take($0, @axis, $1)", NULL, NULL, NULL},
    {"gather", "kn_gather_along($0, @axis, $1)", "negative=1", NULL, NULL},
    {"gather", "kn_gather($0, @axis, $1)", NULL, NULL, NULL},
    {"sum", "kn_sum($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"prod", "kn_prod($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"mean", "kn_mean($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"max", "kn_max($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"min", "kn_min($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"any", "kn_any($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"all", "kn_all($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"logsumexp", "kn_logsumexp($0, @axes:axes, @keep:bool)", NULL, NULL, NULL},
    {"argmax", "kn_argmax($0, @axis, @keep:bool)", NULL, NULL, NULL},
    {"argmin", "kn_argmin($0, @axis, @keep:bool)", NULL, NULL, NULL},
    {"cumsum", "kn_cumsum($0, @axis)", NULL, NULL, NULL},
    {"cumprod", "kn_cumprod($0, @axis)", NULL, NULL, NULL},
    {"sort", "kn_sort($0, @axis, @descending:bool)", NULL, "kn_indexed", "values indices"},
    {"topk", "kn_topk($0, @k, @axis, NULL)", NULL, "kn_indexed", "values indices"},
    {"linspace", "kn_linspace(@start, @stop, @length, @dtype:dtype)", NULL, NULL, NULL},
    {"random_normal", "kn_random_normal(@shape:shape, @mean, @deviation, @dtype:dtype)", "drawn", NULL, NULL},
    {"cholesky", "kn_cholesky($0, @upper:bool)", NULL, NULL, NULL},
    {"adaptive_avg_pool", "kn_adaptive_avg_pool#d($0, @size)", "spatial", NULL, NULL},
};

/* Ops whose function has their name and takes their operands, and nothing else. */
static const char plain[] =
    " add sub mul div floor_div remainder fmod pow atan2 hypot maximum minimum copysign neg abs exp log sqrt "
    "tanh equal not_equal less "
    "less_equal greater greater_equal where relu sigmoid logical_and logical_or logical_xor logical_not "
    "square trunc sign reciprocal "
    "exp2 expm1 log2 log10 log1p rsqrt round floor ceil frac sin cos tan sinh cosh asin acos atan asinh "
    "acosh atanh erf erfc is_nan "
    "is_inf is_finite bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift "
    "gelu gelu_approximate "
    "log_sigmoid silu hard_swish mish selu tanhshrink softsign relu6 matmul gather_nd det lerp mul_add ";

static bool is_plain(const char *op)
{
    char word[64];
    return snprintf(word, sizeof word, " %s ", op) < (int)sizeof word && strstr(plain, word);
}

/* Whether "name=1" says what the attribute is. */
static bool holds(const call *c, const char *when)
{
    const char *equals = strchr(when, '=');
    const attribute *a = equals ? attribute_of(c, when, (size_t)(equals - when)) : NULL;
    return a && a->list.dims[0] == strtoll(equals + 1, NULL, 10);
}

static bool names(const form *f, const char *attribute_name)
{
    size_t n = strlen(attribute_name);
    for (const char *at = strchr(f->text, '@'); at; at = strchr(at + 1, '@'))
        if (!strncmp(at + 1, attribute_name, n) &&
            !strchr("abcdefghijklmnopqrstuvwxyz_0123456789", at[1 + n]))
            return true;
    return f->when && !strncmp(f->when, attribute_name, n) && f->when[n] == '=';
}

static bool fits(const call *c, const form *f)
{
    if (strcmp(f->op, c->node->row->name) != 0) return false;
    if (f->when && strchr(f->when, '=') && !holds(c, f->when)) return false;
    if (f->when && !strcmp(f->when, "listed") && c->s->p->values[c->in[1]].type.rank != 1) return false;
    bool drawn = f->when && !strcmp(f->when, "drawn"), spatial = f->when && !strcmp(f->when, "spatial");
    for (int32_t i = 0; i < c->n; i++) {
        const char *name = c->attributes[i].row->name;
        if (drawn && (!strcmp(name, "key") || !strcmp(name, "counter"))) continue;
        if (spatial && !strcmp(name, "input")) continue;
        if (!names(f, name) && !is_zero(&c->attributes[i])) return false;
    }
    return true;
}

static void print_form(call *c, kni_buffer *out, const form *f)
{
    for (const char *at = f->text; *at; at++) {
        if (*at == '$') {
            int32_t i = *++at - '0';
            kni_source_operand(c->s, out, i < c->node->n_in ? c->in[i] : -1);
        } else if (*at == '@') {
            size_t n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
            const attribute *a = attribute_of(c, at + 1, n);
            at += n;
            size_t k = at[1] == ':' ? strspn(at + 2, "abcdefghijklmnopqrstuvwxyz") : 0;
            if (a) print_as(c, out, a, at + 2, k);
            if (k) at += k + 1;
        } else if (*at == '#') {
            kni_buffer_decimal(out, c->s->p->values[c->in[0]].type.rank - 2);
        } else {
            kni_buffer_format(out, "%c", *at);
        }
    }
}

/* ---- what a form cannot say: structs of settings of which those are named that are not the default */

typedef struct settings {
    kni_buffer *out;
    bool any;
} settings;

static void setting(settings *t, const char *type, const char *name)
{
    kni_buffer_format(t->out, t->any ? ", .%s = " : "&(%s){.%s = ", t->any ? name : type, name);
    t->any = true;
}

static void end_settings(settings *t) { kni_buffer_text(t->out, t->any ? "}" : "NULL"); }

/* {2, 2}; one number stands for all where `alike`. zero: what an entry of 0 is written as. */
static void print_array(kni_source *s, kni_buffer *out, const kn_ints *list, const char *zero)
{
    kni_buffer_text(out, "{");
    for (int32_t i = 0; i < list->rank; i++) {
        if (i) kni_buffer_text(out, ", ");
        if (list->dims[i] == 0)
            kni_buffer_text(out, zero);
        else
            kni_source_size(s, out, list->dims[i]);
    }
    kni_buffer_text(out, "}");
}

static bool is_same(const kn_ints *a, const kn_ints *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static void window_settings(call *c, kni_buffer *out, const char *type, bool transposed)
{
    static const char *const lists[] = {"stride", "padding", "dilation"};
    const attribute *window = attribute_of(c, "window", 6);
    settings t = {out, false};
    for (int i = 0; i < 3; i++) {
        const attribute *a = attribute_of(c, lists[i], strlen(lists[i]));
        /* A pool whose stride is not given steps by its window. */
        bool by_window = i == 0 && window;
        if (!a || !a->list.rank ||
            (by_window ? is_same(&a->list, &window->list) : is_all(&a->list, i == 1 ? 0 : 1)))
            continue;
        setting(&t, type, lists[i]);
        print_array(c->s, out, &a->list, "0");
    }
    const attribute *before = attribute_of(c, "padding", 7), *after = attribute_of(c, "padding_end", 11);
    if (after && after->list.rank && !is_same(&before->list, &after->list)) {
        setting(&t, type, "padding_end");
        print_array(c->s, out, &after->list, "KN_ZERO");
    }
    const attribute *extra = transposed ? attribute_of(c, "output_padding", 14) : NULL;
    if (extra && !is_zero(extra)) {
        setting(&t, type, "output_padding");
        print_array(c->s, out, &extra->list, "0");
    }
    if (whole_of(c, "groups") > 1) {
        setting(&t, type, "groups");
        kni_buffer_decimal(out, whole_of(c, "groups"));
    }
    static const char *const flags[] = {"ceil_mode", "exclude_padding"};
    for (int i = 0; i < 2; i++)
        if (attribute_of(c, flags[i], strlen(flags[i])) && whole_of(c, flags[i])) {
            setting(&t, type, flags[i]);
            kni_buffer_text(out, "true");
        }
    if (attribute_of(c, "divisor", 7) && whole_of(c, "divisor") > 0) {
        setting(&t, type, "divisor");
        kni_buffer_decimal(out, whole_of(c, "divisor"));
    }
    end_settings(&t);
}

/* Some models crop what a transposed convolution gives; its function does not. */
static bool has_negative(const attribute *a)
{
    for (int32_t i = 0; a && i < a->list.rank; i++)
        if (!kni_dim_is_expression(a->list.dims[i]) && a->list.dims[i] < 0) return true;
    return false;
}

static bool print_conv(call *c, kni_buffer *out)
{
    bool transposed = attribute_of(c, "output_padding", 14) != NULL;
    int axes = c->s->p->values[c->in[0]].type.rank - 2;
    const attribute *before = attribute_of(c, "padding", 7), *after = attribute_of(c, "padding_end", 11);
    if (axes < 1 || axes > 3 || has_negative(before) || has_negative(after)) return false;
    char type[40];
    snprintf(type, sizeof type, transposed ? "kn_conv_transpose%dd_args" : "kn_conv%dd_args", axes);
    kni_buffer_format(out, transposed ? "kn_conv_transpose%dd(" : "kn_conv%dd(", axes);
    for (int i = 0; i < 3; i++) {
        kni_source_operand(c->s, out, i < c->node->n_in ? c->in[i] : -1);
        kni_buffer_text(out, ", ");
    }
    window_settings(c, out, type, transposed);
    kni_buffer_text(out, ")");
    return true;
}

static bool print_pool(call *c, kni_buffer *out)
{
    const attribute *window = attribute_of(c, "window", 6);
    kni_buffer_format(out, "kn_%.3s_pool%dd(", c->node->row->name, (int)whole_of(c, "axes"));
    kni_source_operand(c->s, out, c->in[0]);
    kni_buffer_text(out, ", ");
    kni_source_list(c->s, out, "KN_INTS", "KN_SCALAR_SHAPE", window->list.rank, window->list.dims);
    kni_buffer_text(out, ", ");
    window_settings(c, out, "kn_pool_args", false);
    kni_buffer_text(out, ")");
    return true;
}

static bool print_slice(call *c, kni_buffer *out)
{
    const kn_ints *start = &attribute_of(c, "start", 5)->list, *stop = &attribute_of(c, "stop", 4)->list,
                  *step = &attribute_of(c, "step", 4)->list;
    const kni_type *x = &c->s->p->values[c->in[0]].type;
    int32_t axis = -1, cut = 0;
    for (int32_t i = 0; i < start->rank; i++) {
        bool whole = start->dims[i] == 0 && (step->dims[i] == 1 || step->dims[i] == 0) &&
                     (stop->dims[i] == INT64_MAX || kni_dim_equal(stop->dims[i], x->dims[i]) == KNI_YES);
        if (!whole) axis = i, cut++;
    }
    if (start->rank != stop->rank || start->rank != step->rank) return false;
    if (cut == 1) {
        kni_buffer_text(out, "kn_slice(");
        kni_source_operand(c->s, out, c->in[0]);
        kni_buffer_format(out, ", %d, ", (int)axis);
        kni_source_size(c->s, out, start->dims[axis]);
        kni_buffer_text(out, ", ");
        kni_source_size(c->s, out, stop->dims[axis]);
        kni_buffer_text(out, ", ");
        kni_source_size(c->s, out, step->dims[axis] ? step->dims[axis] : 1);
        kni_buffer_text(out, ")");
        return true;
    }
    kni_buffer_text(out, "kn_slice_ranges(");
    kni_source_operand(c->s, out, c->in[0]);
    kni_buffer_text(out, ", (kn_range[]){");
    for (int32_t i = 0; i < start->rank; i++) {
        kni_buffer_text(out, i ? ", {" : "{");
        kni_source_size(c->s, out, start->dims[i]);
        kni_buffer_text(out, ", ");
        kni_source_size(c->s, out, stop->dims[i]);
        kni_buffer_text(out, ", ");
        kni_source_size(c->s, out, step->dims[i] ? step->dims[i] : 1);
        kni_buffer_text(out, "}");
    }
    kni_buffer_format(out, "}, %d)", (int)start->rank);
    return start->rank > 0;
}

static bool print_full(call *c, kni_buffer *out)
{
    const attribute *shape = attribute_of(c, "shape", 5);
    kn_dtype dtype = (kn_dtype)whole_of(c, "dtype");
    bool is_real = kn_dtype_is_float(dtype);
    double value = attribute_of(c, "value", 5)->real;
    kni_buffer_text(out, is_real ? "kn_full(" : "kn_full_int(");
    kni_source_shape(c->s, out, shape->list.rank, shape->list.dims);
    kni_buffer_text(out, ", ");
    if (is_real)
        kni_source_real(out, value);
    else
        kni_source_size(c->s, out, whole_of(c, "whole"));
    kni_buffer_text(out, ", ");
    kni_source_dtype(out, dtype);
    kni_buffer_text(out, ")");
    return true;
}

static bool print_attention(call *c, kni_buffer *out)
{
    settings t = {out, false};
    static const char *const known[] = {"scale", "softcap", "is_causal"};
    for (int32_t i = 0; i < c->n; i++) {
        bool named = false;
        for (int k = 0; k < 3; k++) named |= !strcmp(c->attributes[i].row->name, known[k]);
        if (!named && !is_zero(&c->attributes[i])) return false;
    }
    for (int32_t i = 5; i < c->node->n_in; i++)
        if (c->in[i] >= 0) return false;
    kni_buffer_text(out, "kn_attention(");
    for (int i = 0; i < 3; i++) {
        kni_source_operand(c->s, out, c->in[i]);
        kni_buffer_text(out, ", ");
    }
    for (int32_t i = 3; i < c->node->n_in; i++)
        if (c->in[i] >= 0) {
            setting(&t, "kn_attention_args", i == 3 ? "mask" : "bias");
            kni_source_operand(c->s, out, c->in[i]);
        }
    for (int k = 0; k < 3; k++) {
        const attribute *a = attribute_of(c, known[k], strlen(known[k]));
        if (!a || is_zero(a)) continue;
        setting(&t, "kn_attention_args", known[k]);
        print_as(c, out, a, "bool", 4);
    }
    end_settings(&t);
    kni_buffer_text(out, ")");
    return true;
}

static bool print_concat(call *c, kni_buffer *out)
{
    kni_buffer_text(out, "kn_concat(");
    kni_source_operands(c->s, out, c->in, c->node->n_in);
    kni_buffer_format(out, ", %d, %lld)", (int)c->node->n_in, (long long)whole_of(c, "axis"));
    return true;
}

static bool print_pad(call *c, kni_buffer *out)
{
    static const char *const modes[] = {NULL, "KN_PAD_REFLECT", "KN_PAD_EDGE", "KN_PAD_WRAP", "KN_PAD_ZEROS"};
    const attribute *before = attribute_of(c, "before", 6), *after = attribute_of(c, "after", 5);
    int64_t mode = whole_of(c, "mode");
    double value = attribute_of(c, "value", 5)->real;
    settings t = {out, false};
    if (mode < 0 || mode > 4 || !before->list.rank || !after->list.rank) return false;
    kni_buffer_text(out, "kn_pad(");
    kni_source_operand(c->s, out, c->in[0]);
    kni_buffer_text(out, ", ");
    setting(&t, "kn_pad_args", "before");
    print_as(c, out, before, "", 0);
    setting(&t, "kn_pad_args", "after");
    print_as(c, out, after, "", 0);
    if (mode) {
        setting(&t, "kn_pad_args", "mode");
        kni_buffer_text(out, modes[mode]);
    }
    if (value != 0) {
        setting(&t, "kn_pad_args", "value");
        kni_source_real(out, value);
    }
    end_settings(&t);
    kni_buffer_text(out, ")");
    return true;
}

/* 0, 1, 2 ... */
static bool print_counting(call *c, kni_buffer *out)
{
    kn_dtype dtype = (kn_dtype)whole_of(c, "dtype");
    bool real = kn_dtype_is_float(dtype);
    double start = attribute_of(c, "start", 5)->real, step = attribute_of(c, "step", 4)->real;
    if (real ? start != 0 || step != 1 : whole_of(c, "whole_start") != 0 || whole_of(c, "whole_step") != 1)
        return false;
    kni_buffer_text(out, "kn_arange(0, (double)");
    kni_source_size(c->s, out, whole_of(c, "length"));
    kni_buffer_text(out, ", 1, ");
    kni_source_dtype(out, dtype);
    kni_buffer_text(out, ")");
    return true;
}

static const struct {
    const char *op;
    bool (*print)(call *c, kni_buffer *out);
} printers[] = {{"conv", print_conv},
                {"conv_transpose", print_conv},
                {"avg_pool", print_pool},
                {"max_pool_values", print_pool},
                {"slice", print_slice},
                {"full", print_full},
                {"attention", print_attention},
                {"concat", print_concat},
                {"pad", print_pad},
                {"iota", print_counting}};

/* ---- any op by its name */

static void print_attribute_values(call *c, kni_buffer *out)
{
    bool any = false;
    for (int32_t i = 0; i < c->n; i++)
        any |= !is_zero(&c->attributes[i]) ||
               (c->attributes[i].row->type == KNI_ATTR_INTS && c->attributes[i].list.rank);
    if (!any) {
        kni_buffer_text(out, "NULL");
        return;
    }
    kni_buffer_text(out, "(kn_attribute_value[]){");
    for (int32_t i = 0; i < c->n; i++) {
        const attribute *a = &c->attributes[i];
        if (is_zero(a) && !(a->row->type == KNI_ATTR_INTS && a->list.rank)) continue;
        kni_buffer_format(out, "{\"%s\", .%s = ", a->row->name,
                          a->row->type == KNI_ATTR_REAL  ? "real"
                          : a->row->type == KNI_ATTR_INT ? "integer"
                                                         : "list");
        print_as(c, out, a, "", 0);
        kni_buffer_text(out, "}, ");
    }
    kni_buffer_text(out, "{0}}");
}

static void print_any(call *c, kni_buffer *out)
{
    const kni_program_node *n = c->node;
    kni_source_text(out, n->row->name);
    kni_buffer_text(out, ", ");
    if (n->n_in)
        kni_source_operands(c->s, out, c->in, n->n_in);
    else
        kni_buffer_text(out, "NULL");
    kni_buffer_format(out, ", %d, ", (int)n->n_in);
    print_attribute_values(c, out);
}

/* ---- statements */

static const form *form_of(const call *c)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (fits(c, &forms[i])) return &forms[i];
    return NULL;
}

/* The call as an expression; false, with what was printed to be taken back, where there is none. */
static bool print_call(call *c, kni_buffer *out, const form *f)
{
    const char *op = c->node->row->name;
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++)
        if (!strcmp(printers[i].op, op)) return printers[i].print(c, out);
    if (f) return print_form(c, out, f), true;
    if (!is_plain(op)) return false;
    for (int32_t i = 0; i < c->n; i++)
        if (!is_zero(&c->attributes[i])) return false;
    kni_buffer_format(out, "kn_%s(", op);
    for (int32_t i = 0; i < c->node->n_in; i++) {
        if (i) kni_buffer_text(out, ", ");
        kni_source_operand(c->s, out, c->in[i]);
    }
    kni_buffer_text(out, ")");
    return true;
}

static void print_one(kni_source *s, call *c, const form *f, int32_t result)
{
    kni_buffer *out = &s->body;
    kni_source_line(s);
    kni_source_begin_value(s, result);
    size_t before = out->length;
    if (!print_call(c, out, f) && !out->failed) {
        out->length = before;
        s->helpers[KNI_SOURCE_CALL] = true;
        kni_buffer_text(out, "call(");
        print_any(c, out);
        kni_buffer_text(out, ")");
    }
    kni_source_end_value(s, result);
}

/* Several results: members of a struct, or those of a list that kn_call fills. */
static void print_many(kni_source *s, call *c, const form *f, const int32_t *results)
{
    kni_buffer *out = &s->body;
    int32_t number = s->made++, n = c->node->n_out;
    kni_source_line(s);
    if (f && f->type) {
        kni_buffer_format(out, "%s both_%d = ", f->type, (int)number);
        print_form(c, out, f);
        kni_buffer_text(out, ";\n");
    } else {
        kni_buffer_format(out, "kn_tensor all_%d[%d];\n", (int)number, (int)n);
        kni_source_line(s);
        kni_buffer_text(out, "kn_call(");
        print_any(c, out);
        kni_buffer_format(out, ", all_%d, %d);\n", (int)number, (int)n);
    }
    const char *field = f && f->type ? f->fields : NULL;
    for (int32_t k = 0; k < n; k++) {
        int length = field ? (int)strcspn(field, " ") : 0;
        if (s->values[results[k]].reads > 0) {
            kni_source_line(s);
            kni_source_begin_value(s, results[k]);
            if (field)
                kni_buffer_format(out, "both_%d.%.*s", (int)number, length, field);
            else
                kni_buffer_format(out, "all_%d[%d]", (int)number, (int)k);
            kni_source_end_value(s, results[k]);
        }
        if (field) field += length + (field[length] == ' ');
    }
}

void kni_source_op(kni_source *s, const kni_program_node *n)
{
    call c;
    read_attributes(&c, s, n);
    const form *f = form_of(&c);
    if (n->n_out == 1)
        print_one(s, &c, f, kni_node_out(s->p, n)[0]);
    else
        print_many(s, &c, f, kni_node_out(s->p, n));
}
