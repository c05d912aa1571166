// Where frames come from: a server, by a socket, or a recording inside the page.

export async function recorded(element) {
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

export class Server {
  // onState is told what takes so long, onStage that all is ready, onLost that nobody answers any more.
  constructor({ onState, onStage, onLost }) {
    const address = new URL("socket", location.href);
    address.protocol = "ws:";
    address.search = location.search;
    this.socket = new WebSocket(address);
    this.waiting = new Map();
    this.count = 0;
    this.failed = false;
    this.socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.state) onState(message.state);
      else if (message.stage) onStage(message.stage);
      else if (message.failed) [this.failed] = [true, onLost(message.failed)];
      else this.deliver(message);
    };
    this.socket.onclose = (event) => {
      if (!this.failed) onLost(event.reason || "The server has stopped. Start it again: openteam watch.");
    };
  }

  deliver(message) {
    const asked = this.waiting.get(message.id);
    if (!asked) return;
    if (message.error || message.end) this.waiting.delete(message.id);
    if (message.error) asked.reject(new Error(message.error));
    else if (message.end) asked.resolve(asked.last);
    else {
      asked.last = message;
      asked.part?.(message);
    }
  }

  // Resolves with the last answer; each one is given to part as it comes.
  ask(message, part) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, part, last: null });
      this.socket.send(JSON.stringify({ id, ...message }));
    });
  }
}
