"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const make = (tag, name, text) => {
    const node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // Light and dark: follows the system until the reader chooses.
  const theme = byId("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const source = byId("numbers");
  if (!source) return;
  const { top, levels, cases } = JSON.parse(source.textContent);
  const tip = byId("tip");
  const responses = [...document.querySelectorAll(".response")];
  const numbersOf = (node) => cases[node.dataset.case][node.dataset.response];
  const number = (value) => (typeof value === "number" ? String(Number(value.toPrecision(3))).replace("-", "−") : "–");

  // One response of a case at a time.
  const show = (button) => {
    const { case: which, response } = button.dataset;
    for (const tab of button.parentElement.children) tab.setAttribute("aria-selected", String(tab === button));
    for (const node of responses) if (node.dataset.case === which) node.hidden = response !== "all" && node.dataset.response !== response;
    hide();
  };
  for (const chips of document.querySelectorAll(".chips")) {
    chips.hidden = false;
    chips.addEventListener("click", (event) => event.target.closest("button") && show(event.target.closest("button")));
    chips.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const tabs = [...chips.children];
      const next = step && tabs[tabs.indexOf(document.activeElement) + step];
      if (next) { next.focus(); show(next); event.preventDefault(); }
    });
  }

  // Shading.
  const shadeBy = byId("shade-by");
  const values = (data, by) => (by === "m" ? data.m : by === "u" ? data.u.map((u) => (top * Math.max(0, -u)) / 4) : data.d[by] || []);
  const repaint = () => {
    for (const node of responses) {
      const shown = values(numbersOf(node), shadeBy.value);
      [...node.querySelector(".tokens").children].forEach((token, t) => {
        const level = Math.round((levels * Math.max(0, shown[t] || 0)) / top);
        token.className = "l" + Math.min(levels, level);
      });
    }
    document.querySelector(".scale span:last-child").textContent = shadeBy.value === "u" ? "−4 or less" : number(top) + " or more";
  };
  shadeBy.disabled = false;
  shadeBy.addEventListener("change", repaint);

  // The pop-up with a token's numbers. Text goes in as text, never as HTML.
  let current = null;
  const hide = () => {
    if (current) current.classList.remove("on");
    current = null;
    tip.hidden = true;
  };
  const row = (name, value, share) => {
    const line = make("div", "row");
    const bar = make("i");
    bar.style.width = 100 * Math.min(1, share) + "%";
    if (!share) bar.style.visibility = "hidden";
    line.append(make("span", "", name), bar, make("span", "", value));
    return line;
  };
  const fill = (token) => {
    const data = numbersOf(token.closest(".response"));
    const t = [...token.parentElement.children].indexOf(token);
    const what = make("p", "what");
    what.append(make("code", "", token.textContent.replaceAll("\n", "↵").replaceAll(" ", "␣") || "part of a character"), make("span", "", data.c[t] || ""));
    tip.replaceChildren(what);
    const largest = Math.max(top, ...Object.values(data.d).map((d) => d[t] || 0));
    for (const [kind, d] of Object.entries(data.d)) tip.append(row(kind.replaceAll("_", " "), number(d[t]), d[t] / largest));
    tip.append(row("mean d", number(data.m[t]), data.m[t] / largest), make("div", "rule"));
    const exact = (value) => (typeof value === "number" ? value.toFixed(4).replace("-", "−") : "–");
    tip.append(row("stability u", number(data.u[t]), 0), row("advantage before", exact(data.a), 0));
    tip.append(row("advantage after", exact(data.b[t]), 0));
  };
  const place = (token) => {
    const box = token.getClientRects()[0] || token.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const below = box.bottom + 8 + height < innerHeight;
    tip.style.left = Math.max(8, Math.min(box.left, innerWidth - width - 8)) + "px";
    tip.style.top = Math.max(8, below ? box.bottom + 8 : box.top - height - 8) + "px";
  };
  const point = (token) => {
    if (token === current) return;
    hide();
    current = token;
    token.classList.add("on");
    fill(token);
    tip.hidden = false;
    place(token);
  };
  const tokenOf = (event) => event.target instanceof Element && event.target.closest(".tokens i");
  for (const text of document.querySelectorAll(".tokens")) {
    text.addEventListener("mouseover", (event) => tokenOf(event) && point(tokenOf(event)));
    text.addEventListener("mouseleave", hide);
    text.addEventListener("click", (event) => tokenOf(event) && point(tokenOf(event)));
    text.addEventListener("blur", hide);
    text.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const tokens = [...text.children];
      const next = step && tokens[Math.max(0, tokens.indexOf(current) + step)];
      if (next) { point(next); next.scrollIntoView({ block: "nearest" }); event.preventDefault(); }
    });
  }
  addEventListener("scroll", hide, { passive: true });
  document.addEventListener("click", (event) => tokenOf(event) || hide());
  for (const tab of document.querySelectorAll('.chips [aria-selected="true"]')) show(tab);
})();
