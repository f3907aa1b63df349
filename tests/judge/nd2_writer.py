"""Writes small ND2 files in the layout of Nikon's NIS-Elements, because no package writes them. `nd2` reads these
files.
SPDX-License-Identifier: MIT
"""

import struct
import zlib

import numpy as np

MAGIC = 0x0ABECEDA
MAP_NAME, MAP_END = b"ND2 FILEMAP SIGNATURE NAME 0001!", b"ND2 CHUNK MAP SIGNATURE 0000001!"


def value(name, it):
    """One value of the metadata: type, length of the name, name, value."""
    encoded = (name + "\0").encode("utf-16-le") if name else b"\0\0"
    head = lambda kind: bytes([kind, len(encoded) // 2]) + encoded
    if isinstance(it, bool):
        return head(1) + bytes([it])
    if isinstance(it, int):
        return head(3) + struct.pack("<I", it)
    if isinstance(it, float):
        return head(6) + struct.pack("<d", it)
    if isinstance(it, bytes):
        return head(9) + struct.pack("<Q", len(it)) + it
    if isinstance(it, str):
        return head(8) + (it + "\0").encode("utf-16-le")
    items = list(it.items()) if isinstance(it, dict) else [("", one) for one in it]
    body = b"".join(value(*item) for item in items)
    start = head(11)
    return start + struct.pack("<IQ", len(items), len(start) + 12 + len(body)) + body + bytes(8 * len(items))


def loop(kind, count, inner=None, names=None):
    """T, P or Z, with the loop in it."""
    parameters = {"uiCount": count, "dStart": 0.0, "dPeriod": 0.0, "dDuration": 0.0}
    if kind == "P":
        parameters = {
            "uiCount": count,
            "bUseZ": False,
            "Points": [
                {"dPosX": float(k), "dPosY": 0.0, "dPosZ": 0.0, "pPosName": names[k] if names else ""}
                for k in range(count)
            ],
        }
    if kind == "Z":
        parameters = {"uiCount": count, "dZLow": 0.0, "dZHigh": 1.0, "dZStep": 0.1, "iType": 0}
    out = {"eType": {"T": 1, "P": 2, "Z": 4}[kind], "uLoopPars": parameters}
    if kind == "P":
        out["pItemValid"] = bytes([1] * count)
    if inner:
        out["ppNextLevelEx"] = [inner]
    return out


def write(
    path,
    frames,
    axes="T",
    names=None,
    compressed=False,
    padding=0,
    pixel_um=None,
    exposure_ms=None,
    camera=None,
    sequences=None,
    positions=None,
    packed_metadata=False,
    with_map=True,
    version=b"Ver3.0",
    alignment=4096,
):
    """`frames`: (T, ..., C, Y, X) whose loops are `axes`, the slowest first. `sequences`: how many were acquired."""
    frames = np.asarray(frames)
    channels, height, width = frames.shape[-3:]
    loops = frames.shape[:-3]
    experiment = None
    for kind, count in reversed(list(zip(axes, loops))):
        experiment = loop(kind, count, experiment, positions)
    stack = frames.reshape(-1, channels, height, width)[:sequences]
    row = width * channels * frames.itemsize + padding
    attributes = {
        "uiWidth": width,
        "uiWidthBytes": row,
        "uiHeight": height,
        "uiComp": channels,
        "uiBpcInMemory": frames.itemsize * 8,
        "uiBpcSignificant": frames.itemsize * 8,
        "uiSequenceCount": len(stack),
        "uiTileWidth": width,
        "uiTileHeight": height,
        "eCompression": 0 if compressed else 2,
        "dCompressionParam": 0.0,
        "ePixelType": 1,
    }
    planes = {
        f"a{k}": {
            "uiCompCount": 1,
            "uiSampleIndex": 0,
            "uiColor": 255,
            "sDescription": names[k] if names else f"channel {k}",
        }
        for k in range(channels)
    }
    sample = {"pCameraSetting": {"CameraUserName": camera or ""}, "dExposureTime": exposure_ms or 0.0}
    picture = {
        "sPicturePlanes": {
            "uiCount": channels,
            "uiCompCount": channels,
            "sPlaneNew": planes,
            "sSampleSetting": {"a0": sample},
        },
        "dCalibration": pixel_um or 0.0,
        "bCalibrated": pixel_um is not None,
        "dAspect": 1.0,
    }
    file = bytearray(
        struct.pack("<IIQ", MAGIC, 32, 64) + b"ND2 FILE SIGNATURE CHUNK NAME01!" + version.ljust(64, b"\0")
    )
    places = []

    def add(name, data):
        file.extend(bytes(-len(file) % alignment))
        places.append((name, len(file), len(data)))
        name_bytes = alignment - 16 - (8 if name.startswith(b"ImageDataSeq") else 0)
        file.extend(struct.pack("<IIQ", MAGIC, name_bytes, len(data)) + name.ljust(name_bytes, b"\0") + data)

    def metadata(name, it):
        data = value(*it)
        add(name, bytes([76, 0]) + bytes(10) + zlib.compress(data) if packed_metadata else data)

    metadata(b"ImageAttributesLV!", ("SLxImageAttributes", attributes))
    if experiment:
        metadata(b"ImageMetadataLV!", ("SLxExperiment", experiment))
    metadata(b"ImageMetadataSeqLV|0!", ("SLxPictureMetadata", picture))
    for k, frame in enumerate(stack):
        rows = np.ascontiguousarray(np.moveaxis(frame, 0, -1)).reshape(height, -1).view("uint8")
        pixels = np.pad(rows, ((0, 0), (0, padding)), constant_values=171).tobytes()
        add(b"ImageDataSeq|%d!" % k, struct.pack("<d", float(k)) + (zlib.compress(pixels) if compressed else pixels))
    if with_map:
        file.extend(bytes(-len(file) % alignment))
        begin = len(file)
        entries = b"".join(name + struct.pack("<QQ", at, size) for name, at, size in places)
        data = entries + MAP_END + struct.pack("<Q", begin)
        file.extend(struct.pack("<IIQ", MAGIC, 32, len(data)) + MAP_NAME + data)
    with open(path, "wb") as out:
        out.write(file)
