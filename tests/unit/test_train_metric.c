/* Metrics against scikit-learn, torchmetrics and PyTorch (tests/train/metric_values.py), fed in parts, saved and loaded between
   them; metrics of the run and the system; wrong use. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/train.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "../train/metric_values.inc"

typedef enum Kind { SCORES, BINARY, LABELS, TEXT, SHORT_TEXT, IMAGES, LARGE_IMAGES } Kind;

static double value_of(const char *name)
{
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strcmp(expected[i].name, name)) return expected[i].value;
    printf("no value %s\n", name);
    return NAN;
}

/* ---- parts of the data */

static kn_tensor rows(const void *data, kn_dtype dtype, int64_t begin, int64_t n, int64_t columns)
{
    size_t width = columns ? (size_t)columns : 1;
    const char *at = (const char *)data + (size_t)begin * width * 8;
    return kn_from(at, dtype, columns ? KN_SHAPE(n, columns) : KN_SHAPE(n));
}

/* The numbers of tests/train/metric_values.py. */
static kn_tensor image(int seed, kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; v && i < n; i++) v[i] = (double)((i * 7919 + seed * 104729) % 1009) / 1009;
    kn_tensor t = kn_from(v, KN_F64, shape);
    free(v);
    return t;
}

static kn_step_output images(kn_shape shape, int part, int parts)
{
    int64_t n = shape.dims[0] / parts;
    kn_tensor x = kn_keep(image(1, shape));
    kn_tensor y = kn_add(kn_mul_scalar(x, 0.75), kn_mul_scalar(image(2, shape), 0.25));
    return (kn_step_output){.scores = kn_keep(kn_narrow(y, 0, part * n, n)),
                            .targets = kn_keep(kn_narrow(x, 0, part * n, n))};
}

/* Guesses whose last two tokens are cut off. */
static kn_tensor shortened(int64_t begin, int64_t n)
{
    int64_t cut[BATCH * (LENGTH + 2)], width = LENGTH + 2;
    for (int64_t i = 0; i < n; i++) {
        int64_t *row = cut + i * width, length = 0;
        memcpy(row, said_data + (begin + i) * width, (size_t)width * sizeof *row);
        while (length < width && row[length] != -1) length++;
        row[length - 1] = row[length - 2] = -1;
    }
    return kn_from(cut, KN_I64, KN_SHAPE(n, width));
}

enum { PARTS = 4 };

/* Part `part` of the data of a kind; the number of parts divides the rows. */
static kn_step_output output_of(Kind kind, int part, int parts)
{
    int64_t n = N / parts, begin = part * n, m = BATCH / parts, first = part * m;
    kn_step_output o = {0};
    switch (kind) {
    case SCORES:
        o.scores = kn_keep(rows(scores_data, KN_F64, begin, n, CLASSES));
        o.targets = kn_keep(rows(targets_data, KN_I64, begin, n, 0));
        break;
    case BINARY:
        o.scores = kn_keep(rows(binary_data, KN_F64, begin, n, 0));
        o.targets = kn_keep(rows(labels_data, KN_I64, begin, n, 0));
        break;
    case LABELS:
        o.scores = kn_keep(rows(many_data, KN_F64, begin, n, CLASSES));
        o.targets = kn_keep(rows(marks_data, KN_I64, begin, n, CLASSES));
        break;
    case TEXT:
    case SHORT_TEXT:
        o.scores =
            kn_keep(kind == TEXT ? rows(said_data, KN_I64, first, m, LENGTH + 2) : shortened(first, m));
        o.targets = kn_keep(rows(wanted_data, KN_I64, first, m, LENGTH));
        break;
    case IMAGES:
        o = images(KN_SHAPE(3, 2, 20, 17), part, parts);
        break;
    case LARGE_IMAGES:
        o = images(KN_SHAPE(2, 2, 176, 192), part, parts);
        break;
    }
    return o;
}

static int parts_of(Kind kind) { return kind == IMAGES ? 3 : kind == LARGE_IMAGES ? 2 : PARTS; }

/* Feeds all parts; after the first, a twin goes on from the saved sums. Both must come to the value, and the twin to the same
   bits. */
static void check_metric(const char *name, Kind kind, kn_metric metric, kn_metric twin, double tolerance)
{
    double want = value_of(name), step = NAN, mean = NAN, twin_mean = NAN;
    bool good = metric && twin;
    kn_state state = kn_state_make();
    for (int part = 0; part < parts_of(kind) && good; part++) {
        kn_scope scope = kn_scope_begin();
        kn_step_output o = output_of(kind, part, parts_of(kind));
        good = kn_metric_update(metric, &o, NULL, &step, &mean) == KN_OK;
        if (part == 0)
            good = good && kn_metric_save(metric, state, "m/") == KN_OK &&
                   kn_metric_load(twin, state, "m/") == KN_OK && kn_metric_value(twin) == mean;
        else
            good = good && kn_metric_update(twin, &o, NULL, &step, &twin_mean) == KN_OK;
        kn_scope_end(scope, KN_NONE);
        if (!good) printf("%s: part %d: %s\n", name, part, kn_last_error());
    }
    double got = good ? kn_metric_value(metric) : NAN;
    if (!(fabs(got - want) <= tolerance)) printf("%s is %.17g, not %.17g\n", name, got, want);
    CHECK(fabs(got - want) <= tolerance);
    CHECK(good && kn_metric_value(twin) == got && mean == twin_mean);
    if (good) kn_metric_reset(metric);
    CHECK(isnan(kn_metric_value(metric)));
    kn_state_free(state);
    kn_metric_free(metric);
    kn_metric_free(twin);
}

#define METRIC(name, kind, make) check_metric(name, kind, make, make, 1e-12)
/* torchmetrics computes in f32, pytorch-msssim has its window in f32. */
#define METRIC_F32(name, kind, make) check_metric(name, kind, make, make, 2e-7)

static void classification(void)
{
    METRIC("accuracy", SCORES, kn_metric_accuracy(-1));
    METRIC("accuracy_ignoring_2", SCORES, kn_metric_accuracy(2));
    METRIC("top_2_accuracy", SCORES, kn_metric_top_k_accuracy(2, -1));
    METRIC("accuracy_binary", BINARY, kn_metric_accuracy(-1));
    METRIC("perplexity", SCORES, kn_metric_perplexity(-1));
    METRIC("perplexity_ignoring_2", SCORES, kn_metric_perplexity(2));
    METRIC("hamming", LABELS, kn_metric_hamming(0));
    METRIC("auroc", BINARY, kn_metric_auroc());
    METRIC("auc_pr", BINARY, kn_metric_auc_pr());
    METRIC("auroc_labels", LABELS, kn_metric_auroc());
    METRIC("auc_pr_labels", LABELS, kn_metric_auc_pr());
    METRIC("auroc_classes", SCORES, kn_metric_auroc());
    METRIC("dice", LABELS, kn_metric_dice());
}

static void confusion(void)
{
    static const struct {
        const char *tail;
        Kind kind;
        int32_t top_k;
    } rows_of[] = {{"", SCORES, 0}, {"_top_2", SCORES, 2}, {"_labels", LABELS, 0}, {"_binary", BINARY, 0}};
    for (int i = 0; i < 4; i++)
        for (int macro = 0; macro < 2; macro++) {
            kn_decision d = {.top_k = rows_of[i].top_k, .reduction = (kn_class_reduction)macro};
            char name[64];
            const char *end = macro ? "macro" : "micro", *tail = rows_of[i].tail;
            snprintf(name, sizeof name, "precision%s_%s", tail, end);
            METRIC(name, rows_of[i].kind, kn_metric_precision(&d));
            snprintf(name, sizeof name, "recall%s_%s", tail, end);
            METRIC(name, rows_of[i].kind, kn_metric_recall(&d));
            snprintf(name, sizeof name, "f1%s_%s", tail, end);
            METRIC(name, rows_of[i].kind, kn_metric_f_beta(1, &d));
            snprintf(name, sizeof name, "f2%s_%s", tail, end);
            METRIC(name, rows_of[i].kind, kn_metric_f_beta(2, &d));
        }
}

static void text(void)
{
    METRIC_F32("char_error_rate", TEXT, kn_metric_char_error_rate(-1));
    METRIC_F32("word_error_rate", TEXT, kn_metric_word_error_rate(-1, 0));
    METRIC_F32("bleu", TEXT, kn_metric_bleu(0, -1, false));
    METRIC_F32("bleu_2", TEXT, kn_metric_bleu(2, -1, false));
    METRIC_F32("bleu_smooth", TEXT, kn_metric_bleu(4, -1, true));
    METRIC_F32("bleu_short", SHORT_TEXT, kn_metric_bleu(4, -1, false));
    METRIC("rouge_l", TEXT, kn_metric_rouge_l(-1));
}

static void pictures(void)
{
    METRIC("psnr", IMAGES, kn_metric_psnr(0));
    METRIC_F32("ssim", IMAGES, kn_metric_ssim(0));
    METRIC_F32("ms_ssim", LARGE_IMAGES, kn_metric_ms_ssim(0));
    double x[2 * 2] = {0.2, 0.4, 0.6, 0.8}, value, mean;
    kn_metric m = kn_metric_psnr(0);
    kn_step_output same = {.scores = kn_keep(kn_from(x, KN_F64, KN_SHAPE(1, 1, 2, 2)))};
    same.targets = same.scores;
    CHECK(kn_metric_update(m, &same, NULL, &value, &mean) == KN_OK && fabs(value - 100) < 1e-9);
    kn_metric_free(m);
}

/* ---- shapes */

/* One positive class: F1 counts it alone; two columns of scores are two classes, and their micro F1 is the accuracy. */
static void one_positive_class(void)
{
    const double scores[] = {0.9, 0.2, 0.8, 0.1, 0.3},
                 pairs[] = {0.1, 0.9, 0.8, 0.2, 0.2, 0.8, 0.9, 0.1, 0.7, 0.3};
    const int64_t targets[] = {1, 0, 0, 1, 0};
    kn_step_output one = {.scores = kn_keep(kn_from(scores, KN_F64, KN_SHAPE(5))),
                          .targets = kn_keep(kn_from(targets, KN_I64, KN_SHAPE(5)))};
    kn_step_output two = {.scores = kn_keep(kn_from(pairs, KN_F64, KN_SHAPE(5, 2))), .targets = one.targets};
    double value, mean;
    kn_metric m = kn_metric_f_beta(1, NULL);
    CHECK(kn_metric_update(m, &one, NULL, &value, &mean) == KN_OK && fabs(value - 0.5) < 1e-12);
    kn_metric_reset(m);
    CHECK(kn_metric_update(m, &two, NULL, &value, &mean) == KN_OK && fabs(value - 0.6) < 1e-12);
    kn_metric_free(m);
}

/* Classes on axis 1, as segmentation has them, are the same as on the last axis. */
static void axes_of_classes(void)
{
    double value, other, mean;
    kn_tensor scores = kn_keep(image(3, KN_SHAPE(2, 4, 5, 3))); /* [batch, height, width, classes] */
    kn_tensor targets = kn_keep(kn_cast(kn_mul_scalar(image(4, KN_SHAPE(2, 4, 5)), 2.999), KN_I64));
    kn_tensor second = kn_keep(kn_movedim(scores, KN_INTS(3), KN_INTS(1)));
    kn_metric m = kn_metric_accuracy(-1);
    kn_step_output last = {.scores = scores, .targets = targets},
                   one = {.scores = second, .targets = targets};
    CHECK(kn_metric_update(m, &last, NULL, &value, &mean) == KN_OK);
    CHECK(kn_metric_update(m, &one, NULL, &other, &mean) == KN_OK);
    CHECK(value == other && mean == value && value > 0 && value < 1);
    kn_step_output wrong = {.scores = scores, .targets = scores};
    wrong.targets = kn_keep(kn_zeros(KN_SHAPE(7), KN_I64));
    CHECK_ERROR(kn_metric_update(m, &wrong, NULL, &value, &mean), "one axis of classes more");
    wrong.targets = KN_NONE;
    CHECK_ERROR(kn_metric_update(m, &wrong, NULL, &value, &mean), "no scores or no targets");
    kn_metric_free(m);
    /* Two classes are ranked by their difference: logits and probabilities agree. */
    double pairs[] = {0, 1, 3, 1, 0.5, 1, 9, 10, 2, 2, 1, 4, 5, 4, 0, 0.5};
    int64_t truth[] = {1, 0, 0, 1, 0, 1, 1, 0};
    kn_metric a = kn_metric_auroc(), b = kn_metric_auroc();
    kn_tensor logits = kn_keep(kn_from(pairs, KN_F64, KN_SHAPE(8, 2)));
    kn_tensor labels = kn_keep(kn_from(truth, KN_I64, KN_SHAPE(8)));
    kn_step_output raw = {.scores = logits, .targets = labels};
    kn_step_output soft = {.scores = kn_keep(kn_narrow(kn_softmax(logits, 1), 1, 1, 1)), .targets = labels};
    CHECK(kn_metric_update(a, &raw, NULL, &value, &mean) == KN_OK);
    CHECK(kn_metric_update(b, &soft, NULL, &other, &mean) == KN_OK);
    CHECK(value == other && value == 13.0 / 16); /* 4 + 4 + 4 + 1 of 16 pairs are in order */
    kn_metric_free(a);
    kn_metric_free(b);
}

/* Updates borrow: a temporary is still there for the next metric. Nothing goes onto a tape. */
static void updates_borrow(void)
{
    kn_metric m = kn_metric_loss();
    double value, mean;
    kn_tensor loss = kn_mul_scalar(kn_scalar(1, KN_F32), 3);
    kn_step_output o = {.loss = loss};
    kn_metric_context c = {.items = 4};
    CHECK(kn_metric_update(m, &o, &c, &value, &mean) == KN_OK && value == 3);
    CHECK(kn_metric_update(m, &o, &c, &value, &mean) == KN_OK && mean == 3);
    kn_drop(loss);
    /* The mean is over items, not over steps. */
    o.loss = kn_keep(kn_scalar(9, KN_F32));
    c.items = 16;
    CHECK(kn_metric_update(m, &o, &c, &value, &mean) == KN_OK && mean == (3.0 * 8 + 9 * 16) / 24);
    o.loss = kn_keep(kn_zeros(KN_SHAPE(2), KN_F32));
    CHECK_ERROR(kn_metric_update(m, &o, &c, &value, &mean), "2 elements instead of one");
    kn_metric_free(m);
}

/* An epoch with a batch that is not a number is not a number; the next one is. */
static void nan_stays(void)
{
    kn_metric m = kn_metric_loss();
    static const double losses[] = {2, NAN, 4};
    double value, mean;
    for (int i = 0; i < 3; i++) {
        kn_step_output o = {.loss = kn_keep(kn_scalar(losses[i], KN_F32))};
        CHECK(kn_metric_update(m, &o, NULL, &value, &mean) == KN_OK && isnan(mean) == (i > 0));
    }
    CHECK(isnan(kn_metric_value(m)));
    kn_metric_reset(m);
    kn_step_output o = {.loss = kn_keep(kn_scalar(4, KN_F32))};
    CHECK(kn_metric_update(m, &o, NULL, &value, &mean) == KN_OK && mean == 4);
    kn_metric_free(m);
}

static void no_columns(void)
{
    kn_metric all[] = {kn_metric_auroc(), kn_metric_auc_pr()};
    double value, mean;
    for (int i = 0; i < 2; i++) {
        kn_step_output o = {.scores = kn_keep(kn_zeros(KN_SHAPE(4, 0), KN_F32)),
                            .targets = kn_keep(kn_zeros(KN_SHAPE(4), KN_I64))};
        CHECK_ERROR(kn_metric_update(all[i], &o, NULL, &value, &mean), "0 columns");
        o.targets = kn_keep(kn_zeros(KN_SHAPE(4, 0), KN_I64));
        CHECK_ERROR(kn_metric_update(all[i], &o, NULL, &value, &mean), "0 columns");
        kn_metric_free(all[i]);
    }
}

static void many_steps_of_curves(void)
{
    kn_metric m = kn_metric_auroc();
    double value, mean;
    for (int i = 0; i < 300; i++) {
        kn_scope scope = kn_scope_begin();
        kn_step_output o = output_of(BINARY, i % PARTS, PARTS);
        CHECK(kn_metric_update(m, &o, NULL, &value, &mean) == KN_OK);
        CHECK(i < 8 || fabs(mean - value_of("auroc")) < 0.2); /* the running mean may lag behind */
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(fabs(kn_metric_value(m) - value_of("auroc")) < 1e-12); /* the final one is exact */
    kn_metric_free(m);
}

/* ---- the run and the system */

static void run_metrics(void)
{
    kn_metric_context c = {.lr = 0.25, .seconds = 0.5, .grad_norm = 3};
    kn_step_output o = {0};
    double value, mean;
    kn_metric rate = kn_metric_learning_rate(), norm = kn_metric_grad_norm(),
              speed = kn_metric_iteration_speed();
    CHECK(kn_metric_update(rate, &o, &c, &value, &mean) == KN_OK && value == 0.25);
    CHECK(kn_metric_update(norm, &o, &c, &value, &mean) == KN_OK && value == 3);
    CHECK(kn_metric_update(speed, &o, &c, &value, &mean) == KN_OK && value == 2);
    c = (kn_metric_context){.lr = 0.125, .seconds = 0.1, .grad_norm = NAN};
    CHECK(kn_metric_update(rate, &o, &c, &value, &mean) == KN_OK && mean == 0.125);
    CHECK(kn_metric_update(norm, &o, &c, &value, &mean) == KN_OK && isnan(value) && mean == 3);
    CHECK(kn_metric_update(speed, &o, &c, &value, &mean) == KN_OK && fabs(mean - 2 / 0.6) < 1e-12);
    kn_metric_free(rate);
    kn_metric_free(norm);
    kn_metric_free(speed);
}

static void system_metrics(void)
{
    kn_metric all[] = {kn_metric_cpu_use(), kn_metric_cpu_memory(), kn_metric_cpu_temperature(),
                       kn_metric_gpu_use(), kn_metric_gpu_memory()};
    static const double low[] = {0, 1e-4, -50, 0, 0}, high[] = {1, 1000, 150, 1, 10000};
    kn_step_output o = {0};
    for (int i = 0; i < 5; i++) {
        double value = 0, mean = 0;
        if (!CHECK(all[i] != NULL)) continue;
        CHECK(kn_metric_update(all[i], &o, NULL, &value, &mean) == KN_OK);
        if (i == 0) { /* the first look begins, the next one knows */
            CHECK(isnan(value) && isnan(mean));
            nanosleep(&(struct timespec){0, 300000000}, NULL);
            CHECK(kn_metric_update(all[i], &o, NULL, &value, &mean) == KN_OK && mean == value);
        }
        CHECK((isnan(value) && i > 1) || (value >= low[i] && value <= high[i]));
        kn_metric_free(all[i]);
    }
}

/* ---- names, texts, wrong use */

static void names_and_texts(void)
{
    static const struct {
        const char *name, *text;
    } want[] = {{"accuracy", "87.50 %"},
                {"top_5_accuracy", "87.50 %"},
                {"precision_top_3_macro", "87.50 %"},
                {"f0.5", "87.50 %"},
                {"loss", "0.875"},
                {"psnr", "0.875 dB"}};
    kn_metric all[] = {kn_metric_accuracy(-1),
                       kn_metric_top_k_accuracy(5, -1),
                       kn_metric_precision(&(kn_decision){.top_k = 3, .reduction = KN_CLASS_MACRO}),
                       kn_metric_f_beta(0.5, NULL),
                       kn_metric_loss(),
                       kn_metric_psnr(255)};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        char text_of[40];
        CHECK(!strcmp(kn_metric_name(all[i]), want[i].name));
        CHECK(kn_metric_format(all[i], 0.875, text_of, sizeof text_of) == strlen(want[i].text));
        CHECK(!strcmp(text_of, want[i].text));
        CHECK(kn_metric_higher_is_better(all[i]) == (i != 4));
        kn_metric_free(all[i]);
    }
    CHECK(kn_metric_top_k_accuracy(0, -1) == NULL && strstr(kn_last_error(), "at least 1"));
    CHECK(kn_metric_f_beta(0, NULL) == NULL && kn_metric_bleu(17, 0, false) == NULL);
    CHECK(kn_metric_psnr(-1) == NULL && kn_metric_make(NULL, NULL) == NULL);
    CHECK(isnan(kn_metric_value(NULL)));
    kn_metric m = kn_metric_ms_ssim(0);
    double value, mean;
    kn_step_output o = images(KN_SHAPE(3, 2, 20, 17), 0, 3);
    CHECK_ERROR(kn_metric_update(m, &o, NULL, &value, &mean), "at least 161 x 161");
    kn_metric_free(m);
    m = kn_metric_recall(NULL);
    kn_tensor scores = kn_keep(kn_zeros(KN_SHAPE(2, 3), KN_F32));
    int64_t beyond[] = {1, 3};
    o = (kn_step_output){.scores = scores, .targets = kn_keep(kn_from(beyond, KN_I64, KN_SHAPE(2)))};
    CHECK_ERROR(kn_metric_update(m, &o, NULL, &value, &mean), "target 3 of 3 classes");
    kn_metric_free(m);
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {classification, one_positive_class, confusion,      text,
                                   pictures,       axes_of_classes,    updates_borrow, many_steps_of_curves,
                                   nan_stays,      no_columns,         run_metrics,    system_metrics,
                                   names_and_texts};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_memory_stats().tensors_now == 0);
    return check_report();
}
