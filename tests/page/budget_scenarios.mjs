// What the page costs a slow phone, by Chromium's own clock, and what it moves.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

import { say, signIn, visit, withPage } from "./browser.mjs";

// Lighthouse's slow phone: a network of 4G at its worst, and a quarter of this processor.
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 750_000 / 8 };
const SLOWDOWN = 4;
const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
const TRIES = 5;

/** The milliseconds until something of the page stands there, of a first visit. */
async function firstPaint(page, url) {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await session.send("Network.emulateNetworkConditions", NETWORK);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
  await page.goto("about:blank");
  await page.goto(`${url}/`);
  const paint = await page.waitForFunction(() => performance
    .getEntriesByName("first-contentful-paint")[0]?.startTime);
  return paint.jsonValue();
}

export const budgetScenarios = {
  /** Not more than 150 KB when compressed. */
  async budget(facts) {
    await withPage({ ...facts, options: PHONE }, async (page) => {
      const sizes = {};
      for (const path of ["/", "/page.js", "/page.css"]) {
        const body = await (await page.request.get(facts.url + path)).body();
        sizes[path] = [body.length, gzipSync(body).length];
      }
      const whole = Object.values(sizes).reduce((sum, [, packed]) => sum + packed, 0);
      assert.ok(whole > 0 && whole <= 150_000, JSON.stringify(sizes));
    });
  },

  /** The page's name stands there before the script is read, which then takes its place. */
  async shell(facts) {
    await withPage(facts, async (page) => {
      let send;
      const asked = new Promise((resolve) => { send = resolve; });
      await page.route("**/page.js", async (route) => {
        await asked;
        await route.continue();
      });
      await page.goto(`${facts.url}/`, { waitUntil: "commit" });
      await page.getByRole("heading", { name: "Onceguard", level: 1 }).waitFor();
      send();
      await page.getByLabel("Token").waitFor();
      assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
    });
  },

  /** Not a test, but for the bench: how long it takes to the first paint on a slow phone. */
  async paint(facts) {
    await withPage({ ...facts, options: PHONE }, async (page) => {
      const times = [];
      while (times.length < TRIES) {
        times.push(await firstPaint(page, facts.url));
      }
      say(times);
    });
  },

  /** Times are the reader's, and UTC on hover; nothing moves for those who do not want it. */
  async wishes(facts) {
    const zone = { timezoneId: "Asia/Kolkata", locale: "en-GB" };
    const moving = () => document.getAnimations().length + [...document.querySelectorAll("*")]
      .filter((one) => getComputedStyle(one).transitionDuration !== "0s").length;
    for (const reducedMotion of ["reduce", "no-preference"]) {
      await withPage({ ...facts, options: { ...zone, reducedMotion } }, async (page) => {
        await signIn(page, facts.viewer);
        await page.getByText("All is well.").waitFor();
        assert.equal(await page.evaluate(moving) > 0, reducedMotion === "no-preference");
        await visit(page, "Search");
        await page.getByRole("link", { name: facts.completed }).click();
        const time = page.getByRole("main").locator("time").first();
        const at = new Date(await time.getAttribute("dateTime"));
        assert.equal(await time.getAttribute("title"), `${at.toISOString()} (UTC)`);
        const there = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium",
          timeZone: "Asia/Kolkata" }).format(at);
        const whole = await page.getByRole("main").textContent();
        assert.ok(whole.includes(there), `${there} is not in ${whole}`);
      });
    }
  },
};
