// Positions that a reader types, and distances on the sky.
const RADIAN = Math.PI / 180;
const SIXTY = String.raw`(\d{1,3})\s*[h:d°\s]\s*(\d{1,2})\s*(?:[m:'′\s]\s*([\d.]*)\s*["s″]?)?`;
const SEXAGESIMAL = new RegExp(String.raw`^${SIXTY}[\s,]*([+-])\s*${SIXTY}$`);
const DEGREES = /^([+-]?\d+(?:\.\d*)?)°?[\s,]+([+-]?\d+(?:\.\d*)?)°?$/;
const GALACTIC = /^(?:gal(?:actic)?\b|l\s*=?\s*(?=[\d+-]))\s*/;

function fromSixty([whole, minutes, seconds]) {
  return Number(whole) + Number(minutes) / 60 + Number(seconds || 0) / 3600;
}

/** Return {frame, lon, lat} in degrees of a text such as "83.63 22.01", "05:34:32 +22:00:52" or "l 184.6 b -5.8", or null. */
function positionOf(text) {
  const plain = text.trim().toLowerCase().replaceAll("−", "-");
  const galactic = GALACTIC.test(plain);
  const numbers = galactic ? plain.replace(GALACTIC, "").replace(/[,\s]*\b(?:b\s*=?)\s*/, " ") : plain;
  let [lon, lat] = [NaN, NaN];
  const degrees = DEGREES.exec(numbers);
  const sixty = galactic ? null : SEXAGESIMAL.exec(numbers);
  if (degrees) {
    [lon, lat] = [Number(degrees[1]), Number(degrees[2])];
  } else if (sixty) {
    lon = 15 * fromSixty(sixty.slice(1, 4));
    lat = (sixty[4] === "-" ? -1 : 1) * fromSixty(sixty.slice(5, 8));
  }
  if (!(lon >= -180 && lon <= 360 && Math.abs(lat) <= 90)) return null;
  return { frame: galactic ? "galactic" : "equatorial", lon, lat };
}

/** Return the distance in degrees of each source from a position, null where the source has none. */
function distancesFrom({ frame, lon, lat }) {
  const [lons, lats] = frame === "galactic" ? [sources.l, sources.b] : [sources.ra, sources.dec];
  return lons.map((l, i) => {
    if (l === null || lats[i] === null) return null;
    const half = (difference) => Math.sin((difference * RADIAN) / 2) ** 2;
    const h = half(lats[i] - lat) + Math.cos(lats[i] * RADIAN) * Math.cos(lat * RADIAN) * half(l - lon);
    return (2 * Math.asin(Math.min(1, Math.sqrt(h)))) / RADIAN;
  });
}
