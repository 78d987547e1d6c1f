// The pictures of docs/page.md, of a gateway with traffic: `node pictures.mjs`, with `url` and
// `folder` as JSON on standard input.
import { text } from "node:stream/consumers";

import { closeBrowser, visit, withPage } from "./browser.mjs";

const { url, folder } = JSON.parse(await text(process.stdin));
const options = { viewport: { width: 960, height: 900 }, reducedMotion: "reduce",
  timezoneId: "UTC" };

async function keep(page, name) {
  await page.screenshot({ path: `${folder}/${name}.png` });
}

async function overview(page, name) {
  await page.getByText(/^(All is well|It works|It works, and refuses requests)\.$/).waitFor();
  await page.locator(".chart polygon").first().waitFor();
  await page.locator(".changes li").first().waitFor();
  await keep(page, name);
}

await withPage({ url, options }, async (page) => {
  await overview(page, "overview");
  await visit(page, "Needs attention");
  await page.getByRole("table").first().waitFor();
  await keep(page, "attention");
  await visit(page, "Search");
  // An order that was repeated: its twin's refusals and the replays stand in the timeline.
  const { requests } = await (await page.request.get(`${url}/api/recent?outcome=mismatch`)).json();
  await page.goto(`${url}/#/record/${requests.at(-1).record}`);
  await page.locator(".timeline").getByText("the same key with another content").waitFor();
  await keep(page, "key");
});
await withPage({ url, options: { ...options, colorScheme: "dark" } }, async (page) => {
  await overview(page, "overview-dark");
});
await closeBrowser();
