#!/usr/bin/env python3
"""Compares the estimates of `glint inspect` with the truth of simulated movies: their deviations, and whether their
errors are correct.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import tempfile

import machine

# Offset ADU, gain e-/ADU, read noise e- rms, EM gain: an sCMOS camera, a CCD, an EMCCD.
CAMERAS = {"sCMOS": (100, 0.46, 1.6, 1), "CCD": (400, 2, 6, 1), "EMCCD": (200, 15.6, 74, 300)}
PIXEL_NM, SIGMA_PX, SPOTS = 100, 1.3, 50
DENSITIES = (0.05, 0.1, 0.3, 1)  # spots per um^2; a frame is large enough for 50 of them
PHOTONS = (200, 500, 1000, 2000, 5000)  # median of a spot; half to one and a half times that
BACKGROUNDS = (2, 10, 30, 80, 200)  # e- per pixel
MOST = {"gain": 0.05, "sigma": 0.03}  # relative; 3 ADU or 3 e- for the offset


def grid():
    return [
        {"camera": camera, "density": density, "photons": photons, "background": background}
        for camera in CAMERAS
        for density in DENSITIES
        for photons in PHOTONS
        for background in BACKGROUNDS
    ]


def known(case):
    """Returns values that no movie determines: the read noise, and the EM gain of an EMCCD."""
    _, _, readnoise, em_gain = CAMERAS[case["camera"]]
    return ["--readnoise", readnoise, *(["--em-gain", em_gain] if em_gain > 1 else [])]


def simulate(program, movie, case, frames, seed):
    offset, gain, *_ = CAMERAS[case["camera"]]
    edge = round(math.sqrt(SPOTS / case["density"]) * 1000 / PIXEL_NM)
    machine.run(
        [
            program,
            "simulate",
            "-o",
            movie,
            "--overwrite",
            "--structure",
            "random",
            "--size",
            edge,
            "--frames",
            frames,
            "--spots",
            SPOTS,
            "--photons",
            f"{case['photons'] / 2}:{case['photons'] * 1.5}",
            "--background",
            case["background"],
            "--sigma",
            f"{SIGMA_PX}px",
            "--pixel-size",
            f"{PIXEL_NM}nm",
            "--offset",
            offset,
            "--gain",
            gain,
            *known(case),
            "--seed",
            seed,
            "--threads",
            1,
            "--quiet",
        ],
        cores=os.cpu_count(),
    )


def estimates(found):
    """Value and error, or None, of each quantity in the JSON of `glint inspect`."""
    values = {
        "gain": found["noise"]["gain_e_per_adu"],
        "offset": found["noise"]["offset_adu"],
        "sigma": found["spots"]["sigma_px"],
    }
    return {name: value and (value["value"], value["error"]) for name, value in values.items()}


def judged(case, found):
    """Returns per quantity: whether it was estimated, its deviation over its error and over the permitted maximum."""
    offset, gain, _, em_gain = CAMERAS[case["camera"]]
    truth = {"gain": gain, "offset": offset, "sigma": SIGMA_PX}
    most = {name: part * truth[name] for name, part in MOST.items()} | {"offset": max(3, 3 * em_gain / gain)}
    return {
        name: value and {"errors": (value[0] - truth[name]) / value[1], "limits": (value[0] - truth[name]) / most[name]}
        for name, value in estimates(found).items()
    }


def summary(cases, name):
    told = [case[name] for case in cases if case[name]]
    within = lambda key, limit: sum(abs(one[key]) <= limit for one in told)
    return {
        "cases": len(cases),
        "told": len(told),
        "within_1_error": within("errors", 1) / max(len(told), 1),
        "within_2_errors": within("errors", 2) / max(len(told), 1),
        "near_enough": within("limits", 1) / len(cases),
        "near_enough_of_told": within("limits", 1) / max(len(told), 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=machine.ROOT / "build/release/bin/glint", help="glint")
    parser.add_argument("--frames", type=int, default=200, help="of each movie")
    parser.add_argument("--every", type=int, default=1, help="only every so many of the 300 cases")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--json", help="file for the results")
    options = parser.parse_args()

    def judge(numbered):
        seed, case = numbered
        with tempfile.TemporaryDirectory() as folder:
            movie = pathlib.Path(folder) / "movie.tif"
            simulate(options.program, movie, case, options.frames, seed)
            out, _ = machine.run(
                [options.program, "inspect", movie, "--json", "--quiet", *known(case)], cores=os.cpu_count()
            )
        return case | judged(case, json.loads(out))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        cases = list(pool.map(judge, list(enumerate(grid(), 1))[:: options.every]))
    result = {name: summary(cases, name) for name in ("gain", "offset", "sigma")}
    for name, one in result.items():
        print(
            f"{name}: told in {one['told']} of {one['cases']}; within one of its errors "
            f"{one['within_1_error']:.2f}, two "
            f"{one['within_2_errors']:.2f}; near enough in {one['near_enough']:.2f} of all, "
            f"{one['near_enough_of_told']:.2f} of those told"
        )
    machine.write_json(options.json, {"compare_estimates": result | {"frames": options.frames, "cases": cases}})


if __name__ == "__main__":
    main()
