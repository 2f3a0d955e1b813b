// The table of sources: DataTables sorts, searches and turns pages.
const PAGE_LENGTH = 25;
let table;

/** Return text as HTML that shows it: DataTables takes headings and cells as HTML. */
const asHtml = DataTable.util.escapeHtml;

/** Return a column of numbers with so many decimals. */
function numberColumn(title, values, decimals, more = {}) {
  return {
    title: asHtml(title),
    ariaTitle: title, // an attribute, which is text already
    className: "number",
    type: "num",
    searchable: false,
    // Where there is no number, the source comes last in the usual order.
    data: (i, kind) => (kind === "display" ? fixed(values[i], decimals) : values[i] ?? -Infinity),
    orderSequence: ["desc", "asc"],
    ...more,
  };
}

/** Return a column of text. DataTables searches none: see makeFilters. */
function textColumn(title, texts, more = {}) {
  return {
    title: asHtml(title),
    ariaTitle: title, // an attribute, which is text already
    type: "string",
    searchable: false,
    data: (i, kind) => (kind === "sort" || kind === "type" ? texts[i] : asHtml(texts[i])),
    orderSequence: ["asc", "desc"],
    ...more,
  };
}

function nameColumn() {
  const link = (i) => element("a", { href: fragmentOf(i), "data-source": i }, sources.name[i]);
  const asText = textColumn("Source", sources.name);
  return {
    ...asText,
    cellType: "th",
    createdCell: (cell) => cell.setAttribute("scope", "row"),
    render: (value, kind, i) => (kind === "display" ? link(i) : value),
  };
}

function classColumn() {
  const names = sources.predicted.map((c) => data.classes[c].name);
  return textColumn("Class", names, {
    createdCell: (cell, value, i) => cell.prepend(markElement(sources.predicted[i]), " "),
  });
}

function probabilityColumn(kind) {
  return numberColumn(`P ${kind.words}`, kind.values, 3, {
    className: kind.isGroup ? "number bar group" : "number bar",
    createdCell: (cell, value, i) => drawBar(cell, kind, i),
    data: (i, use) => (use === "display" ? probability(kind.values[i]) : kind.values[i] ?? -Infinity),
  });
}

/** Return a column of angles, written in parts of sixty, and sorted as numbers. */
function angleColumn(title, values, options) {
  return numberColumn(title, values, 0, {
    data: (i, use) => (use === "display" ? inSixties(values[i], options) : values[i] ?? -Infinity),
    createdCell: (cell, value, i) => cell.setAttribute("title", `${fixed(values[i], 4)}°`),
  });
}

function linkColumn() {
  return {
    title: "Elsewhere",
    orderable: false,
    searchable: false,
    className: "links",
    data: (i, kind) => (kind === "display" ? "" : null),
    createdCell: (cell, value, i) => {
      const [first, ...others] = databaseLinks(i);
      cell.append(outerLink(first));
      const ned = others.find((link) => link.text.startsWith("NED"));
      if (ned) cell.append(" ", outerLink({ ...ned, text: "NED" }));
    },
  };
}

function counterpartColumn() {
  const texts = everySource.map((i) => [sources.assoc1[i], sources.class1[i] && `(${sources.class1[i]})`].filter(Boolean).join(" "));
  return textColumn("Counterpart", texts, {
    className: "short",
    createdCell: (cell, value, i) => cell.setAttribute("title", texts[i]),
  });
}

/** Return a column that only orders the sources. */
function hiddenColumn(name, valueOf) {
  return { title: "", name, visible: false, searchable: false, data: valueOf, type: "num" };
}

function makeTable() {
  const columns = [
    nameColumn(),
    classColumn(),
    angleColumn("RA", sources.ra, { hours: true }),
    angleColumn("Dec", sources.dec),
    ...kindsInOrder.map(probabilityColumn),
    { ...numberColumn("Distance, °", [], 3), name: "distance", visible: false,
      data: (i, kind) => (kind === "display" ? fixed(distances[i], 3) : distances[i] ?? Infinity), orderSequence: ["asc", "desc"] },
    ...(sources.significance ? [numberColumn("σ", sources.significance, 1)] : []),
    numberColumn("l, °", sources.l, 2),
    numberColumn("b, °", sources.b, 2),
    numberColumn("Lasts", sources.lasts, 2),
    numberColumn("OOD", sources.ood, 3),
    numberColumn("Flags", sources.flags, 0),
    counterpartColumn(),
    ...(sources.flux ? [numberColumn("Flux, 10⁻¹⁰", sources.flux.map((f) => (f === null ? null : 1e10 * f)), 2)] : []),
    linkColumn(),
    hiddenColumn("wanted", (i) => wanted[i]),
    hiddenColumn("information", (i) => sources.information[i] ?? -Infinity),
    hiddenColumn("pmax", (i) => sources.pmax[i] ?? -Infinity),
  ];
  table = new DataTable("#table", {
    data: everySource,
    columns,
    order: { name: document.getElementById("order").value, dir: "desc" },
    pageLength: PAGE_LENGTH,
    lengthMenu: [10, PAGE_LENGTH, 50, 100],
    deferRender: true,
    autoWidth: false,
    layout: { topStart: null, topEnd: null, bottomStart: ["info", "pageLength"], bottomEnd: "paging" },
    createdRow: (row, i) => row.setAttribute("data-source", i),
    language: { entries: { _: "sources", 1: "source" }, emptyTable: "There are no sources", zeroRecords: "No source is like this", thousands: "," },
  });
  table.on("draw", markSelectedRow);
  table.on("search", () => {
    // What the table lists in any order is what the pictures show.
    state.listed = table.rows({ search: "applied", order: "index" }).data().toArray();
    tell("listed");
  });
  document.querySelector("#table tbody").addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-source]");
    const link = event.target.closest("a");
    if (!row || (link && !link.dataset.source)) return; // links to elsewhere go there
    event.preventDefault();
    select(Number(row.dataset.source));
  });
  on("selected", showSelectedRow);
  makeFilters();
  makeSave();
}

/** Turn to the page of the selected source, if the table lists it. */
function showSelectedRow() {
  const order = table.rows({ search: "applied", order: "applied" }).data().toArray();
  const place = order.indexOf(state.selected);
  const length = table.page.len();
  if (place >= 0 && table.page() !== Math.floor(place / length)) table.page(Math.floor(place / length)).draw("page");
  markSelectedRow();
}

function markSelectedRow() {
  for (const row of document.querySelectorAll("#table tbody tr[data-source]")) {
    const chosen = Number(row.dataset.source) === state.selected;
    row.classList.toggle("selected", chosen);
    const link = row.querySelector("a[data-source]");
    if (chosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
