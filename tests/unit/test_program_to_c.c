/* Programs as C: compiled without a library, started without one, and compared with ops that run at once. With a folder as argument
   the texts are only written there, for scripts/smoke.sh. */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include "support/exported_programs.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char flags[] = "-std=c99 -O1 -ffreestanding -nostdlib -static -Wall -Wextra -Werror -pedantic";

/* What the compiled program says: 0, or which output is wrong; -1 where it does not compile. */
static int run_with(const char *compiler, const char *folder, const char *name)
{
    char command[2048];
    snprintf(command, sizeof command, "%s %s -o %s/%s %s/%s.c %s/%s_main.c", compiler, flags, folder, name,
             folder, name, folder, name);
    if (system(command)) return -1;
    snprintf(command, sizeof command, "%s/%s", folder, name);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static void check_runs(const char *folder, const char *name)
{
    static const char *const compilers[] = {"gcc", "clang"};
    for (int i = 0; i < 2; i++) {
        int status = run_with(compilers[i], folder, name);
        if (!CHECK(status == 0)) printf("  %s with %s: %d\n", name, compilers[i], status);
    }
}

static void exported_programs_agree(const char *folder)
{
    const proof_program *e;
    for (int i = 0; (e = proof_program_at(i)); i++) {
        kn_scope scope = kn_scope_begin();
        if (CHECK(exported_write(e, folder, i % 2))) check_runs(folder, e->name);
        kn_scope_end(scope, KN_NONE);
    }
}

typedef kn_program_value value;

/* The program of one op on x of this shape; the size n has a bound or not. */
static kn_program program_of(const char *op, kn_dtype dtype, const char *shape, const kn_builder_attribute *a,
                             bool bounded)
{
    kn_builder b = kn_builder_new();
    if (bounded) kn_builder_size(b, "n", 1, 8);
    value x = kn_builder_input(b, "x", dtype, shape), y = kn_builder_op(b, op, &x, 1, a);
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    kn_builder_free(b);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    return p;
}

static void check_refused(kn_program p, const char *path, const char *words)
{
    CHECK_ERROR(kn_program_to_c(p, path, NULL), words);
    CHECK(access(path, F_OK) != 0);
    kn_program_free(p);
}

static void what_has_no_form_is_refused(const char *folder)
{
    char path[320];
    snprintf(path, sizeof path, "%s/refused.c", folder);
    kn_scope scope = kn_scope_begin();
    check_refused(program_of("exp", KN_F32, "n", NULL, false), path, "size 'n' has no upper bound");
    check_refused(program_of("pinverse", KN_F32, "3, 3", NULL, false), path, "kn_pinverse");
    check_refused(program_of("exp", KN_F32, "n, 65536, 65536", NULL, true), path, "2 GiB");
    kn_builder_attribute to_e8m0[] = {{"dtype", "19", 0}, {0}};
    check_refused(program_of("cast", KN_F32, "n", to_e8m0, true), path, "cast it before");
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 8);
    kn_builder_size(b, "m", 1, 8);
    value in[2] = {kn_builder_input(b, "x", KN_F32, "n, 2"), kn_builder_input(b, "y", KN_F32, "m, 2")};
    value y = kn_builder_op(b, "mul", in, 2, NULL);
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    kn_builder_free(b);
    /* Shapes that fit only for some sizes: not every call could be answered. */
    if (CHECK(p != NULL)) check_refused(p, path, "kn_mul");
    p = program_of("exp", KN_F32, "n", NULL, true);
    CHECK_ERROR(kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "1st"}),
                "'1st' cannot be a name in C");
    CHECK_ERROR(kn_program_to_c(p, NULL, NULL), "the path is NULL");
    CHECK(kn_program_to_c(p, "/nowhere/at/all.c", NULL) != KN_OK);
    kn_program_free(p);
    kn_scope_end(scope, KN_NONE);
}

static value view(kn_builder b, const char *op, value x, const kn_builder_attribute *a)
{
    return kn_builder_op(b, op, &x, 1, a);
}

static value slice(kn_builder b, value x, const char *start, const char *stop, const char *step)
{
    kn_builder_attribute a[] = {{"start", start, 0}, {"stop", stop, 0}, {"step", step, 0}, {0}};
    return view(b, "slice", x, a);
}

/* Axes that may have one element, whose stride is nobody's business; slices from the end and backwards; sizes whose parts are
   negative. The sizes go from 1, as they do by default. */
static kn_program views(void)
{
    const char *end = "9223372036854775807, 9223372036854775807";
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 5);
    kn_builder_size(b, "m", 1, 6);
    value x = kn_builder_input(b, "x", KN_F32, "n, m"), c = kn_builder_input(b, "c", KN_F32, "n, 1"), y[9];
    y[0] = view(b, "expand", c, (kn_builder_attribute[]){{"shape", "n, m", 0}, {0}});
    y[1] = view(b, "expand", c, (kn_builder_attribute[]){{"shape", "m, n, 2 * m", 0}, {0}});
    y[2] = slice(b, x, "0, 0", "n, m", "2, 3");
    y[3] = slice(b, x, "-2, -1", end, "1, 1");
    y[4] = slice(b, x, "-1, -1", end, "-1, -2");
    y[5] = slice(b, x, "1, 0", "n - 1, m", "1, 1");
    y[6] = view(b, "pad", x,
                (kn_builder_attribute[]){{"before", "m, 0", 0}, {"after", "max(n - 3, 0), 1", 0}, {0}});
    y[7] = kn_builder_op(
        b, "full", NULL, 0,
        (kn_builder_attribute[]){
            {"shape", "(n - 5) / 2 + 3, max(m - 4, 1)", 0}, {"dtype", "5", 0}, {"whole", "7", 0}, {0}});
    value in[2] = {x, y[3]};
    y[8] = kn_builder_op(
        b, "update_slice", in, 2,
        (kn_builder_attribute[]){{"start", "-2, 0", 0}, {"stop", end, 0}, {"step", "1, 6", 0}, {0}});
    kn_program p = kn_builder_finish(b, y, NULL, 9);
    kn_builder_free(b);
    return p;
}

/* Runs of this program are compared with ops at once by test_program_sizes.c. */
static kn_program views_program;

static kn_status run_views(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    (void)net;
    return kn_program_run(views_program, in, 2, out, 9);
}

static void views_of_any_size_are_written(const char *folder)
{
    const proof_run runs[] = {{{1, 1}, 0}, {{1, 6}, 1}, {{4, 1}, 2}, {{2, 5}, 3}, {{5, 6}, 4}};
    exported_truth truth = {NULL, run_views, runs, 5};
    kn_scope scope = kn_scope_begin();
    views_program = views();
    if (!CHECK(views_program != NULL)) printf("  %s\n", kn_last_error());
    if (views_program && CHECK(exported_write_program(views_program, "views", folder, false, &truth)))
        check_runs(folder, "views");
    kn_program_free(views_program);
    kn_scope_end(scope, KN_NONE);
}

/* What is refused says of what op it is, and what number. */
static void numbers_without_a_formula_are_named(const char *folder)
{
    char path[320];
    snprintf(path, sizeof path, "%s/refused.c", folder);
    kn_scope scope = kn_scope_begin();
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 8);
    value x = kn_builder_input(b, "x", KN_F32, "3, n"), y[2];
    kn_builder_op_many(b, "fft", &x, 1, (kn_builder_attribute[]){{"axis", "1", 0}, {0}}, y, 2);
    kn_program p = kn_builder_finish(b, y, NULL, 2);
    if (CHECK(p != NULL)) check_refused(p, path, "narrower bounds, or write numbers (it makes value ");
    kn_builder_free(b);
    b = kn_builder_new();
    kn_builder_size(b, "n", 1, 4000000);
    x = kn_builder_input(b, "x", KN_F32, "n");
    y[0] = kn_builder_op(
        b, "full", NULL, 0,
        (kn_builder_attribute[]){{"shape", "min(n * n * n * n, 4)", 0}, {"dtype", "2", 0}, {0}});
    p = kn_builder_finish(b, (value[]){y[0], x}, NULL, 2);
    if (CHECK(p != NULL)) check_refused(p, path, "size 'n * n * n * n' can be too large");
    kn_builder_free(b);
    kn_scope_end(scope, KN_NONE);
}

static kn_status scored(const proof_net *net, const kn_tensor *in, kn_tensor *out)
{
    out[0] = kn_relu(kn_nn_linear_forward(&net->first, in[0]));
    return kn_error_code(out[0]);
}

static void traces_are_written(const char *folder)
{
    char path[320];
    snprintf(path, sizeof path, "%s/traced.c", folder);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)), y;
    CHECK(kn_program_begin(NULL) == KN_OK);
    y = kn_keep(kn_add(x, kn_random_uniform(KN_SHAPE(3), 0, 1, KN_F32)));
    check_refused(kn_program_end(&x, 1, &y, 1), path, "draws random numbers");
    proof_net net = {0};
    CHECK(kn_nn_linear_init(&net.first, 3, 4, NULL) == KN_OK);
    x = kn_keep(kn_ones(KN_SHAPE(2, 3), KN_F32));
    CHECK(kn_program_begin(NULL) == KN_OK);
    CHECK(scored(&net, &x, &y) == KN_OK);
    kn_program p = kn_program_end(&x, 1, &y, 1);
    /* Params are written as they are now. */
    CHECK(kn_param_set(&net.first.weight, kn_ones(KN_SHAPE(4, 3), KN_F32)) == KN_OK);
    const proof_run run = {{0}, 1};
    if (CHECK(p &&
              exported_write_program(p, "traced", folder, false, &(exported_truth){&net, scored, &run, 1})))
        check_runs(folder, "traced");
    kn_program_free(p);
    kn_module_drop(KN_MODULE_OF(proof_net, &net));
    kn_scope_end(scope, KN_NONE);
}

/* Names of values are comments, with what cannot stand in one left out. */
static void names_are_comments(const char *folder)
{
    char path[320], text[400000];
    snprintf(path, sizeof path, "%s/named.c", folder);
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "4"), c = kn_builder_constant(b, kn_ones(KN_SHAPE(4), KN_F32));
    value in[2] = {x, c}, y = kn_builder_op(b, "add", in, 2, NULL);
    kn_builder_name(b, c, "ones");
    kn_builder_name(b, y, "net/sum */ x");
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    kn_builder_free(b);
    CHECK(kn_program_to_c(p, path, NULL) == KN_OK);
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[n] = 0;
    if (file) fclose(file);
    CHECK(strstr(text, "/* ones */\n") && strstr(text, "KILN_STEP; /* net_sum____x */\n"));
    kn_program_free(p);
}

/* Traces of layers are written for the sizes they were made with. */
static void traced_layers_agree(const char *folder)
{
    const proof_program *e;
    for (int i = 0; (e = proof_program_at(i)); i++) {
        proof_net net;
        kn_tensor in[PROOF_INPUTS], out[PROOF_OUTPUTS];
        char name[64];
        if (!e->traced) continue;
        kn_scope scope = kn_scope_begin();
        CHECK(proof_init(e, &net) == KN_OK);
        kn_program built = e->build(&net, e->dtype);
        int n_in = kn_program_inputs(built);
        for (int k = 0; k < n_in; k++) in[k] = proof_input(built, k, &e->runs[1]);
        CHECK(kn_program_begin(NULL) == KN_OK && e->eager(&net, in, out) == KN_OK);
        kn_program p = kn_program_end(in, n_in, out, e->n_out);
        proof_run run = {{0}, e->runs[1].shift};
        snprintf(name, sizeof name, "traced_%s", e->name);
        if (CHECK(p &&
                  exported_write_program(p, name, folder, false, &(exported_truth){&net, e->eager, &run, 1})))
            check_runs(folder, name);
        kn_program_free(p);
        kn_program_free(built);
        kn_module_drop(KN_MODULE_OF(proof_net, &net));
        kn_scope_end(scope, KN_NONE);
    }
}

/* Every allocation may fail: then there is a message, and no file. */
static void memory_may_end(const char *folder, const char *op)
{
    char path[320];
    snprintf(path, sizeof path, "%s/failed.c", folder);
    kn_scope scope = kn_scope_begin();
    kn_program p = program_of(op, KN_F32, "n, 3", (kn_builder_attribute[]){{"axis", "-1", 0}, {0}}, true);
    kn_status s = KN_ERROR_MEMORY;
    int n = 1;
    for (; s != KN_OK && n < 2000; n++) {
        kn_memory_fail_after(n);
        s = kn_program_to_c(p, path, NULL);
        kn_memory_fail_after(0);
        if (s != KN_OK && !CHECK(s == KN_ERROR_MEMORY && access(path, F_OK) != 0)) break;
    }
    if (!CHECK(s == KN_OK && n > 10 && remove(path) == 0)) printf("  %s: %d\n", op, n);
    kn_program_free(p);
    kn_scope_end(scope, KN_NONE);
}

static int write_all(const char *folder)
{
    const proof_program *e;
    int bad = 0;
    kn_scope scope = kn_scope_begin();
    for (int i = 0; (e = proof_program_at(i)); i++) bad += !exported_write(e, folder, i % 2);
    kn_scope_end(scope, KN_NONE);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc > 1) return write_all(argv[1]);
    const char *base = getenv("TMPDIR");
    char folder[256], command[512];
    snprintf(folder, sizeof folder, "%s/kiln_to_c_XXXXXX", base ? base : "/tmp");
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    exported_programs_agree(folder);
    what_has_no_form_is_refused(folder);
    views_of_any_size_are_written(folder);
    numbers_without_a_formula_are_named(folder);
    traces_are_written(folder);
    traced_layers_agree(folder);
    names_are_comments(folder);
    memory_may_end(folder, "cumsum");
    memory_may_end(folder, "softmax");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
