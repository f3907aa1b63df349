"""The same as tests/tools/session_worker.cpp from Python: python_session.py MIB ROUNDS ELEMENTS PAUSE_MS."""

import sys
import time
import zlib

import numpy as np
from glint import gpu, offload


def operate(session, round, elements):
    """Uses integers below 2^24, so that sums do not depend on the order."""
    x = ((np.arange(elements) * 31 + round) % 1021).astype(np.float32)
    y = offload.map(lambda a: a * a + 3.0, x, session=session)
    return zlib.crc32(y.tobytes(), int(offload.sum(x, session=session)) & 0xFFFFFFFF)


def main():
    mib, rounds, elements, pause_ms = map(int, sys.argv[1:])
    with offload.Session("gpu", gpu_memory=f"{mib}MiB") as session:
        try:  # a 16th: what is held here is copied there
            held = gpu.to_device(np.ones((mib << 20) // 64, dtype=np.float32), session=session)
        except gpu.OutOfMemory as error:  # a foreign process took the memory
            held = None
            print("holds nothing:", error, file=sys.stderr)
        checksums = [operate(session, k, elements) for k in range(rounds)]
        del held
        time.sleep(pause_ms / 1000)
        checksums += [operate(session, rounds + k, elements) for k in range(rounds)]
    print(f"{zlib.crc32(repr(checksums).encode()):08x}")


if __name__ == "__main__":
    main()
