/* Weights in files: safetensors (read and write, Kiln's own format of weights and checkpoints), PyTorch .pt and .pth, NumPy .npy
   and .npz. Every file is treated as hostile: a truncated or forged one gives an error that says where. Members of zip
   archives (.npz, .pt) are compared with their CRC-32 when they are first read, also through a map; one that is recorded as 0,
   as PyTorch does when told to compute none, says nothing. safetensors files of Kiln have checksums in their metadata
   (docs/checksums.md): names, shapes, dtypes and texts are compared when the file is opened, each tensor when it is first read,
   also through a map, so kn_state_read compares the whole file and kn_load all that it sets. Files without checksums are read
   as before. What is damaged fails with a text that has the word and says where. Stored dtypes (KN_F8_E4M3 ... KN_U2) are
   written to safetensors and .npz (docs/stored-dtypes.md), and read from safetensors, .npz and PyTorch files. */
#ifndef KN_STORE_H
#define KN_STORE_H

#include <kn/nn/module.h>
#include <kn/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a file of named tensors */

typedef enum kn_store_format {
    KN_STORE_AUTO =
        0, /* by content when reading, by the name's ending when writing (.safetensors, .npz, .npy) */
    KN_STORE_SAFETENSORS = 1,
    KN_STORE_PYTORCH = 2,
    KN_STORE_NUMPY = 3
} kn_store_format;

typedef struct kn_store_object *kn_store;

typedef struct kn_store_args {
    kn_store_format format;
    bool skip_checksum; /* nothing is compared: what is still in a damaged file can be read */
    bool map; /* tensors point into the mapped file instead of copying; the file must not be cut meanwhile */
    /* PyTorch: the entry that holds the weights ("state_dict", "a.b"); NULL: found by itself; "": the whole file. */
    const char *top_key;
    /* Largest tensor in bytes. 0: what the file holds; views that repeat its bytes have 16 MB together, and all tensors,
       also compressed ones, 16 MB and 32 times the file. What is above that is refused before anything is decompressed. */
    int64_t limit;
} kn_store_args;
#define KN_STORE_ARGS_DEFAULTS KN_ZEROED
/* Reads the directory of a file, no tensor yet. NULL with kn_last_error(). */
KN_API kn_store kn_store_open(const char *path, const kn_store_args *args);
/* The same over bytes in memory, which must outlive the store. */
KN_API kn_store kn_store_open_memory(const void *data, size_t bytes, const kn_store_args *args);
KN_API void kn_store_close(kn_store store);
KN_API kn_store_format kn_store_format_of(kn_store store);

typedef struct kn_store_entry {
    const char *name;
    kn_dtype dtype;         /* KN_DTYPE_NONE for one that Kiln does not have (complex) */
    const char *dtype_text; /* its name, also of those */
    kn_shape shape;
    int64_t bytes; /* in the file, where elements of 4 and 2 bits are packed */
} kn_store_entry;
KN_API int64_t kn_store_count(kn_store store);
/* False past the end. */
KN_API bool kn_store_at(kn_store store, int64_t index, kn_store_entry *entry);
/* The index of a name, or -1. */
KN_API int64_t kn_store_find(kn_store store, const char *name);
/* Reads one tensor (on the current device), poisoned on failure. Its elements count in kn_memory_stats and against
   kn_memory_limit, which is asked before they are read, unless they stay in the mapped file; while it is read, they are held
   twice. */
KN_API kn_tensor kn_store_tensor(kn_store store, int64_t index);
/* Compares the whole file with its checksums now, also those that were compared before. *checked, which may be NULL: how many
   tensors have one; 0 for a file without. */
KN_API KN_MUST_CHECK kn_status kn_store_check(kn_store store, int64_t *checked);
/* The n-th text of the file's metadata (safetensors "__metadata__", plain values of a PyTorch file as text); false past the
   end. */
KN_API bool kn_store_text(kn_store store, int64_t index, const char **name, const char **text);

/* ---- states to and from files and memory */

/* Writes atomically; metadata gets "kiln.format" = the version of the format, and of safetensors "kiln.checksum". */
KN_API KN_MUST_CHECK kn_status kn_state_write(kn_state state, const char *path, kn_store_format format);
KN_API KN_MUST_CHECK kn_status kn_state_read(kn_state state, const char *path);
/* The bytes that kn_state_write would put into a file (KN_STORE_AUTO: safetensors, KN_STORE_NUMPY: .npz) in new memory, which
   the caller gives to free(). *data is NULL on failure. */
KN_API KN_MUST_CHECK kn_status kn_state_write_memory(kn_state state, void **data, size_t *bytes,
                                                     kn_store_format format);
KN_API KN_MUST_CHECK kn_status kn_state_read_memory(kn_state state, const void *data, size_t bytes);

/* ---- modules */

typedef struct kn_rename {
    const char *pattern;     /* extended regular expression */
    const char *replacement; /* \1 to \9 are its groups */
} kn_rename;

typedef struct kn_save_args {
    const char *include, *exclude; /* patterns of paths */
    /* KN_F16, KN_BF16, KN_F8_E4M3 ...: floats are stored so, rounded as kn_cast does (it does not saturate); 0: as they are */
    kn_dtype cast;
    const char *cast_exclude; /* paths whose floats are stored as they are (norms) */
    const kn_rename *renames; /* applied in turn, the last one {0}, to the names that PyTorch's layers have */
    const char *const *metadata; /* name, text, name, text, NULL */
    kn_store_format format;
    /* Paths of the module as they are. Else kn_nn_attention is written as nn.MultiheadAttention has it (in_proj_weight,
       in_proj_bias, out_proj), so that PyTorch loads the file; kn_load understands both. */
    bool no_adapters;
} kn_save_args;
#define KN_SAVE_ARGS_DEFAULTS KN_ZEROED
KN_API KN_MUST_CHECK kn_status kn_save(kn_module module, const char *path, const kn_save_args *args);

typedef struct kn_load_args {
    const char *include, *exclude;
    const kn_rename *renames; /* from names in the file to paths */
    bool allow_missing;       /* params that the file lacks keep their value */
    bool allow_unused;        /* tensors that no param asks for are no error */
    bool renumber;            /* positions in lists are made contiguous: 0, 2, 5 become 0, 1, 2 */
    bool no_adapters;         /* names and layouts exactly as in the file, without PyTorch's habits */
    kn_store_args store;
} kn_load_args;
#define KN_LOAD_ARGS_DEFAULTS KN_ZEROED

/* What a load did. Free with kn_load_report_free. */
typedef struct kn_load_report {
    int64_t applied, missing, unused, mismatched;
    char *text; /* one line for each of the last three */
} kn_load_report;
KN_API void kn_load_report_free(kn_load_report *report);

/* Fills the module's params from a file. Shapes must agree; dtypes are cast. Nothing is changed on an error. report may be
   NULL. */
KN_API KN_MUST_CHECK kn_status kn_load(kn_module module, const char *path, const kn_load_args *args,
                                       kn_load_report *report);
KN_API KN_MUST_CHECK kn_status kn_load_memory(kn_module module, const void *data, size_t bytes,
                                              const kn_load_args *args, kn_load_report *report);
KN_API KN_MUST_CHECK kn_status kn_load_store(kn_module module, kn_store store, const kn_load_args *args,
                                             kn_load_report *report);
/* Makes all params and buffers of a module that has none yet (a struct of zeros; lists have their modules) from the tensors that are called
   as their paths. */
KN_API KN_MUST_CHECK kn_status kn_load_new(kn_module module, kn_store store);
/* Module params to and from a state, under prefix + path. */
KN_API kn_status kn_module_save(kn_module module, kn_state state, const char *prefix);
KN_API kn_status kn_module_load(kn_module module, kn_state state, const char *prefix);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/store_sites.h>
#endif

#endif
