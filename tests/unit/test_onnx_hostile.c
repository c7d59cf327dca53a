/* ONNX models that are no models: cut, changed, too large for what they have, nested too deeply. Each is refused with its reason, or read
   as what it says. */
#define _GNU_SOURCE
#include "onnx/read/wire.h"
#include "support/check.h"
#include "support/damage.h"
#include "support/file.h"
#include "support/onnx_sound.h"
#include "support/onnx_writer.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the wire format */

static kni_wire wire_of(const char *bytes, size_t n) { return kni_wire_of(bytes, n); }
#define WIRE(text) wire_of(text, sizeof text - 1)

/* Reads all fields; the fault, or NULL. */
static const char *fault_of(kni_wire w)
{
    kni_wire_field f;
    while (kni_wire_next(&w, &f)) continue;
    return w.fault;
}

static void fields_of_all_kinds(void)
{
    kni_wire w = WIRE("\x08\x96\x01"
                      "\x11\1\0\0\0\0\0\0\0"
                      "\x1A\2ab"
                      "\x25\1\0\0\0");
    kni_wire_field f;
    CHECK(kni_wire_next(&w, &f) && f.number == 1 && f.kind == KNI_WIRE_VARINT && f.value == 150);
    CHECK(kni_wire_next(&w, &f) && f.number == 2 && f.kind == KNI_WIRE_FIXED64 && f.value == 1);
    CHECK(kni_wire_next(&w, &f) && f.number == 3 && f.kind == KNI_WIRE_BYTES && f.bytes == 2 &&
          *f.data == 'a');
    CHECK(kni_wire_next(&w, &f) && f.number == 4 && f.kind == KNI_WIRE_FIXED32 && f.value == 1);
    CHECK(!kni_wire_next(&w, &f) && !w.fault);
    w = WIRE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    CHECK(kni_wire_next(&w, &f) && f.value == UINT64_MAX);
    CHECK(!fault_of(wire_of(NULL, 0)));
}

static void wrong_bytes_have_a_fault(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *fault;
    } wrong[] = {
        {"\x08", 1, "ends inside of a number"},
        {"\x08\x80", 2, "ends inside of a number"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "more than 64 bits"},
        {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, "more than 64 bits"},
        {"\x11\0\0\0", 4, "ends inside of a number"},
        {"\x25\0\0\0", 4, "ends inside of a number"},
        {"\x1A\5ab", 4, "longer than what it lies in"},
        {"\x1A\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "longer than what it lies in"},
        {"\x00\x01", 2, "impossible number"},
        {"\xf8\xff\xff\xff\xff\x01\x01", 7, "impossible number"},
        {"\x0E\x01", 2, "unknown kind"},
        {"\x0C", 1, "unknown kind"}, /* a group that ends */
        {"\x0B\x08\x01", 3, NULL},
        {"\x0B\x14", 2, "a group ends that did not begin"},
        {"\x0B", 1, NULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *fault = fault_of(wire_of(wrong[i].bytes, wrong[i].n));
        if (!CHECK(fault && (!wrong[i].fault || strstr(fault, wrong[i].fault))))
            printf("%zu: %s\n", i, fault ? fault : "no fault");
    }
}

static void groups_are_skipped(void)
{
    kni_wire w = WIRE("\x0B\x13\x08\x01\x14\x0C\x18\x05");
    kni_wire_field f;
    CHECK(kni_wire_next(&w, &f) && f.number == 3 && f.value == 5 && !kni_wire_next(&w, &f) && !w.fault);
    char deep[200];
    memset(deep, 0x0B, 100);
    memset(deep + 100, 0x0C, 100);
    CHECK(strstr(fault_of(wire_of(deep, 200)), "too deeply"));
    CHECK(!fault_of(wire_of(deep + 70, 60)));
}

/* ---- models */

static kni_onnx_model *read_bytes(const void *data, size_t bytes)
{
    kni_onnx_model *m = kni_onnx_model_read_memory(data, bytes, NULL);
    const char *fault = m ? onnx_sound_fault(m) : NULL;
    if (fault) printf("unsound: %s\n", fault);
    CHECK(!fault);
    return m;
}

static void refused(onnx_message message, const char *words)
{
    kni_onnx_model *m = read_bytes(message.data, message.length);
    if (!CHECK(!m)) printf("not refused: %s\n", words);
    if (!m) CHECK_ERROR(KN_ERROR_IO, words);
    kni_onnx_model_free(m);
    kni_buffer_free(&message);
}

static void refused_tensor(onnx_message tensor, const char *words)
{
    onnx_message graph = {0};
    onnx_graph_tensor(&graph, tensor);
    refused(onnx_model(graph), words);
    CHECK_ERROR(KN_ERROR_IO, "tensor 'w'");
}

static void tensors_ask_for_what_is_there(void)
{
    const float v[4] = {0};
    refused_tensor(onnx_tensor_head("w", 1, ONNX_SIZES(5000000000, 5)), "it has 0 numbers");
    refused_tensor(onnx_tensor_head("w", 8, ONNX_SIZES(100000000000)), "it has 0 strings");
    refused_tensor(onnx_tensor_raw("w", 1, ONNX_SIZES(5), v, 16),
                   "it has 16 bytes, but 5 elements of float ask for 20");
    refused_tensor(onnx_tensor_raw("w", 1, ONNX_SIZES(3), v, 16), "it has 16 bytes");
    refused_tensor(onnx_tensor_raw("w", 22, ONNX_SIZES(3), v, 1),
                   "it has 1 bytes, but 3 elements of int4 ask for 2");
    refused_tensor(onnx_tensor_raw("w", 8, ONNX_SIZES(1), v, 4), "strings cannot be raw");
    refused_tensor(onnx_tensor_raw("w", 1, ONNX_SIZES(-4), v, 16), "size -4 of axis 0 is negative");
    refused_tensor(onnx_tensor_raw("w", 1, ONNX_SIZES(INT64_MAX, 2), v, 16),
                   "more elements than any memory has");
    refused_tensor(onnx_tensor_raw("w", 1, ONNX_SIZES(INT64_MAX), v, 16),
                   "more elements than any memory has");
    refused_tensor(onnx_tensor_raw("w", 1, ONNX_SIZES(1, 1, 1, 1, 1, 1, 1, 1, 4), v, 16),
                   "it has 9 axes; at most 8 are possible");
    refused_tensor(onnx_tensor_raw("w", 99, ONNX_SIZES(4), v, 16), "type 99, which is not known");
    refused_tensor(onnx_tensor_raw("w", 0, ONNX_SIZES(4), v, 16), "type 0, which is not known");
    onnx_message t = onnx_tensor_raw("w", 1, ONNX_SIZES(4), v, 16);
    onnx_put_bytes(&t, 3, "", 0);
    refused_tensor(t, "segment");
    t = onnx_tensor_head("w", 2, ONNX_SIZES(1));
    onnx_put_int(&t, 5, 300);
    refused_tensor(t, "the number 300 does not fit its type");
    t = onnx_tensor_head("w", 6, ONNX_SIZES(1));
    onnx_put_bytes(&t, 5, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
    refused_tensor(t, "more than 64 bits");
    t = onnx_tensor_head("w", 1, ONNX_SIZES(1));
    onnx_put_bytes(&t, 4, "12345", 5);
    refused_tensor(t, "ends inside of a number");
    t = onnx_tensor_head("w", 1, ONNX_SIZES(1));
    onnx_put_int(&t, 14, 2);
    refused_tensor(t, "a place that is not known");
}

static void fields_of_another_kind(void)
{
    onnx_message g = {0}, t = onnx_tensor_head("w", 1, ONNX_SIZES(1));
    onnx_put_int(&g, 1, 5); /* a node that is a number */
    refused(onnx_model(g), "field 1 of a graph is of another kind");
    g = (onnx_message){0};
    onnx_put_double(&t, 4, 1);
    onnx_graph_tensor(&g, t);
    refused(onnx_model(g), "field 4 of a tensor is of another kind");
    onnx_message model = onnx_model((onnx_message){0});
    onnx_put(&model, 7, (onnx_message){0});
    refused(model, "field 7 of the model comes twice");
    refused((onnx_message){0}, "it is no ONNX model");
    onnx_message junk = {0};
    kni_buffer_text(&junk, "<html>not found</html>");
    refused(junk, "ONNX model in memory");
}

static void attributes_that_say_nothing(void)
{
    static const struct {
        int64_t kind;
        const char *name, *words;
    } wrong[] = {
        {4, "value", "attribute 'value': it has nothing of what its kind says"},
        {5, "body", "it has nothing of what its kind says"},
        {99, "value", "of kind 99"},
        {0, "value", "no kind and no content"},
        {2, "", "it has no name"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        onnx_message g = {0}, n = onnx_node("Op", "", ""), a = {0};
        onnx_put_text(&a, 1, wrong[i].name);
        onnx_put_int(&a, 20, wrong[i].kind);
        onnx_put(&n, 5, a);
        onnx_graph_node(&g, n);
        refused(onnx_model(g), wrong[i].words);
        CHECK_ERROR(KN_ERROR_IO, "a node of operator 'Op'");
    }
    onnx_message g = {0}, n = onnx_node("Op", "", "");
    onnx_attribute_int(&n, "axis", 1);
    onnx_attribute_int(&n, "axis", 2);
    onnx_graph_node(&g, n);
    refused(onnx_model(g), "attribute 'axis' comes twice");
}

static void names_with_odd_bytes(void)
{
    onnx_message g = {0}, n = {0};
    onnx_put_bytes(&n, 1, "a\0b", 3);
    onnx_put_text(&n, 4, "Op");
    onnx_graph_node(&g, n);
    refused(onnx_model(g), "a name has a zero byte inside");
    g = (onnx_message){0};
    n = onnx_node("Op", "\xff\x1b[31m\n", "");
    onnx_graph_node(&g, n);
    refused(onnx_model(g), "value '\\xff\\x1b[31m\\x0a' is read");
}

static void types_in_types_are_bounded(void)
{
    onnx_message type = onnx_type(1, NULL, -1), g = {0};
    for (int i = 0; i < 40; i++) {
        onnx_message sequence = {0}, outer = {0};
        onnx_put(&sequence, 1, type);
        onnx_put(&outer, 4, sequence);
        type = outer;
    }
    onnx_graph_input(&g, onnx_value("x", type));
    refused(onnx_model(g), "value 'x': types are nested too deeply");
    onnx_message both = onnx_type(1, NULL, -1);
    onnx_put(&both, 4, (onnx_message){0});
    g = (onnx_message){0};
    onnx_graph_input(&g, onnx_value("x", both));
    refused(onnx_model(g), "a type is of two kinds");
}

static void versions_of_operators_are_numbers(void)
{
    onnx_message model = onnx_model((onnx_message){0});
    onnx_opset(&model, "odd", -1);
    refused(model, "version -1 of the operators of 'odd' is impossible");
}

/* A graph with some of everything. */
static onnx_message everything(void)
{
    const float values[] = {1, 2, 3};
    onnx_message g = {0}, inner = {0}, f = onnx_function("f", "a", "b"), n;
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(-1, 3)));
    onnx_graph_tensor(&g, onnx_floats("w", ONNX_SIZES(3), values));
    n = onnx_node("Add", "x w", "t");
    onnx_put_text(&n, 3, "first");
    onnx_attribute_ints(&n, "axes", (const int64_t[]){0, -1}, 2);
    onnx_attribute_tensor(&n, "value", onnx_ints("", ONNX_SIZES(1), &(int64_t){9}));
    onnx_graph_node(&g, n);
    onnx_graph_output(&inner, onnx_float_value("i", NULL, -1));
    onnx_graph_node(&inner, onnx_node("Neg", "t", "i"));
    n = onnx_node("If", "t", "u");
    onnx_attribute_graph(&n, "then_branch", inner);
    onnx_graph_node(&g, n);
    n = onnx_node("f", "u", "y");
    onnx_put_text(&n, 7, "local");
    onnx_attribute_text(&n, "mode", "some");
    onnx_graph_node(&g, n);
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(-1, 3)));
    n = onnx_node("Op", "a", "b");
    onnx_attribute_reference(&n, "mode", 3, "mode");
    onnx_function_node(&f, n);
    onnx_message model = onnx_model(g);
    onnx_model_function(&model, f);
    return model;
}

/* Bytes at the end of a page whose next one cannot be read, so that a read behind them is found. */
typedef struct guarded {
    char *pages, *end;
    size_t bytes;
} guarded;

static guarded guard_of(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    guarded g = {mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), NULL,
                 room + page};
    g.end = g.pages + room;
    CHECK(mprotect(g.end, page, PROT_NONE) == 0);
    return g;
}

static void every_cut_is_refused(void)
{
    onnx_message model = everything();
    guarded g = guard_of(model.length);
    int read = 0;
    for (size_t n = 0; n <= model.length; n++) {
        memcpy(g.end - n, model.data, n);
        kni_onnx_model *m = read_bytes(g.end - n, n);
        read += m != NULL;
        kni_onnx_model_free(m);
    }
    /* Whole, and without the function behind the graph, which is an operator of another domain then. */
    CHECK(read == 2);
    munmap(g.pages, g.bytes);
    kni_buffer_free(&model);
}

static void every_changed_byte_is_survived(void)
{
    static const unsigned char changes[] = {0x01, 0x08, 0x80, 0xFF};
    onnx_message model = everything();
    guarded g = guard_of(model.length);
    char *at = g.end - model.length;
    int refusals = 0;
    for (size_t i = 0; i < model.length; i++)
        for (size_t c = 0; c < sizeof changes; c++) {
            memcpy(at, model.data, model.length);
            at[i] = (char)(at[i] ^ changes[c]);
            kni_onnx_model *m = read_bytes(at, model.length);
            refusals += !m;
            kni_onnx_model_free(m);
        }
    CHECK(refusals > (int)model.length);
    munmap(g.pages, g.bytes);
    kni_buffer_free(&model);
}

static void damage_is_noted(void)
{
    uint64_t before = kni_damage_count();
    onnx_message model = everything();
    CHECK(!read_bytes(model.data, model.length / 2) && kni_damage_count() == before + 1);
    CHECK_ERROR(KN_ERROR_IO, "damaged");
    kni_buffer_free(&model);
}

/* ---- seeds of the fuzzer */

/* An item of two tensors, and tensors of every type in the field for it. */
static onnx_message sequence(void)
{
    const float values[] = {1, 2};
    onnx_message s = {0}, t = onnx_tensor_head("w", KNI_ONNX_STRING, ONNX_SIZES(1));
    onnx_put_text(&t, 6, "text");
    onnx_put_int(&s, 2, 1);
    onnx_put(&s, 3, onnx_floats("v", ONNX_SIZES(2), values));
    onnx_put(&s, 3, t);
    return s;
}

static onnx_message all_types(void)
{
    onnx_message g = {0};
    for (int32_t type = 1; type < KNI_ONNX_TYPE_COUNT; type++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", (int)type);
        onnx_message t = onnx_tensor_head(name, type, ONNX_SIZES(1));
        bool wide = type == KNI_ONNX_UINT32 || type == KNI_ONNX_UINT64;
        if (type == KNI_ONNX_STRING)
            onnx_put_text(&t, 6, "text");
        else if (type == KNI_ONNX_FLOAT)
            onnx_put_float(&t, 4, 1);
        else if (type == KNI_ONNX_DOUBLE)
            onnx_put_double(&t, 10, 1);
        else if (type == KNI_ONNX_COMPLEX64)
            onnx_put_bytes(&t, 4, "\0\0\0\0\0\0\0\1", 8);
        else if (type == KNI_ONNX_COMPLEX128)
            onnx_put_bytes(&t, 9, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1", 16);
        else
            onnx_put_int(&t, type == KNI_ONNX_INT64 ? 7 : wide ? 11 : 5, 1);
        onnx_graph_tensor(&g, t);
    }
    return onnx_model(g);
}

/* Nodes backwards, a sparse tensor, an external one, an inner graph that reads what comes later. */
static onnx_message scattered(void)
{
    const float value = 1;
    onnx_message g = {0}, inner = {0}, s = {0}, n = onnx_node("If", "x", "y");
    onnx_graph_output(&inner, onnx_float_value("late", NULL, -1));
    onnx_attribute_graph(&n, "then_branch", inner);
    onnx_graph_node(&g, n);
    onnx_graph_node(&g, onnx_node("Neg", "x", "late"));
    onnx_graph_input(&g, onnx_float_value("x", ONNX_SIZES(2)));
    onnx_graph_output(&g, onnx_float_value("y", ONNX_SIZES(2)));
    onnx_put(&s, 1, onnx_floats("s", ONNX_SIZES(1), &value));
    onnx_put(&s, 2, onnx_ints("", ONNX_SIZES(1, 2), (const int64_t[]){0, 1}));
    onnx_put_packed(&s, 3, (const int64_t[]){2, 2}, 2);
    onnx_put(&g, 15, s);
    return onnx_model(g);
}

static int write_seeds(const char *folder)
{
    static const struct {
        const char *name;
        onnx_message (*make)(void);
    } seeds[] = {{"everything", everything},
                 {"sequence", sequence},
                 {"all_types", all_types},
                 {"scattered", scattered}};
    bool good = true;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        onnx_message m = seeds[i].make();
        char *path = kni_path_join(folder, seeds[i].name);
        good = good && path && kni_file_write(path, m.data, m.length) == KN_OK;
        free(path);
        kni_buffer_free(&m);
    }
    return !good;
}

/* What seeds the fuzzer is right, so that it begins behind the first checks. */
static void seeds_are_right(void)
{
    onnx_message m = all_types(), s = scattered();
    kni_onnx_model *a = read_bytes(m.data, m.length), *b = read_bytes(s.data, s.length);
    CHECK(a && b && a->graph->n_initializers == KNI_ONNX_TYPE_COUNT - 1 && b->graph->n_nodes == 2);
    kni_onnx_model_free(a);
    kni_onnx_model_free(b);
    kni_buffer_free(&m);
    kni_buffer_free(&s);
}

int main(int count, char **arguments)
{
    if (count == 3 && !strcmp(arguments[1], "--seeds")) return write_seeds(arguments[2]);
    seeds_are_right();
    fields_of_all_kinds();
    wrong_bytes_have_a_fault();
    groups_are_skipped();
    tensors_ask_for_what_is_there();
    fields_of_another_kind();
    attributes_that_say_nothing();
    names_with_odd_bytes();
    types_in_types_are_bounded();
    versions_of_operators_are_numbers();
    every_cut_is_refused();
    every_changed_byte_is_survived();
    damage_is_noted();
    return check_report();
}
