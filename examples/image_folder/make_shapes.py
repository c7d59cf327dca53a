"""Draws the images of this example, 32 x 32 pixels each: images/circle/*.png, square and triangle. Needs Pillow; run it from
this folder. The images are committed, so you need it only to draw others."""
import math
import os
import random

from PIL import Image, ImageDraw

SCALE = 4  # drawn larger and scaled down, which smooths the edges
EACH = 80


def corners(sides, x, y, radius, turn):
    return [(x + radius * math.cos(turn + i * math.tau / sides), y + radius * math.sin(turn + i * math.tau / sides))
            for i in range(sides)]


def draw(kind):
    back = tuple(random.randint(0, 110) for _ in range(3))
    front = tuple(random.randint(140, 255) for _ in range(3))
    image = Image.new("RGB", (32 * SCALE, 32 * SCALE), back)
    radius = random.uniform(9, 14)
    x, y = (random.uniform(radius, 32 - radius) * SCALE for _ in range(2))
    radius *= SCALE
    pen = ImageDraw.Draw(image)
    if kind == "circle":
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=front)
    else:
        pen.polygon(corners(4 if kind == "square" else 3, x, y, radius, random.uniform(0, math.tau)), fill=front)
    return image.resize((32, 32), Image.LANCZOS).quantize(16, dither=Image.Dither.NONE)


random.seed(3)
for kind in ("circle", "square", "triangle"):
    os.makedirs(f"images/{kind}", exist_ok=True)
    for i in range(EACH):
        draw(kind).save(f"images/{kind}/{i:02}.png", optimize=True)
