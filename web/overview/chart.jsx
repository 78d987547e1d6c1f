// A chart of a length of time: areas one on the other, or lines.
import { Component, h } from "preact";

import { moment, span } from "../shared/forms.js";
import { text } from "../shared/texts.js";

// Of the last hour, samples of 10 s: 5 minutes, a quarter of an hour, an hour. A chart grows as it
// fills.
const WIDTHS = [30, 90, 360];
const HEIGHT = 80;

/** What a sample says where the pointer rests. */
function sampleText(series, i, form, at) {
  return [moment(at, "clock"),
    ...series.map((one) => `${one.name}: ${form(one.values[i] ?? 0)}`)].join("\n");
}

/** The same for the keyboard and for fingers: a line that moves over the chart. */
class Cursor extends Component {
  state = { back: 0 };

  render({ title, width, count, sample }, { back }) {
    const i = Math.max(0, count - 1 - back);
    const said = count ? sample(i) : "";
    return (
      <div class="cursor">
        <input type="range" min={0} max={width - 1} value={width - 1 - back}
               aria-label={`${title}: ${text("chart_point")}`} aria-valuetext={said}
               onInput={(event) => this.setState({
                 back: Math.min(width - 1 - event.target.value, Math.max(0, count - 1)) })} />
        <output>{said.replaceAll("\n", " · ")}</output>
      </div>
    );
  }
}

/**
 * @param {{title: string, series: {name: string, kind: string, values: number[]}[],
 *          stacked: boolean, form: (value: number) => string, interval: number}} props `interval`:
 *          milliseconds of a sample
 */
export function Chart({ title, series, stacked, form, interval }) {
  const count = series[0]?.values.length ?? 0;
  const width = WIDTHS.find((one) => count <= one) ?? count;
  const sums = new Array(count).fill(0);
  const drawn = series.map(({ kind, values }) => {
    const low = stacked ? [...sums] : null;
    const high = values.map((value, i) => (stacked ? (sums[i] += value) : value));
    return { kind, low, high };
  });
  const top = Math.max(1e-9, ...drawn.flatMap(({ high }) => high));
  const x = (i) => width - count + i;
  const sample = (i) => sampleText(series, i, form, Date.now() - (count - 1 - i) * interval);
  const y = (value) => (HEIGHT - (value / top) * (HEIGHT - 4)).toFixed(1);
  // Steps: a single sample is seen, too.
  const line = (values) => values.flatMap((value, i) =>
    [`${x(i)},${y(value)}`, `${x(i) + 1},${y(value)}`]);
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <ul>
          {series.map(({ name, kind, values }) => (
            <li key={name}>
              <span class={`mark ${kind}`} aria-hidden="true" />
              {name}: <b>{form(values[count - 1] ?? 0)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <p class="axis"><span>{text("chart_top", form(count ? top : 0))}</span></p>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img"
           aria-label={`${title}: ${series.map((one) =>
             `${one.name} ${form(one.values[count - 1] ?? 0)}`).join(", ")}`}>
        {drawn.map(({ kind, low, high }) => (low
          ? <polygon key={kind} class={kind} points={
              [...line(high), ...line(low).reverse()].join(" ")} />
          : <polyline key={kind} class={kind} points={line(high).join(" ")} />))}
        {Array.from({ length: count }, (_, i) => (
          <rect key={i} class="sample" x={x(i)} y={0} width={1} height={HEIGHT}>
            <title>{sample(i)}</title>
          </rect>
        ))}
      </svg>
      <Cursor title={title} width={width} count={count} sample={sample} />
      <p class="axis">
        <span>{text("ago", span(width * interval))}</span>
        <span>{text("now")}</span>
      </p>
    </figure>
  );
}
