/* From a pointwise group to a program of strips. The program does exactly what the records would do one by one, with
   the same kernels and the same roundings between them, so that results are the same bits. */
#include "backend/cpu/elementwise_run.h"
#include "backend/cpu/group_strips.h"
#include "backend/cpu/isa.h"
#include "backend/host/host_copy.h"
#include "backend/jit/group_jit.h"
#include "core/strided_copy.h"
#include "ops/body.h"
#include <string.h>

/* CACHES: more bytes than the caches of a core hold. */
enum {
    CACHES = 1 << 25,
    MOST_STEPS = KNI_GROUP_RECORDS * 10,
    FIRST_LEVEL = 1 << 15,
    LONGEST = 2048,
    LONGEST_STREAMED = 256,
    SHORTEST = 256,
    UNIT = 64
};

/* A strip that is made once per round of the loop, before it gets a register. */
typedef struct virtual_strip {
    int32_t last;     /* step that reads it last */
    int16_t assigned; /* register, -1: none yet */
    bool permanent;   /* keeps its register: filled once, or pointed elsewhere by a gather */
} virtual_strip;

/* A conversion that is there already. */
typedef struct converted {
    kni_strip_place from;
    uint8_t dtype, via;
    kni_strip_place to;
} converted;

typedef struct compiler {
    const kni_group *g;
    kni_strip_parts parts;
    kni_strip_program *p;
    kni_strip_step steps[MOST_STEPS], once[KNI_GROUP_INPUTS * 2];
    virtual_strip strips[MOST_STEPS + KNI_GROUP_INPUTS * 2];
    int32_t n_strips;
    kni_strip_place places[KNI_GROUP_RECORDS]; /* by record: its result */
    converted converted[MOST_STEPS];
    int32_t n_converted;
    bool failed;
} compiler;

static kni_strip_place new_strip(compiler *c, int dtype, bool permanent)
{
    c->strips[c->n_strips] = (virtual_strip){-1, -1, permanent};
    return (kni_strip_place){KNI_PLACE_REGISTER, (uint8_t)dtype, (int16_t)c->n_strips++};
}

static kni_strip_step *new_step(compiler *c, kni_strip_kind kind)
{
    if (c->p->n_steps == MOST_STEPS) {
        c->failed = true;
        return &c->steps[0];
    }
    kni_strip_step *s = &c->steps[c->p->n_steps++];
    *s = (kni_strip_step){.kind = (uint8_t)kind};
    return s;
}

/* ---- inputs */

static bool all_zero(const compiler *c, const kni_strip_input *in)
{
    for (int a = 0; a < c->p->rank; a++)
        if (in->strides[a] != 0) return false;
    return true;
}

/* Whether x is worth a copy into order: strips would read it against its layout, a new cache line for each element. What is too
   large to be held twice is read so all the same. */
static bool wants_copy(const kni_tensor *x, const kni_type *shape)
{
    enum { FEWEST = 1 << 12, LIMIT_BYTES = 1 << 28 };
    int64_t n = kni_count(&x->type);
    return n == kni_count(shape) && n >= FEWEST && n <= LIMIT_BYTES / kni_bytes_of(x->type.dtype) &&
           kni_host_runs_across(x->strides, x->type.rank, x->type.dims);
}

static void start_inputs(compiler *c, const kni_type *shape, bool whole)
{
    kni_strip_program *p = c->p;
    int64_t strides[KNI_GROUP_INPUTS][KN_MAX_RANK];
    p->n_inputs = c->g->n_inputs;
    for (int i = 0; i < p->n_inputs; i++) {
        const kni_tensor *x = kni_slot(c->g->inputs[i]);
        int shift = shape->rank - x->type.rank;
        for (int a = 0; a < shape->rank; a++) {
            bool spread = a < shift || (x->type.dims[a - shift] == 1 && shape->dims[a] != 1);
            strides[i][a] = spread ? 0 : x->strides[a - shift];
        }
        p->inputs[i].dtype = x->type.dtype;
        p->inputs[i].copied = whole && wants_copy(x, shape);
        if (p->inputs[i].copied) kni_contiguous_strides(shape->rank, shape->dims, strides[i]);
    }
    for (int a = 0; a < shape->rank; a++) p->dims[a] = shape->dims[a];
    p->rank = kni_collapse(shape->rank, p->dims, p->n_inputs, strides);
    for (int i = 0; i < p->n_inputs; i++) {
        memcpy(p->inputs[i].strides, strides[i], sizeof strides[i]);
        p->inputs[i].flat = kni_is_contiguous(p->rank, p->dims, strides[i]);
    }
}

/* ---- operands */

static kni_strip_place find_converted(const compiler *c, kni_strip_place from, int dtype, int via,
                                      bool *found)
{
    *found = false;
    for (int32_t i = 0; i < c->n_converted; i++) {
        const converted *k = &c->converted[i];
        if (k->from.kind != from.kind || k->from.index != from.index || k->dtype != dtype || k->via != via)
            continue;
        *found = true;
        return k->to;
    }
    return from;
}

/* The place of an operand as strips of `dtype`. */
static kni_strip_place as_strip(compiler *c, kni_strip_place from, int dtype, int via)
{
    bool found, plain = from.dtype == dtype && !via;
    const kni_strip_input *in = from.kind == KNI_PLACE_INPUT ? &c->p->inputs[from.index] : NULL;
    if (plain && (!in || in->flat)) return from;
    kni_strip_place to = find_converted(c, from, dtype, via, &found);
    if (found) return to;
    bool once = in && !in->flat && all_zero(c, in);
    if (c->n_converted == MOST_STEPS || c->n_strips >= KNI_COUNT(c->strips) - 2 ||
        (once && c->p->n_once == KNI_COUNT(c->once))) {
        c->failed = true;
        return from;
    }
    to = new_strip(c, dtype, in && !in->flat);
    kni_strip_step *s =
        once ? &c->once[c->p->n_once++] : new_step(c, in && !in->flat ? KNI_STRIP_GATHER : KNI_STRIP_CONVERT);
    if (once) *s = (kni_strip_step){.kind = KNI_STRIP_SPLAT};
    s->via = (uint8_t)via;
    s->n_in = 1;
    s->in[0] = from;
    s->input = in ? from.index : -1;
    s->out = to;
    c->converted[c->n_converted++] = (converted){from, (uint8_t)dtype, (uint8_t)via, to};
    return to;
}

/* Where the value of slot id is: an input, or the result of an earlier record. */
static kni_strip_place place_of(compiler *c, uint32_t id)
{
    for (int i = 0; i < c->g->n_records; i++)
        if (c->g->records[i]->ids[0] == id) return c->places[i];
    for (int i = 0; i < c->g->n_inputs; i++)
        if (c->g->inputs[i] == id)
            return (kni_strip_place){KNI_PLACE_INPUT, c->p->inputs[i].dtype, (int16_t)i};
    c->failed = true;
    return (kni_strip_place){0, KN_F32, 0};
}

static kni_strip_place result_place(compiler *c, const kn_record *r)
{
    int dtype = kni_out(r, 0)->type.dtype;
    for (int i = 0; i < c->g->n_outputs; i++)
        if (c->g->outputs[i] == r->ids[0])
            return (kni_strip_place){KNI_PLACE_RESULT, (uint8_t)dtype, (int16_t)i};
    return new_strip(c, dtype, false);
}

/* ---- records */

static void compile_cast(compiler *c, int i)
{
    const kn_record *r = c->g->records[i];
    kni_strip_place from = place_of(c, r->ids[1]);
    from = as_strip(c, from, from.dtype, 0);
    kni_strip_place to = c->places[i] = result_place(c, r);
    kni_strip_step *s = new_step(c, KNI_STRIP_CONVERT);
    s->n_in = 1;
    s->in[0] = from;
    s->out = to;
}

bool kni_strip_heavy(const kn_record *r)
{
    const kni_body *body = kni_is_pointwise(r->row) ? r->row->body : NULL;
    for (int i = 0; body && i < body->n; i++) {
        kni_step step = kni_body_step(body, i);
        if (step.kind == KNI_STEP_WORD && !kni_word_at(step.index)->integers) return true;
    }
    return false;
}

/* ---- records whose bodies have no strip of their own: one step for each word */

/* Freestanding programs define no ops: their entries have no such column. */
#ifndef KN_FREESTANDING
static bool goes_by_words(const kn_op *row) { return row->native && row->native->strip_of; }
static kni_strip_fn strip_of(const kn_op *row, const kni_step *step, kni_compute compute)
{
    return row->native->strip_of(step, compute);
}
#else
static bool goes_by_words(const kn_op *row) { return !row; }
static kni_strip_fn strip_of(const kn_op *row, const kni_step *step, kni_compute compute)
{
    (void)row, (void)step, (void)compute;
    return NULL;
}
#endif

static kni_strip_place number_place(compiler *c, int record, const kni_step *s, int dtype)
{
    int scalar = s->kind == KNI_STEP_PARAM ? s->index : -1;
    for (int32_t i = 0; i < c->p->n_once; i++) {
        const kni_strip_step *k = &c->once[i];
        bool same = scalar < 0 ? !memcmp(&k->value, &s->value, sizeof s->value) : k->record == record;
        if (k->kind == KNI_STRIP_NUMBER && k->scalar == scalar && same && k->out.dtype == dtype)
            return k->out;
    }
    if (c->p->n_once == KNI_COUNT(c->once) || c->n_strips >= KNI_COUNT(c->strips) - 2) {
        c->failed = true;
        return (kni_strip_place){0, KN_F32, 0};
    }
    kni_strip_place to = new_strip(c, dtype, true);
    c->once[c->p->n_once++] = (kni_strip_step){.kind = KNI_STRIP_NUMBER,
                                               .record = (int16_t)record,
                                               .input = -1,
                                               .scalar = (int16_t)scalar,
                                               .value = s->value,
                                               .out = to};
    return to;
}

/* Step k of the record's body on what the stack holds, `to` being where the last one belongs. */
static kni_strip_place compile_word(compiler *c, int i, int k, const kni_step *step, kni_compute compute,
                                    kni_strip_place *top, kni_strip_place to)
{
    const kn_record *r = c->g->records[i];
    bool word = step->kind == KNI_STEP_WORD;
    bool truth = word ? kni_word_at(step->index)->truth : step->kind != KNI_STEP_SELECT;
    int dtype = truth ? KN_BOOL : kni_compute_dtype[compute];
    bool last = k == r->row->body->n - 1 && to.dtype == dtype;
    kni_strip_fn fn = strip_of(r->row, step, compute);
    if (!fn || c->n_strips >= KNI_COUNT(c->strips) - 2) {
        c->failed = true;
        return to;
    }
    kni_strip_place out = last ? to : new_strip(c, dtype, false);
    kni_strip_step *s = new_step(c, KNI_STRIP_CALL);
    s->fn = fn;
    s->record = (int16_t)i;
    s->word = (int16_t)(1 + k);
    s->heavy = c->p->streams && word && !kni_word_at(step->index)->integers;
    s->n_in = (uint8_t)(word                            ? kni_word_at(step->index)->arity
                        : step->kind == KNI_STEP_SELECT ? 3
                        : step->kind == KNI_STEP_NOT    ? 1
                                                        : 2);
    for (int n = 0; n < s->n_in; n++) s->in[n] = top[n - s->n_in];
    s->out = out;
    return out;
}

static void compile_body(compiler *c, int i, kni_compute compute, int common, int out_strip)
{
    const kn_record *r = c->g->records[i];
    kni_strip_place stack[KNI_BODY_STACK + 2], locals[KNI_BODY_MAX_LOCALS], *top = stack;
    kni_strip_place to = result_place(c, r);
    int dtype = kni_compute_dtype[compute];
    for (int k = 0; k < r->row->body->n && !c->failed; k++) {
        kni_step s = kni_body_step(r->row->body, k);
        int32_t before = c->p->n_steps;
        if (s.kind == KNI_STEP_INPUT)
            *top++ = as_strip(c, place_of(c, r->ids[1 + s.index]), dtype,
                              kni_rounds_to(&kni_in(r, s.index)->type, common, dtype));
        else if (s.kind == KNI_STEP_PARAM || s.kind == KNI_STEP_CONSTANT)
            *top++ = number_place(c, i, &s, dtype);
        else if (s.kind == KNI_STEP_STORE)
            locals[s.index] = *--top;
        else if (s.kind == KNI_STEP_LOCAL)
            *top++ = locals[s.index];
        else {
            kni_strip_place made = compile_word(c, i, k, &s, compute, top, to);
            top -= c->p->n_steps > before ? c->steps[c->p->n_steps - 1].n_in : 0;
            *top++ = made;
        }
    }
    c->places[i] = to;
    kni_strip_place from = stack[0];
    if (c->failed || (from.kind == to.kind && from.index == to.index)) return;
    if (from.dtype != out_strip) c->failed = true;
    kni_strip_step *s = new_step(c, KNI_STRIP_CONVERT);
    s->n_in = 1;
    s->in[0] = from;
    s->out = to;
}

static void compile_call(compiler *c, int i)
{
    const kn_record *r = c->g->records[i];
    int common, out_strip;
    kni_compute compute = kni_cpu_strip_types(r, &common, &out_strip);
    kni_strip_fn fn =
        r->row->native && r->row->native->strips ? r->row->native->strips[kni_cpu_tier()][compute] : NULL;
    kni_strip_place in[4];
    if (goes_by_words(r->row)) {
        compile_body(c, i, compute, common, out_strip);
        return;
    }
    if (!fn || r->n_in > 4) {
        c->failed = true;
        return;
    }
    for (int k = 0; k < r->n_in; k++) {
        int dtype = r->row->rule == KNI_RULE_SELECT && k == 0 ? KN_BOOL : kni_compute_dtype[compute];
        in[k] =
            as_strip(c, place_of(c, r->ids[1 + k]), dtype, kni_rounds_to(&kni_in(r, k)->type, common, dtype));
    }
    kni_strip_place to = c->places[i] = result_place(c, r);
    kni_strip_place out = to.dtype == out_strip ? to : new_strip(c, out_strip, false);
    kni_strip_step *s = new_step(c, KNI_STRIP_CALL);
    s->fn = fn;
    s->record = (int16_t)i;
    s->heavy = c->p->streams && kni_strip_heavy(r);
    s->n_in = (uint8_t)r->n_in;
    memcpy(s->in, in, sizeof in);
    s->out = out;
    if (to.dtype == out_strip) return;
    s = new_step(c, KNI_STRIP_CONVERT);
    s->n_in = 1;
    s->in[0] = out;
    s->out = to;
}

/* ---- registers */

static void find_last_reads(compiler *c)
{
    for (int32_t i = 0; i < c->p->n_steps; i++)
        for (int k = 0; k < c->steps[i].n_in; k++)
            if (c->steps[i].in[k].kind == KNI_PLACE_REGISTER) c->strips[c->steps[i].in[k].index].last = i;
}

static int16_t take_register(compiler *c, bool *used, const virtual_strip *v)
{
    for (int16_t i = 0; i < c->p->n_registers; i++)
        if (!used[i] && !v->permanent) {
            used[i] = true;
            return i;
        }
    if (c->p->n_registers == KNI_GROUP_REGISTERS) {
        c->failed = true;
        return 0;
    }
    used[c->p->n_registers] = true;
    return (int16_t)c->p->n_registers++;
}

static int bytes_of(kni_strip_place p) { return kni_bytes_of(p.dtype); }

/* Frees the registers that the step reads last; those of another width only after its result has one. */
static void free_reads(compiler *c, bool *used, int32_t i, bool same_width)
{
    const kni_strip_step *s = &c->steps[i];
    for (int k = 0; k < s->n_in; k++) {
        if (s->in[k].kind != KNI_PLACE_REGISTER) continue;
        const virtual_strip *v = &c->strips[s->in[k].index];
        if (v->permanent || v->last != i) continue;
        if ((s->kind == KNI_STRIP_CALL && bytes_of(s->in[k]) == bytes_of(s->out)) == same_width)
            used[v->assigned] = false;
    }
}

static void assign(compiler *c, bool *used, kni_strip_place *place)
{
    virtual_strip *v = &c->strips[place->index];
    if (place->kind == KNI_PLACE_REGISTER && v->assigned < 0) v->assigned = take_register(c, used, v);
}

static void assign_registers(compiler *c)
{
    bool used[KNI_GROUP_REGISTERS] = {false};
    for (int32_t i = 0; i < c->p->n_once; i++) assign(c, used, &c->once[i].out);
    for (int32_t i = 0; i < c->p->n_steps && !c->failed; i++) {
        kni_strip_step *s = &c->steps[i];
        free_reads(c, used, i, true);
        assign(c, used, &s->out);
        free_reads(c, used, i, false);
        /* A result that nobody reads needs its register for this step only. */
        if (s->out.kind == KNI_PLACE_REGISTER) {
            const virtual_strip *v = &c->strips[s->out.index];
            if (v->last < 0 && !v->permanent) used[v->assigned] = false;
        }
    }
    for (int32_t i = 0; i < c->p->n_once; i++)
        c->once[i].out.index = c->strips[c->once[i].out.index].assigned;
    for (int32_t i = 0; i < c->p->n_steps; i++) {
        kni_strip_step *s = &c->steps[i];
        if (s->out.kind == KNI_PLACE_REGISTER) s->out.index = c->strips[s->out.index].assigned;
        for (int k = 0; k < s->n_in; k++)
            if (s->in[k].kind == KNI_PLACE_REGISTER) s->in[k].index = c->strips[s->in[k].index].assigned;
    }
}

/* As many elements as keep all registers in the first-level cache. */
static void choose_strip(compiler *c)
{
    kni_strip_program *p = c->p;
    int widest = 1;
    for (int32_t i = 0; i < p->n_once; i++)
        if (bytes_of(c->once[i].out) > widest) widest = bytes_of(c->once[i].out);
    for (int32_t i = 0; i < p->n_steps; i++)
        if (bytes_of(c->steps[i].out) > widest) widest = bytes_of(c->steps[i].out);
    int32_t element = (p->n_registers + 1) * widest; /* one is for results that pass the caches */
    int32_t strip = FIRST_LEVEL / element / UNIT * UNIT, most = KNI_GROUP_STRIP_BYTES / element / UNIT * UNIT;
    if (strip < SHORTEST) strip = SHORTEST < most ? SHORTEST : most;
    int longest = p->streams ? LONGEST_STREAMED : LONGEST;
    if (strip > longest) strip = longest;
    if (strip < UNIT) c->failed = true;
    p->strip = strip;
    p->register_bytes = strip * widest;
}

/* Rows that repeat for every outer index and fit a strip are laid out once; strips are whole rows then. */
static void find_periods(compiler *c)
{
    kni_strip_program *p = c->p;
    int last = p->rank - 1;
    int64_t row = p->dims[last];
    int32_t kept = 0;
    bool any = false;
    for (int32_t i = 0; i < p->n_steps; i++) {
        kni_strip_step *s = &c->steps[i];
        bool repeats = s->kind == KNI_STRIP_GATHER && row > 0 && row <= p->strip &&
                       p->n_once < KNI_COUNT(c->once) && p->inputs[s->input].strides[last] != 0;
        for (int a = 0; a < last; a++) repeats = repeats && p->inputs[s->input].strides[a] == 0;
        if (repeats) {
            c->once[p->n_once] = *s;
            c->once[p->n_once++].kind = KNI_STRIP_PERIOD;
            any = true;
        } else {
            c->steps[kept++] = *s;
        }
    }
    p->n_steps = kept;
    if (any) p->strip = (int32_t)(p->strip / row * row);
}

/* A result may take the memory of an input that dies, when nothing reads the input after the result is written. */
static void find_reuse(compiler *c)
{
    kni_strip_program *p = c->p;
    int32_t last_read[KNI_GROUP_INPUTS];
    bool dies[KNI_GROUP_INPUTS] = {false}, taken[KNI_GROUP_INPUTS] = {false};
    for (int i = 0; i < p->n_inputs; i++) last_read[i] = -1;
    for (int32_t i = 0; i < p->n_steps; i++)
        for (int k = 0; k < c->steps[i].n_in; k++)
            if (c->steps[i].in[k].kind == KNI_PLACE_INPUT) last_read[c->steps[i].in[k].index] = i;
    for (int i = 0; i < c->g->n_records; i++) {
        const kn_record *r = c->g->records[i];
        for (int k = 0; k < r->n_in; k++)
            for (int j = 0; j < p->n_inputs && r->last_use >> k & 1; j++)
                if (c->g->inputs[j] == r->ids[1 + k]) dies[j] = true;
    }
    for (int32_t i = 0; i < p->n_steps; i++) {
        kni_strip_place out = c->steps[i].out;
        if (out.kind != KNI_PLACE_RESULT) continue;
        for (int j = 0; j < p->n_inputs && p->reused[out.index] < 0; j++) {
            const kni_tensor *x = kni_slot(c->g->inputs[j]);
            bool fits = dies[j] && !taken[j] && last_read[j] <= i && p->inputs[j].flat && x->storage &&
                        kni_dtypes[p->inputs[j].dtype].bits == kni_dtypes[out.dtype].bits &&
                        kni_same_dims(&x->type, &kni_slot(c->g->outputs[out.index])->type);
            /* A conversion in place would read what it has written. */
            if (fits && c->steps[i].kind == KNI_STRIP_CONVERT && p->inputs[j].dtype != out.dtype)
                fits = false;
            if (!fits) continue;
            taken[j] = true;
            p->reused[out.index] = (int16_t)j;
        }
    }
}

static void find_large_results(compiler *c)
{
    for (int32_t i = 0; i < c->p->n_steps; i++) {
        kni_strip_step *s = &c->steps[i];
        bool large = s->kind == KNI_STRIP_CALL && s->out.kind == KNI_PLACE_RESULT &&
                     c->parts.whole >= CACHES / bytes_of(s->out) &&
                     !(c->parts.near_results >> s->out.index & 1);
        for (int32_t j = i + 1; j < c->p->n_steps && large; j++)
            for (int k = 0; k < c->steps[j].n_in; k++)
                large = large && !(c->steps[j].in[k].kind == KNI_PLACE_RESULT &&
                                   c->steps[j].in[k].index == s->out.index);
        s->past_caches = large;
    }
}

/* Notes for each step which inputs it is the first to read. */
static void find_fetches(compiler *c)
{
    bool read[KNI_GROUP_INPUTS] = {false};
    for (int32_t i = 0; i < c->p->n_steps && c->p->streams; i++) {
        kni_strip_step *s = &c->steps[i];
        for (int k = 0; k < s->n_in; k++) {
            int input = s->in[k].index;
            if (s->in[k].kind != KNI_PLACE_INPUT || read[input] || !c->p->inputs[input].flat ||
                c->parts.near_inputs >> input & 1)
                continue;
            read[input] = true;
            s->fetched[s->n_fetched++] = (uint8_t)input;
        }
    }
}

static int16_t place_number(kni_strip_place place)
{
    static const int16_t first[] = {[KNI_PLACE_REGISTER] = 0,
                                    [KNI_PLACE_INPUT] = KNI_PLACE_INPUTS,
                                    [KNI_PLACE_RESULT] = KNI_PLACE_RESULTS};
    return (int16_t)(first[place.kind] + place.index);
}

static void number_places(kni_strip_step *steps, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        kni_strip_step *s = &steps[i];
        for (int k = 0; k < s->n_in; k++) s->in_at[k] = place_number(s->in[k]);
        s->out_at = place_number(s->out);
    }
}

static kni_strip_program *finish(compiler *c)
{
    kni_strip_program *p = c->p;
    for (int i = 0; i < p->n_results; i++)
        p->result_bytes[i] = (uint8_t)kni_bytes_of(kni_slot(c->g->outputs[i])->type.dtype);
    number_places(c->steps, p->n_steps);
    number_places(c->once, p->n_once);
    for (int32_t i = 0; i < p->n_steps; i++) {
        p->gathers |= c->steps[i].kind == KNI_STRIP_GATHER;
        p->past_caches |= c->steps[i].past_caches;
    }
    size_t steps = (size_t)p->n_steps * sizeof *p->steps, once = (size_t)p->n_once * sizeof *p->once;
    size_t bytes = sizeof *p + steps + once;
    kni_strip_program *made = kni_allocate(bytes);
    if (!made) return NULL;
    *made = *p;
    made->bytes = bytes;
    made->steps = (kni_strip_step *)(made + 1);
    made->once = made->steps + p->n_steps;
    memcpy(made->steps, c->steps, steps);
    memcpy(made->once, c->once, once);
    return made;
}

static kni_strip_program *compile(const kni_group *g, const kni_strip_parts *parts, bool again)
{
    if (g->n_records > KNI_GROUP_RECORDS || g->n_inputs > KNI_GROUP_INPUTS ||
        g->n_outputs > KNI_GROUP_RESULTS)
        return NULL;
    kni_strip_program draft = {.n_results = g->n_outputs}, *made = NULL;
    compiler *c = kni_allocate(sizeof *c);
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    c->g = g;
    c->p = &draft;
    const kni_type *shape = &kni_out(g->records[0], 0)->type;
    draft.n = kni_count(shape);
    for (int i = 0; i < KNI_GROUP_RESULTS; i++) draft.reused[i] = -1;
    start_inputs(c, shape, parts == NULL);
    c->parts = parts ? *parts : (kni_strip_parts){.whole = draft.n};
    draft.streams = c->parts.whole >= CACHES / 8;
    for (int i = 0; i < g->n_records && !c->failed; i++) {
        if (kni_converts(g->records[i]->row))
            compile_cast(c, i);
        else
            compile_call(c, i);
    }
    if (!c->failed) {
        draft.n_steps = kni_strip_join(c->steps, draft.n_steps, g);
        find_last_reads(c);
        assign_registers(c);
        choose_strip(c);
    }
    if (!c->failed) {
        find_periods(c);
        find_reuse(c);
        find_large_results(c);
        find_fetches(c);
        made = finish(c);
        if (made && again) made->jit = kni_group_jit_new(g, made);
    }
    kni_free(c, sizeof *c);
    return made;
}

kni_strip_program *kni_strip_compile(const kni_group *g, const kni_strip_parts *parts)
{
    return compile(g, parts, true);
}

kni_strip_program *kni_strip_compile_once(const kni_group *g) { return compile(g, NULL, false); }

void kni_strip_free(void *program)
{
    kni_strip_program *p = program;
    kni_group_jit_free(p->jit);
    kni_free(p, p->bytes);
}
