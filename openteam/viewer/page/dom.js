// Elements without HTML strings: text is always text, whatever somebody called a run or a type.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "style") Object.assign(node.style, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, properties = {}, ...children) => fill(document.createElement(tag), properties, children);
export const svg = (tag, properties = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), properties, children);
export const find = (id) => document.getElementById(id);

// A canvas as large as its place on the screen, with a pen in CSS pixels.
export function fitted(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) {
    [canvas.width, canvas.height] = [wide, high];
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// Buttons and selects that are made once and then only told what is chosen.
export const button = (text, click, more = {}) => el("button", { type: "button", text, onclick: click, ...more });

export function select(label, options, chosen, change, title) {
  const choices = options.map(([value, text]) => el("option", { value, text, selected: value === chosen }));
  return el("label", { class: "select", title }, label, " ", el("select", { onchange: (event) => change(event.target.value) }, choices));
}

export function checkbox(label, checked, change, title) {
  const box = el("input", { type: "checkbox", checked, onchange: (event) => change(event.target.checked) });
  return el("label", { class: "check", title }, box, " ", label);
}
