/* kn_program_to_c: the file as a whole: its interface, the weights, the arena, the kernels, and the entry function. */
#include "program/to_c.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "ir/emitter.h"
#include "ir/prelude.h"
#include "support/file.h"
#include <kn/tensor.h>
#include <string.h>

kn_status kni_c_no_memory(void)
{
    return kni_fail(KN_ERROR_MEMORY, "kn_program_to_c: no memory for the text");
}

const char *kni_c_value_name(const kni_c *c, int32_t value, char *room, size_t bytes)
{
    kni_text t = {room, bytes, 0};
    int32_t name = value < 0 ? -1 : c->p->values[value].name;
    if (value < 0)
        kni_text_string(&t, "a value");
    else if (name >= 0)
        kni_text_format(&t, "value '%s'", kni_name_at(c->p, name));
    else
        kni_text_format(&t, "value %d", value);
    return room;
}

const char *kni_c_keep(kni_c *c, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = NULL;
    if (kni_program_room((void **)&c->strings, &c->string_room, c->n_strings + 1, sizeof *c->strings))
        copy = kni_allocate(bytes);
    if (!copy) return NULL;
    memcpy(copy, text, bytes);
    return c->strings[c->n_strings++] = copy;
}

void kni_c_uses(void *context, const char *function)
{
    kni_c *c = context;
    for (int32_t i = 0; i < c->n_uses; i++)
        if (!strcmp(c->uses[i], function)) return;
    const char *kept = kni_c_keep(c, function);
    if (!kept || !kni_program_room((void **)&c->uses, &c->use_room, c->n_uses + 1, sizeof *c->uses)) {
        c->functions.failed = true;
        return;
    }
    c->uses[c->n_uses++] = kept;
}

int32_t kni_c_kernel_of(kni_c *c, const char *key, bool *is_new)
{
    *is_new = false;
    for (int32_t i = 0; i < c->n_kernels; i++)
        if (!strcmp(c->kernels[i].key, key)) return i;
    *is_new = true;
    const char *kept = kni_c_keep(c, key);
    if (!kept ||
        !kni_program_room((void **)&c->kernels, &c->kernel_room, c->n_kernels + 1, sizeof *c->kernels)) {
        kni_c_no_memory();
        return -1;
    }
    c->kernels[c->n_kernels] = (kni_c_kernel){kept, NULL};
    return c->n_kernels++;
}

/* ---- names */

static bool is_name_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void kni_c_print_name(kni_ir_text *t, const char *name)
{
    for (; *name; name++) kni_ir_text_add(t, "%c", is_name_letter(*name) ? *name : '_');
}

bool kni_c_is_name(const char *name)
{
    if (!*name || (*name >= '0' && *name <= '9')) return false;
    for (; *name; name++)
        if (!is_name_letter(*name)) return false;
    return true;
}

/* ---- weights */

static bool is_weight(const kni_program_value *v)
{
    return v->origin == KNI_FROM_PARAM || v->origin == KNI_FROM_CONSTANT;
}

static void print_float(kni_ir_text *t, double v, bool wide)
{
    const char *letters = wide ? "64" : "32";
    if (v != v)
        kni_ir_text_add(t, "KNI_NAN_F%s", letters);
    else if (v - v != 0)
        kni_ir_text_add(t, "%sKNI_INF_F%s", v < 0 ? "-" : "", letters);
    else
        kni_ir_text_add(t, wide ? "%r" : "%rf", v);
}

void kni_c_print_element(kni_ir_text *t, int dtype, const void *data, int64_t i)
{
    int64_t whole;
    double v;
    if (dtype == KN_F32 || dtype == KN_F64) {
        v = dtype == KN_F32 ? ((const float *)data)[i] : ((const double *)data)[i];
        print_float(t, v, dtype == KN_F64);
        return;
    }
    if (kni_dtype_stored(dtype)) {
        kni_ir_text_add(t, "%u", ((const uint8_t *)data)[i]);
        return;
    }
    if (kni_is_half(dtype)) {
        kni_ir_text_add(t, "%u", ((const uint16_t *)data)[i]);
        return;
    }
    kni_convert(&whole, KN_I64, 1, (const char *)data + i * kni_bytes_of(dtype), dtype, 1, 1);
    if (dtype == KN_U64)
        kni_ir_text_add(t, "%lluULL", (unsigned long long)whole);
    else if (whole == INT64_MIN)
        kni_ir_text_add(t, "-9223372036854775807LL - 1");
    else
        kni_ir_text_add(t,
                        whole == INT32_MIN ? "(-2147483647 - 1)"
                        : dtype == KN_I64  ? "%lldLL"
                                           : "%lld",
                        (long long)whole);
}

static void print_array(kni_ir_text *t, int32_t value, int dtype, const void *data, int64_t count)
{
    kni_ir_text_add(t, "KILN_STATIC const %s w%d[] = {", kni_dialect_storage_type(dtype), value);
    for (int64_t i = 0; i < count; i++) {
        kni_ir_text_add(t, i % 8 ? " " : "\n    ");
        kni_c_print_element(t, dtype, data, i);
        kni_ir_text_add(t, ",");
    }
    kni_ir_text_add(t, count ? "\n};\n" : "0};\n");
    kni_ir_text_add(t, "#define W%d ((const unsigned char *)w%d)\n", value, value);
}

static kn_status print_weight(kni_c *c, kni_ir_text *t, int32_t value, kni_atomic_file *blob)
{
    static const char zeros[16];
    char room[80];
    const kni_program_value *v = &c->p->values[value];
    int64_t count = kni_count(&v->type), bytes = count * kni_bytes_of(v->type.dtype);
    if (!kni_c_takes_dtype(v->type.dtype))
        return kni_fail(KN_ERROR_UNSUPPORTED, "kn_program_to_c: %s is %T, which has no form in C: cast it",
                        kni_c_value_name(c, value, room, sizeof room), (int)v->type.dtype);
    void *data = kni_allocate(bytes ? (size_t)bytes : 1);
    if (!data) return kni_c_no_memory();
    kn_status s = bytes ? kn_read(v->tensor, data, (size_t)bytes) : KN_OK;
    if (v->name >= 0) {
        kni_ir_text_add(t, "/* ");
        kni_c_print_name(t, kni_name_at(c->p, v->name));
        kni_ir_text_add(t, " */\n");
    }
    if (s == KN_OK && !c->blob) print_array(t, value, v->type.dtype, data, count);
    if (s == KN_OK && c->blob) {
        size_t rest = (size_t)(-bytes & 15);
        kni_ir_text_add(t, "#define W%d (kiln_weights + %lld)\n", value, (long long)c->weights);
        s = kni_atomic_write(blob, data, (size_t)bytes);
        if (s == KN_OK && rest) s = kni_atomic_write(blob, zeros, rest);
        c->weights += bytes + (int64_t)rest;
    }
    kni_free(data, bytes ? (size_t)bytes : 1);
    return s;
}

/* ---- values from outside */

static kn_status place_outside(kni_c *c)
{
    const kni_program *p = c->p;
    for (int32_t i = 0; i < p->n_values; i++) {
        char name[32];
        kni_text text = {name, sizeof name, 0};
        const kni_program_value *v = &p->values[i];
        c->places[i] = (kni_c_place){NULL, -1, false};
        if (is_weight(v))
            kni_text_format(&text, "W%d", i);
        else if (v->origin == KNI_FROM_INPUT)
            kni_text_format(&text, "kiln_in[%d]", v->number);
        else
            continue;
        if (v->origin == KNI_FROM_INPUT && !kni_c_takes_dtype(v->type.dtype))
            return kni_fail(KN_ERROR_UNSUPPORTED,
                            "kn_program_to_c: input %d is %T, which has no form in C: cast it", v->number,
                            (int)v->type.dtype);
        if (!(c->places[i].address = kni_c_keep(c, name))) return kni_c_no_memory();
    }
    return KN_OK;
}

/* ---- the interface */

static void print_port(const kni_c *c, kni_ir_text *t, bool in, int32_t i)
{
    const kni_program *p = c->p;
    int32_t v = in ? p->inputs[i] : p->regions[0].results[i];
    int32_t name = in ? p->input_names[i] : p->output_names[i];
    kni_ir_text_add(t, "%s%s *%s%d", in ? "const " : "",
                    v < 0 ? "void" : kni_dialect_storage_type(p->values[v].type.dtype), in ? "in" : "out", i);
    if (name < 0) return;
    kni_ir_text_add(t, "_");
    kni_c_print_name(t, kni_name_at(p, name));
}

static void print_port_name(const kni_c *c, kni_ir_text *t, bool in, int32_t i)
{
    int32_t name = in ? c->p->input_names[i] : c->p->output_names[i];
    kni_ir_text_add(t, "%s%d", in ? "in" : "out", i);
    if (name < 0) return;
    kni_ir_text_add(t, "_");
    kni_c_print_name(t, kni_name_at(c->p, name));
}

static void print_prototype(const kni_c *c, kni_ir_text *t)
{
    const char *comma = "";
    kni_ir_text_add(t, "int %s_run(", c->name);
    if (c->blob) kni_ir_text_add(t, "const void *weights"), comma = ", ";
    for (int32_t i = 0; i < c->run.n_sizes; i++, comma = ", ")
        kni_ir_text_add(t, "%sint64_t %s_size", comma, kni_dim_name(c->run.symbols[i]));
    for (int32_t i = 0; i < c->p->n_inputs; i++, comma = ", ") {
        kni_ir_text_add(t, "%s", comma);
        print_port(c, t, true, i);
    }
    for (int32_t i = 0; i < c->p->n_outputs; i++, comma = ", ") {
        kni_ir_text_add(t, "%s", comma);
        print_port(c, t, false, i);
    }
    kni_ir_text_add(t, *comma ? ")" : "void)");
}

static void print_shape(kni_ir_text *t, const kni_type *type)
{
    char text[256];
    kni_text shape = {text, sizeof text, 0};
    kni_text_format(&shape, "%T%S", (int)type->dtype, type);
    kni_ir_text_add(t, "%s", text);
}

static void print_interface(const kni_c *c, kni_ir_text *t)
{
    const kni_program *p = c->p;
    kni_ir_text_add(
        t,
        "/* %s: a program that Kiln has written as C99. It needs no library, no header and no "
        "allocation; gcc and clang compile it\n   with any options, also -ffreestanding -nostdlib. On "
        "targets without 64-bit integers or doubles link the compiler's own helpers\n   (-lgcc). Kernels "
        "are reference kernels: right, and not fast. Memory is static: one call at a time.\n\n",
        c->name);
    for (int32_t i = 0; i < c->run.n_sizes; i++)
        kni_ir_text_add(t, "   %s_size: %lld to %lld\n", kni_dim_name(c->run.symbols[i]),
                        (long long)kni_dim_low(c->run.symbols[i]),
                        (long long)kni_dim_high(c->run.symbols[i]));
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < (pass ? p->n_outputs : p->n_inputs); i++) {
            int32_t v = pass ? p->regions[0].results[i] : p->inputs[i];
            kni_ir_text_add(t, "   ");
            print_port_name(c, t, !pass, i);
            kni_ir_text_add(t, ": ");
            if (v < 0)
                kni_ir_text_add(t, "not read");
            else
                print_shape(t, &p->values[v].type);
            kni_ir_text_add(t, "\n");
        }
    if (c->blob)
        kni_ir_text_add(t, "   weights: the %lld bytes of the file beside this one, at a multiple of 16\n",
                        (long long)c->weights);
    kni_ir_text_add(t,
                    "   Arena: %lld bytes.\n\n   With %s_HEADER defined the file only declares %s_run. */\n",
                    (long long)c->arena, c->name, c->name);
}

static const char declarations[] =
    "enum {\n"
    "    @_OK = 0,\n"
    "    @_BAD_SIZE = 1,   /* a size is outside its bounds, or does not fit another */\n"
    "    @_BAD_INDEX = 2,  /* an index that data says is out of range */\n"
    "    @_BAD_NUMBER = 3, /* data that an op cannot compute with: a singular matrix */\n"
    "    @_BAD_LOOP = 4    /* a loop has not ended after the most trips it may take */\n"
    "};\n";

/* One text serves all types: a comparison may be known for some of them, and an argument unused. */
static const char pragmas[] = "#if defined(__clang__)\n"
                              "#pragma clang fp contract(off)\n"
                              "#elif defined(__GNUC__)\n"
                              "#pragma GCC optimize(\"fp-contract=off\")\n"
                              "#endif\n"
                              "#if defined(__GNUC__)\n"
                              "#pragma GCC diagnostic ignored \"-Wparentheses\"\n"
                              "#pragma GCC diagnostic ignored \"-Wtype-limits\"\n"
                              "#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
                              "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n"
                              "#endif\n";

/* Functions that every program has, and what compilers call without being asked. */
static const char helpers[] =
    "#if defined(__GNUC__) && !__STDC_HOSTED__\n"
    "/* Compilers write calls of these. Another definition in the program takes their place. */\n"
    "__attribute__((weak)) void *memcpy(void *to, const void *from, __SIZE_TYPE__ n);\n"
    "__attribute__((weak)) void *memmove(void *to, const void *from, __SIZE_TYPE__ n);\n"
    "__attribute__((weak)) void *memset(void *to, int value, __SIZE_TYPE__ n);\n"
    "void *memmove(void *to, const void *from, __SIZE_TYPE__ n)\n"
    "{\n"
    "    volatile unsigned char *y = to;\n"
    "    const unsigned char *x = from;\n"
    "    if ((const unsigned char *)to < x)\n"
    "        for (; n; n--) *y++ = *x++;\n"
    "    else\n"
    "        for (; n; n--) y[n - 1] = x[n - 1];\n"
    "    return to;\n"
    "}\n"
    "void *memcpy(void *to, const void *from, __SIZE_TYPE__ n) { return memmove(to, from, n); }\n"
    "void *memset(void *to, int value, __SIZE_TYPE__ n)\n"
    "{\n"
    "    volatile unsigned char *y = to;\n"
    "    for (; n; n--) *y++ = (unsigned char)value;\n"
    "    return to;\n"
    "}\n"
    "#endif\n\n"
    "#define KILN_STATIC static __attribute__((unused))\n"
    "/* Memory changes its type from step to step: nothing moves across. */\n"
    "#define KILN_STEP __asm__ volatile(\"\" ::: \"memory\")\n\n"
    "KNI_FUNCTION int64_t kiln_div(int64_t a, int64_t b) { return b > 0 ? a / b - (a % b < 0) : -1; }\n"
    "KNI_FUNCTION int64_t kiln_max(int64_t a, int64_t b) { return a > b ? a : b; }\n"
    "KNI_FUNCTION int64_t kiln_min(int64_t a, int64_t b) { return a < b ? a : b; }\n"
    "KNI_FUNCTION void kiln_move(unsigned char *y, const unsigned char *x, int64_t bytes)\n"
    "{\n"
    "    if (y == x) return;\n"
    "    for (int64_t i = 0; i < bytes; i++) y[i] = x[i];\n"
    "}\n"
    "/* Rows of so many bytes, `step` apart in y. */\n"
    "KNI_FUNCTION void kiln_rows(unsigned char *y, int64_t step, const unsigned char *x, int64_t bytes, "
    "int64_t rows)\n"
    "{\n"
    "    for (int64_t i = 0; i < rows; i++) kiln_move(y + i * step, x + i * bytes, bytes);\n"
    "}\n"
    "/* Elements of x that lie `steps` apart, one behind the other. */\n"
    "KNI_FUNCTION void kiln_gather(unsigned char *y, const unsigned char *x, int size, int rank, const "
    "int64_t *n,\n"
    "                              const int64_t *steps)\n"
    "{\n"
    "    int64_t at[8] = {0}, from = 0;\n"
    "    int a;\n"
    "    for (a = 0; a < rank; a++)\n"
    "        if (n[a] <= 0) return;\n"
    "    for (;;) {\n"
    "        for (int i = 0; i < size; i++) y[i] = x[from * size + i];\n"
    "        y += size;\n"
    "        for (a = rank - 1; a >= 0; a--) {\n"
    "            from += steps[a];\n"
    "            if (++at[a] < n[a]) break;\n"
    "            from -= steps[a] * n[a];\n"
    "            at[a] = 0;\n"
    "        }\n"
    "        if (a < 0) return;\n"
    "    }\n"
    "}\n";

/* A text with the program's name in place of @. */
static void print_named(const kni_c *c, kni_ir_text *t, const char *text)
{
    for (; *text; text++)
        if (*text == '@')
            kni_ir_text_add(t, "%s", c->name);
        else
            kni_ir_text_add(t, "%c", *text);
}

static void print_declarations(const kni_c *c, kni_ir_text *t)
{
    print_named(c, t, declarations);
    print_prototype(c, t);
    kni_ir_text_add(t, ";\n\n");
}

static void print_state(const kni_c *c, kni_ir_text *t)
{
    kni_ir_text_add(t,
                    "KNI_FUNCTION void kni_report(int64_t *fault, int64_t value)\n{\n%s}\n\n"
                    "KILN_STATIC int64_t kiln_fault[2];\nKILN_STATIC uint64_t kiln_none;\n",
                    kni_dialect_c99.report);
    kni_ir_text_add(
        t, "KILN_STATIC const unsigned char *kiln_in[%d];\nKILN_STATIC unsigned char *kiln_out[%d];\n",
        c->p->n_inputs ? c->p->n_inputs : 1, c->p->n_outputs ? c->p->n_outputs : 1);
    if (c->blob) kni_ir_text_add(t, "KILN_STATIC const unsigned char *kiln_weights;\n");
    for (int32_t i = 0; i < c->run.n_sizes; i++)
        kni_ir_text_add(t, "KILN_STATIC int64_t size_%s;\n", kni_dim_name(c->run.symbols[i]));
    kni_ir_text_add(t,
                    "KILN_STATIC union {\n    uint64_t words[2];\n    unsigned char bytes[%lld];\n} "
                    "kiln_arena __attribute__((aligned(16)));\n",
                    (long long)c->arena);
    for (int32_t i = 0; i < c->n_blocks; i++)
        kni_ir_text_add(t, "#define M%d (kiln_arena.bytes + %lld)\n", i, (long long)c->blocks[i].offset);
    kni_ir_text_add(t, "\n");
}

static kn_status print_entry(kni_c *c, kni_ir_text *t)
{
    const kni_program *p = c->p;
    print_prototype(c, t);
    kni_ir_text_add(t, "\n{\n");
    for (int32_t i = 0; i < c->run.n_sizes; i++) {
        const char *name = kni_dim_name(c->run.symbols[i]);
        kni_ir_text_add(t, "    if (%s_size < %lldLL || %s_size > %lldLL) return %s_BAD_SIZE;\n", name,
                        (long long)kni_dim_low(c->run.symbols[i]), name,
                        (long long)kni_dim_high(c->run.symbols[i]), c->name);
        kni_ir_text_add(t, "    size_%s = %s_size;\n", name, name);
    }
    kn_status s = kni_c_check_sizes(c, t);
    if (s) return s;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < (pass ? p->n_outputs : p->n_inputs); i++) {
            kni_ir_text_add(t,
                            pass ? "    kiln_out[%d] = (unsigned char *)"
                                 : "    kiln_in[%d] = (const unsigned char *)",
                            i);
            print_port_name(c, t, !pass, i);
            kni_ir_text_add(t, ";\n");
        }
    if (c->blob) kni_ir_text_add(t, "    kiln_weights = (const unsigned char *)weights;\n");
    kni_ir_text_add(t, "    kiln_fault[0] = 0;\n    kiln_none = 0;\n    return kiln_call_0();\n}\n");
    return KN_OK;
}

/* ---- functions of the program; the program itself is number 0 */

static kn_status print_function(kni_c *c, int32_t region)
{
    const kni_program_region *r = &c->p->regions[region];
    kn_status s = KN_OK;
    c->area = region;
    c->code.length = 0;
    kni_ir_text_add(&c->code, "KILN_STATIC int kiln_call_%d(void)\n{\n    int status = 0;\n", region);
    c->indent = 1;
    c->step++;
    for (int32_t i = 0; i < r->n_arguments && s == KN_OK; i++) s = kni_c_make(c, r->arguments[i]);
    if (s == KN_OK) s = kni_c_print_region(c, region);
    if (s) return s;
    kni_c_line(c);
    kni_ir_text_add(&c->code, "KILN_STEP;\n");
    /* The results of a function are read by its callers, and no block of it is used by others. */
    for (int32_t i = 0; i < r->n_results; i++) {
        char to[32];
        kni_text text = {to, sizeof to, 0};
        kni_text_format(&text, "kiln_out[%d]", i);
        const char *from = kni_c_address(c, r->results[i]);
        if (region == 0) kni_c_print_move(c, to, from, &c->p->values[r->results[i]].type);
    }
    kni_ir_text_add(&c->code, "    return status;\n}\n\n");
    kni_ir_text_add(&c->functions, "%s", c->code.data ? c->code.data : "");
    if (c->code.failed) c->functions.failed = true;
    return KN_OK;
}

static kn_status print_functions(kni_c *c)
{
    kn_status s = KN_OK;
    for (int32_t i = 1; i < c->p->n_regions && s == KN_OK; i++)
        if (c->p->regions[i].name >= 0) s = print_function(c, i);
    return s ? s : print_function(c, 0);
}

/* ---- the whole */

static kn_status assemble(kni_c *c, kni_ir_text *t, kni_atomic_file *blob)
{
    kni_ir_text weights = {0};
    kn_status s = KN_OK;
    for (int32_t i = 0; i < c->p->n_values && s == KN_OK; i++)
        if (is_weight(&c->p->values[i]) && c->places[i].read) s = print_weight(c, &weights, i, blob);
    if (s == KN_OK) s = kni_c_plan(c);
    if (s == KN_OK) {
        print_interface(c, t);
        kni_ir_text_add(t, "#ifdef %s_HEADER\n#include <stdint.h>\n", c->name);
        print_declarations(c, t);
        kni_ir_text_add(t, "#else\n\n");
        kni_ir_text_add(t, "%s", pragmas);
        s = kni_ir_prelude(t, KNI_IR_C99, c->uses, c->n_uses);
    }
    if (s == KN_OK) {
        print_declarations(c, t);
        kni_ir_text_add(t, "%s\n", helpers);
        print_state(c, t);
        kni_ir_text_add(t, "%s\n", weights.data ? weights.data : "");
        kni_ir_text_add(t, "%s", c->functions.data ? c->functions.data : "");
        s = print_entry(c, t);
        kni_ir_text_add(t, "#endif\n");
    }
    if (s == KN_OK && (t->failed || weights.failed || c->functions.failed)) s = kni_c_no_memory();
    kni_ir_text_free(&weights);
    return s;
}

static void destroy(kni_c *c)
{
    kni_c_free_points(c);
    kni_free(c->places, c->places ? (size_t)(c->p->n_values + 1) * sizeof *c->places : 0);
    kni_free(c->blocks, (size_t)c->block_room * sizeof *c->blocks);
    for (int32_t i = 0; i < c->n_kernels; i++)
        if (c->kernels[i].ir) kni_ir_free(c->kernels[i].ir);
    kni_free(c->kernels, (size_t)c->kernel_room * sizeof *c->kernels);
    for (int32_t i = 0; i < c->n_strings; i++) kni_free(c->strings[i], strlen(c->strings[i]) + 1);
    kni_free(c->strings, (size_t)c->string_room * sizeof *c->strings);
    kni_free(c->uses, (size_t)c->use_room * sizeof *c->uses);
    kni_ir_text_free(&c->functions);
    kni_ir_text_free(&c->code);
    kni_free(c, sizeof *c);
}

static kn_status print(kni_c *c, kni_ir_text *t, kni_atomic_file *blob)
{
    c->places = kni_allocate((size_t)(c->p->n_values + 1) * sizeof *c->places);
    if (!c->places) return kni_c_no_memory();
    kn_status s = place_outside(c);
    if (s == KN_OK) s = kni_c_find_points(c);
    if (s == KN_OK) s = print_functions(c);
    return s ? s : assemble(c, t, blob);
}

static kn_status write_files(kni_c *c, const char *path, const char *weights)
{
    kni_ir_text text = {0};
    kni_atomic_file blob = {0};
    kn_status s = weights ? kni_atomic_open(&blob, weights) : KN_OK;
    if (s) return s;
    s = print(c, &text, &blob);
    if (s == KN_OK) s = kni_file_write(path, text.data, text.length);
    kni_ir_text_free(&text);
    if (!weights) return s;
    if (s == KN_OK) return kni_atomic_commit(&blob);
    kni_atomic_cancel(&blob);
    return s;
}

kn_status kn_program_to_c(kn_program program, const char *path, const kn_program_to_c_args *args)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    const char *name = args && args->name ? args->name : "program";
    if (!path || !kni_c_is_name(name))
        return kni_fail(KN_ERROR_ARGUMENT,
                        path ? "kn_program_to_c: '%s' cannot be a name in C"
                             : "kn_program_to_c: the path is NULL%s",
                        path ? name : "");
    kni_c *c = kni_allocate(sizeof *c);
    if (!c) return kni_c_no_memory();
    memset(c, 0, sizeof *c);
    c->p = p;
    c->name = name;
    c->blob = args && args->weights;
    kni_dims *before = kni_dims_enter(p->dims);
    kn_status s = write_files(c, path, args ? args->weights : NULL);
    kni_dims_enter(before);
    destroy(c);
    return s;
}
