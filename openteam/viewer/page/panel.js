// A panel: a title, a caption in plain words, a question mark that names the paper's symbol, and a body.

import { el, find } from "openteam/dom.js";

export const question = (title, text) => el("details", { class: "help", name: "help" },
  el("summary", { text: "?", "aria-label": `About ${title}`, title: "What is this in the paper?" }),
  el("p", { text }));

// Escape closes whatever is explained.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const open of document.querySelectorAll(".help[open]")) open.open = false;
});

export class Panel {
  constructor(id, title, caption, help) {
    this.body = el("div", { class: "body", id: `${id}-body` });
    this.caption = el("p", { class: "caption", text: caption });
    this.heading = el("h2", { text: title, id: `${id}-title` });
    this.node = el("section", { class: "panel", id, "aria-labelledby": `${id}-title` },
      el("div", { class: "head" }, this.heading, question(title, help)), this.caption, this.body);
    find("panels").append(this.node);
  }

  show(visible) {
    this.node.hidden = !visible;
    return visible;
  }
}
