/* Texts and rules of the format that writing and reading share. */
#include "program/program_file.h"
#include <stdlib.h>
#include <string.h>

/* Rows whose attributes have changed since version 1. A row comes here when an attribute is removed or means something else; one that
   is added, with 0 for what was before, needs no new version. */
static const struct {
    const char *name;
    int32_t version;
} changed[] = {{NULL, 0}};

int32_t kni_op_version(const kn_op *row)
{
    for (size_t i = 0; changed[i].name; i++)
        if (!strcmp(changed[i].name, row->name)) return changed[i].version;
    return 1;
}

/* ---- reals */

/* JSON has no words for them. A NaN with other bits is NAN_PREFIX and the bits. */
static const struct {
    const char *name;
    uint64_t bits;
} named_reals[] = {
    {"inf", UINT64_C(0x7FF0000000000000)},
    {"-inf", UINT64_C(0xFFF0000000000000)},
    {"nan", UINT64_C(0x7FF8000000000000)},
};
#define NAN_PREFIX "nan:"

void kni_program_write_real(kni_buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value - value == 0) {
        kni_json_write_number(out, value);
        return;
    }
    for (size_t i = 0; i < KNI_COUNT(named_reals); i++)
        if (named_reals[i].bits == bits) {
            kni_buffer_format(out, "\"%s\"", named_reals[i].name);
            return;
        }
    kni_buffer_format(out, "\"" NAN_PREFIX "%016llx\"", (unsigned long long)bits);
}

static bool read_bits(const char *text, double *value)
{
    uint64_t bits = 0;
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    for (; *text; text++) bits = bits << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    memcpy(value, &bits, sizeof bits);
    return *value != *value;
}

bool kni_program_read_real(const kni_json *json, double *value)
{
    if (!json) return false;
    if (json->kind == KNI_JSON_NUMBER) return *value = json->number, true;
    if (json->kind != KNI_JSON_TEXT || strlen(json->text) != json->length) return false;
    for (size_t i = 0; i < KNI_COUNT(named_reals); i++)
        if (!strcmp(json->text, named_reals[i].name)) {
            memcpy(value, &named_reals[i].bits, sizeof *value);
            return true;
        }
    size_t prefix = strlen(NAN_PREFIX);
    return !strncmp(json->text, NAN_PREFIX, prefix) && read_bits(json->text + prefix, value);
}

int kni_program_drawn(const kn_op *row, const kn_attribute *a)
{
    if (!(row->flags & KNI_FLAG_RANDOM) || a->dynamic != KNI_DYNAMIC || a->type != KNI_ATTR_INT) return 0;
    return !strcmp(a->name, "key") ? 1 : !strcmp(a->name, "counter") ? 2 : 0;
}
