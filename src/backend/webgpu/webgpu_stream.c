/* Memory, what is recorded and submitted, and copies to and from the device. */
#include "backend/webgpu/webgpu_driver.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/objects.h"
#include <string.h>

enum { WORD = 4, SMALL_UPLOAD = 4 << 10, LARGEST_READ = 64 << 20 };

static uint64_t words_up(uint64_t bytes) { return (bytes + WORD - 1) / WORD * WORD; }

/* ---- memory */

void *kni_webgpu_allocate(kni_driver *d, size_t bytes)
{
    enum { LEAST = 16 };
    webgpu *w = kni_webgpu_of(d);
    uint64_t size = words_up(bytes < LEAST ? LEAST : bytes);
    if (size < bytes || size > w->port->limits.buffer_bytes) return NULL;
    webgpu_memory *m = kni_allocate(sizeof *m);
    if (!m) return NULL;
    *m = (webgpu_memory){kni_webgpu_buffer(w->port, size, false), size};
    if (m->buffer) return m;
    kni_free(m, sizeof *m);
    return NULL;
}

void kni_webgpu_free(kni_driver *d, void *memory)
{
    webgpu_memory *m = memory;
    if (!m) return;
    kni_webgpu_buffer_free(kni_webgpu_of(d)->port, m->buffer);
    kni_free(m, sizeof *m);
}

/* ---- what is recorded */

kn_status kni_webgpu_check(webgpu *w)
{
    webgpu_port *p = w->port;
    if (p->lost)
        return kni_fail(KN_ERROR_DEVICE, "%s: %s", w->spec, p->error[0] ? p->error : "the device is lost");
    if (!p->error[0]) return KN_OK;
    kn_status s = kni_fail(KN_ERROR_INTERNAL, "%s: WebGPU refuses what it was given: %s", w->spec, p->error);
    p->error[0] = 0;
    return s;
}

kn_status kni_webgpu_flush(webgpu *w)
{
    if (!w->recorded) return kni_webgpu_check(w);
    if (w->used) kni_webgpu_write(w->port, w->numbers, 0, w->shadow, words_up(w->used));
    kni_webgpu_submit(w->port);
    w->used = w->launches = 0;
    w->recorded = false;
    return kni_webgpu_check(w);
}

unsigned char *kni_webgpu_room(webgpu *w, uint32_t bytes, uint32_t *offset)
{
    uint32_t step = w->port->limits.uniform_alignment, at = (w->used + step - 1) / step * step;
    if (at + bytes > WEBGPU_NUMBERS || w->launches == WEBGPU_LAUNCHES) {
        if (kni_webgpu_flush(w) != KN_OK) return NULL;
        at = 0;
    }
    if (w->port->lost) {
        (void)kni_webgpu_check(w);
        return NULL;
    }
    w->used = at + bytes;
    w->launches++;
    w->recorded = true;
    *offset = at;
    return w->shadow + at;
}

kn_status kni_webgpu_sync(kni_driver *d)
{
    webgpu *w = kni_webgpu_of(d);
    kn_status s = kni_webgpu_flush(w);
    if (s != KN_OK || !w->port->waits) return s;
    kni_webgpu_wait(w->port);
    return kni_webgpu_check(w);
}

/* ---- copies. Bytes before the first whole word and behind the last are patched. */

static kn_status upload_words(webgpu *w, webgpu_handle to, uint64_t offset, const void *from, size_t bytes)
{
    uint32_t at;
    if (bytes <= SMALL_UPLOAD) {
        unsigned char *room = kni_webgpu_room(w, (uint32_t)bytes, &at);
        if (!room) return kni_latest_code();
        memcpy(room, from, bytes);
        kni_webgpu_record_copy(w->port, w->numbers, at, to, offset, bytes);
        return KN_OK;
    }
    kn_status s = kni_webgpu_flush(w);
    if (s == KN_OK) kni_webgpu_write(w->port, to, offset, from, bytes);
    return s == KN_OK ? kni_webgpu_check(w) : s;
}

/* A stretch of bytes as what lies before, in and behind its whole words. */
typedef struct stretch {
    size_t before, words, behind; /* in bytes */
} stretch;

static stretch stretch_of(size_t offset, size_t bytes)
{
    stretch s = {(WORD - offset % WORD) % WORD, 0, 0};
    if (s.before > bytes) s.before = bytes;
    s.words = (bytes - s.before) / WORD * WORD;
    s.behind = bytes - s.before - s.words;
    return s;
}

static kn_status patch_ends(webgpu *w, webgpu_handle to, size_t offset, const stretch *s,
                            const unsigned char *from)
{
    kn_status status = s->before ? kni_webgpu_patch(w, to, offset, from, (uint32_t)s->before) : KN_OK;
    size_t last = s->before + s->words;
    if (status == KN_OK && s->behind)
        status = kni_webgpu_patch(w, to, offset + last, from + last, (uint32_t)s->behind);
    return status;
}

kn_status kni_webgpu_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    webgpu *w = kni_webgpu_of(d);
    const webgpu_memory *m = to;
    stretch s = stretch_of(offset, bytes);
    kn_status status = patch_ends(w, m->buffer, offset, &s, from);
    if (status != KN_OK || !s.words) return status;
    return upload_words(w, m->buffer, offset + s.before, (const char *)from + s.before, s.words);
}

kn_status kni_webgpu_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    webgpu *w = kni_webgpu_of(d);
    const webgpu_memory *m = to;
    stretch s = stretch_of(offset, bytes);
    kn_status status = KN_OK;
    static const unsigned char zeros[WORD];
    if (s.before) status = kni_webgpu_patch(w, m->buffer, offset, zeros, (uint32_t)s.before);
    if (status == KN_OK && s.behind)
        status = kni_webgpu_patch(w, m->buffer, offset + s.before + s.words, zeros, (uint32_t)s.behind);
    if (status != KN_OK || !s.words) return status;
    kni_webgpu_record_clear(w->port, m->buffer, offset + s.before, s.words);
    w->recorded = true;
    return KN_OK;
}

static kn_status read_part(webgpu *w, char *to, webgpu_handle from, size_t offset, size_t bytes)
{
    size_t first = offset / WORD * WORD, end = words_up(offset + bytes);
    kn_status s = kni_webgpu_flush(w);
    if (s != KN_OK) return s;
    webgpu_handle read = kni_webgpu_read(w->port, from, first, end - first);
    if (!read) return kni_fail(KN_ERROR_MEMORY, "%s: no memory to read %D bytes", w->spec, (int64_t)bytes);
    webgpu_state state = WEBGPU_PENDING;
    while (state == WEBGPU_PENDING) state = kni_webgpu_read_state(w->port, read);
    kni_webgpu_read_end(w->port, read, to, offset - first, bytes);
    s = kni_webgpu_check(w);
    return s == KN_OK && state == WEBGPU_FAILED ? kni_fail(KN_ERROR_INTERNAL, "%s: reading failed", w->spec)
                                                : s;
}

kn_status kni_webgpu_no_waiting(const webgpu *w)
{
    return kni_fail(KN_ERROR_UNSUPPORTED,
                    "%s: the thread of a page must not wait for the GPU: read with kn_read_async, or use the "
                    "library in a worker, which may",
                    w->spec);
}

kn_status kni_webgpu_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    webgpu *w = kni_webgpu_of(d);
    const webgpu_memory *m = from;
    if (!w->port->waits) return kni_webgpu_no_waiting(w);
    for (size_t done = 0; done < bytes;) {
        size_t part = bytes - done > LARGEST_READ ? LARGEST_READ : bytes - done;
        kn_status s = read_part(w, (char *)to + done, m->buffer, offset + done, part);
        if (s != KN_OK) return s;
        done += part;
    }
    return KN_OK;
}
