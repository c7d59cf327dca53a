/* What kiln run does with files: NAME=FILE of its options, reading inputs, writing and showing outputs. */
#define KN_NO_SITES 1
#include "run_files.h"
#include "kiln.h"
#include <kn.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

kn_tensor kiln_read_tensor(const binding *b)
{
    char path[4096], name[256];
    const char *colon = strrchr(b->file, ':');
    bool entry = colon && colon[1] && access(b->file, F_OK) != 0;
    snprintf(path, sizeof path, "%.*s", (int)(entry ? colon - b->file : (long)strlen(b->file)), b->file);
    snprintf(name, sizeof name, "%.*s", entry ? 255 : (int)b->length, entry ? colon + 1 : b->name);
    kn_store store = kn_store_open(path, NULL);
    if (!store) return kiln_run_failed(), KN_NONE;
    int64_t index = !entry && kn_store_count(store) == 1 ? 0 : kn_store_find(store, name);
    kn_tensor t = index < 0 ? KN_NONE : kn_store_tensor(store, index);
    if (index < 0)
        fprintf(stderr, "kiln run: %s holds %lld tensors, none called '%s'; write %.*s=%s:ENTRY\n", path,
                (long long)kn_store_count(store), name, (int)b->length, b->name, path);
    else if (!kn_ok(t))
        t = (kiln_run_failed(), KN_NONE);
    kn_store_close(store);
    return t;
}

int kiln_write_tensor(const binding *b, kn_tensor t)
{
    kn_state state = kn_state_make();
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)b->length, b->name);
    kn_status s = state ? kn_state_put(state, "", name, t) : KN_ERROR_MEMORY;
    if (s == KN_OK) s = kn_state_write(state, b->file, KN_STORE_AUTO);
    kn_state_free(state);
    return s ? kiln_run_failed() : 0;
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
