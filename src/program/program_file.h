/* What writing and reading files of programs share. The format is docs/program-format.md. */
#ifndef KNI_PROGRAM_FILE_H
#define KNI_PROGRAM_FILE_H

#include "program/program_data.h"
#include "support/buffer.h"
#include "support/json.h"

/* The newest version of the format, which is the one that is written. */
enum { KNI_PROGRAM_VERSION = 1 };
/* The text of the file's metadata that holds the program. Tensors and texts whose names begin so are Kiln's own. */
#define KNI_PROGRAM_TEXT "kiln.program"
#define KNI_PROGRAM_RESERVED "kiln."
#define KNI_PROGRAM_CONSTANT "kiln.constant."
/* A file names at most so many functions, inputs and outputs. */
enum { KNI_PROGRAM_FUNCTIONS = 1024, KNI_PROGRAM_PORTS = 4096 };

/* The version of a row's attributes and of what they mean: 1, until one of them changes. */
int32_t kni_op_version(const kn_op *row);

/* Reals as texts: what JSON has no number for. */
void kni_program_write_real(kni_buffer *out, double value);
/* False: it is no real number. */
bool kni_program_read_real(const kni_json *json, double *value);

/* Whether an attribute of a random row, which each run draws anew, is the key (1) or the counter (2); 0: neither. */
int kni_program_drawn(const kn_op *row, const kn_attribute *a);

/* ---- program_load.c and program_load_nodes.c */

typedef struct kni_program_reading {
    const char *file; /* for messages */
    kni_program *p;
    const kni_json *versions;                              /* "ops" of the file: by name */
    uint8_t known[(UINT16_MAX + 1) / 8];                   /* a bit for each row whose version was compared */
    int32_t functions[KNI_PROGRAM_FUNCTIONS], n_functions; /* regions of the complete ones */
    char where[160];                                       /* what is being read: "value 7 (matmul)" */
} kni_program_reading;

/* Tells "FILE: damaged: WHERE: what is wrong". */
kn_status kni_program_damaged(const kni_program_reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Tells a failure that the builder has just told, in words that name the file and the place. */
kn_status kni_program_refused(const kni_program_reading *r, kn_status s);
/* What a later Kiln has written, or one with other custom ops: nothing is damaged. */
kn_status kni_program_unknown(const kni_program_reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A list among the members of an object; NULL, with the failure told, where there is none. */
const kni_json *kni_program_list(const kni_program_reading *r, const kni_json *of, const char *name);
/* A text without zeros, and not empty; NULL, with the failure told, where there is none. */
const char *kni_program_name_of(const kni_program_reading *r, const kni_json *of, const char *name);
/* A size or another whole number, which may be negative where `any`. */
kn_status kni_program_read_size(const kni_program_reading *r, const kni_json *json, bool any, kn_dim *size);
/* A type, ["f32", "batch", 3]. */
kn_status kni_program_read_type(const kni_program_reading *r, const kni_json *json, kni_type *type);
/* Whether the file tells this value's number and type. */
kn_status kni_program_compare(const kni_program_reading *r, const kni_json *id, const kni_json *type,
                              int32_t value);
/* The name of a value, which may be absent or null. */
kn_status kni_program_read_name(const kni_program_reading *r, const kni_json *json, int32_t value);
/* Fills a region with its nodes and results. Its arguments are made where `make`, else compared. */
kn_status kni_program_read_region(kni_program_reading *r, const kni_json *json, int32_t region, bool make);

#endif
