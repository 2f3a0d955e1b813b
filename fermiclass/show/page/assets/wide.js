// Tables that are wider than the page say so.
function makeWide() {
  for (const box of document.querySelectorAll(".wide")) {
    const hint = element("p", { class: "note more" }, "More columns to the right: scroll the table sideways →");
    box.before(hint);
    const look = () => {
      const hidden = box.scrollWidth - box.clientWidth - box.scrollLeft;
      hint.hidden = box.scrollWidth <= box.clientWidth + 1;
      box.classList.toggle("goes-on", hidden > 1);
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box);
    for (const child of box.children) new ResizeObserver(look).observe(child);
    look();
  }
}
