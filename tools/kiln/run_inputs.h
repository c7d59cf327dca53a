/* Where kiln run takes the inputs of an ONNX model from: files of tensors, ONNX's own messages, pictures, random numbers. */
#ifndef KILN_RUN_INPUTS_H
#define KILN_RUN_INPUTS_H

#include "run_files.h"

enum { KILN_CHANNELS = 4 };

typedef struct value_source {
    bindings inputs, dims;
    const kn_onnx_port *ports;  /* of the model */
    const kn_onnx_value *given; /* those read so far: sizes of one name are equal */
    int32_t n;
    bool cast, random; /* random: inputs that are not given are random, though others are */
    double mean[KILN_CHANNELS], std[KILN_CHANNELS]; /* of pictures by channel */
} value_source;
#define KILN_VALUE_SOURCE                                                                                    \
    {                                                                                                        \
        .std = { 1, 1, 1, 1 }                                                                                \
    }

/* A size of an input: what it declares, what --dim says of it, what an input that was read has under its name, else 1. */
int64_t kiln_size_of(value_source *from, const kn_onnx_port *port, int32_t axis);
/* The same; -1 where nothing says anything. */
int64_t kiln_known_size(value_source *from, const kn_onnx_port *port, int32_t axis);
/* Each gives NULL with the failure printed. */
kn_onnx_value kiln_random_value(value_source *from, const kn_onnx_port *port);
kn_onnx_value kiln_read_value(value_source *from, const kn_onnx_port *port, const binding *b);
/* Says on standard error that the inputs which are not there yet are random, how, and which sizes are open. */
void kiln_say_random(value_source *from, int64_t seed);
/* One number for all channels, or several with commas between. */
bool kiln_read_channels(const char *text, double *channels);
/* Prints kn_onnx_print; 0, or 1 with the failure printed. */
int kiln_print_nodes(kn_onnx model);

#endif
