/* What kn_program_to_source has written, compiled against the library as a user would, and run in a process of its own. A source file that
   includes this defines _DEFAULT_SOURCE first. */
#ifndef WRITTEN_SOURCE_H
#define WRITTEN_SOURCE_H

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PATH = 900 };

static inline int source_command(char *const *arguments)
{
    pid_t child;
    int status = -1;
    fflush(stdout);
    if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ)) return -1;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The folder of the build, in which the shared library lies. */
static inline bool source_library(char *folder, size_t n)
{
    char library[PATH + 20];
    ssize_t length = readlink("/proc/self/exe", folder, n - 1);
    for (int up = 0; up < 2 && length > 0; up++) {
        folder[length] = 0;
        char *slash = strrchr(folder, '/');
        if (!slash) return false;
        *slash = 0;
        length = slash - folder;
    }
    snprintf(library, sizeof library, "%s/libkiln.so", folder);
    return length > 0 && access(library, R_OK) == 0;
}

/* A program around the printed functions: inputs from one file, outputs into another. */
static inline bool source_main(const char *path, int n_in, int n_out, const char *device)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fprintf(
        f,
        "#include \"net.h\"\n#include <kn/state.h>\n#include <kn/store.h>\n#include <stdio.h>\n"
        "int main(int argc, char **argv)\n{\n"
        "    net m;\n    (void)argc;\n    kn_device_use(kn_device_open(\"%s\"));\n"
        "    if (net_load(&m, argv[1]) != KN_OK) return fprintf(stderr, \"%%s\\n\", kn_last_error()), 2;\n"
        "    kn_state in = kn_state_make(), out = kn_state_make();\n"
        "    if (kn_state_read(in, argv[2]) != KN_OK) return 3;\n",
        device);
    fprintf(
        f,
        "    for (int run = 0; run < 16; run++) {\n        char name[32];\n        kn_tensor x[%d], y[%d];\n"
        "        for (int i = 0; i < %d; i++) {\n            snprintf(name, sizeof name, \"x%%d_%%d\", run, "
        "i);\n"
        "            x[i] = kn_state_get(in, \"\", name);\n        }\n        if (!x[0].bits) break;\n",
        n_in, n_out, n_in);
    fprintf(f, n_out == 1 ? "        y[0] = net_forward(&m" : "        if (net_forward(&m");
    for (int i = 0; i < n_in; i++) fprintf(f, ", x[%d]", i);
    fprintf(f,
            n_out == 1 ? ");\n" : ", y) != KN_OK) return fprintf(stderr, \"%%s\\n\", kn_last_error()), 4;\n");
    fprintf(f,
            "        for (int i = 0; i < %d; i++) {\n            snprintf(name, sizeof name, \"y%%d_%%d\", "
            "run, i);\n"
            "            if (kn_state_put(out, \"\", name, y[i]) != KN_OK) return fprintf(stderr, "
            "\"%%s\\n\", kn_last_error()), 5;\n"
            "        }\n    }\n"
            "    kn_status s = kn_state_write(out, argv[3], KN_STORE_SAFETENSORS);\n    kn_state_free(in);\n "
            "   kn_state_free(out);\n"
            "    net_free(&m);\n    return s != KN_OK || kn_shutdown() != 0;\n}\n",
            n_out);
    return fclose(f) == 0;
}

static inline bool source_compile(const char *folder, const char *build)
{
    char source[PATH + 40], program[PATH + 40], include[PATH + 40], own[PATH + 40], library[PATH + 40],
        path[PATH + 40], search[PATH + 40];
    snprintf(source, sizeof source, "%s/net.c", folder);
    snprintf(own, sizeof own, "%s/main.c", folder);
    snprintf(program, sizeof program, "%s/net", folder);
    snprintf(include, sizeof include, "-I%s", "include");
    snprintf(path, sizeof path, "-I%s", folder);
    snprintf(library, sizeof library, "-L%s", build);
    snprintf(search, sizeof search, "-Wl,-rpath,%s", build);
    char *arguments[] = {"cc", "-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", "-Wshadow", include, path,
                         own,  source,     "-o",  program, library,   search,    "-lkiln",   "-lm",   NULL};
    return source_command(arguments) == 0;
}

#endif
