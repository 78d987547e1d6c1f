// One key: its timeline, its trace, the commands that say the same, and keys that are meant to
// harm. Scenarios as in scenarios.mjs.
import assert from "node:assert/strict";

import { assertFits, say, signIn, violations, visit, withPage } from "./browser.mjs";

const SMALL = { viewport: { width: 360, height: 740 } };

/** Goes to the view of a record by the address alone, perhaps from that of another one. */
async function open(page, record) {
  await page.evaluate((id) => { location.hash = `#/record/${id}`; }, record);
  await page.locator("h1 .key").waitFor();
  await page.locator("pre").filter({ hasText: `keys show ${record}` }).waitFor();
}

/** The record that a link in a row of a table leads to, for the key as the page shows it. */
async function recordOf(page, shown) {
  const links = page.getByRole("table").getByRole("link");
  await page.waitForFunction((wanted) => [...document.querySelectorAll("table a")]
    .some((one) => one.textContent === wanted), shown);
  for (const link of await links.all()) {
    if (await link.textContent() === shown) return (await link.getAttribute("href")).slice(-64);
  }
  throw new Error(`no link for ${shown}`);
}

export const recordScenarios = {
  /** One key: how often it was asked for, what was refused, what ran, and the same as commands. */
  async timeline(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.viewer);
      await visit(page, "Search");
      await page.getByRole("link", { name: facts.completed }).click();
      const moments = page.locator(".timeline li");
      const requests = page.getByRole("region", { name: "Requests with the key" });
      await requests.getByText("It ran once at the service.").waitFor();
      await requests.getByText("20 requests: 1 attempt, ").waitFor();
      const got = await requests.getByRole("listitem").evaluateAll((all) => all.map((one) => (
        [one.value, one.textContent])));
      assert.deepEqual(got.map(([place]) => place), [1, 2, 3, 4, 5, 18, 19, 20]);
      for (const [i, words] of [[0, /^ran; the service answered 201/],
        [1, /^got the stored answer \(201\)/],
        [6, /^refused: the same key with another content \(422\)/]]) {
        assert.match(got[i][1], words);
      }
      await page.getByText("as the retention of its route says").waitFor();
      assert.ok(!await page.getByText("Fingerprint").isVisible());
      await page.getByText("17 repeats got the stored answer").waitFor();
      const said = (await moments.allTextContents()).join("\n");
      const order = ["attempt 1 begins", "sent to the service", "the service answered 201",
        "recorded: completed", "17 repeats got the stored answer",
        "refused: the same key with another content", "a repeat got the stored answer"];
      let from = 0;
      for (const one of order) {
        const found = said.indexOf(one, from);
        assert.ok(found >= from, `${one} is not behind the others in: ${said}`);
        from = found + 1;
      }
      await page.getByText("is forgotten").waitFor();
      const record = page.url().split("/").pop();
      const commands = (await page.locator("pre").allTextContents()).join("\n");
      assert.ok(commands.includes(`onceguard keys show ${record}`), commands);
      assert.ok(commands.includes(`/api/records/${record}`), commands);
      await visit(page, "Search");
      await page.getByRole("link", { name: facts.unknown[0] }).click();
      await page.getByText("recorded: outcome unknown: the status says nothing").waitFor();
      assert.deepEqual(await violations(page), []);
    });
  },

  /** A request that outlasted its lease's third: that it was renewed stands there; so do those who
   * waited for it, and an attempt whose outcome is unknown, with what the audit log says. */
  async renewed(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.viewer);
      await open(page, facts.record);
      const said = (await page.locator(".timeline li").allTextContents()).join("\n");
      for (const one of [/attempt 1 begins.*127\.0\.0\.1/, /the lease was renewed, [1-9] times/,
        /the service answered 201/, /the first was still running/]) assert.match(said, one);
    });
  },

  /** Each request's trace is a link to where the configuration says, and to nowhere else. */
  async trace_link(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.viewer);
      await open(page, facts.record);
      const links = page.locator(".timeline").getByRole("link", { name: /^Trace / });
      const found = await links.evaluateAll((all) => all.map((one) => [one.href, one.rel,
        one.target]));
      assert.deepEqual(found, facts.traces.map((id) => [facts.trace_url.replace("{trace_id}", id),
        "noopener noreferrer", "_blank"]));
      assert.deepEqual(await violations(page), []);
    });
  },

  /** The commands of each record, for the test to paste. */
  async commands(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      const out = {};
      for (const record of facts.records) {
        await open(page, record);
        out[record] = await page.locator("section pre").filter({ hasText: /curl|onceguard/ })
          .allTextContents();
      }
      say(out);
    });
  },

  /** Keys that are markup, long, turn the direction, or show nothing: in each view they are text,
   * two that differ look different, nothing is cut off, and an act is for the record meant. */
  async hostile(facts) {
    await withPage({ ...facts, options: SMALL }, async (page) => {
      await signIn(page, facts.operator);
      for (const view of ["Search", "Needs attention", "Audit"]) {
        await visit(page, view);
        const table = page.getByRole("table").first();
        await table.waitFor();
        for (const { record, shown } of facts.keys) {
          if (view === "Audit") {
            await page.waitForFunction((wanted) => [...document.querySelectorAll("td .key")]
              .some((one) => one.textContent === wanted), shown);
          } else if (view === "Search" || record === facts.unknown.record) {
            assert.equal(await recordOf(page, shown), record, view);
          }
        }
        await assertFits(page, view);
        assert.deepEqual(await violations(page), [], view);
      }
      for (const { record, shown } of facts.keys) {
        await open(page, record);
        assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), shown);
        await assertFits(page, shown);
      }
      await open(page, facts.unknown.record);
      await page.getByRole("button", { name: "It did not take effect" }).click();
      const dialog = page.locator("dialog:modal");
      assert.equal(await dialog.locator(".chosen bdi").first().textContent(), facts.unknown.shown);
      await dialog.getByLabel("Reason").fill("</script><img src=x onerror=owned=1>");
      await assertFits(page, "the dialog");
      await dialog.getByRole("button", { name: "Release" }).click();
      await dialog.getByText("What became of them:").waitFor();
      await assertFits(page, "the results");
      assert.match(await dialog.locator("[role=status] li").textContent(), /: released/);
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByText("released by alice").waitFor();
      await visit(page, "Audit");
      await page.getByRole("cell", { name: "<img src=x" }).first().waitFor();
      await assertFits(page, "the audit log with markup");
      assert.equal(await page.evaluate(() => globalThis.owned), undefined);
    });
  },
};
