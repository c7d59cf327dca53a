/* The commands of kiln. Each gets the arguments after its name and returns the exit code: 0 good, 1 failed, 2 bad
   arguments. */
#ifndef KILN_H
#define KILN_H

#include <kn/program.h>
#include <stdbool.h>
#include <stdio.h>

int kiln_command_info(int count, char **arguments);
int kiln_command_ops(int count, char **arguments);
int kiln_ops_onnx(bool markdown); /* ops --onnx */
int kiln_command_conform(int count, char **arguments);
int kiln_command_bench(int count, char **arguments);
int kiln_bench_gpt2(int count, char **arguments);
int kiln_bench_fusion(int count, char **arguments); /* groups of ops beside single ones */
int kiln_bench_train(int count, char **arguments);  /* the benchmarks that are models */
int kiln_bench_gpu(int count, char **arguments);    /* bench --device */
int kiln_command_inspect(int count, char **arguments);
int kiln_command_run(int count, char **arguments);
int kiln_run_onnx(int count, char **arguments);     /* run with an ONNX model */
int kiln_test_onnx(int count, char **arguments);    /* run --test */
bool kiln_looks_like_onnx(const char *path);        /* by the name or the first bytes */
int kiln_inspect_onnx(int count, char **arguments); /* inspect with an ONNX model */
int kiln_command_import(int count, char **arguments);
int kiln_command_data(int count, char **arguments);

/* Says what is wrong with the arguments and how to get help; returns 2. */
int kiln_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* An option whose value (NULL: there is none) is not of its form. */
int kiln_option_error(const char *option, const char *text);

/* True when arguments[*i] is the option `name`. */
bool kiln_option(char **arguments, int i, const char *name);
/* The same for an option with a value, which is stored and skipped; sets *bad when the value is missing. */
bool kiln_option_value(int count, char **arguments, int *i, const char *name, const char **value, bool *bad);

/* The text of a file's metadata that holds a program. */
#define KILN_PROGRAM "kiln.program"
/* Prints a text of a file, cut after `longest` bytes: control characters of a hostile one must not reach the terminal. */
void kiln_print_plain(FILE *to, const char *text, size_t longest);
/* Prints "  WORD NAME: f32 [batch, 3]". */
void kiln_print_port(FILE *to, const char *word, const kn_program_port *port);

#endif
