/* What the files of kn_load share: the params of the module, the tensors on offer, and how they were matched. */
#ifndef KNI_STORE_LOAD_H
#define KNI_STORE_LOAD_H

#include "store/name_rules.h"
#include "store/store_object.h"

/* A param or buffer of the module. */
typedef struct kni_load_target {
    char *path;
    kn_param *param;
    kn_shape shape;
    int64_t offer;     /* what fills it, -1 while nothing does */
    int64_t row, rows; /* the part of a tensor that holds several params; rows 0: all of it */
    bool skipped;      /* the filters leave it alone */
    bool mismatched;
    kn_tensor value; /* owned: what will be set */
} kni_load_target;

/* A tensor of the file under its name after renames. */
typedef struct kni_load_offer {
    char *name;
    kn_store_entry entry;
    int64_t index; /* in the store */
    bool used, ignored;
} kni_load_offer;

typedef struct kni_load {
    const char *function;
    kni_load_target *targets; /* sorted by path */
    int64_t target_count, target_capacity;
    const kni_load_target **by_param; /* the same, those of one tied param side by side */
    kni_load_offer *offers;
    int64_t offer_count;
} kni_load;

/* All params of a module, sorted by path. */
kn_status kni_load_targets(kni_load *load, kn_module module);
kni_load_target *kni_load_find(const kni_load *load, const char *path);
/* Whether something fills the target's param, under this path or another one of a tied param. */
bool kni_load_fills(const kni_load *load, const kni_load_target *target);
/* Sets all values, or none. */
kn_status kni_load_apply(kni_load *load);
void kni_load_free(kni_load *load);
/* The value of a target as its param wants it (takes value); poisoned on failure. */
kn_tensor kni_load_convert(const kni_load_target *target, kn_tensor value);

/* Matches an offer whose name is none of a param by PyTorch's habits. */
kn_status kni_load_adapt(kni_load *load, int64_t offer);
/* The number of batches that a batch norm saw: files of old versions lack it, and other modules have no use for it. */
bool kni_load_is_counter(const char *name);
/* Notes that an offer fills a target. False when the target has one already. */
bool kni_load_take(kni_load *load, kni_load_target *target, int64_t offer, int64_t row, int64_t rows);

/* Counts, and writes a line for each that is missing, unused or mismatched. */
kn_status kni_load_report(const kni_load *load, kn_load_report *report);
void kni_shape_text(kni_buffer *out, const kn_shape *shape);

#endif
