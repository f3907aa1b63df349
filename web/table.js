// The rows: columns of integer codes, as the file stores them, and the conditions on them.
// SPDX-License-Identifier: MIT

export const nanCell = 255;

/** Rows in memory. `frame`, `xy`, `z` and `packs` (four columns of cells each) are uploaded as they are. */
export class Table {
  constructor(facts) {
    this.facts = facts;
    this.size = facts.stored_rows;
    this.loaded = 0;
    this.pieces = []; // {begin, end} of those that were added
    this.pixelNm = facts.pixel_size_nm > 0 ? facts.pixel_size_nm : 0;
    this.unit = this.pixelNm ? "nm" : "px";
    this.perPx = this.pixelNm || 1; // `unit` per px
    this.columns = facts.columns;
    this.named = Object.fromEntries(this.columns.map((column) => [column.name, column]));
    this.x = this.named.x;
    this.y = this.named.y;
    this.step = this.x.step;
    this.xy = new Uint32Array(2 * this.size);
    this.frame = new Uint32Array(this.size);
    this.z = this.named.z ? new Uint16Array(this.size) : null;
    this.cells = this.columns.filter((column) => column.kind === "cells");
    this.packs = [];
    this.cells.forEach((column, slot) => {
      column.slot = slot;
      column.last = column.edges.length;
      if (slot % 4 === 0) this.packs.push(new Uint8Array(4 * this.size));
    });
    this.lastFrame = 0;
    this.firstFrame = Infinity;
    this.bounds = [Infinity, -Infinity, Infinity, -Infinity]; // x and y, codes
    this.zBounds = [65534, 0];
  }

  /** Adds a piece, the bytes of all its columns one after another. */
  addPiece(bytes, rows) {
    const begin = this.loaded;
    let at = 0;
    const whole = (column, put) => {
      for (let row = 0; row < rows; ++row) {
        let code = 0;
        for (let byte = 0; byte < column.bytes; ++byte) code |= bytes[at + byte * rows + row] << (8 * byte);
        put(begin + row, code >>> 0);
      }
      at += column.bytes * rows;
    };
    for (const column of this.columns) {
      if (column.kind === "frame") {
        let frame = 0;
        whole(column, (row, code) => {
          frame = (frame + code) >>> 0;
          this.frame[row] = frame;
        });
        if (rows > 0) this.firstFrame = Math.min(this.firstFrame, this.frame[begin]);
        this.lastFrame = Math.max(this.lastFrame, frame);
      } else if (column.kind === "position") {
        const axis = column.name === "x" ? 0 : 1;
        let low = this.bounds[2 * axis], high = this.bounds[2 * axis + 1];
        whole(column, (row, code) => {
          this.xy[2 * row + axis] = code;
          if (code < low) low = code;
          if (code > high) high = code;
        });
        this.bounds[2 * axis] = low;
        this.bounds[2 * axis + 1] = high;
      } else if (column.kind === "axial") {
        whole(column, (row, code) => {
          this.z[row] = code;
          if (code === 65535) return;
          if (code < this.zBounds[0]) this.zBounds[0] = code;
          if (code > this.zBounds[1]) this.zBounds[1] = code;
        });
      } else {
        const pack = this.packs[column.slot >> 2], component = column.slot & 3;
        const minus = column.minus < 0 ? null : this.columns[column.minus];
        const other = minus && this.packs[minus.slot >> 2], otherComponent = minus && minus.slot & 3;
        for (let row = 0; row < rows; ++row) {
          const to = 4 * (begin + row);
          pack[to + component] = bytes[at + row] + (other ? other[to + otherComponent] : 0);
        }
        at += rows;
      }
    }
    this.loaded = begin + rows;
    this.pieces.push({ begin, end: this.loaded });
  }

  code(column, row) {
    if (column.kind === "cells") return this.packs[column.slot >> 2][4 * row + (column.slot & 3)];
    if (column.kind === "frame") return this.frame[row];
    if (column.kind === "axial") return this.z[row];
    return this.xy[2 * row + (column.name === "x" ? 0 : 1)];
  }

  /** Returns the value for which a code stands: the middle of an interval, or the mean of a cell. */
  value(column, row) {
    return this.valueOfCode(column, this.code(column, row));
  }
  valueOfCode(column, code) {
    if (column.kind === "frame") return code;
    if (column.kind === "cells") return code === nanCell ? NaN : (column.typical[code] ?? this.middleOfCell(column, code));
    if (column.kind === "axial" && code === 65535) return NaN;
    return (column.first + code + 0.5) * column.step;
  }
  middleOfCell(column, code) {
    const low = column.edges[code - 1], high = column.edges[code];
    if (low === undefined) return high ?? NaN;
    return high === undefined ? low : column.log ? Math.sqrt(low * high) : (low + high) / 2;
  }
  /** Whether a column has more than one value. */
  varies(column) {
    for (let row = 1; row < this.loaded; ++row) if (this.code(column, row) !== this.code(column, 0)) return true;
    return false;
  }
  xPx(row) {
    return (this.x.first + this.xy[2 * row] + 0.5) * this.step;
  }
  yPx(row) {
    return (this.y.first + this.xy[2 * row + 1] + 0.5) * this.step;
  }

  /** The largest code of a column that stands for a value. */
  lastCode(column) {
    if (column.kind === "cells") return column.last;
    if (column.kind === "frame") return this.lastFrame;
    if (column.kind === "axial") return this.zBounds[1];
    return this.bounds[column.name === "x" ? 1 : 3];
  }
  firstCode(column) {
    if (column.kind === "frame") return Math.min(this.firstFrame, this.lastFrame);
    if (column.kind === "axial") return this.zBounds[0];
    return column.kind === "cells" ? 0 : this.bounds[column.name === "x" ? 0 : 2];
  }
  /** Returns the lower edge of a code's interval; -Infinity below the first edge. */
  lowerEdge(column, code) {
    if (column.kind === "frame") return code;
    if (column.kind === "cells") return code > 0 ? column.edges[code - 1] : -Infinity;
    return (column.first + code) * column.step;
  }
  upperEdge(column, code) {
    if (column.kind === "frame") return code + 1;
    if (column.kind === "cells") return code < column.last ? column.edges[code] : Infinity;
    return (column.first + code + 1) * column.step;
  }
}

/** Conditions on columns: ranges of codes, inclusive. */
export class Conditions {
  constructor(table) {
    this.table = table;
    this.ranges = new Map(); // column: [low, high]
  }
  /** Returns the range of a column; null if all rows fulfil it. */
  of(column) {
    return this.ranges.get(column) ?? null;
  }
  set(column, low, high) {
    const first = this.table.firstCode(column), last = this.table.lastCode(column);
    if (low <= first && high >= last) this.ranges.delete(column);
    else this.ranges.set(column, [Math.max(low, first), Math.min(high, last)]);
  }
  clear() {
    this.ranges.clear();
  }
  get isEmpty() {
    return this.ranges.size === 0;
  }
  /** Returns the conditions as `glint filter` reads them. Their limits are edges of intervals, with all digits. */
  texts() {
    const texts = [];
    for (const column of this.table.columns) {
      const range = this.of(column);
      if (!range) continue;
      const [low, high] = range;
      const name = column.expression;
      if (low > this.table.firstCode(column)) texts.push(`${name} >= ${this.table.lowerEdge(column, low)}`);
      if (high < this.table.lastCode(column))
        texts.push(column.kind === "frame" ? `${name} <= ${high}` : `${name} < ${this.table.upperEdge(column, high)}`);
      // A row without the value fulfils no condition on it.
    }
    return texts;
  }
  /** Sets mask[row] to 1 for rows that fulfil all conditions, else to 0. Returns how many do. */
  evaluate(begin, end, mask) {
    const table = this.table;
    mask.fill(1, begin, end);
    for (const [column, [low, high]] of this.ranges) {
      if (column.kind === "cells") {
        const pack = table.packs[column.slot >> 2];
        for (let row = begin, at = 4 * begin + (column.slot & 3); row < end; ++row, at += 4)
          if (pack[at] < low || pack[at] > high) mask[row] = 0;
      } else if (column.kind === "position") {
        for (let row = begin, at = 2 * begin + (column.name === "x" ? 0 : 1); row < end; ++row, at += 2)
          if (table.xy[at] < low || table.xy[at] > high) mask[row] = 0;
      } else {
        const codes = column.kind === "frame" ? table.frame : table.z;
        for (let row = begin; row < end; ++row) if (codes[row] < low || codes[row] > high) mask[row] = 0;
      }
    }
    let count = 0;
    for (let row = begin; row < end; ++row) count += mask[row];
    return count;
  }
}
