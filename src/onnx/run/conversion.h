/* What a conversion is inside: the values that converters see, where they are, and the target that ops go to. A target is either the
   devices, where ops run at once (now.c), or a program. Nothing here is for converters, which see onnx/convert.h. */
#ifndef KNI_ONNX_CONVERSION_H
#define KNI_ONNX_CONVERSION_H

#include "onnx/convert.h"
#include "onnx/run/held.h"
#include "onnx/run/model_plan.h"
#include <kn/call.h>
#include <kn/program.h>
#include <kn/tensor.h>

/* A value of a conversion. It lives as long as it has users: the node that makes it, the graph's value, sequences that hold it. */
typedef struct kni_entry {
    kni_datum_kind kind;
    int32_t users;
    kn_dtype dtype;
    int32_t rank;
    kni_extent extents[KN_MAX_RANK];
    /* A tensor on the host, which is known, and the one on the target's device; without bits: not there. Those that are not `borrowed`
       are kept tensors of the conversion's. */
    kn_tensor host, device;
    bool host_borrowed, device_borrowed;
    int32_t counted; /* by a program: the depth of the region that reads its numbers + 1; 0: none does */
    bool is_input;   /* of a program */
    bool of_weights; /* known, but computed when a program runs, too, since weights go into it */
    bool near; /* made on the host; what is computed of such values alone stays there while it is small */
    bool scalar_list;     /* content of rank 0 */
    kni_stored *constant; /* NULL: it is none */
    /* Whole numbers and reals that are known, allocated; NULL: not read yet. */
    kni_extent *content;
    int64_t *ints;
    double *reals;
    int64_t n_content;
    kni_held *strings;    /* of KNI_IS_STRINGS; one use of it is ours */
    kni_onnx_text *texts; /* the same, as converters get them; within `strings` */
    kni_datum *items;     /* of a sequence; of an optional 0 or 1; of a map keys and values */
    int64_t n_items;
    int32_t depth;          /* of lists in lists */
    kn_program_value value; /* of a target that makes a program */
    /* What it is a permutation (with these axes) or another shape of; {0}: of nothing. */
    kn_program_value moved_from;
    int8_t moved_axes[KN_MAX_RANK], n_moved;
} kni_entry;

/* Where ops go. */
typedef struct kni_onnx_target {
    bool now; /* ops run at once, and all sizes are known */
    /* Fills out with new entries, or fails the node. */
    void (*emit)(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                 const kni_given_attribute *attributes, kni_datum *out, int32_t n_out);
    /* Whether the content of an entry with neither `content` nor `host` can be had without waiting for a device. */
    bool (*is_known)(kni_conversion *c, const kni_entry *e);
    /* Fills `content` or `host` of such an entry; false with the node failed. what: "the shape". */
    bool (*read)(kni_conversion *c, kni_entry *e, const char *what);
    /* Fills `content` of such an entry, of counts, with sizes that a program reads while it runs; false: it does not, and nothing
       was done. May be NULL. */
    bool (*count)(kni_conversion *c, kni_datum x);
    /* Waits until the ops before are done, to measure nodes. */
    void (*wait)(kni_conversion *c);
    /* Hears which value of the model a result is; may be NULL. */
    void (*name)(kni_conversion *c, int32_t value, kni_datum x);
    /* Converts a node; NULL: kni_convert_one does. */
    void (*node)(kni_conversion *c, const kni_onnx_node *node);
    /* If, Loop and Scan. */
    kni_convert_function *branch, *loop, *scan;
} kni_onnx_target;

struct kni_conversion {
    const kni_onnx_target *target;
    const kni_onnx_plan *plan;
    void *state;               /* the target's own */
    kn_status status;          /* of the first failure, whose text is the thread's latest */
    const kni_onnx_node *node; /* being converted; NULL: none */
    kni_onnx_arena *arena;     /* texts of extents: lives as long as the conversion */
    kni_onnx_arena *scratch;   /* what a node needs */
    kni_entry **chunks;        /* of entries, which never move; ids are places + 1 */
    int32_t n_chunks, n_entries;
    int32_t *unused; /* places of entries that ended */
    int32_t n_unused, unused_room;
    int32_t *made; /* entries that the nodes being converted have made and still use */
    int32_t n_made, made_room;
    int32_t *now;      /* the entry of each value of the model; 0: none yet */
    int32_t depth;     /* of graphs in graphs */
    int64_t max_trips; /* of one loop */
    double *times;     /* seconds of each node by place; NULL: not measured */
};

/* False with no memory, which is told. */
bool kni_conversion_start(kni_conversion *c, const kni_onnx_plan *plan, const kni_onnx_target *target,
                          void *state);
void kni_conversion_end(kni_conversion *c);

/* NULL for KNI_ABSENT. */
kni_entry *kni_entry_of(const kni_conversion *c, kni_datum x);
/* A new entry of the node being converted; NULL with the node failed. */
kni_entry *kni_entry_new(kni_conversion *c, kni_datum_kind kind, kni_datum *x);
/* A tensor on the host that becomes the entry's: a temporary, which may be poisoned (then the node fails). Dtype and sizes are read off
   it. */
kni_datum kni_entry_host(kni_conversion *c, kn_tensor t);
void kni_entry_describe(kni_entry *e, kn_tensor t);
void kni_entry_use(kni_conversion *c, kni_datum x);
void kni_entry_leave(kni_conversion *c, kni_datum x);
/* Entries made since a mark lose their use by the node. */
int32_t kni_made_mark(const kni_conversion *c);
void kni_made_leave(kni_conversion *c, int32_t mark);
/* The node being converted gets a use of an entry that was there before. */
void kni_made_add(kni_conversion *c, kni_datum x);
/* A constant of the plan as a value. */
kni_datum kni_entry_constant(kni_conversion *c, kni_stored *constant);

/* Binds values of the model: the older entry is left. */
void kni_bind(kni_conversion *c, int32_t value, kni_datum x);
/* The value of the model, for reading. */
kni_datum kni_bound(kni_conversion *c, int32_t value);
/* Converts one node. */
void kni_convert_one(kni_conversion *c, const kni_onnx_node *node);

/* ---- check_node.c: what contradicts itself or the standard fails */
void kni_check_node(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in);
void kni_check_result(kni_conversion *c, int32_t value, kni_datum x);
/* Runs the nodes of a graph whose inputs are bound. */
void kni_graph_nodes(kni_conversion *c, const kni_onnx_graph *graph);
/* Leaves all values that belong to a graph. */
void kni_graph_leave(kni_conversion *c, const kni_onnx_graph *graph);

/* The entry's tensor on the host; without bits and the node failed where it is known only when a program runs. */
kn_tensor kni_entry_read(kni_conversion *c, kni_entry *e, const char *what);
/* Whole numbers as a tensor on the host, where they are numbers. */
kn_tensor kni_content_tensor(const kni_entry *e);

#endif
