/* Matrix tiles on CUDA: 16 x 16 x 16 as two mma.sync instructions, each lane of the warp holding the elements that the
   instruction wants of it. Elements are moved one by one, so that any stride and alignment will do. Where a target has
   no such instruction, legalise has made loops of the tiles before. */
#include "ir/emitter.h"

/* Row and column of element n of this lane: a left tile's 8, a right tile's 8 (for columns 0 to 7 and then 8 to 15), a
   sum's 8. */
static const char *const places[3] = {
    "const int32_t row = (lane >> 2) + (n >> 1 & 1) * 8, column = (lane & 3) * 2 + (n & 1) + (n >> 2) * 8;",
    "const int32_t row = (lane & 3) * 2 + (n & 1) + (n >> 1 & 1) * 8, column = (lane >> 2) + (n >> 2) * 8;",
    "const int32_t row = (lane >> 2) + (n >> 1 & 1) * 8, column = (lane & 3) * 2 + (n & 1) + (n >> 2) * 8;",
};

static void element(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_ir_emit_user_name(e, e->ir->bindings[node->index].name);
    kni_ir_emit_add(e, "[");
    kni_ir_emit_value(e, node->b, 0, KNI_LEVEL_SUM);
    kni_ir_emit_add(e, " + row * ");
    kni_ir_emit_value(e, node->c, 0, KNI_LEVEL_PRODUCT + 1);
    kni_ir_emit_add(e, " + column]");
}

/* The loop over the elements of this lane, open. */
static void open_elements(kni_ir_emitter *e, int role)
{
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "#pragma unroll\n");
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "for (int32_t n = 0; n < 8; n++) {\n");
    e->indent++;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, places[role]);
    kni_ir_emit_add(e, "\n");
    kni_ir_emit_line(e);
}

static void close_elements(kni_ir_emitter *e)
{
    e->indent--;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "}\n");
}

void kni_ir_emit_tile(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    const kni_ir_node *tile = node->code == KNI_IR_TILE ? node : &e->ir->nodes[node->a];
    int dtype = tile->type.dtype;
    bool half = kni_is_half(dtype);
    if (tile->detail != KNI_IR_TILE_SUM && !half) {
        kni_ir_emit_fail(e, node, "the %s text has no tiles of %T", e->dialect->name, dtype);
        return;
    }
    switch (node->code) {
    case KNI_IR_TILE:
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, half ? "uint16_t " : "float ");
        kni_ir_emit_name(e, id);
        kni_ir_emit_add(e, "[8];\n");
        break;
    case KNI_IR_TILE_FILL: {
        bool closes = false;
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, "for (int32_t n = 0; n < 8; n++) ");
        kni_ir_emit_name(e, node->a);
        kni_ir_emit_add(e, "[n] = ");
        kni_ir_emit_value(e, node->b, 0, kni_ir_emit_cast_begin(e, dtype, KN_F32, KNI_LEVEL_ANY, &closes));
        kni_ir_emit_add(e, closes ? ");\n" : ";\n");
        break;
    }
    case KNI_IR_TILE_LOAD:
        open_elements(e, tile->detail);
        kni_ir_emit_name(e, node->a);
        kni_ir_emit_add(e, "[n] = ");
        element(e, node);
        kni_ir_emit_add(e, ";\n");
        close_elements(e);
        break;
    case KNI_IR_TILE_STORE:
        open_elements(e, tile->detail);
        element(e, node);
        kni_ir_emit_add(e, " = ");
        kni_ir_emit_name(e, node->a);
        kni_ir_emit_add(e, "[n];\n");
        close_elements(e);
        break;
    default: {
        int factor = e->ir->nodes[node->b].type.dtype;
        if (!kni_is_half(factor))
            kni_ir_emit_fail(e, node, "the %s text has no tiles of %T", e->dialect->name, factor);
        e->tile_products |= kni_is_brain(factor) ? 2 : 1;
        kni_ir_emit_line(e);
        kni_ir_text_add(e->text, "kni_tile_multiply_%s(", kni_dtypes[factor].name);
        kni_ir_emit_name(e, node->a);
        kni_ir_emit_add(e, ", ");
        kni_ir_emit_name(e, node->b);
        kni_ir_emit_add(e, ", ");
        kni_ir_emit_name(e, node->c);
        kni_ir_emit_add(e, ");\n");
    }
    }
}

void kni_ir_emit_tile_functions(kni_ir_emitter *e)
{
    for (int k = 0; k < 2; k++) {
        if (!(e->tile_products >> k & 1)) continue;
        const char *name = k ? "bf16" : "f16";
        kni_ir_text_add(
            e->text,
            "/* sum += left * right; a warp holds 16 x 16 of each. */\n"
            "KNI_FUNCTION void kni_tile_multiply_%s(float *sum, const uint16_t *left, const uint16_t "
            "*right)\n{\n"
            "    uint32_t a[4], b[4];\n"
            "    for (int32_t n = 0; n < 4; n++) {\n"
            "        a[n] = left[2 * n] | (uint32_t)left[2 * n + 1] << 16;\n"
            "        b[n] = right[2 * n] | (uint32_t)right[2 * n + 1] << 16;\n"
            "    }\n"
            "    for (int32_t n = 0; n < 2; n++) {\n"
            "        float *c = sum + 4 * n;\n"
            "        asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.%s.%s.f32 \"\n",
            name, name, name);
        kni_ir_emit_add(
            e, "                     \"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
               "                     : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])\n"
               "                     : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[2 * n]), "
               "\"r\"(b[2 * n + 1]));\n"
               "    }\n}\n\n");
    }
}
