/* Compiles HIP texts by hiprtc, without any device: hip_compile LIBRARY ARCHITECTURE, file names on standard input. Each that is refused is
   told with the compiler's words; the last line is 'N passed, N failed'. The compiler runs in children of a hundred files, since a text
   that it cannot bear ends it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PART = 100, TOGETHER = 20, PATH = 1024 };

static int (*create)(void **program, const char *text, const char *name, int headers,
                     const char *const *texts, const char *const *names);
static int (*destroy)(void **program);
static int (*compile)(void *program, int count, const char *const *options);
static int (*log_bytes)(void *program, size_t *bytes);
static int (*log_text)(void *program, char *log);
static int (*code_bytes)(void *program, size_t *bytes);

static int find(void *library, const char *name, void *place)
{
    void *address = dlsym(library, name);
    memcpy(place, &address, sizeof address);
    return address != NULL;
}

static int open_compiler(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "hip_compile: %s\n", dlerror());
        return 0;
    }
    return find(library, "hiprtcCreateProgram", &create) && find(library, "hiprtcDestroyProgram", &destroy) &&
           find(library, "hiprtcCompileProgram", &compile) &&
           find(library, "hiprtcGetProgramLogSize", &log_bytes) &&
           find(library, "hiprtcGetProgramLog", &log_text) && find(library, "hiprtcGetCodeSize", &code_bytes);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)bytes + 1);
    if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) text[0] = 0;
    fclose(file);
    return text;
}

/* The text compiled; on failure `name`, unless NULL, is told with the compiler's words. The options are those of
   src/backend/hip/hip_driver.c. */
static int compiles(const char *text, const char *name, const char *architecture)
{
    char option[80];
    snprintf(option, sizeof option, "--offload-arch=%s", architecture);
    const char *options[] = {option, "-O3", "-ffp-contract=off"};
    void *program = NULL;
    size_t bytes = 0;
    if (create(&program, text, "kernel.cu", 0, NULL, NULL)) return 0;
    int good = !compile(program, 3, options) && !code_bytes(program, &bytes) && bytes > 0;
    if (!good && name && !log_bytes(program, &bytes)) {
        char *log = calloc(1, bytes + 1);
        if (log) log_text(program, log);
        printf("FAIL %s: %s\n", name, log ? log : "");
        free(log);
    }
    destroy(&program);
    return good;
}

/* The texts in one program, each in a namespace of its own, so that the compiler starts once: most of its time goes there. */
static char *joined(char *const *texts, int n)
{
    static const char entry[] = "extern \"C\" __attribute__((global))";
    size_t room = 1, length = 0;
    for (int i = 0; i < n; i++) room += strlen(texts[i]) + 64;
    char *all = malloc(room);
    if (!all) return NULL;
    for (int i = 0; i < n; i++) {
        const char *at = strstr(texts[i], entry);
        int before = at ? (int)(at - texts[i]) : 0;
        length += (size_t)snprintf(all + length, room - length, "namespace text_%d {\n%.*s%s\n}\n", i, before,
                                   texts[i], at ? at + strlen("extern \"C\" ") : texts[i]);
    }
    return all;
}

/* Which of a few texts compile: together, or else one by one. */
static void try_some(char (*paths)[PATH], int n, const char *architecture, char *good)
{
    char *texts[TOGETHER] = {NULL};
    int read = 0;
    for (int i = 0; i < n; i++) read += (texts[i] = read_text(paths[i])) != NULL;
    char *all = read == n ? joined(texts, n) : NULL;
    int whole = all && compiles(all, NULL, architecture);
    for (int i = 0; i < n; i++) {
        if (!texts[i]) printf("FAIL %s: it cannot be read\n", paths[i]);
        good[i] = (char)(whole || (texts[i] && compiles(texts[i], paths[i], architecture)));
        free(texts[i]);
    }
    free(all);
}

/* How many of them compile; the child answers through a pipe, a byte for each. */
static int part(char (*paths)[PATH], int n, const char *library, const char *architecture)
{
    int ends[2], passed = 0, told = 0;
    if (!n) return 0;
    fflush(stdout);
    if (pipe(ends)) return 0;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; open_compiler(library) && i < n; i += TOGETHER) {
            char good[TOGETHER];
            int some = n - i < TOGETHER ? n - i : TOGETHER;
            try_some(paths + i, some, architecture, good);
            fflush(stdout);
            if (write(ends[1], good, (size_t)some) != some) break;
        }
        _exit(0);
    }
    close(ends[1]);
    for (char good; read(ends[0], &good, 1) == 1; told++) passed += good;
    close(ends[0]);
    waitpid(child, NULL, 0);
    if (told == n) return passed;
    printf("FAIL %s: the compiler ended here\n", paths[told]);
    return passed + part(paths + told + 1, n - told - 1, library, architecture);
}

int main(int count, char **arguments)
{
    static char paths[PART][PATH];
    int passed = 0, failed = 0;
    if (count != 3) {
        fprintf(stderr, "usage: hip_compile LIBRARY ARCHITECTURE <names of files\n");
        return 2;
    }
    for (int n = 0;;) {
        int more = fgets(paths[n], PATH, stdin) != NULL;
        if (more) paths[n][strcspn(paths[n], "\n")] = 0, n++;
        if (n < PART && more) continue;
        int good = n ? part(paths, n, arguments[1], arguments[2]) : 0;
        passed += good;
        failed += n - good;
        n = 0;
        if (!more) break;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
