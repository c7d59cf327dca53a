/* A program that is being built by a user. */
#ifndef KNI_BUILDER_H
#define KNI_BUILDER_H

#include "program/program_data.h"

enum { KNI_BUILDER_DEPTH = 16, KNI_BUILDER_VALUES = KNI_PROGRAM_VALUES };

/* An If, a loop or a function whose region is being filled. */
typedef struct kni_builder_frame {
    kni_program_node node; /* KNI_NODE_CALL: a function, which is no node */
    int32_t in[KNI_BUILDER_VALUES], n_in;
    int32_t region; /* around it */
} kni_builder_frame;

typedef struct kni_builder {
    kni_program *p; /* NULL: it became a program */
    int32_t region; /* that ops are added to */
    kni_builder_frame frames[KNI_BUILDER_DEPTH];
    int n_frames;
    kn_status code; /* of the first failure */
    char text[400];
} kni_builder;

/* Whether the builder can go on; a failure before is told again. */
bool kni_builder_goes_on(kni_builder *b);
/* Keeps the first failure, which everything after it fails with; returns s. */
kn_status kni_builder_noted(kni_builder *b, kn_status s);

#endif
