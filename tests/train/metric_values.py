"""Writes metric_values.inc: inputs of metrics and what scikit-learn, torchmetrics, pytorch-msssim and PyTorch make of them.
Usage: python3 tests/train/metric_values.py (wants numpy, torch, scikit-learn,
torchmetrics, pytorch-msssim)"""

import os

import numpy as np
import torch
from pytorch_msssim import ms_ssim, ssim
from sklearn import metrics as sk
from torchmetrics.functional.text import bleu_score, char_error_rate, word_error_rate

N, CLASSES, BATCH, LENGTH, PAD, SPACE = 48, 5, 8, 14, -1, 0
generator = np.random.default_rng(7)


def image(seed, shape):
    count = int(np.prod(shape))
    rough = ((np.arange(count) * 7919 + seed * 104729) % 1009) / 1009
    return torch.tensor(rough.reshape(shape), dtype=torch.float64)


def pair(shape):
    x, noise = image(1, shape), image(2, shape)
    return x, 0.75 * x + 0.25 * noise


def top_k(scores, targets, k):
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    chosen = np.zeros(scores.shape, dtype=int)
    np.put_along_axis(chosen, best, 1, axis=1)
    wanted = np.eye(scores.shape[1], dtype=int)[targets]
    return wanted, chosen


def words(ids):
    """Ids as words of one letter each, for metrics of strings."""
    return " ".join("t%d" % i for i in ids)


def letters(ids):
    return "".join(chr(ord("a") + i) if i != SPACE else " " for i in ids)


def lcs_f1(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
    return 2 * table[-1, -1] / (len(a) + len(b))


def classification(values, arrays):
    targets = generator.integers(0, CLASSES - 1, N)  # the last class never occurs
    scores = np.round(generator.normal(0, 1, (N, CLASSES)) + 1.2 * np.eye(CLASSES)[targets], 3)
    binary = np.round(generator.uniform(0, 1, N), 1)  # with ties
    labels = (generator.uniform(0, 1, N) < 0.3 + 0.4 * binary).astype(int)
    many = np.round(generator.uniform(0, 1, (N, CLASSES)), 2)
    marks = (generator.uniform(0, 1, (N, CLASSES)) < 0.2 + 0.5 * many).astype(int)
    arrays.update(scores=scores, targets=targets, binary=binary, labels=labels, many=many, marks=marks)
    best = scores.argmax(1)
    values["accuracy"] = sk.accuracy_score(targets, best)
    counted = targets != 2
    values["accuracy_ignoring_2"] = sk.accuracy_score(targets[counted], best[counted])
    values["top_2_accuracy"] = sk.top_k_accuracy_score(targets, scores, k=2, labels=range(CLASSES))
    values["accuracy_binary"] = sk.accuracy_score(labels, binary > 0.5)
    logits, wanted = torch.tensor(scores), torch.tensor(targets)
    values["perplexity"] = torch.exp(torch.nn.functional.cross_entropy(logits, wanted)).item()
    values["perplexity_ignoring_2"] = torch.exp(
        torch.nn.functional.cross_entropy(logits, wanted, ignore_index=2)).item()
    present = sorted(set(targets) | set(best))
    rows = {"": (targets, best, present), "_top_2": (*top_k(scores, targets, 2), None),
            "_labels": (marks, (many > 0.5).astype(int), None), "_binary": (labels, (binary > 0.5).astype(int), None)}
    for name, (true, said, classes) in rows.items():
        for average in ("micro", "macro"):
            if name == "_binary":
                average_here, tail = "binary", "_" + average
            else:
                average_here, tail = average, "_" + average
            options = dict(average=average_here, zero_division=0)
            if classes is not None:
                options["labels"] = classes
            values["precision" + name + tail] = sk.precision_score(true, said, **options)
            values["recall" + name + tail] = sk.recall_score(true, said, **options)
            values["f1" + name + tail] = sk.f1_score(true, said, **options)
            values["f2" + name + tail] = sk.fbeta_score(true, said, beta=2, **options)
    values["hamming"] = 1 - sk.hamming_loss(marks, many > 0.5)
    values["auroc"] = sk.roc_auc_score(labels, binary)
    values["auc_pr"] = sk.average_precision_score(labels, binary)
    values["auroc_labels"] = sk.roc_auc_score(marks, many, average="macro")
    values["auc_pr_labels"] = sk.average_precision_score(marks, many, average="macro")
    columns = [c for c in range(CLASSES) if (targets == c).any()]
    values["auroc_classes"] = np.mean([sk.roc_auc_score(targets == c, scores[:, c]) for c in columns])
    values["dice"] = sk.f1_score(marks.ravel(), (many > 0.5).ravel())


def text(values, arrays):
    wanted = np.full((BATCH, LENGTH), PAD)
    said = np.full((BATCH, LENGTH + 2), PAD)
    pairs = []
    for row in range(BATCH):
        true = list(generator.integers(SPACE, 6, generator.integers(6, LENGTH + 1)))
        guess = [int(t) if generator.uniform() < 0.8 else int(generator.integers(SPACE, 6)) for t in true]
        if row % 3 == 0:
            del guess[2]
        if row % 3 == 1:
            guess.insert(4, 5)
        wanted[row, : len(true)] = true
        said[row, : len(guess)] = guess
        pairs.append((guess, [int(t) for t in true]))
    arrays.update(said=said, wanted=wanted)
    # Each id is one character; PyTorch's package wants strings, in which runs of spaces count as they are.
    values["char_error_rate"] = char_error_rate([letters(a) for a, _ in pairs], [letters(b) for _, b in pairs]).item()
    values["word_error_rate"] = word_error_rate([letters(a) for a, _ in pairs], [letters(b) for _, b in pairs]).item()
    said_words, true_words = [words(a) for a, _ in pairs], [[words(b)] for _, b in pairs]
    values["bleu"] = bleu_score(said_words, true_words).item()
    values["bleu_2"] = bleu_score(said_words, true_words, n_gram=2).item()
    values["bleu_smooth"] = bleu_score(said_words, true_words, smooth=True).item()
    values["bleu_short"] = bleu_score([w.rsplit(" ", 2)[0] for w in said_words], true_words).item()
    values["rouge_l"] = np.mean([lcs_f1(a, b) for a, b in pairs])


def images(values):
    x, y = pair((3, 2, 20, 17))
    values["psnr"] = (-10 * torch.log10(((x - y) ** 2).mean((1, 2, 3)))).mean().item()
    values["ssim"] = ssim(y, x, data_range=1.0).item()
    x, y = pair((2, 2, 176, 192))
    values["ms_ssim"] = ms_ssim(y, x, data_range=1.0).item()


def main():
    values, arrays = {}, {}
    classification(values, arrays)
    text(values, arrays)
    images(values)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "metric_values.inc")
    with open(path, "w") as out:
        out.write("/* Written by tests/train/metric_values.py. */\n")
        out.write("enum { N = %d, CLASSES = %d, BATCH = %d, LENGTH = %d };\n" % (N, CLASSES, BATCH, LENGTH))
        for name, array in arrays.items():
            kind, form = ("double", "%.4g") if array.dtype.kind == "f" else ("int64_t", "%d")
            out.write("static const %s %s_data[] = {%s};\n" %
                      (kind, name, ", ".join(form % v for v in array.ravel())))
        out.write("static const struct {\n    const char *name;\n    double value;\n} expected[] = {\n")
        for name, value in values.items():
            out.write('    {"%s", %.17g},\n' % (name, value))
        out.write("};\n")


if __name__ == "__main__":
    main()
