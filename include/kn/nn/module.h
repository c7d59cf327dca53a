/* Modules: a user's plain struct and one descriptor of its fields. Names, counting, freezing, moving, printing, saving and
   the optimiser's walk all come from the descriptor.

       typedef struct Net { kn_nn_linear in, out; Block *blocks; int32_t n_blocks; } Net;
       const kn_module_type Net_type = { "Net", sizeof(Net), (const kn_field[]){
           KN_MODULE(Net, in, kn_nn_linear), KN_LIST(Net, blocks, n_blocks, Block),
           KN_MODULE(Net, out, kn_nn_linear), {0} } };

   KN_MODULE(Net, in, kn_nn_linear) uses the descriptor kn_nn_linear_type. The path of a param is the names of the fields and
   the positions in arrays and lists: "blocks.2.up.weight". A struct that is all zero is a module without params; an init that
   fails leaves that. */
#ifndef KN_NN_MODULE_H
#define KN_NN_MODULE_H

#include <kn/autodiff.h>
#include <kn/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KN_MAX_PATH 512

typedef enum kn_field_kind {
    KN_FIELD_END = 0,
    KN_FIELD_PARAM = 1,    /* kn_param, trained; KN_NONE inside means absent (a layer without bias) */
    KN_FIELD_BUFFER = 2,   /* kn_param, saved but not trained (running averages) */
    KN_FIELD_MODULE = 3,   /* a module inside this one */
    KN_FIELD_ARRAY = 4,    /* a fixed number of modules inside this one */
    KN_FIELD_LIST = 5,     /* a pointer to modules and an int32_t that counts them */
    KN_FIELD_OPTIONAL = 6, /* a pointer to one module, or NULL */
    KN_FIELD_MODE = 7,     /* bool: true while training (dropout, batch norm) */
    KN_FIELD_INT = 8,      /* settings, which are printed and saved as JSON: int64_t */
    KN_FIELD_REAL = 9,     /* double */
    KN_FIELD_BOOL = 10,    /* bool */
    KN_FIELD_ENUM = 11,    /* int32_t or an enum, with the names of its values */
    KN_FIELD_INTS = 12,    /* kn_ints */
    KN_FIELD_TEXT = 13     /* char[count] with a final 0 */
} kn_field_kind;

typedef struct kn_module_type kn_module_type;

typedef struct kn_field {
    kn_field_kind kind;
    const char *name;
    size_t offset;
    const kn_module_type *type; /* of the modules of a MODULE, ARRAY, LIST or OPTIONAL */
    size_t count;               /* ARRAY: modules; LIST: offset of the count; TEXT: bytes; ENUM: names */
    /* ENUM: the name of each value from 0 on. INT: the word for 0 in tables where it is not a number ("none"), or NULL. */
    const char *const *names;
} kn_field;

struct kn_module_type {
    const char *name;
    size_t size;
    const kn_field *fields; /* the last one is {0} */
};

/* A member's offset, refused by the compiler when the member has another type. */
#define KN_OFFSET_OF(owner, member, wanted)                                                                  \
    (offsetof(owner, member) + 0 * sizeof(1 ? &((owner *)0)->member : (wanted *)0))

#define KN_PARAM(owner, member)                                                                              \
    {                                                                                                        \
        KN_FIELD_PARAM, #member, KN_OFFSET_OF(owner, member, kn_param), 0, 0, 0                              \
    }
#define KN_BUFFER(owner, member)                                                                             \
    {                                                                                                        \
        KN_FIELD_BUFFER, #member, KN_OFFSET_OF(owner, member, kn_param), 0, 0, 0                             \
    }
#define KN_MODULE(owner, member, module)                                                                     \
    {                                                                                                        \
        KN_FIELD_MODULE, #member, KN_OFFSET_OF(owner, member, module), &module##_type, 0, 0                  \
    }
#define KN_ARRAY(owner, member, module)                                                                      \
    {                                                                                                        \
        KN_FIELD_ARRAY, #member, KN_OFFSET_OF(owner, member[0], module), &module##_type,                     \
            sizeof(((owner *)0)->member) / sizeof(module), 0                                                 \
    }
#define KN_LIST(owner, member, counter, module)                                                              \
    {                                                                                                        \
        KN_FIELD_LIST, #member, KN_OFFSET_OF(owner, member, module *), &module##_type,                       \
            KN_OFFSET_OF(owner, counter, int32_t), 0                                                         \
    }
#define KN_OPTIONAL(owner, member, module)                                                                   \
    {                                                                                                        \
        KN_FIELD_OPTIONAL, #member, KN_OFFSET_OF(owner, member, module *), &module##_type, 0, 0              \
    }
#define KN_MODE(owner, member)                                                                               \
    {                                                                                                        \
        KN_FIELD_MODE, #member, KN_OFFSET_OF(owner, member, bool), 0, 0, 0                                   \
    }
/* An INT whose 0 is called by a word when it is printed, and whose KN_ZERO is printed as 0. */
#define KN_INT_OR(owner, member, words)                                                                      \
    {                                                                                                        \
        KN_FIELD_INT, #member, KN_OFFSET_OF(owner, member, int64_t), 0, 0, words                             \
    }
#define KN_INT(owner, member)                                                                                \
    {                                                                                                        \
        KN_FIELD_INT, #member, KN_OFFSET_OF(owner, member, int64_t), 0, 0, 0                                 \
    }
#define KN_REAL(owner, member)                                                                               \
    {                                                                                                        \
        KN_FIELD_REAL, #member, KN_OFFSET_OF(owner, member, double), 0, 0, 0                                 \
    }
#define KN_FLAG(owner, member)                                                                               \
    {                                                                                                        \
        KN_FIELD_BOOL, #member, KN_OFFSET_OF(owner, member, bool), 0, 0, 0                                   \
    }
#define KN_ENUM(owner, member, value_names)                                                                  \
    {                                                                                                        \
        KN_FIELD_ENUM, #member,                                                                              \
            offsetof(owner, member) + 0 * sizeof(char[sizeof(((owner *)0)->member) == 4 ? 1 : -1]), 0,       \
            sizeof(value_names) / sizeof((value_names)[0]), value_names                                      \
    }
#define KN_INT_LIST(owner, member)                                                                           \
    {                                                                                                        \
        KN_FIELD_INTS, #member, KN_OFFSET_OF(owner, member, kn_ints), 0, 0, 0                                \
    }
#define KN_TEXT(owner, member)                                                                               \
    {                                                                                                        \
        KN_FIELD_TEXT, #member, KN_OFFSET_OF(owner, member[0], char), 0, sizeof(((owner *)0)->member), 0     \
    }

/* A module together with its descriptor, by value: KN_MODULE_OF(Net, &net). */
typedef struct kn_module {
    void *self;
    const kn_module_type *type;
} kn_module;
#ifdef __cplusplus
#define KN_MODULE_OF(module, pointer) (kn_module{(pointer), &module##_type})
#else
#define KN_MODULE_OF(module, pointer) ((kn_module){(pointer), &module##_type})
#endif

/* ---- walking */

typedef struct kn_module_entry {
    const char *path;            /* "fc1.weight"; valid during the call */
    kn_param *param;             /* never absent */
    const kn_module_type *owner; /* the module that holds it */
    void *owner_self;
    const kn_field *field;
    bool buffer;                  /* a BUFFER field */
    bool tied;                    /* the same param was met before, under another path */
    const kn_module_type *parent; /* the module that holds the owner; NULL for the module that is walked */
} kn_module_entry;

/* Returns KN_OK to go on; any other status ends the walk and is its result. */
typedef kn_status (*kn_module_visit_fn)(void *context, const kn_module_entry *entry);
/* Calls fn for each param and buffer, in the order of the fields, depth first. */
KN_API kn_status kn_module_visit(kn_module module, kn_module_visit_fn fn, void *context);
/* Returns the new value for a param (value is borrowed); poison ends the map with its error. */
typedef kn_tensor (*kn_module_map_fn)(void *context, const kn_module_entry *entry, kn_tensor value);
/* Replaces the value of each param and buffer, tied ones once. Dtype and device may change, the shape not. */
KN_API kn_status kn_module_map(kn_module module, kn_module_map_fn fn, void *context);
/* Returns the first value of the param or buffer called path (it is taken); KN_NONE leaves it absent, poison ends the walk. */
typedef kn_tensor (*kn_module_fill_fn)(void *context, const char *path);
/* Makes the params and buffers of a module that has none yet; those that are there stay. Lists and optionals must have their modules. */
KN_API KN_MUST_CHECK kn_status kn_module_fill(kn_module module, kn_module_fill_fn fn, void *context);
/* The param called path, or NULL with kn_last_error(). */
KN_API kn_param *kn_module_find(kn_module module, const char *path);

/* ---- what comes for free */

/* Elements of all params (tied ones once); with buffers too when all. */
KN_API int64_t kn_module_count(kn_module module, bool all);
/* Every MODE field: training or evaluating. Layers are made in training mode. */
KN_API void kn_module_train(kn_module module, bool training);
/* The values of all MODE fields in order, n of them at most; returns how many there are. */
KN_API int64_t kn_module_modes(kn_module module, bool *modes, int64_t n);
/* Gives them back; n is what kn_module_modes returned for the same module. */
KN_API void kn_module_set_modes(kn_module module, const bool *modes, int64_t n);
/* Freezes the params whose path matches the extended regular expression (NULL: all), or thaws them. */
KN_API kn_status kn_module_freeze(kn_module module, const char *pattern, bool frozen);
KN_API kn_status kn_module_to(kn_module module, kn_device device);
/* Casts every float param and buffer. */
KN_API kn_status kn_module_cast(kn_module module, kn_dtype dtype);
/* dst gets its own copies of the values of src; both have one type and the same shapes. */
KN_API kn_status kn_module_copy(kn_module dst, kn_module src);
/* A table of paths, types, settings, shapes and parameter counts, with totals; returns the length of the whole text. */
KN_API size_t kn_module_format(kn_module module, char *buffer, size_t n);
KN_API kn_status kn_module_print(kn_module module);
/* Looks in the struct for params that no field describes and names the offset in kn_last_error(). */
KN_API kn_status kn_module_check(kn_module module);
/* Drops all params and buffers, frees lists and optionals, and zeroes the struct. */
KN_API void kn_module_drop(kn_module module);
/* n zeroed modules for a LIST, one for an OPTIONAL; NULL with kn_last_error(). kn_module_drop of the owner frees them. */
KN_API void *kn_module_list(const kn_module_type *type, int32_t n);

/* ---- settings as JSON: the INT, REAL, BOOL, ENUM, INTS and TEXT fields of any struct, and of the modules inside it */

/* Returns the length of the whole text. */
KN_API size_t kn_config_format(const void *config, const kn_module_type *type, char *buffer, size_t n);
/* Fields that the text does not name keep their value; an unknown name or a wrong type is an error with line and column. */
KN_API kn_status kn_config_parse(void *config, const kn_module_type *type, const char *json, size_t length);
KN_API kn_status kn_config_save(const void *config, const kn_module_type *type, const char *path);
KN_API kn_status kn_config_load(void *config, const kn_module_type *type, const char *path);

#ifdef __cplusplus
}
#endif
#endif
