/* Reading without waiting, in pieces that WebGPU maps one by one. */
#include "backend/webgpu/webgpu_driver.h"
#include "core/allocator.h"
#include "core/error.h"

enum { WORD = 4, LARGEST_PIECE = 64 << 20 };

struct kni_fetch {
    size_t offset, bytes, all; /* all: of this struct */
    int32_t n, there;          /* pieces, and how many of them have come */
    webgpu_handle pieces[];
};

/* Piece i lies in whole words from `first` on, of which `skip` bytes are not asked for. */
typedef struct piece {
    size_t first, words, skip, bytes, done;
} piece;

static piece piece_of(const kni_fetch *f, int32_t i)
{
    piece p = {.done = (size_t)i * LARGEST_PIECE};
    size_t left = f->bytes - p.done, from = f->offset + p.done;
    p.bytes = left < LARGEST_PIECE ? left : LARGEST_PIECE;
    p.first = from / WORD * WORD;
    p.skip = from - p.first;
    p.words = (p.skip + p.bytes + WORD - 1) / WORD * WORD;
    return p;
}

kni_fetch *kni_webgpu_fetch_begin(kni_driver *d, const void *from, size_t offset, size_t bytes)
{
    webgpu *w = kni_webgpu_of(d);
    const webgpu_memory *m = from;
    size_t n = bytes / LARGEST_PIECE + (bytes % LARGEST_PIECE != 0),
           all = sizeof(kni_fetch) + n * sizeof(webgpu_handle);
    if (kni_webgpu_flush(w) != KN_OK) return NULL;
    kni_fetch *f = n < INT32_MAX ? kni_allocate(all) : NULL;
    if (f) {
        *f = (kni_fetch){.offset = offset, .bytes = bytes, .all = all};
        for (; f->n < (int32_t)n; f->n++) {
            piece p = piece_of(f, f->n);
            f->pieces[f->n] = kni_webgpu_read(w->port, m->buffer, p.first, p.words);
            if (!f->pieces[f->n]) break;
        }
        if (f->n == (int32_t)n) return f;
        kni_webgpu_fetch_end(d, f, NULL);
    }
    (void)kni_fail(KN_ERROR_MEMORY, "%s: no memory to read %D bytes", w->spec, (int64_t)bytes);
    return NULL;
}

kn_status kni_webgpu_fetch_ready(kni_driver *d, kni_fetch *f, bool wait, bool *ready)
{
    webgpu *w = kni_webgpu_of(d);
    *ready = false;
    if (wait && !w->port->waits) return kni_webgpu_no_waiting(w);
    while (f->there < f->n) {
        webgpu_state state = kni_webgpu_read_state(w->port, f->pieces[f->there]);
        kn_status s = state == WEBGPU_PENDING && !w->port->lost ? KN_OK : kni_webgpu_check(w);
        if (s == KN_OK && state == WEBGPU_FAILED)
            s = kni_fail(KN_ERROR_INTERNAL, "%s: reading failed", w->spec);
        if (s != KN_OK) return s;
        if (state == WEBGPU_THERE)
            f->there++;
        else if (!wait)
            return KN_OK;
    }
    *ready = true;
    return KN_OK;
}

void kni_webgpu_fetch_end(kni_driver *d, kni_fetch *f, void *to)
{
    webgpu *w = kni_webgpu_of(d);
    for (int32_t i = 0; i < f->n; i++) {
        piece p = piece_of(f, i);
        kni_webgpu_read_end(w->port, f->pieces[i], to ? (char *)to + p.done : NULL, p.skip, p.bytes);
    }
    kni_free(f, f->all);
}
