// The page, left open for a working day.
import assert from "node:assert/strict";

import { say, withPage } from "./browser.mjs";

export const longScenarios = {
  /** Left open for eight hours, whose time a clock of the test's makes: what the page holds once
   * its hour of history is full is what it holds at the end. */
  async left_open(facts) {
    await withPage({ ...facts, clock: true }, async (page) => {
      await page.getByText(/^(All is well|It works)\.$/).waitFor();
      const session = await page.context().newCDPSession(page);
      await session.send("HeapProfiler.enable");
      let reads = 0;
      const real = await (await page.request.get(`${facts.url}/api/overview`)).json();
      const begun = Date.parse(real.at);
      await page.route("**/api/overview?*", (route) => {
        reads += 1;
        const after = Number(new URL(route.request().url()).searchParams.get("after"));
        // A sample for each 10 s of the page's time, of which the gateway keeps the latest hour.
        const latest = Math.floor(reads * facts.step / 10);
        const history = [];
        for (let number = Math.max(after, latest - 360) + 1; number <= latest; number += 1) {
          history.push({ number, at: new Date(begun + number * 10_000).toISOString(),
            outcomes: { ran: 100 + number % 7, replayed: number % 13, mismatch: 1 },
            times_us: { request: [500, 9000], claim: [100, 900], settle: [100, 800] } });
        }
        return route.fulfill({ json: { ...real, history } });
      });
      // A megabyte of garbage may be held for a moment, by what is on its way just now.
      const held = async () => {
        let [usedSize, nodes] = [Infinity, Infinity];
        for (let tries = 0; tries < 5; tries += 1) {
          await session.send("HeapProfiler.collectGarbage");
          usedSize = Math.min(usedSize, (await session.send("Runtime.getHeapUsage")).usedSize);
          nodes = Math.min(nodes, (await session.send("Memory.getDOMCounters")).nodes);
          await page.waitForTimeout(100);
        }
        return { usedSize, nodes };
      };
      const until = async (hours) => {
        while (reads * facts.step < hours * 3600) {
          const before = reads;
          await page.clock.runFor(5_100);
          for (let tries = 0; reads === before && tries < 200; tries += 1) {
            await page.waitForTimeout(5);
          }
        }
        return held();
      };
      const first = await until(1.5);
      const last = await until(8);
      say({ first, last, reads });
      assert.ok(last.usedSize < first.usedSize * 1.15 + 200_000, JSON.stringify([first, last]));
      assert.ok(last.nodes <= first.nodes * 1.1 + 20, JSON.stringify([first, last]));
    });
  },
};
