// A panel: a title, a caption in plain words, a question mark that names the paper's symbol, and a body.

import { el, find } from "openteam/dom.js";

export class Panel {
  constructor(id, title, caption, help) {
    this.body = el("div", { class: "body", id: `${id}-body` });
    this.caption = el("p", { class: "caption", text: caption });
    this.heading = el("h2", { text: title, id: `${id}-title` });
    const question = el("details", { class: "help" },
      el("summary", { text: "?", "aria-label": `About ${title}`, title: "What is this in the paper?" }),
      el("p", { text: help }));
    this.node = el("section", { class: "panel", id, "aria-labelledby": `${id}-title` },
      el("div", { class: "head" }, this.heading, question), this.caption, this.body);
    find("panels").append(this.node);
  }

  show(visible) {
    this.node.hidden = !visible;
    return visible;
  }
}
