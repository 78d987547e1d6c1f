// What a person does in the page, a scenario each. A line of standard input is one to act out, as
// JSON: {"name": …, "facts": …}. On standard output: {"said": …} for each of its words, and at its
// end {"failure": …}, null where there is none. The first that fails is the last.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";

import { acting } from "./acting.mjs";
import { assertFits, assertReachable, closeBrowser, openList, say, signIn, violations, visit,
  withPage } from "./browser.mjs";
import { budgetScenarios } from "./budget_scenarios.mjs";
import { changeScenarios } from "./change_scenarios.mjs";
import { longScenarios } from "./left_open.mjs";
import { monitoringScenarios } from "./monitoring_scenarios.mjs";
import { openScenarios } from "./open_scenarios.mjs";
import { recordScenarios } from "./record_scenarios.mjs";
import { searchScenarios } from "./search_scenarios.mjs";
import { workScenarios } from "./work_scenarios.mjs";
import { workerActs } from "./worker_acts_scenarios.mjs";
import { workerScenarios } from "./worker_scenarios.mjs";

const LONGEST = 400_000; // ms: a suite that ends by its own limit can't say what did not come

/** How a field's placeholder stands out from what is behind it. */
function contrastOfPlaceholder(field) {
  const luminance = (color) => {
    const [red, green, blue] = color.match(/[\d.]+/g).map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark, light] = [getComputedStyle(field, "::placeholder").color,
    getComputedStyle(field).backgroundColor].map(luminance).sort((one, other) => one - other);
  return (light + 0.05) / (dark + 0.05);
}

/** The heads of the columns of the first table that are seen without scrolling aside. */
async function assertSeen(page, names, what) {
  const table = page.getByRole("table").first();
  for (const name of names) {
    const box = await table.getByRole("columnheader", { name, exact: true }).boundingBox();
    const { width } = page.viewportSize();
    assert.ok(box.x >= 0 && box.x + box.width <= width, `${what}: ${name} ends at ${
      box.x + box.width}`);
  }
}

const scenarios = {
  ...acting,
  ...workerActs,
  ...workerScenarios,
  ...workScenarios,
  ...budgetScenarios,
  ...changeScenarios,
  ...longScenarios,
  ...monitoringScenarios,
  ...openScenarios,
  ...recordScenarios,
  ...searchScenarios,

  /** Every view in both themes and on a small screen: axe finds nothing, nothing is cut off. */
  async every_view(facts) {
    const dark = { colorScheme: "dark" };
    const small = { viewport: { width: 360, height: 740 } };
    const wide = { viewport: { width: 3840, height: 2160 } };
    for (const [name, options] of Object.entries({ light: {}, dark, small, wide })) {
      if (facts.looks && !facts.looks.includes(name)) continue;
      await withPage({ url: facts.url, options }, async (page) => {
        const look = async (view) => {
          // What axe finds depends on the theme, and on what is scrolled in a small window.
          if (name !== "wide") assert.deepEqual(await violations(page), [], `${view}, ${name}`);
          await assertFits(page, `${view}, ${name}`);
          if (name === "small" && view !== "act") await assertReachable(page, view);
          if (facts.folder) {
            await page.screenshot({ path: `${facts.folder}/${view}-${name}.png`, fullPage: true });
          }
        };
        await page.getByLabel("Token").waitFor();
        await look("sign-in");
        await signIn(page, facts.operator);
        await page.getByText(/^(All is well|It works)\.$/).waitFor();
        await look("overview");
        await visit(page, "Needs attention");
        await page.getByRole("link", { name: facts.unknown[0] }).waitFor();
        await look("attention");
        await page.getByRole("main").getByRole("checkbox").first().check();
        await page.getByRole("button", { name: "Release (1)" }).click();
        await look("act");
        await page.getByRole("button", { name: "Close" }).click();
        await visit(page, "Search");
        await page.getByRole("link", { name: facts.completed }).waitFor();
        await page.waitForFunction(() => document.activeElement?.name === "key");
        const key = page.getByPlaceholder("e.g. order-17");
        const ratio = await key.evaluate(contrastOfPlaceholder);
        assert.ok(ratio >= 4.5, `a placeholder of ${ratio}:1, ${name}`);
        await assertSeen(page, ["Key", "State", "Claimed"], `search, ${name}`);
        await look("search");
        await visit(page, "Routes");
        await page.getByRole("table").waitFor();
        await assertSeen(page, ["Route", "refused in all", "ran"], `routes, ${name}`);
        await page.getByText("values set").first().click();
        await page.getByRole("button", { name: "Explain" }).waitFor();
        await page.getByRole("textbox").fill(`curl -XPOST /charges -H 'Idempotency-Key: x'`);
        await page.getByRole("button", { name: "Explain" }).click();
        await page.getByText("It would run.").waitFor();
        await look("routes");
        await visit(page, "Search");
        await page.getByRole("link", { name: facts.completed }).click();
        await page.getByRole("button", { name: "Show" }).click();
        await page.getByText("Content-Type").waitFor();
        await look("record");
        await visit(page, "Audit");
        await page.getByText("showed the stored answer").first().waitFor();
        await assertSeen(page, ["When", "Who", "Act", "Key"], `audit, ${name}`);
        await page.getByText("Details").first().click();
        await page.getByText("here, or by the admin API").first().waitFor();
        await look("audit");
        await visit(page, "Store");
        await page.getByText("It answers, and takes writes.").waitFor();
        await page.getByText("onceguard_store_calls_total").waitFor();
        await look("store");
      });
    }
  },

  /** A viewer reads everything and is offered no act; signing out ends what the cookie opened. */
  async viewer(facts) {
    await withPage(facts, async (page) => {
      await page.getByLabel("Token").fill("a-token-of-nobody");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").getByText("The token is not known.").waitFor();
      await signIn(page, facts.viewer);
      const [cookie] = await page.context().cookies();
      assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
      assert.ok(!cookie.value.includes(facts.viewer));
      await visit(page, "Needs attention");
      await page.getByRole("link", { name: facts.unknown[0] }).click();
      await page.getByRole("heading", { name: facts.unknown[0] }).waitFor();
      assert.equal(await page.getByRole("button", { name: "It took effect" }).count(), 0);
      const refused = await page.evaluate(async (record) => (await fetch(
        `/api/records/${record}/release`, { method: "POST", body: '{"reason":"x"}',
          headers: { "Content-Type": "application/json" } })).status, facts.records[0]);
      assert.equal(refused, 403);
      for (const view of ["Overview", "Needs attention", "Search", "Routes", "Store", "Audit"]) {
        await visit(page, view);
        await page.locator("main .waiting").waitFor({ state: "detached" });
        const acts = page.getByRole("button", { name: /^(Complete|Release|Delete|Drain)/ });
        assert.equal(await acts.count(), 0, view);
        assert.equal(await page.locator("main .failure").count(), 0, view);
      }
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Token").waitFor();
      await page.context().addCookies([cookie]); // a copy that somebody kept
      await page.reload();
      await page.getByLabel("Token").waitFor();
    });
  },

  /** Completes one, releases one, deletes one, each after a dry run that changes nothing. */
  async acts(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      for (const [i, [kind, done]] of [["It took effect", "Complete"],
        ["It did not take effect", "Release"], ["Forget it", "Delete"]].entries()) {
        await visit(page, "Needs attention");
        await page.getByRole("link", { name: facts.unknown[i] }).click();
        await page.getByRole("button", { name: kind }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Reason").fill("by the list of the bank");
        if (done === "Complete") {
          await dialog.getByLabel("Status").fill("201");
          await dialog.getByLabel("Body").fill('{"id":17}');
        }
        await dialog.getByRole("button", { name: "Dry run" }).click();
        await dialog.getByText("Nothing was changed.").waitFor();
        await dialog.getByRole("button", { name: done }).click();
        await dialog.getByText("What became of them:").waitFor();
        await dialog.getByText(`${done}d: 1. Not ${done.toLowerCase()}d: 0.`).waitFor();
        await dialog.getByRole("button", { name: "Close" }).click();
      }
    });
  },

  /** Where a policy comes from, and what would become of a request, in both of its forms. */
  async explain(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.viewer);
      await visit(page, "Routes");
      await page.getByText("/charges").first().waitFor();
      const policy = page.getByRole("group").filter({ hasText: "/charges" }).first();
      await policy.getByText("values set").click();
      const row = (option) => policy.getByRole("row", { name: new RegExp(`^${option} `) });
      assert.match(await row("lease").textContent(), /"45s"\[\[route\]\], \S+:\d+:\d+$/);
      assert.match(await row("backoff").textContent(), /"7s"\[defaults\], \S+:\d+:\d+$/);
      assert.match(await row("keep").textContent(), /default$/);
      for (const [request, verdict, answer] of facts.requests) {
        await page.getByRole("textbox").fill(request);
        await page.keyboard.press("Tab");
        await page.keyboard.press("Enter");
        await page.getByText(verdict).waitFor();
        const row = page.locator(".facts div").filter({ hasText: "It would be answered" });
        await row.getByText(answer).waitFor();
        await page.getByRole("textbox").fill("x");
        await page.getByRole("button", { name: "Explain" }).click();
        await page.getByText("Expected “curl …”").waitFor();
      }
      assert.ok(!(await page.content()).includes("secret-of-alice"));
      assert.deepEqual(await violations(page), []);
      await page.getByLabel("Language").selectOption("de");
      await page.getByText("Eine Anfrage erklären").waitFor();
    });
  },

  /** Who did what to which key stands in the audit log, whoever looks, in both languages. */
  async audit(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.viewer);
      await visit(page, "Search");
      await page.getByRole("link", { name: facts.completed }).click();
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByText("Content-Type").waitFor();
      await visit(page, "Audit");
      const rows = page.getByRole("table").locator("tbody tr");
      const shown = rows.filter({ hasText: "showed the stored answer" });
      await shown.filter({ hasText: facts.completed }).filter({ hasText: "bob" }).waitFor();
      await page.getByLabel("Part of a key").fill(facts.unknown[0]);
      await page.getByText("1 act.").waitFor(); // of which the log has two lines
      assert.equal(await rows.count(), 1);
      assert.match(await rows.first().textContent(), /alice.*released.*not at the bank.*was done/);
      await rows.first().getByText("Details").click();
      await rows.first().getByText("Noted before it began").waitFor();
      await page.getByLabel("Who").fill("bob");
      await page.getByText("No act fits here.").waitFor();
      await page.getByLabel("Language").selectOption("de");
      await page.getByText("gespeicherte Antwort angezeigt").waitFor();
      assert.deepEqual(await violations(page), []);
      await page.getByRole("link", { name: facts.completed }).first().click();
      await page.getByRole("heading", { name: "Suche", level: 1 }).waitFor();
      await page.getByRole("table").getByRole("link", { name: facts.completed }).waitFor();
    });
  },

  /** All of a cause at once, by the keyboard alone. */
  async many_by_keyboard(facts) {
    await withPage(facts, async (page) => {
      const press = async (role, name, within = page) => {
        const wanted = within.getByRole(role, { name }).first();
        await wanted.waitFor();
        for (let i = 0; i < 60; i += 1) {
          if (await wanted.evaluate((node) => node === document.activeElement)) {
            return page.keyboard.press("Enter");
          }
          await page.keyboard.press("Tab");
        }
        throw new Error(`the keyboard does not reach ${role} ${name}`);
      };
      await page.locator("input:focus").waitFor();
      await page.keyboard.type(facts.operator);
      await page.keyboard.press("Enter");
      await press("link", "Needs attention");
      await press("button", "Choose all of these");
      const count = facts.unknown.length;
      await page.getByRole("button", { name: `Complete (${count})` }).focus();
      await page.keyboard.press("Enter");
      const dialog = page.locator("dialog:modal");
      await dialog.waitFor();
      await page.keyboard.type("seen in the bank's list");
      await press("button", "Complete", dialog);
      await page.getByText("What became of them:").waitFor();
      assert.equal(await page.locator("[role=status] li").getByText(": completed").count(), count);
      await page.getByText(`Completed: ${count}. Not completed: 0.`).waitFor();
      await press("button", "Close");
      await page.getByText("Nothing needs you.").waitFor();
    });
  },

  /** By a list from the bank: what stands there is completed, the rest is released. */
  async by_a_list(facts) {
    await withPage(facts, async (page) => {
      await signIn(page, facts.operator);
      await visit(page, "Needs attention");
      await openList(page);
      await page.getByLabel("Keys, one a line").fill([...facts.paid, "nobody-knows"].join("\n"));
      await page.getByRole("button", { name: "Choose", exact: true }).click();
      await page.getByText(`${facts.paid.length} chosen.`).waitFor();
      await page.getByText("nobody-knows").last().waitFor();
      const rest = facts.unknown.length - facts.paid.length;
      await page.getByLabel(/Doubtful lines .*: 1\./).check();
      await page.getByRole("button", { name: `Complete (${facts.paid.length})` }).click();
      const dialog = page.locator("dialog:modal");
      await dialog.getByText(`All ${facts.paid.length} get this same answer.`).waitFor();
      await dialog.getByLabel("Reason (required").fill("the bank's list of today");
      await dialog.getByRole("button", { name: `Complete (${facts.paid.length})` }).click();
      await dialog.getByText("What became of them:").waitFor();
      assert.deepEqual(await violations(page), []);
      // The result leads on to the others, for which the reason of these would be wrong.
      await dialog.getByRole("button", { name: `Go on: release the other ${rest}` }).click();
      await dialog.getByText("the next request with it runs the operation again").waitFor();
      await dialog.getByRole("alert").getByText("nobody-knows").waitFor();
      assert.equal(await dialog.getByRole("button", { name: "The reason of before" }).count(), 0);
      await dialog.getByLabel("Reason (required").fill("not in the bank's list of today");
      await dialog.getByRole("button", { name: `Release (${rest})` }).click();
      await dialog.getByText(`Released: ${rest}. Not released: 0.`).waitFor();
      assert.equal(await dialog.getByRole("button", { name: "Go on" }).count(), 0);
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByText("Nothing needs you.").waitFor();
    });
  },

  /** Without tokens there is nothing to sign in to; German is one choice away. */
  async without_tokens(facts) {
    await withPage(facts, async (page) => {
      await page.getByText(/^(All is well|It works)\.$/).waitFor();
      assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
      await page.getByLabel("Language").selectOption("de");
      await page.getByText(/^(Alles in Ordnung|Es arbeitet)\.$/).waitFor();
      await page.reload();
      await page.getByText(/^(Alles in Ordnung|Es arbeitet)\.$/).waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.lang), "de");
    });
  },

  /** A process that was started anew counts its samples from 1: they replace the former ones. */
  async started_anew(facts) {
    await withPage(facts, async (page) => {
      await page.getByText(/^(All is well|It works)\.$/).waitFor();
      const real = await (await page.request.get(`${facts.url}/api/overview`)).json();
      const sample = (number, ran) => ({ number, at: real.at, outcomes: { ran }, times_us: {} });
      let [begun, samples] = ["2026-01-01T00:00:00.000Z", [sample(41, 100), sample(42, 200)]];
      await page.route("**/api/overview?*", (route) => {
        const after = Number(new URL(route.request().url()).searchParams.get("after"));
        const history = samples.filter((one) => one.number > after);
        return route.fulfill({ json: { ...real, begun_at: begun, history } });
      });
      const chart = (last) => page.getByRole("img", { name: `Requests per second: ran ${last}` });
      await chart("20").waitFor();
      [begun, samples] = ["2026-01-02T00:00:00.000Z", [sample(1, 70)]];
      await chart("7").waitFor();
      const points = await page.locator(".chart polygon").first().getAttribute("points");
      assert.equal(points.split(" ").length, 4, points); // one sample: two corners above, two below
    });
  },

  /** A gateway that is gone is said; a gateway that is back is seen without a reload. */
  async gateway_gone(facts) {
    await withPage({ ...facts, gone: true }, async (page) => {
      await page.getByText(/^(All is well|It works)\.$/).waitFor();
      say("stop");
      await page.getByText("The gateway is out of reach").waitFor();
      say("start");
      await page.getByText("The gateway is out of reach").waitFor({ state: "detached" });
    });
  },
};

const strays = []; // what failed, and nobody waited for
process.on("unhandledRejection", (failure) => strays.push(failure));

const textOf = (thrown) => thrown?.stack ?? String(thrown);

/** What a scenario fails with; null: it does not. */
async function failureOf({ name, facts }) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} has no end`)), LONGEST);
  });
  try {
    await Promise.race([scenarios[name](facts), late]);
    return strays.length ? textOf(strays[0]) : null;
  } catch (failure) {
    return textOf(failure);
  } finally {
    clearTimeout(timer);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const failure = await failureOf(JSON.parse(line));
  process.stdout.write(`${JSON.stringify({ failure })}\n`);
  if (failure !== null) {
    process.exitCode = 1;
    break; // what it leaves behind ends with this process
  }
}
await closeBrowser();
