/* What the CPU packs of a weight is kept from its third use on, gives the bits of a weight that is packed anew, and ends when the weight
   is written to. Memory that others may write to is packed in each call. */
#include "core/made_forms.h"
#include "core/table.h"
#include "support/check.h"
#include "support/tiers.h"
#include <kn/contraction.h>
#include <kn/dlpack.h>
#include <kn/functional.h>
#include <kn/update.h>

#define S KN_SHAPE

typedef kn_tensor function(kn_tensor x, kn_tensor w);

static kn_tensor plain(kn_tensor x, kn_tensor w)
{
    return kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.padding = {1, 1}});
}
static kn_tensor strided(kn_tensor x, kn_tensor w)
{
    return kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.stride = {2, 2}, .padding = {1, 1}});
}
static kn_tensor depthwise(kn_tensor x, kn_tensor w)
{
    return kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.padding = {1, 1}, .groups = kn_size(x, 1)});
}
static kn_tensor transposed(kn_tensor x, kn_tensor w)
{
    return kn_conv_transpose2d(x, w, KN_NONE, &(kn_conv_transpose2d_args){.stride = {2, 2}});
}
static kn_tensor one_tap(kn_tensor x, kn_tensor w) { return kn_conv2d(x, w, KN_NONE, NULL); }
static kn_tensor linear(kn_tensor x, kn_tensor w) { return kn_linear(x, w, KN_NONE); }
static kn_tensor across(kn_tensor x, kn_tensor w) { return kn_matmul(x, kn_transpose(w, 0, 1)); }
static kn_tensor product(kn_tensor x, kn_tensor w) { return kn_matmul(x, w); }
static kn_tensor cells(kn_tensor x, kn_tensor w)
{
    kn_tensor h = kn_reshape(kn_cos(kn_arange(0, 4 * 24 * 24, 1, KN_F32)), S(1, 96, 24));
    kn_recurrent_result r = kn_lstm(x, w, h, NULL);
    return r.y;
}

static const struct {
    const char *name;
    function *run;
    kn_shape x, w;
    bool reads; /* weights where they lie, or does so on some tiers: nothing need be kept */
} uses[] = {
    {"3 x 3", plain, S(1, 20, 30, 31), S(37, 20, 3, 3), false},
    {"3 x 3 of many channels and few positions", plain, S(1, 96, 14, 14), S(80, 96, 3, 3), false},
    {"3 x 3, seven wide", plain, S(2, 128, 7, 7), S(64, 128, 3, 3), false},
    {"stride 2", strided, S(1, 24, 21, 30), S(48, 24, 3, 3), false},
    {"depthwise", depthwise, S(1, 40, 15, 17), S(40, 1, 3, 3), true},
    {"transposed", transposed, S(1, 12, 9, 10), S(12, 7, 4, 4), false},
    {"one tap", one_tap, S(1, 64, 28, 28), S(96, 64, 1, 1), true},
    {"one tap of few positions", one_tap, S(1, 160, 3, 4), S(65, 160, 1, 1), true},
    {"linear, one row", linear, S(1, 300), S(141, 300), false},
    {"linear", linear, S(33, 300), S(141, 300), false},
    {"product across", across, S(5, 300), S(141, 300), false},
    {"product", product, S(70, 300), S(300, 141), false},
    {"lstm", cells, S(7, 2, 21), S(1, 96, 21), false},
};
enum { USES = sizeof uses / sizeof *uses, MOST = 1 << 17 };

static kn_tensor made(kn_shape shape, double step, kn_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    kn_tensor at = kn_mul_scalar(kn_arange(0, (double)n, 1, KN_F32), step);
    return kn_keep(kn_cast(kn_reshape(kn_sin(at), shape), dtype));
}

static size_t bytes_of(kn_tensor y, char *into)
{
    size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(y), kn_count(y));
    return CHECK(bytes <= MOST * 8 && kn_read(y, into, bytes) == KN_OK) ? bytes : 0;
}

static char first[MOST * 8], later[MOST * 8];

/* The third run keeps forms, later ones make none, and all of them give the same bits. */
static void third_use(int use, kn_dtype dtype, kn_device device)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = made(uses[use].x, 0.37, dtype), w = made(uses[use].w, 0.61, dtype);
    CHECK(kn_sync(NULL) == KN_OK);
    kn_device_use(device);
    int64_t before = kni_form_counted().made, third = 0;
    for (int run = 0; run < 5; run++) {
        kn_tensor y = kn_keep(uses[use].run(x, w));
        size_t bytes = bytes_of(y, run ? later : first);
        if (run && !CHECK(bytes && !memcmp(first, later, bytes))) printf("%s, run %d\n", uses[use].name, run);
        int64_t now = kni_form_counted().made;
        if (run == 1) CHECK(now == before);
        if (run == 2) third = now;
        if (run > 2) CHECK(now == third);
    }
    if (!uses[use].reads && !CHECK(third > before)) printf("%s\n", uses[use].name);
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

/* An update writes over a param where it lies: what was packed of it before is not used any more. */
static void updated(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(device);
    kn_tensor x = made(S(1, 20, 30, 31), 0.37, KN_F32), w = made(S(37, 20, 3, 3), 0.61, KN_F32);
    kn_param p = kn_param_make(kn_add_scalar(w, 0));
    CHECK(kn_sync(device) == KN_OK);
    int64_t bytes = 0;
    for (int step = 0; step < 4; step++) {
        for (int run = 0; run < 4; run++) {
            kn_tensor fresh = kn_keep(kn_add_scalar(kn_value(p), 0));
            size_t n = bytes_of(kn_keep(plain(x, fresh)), first);
            CHECK(bytes_of(kn_keep(plain(x, kn_value(p))), later) == n && !memcmp(first, later, n));
        }
        int64_t now = kni_form_counted().bytes;
        CHECK(step == 0 ? now > 0 : now == bytes);
        bytes = now;
        const void *lay = kni_storage_owner(kni_peek(kn_value(p))->storage)->data;
        kn_sgd_update_args args = KN_SGD_UPDATE_ARGS_DEFAULTS;
        args.lr = 0.5;
        CHECK(kn_sgd_update(&p, kn_keep(kn_cos(kn_value(p))), NULL, &args) == KN_OK);
        CHECK(kn_sync(device) == KN_OK);
        CHECK(kni_storage_owner(kni_peek(kn_value(p))->storage)->data == lay);
    }
    kn_param_drop(&p);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    CHECK(kni_form_counted().bytes == 0);
}

/* Memory that somebody else may write to: the caller's own, and what was shown by DLPack. */
static void written_outside(bool wrapped)
{
    static float memory[37 * 20 * 9];
    kn_scope scope = kn_scope_begin();
    kn_tensor x = made(S(1, 20, 30, 31), 0.37, KN_F32), w;
    for (int i = 0; i < 37 * 20 * 9; i++) memory[i] = (float)(i % 7);
    w = wrapped ? kn_keep(kn_wrap(memory, KN_F32, S(37, 20, 3, 3), NULL, NULL, NULL))
                : kn_keep(kn_from(memory, KN_F32, S(37, 20, 3, 3)));
    for (int run = 0; run < 4; run++) kn_drop(plain(x, w));
    struct DLManagedTensor *view = wrapped ? NULL : kn_to_dlpack(w);
    float *at = wrapped ? memory : kni_data(kni_peek(w), 4);
    for (int run = 0; run < 4; run++) {
        at[0] = (float)run - 100;
        size_t n = bytes_of(kn_keep(plain(x, kn_keep(kn_add_scalar(w, 0)))), first);
        CHECK(bytes_of(kn_keep(plain(x, w)), later) == n && !memcmp(first, later, n));
    }
    if (view) view->deleter(view);
    kn_scope_end(scope, KN_NONE);
    CHECK(kni_form_counted().bytes == 0);
}

/* Many parts of one tensor as right sides: there is a bound on what is kept of it. */
static void bounded(void)
{
    enum { PARTS = 40 };
    kn_scope scope = kn_scope_begin();
    kn_tensor x = made(S(5, 64), 0.3, KN_F32), w = made(S(PARTS, 64, 32), 0.7, KN_F32);
    for (int run = 0; run < 4; run++)
        for (int part = 0; part < PARTS; part++)
            kn_drop(kn_matmul(x, kn_squeeze(kn_narrow(w, 0, part, 1), 0)));
    int64_t kept = kni_form_counted().bytes;
    CHECK(kept > 0 && kept <= 16 * (64 * 32 * 4 + 512));
    kn_scope_end(scope, KN_NONE);
    CHECK(kni_form_counted().bytes == 0);
}

int main(void)
{
    kn_device fused = kn_device_open("fusion(cpu)");
    CHECK(fused != NULL);
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!tier_runs((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        for (int use = 0; use < USES; use++)
            for (int dtype = 0; dtype < (uses[use].run == cells ? 1 : 3); dtype++)
                third_use(use, ((kn_dtype[]){KN_F32, KN_BF16, KN_F64})[dtype], kn_device_cpu());
        for (int use = 0; use < USES; use++) third_use(use, KN_F32, fused);
    }
    for (int i = 0; i < USES; i++) {
        kn_set_reproducible(true);
        third_use(i, KN_F32, kn_device_cpu());
        kn_set_reproducible(false);
    }
    updated(kn_device_cpu());
    updated(fused);
    written_outside(true);
    written_outside(false);
    bounded();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
