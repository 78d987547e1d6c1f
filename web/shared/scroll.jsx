// A table that may be wider than the window: it says so then, and fingers and arrow keys move it.
import { Component, h } from "preact";

import { text } from "./texts.js";

/** `label`: which table it is. */
export class Scroll extends Component {
  state = { wide: false };

  componentDidMount() {
    // In a frame of its own: the hint may change the width, and this must not look at itself.
    this.watch = new ResizeObserver(() => requestAnimationFrame(() => this.measure()));
    for (const one of [this.region, this.region.firstElementChild]) this.watch.observe(one);
  }

  componentWillUnmount() {
    this.watch.disconnect();
  }

  measure() {
    const wide = this.region?.scrollWidth > this.region?.clientWidth;
    if (wide !== this.state.wide) this.setState({ wide });
  }

  render({ label, children }, { wide }) {
    return (
      <div>
        {wide && <p class="note sideways">{text("scroll_hint")}</p>}
        <div class="scroll" tabIndex={0} role="region" aria-label={label}
             ref={(region) => { this.region = region; }}>
          {children}
        </div>
      </div>
    );
  }
}
