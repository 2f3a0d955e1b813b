// Two features with error bars, of the sources whose class is known or of the labelled ones.
const features = data.features && decodeFeatures(data.features);
const known = data.features && decodeFeatures(data.features.known);
let featureMap = null;

// What is shown first, if there are features of these names: the shape of the spectrum, with error bars.
const FIRST = ["LP_Index", "LP_beta"];

function chosenFeatures() {
  return ["feature-x", "feature-y"].map((id) => Number(document.getElementById(id).value));
}

function showsKnown() {
  return document.getElementById("feature-of").value === "known";
}

/** Return a source's place and errors, [x, y, dx, dy], in a set of features. */
function inPlane(set, i) {
  const [a, b] = chosenFeatures();
  return [set.values[a][i], set.values[b][i], set.errors[a][i], set.errors[b][i]];
}

function planeSeries() {
  const set = showsKnown() ? known : features;
  const classes = showsKnown() ? data.features.known.classes : sources.predicted;
  const rows = showsKnown() ? classes.map((_, i) => i) : state.listed;
  const withBars = document.getElementById("feature-bars").checked;
  const byClass = data.classes.map(() => []);
  for (const i of rows) byClass[classes[i]].push([...inPlane(set, i), i]);
  return byClass.flatMap((points, c) => [
    quietLine(`bars-${c}`, withBars ? bars(points) : [], { color: withAlpha(classColour(c), 0.22), width: 1 }, { z: 2, clip: true }),
    {
      id: `points-${c}`,
      type: "scatter",
      symbol: symbolOf(c),
      symbolSize: 5,
      z: 3,
      progressive: 0,
      silent: showsKnown(),
      emphasis: { disabled: true },
      data: points.map(([x, y, , , i]) => [x, y, i]),
      itemStyle: { color: withAlpha(classColour(c), 0.75) },
    },
  ]);
}

function selectedInPlane() {
  const i = state.selected;
  const ink = pageColour("ink");
  const point = i === null ? [] : [inPlane(features, i)];
  return [
    quietLine("selected-bars", bars(point), { color: ink, width: 2 }, { z: 8 }),
    {
      id: "selected",
      type: "scatter",
      symbol: i === null ? "circle" : symbolOf(sources.predicted[i]),
      symbolSize: 13,
      z: 9,
      silent: true,
      data: point.map(([x, y]) => [x, y]),
      itemStyle: { color: i === null ? ink : classColour(sources.predicted[i]), borderColor: ink, borderWidth: 2 },
    },
  ];
}

/** Return the limits of an axis: all values of the feature, known and labelled, so that nothing is left out. */
function limits(j) {
  let [low, high] = [Infinity, -Infinity];
  for (const values of [features.values[j], known.values[j]]) {
    for (const value of values) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(low < high)) [low, high] = low === high ? [low - 1, high + 1] : [0, 1];
  const margin = 0.03 * (high - low);
  return { min: low - margin, max: high + margin };
}

const PLANE_GRID = { left: 62, right: 14, top: 12, bottom: 48 };
const PLACES = 3; // of numbers on axes

/** Return an axis of a feature; where all numbers are small, its name has their power of ten. */
function featureAxis(j, nameGap) {
  const { min, max } = limits(j);
  const exponent = Math.floor(Math.log10(Math.max(Math.abs(min), Math.abs(max))));
  const shift = exponent < -2 ? exponent : 0;
  const number = (value) => String(Number((value / 10 ** shift).toFixed(PLACES))).replace("-", "−");
  return axis({
    min, max, nameGap,
    name: data.features.names[j] + (shift ? `, in ${tenToThe(shift)}` : ""),
    axisLabel: { color: pageColour("soft"), formatter: number, showMinLabel: false, showMaxLabel: false },
  });
}

function drawFeatures() {
  const [a, b] = chosenFeatures();
  featureMap.setOption({
    animation: false,
    textStyle: textStyle(),
    grid: PLANE_GRID,
    xAxis: featureAxis(a, 28),
    yAxis: featureAxis(b, 44),
    tooltip: tooltip(({ value }) => describe(value[2])),
    series: planeSeries(),
  });
  const shown = showsKnown() ? `${data.features.known.classes.length.toLocaleString("en")} sources whose class is known` : `${state.listed.length.toLocaleString("en")} labelled sources, with their most probable classes`;
  document.getElementById("feature-about").textContent =
    `Across: ${data.features.about[a]}. Up: ${data.features.about[b]}. ${shown}.`;
}

function nameSelected() {
  const place = document.getElementById("feature-selected");
  place.textContent = state.selected === null ? "" : `selected: ${sources.name[state.selected]}`;
}

function makeFeatures() {
  if (!features) return;
  const controls = ["feature-x", "feature-y", "feature-of", "feature-bars"].map((id) => document.getElementById(id));
  FIRST.forEach((name, k) => {
    const j = data.features.names.indexOf(name);
    controls[k].value = String(j >= 0 ? j : Math.min(k, data.features.names.length - 1));
  });
  if (!data.features.known.classes.length) controls[2].value = "labelled";
  featureMap = makeChart("feature-map", drawFeatures);
  drawFeatures();
  const drawSelected = makeOverlay(featureMap, "feature-map", PLANE_GRID, selectedInPlane);
  pickOnClick(featureMap, (i) => inPlane(features, i), () => (showsKnown() ? [] : state.listed));
  for (const control of controls) control.addEventListener("input", drawFeatures);
  on("listed", () => { if (!showsKnown()) drawFeatures(); });
  on("selected", () => {
    drawSelected();
    nameSelected();
  });
}
