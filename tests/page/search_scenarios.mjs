// Searches: in which order and how many, the latest keys, a large store. Scenarios as in
// scenarios.mjs.
import assert from "node:assert/strict";

import { assertReachable, violations, visit, withPage } from "./browser.mjs";

const SMALL = { viewport: { width: 360, height: 740 } };

export const searchScenarios = {
  /** The order is said, and how many there are, as far as that is known; the newest are a click
   * away. */
  async newest(facts) {
    await withPage({ ...facts, options: SMALL }, async (page) => {
      await visit(page, "Search");
      await page.getByText(`${facts.keys.length} records in all, the oldest first.`).waitFor();
      const keys = page.getByRole("table").getByRole("link");
      assert.deepEqual(await keys.allTextContents(), facts.keys);
      await page.getByRole("button", { name: "The latest keys" }).click();
      const latest = page.getByRole("region", { name: "The latest keys" });
      await latest.getByRole("link").first().waitFor();
      assert.deepEqual(await latest.getByRole("link").allTextContents(), facts.latest);
      await assertReachable(page, "the latest keys");
      assert.deepEqual(await violations(page), []);
      await latest.getByRole("link").first().click();
      await page.getByRole("heading", { name: facts.latest[0], level: 1 }).waitFor();
      // Of a store that has more than a page, the last count of all says how many.
      await page.route("**/api/records?*", async (route) => route.fulfill(
        { json: { ...await (await route.fetch()).json(), cursor: "aa" } }));
      await visit(page, "Search");
      const count = facts.keys.length;
      await page.getByText(`${count} records on this page, the oldest of them first. `
        + `${count} in all when they were last counted, `).waitFor();
      await page.getByLabel("State").selectOption("completed");
      await page.getByText(`${facts.completed} in all when they were last counted`).waitFor();
      await page.getByLabel("Method").fill("POST");
      await page.getByText("in all when").waitFor({ state: "detached" });
      await page.getByText(`${facts.completed} records on this page`).waitFor();
    });
  },

  /** In a large store, the pieces before the one with the key are empty. */
  async search_goes_on(facts) {
    await withPage(facts, async (page) => {
      // A search goes on by itself for five seconds, which a slow machine may take for a piece.
      await page.clock.setFixedTime(new Date());
      await page.getByText(/^(All is well|It works)\.$/).waitFor();
      const record = { record: "a".repeat(64), key: "order-9", state: "completed", attempt: 1,
        method: "POST", route: "/", claimed_at: new Date().toISOString() };
      const cursors = [];
      await page.route("**/api/records?*", (route) => {
        const asked = new URL(route.request().url()).searchParams;
        const cursor = Number(asked.get("cursor"));
        cursors.push(cursor);
        const records = cursor === 4 && asked.get("key") === "order-9" ? [record] : [];
        return route.fulfill({ json: { records, cursor: cursor === 4 ? "" : `${cursor + 1}` } });
      });
      await visit(page, "Search");
      await page.getByText("No record fits.").waitFor();
      await page.getByLabel("Key", { exact: true }).fill("order-9");
      await page.getByRole("link", { name: "order-9" }).waitFor();
      assert.deepEqual(cursors.slice(-5), [0, 1, 2, 3, 4]);
      await page.getByLabel("Key", { exact: true }).fill("rder-9");
      await Promise.all([page.waitForRequest(/\?text=rder-9/),
        page.getByRole("button", { name: "Search as a part of a key" }).click()]);
    });
  },
};
