// Which sources are listed, and which come first.
const CAREFUL = 4 | 8; // bits of LABEL_FLAGS that candidates do not have
const searchable = everySource.map((i) =>
  [sources.name[i], data.classes[sources.predicted[i]].name, sources.class1[i], sources.assoc1[i], sources.assoc2[i], sources.others?.[i]]
    .join("\n").toLowerCase(),
);

/** How much an observer wants each source: candidates first, by their probability. */
const wanted = everySource.map((i) => {
  const p = data.wanted.reduce((sum, c) => sum + (sources.probability[c][i] ?? 0), 0);
  return sources.status[i] === "unassociated" && !(sources.flags[i] & CAREFUL) ? 1 + p : p;
});
let distances = everySource.map(() => null); // from the position that is searched for

function control(id) {
  return document.getElementById(id);
}

/** Return the number in a field, or `otherwise` if it is empty. */
function numberIn(id, otherwise) {
  const { value } = control(id);
  return value === "" ? otherwise : Number(value);
}

/** Return what the fields say: a function of a source. */
function filterOfFields() {
  const words = control("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const kind = kinds[control("filter-class").value];
  const status = control("filter-status").value;
  const p = numberIn("filter-p", kind?.isGroup ? 0.5 : -1); // a group is more probable than not, or as is asked
  const isLikely = kind?.isGroup
    ? (i) => kind.values[i] >= p
    : (i) => (!kind || sources.predicted[i] === kind.classes[0]) && (p < 0 || sources.pmax[i] >= p);
  const lasts = numberIn("filter-lasts", 0);
  const [ood, from, to, south, north] = ["filter-ood", "filter-b-from", "filter-b-to", "filter-dec-from", "filter-dec-to"].map(
    (id) => numberIn(id, null),
  );
  const radius = numberIn("radius", 180);
  const near = control("near").value.trim() !== "";
  const bits = [...document.querySelectorAll(".filter-flag:checked")].reduce((sum, { value }) => sum | Number(value), 0);
  return (i) =>
    words.every((word) => searchable[i].includes(word)) &&
    isLikely(i) &&
    (status === "" || sources.status[i] === status) &&
    sources.lasts[i] >= lasts &&
    (ood === null || (sources.ood[i] !== null && sources.ood[i] <= ood)) &&
    (from === null || (sources.b[i] !== null && Math.abs(sources.b[i]) >= from)) &&
    (to === null || (sources.b[i] !== null && Math.abs(sources.b[i]) <= to)) &&
    (south === null || (sources.dec[i] !== null && sources.dec[i] >= south)) &&
    (north === null || (sources.dec[i] !== null && sources.dec[i] <= north)) &&
    !(sources.flags[i] & bits) &&
    (!near || (distances[i] !== null && distances[i] <= radius));
}

/** Measure the distances from the position in the field, and say so if it is none. */
function readPosition() {
  const text = control("near").value.trim();
  const position = text === "" ? null : positionOf(text);
  control("near-error").textContent =
    text && !position ? `“${text}” is no position. Give degrees (83.63 22.01), hours (05:34:32 +22:00:52) or l 184.6 b -5.8.` : "";
  const found = position ? distancesFrom(position) : everySource.map(() => null);
  if (found.every((distance, i) => distance === distances[i])) return;
  distances = found;
  control("order").querySelector("[value=distance]").disabled = !position;
  table.rows().invalidate();
  table.column("distance:name").visible(Boolean(position));
  orderBy(position ? "distance" : control("order").options[0].value);
}

function orderBy(name) {
  control("order").value = name;
  table.order({ name, dir: name === "distance" ? "asc" : "desc" });
}

function showHits() {
  control("hits").textContent = `${state.listed.length.toLocaleString("en")} sources`;
}

function makeFilters() {
  on("listed", showHits);
  let passes = () => true;
  table.search.fixed("chosen", (_, i) => passes(i));
  let waiting;
  const apply = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      readPosition();
      passes = filterOfFields();
      table.draw();
    }, 60); // one search for a few quick letters
  };
  const fields = [...document.querySelectorAll("#search, #filters input, #filters select:not(#order)")];
  for (const field of fields) field.addEventListener("input", apply);
  control("order").addEventListener("change", () => {
    orderBy(control("order").value);
    table.draw();
  });
  document.querySelector("#table thead").addEventListener("click", () => { control("order").value = ""; });
  document.querySelector("#table thead").addEventListener("keydown", ({ key }) => { if (key === "Enter") control("order").value = ""; });
  control("filter-none").addEventListener("click", () => {
    for (const field of fields) {
      field.checked = false;
      field.value = field.type === "checkbox" ? field.value : field.defaultValue ?? "";
    }
    orderBy(control("order").options[0].value);
    apply();
  });
}
