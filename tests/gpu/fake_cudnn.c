/* A stand-in for libcudnn's graphs, linked into the same object as fake_cuda.c. It computes nothing: it checks that
   descriptors are finished before they are used and attributes have their types, that tensors have sizes, steps and an id of their own, and that a plan
   is run with memory for exactly the tensors that are in memory. It has three engines: one that rounds what it multiplies, one that is
   compiled when its plan is made, and one that does neither; engine number n takes 3 - n units of time. The last one has the numerical
   notes whose digits FAKE_CUDNN_NOTES has. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BAD = 2000, UNSUPPORTED = 3000, MOST_VALUES = 64, MOST_ATTRIBUTES = 24 };
enum { ENGINE = 2, CONFIG = 3, HEURISTIC = 4, PLAN = 5, POINTWISE = 13, GRAPH = 15, PACK = 16, TENSOR = 17 };

typedef struct attribute {
    int name, type;
    int64_t count;
    union {
        int64_t whole[MOST_VALUES];
        void *pointers[MOST_VALUES];
        char bytes[MOST_VALUES * 8];
    } u;
} attribute;

typedef struct descriptor {
    int kind, count, uses;
    bool finished, released;
    attribute list[MOST_ATTRIBUTES];
} descriptor;

long fake_cudnn_live(void);
long fake_cudnn_runs(void);
long fake_cudnn_plans(bool all); /* that were made, or are left */
/* Of the graph that ran last: the engine, the attribute of its tensor `id` or, where that is 0, of its convolution; how many numbers.
   And the kinds of its operations, or the modes of those that are pointwise plus 1000. */
long fake_cudnn_engine(void);
long fake_cudnn_attribute(long id, int name, int64_t *values);
long fake_cudnn_operations(int64_t *kinds);
void fake_cuda_pass(int64_t time);
static long alive, runs, plans_made, plans_left;
static descriptor *last_plan;
long fake_cudnn_live(void) { return alive; }
long fake_cudnn_runs(void) { return runs; }
long fake_cudnn_plans(bool all) { return all ? plans_made : plans_left; }

static const attribute *find(const descriptor *d, int name)
{
    for (int i = 0; d && i < d->count; i++)
        if (d->list[i].name == name) return &d->list[i];
    return NULL;
}

size_t cudnnGetVersion(void) { return 92000; }
int cudnnCreate(void **handle)
{
    *handle = malloc(1);
    alive++;
    return getenv("FAKE_CUDNN_BROKEN") ? BAD : 0;
}
int cudnnDestroy(void *handle)
{
    free(handle);
    alive--;
    return 0;
}
int cudnnSetStream(void *handle, void *stream) { return handle && stream ? 0 : BAD; }
int cudnnBackendCreateDescriptor(int kind, void **made)
{
    descriptor *d = calloc(1, sizeof *d);
    d->kind = kind;
    d->uses = 1;
    alive++;
    *made = d;
    return 0;
}

/* As in the library, what others refer to lives on. */
int cudnnBackendDestroyDescriptor(void *given)
{
    descriptor *d = given;
    if (--d->uses) return 0;
    plans_left -= d->kind == PLAN && d->finished;
    if (d == last_plan) last_plan = NULL;
    for (int i = 0; i < d->count; i++)
        for (int64_t k = 0; d->list[i].type == 15 && k < d->list[i].count; k++)
            cudnnBackendDestroyDescriptor(d->list[i].u.pointers[k]);
    free(d);
    alive--;
    return 0;
}

/* The type of an attribute, as cudnn_graph.h has it, or -1. */
static int type_of(int name)
{
    enum {
        HANDLE,
        DTYPE,
        BOOL,
        I64,
        F32,
        POINTER = 6,
        CONVOLUTION,
        MODE,
        POINTWISE_MODE = 14,
        OTHER,
        REDUCTION = 18
    };
    static const struct {
        int name, type;
    } types[] = {{0, POINTWISE_MODE}, {1, DTYPE},        {9, I64},      {100, DTYPE},  {101, CONVOLUTION},
                 {102, I64},          {103, I64},        {104, I64},    {105, I64},    {106, I64},
                 {200, MODE},         {201, OTHER},      {400, HANDLE}, {401, OTHER},  {700, F32},
                 {701, F32},          {702, OTHER},      {703, OTHER},  {704, OTHER},  {705, OTHER},
                 {706, F32},          {707, F32},        {708, OTHER},  {709, OTHER},  {710, OTHER},
                 {711, OTHER},        {712, F32},        {713, F32},    {714, OTHER},  {715, OTHER},
                 {716, OTHER},        {717, OTHER},      {750, OTHER},  {751, OTHER},  {752, OTHER},
                 {753, OTHER},        {754, F32},        {755, F32},    {758, OTHER},  {800, HANDLE},
                 {801, OTHER},        {900, I64},        {901, DTYPE},  {902, I64},    {903, I64},
                 {906, I64},          {907, BOOL},       {908, BOOL},   {1000, I64},   {1001, POINTER},
                 {1003, POINTER},     {1500, DTYPE},     {1520, OTHER}, {1521, OTHER}, {1522, OTHER},
                 {1523, OTHER},       {1600, REDUCTION}, {1601, DTYPE}, {1610, OTHER}, {1611, OTHER},
                 {1612, OTHER},       {2200, OTHER},     {2201, OTHER}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].name == name) return types[i].type;
    return -1;
}

int cudnnBackendSetAttribute(void *given, int name, int type, int64_t count, const void *values)
{
    static const int sizes[] = {8, 4, 1, 8, 4, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 8, 4, 4, 4};
    descriptor *d = given;
    if (type != type_of(name)) return BAD;
    if (d->finished || count < 1 || count > MOST_VALUES || d->count == MOST_ATTRIBUTES || !values ||
        find(d, name))
        return BAD;
    attribute *a = &d->list[d->count++];
    a->name = name;
    a->type = type;
    a->count = count;
    memcpy(a->u.bytes, values, (size_t)count * (size_t)sizes[type]);
    for (int64_t i = 0; type == 15 && i < count; i++) {
        descriptor *other = a->u.pointers[i];
        if (!other || !other->finished) {
            d->count--;
            return BAD;
        }
        other->uses++;
    }
    return 0;
}

static bool is_good_tensor(const descriptor *d)
{
    const attribute *dims = find(d, 902), *steps = find(d, 903), *id = find(d, 906);
    bool good = find(d, 901) && dims && steps && id && find(d, 900) && dims->count == steps->count &&
                dims->count >= 4 && dims->count <= 5;
    for (int i = 0; good && i < dims->count; i++) good = dims->u.whole[i] > 0;
    return good;
}

/* A pointwise operation: modes of two operands, such as CUDNN_POINTWISE_ADD, read b, those of one, such as
   CUDNN_POINTWISE_IDENTITY, do not. */
static bool is_good_pointwise(const descriptor *d)
{
    static const int of_one[] = {13, 15, 21, 100, 501}, of_two[] = {0, 1, 6, 9, 303, 601};
    const attribute *how = find(d, 750);
    const attribute *mode = how ? find(how->u.pointers[0], 0) : NULL;
    int number = -1;
    if (mode) memcpy(&number, mode->u.bytes, sizeof number);
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
        if (of_one[i] == number) return !find(d, 752);
    for (size_t i = 0; i < sizeof of_two / sizeof *of_two; i++)
        if (of_two[i] == number) return find(d, 752) != NULL;
    return false;
}

int cudnnBackendFinalize(void *given)
{
    descriptor *d = given;
    if (d->finished || (d->kind == TENSOR && !is_good_tensor(d))) return BAD;
    if (d->kind == POINTWISE && !is_good_pointwise(d)) return BAD;
    if (d->kind == GRAPH && getenv("FAKE_CUDNN_REFUSES")) return UNSUPPORTED;
    d->finished = true;
    plans_made += d->kind == PLAN;
    plans_left += d->kind == PLAN;
    return 0;
}

/* Tensors of a graph that are in memory; `ids` gets each once. */
static int ids_of(const descriptor *graph, int64_t *ids)
{
    int count = 0;
    const attribute *operations = find(graph, 801);
    for (int64_t i = 0; i < operations->count; i++) {
        const descriptor *operation = operations->u.pointers[i];
        for (int k = 0; k < operation->count; k++) {
            const descriptor *t = operation->list[k].type == 15 ? operation->list[k].u.pointers[0] : NULL;
            if (!t || t->kind != TENSOR || find(t, 907)) continue;
            int64_t id = find(t, 906)->u.whole[0];
            bool known = false;
            for (int n = 0; n < count; n++) known = known || ids[n] == id;
            if (!known) ids[count++] = id;
        }
    }
    return count;
}

/* A configuration remembers its graph, and its engine as how often it was finished. */
enum { ENGINES = 3, WHICH = -1 };
static void refer(descriptor *d, const attribute *to, int64_t engine)
{
    d->finished = true;
    d->list[0] = *to;
    d->list[1] = (attribute){.name = WHICH, .type = 3, .count = 1, .u.whole = {engine}};
    d->count = 2;
    ((descriptor *)to->u.pointers[0])->uses++;
}

static int64_t notes_of(int64_t engine, int *notes)
{
    const char *digits = getenv("FAKE_CUDNN_NOTES");
    int64_t n = 0;
    if (engine == 0) notes[n++] = 0;
    for (; engine == ENGINES - 1 && digits && *digits; digits++) notes[n++] = *digits - '0';
    return n;
}

int cudnnBackendGetAttribute(void *given, int name, int type, int64_t wanted, int64_t *count, void *values)
{
    descriptor *d = given;
    const int late = 0;
    (void)type;
    *count = 1;
    if (name == 402) return memcpy(values, &(int64_t){1000}, 8) ? 0 : BAD;
    if (name == 300) return refer(*(void **)values, &d->list[0], find(d, WHICH)->u.whole[0]), 0;
    if (name == 1303) return *count = notes_of(find(d, WHICH)->u.whole[0], values), 0;
    *count = name == 1305 && find(d, WHICH)->u.whole[0] == 1;
    if (name == 1305) return *count ? memcpy(values, &late, sizeof late), 0 : 0;
    if (name != 202 || wanted < 1) return BAD;
    for (*count = 0; *count < wanted && *count < ENGINES; ++*count)
        refer(((void **)values)[*count], find(d, 201), *count);
    return 0;
}

static const descriptor *last_graph(void)
{
    const descriptor *config = last_plan ? find(last_plan, 401)->u.pointers[0] : NULL;
    return config ? config->list[0].u.pointers[0] : NULL;
}
long fake_cudnn_engine(void)
{
    const descriptor *config = last_plan ? find(last_plan, 401)->u.pointers[0] : NULL;
    return config ? (long)find(config, WHICH)->u.whole[0] : -1;
}

long fake_cudnn_attribute(long id, int name, int64_t *values)
{
    const descriptor *graph = last_graph();
    const attribute *operations = find(graph, 801);
    for (int64_t i = 0; operations && i < operations->count; i++) {
        const descriptor *operation = operations->u.pointers[i];
        for (int k = 0; k < operation->count; k++) {
            const descriptor *t = operation->list[k].type == 15 ? operation->list[k].u.pointers[0] : NULL;
            const attribute *found = find(t, name), *own = find(t, 906);
            if (!found || (id ? !own || own->u.whole[0] != id : t->kind != 1)) continue;
            memset(values, 0, (size_t)found->count * sizeof *values);
            if (found->type == 3)
                memcpy(values, found->u.whole, (size_t)found->count * sizeof *values);
            else
                memcpy(values, found->u.bytes, 4);
            return (long)found->count;
        }
    }
    return 0;
}

long fake_cudnn_operations(int64_t *kinds)
{
    const attribute *operations = find(last_graph(), 801);
    for (int64_t i = 0; operations && i < operations->count; i++) {
        const descriptor *operation = operations->u.pointers[i];
        kinds[i] = operation->kind;
        if (operation->kind != POINTWISE) continue;
        int mode = 0;
        memcpy(&mode, find(find(operation, 750)->u.pointers[0], 0)->u.bytes, sizeof mode);
        kinds[i] = 1000 + mode;
    }
    return operations ? (long)operations->count : 0;
}

int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    int64_t ids[MOST_VALUES];
    const descriptor *config = find(plan, 401)->u.pointers[0], *graph = config->list[0].u.pointers[0];
    const attribute *given = find(pack, 1000), *memory = find(pack, 1001);
    int count = ids_of(graph, ids);
    if (!handle || !((descriptor *)pack)->finished || !given || !memory || !find(pack, 1003)) return BAD;
    if (count != given->count || count != memory->count) return BAD;
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (int64_t k = 0; k < given->count; k++)
            found = found || (given->u.whole[k] == ids[i] && memory->u.pointers[k]);
        if (!found) return BAD;
    }
    runs++;
    last_plan = plan;
    fake_cuda_pass(ENGINES - fake_cudnn_engine());
    return getenv("FAKE_CUDNN_FAILS") ? BAD : 0;
}
