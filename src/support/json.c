/* Reading JSON: recursive descent with bounded depth over a text of known length. Nodes and strings come from chunks that are
   freed together; they are never larger than the text justifies. */
#include "support/json.h"
#include "support/failure.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, LONGEST_NUMBER = 400, CHUNK = 16384 };

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
} chunk;

struct kni_json_document {
    chunk *chunks;
    kni_json *root;
};

typedef struct reader {
    const char *at, *end, *line_start;
    int32_t line;
    int32_t depth;
    const char *name;
    kni_json_document document;
} reader;

static void *take(reader *r, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    chunk *c = r->document->chunks;
    if (!c || c->size - c->used < bytes) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        c = malloc(sizeof *c + size);
        if (!c) {
            (void)kni_failure_memory(r->name);
            return NULL;
        }
        *c = (chunk){r->document->chunks, 0, size};
        r->document->chunks = c;
    }
    void *result = c->bytes + c->used;
    c->used += bytes;
    return result;
}

static int32_t column(const reader *r) { return (int32_t)(r->at - r->line_start) + 1; }

static bool fail(reader *r, const char *what)
{
    (void)kni_failure(KN_ERROR_ARGUMENT, "%s:%d:%d: %s", r->name, (int)r->line, (int)column(r), what);
    return false;
}

static void skip_space(reader *r)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '\n') {
            r->line++;
            r->line_start = r->at + 1;
        } else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            return;
    }
}

static bool hex4(reader *r, uint32_t *code)
{
    if (r->end - r->at < 4) return fail(r, "the text ends inside \\u");
    *code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char c = *r->at;
        int digit = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
        if (digit < 0) return fail(r, "\\u needs four hexadecimal digits");
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static size_t encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | code);
    return n;
}

/* Behind the backslash: writes what it stands for. */
static bool escape(reader *r, char *out, size_t *length)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end) return fail(r, "the text ends inside a string");
    char c = *r->at;
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        r->at++;
        out[(*length)++] = values[found - names];
        return true;
    }
    if (c != 'u') return fail(r, "unknown escape in a string");
    r->at++;
    uint32_t code, low;
    if (!hex4(r, &code)) return false;
    if (code >= 0xD800 && code < 0xE000) {
        if (code >= 0xDC00 || r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return fail(r, "half of a surrogate pair");
        r->at += 2;
        if (!hex4(r, &low)) return false;
        if (low < 0xDC00 || low >= 0xE000) return fail(r, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *length += encode(code, out + *length);
    return true;
}

/* The length of the UTF-8 sequence at p, 0 when it is none. */
static size_t sequence(const char *p, size_t left)
{
    const unsigned char *s = (const unsigned char *)p;
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
               : (s[0] & 0xF0) == 0xE0       ? 3
               : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                             : 0;
    if (n == 0 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

/* At the opening quote. The decoded text is never longer than the encoded one. */
static char *string(reader *r, size_t *length)
{
    const char *close = ++r->at;
    while (close < r->end && *close != '"') close += *close == '\\' && r->end - close > 1 ? 2 : 1;
    if (close >= r->end) {
        fail(r, "the string has no end");
        return NULL;
    }
    char *out = take(r, (size_t)(close - r->at) + 1);
    if (!out) return NULL;
    *length = 0;
    while (r->at < close) {
        if ((unsigned char)*r->at < 0x20) {
            fail(r, "a control character inside a string; write it as an escape");
            return NULL;
        }
        if (*r->at == '\\') {
            r->at++;
            if (!escape(r, out, length)) return NULL;
            continue;
        }
        size_t n = sequence(r->at, (size_t)(close - r->at));
        if (n == 0) {
            fail(r, "a string that is not UTF-8");
            return NULL;
        }
        memcpy(out + *length, r->at, n);
        *length += n;
        r->at += n;
    }
    r->at = close + 1;
    out[*length] = 0;
    return out;
}

static void digits(reader *r)
{
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
}

/* Digits without sign as a whole number that fits, with the sign applied. */
static bool exact(const char *from, const char *to, bool negative, int64_t *value)
{
    uint64_t sum = 0, limit = negative ? (uint64_t)1 << 63 : ((uint64_t)1 << 63) - 1;
    for (; from < to; from++) {
        uint64_t digit = (uint64_t)(*from - '0');
        if (sum > (limit - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

/* strtod reads the point of the locale, so the token gets that one first. */
static double decimal(const char *from, size_t length)
{
    char text[LONGEST_NUMBER + 1];
    memcpy(text, from, length);
    text[length] = 0;
    char *point = strchr(text, '.');
    if (point) *point = localeconv()->decimal_point[0];
    return strtod(text, NULL);
}

static bool number(reader *r, kni_json *value)
{
    const char *from = r->at, *first;
    bool negative = *r->at == '-', plain = true;
    if (negative) r->at++;
    first = r->at;
    digits(r);
    const char *last = r->at;
    if (first == last || (*first == '0' && last - first > 1)) return fail(r, "not a number");
    if (r->at < r->end && *r->at == '.') {
        plain = false;
        const char *fraction = ++r->at;
        digits(r);
        if (r->at == fraction) return fail(r, "a number needs a digit behind its point");
    }
    if (r->at < r->end && (*r->at | 32) == 'e') {
        plain = false;
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        const char *exponent = r->at;
        digits(r);
        if (r->at == exponent) return fail(r, "a number needs a digit in its exponent");
    }
    if (r->at - from > LONGEST_NUMBER) return fail(r, "the number has too many digits");
    value->kind = KNI_JSON_NUMBER;
    value->whole = plain && exact(first, last, negative, &value->integer);
    /* Fifteen digits are exact as a double, without asking the C library. */
    value->number = value->whole && last - first <= 15 && value->integer
                        ? (double)value->integer
                        : decimal(from, (size_t)(r->at - from));
    if (value->number - value->number != 0) return fail(r, "the number is too large");
    if (!value->whole && !plain && value->number > -9e18 && value->number < 9e18) {
        value->integer = (int64_t)value->number;
        value->whole = (double)value->integer == value->number;
    }
    return true;
}

static bool word(reader *r, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

static kni_json *value_at(reader *r);

/* Members of an array or object, behind the opening bracket. */
static bool members(reader *r, kni_json *owner, char close)
{
    bool object = owner->kind == KNI_JSON_OBJECT;
    kni_json **link = &owner->first;
    skip_space(r);
    if (r->at < r->end && *r->at == close) {
        r->at++;
        return true;
    }
    for (;;) {
        const char *key = NULL;
        skip_space(r);
        if (object) {
            size_t length;
            if (r->at == r->end || *r->at != '"') return fail(r, "a name in quotes is missing");
            key = string(r, &length);
            if (!key) return false;
            if (strlen(key) != length) return fail(r, "a name must not hold a zero byte");
            skip_space(r);
            if (r->at == r->end || *r->at != ':') return fail(r, "':' is missing behind a name");
            r->at++;
        }
        kni_json *member = value_at(r);
        if (!member) return false;
        member->key = key;
        *link = member;
        link = &member->next;
        owner->count++;
        skip_space(r);
        if (r->at == r->end) return fail(r, object ? "'}' is missing" : "']' is missing");
        if (*r->at == close) break;
        if (*r->at != ',') return fail(r, object ? "',' or '}' is missing" : "',' or ']' is missing");
        r->at++;
    }
    r->at++;
    return true;
}

static bool fill(reader *r, kni_json *value)
{
    char c = *r->at;
    if (c == '{' || c == '[') {
        if (r->depth == DEEPEST) return fail(r, "nested too deeply");
        value->kind = c == '{' ? KNI_JSON_OBJECT : KNI_JSON_ARRAY;
        r->at++;
        r->depth++;
        bool good = members(r, value, c == '{' ? '}' : ']');
        r->depth--;
        return good;
    }
    if (c == '"') {
        value->kind = KNI_JSON_TEXT;
        value->text = string(r, &value->length);
        return value->text != NULL;
    }
    if (c == '-' || (c >= '0' && c <= '9')) return number(r, value);
    value->kind = KNI_JSON_BOOL;
    value->truth = word(r, "true");
    if (value->truth || word(r, "false")) return true;
    value->kind = KNI_JSON_NULL;
    return word(r, "null") ||
           fail(r, "a value is missing: expected {, [, a string, a number, true, false or null");
}

static kni_json *value_at(reader *r)
{
    skip_space(r);
    if (r->at == r->end) {
        fail(r, "the text ends where a value is missing");
        return NULL;
    }
    kni_json *value = take(r, sizeof *value);
    if (!value) return NULL;
    *value = (kni_json){.line = r->line, .column = column(r)};
    return fill(r, value) ? value : NULL;
}

kni_json_document kni_json_parse(const char *text, size_t length, const char *name)
{
    if (!text) text = "", length = 0;
    if (!name) name = "JSON";
    kni_json_document document = calloc(1, sizeof *document);
    if (!document) {
        (void)kni_failure_memory(name);
        return NULL;
    }
    reader r = {text, text + length, text, 1, 0, name, document};
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) r.at = r.line_start = text + 3;
    document->root = value_at(&r);
    if (document->root) {
        skip_space(&r);
        if (r.at == r.end) return document;
        fail(&r, "there is more text behind the value");
    }
    kni_json_free(document);
    return NULL;
}

const kni_json *kni_json_root(kni_json_document document) { return document ? document->root : NULL; }

void kni_json_free(kni_json_document document)
{
    if (!document) return;
    for (chunk *c = document->chunks; c;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    free(document);
}

const kni_json *kni_json_member(const kni_json *object, const char *key)
{
    if (!object || object->kind != KNI_JSON_OBJECT) return NULL;
    for (const kni_json *m = object->first; m; m = m->next)
        if (strcmp(m->key, key) == 0) return m;
    return NULL;
}

bool kni_json_is_text(const char *text, size_t length)
{
    for (size_t i = 0, n; i < length; i += n)
        if ((n = sequence(text + i, length - i)) == 0) return false;
    return true;
}

void kni_json_clean(kni_buffer *out, const char *text, size_t length)
{
    size_t from = 0;
    for (size_t i = 0, n; i < length; i += n ? n : 1) {
        n = sequence(text + i, length - i);
        if (n) continue;
        kni_buffer_append(out, text + from, i - from);
        kni_buffer_text(out, "\xEF\xBF\xBD");
        from = i + 1;
    }
    kni_buffer_append(out, text + from, length - from);
}

void kni_json_write_text(kni_buffer *out, const char *text, size_t length)
{
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    kni_buffer_append(out, "\"", 1);
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        const char *found = c ? strchr(values, c) : NULL;
        size_t n = found || c < 0x20 ? 1 : sequence(text + i, length - i);
        if (found) {
            char pair[2] = {'\\', names[found - values]};
            kni_buffer_append(out, pair, 2);
        } else if (c < 0x20)
            kni_buffer_format(out, "\\u%04x", c);
        else if (n)
            kni_buffer_append(out, text + i, n);
        else
            kni_buffer_text(out, "\xEF\xBF\xBD");
        i += n ? n : 1;
    }
    kni_buffer_append(out, "\"", 1);
}

void kni_json_write_number(kni_buffer *out, double value)
{
    if (value - value != 0) {
        kni_buffer_text(out, "null");
        return;
    }
    size_t start = out->length;
    for (int precision = 1; precision <= 17; precision++) {
        kni_buffer_format(out, "%.*g", precision, value);
        if (out->failed || strtod(out->data + start, NULL) == value) break;
        out->length = start;
    }
    char *point = out->failed ? NULL : strchr(out->data + start, localeconv()->decimal_point[0]);
    if (point) *point = '.';
}
