/* Operators of attention in the forms that ONNX's own cases do not have, above all those of com.microsoft, against plain loops. Each model
   runs at once and as a program whose batch (and whatever else its case leaves open) is known only when it runs. */
#include "test_onnx_models.h"
#include <math.h>

enum { INT32 = 6, MOST = 8, ROOM = 256 };
static const double HIDDEN = -INFINITY, LOW = -10000;

/* ---- models of one node */

typedef struct given {
    const char *name; /* NULL: the end */
    int32_t type, rank;
    int64_t sizes[5];
    const void *data;
    unsigned open; /* bits of axes whose size the program does not know */
    bool constant; /* a weight */
} given;

/* The last size of an input of rank 4 as "total", as exports have it. */
static void put_total(onnx_message *g, const char *input)
{
    onnx_message cast = onnx_node("Cast", "column", "total");
    onnx_attribute_int(&cast, "to", INT32);
    onnx_graph_tensor(g, onnx_int_constant("last_axis", 3));
    onnx_graph_node(g, onnx_node("Shape", input, "sizes"));
    onnx_graph_node(g, onnx_node("Gather", "sizes last_axis", "column"));
    onnx_graph_node(g, cast);
}

static onnx_message model_of(onnx_message node, const char *domain, int64_t version, const given *list,
                             int n_out)
{
    onnx_message g = {0}, m = {0};
    if (*domain) onnx_put_text(&node, 7, domain);
    for (const given *x = list; x->name; x++)
        if (!strcmp(x->name, "seen")) put_total(&g, x->name);
    onnx_graph_node(&g, node);
    for (; list->name; list++) {
        int64_t sizes[5];
        for (int i = 0; i < list->rank; i++) sizes[i] = list->open >> i & 1 ? -1 : list->sizes[i];
        if (!list->constant)
            onnx_graph_input(&g, onnx_value(list->name, onnx_type(list->type, sizes, list->rank)));
        else if (list->type == FLOAT)
            onnx_graph_tensor(&g, onnx_floats(list->name, list->sizes, list->rank, list->data));
        else
            onnx_graph_tensor(
                &g, onnx_tensor_raw(list->name, list->type, list->sizes, list->rank, list->data, 4));
    }
    onnx_graph_output(&g, onnx_value("y", onnx_type(FLOAT, NULL, -1)));
    if (n_out > 1) onnx_graph_output(&g, onnx_value("z", onnx_type(FLOAT, NULL, -1)));
    onnx_put_int(&m, 1, 10);
    onnx_opset(&m, "", *domain ? 21 : version);
    if (*domain) onnx_opset(&m, domain, version);
    onnx_put(&m, 7, g);
    return m;
}

static int tensors_of(const given *list, kn_tensor *in)
{
    int n = 0;
    for (; list->name; list++) {
        if (list->constant) continue;
        kn_dtype dtype = list->type == FLOAT   ? KN_F32
                         : list->type == INT32 ? KN_I32
                         : list->type == INT64 ? KN_I64
                                               : KN_BOOL;
        kn_shape shape = {.rank = list->rank};
        for (int i = 0; i < list->rank; i++) shape.dims[i] = list->sizes[i];
        in[n++] = kn_keep(kn_from(list->data, dtype, shape));
    }
    return n;
}

/* The outputs of the node are y and, where it is not NULL, z, of so many elements. */
static void check_node(onnx_message node, const char *domain, int64_t version, const given *list,
                       const double *y, int n_y, const double *z, int n_z, int line)
{
    kn_tensor in[MOST + 8], out[2];
    int n = tensors_of(list, in), n_out = z ? 2 : 1;
    kn_onnx model = onnx_open(model_of(node, domain, version, list, n_out));
    kn_program p = kn_onnx_program(model, NULL);
    if (!check_that(p != NULL, "a program", __FILE__, line)) printf("%s\n", kn_last_error());
    for (int as_program = 0; as_program < 2; as_program++) {
        if (as_program && !p) break;
        kn_status s =
            as_program ? kn_program_run(p, in, n, out, n_out) : kn_onnx_run(model, in, n, out, n_out);
        if (s) printf("%s\n", kn_last_error());
        if (!check_that(s == KN_OK, as_program ? "a run of the program" : "a run", __FILE__, line)) continue;
        check_values(out[0], y, n_y, 1e-5, __FILE__, line);
        if (z) check_values(out[1], z, n_z, 1e-5, __FILE__, line);
    }
    kn_program_free(p);
    kn_onnx_free(model);
}

static void fails(onnx_message node, const char *domain, int64_t version, const given *list,
                  const char *words)
{
    kn_tensor in[MOST + 8], out[2];
    kn_onnx model = onnx_open(model_of(node, domain, version, list, 1));
    int n = tensors_of(list, in);
    CHECK_ERROR(kn_onnx_run(model, in, n, out, 1), words);
    kn_onnx_free(model);
}

/* Numbers without a pattern that attention could hide behind. */
static const float *numbers(float *x, int n, int seed)
{
    for (int i = 0; i < n; i++) x[i] = (float)((i * 7 + seed * 13 + i * i * 3) % 17 - 8) / 8;
    return x;
}

/* ---- attention in plain loops */

typedef struct plain {
    int batch, heads, key_heads, queries, keys, size;
    const double *q;              /* [batch, queries, heads, size] */
    const double *k, *v;          /* [batch, key heads, keys, size] */
    double bias[2][MOST][MOST];   /* [batch, queries, keys]; HIDDEN hides */
    double scale, softcap, *sink; /* scale 0: 1 / sqrt(size); sink: a score for each head, or NULL */
} plain;

static void attend_row(const plain *p, int b, int h, int i, double *y)
{
    const double *q = p->q + ((b * p->queries + i) * p->heads + h) * p->size;
    int rows = (b * p->key_heads + h / (p->heads / p->key_heads)) * p->keys;
    double sum = p->sink ? exp(p->sink[h]) : 0, scale = p->scale != 0 ? p->scale : 1 / sqrt(p->size);
    memset(y, 0, (size_t)p->size * sizeof *y);
    double top = HIDDEN, s[MOST];
    for (int j = 0; j < p->keys; j++) {
        s[j] = 0;
        for (int d = 0; d < p->size; d++) s[j] += scale * q[d] * p->k[(rows + j) * p->size + d];
        if (p->softcap > 0) s[j] = p->softcap * tanh(s[j] / p->softcap);
        s[j] += p->bias[b][i][j];
        top = s[j] > top ? s[j] : top;
    }
    if (p->sink) top = 0;
    if (top == HIDDEN) return;
    for (int j = 0; j < p->keys; j++) sum += exp(s[j] - top);
    for (int j = 0; j < p->keys; j++)
        for (int d = 0; d < p->size; d++) y[d] += exp(s[j] - top) / sum * p->v[(rows + j) * p->size + d];
}

/* y [batch, queries, heads, size]; returns how many elements these are. */
static int attend(const plain *p, double *y)
{
    for (int b = 0; b < p->batch; b++)
        for (int i = 0; i < p->queries; i++)
            for (int h = 0; h < p->heads; h++)
                attend_row(p, b, h, i, y + ((b * p->queries + i) * p->heads + h) * p->size);
    return p->batch * p->queries * p->heads * p->size;
}

/* Rows of x [batch, tokens, heads, size] to cache [batch, heads, keys, size] from start[b] on; x has `step` elements for each token. */
static void store(double *cache, const double *x, int step, const plain *p, int tokens, const int *start)
{
    for (int b = 0; b < p->batch; b++)
        for (int h = 0; h < p->key_heads; h++)
            for (int t = 0; t < tokens; t++)
                for (int d = 0; d < p->size; d++)
                    cache[((b * p->key_heads + h) * p->keys + start[b] + t) * p->size + d] =
                        x[(b * tokens + t) * step + h * p->size + d];
}

/* past [batch, heads, tokens, size] to the beginning of a cache of the same heads. */
static void store_past(double *cache, const float *past, const plain *p, int tokens)
{
    for (int row = 0; row < p->batch * p->key_heads; row++)
        for (int i = 0; i < tokens * p->size; i++)
            cache[row * p->keys * p->size + i] = past[row * tokens * p->size + i];
}

static void widen(double *y, const float *x, int n)
{
    for (int i = 0; i < n; i++) y[i] = x[i];
}

/* Adds `low` for keys that `seen` (one row for each batch and, with rows, each query) does not have. */
static void lower(plain *p, const int32_t *seen, bool rows, double low)
{
    for (int b = 0; b < p->batch; b++)
        for (int i = 0; i < p->queries; i++)
            for (int j = 0; j < p->keys; j++)
                if (!seen[(b * (rows ? p->queries : 1) + (rows ? i : 0)) * p->keys + j])
                    p->bias[b][i][j] += low;
}

static void hide_later(plain *p, const int *past)
{
    for (int b = 0; b < p->batch; b++)
        for (int i = 0; i < p->queries; i++)
            for (int j = past[b] + i + 1; j < p->keys; j++) p->bias[b][i][j] = HIDDEN;
}

/* ---- com.microsoft.Attention: batch 2, 3 tokens of 4 elements, 2 heads of size 2 */

typedef struct projected {
    float input[24], weights[48], bias[12], past[32], added[2 * 2 * 3 * MOST];
    double q[24], cache[2][80]; /* cache: keys and values */
} projected;

/* With `past` tokens before; fills what plain loops need. */
static plain project(projected *r, int past)
{
    plain p = {.batch = 2, .heads = 2, .key_heads = 2, .queries = 3, .keys = 3 + past, .size = 2};
    const int start[2] = {past, past};
    double all[72], part[24];
    numbers(r->input, 24, 1), numbers(r->weights, 48, 2), numbers(r->bias, 12, 3), numbers(r->past, 32, 4);
    for (int t = 0; t < 6; t++)
        for (int n = 0; n < 12; n++) {
            double sum = r->bias[n];
            for (int i = 0; i < 4; i++) sum += (double)r->input[t * 4 + i] * r->weights[i * 12 + n];
            all[t * 12 + n] = sum;
        }
    for (int which = 0; which < 3; which++) {
        for (int t = 0; t < 6; t++) memcpy(part + t * 4, all + t * 12 + which * 4, 4 * sizeof *part);
        if (which == 0) memcpy(r->q, part, sizeof part);
        if (which == 0) continue;
        store(r->cache[which - 1], part, 4, &p, 3, start);
        if (past) store_past(r->cache[which - 1], r->past + (which - 1) * 16, &p, past);
    }
    p.q = r->q, p.k = r->cache[0], p.v = r->cache[1];
    return p;
}

static void test_masks(void)
{
    static const int32_t ends[2] = {2, 3}, spans[4] = {2, 3, 1, 0}, seen[6] = {0, 1, 1, 1, 1, 0},
                         square[18] = {1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1},
                         by_ends[6] = {1, 1, 0, 1, 1, 1}, by_spans[6] = {0, 1, 0, 1, 1, 1};
    const struct {
        int rank;
        int64_t sizes[4];
        const int32_t *data, *keep;
        bool rows;
    } rows[] = {
        {0, {0}, NULL, NULL, false},    {1, {2}, ends, by_ends, false}, {1, {4}, spans, by_spans, false},
        {2, {2, 3}, seen, seen, false}, {2, {2, 1}, ends, NULL, false}, {3, {2, 3, 3}, square, square, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        projected r;
        plain p = project(&r, 0);
        double y[24];
        onnx_message node = onnx_node("Attention", rows[i].rank ? "x w b m" : "x w b", "y z");
        onnx_attribute_int(&node, "num_heads", 2);
        bool open = rows[i].rank != 1 || rows[i].sizes[0] == 2;
        given list[] = {{"x", FLOAT, 3, {2, 3, 4}, r.input, open ? 3 : 0, false},
                        {"w", FLOAT, 2, {4, 12}, r.weights, 0, true},
                        {"b", FLOAT, 1, {12}, r.bias, 0, true},
                        {"m", INT32, rows[i].rank, {0}, rows[i].data, open ? 1 : 0, false},
                        {0}};
        for (int k = 0; k < rows[i].rank; k++) list[3].sizes[k] = rows[i].sizes[k];
        if (!rows[i].rank) list[3].name = NULL;
        if (rows[i].keep) lower(&p, rows[i].keep, rows[i].rows, LOW);
        check_node(node, "com.microsoft", 1, list, y, attend(&p, y), NULL, 0, __LINE__);
    }
}

/* Past and present in one tensor, a mask for more tokens than there are, a bias, and later tokens hidden. */
static void test_past_and_bias(void)
{
    static const int past[2] = {2, 2};
    projected r;
    plain p = project(&r, 2);
    double y[24], present[80];
    int32_t mask[2 * 6 * 6], keep[2 * 3 * 5];
    float noise[30];
    numbers(noise, 30, 5);
    for (int i = 0; i < 72; i++) mask[i] = i % 5 != 1;
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 5; j++) {
                keep[(b * 3 + i) * 5 + j] = mask[(b * 6 + i + 2) * 6 + j];
                for (int h = 0; h < 2; h++) /* the same for both heads */
                    r.added[((b * 2 + h) * 3 + i) * 5 + j] = noise[(b * 3 + i) * 5 + j];
                p.bias[b][i][j] = noise[(b * 3 + i) * 5 + j];
            }
    lower(&p, keep, true, -50);
    hide_later(&p, past);
    memcpy(present, r.cache[0], 40 * sizeof *present);
    memcpy(present + 40, r.cache[1], 40 * sizeof *present);
    onnx_message node = onnx_node("Attention", "x w b m p a", "y z");
    onnx_attribute_int(&node, "num_heads", 2);
    onnx_attribute_int(&node, "unidirectional", 1);
    onnx_attribute_float(&node, "mask_filter_value", -50);
    onnx_attribute_ints(&node, "qkv_hidden_sizes", (const int64_t[]){4, 4, 4}, 3);
    const given list[] = {{"x", FLOAT, 3, {2, 3, 4}, r.input, 1, false},
                          {"w", FLOAT, 2, {4, 12}, r.weights, 0, true},
                          {"b", FLOAT, 1, {12}, r.bias, 0, true},
                          {"m", INT32, 4, {2, 1, 6, 6}, mask, 1, false},
                          {"p", FLOAT, 5, {2, 2, 2, 2, 2}, r.past, 0, false},
                          {"a", FLOAT, 4, {2, 2, 3, 5}, r.added, 1, false},
                          {0}};
    check_node(node, "com.microsoft", 1, list, y, attend(&p, y), present, 80, __LINE__);
}

/* ---- MultiHeadAttention: batch 2, 2 queries and 3 keys, 2 heads of size 2 */

static void test_operands_apart(void)
{
    static const int zero[2] = {0, 0}, two[2] = {2, 2};
    static const int32_t seen[10] = {1, 0, 1, 1, 1, 1, 1, 1, 1, 0};
    float q[16], k[24], v[24], bias[12], past[2][16], added[20];
    double wide[24], keys[40], values[40], queries[16], y[16];
    plain p = {.batch = 2, .heads = 2, .key_heads = 2, .queries = 2, .keys = 5, .size = 2, .scale = 0.4};
    numbers(q, 16, 1), numbers(k, 24, 2), numbers(v, 24, 3), numbers(bias, 12, 4), numbers(added, 20, 7);
    numbers(past[0], 16, 5), numbers(past[1], 16, 6);
    for (int i = 0; i < 16; i++) queries[i] = q[i] + (double)bias[i % 4];
    for (int i = 0; i < 24; i++) wide[i] = k[i] + (double)bias[4 + i % 4];
    store(keys, wide, 4, &p, 3, two), store_past(keys, past[0], &p, 2);
    for (int i = 0; i < 24; i++) wide[i] = v[i] + (double)bias[8 + i % 4];
    store(values, wide, 4, &p, 3, two), store_past(values, past[1], &p, 2);
    for (int i = 0; i < 20; i++)
        for (int b = 0; b < 2; b++) p.bias[b][i / 5 % 2][i % 5] = added[i % 10];
    lower(&p, seen, false, LOW);
    p.q = queries, p.k = keys, p.v = values;
    onnx_message node = onnx_node("MultiHeadAttention", "q k v b m a pk pv", "y z");
    onnx_attribute_int(&node, "num_heads", 2);
    onnx_attribute_float(&node, "scale", 0.4F);
    const given list[] = {{"q", FLOAT, 3, {2, 2, 4}, q, 3, false},
                          {"k", FLOAT, 3, {2, 3, 4}, k, 1, false},
                          {"v", FLOAT, 3, {2, 3, 4}, v, 1, false},
                          {"b", FLOAT, 1, {12}, bias, 0, true},
                          {"m", INT32, 2, {2, 5}, seen, 1, false},
                          {"a", FLOAT, 4, {1, 1, 2, 5}, added, 0, false},
                          {"pk", FLOAT, 4, {2, 2, 2, 2}, past[0], 5, false},
                          {"pv", FLOAT, 4, {2, 2, 2, 2}, past[1], 5, false},
                          {0}};
    check_node(node, "com.microsoft", 1, list, y, attend(&p, y), keys, 40, __LINE__);

    /* Keys and values that have their heads apart get no bias. */
    plain crossing = {.batch = 2, .heads = 2, .key_heads = 2, .queries = 2, .keys = 3, .size = 2};
    widen(keys, k, 24), widen(values, v, 24);
    crossing.q = queries, crossing.k = keys, crossing.v = values;
    hide_later(&crossing, zero);
    node = onnx_node("MultiHeadAttention", "q k v b", "y z");
    onnx_attribute_int(&node, "num_heads", 2);
    onnx_attribute_int(&node, "unidirectional", 1);
    const given apart[] = {{"q", FLOAT, 3, {2, 2, 4}, q, 1, false},
                           {"k", FLOAT, 4, {2, 2, 3, 2}, k, 5, false},
                           {"v", FLOAT, 4, {2, 2, 3, 2}, v, 5, false},
                           {"b", FLOAT, 1, {12}, bias, 0, true},
                           {0}};
    check_node(node, "com.microsoft", 1, apart, y, attend(&crossing, y), NULL, 0, __LINE__);
}

/* Packed operands [batch, tokens, heads, members, size] of which the first `members` are in x. */
static void test_packed(void)
{
    static const int zero[2] = {0, 0};
    float all[72], both[48], alone[24];
    double parts[3][24], keys[24], values[24], y[24];
    plain p = {.batch = 2, .heads = 2, .key_heads = 2, .queries = 3, .keys = 3, .size = 2};
    numbers(all, 72, 1);
    for (int row = 0; row < 12; row++)
        for (int which = 0; which < 3; which++)
            for (int d = 0; d < 2; d++) {
                float value = all[(row * 3 + which) * 2 + d];
                parts[which][row * 2 + d] = value;
                if (which)
                    both[(row * 2 + which - 1) * 2 + d] = value;
                else
                    alone[row * 2 + d] = value;
            }
    store(keys, parts[1], 4, &p, 3, zero), store(values, parts[2], 4, &p, 3, zero);
    p.q = parts[0], p.k = keys, p.v = values;
    onnx_message node = onnx_node("MultiHeadAttention", "x", "y z");
    onnx_attribute_int(&node, "num_heads", 2);
    const given three[] = {{"x", FLOAT, 5, {2, 3, 2, 3, 2}, all, 3, false}, {0}};
    check_node(node, "com.microsoft", 1, three, y, attend(&p, y), keys, 24, __LINE__);
    node = onnx_node("MultiHeadAttention", "q x", "y z");
    onnx_attribute_int(&node, "num_heads", 2);
    const given two[] = {
        {"q", FLOAT, 3, {2, 3, 4}, alone, 3, false}, {"x", FLOAT, 5, {2, 3, 2, 2, 2}, both, 3, false}, {0}};
    check_node(node, "com.microsoft", 1, two, y, attend(&p, y), keys, 24, __LINE__);
}

/* ---- GroupQueryAttention: batch 2, 4 heads of size 4 over 2 key heads */

typedef struct grouped_case {
    int tokens, room, total; /* room: tokens of the past's tensors; total: of the longest batch */
    int32_t last[2];         /* seqlens_k */
    int window;
    bool rotary, interleaved, packed, smooth, sinks, biased,
        by_mask; /* by_mask: total is the size of an input */
    double softcap;
} grouped_case;

/* Turns rows of x [batch, tokens, heads, 4] by the tables at the places of the tokens. */
static void turn(double *x, int tokens, int heads, const float *cosines, const float *sines, const int *start,
                 bool interleaved)
{
    for (int row = 0; row < 2 * tokens * heads; row++)
        for (int i = 0; i < 2; i++) {
            int place = start[row / heads / tokens] + row / heads % tokens;
            double *a = x + row * 4 + (interleaved ? 2 * i : i), *b = a + (interleaved ? 1 : 2), old = *a;
            *a = old * cosines[place * 2 + i] - *b * sines[place * 2 + i];
            *b = old * sines[place * 2 + i] + *b * cosines[place * 2 + i];
        }
}

static void check_grouped(const grouped_case *row)
{
    float all[2 * 3 * 32], q[2 * 3 * 16], k[2 * 3 * 8], v[2 * 3 * 8], past[2][128], cosines[16], sines[16],
        added[2 * 3 * MOST], sinks[4];
    double wide[3][96], cache[2][256] = {{0}}, y[96], sink[4] = {0, 0, 0, 0};
    int keys = row->room > row->total ? row->room : row->total, tokens = row->tokens, start[2];
    plain p = {.batch = 2, .heads = 4, .key_heads = 2, .queries = tokens, .keys = keys, .size = 4};
    numbers(all, 2 * tokens * 32, 1), numbers(past[0], 128, 2), numbers(past[1], 128, 3);
    numbers(cosines, 16, 4), numbers(sines, 16, 5), numbers(added, 2 * 3 * MOST, 6), numbers(sinks, 4, 7);
    for (int t = 0; t < 2 * tokens; t++) {
        memcpy(q + t * 16, all + t * 32, 16 * sizeof *q);
        memcpy(k + t * 8, all + t * 32 + 16, 8 * sizeof *k);
        memcpy(v + t * 8, all + t * 32 + 24, 8 * sizeof *v);
    }
    widen(wide[0], q, 2 * tokens * 16), widen(wide[1], k, 2 * tokens * 8), widen(wide[2], v, 2 * tokens * 8);
    for (int b = 0; b < 2; b++) start[b] = row->total == tokens ? 0 : row->last[b] + 1 - tokens;
    if (row->rotary) {
        turn(wide[0], tokens, 4, cosines, sines, start, row->interleaved);
        turn(wide[1], tokens, 2, cosines, sines, start, row->interleaved);
    }
    for (int which = 0; which < 2; which++) {
        if (row->room) store_past(cache[which], past[which], &p, row->room);
        store(cache[which], wide[which + 1], 8, &p, tokens, start);
    }
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < tokens; i++)
            for (int j = 0; j < keys; j++) {
                int place = start[b] + i < row->last[b] ? start[b] + i : row->last[b];
                bool seen = j <= place && (row->window <= 0 || j > place - row->window);
                p.bias[b][i][j] = !seen ? HIDDEN : row->biased ? added[(b * tokens + i) * row->total + j] : 0;
            }
    for (int i = 0; i < 4; i++) sink[i] = row->sinks ? sinks[i] : 0;
    p.q = wide[0], p.k = cache[0], p.v = cache[1], p.softcap = row->softcap;
    p.sink = row->sinks || row->smooth ? sink : NULL;

    char inputs[64];
    snprintf(inputs, sizeof inputs, "%s %s last total %s - %s %s", row->packed ? "x - -" : "q k v",
             row->room ? "pk pv" : "- -", row->rotary ? "cos sin" : "- -", row->biased ? "a" : "-",
             row->sinks ? "s" : "-");
    onnx_message node = onnx_node("GroupQueryAttention", inputs, "y z u");
    onnx_attribute_int(&node, "num_heads", 4);
    onnx_attribute_int(&node, "kv_num_heads", 2);
    onnx_attribute_int(&node, "do_rotary", row->rotary);
    onnx_attribute_int(&node, "rotary_interleaved", row->interleaved);
    onnx_attribute_int(&node, "local_window_size", row->window);
    onnx_attribute_int(&node, "smooth_softmax", row->smooth);
    onnx_attribute_float(&node, "softcap", (float)row->softcap);
    int32_t total = row->total;
    unsigned open = row->room ? 3 : 1; /* without a past there are as many tokens as the caches are long */
    given list[12] = {{0}};
    int n = 0;
    if (row->packed) {
        list[n++] = (given){"x", FLOAT, 3, {2, tokens, 32}, all, open, false};
    } else {
        list[n++] = (given){"q", FLOAT, 3, {2, tokens, 16}, q, open, false};
        list[n++] = (given){"k", FLOAT, 3, {2, tokens, 8}, k, open, false};
        list[n++] = (given){"v", FLOAT, 3, {2, tokens, 8}, v, open, false};
    }
    if (row->room) {
        list[n++] = (given){"pk", FLOAT, 4, {2, 2, row->room, 4}, past[0], 5, false};
        list[n++] = (given){"pv", FLOAT, 4, {2, 2, row->room, 4}, past[1], 5, false};
    }
    list[n++] = (given){"last", INT32, 1, {2}, row->last, 1, false};
    if (row->by_mask)
        list[n++] = (given){"seen", FLOAT, 4, {1, 1, 1, total}, all, 8, false};
    else
        list[n++] = (given){"total", INT32, 0, {0}, &total, 0, true};
    if (row->rotary) {
        list[n++] = (given){"cos", FLOAT, 2, {8, 2}, cosines, 0, true};
        list[n++] = (given){"sin", FLOAT, 2, {8, 2}, sines, 0, true};
    }
    if (row->biased) list[n++] = (given){"a", FLOAT, 4, {2, 1, tokens, row->total}, added, 1, false};
    if (row->sinks) list[n++] = (given){"s", FLOAT, 1, {4}, sinks, 0, true};
    check_node(node, "com.microsoft", 1, list, y, attend(&p, y), cache[0], 2 * 2 * keys * 4, __LINE__);
}

static void test_grouped(void)
{
    static const grouped_case rows[] = {
        {.tokens = 3, .total = 3, .last = {2, 2}},
        {.tokens = 3, .total = 3, .last = {2, 1}},
        {.tokens = 3, .total = 3, .last = {2, 2}, .packed = true, .rotary = true},
        {.tokens = 3, .total = 3, .last = {2, 1}, .rotary = true, .interleaved = true, .window = 2},
        {.tokens = 3, .room = 6, .total = 3, .last = {2, 2}, .biased = true},
        {.tokens = 1, .room = 4, .total = 5, .last = {4, 2}, .rotary = true},
        {.tokens = 1, .room = 7, .total = 5, .last = {4, 3}, .rotary = true, .interleaved = true},
        {.tokens = 2, .room = 4, .total = 6, .last = {5, 5}, .window = 3, .softcap = 0.5, .biased = true},
        {.tokens = 1, .room = 6, .total = 5, .last = {4, 2}, .smooth = true, .packed = true},
        {.tokens = 2, .room = 3, .total = 5, .last = {4, 4}, .sinks = true, .window = 2},
        {.tokens = 1, .room = 4, .total = 5, .last = {4, 2}, .rotary = true, .by_mask = true},
        {.tokens = 3, .room = 6, .total = 3, .last = {2, 1}, .rotary = true, .by_mask = true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int before = check_failed;
        check_grouped(&rows[i]);
        if (check_failed != before) printf("in case %d\n", (int)i);
    }
}

/* ---- RotaryEmbedding of com.microsoft */

static void test_rotary(void)
{
    static const int64_t first[1] = {3}, places[6] = {4, 0, 2, 7, 7, 1};
    float x[48], cosines[16], sines[16];
    numbers(x, 48, 1), numbers(cosines, 16, 2), numbers(sines, 16, 3);
    for (int own = 0; own < 2; own++)
        for (int interleaved = 0; interleaved < 2; interleaved++) {
            double y[48];
            widen(y, x, 48);
            for (int t = 0; t < 6; t++) { /* turned token by token, as batches of one token that are alike */
                const int place = (int)(own ? places[t] : first[0] + t % 3), start[2] = {place, place};
                double both[16];
                memcpy(both, y + t * 8, 8 * sizeof *both), memcpy(both + 8, both, 8 * sizeof *both);
                turn(both, 1, 2, cosines, sines, start, interleaved != 0);
                memcpy(y + t * 8, both, 8 * sizeof *both);
            }
            onnx_message node = onnx_node("RotaryEmbedding", "x p cos sin", "y");
            onnx_attribute_int(&node, "interleaved", interleaved);
            if (own) onnx_attribute_int(&node, "num_heads", 2);
            given list[] = {{"x", FLOAT, 3, {2, 3, 8}, x, 3, false},
                            {"p", INT64, 2, {2, 3}, places, 3, false},
                            {"cos", FLOAT, 2, {8, 2}, cosines, 0, true},
                            {"sin", FLOAT, 2, {8, 2}, sines, 0, true},
                            {0}};
            if (!own) list[1] = (given){"p", INT64, 1, {1}, first, 0, false};
            check_node(node, "com.microsoft", 1, list, y, 48, NULL, 0, __LINE__);
        }
}

/* ---- ai.onnx: keys that count, causality at the end of each batch, and windows */

static void test_counted_keys(void)
{
    static const int64_t counts[2] = {4, 2};
    float q[16], k[40], v[40];
    double wide[3][40], y[16];
    for (int window = 0; window < 2; window++) {
        plain p = {.batch = 2, .heads = 2, .key_heads = 2, .queries = 2, .keys = 5, .size = 2};
        numbers(q, 16, 1), numbers(k, 40, 2), numbers(v, 40, 3);
        widen(wide[0], q, 16), widen(wide[1], k, 40), widen(wide[2], v, 40);
        p.q = wide[0], p.k = wide[1], p.v = wide[2];
        for (int b = 0; b < 2; b++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 5; j++) {
                    int place = (int)counts[b] - 2 + i;
                    bool seen = j <= place && j < 3 && (!window || j >= place - 1);
                    p.bias[b][i][j] = seen ? 0 : HIDDEN;
                }
        static const unsigned char mask[6] = {1, 1, 1, 1, 1, 1}; /* for 3 keys: the others are hidden */
        onnx_message node = onnx_node("Attention", "q k v m - - n", "y z");
        onnx_attribute_int(&node, "q_num_heads", 2);
        onnx_attribute_int(&node, "kv_num_heads", 2);
        onnx_attribute_int(&node, "is_causal", 1);
        if (window) onnx_attribute_int(&node, "left_window_size", 1);
        float joined[40], values[40];
        for (int i = 0; i < 40; i++) { /* [batch, keys, heads, size] of what is [batch, heads, keys, size] */
            int b = i / 20, t = i / 4 % 5, h = i / 2 % 2, at = ((b * 2 + h) * 5 + t) * 2 + i % 2;
            joined[i] = k[at], values[i] = v[at];
        }
        const given list[] = {
            {"q", FLOAT, 3, {2, 2, 4}, q, 1, false},      {"k", FLOAT, 3, {2, 5, 4}, joined, 1, false},
            {"v", FLOAT, 3, {2, 5, 4}, values, 1, false}, {"m", BOOLEAN, 2, {2, 3}, mask, 2, false},
            {"n", INT64, 1, {2}, counts, 1, false},       {0}};
        check_node(node, "", window ? 25 : 24, list, y, attend(&p, y), wide[1], 40, __LINE__);
    }
}

/* ---- what is wrong */

static void test_wrong(void)
{
    float x[24];
    numbers(x, 24, 1);
    const given three[] = {{"x", FLOAT, 3, {2, 3, 4}, x, 0, false}, {0}};
    fails(onnx_node("Attention", "x x x", "y z"), "", 23, three, "q_num_heads");
    onnx_message node = onnx_node("Attention", "x x x", "y z");
    onnx_attribute_int(&node, "q_num_heads", 3);
    fails(node, "", 23, three, "no multiple of 3 heads");
    fails(onnx_node("MultiHeadAttention", "x", "y z"), "com.microsoft", 1, three, "num_heads");
    node = onnx_node("MultiHeadAttention", "x", "y z");
    onnx_attribute_int(&node, "num_heads", 2);
    fails(node, "com.microsoft", 1, three, "must be packed");
    const given two[] = {{"x", FLOAT, 3, {2, 3, 4}, x, 0, false}, {"w", FLOAT, 2, {4, 6}, x, 0, false}, {0}};
    node = onnx_node("Attention", "x w", "y z");
    onnx_attribute_int(&node, "num_heads", 2);
    onnx_attribute_ints(&node, "qkv_hidden_sizes", (const int64_t[]){4, -4, 4}, 3);
    fails(node, "com.microsoft", 1, two, "qkv_hidden_sizes");
    node = onnx_node("GroupQueryAttention", "x x x", "y z");
    onnx_attribute_int(&node, "num_heads", 3);
    onnx_attribute_int(&node, "kv_num_heads", 2);
    fails(node, "com.microsoft", 1, three, "a multiple of kv_num_heads");
}

int main(void)
{
    test_masks();
    test_past_and_bias();
    test_operands_apart();
    test_packed();
    test_grouped();
    test_rotary();
    test_counted_keys();
    test_wrong();
    kn_shutdown();
    onnx_free_kept();
    return check_report();
}
