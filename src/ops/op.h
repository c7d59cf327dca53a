/* The op row and everything a family of ops is written with: attributes, shape rules, bodies,
   reference kernels, gradients, lowering, and the functions that public ops call. */
#ifndef KNI_OP_H
#define KNI_OP_H

#include "core/dtype.h"
#include "core/error.h"
#include "core/float_env.h"
#include "core/table.h"
#include "core/type.h"
#include "ops/kernel.h"
#include <kn.h>
#include <kn/backend.h>

/* ---- numbers: append-only, from one list */

enum {
#define KN_OP(number, name, ...) KNI_OP_##name = number,
#include "ops/ops.def"
#undef KN_OP
};

/* ---- attributes: a struct of int64_t, double and kn_ints fields, described by a schema */

enum { KNI_ATTR_INT, KNI_ATTR_REAL, KNI_ATTR_INTS };
enum {
    KNI_STATIC,
    KNI_DYNAMIC, /* bound at replay, not part of a plan's key */
    KNI_CHOICE   /* static, and a truth in the row's body */
};

typedef struct kn_attribute {
    const char *name;
    uint8_t type, dynamic;
    uint16_t offset;
} kn_attribute;

#define KNI_ATTR(struct_type, field, kind, when)                                                             \
    {                                                                                                        \
#field, kind, when, (uint16_t)offsetof(struct_type, field)                                           \
    }

/* Elementwise rows with scalars in their body have this struct. */
typedef struct kni_scalar_params {
    double p[4];
} kni_scalar_params;

/* ---- the row */

typedef enum kni_kind {
    KNI_CREATE,
    KNI_ELEMENTWISE,
    KNI_MOVEMENT,
    KNI_REDUCE,
    KNI_SCAN,
    KNI_CONTRACTION,
    KNI_INDEXING,
    KNI_SORTING,
    KNI_WINDOW,
    KNI_LINALG,
    KNI_COMPOSITE,
    KNI_RANDOM,
    KNI_SYSTEM,
    KNI_KIND_COUNT
} kni_kind;

/* The order in which results lie on a device that wants channels last (docs/layout.md): row-major; that of an operand, as all
   pointwise rows and casts have it anyway; channels last where the leaf's table says so. */
typedef enum kni_layout { KNI_LAYOUT_FREE, KNI_LAYOUT_KEEPS, KNI_LAYOUT_WANTS } kni_layout;

/* How the dtype of an elementwise row follows from its operands. */
typedef enum kni_rule {
    KNI_RULE_PROMOTE, /* the promoted dtype of the operands */
    KNI_RULE_FLOAT,   /* the same, integers and bool become f32 */
    KNI_RULE_COMPARE, /* computed in the promoted dtype, result bool */
    KNI_RULE_SELECT   /* operand 0 is bool, the others promote */
} kni_rule;

enum {
    KNI_FLAG_COMMUTES = 1,
    KNI_FLAG_NO_GRADIENT = 2,    /* gradients never flow (comparisons, integers): constants to the tape */
    KNI_FLAG_RANDOM = 4,         /* draws numbers: attributes carry key and counter */
    KNI_FLAG_ALIAS = 8,          /* an output may reuse the memory of an operand that dies */
    KNI_FLAG_ZERO_GRADIENT = 16, /* differentiable with gradient zero everywhere (sign, floor) */
    KNI_FLAG_NOT_DIFFERENTIABLE = 32, /* asking for its gradient is an error that says so */
    /* Gradient and lowering take several steps: halves take them in f32 and are rounded once. */
    KNI_FLAG_WIDE = 64,
    /* Changes the dtype of its operand and nothing else: a copy where that is the same. */
    KNI_FLAG_CONVERTS = 128,
    /* What is inside (exp, sigmoid, normal_cdf) has digits enough by shorter formulas, where the result is a half, or a half
       or f32. */
    KNI_FLAG_SHORT_HALF = 256,
    KNI_FLAG_SHORT_SINGLE = 512,
    /* The lowering is made of products, which outrun the reference kernel by far. */
    KNI_FLAG_LOWERS_WELL = 1024,
    /* Results are elements of the operands, or a fill value: what their bits mean does not matter. */
    KNI_FLAG_MOVES = 2048,
    /* The lowering is so many ops that a queue takes these, to group them, where the leaf would lower the record. */
    KNI_FLAG_LOWERS_EARLY = 4096
};

/* How a scan joins its value so far with the next element. */
typedef enum kni_combine {
    KNI_COMBINE_NONE,
    KNI_COMBINE_SUM,
    KNI_COMBINE_PRODUCT,
    KNI_COMBINE_LARGEST, /* and where it is, as a second result; LEAST too */
    KNI_COMBINE_LEAST,
    KNI_COMBINE_LINEAR, /* h = a h + b */
    KNI_COMBINE_LOG_SUM /* log(exp(y) + exp(x)) */
} kni_combine;

/* Formulas that vendors' libraries know by name, and compute at the end of a product. Sums and relu are read off the body. */
typedef enum kni_known { KNI_KNOWN_NONE, KNI_KNOWN_GELU_TANH, KNI_KNOWN_GELU_TANH_GRAD } kni_known;

/* What autocast does with the operands. Contractions are where a shorter float pays. Rows whose results outgrow f16 or lose too
   much in a sum are computed in f32. Norms and softmax compute in f32 inside whatever they are given and return it in
   their operand's dtype; cross entropy, whose logits are often the largest tensor of all, reads them as they are. */
enum { KNI_AUTOCAST_NARROW = -1, KNI_AUTOCAST_NONE, KNI_AUTOCAST_WIDEN };

/* How far a result may be from the exact one, by dtype: |a - b| <= ulps * eps * max(|b|, scale). */
typedef struct kni_tolerance {
    float ulps; /* 0 = exact */
    float
        roots; /* times sqrt(length of the contraction or reduction); above 0: terms are summed and may cancel, so that
                    errors are relative to them, not to the result alone */
} kni_tolerance;

/* What the row reduces along (ops/line.h). Results belong to an element each, to a line, to a place of all lines, or to
   several of these. */
enum { KNI_LINE_NONE, KNI_LINE_AXES, KNI_LINE_AXIS, KNI_LINE_LAST, KNI_LINE_CLASSES, KNI_LINE_CHANNEL };
enum {
    KNI_PER_ELEMENT,
    KNI_PER_LINE,
    KNI_PER_PLACE,
    KNI_PER_SEVERAL,
    KNI_PER_POINT /* an element from its own place: lines only say what operands belong to */
};
typedef struct kni_line {
    uint8_t axes, operand, results;
    uint16_t attribute; /* offset of the axes, the axis, or the number of last axes */
} kni_line;
#define KNI_ALONG(kind, of_operand, per, struct_type, field)                                                 \
    {                                                                                                        \
        KNI_LINE_##kind, of_operand, KNI_PER_##per, (uint16_t)offsetof(struct_type, field)                   \
    }

/* What the sums and products along a line are computed in: */
typedef enum kni_sums {
    KNI_SUMS_OWN,   /* as the row computes: halves in f32 */
    KNI_SUMS_WHOLE, /* integers and truths in i64 */
    KNI_SUMS_WIDE, /* and floats in f64 where the device has it: they may leave the range of f32 and come back */
    KNI_SUMS_REAL /* everything in that, integers too */
} kni_sums;

typedef struct kni_infer kni_infer;
typedef struct kni_launch kni_launch;
typedef struct kni_view kni_view;
typedef struct kni_vjp kni_vjp;
typedef struct kni_lowering kni_lowering;
struct kni_native;

/* One operand or result in contiguous host memory, for custom ops. */
typedef struct kni_span {
    void *data;
    const kni_type *type;
} kni_span;

typedef struct kn_op {
    uint16_t number;
    uint8_t combine, known; /* kni_combine of a scan, kni_known */
    const char *name, *doc; /* doc starts with the formula */
    int8_t min_in, max_in;  /* max_in -1: any number */
    int8_t n_out, autocast; /* KNI_AUTOCAST_ */
    uint8_t kind, layout, rule, sums;
    uint8_t
        follows; /* 1 + the operand whose order a row that keeps it follows; 0: the first one of the result's shape */
    uint32_t flags, dtypes; /* dtypes: KNI_BIT mask the op computes on */
    kni_tolerance tolerance;
    const kn_attribute *schema; /* ends with a NULL name */
    uint16_t attribute_bytes;
    kni_line line;
    kn_status (*infer)(kni_infer *c);
    /* The names of operands and results in the body; NULL: x or a b c d, and y. */
    const char *in, *out;
    const struct kni_body *body;        /* the formula of an elementwise row, compact: see body.h */
    kn_status (*launch)(kni_launch *l); /* chooses and parametrises the reference kernel */
    const char *
        report; /* the text of a KN_ERROR_NUMERIC after report(item << 32 | detail): two %D, NULL: an index */
    kn_status (*lower)(kni_lowering *l); /* to simpler ops */
    bool (*view)(kni_view *v);           /* layout-only: false when the elements must be copied */
    kn_status (*host)(const struct kn_op *row, const void *attributes, const kni_span *in,
                      const kni_span *out); /* a custom op's function, or a user's kernel run on the CPU */
    kn_status (*custom_gradient)(
        kni_vjp *v);                 /* of a custom op; other rows have theirs in the gradient column */
    const struct kni_native *native; /* entry of the CPU backend; named here so that linkers can drop it */
    const kni_kernel_source *
        source; /* of a row made from a user's kernel; `launch` then fills in sizes and numbers, and a kernel without
                    instances; what cannot parse the text runs `host` */
    const struct kni_wide_steps
        *wide; /* of KNI_FLAG_WIDE rows with a lowering; named here so that linkers can drop it */
} kn_op;

/* Whether the row computes each element of its result from one element of each operand, by its body. */
static inline bool kni_is_pointwise(const kn_op *row) { return row->body && row->kind == KNI_ELEMENTWISE; }

/* Whether the row changes the dtype of its operand and nothing else. */
static inline bool kni_converts(const kn_op *row) { return row->flags & KNI_FLAG_CONVERTS; }

/* Whether results lie in the order of an operand. */
static inline bool kni_keeps_order(const kn_op *row)
{
    return row->layout == KNI_LAYOUT_KEEPS || kni_is_pointwise(row) || kni_converts(row);
}

/* OP(softplus, .doc = "log(1 + exp(x))", ...) defines the row kni_op_softplus. */
#define OP(op_name, ...)                                                                                     \
    const kn_op kni_op_##op_name = {.number = KNI_OP_##op_name, .name = #op_name, __VA_ARGS__};

#define KN_OP(number, name, ...) extern const kn_op kni_op_##name;
#include "ops/ops.def"
#undef KN_OP

/* All rows, in the order of their numbers, NULL where a number is unused. Linked only by who asks. */
int kni_op_count(void);
const kn_op *kni_op_by_number(int number);
const kn_op *kni_op_by_name(const char *name);
/* The attributes by name, never NULL: of formulas with numbers and no schema p0 to p3. */
const kn_attribute *kni_schema_of(const kn_op *row);
/* Fails because the row has no attribute of this name, and says which it has, `first` (may be NULL) before the others. */
kn_status kni_fail_attribute(const kn_op *row, const char *name, const char *first);

/* ---- shape rules */

struct kni_infer {
    const kn_op *row;
    const kni_type *const *in;
    int n_in;
    void *attributes; /* rules write normalised values back: no negative axis reaches a record */
    kni_type *const *out;
    int n_out;
};

/* ---- reference kernels: see docs/kernel-language.md */

enum { KNI_MAX_KERNEL_INTS = 96, KNI_MAX_KERNEL_REALS = 16, KNI_MAX_KERNEL_TEMPS = 4 };

struct kni_launch {
    const kn_op *row;
    const void *attributes;
    const kni_type *const *in, *const *out;
    int n_in, n_out;
    /* To be filled in by the row. Buffers are contiguous. */
    const kni_kernel *kernel;
    int64_t items;
    int64_t ints[KNI_MAX_KERNEL_INTS];
    double reals[KNI_MAX_KERNEL_REALS];
    int64_t temps[KNI_MAX_KERNEL_TEMPS]; /* elements of each temporary buffer */
    int n_ints, n_reals, n_temps;
    int fixed; /* what comes behind so many ints has few values: devices make it a part of the kernel; 0: nothing */
    bool small; /* all whole numbers that the kernel computes are below 2^31 */
};
void kni_launch_int(kni_launch *l, int64_t value);
void kni_launch_real(kni_launch *l, double value);
void kni_launch_ints(kni_launch *l, const int64_t *values, int n); /* an array parameter */

/* ---- movement: how the result lies in the memory of operand 0, in elements */

struct kni_view {
    const void *attributes;
    const kni_type *in, *out;
    const int64_t *in_strides;
    int64_t in_offset;
    int64_t *strides, offset; /* to be filled in */
};

/* ---- lowering: computes outputs from inputs with other ops */

struct kni_lowering {
    const kn_op *row;
    const void *attributes;
    const kn_tensor *in; /* kept: use as often as needed; KN_NONE where an optional operand is absent */
    int n_in;
    kn_tensor *out; /* to be filled in */
    int n_out;
};

/* ---- gradients. GRADIENT(softplus) { ... } defines the entry of the gradient column. */

struct kni_vjp {
    const kn_op *row;
    const void *attributes;
    int n_in, n_out;
    /* Use kni_vjp_in and kni_vjp_out; the first replaces an operand that was promoted by its cast. */
    kn_tensor *saved_in;
    const kn_tensor *saved_out;
    const kni_type *in_types, *out_types;
    const kn_tensor *dy; /* by output; KN_NONE where nothing flows */
    kn_tensor *grads;    /* by input; set with kni_vjp_set */
    uint64_t needs;      /* bit i: input i wants a gradient */
    uint64_t used_in, used_out;
};
#define GRADIENT(op_name) kn_status kni_gradient_##op_name(kni_vjp *v)
#define KN_OP(number, name, ...) kn_status kni_gradient_##name(kni_vjp *v);
#include "ops/ops.def"
#undef KN_OP
typedef kn_status (*kni_gradient_fn)(kni_vjp *v);
/* NULL where the row has none. */
kni_gradient_fn kni_gradient_of(const kn_op *row);

/* TAPED(max_pool_values) { ... } defines what a tape records instead of the row, where a gradient will be wanted: other ops with the
   same results, which keep what the gradient reads. */
#define TAPED(op_name) kn_status kni_taped_##op_name(kni_lowering *l)
#define KN_OP(number, name, ...) TAPED(name);
#include "ops/ops.def"
#undef KN_OP
typedef kn_status (*kni_lower_fn)(kni_lowering *l);
/* NULL where the row itself is recorded. */
kni_lower_fn kni_taped_of(const kn_op *row);

kn_tensor kni_vjp_in(kni_vjp *v, int i);  /* the value of an input, kept */
kn_tensor kni_vjp_out(kni_vjp *v, int i); /* the value of an output, kept */
static inline bool kni_vjp_needs(const kni_vjp *v, int i) { return (v->needs >> i) & 1; }
/* Gives input i its gradient (takes temporaries); sums over axes that were broadcast. */
void kni_vjp_set(kni_vjp *v, int i, kn_tensor gradient);
kn_shape kni_vjp_shape(const kni_vjp *v, int i); /* of input i */
/* Runs a gradient; halves of a KNI_FLAG_WIDE row reach it as f32, and its results are rounded. */
kn_status kni_vjp_run(kni_vjp *v, kni_gradient_fn gradient);

/* The dtype that an elementwise row computes its operands first .. last - 1 in. */
int kni_operand_dtype(const kn_op *row, const kni_type *const *types, int first, int last);
/* The dtype an operand is rounded to before it is computed with in `compute`: `common`, that of all operands, where it
   is narrower than `compute` and does not hold all of the operand's; else 0. Numbers keep their digits. */
int kni_rounds_to(const kni_type *operand, int common, int compute);

/* ---- running ops */

/* One output. attributes may be NULL when the row has none; they are copied. Takes temporaries. */
kn_tensor kni_apply(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes);
/* Several outputs; on failure all are poisoned. */
void kni_apply_many(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes, kn_tensor *out,
                    int n_out);

/* The same for an update of owned operands: the caller replaces operand i by a result where bit i of replaced is set, so
   its memory may be reused though its handle lives on. After a failure that memory is as before. */
void kni_apply_update(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes, kn_tensor *out,
                      int n_out, uint64_t replaced);

static inline kn_tensor kni_unary(const kn_op *row, kn_tensor x) { return kni_apply(row, &x, 1, NULL); }
static inline kn_tensor kni_binary(const kn_op *row, kn_tensor a, kn_tensor b)
{
    kn_tensor in[2] = {a, b};
    return kni_apply(row, in, 2, NULL);
}
/* Numbers p0.. of an elementwise body. */
kn_tensor kni_unary_params(const kn_op *row, kn_tensor x, double p0, double p1, double p2);

/* A number as an operand next to x: whole numbers keep an integer tensor's dtype, fractions make it float. */
kn_tensor kni_number(kn_tensor x, double value);

/* ---- composites: functions made of other public ops. Errors inside name the composite, and all it made
   but its result is freed. */

typedef struct kni_call {
    kn_scope scope;
    kni_context context; /* of before */
    kni_float_env env;
} kni_call;
kni_call kni_call_begin(const char *name);
/* A temporary that the composite was given twice lives until the composite ends, not until its first use. */
void kni_call_share(const kn_tensor *x, int32_t n);
kn_tensor kni_call_end(kni_call call, kn_tensor result);
void kni_call_end_many(kni_call call, kn_tensor *results, int n);
/* Fails the composite: a poisoned tensor with "kn_<name>: text". */
kn_tensor kni_call_fail(kni_call call, kn_status code, const char *format, ...);

#endif
