/* What a load did, in counts and in lines, with the nearest name for what is missing. */
#include "store/load.h"
#include "support/failure.h"
#include "support/similar.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* Comparing every missing name with every unused one is bounded for files that have nothing to do with the module. */
enum { MOST_COMPARED = 200000 };

void kni_shape_text(kni_buffer *out, const kn_shape *shape)
{
    kni_buffer_text(out, "[");
    for (int32_t i = 0; i < shape->rank; i++)
        kni_buffer_format(out, i ? ", %lld" : "%lld", (long long)shape->dims[i]);
    kni_buffer_text(out, "]");
}

/* A name of the file between quotes. */
static void name_text(kni_buffer *out, const char *name)
{
    char plain[KNI_FAILURE_TEXT];
    kni_escape(plain, sizeof plain, name);
    kni_buffer_format(out, "'%s'", plain);
}

static bool same_shape(const kn_shape *a, const kn_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

/* The nearest unused name, of those that differ by less than a third; between two, the one of the same shape. */
static const kni_load_offer *nearest(const kni_load *load, const kni_load_target *target, int64_t *compared)
{
    size_t limit = strlen(target->path) / 3, best = 2 * limit + 2;
    const kni_load_offer *found = NULL;
    for (int64_t i = 0; i < load->offer_count && *compared < MOST_COMPARED; i++) {
        const kni_load_offer *o = &load->offers[i];
        if (o->used || o->ignored) continue;
        ++*compared;
        size_t distance = kni_edit_distance(target->path, o->name, limit);
        size_t score = 2 * distance + !same_shape(&target->shape, &o->entry.shape);
        if (distance > limit || score >= best) continue;
        best = score;
        found = o;
    }
    return found;
}

static void missing_line(kni_buffer *out, const kni_load *load, const kni_load_target *t, int64_t *compared)
{
    kni_buffer_format(out, "missing: '%s' %s ", t->path, kn_dtype_name(kn_dtype_of(kn_value(*t->param))));
    kni_shape_text(out, &t->shape);
    const kni_load_offer *near = nearest(load, t, compared);
    if (near) {
        kni_buffer_text(out, "; did you mean ");
        name_text(out, near->name);
        kni_buffer_text(out, " ");
        kni_shape_text(out, &near->entry.shape);
        kni_buffer_text(out, " of the file?");
    }
    kni_buffer_text(out, "\n");
}

static void mismatched_line(kni_buffer *out, const kni_load *load, const kni_load_target *t)
{
    const kni_load_offer *o = &load->offers[t->offer];
    kni_buffer_format(out, "mismatched: '%s' is ", t->path);
    kni_shape_text(out, &t->shape);
    kni_buffer_text(out, " in the module, ");
    if (t->rows) kni_buffer_format(out, "%lld rows of ", (long long)t->rows);
    kni_shape_text(out, &o->entry.shape);
    kni_buffer_text(out, " in the file");
    if (strcmp(o->name, t->path)) {
        kni_buffer_text(out, " (");
        name_text(out, o->name);
        kni_buffer_text(out, ")");
    }
    kni_buffer_text(out, "\n");
}

kn_status kni_load_report(const kni_load *load, kn_load_report *report)
{
    kni_buffer out = {0};
    int64_t compared = 0;
    for (int64_t i = 0; i < load->target_count; i++) {
        const kni_load_target *t = &load->targets[i];
        if (t->skipped) continue;
        if (t->mismatched) {
            report->mismatched++;
            mismatched_line(&out, load, t);
        } else if (t->offer >= 0)
            report->applied++;
        else if (!kni_load_fills(load, t)) {
            report->missing++;
            missing_line(&out, load, t, &compared);
        }
    }
    for (int64_t i = 0; i < load->offer_count; i++) {
        const kni_load_offer *o = &load->offers[i];
        if (o->used || o->ignored) continue;
        report->unused++;
        kni_buffer_text(&out, "unused: ");
        name_text(&out, o->name);
        kni_buffer_format(&out, " %s ", o->entry.dtype_text);
        kni_shape_text(&out, &o->entry.shape);
        kni_buffer_text(&out, "\n");
    }
    kni_buffer_append(&out, "", 0);
    if (out.failed) {
        kni_buffer_free(&out);
        return kni_failure_memory(load->function);
    }
    if (out.length) report->text = out.data;
    return KN_OK;
}

void kn_load_report_free(kn_load_report *report)
{
    if (!report) return;
    free(report->text);
    *report = (kn_load_report){0, 0, 0, 0, NULL};
}
