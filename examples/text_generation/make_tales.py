"""Writes tales.txt: short tales from a small grammar, the same ones at every run. make_tales.py [COUNT]"""
import random
import sys
from pathlib import Path

ANIMALS = "fox hare owl mole crow toad goat duck bear mouse".split()
MOODS = "old young quiet hungry proud sleepy clever shy".split()
PLACES = ["the mill", "the dark wood", "the river", "the hill", "the old bridge", "the market", "the empty barn"]
THINGS = "a lantern,a red apple,a small key,a loaf of bread,a silver bell,a broken wheel,a warm coat".split(",")
TIMES = ["One morning", "Late in the evening", "In the first snow", "After the rain", "On market day"]
QUESTIONS = ["What have you got there?", "Where are you going?", "May I walk with you?", "Is that yours?"]
ENDINGS = ["and they were friends from that day on.", "and nobody spoke of it again.",
           "and both of them went home laughing.", "and the moon saw it all.", "and that was that."]


def tale(rng: random.Random) -> str:
    first, second = rng.sample(ANIMALS, 2)
    mood, other = rng.sample(MOODS, 2)
    place, home = rng.sample(PLACES, 2)
    thing = rng.choice(THINGS)
    the_thing = "the " + thing.split(" ", 1)[1]
    lines = [f"{rng.choice(TIMES)} the {mood} {first} went to {place} and found {thing}."]
    article = "An" if other[0] in "aeiou" else "A"
    lines.append(f"{article} {other} {second} came by. \"{rng.choice(QUESTIONS)}\" asked the {second}.")
    if rng.random() < 0.5:
        lines.append(f"\"I found {thing},\" said the {first}. \"We can share it.\"")
        lines.append(f"So they took {the_thing} to {home}, {rng.choice(ENDINGS)}")
    else:
        lines.append(f"\"It is mine,\" said the {first}, and hid {the_thing} behind {home}.")
        lines.append(f"But the {second} only smiled, {rng.choice(ENDINGS)}")
    return "\n".join(lines) + "\n\n"


rng = random.Random(1)
count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
Path(__file__).with_name("tales.txt").write_text("".join(tale(rng) for _ in range(count)))
