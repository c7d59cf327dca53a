/* kn_program_to_source: the printed C is compiled against the library as a user would, run in a process of its own with the inputs of
   the proof programs at several sizes, and compared with layers and ops that run at once. */
#define _DEFAULT_SOURCE
#include "support/check.h"
#include "support/proof_programs.h"
#include "support/written_source.h"
#include <kn/store.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_COUNT = 1 << 16 };

static void compare(const char *what, kn_tensor got, kn_tensor want, int run, int port)
{
    static double a[MAX_COUNT], b[MAX_COUNT];
    int64_t n = kn_count(want);
    double largest = 0, worst = 0, tolerance = 0;
    bool good = kn_ok(got) && kn_dtype_of(got) == kn_dtype_of(want) && kn_count(got) == n && n <= MAX_COUNT;
    good = good && kn_read_as(got, KN_F64, a, (size_t)n * sizeof *a) == KN_OK;
    good = good && kn_read_as(want, KN_F64, b, (size_t)n * sizeof *b) == KN_OK;
    if (kn_dtype_is_float(kn_dtype_of(want)))
        tolerance = kn_dtype_of(want) == KN_F32 ? 2e-5 : 4 * kn_dtype_limits(kn_dtype_of(want)).eps;
    for (int64_t i = 0; i < n && good; i++) {
        largest = fmax(largest, fabs(b[i]));
        worst = fmax(worst, isfinite(a[i]) ? fabs(a[i] - b[i]) : INFINITY);
    }
    if (!CHECK(good && worst <= tolerance * largest))
        printf("  %s, run %d, output %d: %g off, values up to %g\n", what, run, port, worst, largest);
}

/* Inputs of all runs into a file, and what ops that run at once make of them. */
static bool write_inputs(const proof_program *e, const proof_net *net, kn_program built, kn_state expected,
                         const char *path)
{
    kn_state inputs = kn_state_make();
    bool good = inputs != NULL;
    char name[32];
    for (int run = 0; run < e->n_runs && good; run++) {
        kn_tensor in[PROOF_INPUTS], out[PROOF_OUTPUTS];
        for (int i = 0; i < kn_program_inputs(built) && good; i++) {
            snprintf(name, sizeof name, "x%d_%d", run, i);
            in[i] = proof_input(built, i, &e->runs[run]);
            good = kn_state_put(inputs, "", name, in[i]) == KN_OK;
        }
        good = good && e->eager(net, in, out) == KN_OK;
        for (int i = 0; i < e->n_out && good; i++) {
            snprintf(name, sizeof name, "y%d_%d", run, i);
            good = kn_state_put(expected, "", name, out[i]) == KN_OK;
        }
    }
    good = good && kn_state_write(inputs, path, KN_STORE_SAFETENSORS) == KN_OK;
    kn_state_free(inputs);
    return good;
}

static void prove(const proof_program *e, const char *folder, const char *build, bool simplified)
{
    char path[PATH + 40], inputs[PATH + 40], outputs[PATH + 40], program[PATH + 40], weights[PATH + 40],
        name[32];
    proof_net net;
    kn_scope scope = kn_scope_begin();
    kn_state expected = kn_state_make(), results = kn_state_make();
    CHECK(proof_init(e, &net) == KN_OK);
    kn_program p = e->build(&net, e->dtype);
    if (simplified) CHECK(kn_program_simplify(p, KN_PASS_ALL) == KN_OK);
    snprintf(inputs, sizeof inputs, "%s/in.safetensors", folder);
    snprintf(outputs, sizeof outputs, "%s/out.safetensors", folder);
    snprintf(program, sizeof program, "%s/net", folder);
    snprintf(weights, sizeof weights, "%s/net.safetensors", folder);
    snprintf(path, sizeof path, "%s/main.c", folder);
    bool good = write_inputs(e, &net, p, expected, inputs) &&
                source_main(path, kn_program_inputs(p), e->n_out, "cpu");
    good = good && kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "net"}) == KN_OK;
    if (!CHECK(good)) printf("  %s: %s\n", e->name, kn_last_error());
    snprintf(path, sizeof path, "grep -q '&m->blocks\\[i\\]' %s/net.c", folder);
    if (!strcmp(e->name, "layers")) CHECK(system(path) == 0);
    char *arguments[] = {program, weights, inputs, outputs, NULL};
    if (good && CHECK(source_compile(folder, build)) && CHECK(source_command(arguments) == 0) &&
        CHECK(kn_state_read(results, outputs) == KN_OK))
        for (int run = 0; run < e->n_runs; run++)
            for (int i = 0; i < e->n_out; i++) {
                snprintf(name, sizeof name, "y%d_%d", run, i);
                compare(e->name, kn_state_get(results, "", name), kn_state_get(expected, "", name), run, i);
            }
    kn_state_free(expected);
    kn_state_free(results);
    kn_program_free(p);
    kn_module_drop(KN_MODULE_OF(proof_net, &net));
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    char folder[PATH], build[PATH], command[PATH + 10];
    const char *base = getenv("TMPDIR");
    if (UNDER_SANITIZER) {
        check_skip("programs against a library with sanitizers");
        return check_report();
    }
    if (!source_library(build, sizeof build)) {
        check_skip("no shared library beside the tests");
        return check_report();
    }
    snprintf(folder, sizeof folder, "%s/kiln_source_XXXXXX", base ? base : "/tmp");
    if (!CHECK(mkdtemp(folder) != NULL)) return check_report();
    const proof_program *e;
    for (int i = 0; (e = proof_program_at(i)); i++)
        for (int simplified = 0; simplified < 2; simplified++) prove(e, folder, build, simplified);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (!getenv("KN_KEEP")) CHECK(system(command) == 0);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
