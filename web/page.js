// The page: reads the data, and connects picture, filters, measurements and figures.
// SPDX-License-Identifier: MIT
import { densityMaps, valueMaps } from "./colors.js";
import { canvasOfView, csvParts, save } from "./exports.js";
import { Filters } from "./filters.js";
import { framesSection } from "./frames.js";
import { describeMark } from "./measure.js";
import { measureNena } from "./nena.js";
import { inlineSource } from "./source.js";
import { distributionCards, factCards, missingCard, onTimesCard, warningTexts } from "./statistics.js";
import { Conditions, Table } from "./table.js";
import { isBusy, runTask } from "./tasks.js";
import { byId, lengthText, make, shellWord, shortNumber, withCommas, withError } from "./text.js";
import { View } from "./view.js";

const toolNames = [
  ["pan", "Move", "1"],
  ["distance", "Distance", "2"],
  ["profile", "Profile", "3"],
  ["region", "Region", "4"],
];

/** What scripts and tests may use: everything is read from the page itself. */
const page = { ready: false, times: {} };
window.glintReport = page;

function setTheme(isLight) {
  document.documentElement.classList.toggle("light", isLight);
  byId("theme").textContent = isLight ? "Dark" : "Light";
}

function commandOf(facts, conditions) {
  const texts = conditions.texts();
  if (!texts.length) return null;
  const where = shellWord(texts.join(" and "));
  const tables = facts.tables.length ? facts.tables : ["TABLE"];
  return tables
    .map((table, k) => `glint filter ${shellWord(table)} -o filtered${tables.length > 1 ? k + 1 : ""}.hdf5 --where ${where}`)
    .join("\n");
}

function showFacts(facts) {
  document.title = `${facts.title.slice(0, 80)} - glint report`;
  byId("title").textContent = facts.title;
  const isSample = facts.stored_rows < facts.rows;
  const parts = [facts.rows === 1 ? "One localization" : `${withCommas(facts.rows)} localizations`];
  if (isSample) parts.push(`this page has a random sample of ${withCommas(facts.stored_rows)} (${shortNumber((100 * facts.stored_rows) / facts.rows)} %)`);
  if (facts.frames > 0) parts.push(`${withCommas(facts.frames)} frames`);
  if (facts.width > 0) parts.push(`${facts.width} x ${facts.height} px`);
  parts.push(facts.pixel_size_nm > 0 ? `pixel size ${shortNumber(facts.pixel_size_nm, 5)} nm` : "pixel size unknown");
  byId("subtitle").textContent = parts.join(" · ");
  byId("foot").textContent = `Written by ${facts.program}, ${facts.created}. Everything is in this file: it loads nothing from a network.`;
  const warnings = warningTexts(facts);
  if (warnings.length) {
    byId("warnings").hidden = false;
    byId("warnings").append(
      make("details", { open: warnings.length < 3 }, make("summary", { text: warnings.length === 1 ? "One warning" : `${warnings.length} warnings` }), make("ul", {}, ...warnings.map((text) => make("li", { text })))),
    );
  }
  const { cards, later } = factCards(facts);
  byId("cards").append(...cards);
  page.laterCards = later;
}

function endCards(facts, table) {
  const frames = framesSection(facts, inlineSource);
  byId("cards").append(...distributionCards(table), ...(frames ? [frames] : []), ...page.laterCards, ...[missingCard(facts)].filter(Boolean));
}

/** The counts and medians above the filters. */
function showCounts(facts, filters, { passing, isComplete, medians }) {
  const box = byId("counts");
  const { table, conditions } = filters;
  const isSample = facts.stored_rows < facts.rows;
  const share = passing / Math.max(1, table.loaded);
  page.counts = { passing, isComplete };
  const content = [];
  if (isSample) {
    const estimate = share * facts.rows;
    const error = facts.rows * Math.sqrt((share * (1 - share) * (1 - facts.stored_rows / facts.rows)) / Math.max(1, facts.stored_rows));
    page.counts.estimate = estimate;
    page.counts.error = error;
    content.push(
      make("p", {}, make("span", { class: "big", text: `≈ ${withCommas(estimate)}` }), make("span", { class: "soft", text: ` ± ${withCommas(error)} of ${withCommas(facts.rows)}` })),
      make("p", { class: "soft", text: `${withCommas(passing)} of ${withCommas(table.loaded)} rows in the sample` }),
    );
  } else {
    content.push(make("p", {}, make("span", { class: "big", text: `${isComplete ? "" : "≈ "}${withCommas(passing)}` }), make("span", { class: "soft", text: ` of ${withCommas(facts.rows)} localizations` })));
  }
  const wanted = ["photons", "bg", "lpx_nm", "lpx", "lpz", "sx_nm", "sx"];
  const shown = medians.filter(([column]) => wanted.includes(column.name));
  if (shown.length) {
    const grid = make("div", { class: "medians" }, make("span", { class: "column-head", text: "Medians" }), make("span", { class: "column-head", text: "shown" }), make("span", { class: "column-head", text: "all" }));
    for (const [column, median] of shown) {
      const all = filters.allMedians?.find(([other]) => other === column)?.[1];
      const name = { photons: "Photons", bg: "Background (per px)", lpx_nm: "Precision x (nm)", lpx: "Precision x (px)", lpz: "Precision z (nm)", sx_nm: "Width x (nm)", sx: "Width x (px)" }[column.name];
      grid.append(make("span", { text: name }), make("span", { text: shortNumber(median, 4) }), make("span", { text: conditions.isEmpty ? shortNumber(median, 4) : shortNumber(all, 4) }));
    }
    content.push(grid);
  }
  box.replaceChildren(...content);
}

async function showNena(facts, filters) {
  const box = byId("live-nena");
  const { table, mask, conditions } = filters;
  const tell = (text) => box.replaceChildren(make("span", { class: "soft", text: "NeNA of these rows: " }), make("span", { text }));
  if (facts.stored_rows < facts.rows) return tell("not of a sample, which lacks neighbours");
  if (!table.pixelNm || table.lastFrame < 1 || table.lastFrame > 2e7) return box.replaceChildren();
  tell("…");
  const column = table.named.lpx_nm;
  const typical = column ? filters.medians?.find(([other]) => other === column)?.[1] : NaN;
  const unit = (Number.isFinite(typical) ? typical : 15) / table.pixelNm;
  const found = await runTask("nena", measureNena(table, mask, 15 * unit, 5 * unit));
  if (found === undefined) return undefined;
  const result = found.fit;
  if (conditions.isEmpty && !byId("on-times") && found.onTimes.length > 1) byId("counts-card").after(onTimesCard(found.onTimes, table));
  page.nena = result && { nm: result.precision * table.pixelNm, error_nm: result.error * table.pixelNm, pairs: result.pairs };
  return tell(result ? withError(page.nena.nm, page.nena.error_nm, "nm") : "fewer than 100 pairs");
}

/** The section of controls of the picture. */
function pictureControls(view, facts) {
  const controls = byId("picture-controls");
  const add = (name, ...content) => controls.append(make("label", { class: "name", text: name }), content.length === 1 ? content[0] : make("div", { class: "pair" }, ...content));
  const select = (id, choices, value, onChange, label) => {
    const element = make("select", { id, "aria-label": label, onchange: () => onChange(element.value) }, ...choices.map(([choice, text]) => make("option", { value: choice, text })));
    element.value = value;
    return element;
  };
  const maps = () => (view.color === "density" ? densityMaps : valueMaps).map((name) => [name, name]);
  const mapSelect = select("map", maps(), "inferno", (map) => view.change({ map }), "Colour map");
  const setColor = (color) => {
    view.change({ color });
    mapSelect.replaceChildren(...maps().map(([value, text]) => make("option", { value, text })));
    mapSelect.value = color === "density" ? view.maps.density : view.maps.value;
    mapSelect.disabled = color === "channel";
  };
  const colorSelect = select("color", view.colorChoices(), "density", setColor, "Colour by");
  page.setColor = (color) => {
    colorSelect.value = color;
    setColor(color);
  };
  page.nextColor = () => {
    colorSelect.selectedIndex = (colorSelect.selectedIndex + 1) % colorSelect.options.length;
    setColor(colorSelect.value);
  };
  add("Colour by", colorSelect);
  add("Colour map", mapSelect);
  const fixed = make("input", { type: "number", id: "fixed-blur", min: 0.01, step: "any", value: view.fixedNm, "aria-label": "Width of all molecules" });
  const fixedBox = make("span", { class: "pair" }, fixed, make("span", { class: "soft", text: view.table.unit }));
  fixedBox.hidden = view.blur === "own";
  const blur = select("blur", [...(view.widthX ? [["own", "own precision"]] : []), ["fixed", "one width"]], view.blur, (value) => {
    fixedBox.hidden = value === "own";
    view.change({ blur: value });
  }, "Width of molecules");
  fixed.addEventListener("change", () => {
    if (Number(fixed.value) > 0) view.change({ fixedNm: Number(fixed.value) });
  });
  add("Width", blur, fixedBox);
  const brightness = make("input", { type: "range", id: "brightness", min: -3, max: 3, step: 0.05, value: 0, "aria-label": "Brightness", oninput: () => view.change({ brightness: 2 ** Number(brightness.value) }) });
  const gamma = make("input", { type: "range", id: "gamma", min: 0.3, max: 1.6, step: 0.05, value: view.look.gamma, "aria-label": "Gamma", oninput: () => view.change({ gamma: Number(gamma.value) }) });
  add("Brightness", brightness);
  add("Gamma", gamma);
  page.addBrightness = (step) => {
    brightness.value = Number(brightness.value) + step;
    view.change({ brightness: 2 ** Number(brightness.value) });
  };
  if (facts.drift) {
    const drift = make("input", { type: "checkbox", id: "with-drift", onchange: () => view.change({ withDrift: drift.checked }) });
    add("Drift", make("label", {}, drift, " show uncorrected positions"));
    page.toggleDrift = () => drift.click();
  }
}

function toolbars(view, tools) {
  for (const [tool, name, key] of toolNames) {
    const button = make("button", { type: "button", "data-tool": tool, text: name, title: `${name} (${key})`, "aria-pressed": String(tool === "pan"), onclick: () => tools.choose(tool) });
    byId("tools").append(button);
  }
  byId("zooms").append(
    make("button", { type: "button", id: "zoom-in", text: "+", title: "Zoom in (+)", "aria-label": "Zoom in", onclick: () => view.zoom(1.5) }),
    make("button", { type: "button", id: "zoom-out", text: "−", title: "Zoom out (-)", "aria-label": "Zoom out", onclick: () => view.zoom(1 / 1.5) }),
    make("button", { type: "button", id: "zoom-fit", text: "Whole field", title: "Whole field (0)", onclick: () => view.fit() }),
  );
}

/** The tool of the pointer, and the marks that it makes. */
class Tools {
  constructor(view, filters) {
    this.view = view;
    this.filters = filters;
    this.tool = "pan";
    this.widthNm = view.table.pixelNm ? 200 : 2;
    this.box = byId("measured");
    this.width = make("input", { type: "number", id: "profile-width", min: 0.001, step: "any", value: this.widthNm, "aria-label": "Width of the profile", onchange: () => {
      if (Number(this.width.value) > 0) this.widthNm = Number(this.width.value);
      this.describe();
    } });
    this.results = make("div", { id: "measure-results" });
    this.hint = make("p", { class: "note", text: "Choose Distance, Profile or Region above the picture, then drag in it." });
    this.box.append(
      this.hint,
      make("div", { class: "row" }, make("label", { class: "soft", text: "Profile width" }), this.width, make("span", { class: "soft", text: view.table.unit }), make("button", { type: "button", id: "clear-marks", text: "Clear", onclick: () => this.clear() })),
      this.results,
    );
    this.listen();
  }
  choose(tool) {
    this.tool = tool;
    for (const button of byId("tools").children) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    this.view.canvas.classList.toggle("measuring", tool !== "pan");
  }
  clear() {
    this.view.marks = [];
    this.results.replaceChildren();
    this.view.drawOverlay();
  }
  /** Measures the last mark again. */
  describe() {
    const mark = this.view.marks[this.view.marks.length - 1];
    if (!mark) return;
    this.results.replaceChildren(describeMark(mark, this.view.table, this.filters.mask, this.widthNm));
    this.view.drawOverlay();
  }
  add(kind, from, to) {
    this.view.marks.forEach((mark) => (mark.isActive = false));
    const mark = { kind, from, to, isActive: true };
    this.view.marks.push(mark);
    this.describe();
    return mark.result;
  }
  listen() {
    const { canvas } = this.view;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      const begin = at(event);
      let last = begin;
      const from = this.view.toPx(...begin);
      const isPan = this.tool === "pan";
      let mark = null;
      canvas.classList.toggle("moving", isPan);
      const move = (moved) => {
        const now = at(moved);
        if (isPan) {
          this.view.pan(now[0] - last[0], now[1] - last[1]);
          last = now;
          return;
        }
        if (!mark && Math.hypot(now[0] - begin[0], now[1] - begin[1]) > 3) {
          this.view.marks.forEach((other) => (other.isActive = false));
          mark = { kind: this.tool, from, to: from, isActive: true };
          if (this.tool === "profile") mark.halfWidthPx = this.widthNm / this.view.table.perPx / 2;
          this.view.marks.push(mark);
        }
        if (!mark) return;
        mark.to = this.view.toPx(...now);
        if (mark.kind === "distance") mark.label = lengthText(Math.hypot(mark.to[0] - from[0], mark.to[1] - from[1]) * this.view.table.perPx, this.view.table.unit);
        this.view.drawOverlay();
      };
      const stop = () => {
        canvas.removeEventListener("pointermove", move);
        canvas.classList.remove("moving");
        if (mark) this.describe();
      };
      canvas.addEventListener("pointermove", move);
      canvas.addEventListener("pointerup", stop, { once: true });
      canvas.addEventListener("pointercancel", stop, { once: true });
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 30 : 1;
      this.view.zoom(Math.exp(-0.0016 * Math.max(-400, Math.min(400, event.deltaY * lines))), ...at(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.view.zoom(event.shiftKey ? 0.5 : 2, ...at(event)));
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = this.view.toPx(...at(event)), { perPx, unit } = this.view.table;
      byId("position").textContent = `x ${lengthText(x * perPx, unit)}, y ${lengthText(y * perPx, unit)}`;
    });
    canvas.addEventListener("pointerleave", () => (byId("position").textContent = ""));
  }
}

function listenToKeys(view, tools) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const step = event.shiftKey ? 200 : 50;
    const inPicture = event.target === view?.canvas || event.target === document.body;
    const actions = {
      "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8), 0: () => view.fit(),
      c: () => page.nextColor(), "]": () => page.addBrightness(0.25), "[": () => page.addBrightness(-0.25),
      d: () => page.toggleDrift?.(), Escape: () => tools.clear(), r: () => page.resetFilters(),
    };
    toolNames.forEach(([tool, , key]) => (actions[key] = () => tools.choose(tool)));
    if (inPicture) Object.assign(actions, { ArrowLeft: () => view.pan(step, 0), ArrowRight: () => view.pan(-step, 0), ArrowUp: () => view.pan(0, step), ArrowDown: () => view.pan(0, -step) });
    if (event.key === "?") return byId("help").showModal();
    if (event.key === "t") return setTheme(!document.documentElement.classList.contains("light"));
    if (!view || !actions[event.key]) return undefined;
    event.preventDefault();
    return actions[event.key]();
  });
}

function makeHelp() {
  const rows = [
    ["Drag, arrow keys", "moves the picture (with Shift: further)"], ["Wheel, + and -", "zooms"], ["Double click", "zooms in, with Shift out"], ["0", "whole field"],
    ["1 2 3 4", "move, distance, profile, region"], ["c", "next colour"], ["[ and ]", "darker, brighter"], ["d", "positions with and without drift"], ["r", "removes all filters"],
    ["Esc", "removes all marks"], ["t", "light or dark"], ["Histogram", "drag a limit, or focus it and use arrow keys; double click resets"],
  ];
  byId("help").append(
    make("h2", { text: "Keys and mouse" }),
    make("table", {}, ...rows.map(([keys, what]) => make("tr", {}, make("td", { text: keys }), make("td", { text: what })))),
    make("div", { class: "row buttons" }, make("button", { type: "button", text: "Close", onclick: () => byId("help").close() })),
  );
}

function showCommand(facts, conditions) {
  const command = commandOf(facts, conditions);
  page.command = command;
  byId("command").textContent = command ?? "Move a limit of a filter: the matching command appears here.";
  byId("copy-command").disabled = !command;
}

function exportControls(facts, view, filters) {
  const { table, conditions } = filters;
  const copy = make("button", { type: "button", id: "copy-command", text: "Copy command", onclick: async () => {
    try {
      await navigator.clipboard.writeText(page.command);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(byId("command"));
      copy.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => (copy.textContent = "Copy command"), 2500);
  } });
  const csv = make("button", { type: "button", id: "save-csv", text: "Rows as CSV", onclick: async () => {
    csv.disabled = true;
    const parts = await runTask("csv", csvParts(table, filters.mask, page.command ?? `glint convert ${shellWord(facts.tables[0] ?? "TABLE")} rows.csv`));
    csv.disabled = false;
    if (parts) {
      page.csv = parts;
      save(new Blob(parts, { type: "text/csv" }), "filtered.csv");
    }
  } });
  const png = make("button", { type: "button", id: "save-png", text: "View as PNG", disabled: !view, onclick: async () => {
    await view.settled();
    canvasOfView(view).toBlob((blob) => {
      page.png = blob;
      save(blob, "view.png");
    });
  } });
  byId("exports").append(
    make("p", { class: "soft", text: "The same rows by glint, with all columns and digits:" }),
    make("code", { class: "command", id: "command" }),
    make("div", { class: "row buttons" }, copy, csv, png),
  );
  showCommand(facts, conditions);
}

async function start() {
  const wantsLight = window.matchMedia && matchMedia("(prefers-color-scheme: light)").matches;
  setTheme(wantsLight);
  byId("theme").addEventListener("click", () => setTheme(!document.documentElement.classList.contains("light")));
  byId("print").addEventListener("click", () => window.print());
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  makeHelp();
  const loading = byId("loading");
  const facts = await inlineSource.facts();
  page.facts = facts;
  showFacts(facts);
  const table = new Table(facts);
  const conditions = new Conditions(table);
  page.table = table;
  page.conditions = conditions;

  let view = null, failure = null;
  const load = async (number) => {
    const bytes = await inlineSource.piece(number);
    table.addPiece(bytes, facts.pieces[number]);
    return table.pieces[number];
  };
  // The first piece decides the extent of a field without known size.
  let loadedPieces = 0;
  if (facts.pieces.length) {
    loading.textContent = "Reading localizations…";
    await load(loadedPieces++);
  }
  const testsLack = new URLSearchParams(location.search).has("no-webgl");
  try {
    if (testsLack) throw new Error("the address asks for no WebGL2");
    view = new View(table, conditions, byId("picture"), byId("overlay"), () => (page.times.firstPicture ??= performance.now()));
    view.onLost = () => {
      loading.hidden = false;
      loading.textContent = "The graphics driver has stopped: load the page again.";
    };
    if (facts.drift) {
      const perPx = table.pixelNm || 1;
      view.picture.setDrift(facts.drift.x_nm.map((nm) => nm / perPx), facts.drift.y_nm.map((nm) => nm / perPx));
    }
    if (table.pieces.length) view.addPiece(table.pieces[0]);
  } catch (error) {
    view = null;
    failure = error;
  }
  page.view = view;
  if (!view) {
    for (const id of ["picture", "overlay", "tools", "zooms"]) byId(id).hidden = true;
    const still = await inlineSource.still();
    if (still) {
      byId("still").src = still;
      byId("still").hidden = false;
    }
    byId("picture-panel").hidden = byId("measure-panel").hidden = true;
  }
  while (loadedPieces < facts.pieces.length) {
    const part = await load(loadedPieces++);
    view?.addPiece(part);
    if (loadedPieces % 4 === 0) loading.textContent = `Reading localizations: ${Math.round((100 * loadedPieces) / facts.pieces.length)} %`;
    // The picture of the sample appears while other pieces are read.
    if (loadedPieces % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  if (view && !(facts.width > 0)) view.fit();
  view?.redraw();
  loading.hidden = true;
  if (failure) {
    loading.hidden = false;
    loading.textContent = `Picture as drawn by glint, because ${failure.message}. Filters change counts and figures, not the picture.`;
  } else if (!table.size) {
    loading.hidden = false;
    loading.textContent = "The table has no rows.";
  }

  const filters = new Filters(
    table,
    conditions,
    async (isFinal) => {
      view?.redraw();
      showCommand(facts, conditions);
      await filters.count();
      if (isFinal) {
        await showNena(facts, filters);
        tools?.describe();
      }
    },
    (counts) => showCounts(facts, filters, counts),
  );
  page.filters = filters;
  page.resetFilters = () => {
    filters.reset();
    view?.redraw();
    showCommand(facts, conditions);
    return filters.count().then(() => showNena(facts, filters)).then(() => tools?.describe());
  };
  byId("filters").append(
    make("div", { class: "row" }, make("span", { class: "soft grow", text: "Drag the limits. Gray: all rows." }), make("button", { type: "button", id: "reset-filters", text: "Reset", onclick: () => page.resetFilters() })),
    ...filters.histograms.map((histogram) => histogram.element),
  );
  let tools = null;
  if (view) {
    tools = new Tools(view, filters);
    page.tools = tools;
    pictureControls(view, facts);
    toolbars(view, tools);
  }
  listenToKeys(view, tools);
  exportControls(facts, view, filters);
  addEventListener("beforeprint", () => {
    byId("printed").src = view ? canvasOfView(view).toDataURL() : byId("still").src;
    byId("printed").hidden = false;
  });
  await filters.count();
  endCards(facts, table);
  page.isBusy = () => isBusy("count", "nena") || (view && (view.drawing || view.drawn !== view.generation));
  page.ready = true;
  page.times.ready = performance.now();
  await showNena(facts, filters);
}

start().catch((error) => {
  const loading = byId("loading");
  loading.hidden = false;
  loading.textContent = `The page cannot show its data: ${error.message}`;
  page.error = String(error.stack ?? error);
});
