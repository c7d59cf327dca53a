/* Rotary embedding on devices. An item turns four neighbouring pairs of a token in several heads, which share cosines and sines, and
   reads x by its steps. */
#include "backend/gpu/product.h"
#include "ir/builder.h"
#include "ops/rope.h"
#include <string.h>

enum { LANES = 4, MOST_HEADS = 4, BUFFERS = 4 };

/* What the text depends on. */
typedef struct rope_key {
    char name[4];
    uint8_t dtype, cosines, sines; /* of the operands */
    uint8_t heads;                 /* that an item turns */
    uint8_t interleaved, inverse;
    uint8_t wide; /* positions may not fit 32 bits */
} rope_key;

/* Numbers of a launch, in the order of the params. */
enum { HEADS, TOKENS, QUADS, BATCH_STEP, HEAD_STEP, TOKEN_STEP, NUMBERS };

typedef struct rope_text {
    kni_ir_builder *b;
    const rope_key *key;
    int index;
    uint32_t x, cosines, sines, y, numbers[NUMBERS];
} rope_text;

static kni_ir_id add(rope_text *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "add", x, y); }
static kni_ir_id sub(rope_text *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "sub", x, y); }
static kni_ir_id mul(rope_text *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "mul", x, y); }
static kni_ir_id whole(rope_text *t, int64_t value) { return kni_ir_whole(t->b, t->index, value); }
static kni_ir_id number(rope_text *t, int which)
{
    return kni_ir_cast(t->b, kni_ir_param_value(t->b, t->numbers[which]), t->index);
}
/* What is left of *x divided by n; *x becomes the quotient. */
static kni_ir_id take_rest(rope_text *t, kni_ir_id *x, kni_ir_id n)
{
    kni_ir_id quotient = kni_ir_word(t->b, "div", *x, n), rest = sub(t, *x, mul(t, quotient, n));
    *x = quotient;
    return rest;
}

/* Neighbours of the interleaved order as the first and second members of their pairs, and back. */
static void part(rope_text *t, const kni_ir_id from[2], kni_ir_id to[2], bool back)
{
    for (int half = 0; half < 2; half++) {
        kni_ir_id lanes[LANES];
        for (int i = 0; i < LANES; i++) {
            const int pair = half * 2 + i / 2, at = 2 * i + half;
            lanes[i] =
                back ? kni_ir_lane(t->b, from[i % 2], pair) : kni_ir_lane(t->b, from[at / LANES], at % LANES);
        }
        to[half] = kni_ir_pack(t->b, lanes, LANES);
    }
}

static void turn(rope_text *t, const kni_ir_id from[2], const kni_ir_id to[2], kni_ir_id c, kni_ir_id s)
{
    kni_ir_id read[2], pair[2], made[2];
    for (int i = 0; i < 2; i++) pair[i] = read[i] = kni_ir_load(t->b, t->x, from[i], KN_F32, LANES);
    if (t->key->interleaved) part(t, read, pair, false);
    made[0] = sub(t, mul(t, pair[0], c), mul(t, pair[1], s));
    made[1] = add(t, mul(t, pair[0], s), mul(t, pair[1], c));
    memcpy(pair, made, sizeof pair);
    if (t->key->interleaved) part(t, made, pair, true);
    for (int i = 0; i < 2; i++) kni_ir_store(t->b, t->y, to[i], pair[i]);
}

static void build_body(rope_text *t)
{
    const int heads = t->key->heads;
    kni_ir_id quads = number(t, QUADS), tokens = number(t, TOKENS), all = number(t, HEADS);
    kni_ir_id rest = kni_ir_builtin_value(t->b, KNI_IR_ITEM, 0, t->index);
    kni_ir_id quad = take_rest(t, &rest, quads);
    kni_ir_id head =
        mul(t, take_rest(t, &rest, kni_ir_word(t->b, "div", all, whole(t, heads))), whole(t, heads));
    kni_ir_id token = take_rest(t, &rest, tokens), batch = rest;
    kni_ir_id half = mul(t, quads, whole(t, LANES)), size = mul(t, half, whole(t, 2));
    kni_ir_id first = mul(t, quad, whole(t, LANES)), at = add(t, mul(t, token, half), first);
    kni_ir_id c = kni_ir_load(t->b, t->cosines, at, KN_F32, LANES);
    kni_ir_id s = kni_ir_load(t->b, t->sines, at, KN_F32, LANES);
    if (t->key->inverse) s = kni_ir_word(t->b, "neg", s, 0);
    kni_ir_id second = add(t, first, half);
    if (t->key->interleaved) {
        first = mul(t, first, whole(t, 2));
        second = add(t, first, whole(t, LANES));
    }
    kni_ir_id from = add(t, mul(t, batch, number(t, BATCH_STEP)), mul(t, token, number(t, TOKEN_STEP)));
    from = add(t, from, mul(t, head, number(t, HEAD_STEP)));
    kni_ir_id to = mul(t, add(t, mul(t, add(t, mul(t, batch, all), head), tokens), token), size);
    for (int h = 0; h < heads; h++) {
        turn(t, (kni_ir_id[2]){add(t, from, first), add(t, from, second)},
             (kni_ir_id[2]){add(t, to, first), add(t, to, second)}, c, s);
        from = add(t, from, number(t, HEAD_STEP));
        to = add(t, to, mul(t, tokens, size));
    }
}

static kni_ir *build(const rope_key *key)
{
    static const char *const names[NUMBERS] = {"heads",      "tokens",    "quads",
                                               "batch_step", "head_step", "token_step"};
    kni_ir_builder b = kni_ir_begin("rope", 0);
    rope_text t = {.b = &b, .key = key, .index = key->wide ? KN_I64 : KN_I32};
    t.x = kni_ir_buffer(&b, "x", key->dtype, KNI_IR_READ);
    t.cosines = kni_ir_buffer(&b, "cosines", key->cosines, KNI_IR_READ);
    t.sines = kni_ir_buffer(&b, "sines", key->sines, KNI_IR_READ);
    t.y = kni_ir_buffer(&b, "y", key->dtype, KNI_IR_WRITE);
    for (uint32_t i = 0; i < BUFFERS && b.status == KN_OK; i++) b.ir->bindings[i].aligned = LANES;
    kni_ir_add_item_params(&b);
    for (int i = 0; i < NUMBERS; i++) t.numbers[i] = kni_ir_param_add(&b, names[i], KN_I64, 0);
    build_body(&t);
    kni_ir *ir = kni_ir_finish(&b);
    if (!ir || kni_ir_simplify(ir) == KN_OK) return ir;
    kni_ir_free(ir);
    return NULL;
}

/* x as [batch, heads, tokens, size]. */
typedef struct rope_shape {
    int64_t dims[4], steps[4];
} rope_shape;

static rope_shape shape_of(const kni_tensor *x)
{
    rope_shape s = {{1, 1, 1, 1}, {0, 0, 0, 0}};
    for (int i = 0; i < x->type.rank; i++) {
        s.dims[4 - x->type.rank + i] = x->type.dims[i];
        s.steps[4 - x->type.rank + i] = x->strides[i];
    }
    return s;
}

/* Whether items can take their quads where they lie. */
static bool suits(const kn_record *r)
{
    const kni_tensor *x = kni_in(r, 0);
    const int64_t half = kni_in(r, 1)->type.dims[1];
    if (x->type.rank > 4 || !x->storage || kni_count(&x->type) == 0 || x->type.dtype == KN_F64) return false;
    const rope_shape s = shape_of(x);
    if (half % LANES || s.dims[3] != 2 * half || s.steps[3] != 1 || x->offset % LANES) return false;
    for (int i = 0; i < 3; i++)
        if (s.dims[i] > 1 && (s.steps[i] < 0 || s.steps[i] % LANES)) return false;
    for (int i = 1; i < 3; i++) {
        const kni_tensor *table = kni_in(r, i);
        if (!table->storage || !kni_gpu_contiguous(table) || table->offset % LANES ||
            table->type.dtype == KN_F64)
            return false;
    }
    return true;
}

static rope_key key_of(const kn_record *r, const rope_shape *s)
{
    const kni_rope_attributes *a = r->attributes;
    const int64_t limit = INT64_C(1) << 30;
    int64_t reach = s->dims[3], heads = MOST_HEADS;
    for (int i = 0; i < 3; i++) reach += (s->dims[i] - 1) * s->steps[i];
    while (s->dims[1] % heads) heads /= 2;
    return (rope_key){.name = {'r', 'o', 'p', 'e'},
                      .dtype = kni_in(r, 0)->type.dtype,
                      .cosines = kni_in(r, 1)->type.dtype,
                      .sines = kni_in(r, 2)->type.dtype,
                      .heads = (uint8_t)heads,
                      .interleaved = a->interleaved != 0,
                      .inverse = a->inverse != 0,
                      .wide = reach > limit || kni_count(&kni_in(r, 0)->type) > limit};
}

kn_status kni_gpu_run_rope(kni_gpu *g, const kn_record *r)
{
    if (!suits(r)) return KN_ERROR_UNSUPPORTED;
    kni_tensor *y = kni_out(r, 0);
    const rope_shape x = shape_of(kni_in(r, 0));
    const rope_key key = key_of(r, &x);
    kni_gpu_kernel *k = kni_gpu_find(g, &key, sizeof key);
    if (!k) k = kni_gpu_add(g, &key, sizeof key, build(&key));
    if (!k) return kni_latest_code();
    kni_gpu_block *blocks[BUFFERS] = {NULL}, *unused = NULL;
    const int64_t quads = x.dims[3] / (2 * LANES);
    int64_t params[1 + BUFFERS + NUMBERS] = {x.dims[0] * (x.dims[1] / key.heads) * x.dims[2] * quads};
    const int64_t numbers[NUMBERS] = {x.dims[1], x.dims[2], quads, x.steps[0], x.steps[1], x.steps[2]};
    kn_status s = KN_OK;
    for (int i = 0; i < 3 && !s; i++) {
        s = kni_gpu_operand(g, kni_in(r, i), &blocks[i], &unused);
        params[1 + i] = kni_in(r, i)->offset;
    }
    if (!s) s = kni_gpu_allocate(g, y);
    if (s) return s;
    blocks[3] = kni_gpu_block_of(y->storage);
    params[4] = y->offset;
    memcpy(params + 1 + BUFFERS, numbers, sizeof numbers);
    const kni_launch_shape shape = kni_gpu_item_shape(g, k, params[0]);
    s = kni_gpu_launch(g, k, &shape, blocks, BUFFERS, -1, params);
    if (!s) kni_gpu_finish(g, r, -1);
    return s;
}
