/* The parser of conformance data against broken files: each byte changed, each length cut, random bits flipped. It must
   end with a message or with a sane case, and never read outside the file (the sanitizers watch). */
#include "../../tools/kiln/conform_file.c"
#include "../../tools/kiln/conform_values.c"
#include "support/check.h"

static unsigned char record[4096];
static size_t length;

static void put(const void *bytes, size_t n)
{
    memcpy(record + length, bytes, n);
    length += n;
}

static void put_byte(int value) { put(&(unsigned char){(unsigned char)value}, 1); }
static void put_word(uint32_t value) { put(&value, 4); }
static void put_long(uint64_t value) { put(&value, 8); }
static void put_double(double value) { put(&value, 8); }

static void put_string(const char *text)
{
    uint16_t n = (uint16_t)strlen(text);
    put(&n, 2);
    put(text, n);
}

static void put_shape(int rank, const int64_t *dims)
{
    put_byte(rank);
    for (int i = 0; i < rank; i++) put_long((uint64_t)dims[i]);
}

/* One case with a made operand, a literal, every type of attribute, an output and a gradient. */
static void make_record(void)
{
    length = 0;
    put("KNCF", 4);
    put_word(VERSION);
    put_word(1);
    size_t start = length;
    put_word(0);
    put_string("op");
    put_string("name");
    put_byte(KN_F32);
    put_byte(6);
    put_long(0); /* two floats of tolerance */
    put_word(0);
    put_string("");
    put_byte(1);
    put_string("covered");
    put_byte(2);
    put_byte(KILN_OPERAND_MADE), put_byte(KN_F32), put_shape(2, (int64_t[]){2, 3});
    put_long(7), put_double(-1), put_double(1), put_word(0);
    put_byte(KILN_OPERAND_LITERAL), put_byte(KN_BOOL), put_shape(1, (int64_t[]){3}), put("\1\0\1", 3);
    put_byte(4);
    put_string("axis"), put_byte(KILN_INT), put_long(1);
    put_string("p"), put_byte(KILN_REAL), put_double(0.5);
    put_string("axes"), put_byte(KILN_INTS), put_shape(2, (int64_t[]){0, -1});
    put_string("equation"), put_byte(KILN_TEXT), put_string("ij->ji");
    put_byte(0);
    put_byte(0);
    put_byte(1);
    put_byte(KN_F32), put_long(9), put_shape(1, (int64_t[]){2}), put_double(1), put_double(2);
    put_long(1);
    put_byte(1), put_byte(0);
    for (int i = 0; i < 6; i++) put_double(i);
    uint32_t bytes = (uint32_t)(length - start - 4);
    memcpy(record + start, &bytes, 4);
}

/* Reads all of it and touches every value; the number of cases, or -1. */
static int parse_bytes(const unsigned char *bytes, size_t size)
{
    static kiln_case c;
    kiln_file f;
    unsigned char *copy = kiln_allocate(size);
    memcpy(copy, bytes, size);
    if (!kiln_file_use(&f, copy, size, "test")) return -1;
    int more, count = 0;
    while ((more = kiln_file_next(&f, &c)) > 0) {
        count++;
        for (int i = 0; i < c.n_in; i++) {
            kiln_array a =
                c.in[i].kind == KILN_OPERAND_NONE ? (kiln_array){0} : kiln_operand_values(&c.in[i]);
            kiln_array_free(&a);
        }
        for (int i = 0; i < c.n_out; i++) {
            if (!c.out[i].values) continue;
            kiln_array a = kiln_wide_values(c.out[i].dtype, c.out[i].shape, c.out[i].values);
            kiln_array_free(&a);
        }
        for (int i = 0; i < c.n_grads; i++) {
            kiln_array a = kiln_wide_values(KN_F64, c.in[c.grad_operand[i]].shape, c.grad_values[i]);
            kiln_array_free(&a);
        }
    }
    kiln_file_close(&f);
    return more < 0 ? -1 : count;
}

int main(void)
{
    static unsigned char broken[sizeof record];
    if (!freopen("/dev/null", "w", stderr)) return 1;
    make_record();
    CHECK(parse_bytes(record, length) == 1);
    int refused = 0;
    for (size_t cut = 0; cut < length; cut++) refused += parse_bytes(record, cut) < 0;
    /* Cut behind the header it is a file without cases. */
    CHECK(refused == (int)length - 1);
    int ended = 0, rounds = 0;
    for (size_t at = 0; at < length; at++)
        for (int value = 0; value < 256; value += 51, rounds++) {
            memcpy(broken, record, length);
            broken[at] = (unsigned char)value;
            int count = parse_bytes(broken, length);
            ended += count == -1 || count == 1;
        }
    CHECK(ended == rounds);
    uint64_t seed = 1;
    for (rounds = 0, ended = 0; rounds < 5000; rounds++) {
        memcpy(broken, record, length);
        for (int flips = 1 + (int)(kiln_mix(++seed) % 4); flips > 0; flips--) {
            uint64_t word = kiln_mix(++seed);
            broken[HEADER + (word >> 3) % (length - HEADER)] ^= (unsigned char)(1u << (word & 7));
        }
        int count = parse_bytes(broken, length);
        ended += count == -1 || count == 1;
    }
    CHECK(ended == rounds);
    return check_report();
}
