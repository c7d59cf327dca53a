/* The words of a kernel text: names, numbers and signs, each with its line and column. */
#ifndef KNI_IR_LEX_H
#define KNI_IR_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kni_lex_kind {
    KNI_LEX_END,
    KNI_LEX_NAME,
    KNI_LEX_WHOLE,
    KNI_LEX_REAL,
    KNI_LEX_SIGN
} kni_lex_kind;

typedef struct kni_lex_token {
    uint8_t kind;
    uint32_t length;
    const char *text; /* in the kernel text, not ended by 0 */
    uint32_t line, column;
    int64_t whole;
    double real;
} kni_lex_token;

typedef struct kni_lexer {
    const char *at, *end;
    uint32_t line;
    const char *line_start;
} kni_lexer;

kni_lexer kni_lex_begin(const char *text, size_t bytes);
/* The next token, or false with what is wrong in *why; the token then stands where that is. */
bool kni_lex_next(kni_lexer *lexer, kni_lex_token *token, const char **why);

/* The number that the digits of a decimal with a point or an exponent say, whatever the locale; false: too many. */
bool kni_lex_real(const char *text, size_t length, double *value);

bool kni_lex_is(const kni_lex_token *token, const char *text); /* never of a number */
/* The token as people read it, cut to the room: at most 40 characters, what cannot be printed as '?'. */
enum { KNI_LEX_SHOWN = 48 };
const char *kni_lex_show(const kni_lex_token *token, char shown[KNI_LEX_SHOWN]);

#endif
