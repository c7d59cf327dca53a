/* Params that get values of other stacks: kn_param_set over every ordered pair of devices, with values that are still queued,
   that were computed and that fail. */
#include "support/check.h"

static const char *const names[] = {"cpu",
                                    "fusion(cpu)",
                                    "autodiff(cpu)",
                                    "autodiff(fusion(cpu))",
                                    "nan(fusion(cpu))",
                                    "trace(fusion(cpu))",
                                    "profile(autodiff(fusion(cpu)))",
                                    "check(cpu,ref)",
                                    "ref",
                                    "fusion(ref)",
                                    "autodiff(ref)",
                                    "null",
                                    "fusion(null)"};
enum { NAMES = sizeof names / sizeof *names };

static kn_device devices[NAMES];

static const char *leaf(int i)
{
    return strstr(names[i], "cpu") ? "cpu" : strstr(names[i], "ref") ? "ref" : "null";
}

static kn_tensor make(kn_device device, float first)
{
    kn_device_use(device);
    float data[3] = {first, first + 1, first + 2};
    return kn_from(data, KN_F32, KN_SHAPE(3));
}

/* `turn`: a value that is queued, one that is a view of it, one that another param has, one that was read before. */
static kn_tensor value_of(int from, int turn, kn_param *other)
{
    kn_tensor v = kn_add_scalar(make(devices[from], 1), 1);
    if (turn == 1)
        v = kn_flip(kn_narrow(kn_concat((kn_tensor[]){v, make(devices[from], 7)}, 2, 0), 0, 0, 3),
                    KN_AXES(0));
    if (turn == 2) {
        *other = kn_param_make(v);
        v = kn_value(*other);
    }
    float back[3];
    if (turn == 3) CHECK(kn_read(v = kn_keep(v), back, sizeof back) == KN_OK);
    return v;
}

static void pair(int to, int from, int turn)
{
    kn_scope scope = kn_scope_begin();
    kn_param p = kn_param_make(make(devices[to], 0)), other = {KN_NONE};
    kn_tensor v = value_of(from, turn, &other);
    bool same = !strcmp(leaf(to), leaf(from));
    kn_status s = kn_param_set(&p, v);
    if (!CHECK((s == KN_OK) == same))
        printf("%s gets a value of %s: %s\n", names[to], names[from], kn_last_error());
    kn_device_use(devices[to]);
    if (s == KN_OK && strcmp(leaf(to), "null")) {
        /* As an operand, read, as a view, and after the other stack went on. */
        float y[3], raw[3], row[3];
        bool good = kn_read(kn_mul_scalar(kn_value(p), 2), y, sizeof y) == KN_OK &&
                    kn_read(kn_value(p), raw, sizeof raw) == KN_OK &&
                    kn_read(kn_reshape(kn_value(p), KN_SHAPE(3, 1)), row, sizeof row) == KN_OK;
        for (int i = 0; i < 3 && good; i++) {
            float want = (float)(turn == 1 ? 4 - i : 2 + i);
            good = raw[i] == want && y[i] == 2 * want && row[i] == want;
        }
        if (!CHECK(good)) printf("%s with a value of %s, turn %d\n", names[to], names[from], turn);
    }
    kn_param_drop(&p);
    if (other.handle.bits) kn_param_drop(&other);
    kn_scope_end(scope, KN_NONE);
}

/* A queued value that cannot be computed is an error of the set on another stack; the param stays as it was. */
static void failing_value(int to)
{
    kn_device fused = devices[1];
    kn_scope scope = kn_scope_begin();
    kn_param p = kn_param_make(make(devices[to], 0));
    kn_tensor x = make(fused, 1), index = kn_from((int64_t[]){0, 99, 1}, KN_I64, KN_SHAPE(3));
    CHECK_ERROR(kn_param_set(&p, kn_index_select(x, 0, index)), "99");
    CHECK_VALUES(kn_value(p), 0, 0, 1, 2);
    kn_param_drop(&p);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    for (int i = 0; i < NAMES; i++) CHECK((devices[i] = kn_device_open(names[i])) != NULL);
    for (int to = 0; to < NAMES; to++)
        for (int from = 0; from < NAMES; from++)
            for (int turn = 0; turn < 4; turn++) pair(to, from, turn);
    failing_value(0);
    failing_value(2);
    failing_value(3);
    return check_report();
}
