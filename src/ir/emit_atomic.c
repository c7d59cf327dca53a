/* Atomics: a function for each kind that a kernel uses, made of what the dialect has, or of compare and exchange. */
#include "ir/emitter.h"

static const char *const combine_names[KNI_IR_COMBINES] = {"add", "mul", "min", "max", "exchange", "compare"};

/* Pointers of a dialect with address spaces differ in type, so its functions differ in name. */
static const char *space_suffix(const kni_ir_emitter *e, int space)
{
    return e->dialect->space[0][0] == 0 ? "" : space == KNI_IR_SHARED ? "_shared" : "_global";
}

static void remember(kni_ir_emitter *e, int combine, int dtype, int space)
{
    for (int i = 0; i < e->n_atomics; i++)
        if (e->atomics[i][0] == combine && e->atomics[i][1] == dtype && e->atomics[i][2] == space) return;
    if (e->n_atomics == KNI_IR_EMIT_MAX_ATOMICS) return;
    uint8_t *entry = e->atomics[e->n_atomics++];
    entry[0] = (uint8_t)combine;
    entry[1] = (uint8_t)dtype;
    entry[2] = (uint8_t)space;
    bool wide = kni_dtypes[dtype].bits == 64;
    if (kni_is_float(dtype)) {
        kni_ir_emit_uses(e, "kni_bits_%s", wide ? "f64" : "f32");
        kni_ir_emit_uses(e, "kni_from_bits_%s", wide ? "f64" : "f32");
    }
    if (combine < KNI_IR_EXCHANGE)
        kni_ir_emit_uses(e, "kni_word_%s_%s", combine_names[combine], kni_dtypes[dtype].name);
}

void kni_ir_emit_atomic(kni_ir_emitter *e, const kni_ir_node *node)
{
    const kni_ir_binding *k = &e->ir->bindings[node->index];
    int space = e->dialect->space[0][0] ? k->space : KNI_IR_GLOBAL;
    remember(e, node->detail, k->dtype, space);
    kni_ir_text_add(e->text, "kni_atomic_%s_%s%s(&", combine_names[node->detail], kni_dtypes[k->dtype].name,
                    space_suffix(e, space));
    kni_ir_emit_element(e, node->index, node->a, 0);
    kni_ir_emit_add(e, ", ");
    kni_ir_emit_value(e, node->b, 0, KNI_LEVEL_ANY);
    if (node->detail == KNI_IR_COMPARE) {
        kni_ir_emit_add(e, ", ");
        kni_ir_emit_value(e, node->c, 0, KNI_LEVEL_ANY);
    }
    kni_ir_emit_add(e, ")");
}

static const char *native(const kni_ir_emitter *e, int combine, int dtype)
{
    for (int i = 0; i < e->dialect->n_atomics; i++) {
        const kni_dialect_atomic *a = &e->dialect->atomics[i];
        if (a->combine == combine && a->dtype == dtype)
            return kni_is_float(dtype) && combine == KNI_IR_ADD && !e->caps->float_atomics ? NULL : a->text;
    }
    return NULL;
}

/* The text with $ as the word's type and @ as the address space. */
static void filled(kni_ir_emitter *e, const char *text, const char *type, const char *space)
{
    for (; *text; text++) {
        if (*text == '$')
            kni_ir_emit_add(e, type);
        else if (*text == '@')
            kni_ir_emit_add(e, space);
        else
            kni_ir_text_add(e->text, "%c", *text);
    }
}

static void to_bits(kni_ir_emitter *e, int dtype, const char *value)
{
    if (kni_is_float(dtype))
        kni_ir_text_add(e->text, "kni_bits_%s(%s)", kni_dtypes[dtype].name, value);
    else
        kni_ir_text_add(e->text, "(uint%u_t)%s", (unsigned)kni_dtypes[dtype].bits, value);
}

static void from_bits(kni_ir_emitter *e, int dtype, const char *bits)
{
    if (kni_is_float(dtype))
        kni_ir_text_add(e->text, "kni_from_bits_%s(%s)", kni_dtypes[dtype].name, bits);
    else
        kni_ir_text_add(e->text, "(%s)%s", kni_dialect_storage_type(dtype), bits);
}

/* One that ends when nobody else wrote between reading and writing. */
static void by_comparing(kni_ir_emitter *e, int combine, int dtype, const char *space)
{
    bool wide = kni_dtypes[dtype].bits == 64;
    const char *type = wide ? "uint64_t" : "uint32_t";
    kni_ir_text_add(e->text, "    %s%s%s *word = (%s%s%s *)element;\n", "volatile ", space, type, "volatile ",
                    space, type);
    if (combine == KNI_IR_COMPARE) {
        kni_ir_text_add(e->text, "    %s seen = ", type);
        to_bits(e, dtype, "expected");
        kni_ir_text_add(e->text, ", next = ");
        to_bits(e, dtype, "value");
        kni_ir_emit_add(e, ";\n    ");
        kni_ir_text_add(e->text, "%s old = ", type);
        filled(e, e->dialect->compare[wide], type, space);
        kni_ir_emit_add(e, ";\n    return ");
        from_bits(e, dtype, "old");
        kni_ir_emit_add(e, ";\n}\n");
        return;
    }
    kni_ir_text_add(e->text, "    %s old = ", type);
    filled(e, e->dialect->load_word, type, space);
    kni_ir_text_add(e->text, ", first;\n    do {\n        %s seen = old, next = ", type);
    if (combine == KNI_IR_EXCHANGE) {
        to_bits(e, dtype, "value");
    } else {
        bool is_float = kni_is_float(dtype);
        kni_ir_text_add(e->text, is_float ? "kni_bits_%s(" : "(uint%s_t)",
                        is_float ? kni_dtypes[dtype].name
                        : wide   ? "64"
                                 : "32");
        kni_ir_text_add(e->text, "kni_word_%s_%s(", combine_names[combine], kni_dtypes[dtype].name);
        from_bits(e, dtype, "seen");
        kni_ir_emit_add(e, is_float ? ", value))" : ", value)");
    }
    kni_ir_emit_add(e, ";\n        first = seen;\n        old = ");
    filled(e, e->dialect->compare[wide], type, space);
    kni_ir_emit_add(e, ";\n    } while (old != first);\n    return ");
    from_bits(e, dtype, "old");
    kni_ir_emit_add(e, ";\n}\n");
}

void kni_ir_emit_atomic_functions(kni_ir_emitter *e)
{
    for (int i = 0; i < e->n_atomics; i++) {
        int combine = e->atomics[i][0], dtype = e->atomics[i][1], space = e->atomics[i][2];
        const char *type = kni_dialect_value_type(dtype), *where = e->dialect->space[space];
        kni_ir_text_add(e->text, "KNI_FUNCTION %s kni_atomic_%s_%s%s(%s%s *element, %s value", type,
                        combine_names[combine], kni_dtypes[dtype].name, space_suffix(e, space), where, type,
                        type);
        if (combine == KNI_IR_COMPARE) kni_ir_text_add(e->text, ", %s expected", type);
        kni_ir_emit_add(e, ")\n{\n");
        const char *text = native(e, combine, dtype);
        if (text) {
            kni_ir_text_add(e->text, "    %s%s *word = element;\n    return ", where, type);
            filled(e, text, type, where);
            kni_ir_emit_add(e, ";\n}\n");
        } else {
            by_comparing(e, combine, dtype, where);
        }
        kni_ir_emit_add(e, "\n");
    }
}
