/* The autodiff decorator: records a node for each op that a gradient can flow through, and forwards. */
#include "core/error.h"
#include "core/text.h"
#include "wrap/decorator.h"
#include "wrap/tape.h"
#include "wrap/wrap.h"
#include <kn/device.h>
#include <string.h>

static uint64_t tracked_inputs(const kn_record *r)
{
    uint64_t needs = 0;
    for (int i = 0; i < r->n_in && i < 64; i++) {
        const kni_tensor *x = kni_in(r, i);
        if (x && x->node) needs |= UINT64_C(1) << i;
    }
    return needs;
}

static bool any_float_output(const kn_record *r)
{
    for (int i = 0; i < r->n_out; i++)
        if (kni_is_float(kni_out(r, i)->type.dtype)) return true;
    return false;
}

/* Saves a param by a slot of its own, because updates replace the value in the param's slot. */
static bool save_input(kni_node *node, int i, const kn_record *r)
{
    kni_tensor *x = kni_in(r, i);
    if (x->flags & KNI_TENSOR_PARAM) {
        node->saved_in[i] = kni_node_save(x);
        return node->saved_in[i] != KNI_NO_SLOT;
    }
    kni_tensor_retain(x);
    node->saved_in[i] = r->ids[r->n_out + i];
    return true;
}

/* An output is saved by a slot outside the tape; the node would keep itself alive otherwise. */
static bool save_values(kni_node *node, const kn_record *r, const kni_saves *saves)
{
    for (int i = 0; i < r->n_in; i++)
        if ((saves->in >> (i < 63 ? i : 63) & 1) && kni_in(r, i) && !save_input(node, i, r)) return false;
    for (int i = 0; i < r->n_out; i++) {
        if (!(saves->out >> i & 1)) continue;
        node->saved_out[i] = kni_node_save(kni_out(r, i));
        if (node->saved_out[i] == KNI_NO_SLOT) return false;
    }
    return true;
}

/* The last float output gets the reference that the node was made with; there is one. */
static void attach_outputs(kni_node *node, const kn_record *r)
{
    int last = -1;
    for (int i = 0; i < r->n_out; i++) {
        if (!kni_is_float(kni_out(r, i)->type.dtype)) continue;
        if (last >= 0) kni_node_attach(node, kni_out(r, last), (uint32_t)last);
        last = i;
    }
    kni_node_hand_on(node, kni_out(r, last), (uint32_t)last);
}

static kn_status record(const kn_record *r, uint64_t needs, const kni_saves *saves)
{
    /* Its gradient runs on the stack of the call, so that decorators around the tape see it too. */
    kni_node *node = kni_node_new(kni_out(r, 0)->device, r->row, r->n_in, r->n_out, r->attributes);
    if (!node) return KN_ERROR_MEMORY;
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        if (x)
            kni_type_copy(&node->in_types[i], &x->type);
        else
            memset(&node->in_types[i], 0, sizeof node->in_types[i]);
        if ((needs >> (i < 63 ? i : 63) & 1) && x && x->node)
            kni_node_set_input(node, i, x->node, x->node_output);
    }
    for (int i = 0; i < r->n_out; i++) kni_type_copy(&node->out_types[i], &kni_out(r, i)->type);
    kn_status s = KN_OK;
    if (!save_values(node, r, saves))
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to save values for the gradient");
    if (KNI_LIKELY(s == KN_OK))
        attach_outputs(node, r);
    else
        kni_node_release_one(node);
    return s;
}

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    if (KNI_UNLIKELY(r->flags & KN_RECORD_DROP)) return kni_forward(b, r);
    const kn_op *row = r->row;
    uint64_t needs = tracked_inputs(r);
    if (needs == 0 || kni_this_thread.context.no_grad > 0 || (row->flags & KNI_FLAG_NO_GRADIENT) ||
        !any_float_output(r))
        return kni_forward(b, r);
    kni_saves saves = {0, 0};
    /* A program that is being made sees records and not what stands for them. */
    kni_lower_fn taped = kni_this_thread.context.capture ? NULL : kni_taped_of(row);
    if (KNI_UNLIKELY(taped != NULL)) return kni_lower_record_by(r, b->device, taped);
    if (kni_gradient_of(row)) {
        kn_status s = kni_saves_of(r, needs, &saves);
        if (s) return s;
        /* What the tape reads later must not be overwritten now. The record is the caller's own memory; a
           decorator may clear last uses. */
        ((kn_record *)r)->last_use &= ~saves.in;
    } else if (row->lower && !(row->flags & (KNI_FLAG_ZERO_GRADIENT | KNI_FLAG_NOT_DIFFERENTIABLE))) {
        return kni_lower_record(r, b->device);
    }
    kn_status s = kni_forward(b, r);
    return s ? s : record(r, needs, &saves);
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        kn_status s = execute_one(b, records[i]);
        if (KNI_UNLIKELY(s)) return s;
    }
    return KN_OK;
}

kn_backend *kni_autodiff_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument;
    kni_node_release = kni_node_release_one;
    kni_node_retain = kni_node_retain_one;
    return kni_decorator_new("autodiff", KN_TRAIT_TAPES | KN_TRAIT_STATELESS, inner, n_inner, execute, 0);
}

kn_device kn_device_autodiff(kn_device inner)
{
    kn_device under = inner ? kni_device_find(inner, "kn_device_autodiff") : kni_device_cpu();
    if (!under) return NULL;
    char name[sizeof under->name + 16] = "";
    kni_text text = {name, sizeof under->name, 0};
    kni_text_format(&text, "autodiff(%s)", under->name);
    kn_device again = kni_device_reopen(name, under->backend);
    if (again) return kni_device_handle(again);
    kn_backend *b = kni_autodiff_open("", &under->backend, 1);
    kn_device d = b && kni_stack_makes_sense(b, "kn_device_autodiff") ? kni_device_make(b, name) : NULL;
    if (b && !d) b->close(b);
    return d ? kni_device_opened(d) : NULL;
}
