/* Random programs over the op table, run on two devices with gradients and updates, in rounds with other values and numbers
   each: on the CPU results must agree bit for bit, on a device that rounds differently within bounds made for each program
   (program_bounds.h).
   Usage: fusion_programs [--device SPEC] [--first N] [--count N] [--jobs N] [--seconds N] [--rounds N] [--taped]
                          [--bounds] [--self-test] [--replays]
   --seconds begins no program after that time and tells how many there were; --taped leaves out the runs without a tape,
   whose results are among those of the runs with gradients, but whose kernels are others;
   --bounds compares a CPU stack by bounds too; --self-test compares a CPU with one wrong kernel in each program; --replays
   compares a device of paper that records plans with one that runs them step by step. Without any option short runs of these
   two come first. */
#define _DEFAULT_SOURCE
#include "program_noise.h"
#include "program_run.h"
#include "support/paper_device.h"
#include <kn/program.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    FEW_RUNS = 6,
    MANY_RUNS = 192,
    SPOILT_RUNS = 24,
    SPOILT_TRIES = 4,
    MOST_JOBS = 64,
    MOST_WRONG = 5,
    FEW_STEPS = 16
};

typedef struct options {
    const char *device;
    uint64_t first;
    int count, jobs, seconds, rounds;
    bool bounds, self_test, taped, replays;
    bool compiles; /* kernels, each of which takes longer than all runs: most programs are short */
} options;

/* What one process found. */
typedef struct findings {
    int64_t passed, failed;
    tally bounds;
    int64_t visible[SPOIL_KINDS], noticed[SPOIL_KINDS];
    int64_t programs, drawn[WHATS], params; /* steps by kind; params in all */
    kn_fusion_stats fusion;
} findings;

typedef struct devices {
    kn_device cpu, plain[2], tested[2]; /* without and with a tape */
    kn_device exact[2];                 /* noise over the reference, which computes in f64 and rounds once */
} devices;

/* ---- comparing one */

static int bits_of_program(const program *p, const devices *d, const options *o)
{
    static result a, b;
    int wrong = 0;
    for (int gradients = o->taped; gradients < 2; gradients++) {
        run_program(p, d->plain[gradients], (how){gradients, !o->replays, o->rounds}, &a);
        run_program(p, d->tested[gradients], (how){gradients, false, o->rounds}, &b);
        wrong += compare_bits(p, &a, &b, gradients ? "gradients" : "values");
        free_result(&a);
        free_result(&b);
    }
    return wrong;
}

/* The reference shows how far off the CPU itself is where errors are all that is left of a value; every sixth run is
   its, the first one without noise. */
static void add_noise(const program *p, const devices *d, how h, spread *s, int runs)
{
    static result r;
    while (s->runs < runs) {
        bool exact = s->runs % 6 == 0;
        noise = (noise_settings){.seed = (uint64_t)s->runs, .together = s->runs % 3 == 2};
        run_program(p, exact ? d->exact[h.gradients] : d->plain[h.gradients], h, &r);
        noise.seed = 0;
        spread_add(s, &r);
        free_result(&r);
    }
}

/* Compares with as many runs under noise as it takes, at most so many; tells differences where `which` is not NULL. */
static int compare_widening(const program *p, const devices *d, how h, spread *s, const result *r, int most,
                            const char *which)
{
    if (!compare_bits(p, s->base, r, NULL)) return 0;
    add_noise(p, d, h, s, FEW_RUNS);
    while (s->runs < most && compare_bounds(p, s, r, NULL)) add_noise(p, d, h, s, 2 * s->runs);
    return compare_bounds(p, s, r, which);
}

/* Values without a tape are among those of the run with gradients, in other kernels: every fourth program shows these. */
static int bounds_of_program(const program *p, const devices *d, const options *o, tally *t)
{
    static result base, r;
    spread s;
    int wrong = 0;
    bool without = !o->taped && p->seed / 2 % 4 == 1;
    for (int gradients = !without; gradients < 2; gradients++) {
        how h = {gradients, true, o->rounds};
        run_program(p, d->plain[gradients], h, &base);
        spread_begin(&s, &base);
        run_program(p, d->tested[gradients], (how){gradients, false, o->rounds}, &r);
        wrong += compare_widening(p, d, h, &s, &r, MANY_RUNS, gradients ? "gradients" : "values");
        count_bounds(&s, &r, t);
        t->same_programs += gradients && s.runs == 0;
        spread_end(&s);
        free_result(&r);
        free_result(&base);
    }
    t->programs++;
    return wrong;
}

/* One of the program's kernels is wrong: is it seen, and is it noticed? */
static void spoil_program(const program *p, const devices *d, findings *f)
{
    static result base, r;
    spread s;
    const how once = {true, true, 1};
    spoil = (spoil_settings){(spoil_kind)(p->seed / 2 % SPOIL_KINDS), -1, 0};
    run_program(p, d->tested[1], once, &base);
    int64_t records = spoil.seen;
    spread_begin(&s, &base);
    bool visible = false;
    state = p->seed;
    for (int tries = 0; tries < SPOILT_TRIES && records && !visible; tries++) {
        spoil.at = (int64_t)(draw() % (uint64_t)records);
        spoil.seen = 0;
        uint64_t here = state;
        run_program(p, d->tested[1], once, &r);
        visible = compare_bits(p, &base, &r, NULL) != 0;
        f->visible[spoil.kind] += visible;
        f->noticed[spoil.kind] += visible && compare_widening(p, d, once, &s, &r, SPOILT_RUNS, NULL);
        free_result(&r);
        state = here;
    }
    spread_end(&s);
    free_result(&base);
}

/* ---- a process's share */

/* A device of paper that runs each plan step by step, and one that records: what they leave tells texts, numbers and
   operands of all kernels apart. */
static bool open_paper(devices *d)
{
    paper_do = (paper_orders){.room = INT64_C(1) << 32, .fault = -1, .fills = true};
    paper_register();
    d->cpu = kn_device_open("cpu");
    d->plain[0] = kn_device_open("fusion(paper:0)");
    d->plain[1] = kn_device_open("autodiff(fusion(paper:0))");
    paper_do.records = true;
    d->tested[0] = kn_device_open("fusion(paper:1)");
    d->tested[1] = kn_device_open("autodiff(fusion(paper:1))");
    return d->cpu && d->plain[0] && d->plain[1] && d->tested[0] && d->tested[1];
}

static bool open_devices(const options *o, devices *d)
{
    char text[160];
    if (o->replays) return open_paper(d);
    bool noisy = o->bounds || o->self_test;
    const char *plain = noisy ? "noise(cpu)" : "cpu", *tested = o->self_test ? "spoil(cpu)" : o->device;
    d->cpu = kn_device_open("cpu");
    d->plain[0] = kn_device_open(plain);
    d->tested[0] = kn_device_open(tested);
    d->exact[0] = noisy ? kn_device_open("noise(ref)") : d->cpu;
    d->exact[1] = noisy ? kn_device_open("autodiff(noise(ref))") : d->cpu;
    snprintf(text, sizeof text, "autodiff(%s)", plain);
    d->plain[1] = kn_device_open(text);
    snprintf(text, sizeof text, "autodiff(%s)", tested);
    d->tested[1] = kn_device_open(text);
    return d->cpu && d->exact[0] && d->exact[1] && d->plain[0] && d->plain[1] && d->tested[0] && d->tested[1];
}

static void run_share(const options *o, int job, findings *f)
{
    static program p;
    devices d;
    CHECK(kn_backend_register("noise", noise_open) == KN_OK &&
          kn_backend_register("spoil", spoil_open) == KN_OK);
    if (!CHECK(open_devices(o, &d))) printf("%s: %s\n", o->device, kn_last_error());
    list_rows();
    define_bodies();
    time_t begun = time(NULL);
    pid_t parent = getppid();
    for (int i = job; i < o->count && check_failed <= MOST_WRONG && d.tested[1]; i += o->jobs) {
        int wrong = 0;
        if (getppid() != parent || (o->seconds && time(NULL) - begun >= o->seconds)) break;
        uint64_t number = o->first + (uint64_t)i;
        make_program(&p, number * 2 + 1, o->compiles && number % 4 ? FEW_STEPS : MOST, d.cpu);
        /* Recordings of earlier programs would keep the cells for faults, which are few. */
        if (o->bounds || o->replays) kn_memory_trim();
        f->programs++;
        f->params += p.n_params;
        for (int k = 0; k < p.n_steps; k++) f->drawn[p.steps[k].what]++;
        if (o->self_test)
            spoil_program(&p, &d, f);
        else
            wrong = o->bounds ? bounds_of_program(&p, &d, o, &f->bounds) : bits_of_program(&p, &d, o);
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

/* A generator that never draws a kind, as its shapes never suit, would show nothing of it. */
static void tell_drawn(const findings *f)
{
    printf("%lld programs with %lld params:", (long long)f->programs, (long long)f->params);
    for (int i = 0; i < WHATS; i++) {
        printf("%s %lld %s", i ? "," : "", (long long)f->drawn[i],
               i == ROW2   ? "row of 2"
               : i == ROW3 ? "row of 3"
                           : kinds[i].name);
        CHECK(f->programs < 400 || f->drawn[i] > 0);
    }
    printf("\n");
}

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

/* In percent, a little under what 3,000 programs gave: 89, 94 and 96. An error passes where noise moves the outputs that it
   reaches as far: behind sums whose terms cancel, or in 16 bits, a step of which is near 1 % and is allowed four times. */
static const int least_noticed[SPOIL_KINDS] = {[SPOIL_PERCENT] = 85, [SPOIL_LAST] = 90, [SPOIL_SHIFTED] = 92};

static void tell_spoilt(const findings *f)
{
    for (int i = 0; i < SPOIL_KINDS; i++) {
        printf("a wrong kernel, %s: %lld programs show it, %lld are noticed\n", spoil_names[i],
               (long long)f->visible[i], (long long)f->noticed[i]);
        CHECK(f->visible[i] > 0 && f->noticed[i] * 100 >= f->visible[i] * least_noticed[i]);
    }
}

static bool read_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--bounds"))
            o->bounds = true;
        else if (!strcmp(argv[i], "--self-test"))
            o->self_test = true;
        else if (!strcmp(argv[i], "--replays"))
            o->replays = true;
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
        else if (!strcmp(argv[i], "--rounds"))
            o->rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seconds"))
            o->seconds = atoi(argv[++i]);
        else
            return false;
    }
    o->compiles = strchr(o->device, ':') != NULL; /* a device with a number */
    o->bounds |= o->compiles;
    return o->count >= 0 && o->jobs >= 1 && o->jobs <= MOST_JOBS && o->rounds >= 1 &&
           o->rounds <= MOST_ROUNDS && strlen(o->device) < 100;
}

/* What a run without options begins with: wrong kernels are noticed, and replays give what single steps give. */
static void run_shown(const options *o)
{
    options spoilt = {
        .device = o->device, .first = 1, .count = 400, .jobs = 1, .rounds = 1, .self_test = true};
    options replays = {.device = o->device,
                       .first = 1,
                       .count = 30,
                       .jobs = 1,
                       .rounds = MOST_ROUNDS,
                       .replays = true,
                       .taped = true};
    findings noticed = {0}, replayed = {0};
    run_jobs(&spoilt, &noticed);
    tell_spoilt(&noticed);
    run_jobs(&replays, &replayed);
    CHECK(replayed.fusion.plans_replayed > 50);
}

int main(int argc, char **argv)
{
    options o = {.device = "fusion(cpu)", .first = 1, .count = 500, .jobs = 1, .rounds = ROUNDS};
    findings all = {0};
    if (!read_options(argc, argv, &o)) {
        fprintf(
            stderr,
            "usage: fusion_programs [--device SPEC] [--first N] [--count N] [--jobs 1 to %d] [--seconds N] "
            "[--rounds 1 to %d] [--taped] [--bounds] [--self-test] [--replays]\n",
            (int)MOST_JOBS, (int)MOST_ROUNDS);
        return 2;
    }
    if (argc == 1 && UNDER_SANITIZER && !check_whole()) o.count = 200;
    if (argc == 1) run_shown(&o);
    if (o.jobs > 1)
        run_jobs(&o, &all);
    else
        run_share(&o, 0, &all);
    if (all.fusion.records)
        printf("%lld records in %lld submissions, %lld groups, %lld single, %lld refused, "
               "%lld replayed\n",
               (long long)all.fusion.records, (long long)all.fusion.submissions,
               (long long)all.fusion.groups_run, (long long)all.fusion.singles_run,
               (long long)all.fusion.refused, (long long)all.fusion.plans_replayed);
    tell_drawn(&all);
    if (o.bounds) tell_bounds(&all.bounds);
    if (o.self_test) tell_spoilt(&all);
    return check_report();
}
