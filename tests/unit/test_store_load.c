/* Modules and states to and from files: round trips, PyTorch's names, filters, renames, partial loads and their reports, tied
   weights, the format's version, and that a failed load changes nothing. */
#include "test_store_net.h"
#include <kn/nn/recurrent.h>
#include <kn/nn/transformer.h>

#define FOLDER "tests/store/files/"

static kn_module net_module(Net *net) { return KN_MODULE_OF(Net, net); }

/* ---- loading PyTorch's files */

static void test_pytorch_files(void)
{
    static const char *const files[] = {"net_state.pt", "net_state_legacy.pt", "net_checkpoint.pt",
                                        "net_parallel.pt", "net_compiled.pt"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        Net net;
        kn_load_report report;
        char path[200];
        snprintf(path, sizeof path, FOLDER "%s", files[i]);
        for (int map = 0; map < 2; map++) {
            net_make(&net);
            kn_load_args args = {.store = {.map = map}};
            if (!CHECK(kn_load(net_module(&net), path, &args, &report) == KN_OK))
                printf("  %s: %s\n", path, kn_last_error());
            CHECK(report.applied == 9 && report.missing == 0 && report.unused == 0 && !report.text);
            CHECK(net_is_filled(&net));
            kn_load_report_free(&report);
            net_drop(&net);
        }
    }
    Net net;
    net_make(&net);
    kn_load_args exact = {.no_adapters = true};
    CHECK_ERROR(kn_load(net_module(&net), FOLDER "net_parallel.pt", &exact, NULL), "9 missing, 9 unused");
    net_drop(&net);
}

typedef struct Attention {
    kn_nn_linear query, key, value, output;
} Attention;
static const kn_module_type Attention_type = {"Attention", sizeof(Attention),
                                              (const kn_field[]){KN_MODULE(Attention, query, kn_nn_linear),
                                                                 KN_MODULE(Attention, key, kn_nn_linear),
                                                                 KN_MODULE(Attention, value, kn_nn_linear),
                                                                 KN_MODULE(Attention, output, kn_nn_linear),
                                                                 {0}}};

/* PyTorch has the three projections in one tensor of 12 rows. */
static void test_attention(void)
{
    Attention m = {0};
    kn_nn_linear *parts[] = {&m.query, &m.key, &m.value, &m.output};
    for (int i = 0; i < 4; i++) CHECK(kn_nn_linear_init(parts[i], 4, 4, NULL) == KN_OK);
    kn_load_report report;
    if (!CHECK(kn_load(KN_MODULE_OF(Attention, &m), FOLDER "attention.pt", NULL, &report) == KN_OK))
        printf("  %s\n", kn_last_error());
    CHECK(report.applied == 8 && report.unused == 0);
    CHECK_VALUES(kn_value(m.query.weight), 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    CHECK_VALUES(kn_value(m.value.weight), 0, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47);
    CHECK_VALUES(kn_value(m.key.bias), 0, 14, 15, 16, 17);
    CHECK_VALUES(kn_value(m.output.bias), 0, 30, 31, 32, 33);
    kn_load_report_free(&report);
    kn_module_drop(KN_MODULE_OF(Attention, &m));

    memset(&m, 0, sizeof m);
    for (int i = 0; i < 4; i++) CHECK(kn_nn_linear_init(parts[i], 4, 3, NULL) == KN_OK);
    CHECK_ERROR(kn_load(KN_MODULE_OF(Attention, &m), FOLDER "attention.pt", NULL, &report), "mismatched");
    CHECK(strstr(report.text, "'key.bias' is [3] in the module, 3 rows of [12] in the file") != NULL);
    kn_load_report_free(&report);
    kn_module_drop(KN_MODULE_OF(Attention, &m));
}

/* Where keys and values have other widths than queries, PyTorch has the weights apart and only the biases in one. */
static void test_attention_apart(void)
{
    static const char *const names[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
    Attention m = {0};
    kn_nn_linear *parts[] = {&m.query, &m.key, &m.value, &m.output};
    const int64_t widths[] = {2, 3, 1, 2};
    kn_state state = kn_state_make();
    for (int i = 0; i < 4; i++) {
        CHECK(kn_nn_linear_init(parts[i], widths[i], 2, NULL) == KN_OK);
        kn_tensor weight = kn_full(KN_SHAPE(2, widths[i]), i + 1, KN_F32);
        CHECK(kn_state_put(state, "", i < 3 ? names[i] : "out_proj.weight", weight) == KN_OK);
    }
    CHECK(kn_state_put(state, "", "in_proj_bias", kn_arange(0, 6, 1, KN_F32)) == KN_OK);
    CHECK(kn_state_put(state, "", "out_proj.bias", kn_full(KN_SHAPE(2), 9, KN_F32)) == KN_OK);
    CHECK(kn_state_write(state, in_folder("apart.safetensors"), KN_STORE_AUTO) == KN_OK);
    kn_state_free(state);
    kn_load_report report;
    if (!CHECK(kn_load(KN_MODULE_OF(Attention, &m), in_folder("apart.safetensors"), NULL, &report) == KN_OK))
        printf("  %s\n", kn_last_error());
    CHECK(report.applied == 8 && report.unused == 0);
    CHECK_VALUES(kn_value(m.key.weight), 0, 2, 2, 2, 2, 2, 2);
    CHECK_VALUES(kn_value(m.value.weight), 0, 3, 3);
    CHECK_VALUES(kn_value(m.output.weight), 0, 4, 4, 4, 4);
    CHECK_VALUES(kn_value(m.value.bias), 0, 4, 5);
    CHECK_VALUES(kn_value(m.output.bias), 0, 9, 9);
    CHECK(remove(in_folder("apart.safetensors")) == 0);
    kn_load_report_free(&report);
    kn_module_drop(KN_MODULE_OF(Attention, &m));
}

/* The file's y is what PyTorch's layer made of its x; the loaded layer must give the same. */
static kn_tensor file_tensor(const char *path, const char *name)
{
    kn_store store = kn_store_open(path, &(kn_store_args){.top_key = ""});
    kn_tensor t = kn_store_tensor(store, kn_store_find(store, name));
    kn_store_close(store);
    return t;
}

static void check_output(kn_tensor y, const char *path)
{
    double want[64];
    y = kn_keep(y);
    kn_tensor expected = kn_keep(file_tensor(path, "y"));
    int64_t n = kn_count(expected);
    CHECK(n > 0 && n <= 64 && kn_read_as(expected, KN_F64, want, (size_t)n * sizeof *want) == KN_OK);
    check_values(y, want, (int)n, 2e-6, __FILE__, __LINE__);
}

static void test_layers(void)
{
    kn_scope scope = kn_scope_begin();
    kn_nn_transformer_encoder encoder = {0};
    CHECK(kn_nn_transformer_encoder_init(&encoder, 4, 2, 6, 2, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_transformer_encoder, &encoder);
    if (!CHECK(kn_load(module, FOLDER "transformer.pt", NULL, NULL) == KN_OK))
        printf("  %s\n", kn_last_error());
    kn_module_train(module, false);
    check_output(
        kn_nn_transformer_encoder_forward(&encoder, file_tensor(FOLDER "transformer.pt", "x"), NULL, NULL),
        FOLDER "transformer.pt");
    kn_module_drop(module);

    kn_nn_lstm lstm = {0};
    CHECK(kn_nn_lstm_init(&lstm, 3, 2, &(kn_nn_recurrent_args){.num_layers = 2, .bidirectional = true}) ==
          KN_OK);
    module = KN_MODULE_OF(kn_nn_lstm, &lstm);
    if (!CHECK(kn_load(module, FOLDER "lstm.pt", NULL, NULL) == KN_OK)) printf("  %s\n", kn_last_error());
    check_output(kn_nn_lstm_forward(&lstm, file_tensor(FOLDER "lstm.pt", "x"), NULL), FOLDER "lstm.pt");
    kn_module_drop(module);
    kn_scope_end(scope, KN_NONE);
}

/* ---- back to PyTorch: what was loaded from one of its files is saved under the same names, with the same elements */

static bool same_tensors(kn_store a, kn_store b)
{
    if (kn_store_count(a) != kn_store_count(b)) return false;
    for (int64_t i = 0; i < kn_store_count(a); i++) {
        kn_store_entry x, y;
        double left[128] = {0}, right[128] = {0};
        kn_store_at(a, i, &x);
        if (!kn_store_at(b, kn_store_find(b, x.name), &y)) {
            printf("  '%s' is missing\n", x.name);
            return false;
        }
        kn_tensor l = kn_store_tensor(a, i), r = kn_store_tensor(b, kn_store_find(b, x.name));
        bool same = x.shape.rank == y.shape.rank &&
                    !memcmp(x.shape.dims, y.shape.dims, sizeof x.shape.dims) && x.dtype == y.dtype &&
                    kn_count(l) <= 128 &&
                    kn_read_as(l, KN_F64, left, (size_t)kn_count(l) * sizeof *left) == KN_OK &&
                    kn_read_as(r, KN_F64, right, (size_t)kn_count(l) * sizeof *right) == KN_OK &&
                    !memcmp(left, right, sizeof left);
        kn_drop(l);
        kn_drop(r);
        if (!same) printf("  '%s' differs\n", x.name);
        if (!same) return false;
    }
    return true;
}

static void check_back(kn_module module, const char *path)
{
    if (!CHECK(kn_load(module, path, NULL, NULL) == KN_OK)) printf("  %s\n", kn_last_error());
    CHECK(kn_save(module, in_folder("back.safetensors"), NULL) == KN_OK);
    kn_store theirs = kn_store_open(path, NULL), ours = kn_store_open(in_folder("back.safetensors"), NULL);
    if (!CHECK(theirs && ours && same_tensors(theirs, ours))) printf("  %s\n", path);
    kn_store_close(theirs);
    kn_store_close(ours);
    CHECK(kn_load(module, in_folder("back.safetensors"), NULL, NULL) == KN_OK);
    kn_module_drop(module);
}

static void test_back_to_pytorch(void)
{
    kn_nn_attention attention = {0};
    kn_nn_transformer_encoder encoder = {0};
    kn_nn_lstm lstm = {0};
    Net net;
    net_make(&net);
    kn_nn_recurrent_args two = {.num_layers = 2, .bidirectional = true};
    CHECK(kn_nn_attention_init(&attention, 4, 2, NULL) == KN_OK);
    CHECK(kn_nn_transformer_encoder_init(&encoder, 4, 2, 6, 2, NULL) == KN_OK);
    CHECK(kn_nn_lstm_init(&lstm, 3, 2, &two) == KN_OK);
    check_back(KN_MODULE_OF(kn_nn_attention, &attention), FOLDER "attention.pt");
    check_back(KN_MODULE_OF(kn_nn_transformer_encoder, &encoder), FOLDER "transformer.pt");
    check_back(KN_MODULE_OF(kn_nn_lstm, &lstm), FOLDER "lstm.pt");
    check_back(net_module(&net), FOLDER "net_state.pt");
}

/* Names of the file in the order of their bytes, with a comma between them. */
static const char *saved_names(kn_module module, const kn_save_args *args)
{
    static char text[400];
    text[0] = 0;
    if (!CHECK(kn_save(module, in_folder("names.safetensors"), args) == KN_OK))
        printf("  %s\n", kn_last_error());
    kn_store store = kn_store_open(in_folder("names.safetensors"), NULL);
    kn_store_entry e;
    /* All are f32, so the file is in the order of names. */
    for (int64_t i = 0; kn_store_at(store, i, &e); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s[%d]", i ? "," : "", e.name,
                 (int)e.shape.dims[0]);
    kn_store_close(store);
    CHECK(kn_load(module, in_folder("names.safetensors"), NULL, NULL) == KN_OK);
    return text;
}

/* Other forms of attention: what PyTorch's has, and what it has not, which keeps Kiln's names. */
static void test_attention_names(void)
{
    static const struct {
        kn_nn_attention_args args;
        const char *names;
    } cases[] = {{{0}, "in_proj_bias[12],in_proj_weight[12],out_proj.bias[4],out_proj.weight[4]"},
                 {{.d_context = 6},
                  "in_proj_bias[12],k_proj_weight[4],out_proj.bias[4],out_proj.weight[4],q_proj_weight[4],v_"
                  "proj_weight[4]"},
                 {{.no_query_bias = true, .no_key_bias = true, .no_value_bias = true, .no_output_bias = true},
                  "in_proj_weight[12],out_proj.weight[4]"},
                 {{.n_heads_kv = 1,
                   .no_query_bias = true,
                   .no_key_bias = true,
                   .no_value_bias = true,
                   .no_output_bias = true},
                  "key.weight[2],output.weight[4],query.weight[4],value.weight[2]"},
                 {{.no_key_bias = true},
                  "key.weight[4],output.bias[4],output.weight[4],query.bias[4],query.weight[4],value.bias[4],"
                  "value.weight[4]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_nn_attention m = {0};
        CHECK(kn_nn_attention_init(&m, 4, 2, &cases[i].args) == KN_OK);
        const char *names = saved_names(KN_MODULE_OF(kn_nn_attention, &m), NULL);
        if (!CHECK(!strcmp(names, cases[i].names))) printf("  %zu: %s\n", i, names);
        kn_module_drop(KN_MODULE_OF(kn_nn_attention, &m));
    }
    kn_nn_attention m = {0};
    CHECK(kn_nn_attention_init(&m, 4, 2, &cases[2].args) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_attention, &m);
    CHECK(!strcmp(saved_names(module, &(kn_save_args){.no_adapters = true}),
                  "key.weight[4],output.weight[4],query.weight[4],value.weight[4]"));
    /* A projection that is left out, or stored in another dtype, keeps the others apart. */
    kn_save_args some = {.exclude = "^key"};
    CHECK(kn_save(module, in_folder("some.safetensors"), &some) == KN_OK);
    kn_store store = kn_store_open(in_folder("some.safetensors"), NULL);
    CHECK(kn_store_count(store) == 3 && kn_store_find(store, "query.weight") >= 0);
    kn_store_close(store);
    kn_save_args half = {.cast = KN_F16, .cast_exclude = "^key"};
    CHECK(kn_save(module, in_folder("some.safetensors"), &half) == KN_OK);
    store = kn_store_open(in_folder("some.safetensors"), NULL);
    CHECK(kn_store_count(store) == 4 && kn_store_find(store, "query.weight") >= 0);
    kn_store_close(store);
    kn_module_drop(module);
}

/* ---- round trips */

static void test_round_trips(void)
{
    static const char *const names[] = {"a.safetensors", "b.npz", "c.unknown"};
    static const kn_dtype casts[] = {0, KN_F64, KN_F16, KN_BF16};
    Net net, other;
    net_make(&net);
    CHECK(kn_load(net_module(&net), FOLDER "net_state.pt", NULL, NULL) == KN_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof casts / sizeof *casts; k++) {
            kn_save_args args = {.cast = casts[k],
                                 .metadata = (const char *const[]){"made by", "a \"test\"\n", 0}};
            if (casts[k] == KN_BF16 && i == 1) {
                CHECK_ERROR(kn_save(net_module(&net), in_folder(names[i]), &args), "NumPy has no dtype bf16");
                continue;
            }
            CHECK(kn_save(net_module(&net), in_folder(names[i]), &args) == KN_OK);
            kn_store store = kn_store_open(in_folder(names[i]), NULL);
            kn_store_entry entry;
            const char *name, *text;
            CHECK(kn_store_at(store, kn_store_find(store, "fc1.weight"), &entry));
            CHECK(entry.dtype == (casts[k] ? casts[k] : KN_F32));
            CHECK(kn_store_at(store, kn_store_find(store, "norm.num_batches_tracked"), &entry));
            CHECK(entry.dtype == KN_I64); /* only floats are cast */
            CHECK(kn_store_text(store, 0, &name, &text) && !strcmp(name, "kiln.format") &&
                  !strcmp(text, "2"));
            CHECK(kn_store_text(store, 1, &name, &text) && !strcmp(text, "a \"test\"\n"));
            kn_store_close(store);
            net_make(&other);
            CHECK(kn_load(net_module(&other), in_folder(names[i]), NULL, NULL) == KN_OK);
            CHECK(net_is_filled(&other) && kn_dtype_of(kn_value(other.fc1.weight)) == KN_F32);
            net_drop(&other);
        }
    kn_save_args half = {.cast = KN_F16, .cast_exclude = "^norm"};
    CHECK(kn_save(net_module(&net), in_folder("c.unknown"), &half) == KN_OK);
    kn_store mixed = kn_store_open(in_folder("c.unknown"), NULL);
    kn_store_entry cast, kept;
    CHECK(kn_store_at(mixed, kn_store_find(mixed, "fc1.weight"), &cast) && cast.dtype == KN_F16);
    CHECK(kn_store_at(mixed, kn_store_find(mixed, "norm.weight"), &kept) && kept.dtype == KN_F32);
    kn_store_close(mixed);
    /* The same content gives the same bytes, and no temporary file is left. */
    CHECK(kn_save(net_module(&net), in_folder("d.safetensors"), NULL) == KN_OK);
    CHECK(kn_save(net_module(&net), in_folder("e.safetensors"), NULL) == KN_OK);
    kni_buffer d = content_of(in_folder("d.safetensors")), e = content_of(in_folder("e.safetensors"));
    CHECK(same_content(&d, &e));
    net_make(&other);
    CHECK(kn_load_memory(net_module(&other), d.data, d.length, NULL, NULL) == KN_OK && net_is_filled(&other));
    net_drop(&other);
    kni_buffer_free(&d);
    kni_buffer_free(&e);
    kni_folder folder;
    CHECK(kni_folder_read(&folder, test_folder) == KN_OK && folder.count == 5);
    kni_folder_free(&folder);
    CHECK_ERROR(kn_save(net_module(&net), in_folder("f.pt"), NULL), "read, not written");
    CHECK_ERROR(kn_save(net_module(&net), in_folder("f.npy"), NULL), "one tensor, there are 9");
    kn_save_args one = {.include = "^fc1\\.bias$"};
    CHECK(kn_save(net_module(&net), in_folder("f.npy"), &one) == KN_OK);
    kn_store store = kn_store_open(in_folder("f.npy"), NULL);
    kn_tensor t = kn_keep(kn_store_tensor(store, 0));
    CHECK_VALUES(t, 0, 10, 11, 12, 13);
    kn_drop(t);
    kn_store_close(store);
    net_drop(&net);
}

/* Every dtype and odd shape through every format that has it. */
static void test_state_dtypes(void)
{
    static const kn_dtype dtypes[] = {KN_F64, KN_F32, KN_F16, KN_I64, KN_I32,  KN_I16, KN_I8,
                                      KN_U64, KN_U32, KN_U16, KN_U8,  KN_BOOL, KN_BF16};
    static const char *const files[] = {"state.safetensors", "state.npz"};
    for (int f = 0; f < 2; f++) {
        int count = f == 0 ? 13 : 12;
        kn_state state = kn_state_make(), back = kn_state_make();
        for (int i = 0; i < count; i++) {
            double values[6] = {0, 1, 1, 0, 1, 1};
            kn_scope scope = kn_scope_begin();
            kn_tensor x = kn_cast(kn_from(values, KN_F64, KN_SHAPE(2, 3)), dtypes[i]);
            CHECK(kn_state_put(state, "x/", kn_dtype_name(dtypes[i]), kn_transpose(x, 0, 1)) == KN_OK);
            CHECK(kn_state_put(state, "empty/", kn_dtype_name(dtypes[i]),
                               kn_zeros(KN_SHAPE(0, 2), dtypes[i])) == KN_OK);
            CHECK(kn_state_put(state, "number/", kn_dtype_name(dtypes[i]), kn_scalar(1, dtypes[i])) == KN_OK);
            kn_scope_end(scope, KN_NONE);
        }
        CHECK(kn_state_put_int(state, "", "epoch", -3) == KN_OK);
        CHECK(kn_state_put_real(state, "", "loss", 0.1) == KN_OK);
        CHECK(kn_state_put_text(state, "note", "a\tb \xc3\xa9") == KN_OK);
        CHECK(kn_state_write(state, in_folder(files[f]), KN_STORE_AUTO) == KN_OK);
        if (!CHECK(kn_state_read(back, in_folder(files[f])) == KN_OK)) printf("  %s\n", kn_last_error());
        CHECK(kn_state_count(back) == kn_state_count(state) && kn_state_text_count(back) == 1);
        CHECK(!strcmp(kn_state_get_text(back, "note"), "a\tb \xc3\xa9"));
        int64_t epoch = 0;
        double loss = 0;
        CHECK(kn_state_get_int(back, "", "epoch", &epoch) && epoch == -3);
        CHECK(kn_state_get_real(back, "", "loss", &loss) && loss == 0.1);
        for (int i = 0; i < count; i++) {
            kn_tensor t = kn_state_get(back, "x/", kn_dtype_name(dtypes[i]));
            CHECK(kn_dtype_of(t) == dtypes[i] && kn_size(t, 0) == 3);
            CHECK_VALUES(t, 0, 0, 0, 1, 1, 1, 1);
            t = kn_state_get(back, "empty/", kn_dtype_name(dtypes[i]));
            CHECK(kn_count(t) == 0 && kn_size(t, 1) == 2);
            t = kn_state_get(back, "number/", kn_dtype_name(dtypes[i]));
            CHECK(kn_rank(t) == 0 && kn_item(t) == 1);
        }
        kn_state_free(state);
        kn_state_free(back);
    }
}

/* ---- names */

static void test_renames_and_filters(void)
{
    Net net;
    kn_load_report report;
    net_make(&net);
    CHECK(kn_load(net_module(&net), FOLDER "net_state.pt", NULL, NULL) == KN_OK);
    kn_save_args out = {.renames =
                            (const kn_rename[]){{"^fc([0-9]+)\\.", "layers.\\1."}, {"norm", "bn"}, {0}}};
    CHECK(kn_save(net_module(&net), in_folder("renamed.safetensors"), &out) == KN_OK);
    net_drop(&net);
    kn_store store = kn_store_open(in_folder("renamed.safetensors"), NULL);
    CHECK(kn_store_find(store, "layers.1.weight") >= 0 && kn_store_find(store, "bn.running_mean") >= 0);
    kn_store_close(store);

    net_make(&net);
    kn_load_args in = {.renames = (const kn_rename[]){{"^layers\\.([0-9]+)", "fc\\1"}, {"^bn", "norm"}, {0}}};
    CHECK(kn_load(net_module(&net), in_folder("renamed.safetensors"), &in, NULL) == KN_OK &&
          net_is_filled(&net));
    net_drop(&net);

    /* Only what the filters take is loaded, missing or unused. */
    net_make(&net);
    kn_load_args some = {.include = "^fc", .exclude = "bias$"};
    CHECK(kn_load(net_module(&net), FOLDER "net_state.pt", &some, &report) == KN_OK && report.applied == 2);
    CHECK_VALUES(kn_value(net.fc2.weight), 0, 70, 71, 72, 73, 74, 75, 76, 77);
    CHECK_VALUES(kn_value(net.norm.weight), 0, 1, 1, 1, 1);
    kn_load_report_free(&report);

    kn_load_args wrong = {.include = "fc["};
    CHECK_ERROR(kn_load(net_module(&net), FOLDER "net_state.pt", &wrong, NULL), "pattern 'fc['");
    kn_load_args group = {.renames = (const kn_rename[]){{"fc", "\\1"}, {0}}};
    CHECK_ERROR(kn_load(net_module(&net), FOLDER "net_state.pt", &group, NULL), "group 1");
    kn_save_args same = {.renames = (const kn_rename[]){{"fc[12]", "fc"}, {0}}};
    CHECK_ERROR(kn_save(net_module(&net), in_folder("x.safetensors"), &same), "two tensors are called 'fc.");
    net_drop(&net);
}

typedef struct Stack {
    kn_nn_linear layers[3];
} Stack;
static const kn_module_type Stack_type = {"Stack", sizeof(Stack),
                                          (const kn_field[]){KN_ARRAY(Stack, layers, kn_nn_linear), {0}}};

/* A Sequential with activations between has layers 0, 2 and 11. */
static void test_renumber(void)
{
    kn_state state = kn_state_make();
    static const char *const numbers[] = {"0", "2", "11"};
    for (int i = 0; i < 3; i++) {
        char name[40];
        snprintf(name, sizeof name, "layers.%s.weight", numbers[i]);
        CHECK(kn_state_put(state, "", name, kn_full(KN_SHAPE(2, 2), i, KN_F32)) == KN_OK);
        snprintf(name, sizeof name, "layers.%s.bias", numbers[i]);
        CHECK(kn_state_put(state, "", name, kn_full(KN_SHAPE(2), 10 + i, KN_F32)) == KN_OK);
    }
    CHECK(kn_state_write(state, in_folder("stack.safetensors"), KN_STORE_AUTO) == KN_OK);
    kn_state_free(state);
    Stack stack = {0};
    for (int i = 0; i < 3; i++) CHECK(kn_nn_linear_init(&stack.layers[i], 2, 2, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(Stack, &stack);
    CHECK_ERROR(kn_load(module, in_folder("stack.safetensors"), NULL, NULL), "2 missing, 2 unused");
    kn_load_args args = {.renumber = true};
    CHECK(kn_load(module, in_folder("stack.safetensors"), &args, NULL) == KN_OK);
    CHECK_VALUES(kn_value(stack.layers[1].weight), 0, 1, 1, 1, 1);
    CHECK_VALUES(kn_value(stack.layers[2].bias), 0, 12, 12);
    kn_module_drop(module);
}

/* ---- partial loads */

static void test_partial(void)
{
    Net net;
    kn_load_report report;
    kn_state state = kn_state_make();
    net_make(&net);
    double before[12], after[12];
    CHECK(kn_read_as(kn_value(net.fc1.weight), KN_F64, before, sizeof before) == KN_OK);
    CHECK(kn_state_put(state, "", "fc1.weight", kn_ones(KN_SHAPE(4, 3), KN_F32)) == KN_OK);
    CHECK(kn_state_put(state, "", "fc1.biass", kn_ones(KN_SHAPE(4), KN_F32)) == KN_OK);
    CHECK(kn_state_put(state, "", "fc2.weight", kn_ones(KN_SHAPE(4, 2), KN_F32)) == KN_OK);
    CHECK(kn_state_write(state, in_folder("part.safetensors"), KN_STORE_AUTO) == KN_OK);

    kn_load_args loose = {.allow_missing = true, .allow_unused = true};
    CHECK_ERROR(kn_load(net_module(&net), in_folder("part.safetensors"), &loose, &report), "1 mismatched");
    CHECK(report.applied == 0 && report.missing == 6 && report.unused == 1 && report.mismatched == 1);
    CHECK(strstr(report.text, "mismatched: 'fc2.weight' is [2, 4] in the module, [4, 2] in the file\n"));
    CHECK(strstr(report.text, "missing: 'fc1.bias' f32 [4]; did you mean 'fc1.biass' [4] of the file?\n"));
    CHECK(strstr(report.text, "missing: 'norm.running_mean' f32 [4]\n"));
    CHECK(strstr(report.text, "unused: 'fc1.biass' f32 [4]\n"));
    kn_load_report_free(&report);
    CHECK(kn_read_as(kn_value(net.fc1.weight), KN_F64, after, sizeof after) == KN_OK);
    CHECK(!memcmp(before, after, sizeof before)); /* a failed load changes nothing */

    loose.exclude = "fc2.weight";
    CHECK(kn_load(net_module(&net), in_folder("part.safetensors"), &loose, &report) == KN_OK);
    CHECK(report.applied == 1 && report.missing == 6 && report.unused == 1);
    kn_load_report_free(&report);
    CHECK_VALUES(kn_value(net.fc1.weight), 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    loose.allow_unused = false;
    CHECK_ERROR(kn_load(net_module(&net), in_folder("part.safetensors"), &loose, NULL),
                "allow_unused permits");
    loose.allow_unused = true;
    loose.allow_missing = false;
    CHECK_ERROR(kn_load(net_module(&net), in_folder("part.safetensors"), &loose, NULL),
                "allow_missing permits");
    net_drop(&net);
    kn_state_free(state);
}

/* ---- tied weights */

typedef struct Tied {
    kn_nn_linear in, out;
} Tied;
static const kn_module_type Tied_type = {
    "Tied", sizeof(Tied),
    (const kn_field[]){KN_MODULE(Tied, in, kn_nn_linear), KN_MODULE(Tied, out, kn_nn_linear), {0}}};

static void test_tied(void)
{
    Tied m = {0};
    kn_nn_linear_args args = {.no_bias = true};
    CHECK(kn_nn_linear_init(&m.in, 2, 2, &args) == KN_OK);
    m.out = m.in;
    kn_module module = KN_MODULE_OF(Tied, &m);
    CHECK(kn_save(module, in_folder("tied.safetensors"), NULL) == KN_OK);
    kn_store store = kn_store_open(in_folder("tied.safetensors"), NULL);
    CHECK(kn_store_count(store) == 1 && kn_store_find(store, "in.weight") == 0);
    kn_store_close(store);
    CHECK(kn_load(module, in_folder("tied.safetensors"), NULL, NULL) == KN_OK);
    /* A file that has it only under the other name, and one that has it twice. */
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "out.weight", kn_full(KN_SHAPE(2, 2), 5, KN_F32)) == KN_OK);
    CHECK(kn_state_write(state, in_folder("tied.safetensors"), KN_STORE_AUTO) == KN_OK);
    CHECK(kn_load(module, in_folder("tied.safetensors"), NULL, NULL) == KN_OK);
    CHECK_VALUES(kn_value(m.in.weight), 0, 5, 5, 5, 5);
    CHECK(kn_module_load(module, state, "") == KN_OK);
    CHECK(kn_state_put(state, "", "in.weight", kn_full(KN_SHAPE(2, 2), 5, KN_F32)) == KN_OK);
    CHECK(kn_state_write(state, in_folder("tied.safetensors"), KN_STORE_AUTO) == KN_OK);
    CHECK(kn_load(module, in_folder("tied.safetensors"), NULL, NULL) == KN_OK);
    kn_state_free(state);
    kn_module_drop(module);
}

/* ---- states of modules */

static void test_module_state(void)
{
    Net net, other;
    kn_state state = kn_state_make();
    net_make(&net);
    net_make(&other);
    CHECK(kn_load(net_module(&net), FOLDER "net_state.pt", NULL, NULL) == KN_OK);
    CHECK(kn_module_save(net_module(&net), state, "model/") == KN_OK && kn_state_count(state) == 9);
    CHECK(kn_module_load(net_module(&other), state, "model/") == KN_OK && net_is_filled(&other));
    CHECK_ERROR(kn_module_load(net_module(&other), state, "ema/"), "no 'ema/fc1.bias'");
    CHECK(kn_state_put(state, "model/", "fc2.bias", kn_ones(KN_SHAPE(3), KN_F32)) == KN_OK);
    CHECK(kn_module_copy(net_module(&net), net_module(&other)) == KN_OK);
    CHECK_ERROR(kn_module_load(net_module(&other), state, "model/"), "another shape");
    CHECK(net_is_filled(&other));
    kn_state_free(state);
    net_drop(&net);
    net_drop(&other);
}

/* On an autodiff device the params stay trainable after a load. */
static void test_devices(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    Net net;
    net_make(&net);
    kn_device_use(NULL);
    CHECK(kn_load(net_module(&net), FOLDER "net_state.pt", NULL, NULL) == KN_OK && net_is_filled(&net));
    CHECK(kn_is_require_grad(kn_value(net.fc1.weight)));
    CHECK(kn_save(net_module(&net), in_folder("device.safetensors"), NULL) == KN_OK);
    net_drop(&net);
    kn_device_close(device);
}

/* ---- the version, and the files of all versions, which every later version must read */

static void test_version(void)
{
    static const char header[] =
        "{\"__metadata__\":{\"kiln.format\":\"4\"},\"x\":{\"dtype\":\"U8\",\"shape\":[1],"
        "\"data_offsets\":[0,1]}}";
    char file[200] = {0};
    size_t length = strlen(header);
    file[0] = (char)length;
    memcpy(file + 8, header, length);
    CHECK(kni_file_write(in_folder("later.safetensors"), file, 8 + length + 1) == KN_OK);
    kn_state state = kn_state_make();
    CHECK_ERROR(kn_state_read(state, in_folder("later.safetensors")), "written by a later Kiln (format 4");
    CHECK(kn_state_count(state) == 0);
    Net net;
    net_make(&net);
    CHECK_ERROR(kn_load(net_module(&net), in_folder("later.safetensors"), NULL, NULL), "later Kiln");
    net_drop(&net);
    kn_state_free(state);
}

static kn_state golden_state(void)
{
    static const kn_dtype dtypes[] = {KN_F64, KN_F32, KN_F16, KN_BF16, KN_I64, KN_I32, KN_I16,
                                      KN_I8,  KN_U64, KN_U32, KN_U16,  KN_U8,  KN_BOOL};
    kn_state state = kn_state_make();
    double values[6] = {0, 1, 1.5, 100, 3, 2};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        CHECK(kn_state_put(state, "model/", kn_dtype_name(dtypes[i]),
                           kn_cast(kn_from(values, KN_F64, KN_SHAPE(2, 3)), dtypes[i])) == KN_OK);
    CHECK(kn_state_put_int(state, "train/", "step", 12345678901) == KN_OK);
    CHECK(kn_state_put_real(state, "train/", "loss", 0.1) == KN_OK);
    CHECK(kn_state_put(state, "model/", "empty", kn_zeros(KN_SHAPE(0, 4), KN_F32)) == KN_OK);
    CHECK(kn_state_put_text(state, "config", "{\"layers\": 3}") == KN_OK);
    return state;
}

static void test_golden(void)
{
    static const char *const files[] = {"tests/store/golden/state_1.safetensors",
                                        "tests/store/golden/state_2.safetensors"};
    enum { NEWEST = sizeof files / sizeof *files - 1 };
    kn_state wanted = golden_state();
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        kn_state state = kn_state_make();
        if (!CHECK(kn_state_read(state, files[f]) == KN_OK)) printf("  %s\n", kn_last_error());
        CHECK(kn_state_count(state) == kn_state_count(wanted));
        CHECK(!strcmp(kn_state_get_text(state, "config"), "{\"layers\": 3}"));
        for (int64_t i = 0; i < kn_state_count(wanted); i++) {
            kn_tensor want, got;
            double values[6] = {0};
            const char *name = kn_state_name(wanted, i, &want);
            got = kn_state_get(state, "", name);
            CHECK(kn_dtype_of(got) == kn_dtype_of(want) && kn_rank(got) == kn_rank(want));
            int n = (int)kn_count(want);
            CHECK(kn_read_as(want, KN_F64, values, (size_t)n * sizeof *values) == KN_OK);
            check_values(got, values, n, 0, __FILE__, __LINE__);
        }
        kn_state_free(state);
    }
    /* This version still writes the same bytes. */
    CHECK(kn_state_write(wanted, in_folder("golden.safetensors"), KN_STORE_AUTO) == KN_OK);
    kni_buffer old = content_of(files[NEWEST]), now = content_of(in_folder("golden.safetensors"));
    CHECK(same_content(&old, &now));
    kni_buffer_free(&old);
    kni_buffer_free(&now);
    kn_state_free(wanted);
}

static void test_misuse(void)
{
    Net net;
    net_make(&net);
    kn_state state = kn_state_make();
    CHECK_ERROR(kn_load((kn_module){0}, FOLDER "net_state.pt", NULL, NULL), "module is NULL");
    CHECK_ERROR(kn_load(net_module(&net), NULL, NULL, NULL), "path is NULL");
    CHECK_ERROR(kn_load_store(net_module(&net), NULL, NULL, NULL), "store is NULL");
    CHECK_ERROR(kn_save(net_module(&net), NULL, NULL), "path is NULL");
    CHECK_ERROR(kn_save((kn_module){0}, in_folder("x.npz"), NULL), "module");
    CHECK_ERROR(kn_save(net_module(&net), in_folder("no/such/x.npz"), NULL), "No such file");
    kn_save_args integer = {.cast = KN_I8};
    CHECK_ERROR(kn_save(net_module(&net), in_folder("x.npz"), &integer), "cannot be stored as i8");
    kn_save_args odd = {.metadata = (const char *const[]){"alone", 0}};
    CHECK_ERROR(kn_save(net_module(&net), in_folder("x.npz"), &odd), "'alone' has no text");
    kn_save_args own = {.metadata = (const char *const[]){"kiln.format", "9", 0}};
    CHECK_ERROR(kn_save(net_module(&net), in_folder("x.npz"), &own), "Kiln's own");
    CHECK_ERROR(kn_state_write(NULL, in_folder("x.npz"), KN_STORE_AUTO), "NULL");
    CHECK_ERROR(kn_state_write(state, in_folder("x.npz"), (kn_store_format)9), "format 9");
    CHECK_ERROR(kn_state_read(NULL, in_folder("x.npz")), "NULL");
    CHECK_ERROR(kn_state_read(state, in_folder("none.npz")), "No such file");
    CHECK_ERROR(kn_module_save(net_module(&net), NULL, ""), "NULL");
    CHECK_ERROR(kn_module_load(net_module(&net), NULL, ""), "NULL");
    kn_load_report_free(NULL);
    /* An empty state is a file too. */
    CHECK(kn_state_write(state, in_folder("empty.safetensors"), KN_STORE_AUTO) == KN_OK);
    CHECK(kn_state_read(state, in_folder("empty.safetensors")) == KN_OK && kn_state_count(state) == 0);
    kn_state_free(state);
    net_drop(&net);
}

int main(int count, char **arguments)
{
    /* test_store_load --write FILE makes the golden file of a new version. */
    if (count == 3 && !strcmp(arguments[1], "--write")) {
        kn_state state = golden_state();
        kn_status status = kn_state_write(state, arguments[2], KN_STORE_AUTO);
        kn_state_free(state);
        return status != KN_OK;
    }
    folder_make();
    test_pytorch_files();
    test_attention();
    test_attention_apart();
    test_layers();
    test_round_trips();
    test_state_dtypes();
    test_renames_and_filters();
    test_renumber();
    test_partial();
    test_tied();
    test_module_state();
    test_devices();
    test_version();
    test_golden();
    test_misuse();
    test_back_to_pytorch();
    test_attention_names();
    folder_remove();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
