/* Words of a SPIR-V module: ids, instructions, and types and constants, of which each is made once. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/spirv/spirv.h"
#include <stdarg.h>
#include <string.h>

uint32_t kni_spirv_id(kni_spirv *s) { return s->next++; }

void kni_spirv_fail(kni_spirv *s, const kni_ir_node *node, const char *what)
{
    if (s->status != KN_OK) return;
    s->status =
        kni_fail(KN_ERROR_UNSUPPORTED, "kernel %s, line %u: %s", s->ir->name, node ? node->line : 0, what);
}

static bool reserve(kni_spirv *s, kni_spirv_words *w, size_t more)
{
    if (s->status != KN_OK) return false;
    if (w->room - w->count >= more) return true;
    size_t room = w->room ? w->room * 2 : 512;
    while (room - w->count < more) room *= 2;
    uint32_t *data = kni_reallocate(w->data, w->room * sizeof *data, room * sizeof *data);
    if (!data) {
        s->status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        return false;
    }
    w->data = data;
    w->room = room;
    return true;
}

void kni_spirv_word(kni_spirv *s, kni_spirv_words *to, uint32_t word)
{
    if (reserve(s, to, 1)) to->data[to->count++] = word;
}

void kni_spirv_words_free(kni_spirv_words *w)
{
    if (w->data) kni_free(w->data, w->room * sizeof *w->data);
    *w = (kni_spirv_words){NULL, 0, 0};
}

void kni_spirv_put_list(kni_spirv *s, kni_spirv_words *to, uint32_t code, const uint32_t *first, int n_first,
                        const uint32_t *list, uint32_t n)
{
    uint32_t words = 1 + (uint32_t)n_first + n;
    if (words > 0xffff) kni_spirv_fail(s, NULL, "an instruction of SPIR-V is longer than 65,535 words");
    if (!reserve(s, to, words)) return;
    to->data[to->count++] = words << 16 | code;
    for (int i = 0; i < n_first; i++) to->data[to->count++] = first[i];
    for (uint32_t i = 0; i < n; i++) to->data[to->count++] = list[i];
}

void kni_spirv_put(kni_spirv *s, kni_spirv_words *to, uint32_t code, int n, ...)
{
    uint32_t operands[8];
    va_list rest;
    va_start(rest, n);
    for (int i = 0; i < n && i < KNI_COUNT(operands); i++) operands[i] = va_arg(rest, uint32_t);
    va_end(rest);
    kni_spirv_put_list(s, to, code, operands, n, NULL, 0);
}

uint32_t kni_spirv_make(kni_spirv *s, uint32_t code, uint32_t type, int n, ...)
{
    uint32_t operands[10] = {type, kni_spirv_id(s)};
    va_list rest;
    va_start(rest, n);
    for (int i = 0; i < n && i + 2 < KNI_COUNT(operands); i++) operands[i + 2] = va_arg(rest, uint32_t);
    va_end(rest);
    kni_spirv_put_list(s, &s->code, code, operands, n + 2, NULL, 0);
    return operands[1];
}

/* ---- types and constants */

static size_t place_of(const kni_spirv *s, uint32_t code, uint32_t type, uint32_t value)
{
    uint64_t hash = (code * UINT64_C(0x9e3779b97f4a7c15)) ^ (type * UINT64_C(0xff51afd7ed558ccd)) ^ value;
    hash *= UINT64_C(0xc4ceb9fe1a85ec53);
    size_t i = (size_t)(hash >> 32) & (s->known_room - 1);
    for (; s->known[i].id; i = (i + 1) & (s->known_room - 1))
        if (s->known[i].code == code && s->known[i].type == type && s->known[i].value == value) break;
    return i;
}

static bool grow_known(kni_spirv *s)
{
    if (s->status != KN_OK) return false;
    if (s->n_known * 2 < s->known_room) return true;
    kni_spirv_known *old = s->known;
    size_t old_room = s->known_room;
    s->known_room = old_room ? old_room * 2 : 128;
    s->known = kni_allocate(s->known_room * sizeof *old);
    if (!s->known) {
        s->known = old;
        s->known_room = old_room;
        s->status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        return false;
    }
    memset(s->known, 0, s->known_room * sizeof *old);
    for (size_t i = 0; i < old_room; i++)
        if (old[i].id) s->known[place_of(s, old[i].code, old[i].type, old[i].value)] = old[i];
    if (old) kni_free(old, old_room * sizeof *old);
    return true;
}

/* The id of what is told apart by three numbers; *made where it has to be written now. */
static uint32_t known(kni_spirv *s, uint32_t code, uint32_t type, uint32_t value, bool *made)
{
    *made = false;
    if (!grow_known(s)) return 0;
    size_t i = place_of(s, code, type, value);
    if (s->known[i].id) return s->known[i].id;
    s->known[i] = (kni_spirv_known){code, type, value, kni_spirv_id(s)};
    s->n_known++;
    *made = true;
    return s->known[i].id;
}

uint32_t kni_spirv_void(kni_spirv *s)
{
    bool made;
    uint32_t id = known(s, SPIRV_TYPE_VOID, 0, 0, &made);
    if (made) kni_spirv_put(s, &s->globals, SPIRV_TYPE_VOID, 1, id);
    return id;
}

uint32_t kni_spirv_scalar(kni_spirv *s, int dtype)
{
    uint32_t bits = (uint32_t)kni_bytes_of(dtype) * 8;
    bool made;
    if (kni_is_bool(dtype)) {
        uint32_t id = known(s, SPIRV_TYPE_BOOL, 0, 0, &made);
        if (made) kni_spirv_put(s, &s->globals, SPIRV_TYPE_BOOL, 1, id);
        return id;
    }
    if (kni_is_float(dtype)) {
        uint32_t id = known(s, SPIRV_TYPE_FLOAT, bits, 0, &made);
        if (made) kni_spirv_put(s, &s->globals, SPIRV_TYPE_FLOAT, 2, id, bits);
        return id;
    }
    uint32_t is_signed = dtype == KN_I32;
    uint32_t id = known(s, SPIRV_TYPE_INTEGER, bits, is_signed, &made);
    if (made) kni_spirv_put(s, &s->globals, SPIRV_TYPE_INTEGER, 3, id, bits, is_signed);
    return id;
}

uint32_t kni_spirv_vector(kni_spirv *s, uint32_t of, uint32_t lanes)
{
    bool made;
    uint32_t id = known(s, SPIRV_TYPE_VECTOR, of, lanes, &made);
    if (made) kni_spirv_put(s, &s->globals, SPIRV_TYPE_VECTOR, 3, id, of, lanes);
    return id;
}

uint32_t kni_spirv_type(kni_spirv *s, kni_ir_type type)
{
    if (type.dtype == KN_DTYPE_NONE) return kni_spirv_void(s);
    uint32_t scalar = kni_spirv_scalar(s, type.dtype);
    return type.lanes > 1 ? kni_spirv_vector(s, scalar, type.lanes) : scalar;
}

uint32_t kni_spirv_array(kni_spirv *s, uint32_t of, uint32_t length)
{
    bool made;
    uint32_t count = kni_spirv_u32(s, length), id = known(s, SPIRV_TYPE_ARRAY, of, length, &made);
    if (made) kni_spirv_put(s, &s->globals, SPIRV_TYPE_ARRAY, 3, id, of, count);
    return id;
}

uint32_t kni_spirv_pointer(kni_spirv *s, uint32_t to, uint32_t space)
{
    bool made;
    uint32_t id = known(s, SPIRV_TYPE_POINTER, to, space, &made);
    if (made) kni_spirv_put(s, &s->globals, SPIRV_TYPE_POINTER, 3, id, space, to);
    return id;
}

uint32_t kni_spirv_signature(kni_spirv *s, const uint32_t *types, uint32_t n)
{
    kni_spirv_words *w = &s->signatures;
    for (size_t i = 0; i < w->count; i += w->data[i] + 2)
        if (w->data[i] == n && !memcmp(w->data + i + 1, types, n * sizeof *types)) return w->data[i + 1 + n];
    uint32_t id = kni_spirv_id(s);
    kni_spirv_word(s, w, n);
    for (uint32_t i = 0; i < n; i++) kni_spirv_word(s, w, types[i]);
    kni_spirv_word(s, w, id);
    kni_spirv_put_list(s, &s->globals, SPIRV_TYPE_FUNCTION, &id, 1, types, n);
    return id;
}

uint32_t kni_spirv_constant(kni_spirv *s, int dtype, uint32_t bits)
{
    uint32_t type = kni_spirv_scalar(s, dtype);
    uint32_t code = !kni_is_bool(dtype) ? SPIRV_CONSTANT : bits ? SPIRV_TRUE : SPIRV_FALSE;
    bool made;
    uint32_t id = known(s, code, type, bits, &made);
    if (made && code == SPIRV_CONSTANT) kni_spirv_put(s, &s->globals, code, 3, type, id, bits);
    if (made && code != SPIRV_CONSTANT) kni_spirv_put(s, &s->globals, code, 2, type, id);
    return id;
}
