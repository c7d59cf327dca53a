/* Compiled programs of strips: which texts are compiled or being compiled, and running them. */
#include "backend/jit/group_jit.h"
#include "backend/jit/jit_cc.h"
#include "backend/jit/strip_ir.h"
#include "core/allocator.h"
#include "core/life.h"
#include "core/platform.h"
#include "core/thread_pool.h"
#include <stdatomic.h>
#include <string.h>

enum {
    BLOCK = 1 << 14,    /* elements of a row that one item takes */
    STAGED = 1 << 8,    /* the same where results go past the caches */
    STAGE = 1 << 15,    /* bytes of such results that lie in the first-level cache first */
    TASK = 1 << 16,     /* elements of a task of the team, at least */
    AHEAD = 1 << 11,    /* bytes of an input that are asked for before they are read */
    SMALLEST = 1 << 12, /* elements below which compiling does not pay */
    SHORTEST_ROW = 8,   /* below which strips, which cross the ends of rows, are better */
    COMPILERS = 2       /* that run at once */
};

static const char ENTRY[] = "kn_strips"; /* of every text */

/* One text. */
typedef struct compiled {
    struct compiled *next;
    char *text;
    size_t length;
    kni_jit *jit; /* NULL: not started yet */
    _Atomic(kni_jit_fn) function;
    bool failed;
    int32_t users;
} compiled;

static kni_mutex lock = KNI_MUTEX_INIT;
static compiled *texts;
static int compilers;
static _Atomic int64_t runs;

struct kni_group_jit {
    compiled *code;
    int64_t n, items, per_task;
    int64_t row, block, blocks; /* elements of a row and of an item, and the items of a row */
    uint64_t
        past_caches; /* bits: results that are larger than the caches, and nobody reads them again here */
    int16_t reused[KNI_GROUP_RESULTS];       /* the input whose memory a result may have, -1 */
    uint8_t result_bytes[KNI_GROUP_RESULTS]; /* of an element */
    uint8_t input_bytes[KNI_GROUP_INPUTS];   /* the same; 0: not in the order of the elements */
    _Atomic int32_t asked;                   /* runs before it was there */
    int32_t n_inputs, n_results, n_numbers;
    uint32_t param_bytes;
    _Alignas(8) uint8_t params[KNI_IR_MAX_PARAMS * 8];
    kni_strip_number numbers[KNI_IR_MAX_PARAMS]; /* those that differ from run to run */
};

int64_t kni_group_jit_runs(void) { return atomic_load_explicit(&runs, memory_order_relaxed); }

/* ---- texts */

/* What the parent compiled stays loaded for its own devices; the child's compile theirs, or find them on disk. */
static void forked(void)
{
    static compiled *left_to_parent;
    kni_renew(&lock);
    left_to_parent = texts;
    texts = NULL;
    compilers = 0;
    (void)left_to_parent;
}

static const kni_ir_caps caps = {.dialect = KNI_IR_C,
                                 .f64 = true,
                                 .i64 = true,
                                 .half_storage = true,
                                 .atomics = true,
                                 .float_atomics = true,
                                 .subgroup = 1,
                                 .max_workgroup = 1024,
                                 .shared_bytes = 1 << 16,
                                 .vector_bytes = 64};

/* The entry of a text, which it takes over; NULL without memory. */
static compiled *share(kni_ir_text *text)
{
    static kni_life_hook hook = {.forked = forked};
    kni_life_watch(&hook);
    kni_lock(&lock);
    compiled *c = texts;
    while (c && (c->length != text->length || memcmp(c->text, text->data, text->length))) c = c->next;
    if (!c && (c = kni_allocate(sizeof *c)) != NULL) {
        memset(c, 0, sizeof *c);
        c->text = kni_allocate(text->length + 1);
        if (c->text) {
            memcpy(c->text, text->data, text->length);
            c->text[text->length] = 0;
            c->length = text->length;
            c->next = texts;
            texts = c;
        } else {
            kni_free(c, sizeof *c);
            c = NULL;
        }
    }
    if (c) c->users++;
    kni_unlock(&lock);
    return c;
}

static bool under_way(const compiled *c) { return c->jit && !c->failed && !atomic_load(&c->function); }

static void unshare(compiled *c)
{
    kni_lock(&lock);
    if (--c->users == 0) {
        compiled **at = &texts;
        while (*at != c) at = &(*at)->next;
        *at = c->next;
        compilers -= under_way(c);
    } else {
        c = NULL;
    }
    kni_unlock(&lock);
    if (!c) return;
    kni_jit_free(c->jit);
    kni_free(c->text, c->length + 1);
    kni_free(c, sizeof *c);
}

/* Starts the compiler when its turn has come, and asks after it. */
static kni_jit_fn advance(compiled *c)
{
    kni_lock(&lock);
    if (!c->jit && !c->failed && (compilers < COMPILERS || kni_jit_waits())) {
        c->jit = kni_jit_start(c->text, ENTRY);
        c->failed = !c->jit;
        compilers += !c->failed;
    }
    if (under_way(c)) {
        kni_jit_fn function = kni_jit_ready(c->jit);
        c->failed = !function && kni_jit_failed(c->jit);
        compilers -= function || c->failed;
        atomic_store_explicit(&c->function, function, memory_order_release);
    }
    kni_unlock(&lock);
    return atomic_load_explicit(&c->function, memory_order_acquire);
}

/* ---- a program */

/* Bytes that n elements of a result take in the stage: the next one begins at a line, as its elements need it. */
static int64_t staged_bytes(int64_t n, int64_t bytes)
{
    return (n * bytes + KNI_AHEAD_LINE - 1) / KNI_AHEAD_LINE * KNI_AHEAD_LINE;
}

/* Results that go past the caches are computed item by item into a stage, from where whole lines are stored. */
static void find_staged(kni_group_jit *jit, const kni_strip_program *p)
{
    int64_t row = p->dims[p->rank - 1], longest = row < 2 * STAGED ? row : STAGED, bytes = 0;
    memcpy(jit->reused, p->reused, sizeof jit->reused);
    memcpy(jit->result_bytes, p->result_bytes, sizeof jit->result_bytes);
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].flat) jit->input_bytes[i] = (uint8_t)kni_bytes_of(p->inputs[i].dtype);
    for (int32_t i = 0; i < p->n_steps; i++) {
        if (!p->steps[i].past_caches) continue;
        jit->past_caches |= UINT64_C(1) << p->steps[i].out.index;
        bytes += staged_bytes(longest, p->result_bytes[p->steps[i].out.index]);
    }
    if (bytes > STAGE || row < STAGED / 2) jit->past_caches = 0;
}

static void lay_out(kni_group_jit *jit, const kni_strip_program *p, const kni_strip_kernel *kernel)
{
    find_staged(jit, p);
    int64_t row = p->dims[p->rank - 1], rows = p->n / row, longest = jit->past_caches ? STAGED : BLOCK;
    int64_t blocks = row >= 2 * longest ? (row + longest - 1) / longest : 1;
    int64_t block = blocks > 1 ? longest : row;
    jit->row = row;
    jit->block = block;
    jit->blocks = blocks;
    jit->n = p->n;
    jit->items = rows * blocks;
    jit->per_task = block < TASK ? TASK / block : 1;
    jit->n_inputs = p->n_inputs;
    jit->n_results = p->n_results;
    jit->param_bytes = kernel->ir->param_bytes;
    for (int i = 0; i < kernel->n_numbers; i++) {
        const kni_strip_number *n = &kernel->numbers[i];
        const int64_t values[] = {[KNI_NUMBER_ROW] = row,
                                  [KNI_NUMBER_BLOCK] = block,
                                  [KNI_NUMBER_BLOCKS] = blocks,
                                  [KNI_NUMBER_DIM] = p->dims[n->b],
                                  [KNI_NUMBER_STRIDE] = p->inputs[n->a].strides[n->b]};
        if (n->kind == KNI_NUMBER_RECORD)
            jit->numbers[jit->n_numbers++] = *n;
        else
            memcpy(jit->params + n->offset, &values[n->kind], sizeof *values);
    }
}

static compiled *make_text(kni_strip_kernel *kernel)
{
    kni_ir_text text = {0};
    compiled *c = NULL;
    if (kni_ir_simplify(kernel->ir) == KN_OK && kni_ir_legalise(kernel->ir, &caps) == KN_OK &&
        !strcmp(kernel->ir->name, ENTRY) && kni_ir_emit(kernel->ir, &caps, &text) == KN_OK)
        c = share(&text);
    kni_ir_text_free(&text);
    return c;
}

static bool pays(const kni_strip_program *p)
{
    if (p->n == 0 || (p->rank > 1 && p->dims[p->rank - 1] < SHORTEST_ROW)) return false;
    return p->n >= SMALLEST || kni_jit_waits();
}

kni_group_jit *kni_group_jit_new(const kni_group *g, const kni_strip_program *p)
{
    if (!kni_jit_wanted() || !pays(p)) return NULL;
    kni_group_jit *jit = kni_allocate(sizeof *jit);
    kni_strip_kernel *kernel = kni_allocate(sizeof *kernel);
    if (jit) memset(jit, 0, sizeof *jit);
    if (jit && kernel && kni_strip_kernel_make(g, p, kernel)) {
        lay_out(jit, p, kernel);
        jit->code = make_text(kernel);
        kni_ir_free(kernel->ir);
    }
    if (kernel) kni_free(kernel, sizeof *kernel);
    if (jit && jit->code) return jit;
    if (jit) kni_free(jit, sizeof *jit);
    return NULL;
}

void kni_group_jit_free(kni_group_jit *jit)
{
    if (!jit) return;
    unshare(jit->code);
    kni_free(jit, sizeof *jit);
}

/* ---- running */

typedef struct job {
    const kni_group_jit *jit;
    uint64_t past_caches; /* of the jit's, those that lie in no cache as an input */
    kni_jit_fn function;
    void *buffers[KNI_GROUP_INPUTS + KNI_GROUP_RESULTS];
    _Alignas(8) uint8_t params[KNI_IR_MAX_PARAMS * 8];
    int64_t items, per_task;
} job;

/* Asks for what items to come read: the processor's own prefetching stops at the end of a page. */
static inline void prefetch(const job *j, int64_t first, int64_t n)
{
#if defined(__GNUC__)
    if (first + n + AHEAD > j->jit->n) return;
    for (int i = 0; i < j->jit->n_inputs; i++) {
        int64_t bytes = j->jit->input_bytes[i];
        const char *from = (const char *)j->buffers[i] + first * bytes + AHEAD, *end = from + n * bytes;
        for (; from < end; from += KNI_AHEAD_LINE) __builtin_prefetch(from);
    }
#else
    (void)j, (void)first, (void)n;
#endif
}

/* Items one by one through a stage. */
static void run_staged(const job *j, int64_t begin, int64_t end)
{
    const kni_group_jit *jit = j->jit;
    _Alignas(64) char stage[STAGE];
    void *buffers[KNI_GROUP_INPUTS + KNI_GROUP_RESULTS];
    memcpy(buffers, j->buffers, sizeof buffers);
    for (int64_t item = begin; item < end; item++) {
        int64_t part = item % jit->blocks * jit->block, first = item / jit->blocks * jit->row + part,
                used = 0;
        int64_t n = jit->row - part < jit->block ? jit->row - part : jit->block;
        /* The code writes at the element's place in the whole result: that is where the stage must seem to be. */
        for (int i = 0; i < jit->n_results; i++) {
            if (!(j->past_caches >> i & 1)) continue;
            buffers[jit->n_inputs + i] =
                (void *)((uintptr_t)(stage + used) - (uintptr_t)(first * jit->result_bytes[i]));
            used += staged_bytes(jit->block, jit->result_bytes[i]);
        }
        prefetch(j, first, n);
        j->function(buffers, NULL, j->params, item, item + 1);
        used = 0;
        for (int i = 0; i < jit->n_results; i++) {
            if (!(j->past_caches >> i & 1)) continue;
            int64_t bytes = jit->result_bytes[i];
            kni_strip_store_past((char *)j->buffers[jit->n_inputs + i] + first * bytes, stage + used,
                                 n * bytes);
            used += staged_bytes(jit->block, bytes);
        }
    }
    kni_strip_end_past();
}

static void run_task(void *argument, int64_t task, int worker)
{
    const job *j = argument;
    (void)worker;
    int64_t begin = task * j->per_task, end = begin + j->per_task;
    if (end > j->items) end = j->items;
    if (j->past_caches)
        run_staged(j, begin, end);
    else
        j->function(j->buffers, NULL, j->params, begin, end);
}

static kni_jit_fn function_of(kni_group_jit *jit)
{
    kni_jit_fn function = atomic_load_explicit(&jit->code->function, memory_order_acquire);
    if (KNI_LIKELY(function != NULL)) return function;
    if (atomic_fetch_add_explicit(&jit->asked, 1, memory_order_relaxed) == 0 && !kni_jit_waits()) return NULL;
    return advance(jit->code);
}

bool kni_group_jit_run(kni_group_jit *jit, const kni_strip_memory *m)
{
    job j;
    j.function = function_of(jit);
    if (!j.function) return false;
    for (int i = 0; i < jit->n_inputs; i++) j.buffers[i] = (void *)m->inputs[i];
    j.jit = jit;
    j.past_caches = jit->past_caches;
    for (int i = 0; i < jit->n_results; i++) {
        j.buffers[jit->n_inputs + i] = m->results[i];
        if (jit->reused[i] >= 0 && m->results[i] == m->inputs[jit->reused[i]])
            j.past_caches &= ~(UINT64_C(1) << i);
    }
    memcpy(j.params, jit->params, jit->param_bytes);
    for (int i = 0; i < jit->n_numbers; i++) {
        const kni_strip_number *n = &jit->numbers[i];
        kni_convert(j.params + n->offset, n->dtype, 1, &m->params[n->a][n->b], KN_F64, 1, 1);
    }
    j.items = jit->items;
    j.per_task = jit->per_task;
    atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed);
    if (jit->n < TASK)
        j.function(j.buffers, NULL, j.params, 0, j.items);
    else
        kni_parallel_for((j.items + j.per_task - 1) / j.per_task, run_task, &j);
    return true;
}
