/* Damaged files: the proof of it, and texts from files that go into messages. */
#ifndef KNI_SUPPORT_DAMAGE_H
#define KNI_SUPPORT_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Proof that the content of a file is not what was written: a wrong checksum, an end that is missing. What could be better the
   next time (no memory, no permission, a disk that fails) is none. The count is of this thread and only grows. */
void kni_damage_note(void);
uint64_t kni_damage_count(void);

/* Copies a text with all control characters, also ends of lines, as in messages; it is cut where n bytes are too few. */
void kni_escape(char *out, size_t n, const char *text);

#endif
