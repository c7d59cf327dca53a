/* What kiln run does with files, for programs and ONNX models. */
#ifndef KILN_RUN_FILES_H
#define KILN_RUN_FILES_H

#include <kn/onnx.h>
#include <kn/tensor.h>
#include <stdbool.h>

/* NAME=FILE of an option. */
typedef struct binding {
    const char *name, *file;
    size_t length; /* of the name */
    bool used;
} binding;

typedef struct bindings {
    binding *of;
    int n, room;
} bindings;

/* Tells kn_last_error(); returns 1. */
int kiln_run_failed(void);
/* Adds NAME=FILE; false where the text is something else. */
bool kiln_bind(bindings *list, const char *text);
/* Adds NAME=N, NAME=LO..HI or NAME=LO.. and fills the size; its name is a text of its own, which the caller frees. False where the text is
   something else. */
bool kiln_read_size(bindings *list, const char *text, kn_onnx_size *size, char **name);
/* The binding of a name, marked as used; NULL: there is none. */
binding *kiln_bound(bindings *list, const char *name);
/* FILE or FILE:ENTRY; without one the only tensor, or the one of the name. KN_NONE with the failure printed, after the command. */
kn_tensor kiln_read_tensor(const char *command, const binding *b);
/* Whether the ending of each file says what is written; prints the first that says nothing. `more`: endings beside those of tensors. */
bool kiln_can_write(const bindings *files, const char *more);
/* Writes each tensor that has a binding to its file, those with the same file into one; 0, or 1 with the failure printed. */
int kiln_write_files(const binding *const *to, const char *const *names, const kn_tensor *tensors, int32_t n);
/* Writes any value as ONNX's own message (.pb); 0, or 1 with the failure printed. */
int kiln_write_value(const char *path, kn_onnx_value value);
/* Prints "NAME: f32 [2, 3] 1 2 3 ..."; 0, or 1 with the failure printed. */
int kiln_show_tensor(const char *name, kn_tensor t);

#endif
