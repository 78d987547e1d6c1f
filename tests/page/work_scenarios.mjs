// Messages that need a person, what no record says alone, a drain. Scenarios as in scenarios.mjs.
import assert from "node:assert/strict";

import { openList, violations, visit, withPage } from "./browser.mjs";

const SIGHTS = [{ colorScheme: "dark" }, { viewport: { width: 360, height: 740 } }];

async function enter(page, token, heading) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
}

async function look(page) {
  assert.deepEqual(await violations(page), []);
  const [inner, whole] = await page.evaluate(() => [innerWidth,
    document.documentElement.scrollWidth]);
  assert.ok(whole <= inner, `${whole} wide, of ${inner}`);
}

export const workScenarios = {
  /** A viewer sees them in every form; an operator tries, sends again, and drops. */
  async letters(facts) {
    for (const options of SIGHTS) {
      await withPage({ ...facts, options }, async (page) => {
        await enter(page, facts.viewer, "Workers");
        await visit(page, "Needs attention");
        await page.getByRole("heading", { name: "Unknown whether they took effect" }).waitFor();
        await page.getByText(facts.hostile).waitFor();
        assert.equal(await page.getByRole("button", { name: "Send again" }).count(), 0);
        assert.equal(await page.getByRole("main").getByRole("checkbox").count(), 0);
        await look(page);
        await page.getByLabel("Language").selectOption("de");
        await page.getByRole("heading", { name: "Unbekannt, ob sie wirkten" }).waitFor();
        await look(page);
      });
    }
    await withPage(facts, async (page) => {
      await enter(page, facts.operator, "Workers");
      await visit(page, "Needs attention");
      await page.getByLabel("Choose m-unknown", { exact: true }).check();
      await page.getByLabel("Choose m-dead", { exact: true }).check();
      await look(page);
      const act = async (kind, words, ...buttons) => {
        await page.getByRole("button", { name: kind }).click();
        const dialog = page.locator("dialog:modal");
        await dialog.getByText(words).waitFor();
        await dialog.getByLabel("Reason").fill("not at the bank");
        await look(page);
        for (const [button, result, count] of buttons) {
          await dialog.getByRole("button", { name: button }).click();
          await dialog.getByText(result).waitFor();
          assert.equal(await dialog.locator("[role=status] li")
            .filter({ hasText: /: done/ }).count(), count);
        }
        await dialog.getByRole("button", { name: "Close" }).click();
      };
      await act("Send again (2)", "It will run again",
        ["Dry run", "Nothing was changed.", 2],
        ["Send again", "What became of them:", 2]);
      await page.getByLabel("Choose m-dead", { exact: true }).waitFor({ state: "detached" });
      await page.getByLabel(`Choose ${facts.hostile}`).check();
      await act("Drop (1)", "gone for good", ["Drop", "What became of them:", 1]);
      await page.getByText("No message lies among the dead letters.").waitFor();
      await visit(page, "Audit");
      await page.getByRole("row").nth(1).getByText("dropped").waitFor();
      assert.equal(await page.evaluate(() => globalThis.owned), undefined);
    });
  },

  /** Clusters of refusals, and a key under two scopes, as operator and as viewer. */
  async conspicuous(facts) {
    for (const [token, options] of [[facts.operator, {}], ...SIGHTS.map(
      (sight) => [facts.viewer, sight])]) {
      await withPage({ ...facts, options }, async (page) => {
        await enter(page, token, "Overview");
        await visit(page, "Needs attention");
        const clusters = page.getByRole("region", { name: "Refused again and again" });
        await clusters.getByText("4 refused, the first").waitFor();
        assert.equal(await clusters.getByRole("listitem").count(), 1);
        const scopes = page.getByRole("region", { name: "The same key under two scopes" });
        await scopes.getByRole("link", { name: "order-19" }).nth(1).waitFor();
        await look(page);
        await clusters.getByRole("link", { name: "order-17" }).click();
        await page.getByRole("heading", { name: "order-17" }).waitFor();
      });
    }
  },

  /** Both records of a key under two scopes, behind many of one of the scopes. */
  async strangers(facts) {
    await withPage(facts, async (page) => {
      // The page looks for them for five seconds each, which a slow machine may take for a piece.
      await page.clock.setFixedTime(new Date());
      await enter(page, facts.viewer, "Overview");
      await visit(page, "Needs attention");
      const scopes = page.getByRole("region", { name: "The same key under two scopes" });
      await scopes.getByRole("link", { name: "order-19" }).nth(1).waitFor();
    });
  },

  /** A key of two callers is nobody's, although one of its records needs no person. */
  async list_of_two_scopes(facts) {
    await withPage(facts, async (page) => {
      await enter(page, facts.operator, "Overview");
      await visit(page, "Needs attention");
      await openList(page);
      const list = page.locator("details");
      const ask = async (lines) => {
        await list.getByLabel("Keys, one a line").fill(lines);
        await list.getByRole("button", { name: "Choose", exact: true }).click();
      };
      await ask("order-17");
      await list.getByRole("alert").getByText("this key exists under 2 scopes: name the scope")
        .waitFor();
      await list.getByText("0 chosen.").waitFor();
      assert.equal(await list.getByRole("checkbox").count(), 1);
      await look(page);
      await ask(`order-17\t${facts.scope.slice(0, 12)}`);
      await list.getByText("1 chosen.").waitFor();
      assert.equal(await list.getByRole("alert").count(), 0);
      await page.getByRole("button", { name: "Release (1)" }).click();
      const dialog = page.locator("dialog:modal");
      await dialog.getByText("the next request with it runs the operation again").waitFor();
      await dialog.getByLabel("Reason").fill("looked at the bank");
      const force = dialog.getByLabel("also while it may still run");
      if (await force.count()) await force.check();
      await dialog.getByRole("button", { name: "Release" }).click();
      await dialog.locator("[role=status] li").getByText(": released").waitFor();
    });
  },

  /** An operator ends the process, with a reason; a viewer may not. */
  async drain(facts) {
    for (const options of SIGHTS) {
      await withPage({ ...facts, options }, async (page) => {
        await enter(page, facts.viewer, facts.heading);
        assert.equal(await page.getByRole("button", { name: "Drain" }).count(), 0);
        const refused = await page.evaluate(async () => (await fetch("/api/drain", {
          method: "POST", body: '{"reason":"x"}',
          headers: { "Content-Type": "application/json" } })).status);
        assert.equal(refused, 403);
      });
    }
    await withPage(facts, async (page) => {
      await enter(page, facts.operator, facts.heading);
      await page.getByRole("button", { name: "Drain …" }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("then the process ends").waitFor();
      await page.getByLabel("Reason").fill("a new release");
      await look(page);
      await page.keyboard.press("Enter");
      await page.getByText("It drains:").waitFor();
    });
  },
};
