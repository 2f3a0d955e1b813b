// The reliability diagram.
function makeTrust() {
  let chart = null;
  const draw = () => {
    const lowest = data.chance; // of the most probable of the classes that were scored, not of those of the labels
    const colour = pageColour("accent");
    const points = data.reliability.map(({ confidence, accuracy, se }) => [confidence, accuracy, 0, se]);
    chart.setOption({
      animation: false,
      textStyle: textStyle(),
      grid: { left: 56, right: 14, top: 12, bottom: 46 },
      xAxis: axis({ min: Math.floor(10 * lowest) / 10, max: 1, name: "probability of the most probable class", nameGap: 28 }),
      yAxis: axis({ min: 0, max: 1, name: "fraction that is right", nameGap: 36 }),
      series: [
        quietLine("ideal", [[lowest, lowest], [1, 1]], { color: pageColour("soft"), type: "dashed", width: 1.5 }),
        quietLine("bars", bars(points), { color: colour, width: 2 }),
        quietLine("measured", points.map(([x, y]) => [x, y]), { color: colour, width: 1.5 }, { symbol: "circle", symbolSize: 7, showSymbol: true, itemStyle: { color: colour } }),
      ],
    });
  };
  if (!data.reliability || !data.reliability.length) return;
  chart = makeChart("reliability", draw);
  draw();
}
