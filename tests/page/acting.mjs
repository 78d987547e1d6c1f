// What an act of the page is for, and what it says of itself, when others act meanwhile, an answer
// is lost, or the sign-in ends. Scenarios as in scenarios.mjs.
import assert from "node:assert/strict";

import { openList, signIn, violations, visit, withPage } from "./browser.mjs";

/** What another operator does meanwhile, without this browser. */
async function elsewhere(facts, path, body) {
  const answer = await fetch(facts.url + path, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${facts.operator}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

async function recordOf(facts, key) {
  return (await elsewhere(facts, `/api/records?key=${key}`)).records[0];
}

/** A client's request, whose outcome is unknown. */
async function runUnknown(facts, key) {
  const ran = await fetch(`${facts.gateway}/charges`, {
    method: "POST",
    headers: { "Idempotency-Key": key, "Content-Type": "application/json",
      "X-Trace-Plan": '{"status": 500}' },
    body: '{"amount":100}',
  });
  assert.equal(ran.status, 500);
}

/** Another operator releases the key, and its client's next request runs, and is unknown again. */
async function runAgain(facts, key) {
  const { record, token } = await recordOf(facts, key);
  await elsewhere(facts, `/api/records/${record}/release`, { reason: "x", token, force: true });
  await runUnknown(facts, key);
  assert.equal((await recordOf(facts, key)).attempt, 2);
}

async function choose(page, ...keys) {
  await visit(page, "Needs attention");
  for (const key of keys) await page.getByLabel(`Choose ${key}`).check();
}

/** Opens the dialog of an act and says why; `force`: the lease counts for nothing. */
async function open(page, kind) {
  await page.getByRole("button", { name: kind }).click();
  const dialog = page.locator("dialog:modal");
  await dialog.getByLabel("Reason").fill("looked at the bank");
  const force = dialog.getByLabel("also while it may still run");
  if (await force.count()) await force.check();
  return dialog;
}

async function results(dialog) {
  await dialog.getByText("What became of them:").waitFor();
  return dialog.locator("[role=status] li").allTextContents();
}

function assertResults(found, ...wanted) {
  assert.equal(found.length, wanted.length, found.join("\n"));
  for (const [i, one] of wanted.entries()) assert.match(found[i], one);
}

const waitForAttempt = (page, key) => page.getByRole("row").filter({ hasText: key })
  .getByRole("cell", { name: "2", exact: true }).waitFor({ state: "attached" });

export const acting = {
  /** The dialog is open, and tried without a change; the key runs again: this stays as it is. */
  async attempt_of_one(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await visit(page, "Needs attention");
      await page.getByRole("link", { name: facts.unknown[0] }).click();
      const dialog = await open(page, "It did not take effect");
      await dialog.getByText("Attempts at the service 1").waitFor();
      await dialog.getByRole("button", { name: "Dry run" }).click();
      await dialog.getByText("Nothing was changed.").waitFor();
      await dialog.getByText("1 would be released, 0 would not.").waitFor();
      await dialog.getByText(": would be released").waitFor();
      await runAgain(facts, facts.unknown[0]);
      await page.locator("dl.facts div").filter({ hasText: /^Attempts at the service2$/ })
        .waitFor({ state: "attached" });
      await dialog.getByRole("button", { name: "Release" }).click();
      assertResults(await results(dialog), /has changed since/);
    });
  },

  /** Checked boxes are for the attempts that were seen, before the dialog is open and after it. */
  async attempts_of_many(facts) {
    const [first, second, third] = facts.unknown;
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await choose(page, first, second, third);
      await runAgain(facts, first);
      await page.getByRole("alert").getByText("1 have changed since you chose them").waitFor();
      assert.ok(!(await page.getByLabel(`Choose ${first}`).isChecked()));
      const dialog = await open(page, "Release (2)");
      await runAgain(facts, second);
      await waitForAttempt(page, second);
      await dialog.getByRole("button", { name: "Release" }).click();
      const found = (await results(dialog)).sort();
      assertResults(found, /charge-2.*has changed since/, /charge-3.*released/);
    });
  },

  /** What still runs, although it looked over, is forced in the same dialog. */
  async forced_after_all(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await choose(page, facts.unknown[0], facts.unknown[1]);
      await page.getByRole("button", { name: "Complete (2)" }).click();
      const dialog = page.locator("dialog:modal");
      await dialog.getByLabel("Reason").fill("looked at the bank");
      assert.equal(await dialog.getByLabel("also while it may still run").count(), 0);
      const sent = [];
      await page.route("**/complete", (route) => {
        sent.push(route.request().postDataJSON());
        if (sent.length !== 1) return route.continue();
        return route.fulfill({ status: 409,
          json: { status: 409, detail: "It may still be running.", outcome: "running" } });
      });
      await dialog.getByRole("button", { name: "Complete (2)" }).click();
      assertResults(await results(dialog), /it still runs/, /: completed/);
      await dialog.getByLabel("also while it may still run").check();
      await dialog.getByRole("button", { name: "Complete (1)" }).click();
      await dialog.getByText("Completed: 2. Not completed: 0.").waitFor();
      assert.deepEqual(sent.map((one) => Boolean(one.force)), [false, false, true]);
      assert.equal(await dialog.getByRole("button", { name: /^Complete/ }).count(), 0);
      for (const key of facts.unknown.slice(0, 2)) {
        assert.equal((await recordOf(facts, key)).state, "completed");
      }
    });
  },

  /** What somebody completes while the dialog is open keeps its answer. */
  async completed_meanwhile(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await choose(page, facts.unknown[0]);
      const dialog = await open(page, "Delete (1)");
      const { record } = await recordOf(facts, facts.unknown[0]);
      await elsewhere(facts, `/api/records/${record}/complete`,
        { reason: "paid", status: 201, force: true });
      await dialog.getByRole("button", { name: "Delete" }).click();
      assertResults(await results(dialog), /was completed already/);
    });
  },

  /** A key of several callers is nobody's until a person says whose, or which scope all are of. */
  async scopes(facts) {
    const [alice, bob] = facts.scopes;
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await visit(page, "Needs attention");
      await openList(page);
      const list = page.locator("details");
      await list.getByLabel("Keys, one a line").fill("order-17\nof-alice\n");
      const ask = () => list.getByRole("button", { name: "Choose", exact: true }).click();
      await ask();
      await list.getByText("1 chosen.").waitFor();
      await list.getByRole("alert").getByText("this key exists under 2 scopes").waitFor();
      assert.equal(await list.getByRole("checkbox").count(), 2);
      await list.getByLabel("Scope of all of them").fill(bob.slice(0, 12));
      await ask();
      await list.getByText("Not found: 1.of-alice").waitFor();
      await list.getByText("1 chosen.").waitFor();
      await list.getByLabel("Scope of all of them").fill("");
      await ask();
      await list.getByRole("row").filter({ hasText: alice.slice(0, 12) }).getByRole("checkbox")
        .check();
      await list.getByText("2 chosen.").waitFor();
      const dialog = await open(page, "Complete (2)");
      assert.equal(await dialog.locator(".chosen").getByText(alice.slice(0, 12)).count(), 2);
      await dialog.getByRole("button", { name: "Complete" }).click();
      assertResults(await results(dialog), /: completed/, /: completed/);
    });
  },

  /** What a line that was not found may mean is left out of the rest; the rest waits for a person's
   * word, is that of the moment when the list was read, and its dialog says what was not found. */
  async typing_error_in_a_list(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await visit(page, "Needs attention");
      await openList(page);
      const lines = ["payout-5774", "Payout-8513", "nobody-knows", "payout-5774"];
      await page.getByLabel("Keys, one a line").fill(lines.join("\n"));
      await page.getByRole("button", { name: "Choose", exact: true }).click();
      await page.getByText("3 lines: 1 found, 2 not found.").waitFor();
      await page.getByText("Listed more than once: 1. payout-5774").waitFor();
      await page.getByText("Payout-8513: did you mean payout-8513").waitFor();
      await page.getByText("may mean them (1): payout-8513").waitFor();
      const rest = page.getByRole("button", { name: "Choose those that were not in the list (1)" });
      assert.ok(await rest.isDisabled());
      await runUnknown(facts, "payout-later");
      await page.getByText("4 records need a person.").waitFor();
      assert.ok(await rest.isDisabled());
      assert.deepEqual(await violations(page), []);
      await page.getByLabel(/Doubtful lines .*: 2\./).check();
      await rest.click();
      let dialog = await open(page, "Release (1)");
      const warning = dialog.getByRole("alert");
      await warning.getByText(/^Doubtful lines of the list .*: 2\./).waitFor();
      await warning.getByText("Payout-8513").waitFor();
      await warning.getByText("it happens twice").waitFor();
      assert.deepEqual(await violations(page), []);
      await dialog.getByRole("button", { name: "Release" }).click();
      assertResults(await results(dialog), /payout-4380.*released/);
      await dialog.getByRole("button", { name: "Close" }).click();
      // What it may mean is chosen by hand: the dialog names it. Then the line is mended.
      await page.getByLabel("Choose payout-8513").check();
      dialog = await open(page, "Release (1)");
      await warning.getByText("They may mean these, which you chose: payout-8513").waitFor();
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Choose", exact: true }).click();
      await page.getByRole("button", { name: "Yes, payout-8513" }).click();
      await page.waitForFunction(() => document.activeElement.matches("textarea"));
      await page.getByText("3 lines: 2 found, 1 not found.").waitFor();
      dialog = await open(page, "Complete (2)");
      await dialog.getByRole("button", { name: "Complete" }).click();
      assertResults(await results(dialog), /: completed/, /: completed/);
    });
  },

  /** What a list came to leads on after an act on it alone, and counts for nothing once the list
   * was changed, also after an act. */
  async list_changed_after_an_act(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await visit(page, "Needs attention");
      await openList(page);
      const [first, second] = facts.unknown;
      const field = page.getByLabel("Keys, one a line");
      const read = async (...keys) => {
        await field.fill(keys.join("\n"));
        await page.getByRole("button", { name: "Choose", exact: true }).click();
        await page.getByText(`${keys.length} chosen.`).waitFor();
      };
      const rest = page.getByRole("button", { name: "Choose those that were not in the list" });
      const complete = async (goesOn) => {
        const dialog = await open(page, "Complete (1)");
        await dialog.getByRole("button", { name: "Complete" }).click();
        assertResults(await results(dialog), /: completed/);
        assert.equal(await dialog.getByRole("button", { name: "Go on" }).count(), goesOn);
        await dialog.getByRole("button", { name: "Close" }).click();
      };
      // Another one is chosen in its place.
      await read(second);
      await rest.waitFor();
      await page.getByLabel(`Choose ${second}`).uncheck();
      await page.getByLabel(`Choose ${first}`).check();
      await complete(0);
      await read(second);
      await rest.waitFor();
      await complete(1);
      await rest.waitFor();
      await rest.click();
      await page.getByRole("button", { name: "Release (1)" }).waitFor();
      await field.fill(facts.unknown.join("\n"));
      await rest.waitFor({ state: "detached" });
      assert.ok(await page.getByRole("button", { name: "Release (0)" }).isDisabled());
    });
  },

  /** What stands behind the records that the view has read is found by the list all the same. */
  async list_of_many(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      const { records } = await elsewhere(facts, "/api/records?attention=true");
      const first = Array.from({ length: 1000 }, (_, i) => ({ ...records[0], key: `other-${i}`,
        record: i.toString(16).padStart(64, "0") }));
      await page.route("**/api/records?attention=true*", (route) => route.fulfill({
        json: new URL(route.request().url()).searchParams.get("cursor")
          ? { records, cursor: "" } : { records: first, cursor: "ab" },
      }));
      await visit(page, "Needs attention");
      await page.getByText("1,000+ records need a person.").waitFor();
      await openList(page);
      await page.getByLabel("Keys, one a line").fill(`${facts.unknown[1]}\nnobody-knows`);
      await page.getByRole("button", { name: "Choose", exact: true }).click();
      await page.getByText("Not found: 1.nobody-knows").waitFor();
      // The rest is of all of them, too: of three, one stood in the list.
      await page.getByRole("button", { name: "Choose those that were not in the list (1002)" })
        .waitFor();
      const dialog = await open(page, "Release (1)");
      await dialog.getByRole("button", { name: "Release" }).click();
      assertResults(await results(dialog), /charge-2.*released/);
    });
  },

  /** An act whose answer is lost may have been done, and is said to be so; the rest is kept. */
  async lost_answer(facts) {
    await withPage({ ...facts, gone: true }, async (page) => {
      await signIn(page, facts.operator);
      await choose(page, ...facts.unknown);
      const kind = "Release";
      let dialog = await open(page, `${kind} (3)`);
      let calls = 0;
      await page.route("**/release", async (route) => {
        calls += 1;
        if (calls === 1) return route.continue();
        await route.fetch();
        return route.abort("connectionreset");
      });
      await dialog.getByRole("button", { name: "Release" }).click();
      assertResults(await results(dialog), /: released/, /not known: it may have been done/,
        /not tried/);
      await page.unroute("**/release");
      await dialog.getByRole("button", { name: "Close" }).click();
      dialog = await open(page, `${kind} (1)`);
      await page.route("**/release", (route) => route.fulfill({ status: 503,
        json: { status: 503, detail: "it may have been carried out", effect: "unknown" } }));
      await dialog.getByRole("button", { name: "Release" }).click();
      assertResults(await results(dialog), /not known: it may have been done/);
      await page.unroute("**/release");
      await dialog.getByRole("button", { name: "Close" }).click();
      await choose(page, facts.unknown.at(-1));
      dialog = await open(page, `${kind} (1)`);
      await page.route("**/release", (route) => route.fulfill({ status: 200, body: "" }));
      await dialog.getByRole("button", { name: "Dry run" }).click();
      await dialog.getByRole("alert").getByText("no answer").waitFor();
    });
  },

  /** A sign-in that ends amid an act hides nothing of what was done; the next dialog is modal. */
  async signed_out_amid(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await choose(page, ...facts.unknown);
      const dialog = await open(page, "Release (3)");
      let calls = 0;
      await page.route("**/release", async (route) => {
        calls += 1;
        if (calls === 2) {
          const [cookie] = await page.context().cookies();
          const ended = await fetch(`${facts.url}/api/sign-in`, { method: "DELETE", headers: {
            Cookie: `${cookie.name}=${cookie.value}`, "Content-Type": "application/json" } });
          assert.equal(ended.status, 204);
        }
        await route.continue();
      });
      const refused = (path) => page.waitForResponse((one) => one.url().includes(path)
        && one.status() === 401);
      const polled = Promise.all([refused("/api/records?"), refused("/api/recent?")]);
      await dialog.getByRole("button", { name: "Release" }).click();
      const wanted = [/: released/, /not tried/, /not tried/];
      assertResults(await results(dialog), ...wanted);
      await polled;
      await refused("/api/records?"); // so the page has got the former answers
      assertResults(await results(dialog), ...wanted);
      await dialog.getByText("You are signed out.").waitFor();
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByLabel("Token").waitFor();
      await page.unroute("**/release");
      await page.getByLabel("Token").fill(facts.operator);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "Choose all of these" }).click();
      await open(page, "Release (2)");
      await page.goBack(); // away from an open dialog
      await page.goForward();
      await page.getByRole("button", { name: "Choose all of these" }).click();
      await open(page, "Release (2)");
    });
  },

  /** An answer's body is not dropped without a word. */
  async body_without_status(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await choose(page, facts.unknown[0]);
      const dialog = await open(page, "Complete (1)");
      await dialog.getByLabel("Body").fill('{"id":17}');
      await dialog.getByRole("button", { name: "Complete" }).click();
      await dialog.getByRole("alert").getByText("A body needs its status.").waitFor();
      assert.equal((await recordOf(facts, facts.unknown[0])).state, "unknown");
      await dialog.getByLabel("Status").fill("201");
      await dialog.getByRole("button", { name: "Complete" }).click();
      assertResults(await results(dialog), /: completed/);
    });
  },

  /** Without an answer, nobody knows whether he is signed out; a broken address is no fault. */
  async out_of_reach(facts) {
    await withPage({ ...facts, gone: true }, async (page) => {
      await signIn(page, facts.operator);
      await page.evaluate(() => { location.hash = "#/record/%zz"; });
      await page.getByRole("alert").getByText("A record id of 64 hex digits").waitFor();
      await page.route("**/api/sign-in", (route) => route.abort("connectionreset"));
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("alert").getByText("not known whether you are signed out").waitFor();
      await page.unroute("**/api/sign-in");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Token").waitFor();
    });
  },
};
