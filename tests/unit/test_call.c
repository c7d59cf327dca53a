/* kn_call and the public view of the op table: results, attributes by name, and every misuse a binding can make. */
#include "support/check.h"
#include <kn/op_info.h>

static kn_tensor numbers(void)
{
    float data[6] = {1, 2, 3, 4, 5, 6};
    return kn_from(data, KN_F32, KN_SHAPE(2, 3));
}

static void test_results(void)
{
    kn_tensor x = kn_keep(numbers()), out = KN_NONE, pair[2] = {x, x};
    CHECK(kn_call("add", pair, 2, NULL, &out, 1) == KN_OK);
    CHECK_VALUES(out, 0, 2, 4, 6, 8, 10, 12);
    kn_attribute_value axes[] = {{.name = "axes", .list = KN_AXES(-1)}, {.name = "keep", .integer = 1}, {0}};
    CHECK(kn_call("sum", &x, 1, axes, &out, 1) == KN_OK);
    CHECK(kn_rank(out) == 2 && kn_size(out, 1) == 1);
    CHECK_VALUES(out, 0, 6, 15);
    /* Attributes that are not named are zero: an empty list of axes is all axes. */
    CHECK(kn_call("sum", &x, 1, NULL, &out, 1) == KN_OK);
    CHECK_VALUES(out, 0, 21);
}

static void test_takes_temporaries(void)
{
    kn_tensor x = numbers(), out = KN_NONE;
    CHECK(kn_call("neg", &x, 1, NULL, &out, 1) == KN_OK);
    CHECK(!kn_ok(x));
    CHECK_VALUES(out, 0, -1, -2, -3, -4, -5, -6);
}

static void test_misuse(void)
{
    kn_tensor x = kn_keep(numbers()), pair[2] = {x, x}, out = x, two[2];
    CHECK_ERROR(kn_call("no_such_op", &x, 1, NULL, &out, 1), "no op is called 'no_such_op'");
    CHECK_POISON(out, "no_such_op");
    CHECK_ERROR(kn_call(NULL, &x, 1, NULL, &out, 1), "no op is called");
    CHECK_ERROR(kn_call("drop", &x, 1, NULL, &out, 1), "no op is called 'drop'");
    CHECK_ERROR(kn_call("add", pair, 2, NULL, two, 2), "room for 2 outputs given; it has 1");
    CHECK_POISON(two[1], "add");
    CHECK_ERROR(kn_call("add", pair, 2, NULL, NULL, 1), "outputs");
    CHECK_ERROR(kn_call("add", NULL, 2, NULL, &out, 1), "operands");
    CHECK_ERROR(kn_call("add", pair, -1, NULL, &out, 1), "operands");
    CHECK_ERROR(kn_call("add", pair, 1, NULL, &out, 1), "operands");
    CHECK_POISON(out, "operands");
    kn_attribute_value wrong[] = {{.name = "axess", .list = KN_AXES(0)}, {0}};
    CHECK_ERROR(kn_call("sum", &x, 1, wrong, &out, 1),
                "kn_sum: it has no attribute 'axess'; there is axes, keep");
    kn_attribute_value none[] = {{.name = "axis"}, {0}};
    CHECK_ERROR(kn_call("add", pair, 2, none, &out, 1), "there is none");
    kn_attribute_value longer[] = {{.name = "axes", .list = {9, {0}}}, {0}};
    CHECK_ERROR(kn_call("sum", &x, 1, longer, &out, 1), "length of 9");
    kn_attribute_value outside[] = {{.name = "axes", .list = KN_AXES(5)}, {0}};
    CHECK_ERROR(kn_call("sum", &x, 1, outside, &out, 1), "5");
    kn_tensor garbage = {UINT64_C(0x123456789ABCDE)};
    CHECK(kn_call("neg", &garbage, 1, NULL, &out, 1) == KN_ERROR_HANDLE);
    CHECK(kn_ok(x));
}

static void test_table(void)
{
    kn_op_info info, again;
    int named = 0, well = 0;
    for (int32_t i = -1; i <= kn_op_count(); i++) {
        if (!kn_op_at(i, &info)) continue;
        named++;
        well += info.number == i && info.name[0] && info.doc[0] && kn_op_find(info.name, &again) &&
                again.number == i;
    }
    CHECK(named > 50);
    CHECK(named == well);
    CHECK(!kn_op_at(-1, &info) && !kn_op_at(kn_op_count(), &info) && !kn_op_at(1, NULL));
    CHECK(!kn_op_find("no_such_op", &info) && !kn_op_find(NULL, &info));
    CHECK(kn_op_find("sum", &info));
    CHECK(info.min_in == 1 && info.max_in == 1 && info.n_out == 1 && info.gradient == KN_GRADIENT_YES);
    CHECK(!strcmp(info.kind, "reduce"));
    kn_attribute_info attribute;
    CHECK(kn_op_attribute(info.number, 0, &attribute) && !strcmp(attribute.name, "axes"));
    CHECK(attribute.type == KN_ATTRIBUTE_LIST && !attribute.dynamic);
    CHECK(!kn_op_attribute(info.number, info.n_attributes, &attribute));
    CHECK(!kn_op_attribute(info.number, -1, &attribute) && !kn_op_attribute(-1, 0, &attribute));
    CHECK(kn_op_find("equal", &info) && info.gradient == KN_GRADIENT_CONSTANT);
    CHECK(kn_op_find("floor", &info) && info.gradient == KN_GRADIENT_ZERO);
}

/* As many names as there are operands, and each attribute says whether it takes sizes. */
static void test_operands(void)
{
    kn_op_info info;
    kn_attribute_info a;
    for (int32_t i = 0; i < kn_op_count(); i++) {
        if (!kn_op_at(i, &info)) continue;
        int names = *info.operands != 0;
        for (const char *at = info.operands; *at; at++) names += *at == ' ';
        bool any = strstr(info.operands, "...") != NULL;
        if (!CHECK(info.max_in < 0 ? any : !any && names == info.max_in))
            printf("  %s has %d operands: %s\n", info.name, info.max_in, info.operands);
    }
    CHECK(kn_op_find("conv", &info) && !strcmp(info.operands, "x weight bias"));
    CHECK(kn_op_find("where", &info) && !strcmp(info.operands, "condition a b"));
    CHECK(kn_op_find("topk", &info) && kn_op_attribute(info.number, 0, &a));
    CHECK(!strcmp(a.name, "k") && a.takes_size && kn_op_attribute(info.number, 1, &a) && !a.takes_size);
}

static void test_support(void)
{
    kn_op_info info;
    const char *why = NULL;
    CHECK(kn_op_find("add", &info));
    CHECK(kn_op_support(NULL, info.number, KN_F32, &why) == KN_SUPPORT_NATIVE && !why[0]);
    CHECK(kn_op_support(NULL, -1, KN_F32, &why) == KN_SUPPORT_NO && !strcmp(why, "no such op"));
    CHECK(kn_op_support(NULL, info.number, KN_F4_E2M1, &why) == KN_SUPPORT_NO &&
          !strcmp(why, "no such dtype"));
    CHECK(kn_op_find("bitwise_and", &info));
    CHECK(kn_op_support(NULL, info.number, KN_F32, NULL) == KN_SUPPORT_NO);
}

int main(void)
{
    test_results();
    test_takes_temporaries();
    test_misuse();
    test_table();
    test_operands();
    test_support();
    kn_shutdown();
    return check_report();
}
