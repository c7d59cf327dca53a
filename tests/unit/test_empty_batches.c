/* Tensors without elements of which one dimension is huge: every op of the table answers at once, with a result or with an error,
   and never counts the huge dimension out. So do reading, printing and copying. */
#define _DEFAULT_SOURCE
#include "support/check.h"
#include "support/operands.h"
#include "support/paper_device.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SECONDS = 1
}; /* of processor time for all the calls of one op with one shape; they take milliseconds */
#define HUGE_SIZE INT64_MAX
#define LARGE_SIZE (INT64_C(1) << 40)

static const kn_shape shapes[] = {
    {2, {HUGE_SIZE, 0}},           {2, {0, HUGE_SIZE}},           {3, {HUGE_SIZE, 0, 3}},
    {3, {HUGE_SIZE, 3, 0}},        {3, {0, HUGE_SIZE, 3}},        {3, {0, 3, HUGE_SIZE}},
    {3, {3, 0, HUGE_SIZE}},        {3, {LARGE_SIZE, 0, 0}},       {4, {LARGE_SIZE, 2, 0, 3}},
    {4, {LARGE_SIZE, 2, 3, 0}},    {4, {2, LARGE_SIZE, 0, 3}},    {4, {1, 0, 3, LARGE_SIZE}},
    {4, {0, LARGE_SIZE, 4, 4}},    {5, {LARGE_SIZE, 0, 2, 4, 4}}, {5, {LARGE_SIZE, 2, 0, 4, 4}},
    {5, {0, LARGE_SIZE, 4, 4, 4}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- a watchdog: what takes too long ends the child, and the parent goes on behind it */

static volatile sig_atomic_t current_op, current_shape;
static int told; /* the pipe to the parent */

static void too_long(int signal)
{
    (void)signal;
    const int32_t where[2] = {(int32_t)current_op, (int32_t)current_shape};
    if (write(told, where, sizeof where) != sizeof where) _exit(3);
    _exit(2);
}

static void begin_watch(int32_t op, int shape)
{
    const struct itimerval limit = {.it_value = {.tv_sec = SECONDS}};
    current_op = op, current_shape = shape;
    setitimer(ITIMER_PROF, &limit, NULL);
}

/* ---- the calls */

static void try_call(const kn_op_info *op, const kn_tensor *in, int32_t n, int whole)
{
    kn_scope scope = kn_scope_begin();
    kn_attribute_value attributes[OPERAND_ATTRIBUTES];
    kn_tensor out[8];
    char text[200];
    operand_attributes(op, whole < 3 ? whole : 2, attributes);
    for (int i = 0; i < op->n_attributes; i++) /* the first axis, or the first and the last one */
        if (attributes[i].list.rank == 2) attributes[i].list.dims[1] = whole == 3 ? -1 : 1;
    kn_status s = kn_call(op->name, in, n, attributes, out, op->n_out);
    for (int k = 0; k < op->n_out && s == KN_OK; k++)
        if (kn_ok(out[k]) && kn_count(out[k]) == 0) {
            kn_status read = kn_read(out[k], text, 0);
            (void)read;
            (void)kn_format(out[k], text, sizeof text, NULL);
        }
    kn_scope_end(scope, KN_NONE);
}

/* Operands of one shape, an index or a truth in place of the second, and small ones beside an empty one. */
static void try_op(const kn_op_info *op, int shape)
{
    kn_scope scope = kn_scope_begin();
    static const kn_dtype dtypes[] = {KN_F32, KN_I64, KN_BOOL};
    kn_tensor empty[3], turned, in[8];
    for (int i = 0; i < 3; i++) empty[i] = kn_keep(kn_zeros(shapes[shape], dtypes[i]));
    turned = kn_keep(kn_transpose(empty[0], 0, 1));
    int32_t most = op->max_in < 0 || op->max_in > 8 ? 3 : op->max_in;
    for (int32_t n = op->min_in; n <= most && n <= 8; n++)
        for (int turn = 0; turn < 8; turn++)
            for (int whole = 0; whole < 4; whole++) {
                for (int i = 0; i < n; i++)
                    in[i] = turn < 3                    ? empty[turn]
                            : turn == 3 && i == 1       ? empty[1]
                            : turn == 4 && i == 0       ? empty[2]
                            : turn == 5                 ? turned
                            : turn >= 6 && i > turn - 6 ? kn_keep(operand_of_kind(turn == 6 ? 3 : 1, 0))
                                                        : empty[0];
                try_call(op, in, n, whole);
            }
    kn_scope_end(scope, KN_NONE);
}

static void sweep(const char *device, int32_t first_op, int first_shape)
{
    kn_memory_limit(1 << 28);
    paper_do = (paper_orders){.room = 1 << 26, .fault = -1, .quick = true};
    paper_register();
    kn_device_use(kn_device_open(device));
    signal(SIGPROF, too_long);
    for (int32_t number = first_op; number < kn_op_count(); number++) {
        kn_op_info op;
        if (!kn_op_at(number, &op) || op.n_out > 8 || op.n_attributes >= OPERAND_ATTRIBUTES) continue;
        for (int shape = number == first_op ? first_shape : 0; shape < SHAPES; shape++) {
            begin_watch(number, shape);
            try_op(&op, shape);
        }
    }
}

static void every_op(const char *device)
{
    int32_t where[2] = {0, 0};
    for (bool done = false; !done;) {
        int ends[2], status = -1;
        if (!CHECK(pipe(ends) == 0)) return;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            told = ends[1];
            kn_log_set(NULL, NULL);
            sweep(device, where[0], where[1]);
            _exit(0);
        }
        close(ends[1]);
        bool late = read(ends[0], where, sizeof where) == sizeof where;
        close(ends[0]);
        waitpid(child, &status, 0);
        done = !CHECK(late || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) || !late;
        if (late) {
            kn_op_info op;
            kn_op_at(where[0], &op);
            printf("%s: %s of shape %d takes too long\n", device, op.name, where[1]);
            CHECK(!late);
            where[0]++, where[1] = 0;
        }
    }
}

int main(void)
{
    every_op("ref");
    every_op("cpu");
    every_op("fusion(cpu)");
    every_op("autodiff(cpu)");
    every_op("fusion(paper)");
    return check_report();
}
