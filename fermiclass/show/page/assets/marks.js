// The shape and colour of each class, in the page and in pictures.
const SVG = "http://www.w3.org/2000/svg";
const darkMode = matchMedia("(prefers-color-scheme: dark)");
const PALEST = 0.25; // strength of a colour where the probabilities say nothing

function markElement(c) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "mark");
  svg.setAttribute("viewBox", "-10 -10 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("class", `mark-${c}`);
  path.setAttribute("d", data.classes[c].outline);
  svg.append(path);
  return svg;
}

/** Draw the probability of a class or group as a bar below a cell: each class has its part of it, in its colour. */
function drawBar(cell, { classes, values }, i) {
  const whole = values[i] || 1;
  let end = 0;
  const parts = classes.map((c) => {
    const start = end;
    end += (100 * (sources.probability[c][i] ?? 0)) / whole;
    return `var(--class-${c}) ${start.toFixed(1)}% ${end.toFixed(1)}%`;
  });
  cell.style.setProperty("--share", values[i] ?? 0);
  cell.style.setProperty("--bar", parts.join(", "));
}

/** Return a class's colour #rrggbb on the page's present ground. */
function classColour(c) {
  return darkMode.matches ? data.classes[c].dark : data.classes[c].light;
}

function withAlpha(colour, alpha) {
  return colour + Math.round(255 * alpha).toString(16).padStart(2, "0");
}

/** Return a source's colour: the stronger, the more probable its class. */
function sourceColour(i) {
  const lowest = 1 / data.classes.length;
  const share = Math.min(1, Math.max(0, ((sources.pmax[i] ?? lowest) - lowest) / (1 - lowest)));
  return withAlpha(classColour(sources.predicted[i]), PALEST + (1 - PALEST) * share);
}

// Shapes that the plotting library has itself are drawn much faster than outlines.
function symbolOf(c) {
  return data.classes[c].symbol ?? `path://${data.classes[c].outline}`;
}
