/* Programs: ops recorded once and run again with other inputs; and what the fusion decorator did. */
#ifndef KN_PROGRAM_H
#define KN_PROGRAM_H

#include <kn/nn/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the fusion decorator of a device has done since it was opened. */
typedef struct kn_fusion_stats {
    int64_t records;        /* ops that were queued */
    int64_t submissions;    /* queues that were run */
    int64_t plan_hits;      /* of them with a plan that was there already */
    int64_t plans_made;     /* for queues met for the first time, or again after their plan was forgotten */
    int64_t plans_kept;     /* now */
    int64_t groups_run;     /* kernels of several records */
    int64_t singles_run;    /* records that ran by themselves */
    int64_t refused;        /* groups that the device did not take and that ran record by record */
    int64_t plans_replayed; /* submissions that the device ran from a recording, as one */
    int64_t recomputed;     /* values that the plans made compute again where they are read, to store less */
} kn_fusion_stats;
/* KN_ERROR_DEVICE when no fusion decorator is in the device's stack. NULL: the current device. */
KN_API kn_status kn_fusion_stats_of(kn_device device, kn_fusion_stats *stats);

/* ---- programs: ops as data, which run with other inputs and other sizes, on any device, and are saved and loaded */

typedef struct kn_program_object *kn_program;

/* From here on the ops of the calling thread on the device (NULL: the current one) become a program as well as run. One
   at a time for each thread. */
KN_API KN_MUST_CHECK kn_status kn_program_begin(kn_device device);
/* Ends it. inputs: tensors that were there before, in whose place others can be given; all other tensors from outside are
   constants, but params are read anew in each run. outputs: what a run gives. All are borrowed; an input may be a handle
   that an op has taken. NULL with kn_last_error() where the ops make no program: nothing was begun, an output is none of
   theirs, or a param was updated. */
KN_API kn_program kn_program_end(const kn_tensor *inputs, int32_t n_inputs, const kn_tensor *outputs,
                                 int32_t n_outputs);
/* Runs it: n_in and n_out as in kn_program_end or kn_builder_finish. A trace runs on its device, other programs on the current one.
   Takes temporaries; outputs are temporaries of the calling scope, poisoned on failure. The inputs of a trace may have other shapes
   where the ops allow it; those of other programs what their types say. An input whose port has no dtype is read by no op and may be KN_NONE.
   Random ops draw new numbers. Several threads may run a program at once; nothing else may be done with it meanwhile. */
KN_API KN_MUST_CHECK kn_status kn_program_run(kn_program program, const kn_tensor *inputs, int32_t n_in,
                                              kn_tensor *outputs, int32_t n_out);
/* Writes the program, one op to a line, with the names of values (kn_builder_name) where they are made; returns the length of it all. */
KN_API size_t kn_program_print(kn_program program, char *buffer, size_t bytes);
KN_API void kn_program_free(kn_program program);

/* Passes of kn_program_simplify; docs/programs.md says what each does and leaves. */
enum {
    KN_PASS_CONSTANTS = 1,  /* computes now what depends on constants and params alone, unless it is large */
    KN_PASS_COMMON = 2,     /* computes once what is computed twice from the same values */
    KN_PASS_BATCH_NORM = 4, /* puts batch norm that does not train into the weights before it */
    KN_PASS_DEAD = 8,       /* removes what leads to no output */
    KN_PASS_ALL = 15,
    KN_PASS_FREEZE = 16, /* not in ALL: params of a trace keep the value they have now */
    KN_PASS_KEEP_PARAMS =
        32 /* not in ALL: nothing is computed of params, which stay as they are, to be trained */
};
/* Gives the program fewer ops that give the same outputs: the same bits on the CPU, but for KN_PASS_BATCH_NORM, which rounds differently.
   Random ops stay and draw the same numbers. passes: KN_PASS_ALL, or some of them. After a failure the program is still good. */
KN_API KN_MUST_CHECK kn_status kn_program_simplify(kn_program program, uint32_t passes);

/* An input, an output or another value: its name ("" where it has none), its dtype, and its shape as text, "batch, 3, 224" ("" for
   rank 0). */
typedef struct kn_program_port {
    char name[256], shape[1024];
    kn_dtype dtype;
    int32_t rank;
} kn_program_port;
KN_API int32_t kn_program_inputs(kn_program program);  /* how many; -1 for no program */
KN_API int32_t kn_program_outputs(kn_program program); /* how many; -1 for no program */
KN_API KN_MUST_CHECK kn_status kn_program_input(kn_program program, int32_t i, kn_program_port *port);
KN_API KN_MUST_CHECK kn_status kn_program_output(kn_program program, int32_t i, kn_program_port *port);

/* Writes the program as one C99 file that needs no library (docs/export-to-c.md): static memory, planned for the largest sizes; weights
   as arrays or in a file of their own; If, loops and functions. Every size needs an upper bound. The function it defines, <name>_run,
   takes the sizes in the order in which inputs name them, then pointers to the inputs and outputs, and returns 0 or why it failed.
   KN_ERROR_UNSUPPORTED, with the op or the value, for what has no bound or no form in C. */
typedef struct kn_program_to_c_args {
    const char *name; /* of the function and of all it declares; NULL: "program" */
    const char *
        weights; /* the path of a file for the weights, a pointer to which is given to the function; NULL: arrays */
} kn_program_to_c_args;
#define KN_PROGRAM_TO_C_ARGS_DEFAULTS KN_ZEROED
KN_API KN_MUST_CHECK kn_status kn_program_to_c(kn_program program, const char *path,
                                               const kn_program_to_c_args *args);

/* Writes the program as C against this library, as a person would have written it: FOLDER/NAME.h and NAME.c with a struct of weights that
   is a module, functions that load and free it, and NAME_forward(); layers that repeat are one function and a loop. FOLDER/NAME.safetensors
   has the weights under their paths in the module. docs/export-to-c.md says more. */
typedef struct kn_program_to_source_args {
    const char *name; /* of the files and of all that is declared; NULL: "model" */
    bool embed;       /* the weights as an array in FOLDER/NAME_weights.c too, and NAME_load_embedded() */
} kn_program_to_source_args;
#define KN_PROGRAM_TO_SOURCE_ARGS_DEFAULTS KN_ZEROED
KN_API KN_MUST_CHECK kn_status kn_program_to_source(kn_program program, const char *folder,
                                                    const kn_program_to_source_args *args);

/* ---- building a program op by op. Sizes are text: numbers, names, + - * / (rounded down), max(a, b), min(a, b). A function that
   fails returns KN_NO_VALUE or a status, and everything after it fails with it: checking kn_builder_finish is enough. */

typedef struct kn_builder_object *kn_builder;
typedef struct kn_program_value {
    int32_t id;
} kn_program_value;
#ifdef __cplusplus
#define KN_NO_VALUE (kn_program_value{0})
#else
#define KN_NO_VALUE ((kn_program_value){0})
#endif

KN_API kn_builder kn_builder_new(void);
KN_API void kn_builder_free(kn_builder builder);
/* A size that is known when the program runs: lo <= size <= hi. A name in a shape that was not introduced is a size of at least 1. */
KN_API kn_status kn_builder_size(kn_builder builder, const char *name, int64_t lo, int64_t hi);
/* A size whose value is that of a whole number (i64 or i32, rank 0) from here on, while the program runs: how many elements a condition
   holds for, or how long an answer is. A number outside of lo..hi ends the run with an error. The device is waited for. */
KN_API kn_status kn_builder_read_size(kn_builder builder, const char *name, kn_program_value value,
                                      int64_t lo, int64_t hi);
KN_API kn_program_value kn_builder_input(kn_builder builder, const char *name, kn_dtype dtype,
                                         const char *shape);
/* A weight, saved under its name, and (kn_builder_constant) a tensor without one. They are borrowed and read once: later changes do not
   show. */
KN_API kn_program_value kn_builder_param(kn_builder builder, const char *name, kn_tensor value);
/* A param that training leaves alone: a running mean, a table. kn_program_to_source makes it a KN_FIELD_BUFFER. */
KN_API kn_program_value kn_builder_buffer(kn_builder builder, const char *name, kn_tensor value);
KN_API kn_program_value kn_builder_constant(kn_builder builder, kn_tensor value);

/* An attribute of an op by name. A list of them ends with {0}. Whole numbers and lists of them are text, in which sizes may be
   named: "-1", "batch, 4 * width". A dtype is its name, "f16". */
typedef struct kn_builder_attribute {
    const char *name;
    const char *sizes;
    double real; /* where the attribute is a real number */
} kn_builder_attribute;
/* Adds an op of the table ('kiln ops') or a custom one. attributes: NULL where there are none. */
KN_API kn_program_value kn_builder_op(kn_builder builder, const char *op, const kn_program_value *in,
                                      int32_t n_in, const kn_builder_attribute *attributes);
KN_API kn_status kn_builder_op_many(kn_builder builder, const char *op, const kn_program_value *in,
                                    int32_t n_in, const kn_builder_attribute *attributes,
                                    kn_program_value *out, int32_t n_out);

/* What the value is so far. Fails where the shape as text does not fit the port; unlike other failures this one does not end the
   building. */
KN_API KN_MUST_CHECK kn_status kn_builder_type(kn_builder builder, kn_program_value value,
                                               kn_program_port *port);
/* A name that a value made by an op or a region, or a constant, is printed and saved with, in place of one that it had; NULL or "": none.
   Names need not differ; they are texts without control characters. Inputs and params keep theirs. */
KN_API kn_status kn_builder_name(kn_builder builder, kn_program_value value, const char *name);

/* What stands between kn_builder_if and kn_builder_else runs where the condition (bool, rank 0) holds, what stands between that and
   kn_builder_end where it does not. Both name as many results, of the same dtypes and ranks; sizes that differ are known when it has run.
   Values from outside can be used inside. */
KN_API kn_status kn_builder_if(kn_builder builder, kn_program_value condition);
KN_API kn_status kn_builder_else(kn_builder builder, const kn_program_value *results, int32_t n);
/* A loop: see the fields. `inside` has room for 1 + n_carried + n_sliced values: the trip's number (i64), the carried values and the
   slices as the body sees them. The results of the body, for kn_builder_end: the condition for the next trip, where the loop has one, the
   carried values, and any number of values to stack. What it gives: the carried values after the last trip, and the stacks, with a
   slice for each trip: `trips`, or with a condition a size that is known when the loop has run. */
typedef struct kn_loop_args {
    const char *trips;          /* how many, a size; NULL: while the condition holds */
    kn_program_value condition; /* bool, rank 0, before the first trip; KN_NO_VALUE: there is none */
    int64_t max_trips;          /* without `trips`: more are an error */
    const kn_program_value *carried;
    int32_t n_carried;
    const kn_program_value *sliced; /* trip i sees slice i along axis 0, which has `trips` slices */
    int32_t n_sliced;
} kn_loop_args;
#define KN_LOOP_ARGS_DEFAULTS KN_ZEROED
KN_API kn_status kn_builder_loop(kn_builder builder, const kn_loop_args *args, kn_program_value *inside);
/* A function, which kn_builder_call runs with other values any number of times: types of its arguments are given by values that are
   like them. It sees nothing from outside but params and constants. */
KN_API kn_status kn_builder_function(kn_builder builder, const char *name, const kn_program_value *like,
                                     int32_t n, kn_program_value *inside);
KN_API kn_status kn_builder_call(kn_builder builder, const char *name, const kn_program_value *in,
                                 int32_t n_in, kn_program_value *out, int32_t n_out);
/* Ends an If, a loop or a function with the results of its last region. out: room for what it gives; NULL after a function. */
KN_API kn_status kn_builder_end(kn_builder builder, const kn_program_value *results, int32_t n,
                                kn_program_value *out, int32_t n_out);

/* The program, with the builder used up: it can only be freed. names: of the outputs, NULL where they have none. NULL with
   kn_last_error(), which tells the first failure since kn_builder_new. */
KN_API kn_program kn_builder_finish(kn_builder builder, const kn_program_value *outputs,
                                    const char *const *names, int32_t n);

/* ---- programs in files. A program is one safetensors file (docs/program-format.md): its weights are the tensors, under their names, so
   that every tool can read them. */

typedef struct kn_program_save_args {
    /* Names of the inputs and outputs, as many as there are; NULL, also for one of them: its own, or input0, output0 and so on. */
    const char *const *inputs, *const *outputs;
    /* The params of a trace are saved under their paths in this module; those that are not in it as param0 and so on. */
    kn_module module;
    const char *const *metadata; /* name, text, name, text, NULL */
} kn_program_save_args;
#define KN_PROGRAM_SAVE_ARGS_DEFAULTS KN_ZEROED
/* Writes the program atomically. Params of a trace are saved with the values they have now. */
KN_API KN_MUST_CHECK kn_status kn_program_save(kn_program program, const char *path,
                                               const kn_program_save_args *args);
/* The same bytes in new memory, which the caller gives to free(). *data is NULL on failure. */
KN_API KN_MUST_CHECK kn_status kn_program_save_memory(kn_program program, void **data, size_t *bytes,
                                                      const kn_program_save_args *args);

typedef struct kn_program_load_args {
    bool skip_checksum; /* as in kn_store_args */
    bool map;           /* the weights stay in the mapped file, which must not be cut meanwhile */
} kn_program_load_args;
#define KN_PROGRAM_LOAD_ARGS_DEFAULTS KN_ZEROED
/* A program from a file, which runs on the current device, also where it was a trace. Every op of it goes through its shape rule again, and what the file says of the result is compared. NULL with
   kn_last_error(), which names the file and the value. */
KN_API kn_program kn_program_load(const char *path, const kn_program_load_args *args);
/* The same over bytes in memory, which with .map must outlive the program. */
KN_API kn_program kn_program_load_memory(const void *data, size_t bytes, const kn_program_load_args *args);

/* What a program consists of. */
typedef struct kn_program_info {
    int32_t inputs, outputs, sizes, params, constants, functions;
    int32_t ops;      /* also those of regions and functions */
    int32_t controls; /* If, loops and calls */
    int64_t elements; /* of all params */
    bool trace;       /* its inputs may have other shapes as far as the ops take them */
} kn_program_info;
KN_API KN_MUST_CHECK kn_status kn_program_describe(kn_program program, kn_program_info *info);
/* A size that inputs, or values (kn_builder_read_size), bind when the program runs. */
typedef struct kn_program_size_info {
    char name[64];
    int64_t low, high; /* INT64_MAX: no bound */
} kn_program_size_info;
KN_API KN_MUST_CHECK kn_status kn_program_size(kn_program program, int32_t i, kn_program_size_info *size);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/program_sites.h>
#endif

#endif
