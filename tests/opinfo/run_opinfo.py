"""Runs PyTorch's op database (torch.testing) against Kiln: each entry that op_map*.py maps, over its sample inputs, forward in
floats, halves, integers and bool, with strided operands, fused, and its gradient. The last line is 'N passed, N failed'.

Usage: run_opinfo.py [--library build/release/libkiln.so] [--op NAME,NAME...] [--samples N] [--list] [--write FILE]
A check is one entry, one kind (forward, strided, fused, gradient, fused gradient) and one dtype over at most --samples sample
inputs. differences.py says, with the reason, what is meant where Kiln differs from PyTorch: it is compared all the same; a line
that explains nothing any more fails the run, and so does one that raises an exception. Samples that PyTorch itself refuses are
dropped and counted. --write writes the failures into a file."""

import argparse
import os
import pickle
import sys
import traceback
import warnings

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kiln_binding import K, KilnError, Tensor, Unsupported  # noqa: E402
from differences import DIFFERENCES, TERMS  # noqa: E402
import op_map_nn  # noqa: E402,F401
import op_map_further  # noqa: E402,F401
import op_map_linalg  # noqa: E402,F401
import op_map_signal  # noqa: E402,F401
import op_map_shape  # noqa: E402,F401
from op_map import MAP  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FORWARD = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
           torch.uint8, torch.bool]  # fmt: skip
COMPLEX = [torch.complex64, torch.complex128]  # of Fourier transforms, which take pairs of tensors
# relative and absolute, of the largest element: what a few roundings and the order of sums make
BOUNDS = {torch.float64: 1e-9, torch.float32: 3e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
GRADIENT_BOUNDS = {torch.float64: 1e-7, torch.float32: 2e-4}
# Kiln says that it does not compute on the dtype, or that the dtype does not hold a number, which PyTorch wraps.
REFUSALS = ("does not take", "must be a float", "needs floats", "cannot hold the number")
ZERO = 4  # eps: what is left where terms of size 1 cancel
KINDS = ["forward", "strided", "fused", "gradient", "fused gradient"]


def short(dtype):
    return str(dtype).replace("torch.", "")


# ---- samples


def own_leaf(x):
    """A leaf that is a view belongs to another tensor, which PyTorch gives the gradient to: here it gets its own."""
    return x.detach().requires_grad_() if isinstance(x, torch.Tensor) and x.requires_grad and x.is_leaf and x._is_view() else x


def leaf(k, value, differentiable):
    tensor = k.tensor(value)
    return Tensor(k, k.lib.kn_require_grad(tensor.handle)) if differentiable else tensor


def convert(k, value, made):
    """Tensors of a sample as Kiln's, complex ones as pairs; what is made is noted as (PyTorch tensor, Kiln tensor)."""
    if isinstance(value, torch.Tensor):
        tensor = tuple(leaf(k, t, value.requires_grad) for t in flat(value)) if value.is_complex() else leaf(k, value, value.requires_grad)
        made.append((value, tensor))
        return tensor
    if isinstance(value, (list, tuple)):
        return type(value)(convert(k, v, made) for v in value) if type(value) in (list, tuple) else tuple(convert(k, v, made) for v in value)
    if isinstance(value, dict):
        return {n: convert(k, v, made) for n, v in value.items()}
    return value


def flat(result):
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in flat(r)]
    if isinstance(result, torch.Tensor) and result.is_complex():
        return [result.real, result.imag]
    return [] if result is None else [result]


def values_of(result):
    return [r.torch() if isinstance(r, Tensor) else r for r in flat(result)]


def difference(got, want, bound, exact=None, terms=None):
    """What is wrong with got, or None. `exact` is the same in f64, and as good. Terms of the size of the largest element may
    cancel, or, where `terms` has a size for each element, of that size."""
    if not isinstance(want, torch.Tensor):
        return None if got == want or (got != got and want != want) or abs(got - want) <= bound * abs(want) else "%s, not %s" % (got, want)
    if list(got.shape) != list(want.shape):
        return "the shape is %s, not %s" % (list(got.shape), list(want.shape))
    if got.dtype != want.dtype:
        return "the dtype is %s, not %s" % (short(got.dtype), short(want.dtype))
    if not want.dtype.is_floating_point:
        wrong = got != want
    else:
        a = got.double()
        wrong = torch.ones_like(a, dtype=torch.bool)
        for b in [want.double()] + ([exact.to(want.dtype).double()] if exact is not None and exact.shape == want.shape else []):
            finite = b[torch.isfinite(b)].abs()
            largest = finite.max().item() if finite.numel() else 0
            room = bound * (b.abs() + (largest if terms is None else 0))
            room = room + ZERO * (1 if terms is None else terms.clamp(min=1)) * torch.finfo(want.dtype).eps
            near = torch.isfinite(b) & ((a - b).abs() <= room)  # around an infinity there is no room
            wrong &= ~((a == b) | near | (a.isnan() & b.isnan()))
    if not bool(wrong.any()):
        return None
    at = wrong.reshape(-1).nonzero()[0].item()
    return "%d of %d wrong, element %d is %s, not %s" % (int(wrong.sum()), wrong.numel(), at, got.reshape(-1)[at].item(), want.reshape(-1)[at].item())


def compare(got, want, bounds, exact=None):
    if len(got) != len(want):
        return "%d results, not %d" % (len(got), len(want))
    for i, (a, b) in enumerate(zip(got, want)):
        bound = bounds.get(b.dtype, 0) if isinstance(b, torch.Tensor) else 1e-6
        wrong = difference(a, b, bound, exact[i] if exact and i < len(exact) and isinstance(exact[i], torch.Tensor) else None)
        if wrong:
            return "result %d: %s" % (i, wrong)
    return None


def widened(sample):
    return sample.transform(lambda x: x.double() if isinstance(x, torch.Tensor) and x.dtype.is_floating_point else
                            torch.float64 if x in (torch.float16, torch.bfloat16, torch.float32) else x)  # fmt: skip


def differentiable(results):
    return [t for t in results if isinstance(t, torch.Tensor) and t.requires_grad]


def gradients(outputs, leaves, cotangents):
    found = torch.autograd.grad(outputs, leaves, cotangents, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves)]


# ---- one entry


class Refused(Exception):
    """PyTorch does not compute on the sample."""


def cotangents_of(outputs):
    torch.manual_seed(2)
    return [torch.randn_like(t) for t in outputs]


def empty_row():
    return {"passed": 0, "failed": 0, "unsupported": 0, "meant": 0, "dropped": 0, "reason": "", "why": "", "refused": ""}


class Entry:
    """One entry of the database: runs its checks and notes (kind, dtype, passed, failed, unsupported, first reason)."""

    def __init__(self, library, op, name, function, limit):
        self.library, self.op, self.name, self.function, self.limit = library, op, name, function, limit
        self.notes, self.k = {}, None
        self.meant = DIFFERENCES.get(name) or DIFFERENCES.get(op.name)

    def note(self, kind, dtype, what, reason=""):
        row = self.notes.setdefault((kind, short(dtype)), empty_row())
        row[what] += 1
        text = {"failed": "reason", "unsupported": "why", "dropped": "refused"}.get(what)
        if text and not row[text]:
            row[text] = reason

    def samples(self, dtype, gradient):
        torch.manual_seed(1)
        made = list(self.op.sample_inputs("cpu", dtype, requires_grad=gradient))
        made = [s.transform(own_leaf) for s in made] if gradient else made
        if len(made) > self.limit:
            made = [made[i * len(made) // self.limit] for i in range(self.limit)]
        return made

    def given(self, sample):
        """PyTorch's results. What its own op refuses is Refused; nothing else is."""
        try:
            return flat(self.op.op(sample.input, *sample.args, **sample.kwargs))
        except Exception as e:
            raise Refused(str(e)) from e

    def expected(self, sample):
        """PyTorch's results, and what Kiln is to give: the same, or what differences.py says."""
        given = self.given(sample)
        return given, flat(self.meant[1](self.op.op, sample.input, *sample.args, **sample.kwargs)) if self.meant else given

    def expected_gradients(self, sample, leaves, cotangents=None):
        """PyTorch's gradients, what Kiln is to give, and the cotangents of that; None where nothing has a gradient."""
        given, want = (differentiable(results) for results in self.expected(sample))
        if not given or not leaves:
            return None
        try:
            found = gradients(given, leaves, cotangents or cotangents_of(given))
        except Exception as e:
            raise Refused(str(e)) from e
        cotangents = cotangents or cotangents_of(want)
        return found, gradients(want, leaves, cotangents) if self.meant else found, cotangents

    def note_meant(self, kind, dtype, given, want, bounds):
        """Counts a sample of which PyTorch gives something else than what is meant."""
        if self.meant and compare(given, want, bounds):
            self.note(kind, dtype, "meant")

    def mapped(self, spec, sample):
        """Kiln's results and the operands."""
        self.k.use(spec)
        made = []
        x, a, s = (convert(self.k, v, made) for v in (sample.input, sample.args, sample.kwargs))
        return flat(self.function(self.k, x, *a, **s)), made

    def run(self):
        self.k = K(self.library, "cpu")
        pairs = COMPLEX if self.op.name.startswith("fft.") or self.op.name == "istft" else []
        for dtype in FORWARD + pairs:
            if dtype in self.op.dtypes:
                self.each(dtype, False, self.forward)
        for dtype in [torch.float64, torch.float32] + pairs:
            if dtype in self.op.dtypes and self.op.supports_autograd:
                self.each(dtype, True, self.gradient)
        return self.notes

    def each(self, dtype, gradient, check):
        kind = "gradient" if gradient else "forward"
        try:
            samples = self.samples(dtype, gradient)
        except Exception as e:  # noqa: BLE001: whatever PyTorch refuses about its own samples
            self.note(kind, dtype, "unsupported", "no samples: %s" % str(e)[:80])
            return
        for sample in samples:
            scope = self.k.scope()
            try:
                check(dtype, sample)
            except Refused as e:
                self.note(kind, dtype, "dropped", str(e).strip().split("\n")[0][:80])
            except Exception as e:  # noqa: BLE001: differences.py or this file is wrong
                self.note(kind, dtype, "failed", "what is meant cannot be computed: %s %s" % (type(e).__name__, e))
            finally:
                self.k.end(scope)

    def attempt(self, kind, dtype, check):
        """Runs one check: its text is a failure, Unsupported none."""
        try:
            wrong = check()
        except Unsupported as e:
            self.note(kind, dtype, "unsupported", str(e))
            return
        except KilnError as e:
            text = str(e).split("   ")[0]
            if any(words in text for words in REFUSALS):
                self.note(kind, dtype, "unsupported", text)
                return
            wrong = "Kiln refuses: " + text
        except (AttributeError, TypeError, KeyError, StopIteration, IndexError, ZeroDivisionError, ValueError) as e:
            wrong = "the map: %s %s" % (type(e).__name__, e)
            if os.environ.get("KN_OPINFO_TRACE"):
                traceback.print_exc()
        self.note(kind, dtype, "failed" if wrong else "passed", wrong)

    def forward(self, dtype, sample):
        given, want = self.expected(sample)
        self.note_meant("forward", dtype, given, want, BOUNDS)
        exact = None
        if dtype.is_floating_point and dtype != torch.float64:
            try:
                exact = self.expected(widened(sample))[1]
            except Refused:
                exact = None

        def plain():
            return compare(values_of(self.mapped("cpu", sample)[0]), want, BOUNDS, exact)

        def strided():
            return compare(values_of(self.mapped("cpu", sample.noncontiguous())[0]), want, BOUNDS, exact)

        def fused():
            return compare(values_of(self.mapped("fusion(cpu)", sample)[0]), values_of(self.mapped("cpu", sample)[0]), {})

        self.attempt("forward", dtype, plain)
        self.attempt("strided", dtype, strided)
        self.attempt("fused", dtype, fused)

    def exact_gradient(self, dtype, sample, cotangents):
        """PyTorch's gradient in f64, where f32 is checked."""
        if dtype != torch.float32:
            return None
        try:
            leaves, twin = [], sample.transform(lambda x: x.detach().double().requires_grad_(x.requires_grad) if
                                                isinstance(x, torch.Tensor) and x.dtype == dtype else
                                                torch.float64 if x == dtype else x)  # fmt: skip
            twin.transform(lambda x: leaves.append(x) if isinstance(x, torch.Tensor) and x.requires_grad else None)
            found = self.expected_gradients(twin, leaves, [c.double() for c in cotangents])
            return found[1] if found else None
        except Refused:
            return None

    def gradient(self, dtype, sample):
        leaves = []
        sample.transform(lambda x: leaves.append(x) if isinstance(x, torch.Tensor) and x.requires_grad else None)
        found = self.expected_gradients(sample, leaves)
        if not found:
            return
        given, want, cotangents = found
        self.note_meant("gradient", dtype, given, want, GRADIENT_BOUNDS)
        exact = self.exact_gradient(dtype, sample, cotangents)
        terms = TERMS[self.name](sample.input, *sample.args, **sample.kwargs) if self.name in TERMS else None

        def check(spec):
            def run():
                got, made = self.mapped(spec, sample)
                all_want = self.expected(sample)[1]
                pairs = [g for g, w in zip(got, all_want) if isinstance(w, torch.Tensor) and w.requires_grad]
                wrt = [t for leaf in leaves for t in flat(next(t for v, t in made if v is leaf))]
                grads = self.k.grad(pairs, [self.k.tensor(c) for c in cotangents], wrt)
                for i, (g, w) in enumerate(zip(grads, flat(want))):
                    g = torch.zeros_like(w) if g is None else g.torch()
                    wrong = difference(g, w, GRADIENT_BOUNDS[w.dtype], exact[i] if exact else None, terms)
                    if wrong:
                        return "operand %d: %s" % (i, wrong)
                return None

            return run

        self.attempt("gradient", dtype, check("autodiff(cpu)"))
        self.attempt("fused gradient", dtype, check("autodiff(fusion(cpu))"))


# ---- all of them


def in_child(entry, seconds):
    """The notes of an entry, made by a process of its own: what crashes is a failure and not the end."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        status = 1
        try:
            import signal
            signal.alarm(seconds)
            with os.fdopen(into, "wb") as file:
                pickle.dump(entry.run(), file)
            status = 0
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        os._exit(status)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    if status or not data:
        return {("forward", "all"): {**empty_row(), "failed": 1, "reason": "the process ended with status %d" % status}}
    return pickle.loads(data)


def print_grouped(bad):
    """Failures with the same text up to the numbers in it are one line."""
    groups = {}
    for kind, dtype, reason in bad:
        groups.setdefault("".join(c for c in reason if not c.isdigit())[:60], []).append((kind, dtype, reason))
    for rows in groups.values():
        print("    %s: %s" % (", ".join("%s %s" % row[:2] for row in rows), rows[0][2][:300]), flush=True)


def entries(library, only, limit):
    from torch.testing._internal.common_methods_invocations import op_db
    for op in op_db:
        variant = op.variant_test_name
        function = MAP.get("%s.%s" % (op.name, variant)) or MAP.get(op.name)
        name = op.name + ("/" + variant if variant else "")
        if not only or op.name in only or name in only:
            yield Entry(library, op, name, function, limit)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="build/release/libkiln.so")
    parser.add_argument("--op", default="")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False  # oneDNN has kernels that die on processors without bf16
    os.environ.setdefault("KN_THREADS", "1")
    used, unlisted = set(), []
    mapped = whole = unmapped = passed = failed = compared = meant = dropped = 0
    for entry in entries(os.path.abspath(options.library), [name for name in options.op.split(",") if name], options.samples):
        if not entry.function:
            unmapped += 1
            if options.list:
                print("%-44s not mapped" % entry.name)
            continue
        mapped += 1
        if options.list:
            print("%-44s mapped" % entry.name)
            continue
        notes, bad = in_child(entry, options.seconds), []
        good, other, lost = (sum(row[what] for row in notes.values()) for what in ("passed", "meant", "dropped"))
        compared += good
        meant += other
        dropped += lost
        whole += good > 0
        for (kind, dtype), row in sorted(notes.items()):
            if row["failed"]:
                bad.append((kind, dtype, row["reason"]))
            elif row["passed"]:
                passed += 1
        failed += len(bad)
        unlisted += [(entry.name,) + b for b in bad]
        if other:
            used.add(entry.meant[0])
        without = next((row["why"] for row in notes.values() if row["unsupported"]), "")
        refused = next((row["refused"] for row in notes.values() if row["dropped"]), "")
        print("%-44s %s%s%s%s" % (entry.name, "FAIL" if bad else "pass" if good else "nothing compared",
                                "; %d samples differ from PyTorch: %s" % (other, entry.meant[0]) if other else "",
                                "; %d samples dropped, PyTorch refuses them: %s" % (lost, refused) if lost else "",
                                "; some samples unsupported: " + without if without else ""), flush=True)  # fmt: skip
        print_grouped(bad)
    if not options.op and not options.list:
        for reason in sorted({reason for reason, _ in DIFFERENCES.values()} - used):
            failed += 1
            print("differences.py explains nothing any more by: %s" % reason)
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            file.writelines("%s | %s | %s | %s\n" % row for row in unlisted)
    print("%d entries of the database are mapped, of %d; %d had samples that agree; %d comparisons of samples; %d samples differ "
          "from PyTorch for %d reasons of differences.py; %d samples dropped, which PyTorch refuses" %
          (mapped, mapped + unmapped, whole, compared, meant, len(used), dropped))  # fmt: skip
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
