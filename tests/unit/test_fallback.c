/* A backend from outside that has two kernels only: what it lacks is lowered or falls back to the CPU, says so
   once, and is an error under KN_FALLBACK=off. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "core/table.h"
#include "support/check.h"
#include <kn/backend.h>
#include <kn/op_info.h>
#include <stdlib.h>

static int executed, fell_back, opened;
static char latest_line[300];

static void listen(void *context, kn_log_level level, const char *line)
{
    (void)context;
    if (level != KN_LOG_WARNING || !strstr(line, "fell back")) return;
    fell_back++;
    snprintf(latest_line, sizeof latest_line, "%s", line);
}

static int32_t number_of(const char *name)
{
    kn_op_info info;
    return kn_op_find(name, &info) ? info.number : -1;
}

/* Adds and negates contiguous f32 tensors of one shape; exp it claims and refuses when it comes. */
static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    (void)b;
    for (int32_t i = 0; i < n; i++) {
        const kn_record *r = records[i];
        kn_tensor_info y = {.size = sizeof y}, x[2] = {{.size = sizeof y}, {.size = sizeof y}};
        if (r->op == number_of("exp")) return KN_ERROR_UNSUPPORTED;
        if (r->n_in > 2) return kn_backend_fail(KN_ERROR_INTERNAL, "partial: it never said it could");
        kn_status s = kn_backend_allocate(r->ids[0]);
        if (s == KN_OK) s = kn_backend_tensor(r->ids[0], &y);
        for (int k = 0; k < r->n_in && s == KN_OK; k++) s = kn_backend_tensor(r->ids[1 + k], &x[k]);
        if (s) return s;
        int64_t count = 1;
        for (int a = 0; a < y.shape.rank; a++) count *= y.shape.dims[a];
        for (int64_t k = 0; k < count; k++) {
            float first = ((float *)x[0].data)[k];
            ((float *)y.data)[k] = r->n_in == 2 ? first + ((float *)x[1].data)[k] : -first;
        }
        executed++;
    }
    return KN_OK;
}

static kn_support supports(kn_backend *b, const struct kn_op *row, kn_dtype dtype, const char **why)
{
    (void)b;
    static const char *const names[] = {"add", "neg", "exp"};
    for (int i = 0; i < 3; i++)
        if (dtype == KN_F32 && kn_backend_op_number(row) == number_of(names[i])) return KN_SUPPORT_NATIVE;
    if (why) *why = "no kernel yet";
    return KN_SUPPORT_NO;
}

static kn_backend *open_partial(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    static kn_backend partial = {.size = sizeof(kn_backend),
                                 .abi = KN_BACKEND_ABI,
                                 .name = "partial",
                                 .traits = KN_TRAIT_HOST,
                                 .execute = execute,
                                 .supports = supports};
    (void)argument, (void)inner, (void)n_inner;
    opened++;
    return &partial;
}

static kn_tensor three(double a, double b, double c)
{
    return kn_from((float[]){(float)a, (float)b, (float)c}, KN_F32, KN_SHAPE(3));
}

static void runs_what_it_has(void)
{
    kn_scope s = kn_scope_begin();
    CHECK_VALUES(kn_add(three(1, 2, 3), three(10, 20, 30)), 0, 11, 22, 33);
    CHECK_VALUES(kn_neg(three(1, 2, 3)), 0, -1, -2, -3);
    CHECK(executed == 2 && fell_back == 0);
    kn_scope_end(s, KN_NONE);
}

static void falls_back(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(three(1, 4, 9));
    CHECK_VALUES(kn_sqrt(x), 1e-6, 1, 2, 3);
    CHECK(fell_back == 1 && !strcmp(latest_line, "kn_sqrt fell back to the CPU on device partial"));
    CHECK_VALUES(kn_sqrt(kn_square(x)), 1e-6, 1, 4, 9);
    CHECK(fell_back == 2); /* square; sqrt has been told */
    kn_tensor y = kn_sqrt(x);
    CHECK(kn_device_of(y) == kn_device_current());
    CHECK_VALUES(kn_neg(y), 1e-6, -1, -2, -3); /* the result lies on the device again */
    CHECK_VALUES(kn_sum(x, KN_AXES_ALL, false), 0, 14);
    CHECK_VALUES(kn_mul_scalar(x, 2), 0, 2, 8, 18);
    kn_indexed both = kn_topk(x, 1, 0, NULL);
    CHECK_VALUES(both.values, 0, 9);
    CHECK_VALUES(both.indices, 0, 2);
    kn_tensor f64 = kn_cast(x, KN_F64); /* add is there for f32 only */
    CHECK_VALUES(kn_add(f64, kn_cast(x, KN_F64)), 0, 2, 8, 18);
    CHECK_VALUES(kn_linear(kn_reshape(x, KN_SHAPE(1, 3)), kn_ones(KN_SHAPE(2, 3), KN_F32), KN_NONE), 0, 14,
                 14);
    int before = fell_back;
    CHECK_VALUES(kn_exp(kn_sub(x, x)), 0, 1, 1, 1);
    CHECK(fell_back > before); /* refused by execute itself */
    CHECK_POISON(kn_matmul(x, kn_ones(KN_SHAPE(2), KN_F32)), "kn_matmul");
    kn_scope_end(s, KN_NONE);
}

static void under_decorators(void)
{
    kn_scope s = kn_scope_begin();
    kn_device plain = kn_device_current();
    kn_device tape = kn_device_open("autodiff(partial)");
    kn_device_use(tape);
    kn_tensor x = kn_require_grad(three(1, 2, 3)), g;
    kn_tensor loss = kn_sum(kn_square(x), KN_AXES_ALL, false);
    CHECK(kn_grad(&loss, NULL, 1, &x, 1, 0, &g) == KN_OK);
    CHECK_VALUES(g, 0, 2, 4, 6);
    kn_device_use(kn_device_open("check(partial,ref)"));
    CHECK_VALUES(kn_sqrt(three(1, 4, 9)), 1e-6, 1, 2, 3);
    kn_device_use(plain);
    CHECK(kn_device_open("partial") == plain);
    kn_device_close(plain);
    kn_device_use(plain); /* a leaf stays open */
    CHECK(kn_ok(kn_neg(three(1, 2, 3))));
    kn_scope_end(s, KN_NONE);
}

static void says_so(void)
{
    const char *why = "";
    CHECK(kn_op_support(NULL, number_of("neg"), KN_F32, NULL) == KN_SUPPORT_NATIVE);
    CHECK(kn_op_support(NULL, number_of("sqrt"), KN_F32, &why) == KN_SUPPORT_NO &&
          !strcmp(why, "no kernel yet"));
}

static void forbidden(void)
{
    kn_scope s = kn_scope_begin();
    int before = fell_back;
    setenv("KN_FALLBACK", "off", 1);
    kn_tensor x = kn_keep(three(1, 4, 9));
    CHECK_POISON(kn_sqrt(x),
                 "kn_sqrt: the device partial has no kernel for it (no kernel yet), and KN_FALLBACK=off");
    CHECK(kn_error_code(kn_exp(x)) == KN_ERROR_UNSUPPORTED);
    CHECK_VALUES(kn_neg(x), 0, -1, -4, -9);
    CHECK(fell_back == before);
    unsetenv("KN_FALLBACK");
    CHECK_VALUES(kn_sqrt(x), 1e-6, 1, 2, 3);
    kn_scope_end(s, KN_NONE);
}

/* What a backend is told of a tensor: where a view begins, and the value of what was waiting to be computed. */
static void tells_of_tensors(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor_info whole = {.size = sizeof whole}, part = {.size = sizeof part};
    kn_device_use(kn_device_cpu());
    kn_tensor x = kn_keep(kn_arange(0, 10, 1, KN_F32)), view = kn_keep(kn_narrow(x, 0, 3, 4));
    CHECK(kn_backend_tensor(kni_slot_of(x), &whole) == KN_OK);
    CHECK(kn_backend_tensor(kni_slot_of(view), &part) == KN_OK);
    CHECK((float *)part.data == (float *)whole.data + 3 && *(float *)part.data == 3);
    kn_device_use(kn_device_open("fusion(cpu)"));
    kn_tensor later = kn_keep(kn_neg(kn_exp(kn_zeros(KN_SHAPE(3), KN_F32))));
    CHECK(kn_backend_tensor(kni_slot_of(later), &whole) == KN_OK);
    CHECK(whole.data && *(float *)whole.data == -1);
    kn_device_use(NULL);
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    unsetenv("KN_FALLBACK");
    kn_log_set(listen, NULL);
    CHECK(kn_backend_register("partial", open_partial) == KN_OK);
    kn_device d = kn_device_open("partial");
    CHECK(d && !strcmp(kn_device_name(d), "partial"));
    kn_device_use(d);
    runs_what_it_has();
    falls_back();
    under_decorators();
    says_so();
    forbidden();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_device_open("partial") && kn_shutdown() == 0 && opened > 1);
    CHECK(kn_memory_stats().bytes_now == 0);
    tells_of_tensors();
    return check_report();
}
