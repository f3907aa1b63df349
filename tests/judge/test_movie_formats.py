"""glint's readers of other formats than TIFF, judged by the programs that know these formats, pixel for pixel."""
import numpy as np
import pytest

import re


def movie(dtype, frames=7, height=37, width=53, seed=1):
    """Numbers over all of the type's range, or fractions."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.normal(300, 100, (frames, height, width)).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, (frames, height, width), dtype, endpoint=True)


def as_read(frames):
    """Of the type that glint has for it: float32 where it has none."""
    return frames if frames.dtype in (np.uint8, np.uint16, np.float32) else frames.astype(np.float32)


def storm_analysis_frames(path):
    """A DAX as storm-analysis reads it: by the dimensions and the byte order of the .inf."""
    text = path.with_suffix(".inf").read_text()
    width, height = map(int, re.search(r"frame dimensions = (\d+) x (\d+)", text).groups())
    order = {"big": ">", "little": "<"}[re.search(r" (big|little) endian", text).group(1)]
    return np.fromfile(path, order + "u2").reshape(-1, height, width)


@pytest.mark.parametrize("name,shape", [("test_spliner.dax", (20, 256, 256)), ("test_300x200_dh.dax", (5, 200, 300))])
def test_dax(dump, data, name, shape):
    facts, found = dump(data / name)
    assert facts["warnings"] == []
    assert (found.shape, facts["type"]) == (shape, "uint16")
    np.testing.assert_array_equal(found, storm_analysis_frames(data / name))
