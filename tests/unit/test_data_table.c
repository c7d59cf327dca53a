/* Tables: CSV, JSON lines, SQLite. Types, quoting, missing values, categories, and the texts of errors. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/data.h>
#include <unistd.h>

static const char *scratch = "test_data_table.tmp";

static const char *file_of(const char *text, size_t n)
{
    FILE *f = fopen(scratch, "wb");
    if (!f || fwrite(text, 1, n, f) != n) printf("cannot write %s\n", scratch);
    if (f) fclose(f);
    return scratch;
}
#define FILE_OF(text) file_of(text, sizeof(text) - 1)

/* Opening fails with these words. */
#define CHECK_REFUSED(dataset, words) check_refused(dataset, words, __FILE__, __LINE__)
static void check_refused(kn_dataset d, const char *words, const char *file, int line)
{
    bool good = !d && strstr(kn_last_error(), words);
    if (!good)
        printf("%s:%d: wanted '%s', got '%s'\n", file, line, words, d ? "a data set" : kn_last_error());
    check_that(good, "refused", file, line);
    kn_dataset_free(d);
}

static bool field_is_text(kn_tensor t, const char *want)
{
    char got[64] = "";
    int64_t n = kn_count(t);
    return n >= 0 && n < 64 && kn_dtype_of(t) == KN_U8 && kn_read(t, got, (size_t)n) == KN_OK &&
           !strcmp(got, want);
}

static void test_csv(void)
{
    const kn_column columns[] = {
        {.name = "name", .kind = KN_COLUMN_TEXT},
        {.name = "age", .kind = KN_COLUMN_INT, .missing = KN_MISSING_FILL, .fill = -1},
        {.name = "height", .kind = KN_COLUMN_REAL64},
        {.name = "city", .kind = KN_COLUMN_CATEGORY}};
    kn_dataset d =
        kn_dataset_csv("tests/data/people.csv", &(kn_table_args){.columns = columns, .n_columns = 4});
    CHECK(kn_dataset_length(d) == 3);
    kn_sample s;
    CHECK(kn_dataset_get(d, 0, &s) == KN_OK && s.n == 4);
    CHECK(field_is_text(s.fields[0], "Ada \"the first\""));
    CHECK(kn_item_int(s.fields[1]) == 36 && kn_dtype_of(s.fields[1]) == KN_I64 && kn_rank(s.fields[1]) == 0);
    CHECK(kn_item(s.fields[2]) == 1.65 && kn_dtype_of(s.fields[2]) == KN_F64);
    CHECK(kn_item_int(s.fields[3]) == 0);
    kn_sample_drop(&s);
    CHECK(kn_dataset_get(d, 1, &s) == KN_OK && kn_item_int(s.fields[3]) == 1);
    kn_sample_drop(&s);
    CHECK(kn_dataset_get(d, 2, &s) == KN_OK && kn_item_int(s.fields[1]) == -1 &&
          kn_item_int(s.fields[3]) == 0);
    kn_sample_drop(&s);
    CHECK(!strcmp(kn_table_category(d, 3, 1), "New\nYork") && kn_table_category_count(d, 3) == 2);
    CHECK(!kn_table_category(d, 3, 2) && !kn_table_category(d, 9, 0));
    CHECK(!strcmp(kn_dataset_name_at(d, 2), "height") && !kn_dataset_name_at(d, 4));
    CHECK_ERROR(kn_dataset_get(d, 3, &s), "sample 3 of a data set ('table') of 3");
    /* Categories of another file keep their numbers; an unknown one is an error. */
    const kn_column city[] = {{.name = "city", .kind = KN_COLUMN_CATEGORY}};
    kn_table_args known = {.columns = city, .n_columns = 1, .categories = d};
    kn_dataset other = kn_dataset_csv(FILE_OF("city\n\"New\nYork\"\nParis\n"), &known);
    CHECK(kn_dataset_get(other, 0, &s) == KN_OK && kn_item_int(s.fields[0]) == 1);
    kn_sample_drop(&s);
    kn_dataset_free(other);
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("city\nRome\n"), &known),
                  "test_data_table.tmp:2: column 'city': 'Rome' is not among the known categories");
    kn_dataset_free(d);
}

/* Lines end with a line feed, a carriage return or both; inside quotes all of them are text. */
static void test_csv_line_ends(void)
{
    static const char *const ends[] = {"\n", "\r", "\r\n"};
    const kn_column columns[] = {{.name = "a"}, {.name = "b", .kind = KN_COLUMN_CATEGORY}};
    const kn_table_args args = {.columns = columns, .n_columns = 2};
    for (int i = 0; i < 3; i++)
        for (int last = 0; last < 2; last++) {
            char text[200];
            const char *e = ends[i];
            int n = snprintf(text, sizeof text, "a,b%s1,\"x%sy\"%s%s3,z%s", e, e, e, e, last ? e : "");
            kn_dataset d = kn_dataset_csv(file_of(text, (size_t)n), &args);
            kn_sample s;
            char want[8];
            snprintf(want, sizeof want, "x%sy", e);
            if (!CHECK(kn_dataset_length(d) == 2)) printf("  %d %d: %s\n", i, last, kn_last_error());
            CHECK(kn_table_category_count(d, 1) == 2 && !strcmp(kn_table_category(d, 1, 0), want));
            CHECK(kn_dataset_get(d, 1, &s) == KN_OK && kn_item(s.fields[0]) == 3);
            kn_sample_drop(&s);
            kn_dataset_free(d);
        }
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a,b\r1,2\r3"), &args), "test_data_table.tmp:3: 1 fields");
}

static void test_csv_vectors(void)
{
    kn_dataset d = kn_dataset_csv(FILE_OF("\xef\xbb\xbf"
                                          "a,b,c\n1,2,3\n\n4,-5e-1,+.25\n"),
                                  NULL);
    const int64_t both[] = {1, 0};
    kn_sample s;
    CHECK(kn_dataset_length(d) == 2 && !strcmp(kn_dataset_name_at(d, 0), "a"));
    CHECK(kn_dataset_get(d, 1, &s) == KN_OK && s.n == 1 && kn_dtype_of(s.fields[0]) == KN_F32);
    CHECK_VALUES(s.fields[0], 0, 4, -0.5, 0.25);
    kn_sample_drop(&s);
    CHECK(kn_dataset_get_many(d, both, 2, NULL, &s) == KN_OK && kn_rank(s.fields[0]) == 2);
    CHECK_VALUES(s.fields[0], 0, 4, -0.5, 0.25, 1, 2, 3);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    const kn_column columns[] = {
        {.name = "2"}, {.name = "1", .join = true}, {.name = "3", .kind = KN_COLUMN_INT}};
    d = kn_dataset_csv(FILE_OF("1;2;3\n4;5;6"), &(kn_table_args){columns, 3, ';', .no_header = true});
    CHECK(kn_dataset_length(d) == 2 && kn_dataset_get(d, 1, &s) == KN_OK && s.n == 2);
    CHECK_VALUES(s.fields[0], 0, 5, 4);
    CHECK_VALUES(s.fields[1], 0, 6);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    /* Rows with a missing value are left out on request. */
    const kn_column skipping[] = {{.missing = KN_MISSING_SKIP}, {.kind = KN_COLUMN_CATEGORY}};
    d = kn_dataset_csv(FILE_OF("x,y\n ,a\n1,b\n"), &(kn_table_args){.columns = skipping, .n_columns = 2});
    CHECK(kn_dataset_length(d) == 1 && !strcmp(kn_table_category(d, 1, 0), "b"));
    kn_dataset_free(d);
}

static void test_csv_errors(void)
{
    const kn_column age[] = {{.name = "age", .kind = KN_COLUMN_INT}};
    kn_table_args a = {.columns = age, .n_columns = 1};
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("age\n1\n2\nabc\n"), &a),
                  "test_data_table.tmp:4: column 'age': 'abc' is not a whole number");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("age\n1.5\n"), &a), ":2: column 'age': '1.5' is not a whole number");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("age\n9223372036854775808\n"), &a), "is not a whole number");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a\n1e\n"), NULL), ":2: column 'a': '1e' is not a number");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a,b\n1,\n"), NULL), ":2: column 'b': the value is missing");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a,b\n1,2\n1,2,3\n"), NULL),
                  ":3: 3 fields, but the first line has 2");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a\n\"1\n2\n"), NULL),
                  ":2: the quoted field that begins here never ends");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a\n1\"2\n"), NULL), ":2: a quote inside a field");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a\n\"1\"2\n"), NULL), ":2: text behind the closing quote");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a\n1\0\n"), NULL), ":2: a zero byte");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("b\n1\n"), &a), ":1: there is no column 'age' among the 1");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("1,2\n3,x\n"), &(kn_table_args){.no_header = true}),
                  ":2: column '2': 'x' is not a number");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("1,2\n,4\n"), &(kn_table_args){.no_header = true}),
                  ":2: column '1': the value is missing");
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("\n\n"), NULL), "the file is empty");
    CHECK_REFUSED(kn_dataset_csv("no/such/file.csv", NULL), "no/such/file.csv: cannot be opened");
    const kn_column mixed[] = {{.kind = KN_COLUMN_INT}, {.kind = KN_COLUMN_REAL, .join = true}};
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a,b\n"), &(kn_table_args){.columns = mixed, .n_columns = 2}),
                  "column 2 cannot join");
    const kn_column nine[9] = {{0}};
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("a\n"), &(kn_table_args){.columns = nine, .n_columns = 9}),
                  "more than 8 fields");
}

/* Decimal texts read as the double a C compiler gives. */
static void test_numbers(void)
{
    const kn_column x[] = {{.kind = KN_COLUMN_REAL64}};
    kn_dataset d = kn_dataset_csv(
        FILE_OF("x\n0.1\n1e22\n1e23\n123456789012345678901234567890\n5e-324\n-1.7976931348623157e308\n"
                "9007199254740993\n 2.5 \ninf\n-0\n0.000000000000000000000000000001\n"),
        &(kn_table_args){.columns = x, .n_columns = 1});
    static const double want[] = {0.1,
                                  1e22,
                                  1e23,
                                  123456789012345678901234567890.0,
                                  5e-324,
                                  -1.7976931348623157e308,
                                  9007199254740993.0,
                                  2.5,
                                  __builtin_inf(),
                                  -0.0,
                                  1e-30};
    CHECK(kn_dataset_length(d) == 11);
    for (int i = 0; i < 11 && d; i++) {
        kn_sample s;
        CHECK(kn_dataset_get(d, i, &s) == KN_OK && kn_item(s.fields[0]) == want[i]);
        kn_sample_drop(&s);
    }
    kn_dataset_free(d);
}

static void test_json_lines(void)
{
    const kn_column columns[] = {{.name = "x", .missing = KN_MISSING_FILL, .fill = 9},
                                 {.name = "label", .kind = KN_COLUMN_CATEGORY},
                                 {.name = "bag", .kind = KN_COLUMN_INT, .list = true},
                                 {.name = "text", .kind = KN_COLUMN_TEXT}};
    kn_table_args a = {.columns = columns, .n_columns = 4};
    kn_dataset d = kn_dataset_json_lines("tests/data/animals.jsonl", &a);
    CHECK(kn_dataset_length(d) == 3);
    kn_sample s;
    CHECK(kn_dataset_get(d, 0, &s) == KN_OK && kn_item(s.fields[0]) == 1.5 && kn_item_int(s.fields[1]) == 0);
    CHECK_VALUES(s.fields[2], 0, 1, 2, 3);
    CHECK(field_is_text(s.fields[3], "h\xc3\xa9llo"));
    kn_sample_drop(&s);
    CHECK(kn_dataset_get(d, 1, &s) == KN_OK && kn_count(s.fields[2]) == 0 && kn_item_int(s.fields[1]) == 1);
    kn_sample_drop(&s);
    CHECK(kn_dataset_get(d, 2, &s) == KN_OK && kn_item(s.fields[0]) == 9);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    const kn_column list = {.name = "a", .kind = KN_COLUMN_INT, .list = true};
    d = kn_dataset_json_lines(FILE_OF("{\"a\": [9007199254740993, 9223372036854775807, 2.0]}\n"),
                              &(kn_table_args){.columns = &list, .n_columns = 1});
    int64_t exact[3] = {0};
    CHECK(kn_dataset_get(d, 0, &s) == KN_OK && kn_read(s.fields[0], exact, sizeof exact) == KN_OK);
    CHECK(exact[0] == 9007199254740993 && exact[1] == INT64_MAX && exact[2] == 2);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    d = kn_dataset_json_lines(FILE_OF("{\"a\": 1, \"b\": true}\r\n\n{\"b\": 2.5, \"a\": 3}"), NULL);
    CHECK(kn_dataset_length(d) == 2 && kn_dataset_get(d, 1, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 0, 3, 2.5);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("{\"a\": 1}\n{\"a\": 1,}\n"), NULL),
                  "test_data_table.tmp:2:");
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("{\"a\": 1}\n{\"a\": \"x\"}\n"), NULL),
                  "test_data_table.tmp:2: column 'a': 'x' is not a number");
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("{\"a\": 1}\n{}\n"), NULL),
                  ":2: column 'a': the value is missing");
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("[1]\n"), NULL), ":1: the line is no object");
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("{\"a\": [1]}\n"), NULL), ":1: column 'a': an array");
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF(""), NULL), "the file is empty");
}

static void test_sqlite(void)
{
    const char *file = "tests/data/people.sqlite";
    const kn_column columns[] = {{.name = "name", .kind = KN_COLUMN_CATEGORY},
                                 {.name = "height"},
                                 {.name = "age", .kind = KN_COLUMN_INT, .missing = KN_MISSING_SKIP}};
    kn_table_args a = {.columns = columns, .n_columns = 3};
    kn_dataset d = kn_dataset_sqlite(file, "SELECT * FROM people ORDER BY age DESC", &a);
    if (!d && strstr(kn_last_error(), "libsqlite3")) {
        check_skip("no libsqlite3");
        return;
    }
    kn_sample s;
    CHECK(kn_dataset_length(d) == 2 && kn_dataset_get(d, 0, &s) == KN_OK && kn_item_int(s.fields[2]) == 41);
    CHECK(kn_item(s.fields[1]) == (double)1.8f && !strcmp(kn_table_category(d, 0, 0), "Bob"));
    kn_sample_drop(&s);
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_sqlite(file, "DELETE FROM people", NULL), "must be a SELECT");
    CHECK_REFUSED(kn_dataset_sqlite(file, "SELECT nope FROM people", NULL), "no such column: nope");
    CHECK_REFUSED(kn_dataset_sqlite(file, "SELECT age FROM people", NULL),
                  ":3: column 'age': the value is missing");
    CHECK_REFUSED(kn_dataset_sqlite(file, "SELECT age FROM people", &a), "gives no column 'name'");
    CHECK_REFUSED(kn_dataset_sqlite("tests/data/people.csv", "SELECT * FROM x", NULL), "not a database");
    CHECK_REFUSED(kn_dataset_sqlite("no/such.sqlite", "SELECT 1", NULL), "no/such.sqlite: cannot be opened");
}

static void test_sqlite_samples(void)
{
    const char *path = "test_data_table.sqlite";
    unlink(path);
    kn_fake_field fields[] = {
        {KN_F32, KN_SHAPE(2, 3), -1, 1}, {KN_I64, KN_SCALAR_SHAPE, 0, 5}, {KN_U8, KN_SHAPE(0), 0, 9}};
    kn_dataset fake = kn_dataset_fake(5, fields, 3, 1);
    kn_status status = kn_dataset_write_sqlite(fake, path, "odd \"name");
    if (status == KN_ERROR_UNSUPPORTED) {
        check_skip("no libsqlite3");
        kn_dataset_free(fake);
        return;
    }
    CHECK(status == KN_OK);
    kn_dataset back = kn_dataset_sqlite_samples(path, "odd \"name");
    CHECK(kn_dataset_length(back) == 5);
    for (int i = 0; i < 5; i++) {
        kn_sample a, b;
        float x[6], y[6];
        CHECK(kn_dataset_get(fake, i, &a) == KN_OK && kn_dataset_get(back, i, &b) == KN_OK && b.n == 3);
        CHECK(kn_read(a.fields[0], x, sizeof x) == KN_OK && kn_read(b.fields[0], y, sizeof y) == KN_OK);
        CHECK(!memcmp(x, y, sizeof x) && kn_item_int(a.fields[1]) == kn_item_int(b.fields[1]));
        CHECK(kn_rank(b.fields[1]) == 0 && kn_count(b.fields[2]) == 0 && kn_dtype_of(b.fields[2]) == KN_U8);
        kn_sample_drop(&a);
        kn_sample_drop(&b);
    }
    kn_dataset_free(back);
    kn_dataset_free(fake);
    CHECK_REFUSED(kn_dataset_sqlite_samples(path, "other"), "no such table: other");
    CHECK_REFUSED(kn_dataset_sqlite_samples("tests/data/people.sqlite", "people"), "no such column");
    unlink(path);
}

/* Row `index` is one vector of these values. */
static bool row_is(kn_dataset d, int64_t index, const float *want, int64_t n)
{
    float got[8] = {0};
    kn_sample s = {0};
    bool good = d && kn_dataset_get(d, index, &s) == KN_OK && s.n == 1 && kn_count(s.fields[0]) == n &&
                kn_read(s.fields[0], got, (size_t)n * sizeof *got) == KN_OK &&
                !memcmp(got, want, (size_t)n * sizeof *got);
    kn_sample_drop(&s);
    return good;
}
#define ROW_IS(d, index, ...)                                                                                \
    row_is(d, index, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

/* Columns that share a name are read by their places. Asking for that name is refused. */
static void test_repeated_names(void)
{
    kn_dataset d = kn_dataset_csv(FILE_OF("x,y,x,y\n1,2,3,4\n5,6,7,8\n"), NULL);
    CHECK(ROW_IS(d, 0, 1, 2, 3, 4) && ROW_IS(d, 1, 5, 6, 7, 8));
    CHECK(!strcmp(kn_dataset_name_at(d, 2), "x") && !strcmp(kn_dataset_name_at(d, 3), "y"));
    kn_dataset_free(d);
    d = kn_dataset_csv(FILE_OF("a,,\n1,2,3\n"), NULL);
    CHECK(ROW_IS(d, 0, 1, 2, 3));
    kn_dataset_free(d);
    const kn_column places[] = {{0}, {.join = true}, {.join = true}};
    d = kn_dataset_csv(FILE_OF("x,y,x\n1,2,3\n"), &(kn_table_args){.columns = places, .n_columns = 3});
    CHECK(ROW_IS(d, 0, 1, 2, 3));
    kn_dataset_free(d);
    const kn_column twice[] = {{.name = "x"}}, once[] = {{.name = "y"}, {.name = "y", .join = true}};
    const kn_table_args ask_twice = {.columns = twice, .n_columns = 1},
                        ask_once = {.columns = once, .n_columns = 2};
    CHECK_REFUSED(kn_dataset_csv(FILE_OF("x,y,x\n1,2,3\n"), &ask_twice),
                  "test_data_table.tmp:1: there are several columns 'x'");
    d = kn_dataset_csv(FILE_OF("x,y,x\n1,2,3\n"), &ask_once);
    CHECK(ROW_IS(d, 0, 2, 2)); /* a column may be asked for twice */
    kn_dataset_free(d);
    d = kn_dataset_json_lines(FILE_OF("{\"x\":1,\"y\":5,\"x\":2}\n{\"y\":6,\"x\":3,\"x\":4}\n"), NULL);
    CHECK(ROW_IS(d, 0, 1, 5, 2) && ROW_IS(d, 1, 3, 6, 4));
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("{\"x\":1}\n{\"x\":1,\"x\":2}\n"), NULL),
                  "test_data_table.tmp:2: there are several columns 'x'");
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("{\"x\":1,\"x\":2}\n"), &ask_twice),
                  "test_data_table.tmp:1: there are several columns 'x'");
    CHECK_REFUSED(kn_dataset_json_lines(FILE_OF("{\"x\":1,\"x\":2}\n{\"x\":1}\n"), NULL),
                  "test_data_table.tmp:2: column 'x': the value is missing");
}

/* Categories come from the column of the same name; of several ones, from the one at the same place. */
static void test_repeated_categories(void)
{
    const kn_column texts[] = {{.kind = KN_COLUMN_CATEGORY}, {.kind = KN_COLUMN_CATEGORY}};
    kn_table_args args = {.columns = texts, .n_columns = 2};
    kn_dataset d = kn_dataset_csv(FILE_OF("x,x\na,b\nc,d\n"), &args);
    args.categories = d;
    kn_dataset other = kn_dataset_csv(FILE_OF("x,x\nc,b\n"), &args);
    kn_sample s = {0};
    CHECK(other && kn_dataset_get(other, 0, &s) == KN_OK && kn_item_int(s.fields[0]) == 1 &&
          kn_item_int(s.fields[1]) == 0);
    kn_sample_drop(&s);
    CHECK(kn_table_category_count(other, 0) == 2 && kn_table_category_count(other, 1) == 2);
    kn_dataset_free(other);
    const kn_column named[] = {{.name = "x", .kind = KN_COLUMN_CATEGORY}};
    other = kn_dataset_csv(FILE_OF("x\nc\n"),
                           &(kn_table_args){.columns = named, .n_columns = 1, .categories = d});
    CHECK(kn_table_category_count(other, 0) == 2 && !strcmp(kn_table_category(other, 0, 1), "c"));
    kn_dataset_free(other);
    kn_dataset_free(d);
}

static void test_sqlite_repeated_names(void)
{
    const char *file = "tests/data/people.sqlite", *query = "SELECT 1 AS a, 2 AS b, 3 AS a";
    kn_dataset d = kn_dataset_sqlite(file, query, NULL);
    if (!d && strstr(kn_last_error(), "libsqlite3")) {
        check_skip("no libsqlite3");
        return;
    }
    CHECK(ROW_IS(d, 0, 1, 2, 3));
    kn_dataset_free(d);
    const kn_column a[] = {{.name = "a"}};
    CHECK_REFUSED(kn_dataset_sqlite(file, query, &(kn_table_args){.columns = a, .n_columns = 1}),
                  "people.sqlite: there are several columns 'a'");
}

int main(void)
{
    test_csv();
    test_repeated_names();
    test_repeated_categories();
    test_sqlite_repeated_names();
    test_csv_line_ends();
    test_csv_vectors();
    test_csv_errors();
    test_numbers();
    test_json_lines();
    if (UNDER_MEMORY_SANITIZER) {
        check_skip("MemorySanitizer: SQLite");
    } else {
        test_sqlite();
        test_sqlite_samples();
    }
    unlink(scratch);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
