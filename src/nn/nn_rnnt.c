/* The transducer loss: log probabilities of blanks and labels are gathered by ops, the lattice over them is an op of its own
   that walks forwards (loss) and also backwards (gradient). */
#include "core/named_call.h"
#include "core/objects.h"
#include "nn/custom_run.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/nn/losses.h>
#include <kn/nn/transducer.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* One sequence of a batch: log probabilities [steps, labels + 1] of the blank and [steps, labels] of the next label, in rows
   of the padded batch. */
typedef struct lattice {
    const kn_span *blank, *label;
    int64_t sequence, steps, labels;            /* of this sequence */
    int64_t batch, widest_steps, widest_labels; /* of the batch */
    double *alpha, *beta;                       /* [steps, labels + 1] */
} lattice;

static double real_at(const kn_span *s, int64_t i)
{
    return s->dtype == KN_F64 ? ((const double *)s->data)[i] : (double)((const float *)s->data)[i];
}

static void set_real(const kn_span *s, int64_t i, double value)
{
    if (s->dtype == KN_F64)
        ((double *)s->data)[i] = value;
    else
        ((float *)s->data)[i] = (float)value;
}

static int64_t blank_index(const lattice *l, int64_t t, int64_t u)
{
    return (l->sequence * l->widest_steps + t) * (l->widest_labels + 1) + u;
}

static int64_t label_index(const lattice *l, int64_t t, int64_t u)
{
    return (l->sequence * l->widest_steps + t) * l->widest_labels + u;
}

static double log_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    if (!(low - high > -745)) return high != high || low != low ? low + high : high;
    return high + kni_ln(1 + kni_exp(low - high));
}

/* alpha[t, u] = log of the sum over all ways from (0, 0) to (t, u); returns log of the total. */
static double walk_forwards(const lattice *l)
{
    int64_t width = l->labels + 1;
    for (int64_t t = 0; t < l->steps; t++)
        for (int64_t u = 0; u < width; u++) {
            double down = t ? l->alpha[(t - 1) * width + u] + real_at(l->blank, blank_index(l, t - 1, u)) : 0;
            double along = u ? l->alpha[t * width + u - 1] + real_at(l->label, label_index(l, t, u - 1)) : 0;
            l->alpha[t * width + u] = t && u ? log_add(down, along) : t ? down : along;
        }
    return l->alpha[l->steps * width - 1] + real_at(l->blank, blank_index(l, l->steps - 1, l->labels));
}

/* beta[t, u] = log of the sum over all ways from (t, u) to the end. */
static void walk_backwards(const lattice *l)
{
    int64_t width = l->labels + 1;
    for (int64_t t = l->steps - 1; t >= 0; t--)
        for (int64_t u = l->labels; u >= 0; u--) {
            bool down = t < l->steps - 1, along = u < l->labels;
            double a = real_at(l->blank, blank_index(l, t, u)), b = 0;
            if (down) a += l->beta[(t + 1) * width + u];
            if (along) b = l->beta[t * width + u + 1] + real_at(l->label, label_index(l, t, u));
            bool last = !down && !along;
            l->beta[t * width + u] = last || (down && !along) ? a : !down ? b : log_add(a, b);
        }
}

/* d loss / d log p of each edge: minus the part of the total that passes it. */
static void write_gradient(const lattice *l, double total, const kn_span *d_blank, const kn_span *d_label)
{
    int64_t width = l->labels + 1;
    for (int64_t t = 0; t < l->steps; t++)
        for (int64_t u = 0; u < width; u++) {
            double here = l->alpha[t * width + u] - total;
            bool end = t == l->steps - 1 && u == l->labels;
            if (end || t < l->steps - 1) {
                int64_t i = blank_index(l, t, u);
                double rest = end ? 0 : l->beta[(t + 1) * width + u];
                set_real(d_blank, i, -kni_exp(here + real_at(l->blank, i) + rest));
            }
            if (u < l->labels) {
                int64_t i = label_index(l, t, u);
                set_real(d_label, i, -kni_exp(here + real_at(l->label, i) + l->beta[t * width + u + 1]));
            }
        }
}

/* ---- the two ops: operands blank [batch, steps, labels + 1], label [batch, steps, labels], lengths i64 [batch] twice */

static kn_status check_length(int64_t length, int64_t low, int64_t high, int64_t sequence, const char *what)
{
    char text[160];
    if (length >= low && length <= high) return KN_OK;
    kni_failure(KN_ERROR_ARGUMENT,
                "kn_rnnt_loss: the %s length of sequence %lld is %lld; it must be %lld to %lld", what,
                (long long)sequence, (long long)length, (long long)low, (long long)high);
    strncpy(text, kni_failure_taken(), sizeof text - 1);
    text[sizeof text - 1] = 0;
    return kn_custom_fail(KN_ERROR_ARGUMENT, text);
}

/* losses, or d_blank and d_label: whichever is given. */
static kn_status run_batch(const kn_span *in, const kn_span *losses, const kn_span *d_blank,
                           const kn_span *d_label)
{
    lattice l = {.blank = &in[0], .label = &in[1], .batch = in[0].shape.dims[0]};
    l.widest_steps = in[0].shape.dims[1];
    l.widest_labels = in[1].shape.dims[2];
    size_t cells = (size_t)l.widest_steps * (size_t)(l.widest_labels + 1);
    if (cells > SIZE_MAX / sizeof(double) / 2)
        return kn_custom_fail(KN_ERROR_MEMORY, "kn_rnnt_loss: no memory");
    l.alpha = malloc(cells * 2 * sizeof(double) + 1);
    if (!l.alpha) return kn_custom_fail(KN_ERROR_MEMORY, "kn_rnnt_loss: no memory");
    l.beta = l.alpha + cells;
    kn_status s = KN_OK;
    for (l.sequence = 0; l.sequence < l.batch && s == KN_OK; l.sequence++) {
        l.steps = ((const int64_t *)in[2].data)[l.sequence];
        l.labels = ((const int64_t *)in[3].data)[l.sequence];
        s = check_length(l.steps, 1, l.widest_steps, l.sequence, "logit");
        if (s == KN_OK) s = check_length(l.labels, 0, l.widest_labels, l.sequence, "target");
        if (s != KN_OK) break;
        double total = walk_forwards(&l);
        if (losses) set_real(losses, l.sequence, -total);
        if (!d_blank) continue;
        walk_backwards(&l);
        write_gradient(&l, total, d_blank, d_label);
    }
    free(l.alpha);
    return s;
}

static kn_status infer_loss(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = (kn_type){in[0].dtype, KN_SHAPE(in[0].shape.dims[0])};
    return KN_OK;
}

static kn_status infer_gradient(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    out[1] = in[1];
    return KN_OK;
}

static kn_status forward_loss(void *context, const kn_span *in, const kn_span *out)
{
    (void)context;
    return run_batch(in, &out[0], NULL, NULL);
}

static kn_status forward_gradient(void *context, const kn_span *in, const kn_span *out)
{
    (void)context;
    for (int i = 0; i < 2; i++) {
        size_t bytes = out[i].dtype == KN_F64 ? 8 : 4;
        for (int32_t a = 0; a < out[i].shape.rank; a++) bytes *= (size_t)out[i].shape.dims[a];
        if (bytes) memset(out[i].data, 0, bytes);
    }
    return run_batch(in, NULL, &out[0], &out[1]);
}

static kni_custom gradient_op = {{"nn_rnnt_grad", 4, 2, infer_gradient, forward_gradient, NULL, NULL, NULL},
                                 NULL};

static kn_status gradient(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                          kn_tensor *grads)
{
    (void)context;
    (void)out;
    kn_tensor edges[2];
    kn_status s = kni_custom_run(&gradient_op, in, edges);
    kn_tensor each = kn_keep(kn_unsqueeze_dims(dy[0], KN_AXES(1, 2)));
    for (int i = 0; i < 2 && s == KN_OK; i++) grads[i] = kn_mul(edges[i], each);
    return s;
}

static kni_custom loss_op = {{"nn_rnnt_loss", 4, 1, infer_loss, forward_loss, NULL, gradient, NULL}, NULL};

/* ---- the function */

static kn_status check(kn_tensor logits, kn_tensor targets, const kn_tensor lengths[2], int64_t blank)
{
    const kn_tensor all[] = {logits, targets, lengths[0], lengths[1]};
    const char *fault = NULL;
    for (int i = 0; i < 4; i++)
        if (!kn_ok(all[i])) return kni_failure_of(all[i]);
    int64_t batch = kn_rank(logits) == 4 ? kn_size(logits, 0) : -1;
    if (batch < 0 || !kn_dtype_is_float(kn_dtype_of(logits)))
        fault = "logits must be a float tensor [batch, steps, labels + 1, classes]";
    else if (kn_rank(targets) != 2 || kn_size(targets, 0) != batch ||
             kn_size(targets, 1) != kn_size(logits, 2) - 1 || !kn_dtype_is_integer(kn_dtype_of(targets)))
        fault = "targets must be an integer tensor [batch, labels], with one label less than axis 2 of the "
                "logits";
    else if (blank < 0 || blank >= kn_size(logits, 3))
        fault = "blank is no class of the logits";
    for (int i = 0; i < 2 && !fault; i++)
        if (kn_rank(lengths[i]) != 1 || kn_size(lengths[i], 0) != batch ||
            !kn_dtype_is_integer(kn_dtype_of(lengths[i])))
            fault = "lengths must be integer tensors [batch]";
    return fault ? kni_failure(KN_ERROR_SHAPE, "kn_rnnt_loss: %s", fault) : KN_OK;
}

/* log p of the next label: [batch, steps, labels]. */
static kn_tensor label_scores(kn_tensor log_probs, kn_tensor targets, kn_tensor target_lengths)
{
    int64_t labels = kn_size(targets, 1);
    kn_shape wanted = KN_SHAPE(kn_size(log_probs, 0), kn_size(log_probs, 1), labels, 1);
    targets = kn_keep(kn_cast(targets, KN_I64));
    kn_tensor inside = kn_less(kn_arange(0, (double)labels, 1, KN_I64), kn_unsqueeze(target_lengths, 1));
    kn_tensor classes = kn_where(inside, targets, kn_zeros_like(targets));
    kn_tensor index = kn_expand(kn_unsqueeze_dims(classes, KN_AXES(1, 3)), wanted);
    return kn_squeeze(kn_gather(kn_narrow(log_probs, 2, 0, labels), 3, index), 3);
}

kn_tensor kn_rnnt_loss(kn_tensor logits, kn_tensor targets, kn_tensor logit_lengths, kn_tensor target_lengths,
                       const kn_rnnt_args *args)
{
    KNI_NAMED_CALL;
    static const kn_rnnt_args usual = {0, false, KN_REDUCTION_MEAN};
    if (!args) args = &usual;
    kn_status s = check(logits, targets, (const kn_tensor[]){logit_lengths, target_lengths}, args->blank);
    if (s != KN_OK) return kn_poison(s, NULL);
    kn_scope scope = kn_scope_begin();
    if (kn_dtype_of(logits) != KN_F64) logits = kn_cast(logits, KN_F32);
    kn_tensor log_probs = kn_keep(args->log_probs ? logits : kn_log_softmax(logits, 3));
    target_lengths = kn_keep(kn_cast(target_lengths, KN_I64));
    const kn_tensor in[] = {kn_select(log_probs, 3, args->blank),
                            label_scores(log_probs, targets, target_lengths), kn_cast(logit_lengths, KN_I64),
                            target_lengths};
    kn_tensor losses;
    kni_custom_run(&loss_op, in, &losses);
    return kn_scope_end(scope, kn_reduce_loss(losses, args->reduction));
}
