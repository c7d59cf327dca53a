/* Fuzzes the reader of programs: a whole file, or the text of a program, which is wrapped with some tensors so that the fuzzer need not
   learn to escape JSON in JSON. What is accepted is printed, saved, and loaded again to the same text; one without loops is run. Seeds
   come from test_program_file --seeds. */
#include "fuzz.h"
#include "program/program_data.h"
#include <kn/program.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, MEMORY = 1 << 20 };

/* The tensors of all seeds. */
static kn_state tensors(void)
{
    static kn_state state;
    if (state) return state;
    state = kn_state_make();
    (void)kn_state_put(state, "", "layer.weight", kn_ones(KN_SHAPE(4, 6), KN_F32));
    (void)kn_state_put(state, "", "w", kn_ones(KN_SHAPE(4), KN_F32));
    (void)kn_state_put(state, "", "kiln.constant.0", kn_scalar(0.5, KN_F32));
    (void)kn_state_put(state, "", "kiln.constant.1", kn_scalar(2, KN_F32));
    (void)kn_state_put(state, "", "start", kn_ones(KN_SHAPE(4), KN_F32));
    (void)kn_state_put(state, "", "kiln.constant.2", kn_ones(KN_SHAPE(4), KN_F16));
    (void)kn_state_put(state, "", "kiln.constant.3", kn_scalar_int(3, KN_I64));
    return state;
}

static kn_program load(const uint8_t *data, size_t bytes)
{
    void *file = NULL;
    size_t size = 0;
    if (!bytes || data[0] != '{') return kn_program_load_memory(data, bytes, NULL);
    char *text = malloc(bytes + 1);
    memcpy(text, data, bytes);
    text[bytes] = 0;
    kn_program p = NULL;
    if (kn_state_put_text(tensors(), "kiln.program", text) == KN_OK &&
        kn_state_write_memory(tensors(), &file, &size, KN_STORE_SAFETENSORS) == KN_OK)
        p = kn_program_load_memory(file, size, NULL);
    free(file);
    free(text);
    return p;
}

static char *printed(kn_program p)
{
    size_t bytes = kn_program_print(p, NULL, 0) + 1;
    char *text = malloc(bytes);
    kn_program_print(p, text, bytes);
    return text;
}

/* What a program says of itself survives a file. */
static void save_again(kn_program p)
{
    void *data = NULL;
    size_t bytes = 0;
    kn_status s = kn_program_save_memory(p, &data, &bytes, NULL);
    if (s == KN_ERROR_UNSUPPORTED) return; /* "a / 2 / 2 / 2" is shorter than what it is printed as */
    if (s) abort();
    kn_program q = kn_program_load_memory(data, bytes, NULL);
    if (!q) abort();
    char *a = printed(p), *b = printed(q);
    if (strlen(a) != strlen(b)) abort();
    free(a);
    free(b);
    free(data);
    kn_program_free(q);
}

/* Inputs of the smallest sizes; false where they are too large for this. */
static bool make_inputs(const kni_program *p, kn_tensor *in)
{
    kn_dim symbols[MOST];
    int64_t values[MOST];
    int32_t n = kni_program_symbols(p, symbols, MOST);
    for (int32_t i = 0; i < n; i++) values[i] = kni_dim_low(symbols[i]);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        in[i] = KN_NONE;
        if (p->inputs[i] < 0) continue;
        const kni_type *t = &p->values[p->inputs[i]].type;
        kn_shape shape = {t->rank, {0}};
        for (int a = 0; a < t->rank; a++) {
            shape.dims[a] = kni_dim_evaluate(t->dims[a], symbols, values, n);
            if (shape.dims[a] < 0 || shape.dims[a] > 16) return false;
        }
        in[i] = kn_keep(kn_ones(shape, (kn_dtype)t->dtype));
    }
    return true;
}

static void run(kn_program program, kni_program *p, const kn_program_info *info)
{
    kn_tensor in[MOST], out[MOST];
    if (info->controls || info->inputs > MOST || info->outputs > MOST) return;
    kn_scope scope = kn_scope_begin();
    kni_dims *before = kni_dims_enter(p->dims);
    bool good = make_inputs(p, in);
    kni_dims_enter(before);
    kn_memory memory = kn_memory_stats();
    kn_memory_limit(memory.bytes_now + memory.bytes_cached + MEMORY);
    if (good) (void)kn_program_run(program, in, info->inputs, out, info->outputs);
    kn_memory_limit(0);
    kn_scope_end(scope, KN_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    kn_program program = load(data, bytes);
    kn_program_info info;
    if (!program) return 0;
    KNI_USE(program, p, program);
    save_again(program);
    if (p && kn_program_describe(program, &info) == KN_OK) run(program, p, &info);
    kn_program_free(program);
    return 0;
}
