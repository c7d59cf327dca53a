/* What converters of operators see. A converter makes ops of the table (docs/ops.md) out of a node. Where these ops go it does not know:
   they run at once, or become part of a program (kn/program.h) whose inputs may have sizes that are known only later.

   Rules of converters:
   - Sizes are kni_extent, never int64_t: they may be expressions. A number is asked for where there is no other way (kni_extent_number).
   - Values can be used any number of times. Nothing is freed by hand.
   - The first failure is kept, and everything after it does nothing and gives KNI_ABSENT; so converters check nothing in between.
   - What a node needs to know now (the target of Reshape, the k of TopK) is read with kni_known_*, which fails, with the name of the
     node, where the content is not known: in a program, or costs a wait: on a GPU.
   - What no converter should do: read the content of a value because it is convenient. */
#ifndef KNI_ONNX_CONVERT_H
#define KNI_ONNX_CONVERT_H

#include "onnx/model.h"
#include <string.h>

/* A node being converted. */
typedef struct kni_conversion kni_conversion;

/* A value: a tensor, strings, a sequence, an optional, maps. {0}: absent. */
typedef struct kni_datum {
    int32_t id;
} kni_datum;
#define KNI_ABSENT ((kni_datum){0})

/* A size or another whole number: `value`, or the expression `text` over the sizes of inputs ("2 * n + 1") where that is not NULL. */
typedef struct kni_extent {
    int64_t value;
    const char *text;
} kni_extent;
#define KNI_EXTENT(number) ((kni_extent){(number), NULL})

/* ---- asking */

typedef enum kni_datum_kind {
    KNI_IS_ABSENT,
    KNI_IS_TENSOR,
    KNI_IS_STRINGS, /* a tensor of strings, which has a shape and lives on the host */
    KNI_IS_SEQUENCE,
    KNI_IS_OPTIONAL,
    KNI_IS_MAP
} kni_datum_kind;
kni_datum_kind kni_kind_of(const kni_conversion *c, kni_datum x);
static inline bool kni_is_given(kni_datum x) { return x.id != 0; }
kn_dtype kni_dtype_of(const kni_conversion *c, kni_datum x);
int32_t kni_rank_of(const kni_conversion *c, kni_datum x);
/* Of an axis; negative ones count from the end. Fails where there is no such axis. */
kni_extent kni_extent_of(kni_conversion *c, kni_datum x, int64_t axis);
/* All of them: `extents` has room for KN_MAX_RANK. Returns the rank. */
int32_t kni_extents_of(kni_conversion *c, kni_datum x, kni_extent *extents);
/* The product of all of them. */
kni_extent kni_count_of(kni_conversion *c, kni_datum x);
/* An axis as 0 .. rank - 1; fails where there is none. */
int32_t kni_axis_of(kni_conversion *c, kni_datum x, int64_t axis);
/* The same where the rank is that of the result. */
int32_t kni_axis_in(kni_conversion *c, int32_t rank, int64_t axis);
/* How many outputs the node's users read is not known; but one whose name is empty is not wanted. */
bool kni_is_wanted(const kni_onnx_node *node, int32_t output);

/* ---- computing with sizes. Numbers stay numbers; what overflows fails. */

kni_extent kni_extent_add(kni_conversion *c, kni_extent a, kni_extent b);
kni_extent kni_extent_sub(kni_conversion *c, kni_extent a, kni_extent b);
kni_extent kni_extent_mul(kni_conversion *c, kni_extent a, kni_extent b);
kni_extent kni_extent_div(kni_conversion *c, kni_extent a, kni_extent b); /* rounded down */
kni_extent kni_extent_max(kni_conversion *c, kni_extent a, kni_extent b);
kni_extent kni_extent_min(kni_conversion *c, kni_extent a, kni_extent b);
kni_extent kni_extent_product(kni_conversion *c, const kni_extent *list, int32_t n);
static inline bool kni_extent_is(kni_extent e, int64_t number) { return !e.text && e.value == number; }
/* Whether both are surely equal: numbers or the same expression. */
bool kni_extent_same(kni_extent a, kni_extent b);
/* Whether it is below 0 or, for an expression, may be as far as its text tells: what may be has a minus in it. */
static inline bool kni_extent_may_be_negative(kni_extent e)
{
    return e.text ? strchr(e.text, '-') != NULL : e.value < 0;
}
/* The number; where it is an expression the node fails: "... is known only when the model runs; give it with --dim". */
int64_t kni_extent_number(kni_conversion *c, kni_extent e, const char *what);

/* ---- contents of values that are known: constants, and what is computed from sizes */

/* Whether its content is known without reading from a device. All content is known of what runs at once on the CPU. */
bool kni_is_known(const kni_conversion *c, kni_datum x);
/* Whether ops run at once, so that everything can be read. */
bool kni_runs_now(const kni_conversion *c);
/* Whether it is known, and a number of it is an expression over sizes. */
bool kni_has_open_number(const kni_conversion *c, kni_datum x);
/* Whole numbers and truths of a tensor of any rank, in order, some of which may be expressions. NULL with the node failed; `what` is for
   the message: "the shape". */
const kni_extent *kni_known_extents(kni_conversion *c, kni_datum x, const char *what, int64_t *n);
/* The same for numbers that are never below 0, such as counts and sizes: a program reads those that are not known while it runs. */
const kni_extent *kni_known_counts(kni_conversion *c, kni_datum x, const char *what, int64_t *n);
/* The same for places, which may be below 0 where an input gives them, but hardly where they are computed. */
const kni_extent *kni_known_places(kni_conversion *c, kni_datum x, const char *what, int64_t *n);
/* The only element of a tensor of one. */
kni_extent kni_known_count(kni_conversion *c, kni_datum x, const char *what);
const int64_t *kni_known_ints(kni_conversion *c, kni_datum x, const char *what, int64_t *n);
/* How far the only number of value b of the model lies from that of a, where nodes make b of a, or both of one value, by adding and taking
   off numbers that are known. False: nothing says so. */
bool kni_known_distance(kni_conversion *c, int32_t a, int32_t b, int64_t *distance);
/* Numbers of any dtype as doubles. */
const double *kni_known_reals(kni_conversion *c, kni_datum x, const char *what, int64_t *n);
/* The only element of a tensor of one; `otherwise` where x is absent. */
int64_t kni_known_int(kni_conversion *c, kni_datum x, const char *what, int64_t otherwise);
double kni_known_real(kni_conversion *c, kni_datum x, const char *what, double otherwise);
const kni_onnx_text *kni_known_strings(kni_conversion *c, kni_datum x, int64_t *n);

/* ---- ops. An attribute is a whole number, a real one or a list of whole numbers, by its name in the op's row; those that are not given
   are 0. Which attributes may be expressions docs/programs.md says; others fail where one is. */

typedef struct kni_given_attribute {
    const char *name; /* NULL: the end of the list */
    int32_t kind;     /* 0: extents, 1: real */
    int32_t n;        /* of a list; -1: one whole number */
    double real;
    const kni_extent *extents;
    kni_extent one;
} kni_given_attribute;
#define KNI_WHOLE(name, number)                                                                              \
    {                                                                                                        \
        (name), 0, -1, 0, NULL, { (number), NULL }                                                           \
    }
#define KNI_ONE_EXTENT(name, extent)                                                                         \
    {                                                                                                        \
        (name), 0, -1, 0, NULL, (extent)                                                                     \
    }
#define KNI_REAL(name, number)                                                                               \
    {                                                                                                        \
        (name), 1, 0, (number), NULL, { 0, NULL }                                                            \
    }
#define KNI_EXTENTS(name, list, count)                                                                       \
    {                                                                                                        \
        (name), 0, (count), 0, (list), { 0, NULL }                                                           \
    }
/* KNI_GIVE(KNI_WHOLE("axis", 1), KNI_REAL("eps", 1e-5)) */
#define KNI_GIVE(...)                                                                                        \
    (const kni_given_attribute[])                                                                            \
    {                                                                                                        \
        __VA_ARGS__, { 0 }                                                                                   \
    }

/* An op with one result; `in` may have KNI_ABSENT for optional operands. attributes: NULL for none. */
kni_datum kni_emit(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                   const kni_given_attribute *attributes);
void kni_emit_many(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                   const kni_given_attribute *attributes, kni_datum *out, int32_t n_out);
kni_datum kni_emit1(kni_conversion *c, const char *op, kni_datum x);
kni_datum kni_emit2(kni_conversion *c, const char *op, kni_datum a, kni_datum b);
kni_datum kni_emit3(kni_conversion *c, const char *op, kni_datum a, kni_datum b, kni_datum d);
/* KNI_LIST(x, y): a list and its length, as two arguments. */
#define KNI_LIST(...)                                                                                        \
    (const kni_datum[]){__VA_ARGS__}, (int32_t)(sizeof((const kni_datum[]){__VA_ARGS__}) / sizeof(kni_datum))

/* ---- what converters often need (tools.c) */

/* Values to integers as casts of ONNX do: truncated. x itself where it has the dtype. */
kni_datum kni_cast_to(kni_conversion *c, kni_datum x, kn_dtype dtype);
/* Reshapes to sizes of which all are given. x itself where nothing changes. */
kni_datum kni_reshape_to(kni_conversion *c, kni_datum x, const kni_extent *extents, int32_t rank);
/* Inserts an axis of one element before `axis` of the result; removes one. */
kni_datum kni_unsqueeze_at(kni_conversion *c, kni_datum x, int32_t axis);
kni_datum kni_squeeze_at(kni_conversion *c, kni_datum x, int32_t axis);
/* As [product of the axes before `axis`, product of the others]. */
kni_datum kni_flatten_at(kni_conversion *c, kni_datum x, int32_t axis);
kni_datum kni_permute_to(kni_conversion *c, kni_datum x, const int32_t *axes, int32_t n);
/* Swaps two axes. */
kni_datum kni_swap_axes(kni_conversion *c, kni_datum x, int32_t a, int32_t b);
kni_datum kni_expand_to(kni_conversion *c, kni_datum x, const kni_extent *extents, int32_t rank);
/* x[start:stop] along one axis, step 1; start and stop are within it. */
kni_datum kni_slice_of(kni_conversion *c, kni_datum x, int32_t axis, kni_extent start, kni_extent stop);
kni_datum kni_concat_of(kni_conversion *c, const kni_datum *list, int32_t n, int32_t axis);
/* Zeros (or `value`) at both ends of each axis; the lists have rank entries. */
kni_datum kni_pad_with(kni_conversion *c, kni_datum x, const kni_extent *before, const kni_extent *after,
                       double value);
/* Sums, maxima ... over axes, op one of "sum" "mean" "max" "min" "prod" ...; of no axes (n 0) over all. */
kni_datum kni_reduce_over(kni_conversion *c, const char *op, kni_datum x, const int32_t *axes, int32_t n,
                          bool keep);
/* Tensors from numbers. */
kni_datum kni_real_number(kni_conversion *c, double value, kn_dtype dtype); /* rank 0 */
kni_datum kni_whole_number(kni_conversion *c, int64_t value, kn_dtype dtype);
kni_datum kni_filled(kni_conversion *c, double value, kn_dtype dtype, const kni_extent *extents,
                     int32_t rank);
/* start, start + 1 ... of a length, i64. */
kni_datum kni_counting(kni_conversion *c, int64_t start, kni_extent length, kn_dtype dtype);
/* A constant from memory, which is copied. */
kni_datum kni_constant(kni_conversion *c, const void *data, kn_dtype dtype, const int64_t *sizes,
                       int32_t rank);
/* The same from a tensor of the file, strings too. */
kni_datum kni_constant_of(kni_conversion *c, const kni_onnx_tensor *tensor);
/* i64 of rank 1 whose elements may be expressions, as Shape gives. rank 0 with scalar. */
kni_datum kni_known_list(kni_conversion *c, const kni_extent *elements, int64_t n, bool scalar);

/* ---- what a node makes of its attributes alone, and needs in each run */

/* What kni_keep kept under a number below KNI_KEPT in an earlier run; KNI_ABSENT: nothing. Of several things the one that is kept last
   tells that the others are there. */
enum { KNI_KEPT = 16 };
kni_datum kni_kept(kni_conversion *c, int32_t number);
/* Keeps a tensor that is known for the next runs, where ops run at once. Returns it. */
kni_datum kni_keep(kni_conversion *c, int32_t number, kni_datum x);

/* ---- strings, sequences, optionals, maps: they live on the host */

kni_datum kni_strings(kni_conversion *c, const kni_onnx_text *texts, const kni_extent *extents, int32_t rank);
kni_datum kni_sequence(kni_conversion *c, const kni_datum *items, int64_t n);
int64_t kni_sequence_count(kni_conversion *c, kni_datum sequence);
/* Negative places count from the end; fails outside. */
kni_datum kni_sequence_at(kni_conversion *c, kni_datum sequence, int64_t place);
/* x may be absent: the empty optional. */
kni_datum kni_optional(kni_conversion *c, kni_datum x);
/* What it holds; absent where it is empty. A value that is no optional is handed through. */
kni_datum kni_optional_value(kni_conversion *c, kni_datum optional);
/* A map: its keys (strings, or i64 of rank 1) and values, of the same count. */
kni_datum kni_map(kni_conversion *c, kni_datum keys, kni_datum values);
kni_datum kni_map_keys(kni_conversion *c, kni_datum map);
kni_datum kni_map_values(kni_conversion *c, kni_datum map);

/* ---- inner graphs (SequenceMap and the like; If, Loop and Scan are the session's own) */

void kni_graph_convert(kni_conversion *c, const kni_onnx_graph *graph, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out);

/* ---- failing and memory */

/* The node fails: "node 'conv1' (Conv): " and the text. What is not supported: KN_ERROR_UNSUPPORTED. */
void kni_convert_fail(kni_conversion *c, kn_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool kni_convert_failed(const kni_conversion *c);
/* Lives until the node is converted; fails the node and returns NULL without memory. Zeroed. */
void *kni_convert_memory(kni_conversion *c, size_t count, size_t size);
/* Whether ops run now, with all sizes known, and not into a program. */
bool kni_converts_now(const kni_conversion *c);
/* Whether x is a constant of the model, the same in every run; an absent value is. */
bool kni_is_constant(const kni_conversion *c, kni_datum x);

/* ---- the table of converters */

enum {
    KNI_ONNX_RANDOM = 1, /* each run gives something else: never computed ahead */
    KNI_ONNX_HOST = 2,   /* works on the host alone: strings, sequences, maps */
    KNI_ONNX_INNER = 4   /* has inner graphs */
};

/* in and out have room for at least KNI_ONNX_ROOM entries: those past n_in are KNI_ABSENT, so that in[3] can always be read. */
enum { KNI_ONNX_ROOM = 32 };
typedef void kni_convert_function(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                  int32_t n_in, kni_datum *out, int32_t n_out);

/* A row serves versions since <= v < before of its domain's operators; before 0: no end. Several rows of one operator may follow each
   other. */
typedef struct kni_onnx_converter {
    const char *domain, *op; /* "" is ai.onnx */
    int32_t since, before;
    kni_convert_function *convert;
    uint32_t flags;
    const char *
        types; /* element types of the main operand that it takes, for docs/onnx.md: "floats integers bool strings" */
} kni_onnx_converter;

/* The families, each a list that ends with a row without a name, in src/onnx/convert/. */
extern const kni_onnx_converter kni_onnx_math[];   /* elementwise numbers, comparisons, bits, casts: math.c */
extern const kni_onnx_converter kni_onnx_reduce[]; /* reductions, scans, sorting, arg, topk: reduce.c */
extern const kni_onnx_converter kni_onnx_shape[]; /* shapes, movement, indexing, creation, random: shape*.c */
extern const kni_onnx_converter
    kni_onnx_contract[]; /* MatMul, Gemm, Einsum, Det, Inverse, DFT, STFT ...: contract.c */
extern const kni_onnx_converter
    kni_onnx_network[]; /* convolutions, pools, norms, activations, losses, dropout: network*.c */
extern const kni_onnx_converter
    kni_onnx_image[]; /* Resize, RoiAlign, GridSample, Unique, NonMaxSuppression ...: image.c */
extern const kni_onnx_converter kni_onnx_quantized[]; /* quantized.c */
extern const kni_onnx_converter kni_onnx_recurrent[]; /* recurrent.c */
extern const kni_onnx_converter kni_onnx_attention[]; /* attention.c */
extern const kni_onnx_converter kni_onnx_text_ops[];  /* strings, tokenizers: text.c */
extern const kni_onnx_converter kni_onnx_sequence[];  /* sequences, optionals: sequence.c */
extern const kni_onnx_converter kni_onnx_learning[];  /* ai.onnx.ml: learning*.c */
extern const kni_onnx_converter kni_onnx_training[];  /* ai.onnx.preview.training: training.c */
extern const kni_onnx_converter
    kni_onnx_fused[]; /* com.microsoft's fused operators that have no other family: fused.c */

/* The row of a node, NULL: no converter. *reason (may be NULL): why. */
const kni_onnx_converter *kni_onnx_converter_of(const kni_onnx_node *node, const char **reason);

#endif
