/* Where kiln-gen says that a mistake is: in the text of the op that has it, though another has the same. */
#define _DEFAULT_SOURCE
#include "../tools/gen/gen_source.c"
#include "support/check.h"
#include <unistd.h>

static const char rows[] = "#include \"ops/op.h\"\n"
                           "ELEMENTWISE(first, 2, RULE, KNI_INTS, \"y = a / b\", .doc = \"(a\")\n"
                           "ELEMENTWISE(second, 2, RULE, KNI_INTS, \"y = a / b\",\n"
                           "            .doc = \"\\\"x w@plaice\\\"\")\n"
                           "ELEMENTWISE(third, 2, RULE, KNI_INTS, \"\",\n"
                           "            .doc = \"third\")\n"
                           "BODY(fourth, \"e = x;\"\n"
                           "             \"y = e\")\n"
                           "static kn_tensor call(fourth, \"x w@plaice\");\n"
                           "OP(fourth, .doc = \"e\", .line = {1, 2},\n"
                           "   .in = \"x w@plaice\")\n";

static void is_at(const char *op, const char *text, int offset, int line, int column)
{
    gen_place place = {{0}, 0, 0};
    bool found = gen_find_text(op, text, offset, &place);
    if (!CHECK(found && place.line == line && place.column == column))
        printf("'%s' of %s: %d:%d, not %d:%d\n", text, op, place.line, place.column, line, column);
}

int main(void)
{
    char folder[] = "kiln_gen_XXXXXX", path[64];
    gen_place place;
    /* The rows of the library. */
    CHECK(gen_find_text("trunc_div", "y = a / b", 4, &place) &&
          !strcmp(place.path, "src/ops/elementwise_steps.c"));
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    snprintf(path, sizeof path, "%s/rows.c", folder);
    FILE *f = fopen(path, "wb");
    if (!CHECK(f != NULL)) return check_report();
    fputs(rows, f);
    fclose(f);
    sources = folder;
    is_at("first", "y = a / b", 0, 2, 40);
    is_at("second", "y = a / b", 4, 3, 45);
    is_at("third", "", 0, 5, 40);
    is_at("fourth", "e = x;y = e", 6, 8, 15);
    is_at("fourth", "x w@plaice", 4, 11, 15);
    CHECK(!gen_find_text("first", "y = b / a", 0, &place) && !gen_find_text("fifth", "y = a / b", 0, &place));
    unlink(path);
    rmdir(folder);
    return check_report();
}
