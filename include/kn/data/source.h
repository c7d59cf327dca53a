/* Where data comes from: memory, tables (CSV, JSON lines, SQLite), folders of images, texts and sounds, and the binary files of
   MNIST and CIFAR. Nothing is fetched from a network. All return NULL with kn_last_error() on failure; whatever a file holds,
   the worst that happens is an error with its name and place. */
#ifndef KN_DATA_SOURCE_H
#define KN_DATA_SOURCE_H

#include <kn/data/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory */

/* Sample i has row i of each tensor. Temporaries are taken, others aliased; all have the same size of axis 0. */
KN_API kn_dataset kn_dataset_tensors(const kn_tensor *fields, int32_t n);
/* A list of samples of any shapes, whose tensors it takes over (also on failure). */
KN_API kn_dataset kn_dataset_list(const kn_sample *samples, int64_t n);
/* Reads a whole data set (under the keys (0, 0, index)) into memory. */
KN_API kn_dataset kn_dataset_cache(kn_dataset dataset);

/* What one field of a made-up sample looks like: floats are uniform on [low, high), integers on the whole numbers from low to
   high - 1; both 0 mean 0 to 1 (floats) or 0 to 10. */
typedef struct kn_fake_field {
    kn_dtype dtype;
    kn_shape shape;
    double low, high;
} kn_fake_field;
/* Random samples that depend on the seed and the index alone. */
KN_API kn_dataset kn_dataset_fake(int64_t length, const kn_fake_field *fields, int32_t n, uint64_t seed);

/* ---- tables */

typedef enum kn_column_kind {
    KN_COLUMN_REAL = 0,     /* f32 */
    KN_COLUMN_REAL64 = 1,   /* f64 */
    KN_COLUMN_INT = 2,      /* i64 */
    KN_COLUMN_CATEGORY = 3, /* text -> i64, numbered in the order of appearance */
    KN_COLUMN_TEXT = 4      /* u8 [bytes] */
} kn_column_kind;

/* What to do where a number is missing (an empty cell, null). */
typedef enum kn_missing {
    KN_MISSING_ERROR = 0,
    KN_MISSING_FILL = 1, /* use `fill` */
    KN_MISSING_SKIP = 2  /* leave the row out; for texts, too */
} kn_missing;

typedef struct kn_column {
    /* Of the header, the member or the result column; NULL: the column at this place. A name that the source has twice is
       refused. */
    const char *name;
    kn_column_kind kind;
    bool list; /* JSON lines: an array of numbers, a field [n] of its own that may differ in length */
    bool join; /* belongs to the field of the column before it (of the same kind), which becomes a vector */
    kn_missing missing;
    double fill;
} kn_column;

typedef struct kn_table_args {
    const kn_column
        *columns; /* in the order of the sample's fields; NULL: one f32 vector of all columns, by place */
    int32_t n_columns;
    char delimiter;        /* CSV: 0 = ',' */
    bool no_header;        /* CSV: the first line is data; columns are called "1", "2" ... */
    kn_dataset categories; /* take the numbers of categories from this table; a value it lacks is an error */
} kn_table_args;
#define KN_TABLE_ARGS_DEFAULTS KN_FIELDS(NULL, 0, ',', false, NULL)

/* RFC 4180: quotes, doubled quotes, line breaks inside quotes; LF, CRLF or CR alone. Errors look like
   "file.csv:12: column 'age': 'abc' is not a number". */
KN_API kn_dataset kn_dataset_csv(const char *path, const kn_table_args *args);
/* One JSON object in each line; columns are its members, found by name in whatever order a line has them. true and false are 1 and 0. */
KN_API kn_dataset kn_dataset_json_lines(const char *path, const kn_table_args *args);
/* The rows that a query gives, read once, from a file that is not changed. SQLite works in one process: a forked child of a
   program that used it gets an error. */
KN_API kn_dataset kn_dataset_sqlite(const char *path, const char *query, const kn_table_args *args);
/* The text behind number `value` of column `column` (its place in args), NULL past the end. */
KN_API const char *kn_table_category(kn_dataset dataset, int32_t column, int64_t value);
KN_API int64_t kn_table_category_count(kn_dataset dataset, int32_t column);

/* Writes samples of any data set into a table of an SQLite file (made anew; other tables stay), and reads them back on demand.
   Samples keep dtypes and shapes. */
KN_API KN_MUST_CHECK kn_status kn_dataset_write_sqlite(kn_dataset dataset, const char *path,
                                                       const char *table);
KN_API kn_dataset kn_dataset_sqlite_samples(const char *path, const char *table);

/* ---- images: u8 [channels, height, width] */

typedef struct kn_image_args {
    int32_t channels;      /* 1 or 3; 0 = 3. Images are converted. */
    int64_t height, width; /* resized to this (bilinear over areas); 0 = as they are */
} kn_image_args;
#define KN_IMAGE_ARGS_DEFAULTS KN_FIELDS(3, 0, 0)
/* One PNG or JPEG file, told apart by content. Values are those of the file, as PIL's convert("RGB") and so torchvision's
   ImageFolder give them:
   - Colours are neither blended nor corrected: alpha, a transparent colour and gamma are left out.
   - 16 bits keep the upper 8, grey ones too, where PIL clips; 1, 2 and 4 bits of grey are spread over 0 to 255.
   - JPEGs of four inks (CMYK, YCCK) are taken to be inverted, as Adobe's programs write them.
   - With 1 channel, colours give (299 r + 587 g + 114 b) / 1000, and JPEGs their luma.
   Poisoned on failure. */
KN_API kn_tensor kn_image_read(const char *path, const kn_image_args *args);
/* The same from memory; name is for messages (NULL: "memory"). */
KN_API kn_tensor kn_image_decode(const void *data, size_t bytes, const char *name, const kn_image_args *args);

/* (image, label i64): FOLDER/class/file.png; classes are the sorted subfolders. */
KN_API kn_dataset kn_dataset_image_folder(const char *folder, const kn_image_args *args);
/* (image, labels f32 [classes] of 0 and 1): labels is a CSV or JSON lines file. CSV: a header "file,class a,class b" and 0 or 1
   in the cells. JSON lines: {"file": "x.png", "labels": ["a", "b"]}. Files are relative to the folder; a name that
   leads out of it (absolute, with "..", behind a link to elsewhere) is refused, as in COCO's files. */
KN_API kn_dataset kn_dataset_image_labels(const char *folder, const char *labels, const kn_image_args *args);
/* (image, mask i64 [height, width]): mask files have the image's name without its ending; a mask is a PNG of 1
   to 8 bits, grey or with a palette, whose values (palette: indices) are the classes, exactly as they are in the file. A mask is resized by nearest neighbour. */
KN_API kn_dataset kn_dataset_image_masks(const char *images, const char *masks, const kn_image_args *args);
/* (image, boxes f32 [n, 4] as x, y, width, height in pixels of the image given, labels i64 [n]): annotations in COCO's JSON.
   Labels count the categories in the order of their ids. */
KN_API kn_dataset kn_dataset_coco(const char *images, const char *annotations, const kn_image_args *args);

/* (image u8 [1, 28, 28], label i64) from MNIST's four files, plain or .gz. split: "train" or "test". */
KN_API kn_dataset kn_dataset_mnist(const char *folder, const char *split);
/* One idx file, plain or .gz, as a tensor. Poisoned on failure. */
KN_API kn_tensor kn_idx_read(const char *path);
/* (image u8 [3, 32, 32], label i64) from the binary files; cifar100 gives (image, fine label, coarse label). */
KN_API kn_dataset kn_dataset_cifar10(const char *folder, const char *split);
KN_API kn_dataset kn_dataset_cifar100(const char *folder, const char *split);

/* ---- texts and sounds */

/* (text u8 [bytes], label i64): FOLDER/class/file; every file must be UTF-8 (a byte order mark is left out; UTF-16 with one is
   converted). */
KN_API kn_dataset kn_dataset_text_folder(const char *folder);
/* (title u8 [bytes], description u8 [bytes], label i64 of 0 to 3) from AG News' train.csv and test.csv. */
KN_API kn_dataset kn_dataset_ag_news(const char *folder, const char *split);
/* f32 [channels, frames] on [-1, 1) from WAV: PCM of 8, 16, 24 or 32 bits, f32 or f64. *rate may be NULL. Poisoned on failure. */
KN_API kn_tensor kn_wav_read(const char *path, int64_t *rate);
KN_API kn_tensor kn_wav_decode(const void *data, size_t bytes, const char *name, int64_t *rate);
/* (sound f32 [channels, frames], label i64): FOLDER/class/file.wav. */
typedef struct kn_audio_args {
    int64_t frames; /* cut, or filled with zeros, to this many; 0 = as they are */
    int64_t rate;   /* every file must have this many frames a second; 0 = any */
    /* Speech Commands' lists: only files named in validation_list.txt or testing_list.txt, or in neither ("train"). Folders
       that begin with '_' are left out. NULL: all files. */
    const char *split; /* "train", "validation" or "test" */
} kn_audio_args;
#define KN_AUDIO_ARGS_DEFAULTS KN_ZEROED
KN_API kn_dataset kn_dataset_audio_folder(const char *folder, const kn_audio_args *args);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/source_sites.h>
#endif

#endif
