// What changed in the last hour, and what a pointer's rest says, for the keyboard. Scenarios as in
// scenarios.mjs.
import assert from "node:assert/strict";

import { assertFits, signIn, violations, visit, withPage } from "./browser.mjs";

const SMALL = { viewport: { width: 360, height: 740 }, timezoneId: "Asia/Kolkata" };

export const changeScenarios = {
  /** A reload with the former and the new value, an act, and a route that refuses: each leads to
   * where more is said. With refusals, not all is well. */
  async changes(facts) {
    await withPage({ ...facts, options: SMALL }, async (page) => {
      await signIn(page, facts.viewer);
      await page.getByText("It works, and refuses requests.").waitFor();
      await page.getByRole("link", { name: /^\/ refuses: 1 .*key-reused$/ }).waitFor();
      const list = page.getByRole("region", { name: "What changed in the last hour" });
      const lines = list.getByRole("listitem");
      await lines.first().waitFor();
      const more = list.getByRole("button", { name: "more" });
      if (await more.isVisible()) await more.click();
      const reloaded = lines.filter({ hasText: "A new configuration is in force" });
      await reloaded.getByText(/"30s" -> "45s"/).waitFor();
      await reloaded.getByText(/by: alice/).waitFor();
      await lines.filter({ hasText: "The gateway takes requests" }).waitFor();
      await assertFits(page, "what changed");
      assert.deepEqual(await violations(page), []);
      for (const [name, heading] of [["/ begins to refuse: key-reused", "Routes"],
        ["alice: released charge-1", "Search"]]) {
        await list.getByRole("link", { name }).click();
        await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
        if (heading === "Search") await page.getByRole("link", { name: "charge-1" }).waitFor();
        await visit(page, "Overview");
      }
      await page.getByLabel("Language").selectOption("de");
      await page.getByText("Eine neue Konfiguration gilt").waitFor();
    });
  },

  /** What is refused again and again stays first, with its route, count and header; seven acts are
   * one line. */
  async refusal_goes_on(facts) {
    for (const options of [{}, SMALL]) {
      await withPage({ ...facts, options }, async (page) => {
        await signIn(page, facts.viewer);
        const condition = page.getByRole("status").filter({ hasText: "It works, and refuses" });
        const lines = condition.getByRole("listitem");
        await lines.first().getByText("/refunds refuses: 3 × key-missing").waitFor();
        // Its times change with each look: a reader of the screen is not told each.
        assert.equal(await condition.getByRole("list").first().getAttribute("aria-live"), "off");
        assert.match(await lines.first().textContent(), /since the start, the last .*ago/);
        assert.match(await lines.nth(1).textContent(), /charges refuses: 1 × key-reused/);
        const list = page.getByRole("region", { name: "What changed in the last hour" });
        await list.getByRole("link", { name: "alice: released 7 records" }).waitFor();
        await list.getByText("/refunds begins to refuse: key-missing").waitFor();
        await assertFits(page, "what goes on");
        assert.deepEqual(await violations(page), []);
        await condition.getByRole("link", { name: "/refunds" }).click();
        const why = page.getByRole("region", { name: "Why requests are refused" });
        assert.match(await why.getByRole("listitem").first().textContent(),
          /^3 key-missing \(400\) since the start, the last .*ago: the client sends no key/);
        await why.getByText("Send the header Idempotency-Key with each request.").waitFor();
        await why.getByText(/required = true: \[\[route\]\], \S+\.toml:\d+:\d+/).waitFor();
        await page.locator("td.refusing").filter({ hasText: "3" }).waitFor();
        assert.deepEqual(await violations(page), []);
      });
    }
  },

  /** An audit log that can't be read is said, and is not asked for with each look. */
  async audit_unreadable(facts) {
    await withPage({ ...facts, clock: true, answers: /status of 503/ }, async (page) => {
      let asked = 0;
      page.on("request", (one) => { asked += one.url().includes("/api/audit") ? 1 : 0; });
      await signIn(page, facts.viewer);
      await page.getByText("Without what people did: the audit log").waitFor();
      await page.getByText("The gateway takes requests").waitFor();
      const pass = async (seconds, path) => {
        const read = page.waitForResponse(path);
        await page.clock.runFor(1000 * seconds);
        await read;
      };
      for (let looks = 0; looks < 2; looks += 1) await pass(10, "**/api/changes");
      assert.equal(asked, 1);
      await pass(60, "**/api/audit?*");
    });
  },

  /** Without a pointer: times in UTC, what each point of a chart was, commands that are copied. */
  async by_keyboard_alone(facts) {
    await withPage({ ...facts, options: SMALL }, async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await signIn(page, facts.viewer);
      const cursor = page.getByRole("slider", { name: "Requests per second: point in time" });
      await page.locator(".chart polygon").first().waitFor();
      await cursor.focus();
      await page.waitForFunction(() => /ran: /.test(
        document.activeElement.getAttribute("aria-valuetext")));
      await page.locator(".cursor output").first().getByText(/\d\d:\d\d:\d\d · ran: /).waitFor();
      assert.deepEqual(await violations(page), []);
      await visit(page, "Search");
      // The field of the key has the cursor when the view was gone to, not after each choice.
      await page.waitForFunction(() => document.activeElement.name === "key");
      await page.getByLabel("Language").focus();
      await page.getByLabel("Language").selectOption("de");
      await page.getByRole("heading", { name: "Suche", level: 1 }).waitFor();
      assert.ok(await page.evaluate(() => document.activeElement.matches("header select")));
      await page.getByLabel("Sprache").selectOption("en");
      await page.getByRole("link", { name: facts.completed }).click();
      const time = page.locator(".timeline time").first();
      const at = await time.getAttribute("dateTime");
      const utc = at.slice(11, 23);
      assert.ok(!(await time.textContent()).includes(utc));
      await page.getByLabel("Times in UTC").focus();
      await page.keyboard.press("Space");
      await time.getByText(`${utc} UTC`).waitFor();
      await page.getByRole("button", { name: "Copy" }).first().focus();
      await page.keyboard.press("Enter");
      await page.getByText("Copied").waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      const record = page.url().split("/").pop();
      assert.ok(copied.startsWith(`onceguard keys show ${record} --admin `), copied);
      assert.ok(!copied.includes("\n"), copied);
      await assertFits(page, "one key");
    });
  },
};
