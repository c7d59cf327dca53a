/* The dtype table: one row of data per element type. */
#ifndef KNI_DTYPE_H
#define KNI_DTYPE_H

#include <kn/base.h>

enum { KNI_KIND_NONE, KNI_KIND_BOOL, KNI_KIND_UNSIGNED, KNI_KIND_SIGNED, KNI_KIND_FLOAT, KNI_KIND_RESERVED };

/* What the codes beside a float's finite values mean. */
enum {
    KNI_SPECIALS_IEEE,     /* infinities and NaNs: the largest exponent */
    KNI_SPECIALS_NAN,      /* a NaN of either sign, all bits set; no infinity */
    KNI_SPECIALS_ONE_ZERO, /* one NaN, in the place of negative zero */
    KNI_SPECIALS_NONE,
    KNI_SPECIALS_POWERS /* powers of two without a sign, and one NaN */
};

typedef struct kni_dtype_row {
    const char *name;
    uint8_t bits, bytes; /* of one element: what it needs, and what it takes in a tensor */
    uint8_t exponent,
        mantissa; /* of floats; mantissa without the hidden bit, the bits of an integer's magnitude */
    uint8_t kind; /* KNI_KIND_ */
    uint8_t specials, bias; /* KNI_SPECIALS_, of the exponent: small floats */
} kni_dtype_row;

extern const kni_dtype_row kni_dtypes[KN_DTYPE_COUNT];

/* True for the dtypes that ops compute with. */
static inline bool kni_dtype_usable(int dtype) { return dtype >= KN_F64 && dtype <= KN_BOOL; }
/* True for those that tensors can have but ops cast first (core/small_types.h). The codes above are reserved. */
static inline bool kni_dtype_stored(int dtype) { return dtype >= KN_F8_E4M3 && dtype <= KN_U2; }

/* The bits of an element where files pack several into a byte, else 0. */
static inline int kni_narrow_bits(int dtype)
{
    return kni_dtype_stored(dtype) && kni_dtypes[dtype].bits < 8 ? kni_dtypes[dtype].bits : 0;
}

/* The bytes of an element in a tensor. */
static inline int kni_bytes_of(int dtype) { return kni_dtypes[dtype].bytes; }

/* Whether n elements that are made of as many others of `from` take more bytes than these, and enough of them for that to matter: codes of
   weights that become floats. */
static inline bool kni_dtype_widens(int from, int to, int64_t n)
{
    return n > 16 && kni_dtypes[from].kind != KNI_KIND_BOOL && kni_dtypes[to].bits > kni_dtypes[from].bits;
}

/* kn_dtype_is_float for a dtype that is known to be one. */
static inline bool kni_is_float(int dtype) { return kni_dtypes[dtype].kind == KNI_KIND_FLOAT; }

/* These take any code, as a caller may have given it. */
static inline bool kni_is_bool(int dtype) { return dtype == KN_BOOL; }
/* f16 and bf16, which single ops compute in f32. */
static inline bool kni_is_half(int dtype) { return dtype == KN_F16 || dtype == KN_BF16; }

/* Of the halves: the one with the exponent of f32. */
static inline bool kni_is_brain(int dtype) { return dtype == KN_BF16; }

/* The type elements are computed in. Storage types are converted on load and store. */
typedef enum kni_compute {
    KNI_COMPUTE_F32,
    KNI_COMPUTE_F64,
    KNI_COMPUTE_I32,
    KNI_COMPUTE_I64,
    KNI_COMPUTE_U64,
    KNI_COMPUTE_COUNT
} kni_compute;
extern const uint8_t kni_compute_of[KN_DTYPE_COUNT];
extern const uint8_t kni_compute_dtype[KNI_COMPUTE_COUNT];
/* The type that the reference backend computes a dtype in: KNI_COMPUTE_F64, I64 or U64. */
extern const uint8_t kni_wide_of[KN_DTYPE_COUNT];

/* Bit masks over dtypes, for op rows. */
#define KNI_BIT(dtype) (1u << (dtype))
#define KNI_FLOATS (KNI_BIT(KN_F64) | KNI_BIT(KN_F32) | KNI_BIT(KN_F16) | KNI_BIT(KN_BF16))
#define KNI_SIGNED_INTS (KNI_BIT(KN_I64) | KNI_BIT(KN_I32) | KNI_BIT(KN_I16) | KNI_BIT(KN_I8))
#define KNI_UNSIGNED_INTS (KNI_BIT(KN_U64) | KNI_BIT(KN_U32) | KNI_BIT(KN_U16) | KNI_BIT(KN_U8))
#define KNI_INTS (KNI_SIGNED_INTS | KNI_UNSIGNED_INTS)
#define KNI_BOOLS KNI_BIT(KN_BOOL)
#define KNI_NUMBERS (KNI_FLOATS | KNI_INTS)
#define KNI_ALL (KNI_NUMBERS | KNI_BOOLS)
/* What tensors only store: all bits from the first to the last. */
#define KNI_STORED ((KNI_BIT(KN_U2) << 1) - KNI_BIT(KN_F8_E4M3))

/* Converts n elements; strides in elements. floats to integers truncate, saturate at 64 bits and
   then wrap to the dtype, NaN gives 0; int to int
   wraps; anything to bool is x != 0. */
void kni_convert(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                 int64_t from_stride, int64_t n);

#endif
