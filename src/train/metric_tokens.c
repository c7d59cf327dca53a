/* Sequences of token ids: reading them, their edit distance and their longest common subsequence. */
#include "train/metric_tokens.h"
#include "support/failure.h"
#include "train/metric_scores.h"
#include <kn/reduce.h>
#include <kn/tensor.h>
#include <stdlib.h>

/* Moves the ids that are not padding to the front. */
static kni_tokens without_padding(int64_t *ids, int64_t n, int64_t pad)
{
    kni_tokens t = {ids, 0};
    for (int64_t i = 0; i < n; i++)
        if (ids[i] != pad) ids[t.n++] = ids[i];
    return t;
}

kn_status kni_tokens_each(const kn_step_output *output, const char *name, int64_t pad, kni_tokens_fn fn,
                          void *context)
{
    kn_tensor scores = output->scores, targets = output->targets;
    if (!scores.bits || !targets.bits)
        return kni_failure(KN_ERROR_ARGUMENT, "metric %s: the step returned no scores or no targets", name);
    if (kn_rank(scores) == 3) scores = kn_keep(kn_argmax(scores, 2, false));
    if (kn_rank(scores) != 2 || kn_rank(targets) != 2 || kn_size(scores, 0) != kn_size(targets, 0))
        return kni_failure(KN_ERROR_SHAPE,
                           "metric %s: scores want ids [batch, length] or class scores [batch, length, "
                           "classes], targets ids [batch, length]",
                           name);
    int64_t batch = kn_size(scores, 0), said = kn_size(scores, 1), wanted = kn_size(targets, 1);
    int64_t *a = kni_read_new(scores, KN_I64), *b = a ? kni_read_new(targets, KN_I64) : NULL;
    kn_status status = b ? KN_OK : KN_ERROR_HANDLE;
    for (int64_t i = 0; i < batch && !status; i++)
        status = fn(context, without_padding(a + i * said, said, pad),
                    without_padding(b + i * wanted, wanted, pad));
    free(a);
    free(b);
    return status;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t kni_tokens_distance(kni_tokens a, kni_tokens b)
{
    int64_t *row = malloc((size_t)(b.n + 1) * sizeof *row);
    if (!row) return -1;
    for (int64_t j = 0; j <= b.n; j++) row[j] = j;
    for (int64_t i = 1; i <= a.n; i++) {
        int64_t diagonal = row[0];
        row[0] = i;
        for (int64_t j = 1; j <= b.n; j++) {
            int64_t replaced = diagonal + (a.ids[i - 1] != b.ids[j - 1]);
            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    int64_t distance = row[b.n];
    free(row);
    return distance;
}

int64_t kni_tokens_common(kni_tokens a, kni_tokens b)
{
    int64_t *row = calloc((size_t)(b.n + 1), sizeof *row);
    if (!row) return -1;
    for (int64_t i = 1; i <= a.n; i++) {
        int64_t diagonal = 0;
        for (int64_t j = 1; j <= b.n; j++) {
            int64_t extended = diagonal + 1;
            diagonal = row[j];
            if (a.ids[i - 1] == b.ids[j - 1])
                row[j] = extended;
            else if (row[j - 1] > row[j])
                row[j] = row[j - 1];
        }
    }
    int64_t length = row[b.n];
    free(row);
    return length;
}
