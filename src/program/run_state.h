/* One run of a program. */
#ifndef KNI_PROGRAM_RUN_H
#define KNI_PROGRAM_RUN_H

#include "core/text.h"
#include "program/program_data.h"

enum { KNI_RUN_SIZES = 256 };

typedef struct kni_run {
    kni_program *p;
    kn_device device;
    kn_tensor *now; /* of each value, KN_NONE where it has none yet or any more */
    kn_dim symbols[KNI_RUN_SIZES];
    int64_t sizes[KNI_RUN_SIZES];                     /* of the symbols */
    int32_t told[KNI_RUN_SIZES], axes[KNI_RUN_SIZES]; /* the input that tells a size, and which axis of it */
    int32_t n_sizes;
    uint64_t base; /* of the random numbers of a trace */
} kni_run;

/* An expression with these sizes; -1 where it has no value. */
int64_t kni_run_size(const kni_run *run, kn_dim d);
/* The same for a whole number, which may be below 0; false where it has no value. */
bool kni_run_whole(const kni_run *run, kn_dim d, int64_t *value);
/* Finds sizes that follow from those of the inputs and are not bound yet: n of an input of 2 * n. */
void kni_run_solve(kni_run *run, const kn_tensor *inputs);
/* The name of an input, its number where it has none. */
const char *kni_run_input_name(const kni_program *p, int32_t i, char *number);
enum { KNI_RUN_NUMBER = 16 }; /* room for that */
/* ": n is 3 by input 'x'" for each size that d names; nothing for a number. */
void kni_run_tell(const kni_run *run, kn_dim d, kni_text *text);
/* Fails: axis a of input i has another size than those that were told before. */
kn_status kni_run_differs(const kni_run *run, int32_t i, int a, const kni_type *have);
/* Puts behind the failure of an op of a trace that the inputs have other sizes than it was made with, where they have. */
void kni_run_explain(const kni_run *run);
/* Expressions among the attributes of an op become numbers. */
kn_status kni_run_attributes(const kni_run *run, const kn_op *row, char *attributes);
kn_status kni_run_region(kni_run *run, int32_t region);
kn_status kni_run_control(kni_run *run, const kni_program_node *n);
/* Ends those of n values that belong to the region and that no node behind the place reads. */
void kni_run_drop_read(kni_run *run, int32_t region, int32_t place, const int32_t *values, int32_t n);

#endif
