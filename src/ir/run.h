/* Running IR on the host, without a compiler. A kernel becomes a flat program whose every step works on a strip of
   items (or on a workgroup) at once; those who took another way are left out of a step, so that invocations go in lock
   step and a barrier costs nothing. Every index is checked against its buffer always; `check` also finds races. */
#ifndef KNI_IR_RUN_H
#define KNI_IR_RUN_H

#include "ir/ir.h"

typedef struct kni_ir_run_buffer {
    void *data;
    int64_t count; /* of elements */
} kni_ir_run_buffer;

typedef struct kni_ir_run_args {
    const kni_ir_run_buffer *buffers; /* as many as the kernel has global bindings, in their order */
    const void *params;               /* param_bytes of them */
    int64_t items;                    /* of a kernel of items */
    uint32_t groups[3];               /* of a kernel of workgroups; 0 counts as 1 */
    uint32_t subgroup;                /* its size; 0: 32 or the workgroup's */
    int64_t *fault;                   /* [0] becomes 1 at the first report, [1] its value; may be NULL */
    /* When checking, by bits: buffers that hold nothing before the run, and those that all has to be written of. */
    uint64_t fresh, whole;
    /* Finds two invocations that write one element, one that reads what another writes, and elements of arrays that are
       read before they were written; stops kernels that do not end. */
    bool check;
    uint64_t max_steps; /* of the invocations of a strip together; 0: none, when checking 2^26 */
} kni_ir_run_args;

/* Runs all items or workgroups. The failure told names line, column, binding, element and item. */
kn_status kni_ir_run(const kni_ir *ir, const kni_ir_run_args *args);

/* The same in two steps, for kernels that run often. A program is not changed by running: threads may share it, each
   with a part of the items (or workgroups, counted with axis 0 first). Checking needs all in one call. */
typedef struct kni_ir_program kni_ir_program;
kni_ir_program *
kni_ir_program_new(const kni_ir *ir); /* NULL after a failure; keeps a copy of what it needs */
void kni_ir_program_free(kni_ir_program *program);
kn_status kni_ir_program_run(const kni_ir_program *program, const kni_ir_run_args *args, int64_t begin,
                             int64_t end);

#endif
