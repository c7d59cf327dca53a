/* Where in the sources the text of a body stands: messages name the file, the line and the column. */
#include "gen_source.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "src/ops"

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

static bool locate(const char *source, const char *text, size_t offset, gen_place *place)
{
    for (const char *s = strchr(source, '"'); s; s = strchr(s + 1, '"')) {
        const char *found = inside_literals(s, text, offset);
        if (!found) continue;
        place->line = place->column = 1;
        for (const char *c = source; c < found; c++) {
            place->column++;
            if (*c == '\n') place->line++, place->column = 1;
        }
        return true;
    }
    return false;
}

bool gen_find_text(const char *text, int offset, gen_place *place)
{
    DIR *folder = opendir(FOLDER);
    bool found = false;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".c") != 0) continue;
        snprintf(place->path, sizeof place->path, FOLDER "/%s", entry->d_name);
        char *source = read_file(place->path);
        found = source && locate(source, text, (size_t)offset, place);
        free(source);
    }
    if (folder) closedir(folder);
    return found;
}
