/* Filters and renames of names by extended regular expressions, contiguous numbers, and how near two names are. */
#include "store/name_rules.h"
#include "support/failure.h"
#include "support/pattern.h"
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 10, LONGEST_NAME = 4096 };

/* ---- making */

/* A reference to a group that the pattern does not have would silently give nothing. */
static kn_status check_replacement(const regex_t *pattern, const char *function, const kn_rename *rename)
{
    if (!rename->replacement)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the pattern '%s' has no replacement", function,
                           rename->pattern);
    for (const char *c = rename->replacement; *c; c++) {
        if (*c != '\\' || !c[1]) continue;
        c++;
        if (*c >= '1' && *c <= '9' && (size_t)(*c - '0') > pattern->re_nsub)
            return kni_failure(KN_ERROR_ARGUMENT, "%s: '%s' uses group %c, but '%s' has %zu", function,
                               rename->replacement, *c, rename->pattern, pattern->re_nsub);
    }
    return KN_OK;
}

kn_status kni_name_rules_make(kni_name_rules *rules, const char *function, const char *include,
                              const char *exclude, const kn_rename *renames)
{
    kn_status status = KN_OK;
    int32_t count = 0;
    memset(rules, 0, sizeof *rules);
    if (include) {
        status = kni_pattern_compile(&rules->include, include, 0, function);
        rules->has_include = !status;
    }
    if (!status && exclude) {
        status = kni_pattern_compile(&rules->exclude, exclude, 0, function);
        rules->has_exclude = !status;
    }
    while (renames && renames[count].pattern) count++;
    if (status || count == 0) return status;
    rules->replacements = renames;
    rules->renames = calloc((size_t)count, sizeof *rules->renames);
    if (!rules->renames) return kni_failure_memory(function);
    for (int32_t i = 0; i < count && !status; i++) {
        status = kni_pattern_compile(&rules->renames[i], renames[i].pattern, 0, function);
        if (!status) {
            rules->rename_count++;
            status = check_replacement(&rules->renames[i], function, &renames[i]);
        }
    }
    return status;
}

void kni_name_rules_free(kni_name_rules *rules)
{
    if (rules->has_include) regfree(&rules->include);
    if (rules->has_exclude) regfree(&rules->exclude);
    for (int32_t i = 0; i < rules->rename_count; i++) regfree(&rules->renames[i]);
    free(rules->renames);
    memset(rules, 0, sizeof *rules);
}

/* ---- using */

bool kni_name_rules_take(const kni_name_rules *rules, const char *path)
{
    if (rules->has_include && regexec(&rules->include, path, 0, NULL, 0) != 0) return false;
    return !rules->has_exclude || regexec(&rules->exclude, path, 0, NULL, 0) != 0;
}

static void append_replacement(kni_buffer *out, const char *name, const char *replacement,
                               const regmatch_t *m)
{
    for (const char *c = replacement; *c; c++) {
        if (*c == '\\' && c[1] >= '0' && c[1] <= '9') {
            const regmatch_t *group = &m[*++c - '0'];
            if (group->rm_so >= 0)
                kni_buffer_append(out, name + group->rm_so, (size_t)(group->rm_eo - group->rm_so));
            continue;
        }
        if (*c == '\\' && c[1]) c++;
        kni_buffer_append(out, c, 1);
    }
}

/* Replaces every match, from left to right. */
static void rename_once(const regex_t *pattern, const char *replacement, const char *name, kni_buffer *out)
{
    regmatch_t m[GROUPS] = {{0}};
    int flags = 0;
    while (regexec(pattern, name, GROUPS, m, flags) == 0) {
        kni_buffer_append(out, name, (size_t)m[0].rm_so);
        append_replacement(out, name, replacement, m);
        bool empty = m[0].rm_so == m[0].rm_eo;
        name += m[0].rm_eo;
        if (empty && *name) kni_buffer_append(out, name++, 1);
        flags = REG_NOTBOL;
        if (!*name) break;
    }
    kni_buffer_text(out, name);
}

kn_status kni_name_rules_rename(const kni_name_rules *rules, const char *name, kni_buffer *out)
{
    kni_buffer other = {0};
    kn_status status = KN_OK;
    kni_buffer_clear(out);
    kni_buffer_text(out, name);
    for (int32_t i = 0; i < rules->rename_count && !status; i++) {
        kni_buffer_clear(&other);
        rename_once(&rules->renames[i], rules->replacements[i].replacement, kni_buffer_string(out), &other);
        kni_buffer kept = *out;
        *out = other;
        other = kept;
        if (out->length > LONGEST_NAME)
            status =
                kni_failure(KN_ERROR_ARGUMENT, "renaming '%s' gives more than %d bytes", name, LONGEST_NAME);
    }
    if (!status && (out->failed || other.failed)) status = kni_failure_memory("renaming");
    kni_buffer_free(&other);
    return status;
}

/* ---- contiguous numbers */

/* A number inside a name: what stands before it, and its value. */
typedef struct position {
    const char *name;
    size_t before;
    uint64_t number;
} position;

static int compare_positions(const void *a, const void *b)
{
    const position *x = a, *y = b;
    size_t shorter = x->before < y->before ? x->before : y->before;
    int order = memcmp(x->name, y->name, shorter);
    if (order) return order;
    if (x->before != y->before) return x->before < y->before ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The next part of a name that is a number of at most 18 digits; false when there is none from *at on. */
static bool next_number(const char *name, size_t *at, size_t *length, uint64_t *number)
{
    for (size_t i = *at; name[i];) {
        size_t part = strcspn(name + i, "."), digits = strspn(name + i, "0123456789");
        if (part == digits && digits > 0 && digits <= 18) {
            *at = i;
            *length = digits;
            *number = strtoull(name + i, NULL, 10);
            return true;
        }
        i += part + (name[i + part] == '.');
    }
    return false;
}

static size_t collect(char **names, int64_t count, position *out)
{
    size_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        size_t at = 0, length;
        uint64_t number;
        while (next_number(names[i], &at, &length, &number)) {
            if (out) out[found] = (position){names[i], at, number};
            found++;
            at += length;
        }
    }
    return found;
}

static size_t remove_repeats(position *positions, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare_positions(&positions[i], &positions[kept - 1]))
            positions[kept++] = positions[i];
    return kept;
}

/* How many smaller numbers stand in the same place. */
static size_t rank_of(const position *positions, size_t count, const position *wanted)
{
    position *found = bsearch(wanted, positions, count, sizeof *positions, compare_positions);
    size_t rank = 0;
    while (found > positions && found[-1].before == found->before &&
           !memcmp(found[-1].name, found->name, found->before)) {
        found--;
        rank++;
    }
    return rank;
}

static char *renumbered(const char *name, const position *positions, size_t count)
{
    kni_buffer out = {0};
    size_t from = 0, at = 0, length;
    position wanted = {.name = name};
    while (next_number(name, &at, &length, &wanted.number)) {
        wanted.before = at;
        kni_buffer_append(&out, name + from, at - from);
        kni_buffer_format(&out, "%zu", rank_of(positions, count, &wanted));
        at += length;
        from = at;
    }
    kni_buffer_text(&out, name + from);
    if (!out.failed && out.data) return out.data;
    kni_buffer_free(&out);
    return NULL;
}

kn_status kni_names_renumber(char **names, int64_t count)
{
    size_t total = collect(names, count, NULL);
    position *positions = malloc((total + 1) * sizeof *positions);
    char **fresh = calloc((size_t)count + 1, sizeof *fresh);
    kn_status status = positions && fresh ? KN_OK : kni_failure_memory("kn_load");
    if (!status && total) {
        collect(names, count, positions);
        qsort(positions, total, sizeof *positions, compare_positions);
        total = remove_repeats(positions, total);
    }
    for (int64_t i = 0; i < count && !status; i++)
        if (!(fresh[i] = renumbered(names[i], positions, total))) status = kni_failure_memory("kn_load");
    /* The positions point into the old names until here. */
    for (int64_t i = 0; fresh && i < count; i++) {
        char *unwanted = status ? fresh[i] : names[i];
        if (!status) names[i] = fresh[i];
        free(unwanted);
    }
    free(positions);
    free(fresh);
    return status;
}
