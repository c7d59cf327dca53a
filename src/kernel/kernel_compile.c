/* Compiling users' kernels: the text is checked, its parameters become a row, and the same text is kept once. Rows live
   as long as the process, because work that waits and tapes refer to them. */
#include "core/life.h"
#include "kernel/user_kernel.h"
#include <string.h>

enum { FIRST_NUMBER = 61000, MAX_KERNELS = 4000 };

static kni_user_kernel *compiled;
static int n_compiled;
static kni_mutex lock = KNI_MUTEX_INIT;

/* The handles end with the library, and in a forked child, which gets its own for kernels that are compiled already; what another
   thread was in the middle of compiling there is compiled again. */
static void forget_handles(void)
{
    for (kni_user_kernel *k = compiled; k; k = k->next) {
        k->handle = NULL;
        k->handles = 0;
    }
}

static void forked(void)
{
    kni_renew(&lock);
    for (kni_user_kernel *k = compiled; k; k = k->next) kni_renew(&k->lock);
    forget_handles();
}

/* As every device does it: small integers in 64 bits, so that they wrap in memory alone. */
static int computed_in(int dtype)
{
    int computed = kni_compute_dtype[kni_compute_of[dtype]];
    return computed == KN_I32 ? KN_I64 : computed;
}

kni_ir *kni_kernel_ir(const kni_user_kernel *k, int element, const uint8_t *storage)
{
    int computed = computed_in(element ? element : k->source.element);
    kni_ir_parse_options options = {
        .file = k->file, .kernel = k->name, .element = computed, .real = KN_F64, .storage = storage};
    return kni_ir_parse(k->text, k->source.bytes, &options);
}

static bool too_many(const kni_user_kernel *k, const char *what, int most)
{
    kni_fail(KN_ERROR_UNSUPPORTED, "kn_kernel_compile: %s: kernel '%s' has more than %d %s", k->file,
             k->signature.name, (int32_t)most, what);
    return false;
}

/* Fills in what follows from the parameters; false after a failure. */
static bool describe(kni_user_kernel *k)
{
    const kni_ir_signature *s = &k->signature;
    memcpy(k->name, s->name, sizeof k->name);
    for (int i = 0; i < s->n_buffers; i++) k->letters[i] = s->buffers[i].letter;
    for (int i = 0; i < s->n_numbers; i++) {
        int n = s->numbers[i].count ? (int)s->numbers[i].count : 1;
        if (kni_is_float(s->numbers[i].dtype))
            k->n_reals += n;
        else
            k->n_ints += n;
    }
    k->n_operands = s->by_role[KNI_IR_IN] + s->by_role[KNI_IR_INOUT];
    k->n_results = s->by_role[KNI_IR_INOUT] + s->by_role[KNI_IR_OUT];
    if (k->n_operands > KNI_KERNEL_OPERANDS) return too_many(k, "operands", KNI_KERNEL_OPERANDS);
    if (k->n_results > KNI_KERNEL_OPERANDS) return too_many(k, "results", KNI_KERNEL_OPERANDS);
    if (s->by_role[KNI_IR_TEMP] > KNI_MAX_KERNEL_TEMPS)
        return too_many(k, "temp buffers", KNI_MAX_KERNEL_TEMPS);
    if (k->n_ints > KNI_MAX_KERNEL_INTS) return too_many(k, "whole numbers", KNI_MAX_KERNEL_INTS);
    if (k->n_reals > KNI_MAX_KERNEL_REALS) return too_many(k, "real numbers", KNI_MAX_KERNEL_REALS);
    if (k->n_results) return true;
    kni_fail(KN_ERROR_ARGUMENT,
             "kn_kernel_compile: %s: kernel '%s' has no `out` or `inout` buffer: it computes nothing",
             k->file, s->name);
    return false;
}

static void make_row(kni_user_kernel *k, int number)
{
    const kni_ir_signature *s = &k->signature;
    k->kernel = (kni_kernel){.name = k->name,
                             .buffers = k->letters,
                             .n_in = s->by_role[KNI_IR_IN],
                             .n_out = k->n_results,
                             .n_temp = s->by_role[KNI_IR_TEMP]};
    k->source.text = k->text;
    k->source.file = k->file;
    k->source.name = k->name;
    k->source.n_inout = s->by_role[KNI_IR_INOUT];
    k->source.workgroup = s->workgroup;
    k->row =
        (kn_op){.number = (uint16_t)number,
                .name = k->name,
                .doc = "a user's kernel",
                .min_in = (int8_t)k->n_operands,
                .max_in = (int8_t)k->n_operands,
                .n_out = (int8_t)k->n_results,
                .kind = KNI_SYSTEM,
                .flags = KNI_FLAG_NOT_DIFFERENTIABLE,
                .dtypes = KNI_ALL,
                .attribute_bytes = (uint16_t)(sizeof(kni_kernel_attributes) +
                                              (size_t)(k->n_ints + k->n_reals) * sizeof(kn_kernel_number)),
                .infer = kni_kernel_infer,
                .launch = kni_kernel_launch,
                .host = kni_kernel_run_host,
                .source = &k->source};
    k->checked = k->row;
    k->checked.host = kni_kernel_run_checked;
}

/* The parameters, and a whole compilation for the sake of its messages. A text may suit only integers in T (it uses %),
   so without an option that says it both are tried; when neither fits, floats again for their message. */
static bool check(kni_user_kernel *k, const char *name, bool any)
{
    kni_ir_parse_options options = {.file = k->file, .kernel = name, .real = KN_F64};
    for (int attempt = 0; attempt < (any ? 3 : 1); attempt++) {
        if (attempt && kni_latest_code() == KN_ERROR_MEMORY) break; /* says nothing of the elements */
        k->source.element = attempt == 0 ? k->source.element : attempt == 1 ? KN_I64 : KN_F32;
        if (attempt)
            kni_error_forget(
                kni_thread_self()); /* what failed with other elements is no failure of the call */
        options.element = computed_in(k->source.element);
        if (!kni_ir_parse_signature(k->text, k->source.bytes, &options, &k->signature)) continue;
        memcpy(k->name, k->signature.name, sizeof k->name);
        kni_ir *ir = kni_kernel_ir(k, k->source.element, NULL);
        kni_ir_free(ir);
        if (!ir) continue;
        if (attempt) kni_error_forget(kni_thread_self());
        return true;
    }
    kni_error_named("kernel_compile");
    return false;
}

static void release(kni_user_kernel *k)
{
    if (k->text) kni_free(k->text, k->source.bytes + 1);
    kni_free(k, sizeof *k);
}

static kni_user_kernel *make(const char *source, const char *file, const kn_kernel_options *o)
{
    kni_user_kernel *k = kni_allocate(sizeof *k);
    size_t bytes = strlen(source), length = strlen(file);
    if (!k) {
        kni_fail(KN_ERROR_MEMORY, "kn_kernel_compile: no memory");
        return NULL;
    }
    memset(k, 0, sizeof *k);
    k->lock = (kni_mutex)KNI_MUTEX_INIT;
    k->source.bytes = bytes;
    k->text = kni_allocate(bytes + 1);
    if (!k->text) {
        kni_fail(KN_ERROR_MEMORY, "kn_kernel_compile: no memory for the text");
        release(k);
        return NULL;
    }
    memcpy(k->text, source, bytes + 1);
    size_t cut = length >= sizeof k->file ? length - sizeof k->file + 1 : 0;
    memcpy(k->file, file + cut, length - cut + 1);
    k->source.element = o && o->element ? o->element : KN_F32;
    if (check(k, o ? o->name : NULL, !(o && o->element)) && describe(k)) return k;
    release(k);
    return NULL;
}

static bool same(const kni_user_kernel *k, const kni_user_kernel *other)
{
    return k->source.bytes == other->source.bytes && k->source.element == other->source.element &&
           !strcmp(k->name, other->name) && !strcmp(k->file, other->file) &&
           !memcmp(k->text, other->text, k->source.bytes);
}

static void keep_kernel(void *object) { (void)object; }

const kni_object_kind kni_kind_user_kernel = {"kn_kernel *", "kernel", "freed", keep_kernel};

/* The handle of a kernel of the list: the one that the user has already, or a new one. */
static void *hand_out(kni_user_kernel *k)
{
    kni_lock(&lock);
    if (!k->handle) k->handle = kni_object_make(&kni_kind_user_kernel, k, "kn_kernel_compile");
    if (k->handle) k->handles++;
    void *handle = k->handle;
    kni_unlock(&lock);
    return handle;
}

kn_kernel *kn_kernel_compile(const char *source, const kn_kernel_options *options)
{
    if (!source) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_kernel_compile: the source is NULL");
        return NULL;
    }
    if (options && options->element && !kni_dtype_usable(options->element)) {
        kni_fail_dtype("kernel_compile", options->element);
        return NULL;
    }
    kni_user_kernel *k = make(source, options && options->file ? options->file : "kernel", options),
                    *found = NULL;
    if (!k) return NULL;
    static kni_life_hook hook = {.shutdown = forget_handles, .forked = forked};
    kni_life_watch(&hook);
    kni_lock(&lock);
    for (kni_user_kernel *c = compiled; c && !found; c = c->next)
        if (same(c, k)) found = c;
    if (!found && n_compiled < MAX_KERNELS) {
        make_row(k, FIRST_NUMBER + n_compiled++);
        k->next = compiled;
        compiled = found = k;
    }
    kni_unlock(&lock);
    if (found != k) release(k);
    if (!found)
        kni_fail(KN_ERROR_UNSUPPORTED, "kn_kernel_compile: more than %d different kernels",
                 (int32_t)MAX_KERNELS);
    return found ? hand_out(found) : NULL;
}

/* Only the handle ends: one kernel of each text is kept, because records and tapes that outlive the caller's use refer to it. */
void kn_kernel_free(kn_kernel *kernel)
{
    if (kernel && !kni_object_is_older(kernel)) {
        KNI_USE(user_kernel, k, kernel);
        if (!k) return;
        kni_lock(&lock);
        bool last = --k->handles == 0;
        if (last) k->handle = NULL;
        kni_unlock(&lock);
        if (!last) return;
    }
    kni_object_free(kernel, &kni_kind_user_kernel, __func__);
}
