/* Declared types as text: "tensor(float)", "seq(tensor(float))", "optional(tensor(int64))", "map(string,tensor(float))". */
#include "onnx/run/session.h"
#include "support/failure.h"
#include <string.h>

enum { MOST_DEPTH = 16 };

const char *kni_type_text(kni_onnx_arena *arena, const kni_onnx_declared *declared)
{
    if (!declared || declared->kind == KNI_ONNX_UNKNOWN) return "";
    const char *name = kni_onnx_type_name(declared->type);
    if (declared->kind == KNI_ONNX_TENSOR) return kni_onnx_arena_format(arena, "tensor(%s)", name);
    if (declared->kind == KNI_ONNX_SPARSE) return kni_onnx_arena_format(arena, "sparse_tensor(%s)", name);
    const char *inner = kni_type_text(arena, declared->inner);
    if (!inner) return NULL;
    if (declared->kind == KNI_ONNX_MAP) return kni_onnx_arena_format(arena, "map(%s,%s)", name, inner);
    const char *word = declared->kind == KNI_ONNX_SEQUENCE ? "seq" : "optional";
    return kni_onnx_arena_format(arena, "%s(%s)", word, inner);
}

/* ---- the reverse */

static bool skip(const char **text, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*text, word, n) != 0) return false;
    *text += n;
    return true;
}

/* The number of an element type's name, which ends before a bracket or a comma; 0: there is none. */
static int32_t element_type(const char **text)
{
    size_t n = strcspn(*text, "(),");
    for (int32_t type = 1; type < KNI_ONNX_TYPE_COUNT; type++) {
        const char *name = kni_onnx_type_name(type);
        if (strlen(name) != n || strncmp(name, *text, n) != 0) continue;
        *text += n;
        return type;
    }
    return 0;
}

static const kni_onnx_declared *parse(kni_onnx_arena *arena, const char **text, int depth)
{
    kni_onnx_declared *declared = depth < MOST_DEPTH ? kni_onnx_arena_take(arena, 1, sizeof *declared) : NULL;
    if (!declared) return NULL;
    declared->rank = -1;
    bool good = true;
    if (skip(text, "tensor(")) {
        declared->kind = KNI_ONNX_TENSOR;
        declared->type = element_type(text);
        good = declared->type != 0;
    } else {
        declared->kind = skip(text, "seq(")        ? KNI_ONNX_SEQUENCE
                         : skip(text, "optional(") ? KNI_ONNX_OPTIONAL
                         : skip(text, "map(")      ? KNI_ONNX_MAP
                                                   : KNI_ONNX_UNKNOWN;
        good = declared->kind != KNI_ONNX_UNKNOWN;
        if (declared->kind == KNI_ONNX_MAP) {
            declared->type = element_type(text);
            good = declared->type && skip(text, ",");
        }
        declared->inner = good ? parse(arena, text, depth + 1) : NULL;
        good = declared->inner != NULL;
    }
    return good && skip(text, ")") ? declared : NULL;
}

const kni_onnx_declared *kni_type_parse(kni_onnx_arena *arena, const char *text)
{
    const char *at = text;
    const kni_onnx_declared *declared = parse(arena, &at, 0);
    if (declared && !*at) return declared;
    kni_failure(
        KN_ERROR_ARGUMENT,
        "'%s' is no type; write \"tensor(float)\", \"seq(tensor(int64))\", \"optional(tensor(float))\"",
        text);
    return NULL;
}
