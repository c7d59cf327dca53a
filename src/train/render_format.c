/* Numbers, durations, ticks and UTF-8 for renderers. */
#define _POSIX_C_SOURCE 200809L
#include "train/render_format.h"
#include "support/scalar_math.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>

/* The C library keeps one object of the locale "C", which is never freed; making it again costs nothing. */
kni_numbers kni_plain_numbers_begin(void)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (kni_numbers){plain ? (void *)uselocale(plain) : NULL};
}

void kni_plain_numbers_end(kni_numbers numbers)
{
    if (numbers.before) uselocale((locale_t)numbers.before);
}

void kni_format_number(char *out, size_t n, double value)
{
    double size = value < 0 ? -value : value;
    if (value != value)
        snprintf(out, n, "nan");
    else if (size >= 1000 && size < 1e6)
        snprintf(out, n, "%.0f", value);
    else if (size > 0 && size < 0.001)
        snprintf(out, n, "%.2e", value);
    else
        snprintf(out, n, "%.4g", value);
}

void kni_format_count(char *out, size_t n, double value)
{
    static const char units[] = "kMGTP";
    double size = value < 0 ? -value : value;
    if (!(size >= 1000)) {
        snprintf(out, n, "%.4g", value);
        return;
    }
    int unit = -1;
    while (size >= 999.5 && unit < 4) {
        size /= 1000;
        unit++;
    }
    snprintf(out, n, "%s%.*f%c", value < 0 ? "-" : "",
             size < 9.995   ? 2
             : size < 99.95 ? 1
                            : 0,
             size, units[unit]);
}

void kni_format_duration(char *out, size_t n, double seconds)
{
    if (!(seconds >= 0) || seconds > 1e12) {
        snprintf(out, n, "-:--");
        return;
    }
    long long s = (long long)(seconds + 0.5);
    if (s < 3600)
        snprintf(out, n, "%lld:%02lld", s / 60, s % 60);
    else if (s < 86400)
        snprintf(out, n, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, n, "%lldd %02lld:%02lld", s / 86400, s / 3600 % 24, s / 60 % 60);
}

/* ---- ticks */

/* 10^exponent for small exponents. */
static double power_of_ten(int exponent)
{
    double power = 1;
    for (int i = 0; i < exponent; i++) power *= 10;
    for (int i = 0; i > exponent; i--) power /= 10;
    return power;
}

kni_ticks kni_ticks_of(double low, double high, int wanted)
{
    static const double rounds[] = {1, 2, 5, 10};
    kni_ticks ticks = {low, 1, 0, 0};
    double span = high - low;
    if (!(span > 0) || !(span < 1e300) || wanted < 1) return ticks;
    double rough = span / wanted;
    int exponent = (int)kni_floor(kni_ln(rough) / kni_ln(10));
    if (exponent < -290) return ticks;
    double power = power_of_ten(exponent);
    int round = 0;
    while (round < 3 && rounds[round] * power < rough * 0.999) round++;
    ticks.step = rounds[round] * power;
    if (rounds[round] == 10) exponent++;
    ticks.digits = exponent < 0 ? -exponent : 0;
    double start = -kni_floor(-low / ticks.step + 1e-9); /* the ceiling */
    ticks.first = start * ticks.step;
    while (ticks.count < 64 && ticks.first + ticks.count * ticks.step <= high + ticks.step * 1e-9)
        ticks.count++;
    return ticks;
}

void kni_format_tick(char *out, size_t n, const kni_ticks *ticks, double value)
{
    double size = value < 0 ? -value : value;
    if (size < ticks->step * 1e-6)
        snprintf(out, n, "0");
    else if (size >= 10000 && ticks->digits == 0)
        kni_format_count(out, n, value);
    else if (ticks->digits > 5)
        snprintf(out, n, "%.3g", value);
    else
        snprintf(out, n, "%.*f", ticks->digits, value);
}

/* ---- UTF-8 */

uint32_t kni_utf8_next(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    if (p[0] < 0x80) {
        if (p[0]) *text += 1;
        return p[0];
    }
    int extra = p[0] >= 0xF0 && p[0] < 0xF5   ? 3
                : p[0] >= 0xE0 && p[0] < 0xF0 ? 2
                : p[0] >= 0xC2 && p[0] < 0xE0 ? 1
                                              : 0;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    uint32_t c = extra ? p[0] & (0x3Fu >> extra) : 0;
    int i = 1;
    for (; i <= extra && (p[i] & 0xC0) == 0x80; i++) c = c << 6 | (p[i] & 0x3Fu);
    if (!extra || i <= extra || c < least[extra] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
        *text += 1;
        return 0xFFFD;
    }
    *text += extra + 1;
    return c;
}

void kni_utf8_append(kni_buffer *out, uint32_t c)
{
    unsigned char bytes[4];
    size_t n = 0;
    if (c < 0x80)
        bytes[n++] = (unsigned char)c;
    else if (c < 0x800)
        bytes[n++] = (unsigned char)(0xC0 | c >> 6);
    else if (c < 0x10000) {
        bytes[n++] = (unsigned char)(0xE0 | c >> 12);
        bytes[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    } else {
        bytes[n++] = (unsigned char)(0xF0 | c >> 18);
        bytes[n++] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
        bytes[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    }
    if (c >= 0x80) bytes[n++] = (unsigned char)(0x80 | (c & 0x3F));
    kni_buffer_append(out, bytes, n);
}

typedef struct range {
    uint32_t first, last;
} range;

static bool in_ranges(const range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last) return true;
    return false;
}

int kni_utf8_columns(uint32_t c)
{
    static const range none[] = {{0, 0x1F},         {0x7F, 0x9F},     {0x300, 0x36F},   {0x200B, 0x200F},
                                 {0x2028, 0x202E},  {0x2060, 0x206F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                 {0xFE20, 0xFE2F},  {0xFEFF, 0xFEFF}, {0xD800, 0xDFFF}, {0xE000, 0xF8FF},
                                 {0xE0000, 0xE0FFF}};
    static const range two[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                                {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                                {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};
    if (c >= 0x20 && c < 0x7F) return 1;
    if (in_ranges(none, sizeof none / sizeof *none, c)) return 0;
    return in_ranges(two, sizeof two / sizeof *two, c) ? 2 : 1;
}

char kni_ascii_of(uint32_t c)
{
    static const struct {
        uint32_t character;
        char looks;
    } table[] = {{0xB7, '-'},   {0xD7, 'x'},   {0x2500, '-'}, {0x2502, '|'}, {0x250A, ':'},
                 {0x2508, '.'}, {0x2026, '.'}, {0x2190, '<'}, {0x2191, '^'}, {0x2192, '>'},
                 {0x2193, 'v'}, {0x2013, '-'}, {0x2014, '-'}, {0x25CF, '*'}, {0x25CB, 'o'},
                 {0x25C2, '<'}, {0x25B8, '>'}, {0x2501, '#'}, {0x2713, '+'}, {0x2605, '*'}};
    if (c >= 0x20 && c < 0x7F) return (char)c;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].character == c) return table[i].looks;
    if (c >= 0x250C && c <= 0x256F) return '+'; /* corners and crossings of boxes */
    if (c >= 0x2588 && c <= 0x258B) return '#'; /* blocks, more than half full */
    if (c >= 0x2581 && c <= 0x2587) return ".:-=+*%"[c - 0x2581];
    if (c >= 0x258C && c <= 0x2593) return '.';
    return '?';
}
