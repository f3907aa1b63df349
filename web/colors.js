// Colour maps. All but turbo are readable with every kind of colour vision.
// SPDX-License-Identifier: MIT

/** Evenly spaced colours, the same as in src/microscopy/render/colormap.cpp. */
const colorKnots = {
  inferno:
    "00000402020c0504170a072210092d160b391e0c45260c512f0a5b380962400a67490b6a510e6c59106e61136e69166e7119" +
    "6e781c6d801f6c88226a902568982766a02a63a82e5fb0315bb73557bf3952c63d4dcc4248d34743d94d3ddf5337e45a31e9" +
    "612bed6925f1711ff47918f78212f98b0bfa9407fb9d07fca60cfcb014fbba1ffac42af8cd37f6d746f4e156f2ea69f2f27d" +
    "f5f992fcffa4",
  magma:
    "00000402020b0504160907200e0b2b140e361a104221114e29115a311165390f6e420f754a107952137c5a167e6219806a1c" +
    "81721f81792282812581892881912b81992d80a1307eaa337db2357bba3878c23b75ca3e72d2426fd9466be04c67e75263ec" +
    "5860f1605df4695cf7725cf97b5dfb8560fc8e64fd9869fea16efeaa74feb47bfebd82fec68afecf92fed89afde2a3fdebac" +
    "fcf4b6fcfdbf",
  viridis:
    "44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b38598c355e8d3363" +
    "8d31688e2e6d8e2c718e2a768e297b8e27808e25848e23898e218e8d20928c1f978b1e9c891fa18821a58524aa8328ae802e" +
    "b37c35b7793dbc7446c06f50c46a5ac86465cb5e70cf577cd25089d54895d840a2da37b0dd2fbddf26cae11fd8e219e5e419" +
    "f1e51dfde725",
  cividis:
    "00224e002758012c640030700b34701d396f263d6e2f426d37466c3e4b6c454f6c4b546c51596d575d6d5d626e636670696b" +
    "716e70737474757979777f7e788583798c8878928c789891779f9776a59c74aca172b3a670b9ac6dc0b16ac7b767cebc63d5" +
    "c25edcc859e3ce53ebd44cf2da44fbe037fee837",
  gray:
    "000000ffffff",
  turbo:
    "30123b38266a3e3892424ab4455cd0476de6477ef5448eff3d9ffe32aff626bfe81ccdd817dac61ae5b625eda638f49150fa" +
    "7b6afd6583ff519afe41acfb38bdf534cdec34dce236e9d539f3c83bfaba39feab34fe982cfc8524f8711bf25e13e94d0ddf" +
    "3f08d43205c62603b61c01a41301900b017a0403",
  // Blue, pale and orange: for a quantity whose brightness is the density.
  "blue-orange": "2a6fff4f8fff79aeffa6c9f5d8dcd8f5d79bffbd59ffa02bff8200",
};

export const densityMaps = ["inferno", "viridis", "magma", "cividis", "gray"];
export const valueMaps = ["blue-orange", "cividis", "viridis", "turbo"];
/** Okabe and Ito's colours in an order of contrast, for channels and curves. */
export const channelColors = ["#ff5ed0", "#35d95f", "#3fb8ff", "#ffd23f"];

/** Returns 256 RGBA colours of a map. */
export function colorTable(name) {
  const text = colorKnots[name];
  const knots = text.length / 6;
  const table = new Uint8Array(256 * 4);
  for (let k = 0; k < 256; ++k) {
    const place = (k / 255) * (knots - 1);
    const first = Math.min(Math.floor(place), knots - 2);
    for (let c = 0; c < 3; ++c) {
      const from = parseInt(text.substr(6 * first + 2 * c, 2), 16);
      const to = parseInt(text.substr(6 * first + 6 + 2 * c, 2), 16);
      table[4 * k + c] = Math.round(from + (place - first) * (to - from));
    }
    table[4 * k + 3] = 255;
  }
  return table;
}

/** "#ff8800" as three numbers from 0 to 1. */
export function rgbOf(color) {
  return [1, 3, 5].map((at) => parseInt(color.substr(at, 2), 16) / 255);
}
