// What all pictures share: colours of the page, size, and picking the source that is nearest to a click.
const charts = [];
const NEAR = matchMedia("(pointer: coarse)").matches ? 26 : 14; // pixels

function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Make a picture in an element; draw() is called whenever colours change, and with onResize when its size does. */
function makeChart(id, draw, { onResize = false } = {}) {
  const place = document.getElementById(id);
  const chart = echarts.init(place, null, { renderer: "canvas" });
  charts.push({ chart, draw });
  let width = place.clientWidth;
  new ResizeObserver(() => {
    chart.resize();
    if (onResize && place.clientWidth !== width) draw();
    width = place.clientWidth;
  }).observe(place);
  return chart;
}

/**
 * Make a picture over another, with the same axes, for the selected source alone: what lies below is not drawn again.
 * series() gives what is shown, grid the margins. Returns what draws it.
 */
function makeOverlay(chart, id, grid, series) {
  const below = document.getElementById(id);
  const stack = element("div", { class: "stack" });
  const place = element("div", { class: "overlay", id: `${id}-selected`, "aria-hidden": "true" });
  below.replaceWith(stack);
  stack.append(below, place);
  const over = echarts.init(place, null, { renderer: "canvas" });
  const draw = () => {
    over.resize();
    const [left, bottom] = chart.convertFromPixel({ gridIndex: 0 }, [grid.left, chart.getHeight() - grid.bottom]);
    const [right, top] = chart.convertFromPixel({ gridIndex: 0 }, [chart.getWidth() - grid.right, grid.top]);
    const side = (min, max) => ({ type: "value", show: false, min, max });
    over.setOption({ animation: false, grid, xAxis: side(left, right), yAxis: side(bottom, top), series: series() });
  };
  chart.on("datazoom", draw);
  chart.on("finished", draw);
  return draw;
}

darkMode.addEventListener("change", () => charts.forEach(({ draw }) => draw()));

const textStyle = () => ({ color: pageColour("ink"), fontFamily: "system-ui, sans-serif", fontSize: 12 });

/** Return an axis of numbers with the page's colours. */
function axis(options = {}) {
  const line = { lineStyle: { color: pageColour("line") } };
  return {
    type: "value",
    scale: true,
    axisLine: { show: true, onZero: false, ...line },
    axisTick: line,
    axisLabel: { color: pageColour("soft"), formatter: (value) => String(value).replace("-", "−") },
    nameTextStyle: { color: pageColour("ink") },
    nameLocation: "middle",
    splitLine: { show: false },
    ...options,
  };
}

/** Return the options of a tooltip that is drawn, not written as HTML; about(parameters) gives its text. */
function tooltip(about) {
  return {
    renderMode: "richText",
    confine: true,
    backgroundColor: pageColour("paper"),
    borderColor: pageColour("line"),
    textStyle: { color: pageColour("ink"), fontSize: 12 },
    formatter: about,
  };
}

/** Select the source nearest to a click; at(i) is its place in the axes, among() the sources that are drawn. */
function pickOnClick(chart, at, among) {
  chart.getZr().on("click", (event) => {
    // The axes are linear: two places tell where all others are.
    const [zero, one] = [[0, 0], [1, 1]].map((point) => chart.convertToPixel({ gridIndex: 0 }, point));
    let best = null;
    let least = NEAR * NEAR;
    for (const i of among()) {
      const [x, y] = at(i);
      if (x === null || y === null) continue;
      const dx = zero[0] + x * (one[0] - zero[0]) - event.offsetX;
      const dy = zero[1] + y * (one[1] - zero[1]) - event.offsetY;
      if (dx * dx + dy * dy < least) [best, least] = [i, dx * dx + dy * dy];
    }
    if (best !== null) select(best);
  });
}

/** Return points of one broken line: the bars of (x ± dx, y) and (x, y ± dy). */
function bars(points) {
  const line = [];
  for (const [x, y, dx, dy] of points) {
    if (x === null || y === null) continue;
    if (dx) line.push([x - dx, y], [x + dx, y], [null, null]);
    if (dy) line.push([x, y - dy], [x, y + dy], [null, null]);
  }
  return line;
}

/** Return the options of a line that only shows. */
function quietLine(id, points, lineStyle, more = {}) {
  return {
    id, type: "line", data: points, lineStyle, symbol: "none", silent: true, animation: false, connectNulls: false,
    emphasis: { disabled: true }, ...more,
  };
}
