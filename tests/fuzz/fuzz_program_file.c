/* Fuzzes the reader of programs, and all that works on what it accepts. The input is a whole file, or the text of a program, which gets
   the tensors that it names. A program is printed, saved and loaded again to the same bytes, run at its smallest sizes within limits
   of memory and steps, simplified to one that gives the same bits, and written as C. Seeds come from test_program_file --seeds. */
#include "fuzz.h"
#include "program/program_data.h"
#include "program_mutator.h"
#include <kn/program.h>

enum { MAX_PORTS = 16, MEMORY = 1 << 20, MAX_ELEMENTS = 4096, MAX_STEPS = 400, MAX_TRIPS = 20, POOL = 256 };

static void must(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, kn_last_error());
    abort();
}

/* ---- loading */

/* The tensor that an entry {"tensor":"w","id":1,"type":["f32",4]} asks for, where it is small. */
static void put_tensor(kn_state state, const char *entry)
{
    char name[64], dtype[24];
    kn_shape shape = {0, {0}};
    int64_t count = 1;
    const char *type = strstr(entry, "\"type\":[");
    if (!type || sscanf(entry, "\"tensor\":\"%63[^\"]\"", name) != 1 ||
        sscanf(type, "\"type\":[\"%23[^\"]\"", dtype) != 1)
        return;
    for (type = strchr(type + 9, '"'); type && type[1] == ',' && shape.rank < KN_MAX_RANK;) {
        char *end;
        int64_t size = strtoll(type + 2, &end, 10);
        if (end == type + 2 || size < 0 || size > MAX_ELEMENTS || (count *= size) > MAX_ELEMENTS) return;
        shape.dims[shape.rank++] = size;
        type = end - 1;
    }
    kn_dtype d = kn_dtype_by_name(dtype);
    kn_tensor t = kn_add_scalar(kn_mul_scalar(kn_arange(0, (double)count, 1, KN_F32), 0.125), 0.5);
    if (d != KN_DTYPE_NONE) (void)kn_state_put(state, "", name, kn_cast(kn_reshape(t, shape), d));
}

static kn_program load_text(const char *text)
{
    void *file = NULL;
    size_t size = 0;
    kn_program p = NULL;
    kn_scope scope = kn_scope_begin();
    kn_state state = kn_state_make();
    for (const char *at = text; (at = strstr(at, "\"tensor\":\"")); at++) put_tensor(state, at);
    if (kn_state_put_text(state, "kiln.program", text) == KN_OK &&
        kn_state_write_memory(state, &file, &size, KN_STORE_SAFETENSORS) == KN_OK)
        p = kn_program_load_memory(file, size, NULL);
    free(file);
    kn_state_free(state);
    kn_scope_end(scope, KN_NONE);
    return p;
}

/* Half of the whole files are loaded without their checksums, which few changes leave right. */
static kn_program load(const uint8_t *data, size_t bytes)
{
    if (!bytes || data[0] != '{')
        return kn_program_load_memory(data, bytes, &(kn_program_load_args){.skip_checksum = bytes & 1});
    char *text = malloc(bytes + 1);
    memcpy(text, data, bytes);
    text[bytes] = 0;
    kn_program p = load_text(text);
    free(text);
    return p;
}

/* ---- saving */

/* The text without the numbers of values, which a file gives anew, and without the keys of random ops, which runs give: a file may tell
   one that is saved as 0. */
static char *printed(kn_program p)
{
    size_t bytes = kn_program_print(p, NULL, 0) + 1, kept = 0;
    char *text = malloc(bytes);
    must(kn_program_print(p, text, bytes) == bytes - 1 && strlen(text) == bytes - 1, "print");
    for (size_t i = 0; i < bytes; i++) {
        text[kept++] = text[i];
        bool key = kept >= 4 && !memcmp(text + kept - 4, "key=", 4);
        if (text[i] && (key || strchr("%#^", text[i]))) i += strspn(text + i + 1, "-0123456789");
    }
    return text;
}

/* What is saved loads, and is saved as the same bytes. */
static void save_again(kn_program p)
{
    void *data = NULL, *second = NULL;
    size_t bytes = 0, others = 0;
    kn_status s = kn_program_save_memory(p, &data, &bytes, NULL);
    if (s == KN_ERROR_UNSUPPORTED) return; /* "a / 2 / 2 / 2" is shorter than what it is printed as */
    must(s == KN_OK, "save");
    kn_program q = kn_program_load_memory(data, bytes, NULL);
    must(q != NULL, "load what was saved");
    must(kn_program_save_memory(q, &second, &others, NULL) == KN_OK, "save what was loaded");
    must(bytes == others && !memcmp(data, second, bytes), "saved again it is other bytes");
    char *a = printed(p), *b = printed(q);
    must(!strcmp(a, b), "loaded it is another text");
    free(a);
    free(b);
    free(data);
    free(second);
    kn_program_free(q);
}

/* ---- running */

/* The smallest sizes. */
typedef struct sizes {
    kn_dim symbols[MAX_PORTS];
    int64_t values[MAX_PORTS];
    int32_t n;
} sizes;

static int64_t evaluated(kn_dim d, const sizes *s)
{
    return kni_dim_evaluate(d, s->symbols, s->values, s->n);
}

/* How many nodes run in a region at most, given up above the limit; functions in functions double it each time. */
static int64_t steps_of(const kni_program *p, int32_t region, const sizes *s, int64_t limit)
{
    int64_t steps = 1;
    const kni_program_region *r = &p->regions[region];
    for (int32_t i = 0; i < r->n_nodes && steps <= limit; i++) {
        const kni_program_node *n = &p->nodes[r->nodes[i]];
        int64_t trips = 1;
        if (n->kind == KNI_NODE_LOOP)
            trips = n->loop.trips == KNI_DIM_BAD ? n->loop.max_trips : evaluated(n->loop.trips, s);
        if (trips < 0 || trips > MAX_TRIPS) return limit + 1;
        for (int k = 0; k < 2 && n->kind != KNI_NODE_OP && trips; k++)
            if (n->regions[k] >= 0) steps += trips * steps_of(p, n->regions[k], s, (limit - steps) / trips);
        steps++;
    }
    return steps;
}

/* Inputs of the smallest sizes; false where they, or the run, are too large for this. */
static bool make_inputs(const kni_program *p, kn_tensor *in)
{
    sizes s;
    s.n = kni_program_symbols(p, s.symbols, MAX_PORTS);
    for (int32_t i = 0; i < s.n; i++) s.values[i] = kni_dim_low(s.symbols[i]);
    if (steps_of(p, 0, &s, MAX_STEPS) > MAX_STEPS) return false;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        in[i] = KN_NONE;
        if (p->inputs[i] < 0) continue;
        const kni_type *t = &p->values[p->inputs[i]].type;
        kn_shape shape = {t->rank, {0}};
        for (int a = 0; a < t->rank; a++) {
            shape.dims[a] = evaluated(t->dims[a], &s);
            if (shape.dims[a] < 0 || shape.dims[a] > 16) return false;
        }
        in[i] = kn_keep(kn_cast(kn_ones(shape, KN_F32), (kn_dtype)t->dtype));
        if (!kn_ok(in[i])) return false;
    }
    return true;
}

/* What a run gave: a status, and the outputs' bytes one after the other. */
typedef struct outcome {
    kn_status status;
    size_t bytes;
    char *data;
} outcome;

static outcome run(kn_program program, const kn_program_info *info)
{
    KNI_USE(program, p, program);
    kn_tensor in[MAX_PORTS], out[MAX_PORTS];
    outcome r = {KN_ERROR_ARGUMENT, 0, NULL};
    if (info->inputs > MAX_PORTS || info->outputs > MAX_PORTS) return r;
    kn_scope scope = kn_scope_begin();
    kni_dims *before = kni_dims_enter(p->dims);
    bool good = make_inputs(p, in);
    kni_dims_enter(before);
    kn_seed(NULL, 1);
    if (good) r.status = kn_program_run(program, in, info->inputs, out, info->outputs);
    for (int32_t i = 0; i < info->outputs && r.status == KN_OK; i++) {
        size_t more = (size_t)kn_dtype_bytes(kn_dtype_of(out[i]), kn_count(out[i]));
        r.data = realloc(r.data, r.bytes + more + 1);
        r.status = kn_read(kn_keep(out[i]), r.data + r.bytes, more);
        r.bytes += more;
    }
    kn_scope_end(scope, KN_NONE);
    return r;
}

/* Simplified it gives the same bits, and is a program that can be saved. Memory may end here and not there. */
static void simplify(kn_program program, const kn_program_info *info)
{
    outcome before = run(program, info);
    kn_status s = kn_program_simplify(program, KN_PASS_CONSTANTS | KN_PASS_COMMON | KN_PASS_DEAD);
    must(s == KN_OK || s == KN_ERROR_MEMORY, "simplify");
    save_again(program);
    if (before.status == KN_OK) {
        outcome after = run(program, info);
        must(after.status == KN_OK || after.status == KN_ERROR_MEMORY, "run what was simplified");
        must(after.status || (after.bytes == before.bytes && !memcmp(after.data, before.data, after.bytes)),
             "simplified it gives other bits");
        free(after.data);
    }
    free(before.data);
    s = kn_program_simplify(program, KN_PASS_ALL | KN_PASS_FREEZE);
    must(s == KN_OK || s == KN_ERROR_MEMORY, "simplify all");
    free(run(program, info).data);
}

/* There is no such folder: the text is made, and nothing is written. */
static void write_c(kn_program program)
{
    must(kn_program_to_c(program, "/no/such/folder/fuzzed.c", NULL) != KN_OK, "write into nothing");
}

/* ---- changes */

/* The length before the header of a file stays right. */
static size_t mutate_file(uint8_t *data, size_t size, size_t max_size)
{
    uint64_t header = 0;
    if (size > 8) memcpy(&header, data, 8);
    if (size <= 8 || header > size - 8 || mutator_draw(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
    size_t rest = size - 8 - (size_t)header;
    uint8_t *tail = malloc(rest + 1);
    memcpy(tail, data + 8 + header, rest);
    header = LLVMFuzzerMutate(data + 8, (size_t)header, max_size - 8 - rest);
    memcpy(data, &header, 8);
    memcpy(data + 8 + header, tail, rest);
    free(tail);
    return 8 + (size_t)header + rest;
}

/* Texts that were programs. What a fuzzer keeps is mostly refused by the reader, in one more place each: most changes begin with
   one of these instead. */
static mutator_text accepted[POOL];
static uint32_t n_accepted;

static void note_accepted(const uint8_t *data, size_t bytes)
{
    mutator_text *t = &accepted[n_accepted++ % POOL];
    if (data[0] != '{' || bytes >= MUTATOR_ROOM) return;
    memcpy(t->at, data, bytes);
    t->at[t->size = bytes] = 0;
}

/* A changed text, most of the time one that is a program. */
static void change(mutator_text *t, const mutator_text *from)
{
    for (int tries = 0; tries < 4; tries++) {
        kn_program p = NULL;
        *t = *from;
        for (uint32_t steps = 1 + mutator_draw(4); steps; steps--) mutator_step(t);
        if (mutator_draw(16)) mutator_list_ops(t);
        if (mutator_draw(8) == 0) return;
        p = load_text(t->at);
        for (int i = 0; i < MUTATOR_REPAIRS && !p && mutator_repair(t, kn_last_error()); i++)
            p = load_text(t->at);
        kn_program_free(p);
        if (p) return;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static mutator_text from, t;
    mutator_state = seed;
    bool text = size && data[0] == '{' && size < MUTATOR_ROOM;
    const mutator_text *pooled =
        n_accepted ? &accepted[mutator_draw(n_accepted < POOL ? n_accepted : POOL)] : &from;
    if (pooled->size && mutator_draw(4)) {
        from = *pooled;
    } else if (text) {
        memcpy(from.at, data, size);
        from.at[from.size = size] = 0;
    } else {
        return mutate_file(data, size, max_size);
    }
    change(&t, &from);
    size_t bytes = t.size < max_size ? t.size : max_size;
    memcpy(data, t.at, bytes);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    kn_program program = load(data, bytes);
    kn_program_info info;
    if (!program) return 0;
    note_accepted(data, bytes);
    save_again(program);
    kn_memory memory = kn_memory_stats();
    kn_memory_limit(memory.bytes_now + memory.bytes_cached + MEMORY);
    if (kn_program_describe(program, &info) == KN_OK) {
        if (info.ops <= 12) write_c(program);
        simplify(program, &info);
    }
    kn_memory_limit(0);
    kn_program_free(program);
    return 0;
}
