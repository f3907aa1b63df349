// Raw frames with the molecules that were found in them, and what remains without these.
// SPDX-License-Identifier: MIT
import { make, shortNumber, withCommas } from "./text.js";

/** Counts of a stored frame: 8 bits, in steps that grow with the square root. */
export function countsOf(bytes, { low, high }) {
  const counts = new Float32Array(bytes.length), scale = (high - low) / (255 * 255);
  for (let k = 0; k < bytes.length; ++k) counts[k] = low + scale * bytes[k] * bytes[k];
  return counts;
}

/** Subtracts the molecules of a frame from its photoelectrons: Gaussians of the fitted widths. */
export function subtractMolecules(electrons, frame) {
  const { width, height } = frame;
  for (const [x, y, photons, , sx, sy] of frame.rows) {
    if (!(photons > 0)) continue;
    const wx = sx ?? sy ?? 1.3, wy = sy ?? sx ?? 1.3;
    const cx = x - frame.x, cy = y - frame.y, reach = Math.ceil(4 * Math.max(wx, wy));
    const amplitude = photons / (2 * Math.PI * Math.sqrt((wx * wx + 1 / 12) * (wy * wy + 1 / 12)));
    for (let row = Math.max(0, Math.floor(cy - reach)); row <= Math.min(height - 1, cy + reach); ++row)
      for (let column = Math.max(0, Math.floor(cx - reach)); column <= Math.min(width - 1, cx + reach); ++column)
        electrons[row * width + column] -= amplitude * Math.exp(-0.5 * ((column - cx) ** 2 / (wx * wx + 1 / 12) + (row - cy) ** 2 / (wy * wy + 1 / 12)));
  }
  return electrons;
}

function percentileOf(values, share) {
  const step = Math.max(1, Math.floor(values.length / 20000)), sample = [];
  for (let k = 0; k < values.length; k += step) sample.push(values[k]);
  sample.sort((a, b) => a - b);
  return sample[Math.round(share * (sample.length - 1))];
}

/** Makes the section of raw frames; null if there are none. */
export function framesSection(facts, source) {
  const frames = facts.raw_frames;
  if (!frames.length) return null;
  const canvas = make("canvas", { class: "frame", role: "img", "aria-label": "Raw frame" });
  const slider = make("input", { type: "range", min: 0, max: frames.length - 1, value: 0, "aria-label": "Raw frame" });
  const showRows = make("input", { type: "checkbox", checked: true });
  const showRest = make("input", { type: "checkbox", disabled: !facts.camera });
  const caption = make("p", { class: "caption" });
  const loaded = new Map();
  const draw = async () => {
    const number = Number(slider.value), frame = frames[number];
    if (!loaded.has(number)) {
      const bytes = await source.frame(number);
      if (!bytes) return;
      loaded.set(number, countsOf(bytes, frame));
    }
    if (Number(slider.value) !== number) return;
    const counts = loaded.get(number);
    const raw = facts.camera ? counts.map((count) => (count - facts.camera.offset_adu) * facts.camera.gain_e_per_adu) : counts;
    const low = percentileOf(raw, 0.01), high = Math.max(percentileOf(raw, 0.998), low + 1e-6);
    const shown = showRest.checked ? subtractMolecules(Float32Array.from(raw), frame) : raw;
    const zoom = Math.max(1, Math.floor(Math.min(512 / frame.width, 512 / frame.height)));
    const pixels = new ImageData(frame.width, frame.height);
    for (let k = 0; k < shown.length; ++k) {
      const value = (255 * (shown[k] - low)) / (high - low);
      pixels.data[4 * k] = pixels.data[4 * k + 1] = pixels.data[4 * k + 2] = value;
      pixels.data[4 * k + 3] = 255;
    }
    canvas.width = frame.width * zoom;
    canvas.height = frame.height * zoom;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    const small = make("canvas", { width: frame.width, height: frame.height });
    small.getContext("2d").putImageData(pixels, 0, 0);
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    if (showRows.checked) {
      context.strokeStyle = "#ffb000";
      context.lineWidth = Math.max(1, zoom / 3);
      for (const [x, y] of frame.rows) {
        context.beginPath();
        context.arc((x - frame.x + 0.5) * zoom, (y - frame.y + 0.5) * zoom, 3 * zoom, 0, 2 * Math.PI);
        context.stroke();
      }
    }
    caption.textContent =
      `Frame ${withCommas(frame.frame)}: ${withCommas(frame.rows.length)} localizations. ` +
      `Black is ${shortNumber(low)}, white ${shortNumber(high)} ${facts.camera ? "photoelectrons" : "ADU"}.` +
      (showRest.checked ? " Their fitted Gaussians are subtracted: what remains was not found, or has another shape." : "");
    canvas.dataset.frame = frame.frame;
  };
  for (const control of [slider, showRows, showRest]) control.addEventListener("input", draw);
  const section = make(
    "section",
    { class: "card wide", id: "raw-frames" },
    make("h2", { text: "Raw frames" }),
    make(
      "div",
      { class: "row" },
      make("label", { class: "grow" }, `Frame `, slider),
      make("label", {}, showRows, " Localizations"),
      make("label", { title: facts.camera ? "" : "The camera's offset and gain are not known" }, showRest, " Residual"),
    ),
    make("div", { class: "frame-box" }, canvas),
    caption,
    facts.camera ? null : make("p", { class: "note", text: "The residual needs the camera's offset and gain, which the table and the record do not contain." }),
  );
  draw();
  return section;
}
