/* Names of ONNX models lead to values: through graphs in graphs, whatever the order of nodes; and functions are put in place of calls. */
#include "support/check.h"
#include "support/onnx_sound.h"
#include "support/onnx_writer.h"
#include <stdlib.h>

static kni_buffer bytes_of_model;

/* The message is given away. */
static kni_onnx_model *read_model(onnx_message message)
{
    kni_buffer_free(&bytes_of_model);
    bytes_of_model = message;
    kni_onnx_model *m = kni_onnx_model_read_memory(message.data, message.length, NULL);
    const char *fault = m ? onnx_sound_fault(m) : NULL;
    if (fault) printf("unsound: %s\n", fault);
    CHECK(!fault);
    return m;
}

static kni_onnx_model *read_good(onnx_message message)
{
    kni_onnx_model *m = read_model(message);
    if (!m) printf("%s\n", kn_last_error());
    CHECK(m != NULL);
    return m;
}

static void refused(onnx_message message, const char *words)
{
    kni_onnx_model *m = read_model(message);
    CHECK(!m);
    if (m) printf("not refused: %s\n", words);
    if (!m) CHECK_ERROR(KN_ERROR_IO, words);
    kni_onnx_model_free(m);
}

/* ---- graphs as texts: "a=Op(x,y) b=Op(a)"; what graphs hold is written behind it with the values' names */

static void write_values(kni_buffer *text, const kni_onnx_model *m, const int32_t *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        kni_buffer_format(text, i ? ",%s" : "%s", values[i] < 0 ? "-" : m->values[values[i]].name);
}

static void write_graph(kni_buffer *text, const kni_onnx_model *m, const kni_onnx_graph *g)
{
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const kni_onnx_node *n = &g->nodes[i];
        if (i) kni_buffer_text(text, " ");
        write_values(text, m, n->out, n->n_out);
        kni_buffer_format(text, "=%s(", n->op);
        write_values(text, m, n->in, n->n_in);
        kni_buffer_text(text, ")");
        for (int32_t a = 0; a < n->n_attributes; a++)
            for (int64_t k = 0; n->attributes[a].graphs && k < n->attributes[a].count; k++) {
                kni_buffer_text(text, "{");
                write_graph(text, m, n->attributes[a].graphs[k]);
                kni_buffer_text(text, "}");
            }
    }
    kni_buffer_text(text, " -> ");
    write_values(text, m, g->outputs, g->n_outputs);
}

static void same_graph(kni_onnx_model *m, const char *want)
{
    kni_buffer text = {0};
    if (!m) return;
    write_graph(&text, m, m->graph);
    if (!CHECK(!strcmp(kni_buffer_string(&text), want))) printf("got  %s\nwant %s\n", text.data, want);
    kni_buffer_free(&text);
    kni_onnx_model_free(m);
}

static onnx_message untyped(const char *name) { return onnx_value(name, (onnx_message){0}); }

/* A graph with inputs and outputs that are named. */
static onnx_message graph_of(const char *inputs, const char *outputs)
{
    onnx_message graph = {0};
    char copy[200];
    for (int side = 0; side < 2; side++) {
        snprintf(copy, sizeof copy, "%s", side ? outputs : inputs);
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
            (side ? onnx_graph_output : onnx_graph_input)(&graph, untyped(word));
    }
    return graph;
}

static void add(onnx_message *graph, const char *op, const char *inputs, const char *outputs)
{
    onnx_graph_node(graph, onnx_node(op, inputs, outputs));
}

/* ---- names and order */

static void empty_names_are_absent(void)
{
    onnx_message g = graph_of("x", "y");
    add(&g, "Clip", "x - x", "y -");
    same_graph(read_good(onnx_model(g)), "y,-=Clip(x,-,x) -> y");
}

static void nodes_come_into_order(void)
{
    onnx_message g = graph_of("x", "y");
    add(&g, "C", "b a", "y");
    add(&g, "B", "a", "b");
    add(&g, "A", "x", "a");
    same_graph(read_good(onnx_model(g)), "a=A(x) b=B(a) y=C(b,a) -> y");
    g = graph_of("x", "y");
    add(&g, "A", "x", "a"); /* in order they stay as they are */
    add(&g, "B", "x", "b");
    add(&g, "C", "b a", "y");
    same_graph(read_good(onnx_model(g)), "a=A(x) b=B(x) y=C(b,a) -> y");
}

static void long_chains_backwards(void)
{
    enum { N = 50000 };
    char in[16], out[16];
    onnx_message g = graph_of("v0", "v50000");
    for (int i = N; i > 0; i--) {
        snprintf(in, sizeof in, "v%d", i - 1);
        snprintf(out, sizeof out, "v%d", i);
        add(&g, "Next", in, out);
    }
    kni_onnx_model *m = read_good(onnx_model(g));
    CHECK(m && m->graph->n_nodes == N && !strcmp(m->graph->nodes[0].name, "Next_0"));
    kni_onnx_model_free(m);
}

static void cycles_are_errors(void)
{
    onnx_message g = graph_of("x", "y"), n = onnx_node("B", "a", "b");
    onnx_put_text(&n, 3, "second");
    add(&g, "A", "x b", "a");
    onnx_graph_node(&g, n);
    add(&g, "C", "b", "y");
    refused(onnx_model(g), "node 'second' (B) reads 'a', which is made of what it makes itself");
    g = graph_of("x", "y");
    add(&g, "A", "x y", "y");
    refused(onnx_model(g), "reads 'y', which is made of what it makes itself");
}

static void mistakes_name_node_and_value(void)
{
    onnx_message g = graph_of("x", "y"), n = onnx_node("A", "x none", "y");
    onnx_put_text(&n, 3, "first");
    onnx_graph_node(&g, n);
    refused(onnx_model(g), "node 'first': value 'none' is read, but nothing makes it");
    g = graph_of("x", "y");
    add(&g, "A", "x", "y");
    n = onnx_node("B", "x", "y");
    onnx_put_text(&n, 3, "second");
    onnx_graph_node(&g, n);
    refused(onnx_model(g), "node 'second': value 'y' is defined a second time");
    g = graph_of("x", "y");
    add(&g, "A", "x", "x");
    refused(onnx_model(g), "value 'x' is defined a second time");
    refused(onnx_model(graph_of("x x", "x")), "value 'x' is defined a second time");
    refused(onnx_model(graph_of("x", "y")), "value 'y' is read, but nothing makes it");
    g = graph_of("x", "x");
    onnx_graph_tensor(&g, onnx_tensor_head("w", 1, ONNX_SIZES(0)));
    onnx_graph_tensor(&g, onnx_tensor_head("w", 1, ONNX_SIZES(0)));
    refused(onnx_model(g), "initializer 'w' is defined a second time");
    g = graph_of("x", "x");
    onnx_graph_node(&g, onnx_node("", "x", "y"));
    refused(onnx_model(g), "it has no operator");
    g = graph_of("", "");
    onnx_graph_tensor(&g, onnx_tensor_head("", 1, ONNX_SIZES(0)));
    refused(onnx_model(g), "an initializer has no name");
}

static void values_know_where_they_are_from(void)
{
    onnx_message g = graph_of("x w", "y");
    add(&g, "A", "x w", "y");
    onnx_graph_tensor(&g, onnx_tensor_head("w", 1, ONNX_SIZES(0)));
    onnx_put(&g, 13, onnx_float_value("y", ONNX_SIZES(2, -1)));
    onnx_put(&g, 13, onnx_float_value("nobody", ONNX_SIZES(2)));
    kni_onnx_model *m = read_good(onnx_model(g));
    if (!m) return;
    CHECK(m->graph->n_inputs == 1 && m->graph->n_initializers == 1 && m->n_values == 3);
    const kni_onnx_value *y = &m->values[m->graph->outputs[0]], *w = &m->values[m->graph->initializers[0]];
    CHECK(y->node == 0 && y->declared && y->declared->rank == 2 && !y->initializer);
    CHECK(w->node == -1 && w->initializer && w->initializer->type == KNI_ONNX_FLOAT && w->graph == m->graph);
    kni_onnx_model_free(m);
}

/* ---- graphs in graphs */

static onnx_message with_graph(onnx_message node, onnx_message inner)
{
    onnx_attribute_graph(&node, "body", inner);
    return node;
}

static void inner_graphs_read_outer_values(void)
{
    onnx_message deep = graph_of("", "d"), inner = graph_of("", "e"), g = graph_of("x", "y");
    add(&deep, "D", "x late e2", "d");
    onnx_graph_node(&inner, with_graph(onnx_node("If", "x", "e"), deep));
    add(&inner, "E", "late", "e2"); /* read by the graph of the node before it */
    onnx_graph_node(&g, with_graph(onnx_node("If", "x", "y"), inner));
    add(&g, "A", "x", "late"); /* as is this one */
    same_graph(read_good(onnx_model(g)),
               "late=A(x) y=If(x){e2=E(late) e=If(x){d=D(x,late,e2) -> d} -> e} -> y");
}

static void inner_names_hide_outer_ones(void)
{
    onnx_message inner = graph_of("x", "a"), g = graph_of("x", "y");
    add(&inner, "B", "x", "a");
    add(&g, "A", "x", "a");
    onnx_graph_node(&g, with_graph(onnx_node("Loop", "a", "y"), inner));
    kni_onnx_model *m = read_good(onnx_model(g));
    const kni_onnx_graph *body = m ? kni_node_graph(&m->graph->nodes[1], "body") : NULL;
    if (!CHECK(body != NULL)) return;
    CHECK(body->nodes[0].in[0] == body->inputs[0] && body->inputs[0] != m->graph->inputs[0]);
    CHECK(body->nodes[0].out[0] == body->outputs[0] && body->outputs[0] != m->graph->nodes[0].out[0]);
    CHECK(m->graph->nodes[0].place == 0 && m->graph->nodes[1].place == 1 && body->nodes[0].place == 2);
    CHECK(m->n_nodes == 3 && !strcmp(body->nodes[0].name, "B_2"));
    kni_onnx_model_free(m);
}

static void graphs_that_give_back_outer_values(void)
{
    onnx_message g = graph_of("x", "y");
    onnx_graph_node(&g, with_graph(onnx_node("If", "x", "y"), graph_of("", "late")));
    add(&g, "A", "x", "late");
    same_graph(read_good(onnx_model(g)), "late=A(x) y=If(x){ -> late} -> y");
    g = graph_of("x", "y");
    onnx_graph_node(&g, with_graph(onnx_node("If", "x", "y"), graph_of("", "y")));
    refused(onnx_model(g), "reads 'y', which is made of what it makes itself");
}

static void defaults_of_inner_inputs_are_overridden(void)
{
    onnx_message inner = graph_of("v", "v"), g = graph_of("x", "y");
    onnx_graph_tensor(&inner, onnx_tensor_head("v", 1, ONNX_SIZES(0)));
    onnx_graph_node(&g, with_graph(onnx_node("Loop", "x", "y"), inner));
    kni_onnx_model *m = read_good(onnx_model(g));
    const kni_onnx_graph *body = m ? kni_node_graph(&m->graph->nodes[0], "body") : NULL;
    CHECK(body && body->n_inputs == 1 && body->n_initializers == 0 &&
          !m->values[body->inputs[0]].initializer);
    kni_onnx_model_free(m);
}

static void depth_of_graphs_is_bounded(void)
{
    for (int depth = 31; depth <= 32; depth++) {
        onnx_message g = graph_of("", "y");
        add(&g, "A", "x", "y");
        for (int i = 0; i < depth; i++) {
            onnx_message outer = graph_of(i == depth - 1 ? "x" : "", "y");
            onnx_graph_node(&outer, with_graph(onnx_node("If", "x", "y"), g));
            g = outer;
        }
        if (depth == 32)
            refused(onnx_model(g), "graphs lie in each other more than 32 deep");
        else
            kni_onnx_model_free(read_good(onnx_model(g)));
    }
}

/* ---- functions */

static onnx_message call(const char *function, const char *inputs, const char *outputs)
{
    onnx_message n = onnx_node(function, inputs, outputs);
    onnx_put_text(&n, 7, "local");
    return n;
}

static void functions_are_put_in_place(void)
{
    onnx_message f = onnx_function("f", "a b", "c d"), g = graph_of("x", "y"), model;
    onnx_function_node(&f, onnx_node("Mul", "t b", "c"));
    onnx_function_node(&f, onnx_node("Add", "a b", "t"));
    onnx_function_node(&f, onnx_node("Neg", "t", "d"));
    onnx_graph_node(&g, call("f", "x x", "p q"));
    onnx_graph_node(&g, call("f", "p q", "y"));
    model = onnx_model(g);
    onnx_model_function(&model, f);
    same_graph(read_good(model), "t=Add(x,x) p=Mul(t,x) q=Neg(t) t=Add(p,q) y=Mul(t,q) d=Neg(t) -> y");
}

static void each_call_has_values_of_its_own(void)
{
    onnx_message f = onnx_function("f", "a", "c"), g = graph_of("x", "y"), n, model;
    n = onnx_node("Neg", "a", "t");
    onnx_put_text(&n, 3, "neg");
    onnx_function_node(&f, n);
    onnx_function_node(&f, onnx_node("Neg", "t", "c"));
    onnx_graph_node(&g, call("f", "x", "p"));
    n = call("f", "p", "y");
    onnx_put_text(&n, 3, "call");
    onnx_graph_node(&g, n);
    model = onnx_model(g);
    onnx_model_function(&model, f);
    kni_onnx_model *m = read_good(model);
    if (!m) return;
    const kni_onnx_node *nodes = m->graph->nodes;
    CHECK(m->graph->n_nodes == 4 && nodes[0].out[0] != nodes[2].out[0]);
    CHECK(!strcmp(nodes[0].name, "neg") && !strcmp(nodes[1].name, "Neg_1"));
    CHECK(!strcmp(nodes[2].name, "call/neg") && !strcmp(nodes[3].name, "call"));
    kni_onnx_model_free(m);
}

static void functions_have_operator_sets(void)
{
    onnx_message f = onnx_function("f", "a", "c"), h = onnx_function("h", "a", "c"), g = graph_of("x", "y"),
                 opset = {0};
    onnx_put_text(&opset, 1, "ai.onnx");
    onnx_put_int(&opset, 2, 13);
    onnx_put(&f, 9, opset);
    onnx_function_node(&f, onnx_node("Neg", "a", "c"));
    onnx_function_node(&h, onnx_node("Neg", "a", "c")); /* names none */
    onnx_graph_node(&g, call("f", "x", "p"));
    onnx_graph_node(&g, call("h", "p", "y"));
    onnx_message model = onnx_model(g);
    onnx_model_function(&model, f);
    onnx_model_function(&model, h);
    kni_onnx_model *m = read_good(model);
    CHECK(m && m->graph->nodes[0].version == 13 && m->graph->nodes[1].version == 21);
    kni_onnx_model_free(m);
}

static void outputs_that_are_inputs_are_copies(void)
{
    onnx_message f = onnx_function("f", "a", "a b b"), g = graph_of("x", "p q r"), model;
    onnx_function_node(&f, onnx_node("Neg", "a", "b"));
    onnx_graph_node(&g, call("f", "x", "p q r"));
    model = onnx_model(g);
    onnx_model_function(&model, f);
    same_graph(read_good(model), "q=Neg(x) p=Identity(x) r=Identity(q) -> p,q,r");
}

static void arguments_may_be_left_out(void)
{
    onnx_message f = onnx_function("f", "a b c", "d"), g = graph_of("x", "y"), model;
    onnx_function_node(&f, onnx_node("Clip", "a b c", "d"));
    onnx_graph_node(&g, call("f", "x -", "y"));
    model = onnx_model(g);
    onnx_model_function(&model, f);
    same_graph(read_good(model), "y=Clip(x,-,-) -> y");
    f = onnx_function("f", "a b", "b");
    g = graph_of("x", "y");
    onnx_graph_node(&g, call("f", "x", "y"));
    model = onnx_model(g);
    onnx_model_function(&model, f);
    refused(model, "gives back 'b', which the call leaves out");
}

static void attributes_come_from_the_call(void)
{
    onnx_message f = onnx_function("f", "a", "c"), g = graph_of("x", "y"), n, model, scale = {0};
    n = onnx_node("Op", "a", "t");
    onnx_attribute_reference(&n, "axis", 2, "at");
    onnx_attribute_reference(&n, "scale", 1, "scale");
    onnx_attribute_reference(&n, "missing", 2, "missing");
    onnx_attribute_int(&n, "own", 7);
    onnx_function_node(&f, n);
    onnx_function_node(&f, onnx_node("Neg", "t", "c"));
    onnx_put_text(&f, 6, "at");
    onnx_put_text(&scale, 1, "scale"); /* a default */
    onnx_put_int(&scale, 20, 1);
    onnx_put_float(&scale, 2, 0.5f);
    onnx_put(&f, 11, scale);
    n = call("f", "x", "p");
    onnx_attribute_int(&n, "at", 3);
    onnx_graph_node(&g, n);
    n = call("f", "p", "y");
    onnx_attribute_int(&n, "at", 4);
    onnx_attribute_float(&n, "scale", 2);
    onnx_graph_node(&g, n);
    model = onnx_model(g);
    onnx_model_function(&model, f);
    kni_onnx_model *m = read_good(model);
    if (!m) return;
    const kni_onnx_node *a = &m->graph->nodes[0], *b = &m->graph->nodes[2];
    CHECK(kni_node_int(a, "axis", 0) == 3 && kni_node_int(b, "axis", 0) == 4);
    CHECK(kni_node_real(a, "scale", 0) == 0.5 && kni_node_real(b, "scale", 0) == 2);
    CHECK(!kni_node_attribute(a, "missing") && a->n_attributes == 3 && kni_node_int(b, "own", 0) == 7);
    kni_onnx_model_free(m);
}

/* References inside of graphs of a function, and from function to function. */
static void references_go_through_graphs_and_calls(void)
{
    onnx_message f = onnx_function("f", "a", "c"), h = onnx_function("h", "a", "c"),
                 inner = graph_of("", "i");
    onnx_message n = onnx_node("Op", "a", "i"), g = graph_of("x", "y"), model;
    onnx_attribute_reference(&n, "axis", 2, "at");
    onnx_graph_node(&inner, n);
    onnx_function_node(&f, with_graph(onnx_node("If", "a", "c"), inner));
    n = call("f", "a", "c");
    onnx_attribute_reference(&n, "at", 2, "where");
    onnx_function_node(&h, n);
    n = call("h", "x", "y");
    onnx_attribute_int(&n, "where", 6);
    onnx_graph_node(&g, n);
    model = onnx_model(g);
    onnx_model_function(&model, f);
    onnx_model_function(&model, h);
    kni_onnx_model *m = read_good(model);
    const kni_onnx_graph *body = m ? kni_node_graph(&m->graph->nodes[0], "body") : NULL;
    CHECK(body && kni_node_int(&body->nodes[0], "axis", 0) == 6);
    same_graph(m, "y=If(x){i=Op(x) -> i} -> y");
}

/* A graph that a call gives reads names of the caller, though it ends up in the function. */
static void graphs_as_arguments(void)
{
    onnx_message f = onnx_function("f", "a", "c"), inner = graph_of("", "i"), g = graph_of("x", "y"), n,
                 model;
    n = onnx_node("If", "a", "c");
    onnx_attribute_reference(&n, "body", 5, "branch");
    onnx_function_node(&f, n);
    onnx_function_node(&f, onnx_node("Neg", "a", "late"));
    add(&inner, "Op", "late", "i");
    n = call("f", "x", "y");
    onnx_attribute_graph(&n, "branch", inner);
    onnx_graph_node(&g, n);
    add(&g, "A", "x", "late");
    model = onnx_model(g);
    onnx_model_function(&model, f);
    same_graph(read_good(model), "late=A(x) y=If(x){i=Op(late) -> i} late=Neg(x) -> y");
}

static void overloads_are_functions_of_their_own(void)
{
    onnx_message f = onnx_function("f", "a", "c"), h = onnx_function("f", "a", "c"), g = graph_of("x", "y"),
                 n, model;
    onnx_function_node(&f, onnx_node("Neg", "a", "c"));
    onnx_function_node(&h, onnx_node("Abs", "a", "c"));
    onnx_put_text(&h, 13, "second");
    n = call("f", "x", "p");
    onnx_put_text(&n, 8, "second");
    onnx_graph_node(&g, n);
    onnx_graph_node(&g, call("f", "p", "q"));
    n = call("f", "q", "y");
    onnx_put_text(&n, 8, "third"); /* none of the model's */
    onnx_graph_node(&g, n);
    model = onnx_model(g);
    onnx_model_function(&model, f);
    onnx_model_function(&model, h);
    same_graph(read_good(model), "p=Abs(x) q=Neg(p) y=f(q) -> y");
}

static onnx_message model_of_function(onnx_message f, const char *inputs, const char *outputs)
{
    onnx_message g = graph_of("x", "x"), model;
    onnx_graph_node(&g, call("f", inputs, outputs));
    model = onnx_model(g);
    onnx_model_function(&model, f);
    return model;
}

static void mistakes_of_functions(void)
{
    onnx_message f = onnx_function("f", "a", "c"), h = onnx_function("h", "a", "c"), n, model;
    onnx_function_node(&f, call("f", "a", "c"));
    refused(model_of_function(f, "x", "y"), "function 'f' calls itself");
    f = onnx_function("f", "a", "c");
    onnx_function_node(&f, call("h", "a", "c"));
    onnx_function_node(&h, call("f", "a", "c"));
    model = model_of_function(f, "x", "y");
    onnx_model_function(&model, h);
    refused(model, "function 'f' calls itself");
    refused(model_of_function(onnx_function("f", "a", "c"), "x", "y"),
            "value 'c' is read, but nothing makes it");
    refused(model_of_function(onnx_function("f", "a", "a"), "x x", "y"), "it has 2 inputs and 1 outputs");
    f = onnx_function("f", "a", "c");
    onnx_function_node(&f, onnx_node("Neg", "x", "c")); /* a name of the caller's */
    refused(model_of_function(f, "x", "y"), "value 'x' is read, but nothing makes it");
    f = onnx_function("f", "a", "c");
    n = onnx_node("Op", "a", "c");
    onnx_attribute_reference(&n, "axis", 1, "at");
    onnx_function_node(&f, n);
    n = call("f", "x", "y");
    onnx_attribute_int(&n, "at", 1);
    onnx_message g = graph_of("x", "y");
    onnx_graph_node(&g, n);
    model = onnx_model(g);
    onnx_model_function(&model, f);
    refused(model, "attribute 'at' of function 'f' is of another kind");
    g = graph_of("x", "y");
    n = onnx_node("Op", "x", "y");
    onnx_attribute_reference(&n, "axis", 1, "at");
    onnx_graph_node(&g, n);
    refused(onnx_model(g), "refers to 'at' of a function, but is in none");
    model = model_of_function(onnx_function("f", "a", "a"), "x", "y");
    onnx_model_function(&model, onnx_function("f", "a", "a"));
    refused(model, "function 'f' of domain 'local' is defined a second time");
    refused(model_of_function(onnx_function("f", "a a", "a"), "x x", "y"),
            "value 'a' is defined a second time");
}

/* Each function calls the next one twice: what the model would become is bounded, and so is how deep. */
static void growth_is_bounded(void)
{
    char name[16], next[16];
    for (int depth = 30; depth <= 150; depth += 120) {
        onnx_message g = graph_of("x", "x"), model;
        onnx_graph_node(&g, call("f0", "x", "y"));
        model = onnx_model(g);
        for (int i = 0; i < depth; i++) {
            snprintf(name, sizeof name, "f%d", i);
            snprintf(next, sizeof next, "f%d", i + 1);
            onnx_message f = onnx_function(name, "a", "c");
            onnx_function_node(&f, call(next, "a", "b"));
            if (depth == 30)
                onnx_function_node(&f, call(next, "b", "c"));
            else
                onnx_function_node(&f, onnx_node("Neg", "b", "c"));
            onnx_model_function(&model, f);
        }
        onnx_message last = onnx_function(depth == 30 ? "f30" : "f150", "a", "a");
        onnx_model_function(&model, last);
        refused(model, depth == 30 ? "functions make more than" : "lie in each other more than 96 deep");
    }
}

int main(void)
{
    empty_names_are_absent();
    nodes_come_into_order();
    long_chains_backwards();
    cycles_are_errors();
    mistakes_name_node_and_value();
    values_know_where_they_are_from();
    inner_graphs_read_outer_values();
    inner_names_hide_outer_ones();
    graphs_that_give_back_outer_values();
    defaults_of_inner_inputs_are_overridden();
    depth_of_graphs_is_bounded();
    functions_are_put_in_place();
    each_call_has_values_of_its_own();
    functions_have_operator_sets();
    outputs_that_are_inputs_are_copies();
    arguments_may_be_left_out();
    attributes_come_from_the_call();
    references_go_through_graphs_and_calls();
    graphs_as_arguments();
    overloads_are_functions_of_their_own();
    mistakes_of_functions();
    growth_is_bounded();
    kni_buffer_free(&bytes_of_model);
    return check_report();
}
