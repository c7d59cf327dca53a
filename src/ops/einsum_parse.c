/* The parser of einsum equations. The text is a user's and may be anything: every way to be wrong has its message. */
#include "ops/einsum.h"
#include <string.h>

typedef struct reader {
    const char *text;
    int at;
} reader;

static char peek(reader *r)
{
    while (r->text[r->at] == ' ') r->at++;
    return r->text[r->at];
}

static int label_of(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    return -1;
}

static char letter_of(int label) { return (char)(label < 26 ? 'A' + label : 'a' + label - 26); }

static kn_status wrong(const reader *r, const char *what)
{
    return kni_fail_op(KN_ERROR_ARGUMENT, "einsum", "%s at character %d of \"%s\"", what, r->at + 1, r->text);
}

/* The labels of one operand or of the output; `dots` is where "..." stands among them, -1 for nowhere. */
typedef struct subscript {
    kni_labels axes;
    int dots;
} subscript;

static kn_status read_subscript(reader *r, subscript *s)
{
    s->axes.rank = 0;
    s->dots = -1;
    for (;;) {
        char c = peek(r);
        if (c == 0 || c == ',' || c == '-') return KN_OK;
        if (c == '.') {
            if (r->text[r->at + 1] != '.' || r->text[r->at + 2] != '.')
                return wrong(r, "a '.' that is not part of '...'");
            if (s->dots >= 0) return wrong(r, "a second '...' in the same operand");
            s->dots = s->axes.rank;
            r->at += 3;
            continue;
        }
        int label = label_of(c);
        if (label < 0) return wrong(r, "a character that is no letter, ',', '...' or '->'");
        if (s->axes.rank == KN_MAX_RANK) return wrong(r, "more than 8 axes");
        s->axes.labels[s->axes.rank++] = (uint8_t)label;
        r->at++;
    }
}

static bool takes_arrow(reader *r)
{
    if (peek(r) != '-' || r->text[r->at + 1] != '>') return false;
    r->at += 2;
    return true;
}

static kn_status note_size(kni_equation *e, int label, int64_t size, int operand)
{
    int64_t *have = &e->sizes[label];
    if (*have < 0 || *have == 1)
        *have = size;
    else if (size != 1 && size != *have) {
        char name[2] = {label < KNI_EINSUM_LETTERS ? letter_of(label) : '.', 0};
        return kni_fail_op(KN_ERROR_SHAPE, "einsum", "axis '%s' is %D in operand %d and %D before",
                           label < KNI_EINSUM_LETTERS ? name : "...", size, operand, *have);
    }
    return KN_OK;
}

/* Axes of one operand with the same label do not broadcast. */
static kn_status check_diagonal(const kni_labels *l, const kn_shape *shape, int operand)
{
    for (int i = 0; i < l->rank; i++)
        for (int k = i + 1; k < l->rank; k++)
            if (l->labels[i] == l->labels[k] && shape->dims[i] != shape->dims[k])
                return kni_fail_op(KN_ERROR_SHAPE, "einsum",
                                   "a diagonal of operand %d %N needs equal sizes (%D != %D)", operand, shape,
                                   shape->dims[i], shape->dims[k]);
    return KN_OK;
}

/* Gives every axis of an operand its label, the axes of "..." from the last one. */
static kn_status place_operand(kni_equation *e, const subscript *s, const kn_shape *shape, int operand)
{
    kni_labels *to = &e->in[operand];
    int extra = shape->rank - s->axes.rank;
    if (extra < 0 || (extra > 0 && s->dots < 0))
        return kni_fail_op(KN_ERROR_SHAPE, "einsum",
                           "operand %d %N has rank %d, but the equation names %d axes of it", operand, shape,
                           shape->rank, s->axes.rank);
    to->rank = 0;
    for (int i = 0; i <= s->axes.rank; i++) {
        if (i == s->dots)
            for (int k = 0; k < extra; k++)
                to->labels[to->rank++] = (uint8_t)(KNI_EINSUM_LETTERS + extra - 1 - k);
        if (i < s->axes.rank) to->labels[to->rank++] = s->axes.labels[i];
    }
    kn_status status = check_diagonal(to, shape, operand);
    for (int i = 0; i < to->rank && status == KN_OK; i++)
        status = note_size(e, to->labels[i], shape->dims[i], operand);
    return status;
}

/* How many axes "..." stands for in the widest operand. */
static int dotted_axes(const kni_equation *e)
{
    int n = 0;
    while (n < KN_MAX_RANK && e->sizes[KNI_EINSUM_LETTERS + n] >= 0) n++;
    return n;
}

static kn_status append(kni_equation *e, int label)
{
    if (e->out.rank == KN_MAX_RANK)
        return kni_fail_op(KN_ERROR_SHAPE, "einsum", "the result would have more than %d axes", KN_MAX_RANK);
    e->out.labels[e->out.rank++] = (uint8_t)label;
    return KN_OK;
}

static kn_status append_dots(kni_equation *e)
{
    kn_status s = KN_OK;
    for (int i = dotted_axes(e) - 1; i >= 0 && s == KN_OK; i--) s = append(e, KNI_EINSUM_LETTERS + i);
    return s;
}

/* Without "->": "..." and then the letters that occur once, in alphabetical order, capitals first. */
static kn_status make_output(kni_equation *e, int n)
{
    int times[KNI_EINSUM_LETTERS] = {0};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < e->in[i].rank; k++)
            if (e->in[i].labels[k] < KNI_EINSUM_LETTERS) times[e->in[i].labels[k]]++;
    kn_status s = append_dots(e);
    for (int label = 0; label < KNI_EINSUM_LETTERS && s == KN_OK; label++)
        if (times[label] == 1) s = append(e, label);
    return s;
}

static kn_status place_output(kni_equation *e, const subscript *s, bool has_dots)
{
    uint64_t seen = 0;
    kn_status status = KN_OK;
    if (s->dots >= 0 && !has_dots)
        return kni_fail_op(KN_ERROR_ARGUMENT, "einsum", "the output has '...' but no operand has");
    for (int i = 0; i <= s->axes.rank && status == KN_OK; i++) {
        if (i == s->dots) status = append_dots(e);
        if (i == s->axes.rank || status) continue;
        int label = s->axes.labels[i];
        char name[2] = {letter_of(label), 0};
        if (e->sizes[label] < 0)
            return kni_fail_op(KN_ERROR_ARGUMENT, "einsum", "axis '%s' of the output is in no operand", name);
        if (seen >> label & 1)
            return kni_fail_op(KN_ERROR_ARGUMENT, "einsum", "axis '%s' is twice in the output", name);
        seen |= UINT64_C(1) << label;
        status = append(e, label);
    }
    return status;
}

kn_status kni_einsum_parse(const char *text, const kn_shape *shapes, int n, kni_equation *e)
{
    subscript s = {.dots = -1};
    bool has_dots = false;
    kn_status status = KN_OK;
    if (!text) return kni_fail_op(KN_ERROR_ARGUMENT, "einsum", "the equation is NULL");
    reader r = {text, 0};
    memset(e, 0, sizeof *e);
    for (int i = 0; i < KNI_EINSUM_LABELS; i++) e->sizes[i] = -1;
    for (int i = 0; i < n; i++) {
        if (i > 0) {
            if (peek(&r) != ',')
                return kni_fail_op(KN_ERROR_ARGUMENT, "einsum", "\"%s\" has %d operands, %d were given", text,
                                   i, n);
            r.at++;
        }
        status = read_subscript(&r, &s);
        if (status == KN_OK) status = place_operand(e, &s, &shapes[i], i);
        if (status) return status;
        has_dots |= s.dots >= 0;
    }
    if (peek(&r) == ',')
        return kni_fail_op(KN_ERROR_ARGUMENT, "einsum", "\"%s\" has more operands than the %d given", text,
                           n);
    if (peek(&r) == 0) return make_output(e, n);
    if (!takes_arrow(&r)) return wrong(&r, "a '-' that is not part of '->'");
    status = read_subscript(&r, &s);
    if (status) return status;
    if (peek(&r) != 0) return wrong(&r, "something after the output");
    return place_output(e, &s, has_dots);
}
