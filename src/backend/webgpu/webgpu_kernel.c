/* Kernels of the WebGPU driver: pipelines from WGSL, and their launches. */
#include "backend/webgpu/webgpu_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/objects.h"
#include "core/text.h"
#include <string.h>

enum { SIZES = 3 };

/* A kernel of items has a pipeline for each size of workgroup that it was launched with; any other has one. */
struct kni_module {
    uint32_t n_buffers;
    char access[WEBGPU_MAX_BUFFERS + 1];
    char *text; /* for pipelines that are made later */
    size_t bytes;
    bool items; /* the driver chooses the workgroup */
    uint32_t sizes[SIZES];
    webgpu_handle pipelines[SIZES];
    uint64_t used; /* the driver's count of launches when it was launched last */
    kni_module *previous, *next;
    char entry[48];
};

static void drop_pipelines(webgpu *w, kni_module *m)
{
    for (int i = 0; i < SIZES; i++) {
        if (!m->sizes[i]) continue;
        kni_webgpu_pipeline_free(w->port, m->pipelines[i]);
        m->sizes[i] = 0;
        w->pipelines--;
    }
}

/* Drivers take up to megabytes for each pipeline, so there are so many at most: the one that was not launched for longest makes room, and is
   made again when it is needed. */
static void make_room(webgpu *w)
{
    kni_module *oldest = NULL;
    if (w->pipelines < w->port->pipelines) return;
    for (kni_module *m = w->modules; m; m = m->next) {
        bool any = false;
        for (int i = 0; i < SIZES; i++) any = any || m->sizes[i];
        if (any && (!oldest || m->used < oldest->used)) oldest = m;
    }
    if (oldest) drop_pipelines(w, oldest);
}

/* What the text says of itself: which buffers it writes, and whether its workgroup is left open. */
static bool read_text(kni_module *m)
{
    static const char storage[] = "var<storage, ", written[] = "read_write";
    m->items = strstr(m->text, "override width") != NULL;
    for (const char *at = m->text; (at = strstr(at, storage));) {
        at += sizeof storage - 1;
        if (m->n_buffers == WEBGPU_MAX_BUFFERS) return false;
        m->access[m->n_buffers++] = strncmp(at, written, sizeof written - 1) ? 'r' : 'w';
    }
    return true;
}

/* The pipeline for a size of workgroup; 0 after a failure. */
static webgpu_handle pipeline_of(webgpu *w, kni_module *m, uint32_t size)
{
    int i = 0;
    m->used = ++w->uses;
    if (!m->items) size = 1;
    while (i < SIZES - 1 && m->sizes[i] && m->sizes[i] != size) i++;
    if (m->sizes[i] == size) return m->pipelines[i];
    make_room(w);
    const webgpu_kernel_text k = {.text = m->text,
                                  .entry = m->entry,
                                  .access = m->access,
                                  .bytes = m->bytes,
                                  .width = m->items ? size : 0};
    webgpu_handle made = kni_webgpu_pipeline(w->port, &k);
    if (!made) return 0;
    if (m->sizes[i])
        kni_webgpu_pipeline_free(w->port, m->pipelines[i]);
    else
        w->pipelines++;
    m->sizes[i] = size;
    return m->pipelines[i] = made;
}

void kni_webgpu_unload(kni_driver *d, kni_module *m)
{
    webgpu *w = kni_webgpu_of(d);
    drop_pipelines(w, m);
    if (m->next) m->next->previous = m->previous;
    *(m->previous ? &m->previous->next : &w->modules) = m->next;
    if (m->text) kni_free(m->text, m->bytes + 1);
    kni_free(m, sizeof *m);
}

kni_module *kni_webgpu_compile(kni_driver *d, const char *text, size_t bytes, const char *entry)
{
    enum { USUAL = 128 };
    webgpu *w = kni_webgpu_of(d);
    kni_module *m = kni_allocate(sizeof *m);
    if (m) {
        *m = (kni_module){.bytes = bytes, .text = kni_allocate(bytes + 1)};
        kni_text name = {m->entry, sizeof m->entry, 0};
        kni_text_string(&name, entry);
    }
    if (!m || !m->text) {
        if (m) kni_free(m, sizeof *m);
        (void)kni_fail(KN_ERROR_MEMORY, "%s: no memory for a kernel", w->spec);
        return NULL;
    }
    m->next = w->modules;
    if (m->next) m->next->previous = m;
    w->modules = m;
    memcpy(m->text, text, bytes);
    m->text[bytes] = 0;
    bool fits = read_text(m);
    if (!fits) (void)kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s has too many buffers", w->spec, entry);
    if (fits && pipeline_of(w, m, USUAL < d->caps.max_workgroup ? USUAL : d->caps.max_workgroup)) return m;
    kni_webgpu_unload(d, m);
    return NULL;
}

/* ---- launches */

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

typedef struct part {
    const uint32_t *groups; /* of the whole launch */
    uint32_t first[3];
    const void *params;
    uint32_t param_bytes;
} part;

/* One dispatch: `d` without its numbers and groups. */
static kn_status dispatch_part(webgpu *w, webgpu_dispatch *d, const part *p)
{
    enum { HEADER_BYTES = WEBGPU_HEADER * 4 };
    const uint32_t header[WEBGPU_HEADER] = {p->first[0],  p->first[1],  p->first[2],  0,
                                            p->groups[0], p->groups[1], p->groups[2], 0};
    d->numbers = w->numbers;
    d->numbers_bytes = HEADER_BYTES + (p->param_bytes + 15) / 16 * 16;
    unsigned char *room = kni_webgpu_room(w, d->numbers_bytes, &d->numbers_offset);
    if (!room) return kni_latest_code();
    memset(room, 0, d->numbers_bytes);
    memcpy(room, header, sizeof header);
    if (p->param_bytes) memcpy(room + HEADER_BYTES, p->params, p->param_bytes);
    for (int axis = 0; axis < 3; axis++)
        d->groups[axis] = smaller(p->groups[axis] - p->first[axis], w->port->limits.groups);
    kni_webgpu_record_dispatch(w->port, d);
    return KN_OK;
}

/* A dispatch has at most so many groups along an axis: larger launches are several, each told where it begins. */
kn_status kni_webgpu_dispatch(webgpu *w, webgpu_handle pipeline, const webgpu_handle *buffers,
                              uint32_t n_buffers, const uint32_t *groups, const void *params,
                              uint32_t param_bytes)
{
    webgpu_dispatch d = {.pipeline = pipeline, .buffers = buffers, .n_buffers = n_buffers};
    part p = {.groups = groups, .params = params, .param_bytes = param_bytes};
    uint64_t most = w->port->limits.groups;
    kn_status s = KN_OK;
    for (uint64_t z = 0; z < groups[2]; z += most)
        for (uint64_t y = 0; y < groups[1]; y += most)
            for (uint64_t x = 0; x < groups[0] && s == KN_OK; x += most) {
                p.first[0] = (uint32_t)x;
                p.first[1] = (uint32_t)y;
                p.first[2] = (uint32_t)z;
                s = dispatch_part(w, &d, &p);
            }
    return s;
}

/* WebGPU refuses a launch that writes a buffer it binds twice; wgpu-native does not look. */
static bool is_alone(const kni_module *m, const webgpu_handle *buffers, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (buffers[k] == buffers[i] && (m->access[k] == 'w' || m->access[i] == 'w')) return false;
    return true;
}

kn_status kni_webgpu_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                            uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    webgpu *w = kni_webgpu_of(d);
    webgpu_handle handles[WEBGPU_MAX_BUFFERS];
    if (!shape->groups[0] || !shape->groups[1] || !shape->groups[2]) return KN_OK;
    if (m->n_buffers != n_buffers)
        return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s of %u buffers was given %u", w->spec, m->entry,
                        m->n_buffers, n_buffers);
    webgpu_handle pipeline = pipeline_of(w, m, shape->workgroup);
    if (!pipeline) return KN_ERROR_INTERNAL;
    for (uint32_t i = 0; i < n_buffers; i++) {
        handles[i] = ((const webgpu_memory *)buffers[i])->buffer;
        if (!is_alone(m, handles, i))
            return kni_fail(KN_ERROR_INTERNAL, "%s: the kernel %s is given a buffer twice that it writes",
                            w->spec, m->entry);
    }
    return kni_webgpu_dispatch(w, pipeline, handles, n_buffers, shape->groups, params, param_bytes);
}
