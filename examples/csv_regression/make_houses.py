"""Writes houses.csv: made-up houses whose price follows a formula with some noise. Run it from this folder."""
import csv
import random

DISTRICTS = {"harbour": 1.25, "hills": 1.45, "old town": 1.1, "station": 0.85, "meadows": 1.0}

random.seed(11)
with open("houses.csv", "w", newline="") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["area", "rooms", "age", "distance", "district", "price"])
    for _ in range(600):
        area = round(random.uniform(35, 220), 1)
        rooms = max(1, min(8, round(area / 28 + random.gauss(0, 0.8))))
        age = random.randint(0, 110)
        distance = round(random.uniform(0.2, 18), 1)
        district = random.choice(list(DISTRICTS))
        worth = 2.1 * area + 9 * rooms - 0.45 * age + 0.003 * age * age - 5.5 * distance + 60
        price = worth * DISTRICTS[district] + random.gauss(0, 9)
        rows.writerow([area, rooms, age, distance, district, f"{price:.1f}"])
