/* Backends from outside: structs of other sizes and another ABI, memory of their own, attributes, formulas, reads that are begun. */
#define _DEFAULT_SOURCE
#include "support/check.h"
#include <kn/backend.h>
#include <kn/op_info.h>
#include <stdlib.h>

/* ---- a leaf whose memory only it can follow: handles lead to blocks, which are not where elements are */

typedef struct cell {
    float *elements;
} cell;

static int live, released, begun, waited, reused, viewed, grouped;
static double axis_seen = -1;

static void release(void *memory)
{
    cell *c = memory;
    free(c->elements);
    free(c);
    live--;
    released++;
}

static kn_status allocate(uint32_t id)
{
    kn_tensor_info y = {.size = sizeof y};
    kn_status s = kn_backend_tensor(id, &y);
    cell *c = malloc(sizeof *c);
    c->elements = calloc((size_t)y.count + 1, sizeof *c->elements);
    live++;
    if (s == KN_OK) s = kn_backend_adopt(id, c, (size_t)y.count * sizeof *c->elements, release);
    return s;
}

/* Contiguous f32 tensors only, as the test has them. */
static float *elements_of(uint32_t id)
{
    kn_tensor_info x = {.size = sizeof x};
    void *memory = NULL;
    CHECK(kn_backend_tensor(id, &x) == KN_OK && kn_backend_memory(id, &memory) == KN_OK);
    if (!memory) return x.data; /* a number */
    CHECK(!x.data);             /* no host pointer to it */
    return ((cell *)memory)->elements + x.offset;
}

static kn_status add_up(const kn_record *r)
{
    kn_tensor_info y = {.size = sizeof y};
    const float *a = elements_of(r->ids[1]), *b = elements_of(r->ids[2]);
    if (kn_backend_reuse(r, 0, r->ids[0]))
        reused++;
    else if (allocate(r->ids[0]))
        return KN_ERROR_MEMORY;
    kn_backend_tensor(r->ids[0], &y);
    float *out = elements_of(r->ids[0]);
    for (int64_t i = 0; i < y.count; i++) out[i] = a[i] + b[i];
    return KN_OK;
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    (void)b;
    for (int32_t i = 0; i < n; i++) {
        const kn_record *r = records[i];
        kn_status s = kn_backend_view(r);
        viewed += s == KN_OK;
        if (s != KN_ERROR_UNSUPPORTED) return s;
        if (!strcmp(kn_backend_op_name(r->row), "softmax")) {
            int64_t axis = -1, missing;
            double wrong;
            CHECK(kn_backend_attribute_int(r, "axis", &axis) == KN_OK);
            axis_seen = (double)axis;
            CHECK_ERROR(kn_backend_attribute_int(r, "axes", &missing),
                        "it has no attribute 'axes'; there is axis");
            CHECK_ERROR(kn_backend_attribute_real(r, "axis", &wrong), "is a whole number, not a real number");
            return KN_ERROR_INTERNAL; /* with a text: it is no refusal */
        }
        if (strcmp(kn_backend_op_name(r->row), "add")) return KN_ERROR_UNSUPPORTED;
        s = add_up(r);
        if (s) return s;
    }
    return KN_OK;
}

static kn_status write_value(kn_backend *b, uint32_t id, const void *data)
{
    kn_tensor_info y = {.size = sizeof y};
    (void)b;
    kn_status s = allocate(id);
    if (s == KN_OK) s = kn_backend_tensor(id, &y);
    if (s == KN_OK && data) memcpy(elements_of(id), data, (size_t)y.count * sizeof(float));
    return s;
}

static kn_status read_value(kn_backend *b, uint32_t id, void *buffer)
{
    kn_tensor_info x = {.size = sizeof x};
    (void)b;
    kn_status s = kn_backend_tensor(id, &x);
    if (s == KN_OK && x.count) memcpy(buffer, elements_of(id), (size_t)x.count * sizeof(float));
    return s;
}

static struct {
    uint32_t id;
    void *buffer;
} tickets[8];

static kn_status read_begin(kn_backend *b, uint32_t id, void *buffer, uint64_t *ticket)
{
    (void)b;
    CHECK(waited == 0); /* all are begun before the first is waited for */
    tickets[begun].id = id;
    tickets[begun].buffer = buffer;
    *ticket = (uint64_t)begun++;
    return KN_OK;
}

static int polls; /* that find nothing yet */

static kn_status read_ready(kn_backend *b, uint64_t ticket, bool wait, bool *ready)
{
    *ready = false;
    if (!wait && polls-- > 0) return KN_OK;
    waited++;
    *ready = true;
    return read_value(b, tickets[ticket].id, tickets[ticket].buffer);
}

static kn_status limits(kn_backend *b, kn_limits *l)
{
    (void)b;
    CHECK(l->size == sizeof *l && !l->kinds);
    l->kinds = 1u << KN_GROUP_POINTWISE;
    l->max_records = l->max_inputs = l->max_outputs = 8;
    return KN_OK;
}

static kn_status run_group(kn_backend *b, const kn_group *g)
{
    (void)b;
    CHECK(g->size == sizeof *g && g->kind == KN_GROUP_POINTWISE);
    grouped += g->n_records;
    return KN_ERROR_UNSUPPORTED; /* its records come one by one */
}

static kn_backend leaf = {.size = sizeof(kn_backend),
                          .abi = KN_BACKEND_ABI,
                          .name = "cells",
                          .execute = execute,
                          .write = write_value,
                          .read = read_value,
                          .read_begin = read_begin,
                          .read_ready = read_ready,
                          .limits = limits,
                          .run_group = run_group};
static kn_backend given; /* what the next opening of "given" answers */

static kn_backend *open_leaf(const char *a, kn_backend *const *i, int32_t n)
{
    return (void)a, (void)i, (void)n, &leaf;
}
static kn_backend *open_given(const char *a, kn_backend *const *i, int32_t n)
{
    return (void)a, (void)i, (void)n, &given;
}

static kn_tensor three(float first)
{
    return kn_from((float[]){first, first + 1, first + 2}, KN_F32, KN_SHAPE(3));
}

static void memory_of_its_own(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open("cells"));
    kn_tensor x = kn_keep(three(1)), tail = kn_keep(kn_narrow(x, 0, 1, 2));
    CHECK(viewed == 1 && live == 1);
    CHECK_VALUES(tail, 0, 2, 3);
    CHECK_VALUES(kn_add(tail, tail), 0, 4, 6);
    CHECK_VALUES(kn_add(three(1), x), 0, 2, 4, 6); /* the first operand dies */
    CHECK(reused == 1);
    CHECK(kn_to_dlpack(x) == NULL && strstr(kn_last_error(), "not in host memory"));
    CHECK(kn_error_code(kn_softmax(x, 0)) == KN_ERROR_ARGUMENT && axis_seen == 0);
    CHECK_VALUES(kn_mul(x, x), 0, 1, 4, 9); /* on the CPU */
    kn_scope_end(scope, KN_NONE);
    if (!CHECK(live == 0 && released == 4)) printf("%d live, %d released\n", live, released);
}

static void reads_together(void)
{
    float a[3], c[3];
    kn_scope scope = kn_scope_begin();
    kn_tensor t[2] = {kn_keep(three(1)), kn_keep(three(7))};
    CHECK(kn_read_many(t, (void *[]){a, c}, (size_t[]){sizeof a, sizeof c}, 2) == KN_OK);
    CHECK(begun == 2 && waited == 2 && a[2] == 3 && c[0] == 7);
    waited = 0;
    CHECK_ERROR(kn_read_many(t, (void *[]){a, c}, (size_t[]){sizeof a, 1}, 2), "12 bytes, the buffer 1");
    CHECK(begun == 3 && waited == 1); /* what was begun is waited for */
    kn_scope_end(scope, KN_NONE);
}

/* The tensor may be dropped meanwhile; a device that cannot begin has read at once. */
static void reads_without_waiting(void)
{
    float a[3] = {0}, c[3] = {0};
    bool ready = true;
    kn_reading r, at_once;
    int live_before = live;
    begun = waited = 0;
    polls = 2;
    kn_tensor x = kn_own(three(1));
    CHECK(kn_read_async(x, a, sizeof a, &r) == KN_OK && begun == 1 && waited == 0);
    kn_drop(x);
    for (int i = 0; i < 2; i++) CHECK(kn_read_ready(&r, false, &ready) == KN_OK && !ready && a[2] == 0);
    CHECK(live == live_before + 1);
    CHECK(kn_read_ready(&r, false, &ready) == KN_OK && ready && a[2] == 3);
    CHECK(live == live_before);
    CHECK(kn_read_ready(&r, false, &ready) == KN_OK && ready && waited == 1);
    kn_param p = kn_param_make(three(4));
    begun = waited = 0;
    CHECK(kn_read_async(kn_value(p), a, sizeof a, &r) == KN_OK);
    CHECK(kn_param_set(&p, three(7)) == KN_OK);
    CHECK(kn_read_ready(&r, true, &ready) == KN_OK && ready && a[0] == 4);
    kn_param_drop(&p);
    CHECK(live == live_before);
    kn_device cells = kn_device_current();
    kn_device_use(kn_device_open("cpu"));
    kn_tensor y = three(5);
    CHECK(kn_read_async(y, c, sizeof c, &at_once) == KN_OK && c[2] == 7);
    CHECK(kn_read_ready(&at_once, false, &ready) == KN_OK && ready);
    CHECK_ERROR(kn_read_async(y, c, 5, &at_once), "kn_read_async: ");
    CHECK_ERROR(kn_read_async(y, c, sizeof c, NULL), "the place for the reading is NULL");
    CHECK_ERROR(kn_read_ready(&at_once, false, NULL), "kn_read_ready: ");
    kn_drop(y);
    kn_device_use(cells);
    begun = waited = 0;
}

static void groups_reach_it(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open("fusion(cells)"));
    kn_tensor x = kn_keep(three(1));
    CHECK_VALUES(kn_add(kn_add(x, x), kn_add(x, x)), 0, 4, 8, 12);
    CHECK(grouped == 3);
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

/* ---- sizes and versions */

static void refused_with(const char *words)
{
    kn_device d = kn_device_open("given");
    if (!CHECK(!d && strstr(kn_last_error(), words))) printf("%s\n", kn_last_error());
}

static kn_backend plain(void)
{
    kn_backend b = leaf;
    b.name = "given";
    b.device = NULL;
    return b;
}

static void bad_structs(void)
{
    given = plain();
    given.abi = 1;
    refused_with("was compiled for ABI 1 of kn/backend.h; this library has ABI 2");
    given.abi = 3;
    refused_with("ABI 3");
    given = plain();
    given.size = 24;
    refused_with("its struct has 24 bytes");
    given.size = offsetof(kn_backend, execute);
    refused_with("set .size = sizeof(kn_backend)");
    given = plain();
    given.execute = NULL;
    refused_with("no execute function");
    given = plain();
    given.name = NULL;
    refused_with("has no name");
    given = plain();
    given.write = NULL;
    refused_with("no write function");
    given = plain();
    given.read_ready = NULL;
    refused_with("read_begin and read_ready");
    given = plain();
    given.size = offsetof(kn_backend, write); /* what lies behind counts as absent */
    refused_with("no write function");
    given = plain();
    CHECK(!kn_device_open("given(cpu)") && strstr(kn_last_error(), "no inner backend"));
}

/* A struct of the first fields alone: what lies past its size is garbage and must not be read. */
static void a_short_struct(void)
{
    kn_scope scope = kn_scope_begin();
    memset(&given, 0xA5, sizeof given);
    kn_backend first = {.size = offsetof(kn_backend, supports),
                        .abi = KN_BACKEND_ABI,
                        .name = "given",
                        .traits = KN_TRAIT_HOST,
                        .execute = execute};
    memcpy(&given, &first, first.size);
    kn_device d = kn_device_open("fusion(given)");
    CHECK(d != NULL);
    kn_device_use(d);
    CHECK_VALUES(kn_mul(three(1), three(1)), 0, 1, 4, 9);
    CHECK(kn_sync(d) == KN_OK && kn_device_report(d, NULL, NULL, 0) == 0);
    kn_memory_trim();
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

/* A struct of a later version is longer; what this library does not know is left alone. */
static void a_long_struct(void)
{
    static struct {
        kn_backend now;
        void *later[8];
    } longer;
    longer.now = plain();
    longer.now.size = sizeof longer;
    longer.now.device = NULL;
    given = longer.now; /* the opener gives a struct that says more bytes than this library reads */
    kn_device d = kn_device_open("given");
    CHECK(d != NULL);
    kn_device_use(d);
    kn_scope scope = kn_scope_begin();
    CHECK_VALUES(kn_add(three(1), three(1)), 0, 2, 4, 6);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

static void short_infos(void)
{
    struct {
        kn_tensor_info info;
    } old;
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open("cells"));
    kn_tensor x = kn_keep(three(1));
    uint32_t id = (uint32_t)-1;
    for (uint32_t i = 0; i < 4096 && id == (uint32_t)-1; i++) {
        kn_tensor_info probe = {.size = sizeof probe};
        void *memory = NULL;
        if (kn_backend_tensor(i, &probe) == KN_OK && probe.count == 3 && !kn_backend_memory(i, &memory) &&
            memory)
            id = i;
    }
    memset(&old, 0x5A, sizeof old);
    old.info.size = offsetof(kn_tensor_info, data);
    CHECK(kn_backend_tensor(id, &old.info) == KN_OK && old.info.dtype == KN_F32 && old.info.strides[0] == 1);
    CHECK(old.info.count == 0x5A5A5A5A5A5A5A5A); /* not written past its size */
    old.info.size = 0;
    CHECK_ERROR(kn_backend_tensor(id, &old.info), "set .size = sizeof(kn_tensor_info)");
    CHECK_ERROR(kn_backend_adopt(id, &old, 4, NULL), "needs 12 bytes, the memory has 4");
    CHECK_ERROR(kn_backend_adopt(UINT32_MAX - 1, &old, 4, NULL), "is none");
    CHECK(kn_ok(x));
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

/* ---- formulas */

static kn_body_step steps[64];
static int32_t n_steps, n_matmul;

static kn_support note_body(kn_backend *b, const struct kn_op *row, kn_dtype dtype, const char **why)
{
    (void)b, (void)dtype, (void)why;
    if (!strcmp(kn_backend_op_name(row), "relu")) n_steps = kn_backend_body(row, steps, sizeof *steps, 64);
    if (!strcmp(kn_backend_op_name(row), "matmul")) n_matmul = kn_backend_body(row, steps, sizeof *steps, 64);
    return KN_SUPPORT_NO;
}

static void formulas(void)
{
    kn_op_info relu, matmul;
    CHECK(kn_op_find("relu", &relu) && kn_op_find("matmul", &matmul));
    kn_backend b = plain();
    b.supports = note_body;
    given = b;
    kn_device d = kn_device_open("given");
    n_matmul = -1;
    (void)kn_op_support(d, matmul.number, KN_F32, NULL);
    CHECK(n_matmul == 0); /* it has none */
    (void)kn_op_support(d, relu.number, KN_F32, NULL);
    CHECK(n_steps > 1 && steps[0].size == sizeof *steps && steps[0].kind == KN_BODY_INPUT);
    CHECK(steps[n_steps - 1].kind == KN_BODY_WORD && steps[n_steps - 1].word);
}

int main(void)
{
    unsetenv("KN_FALLBACK"); /* most ops of these leaves fall back */
    CHECK(kn_backend_register("cells", open_leaf) == KN_OK &&
          kn_backend_register("given", open_given) == KN_OK);
    memory_of_its_own();
    kn_device_use(kn_device_open("cells"));
    reads_together();
    reads_without_waiting();
    groups_reach_it();
    short_infos();
    bad_structs();
    a_short_struct();
    CHECK(kn_shutdown() == 0);
    a_long_struct();
    CHECK(kn_shutdown() == 0);
    formulas();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0 && live == 0);
    return check_report();
}
