#!/usr/bin/env python3
"""Runs the command line on small files and checks what it says: tests/examples/run_commands.py BUILD"""
import os
import struct
import subprocess
import sys
import tempfile


def crc32c(data):
    """CRC-32C bit by bit, apart from the library's own."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def safetensors(checksums=True, spoil=False):
    """A file of one f32 tensor, with the checksums that docs/checksums.md describes."""
    def write(path):
        data = struct.pack("<3f", 1, 2, 3)
        own = f"{crc32c(data):08x}"
        whole = crc32c(b"".join(part.encode() + b"\0" for part in ["w", "F32", "3", own]))
        noted = f'"kiln.checksum":"crc32c {whole:08x} {own}"' if checksums else ""
        header = ('{"__metadata__":{%s},"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}' % noted).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + (data[:-1] + b"\xff" if spoil else data))
    return write


def text(content):
    def write(path):
        with open(path, "wb") as file:
            file.write(content)
    return write


# What is written to the file, its name, the arguments, the exit status, and what the output has and has not.
CASES = [
    (text(b"x,1\rz,2\r"), "old_mac.csv", "data {file}", 0, ["a CSV table: 1 samples", "i64 [2]", "2: x 1"], []),
    (text(b'a,"b,c"\nx,y\n'), "quoted.csv", "data {file}", 0, ["a CSV table: 1 samples", "2: a b,c"], []),
    (text(b'"x\ny",1\nz,2\n'), "two_lines.csv", "data {file}", 0, ["a CSV table: 1 samples", "i64 [2]"], []),
    (text(b"a,b\r\n3,4\r\n"), "numbers.csv", "data {file}", 0, ["a CSV table of numbers: 1 samples", "2: a b"], []),
    (text(b""), "none.safetensors", "inspect {file}", 1, ["kiln inspect: "], ["command_inspect.c"]),
    (text(b"\x08\0\0\0\0\0\0\0nonsense"), "bad.safetensors", "inspect --check {file}", 1, ["kiln inspect: "],
     ["command_inspect.c"]),
    (safetensors(), "good.safetensors", "inspect {file}", 0, ["w", "f32", "[3]"], []),
    (safetensors(), "good.safetensors", "inspect --check {file}", 0, ["checksums: good (1 of 1"], []),
    (safetensors(spoil=True), "spoilt.safetensors", "inspect --check {file}", 1, ["checksum", "w"], ["good"]),
    (safetensors(checksums=False), "plain.safetensors", "inspect --check {file}", 0, ["the file has none"], []),
]


def run(kiln, folder, case):
    write, name, arguments, status, has, has_not = case
    path = os.path.join(folder, name)
    write(path)
    done = subprocess.run([kiln] + [a.replace("{file}", path) for a in arguments.split()], capture_output=True, text=True,
                          timeout=120, check=False)
    output = done.stdout + done.stderr
    wrong = [f"exit status {done.returncode}, not {status}"] if done.returncode != status else []
    wrong += [f"no '{w}' in the output" for w in has if w not in output]
    wrong += [f"'{w}' in the output" for w in has_not if w in output]
    return wrong, output


def main():
    kiln = os.path.join(os.path.realpath(sys.argv[1]), "kiln")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="kiln-commands-") as folder:
        for case in CASES:
            wrong, output = run(kiln, folder, case)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"FAILED: kiln {case[2]} of {case[1]}: {'; '.join(wrong)}\n{output}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
