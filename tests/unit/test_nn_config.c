/* Settings as JSON (round trips, lists, errors with line and column) and states. */
#include "support/check.h"
#include <kn/nn.h>
#include <kn/state.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Stage {
    int64_t width;
    bool pool;
} Stage;
static const kn_module_type Stage_type = {
    "Stage", sizeof(Stage), (const kn_field[]){KN_INT(Stage, width), KN_FLAG(Stage, pool), {0}}};

static const char *const kinds[] = {"small", "large"};

typedef struct Config {
    int64_t epochs;
    double learning_rate, limit;
    bool shuffle;
    int32_t kind;
    kn_ints sizes;
    char name[8];
    Stage stem, tail[2];
    Stage *stages;
    int32_t n_stages;
    Stage *head;
} Config;
static const kn_module_type Config_type = {"Config", sizeof(Config),
                                           (const kn_field[]){KN_INT(Config, epochs),
                                                              KN_REAL(Config, learning_rate),
                                                              KN_REAL(Config, limit),
                                                              KN_FLAG(Config, shuffle),
                                                              KN_ENUM(Config, kind, kinds),
                                                              KN_INT_LIST(Config, sizes),
                                                              KN_TEXT(Config, name),
                                                              KN_MODULE(Config, stem, Stage),
                                                              KN_ARRAY(Config, tail, Stage),
                                                              KN_LIST(Config, stages, n_stages, Stage),
                                                              KN_OPTIONAL(Config, head, Stage),
                                                              {0}}};

static kn_status parse(Config *c, const char *text)
{
    return kn_config_parse(c, &Config_type, text, strlen(text));
}

static void round_trip(void)
{
    Config c = {.epochs = INT64_MIN, .learning_rate = 0.1, .limit = INFINITY, .shuffle = true, .kind = 1},
           back = {0};
    char text[2000];
    c.sizes = KN_INTS(3, -4);
    strcpy(c.name, "a\"b");
    c.stem = (Stage){16, true};
    c.tail[1].width = 9;
    c.stages = kn_module_list(&Stage_type, 2);
    c.n_stages = 2;
    c.stages[1].width = 32;
    c.head = kn_module_list(&Stage_type, 1);
    c.head->pool = true;
    size_t n = kn_config_format(&c, &Config_type, text, sizeof text);
    CHECK(n == strlen(text) && strstr(text, "\"kind\": \"large\"") && strstr(text, "\"limit\": \"inf\""));
    CHECK(parse(&back, text) == KN_OK);
    CHECK(back.epochs == INT64_MIN && back.learning_rate == 0.1 && back.limit == INFINITY && back.shuffle &&
          back.kind == 1);
    CHECK(back.sizes.rank == 2 && back.sizes.dims[1] == -4 && strcmp(back.name, "a\"b") == 0);
    CHECK(back.stem.width == 16 && back.stem.pool && back.tail[1].width == 9);
    CHECK(back.n_stages == 2 && back.stages && back.stages[1].width == 32 && back.head && back.head->pool);
    CHECK_ERROR(parse(&back, "{\"stages\": [{}]}"), "'stages' must be as long as the list that is there");
    CHECK_ERROR(parse(&back, "{\"tail\": [{}]}"), "'tail' must be as long as the array");
    kn_module_drop((kn_module){&c, &Config_type});
    kn_module_drop((kn_module){&back, &Config_type});
}

static void errors(void)
{
    Config c = {.epochs = 3};
    CHECK_ERROR(parse(&c, "{\n  \"epochs\": 5,\n  \"learning_rat\": 1\n}"),
                "config:3:19: Config has no setting 'learning_rat'; did you mean 'learning_rate'?");
    CHECK(c.epochs == 3); /* nothing is changed by a text with an error */
    CHECK_ERROR(parse(&c, "{\"epochs\": 1.5}"), "config:1:12: 'epochs' must be a whole number");
    CHECK_ERROR(parse(&c, "{\"shuffle\": 1}"), "'shuffle' must be true or false");
    CHECK_ERROR(parse(&c, "{\"kind\": \"huge\"}"), "'kind' must be one of \"small\", \"large\"");
    CHECK_ERROR(parse(&c, "{\"sizes\": [1, \"2\"]}"), "'sizes' must be a list of whole numbers");
    CHECK_ERROR(parse(&c, "{\"sizes\": [1,2,3,4,5,6,7,8,9]}"), "at most 8");
    CHECK_ERROR(parse(&c, "{\"name\": \"much too long\"}"), "'name' must be a text that fits");
    CHECK_ERROR(parse(&c, "{\"stem\": {\"widht\": 3}}"),
                "Stage has no setting 'widht'; did you mean 'width'?");
    CHECK_ERROR(parse(&c, "{\"stages\": [{\"width\": 1}, {\"width\": true}]}"),
                "config:1:37: 'width' must be");
    CHECK_ERROR(parse(&c, "{\"stages\": {}}"), "'stages' must be a list");
    CHECK_ERROR(parse(&c, "{\"epochs\": 1, \"epochs\": 2}"), "'epochs' must be given once");
    CHECK_ERROR(parse(&c, "{\"epochs\": 1"), "config:1:13:");
    CHECK_ERROR(parse(&c, "[]"), "an object in { }");
    CHECK(c.stages == NULL && c.n_stages == 0);
    CHECK(parse(&c, "{}") == KN_OK && c.epochs == 3);
}

static void files(void)
{
    const char *folder = getenv("TMPDIR");
    char full[300];
    snprintf(full, sizeof full, "%s/kn_config_%ld.json", folder ? folder : "/tmp", (long)getpid());
    Config c = {.epochs = 12, .learning_rate = 1.0 / 3}, back = {0};
    CHECK(kn_config_save(&c, &Config_type, full) == KN_OK);
    CHECK(kn_config_load(&back, &Config_type, full) == KN_OK && back.epochs == 12 &&
          back.learning_rate == 1.0 / 3);
    FILE *f = fopen(full, "w");
    if (CHECK(f != NULL)) {
        fputs("{\"epoch\": 1}", f);
        fclose(f);
    }
    CHECK_ERROR(kn_config_load(&back, &Config_type, full), ".json:1:11: Config has no setting 'epoch'");
    remove(full);
    CHECK_ERROR(kn_config_load(&back, &Config_type, full), "kn_config_");
}

/* A layer's settings are its config. */
static void layers(void)
{
    kn_nn_conv2d m;
    char text[1000];
    CHECK(kn_nn_conv2d_init(&m, 3, 8, KN_INTS(3, 3), &(kn_nn_conv_args){.stride = {2, 2}}) == KN_OK);
    kn_config_format(&m, &kn_nn_conv2d_type, text, sizeof text);
    CHECK(strstr(text, "\"out_channels\": 8") && strstr(text, "\"stride\": [2, 2]") &&
          !strstr(text, "weight"));
    kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &m));
}

/* Formats the settings of a module and reads them into one that was made otherwise. */
static void carry(kn_module from, kn_module to)
{
    static char text[20000];
    size_t n = kn_config_format(from.self, from.type, text, sizeof text);
    CHECK(n == strlen(text) && kn_config_parse(to.self, to.type, text, n) == KN_OK);
}

/* Each setting that a forward depends on comes back. */
static void layer_settings(void)
{
    kn_nn_embedding e, e2;
    CHECK(kn_nn_embedding_init(&e, 5, 2, &(kn_nn_embedding_args){.padding_index = KN_ZERO}) == KN_OK);
    CHECK(kn_nn_embedding_init(&e2, 5, 2, NULL) == KN_OK);
    carry(KN_MODULE_OF(kn_nn_embedding, &e), KN_MODULE_OF(kn_nn_embedding, &e2));
    CHECK(e2.padding_index == KN_ZERO);
    kn_nn_activation a, a2;
    CHECK(kn_nn_activation_init(&a, KN_ACTIVATION_GLU, &(kn_nn_activation_args){.axis = 1}) == KN_OK);
    CHECK(kn_nn_activation_init(&a2, KN_ACTIVATION_GLU, NULL) == KN_OK && a2.axis == -1);
    carry(KN_MODULE_OF(kn_nn_activation, &a), KN_MODULE_OF(kn_nn_activation, &a2));
    CHECK(a2.axis == 1);
    kn_nn_transformer_encoder_layer t, t2;
    CHECK(kn_nn_transformer_encoder_layer_init(&t, 4, 2, 8, &(kn_nn_transformer_args){.dropout = 0.25}) ==
          KN_OK);
    CHECK(kn_nn_transformer_encoder_layer_init(&t2, 4, 2, 8, NULL) == KN_OK);
    carry(KN_MODULE_OF(kn_nn_transformer_encoder_layer, &t),
          KN_MODULE_OF(kn_nn_transformer_encoder_layer, &t2));
    CHECK(t2.feed_forward.dropout == 0.25 && t2.dropout == 0.25);
    kn_nn_transformer_decoder_layer d, d2;
    CHECK(kn_nn_transformer_decoder_layer_init(&d, 4, 2, 8, &(kn_nn_transformer_args){.dropout = 0.5}) ==
          KN_OK);
    CHECK(kn_nn_transformer_decoder_layer_init(&d2, 4, 2, 8, NULL) == KN_OK);
    carry(KN_MODULE_OF(kn_nn_transformer_decoder_layer, &d),
          KN_MODULE_OF(kn_nn_transformer_decoder_layer, &d2));
    CHECK(d2.feed_forward.dropout == 0.5);
    kn_nn_gru g, g2 = {0};
    CHECK(kn_nn_gru_init(&g, 2, 3, NULL) == KN_OK);
    carry(KN_MODULE_OF(kn_nn_gru, &g), KN_MODULE_OF(kn_nn_gru, &g2));
    CHECK(g2.kind == KN_RECURRENT_GRU && g2.hidden_size == 3);
    kn_module made[] = {KN_MODULE_OF(kn_nn_embedding, &e),
                        KN_MODULE_OF(kn_nn_embedding, &e2),
                        KN_MODULE_OF(kn_nn_transformer_encoder_layer, &t),
                        KN_MODULE_OF(kn_nn_transformer_encoder_layer, &t2),
                        KN_MODULE_OF(kn_nn_transformer_decoder_layer, &d),
                        KN_MODULE_OF(kn_nn_transformer_decoder_layer, &d2),
                        KN_MODULE_OF(kn_nn_gru, &g),
                        KN_MODULE_OF(kn_nn_gru, &g2)};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) kn_module_drop(made[i]);
}

/* A temporary that is put is taken: only the state has it, also outside of any scope that would free the rest. */
static void state_ownership(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    kn_state s = kn_state_make();
    for (int i = 0; i < 100; i++) CHECK(kn_state_put_int(s, "", "n", i) == KN_OK);
    CHECK(kn_memory_stats().tensors_now == before + 1);
    kn_tensor kept = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    CHECK(kn_state_put(s, "", "kept", kept) == KN_OK);
    CHECK(kn_memory_stats().tensors_now == before + 3);
    kn_state_free(s);
    CHECK_VALUES(kept, 0, 1, 1);
    kn_drop(kept);
    CHECK(kn_memory_stats().tensors_now == before);
}

static void format_of_nothing(void)
{
    kn_nn_linear m = {0};
    char text[8];
    CHECK(kn_config_format(NULL, &kn_nn_linear_type, text, sizeof text) == 0 &&
          strstr(kn_last_error(), "the config or its type is NULL"));
    CHECK(kn_config_format(&m, NULL, text, sizeof text) == 0 && text[0] == 0);
}

static void states(void)
{
    kn_state s = kn_state_make();
    char name[32];
    int64_t whole = 0;
    double real = 0;
    kn_param p = kn_param_make(kn_ones(KN_SHAPE(2), KN_F32));
    CHECK(kn_state_put(s, "model/", "w", kn_value(p)) == KN_OK);
    CHECK(kn_param_set(&p, kn_zeros(KN_SHAPE(2), KN_F32)) == KN_OK);
    CHECK_VALUES(kn_state_get(s, "model/", "w"), 0, 1, 1); /* what was put stays */
    CHECK_VALUES(kn_state_get(s, "", "model/w"), 0, 1, 1);
    CHECK(kn_state_put_int(s, "a", "b", INT64_MAX) == KN_OK && kn_state_get_int(s, "a", "b", &whole) &&
          whole == INT64_MAX);
    CHECK(kn_state_put_real(s, "a", "c", 0.1) == KN_OK && kn_state_get_real(s, "a", "c", &real) &&
          real == 0.1);
    CHECK(!kn_state_get_int(s, "a", "d", &whole) && whole == INT64_MAX);
    CHECK(!kn_state_get_int(s, "", "model/w", &whole));
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "n%d", i);
        if (kn_state_put_int(s, "", name, i) != KN_OK) CHECK(false);
    }
    CHECK(kn_state_count(s) == 503 && kn_state_get_int(s, "n", "321", &whole) && whole == 321);
    kn_tensor value;
    CHECK(strcmp(kn_state_name(s, 2, &value), "ac") == 0 && kn_item(value) == 0.1);
    CHECK(kn_state_name(s, 503, &value) == NULL && kn_state_name(s, -1, NULL) == NULL);
    CHECK(kn_state_put(s, "", "n0", kn_zeros(KN_SHAPE(3), KN_F32)) == KN_OK && kn_state_count(s) == 503);
    CHECK(kn_state_put_text(s, "note", "one") == KN_OK && kn_state_put_text(s, "note", "two") == KN_OK);
    const char *text;
    CHECK(kn_state_text_count(s) == 1 && strcmp(kn_state_text_name(s, 0, &text), "note") == 0 &&
          strcmp(text, "two") == 0);
    CHECK(strcmp(kn_state_get_text(s, "note"), "two") == 0 && kn_state_get_text(s, "n0") == NULL);
    CHECK_ERROR(kn_state_put(s, "", "bad", kn_poison(KN_ERROR_SHAPE, "mine")), "mine");
    CHECK_ERROR(kn_state_put(NULL, "", "bad", kn_value(p)), "NULL");
    kn_state_free(s);
    kn_state_free(NULL);
    kn_param_drop(&p);
}

int main(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    kn_scope scope = kn_scope_begin();
    round_trip();
    errors();
    files();
    layers();
    layer_settings();
    format_of_nothing();
    states();
    state_ownership();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
    return check_report();
}
