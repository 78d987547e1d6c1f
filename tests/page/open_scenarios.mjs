// What a page asks for while it stands open, seen or not. Scenarios as in scenarios.mjs.
import assert from "node:assert/strict";

import { signIn, withPage } from "./browser.mjs";

const STEP = 1000; // ms of the page's clock

export const openScenarios = {
  /** The overview asks for its numbers each five seconds, and each ten for what changed, of the
   * audit log for what is new; where nobody sees it, for nothing. */
  async asks_for_little(facts) {
    await withPage({ ...facts, clock: true }, async (page) => {
      const asked = [];
      page.on("request", (one) => asked.push(new URL(one.url())));
      const count = (name) => asked.filter(({ pathname }) => pathname === name).length;
      const pass = async (seconds) => {
        for (let i = 0; i < seconds; i += 1) await page.clock.runFor(STEP);
      };
      await signIn(page, facts.viewer);
      await page.getByText("alice: released charge-1").waitFor();
      asked.length = 0;
      while (count("/api/audit") < 3) await pass(1);
      assert.deepEqual(asked.filter(({ pathname }) => pathname === "/api/audit")
        .filter(({ searchParams }) => !searchParams.get("after")), []);
      await page.getByText("alice: released charge-1").waitFor();
      asked.length = 0;
      let seconds = 60;
      await pass(seconds);
      // The answer before may still be on its way, and the page's clock is the quicker one.
      const paths = ["/api/audit", "/api/changes", "/api/overview"];
      for (; paths.some((one) => !count(one)); seconds += 1) await pass(1);
      assert.ok(count("/api/overview") <= seconds / 5 + 1, `${count("/api/overview")} overviews`);
      assert.ok(count("/api/changes") <= seconds / 10 + 1, `${count("/api/changes")} changes`);
      assert.deepEqual([...new Set(asked.map(({ pathname }) => pathname))].sort(),
        ["/api/audit", "/api/changes", "/api/overview"]);
      const turn = (hidden) => page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
      await turn(true);
      asked.length = 0;
      await pass(120);
      await turn(true);
      assert.deepEqual(asked, []);
      await Promise.all([page.waitForRequest("**/api/overview?*"),
        page.waitForRequest("**/api/changes"), turn(false)]);
      asked.length = 0;
      while (count("/api/overview") < 2) await pass(1); // and it goes on
    });
  },
};
