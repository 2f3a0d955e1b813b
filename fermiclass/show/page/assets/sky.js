// The map of the sky.
const ZOOM = 2; // of one press of a button
let sky = null;
const ROOM = 1.03; // around the whole sky

function onSky(i) {
  return [sources.x[i], sources.y[i]];
}

function shownOnSky() {
  return state.listed.filter((i) => !state.hiddenClasses.has(sources.predicted[i]));
}

/** Return a series for each class, the surest sources on top. */
function skySeries() {
  const byClass = data.classes.map(() => []);
  for (const i of shownOnSky()) if (sources.x[i] !== null) byClass[sources.predicted[i]].push(i);
  const size = Math.min(numSources > 1500 ? 6 : 8, Math.max(3, sky.getWidth() / 130));
  return byClass.map((rows, c) => {
    rows.sort((a, b) => sources.pmax[a] - sources.pmax[b]);
    return {
      id: `class-${c}`,
      type: "scatter",
      symbol: symbolOf(c),
      symbolSize: size,
      z: 3,
      progressive: 0,
      emphasis: { disabled: true },
      data: rows.map((i) => [sources.x[i], sources.y[i], i]),
      itemStyle: { color: ({ value }) => sourceColour(value[2]) },
    };
  });
}

const SKY_GRID = { left: 0, right: 0, top: 0, bottom: 0 };

/** Return the ring around the selected source. */
function ringSeries() {
  const i = state.selected;
  return [{
    id: "ring",
    type: "scatter",
    symbol: "circle",
    symbolSize: 20,
    silent: true,
    data: i === null || sources.x[i] === null ? [] : [onSky(i)],
    itemStyle: { color: "transparent", borderColor: pageColour("ink"), borderWidth: 2.5 },
  }];
}

function drawSky() {
  const [width, height] = data.sky.extent;
  const line = { color: pageColour("line"), width: 1 };
  const grid = data.sky.lines.flatMap((points) => [...points, [null, null]]);
  const side = (half) => axis({ show: false, min: -ROOM * half, max: ROOM * half, scale: false });
  const zoom = { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, preventDefaultMouseMove: false };
  sky.setOption({
    animation: false,
    textStyle: textStyle(),
    grid: SKY_GRID,
    xAxis: side(width),
    yAxis: side(height),
    dataZoom: [{ ...zoom, id: "across", xAxisIndex: 0 }, { ...zoom, id: "up", yAxisIndex: 0 }],
    tooltip: tooltip(({ value }) => describe(value[2])),
    series: [
      quietLine("grid", grid, line),
      quietLine("edge", data.sky.edge, { ...line, width: 1.5 }),
      {
        id: "labels",
        type: "scatter",
        silent: true,
        symbolSize: 0.01,
        z: 5,
        data: data.sky.labels.map(({ at, text }) => ({ value: at, name: text })),
        label: {
          show: true, formatter: "{b}", position: "top", distance: 2, color: pageColour("soft"), fontSize: sky.getWidth() < 500 ? 9 : 11,
          textBorderColor: pageColour("paper"), textBorderWidth: 3,
        },
      },
      ...skySeries(),
    ],
  }, { notMerge: false });
}

/** Show 1/factor of the present width, about the selected source when zooming in, or the whole sky. */
function zoomSky(factor) {
  const { dataZoom } = sky.getOption();
  const next = dataZoom.map(({ start, end }, axisNumber) => {
    const span = Math.min(100, Math.max(2, (end - start) / factor));
    let middle = (start + end) / 2;
    const i = state.selected;
    if (factor > 1 && i !== null && sources.x[i] !== null) {
      middle = 50 + (50 * onSky(i)[axisNumber]) / (ROOM * data.sky.extent[axisNumber]);
    }
    const from = Math.min(100 - span, Math.max(0, middle - span / 2));
    return { start: from, end: from + span };
  });
  sky.dispatchAction({ type: "dataZoom", batch: next.map((range, dataZoomIndex) => ({ dataZoomIndex, ...range })) });
}

function makeSky() {
  sky = makeChart("sky-map", drawSky, { onResize: true });
  drawSky();
  pickOnClick(sky, onSky, shownOnSky);
  on("listed", () => sky.setOption({ series: skySeries() }));
  on("classes", () => sky.setOption({ series: skySeries() }));
  on("selected", makeOverlay(sky, "sky-map", SKY_GRID, ringSeries));
  document.getElementById("zoom-in").addEventListener("click", () => zoomSky(ZOOM));
  document.getElementById("zoom-out").addEventListener("click", () => zoomSky(1 / ZOOM));
  document.getElementById("zoom-all").addEventListener("click", () => zoomSky(0));
  for (const button of document.querySelectorAll("#sky-legend button")) {
    button.addEventListener("click", () => {
      const c = Number(button.dataset.class);
      const hidden = !state.hiddenClasses.delete(c);
      if (hidden) state.hiddenClasses.add(c);
      button.setAttribute("aria-pressed", String(!hidden));
      tell("classes");
    });
  }
}
