/* The tape: one node per recorded op, alive as long as a tensor or a later node reaches it. */
#ifndef KNI_TAPE_H
#define KNI_TAPE_H

#include "core/device_object.h"
#include "ops/record.h"

typedef struct kni_node kni_node;

/* What a node that is no row does in backward: fills grads of its inputs from dy of its single output. */
typedef kn_status (*kni_node_fn)(kni_node *node, kn_tensor dy, kn_tensor *grads, uint64_t needs);

/* Inputs and outputs of a node at most: ops with more are refused when they are called, and segments when they are recorded. */
enum { KNI_NODE_OPERANDS = 64 };

struct kni_node {
    _Atomic int32_t references;
    uint16_t n_in, n_out;
    uint32_t bytes;      /* of the allocation */
    uint64_t sequence;   /* inputs have smaller ones; nodes of different threads may have the same */
    const kn_op *row;    /* NULL for leaves and special nodes */
    kni_node_fn special; /* recomputed segments */
    void *context;
    void (*free_context)(void *context, size_t bytes);
    size_t context_bytes;
    kn_device device;
    kni_node *next;         /* while nodes are being freed */
    _Atomic bool walked;    /* its saved values are gone */
    kni_node **inputs;      /* NULL where nothing flows */
    uint32_t *input_output; /* which output of inputs[i] the operand was */
    uint32_t *saved_in;     /* slots, KNI_NO_SLOT where nothing is saved */
    uint32_t *saved_out;
    kni_type *in_types, *out_types;
    void *attributes;
};

/* A node with room for its arrays; one reference. NULL without memory. */
kni_node *kni_node_new(kn_device device, const kn_op *row, int n_in, int n_out, const void *attributes);
void kni_node_retain_one(kni_node *node);
/* Makes output `output` of `from` input i of the node. */
void kni_node_set_input(kni_node *node, int i, kni_node *from, uint32_t output);
void kni_node_release_one(kni_node *node);
/* Releases what the node saved; walking it again is an error then. */
void kni_node_forget(kni_node *node);
/* Makes slot x an output of the node. kni_node_hand_on gives it the caller's reference. */
void kni_node_attach(kni_node *node, kni_tensor *x, uint32_t output);
void kni_node_hand_on(kni_node *node, kni_tensor *x, uint32_t output);
/* An internal slot with x's value and no place in the tape; KNI_NO_SLOT without memory. */
uint32_t kni_node_save(const kni_tensor *x);

/* Which inputs and outputs the row's gradient reads, by running it on the null backend. */
typedef struct kni_saves {
    uint64_t in, out;
} kni_saves;
kn_status kni_saves_of(const kn_record *r, uint64_t needs, kni_saves *saves);

/* Cotangents of parts (slices, rows of a table) of a value, kept in a list until all have come (tape_parts.c). */
typedef struct kni_cotangent_part kni_cotangent_part;
/* Whether the node's cotangent is one of a part that can be kept. */
bool kni_part_fits(const kni_node *node);
/* Whether it is one of rows: indices, which the node saved as its second operand, are kept with it. */
bool kni_part_of_rows(const kni_node *node);
/* Adds dy, of a node that fits; takes the kept handle of the indices. False without memory. */
bool kni_part_add(kni_cotangent_part **list, const kni_node *node, kn_tensor dy, kn_tensor indices);
/* Takes out parts of one output of the value, named by *output, as one cotangent of the whole; `sums` are those of the
   outputs so far, which it replaces or is to be added to. */
kn_tensor kni_parts_take(kni_cotangent_part **list, const kn_tensor *sums, uint32_t *output, bool *replaces);
void kni_parts_free(kni_cotangent_part **list);

/* Walks back from outputs to wrt. grads receive temporaries of the calling scope; KN_NONE where nothing
   reaches. Cotangents are borrowed. */
typedef struct kni_wrt {
    kni_node *node;
    uint32_t output;
} kni_wrt;
kn_status kni_tape_walk(const kn_tensor *outputs, const kn_tensor *cotangents, int n_outputs,
                        const kni_wrt *wrt, int n_wrt, uint32_t flags, kn_tensor *grads);

/* The leaves that t depends on, in order of their making. Fills at most `room`; returns how many there are,
   -1 without memory. */
int kni_tape_leaves(kn_tensor t, kni_node **leaves, int room);

#endif
