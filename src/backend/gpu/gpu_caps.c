/* KN_CAPS takes away what a device has, so that kernels for devices without it are proven where one is at hand. */
#include "backend/gpu/gpu.h"
#include <stdlib.h>
#include <string.h>

static void no_i64(kni_ir_caps *c, uint32_t n) { (void)n, c->i64 = false; }
static void no_f64(kni_ir_caps *c, uint32_t n) { (void)n, c->f64 = false; }
static void no_f16(kni_ir_caps *c, uint32_t n) { (void)n, c->half_storage = false; }
static void no_i8(kni_ir_caps *c, uint32_t n) { (void)n, c->no_bytes = true; }
static void no_aliases(kni_ir_caps *c, uint32_t n) { (void)n, c->no_aliases = true; }
static void narrow(kni_ir_caps *c, uint32_t n) { (void)n, c->narrow = true; }
static void no_subgroups(kni_ir_caps *c, uint32_t n)
{
    (void)n;
    c->subgroups = c->tiles = false;
    c->subgroup = 1;
}
static void buffers(kni_ir_caps *c, uint32_t n) { c->max_buffers = n; }
static void params(kni_ir_caps *c, uint32_t n) { c->param_bytes = n; }
static void shared(kni_ir_caps *c, uint32_t n)
{
    c->shared_bytes = n < c->shared_bytes ? n : c->shared_bytes;
}
static void workgroup(kni_ir_caps *c, uint32_t n)
{
    c->max_workgroup = n < c->max_workgroup ? n : c->max_workgroup;
}

static const struct {
    const char *name;
    void (*apply)(kni_ir_caps *caps, uint32_t number);
    bool number;
} words[] = {
    {"no-i64", no_i64, false}, {"no-f64", no_f64, false},         {"no-f16", no_f16, false},
    {"no-i8", no_i8, false},   {"no-aliases", no_aliases, false}, {"no-subgroups", no_subgroups, false},
    {"narrow", narrow, false}, {"buffers", buffers, true},        {"params", params, true},
    {"shared", shared, true},  {"workgroup", workgroup, true}};

/* One word of `length` letters; false where it says nothing. */
static bool restrict_by(kni_ir_caps *caps, const char *text, size_t length)
{
    for (int i = 0; i < KNI_COUNT(words); i++) {
        size_t n = strlen(words[i].name);
        if (length < n || memcmp(text, words[i].name, n)) continue;
        if (!words[i].number && length == n) {
            words[i].apply(caps, 0);
            return true;
        }
        if (!words[i].number || length < n + 2 || text[n] != '=' || length > n + 9) continue;
        uint32_t value = 0;
        for (size_t k = n + 1; k < length; k++) {
            if (text[k] < '0' || text[k] > '9') return false;
            value = value * 10 + (uint32_t)(text[k] - '0');
        }
        if (value) words[i].apply(caps, value);
        return value > 0;
    }
    return false;
}

kn_status kni_gpu_restrict(kni_ir_caps *caps, const char *text)
{
    if (!text) return KN_OK;
    while (*text) {
        size_t n = strcspn(text, ",");
        if (n && !restrict_by(caps, text, n))
            return kni_fail(
                KN_ERROR_ARGUMENT,
                "KN_CAPS=...%s says nothing: write words of no-i64, no-f64, no-f16, no-i8, no-aliases, "
                "no-subgroups, narrow, buffers=N, params=N, shared=N, workgroup=N, with commas between",
                text);
        text += n + (text[n] == ',');
    }
    return KN_OK;
}
