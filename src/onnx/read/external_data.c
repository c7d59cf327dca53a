/* Elements in files beside the model. Their names come from the model, so they are held to its folder: no absolute paths, no "..", no
   links that lead out. Where the model's path is itself a link, as in a download cache, its data may also lie beside the file meant. */
#define _GNU_SOURCE
#include "onnx/read/external_data.h"
#include "support/failure.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LOCATION = 4096 };

typedef struct data_place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} data_place;

/* ---- what the tensor says */

static bool read_number(const char *text, uint64_t *number)
{
    *number = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || *number > (UINT64_MAX - 9) / 10) return false;
        *number = *number * 10 + (uint64_t)(*p - '0');
    }
    return *text != 0;
}

static kn_status read_place(kni_model_reader *r, const kni_message_slot *entries, data_place *place)
{
    const char *const *pairs;
    int32_t n;
    kn_status status = kni_read_pairs(r, entries, &pairs, &n);
    for (int32_t i = 0; i < n && !status; i++) {
        const char *key = pairs[2 * i], *text = pairs[2 * i + 1];
        bool good = true;
        if (!strcmp(key, "location"))
            place->location = text;
        else if (!strcmp(key, "offset"))
            good = read_number(text, &place->offset);
        else if (!strcmp(key, "length"))
            good = place->has_length = read_number(text, &place->length);
        if (!good) status = kni_reader_damaged(r, "the %s '%s' of its data is no number", key, text);
    }
    if (!status && !*place->location)
        status = kni_reader_damaged(r, "its data is in a file that has no name");
    return status;
}

/* ---- the file */

static bool leaves_folder(const char *location)
{
    if (*location == '/' || strlen(location) > LONGEST_LOCATION) return true;
    for (const char *part = location; part; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2])) return true;
    }
    return false;
}

#ifndef __wasi__
/* Whether a path without links lies in a folder without links. */
static bool is_inside(const char *real, const char *folder, size_t length)
{
    return !strncmp(real, folder, length) && (length == 1 || real[length] == '/');
}

/* Whether it lies in the folder that the model's own link leads to. */
static bool is_beside_model(const kni_model_reader *r, const char *real)
{
    char *model = r->files->model.data ? realpath(r->file, NULL) : NULL;
    const char *slash = model ? strrchr(model, '/') : NULL;
    bool beside = slash && is_inside(real, model, slash == model ? 1 : (size_t)(slash - model));
    free(model);
    return beside;
}
#endif

/* The path without links, which must lie in the folder without links; NULL with the failure told. */
static char *real_path(kni_model_reader *r, const char *location)
{
    char *path = kni_path_join(r->folder, location);
    if (!path) {
        kni_reader_memory(r);
        return NULL;
    }
#ifndef __wasi__
    char *folder = realpath(r->folder, NULL), *real = realpath(path, NULL);
    int reason = errno;
    bool inside = folder && real && (is_inside(real, folder, strlen(folder)) || is_beside_model(r, real));
    free(path);
    free(folder);
    if (inside) return real;
    if (real)
        kni_reader_failure(r, KN_ERROR_IO,
                           "its data file '%s' is a link that leads out of the model's folder", location);
    else
        kni_reader_failure(r, KN_ERROR_IO, "its data file '%s' cannot be read from the model's folder: %s",
                           location, strerror(reason));
    free(real);
    return NULL;
#else
    return path;
#endif
}

static kn_status map_file(kni_model_reader *r, const char *location, kni_file_map *map)
{
    kni_failure_held held;
    if (leaves_folder(location))
        return kni_reader_failure(
            r, KN_ERROR_IO, "its data file '%s' is not in the model's folder, which is never left", location);
    if (!r->folder)
        return kni_reader_failure(r, KN_ERROR_IO,
                                  "its data is in the file '%s', but the model is in memory; name its folder",
                                  location);
    char *path = real_path(r, location);
    if (!path) return KN_ERROR_IO;
    kni_failure_hold(&held);
    kn_status status = kni_file_map_open(map, path);
    (void)kni_failure_release(&held, KN_OK, KN_NONE);
    free(path);
    return status ? kni_reader_failure(r, status, "%s", held.text) : KN_OK;
}

/* Each file is mapped once. */
static kn_status find_file(kni_model_reader *r, const char *location, const kni_file_map **map)
{
    for (kni_external_file *f = r->files->first; f; f = f->next)
        if (!strcmp(f->location, location)) {
            *map = &f->map;
            return KN_OK;
        }
    kni_external_file *f = kni_onnx_arena_take(r->keep, 1, sizeof *f);
    if (!f) return kni_reader_memory(r);
    kn_status status = map_file(r, location, &f->map);
    if (status) return status;
    f->location = location;
    f->next = r->files->first;
    r->files->first = f;
    *map = &f->map;
    return KN_OK;
}

kn_status kni_external_data(kni_model_reader *r, const kni_message_slot *entries, kni_onnx_tensor *tensor)
{
    data_place place = {"", 0, 0, false};
    const kni_file_map *map = NULL;
    kn_status status = read_place(r, entries, &place);
    if (!status && !r->files)
        status = kni_reader_failure(r, KN_ERROR_IO, "its data is in another file, '%s'", place.location);
    if (!status) status = find_file(r, place.location, &map);
    if (status) return status;
    if (place.has_length && place.length != tensor->bytes)
        return kni_reader_damaged(r, "it has %llu bytes in '%s', but its sizes ask for %zu",
                                  (unsigned long long)place.length, place.location, tensor->bytes);
    if (place.offset > map->bytes || tensor->bytes > map->bytes - place.offset)
        return kni_reader_damaged(r, "its data ends behind the end of '%s', which has %zu bytes",
                                  place.location, map->bytes);
    tensor->data = tensor->bytes ? (const char *)map->data + place.offset : "";
    return KN_OK;
}

void kni_onnx_files_free(kni_onnx_files *files)
{
    if (!files) return;
    for (kni_external_file *f = files->first; f; f = f->next) kni_file_map_close(&f->map);
    kni_file_map_close(&files->model);
}
