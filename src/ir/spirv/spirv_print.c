/* A whole module of SPIR-V from a kernel in the narrow form. The text is its words, in the machine's order of bytes. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/emitter.h"
#include "ir/spirv/spirv.h"
#include <string.h>

enum {
    SHADER = 1,
    SHUFFLES = 65,
    NON_UNIFORM = 61,
    HALF_BUFFERS = 4433,
    BYTE_BUFFERS = 4448,
    KEEP_TINY = 4464,
    KEEP_SPECIAL = 4466,
    ROUND_TO_EVEN = 4467,
    MODE_LOCAL_SIZE = 17,
    MODE_KEEP_TINY = 4459,
    MODE_KEEP_SPECIAL = 4461,
    MODE_ROUND_TO_EVEN = 4462,
    LOGICAL = 0,
    GLSL450 = 1,
    COMPUTE = 5
};

/* A text as words, with its zero. */
static void put_text(kni_spirv *s, kni_spirv_words *to, uint32_t code, const uint32_t *first, int n_first,
                     const char *text, const uint32_t *last, int n_last)
{
    uint32_t words[16 + 8] = {0}, n = (uint32_t)strlen(text) / 4 + 1;
    if (n > 16) {
        kni_spirv_fail(s, NULL, "the kernel's name is too long");
        return;
    }
    memcpy(words, text, strlen(text));
    for (int i = 0; i < n_last; i++) words[n + (uint32_t)i] = last[i];
    kni_spirv_put_list(s, to, code, first, n_first, words, n + (uint32_t)n_last);
}

/* What floats do where the device lets one choose: subnormal numbers stay, NaN and infinities are themselves, sums round to even. */
static const struct {
    uint8_t bit;
    uint32_t capability, mode;
} float_modes[] = {{KNI_IR_FLOAT_KEEPS_TINY, KEEP_TINY, MODE_KEEP_TINY},
                   {KNI_IR_FLOAT_KEEPS_SPECIAL, KEEP_SPECIAL, MODE_KEEP_SPECIAL},
                   {KNI_IR_FLOAT_ROUNDS, ROUND_TO_EVEN, MODE_ROUND_TO_EVEN}};

static void put_capabilities(kni_spirv *s, kni_spirv_words *head)
{
    kni_spirv_put(s, head, SPIRV_CAPABILITY, 1, SHADER);
    if (s->caps->subgroups) {
        kni_spirv_put(s, head, SPIRV_CAPABILITY, 1, NON_UNIFORM);
        kni_spirv_put(s, head, SPIRV_CAPABILITY, 1, SHUFFLES);
    }
    if (s->blocks[KN_U16]) kni_spirv_put(s, head, SPIRV_CAPABILITY, 1, HALF_BUFFERS);
    if (s->blocks[KN_U8]) kni_spirv_put(s, head, SPIRV_CAPABILITY, 1, BYTE_BUFFERS);
    for (int i = 0; i < KNI_COUNT(float_modes); i++)
        if (s->caps->float_modes & float_modes[i].bit)
            kni_spirv_put(s, head, SPIRV_CAPABILITY, 1, float_modes[i].capability);
    if (s->blocks[KN_U8]) put_text(s, head, SPIRV_EXTENSION, NULL, 0, "SPV_KHR_8bit_storage", NULL, 0);
    if (s->caps->float_modes) put_text(s, head, SPIRV_EXTENSION, NULL, 0, "SPV_KHR_float_controls", NULL, 0);
}

static void put_entry(kni_spirv *s, kni_spirv_words *head, uint32_t entry)
{
    uint32_t first[2] = {COMPUTE, entry}, inputs[3] = {s->group, s->local, s->lane};
    put_text(s, head, SPIRV_ENTRY, first, 2, s->ir->name, inputs, s->lane ? 3 : 2);
    if (s->ir->workgroup)
        kni_spirv_put(s, head, SPIRV_MODE, 5, entry, MODE_LOCAL_SIZE, s->ir->workgroup, 1, 1);
    for (int i = 0; i < KNI_COUNT(float_modes); i++)
        if (s->caps->float_modes & float_modes[i].bit)
            kni_spirv_put(s, head, SPIRV_MODE, 3, entry, float_modes[i].mode, 32);
}

static void put_functions(kni_spirv *s, uint32_t entry)
{
    for (uint32_t i = 0; i < s->ir->n_functions; i++) s->functions[i] = kni_spirv_id(s);
    for (uint32_t i = 0; i < s->ir->n_functions && s->status == KN_OK; i++)
        kni_spirv_function(s, &s->ir->functions[i], s->functions[i]);
    kni_spirv_function(s, NULL, entry);
}

static void add_words(kni_ir_text *text, const uint32_t *words, size_t count)
{
    kni_ir_text_add_bytes(text, words, count * sizeof *words);
}

static kn_status print(kni_spirv *s, kni_ir_text *text)
{
    kni_spirv_words head = {NULL, 0, 0};
    uint32_t entry = kni_spirv_id(s);
    s->library = kni_spirv_id(s);
    kni_spirv_interface(s);
    put_functions(s, entry);
    put_capabilities(s, &head);
    put_text(s, &head, SPIRV_IMPORT, &s->library, 1, "GLSL.std.450", NULL, 0);
    kni_spirv_put(s, &head, SPIRV_MEMORY_MODEL, 2, LOGICAL, GLSL450);
    put_entry(s, &head, entry);
    const uint32_t header[SPIRV_HEADER] = {SPIRV_MAGIC, SPIRV_VERSION, 0, s->next, 0};
    const kni_spirv_words *sections[] = {&head, &s->notes, &s->globals, &s->code};
    if (s->status == KN_OK) {
        add_words(text, header, SPIRV_HEADER);
        for (int i = 0; i < KNI_COUNT(sections); i++) add_words(text, sections[i]->data, sections[i]->count);
        if (text->failed) s->status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    }
    kni_spirv_words_free(&head);
    return s->status;
}

static void release(kni_spirv *s)
{
    size_t n = s->ir->n_nodes;
    if (s->ids) kni_free(s->ids, n * sizeof *s->ids);
    if (s->slots) kni_free(s->slots, n * sizeof *s->slots);
    if (s->functions) kni_free(s->functions, (s->ir->n_functions + 1) * sizeof *s->functions);
    if (s->known) kni_free(s->known, s->known_room * sizeof *s->known);
    kni_spirv_words_free(&s->signatures);
    kni_spirv_words_free(&s->notes);
    kni_spirv_words_free(&s->globals);
    kni_spirv_words_free(&s->code);
    kni_free(s, sizeof *s);
}

static kn_status print_spirv(const kni_ir *ir, const kni_ir_caps *caps, kni_ir_text *text)
{
    if (!ir->narrow)
        return kni_fail(KN_ERROR_UNSUPPORTED, "kernel %s: SPIR-V is printed from the narrow form alone",
                        ir->name);
    kni_spirv *s = kni_allocate(sizeof *s);
    if (!s) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    memset(s, 0, sizeof *s);
    s->ir = ir;
    s->caps = caps;
    s->next = 1;
    s->ids = kni_allocate(ir->n_nodes * sizeof *s->ids);
    s->slots = kni_allocate(ir->n_nodes * sizeof *s->slots);
    s->functions = kni_allocate((ir->n_functions + 1) * sizeof *s->functions);
    kn_status status = KN_ERROR_MEMORY;
    if (s->ids && s->slots && s->functions) {
        memset(s->ids, 0, ir->n_nodes * sizeof *s->ids);
        memset(s->slots, 0, ir->n_nodes * sizeof *s->slots);
        status = print(s, text);
    } else {
        (void)kni_fail(status, "no memory for a kernel");
    }
    release(s);
    return status;
}

const kni_dialect kni_dialect_spirv = {.name = "Vulkan", .ending = "spv", .print = print_spirv};
