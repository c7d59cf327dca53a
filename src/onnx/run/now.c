/* Runs ops at once. Values are on the CPU, on the session's device, or on both: ops whose operands were all made on the CPU and are
   small run there, so that arithmetic with shapes neither waits for a device nor goes through its queue. */
#include "onnx/run/now.h"
#include "core/objects.h"
#include "onnx/run/control.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/op_info.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 128, MOST_AHEAD = 1 << 16, MOST_ATTRIBUTES = 32, FEW = 8 };

static kni_now *now_of(const kni_conversion *c) { return c->state; }

void kni_now_start(kni_now *now, kni_onnx_plan *plan)
{
    now->plan = plan;
    now->device = kn_device_current();
    now->one_place = now->device == plan->host;
    now->waits = !now->one_place;
    now->ahead = now->types_alone = false;
    now->small = SMALL;
}

/* ---- where values are */

/* A tensor in another place; numbers are made there anew, which takes no memory of the device. */
static kn_tensor moved(kn_tensor t, kn_device to) { return kn_keep(kn_to(t, to)); }

/* The copy of a constant on the device, made once. */
static kn_tensor constant_on(kni_now *now, kni_stored *constant)
{
    kn_tensor found = KN_NONE;
    kni_exclusive_enter(&now->plan->lock);
    for (const kni_stored_copy *copy = constant->copies; copy && !found.bits; copy = copy->next)
        if (copy->device == now->device) found = copy->tensor;
    if (!found.bits) {
        kni_stored_copy *copy = malloc(sizeof *copy);
        if (copy) {
            *copy = (kni_stored_copy){now->device, kn_own(kn_to(constant->tensor, now->device)),
                                      constant->copies};
            found = copy->tensor;
            if (kn_ok(found))
                constant->copies = copy;
            else
                free(copy);
        }
    }
    kni_exclusive_leave(&now->plan->lock);
    return found;
}

static kn_tensor missing(kni_conversion *c, kn_tensor t)
{
    if (t.bits)
        kni_convert_fail(c, kn_error_code(t), "%s", kni_failure_taken());
    else
        kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for a value on the device");
    return KN_NONE;
}

kn_tensor kni_now_of_type(kn_dtype dtype, kn_shape shape)
{
    bool stored = kn_dtype_is_stored(dtype);
    kn_tensor t = kn_zeros(shape, stored ? KN_F32 : dtype);
    return kn_keep(stored ? kn_cast(t, dtype) : t);
}

kn_tensor kni_now_on_device(kni_conversion *c, kni_entry *e)
{
    kni_now *now = now_of(c);
    if (e->device.bits || c->status) return e->device;
    kn_tensor host = kni_entry_read(c, e, "an operand");
    if (!host.bits) return KN_NONE;
    e->device_borrowed = true;
    if (now->one_place) return e->device = host;
    kn_tensor t;
    if (e->constant && !now->types_alone) {
        t = constant_on(now, e->constant);
    } else if (now->types_alone) {
        t = kni_now_of_type(e->dtype, kn_shape_of_tensor(host));
        e->device_borrowed = false;
    } else {
        t = moved(host, now->device);
        e->device_borrowed = false;
    }
    if (!kn_ok(t)) return missing(c, t);
    return e->device = t;
}

/* The tensor is the device's, which is what ops of the device take; it is read when that is asked for. */
kni_datum kni_now_borrow(kni_conversion *c, kn_tensor t)
{
    kni_datum x;
    kni_entry *e = kni_entry_new(c, KNI_IS_TENSOR, &x);
    if (!e) return KNI_ABSENT;
    kni_entry_describe(e, t);
    kni_now *now = now_of(c);
    kn_device device = kn_device_of(t);
    if (device == now->device) {
        e->device = t;
        e->device_borrowed = true;
        if (now->one_place) e->host = t, e->host_borrowed = true;
    } else if (device == c->plan->host) {
        e->host = t;
        e->host_borrowed = true;
    } else {
        e->device = moved(t, now->device);
        if (!kn_ok(e->device)) missing(c, e->device);
        if (now->one_place) e->host = e->device, e->host_borrowed = true;
    }
    return x;
}

static bool is_known(kni_conversion *c, const kni_entry *e) { return (void)e, !now_of(c)->waits; }

static bool read_now(kni_conversion *c, kni_entry *e, const char *what)
{
    kn_tensor t = moved(e->device, c->plan->host);
    if (!kn_ok(t)) {
        kni_convert_fail(c, t.bits ? kn_error_code(t) : KN_ERROR_INTERNAL, "%s cannot be read: %s", what,
                         kni_failure_taken());
        return false;
    }
    e->host = t;
    return true;
}

static void wait_now(kni_conversion *c) { (void)!kn_sync(now_of(c)->device); }

/* ---- ops */

/* The elements of what an op without operands makes. */
static int64_t made_by(const kni_given_attribute *attributes)
{
    int64_t n = 1;
    for (const kni_given_attribute *a = attributes; a && a->name; a++) {
        if (!strcmp(a->name, "length")) n = a->one.value;
        if (!strcmp(a->name, "shape"))
            for (int32_t i = 0; i < a->n; i++)
                if (__builtin_mul_overflow(n, a->extents[i].value, &n)) return INT64_MAX;
    }
    return n;
}

static bool draws(const char *op)
{
    kn_op_info info;
    return kn_op_find(op, &info) && info.random;
}

static bool is_near(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                    const kni_given_attribute *attributes)
{
    int64_t total = 0, small = now_of(c)->small;
    if (now_of(c)->one_place) return true;
    for (int32_t i = 0; i < n_in; i++) {
        const kni_entry *e = kni_entry_of(c, in[i]);
        if (!e) continue;
        if (!e->near) return false;
        int64_t n = 1;
        for (int32_t a = 0; a < e->rank && n <= small; a++) n *= e->extents[a].value;
        total += n;
        if (total > small) return false;
    }
    return (n_in > 0 || made_by(attributes) <= small) && !draws(op);
}

static bool give_attributes(kni_conversion *c, const kni_given_attribute *attributes,
                            kn_attribute_value *values)
{
    int32_t n = 0;
    for (const kni_given_attribute *a = attributes; a && a->name; a++) {
        kn_attribute_value v = {.name = a->name, .real = a->real, .integer = a->one.value};
        if (n == MOST_ATTRIBUTES || a->n > KN_MAX_RANK) {
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                             "attribute %s of an op has %d numbers; %d are supported", a->name, a->n,
                             KN_MAX_RANK);
            return false;
        }
        if (a->kind == 0 && a->n >= 0) {
            v.list.rank = a->n;
            for (int32_t i = 0; i < a->n; i++) v.list.dims[i] = a->extents[i].value;
        }
        values[n++] = v;
    }
    values[n] = (kn_attribute_value){0};
    return true;
}

static bool give_operands(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in, bool near,
                          kn_tensor *operands)
{
    for (int32_t i = 0; i < n_in; i++) {
        kni_entry *e = kni_entry_of(c, in[i]);
        operands[i] = KN_NONE;
        if (!e) continue;
        if (e->kind != KNI_IS_TENSOR)
            kni_convert_fail(c, KN_ERROR_DTYPE, "operand %d of '%s' is not a tensor of numbers", i, op);
        if (c->status) return false;
        operands[i] = near ? kni_entry_read(c, e, "an operand") : kni_now_on_device(c, e);
    }
    return !c->status;
}

static void take_results(kni_conversion *c, kn_tensor *results, int32_t n_out, bool near, kni_datum *out)
{
    bool one_place = now_of(c)->one_place;
    for (int32_t k = 0; k < n_out; k++) {
        kni_entry *e = kni_entry_new(c, KNI_IS_TENSOR, &out[k]);
        if (!e) {
            kn_drop(results[k]);
            continue;
        }
        kni_entry_describe(e, results[k]);
        kn_tensor t = kn_keep(results[k]);
        e->near = near;
        if (near || one_place)
            e->host = t;
        else
            e->device = t;
    }
}

void kni_now_emit(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                  const kni_given_attribute *attributes, kni_datum *out, int32_t n_out)
{
    kn_attribute_value values[MOST_ATTRIBUTES + 1];
    kn_tensor few_operands[FEW], few_results[FEW] = {{0}}, *operands = few_operands, *results = few_results;
    kni_now *now = now_of(c);
    if (n_in > FEW) operands = kni_convert_memory(c, (size_t)n_in, sizeof *operands);
    if (n_out > FEW) results = kni_convert_memory(c, (size_t)n_out, sizeof *results);
    if (now->ahead && !now->types_alone && n_in == 0 && made_by(attributes) > MOST_AHEAD)
        kni_convert_fail(c, KN_ERROR_MEMORY, "too large to be made before a run");
    bool near = is_near(c, op, in, n_in, attributes);
    if (c->status || !give_attributes(c, attributes, values) ||
        !give_operands(c, op, in, n_in, near || now->one_place, operands))
        return;
    bool elsewhere = near && n_in == 0 && !now->one_place;
    if (elsewhere) kn_device_use(c->plan->host);
    kn_status s = kn_call(op, operands, n_in, attributes ? values : NULL, results, n_out);
    if (elsewhere) kn_device_use(now->device);
    if (s)
        kni_convert_fail(c, s, "%s", kni_failure_taken());
    else
        take_results(c, results, n_out, near, out);
}

const kni_onnx_target kni_target_now = {
    .now = true,
    .emit = kni_now_emit,
    .is_known = is_known,
    .read = read_now,
    .wait = wait_now,
    .branch = kni_now_branch,
    .loop = kni_now_loop,
    .scan = kni_now_scan,
};
