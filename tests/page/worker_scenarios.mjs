// Of the page of consumers and relays.
import assert from "node:assert/strict";

import { violations, visit, withPage } from "./browser.mjs";

export const workerScenarios = {
  /** An operator pauses and resumes; a viewer sees it, in both themes and on a small screen. */
  async workers(facts) {
    const enter = async (page, token) => {
      await page.getByLabel("Token").fill(token);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Workers" }).waitFor();
      await page.getByRole("heading", { name: "billing" }).waitFor();
    };
    const look = async (page) => {
      assert.deepEqual(await violations(page), []);
      const [inner, whole] = await page.evaluate(() => [innerWidth,
        document.documentElement.scrollWidth]);
      assert.ok(whole <= inner, `${whole} wide, of ${inner}`);
    };
    await withPage(facts, async (page) => {
      await enter(page, facts.operator);
      await page.getByText("It works.").waitFor();
      assert.equal(await page.getByRole("link", { name: "Overview" }).count(), 0);
      for (const [act, then] of [["Pause", "Paused: it takes no messages."],
        ["Resume", "It works."]]) {
        await page.getByRole("button", { name: act }).focus();
        await page.keyboard.press("Enter");
        await page.getByLabel("Reason").fill("the bank is down");
        await look(page);
        await page.keyboard.press("Enter");
        await page.getByText(then).waitFor();
        await look(page);
      }
      await visit(page, "Audit");
      await page.getByText("2 acts, the newest first.").waitFor();
      await page.getByRole("row").nth(1).getByText("resumed").waitFor();
    });
    for (const options of [{ colorScheme: "dark" }, { viewport: { width: 360, height: 740 } }]) {
      await withPage({ ...facts, options }, async (page) => {
        await enter(page, facts.viewer);
        await page.getByText("It works.").waitFor();
        assert.equal(await page.getByRole("button", { name: "Pause" }).count(), 0);
        await look(page);
        await page.getByLabel("Language").selectOption("de");
        await page.getByText("Er arbeitet.").waitFor();
      });
    }
  },
};
