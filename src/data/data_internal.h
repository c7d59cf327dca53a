/* What the files of src/data share: lists of names, permutations, folders of classes, collation. */
#ifndef KNI_DATA_INTERNAL_H
#define KNI_DATA_INTERNAL_H

#include "core/objects.h"
#include "support/argument.h"
#include "support/buffer.h"
#include "support/failure.h"
#include "support/file.h"
#include <kn/data.h>
#include <kn/tensor.h>

/* ---- data sets */

/* What a handle refers to; several handles may share a data set. */
typedef struct kni_dataset kni_dataset;
/* A handle of one's own for the same data set, to be freed: what reads from it holds one, so that the user's may end. NULL with
   the failure told. */
kn_dataset kni_dataset_hold(kn_dataset dataset, const char *function);
/* kn_dataset_map_many under the name of another function. */
kn_dataset kni_dataset_map(kn_dataset dataset, kn_map_fn map, kn_map_many_fn many, void *context,
                           void (*release)(void *context), const char *function);
/* The self of a data set of this type, or NULL. */
void *kni_dataset_self(const kni_dataset *dataset, const kn_dataset_type *type);
/* Whether a whole batch can be had at once. */
bool kni_dataset_has_many(kn_dataset dataset);
/* Makes a data set of self, or closes it and returns NULL when status is a failure. */
kn_dataset kni_dataset_finish(const kn_dataset_type *type, void *self, kn_status status);
/* The key of a source behind a transform: its random choices are independent of the transform's. */
kn_sample_key kni_key_inner(const kn_sample_key *key, uint64_t salt);
/* A permutation of 0 .. n - 1 that depends on seed and epoch alone. */
void kni_permutation(int64_t *out, int64_t n, uint64_t seed, int64_t epoch);

/* ---- names: a list of texts that finds a text's place */

typedef struct kni_names {
    kni_buffer bytes;   /* the texts, each with a final 0 */
    kni_buffer offsets; /* size_t of each */
    int64_t *slots;     /* hash table of places + 1 */
    int64_t count, slot_count;
} kni_names;

void kni_names_free(kni_names *names);
/* The place of a text, -1 when it is not there. */
int64_t kni_names_find(const kni_names *names, const char *text, size_t length);
/* The same, added when it is not there; -1 without memory. */
int64_t kni_names_add(kni_names *names, const char *text, size_t length);
const char *kni_names_at(const kni_names *names, int64_t index);
/* Each line that is not empty; lines end with a line feed, a carriage return or both. */
bool kni_names_add_lines(kni_names *names, const char *text, size_t length);
bool kni_names_copy(kni_names *to, const kni_names *from);

/* kn_dataset_tensors with names (taken over, also on failure). */
kn_dataset kni_dataset_named_tensors(const kn_tensor *fields, int32_t n, kni_names *names);

/* ---- folders of classes: FOLDER/class/file */

typedef struct kni_class_files {
    kni_names classes; /* sorted */
    kni_names paths;   /* "folder/class/file", sorted within a class */
    kni_buffer labels; /* int64_t of each */
} kni_class_files;

typedef struct kni_class_rules {
    const char *const *endings; /* such as ".png", in lower case; NULL: all files */
    bool skip_underscore;       /* folders that begin with '_' */
    bool (*accept)(void *context, const char *class_slash_file); /* optional */
    void *context;
} kni_class_rules;

/* An empty result is an error that names the folder. */
kn_status kni_class_files_read(kni_class_files *files, const char *folder, const kni_class_rules *rules);
void kni_class_files_free(kni_class_files *files);
int64_t kni_class_files_label(const kni_class_files *files, int64_t index);
/* Refuses a name out of a file of labels that leads out of the folder: an absolute one, one with a part "..", or one behind a
   link to elsewhere. place: the file of labels, for the message. */
kn_status kni_path_check_inside(const char *folder, const char *name, const char *place);
bool kni_path_has_ending(const char *path, const char *const *endings);
extern const char *const kni_image_endings[];

/* ---- collation */

kn_status kni_collate_stack(const kn_sample *samples, int64_t n, kn_sample *batch);
kn_status kni_collate_pad(const kn_sample *samples, int64_t n, const kn_loader_args *args, kn_sample *batch);

/* ---- parsers over memory; names are for messages */

/* zlib's format (not gzip's), which must give exactly `size` bytes. */
kn_status kni_inflate(const void *data, size_t bytes, const char *name, uint8_t *out, size_t size);
/* Inflates gzip data, to at most 16 MB and 32 times its size. */
kn_status kni_gunzip(const void *data, size_t bytes, const char *name, kni_buffer *out);
bool kni_is_gzip(const void *data, size_t bytes);
kn_tensor kni_idx_decode(const void *data, size_t bytes, const char *name);
/* Appends records of label_bytes labels and 3072 pixels; labels are checked against limits[label_bytes]. */
kn_status kni_cifar_decode(const void *data, size_t bytes, const char *name, int32_t label_bytes,
                           const uint8_t *limits, kni_buffer *pixels, kni_buffer *labels);
/* Checks UTF-8 and leaves out a byte order mark; UTF-16 with one is converted. */
kn_status kni_text_decode(const void *data, size_t bytes, const char *name, kni_buffer *out);
/* A double from text with spaces around it; false for what is no number. */
bool kni_parse_real(const char *text, size_t length, double *value);
bool kni_parse_int(const char *text, size_t length, int64_t *value);

#endif
