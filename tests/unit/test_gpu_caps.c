/* KN_CAPS: what it takes away is done without. A device without 64-bit numbers and small elements gives the CPU's results, what
   does not fit it runs on the CPU, and f64 is refused with the cure. */
#define _GNU_SOURCE
#include "backend/gpu/gpu.h"
#include "support/check.h"
#include <kn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000 };

static void words(void)
{
    kni_ir_caps caps = {.i64 = true, .f64 = true, .half_storage = true, .shared_bytes = 4096, .subgroup = 32};
    CHECK(kni_gpu_restrict(&caps, NULL) == KN_OK && kni_gpu_restrict(&caps, "") == KN_OK && caps.i64);
    CHECK(kni_gpu_restrict(&caps, "no-i64,no-f64,no-f16,buffers=8") == KN_OK);
    CHECK(!caps.i64 && !caps.f64 && !caps.half_storage && caps.max_buffers == 8 && !caps.no_bytes);
    CHECK(kni_gpu_restrict(&caps, "no-i8,no-aliases,params=128,shared=8192,workgroup=64,no-subgroups") ==
          KN_OK);
    CHECK(caps.no_bytes && caps.no_aliases && caps.param_bytes == 128 && caps.shared_bytes == 4096 &&
          caps.subgroup == 1);
    static const char *const bad[] = {"no-i65",     "buffers",  "buffers=", "buffers=0",
                                      "buffers=8x", "no-i64=1", "no-i64 ",  "x"};
    for (int i = 0; i < KNI_COUNT(bad); i++)
        CHECK_ERROR(kni_gpu_restrict(&caps, bad[i]), "says nothing: write words of");
}

typedef kn_tensor (*op_fn)(kn_tensor a, kn_tensor b);

static kn_device current;

static kn_tensor power(kn_tensor a, kn_tensor b) { return kn_pow(kn_abs(a), b); }
static kn_tensor wave(kn_tensor a, kn_tensor b) { return kn_sin(kn_mul(a, kn_mul(b, b))); }
static kn_tensor gamma_of(kn_tensor a, kn_tensor b) { return kn_lgamma(kn_add(kn_abs(a), kn_mul(b, b))); }
static kn_tensor compared(kn_tensor a, kn_tensor b) { return kn_less(a, b); }
static kn_tensor sorted(kn_tensor a, kn_tensor b) { return kn_sort(kn_sub(a, b), 0, false).values; }
static kn_tensor running(kn_tensor a, kn_tensor b) { return kn_cumsum(kn_add(a, b), 0); }
static kn_tensor summed(kn_tensor a, kn_tensor b) { return kn_sum(kn_mul(a, b), KN_AXES(0), false); }
static kn_tensor in_bytes(kn_tensor a, kn_tensor b) { return kn_add(kn_cast(a, KN_I8), kn_cast(b, KN_I8)); }
static kn_tensor in_floats(kn_tensor a, kn_tensor b)
{
    return kn_mul(kn_cast(a, KN_F32), kn_cast(b, KN_F32));
}
static kn_tensor drawn(kn_tensor a, kn_tensor b)
{
    (void)b;
    kn_seed(current, 7);
    return kn_add(kn_cast(a, KN_F32), kn_random_uniform(KN_SHAPE(N), 0, 1, KN_F32));
}

static const struct {
    const char *name;
    op_fn op;
    bool integers, exact;
} ops[] = {{"add", kn_add, true, true},
           {"mul", kn_mul, true, true},
           {"div", kn_div, false, false},
           {"floor_div", kn_floor_div, true, true},
           {"remainder", kn_remainder, true, true},
           {"less", compared, true, true},
           {"sort", sorted, true, true},
           {"cumsum", running, true, false},
           {"sum", summed, true, false},
           {"cast to i8", in_bytes, true, true},
           {"cast to f32", in_floats, true, true},
           {"uniform", drawn, true, true},
           {"pow", power, false, false},
           {"sin", wave, false, false},
           {"lgamma", gamma_of, false, false}};

/* The op on the current device, read as doubles; how many there are. */
static int64_t result(op_fn op, const int64_t *a, const int64_t *b, kn_dtype dtype, double *y)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_from(a, KN_I64, KN_SHAPE(N)), z = kn_from(b, KN_I64, KN_SHAPE(N));
    kn_tensor r = kn_keep(op(kn_cast(x, dtype), kn_cast(z, dtype)));
    static unsigned char bytes[8 * N];
    int64_t n = kn_count(r);
    kn_dtype made = kn_dtype_of(r);
    bool good = n <= N && kn_read(r, bytes, (size_t)kn_dtype_bytes(made, n)) == KN_OK;
    if (!good) printf("%s\n", kn_last_error());
    if (good) kni_convert(y, KN_F64, 1, bytes, (int)made, 1, n);
    kn_scope_end(scope, KN_NONE);
    return good ? n : -1;
}

static void agrees(kn_device device, int which, kn_dtype dtype)
{
    static int64_t a[N], b[N];
    static double got[N], want[N];
    uint64_t state = 88172645463325252u;
    bool wide = dtype == KN_I64 || dtype == KN_U64;
    for (int i = 0; i < N; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        a[i] = wide ? (int64_t)state >> state % 61 : (int64_t)(state >> 40) % 100 - 50;
        state = state * 6364136223846793005u + 1442695040888963407u;
        b[i] = wide ? (int64_t)state >> state % 61 : (int64_t)(state >> 40) % 10 - 5;
    }
    kn_device_use(current = kn_device_cpu());
    int64_t n = result(ops[which].op, a, b, dtype, want);
    kn_device_use(current = device);
    CHECK(n >= 0 && result(ops[which].op, a, b, dtype, got) == n);
    int wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        double gap = got[i] - want[i], size = want[i] < 0 ? -want[i] : want[i];
        bool same = got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]);
        bool close = !ops[which].exact && kn_dtype_is_float(dtype) && gap <= 1e-3 * (size + 1) &&
                     -gap <= 1e-3 * (size + 1);
        wrong += !same && !close;
    }
    if (!CHECK(wrong == 0)) printf("%s of %s: %d differ\n", ops[which].name, kn_dtype_name(dtype), wrong);
}

static kn_device opened(const char *caps)
{
    setenv("KN_CAPS", caps, 1);
    kn_device d = kn_device_open("opencl:0");
    return d;
}

static void computes(void)
{
    static const kn_dtype dtypes[] = {KN_I64, KN_U64, KN_U8, KN_I16, KN_F16, KN_BF16, KN_F32};
    kn_device d = opened("no-i64,no-f64,no-f16,no-i8,buffers=8");
    if (!d) {
        check_skip("no OpenCL device");
        return;
    }
    setenv("KN_FALLBACK", "off", 1);
    for (int i = 0; i < KNI_COUNT(ops); i++)
        for (int k = 0; k < KNI_COUNT(dtypes); k++)
            if (ops[i].integers || kn_dtype_is_float(dtypes[k])) agrees(d, i, dtypes[k]);
    kn_scope scope = kn_scope_begin();
    kn_device_use(d);
    double two[2] = {1, 2}, back[2];
    kn_tensor x = kn_from(two, KN_F64, KN_SHAPE(2));
    CHECK_ERROR(kn_read(kn_exp(x), back, sizeof back), "the device has no f64: cast to f32");
    unsetenv("KN_FALLBACK");
    x = kn_from(two, KN_F64, KN_SHAPE(2));
    CHECK(kn_read(kn_add(x, x), back, sizeof back) == KN_OK && back[0] == 2 && back[1] == 4);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
    kn_device_close(d);
}

/* Two buffers are less than a sum takes: the CPU makes it. */
static void falls_back(void)
{
    kn_device d = opened("no-i64,buffers=2");
    if (!d) return;
    kn_scope scope = kn_scope_begin();
    float two[2] = {1, 2}, back[2] = {0, 0};
    kn_device_use(d);
    unsetenv("KN_FALLBACK"); /* as tests may be started with */
    kn_tensor x = kn_from(two, KN_F32, KN_SHAPE(2)), y = kn_keep(kn_from(two, KN_F32, KN_SHAPE(2)));
    kn_tensor sum = kn_keep(kn_mul(kn_add(x, y), kn_exp(y)));
    CHECK(kn_read(sum, back, sizeof back) == KN_OK && back[0] > 5.43f && back[0] < 5.44f);
    setenv("KN_FALLBACK", "off", 1);
    x = kn_from(two, KN_F32, KN_SHAPE(2));
    CHECK_ERROR(kn_read(kn_add(x, y), back, sizeof back), "has no kernel for it");
    unsetenv("KN_FALLBACK");
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
    kn_device_close(d);
}

int main(void)
{
    words();
    /* A device is opened once in a process, with the caps of then. */
    fflush(NULL);
    pid_t child = fork();
    int status = 1;
    if (child == 0) {
        falls_back();
        _exit(check_report() != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    computes();
    unsetenv("KN_CAPS");
    return check_report();
}
