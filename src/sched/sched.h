/* From a group of records to kernels: how its work is laid over the invocations of a device. Two steps, so that a kernel
   is built once and launched with many sizes: kni_sched_prepare looks at the group and says which kernels it takes
   (their signatures), with which buffers, numbers and sizes; kni_sched_build makes the IR of one that is not in the
   caller's cache yet. Everything that differs between two launches with equal signatures is in the params. */
#ifndef KNI_SCHED_H
#define KNI_SCHED_H

#include "graph/group.h"
#include "ir/ir.h"
#include "ops/op.h"

typedef enum kni_schedule {
    KNI_SCHED_POINTWISE, /* one invocation for some consecutive elements */
    KNI_SCHED_INNER, /* a workgroup (or subgroup) for each row that is reduced; held in registers when short */
    KNI_SCHED_OUTER, /* invocations over columns, walking down the rows that are reduced */
    KNI_SCHED_SPLIT, /* a first kernel reduces parts, a second one the parts */
    KNI_SCHED_SCAN,
    KNI_SCHED_MANY, /* blocks of many tensors in one launch */
    KNI_SCHED_TAIL, /* the end of a kernel that is no schedule's (sched_tail.h) */
    KNI_SCHEDULES
} kni_schedule;

/* The size of a launch. */
typedef struct kni_launch_shape {
    uint32_t groups[3], workgroup;
    uint32_t shared_bytes; /* asked for at launch, beyond what the text declares */
} kni_launch_shape;

enum {
    KNI_SCHED_MAX_KERNELS = 4,
    KNI_SCHED_MAX_BUFFERS = 96,
    KNI_SCHED_MAX_TEMPS = 8,
    KNI_SCHED_PARAM_BYTES = 3072,
    KNI_SCHED_SIGNATURE = 6144,
    KNI_SCHED_SOURCES = 256
};
/* Where a number of the params comes from that may be another one at the next launch of the same records. */
typedef struct kni_sched_source {
    uint16_t at; /* of the params */
    uint8_t kind, dtype;
    uint16_t record, index;
} kni_sched_source;
enum {
    KNI_SOURCE_NONE,
    KNI_SOURCE_NUMBER, /* number `index` of the record's body */
    KNI_SOURCE_SHARED, /* no number: the record has those of record `index`, because their attributes are equal */
    KNI_SOURCE_WHOLE /* the attribute of 64 bits at offset `index` */
};

/* | n: temporary n instead of a tensor's id. */
#define KNI_SCHED_TEMP 0x80000000u

typedef struct kni_sched_kernel {
    uint8_t schedule;
    kni_launch_shape shape;
    uint32_t buffers[KNI_SCHED_MAX_BUFFERS]; /* tensor ids in the order of the bindings */
    uint32_t n_buffers;
    /* Of a result: 1 + the number of a buffer that is only read and whose memory it may be written into when nothing else
       needs that memory any more; 0 where it must have memory of its own. No buffer is named twice. */
    uint8_t in_place[KNI_SCHED_MAX_BUFFERS];
    _Alignas(8) uint8_t params[KNI_SCHED_PARAM_BYTES];
    uint32_t param_bytes;
    kni_sched_source sources[KNI_SCHED_SOURCES];
    uint32_t n_sources;
    bool sources_lack; /* there are more */
    int32_t reporter;  /* the record whose faults it reports, where it does */
    /* All that the kernel's text depends on. Last, because most of the room is not used: see kni_sched_bytes. */
    uint32_t signature_bytes;
    uint8_t signature[KNI_SCHED_SIGNATURE];
} kni_sched_kernel;

typedef struct kni_sched {
    int32_t n_kernels; /* to be launched in order; 0 where there is nothing to compute */
    int32_t n_temps;
    size_t temp_bytes[KNI_SCHED_MAX_TEMPS];
    kni_sched_kernel kernels[KNI_SCHED_MAX_KERNELS];
} kni_sched;

/* How much of it is used: a copy of so many bytes is as good. */
static inline size_t kni_sched_bytes(const kni_sched *s)
{
    if (!s->n_kernels) return offsetof(kni_sched, kernels);
    const kni_sched_kernel *last = &s->kernels[s->n_kernels - 1];
    return (size_t)((const char *)last->signature + last->signature_bytes - (const char *)s);
}

/* What a device is like, beside its caps. */
typedef struct kni_sched_target {
    const kni_ir_caps *caps;
    uint32_t processors;
} kni_sched_target;

/* KN_ERROR_UNSUPPORTED without a text: no schedule for this group; run its records one by one, and a single record by
   its lowering or reference kernel. Outputs need their types and orders only, not storage: they will lie as promised. */
kn_status kni_sched_prepare(const kni_group *group, const kni_sched_target *target, kni_sched *sched);
/* Whether the attribute gets into params by way of sources alone. */
bool kni_sched_tracks(const kn_op *row, const kn_attribute *a);
/* Gives the params the numbers that the records have now, all else being as it was. False: they would be laid out in
   another way, and nothing was changed. */
bool kni_sched_renumber(const kni_sched_source *sources, uint32_t n, const kn_record *const *records,
                        unsigned char *params);
/* The IR of one of its kernels, verified and simplified but not legalised; NULL after a failure. */
kni_ir *kni_sched_build(const kni_group *group, const kni_sched_target *target, const kni_sched *sched,
                        int32_t kernel);

#endif
