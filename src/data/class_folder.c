/* Names of files in the folder of a data set, and folders of classes: FOLDER/class/file, with classes and files in sorted order whatever the file system gives. */
#define _GNU_SOURCE
#include "data/data_internal.h"
#include <stdlib.h>
#include <string.h>

const char *const kni_image_endings[] = {".png", ".jpg", ".jpeg", NULL};

bool kni_path_has_ending(const char *path, const char *const *endings)
{
    if (!endings) return true;
    size_t n = strlen(path);
    for (; *endings; endings++) {
        size_t m = strlen(*endings), i = 0;
        if (m > n) continue;
        while (i < m) {
            char c = path[n - m + i];
            if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
            if (c != (*endings)[i]) break;
            i++;
        }
        if (i == m) return true;
    }
    return false;
}

static bool has_parent_part(const char *name)
{
    while (*name) {
        size_t length = strcspn(name, "/");
        if (length == 2 && !memcmp(name, "..", 2)) return true;
        name += length + (name[length] == '/');
    }
    return false;
}

/* Whether the file that a name leads to lies below the folder; one that is not there yet is told of when it is read. */
static bool is_linked_out(const char *folder, const char *name)
{
    bool out = false;
#ifndef __wasi__
    char *path = kni_path_join(folder, name), *real = path ? realpath(path, NULL) : NULL;
    char *root = real ? realpath(folder, NULL) : NULL;
    size_t length = root ? strlen(root) : 0;
    out = root && strcmp(root, "/") != 0 && (strncmp(real, root, length) != 0 || real[length] != '/');
    free(path);
    free(real);
    free(root);
#else
    (void)folder, (void)name;
#endif
    return out;
}

kn_status kni_path_check_inside(const char *folder, const char *name, const char *place)
{
    const char *wrong = name[0] == '/'                ? "is an absolute path"
                        : has_parent_part(name)       ? "has a part '..'"
                        : is_linked_out(folder, name) ? "is behind a link to another place"
                                                      : NULL;
    if (!wrong) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT,
                       "%s: the file name '%.150s' %s; names must lead to files in '%.150s'", place, name,
                       wrong, folder);
}

void kni_class_files_free(kni_class_files *files)
{
    kni_names_free(&files->classes);
    kni_names_free(&files->paths);
    kni_buffer_free(&files->labels);
}

int64_t kni_class_files_label(const kni_class_files *files, int64_t index)
{
    return ((const int64_t *)(const void *)files->labels.data)[index];
}

static kn_status add_file(kni_class_files *files, const char *path, int64_t label)
{
    kni_buffer_append(&files->labels, &label, sizeof label);
    if (files->labels.failed || kni_names_add(&files->paths, path, strlen(path)) < 0)
        return kni_failure_memory("kn_dataset_folder");
    return KN_OK;
}

static kn_status add_class(kni_class_files *files, const char *folder, const char *name,
                           const kni_class_rules *rules)
{
    char *path = kni_path_join(folder, name);
    if (!path) return kni_failure_memory("kn_dataset_folder");
    kni_folder content = {0};
    int64_t label = kni_names_add(&files->classes, name, strlen(name));
    kn_status status = label < 0 ? kni_failure_memory("kn_dataset_folder") : kni_folder_read(&content, path);
    for (int64_t i = 0; i < content.count && status == KN_OK; i++) {
        if (content.names[i][0] == '.' || !kni_path_has_ending(content.names[i], rules->endings)) continue;
        char *file = kni_path_join(path, content.names[i]);
        if (!file) status = kni_failure_memory("kn_dataset_folder");
        bool wanted = file && !kni_file_is_folder(file);
        if (wanted && rules->accept)
            wanted = rules->accept(rules->context, file + strlen(path) - strlen(name));
        if (wanted) status = add_file(files, file, label);
        free(file);
    }
    kni_folder_free(&content);
    free(path);
    return status;
}

kn_status kni_class_files_read(kni_class_files *files, const char *folder, const kni_class_rules *rules)
{
    kni_folder content = {0};
    kn_status status = kni_folder_read(&content, folder);
    for (int64_t i = 0; i < content.count && status == KN_OK; i++) {
        const char *name = content.names[i];
        if (name[0] == '.' || (rules->skip_underscore && name[0] == '_')) continue;
        char *path = kni_path_join(folder, name);
        if (!path)
            status = kni_failure_memory("kn_dataset_folder");
        else if (kni_file_is_folder(path))
            status = add_class(files, folder, name, rules);
        free(path);
    }
    kni_folder_free(&content);
    if (status == KN_OK && !files->paths.count)
        status = kni_failure(KN_ERROR_IO, "%s: no files in subfolders; expected %s/CLASS/FILE%s", folder,
                             folder, rules->endings ? rules->endings[0] : "");
    return status;
}
