// Part 5: curves from the study's own results.

import { bind } from "./controls.js";
import { chart, LOOKS } from "./chart.js";
import { html, palette, text } from "./draw.js";
import { State, choice, flag, whole } from "./state.js";

function near(a, b) {
  return Math.abs(a - b) <= 0.1 * Math.max(a, b);
}

function thousands(value) {
  return value >= 1000 ? `${text(value / 1000, 1)}k` : text(value, 0);
}

export class CurvesPart {
  constructor(panel, wake, { topics, announce }) {
    Object.assign(this, { panel, topics, announce, wake });
    const all = (list) => [...new Set(topics.flatMap(list))];
    this.state = new State({
      topic: choice(
        topics[0].key,
        all((topic) => [topic.key]),
      ),
      score: choice(
        topics[0].scores[0].key,
        all((topic) => topic.scores.map(({ key }) => key)),
      ),
      group: choice(
        topics[0].lines[0].group,
        all((topic) => topic.lines.map(({ group }) => group)),
      ),
      hide: {
        initial: [],
        valid: (value) =>
          value.length <= 40 && value.every((name) => all((topic) => topic.lines.map((l) => l.name)).includes(name)),
        read: (written) => written.split(","),
        write: (value) => value.join(","),
      },
      band: flag(true),
      at: whole(-1, -1, 99),
    });
    this.svg = panel.querySelector(".curves");
    this.box = panel.querySelector(".values");
    for (const [key, list] of [["topic", topics]]) {
      panel
        .querySelector(`[data-key="${key}"]`)
        .append(...list.map((each) => html("option", { value: each.key }, each.name)));
    }
    this.state.listeners.push(() => {
      this.fill();
      wake();
    });
    this.fill();
    bind(panel, this.state);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.state.set({ at: -1 }));
    this.svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.state.set({ at: Math.max(0, Math.min(this.xs().length - 1, this.at() + by)) });
    });
  }

  topic() {
    return this.topics.find(({ key }) => key === this.state.values.topic);
  }

  /** The score and group chosen, or the first if the topic has none of that name. */
  chosen() {
    const topic = this.topic();
    const groups = [...new Set(topic.lines.map(({ group }) => group))];
    const { score, group } = this.state.values;
    return {
      topic,
      groups,
      score: topic.scores.find(({ key }) => key === score) ?? topic.scores[0],
      group: groups.includes(group) ? group : groups[0],
    };
  }

  lines() {
    const { topic, score, group } = this.chosen();
    const shown = topic.lines.filter((line) => line.group === group);
    return { all: shown, shown: shown.filter(({ name }) => !this.state.values.hide.includes(name)), score };
  }

  /** Places where curves have points; those within a tenth of each other are one place. */
  xs() {
    const { shown, score } = this.lines();
    const all = shown.flatMap((line) => line.values[score.key].map(([x]) => x)).sort((a, b) => a - b);
    return all.filter((x, i) => i === 0 || !near(all[i - 1], x));
  }

  at() {
    return Math.min(this.state.values.at, this.xs().length - 1);
  }

  /** Options and switches of the topic chosen. */
  fill() {
    const { topic, groups, score, group } = this.chosen();
    if (this.filled !== topic.key) {
      this.filled = topic.key;
      const [scores, others] = ["score", "group"].map((key) => this.panel.querySelector(`[data-key="${key}"]`));
      scores.replaceChildren(...topic.scores.map(({ key, name }) => html("option", { value: key }, name)));
      others.replaceChildren(...groups.map((name) => html("option", { value: name }, name)));
      this.panel.querySelector(".choose").textContent = topic.choose;
    }
    const { score: wantedScore, group: wantedGroup } = this.state.values;
    if (wantedScore !== score.key || wantedGroup !== group) this.state.set({ score: score.key, group });
    const chips = this.panel.querySelector(".lines");
    const names = this.lines().all.map(({ name }) => name);
    if (chips.dataset.names !== names.join()) {
      chips.dataset.names = names.join();
      chips.replaceChildren(...names.map((name) => this.chip(name)));
    }
    for (const box of chips.querySelectorAll("input")) box.checked = !this.state.values.hide.includes(box.value);
  }

  chip(name) {
    const box = html("input", { type: "checkbox", value: name });
    box.addEventListener("change", () => {
      const { hide } = this.state.values;
      this.state.set({ hide: box.checked ? hide.filter((each) => each !== name) : [...hide, name] });
    });
    return html("label", { class: "chip" }, box, html("span", {}, name));
  }

  point(event) {
    if (!this.places) return;
    const x = event.clientX - this.svg.getBoundingClientRect().left;
    const xs = this.xs();
    if (!xs.length) return;
    const away = (i) => Math.abs(this.places.px(xs[i]) - x);
    this.state.set({ at: xs.reduce((best, _, i) => (away(i) < away(best) ? i : best), 0) });
  }

  frame() {
    const { topic, score } = this.chosen();
    const { shown } = this.lines();
    const colors = palette();
    const put = (name, value) => (this.panel.querySelector(`[data-out="${name}"]`).textContent = value);
    put("do", topic.do);
    put("see", topic.see);
    const n = [...new Set(shown.flatMap((line) => line.values[score.key].map((p) => p[4])))].sort((a, b) => a - b);
    put("about", `${topic.about} Mean over ${n.join(" or ")} shuffles of the rows. Band: ${topic.band}.`);
    put("source", topic.source);
    this.panel.querySelector(".stand-in").hidden = !topic.stand_in;
    const xs = this.xs();
    const values = shown.flatMap((line) =>
      line.values[score.key].flatMap((p) => (this.state.values.band ? p.slice(1, 4) : [p[1]])),
    );
    const [low, high] = [Math.max(0, Math.min(...values)), Math.min(1, Math.max(...values))];
    const margin = 0.06 * (high - low || 1);
    const share = topic.x.kind === "share";
    for (const chip of this.panel.querySelectorAll(".lines .chip")) {
      const line = topic.lines.find(({ name }) => name === chip.textContent);
      chip.lastChild.style.borderBottom = `4px solid ${colors[LOOKS[line.look][0]]}`;
    }
    const at = this.at();
    this.svg.dataset.lines = shown.length;
    this.places =
      shown.length === 0
        ? null
        : chart(this.svg, {
            x: {
              name: topic.x.name,
              low: share ? Math.min(...xs) : Math.min(...xs) * 0.93,
              high: Math.max(...xs),
              log: !share,
              show: share ? (v) => `${text(100 * v, 0)} %` : thousands,
            },
            y: { name: score.name, low: Math.max(0, low - margin), high: Math.min(1, high + margin) },
            guide: at >= 0 ? xs[at] : undefined,
            dots: true,
            named: this.svg.clientWidth > 560,
            lines: shown.map((line) => ({
              name: line.name,
              color: colors[LOOKS[line.look][0]],
              dash: LOOKS[line.look][1],
              points: line.values[score.key].map((p) => (this.state.values.band ? p.slice(0, 4) : p.slice(0, 2))),
            })),
          });
    this.values(shown, score, xs, at, topic, colors);
    return false;
  }

  /** The values under the guide, and all of them as a table. */
  values(shown, score, xs, at, topic, colors) {
    const name = (x) => (topic.x.kind === "share" ? `${text(100 * x, 1)} %` : text(x, 0));
    this.box.hidden = at < 0 || !this.places;
    if (!this.box.hidden) {
      // On the other side than the mark, and above or below, where the curves leave room.
      const { px, py, left, right, top, bottom } = this.places;
      const side = (x) => px(x) < (left + right) / 2;
      const there = shown
        .flatMap((line) => line.values[score.key])
        .filter(([x]) => side(x) !== side(xs[at]))
        .map((p) => py(p[1]));
      const mean = there.reduce((sum, y) => sum + y, 0) / (there.length || 1);
      this.box.classList.toggle("right", side(xs[at]));
      this.box.classList.toggle("low", mean < (top + bottom) / 2);
    }
    if (!this.box.hidden) {
      const rows = shown
        .map((line) => [line, line.values[score.key].find(([x]) => near(x, xs[at]))])
        .filter(([, point]) => point)
        .sort((a, b) => b[1][1] - a[1][1])
        .map(([line, [, mean, low, high]]) => {
          const key = html("i");
          key.style.background = colors[LOOKS[line.look][0]];
          return html(
            "tr",
            {},
            html("th", { scope: "row" }, key, line.name),
            html("td", {}, text(mean, 3, true)),
            html("td", {}, `${text(low, 3, true)} to ${text(high, 3, true)}`),
          );
        });
      this.box.replaceChildren(
        html("p", {}, `${topic.x.name}: ${name(xs[at])}`),
        html("table", {}, html("tbody", {}, ...rows)),
      );
      this.announce(() => this.box.textContent);
    }
    const head = html(
      "tr",
      {},
      html("th", { scope: "col" }, topic.x.name),
      ...shown.map((line) => html("th", { scope: "col" }, line.name)),
    );
    const body = xs.map((x) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, name(x)),
        ...shown.map((line) => {
          const point = line.values[score.key].find(([value]) => near(value, x));
          return html("td", {}, point ? text(point[1], 3, true) : "");
        }),
      ),
    );
    const table = this.panel.querySelector(".all-values table");
    if (this.panel.querySelector(".all-values").open)
      table.replaceChildren(html("thead", {}, head), html("tbody", {}, ...body));
  }
}
