// What the page has from elsewhere: a longer history from Prometheus, and what a store says of
// itself. Scenarios as in scenarios.mjs.
import assert from "node:assert/strict";

import { assertFits, signIn, violations, visit, withPage } from "./browser.mjs";

export const monitoringScenarios = {
  /** Days are drawn from Prometheus, which the browser never asks; back to the last hour. */
  async longer_history(facts) {
    await withPage({ ...facts, options: { viewport: { width: 360, height: 740 } } },
      async (page) => {
        await signIn(page, facts.viewer);
        const chart = (title) => page.getByRole("img", { name: title });
        await page.getByLabel("Charts of").selectOption("6h");
        await chart("Requests per second: ran 2, replayed 0.5").waitFor();
        await chart("Time of a claim: median 10 ms, 99 % 49.2 ms").waitFor();
        await page.getByText("6 h ago", { exact: true }).first().waitFor();
        await page.getByLabel("Charts of").selectOption("7d");
        await page.getByText("7 d ago", { exact: true }).first().waitFor();
        const points = await page.locator(".chart polygon").first().getAttribute("points");
        assert.equal(points.split(" ").length, 4 * 360, "a step for each of the 360 samples");
        await assertFits(page, "a week");
        assert.deepEqual(await violations(page), []);
        await page.getByLabel("Language").selectOption("de");
        await page.getByLabel("Diagramme über").selectOption("1d");
        await page.getByRole("img", { name: "Anfragen je Sekunde: gelaufen 2" }).waitFor();
        await page.getByLabel("Diagramme über").selectOption("1h");
        await page.getByRole("region", { name: "Die letzte Stunde" }).waitFor();
      });
  },

  /** A Prometheus that is away is said, and the rest of the overview goes on. */
  async prometheus_away(facts) {
    await withPage({ ...facts, answers: /status of 50[24]/ }, async (page) => {
      await page.getByText(/^(All is well|It works)\.$/).waitFor();
      await page.getByLabel("Charts of").selectOption("30d");
      await page.getByRole("alert").getByText(`Prometheus at ${facts.server}:`).waitFor();
      await page.getByText(/^(All is well|It works)\.$/).waitFor();
      await page.getByLabel("Charts of").selectOption("1h");
      await page.getByRole("alert").waitFor({ state: "detached" });
    });
  },

  /** How large the store is, when it was swept, and where its witness is, as far as it says so. */
  async store_facts(facts) {
    await withPage({ ...facts, options: { viewport: { width: 360, height: 740 } } },
      async (page) => {
        await signIn(page, facts.viewer);
        await visit(page, "Store");
        const fact = (name) => page.locator(".facts div").filter({
          has: page.getByText(name, { exact: true }) }).locator("dd");
        await fact("Last sweep").waitFor();
        for (const [name, wanted] of Object.entries(facts.facts)) {
          await fact(name).filter({ hasText: new RegExp(wanted) }).waitFor();
        }
        await assertFits(page, "store");
        assert.deepEqual(await violations(page), []);
      });
  },
};
