// All that is known of the selected source.
function definition(words, ...what) {
  return [element("dt", {}, words), element("dd", {}, ...what)];
}

function probabilityTable(i) {
  const rows = kindsInOrder.map((kind) => {
    const bar = element("td", { class: "number bar" }, probability(kind.values[i]));
    drawBar(bar, kind, i);
    const marks = kind.isGroup ? ["= "] : [markElement(kind.classes[0]), " "];
    return element("tr", kind.isGroup ? { class: "group" } : {}, element("th", { scope: "row" }, ...marks, kind.words), bar);
  });
  const head = element("tr", {}, element("th", { scope: "col" }, "Class"), element("th", { scope: "col", class: "number" }, "Probability"));
  return element(
    "table", { class: "plain" }, element("caption", {}, "Probabilities"),
    element("thead", {}, head), element("tbody", {}, ...rows),
  );
}

function step(by, words) {
  const button = element("button", { type: "button" }, words);
  button.addEventListener("click", () => {
    const order = table.rows({ search: "applied", order: "applied" }).data().toArray();
    const place = order.indexOf(state.selected);
    const next = order[place < 0 ? 0 : (place + by + order.length) % order.length];
    if (next === undefined) return;
    select(next);
    // The button is made anew with the source: the keyboard stays on it.
    document.querySelector(`#selected-body button:nth-of-type(${by < 0 ? 1 : 2})`)?.focus();
  });
  return button;
}

function showDetails() {
  const body = document.getElementById("selected-body");
  const title = document.getElementById("selected-title");
  const i = state.selected;
  if (i === null) {
    title.textContent = "Selected source";
    body.replaceChildren(element("p", { class: "note" }, "No source is selected. Choose one in the table, on the map or among the features."));
    return;
  }
  title.textContent = sources.name[i];
  const listed = state.listed.includes(i);
  const flags = flagWords(sources.flags[i]);
  const links = element("ul", { class: "links", "aria-label": "Entries elsewhere" });
  for (const link of databaseLinks(i)) links.append(element("li", {}, outerLink(link)));
  const about = element("dl", {},
    ...definition("Most probably", markElement(sources.predicted[i]), ` ${data.classes[sources.predicted[i]].name}, P ${probability(sources.pmax[i])}`),
    ...definition("In the catalogue", [sources.class1[i], sources.assoc1[i]].filter(Boolean).join(", ") || "unassociated"),
    ...(sources.assoc2[i] ? definition("Second association", [sources.assoc2[i], sources.class2[i]].filter(Boolean).join(", ")) : []),
    ...(associationWords(i) ? definition("Association", associationWords(i)) : []),
    ...(sources.others?.[i] ? definition("Other names", sources.others[i]) : []),
    ...(sources.known[i] ? definition("Known", sources.known[i]) : []),
    ...(sources.since[i] ? definition("Oldest list of the LAT", sources.since[i]) : []),
    ...(sources.counterpart?.[i] ? definition("Candidate", sources.counterpart[i]) : []),
    ...definition("RA, Dec (J2000)", `${placeWords(i)} (${fixed(sources.ra[i], 4)}°, ${fixed(sources.dec[i], 4)}°)`),
    ...definition("l, b", `${fixed(sources.l[i], 2)}°, ${fixed(sources.b[i], 2)}°`),
    ...(sources.r95 ? definition("95 % ellipse", ellipseWords(i)) : []),
    ...(sources.significance ? definition("Significance", `${fixed(sources.significance[i], 1)} σ`) : []),
    ...(sources.flux ? definition("Flux, 1–100 GeV", `${withError(sources.flux[i], sources.fluxError && sources.fluxError[i])} cm⁻² s⁻¹`) : []),
    ...definition("Entropy", entropyWords(i)),
    ...definition("Lasts", `${fixed(sources.lasts[i], 2)} (probability that a later list has the source)`),
    ...definition("OOD score", `${fixed(sources.ood[i], 3)} (0 typical of the training sources, 1 unlike any)`),
    ...definition("Flags", flags.length ? flags.join("; ") : "none"),
  );
  body.replaceChildren(
    element("p", { class: "steps" }, step(-1, "← previous"), step(1, "next →")),
    ...(listed ? [] : [element("p", { class: "note" }, "The table does not list this source, because the search excludes it.")]),
    probabilityTable(i), about, element("h3", {}, "Elsewhere"), links, ...featureDetails(i),
  );
}

function placeWords(i) {
  return `${inSixties(sources.ra[i], { hours: true })} ${inSixties(sources.dec[i])}`;
}

/** Return the catalogue's own probabilities of the association, of an unassociated source the second one. */
function associationWords(i) {
  const ways = [["Bayesian method", sources.byBayes], ["likelihood ratio", sources.byRatio]].filter(([, p]) => p?.[i]);
  return ways.map(([way, p]) => `probability ${fixed(p[i], 2)} (${way})`).join(", ");
}

/** Return the semi-axes of the error ellipse, and its position angle if it is known. */
function ellipseWords(i) {
  const axes = [sources.r95, sources.r95Minor].filter(Boolean).map((values) => `${fixed(values[i], 3)}°`).join(" × ");
  return sources.r95Angle ? `${axes}, angle ${fixed(sources.r95Angle[i], 0)}°` : axes;
}

/** Return the entropy and what could lower it. First-order methods count what error bars add in the information. */
function entropyWords(i) {
  const [entropy, information, noise] = [sources.entropy[i], sources.information[i], sources.noise[i]].map((x) => fixed(x, 3));
  const remedy = sources.noise.some((x) => x > 0)
    ? `more labels could remove ${information}, better data ${noise}`
    : `more labels and better data could remove ${information}`;
  return `${entropy} nats; ${remedy}`;
}

/** Return the features in numbers, if the page has them. */
function featureDetails(i) {
  if (!features) return [];
  const imputed = data.features.imputed[i] ?? {};
  const rows = data.features.names.map((name, j) => {
    const note = imputed.value?.includes(j) ? " (imputed)" : imputed.error?.includes(j) ? " (error imputed)" : "";
    const cell = element("td", { class: "number" }, withError(features.values[j][i], features.errors[j][i]) + note);
    return element("tr", {}, element("th", { scope: "row" }, element("abbr", { title: data.features.about[j] }, name)), cell);
  });
  const head = element("tr", {}, element("th", { scope: "col" }, "Feature"), element("th", { scope: "col", class: "number" }, "Value"));
  return [
    element("details", {}, element("summary", {}, "Features"),
      element("table", { class: "plain" }, element("caption", {}, "Features with their errors"),
        element("thead", {}, head), element("tbody", {}, ...rows))),
  ];
}

function makeDetails() {
  on("selected", showDetails);
  on("listed", showDetails);
  // On a phone the panel lies over the page's foot: it opens when asked.
  const narrow = matchMedia("(max-width: 65rem)");
  const panel = document.getElementById("selected");
  panel.open = !narrow.matches;
  narrow.addEventListener("change", () => { panel.open = !narrow.matches; });
}
