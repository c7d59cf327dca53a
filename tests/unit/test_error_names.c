/* Every failure names the function that the user called and the user's line, on every stack, also when a queue runs late:
   each call of a table fails for want of memory while it is made, and again while its result is read. */
#include "support/check.h"
#include <kn/signal.h>
#include <kn/spatial.h>

/* The operands of the calls, computed beforehand. */
typedef struct operands {
    kn_tensor x;     /* f32 [4, 4] */
    kn_tensor y;     /* f32 [4, 4], positive definite */
    kn_tensor v;     /* f32 [4], ascending */
    kn_tensor i;     /* i64 [4] of 0 to 3 */
    kn_tensor j;     /* i64 [4, 4] of 0 to 3 */
    kn_tensor m;     /* bool [4, 4] */
    kn_tensor image; /* f32 [1, 2, 6, 6] */
    kn_tensor w;     /* f32 [2, 2, 3, 3] */
    kn_tensor bad;   /* i64 [4], one of which is no index */
    kn_tensor bad2;  /* i64 [4, 4], one of which is no index */
} operands;

typedef struct attempt {
    const char *function;
    int line;
    bool by_value; /* it fails by what its operands hold, and has memory */
    kn_tensor (*call)(const operands *o);
} attempt;

#define PAIR(a, b) ((const kn_tensor[]){a, b})
#define COMPLEX(o) ((kn_complex){(o)->x, (o)->y})
#define JOINED(a, b) a##b
#define NAMED(line) JOINED(call_, line)

#define CALL(function, ...)                                                                                  \
    static kn_tensor NAMED(__LINE__)(const operands *o)                                                      \
    {                                                                                                        \
        (void)o;                                                                                             \
        return __VA_ARGS__;                                                                                  \
    }
#define BAD CALL
#include "test_error_names.h"
#undef CALL
#undef BAD

#define CALL(function, ...) {#function, __LINE__, false, NAMED(__LINE__)},
#define BAD(function, ...) {#function, __LINE__, true, NAMED(__LINE__)},
static const attempt attempts[] = {
#include "test_error_names.h"
};

static const char *const stacks[] = {"cpu", "fusion(cpu)", "autodiff(fusion(cpu))", "check(cpu,ref)"};

static kn_tensor computed(kn_tensor t)
{
    char bytes[4096];
    t = kn_own(t);
    CHECK(kn_read(t, bytes, (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t))) == KN_OK);
    return t;
}

static operands make_operands(void)
{
    const int64_t bad[] = {0, 1, 77, 2};
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_sin(kn_reshape(kn_arange(0, 16, 1, KN_F32), KN_SHAPE(4, 4))));
    kn_tensor index = kn_keep(kn_arange(0, 4, 1, KN_I64));
    operands o = {
        .x = computed(kn_alias(x)),
        .y = computed(kn_add(kn_matmul(x, kn_t(x)), kn_eye(4, 4, KN_F32))),
        .v = computed(kn_linspace(0.1, 0.4, 4, KN_F32)),
        .i = computed(kn_alias(index)),
        .j = computed(kn_add(kn_zeros(KN_SHAPE(4, 4), KN_I64), index)),
        .m = computed(kn_greater_scalar(x, 0)),
        .image = computed(kn_cos(kn_reshape(kn_arange(0, 72, 1, KN_F32), KN_SHAPE(1, 2, 6, 6)))),
        .w = computed(kn_cos(kn_reshape(kn_arange(0, 36, 1, KN_F32), KN_SHAPE(2, 2, 3, 3)))),
        .bad = computed(kn_from(bad, KN_I64, KN_SHAPE(4))),
        .bad2 = computed(kn_add(kn_zeros(KN_SHAPE(4, 4), KN_I64), kn_from(bad, KN_I64, KN_SHAPE(4)))),
    };
    kn_scope_end(scope, KN_NONE);
    return o;
}

static void drop_operands(const operands *o)
{
    const kn_tensor all[] = {o->x, o->y, o->v, o->i, o->j, o->m, o->image, o->w, o->bad, o->bad2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) kn_drop(all[i]);
}

/* The text begins with the function and ends with the line of the call. */
static bool says(const char *text, const attempt *a)
{
    char line[64];
    size_t name = strlen(a->function);
    snprintf(line, sizeof line, "test_error_names.h:%d", a->line);
    size_t length = strlen(text), end = strlen(line);
    return !strncmp(text, a->function, name) && text[name] == ':' && length > end &&
           !strcmp(text + length - end, line);
}

static void check_text(const char *text, const attempt *a, const char *stack, const char *when)
{
    if (says(text, a)) {
        check_passed++;
        return;
    }
    check_failed++;
    printf("%s on %s, failing %s: %s\n", a->function, stack, when, text);
}

static int failures[2];

static void one(const attempt *a, const operands *o, const char *stack, bool late)
{
    static char bytes[65536];
    char text[700];
    const char *when = late ? "late" : "at once";
    kn_scope scope = kn_scope_begin();
    kn_memory_trim();
    if (!late && !a->by_value) kn_memory_limit(1);
    kn_tensor y = a->call(o);
    if (late && !a->by_value) kn_memory_limit(1);
    bool made = kn_ok(y);
    kn_status s =
        made ? kn_read(y, bytes, (size_t)kn_dtype_bytes(kn_dtype_of(y), kn_count(y))) : KN_ERROR_HANDLE;
    kn_memory_limit(0);
    kn_error_text(y, text, sizeof text);
    if (text[0]) {
        check_text(text, a, stack, when);
        failures[late]++;
    } else if (!late || a->by_value) {
        printf("%s on %s, failing %s: %d\n", a->function, stack, when, s);
        CHECK(!"the call fails");
    }
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    for (size_t k = 0; k < sizeof stacks / sizeof *stacks; k++) {
        kn_device_use(kn_device_open(stacks[k]));
        operands o = make_operands();
        for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
            for (int late = 0; late < 2; late++) one(&attempts[i], &o, stacks[k], late);
        drop_operands(&o);
    }
    printf("%d failures at once, %d late\n", failures[0], failures[1]);
    CHECK(failures[0] > 600 && failures[1] > 300);
    return check_report();
}
