/* Reading protobuf's wire format: varints, numbers of fixed size, bytes with their length, and groups, which are skipped. */
#include "onnx/read/wire.h"
#include <string.h>

enum { GROUP_START = 3, GROUP_END = 4, MAX_GROUPS = 32, MAX_VARINT = 10 };

kni_wire kni_wire_of(const void *data, size_t bytes)
{
    static const unsigned char none[1];
    const unsigned char *at = bytes ? data : none;
    return (kni_wire){at, at + bytes, NULL};
}

static bool faulty(kni_wire *w, const char *fault)
{
    if (!w->fault) w->fault = fault;
    w->at = w->end;
    return false;
}

/* At most ten bytes, of which the last has one bit. */
static bool read_varint(kni_wire *w, uint64_t *value)
{
    uint64_t bits = 0;
    for (int i = 0; i < MAX_VARINT; i++) {
        if (w->at == w->end) return faulty(w, "it ends inside of a number");
        unsigned char byte = *w->at++;
        if (i == MAX_VARINT - 1 && byte > 1) break;
        bits |= (uint64_t)(byte & 127) << 7 * i;
        if (byte < 128) {
            *value = bits;
            return true;
        }
    }
    return faulty(w, "a number has more than 64 bits");
}

static bool read_fixed(kni_wire *w, size_t bytes, uint64_t *value)
{
    if ((size_t)(w->end - w->at) < bytes) return faulty(w, "it ends inside of a number");
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; i++) bits |= (uint64_t)w->at[i] << 8 * i;
    w->at += bytes;
    *value = bits;
    return true;
}

static bool read_tag(kni_wire *w, uint32_t *number, uint32_t *kind)
{
    uint64_t tag;
    if (!read_varint(w, &tag)) return false;
    if (tag > UINT32_MAX || tag < 8) return faulty(w, "a field has an impossible number");
    *number = (uint32_t)tag >> 3;
    *kind = tag & 7;
    return true;
}

static bool read_content(kni_wire *w, uint32_t kind, kni_wire_field *f)
{
    uint64_t length;
    f->value = 0;
    f->data = NULL;
    f->bytes = 0;
    f->kind = (kni_wire_kind)kind;
    switch (kind) {
    case KNI_WIRE_VARINT:
        return read_varint(w, &f->value);
    case KNI_WIRE_FIXED64:
        return read_fixed(w, 8, &f->value);
    case KNI_WIRE_FIXED32:
        return read_fixed(w, 4, &f->value);
    case KNI_WIRE_BYTES:
        if (!read_varint(w, &length)) return false;
        if (length > (size_t)(w->end - w->at)) return faulty(w, "a field is longer than what it lies in");
        f->data = w->at;
        f->bytes = (size_t)length;
        w->at += length;
        return true;
    default:
        return faulty(w, "a field has an unknown kind");
    }
}

/* From behind the start of a group to behind its end. */
static bool skip_group(kni_wire *w, uint32_t number)
{
    uint32_t open[MAX_GROUPS] = {number}, depth = 1, kind;
    kni_wire_field skipped;
    while (depth) {
        if (!read_tag(w, &number, &kind)) return false;
        if (kind == GROUP_START) {
            if (depth == MAX_GROUPS) return faulty(w, "groups are nested too deeply");
            open[depth++] = number;
        } else if (kind == GROUP_END) {
            if (open[--depth] != number) return faulty(w, "a group ends that did not begin");
        } else if (!read_content(w, kind, &skipped)) {
            return false;
        }
    }
    return true;
}

bool kni_wire_next(kni_wire *w, kni_wire_field *f)
{
    uint32_t kind;
    while (w->at < w->end) {
        if (!read_tag(w, &f->number, &kind)) return false;
        if (kind != GROUP_START) return read_content(w, kind, f);
        if (!skip_group(w, f->number)) return false;
    }
    return false;
}

bool kni_wire_number(kni_wire *w, kni_wire_kind kind, uint64_t *value)
{
    if (w->at == w->end) return false;
    return kind == KNI_WIRE_VARINT ? read_varint(w, value)
                                   : read_fixed(w, kind == KNI_WIRE_FIXED64 ? 8 : 4, value);
}

size_t kni_wire_numbers(const void *data, size_t bytes, kni_wire_kind kind)
{
    if (kind != KNI_WIRE_VARINT) return bytes / (kind == KNI_WIRE_FIXED64 ? 8 : 4);
    const unsigned char *at = data;
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) count += at[i] < 128;
    return count;
}
