// What is selected and what is listed: everything that shows sources listens here.
const state = { selected: null, listed: everySource, hiddenClasses: new Set() };
const listeners = { selected: [], listed: [], classes: [] };

function on(event, listener) {
  listeners[event].push(listener);
}

function tell(event) {
  for (const listener of listeners[event]) listener();
}

/** Select a source (its index), everywhere and in the address; null for none. */
function select(i, { keepAddress = false } = {}) {
  if (i === state.selected) return;
  state.selected = i;
  if (!keepAddress) history.replaceState(null, "", i === null ? location.pathname + location.search : fragmentOf(i));
  document.getElementById("status").textContent = i === null ? "No source selected" : `Selected ${describe(i)}`;
  tell("selected");
}

/** Return a source in a few words. */
function describe(i) {
  return `${sources.name[i]}: ${data.classes[sources.predicted[i]].name}, P ${probability(sources.pmax[i])}`;
}

/** Select the source that the address names, if it names one. */
function selectFromAddress() {
  const fragment = location.hash.slice(1);
  if (!fragment.startsWith(FRAGMENT)) return;
  let name;
  try {
    name = decodeURIComponent(fragment.slice(FRAGMENT.length));
  } catch {
    return; // a damaged address names no source
  }
  // Of sources of the same name, the one selected already stays.
  if (state.selected !== null && sources.name[state.selected] === name) return;
  const i = sources.name.indexOf(name);
  if (i >= 0) select(i, { keepAddress: true });
}
