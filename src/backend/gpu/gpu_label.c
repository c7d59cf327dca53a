/* Names the work that goes to the driver next, while somebody measures: the ops, the shape and type of the first result. */
#include "backend/gpu/gpu.h"
#include "core/text.h"

void kni_gpu_label(kni_gpu *g, const kn_record *const *records, int32_t n)
{
    kni_text text = {g->driver->label, sizeof g->driver->label, 0};
    const kn_record *last = records[n - 1];
    for (int32_t i = 0; i < n; i++) {
        if (i == 4 && n > 5) {
            kni_text_format(&text, "+%d more", n - i);
            break;
        }
        kni_text_format(&text, "%s%s", i ? "+" : "", records[i]->row->name);
    }
    if (last->n_out) kni_text_format(&text, " %S", &kni_out(last, 0)->type);
}
