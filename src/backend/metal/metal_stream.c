/* Frames: what is encoded, committed and waited for; copies to, from and on the device. */
#include "backend/metal/metal_driver.h"
#include "core/error.h"
#include <string.h>

kn_status kni_metal_frames_open(metal *m)
{
    const kni_metal_api *a = m->api;
    for (int i = 0; i < METAL_FRAMES; i++) {
        metal_frame *f = &m->frames[i];
        f->staging = a->get_sized(m->device, a->s.new_buffer, METAL_STAGING, METAL_SHARED);
        f->mapped = f->staging ? a->get_address(f->staging, a->s.contents) : NULL;
        if (!f->mapped)
            return kni_metal_failed(m, KN_ERROR_MEMORY, "making memory that host and device see", NULL);
    }
    return KN_OK;
}

/* ---- frames */

static void end_encoder(metal *m)
{
    if (m->encoding == METAL_NOTHING) return;
    m->api->tell(m->encoder, m->api->s.end);
    kni_metal_release(m->api, m->encoder);
    m->encoder = NULL;
    m->encoding = METAL_NOTHING;
}

void kni_metal_frames_close(metal *m)
{
    end_encoder(m);
    for (int i = 0; i < METAL_FRAMES; i++) {
        metal_frame *f = &m->frames[i];
        if (f->commands && f->committed) m->api->tell(f->commands, m->api->s.wait);
        kni_metal_release(m->api, f->commands);
        kni_metal_release(m->api, f->staging);
    }
}

/* What a command buffer computed is not there once it failed, and neither is what comes after it. */
static void lose(metal *m, metal_id error)
{
    if (m->lost) return;
    m->lost = true;
    kni_metal_words(m->api, error, m->lost_text, sizeof m->lost_text);
}

static kn_status wait_frame(metal *m, metal_frame *f)
{
    const kni_metal_api *a = m->api;
    if (!f->commands || !f->committed) return m->lost ? kni_metal_gone(m) : KN_OK;
    void *pool = a->push_pool();
    a->tell(f->commands, a->s.wait);
    if (a->get_number(f->commands, a->s.status) == METAL_FAILED) lose(m, a->get(f->commands, a->s.error));
    kni_metal_release(a, f->commands);
    f->commands = NULL;
    f->committed = false;
    a->pop_pool(pool);
    return m->lost ? kni_metal_gone(m) : KN_OK;
}

static void flush(metal *m)
{
    metal_frame *f = &m->frames[m->frame];
    if (!f->commands || f->committed) return;
    end_encoder(m);
    m->api->tell(f->commands, m->api->s.commit);
    f->committed = true;
    m->frame = (m->frame + 1) % METAL_FRAMES;
}

static kn_status begin_frame(metal *m, metal_frame *f)
{
    const kni_metal_api *a = m->api;
    kn_status s = wait_frame(m, f);
    if (s != KN_OK) return s;
    metal_id commands = a->get(m->queue, a->s.commands);
    if (!commands) return kni_metal_failed(m, KN_ERROR_MEMORY, "making a command buffer", NULL);
    f->commands = a->get(commands, a->s.retain);
    f->staged = f->n_commands = 0;
    return KN_OK;
}

static kn_status begin_encoder(metal *m, const metal_frame *f, metal_encoding encoding)
{
    const kni_metal_api *a = m->api;
    if (m->encoding == encoding) return KN_OK;
    end_encoder(m);
    metal_id encoder = a->get(f->commands, encoding == METAL_COMPUTING ? a->s.compute : a->s.blit);
    if (!encoder) return kni_metal_failed(m, KN_ERROR_MEMORY, "making an encoder of commands", NULL);
    m->encoder = a->get(encoder, a->s.retain);
    m->encoding = encoding;
    return KN_OK;
}

metal_frame *kni_metal_frame(metal *m, metal_encoding encoding, uint64_t bytes, uint64_t *offset)
{
    uint64_t size = (bytes + METAL_ALIGNMENT - 1) / METAL_ALIGNMENT * METAL_ALIGNMENT;
    metal_frame *f = &m->frames[m->frame];
    if (m->lost) {
        (void)kni_metal_gone(m);
        return NULL;
    }
    bool open = f->commands && !f->committed;
    if (open && (f->staged + size > METAL_STAGING || f->n_commands == METAL_COMMANDS)) {
        flush(m);
        f = &m->frames[m->frame];
        open = false;
    }
    void *pool = m->api->push_pool();
    kn_status s = open ? KN_OK : begin_frame(m, f);
    if (s == KN_OK) s = begin_encoder(m, f, encoding);
    m->api->pop_pool(pool);
    if (s != KN_OK) return NULL;
    *offset = f->staged;
    f->staged += size;
    f->n_commands++;
    return f;
}

kn_status kni_metal_sync(kni_driver *d)
{
    metal *m = kni_metal_of(d);
    kn_status s = KN_OK;
    flush(m);
    for (uint32_t i = 0; i < METAL_FRAMES; i++) {
        kn_status one = wait_frame(m, &m->frames[(m->frame + i) % METAL_FRAMES]);
        if (s == KN_OK) s = one;
    }
    return s;
}

/* ---- copies */

/* Encodes a copy in the frame that is open: Metal's own moves whole words on Macs, and a kernel moves what is no word. */
static kn_status encode_copy(metal *m, metal_id to, uint64_t to_offset, metal_id from, uint64_t from_offset,
                             uint64_t bytes)
{
    if (m->encoding == METAL_COMPUTING)
        return kni_metal_encode_bytes(m, to, to_offset, from, from_offset, bytes);
    m->api->tell_copy(m->encoder, m->api->s.copy, from, from_offset, to, to_offset, bytes);
    return KN_OK;
}

static metal_encoding encoding_for(uint64_t places_and_bytes)
{
    return places_and_bytes % 4 ? METAL_COMPUTING : METAL_COPYING;
}

kn_status kni_metal_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    metal *m = kni_metal_of(d);
    const metal_memory *memory = to;
    kn_status s = KN_OK;
    for (size_t done = 0; done < bytes && s == KN_OK;) {
        size_t part = bytes - done > METAL_STAGING / 2 ? METAL_STAGING / 2 : bytes - done;
        uint64_t at, place = memory->offset + offset + done;
        metal_frame *f = kni_metal_frame(m, encoding_for(place | part), part, &at);
        if (!f) return kni_metal_no_frame(m);
        memcpy(f->mapped + at, (const char *)from + done, part);
        s = encode_copy(m, memory->buffer, place, f->staging, at, part);
        done += part;
    }
    return s;
}

/* Whole words around what is wanted: pieces of memory begin and end with one. */
kn_status kni_metal_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    metal *m = kni_metal_of(d);
    const metal_memory *memory = from;
    for (size_t done = 0; done < bytes;) {
        size_t before = (offset + done) % 4;
        size_t part = bytes - done > METAL_STAGING / 2 ? METAL_STAGING / 2 : bytes - done;
        size_t words = (before + part + 3) / 4 * 4;
        uint64_t at;
        metal_frame *f = kni_metal_frame(m, METAL_COPYING, words, &at);
        if (!f) return kni_metal_no_frame(m);
        m->api->tell_copy(m->encoder, m->api->s.copy, memory->buffer, memory->offset + offset + done - before,
                          f->staging, at, words);
        kn_status s = kni_metal_sync(d);
        if (s != KN_OK) return s;
        memcpy((char *)to + done, f->mapped + at + before, part);
        done += part;
    }
    return KN_OK;
}

kn_status kni_metal_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                         size_t bytes)
{
    metal *m = kni_metal_of(d);
    const metal_memory *target = to, *source = from;
    uint64_t to_at = target->offset + to_offset, from_at = source->offset + from_offset, unused;
    if (!bytes) return KN_OK;
    if (!kni_metal_frame(m, encoding_for(to_at | from_at | bytes), 0, &unused)) return kni_metal_no_frame(m);
    return encode_copy(m, target->buffer, to_at, source->buffer, from_at, bytes);
}

kn_status kni_metal_fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    metal *m = kni_metal_of(d);
    const metal_memory *memory = to;
    uint64_t at = memory->offset + offset, unused;
    metal_encoding encoding = encoding_for(at | bytes);
    if (!bytes) return KN_OK;
    if (!kni_metal_frame(m, encoding, 0, &unused)) return kni_metal_no_frame(m);
    if (encoding == METAL_COMPUTING) return kni_metal_encode_bytes(m, memory->buffer, at, NULL, 0, bytes);
    m->api->tell_fill(m->encoder, m->api->s.fill, memory->buffer, (metal_range){at, bytes}, 0);
    return KN_OK;
}
