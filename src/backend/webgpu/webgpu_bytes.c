/* Copies that begin or end within a word. WebGPU copies and writes whole words, between two buffers, so the rest is done by two kernels. */
#include "backend/webgpu/webgpu_driver.h"
#include "core/error.h"
#include <string.h>

enum { WORD = 4, WIDTH = 64 };

#define ENTRY                                                                                                \
    "@compute @workgroup_size(64)\n"                                                                         \
    "fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {" \
    "\n"

/* numbers[2]: the word, which bits of it stay, the others. */
static const char patch_text[] =
    "@group(0) @binding(0) var<storage, read_write> words: array<u32>;\n"
    "@group(0) @binding(1) var<uniform> numbers: array<vec4<u32>, 3>;\n" ENTRY
    "    if (local.x == 0u) { words[numbers[2].x] = (words[numbers[2].x] & numbers[2].y) | numbers[2].z; }\n"
    "}\n";

/* numbers[2]: the first byte written, the first one read, how many. An invocation makes a word of the result. */
static const char bytes_text[] = "@group(0) @binding(0) var<storage, read> source: array<u32>;\n"
                                 "@group(0) @binding(1) var<storage, read_write> words: array<u32>;\n"
                                 "@group(0) @binding(2) var<uniform> numbers: array<vec4<u32>, 3>;\n" ENTRY
                                 "    let begin = numbers[2].x;\n"
                                 "    let end = begin + numbers[2].z;\n"
                                 "    let word = begin / 4u + (workgroup.x + numbers[0].x) * 64u + local.x;\n"
                                 "    if (word * 4u >= end) { return; }\n"
                                 "    var value = words[word];\n"
                                 "    for (var i = 0u; i < 4u; i++) {\n"
                                 "        let at = word * 4u + i;\n"
                                 "        if (at >= begin && at < end) {\n"
                                 "            let place = at - begin + numbers[2].y;\n"
                                 "            let byte = (source[place / 4u] >> (place % 4u * 8u)) & 255u;\n"
                                 "            value = (value & ~(255u << (i * 8u))) | (byte << (i * 8u));\n"
                                 "        }\n"
                                 "    }\n"
                                 "    words[word] = value;\n"
                                 "}\n";

static webgpu_handle own_pipeline(webgpu *w, int which)
{
    static const struct {
        const char *text, *access;
    } kernels[WEBGPU_OWN] = {[WEBGPU_PATCH] = {patch_text, "w"}, [WEBGPU_BYTES] = {bytes_text, "rw"}};
    const webgpu_kernel_text k = {.text = kernels[which].text,
                                  .entry = "main",
                                  .access = kernels[which].access,
                                  .bytes = strlen(kernels[which].text)};
    if (!w->own[which]) w->own[which] = kni_webgpu_pipeline(w->port, &k);
    return w->own[which];
}

kn_status kni_webgpu_patch(webgpu *w, webgpu_handle to, uint64_t offset, const unsigned char *from,
                           uint32_t bytes)
{
    const uint32_t one[3] = {1, 1, 1};
    uint32_t params[4] = {(uint32_t)(offset / WORD), 0xffffffff, 0, 0};
    webgpu_handle pipeline = own_pipeline(w, WEBGPU_PATCH);
    if (!pipeline) return KN_ERROR_INTERNAL;
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t shift = (uint32_t)(offset % WORD + i) * 8;
        params[1] &= ~((uint32_t)0xff << shift);
        params[2] |= (uint32_t)from[i] << shift;
    }
    return kni_webgpu_dispatch(w, pipeline, &to, 1, one, params, sizeof params);
}

/* From one buffer into another, at any byte. */
static kn_status copy_bytes(webgpu *w, webgpu_handle to, uint64_t to_offset, webgpu_handle from,
                            uint64_t from_offset, uint64_t bytes)
{
    const uint32_t params[4] = {(uint32_t)to_offset, (uint32_t)from_offset, (uint32_t)bytes, 0};
    const webgpu_handle buffers[2] = {from, to};
    uint64_t words = (to_offset + bytes + WORD - 1) / WORD - to_offset / WORD;
    const uint32_t groups[3] = {(uint32_t)((words + WIDTH - 1) / WIDTH), 1, 1};
    webgpu_handle pipeline = own_pipeline(w, WEBGPU_BYTES);
    return pipeline ? kni_webgpu_dispatch(w, pipeline, buffers, 2, groups, params, sizeof params)
                    : KN_ERROR_INTERNAL;
}

static kn_status copy_between(webgpu *w, webgpu_handle to, uint64_t to_offset, webgpu_handle from,
                              uint64_t from_offset, uint64_t bytes)
{
    if (to_offset % WORD || from_offset % WORD || bytes % WORD)
        return copy_bytes(w, to, to_offset, from, from_offset, bytes);
    kni_webgpu_record_copy(w->port, from, from_offset, to, to_offset, bytes);
    w->recorded = true;
    return KN_OK;
}

kn_status kni_webgpu_copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                          size_t bytes)
{
    webgpu *w = kni_webgpu_of(d);
    const webgpu_memory *target = to, *source = from;
    if (!bytes) return KN_OK;
    if (target->buffer != source->buffer)
        return copy_between(w, target->buffer, to_offset, source->buffer, from_offset, bytes);
    /* Within a buffer: by way of another. */
    uint64_t first = from_offset / WORD * WORD, size = (from_offset + bytes - first + WORD - 1) / WORD * WORD;
    webgpu_handle between = kni_webgpu_buffer(w->port, size, false);
    if (!between) return kni_fail(KN_ERROR_MEMORY, "%s: no memory to copy %D bytes", w->spec, (int64_t)bytes);
    kn_status s = copy_between(w, between, 0, source->buffer, first, size);
    if (s == KN_OK) s = copy_between(w, target->buffer, to_offset, between, from_offset - first, bytes);
    kni_webgpu_buffer_free(w->port, between);
    return s;
}
