/* Defined ops along lines: their programs are made when they first run. */
#include "backend/cpu/line_program.h"
#include "core/allocator.h"
#include "core/error.h"
#include "ops/defined.h"
#include <stdatomic.h>

enum { LONGEST = 1 << 20 }; /* of a line; longer ones are lowered, so that all threads share one */

/* The row's program; NULL with *status. */
static const kni_line_program *program_of(const kn_op *row, kn_status *status)
{
    static char none; /* stands for a row that has no program */
    void *_Atomic *place = &kni_defined_of(row)->line_program;
    void *known = atomic_load_explicit(place, memory_order_acquire);
    if (!known) {
        const char *why;
        kni_line_program *made = kni_line_compile(row->body, &why);
        if (!made && !why) {
            *status = kni_fail_op(KN_ERROR_MEMORY, row->name, "no memory for its program");
            return NULL;
        }
        void *mine = made && kni_line_bind(made) ? (void *)made : &none;
        bool used = atomic_compare_exchange_strong(place, &known, mine);
        if (used) known = mine;
        if (made && (!used || mine == &none)) kni_free(made, made->bytes);
    }
    *status = KN_ERROR_UNSUPPORTED;
    return known == &none ? NULL : known;
}

static kn_status run_defined(const kn_record *r)
{
    kn_status s;
    const kni_line_program *p = program_of(r->row, &s);
    return p ? kni_line_run(r, p, LONGEST) : s;
}

const kni_native kni_cpu_defined_lines = {.run = run_defined};
