/* The kiln command line: finds the command and shows the help. */
#include "kiln.h"
#include <dlfcn.h>
#include <kn/tensor.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "kiln: tensors and deep learning in C\n"
    "\n"
    "  kiln info                      version, devices, instruction sets, threads, libraries\n"
    "  kiln ops                       the table of ops\n"
    "  kiln ops NAME ...              an op: its operands, and attributes with their types\n"
    "  kiln ops --matrix [--device D] op x dtype: native, lowered, reference or no; and the gradient\n"
    "  kiln ops --markdown            the text of docs/ops.md\n"
    "  kiln ops --onnx [--markdown]   the operators of ONNX that run, by domain, versions and element types\n"
    "  kiln conform --device SPEC     check every op against stored results of PyTorch and NumPy\n"
    "      --filter X                 only ops and cases whose name contains X\n"
    "      --sample PERCENT --seed N  a part of the cases, chosen by the seed\n"
    "      --jobs N                   the ops shared out among N processes; tells which took longest\n"
    "      --seconds N                with --jobs: no op is begun later; those that were not are counted\n"
    "      --slice K/N                the K-th of N slices of all ops\n"
    "      --data DIR                 where the data is (tests/conform/data)\n"
    "      --list                     list the cases without running them\n"
    "      --coverage                 print each cell of op x dtype x layout\n"
    "      --refused FILE             the cells that may be refused (tests/conform/refused.txt)\n"
    "      --write-refused            write that list instead of failing where it differs\n"
    "      --as-c                     run each case as a program that is written as C and compiled\n"
    "      --self-test                spoil each good result (zero, negate, a tenth off) and fail where the\n"
    "                                 comparison does not notice; with --verbose it names the cases\n"
    "      --verbose                  print each check\n"
    "  kiln inspect FILE [--json]     what is in a .safetensors, .pt, .npy or .npz file, or in an ONNX "
    "model\n"
    "      --check                    compare all of it with its checksums instead\n"
    "      --top ENTRY                only the entry of a PyTorch file\n"
    "      --program                  a program as text, one op to a line\n"
    "  kiln inspect MODEL.onnx        inputs, outputs, operators, parameters, multiplications, and every "
    "node "
    "that cannot run\n"
    "      --dim NAME=N               a size that the model leaves open, by its name or as INPUT.AXIS\n"
    "      --program                  say whether kiln import makes C of it, or what stands in the way\n"
    "      --dump [--no-simplify]     print the nodes of the file, and as they are after the passes of "
    "loading\n"
    "  kiln run FILE                  run a program that kn_program_save has written\n"
    "      --input NAME=FILE[:ENTRY]  the input from a .npy, .npz, .safetensors or .pt file\n"
    "      --output NAME=FILE         write the output to a .npy, .npz or .safetensors file, the last two "
    "for any\n"
    "                                 number of outputs; else its first values are shown\n"
    "      --device D                 where it runs\n"
    "      --batch N                  N rows at a time, the outputs put together again\n"
    "      --labels NAME=FILE         how many rows of the output have their largest value at the label\n"
    "      --cast                     inputs of other dtypes become what the program takes\n"
    "  kiln run MODEL.onnx            run an ONNX model; without any --input all inputs are random\n"
    "      --input, --output, --device, --cast as above; --input takes ONNX's own .pb files, too, and for an "
    "input\n"
    "                                 that is an image .png and .jpg files: resized, floats are 0 to 1; for\n"
    "                                 strings .txt files with one to a line\n"
    "      --mean M, --std S          (x - M) / S of floats of images; one number, or one a channel: "
    "0.5,0.4,0.4\n"
    "      --random                   inputs that are not given are random, though others are\n"
    "      --dim NAME=N               a size of random inputs that the model leaves open (1); NAME or "
    "INPUT.AXIS\n"
    "      --seed N                   of random inputs and operators\n"
    "      --repeat N                 run N times and print the best and the middle time\n"
    "      --profile                  the time of operators and nodes\n"
    "      --dump, --no-simplify      print the nodes as they run; leave them as the file has them\n"
    "  kiln run --test DIR ...        run the models below the folders that have data beside them, in ONNX's "
    "layout\n"
    "      --jobs N, --filter TEXT    in N processes (one a thread); only cases whose path contains the "
    "text\n"
    "      --device D, --limit N      where they run; the seconds that one may take (120)\n"
    "      --verbose                  print each case that passed, too\n"
    "  kiln import FILE -o FOLDER     an ONNX model or a program as C against this library: .c, .h and "
    ".safetensors\n"
    "      --name NAME                of the files and of all that they declare; else that of the file\n"
    "      --embed                    the weights as an array in a .c file, too\n"
    "      --standalone               one freestanding C99 file instead, which needs no library\n"
    "      --blob                     with its weights in a .bin file\n"
    "      --dim NAME=N, NAME=LO..HI  a size that the model leaves open; INPUT.AXIS names one without a "
    "name\n"
    "      --value INPUT=FILE         an input that has this value for ever\n"
    "      --output NAME              this output alone; several, in this order\n"
    "      --keep INPUT               an input that may be left out is one of the program all the same\n"
    "      --fold                     what depends on weights alone is computed now: faster, and not for "
    "training\n"
    "      --no-simplify              the program as it was converted\n"
    "      --dump                     print the program; --save writes it to NAME.program.safetensors\n"
    "  kiln bench overhead            nanoseconds of a tiny eager op, beside PyTorch where there is one\n"
    "  kiln bench --device D [ROW..]  one kind of work on a device: chain softmax layernorm matmul attention "
    "mlp\n"
    "                                 sort topk unique nonzero cumsum ...\n"
    "  kiln bench fusion [--small]    groups of ops beside the same ops one by one, and the cost of "
    "queueing\n"
    "  kiln bench mlp cnn lenet       time and memory of a training step, beside PyTorch where there is one\n"
    "      --threads N                2 unless told\n"
    "      --profile                  where the time goes, by op\n"
    "  kiln data [NAME]               known data sets: where to get them, which files go where\n"
    "  kiln data PATH [--check]       what a folder or file on disk holds; --check reads every sample\n"
    "  kiln --plugin FILE COMMAND ..  any of these with the devices of a shared library, which has\n"
    "                                 kn_status kn_plugin(void): docs/adding-a-backend.md\n"
    "  kiln --version                 the version alone\n"
    "  kiln help                      this text; kiln COMMAND --help shows the part about one command\n"
    "\n"
    "A device is a text such as cpu, ref, autodiff(cpu) or check(cpu,ref). KN_DEVICE names the default.\n"
    "The exit code is 0 when all is well, 1 when something failed and 2 for arguments that make no sense.\n";

typedef struct command {
    const char *name;
    int (*run)(int count, char **arguments);
} command;

/* The lines of the help about one command. */
static int show_command_help(const char *name)
{
    size_t n = strlen(name);
    bool shown = false;
    for (const char *line = usage; *line; line += strcspn(line, "\n") + 1) {
        if (!strncmp(line, "  kiln ", 7) || line[0] != ' ')
            shown = !strncmp(line, "  kiln ", 7) && !strncmp(line + 7, name, n) && line[7 + n] == ' ';
        if (shown) printf("%.*s\n", (int)strcspn(line, "\n"), line);
    }
    return 0;
}

static bool asks_for_help(int count, char **arguments)
{
    for (int i = 0; i < count; i++)
        if (kiln_option(arguments, i, "--help") || kiln_option(arguments, i, "-h")) return true;
    return false;
}

static int show_help(int count, char **arguments)
{
    if (count > 0) return kiln_usage_error("help takes no argument '%s'", arguments[0]);
    fputs(usage, stdout);
    return 0;
}

static int show_version(int count, char **arguments)
{
    if (count > 0) return kiln_usage_error("--version takes no argument '%s'", arguments[0]);
    printf("kiln %s\n", kn_version());
    return 0;
}

static const command commands[] = {{"info", kiln_command_info},
                                   {"ops", kiln_command_ops},
                                   {"conform", kiln_command_conform},
                                   {"bench", kiln_command_bench},
                                   {"inspect", kiln_command_inspect},
                                   {"run", kiln_command_run},
                                   {"import", kiln_command_import},
                                   {"data", kiln_command_data},
                                   {"help", show_help},
                                   {"--help", show_help},
                                   {"-h", show_help},
                                   {"--version", show_version},
                                   {"-V", show_version}};

int kiln_option_error(const char *option, const char *text)
{
    static const char *const forms[][2] = {{"--input", "NAME=FILE"},        {"--output", "NAME=FILE"},
                                           {"--labels", "NAME=FILE"},       {"--dim", "NAME=N"},
                                           {"--seed", "a number from 0"},   {"--repeat", "a number of runs"},
                                           {"--batch", "a number of rows"}, {"--device", "a device"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(forms[i][0], option) && text)
            return kiln_usage_error("%s takes %s, not '%s'", option, forms[i][1], text);
    return kiln_usage_error("%s: '%s' makes no sense here", option, text ? text : "");
}

int kiln_usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("kiln: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("; 'kiln help' shows what there is\n", stderr);
    va_end(arguments);
    return 2;
}

bool kiln_option(char **arguments, int i, const char *name) { return !strcmp(arguments[i], name); }

bool kiln_option_value(int count, char **arguments, int *i, const char *name, const char **value, bool *bad)
{
    if (strcmp(arguments[*i], name)) return false;
    *bad = *i + 1 >= count;
    if (!*bad) *value = arguments[++*i];
    return true;
}

/* Opens a library of backends and lets it register them; the library stays. */
static bool load_plugin(const char *path)
{
    kn_status (*plugin)(void) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "kn_plugin") : NULL;
    if (!found) {
        fprintf(stderr, "kiln: --plugin %s: %s\n", path, dlerror());
        return false;
    }
    memcpy(&plugin, &found, sizeof plugin);
    if (plugin() == KN_OK) return true;
    fprintf(stderr, "kiln: --plugin %s: %s\n", path, kn_last_error());
    return false;
}

int main(int count, char **arguments)
{
    for (; count > 2 && !strcmp(arguments[1], "--plugin"); count -= 2, arguments += 2)
        if (!load_plugin(arguments[2])) return 1;
    if (count < 2) {
        fputs(usage, stderr);
        return 2;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(arguments[1], commands[i].name)) continue;
        if (arguments[1][0] != '-' && asks_for_help(count - 2, arguments + 2))
            return show_command_help(arguments[1]);
        return commands[i].run(count - 2, arguments + 2);
    }
    return kiln_usage_error("there is no command '%s'", arguments[1]);
}
