/* Operands that share memory: an op gives the bits that it gives over copies of them, whatever it writes in place. Every row
   of the table runs over all ways to give it one tensor several times, or views that overlap. */
#include "support/check.h"
#include "support/operands.h"
#include <kn/update.h>
#include <stdlib.h>

enum { MOST_IN = 8, MOST_OUT = 8, KINDS = 6, ROOM = 1 << 14 };

/* ---- operands */

/* Rows from `row` on of a tensor with one row more. */
static kn_tensor view(kn_tensor whole, int row) { return kn_narrow(whole, 0, row, 4); }

static kn_tensor longer(int kind)
{
    int rest = kind < 3 ? 1 : 4;
    kn_tensor first = operand_of_kind(kind, 0), last = operand_of_kind(kind, kind < 3 ? 4 : 16);
    kn_tensor parts[2] = {first, kind < 3 ? kn_narrow(last, 0, 0, rest) : kn_narrow(last, 0, 0, 1)};
    return kn_concat(parts, 2, 0);
}

/* ---- one op */

typedef struct trial {
    const char *name;
    int32_t n_in, n_out;
    int kinds[MOST_IN];
    int same_as[MOST_IN]; /* the first operand that is the same tensor */
    int rows[MOST_IN];    /* where operands are views that overlap: where each begins */
    const kn_attribute_value *attributes;
} trial;

typedef enum mode { COPIES, TEMPORARIES, KEPT, COMPUTED, VIEWS, MODES } mode;

static void make_operands(const trial *t, mode m, kn_tensor *in, kn_tensor *made)
{
    kn_tensor wholes[KINDS] = {{0}};
    for (int i = 0; i < t->n_in; i++) {
        int kind = t->kinds[i];
        made[i] = KN_NONE;
        if (m == VIEWS) {
            if (!wholes[kind].bits) wholes[kind] = kn_keep(longer(kind));
            made[i] = in[i] = kn_keep(view(wholes[kind], t->rows[i]));
        } else if (m != COPIES && t->same_as[i] != i) {
            in[i] = in[t->same_as[i]];
        } else {
            in[i] = operand_of_kind(kind, t->rows[i] * (kind < 3 ? 1 : 4));
            if (m == COMPUTED && kind % 3 != 2)
                in[i] = kn_add(in[i], kn_sub(operand_of_kind(kind, 0), operand_of_kind(kind, 0)));
            if (m != TEMPORARIES) made[i] = in[i] = kn_keep(in[i]);
        }
    }
    for (int k = 0; k < KINDS; k++)
        if (wholes[k].bits) kn_drop(wholes[k]);
}

/* The results as bytes; 0 where the op refuses its operands. */
static size_t run(const trial *t, mode m, unsigned char *bytes)
{
    kn_tensor in[MOST_IN], made[MOST_IN], out[MOST_OUT] = {{0}};
    size_t n = 0;
    kn_scope scope = kn_scope_begin();
    make_operands(t, m, in, made);
    kn_status s = kn_call(t->name, in, t->n_in, t->attributes, out, t->n_out);
    for (int i = 0; i < t->n_in && m != COPIES; i++)
        if (made[i].bits) kn_drop(made[i]);
    for (int i = 0; i < t->n_out && s == KN_OK; i++) {
        size_t size = (size_t)kn_dtype_bytes(kn_dtype_of(out[i]), kn_count(out[i]));
        bytes[n++] = (unsigned char)(1 + kn_rank(out[i]));
        if (n + size > ROOM) break;
        s = kn_read(out[i], bytes + n, size);
        n += size;
    }
    kn_scope_end(scope, KN_NONE);
    return s ? 0 : n;
}

static long tried;

static void compare(const trial *t, mode m, const unsigned char *want, size_t n)
{
    static unsigned char got[ROOM];
    memset(got, 0xEE, n);
    tried++;
    if (run(t, m, got) == n && !memcmp(got, want, n)) return;
    printf("%s: mode %d, kinds", t->name, (int)m);
    for (int i = 0; i < t->n_in; i++) printf(" %d(as %d, row %d)", t->kinds[i], t->same_as[i], t->rows[i]);
    printf(": %s\n", kn_last_error());
    CHECK(!"the bits of operands that are copies");
}

/* Runs the trial over copies and over the same operands sharing memory. */
static void try_shared(trial *t)
{
    static unsigned char want[ROOM];
    bool shared = false;
    memset(t->rows, 0, sizeof t->rows);
    for (int i = 0; i < t->n_in; i++) shared |= t->same_as[i] != i;
    if (!shared) return;
    size_t n = run(t, COPIES, want);
    if (!n) return;
    for (mode m = TEMPORARIES; m < VIEWS; m++) compare(t, m, want, n);
    for (int first = 0; first < 2; first++) {
        for (int i = 0; i < t->n_in; i++) t->rows[i] = t->same_as[i] == i ? first : !first;
        n = run(t, COPIES, want);
        if (n) compare(t, VIEWS, want, n);
    }
}

/* ---- every op */

/* Operands of the same kind are one tensor. */
static void all_kinds(trial *t)
{
    int combinations = 1;
    for (int i = 0; i < t->n_in; i++) combinations *= KINDS;
    static int64_t turn; /* goes on from op to op and from device to device: each meets another part */
    for (int c = 0; c < combinations; c++) {
        if (t->n_in > 2 && !check_part(turn++, 3)) continue;
        for (int i = 0, rest = c; i < t->n_in; i++, rest /= KINDS) {
            t->kinds[i] = rest % KINDS;
            t->same_as[i] = i;
            for (int k = i; k-- > 0;)
                if (t->kinds[k] == t->kinds[i]) t->same_as[i] = k;
        }
        try_shared(t);
    }
}

/* Two of many operands are one tensor. */
static void all_pairs(trial *t)
{
    for (int kind = 0; kind < KINDS; kind += 3)
        for (int a = 0; a < t->n_in; a++)
            for (int b = a + 1; b < t->n_in; b++) {
                for (int i = 0; i < t->n_in; i++) t->kinds[i] = kind, t->same_as[i] = i == b ? a : i;
                try_shared(t);
            }
}

/* Turns differ in their attributes; `step` leaves ops out where a device is slow. */
static void every_op(const char *device_name, int turns, int step)
{
    kn_device device = kn_device_open(device_name);
    if (!CHECK(device)) return;
    kn_device_use(device);
    tried = 0;
    for (int32_t number = 0; number < kn_op_count(); number += step) {
        kn_op_info op;
        if (!kn_op_at(number, &op) || op.n_out > MOST_OUT || op.n_attributes >= OPERAND_ATTRIBUTES) continue;
        int32_t most = op.max_in < 0 ? 3 : op.max_in;
        for (int turn = 0; turn < turns; turn++)
            for (int32_t n = op.min_in < 2 ? 2 : op.min_in; n <= most && n <= MOST_IN; n++) {
                kn_attribute_value attributes[OPERAND_ATTRIBUTES];
                trial t = {.name = op.name, .n_in = n, .n_out = op.n_out, .attributes = attributes};
                operand_attributes(&op, turn, attributes);
                (n <= 3 ? all_kinds : all_pairs)(&t);
            }
    }
    printf("%s: %ld calls compared\n", device_name, tried);
    CHECK(tried > 400);
}

/* ---- what was found */

/* Rows that write by index, with one tensor as what is written to and as values, or as indices as well. */
static const kn_range backwards = {.start = 3, .stop = -5, .step = -1};

static void updates(kn_device device)
{
    kn_device_use(device);
    for (int kept = 0; kept < 2; kept++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(4));
        kn_tensor i = kn_keep(kn_from((int64_t[]){1, 2, 3, 0}, KN_I64, KN_SHAPE(4)));
        kn_tensor tuples = kn_keep(kn_reshape(i, KN_SHAPE(4, 1)));
#define TRY(call, ...)                                                                                       \
    do {                                                                                                     \
        x = kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(4));                                             \
        if (kept) x = kn_keep(x);                                                                            \
        kn_tensor y = call;                                                                                  \
        if (kept) kn_drop(x);                                                                                \
        CHECK_VALUES(y, 0, __VA_ARGS__);                                                                     \
    } while (0)
        TRY(kn_scatter(x, 0, i, x, KN_UPDATE_ADD), 5, 3, 5, 7);
        TRY(kn_scatter(x, 0, i, x, KN_UPDATE_ASSIGN), 4, 1, 2, 3);
        TRY(kn_index_assign(x, 0, i, x, KN_UPDATE_ADD), 5, 3, 5, 7);
        TRY(kn_scatter_nd(x, tuples, x, KN_UPDATE_MUL), 4, 2, 6, 12);
        TRY(kn_put(x, i, x, KN_UPDATE_ADD), 5, 3, 5, 7);
        TRY(kn_index_put(x, &i, 1, x, KN_UPDATE_ADD), 5, 3, 5, 7);
        TRY(kn_slice_assign(x, &backwards, 1, x), 4, 3, 2, 1);
        TRY(kn_stack((kn_tensor[]){x, x}, 2, 0), 1, 2, 3, 4, 1, 2, 3, 4);
        TRY(kn_concat((kn_tensor[]){x, x}, 2, 0), 1, 2, 3, 4, 1, 2, 3, 4);
        TRY(kn_block_diag((kn_tensor[]){x, x}, 2), 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4);
        TRY(kn_narrow(kn_cartesian_prod((kn_tensor[]){x, x}, 2), 0, 0, 2), 1, 1, 1, 2);
        TRY(kn_outer(x, x), 1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12, 16);
        /* The same in the shape [2, 2]. */
        kn_tensor m = kn_from((float[]){1, 2, 3, 5}, KN_F32, KN_SHAPE(2, 2));
        if (kept) m = kn_keep(m);
        CHECK_VALUES(kn_lstsq(m, m), 1e-4, 1, 0, 0, 1);
        m = kn_from((float[]){0, 0, 3, 4}, KN_F32, KN_SHAPE(2, 2));
        if (kept) m = kn_keep(m);
        CHECK_VALUES(kn_cdist(m, m, 2), 1e-6, 0, 5, 5, 0);
#undef TRY
        kn_tensor whole = kn_from((int64_t[]){1, 2, 3, 0}, KN_I64, KN_SHAPE(4));
        if (kept) whole = kn_keep(whole);
        kn_tensor y = kn_scatter(whole, 0, whole, whole, KN_UPDATE_ADD);
        if (kept) kn_drop(whole);
        CHECK_VALUES(y, 0, 1, 3, 5, 3);
        kn_scope_end(scope, KN_NONE);
    }
}

/* A param that two updates of one group read, and one that another update reads as its gradient. */
static void updates_of_one_group(kn_device device)
{
    enum { N = 4096 };
    static float values[N], back[N];
    kn_device_use(device);
    kn_attribute_value rate[] = {{.name = "lr", .real = 0.5}, {0}};
    for (int i = 0; i < N; i++) values[i] = (float)(i % 13);
    for (int round = 0; round < 4; round++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor p = kn_keep(kn_from(values, KN_F32, KN_SHAPE(N))),
                  q = kn_keep(kn_full(KN_SHAPE(N), 2, KN_F32));
        kn_tensor one = kn_keep(kn_full(KN_SHAPE(N), 1, KN_F32)), out[3][2];
        const kn_tensor in[3][2] = {{p, one}, {p, q}, {q, p}};
        CHECK(kn_sync(device) == KN_OK);
        for (int i = 0; i < 3; i++) CHECK(kn_call("sgd_update", in[i], 2, rate, out[i], 2) == KN_OK);
        for (int i = 0; i < 3; i++) kn_drop(out[i][1]);
        kn_drop(p), kn_drop(q), kn_drop(one);
        bool same = true;
        for (int k = 0; k < 3; k++) {
            same = same && kn_read(out[k][0], back, sizeof back) == KN_OK;
            for (int i = 0; i < N && same; i++)
                same = back[i] == (k == 0 ? values[i] - 0.5f : k == 1 ? values[i] - 1 : 2 - values[i] * 0.5f);
        }
        CHECK(same);
        kn_scope_end(scope, KN_NONE);
    }
}

/* ---- KN_OWNERSHIP=borrow, in a process of its own */

static int borrows(void)
{
    kn_tensor x = kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(3));
    CHECK_VALUES(kn_neg(x), 0, -1, -2, -3);
    CHECK_VALUES(x, 0, 1, 2, 3); /* an op that takes nothing writes over nothing */
    return check_report();
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"cpu", "fusion(cpu)", "autodiff(fusion(cpu))", "check(cpu,ref)"};
    if (argc > 1 && !strcmp(argv[1], "borrow")) return borrows();
    if (argc > 1) { /* a device by its name */
        every_op(argv[1], 2, 1);
        return check_report();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kn_device device = kn_device_open(names[i]);
        updates(device);
        updates_of_one_group(device);
        every_op(names[i], i < 2 ? 2 : 1, 1);
    }
    kn_device gpu = kn_device_open("fusion(opencl:0)");
    if (gpu) {
        updates(kn_device_open("opencl:0"));
        updates(gpu);
        updates_of_one_group(gpu);
    } else {
        check_skip("no OpenCL device");
    }
    char command[1000];
    snprintf(command, sizeof command, "KN_OWNERSHIP=borrow '%s' borrow", argv[0]);
    CHECK(system(command) == 0);
    return check_report();
}
