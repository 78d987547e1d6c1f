// Acts on consumers and relays: answers that get lost, names that are hard. As in scenarios.mjs.
import assert from "node:assert/strict";

import { say, violations, visit, withPage } from "./browser.mjs";

const LOST = "it is not known whether it was carried out";

async function enter(page, token, heading = "Workers") {
  if (token) {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  }
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
}

/** Carries out the calls that fit, and loses their answers. */
async function lose(page, what) {
  await page.route(what, async (route) => {
    await route.fetch();
    return route.abort("connectionreset");
  });
}

async function pause(page, name, act = "Pause") {
  const worker = page.getByRole("region", { name, exact: true });
  await worker.getByRole("button", { name: act }).click();
  await worker.getByLabel("Reason").fill("the bank is down");
  await worker.getByRole("button", { name: act }).click();
  return worker;
}

export const workerActs = {
  /** A lost answer is said to be one, and the page looks again: a pause, a drop, a drain. */
  async lost_acts(facts) {
    await withPage({ ...facts, gone: true }, async (page) => {
      await enter(page, facts.operator);
      await lose(page, "**/pause");
      const worker = await pause(page, "billing");
      await worker.getByRole("alert").getByText(LOST).waitFor();
      await worker.getByText("Paused: it takes no messages.").waitFor();
      assert.deepEqual(await violations(page), []);
      await visit(page, "Needs attention");
      await page.getByLabel("Choose m-dead", { exact: true }).check();
      await lose(page, "**/messages/drop");
      await page.getByRole("button", { name: "Drop (1)" }).click();
      const dialog = page.locator("dialog:modal");
      await dialog.getByLabel("Reason").fill("paid by hand");
      await dialog.getByRole("button", { name: "Drop" }).click();
      await dialog.getByRole("alert").getByText(LOST).waitFor();
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByLabel("Choose m-dead", { exact: true }).waitFor({ state: "detached" });
      await page.getByLabel("Choose m-unknown", { exact: true }).waitFor();
      await visit(page, "Workers");
      await lose(page, "**/api/drain");
      await page.getByRole("button", { name: "Drain …" }).click();
      await page.getByLabel("Reason").fill("a new release");
      await page.getByRole("button", { name: "Drain", exact: true }).click();
      await page.getByRole("alert").getByText(LOST).waitFor();
    });
  },

  /** Each list appears although one look at a time is taken: the others are tried again. */
  async two_lists(facts) {
    await withPage({ ...facts, answers: /status of 503/ }, async (page) => {
      await enter(page, facts.operator);
      await visit(page, "Needs attention");
      for (const name of facts.names) {
        await page.getByRole("region", { name: `Messages that need a person: ${name}` })
          .getByText("No message lies among the dead letters.").waitFor();
      }
    });
  },

  /** What a worker is called keeps nobody from pausing it. */
  async odd_names(facts) {
    await withPage(facts, async (page) => {
      await enter(page, facts.operator);
      for (const name of facts.names) {
        const worker = await pause(page, name);
        await worker.getByText("Paused: it takes no messages.").waitFor();
      }
    });
  },

  /** Who is signed in stays so when the configuration is read again. */
  async reload(facts) {
    await withPage({ ...facts, gone: true }, async (page) => {
      await enter(page, facts.operator);
      await page.getByRole("heading", { name: "billing" }).waitFor();
      process.kill(facts.pid, "SIGHUP");
      await page.getByRole("heading", { name: "second" }).waitFor();
      assert.equal(await page.getByLabel("Token").count(), 0);
      const worker = await pause(page, "second");
      await worker.getByText("Paused: it takes no messages.").waitFor();
    });
  },

  /** What is said of a drain is said of that process alone. */
  async drained_and_back(facts) {
    await withPage({ ...facts, gone: true }, async (page) => {
      await enter(page, null, facts.heading);
      await page.getByRole("button", { name: "Drain …" }).click();
      await page.getByLabel("Reason").fill("a new release");
      await page.getByRole("button", { name: "Drain", exact: true }).click();
      await page.getByText("It drains:").waitFor();
      say("it drains"); // before another one has taken its place
      await page.getByRole("button", { name: "Drain …" }).waitFor();
      assert.equal(await page.getByText("It drains:").count(), 0);
    });
  },

  /** Dead rows of an outbox: a viewer sees them, an operator tries, sends again, and drops. */
  async dead_rows(facts) {
    for (const options of [{ colorScheme: "dark" }, { viewport: { width: 360, height: 740 } }]) {
      await withPage({ ...facts, options }, async (page) => {
        await enter(page, facts.viewer);
        await page.getByText(facts.hostile).waitFor();
        assert.equal(await page.getByRole("button", { name: "Send again" }).count(), 0);
        assert.deepEqual(await violations(page), []);
        const [inner, whole] = await page.evaluate(() => [innerWidth,
          document.documentElement.scrollWidth]);
        assert.ok(whole <= inner, `${whole} wide, of ${inner}`);
        await page.getByLabel("Language").selectOption("de");
        await page.getByText("Zeilen sind tot").waitFor();
      });
    }
    await withPage(facts, async (page) => {
      await enter(page, facts.operator);
      const act = async (key, kind, ...buttons) => {
        await page.getByLabel(`Choose ${key}`, { exact: true }).check();
        await page.getByRole("button", { name: `${kind} (1)` }).click();
        const dialog = page.locator("dialog:modal");
        await dialog.getByLabel("Reason").fill("the endpoint is mended");
        assert.deepEqual(await violations(page), []);
        for (const button of buttons) {
          await dialog.getByRole("button", { name: button }).click();
          await dialog.getByText(/: done/).waitFor();
        }
        await dialog.getByRole("button", { name: "Close" }).click();
        await page.getByLabel(`Choose ${key}`, { exact: true }).waitFor({ state: "detached" });
      };
      await act("again", "Send again", "Dry run", "Send again");
      await act(facts.hostile, "Drop", "Drop");
      await visit(page, "Audit");
      await page.getByRole("row").nth(1).getByText("dropped").waitFor();
      assert.equal(await page.evaluate(() => globalThis.owned), undefined);
    });
  },
};
