// Figures below the picture: precision, resolution, drift, distributions, the record of the run.
// SPDX-License-Identifier: MIT
import { plot, thinned } from "./plot.js";
import { make, shortNumber, withCommas, withError } from "./text.js";
import { binsOf, titleOf } from "./filters.js";

function card(title, id, ...content) {
  return make("section", { class: "card", id }, make("h2", { text: title }), ...content);
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function factList(pairs) {
  const list = make("dl", { class: "facts" });
  for (const [name, value] of pairs) if (value !== null && value !== undefined) list.append(make("dt", { text: name }), make("dd", { text: value }));
  return list;
}

function nenaCard({ nena, caveats }) {
  const measured = withError(nena.precision.nm, nena.precision.error_nm, "nm");
  const content = [
    factList([
      ["NeNA, median precision", measured],
      ["Stated precision of the same rows", Number.isFinite(nena.stated_nm) && nena.stated_nm !== null ? `${shortNumber(nena.stated_nm, 3)} nm` : "not in the table"],
      ["One precision for all rows", withError(nena.single.nm, nena.single.error_nm, "nm")],
      ["Pairs", `${withCommas(nena.pairs)}, ${shortNumber(100 * nena.same_molecule)} % of them the same molecule twice`],
    ]),
  ];
  if (nena.counts.length)
    content.push(
      plot(
        [
          { x: nena.distance_nm, y: nena.counts, kind: "bars", color: "var(--curve-1)", name: "pairs" },
          { x: nena.distance_nm, y: nena.fit, kind: "line", color: "var(--curve-2)", name: "fit" },
        ],
        { title: "NeNA", xLabel: "Distance to the nearest neighbour in the next frame (nm)", yLabel: "Pairs" },
      ),
    );
  for (const caveat of caveats) content.push(make("p", { class: "note", text: sentence(caveat) }));
  return card("Precision (NeNA)", "nena", ...content);
}

function frcCard({ frc }) {
  const content = [
    factList([
      ["Resolution at 1/7", withError(frc.resolution.nm, frc.resolution.error_nm, "nm")],
      ["Halves", `${withCommas(frc.splits)} random splits of ${withCommas(frc.units)} blinks or blocks`],
    ]),
    make("p", { class: "note", text: "Of the whole table: filters on this page do not change it." }),
  ];
  if (frc.frequency_per_nm.length) {
    const last = frc.frequency_per_nm[frc.frequency_per_nm.length - 1];
    content.push(
      plot(
        [
          { x: frc.frequency_per_nm, y: frc.correlation, kind: "points", color: "var(--curve-1)", name: "rings" },
          { x: frc.frequency_per_nm, y: frc.smoothed, kind: "line", color: "var(--curve-2)", name: "smoothed" },
          { x: [0, last], y: [1 / 7, 1 / 7], kind: "line", color: "var(--curve-3)", name: "1/7", dash: "5 4" },
        ],
        { title: "FRC", xLabel: "Spatial frequency (1/nm)", yLabel: "Correlation", yRange: [-0.2, 1.05] },
      ),
    );
  }
  return card("Resolution (FRC)", "frc", ...content);
}

function driftCard(drift) {
  const curves = [];
  ["x", "y", "z"].forEach((axis, k) => {
    const values = drift[`${axis}_nm`];
    if (!values) return;
    const color = `var(--curve-${k + 1})`;
    const curve = thinned(values, 1000);
    const errors = drift[`${axis}_error_nm`];
    if (errors) {
      const error = curve.x.map((frame) => errors[Math.min(errors.length - 1, Math.round(frame / drift.error_step))]);
      curves.push({ x: curve.x, kind: "band", low: curve.y.map((y, i) => y - error[i]), high: curve.y.map((y, i) => y + error[i]), y: [], color });
    }
    curves.push({ x: curve.x, y: curve.y, kind: "line", color, name: axis });
  });
  return card(
    "Drift",
    "drift",
    plot(curves, { title: "Drift", xLabel: "Frame", yLabel: "Drift (nm)" }),
    make("p", { class: "note", text: "Subtracted from the positions. The band is one standard error of a frame." }),
  );
}

/** Counts per frame, and the distributions of columns, from the rows of the page. */
export function distributionCards(table) {
  const cards = [];
  if (!table.loaded) return cards;
  const scale = table.facts.rows / Math.max(1, table.facts.stored_rows);
  const frames = binsOf(table, table.named.frame);
  const counts = new Array(frames.count).fill(0);
  for (let row = 0; row < table.loaded; ++row) ++counts[Math.floor((table.frame[row] - frames.first) / frames.width)];
  const total = Math.max(table.facts.frames, table.lastFrame + 1);
  const perFrame = counts.map((count, k) => (scale * count) / Math.max(1, Math.min(frames.width, total - frames.first - k * frames.width)));
  const x = counts.map((_, k) => frames.first + (k + 0.5) * frames.width - 0.5);
  cards.push(
    card("Localizations per frame", "counts-card", plot([{ x, y: perFrame, kind: "line", color: "var(--curve-1)" }], { title: "Localizations per frame", xLabel: "Frame", yLabel: "Localizations", yRange: [0, 1.1 * Math.max(...perFrame)] })),
  );
  for (const names of [["photons"], ["lpx_nm", "lpx"], ["bg"]]) {
    const column = names.map((name) => table.named[name]).find((found) => found && found.edges.length > 4);
    if (!column) continue;
    const sums = new Array(column.last + 1).fill(0);
    const pack = table.packs[column.slot >> 2];
    for (let row = 0, at = column.slot & 3; row < table.loaded; ++row, at += 4) if (pack[at] <= column.last) ++sums[pack[at]];
    // Per unit of the logarithm, as cells are evenly spaced there.
    const bars = sums.slice(1, -1).map((count) => scale * count);
    const middles = bars.map((_, k) => table.middleOfCell(column, k + 1));
    cards.push(
      card(
        titleOf(column),
        `distribution-${column.name}`,
        plot([{ x: middles, y: bars, kind: "bars", color: "var(--curve-1)", edges: column.edges }], { title: titleOf(column), xLabel: titleOf(column), yLabel: "Localizations", xLog: column.log, xRange: [column.edges[0], column.edges[column.edges.length - 1]] }),
      ),
    );
  }
  return cards;
}

/** How long molecules are seen: consecutive frames, of all rows. */
export function onTimesCard(onTimes, table) {
  const counts = onTimes.slice(1);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const mean = counts.reduce((sum, count, k) => sum + count * (k + 1), 0) / total;
  let last = counts.length, rest = 0;
  while (last > 1 && rest + counts[last - 1] < 0.001 * total) rest += counts[--last];
  const shown = counts.slice(0, last);
  return card(
    "On-times",
    "on-times",
    factList([["Mean", `${shortNumber(mean)} frames`], ["Molecules", `${withCommas(total)}, without dark frames in between`]]),
    plot([{ x: shown.map((_, k) => k + 1), y: shown, kind: "bars", color: "var(--curve-1)", edges: Array.from({ length: last + 1 }, (_, k) => k + 0.5) }], {
      title: "On-times",
      xLabel: "Consecutive frames",
      yLabel: "Molecules",
      xRange: [0.5, last + 0.5],
    }),
    make("p", { class: "note", text: `Rows of consecutive frames within 5 times the median precision are one molecule. ${table.facts.frames ? "" : "The number of frames is unknown."}` }),
  );
}

function recordCards(facts) {
  const cards = [];
  const { record } = facts;
  if (record) {
    const steps = record.steps ?? {};
    const localized = steps.localize?.results ?? {};
    const camera = localized.camera ?? {}, psf = localized.psf ?? {};
    const number = (value, unit = "") => (typeof value === "number" ? `${shortNumber(value, 4)}${unit}` : null);
    const pairs = [
      ["Program", record.program],
      ["Movie", (record.movie?.files ?? []).join(", ")],
      ["Frames", record.movie ? `${withCommas(record.movie.frames)} of ${record.movie.width} x ${record.movie.height} px` : null],
      ["Status", record.status],
      ["Camera", camera.kind ? `${camera.kind}, offset ${number(camera.offset_adu, " ADU")}, gain ${number(camera.gain_e_per_adu, " e-/ADU")}` : null],
      ["Sources of these", camera.sources],
      ["PSF", psf.model ? `${psf.model}${psf.sigma_nm ? `, σ ${shortNumber(psf.sigma_nm, 4)} nm` : ""}` : null],
      ["Noise check", localized.noise_check ? withError(localized.noise_check, localized.noise_check_error, "(1: the camera's noise is as stated)") : null],
      ["Molecules after linking", number(steps.link?.results?.rows)],
    ];
    cards.push(
      card(
        "Record of the run",
        "record",
        factList(pairs.map(([name, value]) => [name, value === null || value === undefined || value === "" ? null : String(value)])),
        make("details", {}, make("summary", { text: "Everything that was recorded" }), make("pre", { text: JSON.stringify(record, null, 1) })),
      ),
    );
  }
  if (facts.history.length)
    cards.push(
      card(
        "Processing steps of the table",
        "history",
        ...facts.history.map((step, k) => make("details", {}, make("summary", { text: step.split("\n")[0].slice(0, 120) || `Step ${k + 1}` }), make("pre", { text: step }))),
      ),
    );
  return cards;
}

/** Sentences about faults, above all. */
export function warningTexts(facts) {
  const texts = [...facts.warnings];
  for (const step of Object.values(facts.record?.steps ?? {}))
    for (const warning of step?.results?.warnings ?? []) if (typeof warning === "string") texts.push(warning);
  return [...new Set(texts)];
}

/** Cards that do not need the rows. */
export function factCards(facts) {
  const cards = [];
  if (facts.resolution) cards.push(nenaCard(facts.resolution), frcCard(facts.resolution));
  if (facts.drift) cards.push(driftCard(facts.drift));
  return { cards, later: recordCards(facts) };
}

/** What the page lacks, and why. */
export function missingCard(facts) {
  const sentences = [...facts.missing];
  if (facts.left_out.length) sentences.push(`Columns of the table that are not on this page: ${facts.left_out.join(", ")}.`);
  if (!sentences.length) return null;
  return card("Not on this page", "missing", make("ul", {}, ...sentences.map((text) => make("li", { text }))));
}
