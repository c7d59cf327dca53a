/* Programs that are written as C, and programs of C that run them without a library and compare the results with those of ops that run
   at once. The unit test compiles them for this machine, scripts/smoke.sh for bare metal. */
#ifndef EXPORTED_PROGRAMS_H
#define EXPORTED_PROGRAMS_H

#include <kn.h>
#include <kn/program.h>

enum { EXPORTED_SIZES = 4, EXPORTED_INPUTS = 4, EXPORTED_RUNS = 3 };

/* What a program is run with: its sizes in the order of the entry function. */
typedef struct exported_program {
    const char *name;
    kn_program (*make)(void);
    int64_t runs[EXPORTED_RUNS][EXPORTED_SIZES];
    int n_sizes;
} exported_program;

/* NULL behind the last. */
const exported_program *exported_program_at(int number);
/* Writes <folder>/<name>.c and <folder>/<name>_main.c, whose main returns how many outputs are wrong. weights: in a file
   <folder>/<name>.weights, which the other one holds as bytes. False after a failure, which is printed. */
bool exported_write(const exported_program *e, const char *folder, bool weights);
/* The same for any program, with sizes for each of the runs. */
bool exported_write_program(kn_program p, const char *name, const char *folder, bool weights,
                            const int64_t (*runs)[EXPORTED_SIZES], int n_runs);

#endif
