// The picture on the page: what it shows, moving and zooming, and drawing again after changes.
// SPDX-License-Identifier: MIT
import { channelColors, colorTable } from "./colors.js";
import { titleOf } from "./filters.js";
import { drawColorBar, drawMarks, drawScaleBar } from "./overlay.js";
import { Picture } from "./picture.js";

const firstResponseMs = 45, laterBatchMs = 110, showEveryMs = 220;

export class View {
  /** Throws an Error if the browser cannot draw. */
  constructor(table, conditions, canvas, overlay, onShown) {
    this.table = table;
    this.conditions = conditions;
    this.canvas = canvas;
    this.overlay = overlay;
    this.onShown = onShown; // after the first batch of a picture
    this.picture = new Picture(canvas, table);
    this.x = 0; // middle, px
    this.y = 0;
    this.scale = 1; // CSS pixels per px
    this.color = "density";
    this.blur = "own";
    this.fixedNm = 10;
    this.withDrift = false;
    this.maps = { density: "inferno", value: "blue-orange" };
    this.look = { brightness: 1, gamma: 0.65, channelColors };
    this.marks = [];
    this.generation = 0;
    this.firstBatch = 1;
    this.batch = 1;
    this.drawing = false;
    this.timings = {};
    const lpx = table.named.lpx_nm ?? table.named.lpx, lpy = table.named.lpy_nm ?? table.named.lpy;
    this.widthX = lpx && lpx.edges.length ? lpx : null;
    this.widthY = this.widthX && lpy && lpy.edges.length ? lpy : this.widthX;
    if (!this.widthX) this.blur = "fixed";
    this.fixedNm = table.pixelNm ? 10 : 0.1;
    addEventListener("resize", () => this.redraw());
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.onLost?.();
    });
    this.fit();
    this.setTables();
    this.setMap();
  }

  /** The field in px: the frame if it is known and contains rows, else the rows' extent. */
  field() {
    const { width, height } = this.table.facts;
    const [x0, x1, y0, y1] = this.table.bounds;
    if (width > 0 && height > 0) return [-0.5, width - 0.5, -0.5, height - 0.5];
    if (!(x0 <= x1)) return [-0.5, 63.5, -0.5, 63.5];
    const at = (axis, code) => (axis.first + code + 0.5) * axis.step;
    const field = [at(this.table.x, x0), at(this.table.x, x1), at(this.table.y, y0), at(this.table.y, y1)];
    const pad = Math.max(0.02 * (field[1] - field[0]), 0.02 * (field[3] - field[2]), 0.05);
    return [field[0] - pad, field[1] + pad, field[2] - pad, field[3] + pad];
  }

  fit() {
    const [x0, x1, y0, y1] = this.field();
    this.x = (x0 + x1) / 2;
    this.y = (y0 + y1) / 2;
    const box = this.canvas.parentElement;
    this.scale = Math.min(box.clientWidth / (x1 - x0), box.clientHeight / (y1 - y0)) || 1;
    this.fitted = this.scale;
    this.redraw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const [px, py] = this.toPx(x, y);
    const largest = 400 / Math.max(this.table.step * 8, 1e-9); // a typical molecule then has a width of 400 pixels
    this.scale = Math.min(Math.max(this.scale * factor, this.fitted / 8), Math.max(largest, this.fitted));
    const [nx, ny] = this.toPx(x, y);
    this.x += px - nx;
    this.y += py - ny;
    this.redraw();
  }

  pan(dx, dy) {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.redraw();
  }

  show(x, y, scale) {
    this.x = x;
    this.y = y;
    this.scale = scale;
    this.redraw();
  }

  /** CSS pixels of the canvas to px, and back. */
  toPx(x, y) {
    return [this.x + (x - this.canvas.clientWidth / 2) / this.scale, this.y + (y - this.canvas.clientHeight / 2) / this.scale];
  }
  toCss([x, y]) {
    return [(x - this.x) * this.scale + this.canvas.clientWidth / 2, (y - this.y) * this.scale + this.canvas.clientHeight / 2];
  }

  get ratio() {
    return window.devicePixelRatio || 1;
  }

  /** Columns by which the picture can be coloured: [value, label]. */
  colorChoices() {
    const choices = [["density", "density"], ["frame", "frame"]];
    if (this.table.named.z) choices.push(["z", "z"]);
    for (const column of this.table.cells) {
      if (column.name === "channel") choices.push(["channel", "channel"]);
      else if (column.edges.length > 1 && this.table.varies(column)) choices.push([column.name, titleOf(column).replace(/ \(.*/, "").toLowerCase()]);
    }
    return choices;
  }

  get colorColumn() {
    return this.table.named[this.color] ?? null;
  }

  setTables() {
    const { table } = this;
    const perPx = table.perPx;
    const widths = (column) => column && column.edges.length && Array.from({ length: 256 }, (_, code) => {
      const value = table.valueOfCode(column, Math.min(code, column.last));
      return Number.isFinite(value) ? value / perPx : 0;
    });
    let hues = null;
    const column = this.colorColumn;
    if (this.color === "channel") hues = new Array(256).fill(0);
    else if (column && column.kind === "cells")
      hues = Array.from({ length: 256 }, (_, code) => (code > column.last ? -1 : code / Math.max(1, column.last)));
    this.picture.setTables(widths(this.widthX), widths(this.widthY), hues);
  }

  setMap() {
    this.colors = colorTable(this.color === "density" ? this.maps.density : this.maps.value);
    this.picture.setMap(this.colors);
  }

  /** Changes what is drawn: {color, blur, fixedNm, withDrift, map}. */
  change(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (name === "map") this.maps[this.color === "density" ? "density" : "value"] = value;
      else if (name === "brightness" || name === "gamma") this.look[name] = value;
      else this[name] = value;
    }
    if ("color" in changes) this.setTables();
    if ("color" in changes || "map" in changes) this.setMap();
    if (Object.keys(changes).every((name) => ["brightness", "gamma", "map"].includes(name))) this.showAgain();
    else this.redraw();
  }

  style() {
    const { table } = this;
    const own = this.blur === "own" && this.widthX;
    const column = this.colorColumn;
    const range = this.color === "frame" ? [table.firstCode(table.named.frame), table.lastFrame] : this.color === "z" ? this.zRange() : [0, 1];
    return {
      widthX: own ? this.widthX : null,
      widthY: own ? this.widthY : null,
      fixedPx: this.fixedNm / table.perPx,
      typicalPx: own ? this.typicalWidthPx() : this.fixedNm / table.perPx,
      color: this.color === "density" || this.color === "frame" || this.color === "z" || this.color === "channel" ? this.color : column,
      range,
      withDrift: this.withDrift,
    };
  }

  /** The middle 98 % of z, in codes. */
  zRange() {
    const { table } = this;
    if (this.zCodes && this.zCodes.rows === table.loaded) return this.zCodes.range;
    const codes = [];
    const step = Math.max(1, Math.floor(table.loaded / 20000));
    for (let row = 0; row < table.loaded; row += step) if (table.z[row] !== 65535) codes.push(table.z[row]);
    codes.sort((a, b) => a - b);
    const range = codes.length ? [codes[Math.floor(0.01 * (codes.length - 1))], codes[Math.ceil(0.99 * (codes.length - 1))]] : [0, 1];
    this.zCodes = { rows: table.loaded, range };
    return range;
  }

  /** Nine of ten molecules have at most this width. */
  typicalWidthPx() {
    if (this.typical && this.typical.rows === this.table.loaded) return this.typical.px;
    const widths = [];
    const step = Math.max(1, Math.floor(this.table.loaded / 5000));
    for (let row = 0; row < this.table.loaded; row += step) widths.push(this.table.value(this.widthX, row) / this.table.perPx);
    widths.sort((a, b) => a - b);
    this.typical = { rows: this.table.loaded, px: widths[Math.floor(0.9 * (widths.length - 1))] || 0 };
    return this.typical.px;
  }

  addPiece(piece) {
    this.picture.upload(piece);
    this.wake();
  }

  /** Draws everything again. */
  redraw() {
    ++this.generation;
    this.wake();
  }

  wake() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => this.draw());
  }

  showAgain() {
    this.picture.show(this.look);
    this.drawOverlay();
  }

  async draw() {
    let shown = 0;
    try {
      for (;;) {
        if (this.drawn !== this.generation) this.beginPicture();
        const generation = this.generation;
        if (this.picture.isComplete) {
          this.endPicture();
          if (this.generation === generation && this.picture.isComplete) break;
          continue;
        }
        const isFirst = this.picture.drawn === 0;
        const start = performance.now();
        // Each batch costs time of its own: a picture has at most 33.
        const pieces = isFirst ? this.firstBatch : Math.max(this.batch, Math.ceil(this.table.pieces.length / 32));
        this.picture.add(pieces);
        if (isFirst || start - shown > showEveryMs) {
          if (this.needsLevel === "now") this.chooseLevel("later");
          this.picture.show(this.look);
          shown = start;
          if (isFirst) this.drawOverlay();
        }
        await this.picture.finished();
        const took = Math.max(1, performance.now() - start);
        const aim = isFirst ? firstResponseMs : laterBatchMs;
        const next = Math.max(1, Math.min(1024, Math.floor(pieces * Math.min(4, aim / took))));
        if (isFirst) {
          this.firstBatch = next;
          this.batch = Math.max(this.batch, next);
          this.timings.first = performance.now() - this.begun;
          this.onShown?.();
        } else {
          this.batch = next;
        }
      }
    } finally {
      this.drawing = false;
    }
    if (this.drawn !== this.generation || !this.picture.isComplete) this.wake();
  }

  beginPicture() {
    this.begun = performance.now();
    const ratio = this.ratio;
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio)), height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    const key = JSON.stringify([this.scale, this.color === "channel", this.blur, this.fixedNm, width, height, this.conditions.texts()]);
    if (key !== this.levelKey || this.table.loaded !== this.levelRows) {
      const change = this.levelScale ? this.scale / this.levelScale : 2;
      this.needsLevel = !(this.picture.level > 0) || Math.abs(Math.log(change)) > 0.3 || this.table.loaded !== this.levelRows ? "now" : "later";
    }
    this.levelKey = key;
    this.levelRows = this.table.loaded;
    this.picture.begin({ x: this.x, y: this.y, scale: this.scale * ratio, width, height }, this.style(), this.conditions);
    this.drawn = this.generation;
  }

  chooseLevel(next) {
    this.picture.chooseLevel();
    this.levelScale = this.scale;
    this.needsLevel = next;
  }

  endPicture() {
    if (this.needsLevel) this.chooseLevel(null);
    this.showAgain();
    this.timings.complete = performance.now() - this.begun;
    this.complete = this.generation;
  }

  /** Returns once the picture is complete. */
  async settled() {
    while (this.drawing || this.drawn !== this.generation) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  colorBar() {
    const { table } = this;
    if (this.color === "density") return null;
    if (this.color === "channel") {
      const names = table.facts.channels;
      const column = table.named.channel;
      const first = column.typical.find((value) => Number.isFinite(value)) ?? 0;
      return {
        names: Array.from({ length: Math.min(4, column.last + 1) }, (_, k) => [names[k] ?? `channel ${Math.round(first) + k}`, channelColors[k]]),
      };
    }
    if (this.color === "frame") {
      return { label: "frame", low: table.firstCode(table.named.frame), high: table.lastFrame, colors: this.colors };
    }
    if (this.color === "z") {
      const [low, high] = this.zRange();
      return { label: "z (nm)", low: table.valueOfCode(table.named.z, low), high: table.valueOfCode(table.named.z, high), colors: this.colors };
    }
    const column = this.colorColumn;
    return { label: titleOf(column), low: column.edges[0], high: column.edges[column.last - 1], log: column.log, colors: this.colors };
  }

  drawOverlay(canvas = this.overlay, isClear = true) {
    const ratio = this.ratio;
    const context = canvas.getContext("2d");
    if (isClear && (canvas.width !== this.canvas.width || canvas.height !== this.canvas.height)) {
      canvas.width = this.canvas.width;
      canvas.height = this.canvas.height;
    } else if (isClear) {
      context.clearRect(0, 0, canvas.width, canvas.height);
    }
    const marks = this.marks.map((mark) => ({ ...mark, halfWidth: mark.halfWidthPx ? mark.halfWidthPx * this.scale * ratio : 0 }));
    drawMarks(context, marks, (place) => this.toCss(place).map((at) => at * ratio), ratio);
    drawScaleBar(context, canvas.width, canvas.height, (this.scale * ratio) / this.table.perPx, this.table.unit, ratio);
    const bar = this.colorBar();
    if (bar) drawColorBar(context, canvas.width, canvas.height, bar, ratio);
  }
}
