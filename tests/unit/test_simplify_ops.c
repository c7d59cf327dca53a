/* Every op of the table in a program: computed ahead it gives the bits that a run gives, written twice it runs once. Random ops do neither. */
#include "support/operands.h"
#include "support/programs.h"

enum { MOST_IN = 8, MOST_OUT = 8, ENOUGH = 3 };

typedef struct trial {
    kn_op_info op;
    int n_in, kinds[MOST_IN];
    attribute attributes[OPERAND_ATTRIBUTES];
    char texts[OPERAND_ATTRIBUTES][64];
} trial;

static void set_attributes(trial *t, int whole)
{
    static const char *const lists[] = {"", "0", "0, 0"};
    for (int i = 0; i < t->op.n_attributes; i++) {
        kn_attribute_info a;
        kn_op_attribute(t->op.number, i, &a);
        snprintf(t->texts[i], sizeof *t->texts, "%d", whole);
        t->attributes[i] =
            (attribute){a.name, a.type == KN_ATTRIBUTE_LIST ? lists[whole] : t->texts[i], 0.25 * (whole + 1)};
        if (!strcmp(a.name, "dtype")) t->attributes[i].sizes = "2";
    }
    t->attributes[t->op.n_attributes].name = NULL;
}

/* The op `times` times over constants or inputs, with all results as outputs; NULL where the op does not take them. */
static kn_program made(const trial *t, bool constants, int times)
{
    kn_builder b = kn_builder_new();
    value in[MOST_IN], out[2 * MOST_OUT];
    static const char *const shapes[] = {"4", "4, 4", "1, 1, 4, 4"};
    static const kn_dtype dtypes[] = {KN_F32, KN_I64, KN_BOOL};
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < t->n_in; i++) {
        char name[8] = {(char)('a' + i), 0};
        int k = t->kinds[i];
        in[i] = constants ? kn_builder_constant(b, operand_of_kind(k, i))
                          : kn_builder_input(b, name, dtypes[k % 3], shapes[k / 3]);
    }
    kn_status s = KN_OK;
    for (int i = 0; i < times && s == KN_OK; i++)
        s = kn_builder_op_many(b, t->op.name, in, t->n_in, t->attributes, out + i * t->op.n_out, t->op.n_out);
    kn_program p = s ? NULL : kn_builder_finish(b, out, NULL, times * t->op.n_out);
    kn_scope_end(scope, KN_NONE);
    kn_builder_free(b);
    return p;
}

/* Whether both programs give the same bits; *ran: whether they ran. */
static bool same_results(const trial *t, kn_program a, kn_program b, bool constants, bool *ran)
{
    kn_tensor in[MOST_IN], x[2 * MOST_OUT], y[2 * MOST_OUT];
    int32_t n = kn_program_outputs(a);
    for (int i = 0; i < t->n_in; i++) in[i] = kn_keep(operand_of_kind(t->kinds[i], i));
    kn_status s = kn_program_run(a, in, constants ? 0 : t->n_in, x, n),
              z = kn_program_run(b, in, constants ? 0 : t->n_in, y, n);
    *ran = s == KN_OK;
    bool same = s == z;
    for (int32_t i = 0; i < n && same && *ran; i++) same = same_bits(x[i], y[i]);
    return same;
}

static int computed_ahead, joined;

static bool try(const trial *t)
{
    kn_scope scope = kn_scope_begin();
    bool ran = false;
    for (int constants = 0; constants < 2; constants++) {
        kn_program plain = made(t, constants, 2), simple = plain ? made(t, constants, 2) : NULL;
        if (!simple) break;
        simplify(simple, constants ? KN_PASS_CONSTANTS : KN_PASS_COMMON);
        bool same = t->op.random || same_results(t, plain, simple, constants, &ran);
        int left = count_nodes(simple), want = t->op.random ? 2 : constants ? 0 : 1;
        if (!CHECK(same && (left == want || (!ran && !t->op.random))))
            printf("  %s: %d left, %s bits\n", t->op.name, left, same ? "the same" : "other");
        if (ran) (*(constants ? &computed_ahead : &joined))++;
        kn_program_free(plain);
        kn_program_free(simple);
    }
    kn_scope_end(scope, KN_NONE);
    return ran;
}

/* Operands of the first kind, and all but the first of the second. */
static void try_op(const kn_op_info *op)
{
    static trial t;
    int tried = 0, most = op->max_in < 0 || op->max_in > MOST_IN ? op->min_in + 2 : op->max_in;
    t.op = *op;
    for (t.n_in = op->min_in; t.n_in <= most && t.n_in <= MOST_IN; t.n_in++)
        for (int whole = 0; whole < 3; whole++) {
            set_attributes(&t, whole);
            for (int kinds = 0; kinds < OPERAND_KINDS * OPERAND_KINDS && tried < ENOUGH; kinds++) {
                if (kinds && !t.n_in) break;
                for (int i = 0; i < t.n_in; i++)
                    t.kinds[i] = i ? kinds / OPERAND_KINDS : kinds % OPERAND_KINDS;
                tried += try(&t);
            }
        }
}

int main(void)
{
    kn_op_info op;
    for (int32_t number = 0; number < kn_op_count(); number++)
        if (kn_op_at(number, &op) && strcmp(op.kind, "system") != 0 && op.n_out <= MOST_OUT) try_op(&op);
    CHECK(computed_ahead > 300 && joined > 300);
    printf("%d programs computed ahead, %d joined\n", computed_ahead, joined);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
