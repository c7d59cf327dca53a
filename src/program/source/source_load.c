/* The functions that load a model and free it. Where there are files the store reads them. A freestanding program has no store: there the
   weights are those of the file that was written with the model, whose places in it are known, and stay where they lie. */
#include "core/error.h"
#include "program/source/source_parts.h"
#include "support/json.h"
#include <kn/store.h>
#include <string.h>

/* ---- the file of weights in memory */

/* A safetensors file begins with the length of the text that says where its tensors lie. */
enum { LENGTH = 8 };

static uint64_t head_bytes(const kni_source_bytes *b)
{
    uint64_t n = 0;
    for (int i = 0; i < LENGTH; i++) n |= (uint64_t)((const unsigned char *)b->data)[i] << 8 * i;
    return n;
}

kn_status kni_source_bytes_make(kni_source_bytes *b, kn_state state)
{
    kn_status status = kn_state_write_memory(state, &b->data, &b->bytes, KN_STORE_SAFETENSORS);
    if (status) return status;
    uint64_t n = b->bytes >= LENGTH ? head_bytes(b) : UINT64_MAX;
    if (b->bytes < LENGTH || n > b->bytes - LENGTH)
        return kni_fail(KN_ERROR_INTERNAL, "kn_program_to_source: the weights are no file");
    b->head = kni_json_parse((const char *)b->data + LENGTH, (size_t)n, "weights");
    return b->head ? KN_OK : kni_latest_code();
}

void kni_source_bytes_free(kni_source_bytes *b)
{
    kni_json_free(b->head);
    free(b->data);
    *b = (kni_source_bytes){0};
}

/* Where a tensor begins in the file; 0: it is not there. */
static uint64_t place_of(const kni_source_bytes *b, const char *path)
{
    const kni_json *entry = kni_json_member(kni_json_root(b->head), path),
                   *offsets = entry ? kni_json_member(entry, "data_offsets") : NULL;
    return offsets && offsets->first ? LENGTH + head_bytes(b) + (uint64_t)offsets->first->integer : 0;
}

void kni_source_print_bytes(const kni_source *s, kni_buffer *out, const kni_source_bytes *b)
{
    kni_buffer_format(
        out, "/* The weights of %s as a safetensors file. */\nextern const unsigned char %s_weights[];\n",
        s->name, s->name);
    kni_buffer_format(
        out, "extern const unsigned long %s_weights_bytes;\nconst unsigned long %s_weights_bytes = %zu;\n",
        s->name, s->name, b->bytes);
    kni_buffer_format(
        out,
        "#if defined(__GNUC__)\n__attribute__((aligned(64)))\n#endif\nconst unsigned char %s_weights[] = {",
        s->name);
    for (size_t i = 0; i < b->bytes; i++) {
        if (i % 24 == 0) kni_buffer_text(out, "\n    ");
        kni_buffer_decimal(out, ((const unsigned char *)b->data)[i]);
        kni_buffer_text(out, ",");
    }
    kni_buffer_text(out, "\n};\n");
}

/* ---- with the store */

static void print_hosted(const kni_source *s, kni_buffer *out)
{
    static const char *const opens[] = {"kn_store_open(path, NULL)",
                                        "kn_store_open_memory(data, bytes, NULL)"};
    static const char *const heads[] = {
        "kn_status %s_load(%s *m, const char *path)\n{\n",
        "kn_status %s_load_memory(%s *m, const void *data, size_t bytes)\n{\n"};
    for (int i = 0; i < 2; i++) {
        kni_buffer_format(out, heads[i], s->name, s->name);
        kni_buffer_format(out,
                          "    *m = (%s){0};\n    kn_store file = %s;\n    if (!file) return KN_ERROR_IO;\n",
                          s->name, opens[i]);
        kni_buffer_format(
            out,
            "    kn_status status = kn_load_new(KN_MODULE_OF(%s, m), file);\n    kn_store_close(file);\n"
            "    if (status != KN_OK) %s_free(m);\n    return status;\n}\n\n",
            s->name, s->name);
    }
    kni_buffer_format(out, "void %s_free(%s *m) { kn_module_drop(KN_MODULE_OF(%s, m)); }\n", s->name, s->name,
                      s->name);
}

/* ---- without it */

/* The offset of a member in the model's struct. */
static void print_offset(const kni_source *s, kni_buffer *out, int32_t value)
{
    const kni_source_value *v = &s->values[value];
    if (v->block < 0) {
        kni_buffer_format(out, "offsetof(%s, %s)", s->name, v->name);
        return;
    }
    const kni_source_group *g = &s->groups[v->block];
    kni_buffer_format(out, "offsetof(%s, %s) + %d * sizeof(%s_%s) + offsetof(%s_%s, %s)", s->name, g->name,
                      (int)(v->member / g->n_members), s->name, g->name, s->name, g->name,
                      s->values[g->members[v->member % g->n_members]].name);
}

static void print_places(kni_source *s, kni_buffer *out, const kni_source_bytes *b)
{
    kni_buffer_format(
        out,
        "/* Where each weight lies in %s.safetensors. */\nstatic const struct {\n    size_t member;\n"
        "    kn_dtype dtype;\n    kn_shape shape;\n    size_t at;\n} places[] = {\n",
        s->name);
    for (int32_t v = 0; v < s->p->n_values; v++) {
        if (s->values[v].place != KNI_SOURCE_FIELD) continue;
        const kni_type *t = &s->p->values[v].type;
        kni_buffer path = {0};
        kni_source_path(s, &path, v);
        kni_buffer_text(out, "    {");
        print_offset(s, out, v);
        kni_buffer_text(out, ", ");
        kni_source_dtype(out, (kn_dtype)t->dtype);
        kni_buffer_format(out, ", {%d, {", (int)t->rank);
        for (int32_t a = 0; a < t->rank; a++) {
            kni_buffer_text(out, a ? ", " : "");
            kni_buffer_decimal(out, t->dims[a]);
        }
        kni_buffer_text(out, t->rank ? "}}, " : "0}}, ");
        kni_buffer_decimal(out, (int64_t)place_of(b, path.failed ? "" : kni_buffer_string(&path)));
        kni_buffer_text(out, "},\n");
        kni_buffer_free(&path);
    }
    if (!s->has_fields) kni_buffer_text(out, "    {0, KN_F32, {0, {0}}, 0},\n");
    kni_buffer_format(out, "};\nenum { N_PLACES = %s };\n\n",
                      s->has_fields ? "sizeof places / sizeof *places" : "0");
}

/* Of the file's head, so that another file is told from this one. */
static uint32_t checksum(const kni_source_bytes *b)
{
    uint32_t sum = 2166136261u;
    uint64_t n = LENGTH + head_bytes(b);
    for (uint64_t i = 0; i < n; i++) sum = (sum ^ ((const unsigned char *)b->data)[i]) * 16777619u;
    return sum;
}

static void print_freestanding(kni_source *s, kni_buffer *out, const kni_source_bytes *b)
{
    print_places(s, out, b);
    kni_buffer_format(out,
                      "static kn_param *param_at(%s *m, int i) { return (kn_param *)(void *)((char *)m + "
                      "places[i].member); }\n\n",
                      s->name);
    kni_buffer_format(
        out,
        "/* Only that file, as it was written with this one. Its bytes stay where they are, and must outlive "
        "the "
        "model. */\n"
        "kn_status %s_load_memory(%s *m, const void *data, size_t bytes)\n{\n"
        "    const unsigned char *file = data;\n    uint32_t sum = 2166136261u;\n    *m = (%s){0};\n",
        s->name, s->name, s->name);
    kni_buffer_format(
        out,
        "    for (size_t i = 0; i < %llu && i < bytes; i++) sum = (sum ^ file[i]) * 16777619u;\n"
        "    if (bytes != %zu || sum != %lluu) return KN_ERROR_IO;\n",
        (unsigned long long)(LENGTH + head_bytes(b)), b->bytes, (unsigned long long)checksum(b));
    kni_buffer_format(
        out,
        "    for (int i = 0; i < N_PLACES; i++) {\n"
        "        void *at = (void *)(uintptr_t)(file + places[i].at);\n"
        "        bool aligned = (uintptr_t)at %% (uintptr_t)kn_dtype_bytes(places[i].dtype, 1) == 0;\n"
        "        kn_tensor t = aligned ? kn_wrap(at, places[i].dtype, places[i].shape, NULL, NULL, NULL)\n"
        "                              : kn_from(at, places[i].dtype, places[i].shape);\n"
        "        *param_at(m, i) = kn_param_make(t);\n"
        "        kn_tensor held = kn_value(*param_at(m, i));\n"
        "        if (kn_ok(held)) continue;\n"
        "        kn_status status = kn_error_code(held);\n"
        "        %s_free(m);\n"
        "        return status;\n"
        "    }\n"
        "    return KN_OK;\n}\n\n"
        "void %s_free(%s *m)\n{\n"
        "    for (int i = 0; i < N_PLACES; i++) kn_param_drop(param_at(m, i));\n}\n",
        s->name, s->name, s->name);
}

void kni_source_print_load(kni_source *s, kni_buffer *out, const kni_source_bytes *embedded)
{
    kni_buffer_text(out, "#ifndef KN_FREESTANDING\n\n");
    print_hosted(s, out);
    kni_buffer_text(out, "\n#else\n\n");
    if (embedded)
        print_freestanding(s, out, embedded);
    else
        kni_buffer_text(out,
                        "#error \"without files weights are part of the program: import it with --embed\"\n");
    kni_buffer_text(out, "\n#endif\n\n");
    if (embedded)
        kni_buffer_format(
            out,
            "extern const unsigned char %s_weights[];\nextern const unsigned long %s_weights_bytes;\n\n"
            "kn_status %s_load_embedded(%s *m) { return %s_load_memory(m, %s_weights, %s_weights_bytes); "
            "}\n\n",
            s->name, s->name, s->name, s->name, s->name, s->name, s->name);
}
