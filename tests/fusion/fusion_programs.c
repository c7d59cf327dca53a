/* Random programs over the op table, run on two devices with gradients: on the CPU results must agree bit for bit, on a
   device that rounds differently within bounds made for each program (program_bounds.h).
   Usage: fusion_programs [--device SPEC] [--first N] [--count N] [--jobs N] [--seconds N] [--taped] [--bounds]
                          [--self-test]
   --seconds begins no program after that time and tells how many there were; --taped leaves out the run without a tape,
   whose results are among those of the run with gradients, but whose kernels are others;
   --bounds compares a CPU stack by bounds too; --self-test compares a CPU with one wrong kernel in each program. Without
   any option a short self-test comes first. */
#define _DEFAULT_SOURCE
#include "program_bounds.h"
#include "program_noise.h"
#include <kn/program.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FEW_RUNS = 6, MANY_RUNS = 192, SPOILT_RUNS = 24, MOST_JOBS = 64, MOST_WRONG = 5 };

typedef struct options {
    const char *device;
    uint64_t first;
    int count, jobs, seconds;
    bool bounds, self_test, taped;
} options;

/* What one process found. */
typedef struct findings {
    int64_t passed, failed;
    tally bounds;
    int64_t visible[SPOIL_KINDS], noticed[SPOIL_KINDS];
    kn_fusion_stats fusion;
} findings;

typedef struct devices {
    kn_device cpu, plain[2], tested[2]; /* without and with a tape */
    kn_device exact;                    /* noise over the reference, which computes in f64 and rounds once */
} devices;

/* ---- running one */

/* The sum of all float outputs that depend on a leaf, as one number to differentiate. */
static kn_tensor total_of(const program *p, const values *v)
{
    kn_tensor total = KN_NONE;
    for (int i = 0; i < p->n_steps; i++) {
        kn_tensor y = v->t[p->n_leaves + i];
        if (!p->steps[i].output || !kn_dtype_is_float(kn_dtype_of(y)) || !kn_is_require_grad(y)) continue;
        kn_tensor part = kn_mean(kn_cast(y, KN_F32), KN_AXES_ALL, false);
        total = total.bits ? kn_add(total, part) : part;
    }
    return total;
}

static void run_program(const program *p, kn_device device, bool gradients, bool keep_all, result *r)
{
    r->n = 0;
    kn_device_use(device);
    kn_seed(device, p->seed);
    kn_scope scope = kn_scope_begin();
    values v = {.n = 0};
    for (int i = 0; i < p->n_leaves; i++) {
        kn_tensor x = kn_keep(leaf(p, i));
        v.t[v.n++] = gradients && kn_dtype_is_float(p->dtypes[i]) ? kn_require_grad(x) : x;
    }
    for (int i = 0; i < p->n_steps; i++) {
        const step *s = &p->steps[i];
        kn_tensor y = run_step(s, v.t[s->in[0]], v.t[s->in[1]], v.t[s->in[2]]);
        if (s->keep || keep_all) y = kn_keep(y);
        v.t[v.n++] = y;
        if (s->read && (s->keep || keep_all) && kn_count(y) > 0) {
            unsigned char *scratch = malloc((size_t)kn_dtype_bytes(kn_dtype_of(y), kn_count(y)));
            (void)!kn_read(y, scratch, (size_t)kn_dtype_bytes(kn_dtype_of(y), kn_count(y)));
            free(scratch);
        }
    }
    kn_tensor total = gradients ? total_of(p, &v) : KN_NONE;
    kn_grads grads = NULL;
    if (total.bits) {
        total = kn_keep(total);
        if (kn_backward(total, &grads) != KN_OK) grads = NULL;
    }
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].output) note(r, v.t[p->n_leaves + i]);
    for (int i = 0; i < p->n_leaves && grads; i++) note(r, kn_grads_get(grads, v.t[i]));
    if (grads) kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
}

/* ---- comparing one */

static int bits_of_program(const program *p, const devices *d)
{
    static result a, b;
    int wrong = 0;
    for (int gradients = 0; gradients < 2; gradients++) {
        run_program(p, d->plain[gradients], gradients, true, &a);
        for (int again = 0; again < 2; again++) {
            run_program(p, d->tested[gradients], gradients, false, &b);
            wrong += a.n != b.n;
            wrong += compare_bits(p, &a, &b, gradients ? "gradients" : again ? "again" : "values");
            free_result(&b);
        }
        free_result(&a);
    }
    return wrong;
}

/* The reference shows how far off the CPU itself is where errors are all that is left of a value; every sixth run is
   its, the first one without noise. */
static void add_noise(const program *p, const devices *d, spread *s, int runs)
{
    static result r;
    while (s->runs < runs) {
        bool exact = s->runs % 6 == 0;
        noise = (noise_settings){.seed = (uint64_t)s->runs, .together = s->runs % 3 == 2};
        run_program(p, exact ? d->exact : d->plain[1], true, true, &r);
        noise.seed = 0;
        spread_add(s, &r);
        free_result(&r);
    }
}

/* Compares with as many runs under noise as it takes, at most so many; tells differences where `which` is not NULL. */
static int compare_widening(const program *p, const devices *d, spread *s, const result *r, int most,
                            const char *which)
{
    if (!compare_bits(p, s->base, r, NULL)) return 0;
    add_noise(p, d, s, FEW_RUNS);
    while (s->runs < most && compare_bounds(p, s, r, NULL)) add_noise(p, d, s, 2 * s->runs);
    return compare_bounds(p, s, r, which);
}

static int bounds_of_program(const program *p, const devices *d, bool taped, tally *t)
{
    static result base, r;
    spread s;
    int wrong = 0;
    run_program(p, d->plain[1], true, true, &base);
    spread_begin(&s, &base);
    for (int gradients = taped; gradients < 2; gradients++)
        for (int again = 0; again < 2; again++) {
            run_program(p, d->tested[gradients], gradients, false, &r);
            wrong += gradients && base.n != r.n;
            wrong += compare_widening(p, d, &s, &r, MANY_RUNS,
                                      gradients ? "gradients"
                                      : again   ? "again"
                                                : "values");
            if (gradients && again) count_bounds(&s, &r, t);
            free_result(&r);
        }
    t->programs++;
    t->same_programs += s.runs == 0;
    spread_end(&s);
    free_result(&base);
    return wrong;
}

/* One of the program's kernels is wrong: is it seen, and is it noticed? */
static void spoil_program(const program *p, const devices *d, findings *f)
{
    static result base, r;
    spread s;
    spoil = (spoil_settings){(spoil_kind)(p->seed / 2 % SPOIL_KINDS), -1, 0};
    run_program(p, d->tested[1], true, true, &base);
    int64_t records = spoil.seen;
    spread_begin(&s, &base);
    if (records) {
        state = p->seed;
        spoil.at = (int64_t)(draw() % (uint64_t)records);
        spoil.seen = 0;
        run_program(p, d->tested[1], true, true, &r);
        bool visible = compare_bits(p, &base, &r, NULL) != 0;
        f->visible[spoil.kind] += visible;
        f->noticed[spoil.kind] += visible && compare_widening(p, d, &s, &r, SPOILT_RUNS, NULL);
        free_result(&r);
    }
    spread_end(&s);
    free_result(&base);
}

/* ---- a process's share */

static bool open_devices(const options *o, devices *d)
{
    char text[160];
    bool noisy = o->bounds || o->self_test;
    const char *plain = noisy ? "noise(cpu)" : "cpu", *tested = o->self_test ? "spoil(cpu)" : o->device;
    d->cpu = kn_device_open("cpu");
    d->plain[0] = kn_device_open(plain);
    d->tested[0] = kn_device_open(tested);
    d->exact = noisy ? kn_device_open("autodiff(noise(ref))") : d->cpu;
    snprintf(text, sizeof text, "autodiff(%s)", plain);
    d->plain[1] = kn_device_open(text);
    snprintf(text, sizeof text, "autodiff(%s)", tested);
    d->tested[1] = kn_device_open(text);
    return d->cpu && d->exact && d->plain[0] && d->plain[1] && d->tested[0] && d->tested[1];
}

static void run_share(const options *o, int job, findings *f)
{
    static program p;
    devices d;
    CHECK(kn_backend_register("noise", noise_open) == KN_OK &&
          kn_backend_register("spoil", spoil_open) == KN_OK);
    if (!CHECK(open_devices(o, &d))) printf("%s: %s\n", o->device, kn_last_error());
    list_rows();
    time_t begun = time(NULL);
    pid_t parent = getppid();
    for (int i = job; i < o->count && check_failed <= MOST_WRONG && d.tested[1]; i += o->jobs) {
        int wrong = 0;
        if (getppid() != parent || (o->seconds && time(NULL) - begun >= o->seconds)) break;
        make_program(&p, (o->first + (uint64_t)i) * 2 + 1, d.cpu);
        if (o->self_test)
            spoil_program(&p, &d, f);
        else
            wrong = o->bounds ? bounds_of_program(&p, &d, o->taped, &f->bounds) : bits_of_program(&p, &d);
        if (wrong) print_program(&p);
        CHECK(!wrong);
    }
    (void)!kn_fusion_stats_of(d.tested[1], &f->fusion);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    f->passed = check_passed;
    f->failed = check_failed;
}

static void add_findings(findings *to, const findings *from)
{
    int64_t *a = (int64_t *)to;
    const int64_t *b = (const int64_t *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *a; i++) a[i] += b[i];
}

/* One process for each job; devices are opened in them, since none survives a fork. */
static void run_jobs(const options *o, findings *all)
{
    int ends[MOST_JOBS][2];
    fflush(stdout);
    pid_t children[MOST_JOBS];
    for (int job = 0; job < o->jobs; job++) {
        children[job] = pipe(ends[job]) ? -1 : fork();
        if (children[job]) continue;
        findings own = {0};
        run_share(o, job, &own);
        fflush(stdout);
        _exit(write(ends[job][1], &own, sizeof own) != (ssize_t)sizeof own);
    }
    for (int job = 0; job < o->jobs; job++) {
        findings own = {0};
        if (children[job] < 0) {
            CHECK(!"a process could not be started");
            continue;
        }
        close(ends[job][1]);
        int status = 0;
        bool whole = read(ends[job][0], &own, sizeof own) == (ssize_t)sizeof own;
        waitpid(children[job], &status, 0);
        close(ends[job][0]);
        if (!CHECK(whole && status == 0)) printf("job %d of %d ended with status %d\n", job, o->jobs, status);
        add_findings(all, &own);
        check_passed += (int)own.passed;
        check_failed += (int)own.failed;
    }
}

/* ---- telling */

static double percent(int64_t part, int64_t whole) { return whole ? 100 * (double)part / (double)whole : 0; }

static void tell_bounds(const tally *t)
{
    printf("%lld programs, %lld equal bit for bit; of %lld elements %.2f %% are equal, %.2f %% in bounds "
           "within %g %%, "
           "%.2f %% in wider ones, %.2f %% in none\n",
           (long long)t->programs, (long long)t->same_programs, (long long)t->elements,
           percent(t->equal, t->elements), percent(t->narrow, t->elements), 100 * narrow_bound,
           percent(t->wide, t->elements), percent(t->open, t->elements));
    /* Were most bounds wide, the comparison would show little. */
    CHECK(t->programs < 50 || percent(t->wide + t->open, t->elements) < 5);
}

static void tell_spoilt(const findings *f)
{
    int64_t visible = 0, noticed = 0;
    for (int i = 0; i < SPOIL_KINDS; i++) {
        printf("a wrong kernel, %s: %lld programs show it, %lld are noticed\n", spoil_names[i],
               (long long)f->visible[i], (long long)f->noticed[i]);
        visible += f->visible[i];
        noticed += f->noticed[i];
    }
    CHECK(visible > 0 && noticed * 10 >= visible * 9);
}

static bool read_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--bounds"))
            o->bounds = true;
        else if (!strcmp(argv[i], "--self-test"))
            o->self_test = true;
        else if (!strcmp(argv[i], "--taped"))
            o->taped = true;
        else if (!value)
            return false;
        else if (!strcmp(argv[i], "--device"))
            o->device = argv[++i];
        else if (!strcmp(argv[i], "--first"))
            o->first = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--count"))
            o->count = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--jobs"))
            o->jobs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seconds"))
            o->seconds = atoi(argv[++i]);
        else
            return false;
    }
    if (strstr(o->device, "cuda") || strstr(o->device, "opencl")) o->bounds = true;
    return o->count >= 0 && o->jobs >= 1 && o->jobs <= MOST_JOBS && strlen(o->device) < 100;
}

int main(int argc, char **argv)
{
    options o = {.device = "fusion(cpu)", .first = 1, .count = 500, .jobs = 1};
    findings all = {0};
    if (!read_options(argc, argv, &o)) {
        fprintf(
            stderr,
            "usage: fusion_programs [--device SPEC] [--first N] [--count N] [--jobs 1 to %d] [--seconds N] "
            "[--taped] [--bounds] [--self-test]\n",
            (int)MOST_JOBS);
        return 2;
    }
    if (argc == 1) {
        options shown = {.device = o.device, .first = 1, .count = 150, .jobs = 1, .self_test = true};
        findings own = {0};
        run_jobs(&shown, &own);
        tell_spoilt(&own);
    }
    if (o.jobs > 1)
        run_jobs(&o, &all);
    else
        run_share(&o, 0, &all);
    if (all.fusion.records)
        printf("%lld records in %lld submissions, %lld groups, %lld single, %lld refused\n",
               (long long)all.fusion.records, (long long)all.fusion.submissions,
               (long long)all.fusion.groups_run, (long long)all.fusion.singles_run,
               (long long)all.fusion.refused);
    if (o.bounds) tell_bounds(&all.bounds);
    if (o.self_test) tell_spoilt(&all);
    return check_report();
}
