/* Which converter serves a node. */
#include "onnx/convert.h"
#include "onnx/run/custom_operator.h"
#include "support/exclusive.h"
#include <kn/onnx.h>
#include <stdlib.h>
#include <string.h>

/* What has no family of its own. */
extern const kni_onnx_converter kni_onnx_control[];

static const kni_onnx_converter *const families[] = {
    kni_onnx_control,  kni_onnx_math,     kni_onnx_reduce,    kni_onnx_shape,     kni_onnx_contract,
    kni_onnx_network,  kni_onnx_image,    kni_onnx_quantized, kni_onnx_recurrent, kni_onnx_attention,
    kni_onnx_text_ops, kni_onnx_sequence, kni_onnx_learning,  kni_onnx_training,  kni_onnx_fused,
};
enum { FAMILIES = sizeof families / sizeof *families, SLOTS = 4096 };

/* The first row of each operator, found by a hash of its domain and name; its other rows come later in the same family. Made once. */
static const kni_onnx_converter *slots[SLOTS];
static kni_once once = KNI_ONCE_INIT;

/* All rows by domain and name, the standard's own first. */
static const kni_onnx_converter *sorted[SLOTS];
static int32_t n_sorted;

static uint32_t hash(const char *domain, const char *op)
{
    uint32_t h = 2166136261U;
    for (; *domain; domain++) h = (h ^ (unsigned char)*domain) * 16777619U;
    for (; *op; op++) h = (h ^ (unsigned char)*op) * 16777619U;
    return h ^ h >> 15;
}

static bool is_of(const kni_onnx_converter *row, const char *domain, const char *op)
{
    return !strcmp(row->op, op) && !strcmp(row->domain, domain);
}

static const kni_onnx_converter **slot_of(const char *domain, const char *op)
{
    uint32_t at = hash(domain, op) % SLOTS;
    while (slots[at] && !is_of(slots[at], domain, op)) at = (at + 1) % SLOTS;
    return &slots[at];
}

static int by_name(const void *a, const void *b)
{
    const kni_onnx_converter *x = *(const kni_onnx_converter *const *)a,
                             *y = *(const kni_onnx_converter *const *)b;
    int order = strcmp(x->domain, y->domain);
    if (!order) order = strcmp(x->op, y->op);
    return order ? order : (x->since > y->since) - (x->since < y->since);
}

static void fill_slots(void)
{
    for (int f = 0; f < FAMILIES; f++)
        for (const kni_onnx_converter *row = families[f]; row->op; row++) {
            const kni_onnx_converter **slot = slot_of(row->domain, row->op);
            if (!*slot) *slot = row;
            /* What passes make of models is in no file. */
            if (strcmp(row->domain, "kiln") != 0) sorted[n_sorted++] = row;
        }
    qsort(sorted, (size_t)n_sorted, sizeof *sorted, by_name);
}

static bool serves(const kni_onnx_converter *row, int32_t version)
{
    return row->since <= version && (!row->before || version < row->before);
}

const kni_onnx_converter *kni_onnx_converter_of(const kni_onnx_node *node, const char **reason)
{
    static const char *unused;
    if (!reason) reason = &unused;
    const kni_onnx_converter *custom = kni_onnx_custom_of(node);
    if (custom) return custom;
    kni_do_once(&once, fill_slots);
    const kni_onnx_converter *row = *slot_of(node->domain, node->op);
    *reason = strcmp(node->domain, "com.microsoft.nchwc")
                  ? "no such operator is known; kn_onnx_register adds operators"
                  : "ONNX Runtime wrote its weights in the order of one machine's vectors, which the file "
                    "does not tell; "
                    "save the model with at most ORT_ENABLE_EXTENDED";
    if (!row) return NULL;
    *reason = "the operator is known, but not in the version that the model asks for";
    for (; row->op; row++)
        if (is_of(row, node->domain, node->op) && serves(row, node->version)) return row;
    return NULL;
}

bool kn_onnx_support_at(int32_t i, kn_onnx_support *support)
{
    kni_do_once(&once, fill_slots);
    if (i < 0 || i >= n_sorted || !support) return false;
    const kni_onnx_converter *row = sorted[i];
    *support = (kn_onnx_support){row->domain, row->op, row->since, row->before, row->types};
    return true;
}
