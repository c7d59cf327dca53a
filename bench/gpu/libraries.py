"""Prints the folders of NVIDIA's libraries that this python's packages hold, for KN_CUDA_LIBRARIES."""

import glob
import os
import site
import sys


def folders():
    roots = list(site.getsitepackages()) + [p for p in sys.path if p.endswith("-packages")]
    found = []
    for root in roots:
        for folder in sorted(glob.glob(os.path.join(root, "nvidia", "*", "lib"))):
            names = os.listdir(folder)
            wanted = any(n.startswith(("libnvrtc.so", "libcublasLt.so", "libcudnn.so")) for n in names)
            if wanted and folder not in found:
                found.append(folder)
    return found


if __name__ == "__main__":
    print(":".join(folders()))
