/* How fuzzers change ONNX files: inside of fields of any depth, and the lengths around them stay right. A fuzzer includes this once. */
#ifndef ONNX_MUTATOR_H
#define ONNX_MUTATOR_H

#include "onnx/read/wire.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

enum { MAX_INPUT = 1 << 14, MAX_FIELDS = 256, MAX_DEPTH = 12 };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    do to[n++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    while (value >>= 7);
    return n;
}

/* Where the fields of a message begin, and behind the last one; 0 where the bytes are none. */
static int fields_of(const uint8_t *data, size_t size, size_t *starts)
{
    kni_wire_field f;
    kni_wire w = kni_wire_of(data, size);
    int n = 0;
    starts[0] = 0;
    while (n < MAX_FIELDS - 1 && size && kni_wire_next(&w, &f)) starts[++n] = (size_t)(w.at - data);
    return w.fault ? 0 : n;
}

/* The field's content replaced: its tag stays, its length becomes that of the new content. */
static size_t replace(uint8_t *data, size_t size, size_t start, size_t end, const uint8_t *tag,
                      size_t tag_bytes, const uint8_t *content, size_t bytes)
{
    uint8_t head[20];
    size_t tail = size - end;
    memcpy(head, tag, tag_bytes);
    size_t n = tag_bytes + put_varint(head + tag_bytes, bytes);
    memmove(data + start + n + bytes, data + end, tail);
    memcpy(data + start, head, n);
    memcpy(data + start + n, content, bytes);
    return start + n + bytes + tail;
}

/* Takes a field out, writes it twice, or changes places with another one. */
static size_t move_fields(uint8_t *data, size_t size, const size_t *starts, int n, size_t room)
{
    static uint8_t field[MAX_INPUT];
    int a = (int)draw((uint32_t)n), b = (int)draw((uint32_t)n);
    size_t start = starts[a], bytes = starts[a + 1] - start, to = starts[b];
    if (bytes > sizeof field) return size;
    memcpy(field, data + start, bytes);
    if (draw(3)) { /* out */
        memmove(data + start, data + start + bytes, size - start - bytes);
        size -= bytes;
        if (draw(2)) return size;
        if (to > start) to -= bytes;
    }
    if (size + bytes > room || to > size) return size;
    memmove(data + to + bytes, data + to, size - to);
    memcpy(data + to, field, bytes);
    return size + bytes;
}

static size_t change(uint8_t *data, size_t size, size_t room, int depth)
{
    size_t starts[MAX_FIELDS];
    int n = fields_of(data, size, starts);
    if (!n || !draw(12)) return LLVMFuzzerMutate(data, size, room);
    if (!draw(6)) return move_fields(data, size, starts, n, room);
    int i = (int)draw((uint32_t)n);
    kni_wire_field f;
    kni_wire w = kni_wire_of(data + starts[i], starts[i + 1] - starts[i]);
    if (!kni_wire_next(&w, &f)) return size;
    if (f.kind != KNI_WIRE_BYTES || depth == MAX_DEPTH) { /* a number, with its tag */
        uint8_t number[64];
        size_t bytes = starts[i + 1] - starts[i];
        if (bytes > 16) return LLVMFuzzerMutate(data, size, room);
        memcpy(number, data + starts[i], bytes);
        size_t changed = LLVMFuzzerMutate(number, bytes, 16);
        if (size - bytes + changed > room) return size;
        memmove(data + starts[i] + changed, data + starts[i + 1], size - starts[i + 1]);
        memcpy(data + starts[i], number, changed);
        return size - bytes + changed;
    }
    size_t spare = room - size;
    uint8_t *content = malloc(f.bytes + spare + 1), tag[10];
    size_t tag_bytes = put_varint(tag, (uint64_t)f.number << 3 | KNI_WIRE_BYTES);
    memcpy(content, f.data, f.bytes);
    size_t bytes = change(content, f.bytes, f.bytes + (spare > 20 ? spare - 20 : 0), depth + 1);
    if (size - (starts[i + 1] - starts[i]) + bytes + 20 <= room)
        size = replace(data, size, starts[i], starts[i + 1], tag, tag_bytes, content, bytes);
    free(content);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    state = seed * 2654435761u + 1;
    for (uint32_t steps = 1 + draw(3); steps; steps--) size = change(data, size, max_size, 0);
    return size;
}

#endif
