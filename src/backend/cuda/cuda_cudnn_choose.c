/* Chooses plans of cuDNN for a graph: the library's heuristics, best first, without engines that do what the graph's limits forbid. */
#include "backend/cuda/cuda_cudnn.h"

/* Kinds of descriptors, types and names of attributes, of cudnn_graph.h. */
enum {
    KIND_ENGINE = 2,
    KIND_CONFIG = 3,
    KIND_HEURISTIC = 4,
    KIND_PLAN = 5,
    KIND_GRAPH = 15,
    TYPE_HANDLE = 0,
    TYPE_I64 = 3,
    TYPE_HEURISTIC = 8,
    TYPE_NUMERICAL = 11,
    TYPE_DESCRIPTOR = 15,
    TYPE_BEHAVIOUR = 19,
    HEURISTIC_MODE = 200,
    HEURISTIC_GRAPH = 201,
    HEURISTIC_RESULTS = 202,
    CONFIG_ENGINE = 300,
    PLAN_HANDLE = 400,
    PLAN_CONFIG = 401,
    PLAN_WORKSPACE = 402,
    GRAPH_HANDLE = 800,
    GRAPH_OPERATIONS = 801,
    ENGINE_NUMERICAL = 1303,
    ENGINE_BEHAVIOUR = 1305
};

/* Notes of an engine, as bits. */
enum {
    TENSOR_CORES = 1 << 0,
    ROUNDS_OPERANDS = 1 << 1,
    ROUNDS_SUMS = 1 << 2,
    FOURIER = 1 << 3,
    WINOGRAD = 1 << 5,
    WINOGRAD_6 = 1 << 7, /* in tiles of 6 x 6 and 13 x 13 */
    WINOGRAD_13 = 1 << 8,
    COMPILED_LATE = 1 << 0 /* of its behaviour */
};

enum { MOST_CONFIGS = 64 };
static const int64_t most_workspace = INT64_C(1) << 31;

/* The heuristics to ask, best first: a tree of rules, a model that does not know every convolution, and the engines that always do. */
static const int heuristics[] = {3, 1, 2};

static void *make(kni_dnn_graph *g, int kind)
{
    void *d = NULL;
    if (g->n_all == KNI_DNN_MOST || g->api->make(kind, &d)) return NULL;
    return g->all[g->n_all++] = d;
}

/* The notes of an engine; false where the library does not tell. */
static bool notes_of(kni_dnn_graph *g, void *engine, int name, int type, unsigned *bits)
{
    enum { MOST = 32 };
    int notes[MOST];
    int64_t n = 0;
    *bits = 0;
    if (g->api->get(engine, name, type, MOST, &n, notes)) return false;
    for (int64_t i = 0; i < n && i < MOST; i++)
        if (notes[i] >= 0 && notes[i] < MOST) *bits |= 1u << notes[i];
    return true;
}

/* Whether the engine of a configuration does what the graph's limits forbid, or may do so; else whether it transforms images. */
static bool is_forbidden(kni_dnn_graph *g, void *config, bool *transforms)
{
    unsigned numerical, behaviour, no = 0;
    int64_t n = 0;
    *transforms = false;
    if (!g->limits) return false;
    void *engine = make(g, KIND_ENGINE);
    if (!engine || g->api->get(config, CONFIG_ENGINE, TYPE_DESCRIPTOR, 1, &n, &engine)) return true;
    if (!notes_of(g, engine, ENGINE_NUMERICAL, TYPE_NUMERICAL, &numerical)) return true;
    if (!notes_of(g, engine, ENGINE_BEHAVIOUR, TYPE_BEHAVIOUR, &behaviour)) return true;
    if (g->limits & KNI_DNN_EXACT) no |= TENSOR_CORES | ROUNDS_OPERANDS | ROUNDS_SUMS;
    if (g->limits & KNI_DNN_PLAIN) no |= FOURIER | WINOGRAD;
    if (g->limits & KNI_DNN_FINE) no |= FOURIER | WINOGRAD_6 | WINOGRAD_13;
    *transforms = (numerical & (FOURIER | WINOGRAD)) != 0;
    return numerical & no || (g->limits & KNI_DNN_READY && behaviour & COMPILED_LATE);
}

/* The plan of a configuration; false where the engine cannot do it after all, or takes too much memory. */
static bool plan_of(kni_dnn_graph *g, void *config, kni_dnn_choice *choice)
{
    int64_t found = 0;
    choice->plan = NULL;
    if (g->api->make(KIND_PLAN, &choice->plan)) return false;
    int failed = g->api->set(choice->plan, PLAN_HANDLE, TYPE_HANDLE, 1, &g->handle);
    if (!failed) failed = g->api->set(choice->plan, PLAN_CONFIG, TYPE_DESCRIPTOR, 1, &config);
    if (!failed) failed = g->api->finalize(choice->plan);
    if (!failed) failed = g->api->get(choice->plan, PLAN_WORKSPACE, TYPE_I64, 1, &found, &choice->workspace);
    if (!failed && choice->workspace <= most_workspace) return true;
    (void)g->api->release(choice->plan);
    return false;
}

/* The configurations that one heuristic names. */
static int configs_by(kni_dnn_graph *g, void *graph, int mode, void **configs)
{
    int64_t found = 0;
    int made = 0;
    void *heuristic = make(g, KIND_HEURISTIC);
    if (!heuristic || g->api->set(heuristic, HEURISTIC_GRAPH, TYPE_DESCRIPTOR, 1, &graph) ||
        g->api->set(heuristic, HEURISTIC_MODE, TYPE_HEURISTIC, 1, &mode) || g->api->finalize(heuristic))
        return 0;
    while (made < MOST_CONFIGS && (configs[made] = make(g, KIND_CONFIG))) made++;
    if (g->api->get(heuristic, HEURISTIC_RESULTS, TYPE_DESCRIPTOR, made, &found, configs)) return 0;
    return found < made ? (int)found : made;
}

static void release_from(kni_dnn_graph *g, int first)
{
    while (g->n_all > first) (void)g->api->release(g->all[--g->n_all]);
}

static bool make_graph(kni_dnn_graph *g, void **graph)
{
    *graph = g->failed ? NULL : make(g, KIND_GRAPH);
    return *graph &&
           !g->api->set(*graph, GRAPH_OPERATIONS, TYPE_DESCRIPTOR, g->n_operations, g->operations) &&
           !g->api->set(*graph, GRAPH_HANDLE, TYPE_HANDLE, 1, &g->handle) && !g->api->finalize(*graph);
}

int kni_dnn_plan(kni_dnn_graph *g, kni_dnn_choice *choices, int wanted)
{
    void *graph, *configs[MOST_CONFIGS];
    int made = 0;
    bool good = make_graph(g, &graph);
    for (int k = 0; k < KNI_COUNT(heuristics) && good && made < wanted; k++) {
        const int before = g->n_all, n = configs_by(g, graph, heuristics[k], configs);
        for (int i = 0; i < n && made < wanted; i++)
            if (!is_forbidden(g, configs[i], &choices[made].transforms) &&
                plan_of(g, configs[i], &choices[made]))
                made++;
        release_from(g, before);
    }
    release_from(g, 0);
    return made;
}
