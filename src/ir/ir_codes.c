/* The codes of nodes as data: names, operands, and what a pass may do with a node. */
#include "ir/ir_internal.h"

#define PURE KNI_IR_PURE
#define READS KNI_IR_READS
#define MOVES KNI_IR_MOVES
#define ACTS KNI_IR_ACTS

const kni_ir_code_row kni_ir_codes[KNI_IR_CODES] = {
    [KNI_IR_NONE] = {"none", "...", 0},
    [KNI_IR_CONSTANT] = {"constant", "...", PURE | MOVES},
    [KNI_IR_PARAM] = {"param", "...", PURE | MOVES},
    [KNI_IR_ELEMENT] = {"element", "p..", PURE},
    [KNI_IR_BUILTIN] = {"builtin", "...", PURE | MOVES},
    [KNI_IR_ARGUMENT] = {"argument", "...", PURE | MOVES},
    [KNI_IR_WORD] = {"word", "vV.", PURE | MOVES},
    [KNI_IR_FMA] = {"fma", "vvv", PURE | MOVES},
    [KNI_IR_AND] = {"and", "vv.", PURE | MOVES},
    [KNI_IR_OR] = {"or", "vv.", PURE | MOVES},
    [KNI_IR_NOT] = {"not", "v..", PURE | MOVES},
    [KNI_IR_SELECT] = {"select", "vvv", PURE | MOVES},
    [KNI_IR_CAST] = {"cast", "v..", PURE | MOVES},
    [KNI_IR_BITCAST] = {"bitcast", "v..", PURE | MOVES},
    [KNI_IR_VECTOR] = {"vector", "v..", PURE | MOVES},
    [KNI_IR_LANE] = {"lane", "v..", PURE | MOVES},
    [KNI_IR_PACK] = {"pack", "...", PURE | MOVES},
    [KNI_IR_PHILOX] = {"philox", "ppp", PURE | MOVES},
    [KNI_IR_CALL] = {"call", "...", PURE},
    [KNI_IR_LOAD] = {"load", "pVV", READS},
    [KNI_IR_STORE] = {"store", "pvV", ACTS},
    [KNI_IR_ATOMIC] = {"atomic", "pvV", 0},
    [KNI_IR_VARIABLE] = {"variable", "V..", 0},
    [KNI_IR_GET] = {"get", "d..", READS},
    [KNI_IR_SET] = {"set", "dv.", ACTS},
    [KNI_IR_IF] = {"if", "t..", ACTS},
    [KNI_IR_FOR] = {"for", "ppp", 0},
    [KNI_IR_LOOP] = {"loop", "...", ACTS},
    [KNI_IR_TEST] = {"test", "t..", ACTS},
    [KNI_IR_BREAK] = {"break", "...", ACTS},
    [KNI_IR_CONTINUE] = {"continue", "...", ACTS},
    [KNI_IR_RETURN] = {"return", "V..", ACTS},
    [KNI_IR_REPORT] = {"report", "p..", ACTS},
    [KNI_IR_BARRIER] = {"barrier", "...", ACTS},
    [KNI_IR_SUBGROUP] = {"subgroup", "v..", 0},
    [KNI_IR_WORKGROUP] = {"workgroup", "v..", 0},
    [KNI_IR_SHUFFLE] = {"shuffle", "vp.", 0},
    [KNI_IR_SCAN] = {"scan", "v..", 0},
    [KNI_IR_TILE] = {"tile", "...", 0},
    [KNI_IR_TILE_FILL] = {"tile_fill", "xv.", ACTS},
    [KNI_IR_TILE_LOAD] = {"tile_load", "xpp", ACTS},
    [KNI_IR_TILE_STORE] = {"tile_store", "xpp", ACTS},
    [KNI_IR_TILE_MULTIPLY] = {"tile_multiply", "xxx", ACTS},
};

static const char *const builtins[KNI_IR_BUILTINS] = {"item",   "group",   "groups", "local",
                                                      "locals", "lane_id", "lanes"};
static const char *const combines[KNI_IR_COMBINES] = {"add", "multiply", "min", "max", "exchange", "compare"};
static const char *const roles[] = {"left", "right", "sum"};

const char *kni_ir_builtin_name(uint32_t builtin)
{
    return builtin < KNI_IR_BUILTINS ? builtins[builtin] : "?";
}

const char *kni_ir_combine_name(uint32_t combine)
{
    return combine < KNI_IR_COMBINES ? combines[combine] : "?";
}

const char *kni_ir_role_name(uint32_t role) { return role <= KNI_IR_TILE_SUM ? roles[role] : "?"; }
