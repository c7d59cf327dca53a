/* Programs that are written as C, and programs of C that run them without a library and compare the results with those of ops that run
   at once. The unit test compiles them for this machine, scripts/smoke.sh for bare metal. */
#ifndef EXPORTED_PROGRAMS_H
#define EXPORTED_PROGRAMS_H

#include "proof_programs.h"

/* What is expected of a program: ops at once over the weights of the net, at the sizes of each run. */
typedef struct exported_truth {
    const proof_net *net;
    proof_eager_fn eager;
    const proof_run *runs;
    int n_runs;
} exported_truth;

/* Writes <folder>/<name>.c and <folder>/<name>_main.c, whose main returns how many outputs are wrong. weights: in a file
   <folder>/<name>.weights, which the other one holds as bytes. False after a failure, which is printed. */
bool exported_write(const proof_program *e, const char *folder, bool weights);
/* The same for any program. */
bool exported_write_program(kn_program p, const char *name, const char *folder, bool weights,
                            const exported_truth *truth);

#endif
