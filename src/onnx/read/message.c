/* Messages by tables of their fields, and the failures of the reader. */
#include "onnx/read/model_reader.h"
#include "support/failure.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- failures */

enum { PLACE_TEXT = 400, NAME_TEXT = 100, PLACES = 4 };

static void write_places(const kni_reader_place *place, int left, char *text, size_t n)
{
    char name[NAME_TEXT];
    if (!place || left == 0) return;
    write_places(place->outer, left - 1, text, n);
    size_t used = strlen(text);
    kni_escape(name, sizeof name, place->name);
    snprintf(text + used, n - used, *name ? "%s '%s': " : "%s: ", place->kind, name);
}

static kn_status tell(kni_model_reader *r, kn_status code, const char *kind, const char *format,
                      va_list arguments)
{
    char where[PLACE_TEXT] = "", text[KNI_FAILURE_TEXT], plain[KNI_FAILURE_TEXT];
    write_places(r->place, PLACES, where, sizeof where);
    vsnprintf(text, sizeof text, format, arguments);
    kni_escape(plain, sizeof plain, text);
    return kni_failure(code, "%s: %s%s%s", r->file, kind, where, plain);
}

kn_status kni_reader_failure(kni_model_reader *r, kn_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kn_status status = tell(r, code, "", format, arguments);
    va_end(arguments);
    return status;
}

kn_status kni_reader_damaged(kni_model_reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kn_status status = tell(r, KN_ERROR_IO, "damaged: ", format, arguments);
    va_end(arguments);
    kni_damage_note();
    return status;
}

kn_status kni_reader_memory(kni_model_reader *r)
{
    return kni_reader_failure(r, KN_ERROR_MEMORY, "no memory is left for what it holds");
}

kn_status kni_reader_count(kni_model_reader *r, size_t count, int32_t *out)
{
    if (count > INT32_MAX / 4)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED, "it lists %zu things", count);
    *out = (int32_t)count;
    return KN_OK;
}

/* ---- messages */

static int32_t rule_of(const kni_message *m, uint32_t number)
{
    for (int32_t i = 0; i < m->n; i++)
        if (m->rules[i].number == number) return i;
    return -1;
}

static kn_status note_field(kni_model_reader *r, const kni_message *m, int32_t i, const kni_wire_field *f,
                            kni_message_slot *slot)
{
    const kni_message_rule *rule = &m->rules[i];
    bool packed = rule->kind == KNI_FIELD_LIST && f->kind == KNI_WIRE_BYTES;
    if (f->kind != rule->wire && !packed)
        return kni_reader_damaged(r, "field %u of %s is of another kind than the format says",
                                  (unsigned)f->number, m->name);
    if (rule->kind == KNI_FIELD_MESSAGE && slot->count)
        return kni_reader_damaged(r, "field %u of %s comes twice", (unsigned)f->number, m->name);
    slot->last = f->kind == KNI_WIRE_BYTES ? (kni_message_piece){f->data, f->bytes}
                                           : (kni_message_piece){NULL, f->value};
    slot->count++;
    return KN_OK;
}

/* The second time: each occurrence of a list goes to its place. */
static kn_status fill_lists(kni_model_reader *r, const kni_message *m, kni_message_piece piece,
                            kni_message_slot *slots)
{
    kni_message_piece *lists[KNI_MESSAGE_RULES] = {0};
    kni_wire_field f;
    bool any = false;
    for (int32_t i = 0; i < m->n; i++) {
        if (m->rules[i].kind != KNI_FIELD_LIST || !slots[i].count) continue;
        slots[i].pieces = &slots[i].last;
        if (slots[i].count == 1) continue;
        any = true;
        lists[i] = kni_onnx_arena_take(r->scratch, slots[i].count, sizeof *lists[i]);
        slots[i].pieces = lists[i];
        if (!lists[i]) return kni_reader_memory(r);
    }
    for (kni_wire w = kni_wire_of(piece.data, (size_t)piece.value); any && kni_wire_next(&w, &f);) {
        int32_t i = rule_of(m, f.number);
        if (i < 0 || !lists[i]) continue;
        *lists[i]++ = f.kind == KNI_WIRE_BYTES ? (kni_message_piece){f.data, f.bytes}
                                               : (kni_message_piece){NULL, f.value};
    }
    return KN_OK;
}

kn_status kni_message_read(kni_model_reader *r, const kni_message *m, kni_message_piece piece,
                           kni_message_slot *slots)
{
    kni_wire_field f;
    kni_wire w = kni_wire_of(piece.data, (size_t)piece.value);
    memset(slots, 0, (size_t)m->n * sizeof *slots);
    while (kni_wire_next(&w, &f)) {
        int32_t i = rule_of(m, f.number);
        kn_status status = i < 0 ? KN_OK : note_field(r, m, i, &f, &slots[i]);
        if (status) return status;
    }
    if (w.fault) return kni_reader_damaged(r, "%s: %s", m->name, w.fault);
    return fill_lists(r, m, piece, slots);
}

/* ---- texts */

kn_status kni_piece_text(kni_model_reader *r, const kni_message_piece *piece, kni_onnx_text *text)
{
    text->bytes = (size_t)piece->value;
    text->data = kni_onnx_arena_copy(r->keep, (const char *)piece->data, text->bytes);
    return text->data ? KN_OK : kni_reader_memory(r);
}

kn_status kni_piece_name(kni_model_reader *r, const kni_message_piece *piece, const char **name)
{
    *name = "";
    if (!piece->value) return KN_OK;
    if (memchr(piece->data, 0, (size_t)piece->value))
        return kni_reader_damaged(r, "a name has a zero byte inside");
    *name = kni_onnx_arena_copy(r->keep, (const char *)piece->data, (size_t)piece->value);
    return *name ? KN_OK : kni_reader_memory(r);
}

kn_status kni_slot_name(kni_model_reader *r, const kni_message_slot *slot, const char **name)
{
    return kni_piece_name(r, &slot->last, name);
}

kn_status kni_slot_names(kni_model_reader *r, const kni_message_slot *slot, const char *const **names,
                         int32_t *count)
{
    kn_status status = kni_reader_count(r, slot->count, count);
    const char **list = kni_onnx_arena_take(r->keep, slot->count, sizeof *list);
    if (!status && !list) status = kni_reader_memory(r);
    for (size_t i = 0; i < slot->count && !status; i++)
        status = kni_piece_name(r, &slot->pieces[i], &list[i]);
    *names = list;
    return status;
}

/* ---- numbers */

size_t kni_slot_numbers(const kni_message_slot *slot, kni_wire_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < slot->count; i++) {
        const kni_message_piece *p = &slot->pieces[i];
        count += p->data ? kni_wire_numbers(p->data, (size_t)p->value, kind) : 1;
    }
    return count;
}

/* A number of fewer bits may be written as a signed or as an unsigned one. */
static bool fits(uint64_t value, int32_t width)
{
    if (width >= 8) return true;
    int64_t number = (int64_t)value;
    return number >= -((int64_t)1 << (8 * width - 1)) && number < (int64_t)1 << 8 * width;
}

kn_status kni_slot_copy(kni_model_reader *r, const kni_message_slot *slot, kni_wire_kind kind, int32_t width,
                        void *out)
{
    unsigned char *at = out;
    for (size_t i = 0; i < slot->count; i++) {
        const kni_message_piece *p = &slot->pieces[i];
        kni_wire w = kni_wire_of(p->data, p->data ? (size_t)p->value : 0);
        uint64_t value = p->value;
        while (p->data ? kni_wire_number(&w, kind, &value) : true) {
            if (!fits(value, width))
                return kni_reader_damaged(r, "the number %lld does not fit its type", (long long)value);
            for (int32_t b = 0; b < width; b++) *at++ = (unsigned char)(value >> 8 * b);
            if (!p->data) break;
        }
        if (w.fault) return kni_reader_damaged(r, "%s", w.fault);
    }
    return KN_OK;
}

kn_status kni_slot_ints(kni_model_reader *r, const kni_message_slot *slot, const int64_t **ints,
                        int64_t *count)
{
    size_t n = kni_slot_numbers(slot, KNI_WIRE_VARINT);
    int64_t *list = kni_onnx_arena_take(r->keep, n, sizeof *list);
    kn_status status = list ? kni_slot_copy(r, slot, KNI_WIRE_VARINT, 8, list) : kni_reader_memory(r);
    *ints = list;
    *count = (int64_t)n;
    return status;
}
