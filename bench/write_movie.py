#!/usr/bin/env python3
"""Writes frames at a steady rate, as a camera's program does: what `--follow` is measured and tested with."""

import argparse
import json
import os
import pathlib
import signal
import struct
import sys
import time

import numpy as np
import tifffile


def picasso_raw(out, frames, shape):
    """Pixels alone; the description beside them says how many frames there will be."""
    out.with_suffix(".yaml").write_text(
        f"Byte Order: <\nData Type: uint16\nFrames: {frames}\nHeight: {shape[0]}\nWidth: {shape[1]}\n"
    )
    file = open(out, "wb", buffering=0)
    return file.write, file.close


def tiff(out, frames, shape, **options):
    """A page a frame, of tifffile."""
    file = tifffile.TiffWriter(out, bigtiff=True)

    def write(frame):
        file.write(frame, contiguous=False, metadata=None, **options)
        file._fh.flush()

    return write, file.close


def folder(out, frames, shape, **options):
    """A file a frame, of tifffile."""
    out.mkdir()
    numbers = iter(range(frames))
    return lambda frame: tifffile.imwrite(out / f"image_{next(numbers):06d}.tif", frame, **options), lambda: None


class MMStack:
    """A file as Micro-Manager 2 writes it: given its largest size at first and cut at the end; each directory names the
    place of the next before that is written, the last one until the file is closed."""

    HEADER = 40

    def __init__(self, path, largest_bytes):
        self.file = open(path, "wb", buffering=0)
        self.file.truncate(largest_bytes)
        self.left = largest_bytes - self.HEADER
        self.file.write(
            b"II" + struct.pack("<HIIIIIIIII", 42, self.HEADER, 54773648, 0, 483765892, 0, 99384722, 0, 2355492, 0)
        )

    def write(self, frame):
        """False where the frame does not fit any more."""
        pixels, text = np.ascontiguousarray(frame, "<u2").tobytes(), json.dumps({"Exposure-ms": 10.0}).encode()
        begin, entries = self.file.tell(), 10
        pixels_at = begin + 2 + 12 * entries + 4
        size = pixels_at - begin + len(pixels) + len(text) + len(text) % 2
        if size > self.left:
            return False
        tags = [
            (256, 4, 1, frame.shape[1]),
            (257, 4, 1, frame.shape[0]),
            (258, 3, 1, 16),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, 4, 1, pixels_at),
            (277, 3, 1, 1),
            (278, 4, 1, frame.shape[0]),
            (279, 4, 1, len(pixels)),
            (51123, 2, len(text), pixels_at + len(pixels)),
        ]
        directory = struct.pack("<H", entries) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
        self.next_at, self.left = begin + len(directory), self.left - size
        self.file.write(directory + struct.pack("<I", begin + size) + pixels + text + b"\0" * (len(text) % 2))
        return True

    def close(self):
        end = self.file.tell()
        self.file.seek(self.next_at)
        self.file.write(struct.pack("<I", 0))
        self.file.truncate(end)
        self.file.close()


def mmstack(out, frames, shape, largest_bytes):
    """Continued by files named _1, _2."""
    stem, extension = out.name.split(".", 1)
    files = [MMStack(out, largest_bytes)]

    def write(frame):
        if not files[-1].write(frame):
            files[-1].close()
            files.append(MMStack(out.with_name(f"{stem}_{len(files)}.{extension}"), largest_bytes))
            files[-1].write(frame)

    return write, lambda: files[-1].close()


def ndtiff(out, frames, shape):
    """By Micro-Manager's own package, which keeps some kB back."""
    import ndtiff

    data, times = (
        ndtiff.NDTiffDataset(str(out.parent), name=out.name, summary_metadata={}, writable=True),
        iter(range(frames)),
    )

    def write(frame):
        data.put_image({"time": next(times)}, frame, {"Exposure-ms": 10.0})
        data.current_writer.file.flush()
        data._index_file.flush()

    return write, data.finish


KINDS = {
    "raw": picasso_raw,
    "tif": tiff,
    "folder": folder,
    "mmstack": mmstack,
    "ndtiff": ndtiff,
    "packed-tif": lambda *to: tiff(*to, compression="zlib"),
    "packed-folder": lambda *to: folder(*to, compression="zlib"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path, help="a TIFF whose frames are repeated")
    parser.add_argument(
        "out", type=pathlib.Path, help="file, folder, or of NDTiff the folder without the _1 that its package adds"
    )
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--frames", type=int, required=True)
    parser.add_argument("--rate", type=float, default=100, help="frames/s")
    parser.add_argument("--largest-file", type=int, default=4 << 30, help="bytes of an MMStack file, at most 4 GiB")
    parser.add_argument(
        "--end", choices=["close", "killed"], default="close", help="killed: by itself, the movie not closed"
    )
    parser.add_argument("--times", action="store_true", help="print when each frame was complete")
    options = parser.parse_args()
    source = [np.ascontiguousarray(frame) for frame in tifffile.imread(options.source)]
    largest = {"largest_bytes": options.largest_file - 1} if options.kind == "mmstack" else {}
    write, close = KINDS[options.kind](options.out, options.frames, source[0].shape, **largest)
    times, start = [], time.time()
    for k in range(options.frames):
        time.sleep(max(0, start + k / options.rate - time.time()))
        write(source[k % len(source)])
        times.append(time.time())
    if options.times:
        print(*times, flush=True)
    if options.end == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    close()


if __name__ == "__main__":
    sys.exit(main())
