/* A program as data: values with types, nodes that are ops or control, regions of nodes. The builder makes it, whether a user, a trace
   or a file feeds it; runs, passes, files and printed C read it. */
#ifndef KNI_PROGRAM_H
#define KNI_PROGRAM_H

#include "core/dim.h"
#include "core/objects.h"
#include "ops/op.h"
#include <kn/program.h>
#include <string.h>

/* Where a value comes from. */
typedef enum kni_origin {
    KNI_FROM_NODE,
    KNI_FROM_INPUT,
    KNI_FROM_PARAM,    /* a tensor with a name: a weight */
    KNI_FROM_CONSTANT, /* a tensor without one */
    KNI_FROM_ARGUMENT  /* of a region: what a loop or a call gives it */
} kni_origin;

typedef struct kni_program_value {
    kni_type type;  /* sizes may be expressions of the program's set */
    uint8_t origin; /* kni_origin */
    bool live;      /* a param of the user's, which is read anew in each run; `tensor` is its handle */
    bool buffer;    /* a param that training leaves alone */
    int32_t number; /* of an input: its place in the list */
    int32_t
        name; /* where its name begins in `names`, -1: it has none. Only those of inputs and params must differ */
    int32_t region; /* that it is made in */
    int32_t
        last; /* place of the node in that region that reads it last; -1: none, INT32_MAX: the region's result */
    int32_t also_last; /* the next value that the same If or loop reads last, inside it; -1: none */
    kn_tensor tensor;  /* owned: of params and constants */
    kn_tensor placed;  /* owned: the same on the device of the latest run, where that is another */
} kni_program_value;

/* KNI_NODE_SIZE reads a whole number of rank 0 when it runs: from then on it is the value of a size. */
typedef enum kni_node_kind {
    KNI_NODE_OP,
    KNI_NODE_IF,
    KNI_NODE_LOOP,
    KNI_NODE_CALL,
    KNI_NODE_SIZE
} kni_node_kind;

/* A loop. Operands: the condition before the first trip, where there is one; the carried values; what is cut along axis 0 into one
   slice for each trip. Arguments of its body: the trip's number (i64, rank 0), the carried values, the slices. Results of its body: the
   condition for the next trip, where there is one; the carried values; what is stacked along a new axis 0. Results of the node: the
   carried values, the stacks. */
typedef struct kni_loop {
    kn_dim trips;      /* a constant or an expression; KNI_DIM_BAD: as many as the condition says */
    int64_t max_trips; /* where the condition alone ends it; more are an error */
    int32_t n_carried, n_sliced, n_stacked;
    bool conditional;
} kni_loop;

typedef struct kni_program_node {
    uint8_t kind;               /* kni_node_kind */
    const kn_op *row;           /* of an op */
    int32_t first, n_in, n_out; /* in `operands`: the results, then the operands; -1 where one is absent */
    int32_t
        attributes; /* of an op: where its attributes begin, in bytes. Whole numbers may be expressions. */
    int32_t regions[2];  /* If: then, else. Loop: the body. Call: the function. -1: none */
    int32_t read_inside; /* the first of the values of its own region that only its regions read last; -1 */
    kni_loop loop;
    kn_dim size;              /* the symbol of KNI_NODE_SIZE */
    const kni_type *declared; /* by a file, while it is read: types of the results; NULL */
    uint64_t serial;          /* of the call that a trace noted */
    const char *site;         /* the user's line, NULL: not known */
} kni_program_node;

/* Operands or results of a node, and results of a region, are at most KNI_PROGRAM_VALUES: a decoder of 80 layers gives 161. */
enum { KNI_PROGRAM_DEPTH = 64, KNI_PROGRAM_VALUES = 256 };

/* Nodes in the order they run. Region 0 is the program itself. A node may read values of regions around its own. */
typedef struct kni_program_region {
    int32_t *nodes, *arguments, *results; /* values and nodes by number */
    int32_t n_nodes, n_arguments, n_results;
    int32_t node_room, argument_room, result_room;
    int32_t parent; /* -1: the program, or a function */
    int32_t depth;  /* of the regions and calls inside it; at most KNI_PROGRAM_DEPTH */
    int32_t name;   /* of a function, in `names`; -1 */
    /* Sizes that nodes bind in it and in what they hold or call, while it is built; none are noted of the program itself. */
    kn_dim *bound;
    int32_t n_bound, bound_room;
} kni_program_region;

typedef struct kni_program {
    kni_dims *dims;
    kni_program_value *values;
    kni_program_node *nodes;
    kni_program_region *regions;
    int32_t *operands;
    char *attributes, *names;
    int32_t n_values, n_nodes, n_regions, n_operands, n_attributes, n_names;
    int32_t value_room, node_room, region_room, operand_room, attribute_room, name_room;
    int32_t *inputs; /* values; of an input that no op of a trace has read: -1 */
    int32_t n_inputs;
    /* Outputs are the results of region 0. Their names and those of inputs; -1 where they have none. */
    int32_t *input_names, *output_names;
    int32_t n_outputs;
    bool keeps_params; /* while it is simplified: nothing is computed of params */
    bool loose; /* a trace: inputs may have other sizes than the types say, as far as the ops take them */
    kn_device device,
        handle;          /* of a trace; handle: told when the device is gone. NULL: the current one runs it */
    kn_device placed_on; /* where `placed` of the values is */
    bool placed_all;     /* there are copies of all that need one */
    int32_t runs;        /* that use or make the copies now */
    uint64_t counter,
        draws; /* of random numbers in a trace: before the first record, and how many there were */
} kni_program;

/* ---- program.c */

kni_program *kni_program_new(void);
void kni_program_destroy(void *program);
void kni_region_free(kni_program_region *r); /* its lists */
/* Grows a list of the program; false without memory. */
bool kni_program_room(void **list, int32_t *room, int32_t needed, size_t size);
int32_t kni_program_name(kni_program *p, const char *name); /* -1 without memory */
static inline const char *kni_name_at(const kni_program *p, int32_t name)
{
    return name < 0 ? "" : p->names + name;
}
/* Whether the text can be the name of a value: not empty, UTF-8, without control characters. */
bool kni_is_value_name(const char *name);
/* A value that stands for another one from now on takes its name, where it is an op's or a constant and has none. */
void kni_value_inherit(kni_program *p, int32_t value, int32_t from);
/* Operands and results of a node. */
static inline const int32_t *kni_node_out(const kni_program *p, const kni_program_node *n)
{
    return p->operands + n->first;
}
static inline const int32_t *kni_node_in(const kni_program *p, const kni_program_node *n)
{
    return p->operands + n->first + n->n_out;
}
static inline void *kni_node_attributes(const kni_program *p, const kni_program_node *n)
{
    return p->attributes + n->attributes;
}
/* The whole numbers of an attribute, which may be expressions: one, or those of a list. None where it is a real number. */
static inline kn_ints kni_whole_numbers(const kn_attribute *a, const char *attributes)
{
    kn_ints list = {a->type == KNI_ATTR_INT, {0}};
    if (a->type == KNI_ATTR_INT)
        memcpy(list.dims, attributes + a->offset, sizeof *list.dims);
    else if (a->type != KNI_ATTR_REAL)
        memcpy(&list, attributes + a->offset, sizeof list);
    return list;
}
/* Where each value is read last, after nodes or results changed. */
void kni_program_settle(kni_program *p);
/* The symbols that the types of the inputs name; returns how many, at most `most`. */
int32_t kni_program_symbols(const kni_program *p, kn_dim *symbols, int32_t most);
/* Whether axis a of result i of the node is a size that the node itself binds when it runs: that of an If whose regions give it
   different sizes, or the slices of a stack of a loop that a condition may end. */
bool kni_binds_axis(const kni_program *p, const kni_program_node *n, int32_t i, int32_t a);
/* Whether the node binds any, as KNI_NODE_SIZE does. */
bool kni_binds_sizes(const kni_program *p, const kni_program_node *n);
/* Whether the symbol is one that a node binds. */
bool kni_program_reads_size(const kni_program *p, kn_dim symbol);
/* Whether there is any such symbol. */
bool kni_program_reads_sizes(const kni_program *p);
/* Adds the symbols of an expression of the thread's set to n others; returns how many there are then. */
int32_t kni_dim_symbols(kn_dim d, kn_dim *symbols, int32_t n, int32_t most);
/* Fails, with the input's name, where no run could find a size from the shapes of its inputs. */
kn_status kni_program_check_sizes(kni_program *p);

/* ---- program_print.c */

/* What is known of a value (-1: nothing but the name); false where its shape does not fit. */
bool kni_fill_port(const kni_program *p, int32_t value, int32_t name, kn_program_port *port);

/* ---- build.c: what kn_builder functions and the reader of files share. All return -1 or a status with the failure told. */

int32_t kni_build_value(kni_program *p, kni_origin origin, const kni_type *type, int32_t region,
                        const char *name);
int32_t kni_build_region(kni_program *p, int32_t parent, const char *name);
/* The row of an op that a program may hold, of the table or a custom one; NULL: there is none. */
const kn_op *kni_build_row(const char *name);
/* Another argument of a region; -1 without memory. */
int32_t kni_build_argument(kni_program *p, int32_t region, const kni_type *type);
/* The arguments of a loop's body, from what the loop carries and cuts. n_stacked follows from the body and is not looked at. */
kn_status kni_build_loop(kni_program *p, int32_t body, const kni_loop *loop, const int32_t *in, int32_t n_in);
/* Adds an op to a region: copies the attributes, infers the results' types, and gives their values. */
kn_status kni_build_op(kni_program *p, int32_t region, const kn_op *row, const int32_t *in, int32_t n_in,
                       const void *attributes, int32_t *out, int32_t n_out);
/* The same for control; the regions are complete, the types of the results follow from theirs. */
kn_status kni_build_control(kni_program *p, int32_t region, const kni_program_node *control,
                            const int32_t *in, int32_t n_in, int32_t *out, int32_t n_out);
/* What a region gives: values of its own or of regions around it. */
kn_status kni_build_results(kni_program *p, int32_t region, const int32_t *values, int32_t n);
/* Appends to a list of a region. */
bool kni_region_add(int32_t **list, int32_t *n, int32_t *room, int32_t entry);
/* "batch, 3, 2 * size" as sizes; -1 and the failure told where it makes no sense. `what`: for messages. */
int32_t kni_build_sizes(const char *text, const char *what, kn_dim *dims);

#endif
