/* The wire format of protobuf, read within bounds: the fields of one message, one after the other. What is inside of a field is the
   caller's to read, so nothing here goes deeper than the groups of old files, which are skipped. */
#ifndef KNI_ONNX_WIRE_H
#define KNI_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kni_wire_kind { /* numbers of the format */
                             KNI_WIRE_VARINT = 0,
                             KNI_WIRE_FIXED64 = 1,
                             KNI_WIRE_BYTES = 2,
                             KNI_WIRE_FIXED32 = 5
} kni_wire_kind;

typedef struct kni_wire {
    const unsigned char *at, *end;
    const char *fault; /* what is wrong with the bytes; NULL: nothing so far */
} kni_wire;

typedef struct kni_wire_field {
    uint32_t number;
    kni_wire_kind kind;
    uint64_t value;            /* of one number */
    const unsigned char *data; /* of bytes */
    size_t bytes;
} kni_wire_field;

kni_wire kni_wire_of(const void *data, size_t bytes);
/* The next field; false at the end, and where the bytes are no message (then fault is set). */
bool kni_wire_next(kni_wire *wire, kni_wire_field *field);
/* The next of packed numbers of a kind, as its bits; false at the end or with a fault. */
bool kni_wire_number(kni_wire *wire, kni_wire_kind kind, uint64_t *value);
/* How many packed numbers there are, as far as their bytes are right. */
size_t kni_wire_numbers(const void *data, size_t bytes, kni_wire_kind kind);

#endif
