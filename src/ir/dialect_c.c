/* C as gcc and clang take it: the entry loops over its items or workgroups. */
#include "ir/emitter.h"

/* For the host, compiled with -ffp-contract=off -fwrapv. */
static const kni_dialect_atomic atomics[] = {
    {KNI_IR_ADD, KN_I32, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_ADD, KN_U32, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_ADD, KN_I64, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_ADD, KN_U64, "__atomic_fetch_add(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_I32, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_U32, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_I64, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
    {KNI_IR_EXCHANGE, KN_U64, "__atomic_exchange_n(word, value, __ATOMIC_RELAXED)"},
};

const kni_dialect kni_dialect_c = {
    .name = "C",
    .ending = "c",
    .serial = true,
    .wraps = true,
    .entry = "void",
    .space = {"", "", ""},
    .array = {"", "", ""},
    .no_alias = "restrict ",
    .params = "p.",
    .apart = "#pragma GCC ivdep\n",
    .suffix = {"LL", "ULL"},
    .compare =
        {"(__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen)",
         "(__atomic_compare_exchange_n(word, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED), seen)"},
    .load_word = "__atomic_load_n(word, __ATOMIC_RELAXED)",
    .report = "    if (__atomic_load_n(&fault[0], __ATOMIC_RELAXED)) return;\n"
              "    __atomic_store_n(&fault[1], value, __ATOMIC_RELAXED);\n"
              "    __atomic_store_n(&fault[0], (int64_t)1, __ATOMIC_RELAXED);\n",
    .atomics = atomics,
    .n_atomics = (int)(sizeof atomics / sizeof *atomics),
};

/* C99 for a file of its own, which a stranger compiles: no option is needed, no atomics are there. */
const kni_dialect kni_dialect_c99 = {
    .name = "C99",
    .ending = "c",
    .serial = true,
    .entry = "static void",
    .space = {"", "", ""},
    .array = {"", "", ""},
    .no_alias = "restrict ",
    .params = "p.",
    .suffix = {"LL", "ULL"},
    .report = "    if (fault[0]) return;\n"
              "    fault[0] = 1;\n"
              "    fault[1] = value;\n",
};
