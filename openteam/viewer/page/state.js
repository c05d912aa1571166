// Everything that the page shows follows from this, and is drawn anew when it changes.

export const state = {
  stage: null, // the task, the learner, and words for both
  live: false, // a server answers; a recording has only what was kept
  episodes: [], // each with id, seed, seat, origin and frames
  current: 0, // which of them
  at: 0, // which frame of it
  playing: false,
  speed: 4, // frames per second
  selected: 0, // a slot
  mode: "watch", // or play, compare
  truth: true, // show what the learner cannot see
  types: false, // show true types
  arcs: true, // show pairwise utilities in the picture
  tool: "select", // or remove, add, move
  changes: [], // of the what if
  asked: null, // the frame with these changes
  compared: null, // two lists of frames, and what the other would have done
  score: null,
  busy: false,
};

const listeners = [];
let scheduled = false;

export const onChange = (listener) => listeners.push(listener);

export function update(change) {
  Object.assign(state, change);
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    for (const listener of listeners) listener(state);
  });
}

export const episode = () => state.episodes[state.current];
export const frames = () => (state.mode === "compare" && state.compared ? state.compared.sides[0] : episode()?.frames ?? []);
export const trueFrame = () => frames()[state.at];
export const shownFrame = () => state.asked ?? trueFrame();

// Go to another frame; questions about the one before are forgotten.
export function go(at) {
  const last = frames().length - 1;
  const to = Math.max(0, Math.min(at, last));
  if (to !== state.at || state.changes.length) update({ at: to, changes: [], asked: null });
}

// A person's turn: nobody's next action is told before the person has chosen one.
export const isTurn = (frame) => state.mode === "play" && (episode()?.seat ?? null) !== null && !frame.over && frame.step === frames().at(-1).step;

export const nameOf = (slot) => state.stage.names[slot];
export const roleOf = (slot) => state.stage.roles[slot];
export const typeOf = (frame, slot) => state.stage.types[frame.types[slot]]?.name ?? "";
