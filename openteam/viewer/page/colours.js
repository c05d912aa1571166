// Colours that colour-blind people can tell apart (Okabe and Ito), and marks besides colour for everything.

const AGENTS = ["#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#d55e00", "#7b6bb2", "#4d8076"];
const ROLES = { guard: "#0072b2", attacker: "#d55e00" };
export const LEARNER = "#22304f";
export const GOLD = "#f2b134";
export const GHOST = "#d6249f";

export function colourOf(slot, role, given) {
  if (given) return given;
  if (slot === 0) return LEARNER;
  return ROLES[role] ?? AGENTS[(slot - 1) % AGENTS.length];
}

// Letters that can be read on a colour such as #56b4e9.
export function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.28 ? "#10202f" : "#ffffff";
}

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// The same for lines, which must be seen on a dark ground too.
export function divergingLine(strength) {
  return `rgba(${css(strength >= 0 ? "plus" : "minus")}, ${0.15 + 0.7 * Math.min(1, Math.abs(strength))})`;
}

// From blue for negative over nothing to orange for positive; the strength is from -1 to 1.
export function diverging(strength) {
  const share = Math.min(1, Math.abs(strength));
  return strength >= 0 ? `rgba(230, 120, 0, ${0.75 * share})` : `rgba(0, 100, 200, ${0.75 * share})`;
}

const SIGNS = {
  north: "↑", up: "↑", south: "↓", down: "↓", west: "←", left: "←", east: "→", right: "→",
  none: "·", stay: "·", "turn left": "↺", "turn right": "↻",
};
export const signOf = (action) => SIGNS[action] ?? action;
