// Numbers as people read them.

export function short(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1000 || size < 0.001 ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
}

export const fixed = (value, places = 2) => (value === null || value === undefined ? "–" : value.toFixed(places));
// As many places as it takes to tell numbers of this size or spread apart, and numbers with them.
export const placesFor = (size) => Math.max(0, Math.min(5, size ? 1 - Math.floor(Math.log10(size)) : 1));
export const rounded = (value, places) => (Math.abs(value) < 0.5 * 10 ** -places ? "0" : fixed(value, places));
export const percent = (share) => `${Math.round(100 * share)} %`;
export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
export const largest = (values) => values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
export const argmax = (values) => values.indexOf(Math.max(...values));

// What pairs are drawn against: the largest of them, but no less than a tenth of what parts the learner's actions. So pairs
// that change no decision look pale.
export const pairScale = (why) => Math.max(largest(why.pair_means.flat()), why.values ? (Math.max(...why.values) - Math.min(...why.values)) / 10 : 0) || 1;
