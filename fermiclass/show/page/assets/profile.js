// All features of the selected source beside the ranges of the classes.
const REACH = 4; // of the axis; what lies beyond is shown at its edge
let profile = null;

function standard(j, value) {
  return (value - data.features.centre[j]) / data.features.scale[j];
}

function within(value) {
  return Math.max(-REACH, Math.min(REACH, value));
}

/** Return the ranges of a class as a broken line, with a gap at the median of each. */
function rangeLine(c) {
  const gap = 0.06;
  const offset = (c - (data.classes.length - 1) / 2) * Math.min(0.25, 0.8 / data.classes.length);
  const line = [];
  data.features.ranges[c].forEach(([low, median, high], j) => {
    if (low === null) return;
    const [a, m, b] = [low, median, high].map((value) => within(standard(j, value)));
    const y = j + offset;
    line.push([a, y], [Math.max(a, m - gap), y], [null, null], [Math.min(b, m + gap), y], [b, y], [null, null]);
  });
  return line;
}

function profileSeries() {
  const i = state.selected;
  const ink = pageColour("ink");
  const points = i === null ? [] : data.features.names.map((_, j) => {
    const value = features.values[j][i];
    if (value === null || data.features.centre[j] === null) return null;
    const [x, error] = [standard(j, value), features.errors[j][i] / data.features.scale[j]];
    return { j, x: within(x), low: within(x - error), high: within(x + error) };
  }).filter(Boolean);
  const line = points.flatMap(({ j, low, high }) => [[low, j], [high, j], [null, null]]);
  return [
    ...data.classes.map((_, c) => quietLine(`range-${c}`, rangeLine(c), { color: classColour(c), width: 4, cap: "butt" }, { z: 2 })),
    quietLine("profile-bars", line, { color: ink, width: 2 }, { z: 8 }),
    {
      id: "profile-points",
      type: "scatter",
      symbol: i === null ? "circle" : symbolOf(sources.predicted[i]),
      symbolSize: 11,
      z: 9,
      silent: true,
      data: points.map(({ j, x }) => [x, j]),
      itemStyle: { color: pageColour("paper"), borderColor: ink, borderWidth: 2 },
    },
  ];
}

function drawProfile() {
  const names = data.features.names;
  profile.setOption({
    animation: false,
    textStyle: textStyle(),
    grid: { left: Math.min(150, 0.36 * profile.getWidth()), right: 14, top: 8, bottom: 44 },
    xAxis: axis({ min: -REACH, max: REACH, name: "in units of the spread of all with a class", nameGap: 26, splitLine: { show: true, lineStyle: { color: pageColour("line") } } }),
    yAxis: axis({
      min: -1, max: names.length, interval: 1, inverse: true, scale: false,
      axisTick: { show: false },
      axisLabel: { color: pageColour("ink"), fontSize: profile.getWidth() < 500 ? 10 : 12, formatter: (j) => names[j] ?? "" },
    }),
    series: profileSeries(),
  });
  document.getElementById("profile-about").textContent =
    state.selected === null ? "Select a source to see all its features here." : `All features of ${describe(state.selected)}.`;
}

function makeProfile() {
  if (!features) return;
  document.getElementById("profile").style.height = `${60 + Math.max(30, 7 * data.classes.length) * (data.features.names.length + 1)}px`;
  profile = makeChart("profile", drawProfile, { onResize: true });
  drawProfile();
  on("selected", drawProfile);
}
