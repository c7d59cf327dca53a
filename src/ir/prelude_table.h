/* The table of texts that kernels are printed with, as tools/gen/math_text.py writes it into ir/generated. */
#ifndef KNI_IR_PRELUDE_TABLE_H
#define KNI_IR_PRELUDE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* A function, a struct or a table; what it needs stands before it. */
typedef struct kni_ir_item {
    const char *name, *text;
    uint16_t first_need, n_needs; /* in kni_ir_item_needs: numbers of items */
    bool f64;                     /* it computes in double precision itself */
} kni_ir_item;

enum { KNI_IR_MAX_ITEMS = 1024 };
extern const kni_ir_item kni_ir_items[]; /* at most so many */
extern const int kni_ir_item_count;
extern const uint16_t kni_ir_item_needs[];
extern const uint16_t kni_ir_items_by_name[]; /* numbers of items in the order of their names (as strcmp) */

/* The number of an item, -1 where there is none (prelude.c). */
int kni_ir_item_find(const char *name);

#endif
