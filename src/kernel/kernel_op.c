/* A user's kernel as an op: a custom op that is lowered to a run of the kernel, with a gradient that is a function or
   another kernel, bound by the names of its buffers. */
#include "kernel/user_kernel.h"
#include <string.h>

enum { MOST = KNI_KERNEL_OPERANDS, MOST_NUMBERS = KNI_MAX_KERNEL_INTS + KNI_MAX_KERNEL_REALS };

/* What an operand of the gradient kernel is. */
typedef struct origin {
    enum { OPERAND, RESULT, COTANGENT } kind;
    int number;
} origin;

typedef struct kernel_op {
    kni_user_kernel *kernel, *backward;
    kn_kernel_prepare prepare, prepare_backward;
    kn_status (*gradient)(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                          kn_tensor *grads);
    void *context;
    kn_kernel_number numbers[MOST_NUMBERS];
    origin origins[MOST];
    int gives[MOST]; /* by result of the gradient kernel: whose gradient it is */
    char name[48];   /* as long as the name of a custom op can be */
} kernel_op;

/* ---- running */

typedef struct plan {
    kn_type in[MOST], out[MOST];
    kn_shape shapes[MOST];
    kn_dtype dtypes[MOST];
    kn_kernel_number numbers[MOST_NUMBERS];
    int64_t temps[KNI_MAX_KERNEL_TEMPS];
    kn_kernel_run_args args;
} plan;

/* Types of the results and sizes of a run, from the types of the operands in p->in. p->out holds what is known. */
static kn_status make_plan(const kernel_op *op, const kni_user_kernel *k, kn_kernel_prepare prepare, plan *p)
{
    int n = k->n_ints + k->n_reals, inout = k->source.n_inout;
    if (n) memcpy(p->numbers, op->numbers, (size_t)n * sizeof *p->numbers);
    kn_kernel_sizes sizes = {0, p->numbers, p->temps};
    if (prepare) {
        kn_status s = prepare(op->context, p->in, p->out, &sizes);
        if (s) return s;
    }
    for (int i = inout; i < k->n_results; i++) {
        p->shapes[i - inout] = p->out[i].shape;
        p->dtypes[i - inout] = p->out[i].dtype;
    }
    p->args = (kn_kernel_run_args){sizes.items, p->numbers, n, p->shapes, p->dtypes, p->temps};
    return KN_OK;
}

/* What results are where nothing says otherwise. */
static void default_types(const kni_user_kernel *k, plan *p)
{
    int in[MOST], none[MOST] = {0};
    for (int i = 0; i < k->n_operands; i++) in[i] = p->in[i].dtype;
    int element = kni_kernel_element(k, in, none);
    for (int i = 0; i < k->n_results; i++) {
        if (i < k->source.n_inout)
            p->out[i] = p->in[k->kernel.n_in + i];
        else
            p->out[i] = (kn_type){(kn_dtype)kni_kernel_default_dtype(k, i, element), p->in[0].shape};
    }
}

static kn_type type_of(kn_tensor t) { return (kn_type){kn_dtype_of(t), kn_shape_of_tensor(t)}; }

static kn_status infer(void *context, const kn_type *in, kn_type *out)
{
    const kernel_op *op = context;
    plan p = {.shapes = {{0}}};
    memcpy(p.in, in, (size_t)op->kernel->n_operands * sizeof *in);
    default_types(op->kernel, &p);
    kn_status s = make_plan(op, op->kernel, op->prepare, &p);
    memcpy(out, p.out, (size_t)op->kernel->n_results * sizeof *out);
    return s;
}

static kn_status lower(void *context, const kn_tensor *in, kn_tensor *out)
{
    const kernel_op *op = context;
    const kni_user_kernel *k = op->kernel;
    plan p = {.shapes = {{0}}};
    for (int i = 0; i < k->n_operands; i++) p.in[i] = type_of(in[i]);
    default_types(k, &p);
    kn_status s = make_plan(op, k, op->prepare, &p);
    if (s) return s;
    return kni_user_kernel_run(op->kernel, in, k->n_operands, &p.args, out, k->n_results);
}

/* ---- the gradient by a kernel */

static kn_status by_kernel(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                           kn_tensor *grads)
{
    const kernel_op *op = context;
    const kni_user_kernel *k = op->backward;
    kn_tensor operands[MOST], results[MOST];
    plan p = {.shapes = {{0}}};
    for (int i = 0; i < k->n_operands; i++) {
        int n = op->origins[i].number;
        operands[i] = op->origins[i].kind == OPERAND  ? in[n]
                      : op->origins[i].kind == RESULT ? out[n]
                      : dy[n].bits                    ? dy[n]
                                                      : kn_zeros_like(out[n]);
        p.in[i] = type_of(operands[i]);
    }
    for (int i = 0; i < k->n_results; i++) p.out[i] = type_of(in[op->gives[i]]);
    kn_status s = make_plan(op, k, op->prepare_backward, &p);
    if (s) return s;
    s = kni_user_kernel_run(op->backward, operands, k->n_operands, &p.args, results, k->n_results);
    for (int i = 0; i < k->n_results; i++) grads[op->gives[i]] = results[i];
    return s;
}

static kn_status by_function(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                             kn_tensor *grads)
{
    const kernel_op *op = context;
    return op->gradient(op->context, in, out, dy, grads);
}

/* Told by the op's name: the tape would name the kernel that the op is lowered to. */
static kn_status no_gradient(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                             kn_tensor *grads)
{
    (void)in, (void)out, (void)dy, (void)grads;
    return kni_fail(KN_ERROR_GRADIENT,
                    "kn_custom_call: '%s' has no gradient: give kn_kernel_op() a .gradient_kernel (or "
                    ".gradient), or cut the tape before it with kn_detach()",
                    ((const kernel_op *)context)->name);
}

/* ---- registering */

/* The buffer of that name with one of the roles from first to last: its number among them, -1 when there is none. */
static int find(const kni_user_kernel *k, const char *name, int first, int last)
{
    int n = 0;
    for (int i = 0; i < k->signature.n_buffers; i++) {
        int role = k->signature.buffers[i].role;
        if (role < first || role > last) continue;
        if (!strcmp(k->signature.buffers[i].name, name)) return n;
        n++;
    }
    return -1;
}

static bool find_origin(const kni_user_kernel *k, const char *name, origin *o)
{
    *o = (origin){OPERAND, find(k, name, KNI_IR_IN, KNI_IR_IN)};
    if (o->number >= 0) return true;
    *o = (origin){RESULT, find(k, name, KNI_IR_OUT, KNI_IR_OUT)};
    if (o->number >= 0) return true;
    if (strncmp(name, "d_", 2)) return false;
    *o = (origin){COTANGENT, find(k, name + 2, KNI_IR_OUT, KNI_IR_OUT)};
    return o->number >= 0;
}

static bool fail_gradient(const char *name, const char *text, const char *what)
{
    kni_fail(KN_ERROR_ARGUMENT, text, name, what);
    return false;
}

/* Binds the buffers of the gradient kernel by their names. */
static bool bind_gradient(kernel_op *op, const kn_kernel_op_options *o)
{
    const kni_user_kernel *k = op->kernel, *g = op->backward;
    const kni_ir_signature *s = &g->signature;
    if (k->source.n_inout || s->by_role[KNI_IR_INOUT])
        return fail_gradient(
            o->name, "kn_kernel_op: %s: with `inout` buffers the gradient has to be a function%s", "");
    int operands = 0, results = 0;
    for (int i = 0; i < s->n_buffers; i++) {
        const char *name = s->buffers[i].name;
        if (s->buffers[i].role == KNI_IR_IN && !find_origin(k, name, &op->origins[operands++]))
            return fail_gradient(
                o->name,
                "kn_kernel_op: %s: the gradient reads '%s', which is no operand or result of the op "
                "and no d_ of a result",
                name);
        if (s->buffers[i].role != KNI_IR_OUT) continue;
        int whose = strncmp(name, "d_", 2) ? -1 : find(k, name + 2, KNI_IR_IN, KNI_IR_IN);
        if (whose < 0)
            return fail_gradient(
                o->name, "kn_kernel_op: %s: the gradient makes '%s', which is no d_ of an operand", name);
        op->gives[results++] = whose;
    }
    int wanted = g->n_ints + g->n_reals;
    if (wanted && wanted != k->n_ints + k->n_reals && !o->prepare_gradient)
        return fail_gradient(
            o->name,
            "kn_kernel_op: %s: the gradient's kernel '%s' declares other numbers than the op's: "
            "prepare_gradient has to fill them",
            g->name);
    return true;
}

static bool check(const kn_kernel_op_options *o, const kni_user_kernel *kernel)
{
    const char *why =
        o->gradient && o->gradient_kernel ? "kn_kernel_op: %s: one gradient, a function or a kernel"
        : o->n_numbers < 0 || (o->n_numbers && !o->numbers) ? "kn_kernel_op: %s: the numbers are NULL"
                                                            : NULL;
    if (why) {
        kni_fail(KN_ERROR_ARGUMENT, why, o->name);
        return false;
    }
    int wanted = kernel->n_ints + kernel->n_reals;
    if (o->numbers ? o->n_numbers == wanted : !wanted || o->prepare) return true;
    kni_fail(KN_ERROR_ARGUMENT, "kn_kernel_op: %s: the kernel declares %d numbers, %d were given", o->name,
             (int32_t)wanted, o->n_numbers);
    return false;
}

kn_op_handle kn_kernel_op(const kn_kernel_op_options *options)
{
    if (!options || !options->name) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_kernel_op: a name is needed");
        return NULL;
    }
    KNI_USE(user_kernel, kernel, options->kernel);
    if (!kernel) return NULL;
    bool has_backward = options->gradient_kernel != NULL;
    KNI_USE(user_kernel, backward, has_backward ? options->gradient_kernel : options->kernel);
    if (!backward || !check(options, kernel)) return NULL;
    kernel_op *op = kni_allocate(sizeof *op);
    if (!op) {
        kni_fail(KN_ERROR_MEMORY, "kn_kernel_op: no memory");
        return NULL;
    }
    memset(op, 0, sizeof *op);
    op->kernel = kernel;
    op->backward = has_backward ? backward : NULL;
    op->prepare = options->prepare;
    op->prepare_backward = options->prepare_gradient;
    op->gradient = options->gradient;
    op->context = options->context;
    strncat(op->name, options->name, sizeof op->name - 1);
    if (options->numbers)
        memcpy(op->numbers, options->numbers, (size_t)options->n_numbers * sizeof *op->numbers);
    kn_custom_op custom = {.name = options->name,
                           .n_in = op->kernel->n_operands,
                           .n_out = op->kernel->n_results,
                           .infer = infer,
                           .lower = lower,
                           .context = op,
                           .gradient = op->backward   ? by_kernel
                                       : op->gradient ? by_function
                                                      : no_gradient};
    kn_op_handle handle = !op->backward || bind_gradient(op, options) ? kn_custom_register(&custom) : NULL;
    /* A registered op lives as long as the process. */
    if (!handle) kni_free(op, sizeof *op);
    return handle;
}
