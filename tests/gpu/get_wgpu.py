"""Fetches wgpu-native, the library that WebGPU devices run on, out of the wheel wgpu of PyPI: the version and the checksum that are written
here. Usage: get_wgpu.py FOLDER   (nothing is fetched when it is there already; prints the path of the library)"""

import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import fetch_package  # noqa: E402

VERSION = "0.32.0"
DIGEST = "6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568"
MEMBER = "wgpu/resources/libwgpu_native-release.so"


def main():
    path = os.path.join(sys.argv[1], "libwgpu_native-%s.so" % VERSION)
    if not os.path.exists(path):
        wheel = fetch_package.wheel("wgpu==" + VERSION, DIGEST, os.path.join(sys.argv[1], "wgpu.whl"))
        with zipfile.ZipFile(wheel) as archive, open(path + ".part", "wb") as out:
            out.write(archive.read(MEMBER))
        os.replace(path + ".part", path)
    print(os.path.abspath(path))


if __name__ == "__main__":
    main()
