/* Writing a program's text: what its two halves share. */
#ifndef KNI_PROGRAM_SAVE_H
#define KNI_PROGRAM_SAVE_H

#include "program/program_file.h"
#include <kn/state.h>
#include <string.h>

typedef struct kni_program_writing {
    kni_program *p;
    const kn_program_save_args *args;
    const char *function;
    kni_buffer head, body; /* before and from the functions on: the ops that are used stand between */
    kni_buffer names;      /* made up, or of the module */
    int32_t *ids;          /* of each value: its number in the file, or -1 */
    int32_t *named;        /* of each param: where its name begins in `names`, or -1 */
    int32_t next, n_constants, n_made;
    uint8_t used[(UINT16_MAX + 1) / 8]; /* a bit for each row */
    kn_state state;
    kn_status status; /* the first failure */
} kni_program_writing;

/* Keeps the first failure. */
static inline void kni_write_failed(kni_program_writing *w, kn_status s)
{
    if (!w->status) w->status = s;
}

static inline void kni_write_text(kni_buffer *out, const char *text)
{
    kni_json_write_text(out, text, strlen(text));
}

/* A list of things, each behind a comma but the first. */
static inline void kni_write_comma(kni_buffer *out, int32_t i) { kni_buffer_text(out, i ? "," : ""); }

kn_status kni_write_no_memory(const char *function);
/* ["f32","batch",3] */
void kni_write_type(kni_program_writing *w, kni_buffer *out, const kni_type *t);

/* ---- program_save_nodes.c: into `body` */

void kni_write_functions(kni_program_writing *w);
void kni_write_region(kni_program_writing *w, int32_t region);

#endif
