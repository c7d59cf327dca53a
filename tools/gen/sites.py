"""Writes include/kn/sites.h, include/kn/nn/nn_sites.h and include/kn/sites/*: for each public function a macro that notes the user's
file and line, unless the function is named here as one that cannot fail. Reads the public headers. Run in the root of the
repository."""

import os
import re

# These hand out what exists already and fail at nothing, or tell of failures of others. A function that calls kni_fail or
# kni_failure must not be here: its failure would get the line of the next call.
WITHOUT = {"kn_value", "kn_at", "kn_ok", "kn_is_param", "kn_is_require_grad", "kn_error_code", "kn_error_text",
           "kn_custom_fail", "kn_cpu_tier_at", "kn_library_at", "kn_last_error", "kn_status_name", "kn_log_set", "kn_version",
           "kn_autocast_end", "kn_autocast_dtype", "kn_autocast_policy", "kn_no_grad_begin", "kn_no_grad_end",
           "kn_grad_enabled", "kn_activation_name", "kn_op_count", "kn_op_at", "kn_op_find", "kn_op_attribute",
           "kn_dtype_bytes", "kn_dtype_name", "kn_dtype_by_name", "kn_dtype_is_float", "kn_dtype_is_integer", "kn_dtype_is_stored",
           "kn_dtype_promote", "kn_dtype_limits", "kn_memory_stats", "kn_memory_limit", "kn_memory_fail_after",
           "kn_set_threads", "kn_get_threads", "kn_set_reproducible", "kn_loss_scaler_make", "kn_load_report_free",
           "kn_nn_rotary_reset", "kn_device_describe", "kn_backend_op_number"}
# Kiln calls what calls these, in the middle of an op: the line is the one of the op.
CALLED_BACK = {"kn_backend_tensor", "kn_backend_allocate", "kn_backend_fail", "kn_backend_adopt", "kn_backend_memory",
               "kn_backend_reuse", "kn_backend_group_reuse", "kn_backend_view", "kn_backend_op_name",
               "kn_backend_attribute_int", "kn_backend_attribute_real", "kn_backend_attribute_list", "kn_backend_body",
               "kn_backend_body_param", "kn_backend_body_dtype", "kn_rotary_scale_linear", "kn_rotary_scale_llama",
               "kn_onnx_call_inputs", "kn_onnx_call_outputs", "kn_onnx_call_input", "kn_onnx_call_int", "kn_onnx_call_real",
               "kn_onnx_call_text", "kn_onnx_call_ints", "kn_onnx_call_reals", "kn_onnx_call_dtype", "kn_onnx_call_rank",
               "kn_onnx_call_op", "kn_onnx_call_tensor", "kn_onnx_call_made", "kn_onnx_call_output", "kn_onnx_call_fail"}
# Signal handlers may call these, where noting a line is not allowed.
SIGNAL_SAFE = {"kn_learner_interrupt"}
# These run no op, so their line must not become the latest op's; only a failure needs it.
PASSING = {"kn_keep", "kn_own", "kn_alias", "kn_require_grad", "kn_poison", "kn_grads_get",
           "kn_state_get", "kn_nn_identity_forward"}
# Their result says nothing about whether they failed.
MAYBE = {"kn_device_of": "kn_after_device", "kn_grads_take": "kn_after_tensor", "kn_device_close": "void kn_site_pending"}
# These run ops that may fail later, though they fill no tensors; or fill tensors whose ops have lines of their own.
RUNNING = {"kn_optim_step", "kn_optim_step_closure", "kn_optim_step_rates", "kn_loss_scaler_step", "kn_accumulator_add",
           "kn_ema_update", "kn_ema_swap", "kn_grads_clip"}
PLACED = {"kn_program_run", "kn_onnx_run", "kn_accumulator_take"}
# These run no op that fails later, but their line is that of a tensor's end.
ENDING = {"kn_drop": "kn_site_note", "kn_scope_end_many": "kn_site_note"}
# After a good end nothing may start the thread's state again, so only a failure is noted.
SHUTDOWN = "kn_shutdown"
# Its line is named by messages about what ended with the scope.
SCOPE = "kn_scope_begin"

# Each of these headers has its macros in a header of its own, which it includes at its end. Those that others include come first.
SINGLE = ["op_info", "backend", "program", "onnx", "state", "store", "optim", "data/dataset", "data/source", "data/transform", "data/augment",
          "data/loader", "train/metric", "train/renderer", "train/learner"]

_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_DEPRECATED = re.compile(r'\s*\bKN_DEPRECATED\("[^"]*"\)')
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
_STRUCT = re.compile(r"typedef\s+struct\s+(kn_\w+)\s*\{([^}]*)\}\s*\1\s*;", re.S)
_FUNCTION = re.compile(r"\bKN_API\s+(KN_MUST_CHECK\s+)?((?:const\s+|struct\s+)?\w+)(\s+|\s*\*\s*)(kn_\w+)\s*"
                       r"\(([^;]*)\)\s*;", re.S)
_OBJECT = re.compile(r"typedef\s+(?:const\s+)?struct\s+\w+\s*\*\s*(kn_\w+)\s*;")
# A list of results that the function fills in.
_FILLS = re.compile(r"(?<!const )\bkn_tensor\s*\*|\bkn_grads\s*\*")
_ENDS = re.compile(r"kn_\w+_(?:free|close)$")


def read(name):
    with open(name, encoding="utf-8") as file:
        return _DEPRECATED.sub("", _DIRECTIVE.sub("", _COMMENT.sub(" ", file.read())))


def all_headers():
    """Every public header that is not generated."""
    for folder, _, names in os.walk("include"):
        for name in names:
            if not name.endswith("sites.h"):
                yield os.path.join(folder, name)[len("include/"):]


def object_types():
    """The types of handles, as they are written in a list of parameters or as a result."""
    found = set().union(*(_OBJECT.findall(read("include/" + name)) for name in all_headers()))
    return found | {"kn_kernel *"}


def public_headers(header):
    """What a header includes, without the generated headers."""
    with open("include/" + header, encoding="utf-8") as file:
        names = re.findall(r"#include <(kn/[\w/]+\.h)>", file.read())
    return sorted(name for name in set(names) if not name.endswith("sites.h"))


def seen_from(header):
    """A header and all that it includes, directly or not."""
    return {header}.union(*(seen_from(name) for name in public_headers(header)))


def result_structs(text):
    """The structs that hold tensors and can be results."""
    return {name for name, body in _STRUCT.findall(text) if re.search(r"\bkn_tensor\s+\w", body)}


def functions_of(text):
    """(must_check, result, name, parameters) of each function that a header declares."""
    for must_check, result, gap, name, parameters in _FUNCTION.findall(text):
        yield must_check, " ".join(result.split()) + (" *" if "*" in gap else ""), name, " ".join(parameters.split())


def is_exempt(name):
    """Whether a function has no macro, because it is named above or is part of the macros themselves."""
    return name in WITHOUT or name in SIGNAL_SAFE or name in CALLED_BACK or name.startswith("kn_site_")


def status_note(must_check, name, parameters):
    """The wrapper of a function that returns a status. Those that fill tensors and make layers run ops; of the others only a
    failure gets the line."""
    if name in RUNNING:
        return "kn_at_ran_checked" if must_check else "kn_at_ran"
    if name not in PLACED and _FILLS.search(parameters):
        return "kn_at_checked" if must_check else "kn_at_status"
    if name.startswith("kn_nn_") and name.endswith("_init"):
        return "kn_at_status"
    return "kn_at_failed_checked" if must_check else "kn_at_failed"


def note_of(function, structs, objects):
    """(wrapper or "void NOTE", result, what the wrapper does), or None for a function that needs no line."""
    must_check, result, name, parameters = function
    if is_exempt(name):
        return None
    if name == SHUTDOWN:
        return ("kn_at_shutdown", result, "if (kn_result < 0) kn_site_failure(kn_line);")
    if name == SCOPE:
        return ("kn_at_scope", result, "kn_site_scope(kn_result, kn_line);")
    if name in MAYBE:
        return (MAYBE[name], result, "")
    if name in ENDING:
        return ("void " + ENDING[name], "void", "")
    if result == "kn_tensor":
        return ("kn_at_failure" if name in PASSING else "kn_at", result, "")
    if result in structs:
        return ("kn_at_" + result[3:], result, "kn_site_note(kn_line);")
    if result == "kn_status":
        return (status_note(must_check, name, parameters), result, "")
    if result in objects or result.startswith("struct "):
        return ("kn_at_" + short(result), result,
                "if (!kn_result)\n        kn_site_failure(kn_line);\n    else\n        kn_site_done(kn_line);")
    if result == "void":
        return ("void kn_site_freed" if _ENDS.match(name) else "void kn_site_pending", result, "")
    return ("kn_after_" + short(result), result, "kn_site_pending(kn_line);")


def short(result):
    words = re.sub(r"\bconst |\bstruct |\bkn_|_t\b", "", result).replace(" *", "_text" if "char" in result else "")
    return {"char_text": "text", "DLManagedTensor": "dlpack", "DLManagedTensorVersioned": "dlpack_versioned"}.get(words, words)


def scan(names, objects):
    """(header, function, wrapper) of each function to be noted, and the wrappers that are needed: name -> (result, note)."""
    texts = {name: read("include/" + name) for name in names}
    structs = set().union(*(result_structs(t) for t in texts.values()))
    functions, wrappers = [], {}
    for header, text in texts.items():
        for function in functions_of(text):
            found = note_of(function, structs, objects)
            if not found:
                continue
            functions.append((header, function[2], found[0]))
            if found[2]:
                wrappers[found[0]] = found[1:]
    return functions, wrappers


def spaced(result):
    return result if result.endswith("*") else result + " "


def wrapper(result, name, note="kn_site_note(kn_line);", attribute=""):
    return (
        "static inline %s%s%s(%skn_result, const char *kn_line)\n{\n    %s\n    return kn_result;\n}\n\n"
        % (attribute, spaced(result), name, spaced(result), note)
    )


def macro(name, note):
    if note.startswith("void "):
        return "#define %s(...) (%s(__VA_ARGS__), %s(KN_SITE))\n" % (name, name, note[5:])
    return "#define %s(...) %s(%s(__VA_ARGS__), KN_SITE)\n" % (name, note, name)


# Wrappers of plain results, which several headers need.
def common_wrappers():
    failed = "if (kn_result != KN_OK)\n        kn_site_failure(kn_line);\n    else\n        kn_site_done(kn_line);"
    ran = "if (kn_result == KN_OK)\n        kn_site_note(kn_line);\n    else\n        kn_site_failure(kn_line);"
    poisoned = "if (kn_result.bits >> 63) kn_site_pending(kn_line);"
    pending = "kn_site_pending(kn_line);"
    wrappers = {
        "kn_at_failure": ("kn_tensor", poisoned), "kn_at_status": ("kn_status", "kn_site_note(kn_line);"),
        "kn_at_checked": ("kn_status", "kn_site_note(kn_line);"), "kn_at_failed": ("kn_status", failed),
        "kn_at_failed_checked": ("kn_status", failed), "kn_at_ran": ("kn_status", ran),
        "kn_at_ran_checked": ("kn_status", ran),
    }  # fmt: skip
    for result in ["bool", "double", "int32_t", "int64_t", "size_t", "const char *", "kn_dtype", "kn_shape", "kn_device",
                   "kn_tensor"]:
        wrappers["kn_after_" + short(result)] = (result, pending)
    wrappers["kn_at_device"] = ("kn_device", "if (!kn_result) kn_site_failure(kn_line);")
    return wrappers


def opening(guard):
    return [
        "/* Generated by tools/gen/sites.py from the other headers; do not edit.\n",
        "   Each call of these functions notes its file and line, for messages and reports. KN_NO_SITES turns\n",
        "   it off. A function's address, and a name in brackets as in (kn_add)(a, b), is the plain function. */\n",
        "/* clang-format off */\n#ifndef %s\n#define %s\n\n" % (guard, guard),
    ]


def definitions(wrappers):
    if not wrappers:
        return []
    lines = ["\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"]
    for name, (result, note) in sorted(wrappers.items()):
        lines += [wrapper(result, name, note, "KN_MUST_CHECK " if name.endswith("_checked") else "")]
    return lines + ["#ifdef __cplusplus\n}\n#endif\n"]


def save(output, lines):
    os.makedirs(os.path.dirname(output), exist_ok=True)
    with open(output, "w", encoding="utf-8") as file:
        file.write("".join(lines + ["\n#endif\n"]))


def write(output, names, guard, base, objects, known):
    """Returns the names of the wrappers; known: those that headers which it includes have already."""
    functions, wrappers = scan(names, objects)
    wrappers = {name: body for name, body in wrappers.items() if name not in known}
    headers = {header for header, _, _ in functions} | set(base)
    lines = opening(guard) + ["#include <%s>\n" % header for header in sorted(headers)] + definitions(wrappers)
    previous = None
    for header, name, note in functions:
        lines += ["\n" if header != previous else "", macro(name, note)]
        previous = header
    save(output, lines)
    return set(wrappers)


def main():
    objects, common = object_types(), common_wrappers()
    base = ["kn/sites/common_sites.h"]
    save("include/kn/sites/common_sites.h",
         opening("KN_COMMON_SITES_H") + ["#include <kn/base.h>\n"] + definitions(common))
    write("include/kn/sites.h", public_headers("kn.h"), "KN_SITES_H", base, objects, common)
    write("include/kn/nn/nn_sites.h", public_headers("kn/nn.h"), "KN_NN_SITES_H", base + ["kn/sites.h"], objects, common)
    made = {}
    for single in SINGLE:
        header, name = "kn/%s.h" % single, single.split("/")[-1]
        known = set(common).union(*(made.get(other, set()) for other in seen_from(header)))
        made[header] = write("include/kn/sites/%s_sites.h" % name, [header], "KN_%s_SITES_H" % name.upper(), base,
                             objects, known)


if __name__ == "__main__":
    main()
