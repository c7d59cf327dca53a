/* The CPU entries of built-in rows along lines whose kernel is their body. kiln-gen makes the programs, so that a program links
   those of the rows it calls, the words they name, and no compiler. */
#include "backend/cpu/line_program.h"
#include "backend/host/host.h"
#include "ops/scalar_row.h"

enum { LONGEST = 1 << 18 }; /* of a line, where the row has a lowering: all threads share that */

kn_status kni_line_run_entry(const kn_record *r)
{
    const kni_line_entry *entry = (const kni_line_entry *)(const void *)r->row->native;
    bool falls_back = r->row->lower || r->row->launch;
    kn_status s = kni_line_run(r, entry->program, falls_back ? LONGEST : 0);
#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)
    /* Lines without elements, and integers where a word has strips for floats alone. */
    if (s == KN_ERROR_UNSUPPORTED && !falls_back) return kni_host_lines(r);
#endif
    return s;
}

#define LINES(name, ...)                                                                                     \
    static const kni_line_program program_##name = {__VA_ARGS__};                                            \
    const kni_line_entry kni_lines_##name = {{.run = kni_line_run_entry}, &program_##name};

#include "backend/cpu/generated/line_programs.inc"
