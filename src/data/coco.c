/* Images with boxes from annotations in the JSON form of COCO. */
#include "core/objects.h"
#include "data/data_image.h"
#include "support/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct box {
    int64_t image, label; /* places in the lists */
    float x, y, width, height;
} box;

typedef struct coco {
    kn_image_args args;
    kni_names paths, classes;
    box *boxes; /* sorted by image, in the order of the file */
    int64_t count;
    int64_t *first; /* for each image its first box; one more at the end */
} coco;

/* Numbers that name something, sorted for a search. */
typedef struct id {
    int64_t id, place;
} id;

static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const id *)a)->id, y = ((const id *)b)->id;
    return (x > y) - (x < y);
}

static int64_t find_id(const id *ids, int64_t n, int64_t wanted)
{
    id key = {wanted, 0};
    const id *found = n ? bsearch(&key, ids, (size_t)n, sizeof *ids, compare_ids) : NULL;
    return found ? found->place : -1;
}

static kn_status bad(const char *name, const kni_json *at, const char *what)
{
    return kni_failure(KN_ERROR_ARGUMENT, "%s:%d:%d: %s", name, (int)at->line, (int)at->column, what);
}

/* The ids of the objects in a list, in the order of the list. */
static kn_status read_ids(const kni_json *list, const char *name, id **out)
{
    *out = malloc((size_t)(list->count + 1) * sizeof **out);
    if (!*out) return kni_failure_memory("kn_dataset_coco");
    int64_t n = 0;
    for (const kni_json *v = list->first; v; v = v->next, n++) {
        const kni_json *number = kni_json_member(v, "id");
        if (!number || number->kind != KNI_JSON_NUMBER || !number->whole)
            return bad(name, v, "expected an object with a whole number 'id'");
        (*out)[n] = (id){number->integer, n};
    }
    return KN_OK;
}

static kn_status sort_ids(id *ids, int64_t n, const kni_json *list, const char *name)
{
    qsort(ids, (size_t)n, sizeof *ids, compare_ids);
    for (int64_t i = 1; i < n; i++)
        if (ids[i].id == ids[i - 1].id) return bad(name, list, "an id is there twice");
    return KN_OK;
}

static kn_status read_texts(const kni_json *list, const char *member, const char *folder, const char *name,
                            kni_names *out)
{
    for (const kni_json *v = list->first; v; v = v->next) {
        const kni_json *text = kni_json_member(v, member);
        if (!text || text->kind != KNI_JSON_TEXT || !text->length)
            return bad(name, v, "'file_name' or 'name' is missing");
        if (folder) {
            char place[300];
            snprintf(place, sizeof place, "%.250s:%d:%d", name, (int)text->line, (int)text->column);
            kn_status status = kni_path_check_inside(folder, text->text, place);
            if (status) return status;
        }
        char *path = folder ? kni_path_join(folder, text->text) : NULL;
        int64_t before = out->count;
        int64_t at = folder && !path ? -1
                     : path          ? kni_names_add(out, path, strlen(path))
                                     : kni_names_add(out, text->text, text->length);
        free(path);
        if (at < 0) return kni_failure_memory("kn_dataset_coco");
        if (at < before) return bad(name, v, "a 'file_name' or 'name' is there twice");
    }
    return KN_OK;
}

static bool read_box(const kni_json *annotation, box *b)
{
    const kni_json *list = kni_json_member(annotation, "bbox");
    if (!list || list->kind != KNI_JSON_ARRAY || list->count != 4) return false;
    float values[4];
    int i = 0;
    for (const kni_json *v = list->first; v; v = v->next, i++) {
        if (v->kind != KNI_JSON_NUMBER) return false;
        values[i] = (float)v->number;
    }
    b->x = values[0], b->y = values[1], b->width = values[2], b->height = values[3];
    return b->width >= 0 && b->height >= 0;
}

static int64_t member_id(const kni_json *object, const char *key, const id *ids, int64_t n)
{
    const kni_json *v = kni_json_member(object, key);
    return v && v->kind == KNI_JSON_NUMBER && v->whole ? find_id(ids, n, v->integer) : -1;
}

/* Counting sort by image keeps the order of the file within an image. */
static kn_status read_boxes(coco *c, const kni_json *list, const id *images, const id *classes,
                            const char *name)
{
    int64_t n_images = c->paths.count;
    box *raw = malloc((size_t)(list->count + 1) * sizeof *raw);
    c->boxes = malloc((size_t)(list->count + 1) * sizeof *c->boxes);
    c->first = calloc((size_t)n_images + 2, sizeof *c->first);
    kn_status status = raw && c->boxes && c->first ? KN_OK : kni_failure_memory("kn_dataset_coco");
    for (const kni_json *v = list->first; v && status == KN_OK; v = v->next) {
        box *b = &raw[c->count];
        *b = (box){.image = member_id(v, "image_id", images, n_images),
                   .label = member_id(v, "category_id", classes, c->classes.count)};
        if (b->image < 0 || b->label < 0)
            status = bad(name, v, "'image_id' or 'category_id' names nothing that is there");
        else if (!read_box(v, b))
            status = bad(name, v, "'bbox' must be [x, y, width, height]");
        else {
            c->first[b->image + 2]++;
            c->count++;
        }
    }
    for (int64_t i = 2; i < n_images + 2 && status == KN_OK; i++) c->first[i] += c->first[i - 1];
    for (int64_t i = 0; i < c->count && status == KN_OK; i++) c->boxes[c->first[raw[i].image + 1]++] = raw[i];
    free(raw);
    return status;
}

static kn_status read_annotations(coco *c, const kni_json *root, const char *folder, const char *name)
{
    static const char *const parts[] = {"images", "categories", "annotations"};
    const kni_json *lists[3];
    for (int i = 0; i < 3; i++) {
        lists[i] = root->kind == KNI_JSON_OBJECT ? kni_json_member(root, parts[i]) : NULL;
        if (!lists[i] || lists[i]->kind != KNI_JSON_ARRAY)
            return kni_failure(KN_ERROR_ARGUMENT, "%s: there is no list '%s'", name, parts[i]);
    }
    id *images = NULL, *classes = NULL;
    kn_status status = read_ids(lists[0], name, &images);
    if (status == KN_OK) status = read_texts(lists[0], "file_name", folder, name, &c->paths);
    if (status == KN_OK) status = sort_ids(images, c->paths.count, lists[0], name);
    if (status == KN_OK) status = read_ids(lists[1], name, &classes);
    if (status == KN_OK) status = sort_ids(classes, lists[1]->count, lists[1], name);
    kni_names unsorted = {0};
    if (status == KN_OK) status = read_texts(lists[1], "name", NULL, name, &unsorted);
    /* Labels follow the order of ids. */
    for (int64_t i = 0; i < lists[1]->count && status == KN_OK; i++) {
        const char *text = kni_names_at(&unsorted, classes[i].place);
        classes[i].place = i;
        if (kni_names_add(&c->classes, text, strlen(text)) < 0)
            status = kni_failure_memory("kn_dataset_coco");
    }
    kni_names_free(&unsorted);
    if (status == KN_OK) status = read_boxes(c, lists[2], images, classes, name);
    free(images);
    free(classes);
    return status;
}

static int64_t coco_length(void *self) { return ((coco *)self)->paths.count; }

static kn_status add_boxes(const coco *c, int64_t index, double scale_x, double scale_y, kn_sample *sample)
{
    int64_t first = c->first[index], n = c->first[index + 1] - first;
    float *boxes = malloc((size_t)(4 * n + 1) * sizeof *boxes);
    int64_t *labels = malloc((size_t)(n + 1) * sizeof *labels);
    kn_status status = boxes && labels ? KN_OK : kni_failure_memory("kn_dataset_coco");
    for (int64_t i = 0; i < n && status == KN_OK; i++) {
        const box *b = &c->boxes[first + i];
        boxes[4 * i] = (float)(b->x * scale_x);
        boxes[4 * i + 1] = (float)(b->y * scale_y);
        boxes[4 * i + 2] = (float)(b->width * scale_x);
        boxes[4 * i + 3] = (float)(b->height * scale_y);
        labels[i] = b->label;
    }
    if (status == KN_OK) status = kn_sample_add(sample, kn_from(boxes, KN_F32, KN_SHAPE(n, 4)));
    if (status == KN_OK) status = kn_sample_add(sample, kn_from(labels, KN_I64, KN_SHAPE(n)));
    free(boxes);
    free(labels);
    return status;
}

static kn_status coco_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const coco *c = self;
    kni_image image = {0};
    kn_status status = kni_image_load(kni_names_at(&c->paths, index), c->args.channels, &image);
    double scale_x = 1, scale_y = 1;
    if (status == KN_OK && c->args.height) {
        scale_x = (double)c->args.width / (double)image.width;
        scale_y = (double)c->args.height / (double)image.height;
        status = kni_image_resize(&image, c->args.height, c->args.width, false);
    }
    if (status == KN_OK) status = kn_sample_add(sample, kni_image_tensor(&image));
    kni_image_free(&image);
    return status == KN_OK ? add_boxes(c, index, scale_x, scale_y, sample) : status;
}

static void coco_close(void *self)
{
    coco *c = self;
    kni_names_free(&c->paths);
    kni_names_free(&c->classes);
    free(c->boxes);
    free(c->first);
    free(c);
}

static const char *coco_name_at(void *self, int64_t index)
{
    return kni_names_at(&((coco *)self)->classes, index);
}

static const kn_dataset_type coco_type = {"coco", coco_length, coco_get, NULL, coco_close, coco_name_at};

kn_dataset kn_dataset_coco(const char *images, const char *annotations, const kn_image_args *args)
{
    KNI_NAMED;
    if (kni_given(images, __func__, "folder of images") != KN_OK ||
        kni_given(annotations, __func__, "file of annotations") != KN_OK)
        return NULL;
    coco *c = calloc(1, sizeof *c);
    kni_buffer text = {0};
    kn_status status =
        c ? kni_image_check_args(args, &c->args, "kn_dataset_coco") : kni_failure_memory("kn_dataset_coco");
    if (status == KN_OK) status = kni_file_read(annotations, 0, &text);
    kni_json_document document =
        status == KN_OK ? kni_json_parse(kni_buffer_string(&text), text.length, annotations) : NULL;
    if (status == KN_OK)
        status =
            document ? read_annotations(c, kni_json_root(document), images, annotations) : KN_ERROR_ARGUMENT;
    kni_json_free(document);
    kni_buffer_free(&text);
    return kni_dataset_finish(&coco_type, c, status);
}
