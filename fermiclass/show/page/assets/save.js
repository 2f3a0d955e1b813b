// The listed sources as a file.
/** Return the value of a column of `data.saved` for a source. */
function savedValue({ key: [name, c] }, i) {
  if (name === "predicted") return data.classes[sources.predicted[i]].name;
  return c === undefined ? sources[name][i] : sources[name][c][i];
}

function csvOf(rows) {
  const cell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map((i) => data.saved.map((column) => cell(savedValue(column, i))).join(","));
  return [data.saved.map(({ name }) => cell(name)).join(","), ...lines, ""].join("\n");
}

function asXml(text) {
  const plain = String(text).replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
  return plain.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

const FRAMES = { RAJ2000: "ICRS", DEJ2000: "ICRS", GLON: "GALACTIC", GLAT: "GALACTIC" };

function votableOf(rows) {
  const attributes = (pairs) => Object.entries(pairs).filter(([, value]) => value).map(([name, value]) => ` ${name}="${asXml(value)}"`).join("");
  const fields = data.saved.map(({ name, type, unit, ucd, about }) => {
    const text = type === "char" ? { datatype: "unicodeChar", arraysize: "*" } : { datatype: type };
    const shown = attributes({ name, ...text, unit, ucd, ref: FRAMES[name] });
    return `<FIELD${shown}><DESCRIPTION>${asXml(about)}</DESCRIPTION></FIELD>`;
  });
  const lines = rows.map((i) => {
    const cells = data.saved.map((column) => asXml(savedValue(column, i) ?? ""));
    return `<TR>${cells.map((text) => `<TD>${text}</TD>`).join("")}</TR>`;
  });
  const infos = Object.entries(data.origin).map(([name, value]) => `<INFO name="${asXml(name)}" value="${asXml(value)}"/>`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<VOTABLE version="1.4" xmlns="http://www.ivoa.net/xml/VOTable/v1.3">',
    '<RESOURCE type="results">',
    ...infos,
    '<COOSYS ID="ICRS" system="ICRS"/>',
    '<COOSYS ID="GALACTIC" system="galactic"/>',
    `<TABLE nrows="${rows.length}">`,
    ...fields,
    "<DATA><TABLEDATA>",
    ...lines,
    "</TABLEDATA></DATA></TABLE></RESOURCE></VOTABLE>",
    "",
  ].join("\n");
}

function save(text, type, ending) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href, download: data.file + ending });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

function makeSave() {
  const listed = () => table.rows({ search: "applied", order: "applied" }).data().toArray();
  document.getElementById("save-csv").addEventListener("click", () => save(csvOf(listed()), "text/csv;charset=utf-8", ".csv"));
  document.getElementById("save-votable").addEventListener("click", () => save(votableOf(listed()), "application/x-votable+xml", ".vot"));
}
