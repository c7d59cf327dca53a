/* Row groups by tiles, inside: what a group compiles to, and what each thread has while it runs. */
#ifndef KNI_BACKEND_CPU_GROUP_TILES_H
#define KNI_BACKEND_CPU_GROUP_TILES_H

#include "backend/cpu/group_strips.h"
#include "graph/row_domain.h"

enum { KNI_ROWS_TENSORS = KNI_GROUP_RECORDS * 4, KNI_ROWS_ALIGN = 64 };

/* A tensor as the tiles see it. */
typedef struct kni_rows_tensor {
    uint32_t id;   /* the slot outside */
    int8_t result; /* of a record of the group: its number, else -1 */
    int8_t axis;   /* that is cut into tiles; -1: the same for all */
    bool output;
    bool far;        /* read from memory in the order of the tiles, more than the caches hold */
    int64_t scratch; /* bytes from the start of a worker's memory, of results that stay inside */
} kni_rows_tensor;

/* What runs on a tile: a pointwise program over several records, or one record. */
typedef struct kni_rows_part {
    int32_t first, n; /* records */
    kni_strip_program
        *program[2]; /* for whole tiles, and for the last one where it is shorter; NULL: one record */
    int32_t n_inputs, n_outputs;
    int16_t inputs[KNI_GROUP_INPUTS], outputs[KNI_GROUP_RESULTS]; /* tensors */
} kni_rows_part;

typedef struct kni_rows_program {
    kni_row_domain domain;
    kni_type shape; /* that the domain refers to */
    int axis;       /* of the domain that is cut */
    int64_t rows;   /* of a tile, along the axis */
    int64_t outer;  /* indices before the axis */
    int64_t inner;  /* elements behind it */
    int64_t per_outer, tiles;
    int32_t n_tensors, n_parts;
    int64_t scratch_bytes;
    int64_t work;      /* of a tile, in which memory can be asked for */
    bool long_work;    /* some of it is more than sums and products */
    int64_t far_lines; /* that a tile reads from memory in order */
    kni_rows_tensor tensors[KNI_ROWS_TENSORS];
    int16_t operands[KNI_GROUP_RECORDS][8]; /* tensors of each record: result first */
    kni_rows_part parts[KNI_GROUP_RECORDS];
} kni_rows_program;

/* group_tiles.c: fills in the tiles and the tensors of a group; false where its rows cannot be cut so. */
bool kni_rows_cut(kni_rows_program *p, const kni_group *g);
/* The type of a tensor in a tile of `rows` rows. */
kni_type kni_rows_tile_type(const kni_rows_tensor *t, int64_t rows);

/* One worker's slots (group_worker.c). */
typedef struct kni_rows_worker {
    uint32_t slots[KNI_ROWS_TENSORS];
    kni_storage
        memory[KNI_ROWS_TENSORS]; /* of results: headers that point into scratch or into the outputs */
    char *records;
    size_t record_bytes;
    kni_ahead ahead;
    const kn_record *record[KNI_GROUP_RECORDS];
    char *scratch;
    int32_t n_slots;
} kni_rows_worker;

/* Slots that see what the tiles see; records that name them. False: no memory; it is ended all the same. */
bool kni_rows_start_worker(const kni_rows_program *p, const kni_group *g, kni_rows_worker *w);
void kni_rows_end_worker(const kni_rows_program *p, kni_rows_worker *w);
/* Points every slot at its part of a tile: `rows` rows from `begin` on, under index `outer` of the axes before. */
void kni_rows_enter(const kni_rows_program *p, const kni_rows_worker *w, int64_t outer, int64_t begin,
                    int64_t rows);
/* The next tile is asked for while this one is computed with. */
void kni_rows_look_ahead(const kni_rows_program *p, kni_rows_worker *w, int64_t rows);
/* A part that is one record, and one that is a program. */
kn_status kni_rows_run_record(kni_rows_worker *w, const kn_record *r);
void kni_rows_run_part(kni_rows_worker *w, const kni_rows_part *part, const kni_strip_program *program);

#endif
