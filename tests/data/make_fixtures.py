"""Writes the tiny files of tests/data and the seeds of the data parsers' fuzzers. Needs only the standard library; JPEG files
are written by TurboJPEG through ctypes when it is there. Run it in the root of the tree: python3 tests/data/make_fixtures.py"""

import ctypes
import gzip
import json
import os
import sqlite3
import struct
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "..", "fuzz", "seeds")


def write(name, content, root=HERE):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8"))


def chunk(tag, data):
    return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))


def png(width, height, channels, pixels, depth=8):
    """pixels: rows of bytes, already packed."""
    kind = {1: 0, 3: 2, 4: 6}[channels]
    raw = b"".join(b"\0" + row for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


def filtered(rows):
    """Rows of bytes, the n-th under filter n % 5 (none, left, above, mean, Paeth), for pixels of one byte."""

    def paeth(a, b, c):
        return min((a, b, c), key=lambda v: abs(a + b - c - v))

    packed, above = [], bytes(len(rows[0]))
    for n, row in enumerate(rows):
        around = list(zip(b"\0" + row, above, b"\0" + above))
        guess = [(0, a, b, (a + b) // 2, paeth(a, b, c))[n % 5] for a, b, c in around]
        packed.append(bytes([n % 5]) + bytes((v - g) % 256 for v, g in zip(row, guess)))
        above = row
    return packed


def raw_masks():
    """Masks whose values a colour conversion would change, and the images that they belong to."""

    def file(width, height, depth, kind, extra, rows):
        head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
        packed = chunk(b"IDAT", zlib.compress(b"".join(rows), 9))
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + packed + chunk(b"IEND", b"")

    colours = chunk(b"PLTE", bytes([0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0]))
    gamma = chunk(b"gAMA", struct.pack(">I", 100000))
    squares = [bytes((37 * y + 91 * x * x) % 256 for x in range(4)) for y in range(5)]
    masks = {
        "palette": file(9, 1, 2, 3, colours, [b"\0" + bytes([0b00011011, 0b10010011, 0b01000000])]),
        "bits": file(9, 1, 1, 0, b"", [b"\0" + bytes([0b01011010, 0b10000000])]),
        "gamma": file(9, 1, 8, 0, gamma, [b"\0" + bytes([0, 1, 2, 60, 120, 200, 3, 4, 255])]),
        "filters": file(4, 5, 8, 0, b"", filtered(squares)),
    }
    for name, content in masks.items():
        write("raw_masks/" + name + "/m.png", content)
        write("png/mask_" + name, content, SEEDS)
    write("raw_masks/images/m.png", png(9, 1, 3, gradient(9, 1, 0)))
    write("raw_masks/wide/m.png", png(4, 5, 3, gradient(4, 5, 0)))


def pictures():
    """PNGs of every kind of pixels. test_picture_values has what PIL's convert("RGB") and convert("L") give for them."""

    def file(width, depth, kind, row, before=b"", interlaced=0):
        head = struct.pack(">IIBBBBB", width, 1, depth, kind, 0, 0, interlaced)
        packed = chunk(b"IDAT", zlib.compress(b"\0" + row if not interlaced else row, 9))
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + before + packed + chunk(b"IEND", b"")

    grey, colour, palette, grey_alpha, colour_alpha = 0, 2, 3, 4, 6
    inks = chunk(b"PLTE", bytes([200, 100, 50, 10, 20, 30, 0, 0, 0, 255, 255, 255]))
    clear = chunk(b"tRNS", bytes([128, 0, 255, 255]))
    rgb = [200, 100, 50, 10, 20, 30]
    files = {
        "grey1": file(4, 1, grey, bytes([0b01100000])),
        "grey2": file(4, 2, grey, bytes([0b00011011])),
        "grey4": file(2, 4, grey, bytes([0x3C])),
        "grey8_clear": file(2, 8, grey, bytes([128, 7]), chunk(b"tRNS", struct.pack(">H", 128))),
        "grey16": file(3, 16, grey, struct.pack(">3H", 128 * 257, 0x80FF, 0x7FFF)),
        "grey_alpha8": file(2, 8, grey_alpha, bytes([128, 128, 200, 0])),
        "grey_alpha16": file(2, 16, grey_alpha, struct.pack(">4H", 0x80FF, 0x8000, 200 * 257, 0)),
        "rgb8_clear": file(2, 8, colour, bytes(rgb), chunk(b"tRNS", struct.pack(">3H", 200, 100, 50))),
        "rgb8_gamma": file(2, 8, colour, bytes(rgb), chunk(b"gAMA", struct.pack(">I", 100000))),
        "rgb16": file(2, 16, colour, struct.pack(">6H", *(256 * v + 255 for v in rgb))),
        "rgb16_srgb": file(2, 16, colour, struct.pack(">6H", *(256 * v for v in rgb)), chunk(b"sRGB", b"\0")),
        "rgba8": file(2, 8, colour_alpha, bytes(rgb[:3] + [128] + rgb[3:] + [0])),
        "rgba16": file(2, 16, colour_alpha, struct.pack(">8H", *(257 * v for v in rgb[:3] + [128] + rgb[3:] + [0]))),
        "palette1": file(2, 1, palette, bytes([0b01000000]), inks + clear),
        "palette2": file(4, 2, palette, bytes([0b00011011]), inks + clear),
        "palette8": file(2, 8, palette, bytes([0, 1]), inks + clear),
        "interlaced": file(3, 8, grey, bytes([0, 11, 0, 13, 0, 12]), interlaced=1),
    }
    for name, content in files.items():
        write("pictures/" + name + ".png", content)
        write("png/picture_" + name, content, SEEDS)
    for name, transform, pixel in (("cmyk", 0, (200, 120, 40, 220)), ("ycck", 2, (100, 90, 160, 220))):
        content = four_inks(transform, pixel)
        write("pictures/" + name + ".jpg", content)
        write("jpeg/" + name, content, SEEDS)


def four_inks(transform, pixel):
    """A baseline JPEG of 8 x 8 pixels with four components of one value each, with Adobe's marker."""

    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    adobe = segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, transform))
    steps = segment(0xDB, bytes([0]) + bytes([1]) * 64)
    frame = segment(0xC0, struct.pack(">BHHB", 8, 8, 8, 4) + b"".join(bytes([i + 1, 0x11, 0]) for i in range(4)))
    # A code of 4 bits for each size 0 to 11 of a level; one of 1 bit for the end of a block.
    levels = segment(0xC4, bytes([0x00]) + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12)))
    ends = segment(0xC4, bytes([0x10]) + bytes([1] + [0] * 15) + bytes([0]))
    scan = segment(0xDA, bytes([4]) + b"".join(bytes([i + 1, 0]) for i in range(4)) + bytes([0, 63, 0]))
    bits = ""
    for value in pixel:
        level = 8 * (value - 128)
        size = abs(level).bit_length()
        bits += format(size, "04b") + (format(level if level > 0 else level + (1 << size) - 1, "0%db" % size) if size else "") + "0"
    bits += "1" * (-len(bits) % 8)
    data = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    return b"\xff\xd8" + adobe + steps + frame + levels + ends + scan + data + b"\xff\xd9"


def gradient(width, height, step):
    """RGB rows: red counts columns, green counts rows, blue is the step."""
    return [bytes(v for x in range(width) for v in (10 * x, 20 * y, step)) for y in range(height)]


def jpeg(width, height, colour):
    try:
        turbo = ctypes.CDLL("libturbojpeg.so.0")
    except OSError:
        return None
    turbo.tjInitCompress.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(turbo.tjInitCompress())
    out, size = ctypes.POINTER(ctypes.c_ubyte)(), ctypes.c_ulong(0)
    source = bytes(colour) * (width * height)
    turbo.tjCompress2(handle, source, width, 0, height, 0, ctypes.byref(out), ctypes.byref(size), 0, 100, 0)
    data = bytes(out[: size.value])
    turbo.tjFree(out)
    turbo.tjDestroy(handle)
    return data


def wav(code, bits, channels, data, rate=8000):
    block = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, rate, rate * block, block, bits)
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"LIST\x03\0\0\0abc\0" + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def idx(code, sizes, data):
    return bytes([0, 0, code, len(sizes)]) + b"".join(struct.pack(">I", n) for n in sizes) + data


def tables():
    people = 'name,age,height,city\r\n"Ada ""the first""",36,1.65,Paris\r\nBob,41,1.8,"New\nYork"\r\nCid,,1.75,Paris\r\n'
    write("people.csv", people)
    write("csv/people", people, SEEDS)
    for name, text in {
        "numbers": "a,b\n1,2\n-3e2,0x\n",
        "quotes": '"a""b","c\nd"\n"x',
        "mark": "\ufeffa;b\r\n1;2\r\n",
        "empty": "\n\n\n",
    }.items():
        write("csv/" + name, text, SEEDS)
    lines = [
        {"x": 1.5, "label": "cat", "bag": [1, 2, 3], "text": "h\u00e9llo"},
        {"x": 2, "label": "dog", "bag": [], "text": ""},
        {"x": None, "label": "cat", "bag": [7], "text": "z"},
    ]
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    write("animals.jsonl", text)
    write("json_lines/animals", text, SEEDS)
    write("json_lines/broken", '{"x": [1, 2}\n{"x": "\\ud800"}\n[]\n', SEEDS)
    path = os.path.join(HERE, "people.sqlite")
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE people (name TEXT, age INTEGER, height REAL)")
    db.executemany("INSERT INTO people VALUES (?, ?, ?)", [("Ada", 36, 1.65), ("Bob", 41, 1.8), ("Cid", None, 1.75)])
    db.commit()
    db.close()


def images():
    write("images/cat/a.png", png(4, 3, 3, gradient(4, 3, 1)))
    write("images/cat/b.png", png(4, 3, 3, gradient(4, 3, 2)))
    write("images/dog/c.png", png(4, 3, 1, [bytes([0, 50, 100, 200])] * 3))
    solid = jpeg(16, 8, (200, 100, 50))
    if solid:
        write("images/dog/d.jpg", solid)
        write("jpeg/solid", solid, SEEDS)
        write("jpeg/cut", solid[:-40], SEEDS)
    write("labels.csv", "file,red,green\ncat/a.png,1,0\ndog/c.png,1,1\n")
    write("labels.jsonl", '{"file": "cat/a.png", "labels": ["red"]}\n{"file": "dog/c.png", "labels": ["green", "red"]}\n')
    write("masks/a.png", png(4, 3, 1, [bytes([0, 1, 2, 3])] * 3))
    write("masks/b.png", png(4, 3, 1, [bytes([3, 3, 0, 0])] * 3))
    boxes = json.dumps({
        "images": [{"id": 7, "file_name": "cat/b.png"}, {"id": 3, "file_name": "cat/a.png"}],
        "categories": [{"id": 20, "name": "tail"}, {"id": 10, "name": "ear"}],
        "annotations": [
            {"id": 1, "image_id": 3, "category_id": 20, "bbox": [0, 1, 2, 2]},
            {"id": 2, "image_id": 7, "category_id": 10, "bbox": [1, 0, 3, 1.5]},
            {"id": 3, "image_id": 3, "category_id": 10, "bbox": [2, 0, 1, 1]}]})
    write("coco.json", boxes)
    write("coco/boxes", boxes, SEEDS)
    for name, content in {
        "rgb": png(4, 3, 3, gradient(4, 3, 1)),
        "grey": png(4, 3, 1, [bytes([0, 50, 100, 200])] * 3),
        "alpha": png(2, 1, 4, [bytes([255, 0, 0, 255, 0, 255, 0, 0])]),
        "bits": png(8, 2, 1, [b"\xaa", b"\x55"], 1),
        "deep": png(1, 1, 3, [b"\x12\x34\x56\x78\x9a\xbc"], 16),
    }.items():
        write("png/" + name, content, SEEDS)


def sounds():
    pcm16 = wav(1, 16, 2, struct.pack("<6h", 0, 16384, -32768, 32767, 8192, -8192))
    write("sounds/no/one.wav", wav(1, 16, 1, struct.pack("<4h", 0, 16384, -16384, 8192)))
    write("sounds/yes/two.wav", wav(1, 16, 1, struct.pack("<2h", -32768, 32767)))
    write("sounds/yes/three.wav", wav(1, 8, 1, bytes([128, 255, 0])))
    write("sounds/_background_noise_/hum.wav", wav(1, 8, 1, bytes([128])))
    write("sounds/validation_list.txt", "yes/two.wav\n")
    write("sounds/testing_list.txt", "yes/three.wav\n")
    for name, content in {
        "pcm8": wav(1, 8, 1, bytes([128, 255, 0, 64])),
        "pcm16": pcm16,
        "pcm24": wav(1, 24, 1, b"\0\0\x40\0\0\xc0\xff\xff\x7f"),
        "pcm32": wav(1, 32, 1, struct.pack("<2i", 1 << 30, -(1 << 31))),
        "f32": wav(3, 32, 1, struct.pack("<2f", 0.25, -1.5)),
        "f64": wav(3, 64, 1, struct.pack("<1d", 0.125)),
        "extensible": wav(0xFFFE, 16, 1, struct.pack("<2h", 1, -1)),
    }.items():
        write("wav/" + name, content, SEEDS)


def binaries():
    images_file = idx(8, (3, 2, 2), bytes(range(12)))
    labels_file = idx(8, (3,), bytes([3, 1, 4]))
    write("idx/train-images-idx3-ubyte", images_file)
    write("idx/train-labels-idx1-ubyte.gz", gzip.compress(labels_file, 9, mtime=0))
    write("idx/images", images_file, SEEDS)
    write("idx/labels", labels_file, SEEDS)
    write("idx/shorts", idx(0x0B, (2, 1), struct.pack(">2h", -2, 700)), SEEDS)
    write("idx/doubles", idx(0x0E, (1,), struct.pack(">d", 0.5)), SEEDS)
    write("gzip/labels", gzip.compress(labels_file, 9, mtime=0), SEEDS)
    write("gzip/two", gzip.compress(b"one", 9, mtime=0) + gzip.compress(b"two", 9, mtime=0), SEEDS)
    ten = b"".join(bytes([label]) + bytes([label * 20]) * 3072 for label in (7, 2))
    for part in range(1, 6):
        write("cifar-10-batches-bin/data_batch_%d.bin" % part, ten if part == 1 else ten[:3073])
    write("cifar-10-batches-bin/test_batch.bin", ten[3073:])
    names = "airplane automobile bird cat deer dog frog horse ship truck".split()
    write("cifar-10-batches-bin/batches.meta.txt", "\n".join(names) + "\n")
    hundred = bytes([4, 99]) + bytes(i % 256 for i in range(3072))
    write("cifar-100-binary/train.bin", hundred)
    write("cifar-100-binary/test.bin", hundred)
    write("cifar/ten", ten[:3073], SEEDS)
    write("cifar/hundred", hundred, SEEDS)


def texts():
    write("texts/neg/1.txt", "bad, \u00e4h")
    write("texts/pos/1.txt", b"\xef\xbb\xbfgood")
    write("texts/pos/2.txt", "gr\u00fc\u00df \U0001f600".encode("utf-16"))
    write("ag_news/train.csv", '"3","Oil, again","Up ""a bit"""\n"1","World","At large"\n')
    write("text/utf8", "a\u00e4\u20ac\U0001f600\n", SEEDS)
    write("text/utf16", "a\U0001f600".encode("utf-16"), SEEDS)
    write("text/latin", b"a\xe4b", SEEDS)


tables()
images()
raw_masks()
pictures()
sounds()
binaries()
texts()
