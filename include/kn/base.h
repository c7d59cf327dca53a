/* The types every other header needs: export macros, status codes, dtypes, shapes, the tensor handle and
   the call site. */
#ifndef KN_BASE_H
#define KN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(KN_FREESTANDING) || !defined(__GNUC__)
#define KN_API
#else
#define KN_API __attribute__((visibility("default")))
#endif
#if defined(__GNUC__)
#define KN_MUST_CHECK __attribute__((warn_unused_result))
/* Behind a declaration: an old name, which still does what it did, and what to write instead (docs/migration.md). */
#define KN_DEPRECATED(instead) __attribute__((deprecated(instead)))
#else
#define KN_MUST_CHECK
#define KN_DEPRECATED(instead)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define KN_MAX_RANK 8

/* What a function that does not return a tensor answers. The text is in kn_last_error(). Codes are fixed
   for ever; new ones are appended. */
typedef enum kn_status {
    KN_OK = 0,
    KN_ERROR_ARGUMENT = 1,    /* a value outside what the function takes */
    KN_ERROR_SHAPE = 2,       /* shapes that do not fit each other */
    KN_ERROR_DTYPE = 3,       /* a dtype the op does not take */
    KN_ERROR_HANDLE = 4,      /* none, stale, garbage or another thread's tensor */
    KN_ERROR_MEMORY = 5,      /* no memory, or past the limit */
    KN_ERROR_DEVICE = 6,      /* unknown, different or lost device */
    KN_ERROR_INDEX = 7,       /* an index outside its axis */
    KN_ERROR_UNSUPPORTED = 8, /* no such path, with the reason */
    KN_ERROR_GRADIENT = 9,    /* nothing to differentiate */
    KN_ERROR_INTERNAL = 10,
    KN_ERROR_IO = 11,
    KN_ERROR_NUMERIC = 12 /* singular matrix, NaN found by a checking decorator ... */
} kn_status;

/* Element types. Numbers are part of the wire format and append-only. Tensors of KN_F8_E4M3 to KN_U2 are only stored: ops that
   compute cast first (docs/stored-dtypes.md). Those above are reserved. */
typedef enum kn_dtype {
    KN_DTYPE_NONE = 0,
    KN_F64 = 1,
    KN_F32 = 2,
    KN_F16 = 3,
    KN_BF16 = 4,
    KN_I64 = 5,
    KN_I32 = 6,
    KN_I16 = 7,
    KN_I8 = 8,
    KN_U64 = 9,
    KN_U32 = 10,
    KN_U16 = 11,
    KN_U8 = 12,
    KN_BOOL = 13,
    KN_F8_E4M3 = 14,
    KN_F8_E5M2 = 15,
    KN_F8_E4M3_FNUZ = 16,
    KN_F8_E5M2_FNUZ = 17,
    KN_F4_E2M1 = 18,
    KN_E8M0 = 19,
    KN_I4 = 20,
    KN_U4 = 21,
    KN_I2 = 22,
    KN_U2 = 23,
    KN_C64 = 24,
    KN_C128 = 25,
    KN_QUANTISED = 26,
    KN_DTYPE_COUNT = 27
} kn_dtype;

/* A tensor, by value: 1 bit poison, 23 bits slot, 40 bits generation. All zero is KN_NONE. */
typedef struct kn_tensor {
    uint64_t bits;
} kn_tensor;

#ifdef __cplusplus
#define KN_NONE (kn_tensor{0})
#else
#define KN_NONE ((kn_tensor){0})
#endif

/* The size of each axis, outermost first. Rank 0 is a single number. */
typedef struct kn_shape {
    int32_t rank;
    int64_t dims[KN_MAX_RANK];
} kn_shape;

/* KN_SHAPE(2, 3) is a kn_shape literal; KN_SCALAR_SHAPE has rank 0. */
#ifdef __cplusplus
#define KN_SHAPE(...) kn_shape_of({__VA_ARGS__})
#define KN_SCALAR_SHAPE (kn_shape{0, {0}})
#else
#define KN_SHAPE(...)                                                                                        \
    ((kn_shape){(int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define KN_SCALAR_SHAPE ((kn_shape){0, {0}})
#endif

/* Lists of axes, sizes or steps: KN_AXES(0, -1), KN_AXES_ALL for every axis. */
typedef kn_shape kn_ints;
#define KN_INTS(...) KN_SHAPE(__VA_ARGS__)
#define KN_AXES(...) KN_SHAPE(__VA_ARGS__)
#define KN_AXES_ALL KN_SCALAR_SHAPE

/* What 0 means in an args struct. Where 0 switches a thing off (weight decay, dropout, an optimiser's momentum, smoothing), 0
   and an omitted field mean 0. Where an omitted field must not mean 0 (eps, betas, scales, a temperature, an axis), 0 is the
   default and KN_ZERO means 0; the comment of the field says so. A NULL struct stands for all defaults, PyTorch's where it has
   them, and KN_<STRUCT>_DEFAULTS initialises one with them:

       kn_adamw_args a = KN_ADAMW_ARGS_DEFAULTS;
       a.beta2 = 0.95;

   KN_ZERO fits fields of the types int64_t and double. */
#define KN_ZERO INT64_MIN
/* A field with such a default: 0 becomes by_default, KN_ZERO becomes 0. For args structs of your own, too. */
static inline double kn_real_or(double value, double by_default)
{
    return value == 0 ? by_default : value == (double)KN_ZERO ? 0 : value;
}
static inline int64_t kn_int_or(int64_t value, int64_t by_default)
{
    return value == 0 ? by_default : value == KN_ZERO ? 0 : value;
}
/* The other way round: how a struct is told a value that may be 0. */
static inline double kn_real_given(double value) { return value == 0 ? (double)KN_ZERO : value; }
static inline int64_t kn_int_given(int64_t value) { return value == 0 ? KN_ZERO : value; }
/* Initialisers of a struct, in C and C++: its fields in their order, or zeros. */
/* clang-format off */
#define KN_FIELDS(...) {__VA_ARGS__}
#ifdef __cplusplus
#define KN_ZEROED {}
#else
#define KN_ZEROED {0}
#endif
/* clang-format on */

typedef struct kn_device_object *kn_device;

/* The file and line of a call as one literal. */
#define KN_SITE_TEXT2(x) #x
#define KN_SITE_TEXT(x) KN_SITE_TEXT2(x)
#define KN_SITE __FILE__ ":" KN_SITE_TEXT(__LINE__)

/* Notes where the calling thread's latest op was called; see kn/sites.h. */
KN_API void kn_site_note(const char *site);
/* Adds the line to the calling thread's latest failure when that has none yet, for functions that run no op and have failed. */
KN_API void kn_site_failure(const char *site);
/* The same for functions that may have failed: only a failure that has just been told gets the line. */
KN_API void kn_site_pending(const char *site);
/* The same for functions that free an object, and notes where it was freed. */
KN_API void kn_site_freed(const char *site);
/* After a good end: what the call has made to stay, or has ended, gets its line. */
KN_API void kn_site_done(const char *site);

static inline kn_tensor kn_at(kn_tensor t, const char *site)
{
    kn_site_note(site);
    return t;
}

#ifdef __cplusplus
}
#include <initializer_list>
static inline kn_shape kn_shape_of(std::initializer_list<int64_t> dims)
{
    kn_shape s = {0, {0}};
    for (int64_t d : dims)
        if (s.rank < KN_MAX_RANK) s.dims[s.rank++] = d;
    return s;
}
#endif
#endif
