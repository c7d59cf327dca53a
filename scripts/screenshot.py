"""Turns the text of a terminal (standard input, with colours) into a picture with a browser without a window.
Usage: tmux capture-pane -p -e | python3 scripts/screenshot.py OUT.png [--title TEXT] [--browser PROGRAM]"""

import argparse
import html
import os
import re
import subprocess
import sys
import tempfile

BASIC = ["#2e3436", "#cc4b37", "#6aa84f", "#d9a441", "#4a8fd6", "#a06cc8", "#3fa7a7", "#d3d0c8",
         "#686b6e", "#ef6a55", "#8fd16f", "#f2c55c", "#75b2f0", "#c493e6", "#6fd0d0", "#f4f2ec"]
FRONT, BEHIND = "#d8d5ce", "#171614"
_ESCAPE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\[[0-9;?]*[A-Za-ln-z]|\x1b[()][0-9A-Za-z]|[\x0e\x0f]")


def colour(number):
    """The colour of one of the 256 numbers."""
    if number < 16:
        return BASIC[number]
    if number >= 232:
        return "#" + "%02x" % (8 + 10 * (number - 232)) * 3
    levels = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#%02x%02x%02x" % (levels[number // 36], levels[number // 6 % 6], levels[number % 6])


class Style:
    def __init__(self):
        self.reset()

    def reset(self):
        self.front = self.behind = None
        self.bold = self.dim = self.reverse = False

    def apply(self, codes):
        codes = [int(c) if c else 0 for c in re.split("[;:]", codes)]
        while codes:
            code = codes.pop(0)
            if code in (38, 48) and len(codes) >= 2 and codes[0] in (2, 5):
                if codes.pop(0) == 5:
                    value = colour(codes.pop(0))
                else:
                    value = "#%02x%02x%02x" % tuple(codes[:3])
                    codes = codes[3:]
                setattr(self, "front" if code == 38 else "behind", value)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.front = BASIC[code - 30 if code < 90 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.behind = BASIC[code - 40 if code < 100 else code - 92]
            else:
                self.apply_plain(code)

    def apply_plain(self, code):
        if code == 0:
            self.reset()
        elif code in (1, 2, 7):
            setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[code], True)
        elif code == 22:
            self.bold = self.dim = False
        elif code == 27:
            self.reverse = False
        elif code == 39:
            self.front = None
        elif code == 49:
            self.behind = None

    def css(self):
        front, behind = self.front or FRONT, self.behind
        if self.reverse:
            front, behind = behind or BEHIND, front
        text = "color:" + front
        if behind:
            text += ";background:" + behind
        if self.bold:
            text += ";font-weight:bold"
        return text + (";opacity:.6" if self.dim else "")


def cells(line, style):
    """The line as (character, css) pairs."""
    place = 0
    for match in list(_ESCAPE.finditer(line)) + [None]:
        for character in line[place:match.start() if match else len(line)]:
            yield character, style.css()
        if match:
            place = match.end()
            if match.group(1) is not None:
                style.apply(match.group(1))


def page(text, title):
    """The page and the size of its window. Each character has its own place, so that fonts cannot shift a row."""
    lines, style = text.rstrip("\n").split("\n"), Style()
    wide, high, columns = 9, 18, 0
    rows = []
    for y, line in enumerate(lines):
        for x, (character, css) in enumerate(cells(line, style)):
            columns = max(columns, x + 1)
            if character != " " or "background" in css:
                rows.append('<i style="left:%dpx;top:%dpx;%s">%s</i>' % (x * wide, y * high, css,
                                                                        html.escape(character)))
    bar = 34 if title else 0
    width, height = columns * wide + 48, len(lines) * high + 48 + bar
    head = '<div class="bar"><b></b><b></b><b></b>%s</div>' % html.escape(title) if title else ""
    return """<!DOCTYPE html><meta charset="utf-8"><style>body{margin:0;background:%s;color:%s}
.bar{height:34px;background:#262421;color:#a8a297;font:13px/34px sans-serif;text-align:center;position:relative}
.bar b{position:absolute;left:16px;top:11px;width:12px;height:12px;border-radius:9px;background:#ef6a55}
.bar b+b{left:36px;background:#f2c55c}.bar b+b+b{left:56px;background:#8fd16f}
.text{position:relative;margin:24px;font:15px/18px "DejaVu Sans Mono",monospace}
.text i{position:absolute;font-style:normal;width:%dpx;height:%dpx;white-space:pre}</style>%s<div class="text">%s</div>
""" % (BEHIND, FRONT, wide, high, head, "".join(rows)), width, height


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--title", default="")
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    content, width, height = page(sys.stdin.read(), options.title)
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "terminal.html")
        with open(name, "w", encoding="utf-8") as file:
            file.write(content)
        subprocess.run([options.browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        "--force-device-scale-factor=2", "--window-size=%d,%d" % (width, height),
                        "--screenshot=" + os.path.abspath(options.out), "file://" + name],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("%s: %d x %d" % (options.out, 2 * width, 2 * height))


if __name__ == "__main__":
    main()
