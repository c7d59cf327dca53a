/* Fits a small MLP to two interleaved spirals with the public API, and draws what it learned. */
#include <kn.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 400, HIDDEN = 32, STEPS = 1500, COLUMNS = 64, ROWS = 28, LAYERS = 3 };

typedef struct layer {
    kn_param weight, bias;
    kn_tensor weight_m, weight_v, bias_m, bias_v; /* Adam's running means, owned */
} layer;

static layer layer_make(int64_t in, int64_t out)
{
    double bound = 1.0 / (double)in;
    layer l;
    l.weight = kn_param_make(kn_random_normal(KN_SHAPE(out, in), 0, 1.4 * bound + 0.2, KN_F32));
    l.bias = kn_param_make(kn_zeros(KN_SHAPE(out), KN_F32));
    l.weight_m = kn_own(kn_zeros(KN_SHAPE(out, in), KN_F32));
    l.weight_v = kn_own(kn_zeros(KN_SHAPE(out, in), KN_F32));
    l.bias_m = kn_own(kn_zeros(KN_SHAPE(out), KN_F32));
    l.bias_v = kn_own(kn_zeros(KN_SHAPE(out), KN_F32));
    return l;
}

static void layer_drop(layer *l)
{
    kn_param_drop(&l->weight);
    kn_param_drop(&l->bias);
    kn_drop(l->weight_m);
    kn_drop(l->weight_v);
    kn_drop(l->bias_m);
    kn_drop(l->bias_v);
}

static kn_tensor forward(const layer *net, kn_tensor x)
{
    for (int i = 0; i < LAYERS; i++) {
        x = kn_linear(x, kn_value(net[i].weight), kn_value(net[i].bias));
        if (i + 1 < LAYERS) x = kn_tanh(x);
    }
    return x;
}

/* One Adam step of one param. */
static kn_status adam(kn_param *p, kn_tensor *m, kn_tensor *v, kn_tensor g, int step, double rate)
{
    double b1 = 1, b2 = 1;
    for (int i = 0; i <= step; i++) b1 *= 0.9, b2 *= 0.999;
    kn_status s = kn_assign(m, kn_add(kn_mul_scalar(*m, 0.9), kn_mul_scalar(g, 0.1)));
    if (s == KN_OK) s = kn_assign(v, kn_add(kn_mul_scalar(*v, 0.999), kn_mul_scalar(kn_square(g), 0.001)));
    if (s) return s;
    kn_tensor scale = kn_add_scalar(kn_sqrt(kn_mul_scalar(*v, 1 / (1 - b2))), 1e-8);
    kn_tensor change = kn_div(kn_mul_scalar(*m, rate / (1 - b1)), scale);
    return kn_param_set(p, kn_sub(kn_detach(kn_alias(kn_value(*p))), change));
}

static kn_status update(layer *net, kn_grads grads, int step, double rate)
{
    kn_status s = KN_OK;
    for (int i = 0; i < LAYERS && s == KN_OK; i++) {
        layer *l = &net[i];
        s = adam(&l->weight, &l->weight_m, &l->weight_v, kn_grads_get(grads, kn_value(l->weight)), step,
                 rate);
        if (s == KN_OK)
            s = adam(&l->bias, &l->bias_m, &l->bias_v, kn_grads_get(grads, kn_value(l->bias)), step, rate);
    }
    return s;
}

/* Half of the points on each arm, with a little noise. The arms are computed by Kiln itself. */
static void make_spirals(kn_tensor *points, kn_tensor *labels)
{
    kn_tensor radius = kn_keep(kn_linspace(0.08, 1, POINTS / 2, KN_F32));
    kn_tensor angle = kn_keep(kn_mul_scalar(radius, 9.5));
    kn_tensor x = kn_keep(kn_mul(radius, kn_cos(angle))), y = kn_keep(kn_mul(radius, kn_sin(angle)));
    kn_tensor first = kn_keep(kn_stack((kn_tensor[]){x, y}, 2, 1));
    kn_tensor both = kn_concat((kn_tensor[]){first, kn_neg(first)}, 2, 0);
    *points = kn_own(kn_add(both, kn_random_normal(KN_SHAPE(POINTS, 2), 0, 0.012, KN_F32)));
    *labels = kn_own(kn_concat(
        (kn_tensor[]){kn_zeros(KN_SHAPE(POINTS / 2), KN_I64), kn_ones(KN_SHAPE(POINTS / 2), KN_I64)}, 2, 0));
}

static double accuracy(const layer *net, kn_tensor points, kn_tensor labels)
{
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor right = kn_equal(kn_argmax(forward(net, points), 1, false), labels);
    double a = kn_item(kn_mean(kn_cast(right, KN_F32), KN_AXES_ALL, false));
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    return a;
}

static int draw(const layer *net, kn_tensor points, kn_tensor labels)
{
    static float grid[ROWS * COLUMNS][2], margin[ROWS * COLUMNS], at[POINTS][2];
    static int64_t label[POINTS];
    static char picture[ROWS][COLUMNS + 1];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        grid[i][0] = (float)(i % COLUMNS) / (COLUMNS - 1) * 2.4f - 1.2f;
        grid[i][1] = 1.2f - (float)(i / COLUMNS) / (ROWS - 1) * 2.4f;
    }
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor scores = kn_keep(forward(net, kn_from(grid, KN_F32, KN_SHAPE(ROWS * COLUMNS, 2))));
    kn_tensor gap = kn_sub(kn_narrow(scores, 1, 1, 1), kn_narrow(scores, 1, 0, 1));
    kn_status s = kn_read(gap, margin, sizeof margin);
    if (s == KN_OK) s = kn_read(points, at, sizeof at);
    if (s == KN_OK) s = kn_read(labels, label, sizeof label);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    if (s) return fprintf(stderr, "%s\n", kn_last_error()), 1;
    for (int i = 0; i < ROWS * COLUMNS; i++) picture[i / COLUMNS][i % COLUMNS] = margin[i] > 0 ? '.' : ' ';
    for (int i = 0; i < POINTS; i++) {
        int column = (int)((at[i][0] + 1.2f) / 2.4f * (COLUMNS - 1) + 0.5f);
        int row = (int)((1.2f - at[i][1]) / 2.4f * (ROWS - 1) + 0.5f);
        if (row >= 0 && row < ROWS && column >= 0 && column < COLUMNS)
            picture[row][column] = label[i] ? '#' : 'o';
    }
    for (int r = 0; r < ROWS; r++) printf("  %.*s\n", COLUMNS, picture[r]);
    return 0;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : STEPS;
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!device) return fprintf(stderr, "%s\n", kn_last_error()), 1;
    kn_device_use(device);
    kn_seed(device, 7);
    kn_tensor points, labels;
    kn_scope run = kn_scope_begin();
    make_spirals(&points, &labels);
    layer net[LAYERS] = {layer_make(2, HIDDEN), layer_make(HIDDEN, HIDDEN), layer_make(HIDDEN, 2)};
    kn_status s = KN_OK;
    for (int step = 0; step < steps && s == KN_OK; step++) {
        kn_scope scope = kn_scope_begin();
        kn_grads grads;
        kn_tensor loss = kn_keep(kn_cross_entropy(forward(net, points), labels, NULL));
        s = kn_backward(loss, &grads);
        if (s == KN_OK) s = update(net, grads, step, 0.01);
        if (s == KN_OK && (step % 50 == 0 || step + 1 == steps)) {
            printf("\rstep %4d of %d   loss %.4f   accuracy %5.1f %%", step + 1, steps, kn_item(loss),
                   100 * accuracy(net, points, labels));
            fflush(stdout);
        }
        kn_grads_free(grads);
        kn_scope_end(scope, KN_NONE);
    }
    printf("\n");
    if (s) fprintf(stderr, "%s\n", kn_last_error());
    double final = s ? 0 : accuracy(net, points, labels);
    if (s == KN_OK) {
        printf("final accuracy %.1f %%   (o and # are the points, dots are where the net says #)\n",
               100 * final);
        draw(net, points, labels);
    }
    for (int i = 0; i < LAYERS; i++) layer_drop(&net[i]);
    kn_drop(points);
    kn_drop(labels);
    kn_scope_end(run, KN_NONE);
    return s != KN_OK || kn_shutdown() != 0;
}
