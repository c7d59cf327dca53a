/* From a program to C that a person could have written against the public functions: what the files of this printer share. The ops
   of the program are cut into units, each of which becomes a function; units that differ in their weights alone become one function and a
   loop. */
#ifndef KNI_PROGRAM_SOURCE_H
#define KNI_PROGRAM_SOURCE_H

#include "program/passes.h"
#include "support/buffer.h"
#include <kn/state.h>
#include <stdio.h>
#include <stdlib.h>

enum { KNI_SOURCE_HELPERS = 8 };
/* Functions that the file defines for itself where it needs them. */
typedef enum kni_source_helper {
    KNI_SOURCE_DIVIDED, /* division that rounds down */
    KNI_SOURCE_LARGER,
    KNI_SOURCE_SMALLER,
    KNI_SOURCE_CALL,   /* kn_call of an op with one result */
    KNI_SOURCE_TRUTH,  /* the condition of an If or a loop */
    KNI_SOURCE_READ,   /* a size that is a value */
    KNI_SOURCE_GROWN,  /* room for what one more trip gives */
    KNI_SOURCE_STACKED /* what the trips of a loop gave, as one tensor */
} kni_source_helper;

/* How a value is written. */
typedef enum kni_source_place {
    KNI_SOURCE_LOCAL,  /* by its name: an input, a result, an argument */
    KNI_SOURCE_INLINE, /* a small constant, where it is used */
    KNI_SOURCE_FIELD   /* a member of the model's struct */
} kni_source_place;

typedef struct kni_source_value {
    const char *name; /* of the variable or the member */
    const char *path; /* of a member: its name in the file of weights */
    uint8_t place;    /* kni_source_place */
    bool passed_on;   /* an argument of the function being printed that it keeps */
    int32_t reads;    /* in the function that is printed now; inside regions they count twice */
    int32_t block;    /* of a member: the group of blocks that it belongs to, -1: the model itself */
    int32_t member;   /* in that group: its number */
    int32_t reader,
        operand; /* of a weight: a node that reads it, and as which operand; the node's number + 1, 0: none */
} kni_source_value;

/* Nodes first .. last - 1 of region 0 as one function. */
typedef struct kni_source_unit {
    int32_t first, last;
    int32_t *in, *out; /* values that it reads from others, and that others read */
    int32_t n_in, n_out;
    int32_t block; /* the group it is a block of, -1: none */
    char name[64];
} kni_source_unit;

/* Units that are alike: `count` of them, behind each other. */
typedef struct kni_source_group {
    int32_t first, length; /* nodes: of the first unit, and of each */
    int32_t first_unit, count;
    int32_t *
        members; /* of the first block: its values that are members; those of block k follow k * n_members later */
    int32_t n_members;
    bool shares; /* blocks read members of the model, too */
    char name[64];
} kni_source_group;

typedef struct kni_source {
    kni_program *p;
    const char *name;
    kni_source_value *values;
    kni_source_unit *units;
    kni_source_group *groups;
    int32_t n_units, n_groups;
    void *set;             /* of all names that were given */
    kni_buffer code;       /* functions, printed so far */
    kni_buffer body;       /* the function that is printed now */
    int32_t indent, block; /* block: the group whose function is printed now, -1 */
    int32_t made;          /* numbers names that nothing else tells apart */
    int32_t n_sizes;       /* unknown ones */
    bool helpers[KNI_SOURCE_HELPERS];
    bool has_fields, reads_sizes;
    kn_status status; /* the first failure */
} kni_source;

/* Keeps the first failure. */
static inline void kni_source_failed(kni_source *s, kn_status status)
{
    if (!s->status) s->status = status;
}

/* ---- source_names.c */

/* Gives each value its place and its name. */
kn_status kni_source_name_values(kni_source *s);
void kni_source_free_names(kni_source *s);
/* Whether the text is a word of C, or a name that the printed functions use. */
bool kni_source_is_reserved(const char *text);
/* A text as a name in C, at most 48 letters, which differs from all that were given so far; NULL without memory. */
const char *kni_source_name(kni_source *s, const char *text);

/* ---- source_order.c */

/* The nodes of region 0 in the order in which they are printed. */
kn_status kni_source_order(const kni_source *s, int32_t *nodes);

/* ---- source_block_names.c */

/* Renames what is inside of blocks, once they are found. */
kn_status kni_source_name_blocks(kni_source *s);
/* What a weight is called: its name, or what it is of the layer that reads it. */
const char *kni_source_weight_text(const kni_source *s, int32_t v, char *text, size_t room);

/* ---- source_units.c */

/* Cuts the program into units and finds those that are alike. */
kn_status kni_source_cut(kni_source *s);
void kni_source_free_units(kni_source *s);

/* ---- source_groups.c */

/* Finds stretches of nodes that are alike but for their weights. made: the node of region 0 that makes each value, or -1. */
kn_status kni_source_find_groups(kni_source *s, const int32_t *made);

/* ---- source_values.c */

/* The name of a size in C. */
void kni_source_symbol(kni_buffer *out, kn_dim d);
/* A size as C. */
void kni_source_size(kni_source *s, kni_buffer *out, kn_dim d);
/* "KN_F32" */
void kni_source_dtype(kni_buffer *out, kn_dtype dtype);
/* Number as a literal that reads back the same. */
void kni_source_real(kni_buffer *out, double value);
/* MACRO(1, n), or `empty` where there is nothing in it. */
void kni_source_list(kni_source *s, kni_buffer *out, const char *macro, const char *empty, int32_t rank,
                     const kn_dim *dims);
/* KN_SHAPE(1, n), KN_SCALAR_SHAPE */
void kni_source_shape(kni_source *s, kni_buffer *out, int32_t rank, const kn_dim *dims);
/* A text of the model's inside a comment, which nothing in it ends. */
void kni_source_comment(kni_buffer *out, const char *text);
/* The same as a string of C, with its quotes. */
void kni_source_text(kni_buffer *out, const char *text);
/* The operand as an expression. */
void kni_source_operand(kni_source *s, kni_buffer *out, int32_t value);
/* Several as an array. */
void kni_source_operands(kni_source *s, kni_buffer *out, const int32_t *in, int32_t n);

/* ---- source_ops.c */

/* The call of an op with one result as an expression; of others, statements that give `out` their values. */
void kni_source_op(kni_source *s, const kni_program_node *n);

/* ---- source_region.c: statements */

/* Begins a line of s->body. */
void kni_source_line(kni_source *s);
/* "kn_tensor x = " or, for what is read more than once, "kn_tensor x = kn_keep(", and its end. */
void kni_source_begin_value(kni_source *s, int32_t value);
void kni_source_end_value(kni_source *s, int32_t value);
/* Nodes from .. to - 1 of a region. */
void kni_source_nodes(kni_source *s, int32_t region, int32_t from, int32_t to);
/* Adds how often nodes from .. to - 1 of a region read each value; what loops and Ifs read from around them counts more, so that it
   is kept. */
void kni_source_count(kni_source *s, int32_t region, int32_t from, int32_t to);

/* ---- source.c */

/* ", n" where the program has sizes that are known only when it runs. */
void kni_source_sizes_given(const kni_source *s, kni_buffer *out);

/* ---- source_load.c: how the model gets its weights */

/* The file of weights as it lies in memory, and where each of its tensors lies. */
typedef struct kni_source_bytes {
    void *data;
    size_t bytes;
    struct kni_json_document *head;
} kni_source_bytes;
kn_status kni_source_bytes_make(kni_source_bytes *b, kn_state state);
void kni_source_bytes_free(kni_source_bytes *b);
/* The file as an array of C. */
void kni_source_print_bytes(const kni_source *s, kni_buffer *out, const kni_source_bytes *b);
/* The functions that load and free. embedded: NULL where the weights are no array. */
void kni_source_print_load(kni_source *s, kni_buffer *out, const kni_source_bytes *embedded);

/* ---- source_model.c: the struct, its descriptor, the weights */

/* "f32 [batch, 3]", for comments. */
void kni_source_type(kni_buffer *out, const kni_type *t);
/* The structs of blocks and of the model, for the header. */
void kni_source_print_structs(kni_source *s, kni_buffer *out);
/* Their descriptors. */
void kni_source_print_descriptors(kni_source *s, kni_buffer *out);
/* The path of a member in the file of weights. */
void kni_source_path(const kni_source *s, kni_buffer *out, int32_t value);
/* A state with all members under their paths, as the file has them; NULL with the failure told. */
kn_state kni_source_weights(kni_source *s);

#endif
