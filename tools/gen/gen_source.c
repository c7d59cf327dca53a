/* Where in the sources the text of a body stands: messages name the file, the line and the column. */
#include "gen_source.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *sources = "src/ops";

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = NULL;
    size_t size = 0, got = 0;
    do {
        size += 65536;
        char *larger = realloc(text, size);
        if (!larger) break;
        text = larger;
        got += fread(text + got, 1, size - got - 1, f);
    } while (got == size - 1);
    fclose(f);
    if (text) text[got] = 0;
    return text;
}

/* The place of character `offset` of a string that is written as one or more literals from s on; NULL where other text is
   written there. */
static const char *inside_literals(const char *s, const char *text, size_t offset)
{
    size_t at = 0, length = strlen(text);
    const char *found = NULL;
    if (length == 0) return s[0] == '"' && s[1] == '"' ? s + 1 : NULL;
    while (at < length) {
        s += strspn(s, " \t\n");
        if (*s++ != '"') return NULL;
        for (; *s && *s != '"'; s++, at++) {
            if (at >= length || *s != text[at]) return NULL;
            if (at == offset) found = s;
        }
        if (*s++ != '"') return NULL;
    }
    return found ? found : s - 1;
}

/* Behind the string that begins at s. */
static const char *past_string(const char *s)
{
    for (s++; *s && *s != '"'; s++)
        if (*s == '\\' && s[1]) s++;
    return *s ? s + 1 : s;
}

/* Where in the arguments that begin at s, up to their closing bracket, the text is written. */
static const char *inside_arguments(const char *s, const char *text, size_t offset)
{
    for (int depth = 1; *s && depth > 0;) {
        const char *found = *s == '"' ? inside_literals(s, text, offset) : NULL;
        if (found) return found;
        depth += (*s == '(') - (*s == ')');
        s = *s == '"' ? past_string(s) : s + 1;
    }
    return NULL;
}

/* The text in a macro whose first argument is the op, as in ELEMENTWISE(trunc_div, ...): the same text may be that of others. */
static const char *in_rows_of(const char *source, const char *op, const char *text, size_t offset)
{
    size_t n = strlen(op);
    for (const char *s = strstr(source, op); s; s = strstr(s + 1, op)) {
        bool first = s - source > 1 && s[-1] == '(' && ((s[-2] >= 'A' && s[-2] <= 'Z') || s[-2] == '_');
        const char *found = first && s[n] == ',' ? inside_arguments(s + n, text, offset) : NULL;
        if (found) return found;
    }
    return NULL;
}

static bool locate(const char *source, const char *op, const char *text, size_t offset, gen_place *place)
{
    const char *found = in_rows_of(source, op, text, offset);
    if (!found) return false;
    place->line = place->column = 1;
    for (const char *c = source; c < found; c++) {
        place->column++;
        if (*c == '\n') place->line++, place->column = 1;
    }
    return true;
}

bool gen_find_text(const char *op, const char *text, int offset, gen_place *place)
{
    DIR *folder = opendir(sources);
    bool found = false;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".c") != 0) continue;
        snprintf(place->path, sizeof place->path, "%s/%s", sources, entry->d_name);
        char *source = read_file(place->path);
        found = source && locate(source, op, text, (size_t)offset, place);
        free(source);
    }
    if (folder) closedir(folder);
    return found;
}
