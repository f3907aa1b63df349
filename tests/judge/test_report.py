"""Reference test of `glint report`: the page in a real browser, compared with `glint filter`, `glint render` and
NumPy.
"""

import json
import shlex
import subprocess

import browser as browsers
import h5py
import numpy as np
import pytest
import tifffile
import yaml

PIXEL_NM = 100.0
ROWS = 30_000
FRAMES = 400


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if why := browsers.why_missing():
        pytest.skip(why)
    opened = browsers.Browser(str(tmp_path_factory.mktemp("profile")))
    yield opened
    opened.close()


def columns(rows, seed=5, z=False):
    random = np.random.default_rng(seed)
    photons = np.exp(random.normal(7, 0.6, rows))
    precision = 1.3 / np.sqrt(photons) * random.uniform(1.1, 1.4, rows)
    table = {
        "frame": np.sort(random.integers(0, FRAMES, rows)).astype("u4"),
        "x": random.uniform(4, 60, rows).astype("f4"),
        "y": random.uniform(4, 44, rows).astype("f4"),
        "photons": photons.astype("f4"),
        "sx": random.normal(1.3, 0.1, rows).astype("f4"),
        "sy": random.normal(1.3, 0.1, rows).astype("f4"),
        "bg": random.gamma(20, 0.5, rows).astype("f4"),
        "lpx": precision.astype("f4"),
        "lpy": (precision * random.normal(1, 0.02, rows)).astype("f4"),
        "p_value": random.uniform(0, 1, rows).astype("f4") ** 3,
        "group": random.integers(0, 40, rows).astype("i4"),
    }
    if z:
        table["z"] = random.normal(0, 200, rows).astype("f4")
        table["lpz"] = (300 * precision).astype("f4")
    return table


def write_table(path, table, width=64, height=48):
    rows = np.rec.fromarrays(list(table.values()), names=list(table))
    with h5py.File(path, "w") as file:
        file["locs"] = rows
    facts = {"Width": width, "Height": height, "Frames": FRAMES, "Pixelsize": PIXEL_NM}
    path.with_suffix(".yaml").write_text(yaml.dump(facts))
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("locs") / "locs.hdf5", columns(ROWS))


@pytest.fixture(scope="module")
def page(glint, table):
    out = table.with_name("report.html")
    glint("report", table, "-o", out)
    return out


def rows_of_command(program, command, folder):
    """Runs the command of the page and returns the rows that are left."""
    words = shlex.split(command)
    assert words[:2] == ["glint", "filter"]
    words[words.index("-o") + 1] = str(folder / "filtered.hdf5")
    done = subprocess.run([program, *words[1:], "--json", "--overwrite"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["localizations"]


def set_filters(browser, limits):
    browser.run("await glintReport.resetFilters()")
    for name, (low, high) in limits.items():
        browser.run(
            "const h = glintReport.filters.named(given[0]); const n = h.bins.count;"
            "const low = Math.floor(given[1] * n); h.setBins(low, Math.max(low + 1, Math.ceil(given[2] * n)), true)",
            name,
            low,
            high,
        )
    browser.settle()
    return browser.run("return {...glintReport.counts, command: glintReport.command}")


LIMITS = [
    {"photons": (0.3, 1)},
    {"photons": (0, 0.6), "lpx_nm": (0.2, 0.7), "frame": (0.1, 0.9)},
    {"bg": (0.25, 0.75), "sx_nm": (0.1, 0.9), "sy_nm": (0.1, 0.5)},
    {"p_value": (0.5, 1), "group": (0.25, 0.5)},
    {"lpy_nm": (0.5, 0.52)},
]


def test_counts_equal_those_of_glint_filter(browser, program, page, tmp_path):
    facts = browser.open(page)
    assert facts["rows"] == facts["stored_rows"] == ROWS
    assert browser.run("return glintReport.counts.passing") == ROWS
    for limits in LIMITS:
        found = set_filters(browser, limits)
        assert 0 < found["passing"] < ROWS
        assert found["passing"] == rows_of_command(program, found["command"], tmp_path), found["command"]


def test_counts_equal_those_of_glint_filter_in_3d_with_nan(browser, glint, program, tmp_path):
    random = np.random.default_rng(3)
    rows = columns(4000, z=True)
    rows["my speed"] = np.where(random.uniform(size=4000) < 0.2, np.nan, random.normal(0, 3, 4000))
    out = tmp_path / "3d.html"
    glint("report", write_table(tmp_path / "a b's.hdf5", rows), "-o", out, "--no-resolution")
    browser.open(out)
    for limits in [{"z": (0.2, 0.8)}, {"my speed": (0.3, 1)}, {"my speed": (0, 0.7), "z": (0, 0.5), "lpz": (0.1, 0.9)}]:
        found = set_filters(browser, limits)
        assert 0 < found["passing"] < 4000
        assert found["passing"] == rows_of_command(program, found["command"], tmp_path), found["command"]
    for color in ["z", "my speed", "frame", "lpz"]:
        browser.run("glintReport.setColor(given[0])", color)
        browser.settle()
    assert browser.run("return glintReport.view.picture.densities().reduce((a, b) => a + b, 0)") > 0


def test_limits_move_by_mouse_and_keys(browser, program, page, tmp_path):
    browser.open(page)
    box = browser.run(
        "const e = document.querySelector('[data-column=photons]'); e.scrollIntoView({block: 'center'});"
        "const b = e.querySelector('svg').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]"
    )
    y = box[1] + 0.3 * box[3]
    browser.drag([box[0] + 0.0133 * box[2], y], [box[0] + 0.4 * box[2], y])
    browser.settle()
    dragged = browser.run("return {...glintReport.counts, command: glintReport.command}")
    assert dragged["passing"] == rows_of_command(program, dragged["command"], tmp_path)
    assert 0 < dragged["passing"] < ROWS
    browser.press(["\ue014"])  # the right arrow moves the focused limit by one step
    browser.settle()
    moved = browser.run("return {...glintReport.counts, command: glintReport.command}")
    assert moved["passing"] < dragged["passing"]
    assert moved["passing"] == rows_of_command(program, moved["command"], tmp_path)
    shown = browser.run(
        "return [document.querySelector('#counts .big').textContent, document.getElementById('command').textContent]"
    )
    assert shown == [f"{moved['passing']:,}", moved["command"]]
    browser.run("document.getElementById('reset-filters').click()")
    browser.wait(f"glintReport.counts.isComplete && glintReport.counts.passing === {ROWS}")


def densities(browser, x, y, scale):
    """The picture of the page, with its middle at x, y (px) and `scale` picture pixels per px."""
    browser.run("glintReport.view.show(...given)", x, y, scale)
    browser.settle()
    width, height, values = browser.run(
        "const p = glintReport.view.picture; return [p.canvas.width, p.canvas.height, Array.from(p.densities())]"
    )
    return np.array(values, np.float32).reshape(height, width)


def test_picture_equals_that_of_glint_render(browser, glint, tmp_path):
    """The same Gaussians: their sum, the place of an edge and every pixel, up to the rounding of positions."""
    rows = columns(6000, seed=8)
    rows["x"] = np.random.default_rng(1).uniform(20, 40, 6000).astype("f4")  # an edge at x = 20 px
    source = write_table(tmp_path / "edge.hdf5", rows)
    out, tif = tmp_path / "edge.html", tmp_path / "edge.tif"
    glint("report", source, "-o", out, "--no-resolution")
    blur_nm, scale = 25.0, 8.0
    glint("render", source, "-o", tif, "--picture-pixel", f"{PIXEL_NM / scale}nm", "--blur", f"{blur_nm}nm")
    expected = tifffile.imread(tif)
    facts = browser.open(out)
    browser.run("glintReport.view.change({blur: 'fixed', fixedNm: given[0]})", blur_nm)
    # The pictures' pixels coincide: the left edge of glint's picture is at -0.5 px.
    height, width = browser.run("const c = glintReport.view.canvas; return [c.clientHeight, c.clientWidth]")
    shown = densities(browser, -0.5 + width / 2 / scale, -0.5 + height / 2 / scale, scale)
    assert not browser.run("return glintReport.view.picture.isBinned")
    h, w = min(shown.shape[0], expected.shape[0]), min(shown.shape[1], expected.shape[1])
    shown, expected = shown[:h, :w], expected[:h, :w]
    # Gaussians end at 3.3 widths or later: 0.2 % is outside. Errors of sampling at pixels' centres average out.
    assert abs(shown.sum() / expected.sum() - 1) < 0.004
    step = next(column["step"] for column in facts["columns"] if column["name"] == "x")
    sigma_px = blur_nm / PIXEL_NM
    # A Gaussian that moves by d changes by 0.8 d / sigma; rounding moves it by 0.38 steps on average.
    assert np.abs(shown - expected).sum() / expected.sum() < 0.8 * 0.3826 * step / sigma_px * 1.2 + 0.01

    def edge(picture):
        profile = picture.sum(axis=0)
        half = 0.5 * profile[int(24 * scale) : int(36 * scale)].mean()
        k = int(np.argmax(profile > half))
        return k - 1 + (half - profile[k - 1]) / (profile[k] - profile[k - 1])

    # Rounded positions are unbiased; about 100 rows determine the edge.
    assert abs(edge(shown) - edge(expected)) < 4 * step * scale / np.sqrt(12 * 100) + 0.02


def test_picture_of_the_whole_field_contains_all_rows(browser, page):
    browser.open(page)
    for color in ["density", "frame", "photons"]:
        browser.run("glintReport.setColor(given[0])", color)
        browser.settle()
        total = browser.run("return glintReport.view.picture.densities().reduce((a, b) => a + b, 0)")
        assert abs(total / ROWS - 1) < 0.005
    set_filters(browser, {"photons": (0.5, 1)})
    total, passing = browser.run(
        "return [glintReport.view.picture.densities().reduce((a, b) => a + b, 0), glintReport.counts.passing]"
    )
    assert abs(total / passing - 1) < 0.005


def test_measurements_equal_those_of_the_table(browser, glint, tmp_path):
    random = np.random.default_rng(4)
    rows = columns(5000, seed=2)
    sigma_px = 0.4
    rows["x"] = random.normal(30, sigma_px, 5000).astype("f4")  # a filament along y
    out = tmp_path / "line.html"
    glint("report", write_table(tmp_path / "line.hdf5", rows), "-o", out, "--no-resolution")
    browser.open(out)

    distance = browser.run("return glintReport.tools.add('distance', [10, 10], [13, 14])")
    assert abs(distance["length"] - 500) < 1e-6
    profile = browser.run(
        "glintReport.tools.widthNm = 3000; return glintReport.tools.add('profile', [27, 24], [33, 24])"
    )
    measured = rows["x"][(np.abs(rows["y"] - 24) < 15) & (np.abs(rows["x"] - 30) < 3)]
    assert abs(profile["rows"] - len(measured)) <= 0.01 * len(measured)  # rows at the border may be rounded over it
    assert abs(profile["sigma"] - 100 * sigma_px) < 4 * profile["error"]
    assert 0.5 < profile["error"] / (100 * sigma_px / np.sqrt(2 * len(measured))) < 3
    region = browser.run("return glintReport.tools.add('region', [29.5, 20], [30.25, 30])")
    inside = (rows["x"] >= 29.5) & (rows["x"] < 30.25) & (rows["y"] >= 20) & (rows["y"] < 30)
    assert region["rows"] == inside.sum()  # these limits are multiples of the steps
    assert abs(region["area"] - 75 * 1000) < 1e-6
    # By mouse: from one place of the picture to another, to within half a pixel of the window at both ends.
    browser.run(
        "glintReport.tools.clear(); glintReport.tools.choose('distance'); document.activeElement.blur(); scrollTo(0, 0)"
    )
    corner, scale = browser.run(
        "const b = glintReport.view.canvas.getBoundingClientRect(); return [[b.left, b.top], glintReport.view.scale]"
    )
    browser.drag([corner[0] + 100, corner[1] + 150], [corner[0] + 340, corner[1] + 330])
    length = browser.run("return glintReport.view.marks[0].result.length")
    assert abs(length - 300 / scale * PIXEL_NM) < 1.5 / scale * PIXEL_NM
    assert browser.run("return document.getElementById('measure-results').textContent").startswith("Distance")


HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>\"&\u2028`${1}"


def test_hostile_texts_stay_text(browser, glint, tmp_path):
    rows = columns(300)
    rows["<b onclick=alert(1)>"] = np.arange(300, dtype="f8")
    source = write_table(tmp_path / "a'\"<i>.hdf5", rows)
    facts = yaml.safe_load(source.with_suffix(".yaml").read_text())
    step = yaml.dump({"Generated by": HOSTILE, "Long": HOSTILE + "x" * 1_000_000}, width=1e9)
    source.with_suffix(".yaml").write_text(yaml.dump(facts) + "---\n" + step)
    out = tmp_path / "hostile.html"
    glint("report", source, "-o", out, "--title", HOSTILE, "--no-resolution")
    browser.open(out)
    assert browser.run("return window.hacked ?? null") is None
    assert browser.run("return document.getElementById('title').textContent") == HOSTILE
    assert "<b onclick=alert(1)>" in browser.run("return document.getElementById('panel').textContent")
    assert browser.run("return document.querySelectorAll('img[src=\"x\"], #panel b').length") == 0
    history = browser.run("return document.getElementById('history').textContent")
    assert HOSTILE.split('"')[0] in history and len(history) > 1_000_000


def test_nothing_is_requested(browser, page):
    browser.log("performance"), browser.log("browser")
    browser.open(page)
    browser.run("document.getElementById('save-png').click()")
    browser.wait("glintReport.png")
    messages = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    own = page.absolute().as_uri()
    assert [url for url in asked if not url.startswith((own, "data:", "blob:"))] == []
    assert [entry for entry in browser.log("browser") if entry["level"] == "SEVERE"] == []
    # The page's policy also refuses requests that a script would make.
    refused = browser.run("try { await fetch('http://127.0.0.1:9/'); return false } catch { return true }")
    assert refused
    policy = browser.run("return document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def test_a_sample_is_unbiased_and_says_so(browser, glint, table, tmp_path):
    out = tmp_path / "sample.html"
    said = json.loads(glint("report", table, "-o", out, "--report-size", "0.1", "--no-resolution", "--json"))
    assert 0 < said["stored"] < ROWS / 2 and said["bytes_of_localizations"] <= 100_000
    facts = browser.open(out)
    assert "random sample" in browser.run("return document.getElementById('subtitle').textContent")
    with h5py.File(table) as file:
        rows = file["locs"][:]
    for name, unit in [("photons", 1), ("x", 1), ("frame", 1)]:
        column = next(one for one in facts["columns"] if one["name"] == name)
        median = np.median(rows[name])
        if name == "x":
            below = browser.run(
                "const t = glintReport.table; let n = 0; for (let k = 0; k < t.size; ++k) n += t.xPx(k) < given[0];"
                "return n",
                float(median),
            )
        elif name == "frame":
            median = np.floor(median)
            below = browser.run("return glintReport.table.frame.filter(f => f < given[0]).length", float(median))
        else:
            edge = column["edges"][len(column["edges"]) // 2]
            median = edge
            below = browser.run(
                "const t = glintReport.table, c = t.named.photons; let n = 0;"
                "for (let k = 0; k < t.size; ++k) n += t.code(c, k) <= given[0]; return n",
                len(column["edges"]) // 2,
            )
        share, n = (rows[name] < median).mean(), facts["stored_rows"]
        assert abs(below / n - share) < 4 * np.sqrt(share * (1 - share) / n), name
    found = set_filters(browser, {"photons": (0.4, 1)})
    true = (rows["photons"] >= float(found["command"].split(">= ")[1].split("'")[0].split(" ")[0])).sum()
    assert abs(found["estimate"] - true) < 4 * found["error"]
    assert "not of a sample" in browser.run("return document.getElementById('live-nena').textContent")


def test_few_rows_and_tables_of_other_programs(browser, glint, program, tmp_path):
    one = write_table(tmp_path / "one.hdf5", {name: values[:1] for name, values in columns(10).items()})
    none = tmp_path / "none.hdf5"
    glint("filter", one, "-o", none, "--where", "photons < 0")
    for source, count in [(one, 1), (none, 0)]:
        out = source.with_suffix(".html")
        glint("report", source, "-o", out)
        browser.open(out)
        assert browser.run("return glintReport.counts.passing") == count
        assert browser.run("return glintReport.view !== null")
    csv = tmp_path / "other.csv"
    csv.write_text(
        '"frame","x [nm]","y [nm]","intensity [photon]"\n'
        + "".join(f"{k // 4 + 1},{1000 + 13 * k},{2000 + 7 * k},{500 + k}\n" for k in range(200))
    )
    out = tmp_path / "other.html"
    glint("report", csv, "-o", out, "--pixel-size", "100nm", "--first-frame", "1")
    browser.open(out)
    missing = browser.run("return document.getElementById('missing').textContent")
    assert "no precision" in missing and "no background" in missing and "movie is not known" in missing
    assert browser.run("return glintReport.view.blur") == "fixed"
    assert browser.run("return glintReport.view.picture.densities().reduce((a, b) => a + b, 0)") > 0


def test_two_tables_are_two_channels(browser, glint, tmp_path):
    tables = [
        write_table(tmp_path / f"{name}.hdf5", columns(rows, seed))
        for name, rows, seed in [("red", 2000, 1), ("green", 1000, 2)]
    ]
    out = tmp_path / "two.html"
    glint("report", *tables, "-o", out)
    browser.open(out)
    browser.run("glintReport.setColor('channel')")
    browser.settle()
    bar = browser.run("return glintReport.view.colorBar().names.map(([name]) => name)")
    assert bar == ["red.hdf5", "green.hdf5"]
    total = browser.run("return glintReport.view.picture.densities().reduce((a, b) => a + b, 0)")
    assert abs(total / 3000 - 1) < 0.005
    browser.run("const h = glintReport.filters.named('channel'); h.setBins(1, 2, true)")
    browser.settle()
    assert browser.run("return glintReport.counts.passing") == 1000


def test_without_webgl2_there_is_a_picture(browser, page):
    browser.open(page, "?no-webgl")
    shown = browser.run(
        "const i = document.getElementById('still'); await i.decode(); return [i.hidden, i.naturalWidth]"
    )
    assert shown == [False, 1000]
    assert "because" in browser.run("return document.getElementById('loading').textContent")
    found = set_filters(browser, {"photons": (0.5, 1)})
    assert 0 < found["passing"] < ROWS


def test_controls_keys_and_files(browser, page):
    browser.open(page)
    view = "glintReport.view"
    before = browser.run(f"return {view}.scale")
    browser.press(["+", "+", "-", "c", "]", "t", "2"])
    browser.settle()
    assert abs(browser.run(f"return {view}.scale") / before - 1.25) < 0.01
    assert browser.run(f"return [{view}.color, glintReport.tools.tool]") == ["frame", "distance"]
    browser.press(["0", "1", "?"])
    browser.settle()
    assert browser.run("const h = document.getElementById('help'); const o = h.open; h.close(); return o")
    for selector in ["color", "map", "blur"]:
        count = browser.run("return document.getElementById(given[0]).options.length", selector)
        for k in range(count):
            browser.run(
                "const s = document.getElementById(given[0]); s.selectedIndex = given[1];"
                "s.dispatchEvent(new Event('change'))",
                selector,
                k,
            )
            browser.settle()
            assert browser.run(f"return {view}.picture.densities().reduce((a, b) => a + b, 0)") > 0
    for slider in ["brightness", "gamma"]:
        browser.run(
            "const s = document.getElementById(given[0]); s.value = 1; s.dispatchEvent(new Event('input'))", slider
        )
    assert browser.run(f"return [{view}.look.brightness, {view}.look.gamma]") == [2, 1]
    passing = set_filters(browser, {"photons": (0.6, 1)})["passing"]
    browser.run("document.getElementById('save-csv').click(); document.getElementById('save-png').click()")
    text = browser.wait("glintReport.csv && glintReport.csv.join('')")
    lines = text.splitlines()
    assert lines[0].startswith("# Values are rounded") and "glint filter" in lines[1]
    assert lines[2].split(",")[:3] == ["frame", "x_nm", "y_nm"]
    assert len(lines) == 3 + passing
    frames = [int(line.split(",")[0]) for line in lines[3:]]
    assert frames == sorted(frames)
    size = browser.wait("glintReport.png && glintReport.png.size")
    assert size > 5000


def test_a_run_with_its_movie(browser, glint, tmp_path):
    movie, folder = tmp_path / "movie.tif", tmp_path / "results"
    camera = ["--sigma", "130nm", "--pixel-size", "100nm", "--offset", "100", "--gain", "0.5"]
    glint(
        "simulate",
        "-o",
        movie,
        "--frames",
        "1000",
        "--size",
        "48",
        "--seed",
        "3",
        "--spots",
        "6",
        "--drift",
        "100nm",
        "--blinks",
        "5",
        *camera,
    )
    glint("run", movie, "-o", folder, *camera)
    out = tmp_path / "run.html"
    said = json.loads(glint("report", folder / "movie", "-o", out, "--json"))
    assert said["raw_frames"] == 20
    facts = browser.open(out)
    shown = browser.run(
        "return ['nena', 'frc', 'drift', 'record', 'raw-frames'].map(id => !!document.getElementById(id))"
    )
    assert shown[3:] == [True, True] and shown[:2] == [True, True]
    # The stored frame is the movie's, to within a step of 8 bits of square roots.
    frame = facts["raw_frames"][3]
    counts = np.array(
        browser.run(
            "const c = document.querySelectorAll('.data-frame')[3].textContent;"
            "const b = Uint8Array.from(atob(c), x => x.charCodeAt(0));"
            "const s = new Blob([b]).stream().pipeThrough(new DecompressionStream('deflate'));"
            "return [...new Uint8Array(await new Response(s).arrayBuffer())]"
        ),
        float,
    ).reshape(48, 48)
    true = tifffile.imread(movie, key=frame["frame"]).astype(float)
    span = frame["high"] - frame["low"]
    assert np.abs(np.sqrt((true - frame["low"]) / span) * 255 - counts).max() <= 0.5 + 1e-6
    # Molecules lie where the camera saw them, also after the drift was subtracted: without them a frame is background.
    assert shown[2], "the run found no drift"
    left, before = browser.run(
        "const f = document.querySelectorAll('#raw-frames input[type=checkbox]'); f[0].click();"
        "const read = () => { const c = document.querySelector('.frame');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let s = 0, q = 0;"
        "for (let k = 0; k < d.length; k += 4) { s += d[k]; q += d[k] * d[k]; }"
        "return q / (d.length / 4) - (s / (d.length / 4)) ** 2; };"
        "const moment = () => new Promise(r => setTimeout(r, 100));"
        "let a = -1; while (a !== read()) { a = read(); await moment(); }"  # until it is drawn
        "f[1].click(); for (let k = 0; k < 300 && read() >= 0.4 * a; k++) await moment();"
        "return [read(), a]"
    )
    assert left < 0.4 * before
    # NeNA of the page, with one precision for all, and of glint: two fits of nearly the same histogram.
    single = facts["resolution"]["nena"]["single"]
    found = browser.run("return glintReport.nena")
    assert abs(found["nm"] - single["nm"]) < 3 * np.hypot(found["error_nm"], single["error_nm"])
    assert browser.run("return !!document.getElementById('on-times')")
    apart = browser.run(
        "const v = glintReport.view; const d = () => Array.from(v.picture.densities()); const a = d();"
        "document.getElementById('with-drift').click(); await new Promise(r => setTimeout(r, 50));"
        "while (glintReport.isBusy()) await new Promise(r => setTimeout(r, 5));"
        "const b = d(); return a.reduce((s, x, k) => s + Math.abs(x - b[k]), 0)"
    )
    assert apart > 1


def test_flags_that_change_nothing_are_refused(program, glint, table, tmp_path):
    def refused(*words):
        done = subprocess.run([program, "report", *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        return done.stderr

    out = tmp_path / "r.html"
    assert "--channel 1 changes nothing without --movie" in refused(table, "-o", out, "--channel", "1")
    assert "ends in .html" in refused(table, "-o", tmp_path / "r.png")
    assert "--report-size 0" in refused(table, "-o", out, "--report-size", "0", "--no-resolution")
    glint("report", table, "-o", out, "--no-resolution")
    assert "--overwrite" in refused(table, "-o", out)
    far = columns(500)
    far["x"][3] = 3e6
    source = write_table(tmp_path / "far.hdf5", far)
    said = json.loads(glint("report", source, "-o", out, "--overwrite", "--json"))
    assert said["stored"] == 500
