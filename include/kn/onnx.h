/* ONNX models: loading a file, asking what it takes and gives, and running it on any device.

       kn_onnx model = kn_onnx_load("resnet.onnx", NULL);
       kn_tensor y;
       kn_status s = kn_onnx_run(model, &x, 1, &y, 1);
       kn_onnx_free(model);

   A model runs on the calling thread's device (kn_device_use). Its weights are used where they lie in the mapped file on the CPU, and are
   copied once to every other device. Arithmetic with shapes runs on the CPU, whatever the device. */
#ifndef KN_ONNX_H
#define KN_ONNX_H

#include <kn/call.h>
#include <kn/program.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_onnx_object *kn_onnx;

typedef struct kn_onnx_args {
    const char *folder; /* of a model in memory: where its external data is; NULL: it has none */
    bool no_simplify;   /* the model runs as it is written (docs/onnx-passes.md) */
    int64_t max_trips;  /* of one Loop; more are an error. 0: 16,777,216 */
    /* Weights stay as the file has them, under their names: what depends on them is computed in each run, so that C that is made of the
       model trains all of them. Without it what depends on constants alone is computed once. */
    bool keep_weights;
    /* Constants whose elements would take more bytes once they are computed with (i8 that is dequantized, f16 that is cast) stay as they
       are, and the runs compute: for C whose weights lie in flash. */
    bool keep_stored;
    /* The model gives these of its outputs alone, in this order; nodes that only others need do not run, unless no_simplify. NULL: all. */
    const char *const *outputs;
    int32_t n_outputs;
} kn_onnx_args;
#define KN_ONNX_ARGS_DEFAULTS KN_ZEROED

/* Reads a model, checks it, and computes what depends on constants alone. External data lies beside the file, which must not be cut while
   the model or a tensor of it lives. NULL with kn_last_error(), which names the file and what is wrong with it. Operators that nothing
   converts are an error only when a run comes to them. */
KN_API kn_onnx kn_onnx_load(const char *path, const kn_onnx_args *args);
/* The same over bytes in memory, which must outlive the model and what it gave. */
KN_API kn_onnx kn_onnx_load_memory(const void *data, size_t bytes, const kn_onnx_args *args);
KN_API void kn_onnx_free(kn_onnx model);

/* ---- what it takes and gives */

typedef enum kn_onnx_kind {
    KN_ONNX_NOTHING = 0, /* no value, or no declared type */
    KN_ONNX_TENSOR = 1,
    KN_ONNX_STRINGS = 2, /* a tensor of strings */
    KN_ONNX_SEQUENCE = 3,
    KN_ONNX_OPTIONAL = 4,
    KN_ONNX_MAP = 5
} kn_onnx_kind;

/* An input or an output. Texts live as long as the model. */
typedef struct kn_onnx_port {
    const char *name;
    kn_onnx_kind kind;
    kn_dtype dtype; /* of a tensor; KN_DTYPE_NONE: another kind, or elements that Kiln has no tensors of */
    int32_t rank;   /* of a tensor (also of strings); -1: any */
    int64_t sizes[KN_MAX_RANK];     /* -1: known when the model runs */
    const char *names[KN_MAX_RANK]; /* of such sizes; NULL: without a name */
    const char *type;               /* "tensor(float)", "seq(tensor(float))", "map(int64,tensor(float))" */
    const char *shape; /* "batch, 3, 224, 224"; "?" for a size without a name, "..." for any shape */
    bool has_default;  /* an input that may be left out */
} kn_onnx_port;

/* How many; -1 for no model. */
KN_API int32_t kn_onnx_inputs(kn_onnx model);
KN_API int32_t kn_onnx_outputs(kn_onnx model);
KN_API KN_MUST_CHECK kn_status kn_onnx_input(kn_onnx model, int32_t i, kn_onnx_port *port);
KN_API KN_MUST_CHECK kn_status kn_onnx_output(kn_onnx model, int32_t i, kn_onnx_port *port);
/* What is in the model, counted. */
typedef struct kn_onnx_info {
    int32_t
        nodes; /* also those of inner graphs; calls of the model's functions count as the nodes of these */
    int32_t folded;  /* of them that were computed when the model was loaded */
    int32_t unknown; /* of them that nothing converts */
    int32_t weights;
    int64_t elements;          /* of all weights */
    int64_t ir_version, opset; /* opset: of the operators that need no domain */
} kn_onnx_info;
KN_API KN_MUST_CHECK kn_status kn_onnx_describe(kn_onnx model, kn_onnx_info *info);
/* What is in the model, as text: producer, versions, inputs, outputs, operators and how often they come, weights; after
   kn_onnx_examine also what that has found. Returns the length of it all. */
KN_API size_t kn_onnx_inspect(kn_onnx model, char *buffer, size_t bytes);
/* The nodes of the model as they run, one to a line, inner graphs below theirs. Returns the length of it all. */
KN_API size_t kn_onnx_print(kn_onnx model, char *buffer, size_t bytes);

/* ---- looking for what does not work, without running anything */

/* A size that the model leaves open, by its name, or as INPUT.AXIS ("x.0"), which goes first. low = high: that number. high 0: no bound. */
typedef struct kn_onnx_size {
    const char *name;
    int64_t low, high;
} kn_onnx_size;

typedef struct kn_onnx_examined {
    int64_t macs; /* multiplications with an addition, in the nodes whose sizes are known; INT64_MAX: more */
    int32_t checked;   /* nodes whose operands' types are known, and that work with them */
    int32_t unchecked; /* nodes whose operands' types depend on values, or on a node that does not work */
    int32_t problems, operators, sizes; /* how many kn_onnx_examined_... tell of */
    bool counts_once;                   /* a loop whose trips are not known counts as one trip */
} kn_onnx_examined;
/* Walks the whole model, inner graphs too, with types and sizes alone: finds every node that cannot run, and counts multiplications. A
   size that the model leaves open is the largest that is given for it, else 1. What it finds belongs to the model until the next call. */
KN_API KN_MUST_CHECK kn_status kn_onnx_examine(kn_onnx model, const kn_onnx_size *sizes, int32_t n_sizes,
                                               kn_onnx_examined *found);

/* A node that cannot run. */
typedef struct kn_onnx_problem {
    const char *node, *domain, *op; /* domain: "" for ai.onnx */
    const char *reason;
    kn_status
        code; /* KN_ERROR_UNSUPPORTED, KN_ERROR_DTYPE; others may come from sizes that were taken and do not fit */
} kn_onnx_problem;
/* An operator of the model. */
typedef struct kn_onnx_operator_use {
    const char *domain, *op;
    int32_t nodes;
    int64_t macs; /* of all of them */
} kn_onnx_operator_use;
/* A size that inputs leave open, and what was taken for it. */
typedef struct kn_onnx_open_size {
    const char *name; /* as kn_onnx_size has it */
    int64_t taken;
    bool given;
} kn_onnx_open_size;
/* In the order of the model's nodes; operators by their macs, then by how often they come. */
KN_API KN_MUST_CHECK kn_status kn_onnx_examined_problem(kn_onnx model, int32_t i, kn_onnx_problem *problem);
KN_API KN_MUST_CHECK kn_status kn_onnx_examined_operator(kn_onnx model, int32_t i, kn_onnx_operator_use *use);
KN_API KN_MUST_CHECK kn_status kn_onnx_examined_size(kn_onnx model, int32_t i, kn_onnx_open_size *size);

/* An operator that Kiln runs (docs/onnx.md). */
typedef struct kn_onnx_support {
    const char *domain, *op; /* domain: "" for ai.onnx */
    int32_t since, before;   /* versions since <= v < before of the domain's operators; before 0: no end */
    const char *types;       /* element types of the main operand: "floats integers bool strings" */
} kn_onnx_support;
/* By domain and name; false past the last one. */
KN_API bool kn_onnx_support_at(int32_t i, kn_onnx_support *support);

/* ---- running */

/* Runs a model whose inputs and outputs are tensors. KN_NONE leaves out an input that has a default or is optional. Shapes may change
   from run to run. Takes temporaries; outputs are temporaries of the calling scope, poisoned on failure, and KN_NONE for an optional one
   that is not there. Dtypes, ranks and sizes must be those that the model declares. Several threads may run one model at once, each on
   its own device. */
KN_API KN_MUST_CHECK kn_status kn_onnx_run(kn_onnx model, const kn_tensor *in, int32_t n_in, kn_tensor *out,
                                           int32_t n_out);

/* Anything that goes through a model: it never changes, several threads may read it, and a run does not take it. */
typedef struct kn_onnx_value_object *kn_onnx_value;

/* Each gives NULL with kn_last_error() on failure. Takes a temporary. */
KN_API kn_onnx_value kn_onnx_value_tensor(kn_tensor t);
/* Copies the texts; bytes: of each, NULL: they end with a 0. */
KN_API kn_onnx_value kn_onnx_value_strings(const char *const *texts, const size_t *bytes, kn_shape shape);
/* Items stay the caller's, and may be freed before. */
KN_API kn_onnx_value kn_onnx_value_sequence(const kn_onnx_value *items, int64_t n);
/* item NULL: the empty optional. */
KN_API kn_onnx_value kn_onnx_value_optional(kn_onnx_value item);
/* keys: strings, or a tensor of i64, of rank 1; values: a tensor or strings of as many elements. */
KN_API kn_onnx_value kn_onnx_value_map(kn_onnx_value keys, kn_onnx_value values);
/* A value in a file or in memory: the messages TensorProto, SequenceProto and OptionalProto, as ONNX's own test data has them
   (input_0.pb). type: as in a port, "seq(tensor(float))"; NULL: a tensor. */
KN_API kn_onnx_value kn_onnx_value_read(const char *path, const char *type);
KN_API kn_onnx_value kn_onnx_value_read_memory(const void *data, size_t bytes, const char *type);
KN_API void kn_onnx_value_free(kn_onnx_value value);

KN_API kn_onnx_kind kn_onnx_value_kind(kn_onnx_value value);
/* A second handle to the tensor, as a temporary; poisoned where the value is none. */
KN_API kn_tensor kn_onnx_value_as_tensor(kn_onnx_value value);
/* Of strings the elements, of a sequence the items, of an optional 0 or 1, of a map 2 (its keys and its values), of a tensor its
   elements; -1 on failure. */
KN_API int64_t kn_onnx_value_count(kn_onnx_value value);
/* Of a tensor or strings; rank -1 on failure. */
KN_API kn_shape kn_onnx_value_shape(kn_onnx_value value);
/* The i-th string, in row-major order; it lives as long as the value. bytes may be NULL. */
KN_API KN_MUST_CHECK kn_status kn_onnx_value_string(kn_onnx_value value, int64_t i, const char **text,
                                                    size_t *bytes);
/* A new value, which the caller frees: an item of a sequence, what an optional holds, keys (0) and values (1) of a map. NULL with
   kn_last_error(). */
KN_API kn_onnx_value kn_onnx_value_item(kn_onnx_value value, int64_t i);

/* Runs any model. NULL leaves an input out. Fills out with new values, which the caller frees; all are NULL on failure. */
KN_API KN_MUST_CHECK kn_status kn_onnx_run_values(kn_onnx model, const kn_onnx_value *in, int32_t n_in,
                                                  kn_onnx_value *out, int32_t n_out);

/* ---- as a program: what is saved, printed as C, and run without the model (kn/program.h) */

/* An input that has one value for all runs, and then is none of the program's. */
typedef struct kn_onnx_given {
    const char *input;
    kn_tensor value; /* borrowed */
} kn_onnx_given;
typedef struct kn_onnx_program_args {
    const kn_onnx_size *sizes; /* others stay open: sizes of the program under their names, at least 1 */
    int32_t n_sizes;
    const kn_onnx_given *given;
    int32_t n_given;
    bool no_simplify; /* KN_PASS_ALL does not run */
    /* Inputs that may be left out (has_default) and are inputs of the program all the same. The others are not: the program has their
       default as a weight, or works without them. */
    const char *const *kept;
    int32_t n_kept;
} kn_onnx_program_args;
#define KN_ONNX_PROGRAM_ARGS_DEFAULTS KN_ZEROED
/* NULL with kn_last_error(), which names the node: strings, sequences as inputs, ranks and shapes that depend on values are none of a
   program's. Weights keep their names. Free it with kn_program_free. */
KN_API kn_program kn_onnx_program(kn_onnx model, const kn_onnx_program_args *args);

/* ---- where the time goes */

/* From here on (or no more) the time of each node is measured, which waits for the device after each. Begins at 0. */
KN_API kn_status kn_onnx_profile_begin(kn_onnx model);
KN_API kn_status kn_onnx_profile_end(kn_onnx model);
/* What was measured since: operators by their time, then nodes by theirs, one to a line. Returns the length of it all. */
KN_API size_t kn_onnx_profile(kn_onnx model, char *buffer, size_t bytes);
/* Whether an output depends on an operator that draws random numbers, so that no two runs need give the same. */
KN_API bool kn_onnx_output_is_random(kn_onnx model, int32_t i);

/* ---- operators of your own */

/* A node being run, valid until the callback returns. */
typedef struct kn_onnx_call kn_onnx_call;
/* An operand or a result in it; {0}: none. */
typedef struct kn_onnx_operand {
    int32_t id;
} kn_onnx_operand;

typedef struct kn_onnx_operator {
    const char *domain, *name;
    int32_t since; /* the first version of the domain that it serves; 0: all */
    /* Makes the results of a node. A failure is its status and text, or what kn_onnx_call_fail tells. */
    kn_status (*run)(void *context, kn_onnx_call *call);
    void *context;
} kn_onnx_operator;
/* Models that are loaded from now on use it, also in place of an operator of the library. The texts and the context must live as long as the
   process; a later registration of the same name goes first. */
KN_API kn_status kn_onnx_register(const kn_onnx_operator *op);

KN_API int32_t kn_onnx_call_inputs(const kn_onnx_call *call);
KN_API int32_t kn_onnx_call_outputs(const kn_onnx_call *call);
/* {0} for one that is absent or past the end. */
KN_API kn_onnx_operand kn_onnx_call_input(const kn_onnx_call *call, int32_t i);
/* Attributes of the node by name; what was given where there is none. */
KN_API int64_t kn_onnx_call_int(const kn_onnx_call *call, const char *name, int64_t otherwise);
KN_API double kn_onnx_call_real(const kn_onnx_call *call, const char *name, double otherwise);
KN_API const char *kn_onnx_call_text(const kn_onnx_call *call, const char *name, const char *otherwise);
/* The list and its length; NULL with 0 where there is none. */
KN_API const int64_t *kn_onnx_call_ints(const kn_onnx_call *call, const char *name, int64_t *count);
KN_API const float *kn_onnx_call_reals(const kn_onnx_call *call, const char *name, int64_t *count);
/* The i-th text of a list of them, NULL past its end; bytes may be NULL. */
KN_API const char *kn_onnx_call_text_at(const kn_onnx_call *call, const char *name, int64_t i, size_t *bytes);
/* An attribute that is a tensor; {0} where there is none. */
KN_API kn_onnx_operand kn_onnx_call_constant(kn_onnx_call *call, const char *name);
/* An operand's dtype and rank; -1: it is no tensor. */
KN_API kn_dtype kn_onnx_call_dtype(const kn_onnx_call *call, kn_onnx_operand x);
KN_API int32_t kn_onnx_call_rank(const kn_onnx_call *call, kn_onnx_operand x);
/* A size of an operand; -1 where it is known only when the program runs, or there is no such axis. */
KN_API int64_t kn_onnx_call_size(const kn_onnx_call *call, kn_onnx_operand x, int32_t axis);
/* An op of the table or a custom one (kn/custom_op.h), which becomes part of a program where the model does. attributes end with a NULL
   name; NULL: none. Operands can be used any number of times, and nothing is freed. After the first failure nothing is done. */
KN_API void kn_onnx_call_op(kn_onnx_call *call, const char *op, const kn_onnx_operand *in, int32_t n_in,
                            const kn_attribute_value *attributes, kn_onnx_operand *out, int32_t n_out);
/* The operand's tensor on the device, which stays the model's: only where the model runs now. */
KN_API kn_tensor kn_onnx_call_tensor(kn_onnx_call *call, kn_onnx_operand x);
/* A tensor of your own as an operand, which becomes a constant where the model becomes a program. Takes a temporary. */
KN_API kn_onnx_operand kn_onnx_call_made(kn_onnx_call *call, kn_tensor t);
KN_API void kn_onnx_call_output(kn_onnx_call *call, int32_t i, kn_onnx_operand x);
KN_API kn_status kn_onnx_call_fail(kn_onnx_call *call, const char *message);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/onnx_sites.h>
#endif

#endif
