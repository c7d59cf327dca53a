/* Cuts a kernel text into tokens. Text is hostile: it may end anywhere and hold any byte. */
#include "ir/lex.h"
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

kni_lexer kni_lex_begin(const char *text, size_t bytes) { return (kni_lexer){text, text + bytes, 1, text}; }

bool kni_lex_is(const kni_lex_token *token, const char *text)
{
    return (token->kind == KNI_LEX_NAME || token->kind == KNI_LEX_SIGN) && strlen(text) == token->length &&
           !memcmp(token->text, text, token->length);
}

const char *kni_lex_show(const kni_lex_token *token, char shown[KNI_LEX_SHOWN])
{
    enum { KEPT = 40 };
    if (token->kind == KNI_LEX_END) return "the end of the text";
    size_t n = token->length < KEPT ? token->length : KEPT;
    shown[0] = '\'';
    for (size_t i = 0; i < n; i++)
        shown[i + 1] = token->text[i] > 32 && token->text[i] < 127 ? token->text[i] : '?';
    const char *end = n < token->length ? "...'" : "'";
    memcpy(shown + n + 1, end, strlen(end) + 1);
    return shown;
}

static void new_line(kni_lexer *x)
{
    x->line++;
    x->line_start = x->at;
}

/* Past spaces and comments; false, standing at its beginning, when a comment does not end. */
static bool skip(kni_lexer *x)
{
    while (x->at < x->end) {
        if (is_space(*x->at)) {
            if (*x->at++ == '\n') new_line(x);
        } else if (x->end - x->at >= 2 && x->at[0] == '/' && x->at[1] == '/') {
            while (x->at < x->end && *x->at != '\n') x->at++;
        } else if (x->end - x->at >= 2 && x->at[0] == '/' && x->at[1] == '*') {
            kni_lexer start = *x;
            x->at += 2;
            while (x->end - x->at >= 2 && !(x->at[0] == '*' && x->at[1] == '/'))
                if (*x->at++ == '\n') new_line(x);
            if (x->end - x->at < 2) {
                *x = start;
                return false;
            }
            x->at += 2;
        } else {
            break;
        }
    }
    return true;
}

/* strtod reads the point of the locale, so it gets the digits without one and an exponent that makes up for it. */
bool kni_lex_real(const char *text, size_t length, double *value)
{
    enum { DIGITS = 800 };
    char copy[DIGITS + 16];
    size_t n = 0, i = 0;
    int64_t shift = 0, exponent = 0;
    bool after = false, down = false;
    for (; i < length && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            after = true;
            continue;
        }
        if (after) shift--;
        if (n == 0 && text[i] == '0') continue;
        if (n == DIGITS) return false;
        copy[n++] = text[i];
    }
    if (i < length) {
        i++;
        if (text[i] == '-' || text[i] == '+') down = text[i++] == '-';
        for (; i < length; i++)
            if (exponent < 100000) exponent = exponent * 10 + (text[i] - '0');
    }
    if (n == 0) copy[n++] = '0';
    exponent = (down ? -exponent : exponent) + shift;
    if (exponent > 99999 || exponent < -99999) exponent = exponent < 0 ? -99999 : 99999;
    copy[n++] = 'e';
    if (exponent < 0) copy[n++] = '-';
    exponent = exponent < 0 ? -exponent : exponent;
    for (int64_t unit = 10000; unit; unit /= 10) copy[n++] = (char)('0' + exponent / unit % 10);
    copy[n] = 0;
    *value = strtod(copy, NULL);
    return true;
}

static const char *number(kni_lexer *x, kni_lex_token *t)
{
    const char *p = x->at;
    bool whole = true;
    while (p < x->end && is_digit(*p)) p++;
    if (p < x->end && *p == '.') {
        whole = false;
        for (p++; p < x->end && is_digit(*p); p++) continue;
    }
    if (p < x->end && (*p == 'e' || *p == 'E')) {
        const char *digits = p + 1;
        if (digits < x->end && (*digits == '+' || *digits == '-')) digits++;
        if (digits < x->end && is_digit(*digits)) {
            whole = false;
            for (p = digits; p < x->end && is_digit(*p); p++) continue;
        }
    }
    t->length = (uint32_t)(p - t->text);
    if (p < x->end && (is_letter(*p) || is_digit(*p) || *p == '.'))
        return "a number is whole (12), or decimal with a point or an exponent (0.5, 1e-3), without a suffix "
               "(0.5f) and without 0x";
    x->at = p;
    t->kind = whole ? KNI_LEX_WHOLE : KNI_LEX_REAL;
    for (uint32_t i = 0; i < t->length && whole; i++)
        if (__builtin_mul_overflow(t->whole, (int64_t)10, &t->whole) ||
            __builtin_add_overflow(t->whole, (int64_t)(t->text[i] - '0'), &t->whole))
            return "a whole number has to fit into 63 bits";
    if (!whole && !kni_lex_real(t->text, t->length, &t->real)) return "a number has too many digits";
    return NULL;
}

static const char *sign(kni_lexer *x, kni_lex_token *t)
{
    static const char pairs[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
                                    "++", "--", "+=", "-=", "*=", "/=", "%="};
    t->kind = KNI_LEX_SIGN;
    t->length = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && x->end - x->at >= 2; i++)
        if (!memcmp(x->at, pairs[i], 2)) t->length = 2;
    x->at += t->length;
    if (t->length == 1 && (!*t->text || !strchr("-+*/%&|^~!<>=?:;,(){}[]", *t->text)))
        return "no word of the language begins so";
    return NULL;
}

bool kni_lex_next(kni_lexer *x, kni_lex_token *t, const char **why)
{
    bool ended = skip(x);
    *t = (kni_lex_token){KNI_LEX_END, 0, x->at, x->line, (uint32_t)(x->at - x->line_start) + 1, 0, 0};
    *why = ended ? NULL : "a comment does not end";
    if (!ended || x->at == x->end) return ended;
    if (is_letter(*x->at)) {
        t->kind = KNI_LEX_NAME;
        while (x->at < x->end && (is_letter(*x->at) || is_digit(*x->at))) x->at++;
        t->length = (uint32_t)(x->at - t->text);
    } else if (is_digit(*x->at) || (*x->at == '.' && x->end - x->at >= 2 && is_digit(x->at[1]))) {
        *why = number(x, t);
    } else {
        *why = sign(x, t);
    }
    return !*why;
}
