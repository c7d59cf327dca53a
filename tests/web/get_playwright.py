"""Fetches playwright-core from npm, the version and the checksum that are written here, into a folder.
Usage: get_playwright.py FOLDER   (nothing is fetched when it is there already)"""

import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import fetch_package  # noqa: E402

VERSION = "1.65.1"
DIGEST = "6f5a60be62a4fddfbe7d10c448d8fbd54547da3358f2f8a04211440471ee863e"


def main():
    folder = os.path.join(sys.argv[1], "playwright-core")
    mark = os.path.join(folder, "fetched-" + VERSION)
    if os.path.exists(mark):
        return
    path = fetch_package.npm_package("playwright-core@" + VERSION, DIGEST, os.path.join(sys.argv[1], "playwright-core.tgz"))
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(path) as archive:
        members = [m for m in archive.getmembers() if m.isfile() and m.name.startswith("package/") and ".." not in m.name]
        for member in members:
            member.name = member.name[len("package/"):]
        archive.extractall(folder, members)
    with open(mark, "w", encoding="utf-8"):
        pass


if __name__ == "__main__":
    main()
