/* Bodies as text: what kiln-gen writes beside derived gradients, and the page of gradients. */
#ifndef KNI_BODY_PRINT_H
#define KNI_BODY_PRINT_H

#include "core/text.h"
#include "ops/body_graph.h"

/* The formula of node `root`, which names its operands and scalars so. What is used several times stands several times. */
void kni_graph_print(const kni_body_graph *g, int root, const char *const *operands,
                     const char *const *scalars, kni_text *text);

#endif
