/* Programs from end to end: built or traced, simplified or not, saved to a file, loaded and run in a fresh process on each device, three
   times at each size, and compared with layers and ops that run at once on the CPU. Under a fusion decorator sizes that come again must
   find their plans. Arguments: device stacks in place of the usual ones, such as "fusion(cuda:0)" cuda:0.
   The fresh process is this program too: --run FILE DEVICE INPUTS OUTPUTS. */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include "support/proof_programs.h"
#include <kn/store.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ROUNDS = 3, NO_DEVICE = 77, MAX_COUNT = 4096 };

static const char *entry(int round, int run, int port)
{
    static char name[48];
    snprintf(name, sizeof name, "%d.%d.%d", round, run, port);
    return name;
}

/* ---- the fresh process */

static kn_status run_once(kn_program p, kn_device device, kn_state inputs, kn_state results, int round,
                          int run)
{
    kn_tensor in[PROOF_INPUTS], out[PROOF_OUTPUTS];
    int n_in = kn_program_inputs(p), n_out = kn_program_outputs(p);
    for (int i = 0; i < n_in; i++) in[i] = kn_keep(kn_to(kn_state_get(inputs, "", entry(0, run, i)), device));
    kn_status s = kn_program_run(p, in, n_in, out, n_out);
    for (int i = 0; i < n_out && !s; i++)
        s = kn_state_put(results, "", entry(round, run, i), kn_to(out[i], kn_device_cpu()));
    return s;
}

/* All sizes in rounds, and what the last round did to the plans. The first makes them; the second makes those anew of whose groups the
   device refused one, once and for all. */
static kn_status run_rounds(kn_program p, kn_device device, kn_state inputs, kn_state results)
{
    kn_fusion_stats stats[ROUNDS] = {{0}};
    bool fused = kn_fusion_stats_of(device, &stats[0]) == KN_OK;
    kn_status s = KN_OK;
    for (int round = 0; round < ROUNDS; round++) {
        for (int run = 0; !s && kn_ok(kn_state_get(inputs, "", entry(0, run, 0))); run++)
            s = run_once(p, device, inputs, results, round, run);
        if (fused && !s) s = kn_fusion_stats_of(device, &stats[round]);
    }
    if (!fused || s) return s;
    const kn_fusion_stats *from = &stats[ROUNDS - 2], *to = &stats[ROUNDS - 1];
    s = kn_state_put_int(results, "", "plans_made", to->plans_made - from->plans_made);
    if (!s) s = kn_state_put_int(results, "", "submissions", to->submissions - from->submissions);
    return s ? s : kn_state_put_int(results, "", "plan_hits", to->plan_hits - from->plan_hits);
}

static int run_here(char **arguments)
{
    kn_device device = kn_device_open(arguments[1]);
    if (!device) return NO_DEVICE;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_state inputs = kn_state_make(), results = kn_state_make();
    kn_program p = kn_program_load(arguments[0], NULL);
    kn_status s = p ? kn_state_read(inputs, arguments[2]) : KN_ERROR_IO;
    if (!s) s = run_rounds(p, device, inputs, results);
    if (!s) s = kn_state_write(results, arguments[3], KN_STORE_SAFETENSORS);
    if (s) printf("  %s\n", kn_last_error());
    kn_program_free(p);
    kn_state_free(inputs);
    kn_state_free(results);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    return s != KN_OK;
}

/* ---- what is expected */

/* A program that is on its way: its files, and what its outputs should be. */
typedef struct journey {
    char name[64], program[400], inputs[400], outputs[400];
    const proof_program *e;
    int first, last; /* of its runs */
    kn_state expected;
} journey;

static void check_one(const journey *j, const char *device, kn_tensor got, kn_tensor want, int run, int port)
{
    static double a[MAX_COUNT], b[MAX_COUNT];
    int64_t n = kn_count(want);
    kn_shape x = kn_shape_of_tensor(got), y = kn_shape_of_tensor(want);
    bool good = n <= MAX_COUNT && kn_dtype_of(got) == kn_dtype_of(want) && x.rank == y.rank &&
                !memcmp(x.dims, y.dims, (size_t)x.rank * sizeof *x.dims) &&
                kn_read_as(got, KN_F64, a, sizeof *a * (size_t)n) == KN_OK &&
                kn_read_as(want, KN_F64, b, sizeof *b * (size_t)n) == KN_OK;
    double largest = 0, worst = 0, tolerance = 0;
    /* Some ops with some ulps each, relative to the largest of what was added up; halves are rounded at each op. */
    if (kn_dtype_is_float(kn_dtype_of(want)))
        tolerance = kn_dtype_of(want) == KN_F32 ? 2e-5 : 4 * kn_dtype_limits(kn_dtype_of(want)).eps;
    for (int64_t i = 0; i < n && good; i++) {
        largest = fmax(largest, fabs(b[i]));
        worst = fmax(worst, isfinite(a[i]) ? fabs(a[i] - b[i]) : INFINITY);
    }
    if (!CHECK(good && worst <= tolerance * largest))
        printf("  %s on %s, run %d, output %d: %g off, values up to %g\n", j->name, device, run, port, worst,
               largest);
}

static bool add_expected(journey *j, const proof_net *net, const kn_tensor *in, int run)
{
    kn_tensor out[PROOF_OUTPUTS];
    kn_status s = j->e->eager(net, in, out);
    for (int i = 0; i < j->e->n_out && !s; i++) s = kn_state_put(j->expected, "", entry(0, run, i), out[i]);
    return s == KN_OK;
}

/* Saves the program, and writes inputs and outputs of all runs. */
static bool begin(journey *j, const proof_program *e, const char *variant, const char *folder,
                  const proof_net *net, kn_program built, kn_program p)
{
    kn_state inputs = kn_state_make();
    j->e = e;
    j->expected = kn_state_make();
    snprintf(j->name, sizeof j->name, "%s_%s", e->name, variant);
    snprintf(j->program, sizeof j->program, "%s/%s.safetensors", folder, j->name);
    snprintf(j->inputs, sizeof j->inputs, "%s/%s_in.safetensors", folder, j->name);
    snprintf(j->outputs, sizeof j->outputs, "%s/%s_out.safetensors", folder, j->name);
    bool good = p && kn_program_save(p, j->program, NULL) == KN_OK;
    for (int run = j->first; run < j->last && good; run++) {
        kn_tensor in[PROOF_INPUTS];
        for (int i = 0; i < kn_program_inputs(built) && good; i++) {
            in[i] = proof_input(built, i, &e->runs[run]);
            good = kn_state_put(inputs, "", entry(0, run - j->first, i), in[i]) == KN_OK;
        }
        good = good && add_expected(j, net, in, run - j->first);
    }
    good = good && kn_state_write(inputs, j->inputs, KN_STORE_SAFETENSORS) == KN_OK;
    if (!CHECK(good)) printf("  %s: %s\n", j->name, kn_last_error());
    kn_state_free(inputs);
    return good;
}

/* ---- on a device */

/* What the fresh process ended with. */
static int start(const journey *j, const char *device)
{
    char self[512] = {0};
    char *arguments[] = {
        self, "--run", (char *)j->program, (char *)device, (char *)j->inputs, (char *)j->outputs, NULL};
    pid_t child;
    int status = -1;
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return -1;
    fflush(stdout);
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ)) return -1;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_plans(const journey *j, const char *device, kn_state results)
{
    int64_t made = -1, hits = -1, queues = -1;
    if (!strstr(device, "fusion(")) return;
    bool told = kn_state_get_int(results, "", "plans_made", &made) &&
                kn_state_get_int(results, "", "plan_hits", &hits) &&
                kn_state_get_int(results, "", "submissions", &queues);
    if (!CHECK(told && made == 0 && hits >= j->last - j->first && hits == queues))
        printf("  %s on %s: sizes came again: %lld plans made, %lld found for %lld queues\n", j->name, device,
               (long long)made, (long long)hits, (long long)queues);
}

/* False where there is no such device. */
static bool travel(const journey *j, const char *device)
{
    kn_state results = kn_state_make();
    remove(j->outputs);
    int status = start(j, device);
    if (status == NO_DEVICE) {
        kn_state_free(results);
        return false;
    }
    if (CHECK(status == 0 && kn_state_read(results, j->outputs) == KN_OK)) {
        for (int round = 0; round < ROUNDS; round++)
            for (int run = 0; run < j->last - j->first; run++)
                for (int i = 0; i < j->e->n_out; i++)
                    check_one(j, device, kn_state_get(results, "", entry(round, run, i)),
                              kn_state_get(j->expected, "", entry(0, run, i)), run, i);
        check_plans(j, device, results);
    } else {
        printf("  %s on %s: %d\n", j->name, device, status);
    }
    kn_state_free(results);
    return true;
}

/* ---- all of them */

typedef struct device_list {
    const char *const *names;
    int n;
    bool given; /* on the command line */
    bool missing[8];
} device_list;

/* Without arguments OpenCL runs the loop and the If as they were built alone: its compiler takes its time for each kernel. All the others
   run where it is an argument. */
static bool is_wanted(const device_list *list, int device, bool plain)
{
    return !list->missing[device] && (list->given || plain || !strstr(list->names[device], "opencl"));
}

static void go_everywhere(journey *j, device_list *list, bool plain)
{
    for (int i = 0; i < list->n; i++) {
        if (!is_wanted(list, i, plain) || travel(j, list->names[i])) continue;
        list->missing[i] = true;
        if (list->given)
            CHECK(!"the device of the command line is there");
        else
            check_skip("no OpenCL device");
    }
}

static kn_program traced(const proof_program *e, const proof_net *net, kn_program built)
{
    kn_tensor in[PROOF_INPUTS], out[PROOF_OUTPUTS];
    int n_in = kn_program_inputs(built);
    for (int i = 0; i < n_in; i++) in[i] = proof_input(built, i, &e->runs[1]);
    if (kn_program_begin(NULL)) return NULL;
    kn_status s = e->eager(net, in, out);
    kn_program p = kn_program_end(in, n_in, out, e->n_out);
    return s ? NULL : p;
}

static void prove(const proof_program *e, const char *folder, device_list *list)
{
    proof_net net;
    CHECK(proof_init(e, &net) == KN_OK);
    kn_program built = e->build(&net, e->dtype);
    for (int variant = 0; variant < (e->traced ? 4 : 2) && CHECK(built != NULL); variant++) {
        static const char *const names[] = {"built", "built_simplified", "traced", "traced_simplified"};
        bool trace = variant >= 2, simplified = variant % 2, once = trace && e->traced_once;
        kn_scope scope = kn_scope_begin();
        kn_program p = trace ? traced(e, &net, built) : e->build(&net, e->dtype);
        journey j = {.first = once, .last = once ? 2 : e->n_runs};
        if (simplified)
            CHECK(kn_program_simplify(p, trace ? KN_PASS_ALL | KN_PASS_FREEZE : KN_PASS_ALL) == KN_OK);
        if (begin(&j, e, names[variant], folder, &net, built, p))
            go_everywhere(&j, list, variant == 0 && (!strcmp(e->name, "lstm") || !strcmp(e->name, "choice")));
        kn_state_free(j.expected);
        kn_program_free(p);
        kn_scope_end(scope, KN_NONE);
    }
    kn_program_free(built);
    kn_module_drop(KN_MODULE_OF(proof_net, &net));
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "--run")) return run_here(argv + 2);
    static const char *const usual[] = {"cpu", "fusion(cpu)", "ref", "opencl:0"};
    device_list list = {.names = usual, .n = sizeof usual / sizeof *usual};
    if (argc > 1) list = (device_list){(const char *const *)argv + 1, argc < 9 ? argc - 1 : 8, true, {0}};
    const char *base = getenv("TMPDIR");
    char folder[256], command[512];
    snprintf(folder, sizeof folder, "%s/kiln_end_to_end_XXXXXX", base ? base : "/tmp");
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    const proof_program *e;
    for (int i = 0; (e = proof_program_at(i)); i++) prove(e, folder, &list);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
