/* kiln ops --onnx: the operators of ONNX that run, as text and as the table of docs/onnx.md. */
#define KN_NO_SITES 1
#include "kiln.h"
#include <kn/onnx.h>
#include <stdio.h>
#include <string.h>

static const char *domain_of(const kn_onnx_support *s) { return *s->domain ? s->domain : "ai.onnx"; }

/* "7-12", "13+" */
static const char *versions_of(const kn_onnx_support *s, char *text, size_t room)
{
    if (s->before)
        snprintf(text, room, "%d-%d", (int)s->since, (int)s->before - 1);
    else
        snprintf(text, room, "%d+", (int)s->since);
    return text;
}

static void print_row(const kn_onnx_support *s, bool markdown)
{
    char versions[32];
    versions_of(s, versions, sizeof versions);
    if (markdown)
        printf("| %s | %s | %s |\n", s->op, versions, s->types);
    else
        printf("%-24s  %-32s  %-6s  %s\n", domain_of(s), s->op, versions, s->types);
}

int kiln_ops_onnx(bool markdown)
{
    kn_onnx_support s;
    const char *domain = NULL;
    for (int32_t i = 0; kn_onnx_support_at(i, &s); i++) {
        if (markdown && (!domain || strcmp(domain, s.domain) != 0))
            printf("%s### %s\n\n| operator | versions | element types |\n|---|---|---|\n", domain ? "\n" : "",
                   domain_of(&s));
        domain = s.domain;
        print_row(&s, markdown);
    }
    return 0;
}
