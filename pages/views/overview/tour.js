// The tour: one step at a time, by buttons and arrow keys. No text is read as HTML, and charts are images.
const KEYS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };

const element = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.textContent = text || "";
  return made;
};

export default function (component) {
  const { data, parentElement } = component;
  const find = name => parentElement.querySelector(`.${name}`);
  const [where, slides, back, next, notes, print] =
    ["where", "slides", "back", "next", "notes-button", "print"].map(find);
  let at = Math.min(Math.max(data.first, 0), data.steps.length - 1), told = notes.getAttribute("aria-expanded") === "true";

  const made = data.steps.map(step => {
    const slide = element("article", "slide"), image = element("img");
    image.src = step.chart;
    image.alt = step.alt;
    slide.append(element("h2", "", step.sentence), image, element("p", "notes", step.notes));
    return slide;
  });
  slides.replaceChildren(...made);

  const show = place => {
    at = Math.min(Math.max(place, 0), made.length - 1);
    made.forEach((slide, number) => {
      slide.hidden = number !== at;
      slide.querySelector(".notes").hidden = !told;
    });
    where.textContent = `${at + 1} of ${made.length} · ${data.steps[at].title}`;
    back.disabled = at === 0;
    next.disabled = at === made.length - 1;
    notes.setAttribute("aria-expanded", String(told));
  };
  const keys = event => {
    const typing = event.composedPath().some(node => /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName || ""));
    if (typing || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in KEYS) { event.preventDefault(); show(at + KEYS[event.key]); }
    if (event.key === "n") { told = !told; show(at); }
  };
  back.onclick = () => show(at - 1);
  next.onclick = () => show(at + 1);
  notes.onclick = () => { told = !told; show(at); };
  print.onclick = () => window.print();
  print.hidden = !data.alone;
  window.addEventListener("keydown", keys);
  show(at);
  return () => window.removeEventListener("keydown", keys);
}
