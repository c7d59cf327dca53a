/* How renderers write numbers, counts, durations, sparklines and the ticks of an axis; a line of UTF-8. */
#ifndef KNI_TRAIN_RENDER_FORMAT_H
#define KNI_TRAIN_RENDER_FORMAT_H

#include "support/buffer.h"
#include "support/clock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Between the two, numbers of this thread are written with a point, whatever the program's locale is: files are for programs. */
typedef struct kni_numbers {
    void *before;
} kni_numbers;
kni_numbers kni_plain_numbers_begin(void);
void kni_plain_numbers_end(kni_numbers numbers);

/* Four digits that count: "0.1234", "12.3", "1.20e-05". */
void kni_format_number(char *out, size_t n, double value);
/* "987", "12.3k", "4.56M". */
void kni_format_count(char *out, size_t n, double value);
/* "0:07", "12:31", "1:02:03", "2d 03:04"; "-:--" for what is unknown (negative). */
void kni_format_duration(char *out, size_t n, double seconds);

/* Round numbers between low and high, about `wanted` of them: first + i * step for i < count. */
typedef struct kni_ticks {
    double first, step;
    int count, digits; /* behind the point */
} kni_ticks;
kni_ticks kni_ticks_of(double low, double high, int wanted);
void kni_format_tick(char *out, size_t n, const kni_ticks *ticks, double value);

/* The next character of a UTF-8 text, U+FFFD for bytes that are none; *text moves on. 0 at the end. */
uint32_t kni_utf8_next(const char **text);
void kni_utf8_append(kni_buffer *out, uint32_t character);
/* Columns a character takes on a terminal: 0, 1 or 2. Controls take none: a text must not steer the terminal. */
int kni_utf8_columns(uint32_t character);
/* A plain letter that looks like a character of the dashboard, '?' for others. */
char kni_ascii_of(uint32_t character);

#endif
