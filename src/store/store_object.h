/* What the files of the store share: the source of bytes, the directory of a file, and the readers that fill it. */
#ifndef KNI_STORE_OBJECT_H
#define KNI_STORE_OBJECT_H

#include "core/objects.h"
#include "support/buffer.h"
#include "support/file.h"
#include "support/json.h"
#include <kn/store.h>

/* The version that is written into every file under this name, and the newest that is read. */
#define KNI_STORE_VERSION_NAME "kiln.format"
#define KNI_STORE_VERSION 3

/* ---- bytes of a file or of the caller's memory, with a bound */

/* Shared by a store and the tensors that point into it. */
typedef struct kni_source {
    const unsigned char *data; /* NULL: read from fd */
    uint64_t bytes;
    int fd; /* -1 without */
    kni_file_map map;
    int32_t references;
    char name[]; /* the path, for messages */
} kni_source;

/* NULL with kn_last_error(). */
kni_source *kni_source_open(const char *path, bool map);
kni_source *kni_source_memory(const void *data, size_t bytes);
kni_source *kni_source_retain(kni_source *source);
void kni_source_release(kni_source *source);
/* Copies bytes that must all be there. */
kn_status kni_source_read(const kni_source *source, uint64_t offset, void *out, size_t bytes);
/* The memory that reading the directory of a file of this size may take. */
uint64_t kni_source_allowance(const kni_source *source);
/* "FILE: what is wrong", as KN_ERROR_IO. */
kn_status kni_source_bad(const kni_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "FILE: damaged: where", noted as proof (kni_damage_note): the content cannot be what was written. */
kn_status kni_source_damaged(const kni_source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline uint64_t kni_little(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static inline void kni_put_little(unsigned char *p, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(value >> 8 * i);
}

/* ---- the directory */

/* How a file spells a dtype. */
typedef struct kni_dtype_word {
    const char *word;
    kn_dtype dtype;    /* KN_DTYPE_NONE: known, but no tensor can have it */
    int32_t size;      /* bytes of an element in the file */
    const char *label; /* for messages and listings */
} kni_dtype_word;

/* dtype_words.c: in a table that ends with {0}. NULL where there is none. */
const kni_dtype_word *kni_dtype_word_find(const kni_dtype_word *words, const char *text, size_t length);
const char *kni_dtype_word_of(const kni_dtype_word *words, kn_dtype dtype);

/* One tensor: where its elements are. */
typedef struct kni_store_item {
    char *name;
    const kni_dtype_word *word;
    kn_shape shape;
    int64_t strides[KN_MAX_RANK]; /* in elements, never negative */
    uint64_t offset;              /* of its first element, from the beginning of its container */
    uint64_t container, span;     /* the bytes around it: their place in the file, and how many there are */
    int64_t member;               /* entry of the archive that has its bytes, -1 where there is none */
    bool swapped;                 /* the bytes of an element are in the other order than this machine's */
    int32_t packed;               /* bits of an element where several share a byte, else 0 */
    bool retyped;                 /* dtype and shape are those of the text KNI_STORE_DTYPES_NAME */
    bool has_crc, checked;        /* crc is that of its bytes in the file; they were compared with it */
    uint32_t crc;
} kni_store_item;

typedef struct kni_store_text {
    char *name, *text;
    size_t length; /* of the text, which may hold zeros */
} kni_store_text;

typedef struct kni_zip kni_zip;

typedef struct kni_store {
    kni_source *source;
    kn_store_format format;
    bool map, skip_checksum;
    bool has_crc; /* so do the tensors; header_crc is that of everything else */
    uint32_t header_crc;
    int64_t limit;
    char *top_key;
    kni_zip *zip; /* of archives */
    bool foreign; /* the reader found an archive of another format, and told no failure */
    kni_store_item *items;
    int64_t count, capacity;
    kni_store_text *texts;
    int64_t text_count, text_capacity;
    int64_t *by_name;   /* positions of items, sorted by name */
    uint64_t spent;     /* bytes of the directory */
    uint64_t repeated;  /* bytes of the tensors that are larger than what they are made of */
    uint64_t described; /* bytes of all tensors */
} kni_store;

/* A new item, zeroed but for its name (copied) and member; NULL without memory, with the failure noted. */
kni_store_item *kni_store_add(kni_store *store, const char *name, size_t length);
kn_status kni_store_add_text(kni_store *store, const char *name, const char *text, size_t length);
/* Checks that the item's elements lie in its span and are no more than the file justifies. */
kn_status kni_store_check_item(kni_store *store, const kni_store_item *item);
/* Bytes that all tensors of a file may have together without a limit being named. */
uint64_t kni_store_free_bytes(const kni_source *source);
void kni_store_contiguous(kni_store_item *item);
/* Elements of a shape, -1 past 2^63 bytes of the given size. */
int64_t kni_store_elements(const kn_shape *shape, int32_t size);
/* Bytes that so many elements take, one after the other, in the file. */
int64_t kni_store_item_bytes(const kni_store_item *item, int64_t elements);
/* The item called name, or -1. */
int64_t kni_store_find(const kni_store *store, const char *name);

/* What the public functions of the same names do, over the object itself; it is closed, not freed by handle. function: for
   messages. */
kni_store *kni_store_open(const char *path, const kn_store_args *args, const char *function);
kni_store *kni_store_open_memory(const void *data, size_t bytes, const kn_store_args *args,
                                 const char *function);
void kni_store_close(kni_store *store);
void kni_store_entry_at(const kni_store *store, int64_t index, kn_store_entry *entry);
kn_tensor kni_store_tensor(kni_store *store, int64_t index);
/* Some rows of a tensor, which must be there. */
kn_tensor kni_store_rows(kni_store *store, int64_t index, int64_t row, int64_t rows);

static inline bool kni_machine_is_big(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 0;
}

void kni_swap_bytes(unsigned char *data, int64_t elements, int32_t size);

/* ---- readers of a directory */

kn_status kni_safetensors_read(kni_store *store);
/* "F32" for KN_F32; NULL where the format has no such dtype. */
const char *kni_safetensors_word(kn_dtype dtype);
/* A list of sizes from the header; shape is zeroed. */
kn_status kni_safetensors_shape(kni_store *store, const kni_json *value, const char *name, kn_shape *shape);
kn_status kni_pytorch_zip_read(kni_store *store);
kn_status kni_pytorch_legacy_read(kni_store *store);
kn_status kni_pytorch_tar_read(kni_store *store);
kn_status kni_npy_read(kni_store *store);
kn_status kni_npz_read(kni_store *store);

/* ---- writers */

typedef struct kni_store_value {
    const char *name;
    kn_tensor tensor; /* borrowed */
    kn_dtype dtype;   /* what it is stored as */
    uint32_t crc;     /* CRC-32C of its bytes, once they are written */
    int32_t packed;   /* bits of an element where several share a byte, else 0 */
    bool retyped;     /* the format has no name for its dtype: the text KNI_STORE_DTYPES_NAME says it */
} kni_store_value;

typedef struct kni_store_writing {
    const char *path;
    kni_store_value *values;
    int64_t count;
    kni_store_text *texts; /* without the version */
    int64_t text_count;
    bool to_memory; /* then path is only for messages */
    char *memory;
    size_t memory_bytes;
} kni_store_writing;
/* Opens the file or the memory that is written. */
kn_status kni_store_target(kni_store_writing *w, kni_atomic_file *file);

/* Writes everything atomically in the format, or in the one of the path's ending. */
kn_status kni_store_write(kni_store_writing *writing, kn_store_format format);
kn_status kni_safetensors_write(kni_store_writing *writing);
kn_status kni_npy_write(kni_store_writing *writing);
kn_status kni_npz_write(kni_store_writing *writing);
/* Bytes of a value in the file, -1 for a tensor that is none. */
int64_t kni_store_value_bytes(const kni_store_value *value);
/* Writes the elements, in the byte order of all files that Kiln writes (the lowest first). */
kn_status kni_store_write_value(kni_atomic_file *file, kni_store_value *value);
/* The version as text: the first whose readers understand all of it. */
const char *kni_store_version_text(const kni_store_writing *writing);
/* Whether the text is a version above the newest known here. */
bool kni_store_is_later(const char *text);
/* Whether this Kiln, or one before it, wrote the file: then what it does not know is damage. */
bool kni_store_is_own(const kni_store *store);
/* Refuses texts of a file of a later version. */
kn_status kni_store_check_version(kni_store *store);

/* ---- dtypes that a format has no name for (store_dtypes.c, docs/stored-dtypes.md) */

#define KNI_STORE_DTYPES_NAME "kiln.dtypes"

/* Whether the metadata of this name is Kiln's own and no text of the user's. */
bool kni_store_is_own_text(const char *name);
/* Gives the tensors that the text names their dtypes and shapes. */
kn_status kni_store_read_dtypes(kni_store *store);
/* Decides how the values of a safetensors file are written. */
void kni_store_pack_values(kni_store_writing *writing);
/* Dtype and shape of a value as its entry of the file has them. The word is NULL where there is none. */
const char *kni_store_entry_form(const kni_store_value *value, kn_shape *shape);
/* Appends the sizes: "2,3". */
void kni_store_write_sizes(kni_buffer *out, const kn_shape *shape);
/* Appends the text, of all values that are retyped. */
void kni_store_write_dtypes(kni_buffer *out, const kni_store_writing *writing);
bool kni_store_has_retyped(const kni_store_writing *writing);
/* Appends a comma, the name and the text, quoted, where a value is retyped. */
void kni_store_write_dtypes_entry(kni_buffer *out, const kni_store_writing *writing);

#endif
