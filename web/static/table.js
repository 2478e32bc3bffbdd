// Follows one table: server-sent updates in, the board, the rulings and the log on the page.

const words = JSON.parse(document.getElementById("words").textContent);
const hosting = "host" in document.body.dataset;
const at = (id) => document.getElementById(id);
const KEPT = 60;
const ASKED_AT_ONCE = 2;

/** An element with its class, its text or children; text is always text, never markup. */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function button(text, className, act) {
  const element = make("button", className, text);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
}

let hideToast = 0;
function toast(text) {
  at("toast").textContent = text;
  at("toast").hidden = false;
  clearTimeout(hideToast);
  hideToast = setTimeout(() => { at("toast").hidden = true; }, 7000);
}

/** Say something as the host; true where it was taken. */
async function say(path, body) {
  try {
    const response = await fetch(`/api/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (response.ok) return true;
    toast((await response.json()).error);
  } catch {
    toast(words.lost);
  }
  return false;
}

// --- the board -------------------------------------------------------------------------------------

function card(top) {
  return top ? make("span", `card ${top.colour}`, top.text) : make("span", "card none");
}

function pileOf(pile) {
  if (pile.top) return card(pile.top);
  return make("span", pile.count ? "card back" : "card none");
}

function player(one, seat, scored, before) {
  const figure = scored || one.cards === null ? one.score : one.cards;
  const unit = scored || one.cards === null ? one.score_text.replace(/^-?\d+\s/, "") : one.cards_text.replace(/^\d+\s/, "");
  const places = one.piles.filter((pile) => pile.kind === "place");
  const number = make("span", "figure", String(figure));
  if (before !== undefined && before !== String(figure)) number.classList.add("bumped");
  const element = make(
    "li",
    "player",
    make("span", "name", make("i", `dot seat-${seat % 8}`), one.name),
    make("span", "count", number, " ", make("span", "unit", unit)),
    make("span", "piles", ...one.piles.filter((pile) => pile.kind !== "place").map(pileOf)),
    make(
      "span",
      "badges",
      one.turn ? make("span", "badge turn", words.turn) : null,
      one.dealer ? make("span", "badge", words.dealer) : null,
      scored && one.cards !== null ? make("span", "badge", one.cards_text) : null,
    ),
    places.length ? make("span", "places", ...places.map((pile) => (pile.top ? card(pile.top) : make("span", "card back")))) : null,
  );
  element.classList.toggle("turn", one.turn);
  element.classList.toggle("won", one.won);
  element.classList.toggle("out", one.standing !== "in");
  element.dataset.name = one.name;
  return element;
}

function showBoard(board) {
  at("standing").textContent = board.standing;
  const before = Object.fromEntries(
    [...at("players").children].map((element) => [element.dataset.name, element.querySelector(".figure").textContent]),
  );
  at("players").replaceChildren(...board.players.map((one, seat) => player(one, seat, board.scored, before[one.name])));
  at("middle").replaceChildren(
    ...board.middle
      .filter((pile) => pile.count > 0)
      .map((pile) => make("div", "pile", pileOf(pile), make("span", "", pile.label, " ", make("b", "", String(pile.count))))),
  );
  showQuestions(board.questions);
  // What is asked stands above, with its buttons, as long as it is open.
  const open = new Set(board.questions.map((question) => question.key));
  for (const element of at("rulings").querySelectorAll(".ruling.ask")) element.hidden = open.has(element.dataset.question);
}

/** A line to type an answer into, for a question without choices. */
function typing(act) {
  const line = make("input");
  line.setAttribute("aria-label", words.really);
  const form = make("form", "typing", line, make("button", "main", words.save));
  form.addEventListener("submit", (submitted) => {
    submitted.preventDefault();
    if (line.value.trim()) act(line.value);
  });
  return form;
}

let asked = "";
function showQuestions(questions) {
  const now = JSON.stringify(questions);
  if (now === asked) return; // A button under a finger stays where it is.
  asked = now;
  const newest = [...questions].reverse();
  const more = newest.length - ASKED_AT_ONCE;
  at("questions").replaceChildren(
    ...newest.slice(0, ASKED_AT_ONCE).map((question) => {
      const choices = question.choices.map((choice) =>
        button(choice.text, "", async (event) => {
          event.target.disabled = true;
          if (!(await say("answer", { question: question.key, says: choice.says }))) event.target.disabled = false;
        }),
      );
      if (!choices.length) choices.push(typing((text) => say("answer", { question: question.key, says: text })));
      return make(
        "div",
        "question",
        make("h3", "", `${words.asks} · ${question.clause}`, make("span", "time", question.at)),
        make("p", "", question.text),
        hosting ? make("div", "choices", ...choices) : make("span", "none", words.host_answers),
      );
    }),
    ...(more > 0 ? [make("p", "more", words.more_questions.replace("{count}", more))] : []),
  );
}

// --- the figures -----------------------------------------------------------------------------------

async function showFigures() {
  if (!at("figures").open) return;
  const rows = await (await fetch("/api/figures")).json();
  at("figure-rows").replaceChildren(
    ...rows.map((row) => {
      const name = make("th", "", row.name);
      name.scope = "row";
      const told = [row.won, row.faults, row.races ? `${row.first} / ${row.races}` : "–", row.last, row.reaction || "–"];
      return make("tr", "", name, ...told.map((value) => make("td", "", String(value))));
    }),
  );
}

at("figures").addEventListener("toggle", showFigures);

// --- the rulings -----------------------------------------------------------------------------------

function sureness(ruling) {
  if (!ruling.sure) return null;
  const parts = [];
  if (ruling.verdict !== "too-close") {
    const meter = make("meter");
    Object.assign(meter, { min: 0.5, max: 1, low: 0.99, high: 0.995, optimum: 1, value: ruling.probability });
    parts.push(meter);
  }
  return make("p", "sure", ...parts, ruling.sure);
}

/** When each hand landed, as bands as wide as the doubt (two standard deviations to each side), like a photo finish. */
function finish(hands) {
  if (!hands.length) return null;
  const reach = (hand) => 2 * Math.max(hand.doubt_ms, 0.5);
  const from = Math.min(...hands.map((hand) => hand.after_ms - reach(hand)));
  const to = Math.max(...hands.map((hand) => hand.after_ms + reach(hand)), from + 20);
  const share = (ms) => `${((100 * (ms - from)) / (to - from)).toFixed(2)}%`;
  const strip = make("div", "strip");
  strip.setAttribute("aria-hidden", "true");
  for (const hand of hands) {
    const band = make("i", `band seat-${hand.seat % 8}`);
    band.style.left = share(hand.after_ms - reach(hand));
    band.style.width = `calc(${share(from + 2 * reach(hand))} + 2px)`;
    const line = make("i", `line seat-${hand.seat % 8}`);
    line.style.left = share(hand.after_ms);
    strip.append(band, line);
  }
  const told = hands.map((hand) =>
    make(
      "li",
      "",
      make("i", `dot seat-${hand.seat % 8}`),
      `${hand.name} ${hand === hands[0] ? "" : "+"}${hand.after_ms}${hand.doubt_ms ? ` ± ${hand.doubt_ms}` : ""} ms`,
    ),
  );
  return make("div", "finish", strip, make("ol", "", ...told));
}

/** Where the strips, the pictures and the sound of a slap are shown, for a ruling that rests on one. */
function shown(ruling) {
  const slap = ruling.because.find((event) => event.slap);
  if (!slap || !("evidence" in document.body.dataset)) return null;
  const link = make("a", "", words.evidence);
  link.href = `/evidence/${slap.id}`;
  link.target = "_blank";
  return make("p", "rule", link);
}

function otherwise(ruling) {
  if (!hosting || !ruling.choices.length || ruling.verdict === "ask") return null;
  const reason = make("input");
  reason.placeholder = words.reason;
  reason.setAttribute("aria-label", words.reason);
  const choices = ruling.choices.map((choice) =>
    button(choice.text, "", () => say("overrule", { ruling: ruling.id, says: choice.says, reason: reason.value || "–" })),
  );
  return make("div", "otherwise", make("h2", "", words.overrule), reason, make("div", "choices", ...choices));
}

function ruled(ruling, isNew) {
  const rests = ruling.because.map((event) =>
    make(
      "li",
      "evidence",
      make("span", "time", event.at),
      make("span", "", event.shown, event.doubt_ms ? ` ± ${event.doubt_ms} ms` : ""),
    ),
  );
  const more = make("details", "", make("summary", "", words.because), make("ol", "", ...rests), otherwise(ruling));
  const element = make(
    "li",
    `ruling ${ruling.verdict}${isNew ? " new" : ""}`,
    make(
      "p",
      "head",
      make("span", "clause", ruling.clause),
      make("span", "verdict", ruling.verdict_text),
      make("span", "time", ruling.at),
    ),
    make("p", "sentence", ruling.text),
    ruling.effects.length ? make("p", "effects", ruling.effects.join(". ") + ".") : null,
    finish(ruling.hands),
    shown(ruling),
    sureness(ruling),
    ruling.verdict === "note" ? null : make("p", "rule", ruling.title),
    rests.length ? more : null,
  );
  element.dataset.ruling = ruling.id;
  element.dataset.question = ruling.question;
  return element;
}

function addRuling(ruling, isNew) {
  at("rulings").prepend(ruled(ruling, isNew));
  while (at("rulings").children.length > KEPT) at("rulings").lastElementChild.remove();
  at("no-rulings").hidden = true;
}

function withdraw(id) {
  const element = at("rulings").querySelector(`[data-ruling="${id}"]`);
  if (!element) return;
  element.classList.add("withdrawn");
  element.querySelector(".verdict").textContent = words.withdrawn;
  element.querySelector("details")?.remove();
}

// --- the log ---------------------------------------------------------------------------------------

function correcting(event, row) {
  const really = make("input");
  really.value = event.text;
  really.setAttribute("aria-label", words.really);
  const close = () => form.remove();
  const form = make(
    "form",
    "",
    make("label", "", words.really),
    really,
    make("button", "main", words.save),
    button(words.did_not_happen, "", async () => { if (await say("amend", { of: event.id, becomes: null })) close(); }),
  );
  form.addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    if (await say("amend", { of: event.id, becomes: really.value })) close();
  });
  row.append(form);
  really.focus();
}

function addEvent(event) {
  const row = make(
    "li",
    `event${event.correction ? " correction" : ""}`,
    make("span", "time", event.at),
    make("span", "text", event.shown),
  );
  if (hosting) {
    row.append(
      event.correction
        ? button(words.undo, "quiet", () => say("undo", { of: event.id }))
        : button(words.amend, "quiet", () => (row.querySelector("form") ? row.querySelector("form").remove() : correcting(event, row))),
    );
  }
  at("events").prepend(row);
  while (at("events").children.length > KEPT) at("events").lastElementChild.remove();
}

at("happened")?.addEventListener("submit", async (submitted) => {
  submitted.preventDefault();
  const line = at("typed");
  if (line.value.trim() && (await say("tell", { text: line.value }))) line.value = "";
});

// --- following -------------------------------------------------------------------------------------

function showLink(kind, text) {
  at("link").className = `link ${kind}`;
  at("link").textContent = text;
}

let over = false;
function showStatus(status) {
  over = status.ended;
  if (status.broken) toast(status.broken);
  showLink(over ? "" : "live", over ? words.ended : words.live);
}

/** Begin the picture anew, or keep only the newest while nobody looks. */
function showPicture() {
  const picture = at("picture");
  if (picture) picture.src = document.hidden ? "/picture.jpg" : `/picture.mjpg?${Date.now()}`;
}

document.addEventListener("visibilitychange", showPicture);

let lost = false;
const source = new EventSource("/events");
source.addEventListener("open", () => {
  showLink("live", words.live);
  if (lost) showPicture();
  lost = false;
});
source.addEventListener("error", () => {
  lost = true;
  showLink("lost", words.lost);
});
source.addEventListener("state", (message) => {
  const state = JSON.parse(message.data);
  at("rulings").replaceChildren();
  at("events").replaceChildren();
  at("no-rulings").hidden = state.rulings.length > 0;
  state.rulings.forEach((ruling) => addRuling(ruling, false));
  state.events.forEach(addEvent);
  showBoard(state.board);
  showStatus(state);
});
source.addEventListener("update", (message) => {
  const update = JSON.parse(message.data);
  update.withdrawn.forEach(withdraw);
  update.given.forEach((ruling) => addRuling(ruling, true));
  addEvent(update.event);
  showBoard(update.board);
  if (update.given.length || update.withdrawn.length) showFigures();
});
source.addEventListener("status", (message) => showStatus(JSON.parse(message.data)));
