/* Sets of expressions, for the files that compute with them. Everybody else asks core/dim.h, which finds what is done with expressions in
   the set: so a program without programs links none of it. */
#ifndef KNI_DIM_SET_H
#define KNI_DIM_SET_H

#include "core/dim.h"
#include "core/platform.h"

/* The values that an expression can have; INT64_MIN and INT64_MAX stand for no bound. */
typedef struct kni_dim_range {
    int64_t low, high;
} kni_dim_range;

/* What dim.h does where an expression is among its operands. */
typedef struct kni_dims_methods {
    kni_dim_kind (*kind_of)(kn_dim d);
    kn_dim (*compute)(kni_dim_op op, kn_dim a, kn_dim b);
    kni_truth (*equal)(kn_dim a, kn_dim b);
    kni_dim_range (*range_of)(kn_dim d);
    const char *(*problem)(void);
    void (*print)(struct kni_text *t, kn_dim d);
} kni_dims_methods;

typedef struct kni_dim_node {
    uint8_t kind, depth;
    uint16_t parts;
    int32_t first, n; /* terms of a sum; of a symbol where its name begins */
    kn_dim a, b;      /* of a quotient or an extreme */
    kni_dim_range values;
    uint32_t hash;
} kni_dim_node;

struct kni_dims {
    const kni_dims_methods *methods;
    kni_dim_node *nodes;
    kni_dim_term *terms;
    char *names;
    int32_t *slots; /* of the hash table: a node's number and 1, or 0 */
    uint32_t n, n_terms, n_names, room, term_room, name_room, n_slots;
    int32_t n_symbols;
    bool full;           /* there was no room for an expression */
    const char *problem; /* with the last expression that was refused */
};

extern KNI_THREAD_LOCAL kni_dims *kni_dims_entered;
extern const kni_dims_methods kni_symbolic_dims;

/* NULL for what is no expression of this thread's set. */
const kni_dim_node *kni_dim_at(kn_dim d);
/* Finds or adds an expression. */
kn_dim kni_dim_intern(kni_dim_node e, const kni_dim_term *terms, const char *name);
void kni_symbolic_print(struct kni_text *t, kn_dim d);

/* A whole number of either sign, as parts of an expression are. */
static inline bool kni_dim_is_number(kn_dim d) { return d > KNI_DIM_FIRST; }
static inline int64_t kni_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

#endif
