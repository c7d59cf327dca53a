/* What kiln run does with files: NAME=FILE of its options, reading inputs, writing and showing outputs. */
#define KN_NO_SITES 1
#include "run_files.h"
#include "kiln.h"
#include <kn.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 8 };

int kiln_run_failed(void)
{
    fprintf(stderr, "kiln run: %s\n", kn_last_error());
    return 1;
}

bool kiln_bind(bindings *list, const char *text)
{
    const char *equals = text ? strchr(text, '=') : NULL;
    if (!equals || equals == text || !equals[1]) return false;
    if (list->n == list->room) {
        int room = list->room ? 2 * list->room : 16;
        binding *of = realloc(list->of, (size_t)room * sizeof *of);
        if (!of) return false;
        list->of = of, list->room = room;
    }
    list->of[list->n++] = (binding){text, equals + 1, (size_t)(equals - text), false};
    return true;
}

binding *kiln_bound(bindings *list, const char *name)
{
    for (int i = 0; i < list->n; i++)
        if (strlen(name) == list->of[i].length && !strncmp(list->of[i].name, name, list->of[i].length)) {
            list->of[i].used = true;
            return &list->of[i];
        }
    return NULL;
}

/* N, or LO..HI, or LO.. */
static bool read_range(const char *text, int64_t *low, int64_t *high)
{
    char *end;
    *low = *high = strtoll(text, &end, 10);
    if (end == text || *low < 0) return false;
    if (!*end) return true;
    if (strncmp(end, "..", 2) != 0) return false;
    *high = 0;
    if (!end[2]) return true;
    const char *second = end + 2;
    *high = strtoll(second, &end, 10);
    return end != second && !*end && *high >= *low;
}

bool kiln_read_size(bindings *list, const char *text, kn_onnx_size *size, char **name)
{
    *name = NULL;
    if (!kiln_bind(list, text)) return false;
    const binding *b = &list->of[list->n - 1];
    *name = calloc(b->length + 1, 1);
    if (!*name) return false;
    memcpy(*name, b->name, b->length);
    size->name = *name;
    return read_range(b->file, &size->low, &size->high);
}

static kn_tensor none_read(const char *command)
{
    fprintf(stderr, "%s: %s\n", command, kn_last_error());
    return KN_NONE;
}

kn_tensor kiln_read_tensor(const char *command, const binding *b)
{
    char path[4096], name[256];
    const char *colon = strrchr(b->file, ':');
    bool entry = colon && colon[1] && access(b->file, F_OK) != 0;
    snprintf(path, sizeof path, "%.*s", (int)(entry ? colon - b->file : (long)strlen(b->file)), b->file);
    snprintf(name, sizeof name, "%.*s", entry ? 255 : (int)b->length, entry ? colon + 1 : b->name);
    kn_store store = kn_store_open(path, NULL);
    if (!store) return none_read(command);
    int64_t index = !entry && kn_store_count(store) == 1 ? 0 : kn_store_find(store, name);
    kn_tensor t = index < 0 ? KN_NONE : kn_store_tensor(store, index);
    if (index < 0)
        fprintf(stderr, "%s: %s holds %lld tensors, none called '%s'; write %.*s=%s:ENTRY\n", command, path,
                (long long)kn_store_count(store), name, (int)b->length, b->name, path);
    else if (!kn_ok(t))
        t = none_read(command);
    kn_store_close(store);
    return t;
}

/* Where the name of a file begins in its path. */
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool stat_folder(const char *path, struct stat *folder)
{
    char text[4096];
    size_t n = (size_t)(file_name(path) - path);
    if (n >= sizeof text) return false;
    snprintf(text, sizeof text, "%.*s", n ? (int)n : 1, n ? path : ".");
    return stat(text, folder) == 0;
}

/* Whether both are one file, which need not be there yet. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (!strcmp(a, b)) return true;
    if (strcmp(file_name(a), file_name(b)) != 0 || !stat_folder(a, &x) || !stat_folder(b, &y)) return false;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Writes the file of tensor `first` with all tensors that go to it. */
static int write_file(const binding *const *to, const char *const *names, const kn_tensor *tensors, int32_t n,
                      int32_t first)
{
    kn_state state = kn_state_make();
    kn_status s = state ? KN_OK : KN_ERROR_MEMORY;
    for (int32_t k = first; k < n && s == KN_OK; k++)
        if (to[k] && is_same_file(to[k]->file, to[first]->file))
            s = kn_state_put(state, "", names[k], tensors[k]);
    if (s == KN_OK) s = kn_state_write(state, to[first]->file, KN_STORE_AUTO);
    kn_state_free(state);
    return s ? kiln_run_failed() : 0;
}

bool kiln_can_write(const bindings *files, const char *more)
{
    const char *const endings[] = {".npy", ".npz", ".safetensors", more};
    for (int i = 0; i < files->n; i++) {
        bool good = false;
        size_t n = strlen(files->of[i].file);
        for (size_t k = 0; k < sizeof endings / sizeof *endings && !good; k++) {
            size_t m = endings[k] ? strlen(endings[k]) : n;
            good = n > m && !strcmp(files->of[i].file + n - m, endings[k]);
        }
        if (good) continue;
        fprintf(stderr, "kiln run: '%s' cannot be written: a file is .npy, .npz, .safetensors%s%s\n",
                files->of[i].file, more ? " or " : "", more ? more : "");
        return false;
    }
    return true;
}

int kiln_write_files(const binding *const *to, const char *const *names, const kn_tensor *tensors, int32_t n)
{
    int code = 0;
    for (int32_t k = 0; k < n && !code; k++) {
        bool written = false; /* with a tensor before it */
        for (int32_t p = 0; p < k && to[k]; p++) written |= to[p] && is_same_file(to[p]->file, to[k]->file);
        if (to[k] && !written) code = write_file(to, names, tensors, n, k);
    }
    return code;
}

int kiln_show_tensor(const char *name, kn_tensor t)
{
    t = kn_keep(t);
    int64_t count = kn_count(t), n = count < SHOWN ? count : SHOWN;
    double reals[SHOWN];
    int64_t whole[SHOWN];
    kn_dtype dtype = kn_dtype_of(t);
    bool integer = !(kn_dtype_limits(dtype).max > 0); /* stored floats have limits, too */
    kn_tensor some = kn_narrow(kn_flatten(t, 0, -1), 0, 0, n);
    kn_status s = integer ? kn_read_as(some, KN_I64, whole, (size_t)n * sizeof *whole)
                          : kn_read_as(some, KN_F64, reals, (size_t)n * sizeof *reals);
    if (s) return kiln_run_failed();
    kiln_print_plain(stdout, name, 64);
    printf(": %s [", kn_dtype_name(kn_dtype_of(t)));
    for (int32_t a = 0; a < kn_rank(t); a++) printf(a ? ", %lld" : "%lld", (long long)kn_size(t, a));
    printf("]");
    for (int64_t i = 0; i < n; i++)
        if (integer)
            printf(" %lld", (long long)whole[i]);
        else
            printf(" %.9g", reals[i]);
    puts(count > n ? " ..." : "");
    return 0;
}
