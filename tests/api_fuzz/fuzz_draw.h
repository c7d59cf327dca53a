/* Drawing operands and arguments by their type and name: mostly such as fit each other, some that no function takes. */
#ifndef FUZZ_DRAW_H
#define FUZZ_DRAW_H

#include "fuzz_world.h"

/* What the name of an operand tells about it. */
typedef struct habit {
    const char *name;
    int none;  /* percent that are left out */
    int whole; /* percent that are indices */
    int truth; /* percent that are bool */
    int line;  /* percent of rank 1 */
} habit;

static const habit habits[] = {{"bias", 40, 0, 0, 90},
                               {"b", 5, 0, 0, 30},
                               {"weight", 30, 0, 0, 70},
                               {"weights", 50, 0, 0, 60},
                               {"mask", 15, 0, 85, 0},
                               {"condition", 0, 0, 90, 0},
                               {"indices", 0, 90, 0, 40},
                               {"index", 0, 90, 0, 0},
                               {"target", 0, 40, 0, 30},
                               {"targets", 0, 80, 0, 0},
                               {"input_lengths", 0, 90, 0, 90},
                               {"target_lengths", 0, 90, 0, 90},
                               {"low", 30, 0, 0, 0},
                               {"high", 30, 0, 0, 0},
                               {"scale", 50, 0, 0, 0},
                               {"pos_weight", 60, 0, 0, 40},
                               {"window", 60, 0, 0, 90},
                               {"imag", 40, 0, 0, 0},
                               {"mean", 0, 0, 0, 90},
                               {"variance", 0, 0, 0, 90},
                               {"cosines", 50, 0, 0, 0},
                               {"sines", 50, 0, 0, 0}};

static habit habit_of(const char *name)
{
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        if (!strcmp(habits[i].name, name)) return habits[i];
    return (habit){.name = name};
}

static int64_t draw_side(world *w)
{
    if (chance(w, 75)) return w->side;
    if (w->strange && chance(w, 2)) return below(w, 300);
    return chance(w, 50) ? 1 : below(w, w->side + 3);
}

static kn_shape draw_shape(world *w, int line)
{
    kn_shape s = {.rank = chance(w, line) ? 1 : chance(w, 60) ? w->rank : (int32_t)below(w, 6)};
    if (w->strange && chance(w, 3)) s.rank = (int32_t)below(w, KN_MAX_RANK + 1);
    int64_t count = 1;
    for (int32_t i = 0; i < s.rank; i++) {
        s.dims[i] = count > 20000 ? 1 : draw_side(w);
        count *= s.dims[i];
    }
    return s;
}

static kn_dtype draw_dtype(world *w, const habit *h)
{
    if (chance(w, h->whole)) return chance(w, 80) ? KN_I64 : all_dtypes[4 + below(w, 8)];
    if (chance(w, h->truth)) return KN_BOOL;
    return chance(w, 75) ? w->dtype : all_dtypes[below(w, N_DTYPES)];
}

static void say_shape(world *w, const kn_shape *s)
{
    say(w, "[");
    for (int i = 0; i < s->rank && i < KN_MAX_RANK; i++)
        say(w, "%s%lld", i ? ", " : "", (long long)s->dims[i]);
    say(w, "]");
}

static void release_wrapped(void *context) { free(context); }

/* A tensor from host memory; some are wrapped, in a block with other strides. */
static kn_tensor make_tensor(world *w, const habit *h)
{
    kn_shape s = draw_shape(w, h->line);
    kn_dtype dtype = draw_dtype(w, h);
    int64_t n = 1, strides[KN_MAX_RANK];
    bool turned = chance(w, 15), wrapped = turned || chance(w, 10);
    for (int32_t i = 0; i < s.rank; i++) n *= s.dims[i];
    int64_t step = 1;
    for (int32_t k = 0; k < s.rank; k++) {
        int32_t i = turned ? k : s.rank - 1 - k;
        strides[i] = step;
        step *= s.dims[i];
    }
    void *data = malloc(n ? (size_t)kn_dtype_bytes(dtype, n) : 1);
    fill_values(w, data, dtype, n, h->whole > 0);
    say(w, "%s(%s ", wrapped ? turned ? "turned" : "wrap" : "from", kn_dtype_name(dtype));
    say_shape(w, &s);
    say(w, ")");
    kn_tensor t = wrapped ? kn_wrap(data, dtype, s, strides, release_wrapped, data) : kn_from(data, dtype, s);
    if (!wrapped) free(data);
    return t;
}

/* Whether an op may take the tensor is the role's matter: the same slot may be drawn twice. */
static kn_tensor draw_slot(world *w)
{
    int i = (int)below(w, SLOTS + 1);
    if (i == SLOTS) {
        int p = (int)below(w, PARAMS);
        say(w, "p%d", p);
        return kn_value(w->params[p]);
    }
    if (!w->slots[i].t.bits && chance(w, 90)) {
        habit h = {.name = ""};
        return make_tensor(w, &h);
    }
    say(w, "t%d", i);
    if (w->n_operands < MAX_OPERANDS) w->operands[w->n_operands++] = i;
    return w->slots[i].t;
}

static kn_tensor draw_tensor(world *w, const char *name)
{
    habit h = habit_of(name);
    say(w, " ");
    if (chance(w, h.none) || (w->strange && chance(w, 2))) {
        say(w, "NONE");
        return KN_NONE;
    }
    if (w->strange && chance(w, 1)) {
        say(w, "garbage");
        return (kn_tensor){draw(w) >> 1}; /* without the bit of poison, whose text may be anybody's */
    }
    bool fresh = chance(w, h.whole || h.truth || h.line ? 75 : 30);
    kn_tensor t = fresh ? make_tensor(w, &h) : draw_slot(w);
    if (kn_ok(t)) w->last = t;
    return t;
}

/* A call ends its own fresh operands by taking them; lists repeat one tensor often. */
static int32_t draw_tensors(world *w, const char *name, kn_tensor *list)
{
    int32_t n = chance(w, 90) ? 1 + (int32_t)below(w, 4)
                : w->strange  ? (int32_t)below(w, LONGEST_LIST + 1)
                              : 2;
    say(w, ", {");
    for (int32_t i = 0; i < n; i++) list[i] = i && chance(w, 70) ? list[0] : draw_tensor(w, name);
    say(w, " ... %d}", n);
    if (w->strange && chance(w, 2)) return -(int32_t)below(w, 3);
    return n;
}

/* ---- numbers */

static int32_t rank_of_last(world *w)
{
    int32_t rank = w->last.bits ? kn_rank(w->last) : w->rank;
    return rank < 0 ? w->rank : rank;
}

static int64_t draw_whole(world *w, const char *name)
{
    bool axis =
        !strcmp(name, "axis") || !strcmp(name, "a") || !strcmp(name, "first") || !strcmp(name, "last");
    if (w->strange && chance(w, 8)) return strange_int(w);
    int32_t rank = rank_of_last(w);
    if (axis && chance(w, 92)) return rank ? below(w, 2 * rank) - rank : 0;
    if (strstr(name, "padding") || strstr(name, "offset")) return below(w, 2);
    if (!strcmp(name, "padding_end")) return chance(w, 80) ? 0 : KN_ZERO;
    if (!strcmp(name, "n_axes") || !strcmp(name, "order")) return below(w, 3) + (name[0] == 'n');
    if (!strcmp(name, "capacity") || !strcmp(name, "min_length") || !strcmp(name, "length"))
        return below(w, 20);
    if (!strcmp(name, "groups") || !strcmp(name, "dilation")) return chance(w, 80) ? 1 : below(w, 4);
    return chance(w, 60) ? below(w, w->side + 1) : below(w, 7) - 2;
}

static int64_t draw_int64(world *w, const char *name)
{
    int64_t v = draw_whole(w, name);
    say(w, ", %s %lld", name, (long long)v);
    return v;
}

static int32_t draw_int32(world *w, const char *name)
{
    int64_t v = draw_whole(w, name);
    int32_t narrow = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
    say(w, ", %s %d", name, narrow);
    return narrow;
}

static double draw_real(world *w, const char *name)
{
    static const double list[] = {0, 1, 0.5, 2, -1, 0.1, 1e-5, 3};
    double v = list[below(w, sizeof list / sizeof *list)];
    if (!strcmp(name, "eps")) v = 1e-5;
    if (!strcmp(name, "p") || !strcmp(name, "q") || strstr(name, "smoothing") || strstr(name, "probability"))
        v = (double)below(w, 11) / 10;
    if (w->strange && chance(w, 10)) v = strange_real(w);
    if (fabs(v) > 1e38 && fabs(v) < INFINITY) v = 1e30; /* kernels in f32 would see infinity */
    if (fabs(v) < 1e-37 && v != 0) v = 1e-30;           /* or 0 */
    say(w, ", %s %.17g", name, v);
    return v;
}

static bool draw_bool(world *w, const char *name)
{
    bool v = chance(w, 50);
    say(w, ", %s %d", name, v);
    return v;
}

static int draw_choice(world *w, const char *name, int n)
{
    int v = w->strange && chance(w, 3) ? (int)below(w, 256) - 3 : (int)below(w, n);
    say(w, ", %s %d", name, v);
    return v;
}

static kn_dtype draw_dtype_argument(world *w, const char *name)
{
    kn_dtype v = all_dtypes[below(w, N_DTYPES)];
    if (w->strange && chance(w, 5)) v = (kn_dtype)below(w, 40);
    say(w, ", %s %s", name, kn_dtype_name(v));
    return v;
}

static bool draw_set(world *w) { return w->whole || chance(w, 35); }

static bool draw_given(world *w, const char *name)
{
    bool given = chance(w, 60);
    say(w, ", %s%s", name, given ? "" : " NULL");
    return given;
}

static const char *draw_equation(world *w)
{
    static const char *const list[] = {"ij,jk->ik", "i->",    "ii->i", "ij->ji",   "i,j->ij",  "bij,bjk->bik",
                                       "...i,...i", "ij",     "ij->",  "ijk,k",    "...->",    "i,i",
                                       "",          "ij,jk,", "ij-",   "..i->i..", "aaaaa->a", "i1->i"};
    const char *v = list[below(w, sizeof list / sizeof *list)];
    say(w, "\"%s\"", v);
    return v;
}

static kn_device draw_device(world *w, const char *name)
{
    (void)name;
    say(w, "%s", chance(w, 80) ? ", the device" : ", NULL");
    return w->state & 1 ? w->device : NULL;
}

/* ---- lists of axes, sizes and steps */

static kn_ints axes_drawn(world *w, bool all)
{
    int32_t rank = rank_of_last(w);
    kn_ints v = {0};
    for (int32_t i = 0; i < rank && i < KN_MAX_RANK; i++)
        if (all || chance(w, 45)) v.dims[v.rank++] = chance(w, 30) ? i - rank : i;
    for (int32_t i = v.rank - 1; i > 0; i--) {
        int32_t k = (int32_t)below(w, i + 1);
        int64_t swap = v.dims[i];
        v.dims[i] = v.dims[k], v.dims[k] = swap;
    }
    return v;
}

/* Sizes that hold the elements of the last operand, or that it broadcasts to, or any. */
static kn_ints sizes_drawn(world *w)
{
    kn_shape s = w->last.bits && chance(w, 70) ? kn_shape_of_tensor(w->last) : draw_shape(w, 10);
    if (s.rank < 0 || s.rank > KN_MAX_RANK) s.rank = 0;
    if (s.rank > 1 && chance(w, 30)) s.dims[1] *= s.dims[0], s.dims[0] = 1;
    if (s.rank > 0 && chance(w, 20)) s.dims[below(w, s.rank)] = -1;
    if (s.rank < KN_MAX_RANK && chance(w, 20)) {
        memmove(s.dims + 1, s.dims, sizeof *s.dims * (KN_MAX_RANK - 1));
        s.dims[0] = 1 + below(w, 2);
        s.rank++;
    }
    return s;
}

static kn_ints draw_ints(world *w, const char *name)
{
    bool axes = strstr(name, "axes") || !strcmp(name, "source") || !strcmp(name, "destination");
    bool windows = !strcmp(name, "window") || !strcmp(name, "repeats") || !strcmp(name, "shifts") ||
                   !strcmp(name, "before") || !strcmp(name, "after");
    kn_ints v = axes ? axes_drawn(w, chance(w, 30)) : sizes_drawn(w);
    if (windows || (!strcmp(name, "size") && chance(w, 60))) {
        v.rank = 1 + (int32_t)below(w, 3);
        for (int32_t i = 0; i < v.rank; i++) v.dims[i] = below(w, 4);
    }
    if (w->strange && chance(w, 6) && v.rank > 0) v.dims[below(w, v.rank)] = strange_int(w);
    if (w->strange && chance(w, 2)) v.rank = (int32_t)strange_int(w);
    say(w, ", %s %d ", name, v.rank);
    say_shape(w, &v);
    return v;
}

static int32_t draw_ranges(world *w, const char *name, kn_range *list)
{
    (void)name;
    int32_t rank = rank_of_last(w),
            n = chance(w, 80) ? (int32_t)below(w, rank + 1) : (int32_t)below(w, LONGEST_RANGES + 1);
    say(w, ", {");
    for (int32_t i = 0; i < LONGEST_RANGES; i++) {
        list[i] = (kn_range){chance(w, 60) ? 0 : below(w, 7) - 3, chance(w, 60) ? KN_END : below(w, 9) - 4,
                             chance(w, 70) ? 0 : below(w, 5) - 2};
        if (w->strange && chance(w, 4)) list[i].step = strange_int(w);
        if (w->strange && chance(w, 4)) list[i].start = strange_int(w);
        if (i < n)
            say(w, " %lld:%lld:%lld", (long long)list[i].start, (long long)list[i].stop,
                (long long)list[i].step);
    }
    say(w, "}");
    return w->strange && chance(w, 2) ? -1 : n;
}

#endif
