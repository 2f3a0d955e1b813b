// What the page holds of the sources; lists by column, null for what is not known.
const data = JSON.parse(document.getElementById("data").textContent);
const sources = data.sources;
const numSources = sources.name.length;
const everySource = Array.from({ length: numSources }, (_, i) => i);

// Classes, then groups of them, such as both kinds of pulsars: names, classes, and probabilities of all sources.
const kinds = [
  ...data.classes.map(({ name }, c) => ({ words: name, classes: [c], values: sources.probability[c], isGroup: false })),
  ...data.groups.map(({ name, classes }, g) => ({
    words: name, classes, values: sources.sum[g], isGroup: true,
  })),
];
// The same, each group behind the last of its classes.
const kindsInOrder = data.classes.flatMap((_, c) => [
  kinds[c], ...kinds.filter(({ isGroup, classes }) => isGroup && Math.max(...classes) === c),
]);

const MISSING = 65535;
const NO_NUMBER = "–";

/** Return the 16-bit codes of a base64 text. */
function codesOf(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true));
}

function linearNumbers({ low, step, codes }) {
  return codesOf(codes).map((code) => (code === MISSING ? null : low + step * code));
}

function logNumbers({ low, step, codes }) {
  return codesOf(codes).map((code) => (code === MISSING ? null : code === 0 ? 0 : low * Math.exp(step * (code - 1))));
}

/** Return features as {values, errors}: numbers by feature and source. */
function decodeFeatures({ values, errors }) {
  return { values: values.map(linearNumbers), errors: errors.map(logNumbers) };
}

/** Return a number with a true minus sign, or a dash where there is none. */
function fixed(value, decimals) {
  return value === null || value === undefined ? NO_NUMBER : value.toFixed(decimals).replace("-", "−");
}

/** Return a probability in three decimals; none is 0 or 1. */
function probability(p) {
  const text = fixed(p, 3);
  return { "0.000": "< 0.001", "1.000": "> 0.999" }[text] ?? text;
}

/** Return an angle in parts of sixty, such as 05:34:32 (hours of it are fifteenths) or −00:05:10. */
function inSixties(degrees, { hours = false } = {}) {
  if (degrees === null) return NO_NUMBER;
  const whole = Math.round(3600 * (hours ? degrees / 15 : Math.abs(degrees))) % (hours ? 86400 : Infinity);
  const parts = [whole / 3600, (whole / 60) % 60, whole % 60].map((part) => String(Math.floor(part)).padStart(2, "0"));
  return (hours ? "" : degrees < 0 ? "−" : "+") + parts.join(":");
}

const SMALL = 1e-4; // numbers below are written with a power of ten

function tenToThe(exponent) {
  return `10${String(exponent).replace(/./g, (letter) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(letter)])}`;
}

/** Return a number in a few digits, such as 2.345 or 1.2×10⁻⁷. */
function inFewDigits(value, digits = 5) {
  const [factor, exponent] = value.toExponential(digits - 1).split("e");
  const small = value !== 0 && Math.abs(value) < SMALL;
  const text = small ? `${Number(factor)}×${tenToThe(Number(exponent))}` : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

/** Return value ± error with two digits of the error, as many decimals in both; small ones as (1.23 ± 0.05)×10⁻¹⁰. */
function withError(value, error) {
  if (value === null) return NO_NUMBER;
  if (!error) return inFewDigits(value);
  const exponent = Math.floor(Math.log10(Math.max(Math.abs(value), error)));
  if (exponent < -3) return `(${withError(value / 10 ** exponent, error / 10 ** exponent)})×${tenToThe(exponent)}`;
  const decimals = Math.min(5, Math.max(0, 1 - Math.floor(Math.log10(error))));
  return `${fixed(value, decimals)} ± ${error < SMALL ? inFewDigits(error, 2) : fixed(error, decimals)}`;
}

/** Return an element with attributes and children; text stays text, whatever is in it. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Return the words of the bits of LABEL_FLAGS. */
function flagWords(flags) {
  return data.flags.filter(({ bit }) => flags & bit).map(({ meaning }) => meaning);
}

const FRAGMENT = "source=";

/** Return the address of a source within this page. */
function fragmentOf(i) {
  return `#${FRAGMENT}${encodeURIComponent(sources.name[i])}`;
}

function address(base, parameters) {
  return `${base}?${new URLSearchParams(parameters)}`;
}

const DEFAULT_RADIUS = 0.2; // deg, of the search where the catalogue gives no error ellipse

/** Return links to a source's entries in public databases: [{text, about, href}]. */
function databaseLinks(i) {
  const links = [
    {
      text: "SIMBAD",
      about: `${sources.name[i]} in SIMBAD`,
      href: address("https://simbad.cds.unistra.fr/simbad/sim-id", { Ident: sources.name[i] }),
    },
  ];
  const assoc = sources.assoc1[i];
  if (assoc) {
    links.push(
      {
        text: `SIMBAD: ${assoc}`,
        about: `its association ${assoc} in SIMBAD`,
        href: address("https://simbad.cds.unistra.fr/simbad/sim-id", { Ident: assoc }),
      },
      {
        text: `NED: ${assoc}`,
        about: `its association ${assoc} in NED`,
        href: address("https://ned.ipac.caltech.edu/byname", { objname: assoc }),
      },
    );
  }
  const [ra, dec] = [sources.ra[i], sources.dec[i]];
  if (ra === null || dec === null) return links;
  const radius = Math.max(0.02, (sources.r95 && sources.r95[i]) || DEFAULT_RADIUS);
  const place = `${ra} ${dec < 0 ? "" : "+"}${dec}`;
  return [
    ...links,
    {
      text: "SIMBAD around it",
      about: `SIMBAD within ${radius.toFixed(2)} degrees of ${sources.name[i]}`,
      href: address("https://simbad.cds.unistra.fr/simbad/sim-coo", {
        Coord: place, CooFrame: "ICRS", Radius: radius.toFixed(3), "Radius.unit": "deg",
      }),
    },
    {
      text: "NED around it",
      about: `NED within ${(60 * radius).toFixed(1)} arcminutes of ${sources.name[i]}`,
      href: address("https://ned.ipac.caltech.edu/conesearch", {
        search_type: "Near Position Search", in_csys: "Equatorial", in_equinox: "J2000",
        coordinates: `${ra}d ${dec}d`, radius: (60 * radius).toFixed(2),
      }),
    },
    {
      text: "Aladin Lite",
      about: `the sky around ${sources.name[i]} in Aladin Lite`,
      href: address("https://aladin.cds.unistra.fr/AladinLite/", { target: place, fov: (6 * radius).toFixed(2) }),
    },
  ];
}

/** Return a link that opens elsewhere and tells the other side nothing. */
function outerLink({ text, about, href }) {
  return element("a", { href, target: "_blank", rel: "noopener noreferrer", "aria-label": about }, text);
}
