/* CRC-32 and CRC-32C: by half bytes for short data, by tables of eight bytes for long, and CRC-32C by the processor's own
   instruction where it has one (x86-64 with SSE 4.2, AArch64 compiled for it). */
#include "support/checksum.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif
#include <string.h>

enum { WORTH_TABLES = 1 << 13 };

/* The remainders of all half bytes for a polynomial: two steps a byte, no table to fill first. */
static const uint32_t half_crc32[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
static const uint32_t half_crc32c[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

static uint32_t by_bytes(const uint32_t *half, uint32_t crc, const unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ half[crc & 15];
        crc = crc >> 4 ^ half[crc & 15];
    }
    return crc;
}

static uint32_t little_word(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Eight bytes at a time: table k has the remainder of each byte that k others follow. The tables are made anew for each call,
   which long data pays for and which needs no state that threads share. */
static uint32_t by_tables(const uint32_t *half, uint32_t crc, const unsigned char **p, size_t *bytes)
{
    uint32_t table[8][256];
    for (uint32_t i = 0; i < 256; i++) table[0][i] = by_bytes(half, i, (const unsigned char *)"", 1);
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
    const unsigned char *at = *p, *end = at + *bytes / 8 * 8;
    for (; at < end; at += 8) {
        uint32_t low = crc ^ little_word(at), high = little_word(at + 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
              table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    *p = end;
    *bytes %= 8;
    return crc;
}

static uint32_t continued(const uint32_t *half, uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    crc = ~crc;
    if (bytes >= WORTH_TABLES) crc = by_tables(half, crc, &p, &bytes);
    return ~by_bytes(half, crc, p, bytes);
}

uint32_t kni_crc32(uint32_t crc, const void *data, size_t bytes)
{
    return continued(half_crc32, crc, data, bytes);
}

uint32_t kni_crc32c_plain(uint32_t crc, const void *data, size_t bytes)
{
    return continued(half_crc32c, crc, data, bytes);
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const unsigned char *p,
                                                                 size_t bytes)
{
    uint64_t wide = crc, word;
    for (; bytes >= 8; p += 8, bytes -= 8) {
        memcpy(&word, p, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; bytes; p++, bytes--) crc = _mm_crc32_u8(crc, *p);
    return crc;
}

static int has_instruction(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2) != 0;
}
#elif defined(__ARM_FEATURE_CRC32)
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t bytes)
{
    uint64_t word;
    for (; bytes >= 8; p += 8, bytes -= 8) {
        memcpy(&word, p, 8);
        crc = __crc32cd(crc, word);
    }
    for (; bytes; p++, bytes--) crc = __crc32cb(crc, *p);
    return crc;
}

static int has_instruction(void) { return 1; }
#else
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t bytes)
{
    return by_bytes(half_crc32c, crc, p, bytes);
}

static int has_instruction(void) { return 0; }
#endif

uint32_t kni_crc32c(uint32_t crc, const void *data, size_t bytes)
{
    /* Asking the processor costs more than a few bytes do: under a hypervisor it is a trap, so the answer is kept. */
    static int known;
    int has = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!has) __atomic_store_n(&known, has = has_instruction() ? 1 : 2, __ATOMIC_RELAXED);
    return has == 1 ? ~by_instruction(~crc, data, bytes) : kni_crc32c_plain(crc, data, bytes);
}
