// Debian's Chromium at the page: one for all scenarios of this process, each of which has a context
// of its own. What a page violates is a failure.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// ms; a machine may be far slower than the one on which a scenario was written.
const PATIENCE = 120_000;

const MOST_KEYS = 1000; // that a table is scrolled by

let running = null;

/** It starts with the first page: that takes as much work as a scenario. */
async function browser() {
  running ??= await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    timeout: PATIENCE,
  });
  return running;
}

export async function closeBrowser() {
  await running?.close();
  running = null;
}

/** A scenario's word to the test, which goes on with it at once. @param {any} value as JSON */
export function say(value) {
  process.stdout.write(`${JSON.stringify({ said: value })}\n`);
}

/** Runs `work` with a page of the browser, and looks at what the page did meanwhile. */
export async function withPage({ url, options = {}, gone = false, answers = null, clock = false },
  work) {
  const context = await (await browser()).newContext({ locale: "en-GB", ...options });
  try {
    const page = await context.newPage();
    const faults = [];
    page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => { faults.push("a dialog"); dialog.dismiss(); });
    page.on("request", (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith("data:")) {
        faults.push(`asks ${request.url()}`);
      }
    });
    page.on("console", (message) => {
      // 401 and 409 are answers that the page shows to its reader.
      const known = /status of 4\d\d/.test(message.text())
        || (gone && /net::ERR_(CONNECTION|EMPTY|SOCKET|NETWORK)|status of 503/.test(message.text()))
        || answers?.test(message.text());
      if (message.type() === "error" && !known) faults.push(message.text());
    });
    page.setDefaultTimeout(PATIENCE);
    if (clock) await page.clock.install();
    await page.goto(`${url}/`);
    await work(page);
    assert.deepEqual(faults, []);
  } finally {
    for (const page of context.pages()) {
      await page.unrouteAll({ behavior: "ignoreErrors" }); // a poll may be on its way just now
    }
    await context.close();
  }
}

export async function signIn(page, token) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}

/** Goes to a view by its link. */
export async function visit(page, name) {
  await page.getByRole("navigation").getByRole("link", { name }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

/** The form for a list, which is open where several records need a person. */
export async function openList(page) {
  const field = page.getByLabel("Keys, one a line");
  await field.waitFor({ state: "attached" });
  if (!await field.isVisible()) await page.getByText("Choose by a list").click();
  await field.waitFor();
}

/** Nothing is wider than the window, and no key that is shown is squeezed. */
export async function assertFits(page, what) {
  const [inner, whole] = await page.evaluate(() => [document.documentElement.clientWidth,
    document.documentElement.scrollWidth]);
  assert.ok(whole <= inner, `${what}: ${whole} wide, of ${inner}`);
  const narrow = await page.evaluate(() => [...document.querySelectorAll("td .key")]
    .filter((one) => one.checkVisibility() && one.textContent.length > 5 && one.offsetWidth < 50)
    .map((one) => one.textContent));
  assert.deepEqual(narrow, [], `${what}: keys of a letter a line`);
}

/** Each table that is wider than the window says so, and the keyboard moves it to its end. */
export async function assertReachable(page, what) {
  for (const region of await page.locator(".scroll:visible").all()) {
    const rest = () => region.evaluate(async (one) => {
      await new Promise(requestAnimationFrame); // the keys' scrolling is drawn frame by frame
      return one.scrollWidth - one.clientWidth - one.scrollLeft;
    });
    const hint = region.locator("xpath=preceding-sibling::*").getByText("Wider than the window");
    if (await rest() <= 0) {
      await hint.waitFor({ state: "detached" });
      continue;
    }
    await hint.waitFor();
    await region.focus();
    for (let keys = 0; await rest() > 1; keys += 1) {
      assert.ok(keys < MOST_KEYS, `${what}: the keyboard does not reach the table's end`);
      await page.keyboard.press("ArrowRight");
    }
  }
  // What a small window leaves out stands there elsewhere.
  const lost = await page.evaluate(() => [...document.querySelectorAll("header *, td, td *")]
    .filter((one) => one.textContent && !one.checkVisibility() && !one.matches(".small *, .small")
      && !one.closest("details:not([open]), select"))
    .filter((one) => !(one.closest("tr") ?? document.body).innerText.includes(one.textContent))
    .map((one) => one.textContent));
  assert.deepEqual(lost, [], `${what}: can't be seen`);
}

/** What axe finds in the page as it is now. Its script runs as the developer tools' do, and stays
 * until the page is loaded anew. */
export async function violations(page) {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(AXE);
  const found = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html)}`);
}
