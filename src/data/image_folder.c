/* Folders of images with one label, several labels, or a mask for each. */
#include "core/objects.h"
#include "data/data_image.h"
#include "support/json.h"
#include <kn/elementwise.h>
#include <stdlib.h>
#include <string.h>

typedef struct images {
    kni_class_files files; /* labels are used by the first kind alone */
    kn_image_args args;
    kni_buffer marks,
        ends; /* several labels: classes (int64_t) one image after the other, and where each ends (size_t) */
    kni_names masks; /* paths of masks */
} images;

static int64_t images_length(void *self) { return ((images *)self)->files.paths.count; }

static void images_close(void *self)
{
    images *s = self;
    kni_class_files_free(&s->files);
    kni_buffer_free(&s->marks);
    kni_buffer_free(&s->ends);
    kni_names_free(&s->masks);
    free(s);
}

static const char *images_name_at(void *self, int64_t index)
{
    return kni_names_at(&((images *)self)->files.classes, index);
}

static kn_status add_image(const images *s, int64_t index, kn_sample *sample)
{
    return kn_sample_add(sample, kn_image_read(kni_names_at(&s->files.paths, index), &s->args));
}

static images *make_images(const kn_image_args *args, const char *function, kn_status *status)
{
    images *s = calloc(1, sizeof *s);
    *status = s ? kni_image_check_args(args, &s->args, function) : kni_failure_memory(function);
    return s;
}

/* ---- one label */

static kn_status labelled_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const images *s = self;
    kn_status status = add_image(s, index, sample);
    if (status != KN_OK) return status;
    return kn_sample_add(sample, kn_scalar_int(kni_class_files_label(&s->files, index), KN_I64));
}

static const kn_dataset_type folder_type = {"image folder", images_length, labelled_get,
                                            NULL,           images_close,  images_name_at};

kn_dataset kn_dataset_image_folder(const char *folder, const kn_image_args *args)
{
    KNI_NAMED;
    if (kni_given(folder, __func__, "folder") != KN_OK) return NULL;
    kn_status status;
    images *s = make_images(args, "kn_dataset_image_folder", &status);
    kni_class_rules rules = {.endings = kni_image_endings};
    if (status == KN_OK) status = kni_class_files_read(&s->files, folder, &rules);
    return kni_dataset_finish(&folder_type, s, status);
}

/* ---- several labels */

static kn_status marked_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const images *s = self;
    int64_t n = s->files.classes.count;
    kn_status status = add_image(s, index, sample);
    float *row = status == KN_OK ? calloc((size_t)n + 1, sizeof *row) : NULL;
    if (!row) return status == KN_OK ? kni_failure_memory("kn_dataset_image_labels") : status;
    const size_t *ends = (const size_t *)(const void *)s->ends.data;
    const int64_t *marks = (const int64_t *)(const void *)s->marks.data;
    for (size_t i = index ? ends[index - 1] : 0; i < ends[index]; i++) row[marks[i]] = 1;
    status = kn_sample_add(sample, kn_from(row, KN_F32, KN_SHAPE(n)));
    free(row);
    return status;
}

static const kn_dataset_type labels_type = {"image labels", images_length, marked_get,
                                            NULL,           images_close,  images_name_at};

static void add_mark(images *s, int64_t label) { kni_buffer_append(&s->marks, &label, sizeof label); }

/* The row of a file is complete: its path and where its marks end. */
static kn_status end_row(images *s, const char *folder, const char *file, const char *labels)
{
    kn_status inside = kni_path_check_inside(folder, file, labels);
    if (inside) return inside;
    char *path = kni_path_join(folder, file);
    int64_t before = s->files.paths.count,
            at = path ? kni_names_add(&s->files.paths, path, strlen(path)) : -1;
    free(path);
    if (at >= 0 && at < before)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: '%.100s' is listed twice", labels, file);
    size_t end = s->marks.length / sizeof(int64_t);
    kni_buffer_append(&s->ends, &end, sizeof end);
    return at < 0 || s->marks.failed || s->ends.failed ? kni_failure_memory("kn_dataset_image_labels")
                                                       : KN_OK;
}

static kn_status read_csv_row(images *s, const kn_sample *row, const char *folder, const char *labels,
                              int64_t i)
{
    char file[1024] = "";
    int64_t bytes = kn_count(row->fields[0]), n = s->files.classes.count;
    if (bytes < 1 || bytes >= (int64_t)sizeof file)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: row %lld has no usable file name", labels,
                           (long long)i + 1);
    float *marks = malloc((size_t)n * sizeof *marks);
    if (!marks) return kni_failure_memory("kn_dataset_image_labels");
    kn_status status = kn_read(row->fields[0], file, (size_t)bytes);
    if (status == KN_OK) status = kn_read(row->fields[1], marks, (size_t)n * sizeof *marks);
    for (int64_t k = 0; k < n && status == KN_OK; k++) {
        if (marks[k] != 0 && marks[k] != 1)
            status =
                kni_failure(KN_ERROR_ARGUMENT, "%s: row %lld, class '%.60s': %g is neither 0 nor 1", labels,
                            (long long)i + 1, kni_names_at(&s->files.classes, k), (double)marks[k]);
        if (marks[k] == 1) add_mark(s, k);
    }
    free(marks);
    return status == KN_OK ? end_row(s, folder, file, labels) : status;
}

/* The table "file,class a,class b": a text, then a vector of marks. */
static kn_dataset open_csv_labels(const char *labels, int32_t *columns)
{
    kni_buffer head = {0};
    if (kni_file_read(labels, 0, &head) != KN_OK) return NULL;
    *columns = 1;
    bool quoted = false; /* a doubled quote opens what it closed */
    for (size_t i = 0; i < head.length && (quoted || (head.data[i] != '\n' && head.data[i] != '\r')); i++) {
        if (head.data[i] == '"') quoted = !quoted;
        *columns += !quoted && head.data[i] == ',';
    }
    kni_buffer_free(&head);
    if (*columns < 2 || *columns > 1 << 16) {
        kni_failure(KN_ERROR_ARGUMENT, "%s:1: expected a header 'file,class,class...'", labels);
        return NULL;
    }
    kn_column *specs = calloc((size_t)*columns, sizeof *specs);
    if (!specs) {
        kni_failure_memory("kn_dataset_image_labels");
        return NULL;
    }
    specs[0].kind = KN_COLUMN_TEXT;
    for (int32_t i = 2; i < *columns; i++) specs[i].join = true;
    kn_dataset table = kn_dataset_csv(labels, &(kn_table_args){.columns = specs, .n_columns = *columns});
    free(specs);
    return table;
}

static kn_status read_csv_labels(images *s, const char *folder, const char *labels)
{
    int32_t columns = 0;
    kn_dataset table = open_csv_labels(labels, &columns);
    if (!table) return KN_ERROR_ARGUMENT;
    kn_status status = KN_OK;
    for (int32_t i = 1; i < columns && status == KN_OK; i++) {
        const char *name = kn_dataset_name_at(table, i);
        if (kni_names_add(&s->files.classes, name, strlen(name)) != i - 1)
            status = kni_failure(KN_ERROR_ARGUMENT, "%s:1: class '%.60s' is there twice", labels, name);
    }
    for (int64_t i = 0; i < kn_dataset_length(table) && status == KN_OK; i++) {
        kn_sample row;
        status = kn_dataset_get(table, i, &row);
        if (status == KN_OK) status = read_csv_row(s, &row, folder, labels, i);
        kn_sample_drop(&row);
    }
    kn_dataset_free(table);
    return status;
}

/* {"file": "x.png", "labels": ["a", "b"]} */
static kn_status read_json_row(images *s, const kni_json *object, const char *folder, const char *labels,
                               int64_t line)
{
    const kni_json *file = kni_json_member(object, "file"), *list = kni_json_member(object, "labels");
    bool good = file && file->kind == KNI_JSON_TEXT && list && list->kind == KNI_JSON_ARRAY;
    for (const kni_json *v = good ? list->first : NULL; v && good; v = v->next) {
        good = v->kind == KNI_JSON_TEXT;
        if (!good) break;
        int64_t label = kni_names_add(&s->files.classes, v->text, v->length);
        if (label < 0) return kni_failure_memory("kn_dataset_image_labels");
        add_mark(s, label);
    }
    if (!good)
        return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: expected {\"file\": text, \"labels\": [texts]}",
                           labels, (long long)line);
    return end_row(s, folder, file->text, labels);
}

static kn_status read_json_labels(images *s, const char *folder, const char *labels)
{
    kni_buffer text = {0};
    kn_status status = kni_file_read(labels, 0, &text);
    int64_t line = 1;
    for (size_t at = 0; status == KN_OK && at < text.length; line++) {
        const char *end = memchr(text.data + at, '\n', text.length - at);
        size_t n = end ? (size_t)(end - text.data) - at : text.length - at;
        size_t shown = n && text.data[at + n - 1] == '\r' ? n - 1 : n;
        kni_json_document document = shown ? kni_json_parse(text.data + at, shown, labels) : NULL;
        if (document)
            status = read_json_row(s, kni_json_root(document), folder, labels, line);
        else if (shown)
            status = kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: the line is no JSON object", labels,
                                 (long long)line);
        kni_json_free(document);
        at += n + 1;
    }
    kni_buffer_free(&text);
    return status;
}

kn_dataset kn_dataset_image_labels(const char *folder, const char *labels, const kn_image_args *args)
{
    KNI_NAMED;
    if (kni_given(folder, __func__, "folder") != KN_OK ||
        kni_given(labels, __func__, "file of labels") != KN_OK)
        return NULL;
    static const char *const json_endings[] = {".json", ".jsonl", NULL};
    kn_status status;
    images *s = make_images(args, "kn_dataset_image_labels", &status);
    if (status == KN_OK)
        status = kni_path_has_ending(labels, json_endings) ? read_json_labels(s, folder, labels)
                                                           : read_csv_labels(s, folder, labels);
    if (status != KN_OK) kni_error_renamed_by(__func__);
    return kni_dataset_finish(&labels_type, s, status);
}

/* ---- masks */

static kn_status mask_tensor(const images *s, const char *path, kn_tensor of, kn_tensor *out)
{
    kni_image mask = {0};
    kn_status status = kni_image_load_mask(path, &mask);
    if (status == KN_OK && s->args.height)
        status = kni_image_resize(&mask, s->args.height, s->args.width, true);
    if (status == KN_OK && (mask.height != kn_size(of, 1) || mask.width != kn_size(of, 2)))
        status = kni_failure(KN_ERROR_SHAPE, "%s: the mask is %lld x %lld, its image %lld x %lld", path,
                             (long long)mask.width, (long long)mask.height, (long long)kn_size(of, 2),
                             (long long)kn_size(of, 1));
    if (status == KN_OK)
        *out = kn_cast(kn_from(mask.pixels, KN_U8, KN_SHAPE(mask.height, mask.width)), KN_I64);
    kni_image_free(&mask);
    return status;
}

static kn_status masked_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const images *s = self;
    kn_tensor mask = KN_NONE;
    kn_status status = add_image(s, index, sample);
    if (status == KN_OK) status = mask_tensor(s, kni_names_at(&s->masks, index), sample->fields[0], &mask);
    return status == KN_OK ? kn_sample_add(sample, mask) : status;
}

static const kn_dataset_type masks_type = {"image masks", images_length, masked_get,
                                           NULL,          images_close,  NULL};

static kn_status add_pair(images *s, const char *folder, const char *masks, const char *name)
{
    const char *dot = strrchr(name, '.');
    kni_buffer image = {0}, mask = {0};
    kni_buffer_format(&image, "%s/%s", folder, name);
    kni_buffer_format(&mask, "%s/%.*s.png", masks, (int)(dot - name), name);
    kn_status status = KN_OK;
    if (image.failed || mask.failed || kni_names_add(&s->files.paths, image.data, image.length) < 0)
        status = kni_failure_memory("kn_dataset_image_masks");
    else if (!kni_file_exists(mask.data))
        status = kni_failure(KN_ERROR_IO, "%s: there is no mask for %s", mask.data, image.data);
    else if (kni_names_add(&s->masks, mask.data, mask.length) != s->files.paths.count - 1)
        status = kni_failure(KN_ERROR_ARGUMENT, "%s: the mask of two images", mask.data);
    kni_buffer_free(&image);
    kni_buffer_free(&mask);
    return status;
}

kn_dataset kn_dataset_image_masks(const char *folder, const char *masks, const kn_image_args *args)
{
    KNI_NAMED;
    if (kni_given(folder, __func__, "folder of images") != KN_OK ||
        kni_given(masks, __func__, "folder of masks") != KN_OK)
        return NULL;
    kn_status status;
    images *s = make_images(args, "kn_dataset_image_masks", &status);
    kni_folder content = {0};
    if (status == KN_OK) status = kni_folder_read(&content, folder);
    for (int64_t i = 0; i < content.count && status == KN_OK; i++)
        if (content.names[i][0] != '.' && kni_path_has_ending(content.names[i], kni_image_endings))
            status = add_pair(s, folder, masks, content.names[i]);
    kni_folder_free(&content);
    if (status == KN_OK && !s->files.paths.count)
        status = kni_failure(KN_ERROR_IO, "%s: no .png or .jpg images", folder);
    return kni_dataset_finish(&masks_type, s, status);
}
