/* The reader of ONNX models: tensors of all types and forms, declared types, attributes, external data, items of test data. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/file.h"
#include "support/onnx_sound.h"
#include "support/onnx_writer.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static kni_buffer bytes_of_model; /* what the latest model lies in */

/* Reads a message, which is given away; the model points into bytes_of_model. */
static kni_onnx_model *read_message(onnx_message message, const char *folder)
{
    kni_buffer_free(&bytes_of_model);
    bytes_of_model = message;
    kni_onnx_model *m = kni_onnx_model_read_memory(message.data, message.length, folder);
    if (m && onnx_sound_fault(m)) printf("unsound: %s\n", onnx_sound_fault(m));
    if (m) CHECK(onnx_sound_fault(m) == NULL);
    return m;
}

static kni_onnx_model *read_tensor(onnx_message tensor)
{
    onnx_message graph = {0};
    onnx_graph_tensor(&graph, tensor);
    return read_message(onnx_model(graph), NULL);
}

/* A model of one initializer, which is read. */
static const kni_onnx_tensor *only_tensor(kni_onnx_model *m)
{
    if (!m) printf("%s\n", kn_last_error());
    return CHECK(m && m->graph->n_initializers == 1) ? m->values[m->graph->initializers[0]].initializer
                                                     : NULL;
}

static void same_bytes(kni_onnx_model *m, const void *want, size_t bytes)
{
    const kni_onnx_tensor *t = only_tensor(m);
    CHECK(t && t->bytes == bytes && !memcmp(t->data, want, bytes));
    kni_onnx_model_free(m);
}

/* ---- tensors */

static void raw_elements_stay_in_the_file(void)
{
    const float values[] = {1, -2, 3.5f, 4, 5, 6};
    kni_onnx_model *m = read_tensor(onnx_floats("w", ONNX_SIZES(2, 3), values));
    const kni_onnx_tensor *t = only_tensor(m);
    if (!t) return;
    const char *data = t->data;
    CHECK(data > bytes_of_model.data && data < bytes_of_model.data + bytes_of_model.length);
    CHECK(!strcmp(t->name, "w") && t->type == KNI_ONNX_FLOAT && t->rank == 2 && t->count == 6);
    CHECK(t->sizes[0] == 2 && t->sizes[1] == 3 && t->bytes == sizeof values);
    CHECK(!memcmp(data, values, sizeof values));
    kni_onnx_model_free(m);
}

/* A list of numbers in a field, each by itself and packed, has the bytes of the type. */
static void numbers_in(int32_t type, uint32_t field, const int64_t *numbers, int count, int64_t elements,
                       const void *want, size_t bytes)
{
    for (int packed = 0; packed < 2; packed++) {
        onnx_message t = onnx_tensor_head("w", type, &elements, 1);
        (packed ? onnx_put_packed : onnx_put_ints)(&t, field, numbers, count);
        same_bytes(read_tensor(t), want, bytes);
    }
}
#define NUMBERS(...)                                                                                         \
    (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define BYTES(...) (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__})

static void typed_fields_become_bytes(void)
{
    enum { INT32_DATA = 5, INT64_DATA = 7, UINT64_DATA = 11 };
    numbers_in(KNI_ONNX_INT32, INT32_DATA, NUMBERS(1, -2), 2, BYTES(1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF));
    numbers_in(KNI_ONNX_INT16, INT32_DATA, NUMBERS(258, -2), 2, BYTES(2, 1, 0xFE, 0xFF));
    numbers_in(KNI_ONNX_UINT16, INT32_DATA, NUMBERS(65535), 1, BYTES(0xFF, 0xFF));
    numbers_in(KNI_ONNX_FLOAT16, INT32_DATA, NUMBERS(0x3C00, 0xC000), 2, BYTES(0, 0x3C, 0, 0xC0));
    numbers_in(KNI_ONNX_BFLOAT16, INT32_DATA, NUMBERS(0x3F80), 1, BYTES(0x80, 0x3F));
    numbers_in(KNI_ONNX_INT8, INT32_DATA, NUMBERS(-1, 5), 2, BYTES(0xFF, 5));
    numbers_in(KNI_ONNX_UINT8, INT32_DATA, NUMBERS(255, 5), 2, BYTES(0xFF, 5));
    numbers_in(KNI_ONNX_BOOL, INT32_DATA, NUMBERS(0, 1, 2), 3, BYTES(0, 1, 1));
    for (int32_t type = KNI_ONNX_FLOAT8E4M3FN; type <= KNI_ONNX_FLOAT8E5M2FNUZ; type++)
        numbers_in(type, INT32_DATA, NUMBERS(0x80, 0x38), 2, BYTES(0x80, 0x38));
    numbers_in(KNI_ONNX_FLOAT8E8M0, INT32_DATA, NUMBERS(127), 1, BYTES(127));
    /* Two or four elements are one number. */
    numbers_in(KNI_ONNX_INT4, INT32_DATA, NUMBERS(0xF1, 0x02), 3, BYTES(0xF1, 2));
    numbers_in(KNI_ONNX_UINT4, INT32_DATA, NUMBERS(0xF1), 2, BYTES(0xF1));
    numbers_in(KNI_ONNX_FLOAT4E2M1, INT32_DATA, NUMBERS(0x71), 2, BYTES(0x71));
    numbers_in(KNI_ONNX_INT2, INT32_DATA, NUMBERS(0xE4, 1), 5, BYTES(0xE4, 1));
    numbers_in(KNI_ONNX_UINT2, INT32_DATA, NUMBERS(0xE4), 4, BYTES(0xE4));
    numbers_in(KNI_ONNX_INT64, INT64_DATA, NUMBERS(-1), 1, BYTES(255, 255, 255, 255, 255, 255, 255, 255));
    numbers_in(KNI_ONNX_UINT64, UINT64_DATA, NUMBERS(-1), 1, BYTES(255, 255, 255, 255, 255, 255, 255, 255));
    numbers_in(KNI_ONNX_UINT32, UINT64_DATA, NUMBERS(0xFFFFFFFF), 1, BYTES(255, 255, 255, 255));
}

static void floats_in_fields(void)
{
    const float floats[] = {1, 2, 3, 4};
    const double doubles[] = {1, 2};
    for (int form = 0; form < 3; form++) { /* each by itself, packed, and packed in two pieces */
        onnx_message f = onnx_tensor_head("w", KNI_ONNX_FLOAT, ONNX_SIZES(4));
        onnx_message c = onnx_tensor_head("w", KNI_ONNX_COMPLEX64, ONNX_SIZES(2));
        onnx_message d = onnx_tensor_head("w", KNI_ONNX_COMPLEX128, ONNX_SIZES(1));
        for (int i = 0; i < 4 && form == 0; i++) onnx_put_float(&f, 4, floats[i]);
        for (int i = 0; i < 4 && form == 0; i++) onnx_put_float(&c, 4, floats[i]);
        for (int i = 0; i < 2 && form == 0; i++) onnx_put_double(&d, 10, doubles[i]);
        for (int i = 0; i < form; i++) {
            onnx_put_bytes(&f, 4, floats + i * (4 / form), sizeof floats / (size_t)form);
            onnx_put_bytes(&c, 4, floats + i * (4 / form), sizeof floats / (size_t)form);
            onnx_put_bytes(&d, 10, doubles + i * (2 / form), sizeof doubles / (size_t)form);
        }
        same_bytes(read_tensor(f), floats, sizeof floats);
        same_bytes(read_tensor(c), floats, sizeof floats);
        same_bytes(read_tensor(d), doubles, sizeof doubles);
    }
}

static void strings_may_hold_anything(void)
{
    onnx_message t = onnx_tensor_head("w", KNI_ONNX_STRING, ONNX_SIZES(3));
    onnx_put_text(&t, 6, "plain");
    onnx_put_bytes(&t, 6, "ze\0ro", 5);
    onnx_put_text(&t, 6, "");
    kni_onnx_model *m = read_tensor(t);
    const kni_onnx_tensor *r = only_tensor(m);
    if (!r) return;
    CHECK(r->count == 3 && r->strings[1].bytes == 5 && !memcmp(r->strings[1].data, "ze\0ro", 6));
    CHECK(!strcmp(r->strings[0].data, "plain") && r->strings[2].bytes == 0);
    kni_onnx_model_free(m);
}

static void sizes_of_nothing_and_of_one(void)
{
    const float one = 7;
    same_bytes(read_tensor(onnx_floats("w", ONNX_SCALAR, &one)), &one, sizeof one);
    same_bytes(read_tensor(onnx_tensor_head("w", 1, ONNX_SIZES(3, 0))), "", 0);
    /* No product is too large where one size is 0. */
    same_bytes(read_tensor(onnx_tensor_head("w", 1, ONNX_SIZES(INT64_MAX, INT64_MAX, 0))), "", 0);
    onnx_message t = {0};
    onnx_put_packed(&t, 1, (const int64_t[]){1, 1}, 2);
    onnx_put_int(&t, 2, 1);
    onnx_put_text(&t, 8, "w");
    onnx_put_bytes(&t, 9, &one, sizeof one);
    same_bytes(read_tensor(t), &one, sizeof one);
}

static onnx_message sparse(onnx_message values, onnx_message indices, const int64_t *sizes, int rank)
{
    onnx_message s = {0};
    onnx_put(&s, 1, values);
    onnx_put(&s, 2, indices);
    onnx_put_ints(&s, 3, sizes, rank);
    return s;
}

static kni_onnx_model *read_sparse(onnx_message tensor)
{
    onnx_message graph = {0};
    onnx_put(&graph, 15, tensor);
    return read_message(onnx_model(graph), NULL);
}

static void sparse_tensors_are_dense(void)
{
    const float values[] = {5, 6}, want[] = {0, 5, 0, 0, 0, 6};
    const int64_t flat[] = {1, 5}, rows[] = {0, 1, 1, 2}, outside[] = {0, 1, 2, 0}, behind[] = {1, 6};
    onnx_message v = onnx_floats("w", ONNX_SIZES(2), values);
    same_bytes(read_sparse(sparse(v, onnx_ints("", ONNX_SIZES(2), flat), ONNX_SIZES(2, 3))), want,
               sizeof want);
    v = onnx_floats("w", ONNX_SIZES(2), values);
    same_bytes(read_sparse(sparse(v, onnx_ints("", ONNX_SIZES(2, 2), rows), ONNX_SIZES(2, 3))), want,
               sizeof want);
    v = onnx_floats("w", ONNX_SIZES(2), values);
    CHECK(!read_sparse(sparse(v, onnx_ints("", ONNX_SIZES(2, 2), outside), ONNX_SIZES(2, 3))));
    CHECK_ERROR(KN_ERROR_IO, "index 1 of it lies outside");
    v = onnx_floats("w", ONNX_SIZES(2), values);
    CHECK(!read_sparse(sparse(v, onnx_ints("", ONNX_SIZES(2), behind), ONNX_SIZES(2, 3))));
    CHECK_ERROR(KN_ERROR_IO, "lies outside");
    v = onnx_floats("w", ONNX_SIZES(2), values);
    CHECK(!read_sparse(sparse(v, onnx_ints("", ONNX_SIZES(2), flat), ONNX_SIZES(100000, 100000))));
    CHECK_ERROR(KN_ERROR_IO, "dense it would be 40000000000 bytes");
}

/* ---- declared types */

static const kni_onnx_declared *declared_input(kni_onnx_model *m)
{
    if (!m) printf("%s\n", kn_last_error());
    return CHECK(m && m->graph->n_inputs == 1) ? m->values[m->graph->inputs[0]].declared : NULL;
}

static kni_onnx_model *read_input(onnx_message type)
{
    onnx_message graph = {0};
    onnx_graph_input(&graph, onnx_value("x", type));
    return read_message(onnx_model(graph), NULL);
}

static onnx_message around(uint32_t field, uint32_t inner_field, onnx_message inner)
{
    onnx_message kind = {0}, type = {0};
    onnx_put(&kind, inner_field, inner);
    onnx_put(&type, field, kind);
    return type;
}

static void declared_types(void)
{
    enum { SEQUENCE = 4, MAP = 5, SPARSE = 8, OPTIONAL = 9 };
    kni_onnx_model *m = read_input(onnx_type(1, ONNX_SIZES(-1, 3)));
    const kni_onnx_declared *d = declared_input(m);
    CHECK(d && d->kind == KNI_ONNX_TENSOR && d->type == 1 && d->rank == 2);
    CHECK(d && d->dims[0].value == -1 && !strcmp(d->dims[0].name, "n0") && d->dims[1].value == 3 &&
          !d->dims[1].name);
    kni_onnx_model_free(m);
    m = read_input(onnx_type(1, NULL, -1));
    d = declared_input(m);
    CHECK(d && d->kind == KNI_ONNX_TENSOR && d->rank == -1);
    kni_onnx_model_free(m);
    m = read_input(onnx_type(1, ONNX_SIZES(1, 1, 1, 1, 1, 1, 1, 1, 1)));
    d = declared_input(m);
    CHECK(d && d->kind == KNI_ONNX_TENSOR && d->rank == -1); /* nine axes are as good as none */
    kni_onnx_model_free(m);
    m = read_input(around(OPTIONAL, 1, around(SEQUENCE, 1, onnx_type(7, ONNX_SIZES(2)))));
    d = declared_input(m);
    CHECK(d && d->kind == KNI_ONNX_OPTIONAL && d->inner->kind == KNI_ONNX_SEQUENCE);
    CHECK(d && d->inner->inner->kind == KNI_ONNX_TENSOR && d->inner->inner->type == 7);
    kni_onnx_model_free(m);
    onnx_message map = {0}, type = {0};
    onnx_put_int(&map, 1, KNI_ONNX_STRING);
    onnx_put(&map, 2, onnx_type(1, NULL, -1));
    onnx_put(&type, MAP, map);
    m = read_input(type);
    d = declared_input(m);
    CHECK(d && d->kind == KNI_ONNX_MAP && d->type == KNI_ONNX_STRING && d->inner->type == KNI_ONNX_FLOAT);
    kni_onnx_model_free(m);
}

/* ---- attributes and what else a model has */

static onnx_message node_with_everything(void)
{
    const float real = 2.5f;
    onnx_message n = onnx_node("Thing", "", "y"), list = {0}, old = {0};
    onnx_put_text(&n, 7, "ai.onnx");
    onnx_attribute_int(&n, "whole", -3);
    onnx_attribute_ints(&n, "wholes", (const int64_t[]){4, -5}, 2);
    onnx_attribute_float(&n, "real", real);
    onnx_attribute_text(&n, "text", "word");
    onnx_attribute_tensor(&n, "tensor", onnx_floats("", ONNX_SCALAR, &real));
    onnx_put_text(&list, 1, "texts");
    onnx_put_int(&list, 20, 8);
    onnx_put_text(&list, 9, "a");
    onnx_put_text(&list, 9, "b");
    onnx_put(&n, 5, list);
    list = (onnx_message){0};
    onnx_put_text(&list, 1, "reals");
    onnx_put_int(&list, 20, 6);
    onnx_put_float(&list, 7, real);
    onnx_put(&n, 5, list);
    onnx_put_text(&old, 1, "old"); /* without a kind */
    onnx_put_int(&old, 3, 9);
    onnx_put(&n, 5, old);
    onnx_attribute(&n, "type", 13, 14, onnx_type(7, NULL, -1));
    onnx_attribute(&n, "sparse", 11, 22,
                   sparse(onnx_floats("", ONNX_SIZES(1), &real), onnx_ints("", ONNX_SIZES(1), &(int64_t){1}),
                          ONNX_SIZES(2)));
    return n;
}

static void check_lists(const kni_onnx_node *n)
{
    int64_t count;
    const int64_t *wholes = kni_node_ints(n, "wholes", &count);
    CHECK(count == 2 && wholes && wholes[0] == 4 && wholes[1] == -5);
    const kni_onnx_text *texts = kni_node_texts(n, "texts", &count);
    CHECK(count == 2 && texts && !strcmp(texts[1].data, "b"));
    const float *reals = kni_node_reals(n, "reals", &count);
    CHECK(count == 1 && reals && reals[0] == 2.5f);
    CHECK(!kni_node_ints(n, "none", &count) && count == 0);
    CHECK(!kni_node_reals(n, "wholes", &count) && count == 0);
    const kni_onnx_tensor *t = kni_node_tensor(n, "sparse");
    CHECK(t && t->count == 2 && t->bytes == 8 && !memcmp(t->data, (const float[]){0, 2.5f}, 8));
    const kni_onnx_attribute *a = kni_node_attribute(n, "type");
    CHECK(a && a->kind == KNI_ONNX_ATTRIBUTE_TYPE && a->types[0].type == 7);
}

static void attributes_by_name(void)
{
    onnx_message graph = {0};
    onnx_graph_node(&graph, node_with_everything());
    onnx_graph_output(&graph, onnx_float_value("y", ONNX_SIZES(1)));
    kni_onnx_model *m = read_message(onnx_model(graph), NULL);
    if (!CHECK(m != NULL)) return;
    const kni_onnx_node *n = &m->graph->nodes[0];
    CHECK(!strcmp(n->op, "Thing") && !*n->domain && n->version == 21 && !strcmp(n->name, "Thing_0"));
    CHECK(kni_node_int(n, "whole", 1) == -3 && kni_node_int(n, "none", 1) == 1 &&
          kni_node_int(n, "real", 1) == 1);
    CHECK(kni_node_int(n, "old", 1) == 9);
    CHECK(kni_node_real(n, "real", 1) == 2.5 && kni_node_real(n, "none", 1) == 1);
    CHECK(!strcmp(kni_node_text(n, "text", "other"), "word") &&
          !strcmp(kni_node_text(n, "none", "other"), "other"));
    CHECK(kni_node_tensor(n, "tensor")->rank == 0 && !kni_node_tensor(n, "text") &&
          !kni_node_graph(n, "text"));
    check_lists(n);
    kni_onnx_model_free(m);
}

static void a_model_says_who_made_it(void)
{
    onnx_message graph = {0}, pair = {0};
    onnx_put_text(&graph, 2, "the graph");
    onnx_message model = onnx_model(graph);
    onnx_opset(&model, "com.example", 3);
    onnx_put_text(&model, 3, "1.2");
    onnx_put_int(&model, 5, 7);
    onnx_put_text(&pair, 1, "key");
    onnx_put_text(&pair, 2, "text");
    onnx_put(&model, 14, pair);
    onnx_put_text(&model, 99, "of later versions of the format");
    kni_onnx_model *m = read_message(model, NULL);
    if (!CHECK(m != NULL)) return;
    CHECK(m->ir_version == 8 && m->version == 7 && !strcmp(m->producer, "Kiln's tests"));
    CHECK(!strcmp(m->producer_version, "1.2") && !*m->domain && !strcmp(m->graph->name, "the graph"));
    CHECK(m->n_opsets == 2 && !strcmp(m->opsets[1].domain, "com.example") && m->opsets[1].version == 3);
    CHECK(m->n_metadata == 1 && !strcmp(m->metadata[0], "key") && !strcmp(m->metadata[1], "text"));
    kni_onnx_model_free(m);
}

static void types_and_dtypes(void)
{
    for (int32_t type = 1; type < KNI_ONNX_TYPE_COUNT; type++)
        if (kni_onnx_dtype(type) != KN_DTYPE_NONE)
            CHECK(kni_onnx_type_of(kni_onnx_dtype(type)) == (kni_onnx_type)type);
    CHECK(kni_onnx_dtype(KNI_ONNX_STRING) == KN_DTYPE_NONE && kni_onnx_dtype(99) == KN_DTYPE_NONE);
    CHECK(kni_onnx_type_of(KN_DTYPE_NONE) == KNI_ONNX_UNDEFINED);
    CHECK(!strcmp(kni_onnx_type_name(KNI_ONNX_FLOAT8E4M3FN), "float8e4m3fn"));
    CHECK(!strcmp(kni_onnx_type_name(99), "type 99") && !strcmp(kni_onnx_type_name(-1), "type -1"));
}

/* ---- external data */

static char folder[] = "onnx_read_XXXXXX";

static void put_file(const char *name, const void *data, size_t bytes)
{
    char *path = kni_path_join(folder, name);
    CHECK(kni_file_write(path, data, bytes) == KN_OK);
    free(path);
}

static kni_onnx_model *read_external(const char *location, int64_t offset, int64_t length, const char *in)
{
    onnx_message graph = {0};
    onnx_graph_tensor(&graph, onnx_tensor_external("w", 1, ONNX_SIZES(2), location, offset, length));
    return read_message(onnx_model(graph), in);
}

static void external_data_stays_in_the_folder(void)
{
    const float values[] = {1, 2, 3};
    put_file("data.bin", values, sizeof values);
    same_bytes(read_external("data.bin", -1, -1, folder), values, 8);
    same_bytes(read_external("data.bin", 4, 8, folder), values + 1, 8);
    same_bytes(read_external("./data.bin", 4, -1, folder), values + 1, 8);
    static const struct {
        const char *location;
        int64_t offset, length;
        const char *text;
    } wrong[] = {
        {"none.bin", 0, 8, "its data file 'none.bin' cannot be read"},
        {"data.bin", 8, 8, "ends behind the end of 'data.bin', which has 12 bytes"},
        {"data.bin", 13, 8, "ends behind the end"},
        {"data.bin", 0, 4, "has 4 bytes in 'data.bin', but its sizes ask for 8"},
        {"/etc/passwd", 0, 8, "not in the model's folder"},
        {"../data.bin", 0, 8, "not in the model's folder"},
        {"a/../../data.bin", 0, 8, "not in the model's folder"},
        {"..", 0, 8, "not in the model's folder"},
        {"", 0, 8, "a file that has no name"},
        {".", 0, 8, "link that leads out"},
        {"outside", 0, 8, "link that leads out"},
    };
    char *link = kni_path_join(folder, "outside");
    CHECK(symlink("/etc/passwd", link) == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!read_external(wrong[i].location, wrong[i].offset, wrong[i].length, folder));
        CHECK_ERROR(KN_ERROR_IO, wrong[i].text);
        CHECK_ERROR(KN_ERROR_IO, "tensor 'w'");
    }
    CHECK(!read_external("data.bin", 0, 8, NULL));
    CHECK_ERROR(KN_ERROR_IO, "the model is in memory");
    free(link);
}

static void links_inside_of_the_folder_are_followed(void)
{
    const float values[] = {1, 2};
    put_file("data.bin", values, sizeof values);
    char *link = kni_path_join(folder, "inside");
    CHECK(symlink("data.bin", link) == 0);
    same_bytes(read_external("inside", 0, 8, folder), values, 8);
    free(link);
}

static void numbers_of_external_data_are_numbers(void)
{
    static const char *const texts[] = {"", "-1", "1x", " 1", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        onnx_message graph = {0}, pair = {0};
        onnx_message t = onnx_tensor_external("w", 1, ONNX_SIZES(2), "data.bin", -1, -1);
        onnx_put_text(&pair, 1, "offset");
        onnx_put_text(&pair, 2, texts[i]);
        onnx_put(&t, 13, pair);
        onnx_graph_tensor(&graph, t);
        CHECK(!read_message(onnx_model(graph), folder));
        CHECK_ERROR(KN_ERROR_IO, "is no number");
    }
}

static void models_are_files(void)
{
    const float values[] = {1, 2};
    onnx_message graph = {0};
    onnx_graph_tensor(&graph, onnx_tensor_external("w", 1, ONNX_SIZES(2), "data.bin", -1, -1));
    onnx_message model = onnx_model(graph);
    put_file("data.bin", values, sizeof values);
    put_file("model.onnx", model.data, model.length);
    put_file("empty.onnx", "", 0);
    kni_buffer_free(&model);
    char *path = kni_path_join(folder, "model.onnx"), *empty = kni_path_join(folder, "empty.onnx");
    kni_onnx_model *m = kni_onnx_model_read(path);
    CHECK(m && onnx_sound_fault(m) == NULL);
    same_bytes(m, values, sizeof values);
    CHECK(!kni_onnx_model_read(empty));
    CHECK_ERROR(KN_ERROR_IO, "it is no ONNX model");
    CHECK_ERROR(KN_ERROR_IO, "empty.onnx");
    CHECK(!kni_onnx_model_read("no_such_file.onnx"));
    CHECK_ERROR(KN_ERROR_IO, "no_such_file.onnx");
    kni_onnx_model_free(NULL);
    free(path);
    free(empty);
}

/* A cache of downloads: both files are links into a folder of contents. */
static void links_to_models_bring_their_data(void)
{
    const float values[] = {1, 2};
    onnx_message graph = {0};
    onnx_graph_tensor(&graph, onnx_tensor_external("w", 1, ONNX_SIZES(2), "data.bin", -1, -1));
    onnx_message model = onnx_model(graph);
    char *contents = kni_path_join(folder, "contents"), *links = kni_path_join(folder, "links");
    CHECK(mkdir(contents, 0700) == 0 && mkdir(links, 0700) == 0);
    put_file("contents/1", model.data, model.length);
    put_file("contents/2", values, sizeof values);
    put_file("links/whole.onnx", model.data, model.length);
    char *whole = kni_path_join(links, "whole.onnx"), *link = kni_path_join(links, "model.onnx");
    char *data = kni_path_join(links, "data.bin");
    CHECK(symlink("../contents/1", link) == 0 && symlink("../contents/2", data) == 0);
    kni_onnx_model *m = kni_onnx_model_read(link);
    same_bytes(m, values, sizeof values);
    CHECK(!kni_onnx_model_read(whole));
    CHECK_ERROR(KN_ERROR_IO, "link that leads out");
    kni_buffer_free(&model);
    free(contents);
    free(links);
    free(whole);
    free(link);
    free(data);
}

/* ---- items of test data */

static kn_status read_item(kni_onnx_arena *arena, const onnx_message *message, kni_onnx_kind kind,
                           kni_onnx_item *item)
{
    kni_onnx_declared declared = {.kind = kind};
    return kni_onnx_item_read(arena, message->data, message->length, kind ? &declared : NULL, "input_0.pb",
                              item);
}

/* A sequence or an optional of things that lie in a field. */
static onnx_message holder(int64_t kind, uint32_t field, onnx_message first)
{
    onnx_message h = {0};
    onnx_put_int(&h, 2, kind);
    onnx_put(&h, field, first);
    return h;
}

static void items(void)
{
    const float values[] = {1, 2};
    kni_onnx_item item;
    kni_onnx_arena *arena = kni_onnx_arena_new();
    onnx_message t = onnx_floats("w", ONNX_SIZES(2), values);
    CHECK(read_item(arena, &t, KNI_ONNX_UNKNOWN, &item) == KN_OK && item.kind == KNI_ONNX_TENSOR);
    CHECK(item.tensor.count == 2 && !memcmp(item.tensor.data, values, sizeof values));
    onnx_message s = holder(1, 3, t);
    onnx_put(&s, 3, onnx_floats("v", ONNX_SIZES(1), values));
    CHECK(read_item(arena, &s, KNI_ONNX_SEQUENCE, &item) == KN_OK && item.kind == KNI_ONNX_SEQUENCE);
    CHECK(item.count == 2 && item.items[1].tensor.count == 1 && !strcmp(item.items[0].tensor.name, "w"));
    onnx_message o = holder(3, 5, s);
    CHECK(read_item(arena, &o, KNI_ONNX_OPTIONAL, &item) == KN_OK && item.kind == KNI_ONNX_OPTIONAL);
    CHECK(item.count == 1 && item.items[0].kind == KNI_ONNX_SEQUENCE && item.items[0].count == 2);
    kni_buffer_free(&o);
    CHECK(read_item(arena, &o, KNI_ONNX_OPTIONAL, &item) == KN_OK && item.count == 0);
    onnx_message deep = holder(1, 3, onnx_floats("w", ONNX_SIZES(1), values));
    for (int i = 0; i < 20; i++) deep = holder(3, 5, deep);
    CHECK_ERROR(read_item(arena, &deep, KNI_ONNX_SEQUENCE, &item), "nested too deeply");
    kni_buffer_free(&deep);
    onnx_message map = holder(4, 6, (onnx_message){0});
    CHECK(read_item(arena, &map, KNI_ONNX_SEQUENCE, &item) == KN_OK && item.count == 1);
    CHECK(item.items[0].kind == KNI_ONNX_MAP && item.items[0].count == 2);
    kni_buffer_free(&map);
    onnx_message cut = onnx_tensor_head("w", 1, ONNX_SIZES(2));
    CHECK_ERROR(read_item(arena, &cut, KNI_ONNX_TENSOR, &item), "input_0.pb");
    kni_buffer_free(&cut);
    kni_onnx_arena_free(arena);
}

/* ---- arenas */

static void arenas_give_zeros_and_take_back(void)
{
    kni_onnx_arena *arena = kni_onnx_arena_new();
    char *kept = kni_onnx_arena_copy(arena, "kept", 4);
    kni_onnx_arena_mark mark = kni_onnx_arena_now(arena);
    for (int round = 0; round < 3; round++) {
        for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
            unsigned char *at = kni_onnx_arena_take(arena, bytes, 1);
            bool zeros = at != NULL;
            for (size_t i = 0; i < bytes && zeros; i++) zeros = at[i] == 0;
            CHECK(zeros && (uintptr_t)at % 16 == 0);
            if (at) memset(at, 0xAA, bytes);
        }
        kni_onnx_arena_back(arena, mark);
    }
    CHECK(!strcmp(kept, "kept") && kni_onnx_arena_take(arena, 0, 8) != NULL);
    CHECK(!kni_onnx_arena_take(arena, SIZE_MAX / 2, 4) && !kni_onnx_arena_take(arena, SIZE_MAX, 1));
    CHECK(!strcmp(kni_onnx_arena_format(arena, "%s %d", "x", 3), "x 3"));
    kni_onnx_arena_free(arena);
    kni_onnx_arena_free(NULL);
}

int main(void)
{
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    raw_elements_stay_in_the_file();
    typed_fields_become_bytes();
    floats_in_fields();
    strings_may_hold_anything();
    sizes_of_nothing_and_of_one();
    sparse_tensors_are_dense();
    declared_types();
    attributes_by_name();
    a_model_says_who_made_it();
    types_and_dtypes();
    external_data_stays_in_the_folder();
    links_inside_of_the_folder_are_followed();
    numbers_of_external_data_are_numbers();
    models_are_files();
    links_to_models_bring_their_data();
    items();
    arenas_give_zeros_and_take_back();
    kni_buffer_free(&bytes_of_model);
    CHECK(kni_path_remove(folder) == KN_OK);
    return check_report();
}
