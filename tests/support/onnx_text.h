/* ONNX models written as text, for tests:

       "x f32[2,3]; keep bool[2,1]; w = f32[3] 1 2 3; a = Mul(x, w); y, z = Split(a) axis=1 num_outputs=2; > y z"

   An input has a type and sizes; a constant a type, sizes and elements ("~": as many as there are, counting up from 0.1 in steps of 0.1; "~-": the
   same with changing signs); a node operands ("-" is absent) and attributes (a number with a point is real, a list has commas, a text
   stands in quotes), and "op@domain"; ">" names the outputs, "w!" makes a constant an input too. */
#ifndef ONNX_TEXT_H
#define ONNX_TEXT_H

#include "support/onnx_writer.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ONNX_TEXT_WORD = 64, ONNX_TEXT_MOST = 4096 };

static inline const char *onnx_text_word(const char *at, char *word)
{
    size_t n = 0;
    while (*at == ' ') at++;
    while ((isalnum((unsigned char)*at) || (*at && strchr("_@.-!~", *at))) && n + 1 < ONNX_TEXT_WORD)
        word[n++] = *at++;
    word[n] = 0;
    while (*at == ' ') at++;
    return at;
}

/* "f32[2,3]": the type's number, -1 for none. */
static inline const char *onnx_text_type(const char *at, int *type, int64_t *sizes, int *rank)
{
    static const struct {
        const char *name;
        int type;
    } types[] = {{"f32", 1}, {"u8", 2},   {"i8", 3},   {"i32", 6},
                 {"i64", 7}, {"bool", 9}, {"f16", 10}, {"f64", 11}};
    char word[ONNX_TEXT_WORD];
    at = onnx_text_word(at, word);
    *type = -1;
    *rank = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, word)) *type = types[i].type;
    if (*type < 0 || *at != '[') return at;
    for (at++; *at && *at != ']';) {
        sizes[(*rank)++] = strtoll(at, (char **)(uintptr_t)&at, 10);
        if (*at == ',') at++;
    }
    return *at ? at + 1 : at;
}

/* Halves of numbers that they hold. */
static inline uint16_t onnx_text_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value == 0) return (uint16_t)(bits >> 16);
    bits += 0x1000; /* to the nearest */
    return (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023));
}

static inline size_t onnx_text_element(void *data, int type, int64_t i, double value)
{
    switch (type) {
    case 1:
        ((float *)data)[i] = (float)value;
        return 4;
    case 6:
        ((int32_t *)data)[i] = (int32_t)value;
        return 4;
    case 7:
        ((int64_t *)data)[i] = (int64_t)value;
        return 8;
    case 10:
        ((uint16_t *)data)[i] = onnx_text_half((float)value);
        return 2;
    case 11:
        ((double *)data)[i] = value;
        return 8;
    default:
        ((unsigned char *)data)[i] = (unsigned char)(int)value;
        return 1;
    }
}

static inline onnx_message onnx_text_constant(const char *name, const char *at)
{
    static double room[ONNX_TEXT_MOST];
    int64_t sizes[8], count = 1, n = 0;
    int type, rank;
    size_t bytes = 0;
    at = onnx_text_type(at, &type, sizes, &rank);
    for (int i = 0; i < rank; i++) count *= sizes[i];
    while (*at == ' ') at++;
    for (; n < count && n < ONNX_TEXT_MOST; n++) {
        double value = 0.1 * (double)(n + 1);
        if (*at != '~') value = strtod(at, (char **)(uintptr_t)&at);
        if (*at == '~' && at[1] == '-' && n % 2) value = -value;
        bytes += onnx_text_element(room, type, n, value);
    }
    return onnx_tensor_raw(name, type, sizes, rank, room, bytes);
}

static inline void onnx_text_attribute(onnx_message *node, const char *name, const char *value)
{
    int64_t list[16];
    int n = 0;
    if (*value == '\'') {
        char text[ONNX_TEXT_WORD];
        snprintf(text, sizeof text, "%.*s", (int)strcspn(value + 1, "'"), value + 1);
        onnx_attribute_text(node, name, text);
    } else if (strchr(value, '.') && strchr(value, ',')) {
        onnx_message floats = {0};
        onnx_put_text(&floats, 1, name);
        for (const char *at = value; *at; at += *at == ',')
            onnx_put_float(&floats, 7, strtof(at, (char **)(uintptr_t)&at));
        onnx_put_int(&floats, 20, 6);
        onnx_put(node, 5, floats);
    } else if (strchr(value, '.')) {
        onnx_attribute_float(node, name, (float)strtod(value, NULL));
    } else {
        for (const char *at = value; *at && n < 16; at += *at == ',')
            list[n++] = strtoll(at, (char **)(uintptr_t)&at, 10);
        if (strchr(value, ','))
            onnx_attribute_ints(node, name, list, n);
        else
            onnx_attribute_int(node, name, list[0]);
    }
}

/* "Op(a, b) axis=1", which makes `outputs`, parted by spaces. */
static inline onnx_message onnx_text_node(const char *outputs, const char *at)
{
    char op[ONNX_TEXT_WORD], word[ONNX_TEXT_WORD], inputs[256] = "";
    at = onnx_text_word(at, op);
    for (at += *at == '('; *at && *at != ')'; at += *at == ',') {
        at = onnx_text_word(at, word);
        snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s%s", *inputs ? " " : "", word);
    }
    at += *at == ')';
    char *domain = strchr(op, '@');
    if (domain) *domain++ = 0;
    onnx_message node = onnx_node(op, inputs, outputs);
    if (domain) onnx_put_text(&node, 7, domain);
    for (;;) {
        char value[ONNX_TEXT_WORD];
        size_t n;
        at = onnx_text_word(at, word);
        if (*at != '=') return node;
        at++;
        n = strcspn(at, " ;");
        snprintf(value, sizeof value, "%.*s", (int)n, at);
        at += n;
        onnx_text_attribute(&node, word, value);
    }
}

static inline void onnx_text_outputs(onnx_message *graph, const char *at)
{
    char word[ONNX_TEXT_WORD];
    for (at = onnx_text_word(at, word); *word; at = onnx_text_word(at, word))
        onnx_graph_output(graph, onnx_value(word, (onnx_message){0}));
}

static inline void onnx_text_statement(onnx_message *graph, const char *at)
{
    char name[ONNX_TEXT_WORD], word[ONNX_TEXT_WORD], outputs[256] = "";
    int64_t sizes[8];
    int type, rank;
    while (*at == ' ' || *at == '\n') at++;
    if (*at == '>') {
        onnx_text_outputs(graph, at + 1);
        return;
    }
    at = onnx_text_word(at, name);
    if (!*name) return;
    snprintf(outputs, sizeof outputs, "%s", name);
    while (*at == ',') {
        at = onnx_text_word(at + 1, word);
        snprintf(outputs + strlen(outputs), sizeof outputs - strlen(outputs), " %s", word);
    }
    if (*at != '=') {
        onnx_text_type(at, &type, sizes, &rank);
        onnx_graph_input(graph, onnx_value(name, onnx_type(type, sizes, rank)));
        return;
    }
    onnx_text_type(++at, &type, sizes, &rank);
    if (type < 0) {
        onnx_graph_node(graph, onnx_text_node(outputs, at));
        return;
    }
    bool input = name[strlen(name) - 1] == '!';
    if (input) name[strlen(name) - 1] = 0;
    if (input) onnx_graph_input(graph, onnx_value(name, onnx_type(type, sizes, rank)));
    onnx_graph_tensor(graph, onnx_text_constant(name, at));
}

/* A model of operators of this version; other domains have version 1. */
static inline onnx_message onnx_text_model(const char *text, int version)
{
    onnx_message graph = {0}, model = {0};
    while (*text) {
        char statement[512];
        size_t n = strcspn(text, ";");
        snprintf(statement, sizeof statement, "%.*s", (int)n, text);
        onnx_text_statement(&graph, statement);
        text += n + (text[n] == ';');
    }
    onnx_put_int(&model, 1, 8);
    onnx_opset(&model, "", version);
    onnx_opset(&model, "com.microsoft", 1);
    onnx_put(&model, 7, graph);
    return model;
}

#endif
