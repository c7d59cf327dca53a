/* The table of op x dtype x layout: printing it, and holding the cells that cannot be against the committed list. */
#include "conform_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dtype that is only stored is moved as it lies; the other layouts are those of the bytes. */
static bool has_cell(const kn_op_info *row, int dtype, int layout)
{
    if (dtype <= KN_BOOL) return row->dtypes >> dtype & 1;
    return (row->stored >> dtype & 1) && layout <= KILN_SLICED;
}

void kiln_coverage_print(const kiln_run *run)
{
    for (int number = 0; number < run->n_ops; number++) {
        kn_op_info row;
        if (!kn_op_at(number, &row) || !run->first[number]) continue;
        for (int d = KN_F64; d <= KN_U2; d++) {
            for (int layout = 0; layout < KILN_LAYOUT_COUNT; layout++) {
                if (!has_cell(&row, d, layout)) continue;
                const kiln_cell *cell = &run->cells[number][d][layout];
                printf("%s %s %s ", row.name, kn_dtype_name((kn_dtype)d), kiln_layout_names[layout]);
                if (cell->checks)
                    printf("%u\n", cell->checks);
                else
                    printf("no: %s\n", cell->no ? cell->no : "not tried");
            }
        }
    }
}

/* ---- the list of refused cells: lines "op layout dtype,dtype: reason" */

typedef struct line_list {
    char **line;
    size_t n, room;
} line_list;

static void add_line(line_list *list, const char *text)
{
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 256;
        char **more = kiln_allocate(room * sizeof *more);
        if (list->n) memcpy(more, list->line, list->n * sizeof *more);
        free(list->line);
        list->line = more;
        list->room = room;
    }
    list->line[list->n++] = strcpy(kiln_allocate(strlen(text) + 1), text);
}

static void free_lines(line_list *list)
{
    for (size_t i = 0; i < list->n; i++) free(list->line[i]);
    free(list->line);
}

static bool has_line(const line_list *list, const char *text)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->line[i], text)) return true;
    return false;
}

static const char *refusal(const kiln_run *run, const kn_op_info *row, int dtype, int layout)
{
    const kiln_cell *cell = &run->cells[row->number][dtype][layout];
    if (!has_cell(row, dtype, layout) || cell->checks) return NULL;
    return cell->no ? cell->no : "not tried";
}

/* The refused cells of one row and layout, dtypes of one reason in one line. */
static void add_refused(const kiln_run *run, const kn_op_info *row, int layout, line_list *list)
{
    bool told[KN_U2 + 1] = {false};
    for (int d = KN_F64; d <= KN_U2; d++) {
        const char *why = refusal(run, row, d, layout);
        if (!why || told[d]) continue;
        char text[1024];
        size_t used = (size_t)snprintf(text, sizeof text, "%s %s ", row->name, kiln_layout_names[layout]);
        for (int e = d; e <= KN_U2 && used < sizeof text; e++) {
            const char *other = refusal(run, row, e, layout);
            if (!other || strcmp(other, why)) continue;
            told[e] = true;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", e > d ? "," : "",
                                     kn_dtype_name((kn_dtype)e));
        }
        if (used < sizeof text) snprintf(text + used, sizeof text - used, ": %s", why);
        char *site = strstr(text, "   "); /* where the call was made, which is another matter */
        if (site) *site = 0;
        add_line(list, text);
    }
}

/* Rows whose cells this run knows: all of their cases ran. */
static bool known_row(const kiln_run *run, int number, kn_op_info *row)
{
    return kn_op_at(number, row) && run->first[number] && kiln_wanted(run, row->name, "");
}

static void read_refused(const kiln_run *run, line_list *list)
{
    char text[1024], name[64];
    FILE *file = fopen(run->refused, "r");
    while (file && fgets(text, sizeof text, file)) {
        kn_op_info row;
        text[strcspn(text, "\n")] = 0;
        if (text[0] == '#' || sscanf(text, "%63s", name) != 1) continue;
        if (!kn_op_find(name, &row) || known_row(run, row.number, &row)) add_line(list, text);
    }
    if (file) fclose(file);
}

static void write_refused(const kiln_run *run, const line_list *list)
{
    FILE *file = fopen(run->refused, "w");
    if (!file) {
        fprintf(stderr, "kiln: cannot write %s\n", run->refused);
        return;
    }
    fprintf(file, "# The cells of op x layout x dtype that no case can fill, and why. A run of kiln conform "
                  "fails when\n"
                  "# they differ from this list; kiln conform --device ref --write-refused writes it.\n");
    for (size_t i = 0; i < list->n; i++) fprintf(file, "%s\n", list->line[i]);
    fclose(file);
}

void kiln_coverage_check(kiln_run *run)
{
    line_list found = {0}, listed = {0};
    if (run->sample < 100 || run->parts) return;
    for (int number = 0; number < run->n_ops; number++) {
        kn_op_info row;
        for (int layout = 0; known_row(run, number, &row) && layout < KILN_LAYOUT_COUNT; layout++)
            add_refused(run, &row, layout, &found);
    }
    if (run->write_refused && !run->filter) write_refused(run, &found);
    read_refused(run, &listed);
    for (size_t i = 0; i < found.n; i++) {
        if (has_line(&listed, found.line[i])) continue;
        printf("FAIL refused, but not in %s: %s\n", run->refused, found.line[i]);
        run->failed++;
    }
    for (size_t i = 0; i < listed.n; i++) {
        if (has_line(&found, listed.line[i])) continue;
        printf("FAIL in %s, but not refused so: %s\n", run->refused, listed.line[i]);
        run->failed++;
    }
    free_lines(&found);
    free_lines(&listed);
}
