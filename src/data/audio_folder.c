/* Folders of sounds, one subfolder for each label, with the lists of Speech Commands for its splits. */
#include "data/data_internal.h"
#include <kn/shape.h>
#include <stdlib.h>
#include <string.h>

typedef struct sounds {
    kni_class_files files;
    kn_audio_args args;
    kni_names validation, test; /* "class/file" */
    int32_t split;              /* -1: all */
} sounds;

static const char *const splits[] = {"train", "validation", "test"};

static int64_t sounds_length(void *self) { return ((sounds *)self)->files.paths.count; }

/* Cut, or zeros behind it. */
static kn_tensor fit_frames(kn_tensor t, int64_t frames)
{
    int64_t have = kn_size(t, 1);
    if (!frames || have == frames) return t;
    if (have > frames) return kn_slice(t, 1, 0, frames, 1);
    int64_t channels = kn_size(t, 0);
    float *values = calloc((size_t)(channels * frames) + 1, sizeof *values);
    float *old = malloc((size_t)(channels * have + 1) * sizeof *old);
    kn_status status = values && old ? kn_read(t, old, (size_t)(channels * have) * sizeof *old)
                                     : kni_failure_memory("kn_dataset_audio_folder");
    for (int64_t c = 0; c < channels && status == KN_OK; c++)
        memcpy(values + c * frames, old + c * have, (size_t)have * sizeof *old);
    kn_tensor made =
        status == KN_OK ? kn_from(values, KN_F32, KN_SHAPE(channels, frames)) : kn_poison(status, NULL);
    kn_drop(t);
    free(values);
    free(old);
    return made;
}

static kn_status sounds_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const sounds *s = self;
    const char *path = kni_names_at(&s->files.paths, index);
    int64_t rate = 0;
    kn_tensor t = kn_wav_read(path, &rate);
    if (!kn_ok(t)) return kni_failure_of(t);
    if (s->args.rate && rate != s->args.rate) {
        kn_drop(t);
        return kni_failure(KN_ERROR_ARGUMENT, "%s: %lld frames a second, not %lld", path, (long long)rate,
                           (long long)s->args.rate);
    }
    kn_status status = kn_sample_add(sample, fit_frames(t, s->args.frames));
    if (status != KN_OK) return status;
    return kn_sample_add(sample, kn_scalar_int(kni_class_files_label(&s->files, index), KN_I64));
}

static void sounds_close(void *self)
{
    sounds *s = self;
    kni_class_files_free(&s->files);
    kni_names_free(&s->validation);
    kni_names_free(&s->test);
    free(s);
}

static const char *sounds_name_at(void *self, int64_t index)
{
    return kni_names_at(&((sounds *)self)->files.classes, index);
}

static const kn_dataset_type audio_type = {"audio folder", sounds_length, sounds_get,
                                           NULL,           sounds_close,  sounds_name_at};

static bool in_split(void *context, const char *class_slash_file)
{
    const sounds *s = context;
    size_t n = strlen(class_slash_file);
    int32_t split = kni_names_find(&s->test, class_slash_file, n) >= 0         ? 2
                    : kni_names_find(&s->validation, class_slash_file, n) >= 0 ? 1
                                                                               : 0;
    return s->split < 0 || split == s->split;
}

static kn_status read_list(const char *folder, const char *file, kni_names *names)
{
    kni_buffer text = {0};
    char *path = kni_path_join(folder, file);
    kn_status status =
        path ? kni_file_read(path, 64 << 20, &text) : kni_failure_memory("kn_dataset_audio_folder");
    if (status == KN_OK && !kni_names_add_lines(names, kni_buffer_string(&text), text.length))
        status = kni_failure_memory("kn_dataset_audio_folder");
    kni_buffer_free(&text);
    free(path);
    return status;
}

static kn_status open_sounds(sounds *s, const char *folder)
{
    static const char *const endings[] = {".wav", NULL};
    kni_class_rules rules = {endings, s->args.split != NULL, in_split, s};
    kn_status status = KN_OK;
    s->split = -1;
    if (s->args.frames < 0 || s->args.frames > INT32_MAX)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_audio_folder: %lld frames",
                           (long long)s->args.frames);
    if (s->args.split) {
        for (int32_t i = 0; i < 3; i++)
            if (!strcmp(s->args.split, splits[i])) s->split = i;
        if (s->split < 0)
            return kni_failure(
                KN_ERROR_ARGUMENT,
                "kn_dataset_audio_folder: the split is 'train', 'validation' or 'test', not '%s'",
                s->args.split);
        status = read_list(folder, "validation_list.txt", &s->validation);
        if (status == KN_OK) status = read_list(folder, "testing_list.txt", &s->test);
    }
    s->args.split = NULL; /* belongs to the caller */
    return status == KN_OK ? kni_class_files_read(&s->files, folder, &rules) : status;
}

kn_dataset kn_dataset_audio_folder(const char *folder, const kn_audio_args *args)
{
    KNI_NAMED;
    if (kni_given(folder, __func__, "folder") != KN_OK) return NULL;
    sounds *s = calloc(1, sizeof *s);
    if (!s) {
        kni_failure_memory("kn_dataset_audio_folder");
        return NULL;
    }
    if (args) s->args = *args;
    return kni_dataset_finish(&audio_type, s, open_sounds(s, folder));
}
