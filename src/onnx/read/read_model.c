/* Models from files and from memory. */
#include "onnx/read/external_data.h"
#include "onnx/read/model_reader.h"
#include "support/failure.h"
#include <string.h>

enum { IR, PRODUCER, PRODUCER_VERSION, DOMAIN, VERSION, TEXT, GRAPH, OPSETS, METADATA, FUNCTIONS, SLOTS };
static const kni_message model_message = {"the model",
                                          SLOTS,
                                          {
                                              [IR] = {1, KNI_WIRE_VARINT, KNI_FIELD_ONE},
                                              [PRODUCER] = {2, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                              [PRODUCER_VERSION] = {3, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                              [DOMAIN] = {4, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                              [VERSION] = {5, KNI_WIRE_VARINT, KNI_FIELD_ONE},
                                              [TEXT] = {6, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                              [GRAPH] = {7, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                              [OPSETS] = {8, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                              [METADATA] = {14, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                              [FUNCTIONS] = {25, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                          }};

static kn_status read_text(kni_model_reader *r, const kni_message_slot *slot, const char **out)
{
    kni_onnx_text text;
    kn_status status = kni_piece_text(r, &slot->last, &text);
    *out = text.data;
    return status;
}

static kn_status read_head(kni_model_reader *r, const kni_message_slot *s, kni_onnx_model *m)
{
    m->ir_version = kni_slot_int(&s[IR]);
    m->version = kni_slot_int(&s[VERSION]);
    kn_status status = read_text(r, &s[PRODUCER], &m->producer);
    if (!status) status = read_text(r, &s[PRODUCER_VERSION], &m->producer_version);
    if (!status) status = read_text(r, &s[DOMAIN], &m->domain);
    if (!status) status = read_text(r, &s[TEXT], &m->description);
    if (!status) status = kni_read_opsets(r, &s[OPSETS], &m->opsets, &m->n_opsets);
    if (!status) status = kni_read_pairs(r, &s[METADATA], &m->metadata, &m->n_metadata);
    return status;
}

static kn_status one_function(kni_model_reader *r, kni_message_piece piece, void *out)
{
    return kni_read_function(r, piece, out);
}

static kn_status read_model(kni_model_reader *r, kni_message_piece piece, kni_onnx_model *m)
{
    kni_message_slot s[SLOTS];
    kni_raw_graph graph = {0};
    kni_raw_model raw = {&graph, NULL, 0};
    kn_status status = kni_message_read(r, &model_message, piece, s);
    if (!status && !s[GRAPH].count)
        status = kni_reader_failure(r, KN_ERROR_IO, "it is no ONNX model: there is no graph in it");
    if (!status) status = read_head(r, s, m);
    if (!status) status = kni_read_graph(r, s[GRAPH].last, &graph);
    if (!status)
        status = kni_read_list(r, r->scratch, &s[FUNCTIONS], sizeof *raw.functions, one_function,
                               &raw.functions, &raw.n_functions);
    return status ? status : kni_link_model(r, m, &raw);
}

/* ---- from where */

static kni_onnx_model *new_model(void)
{
    kni_onnx_arena *arena = kni_onnx_arena_new();
    kni_onnx_model *m = arena ? kni_onnx_arena_take(arena, 1, sizeof *m) : NULL;
    kni_onnx_files *files = m ? kni_onnx_arena_take(arena, 1, sizeof *files) : NULL;
    if (!files) {
        kni_onnx_arena_free(arena);
        kni_failure_memory("reading an ONNX model");
        return NULL;
    }
    m->arena = arena;
    m->files = files;
    return m;
}

/* The model is freed where that fails. */
static kni_onnx_model *fill(kni_onnx_model *m, const void *data, size_t bytes, const char *file,
                            const char *folder)
{
    kni_model_reader r = {m->arena, kni_onnx_arena_new(), file, folder, m->files, NULL, 0, 0};
    kn_status status =
        r.scratch ? read_model(&r, (kni_message_piece){data, bytes}, m) : kni_reader_memory(&r);
    kni_onnx_arena_free(r.scratch);
    if (status == KN_OK) return m;
    kni_onnx_model_free(m);
    return NULL;
}

kni_onnx_model *kni_onnx_model_read(const char *path)
{
    kni_onnx_model *m = new_model();
    if (!m) return NULL;
    kni_onnx_files *files = m->files;
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? kni_onnx_arena_copy(m->arena, path, (size_t)(slash - path) + 1) : ".";
    kn_status status = folder ? kni_file_map_open(&files->model, path) : kni_failure_memory(path);
    if (status == KN_OK) return fill(m, files->model.data, files->model.bytes, path, folder);
    kni_onnx_model_free(m);
    return NULL;
}

kni_onnx_model *kni_onnx_model_read_memory(const void *data, size_t bytes, const char *folder)
{
    kni_onnx_model *m = new_model();
    return m ? fill(m, data, bytes, "ONNX model in memory", folder) : NULL;
}

void kni_onnx_model_free(kni_onnx_model *model)
{
    if (!model) return;
    kni_onnx_files_free(model->files);
    kni_onnx_arena_free(model->arena);
}
