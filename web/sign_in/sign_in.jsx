// The form that takes a token.
import { Component, h } from "preact";

import { call } from "../shared/api.js";
import { language, text } from "../shared/texts.js";

export class SignIn extends Component {
  componentDidMount() {
    this.field.focus();
  }

  async send(event) {
    event.preventDefault();
    try {
      await call("POST", "/api/sign-in", { token: this.field.value });
      this.field.value = "";
      this.props.done();
    } catch (failure) {
      this.setState({ failure: failure.status === 0 ? text("out_of_reach") : failure.message });
      this.field.focus();
    }
  }

  render({ failure: before }, { failure }) {
    const complaint = failure ?? before;
    return (
      <main class="sign-in">
        <h1>Onceguard</h1>
        <select aria-label={text("language")} value={language()}
                onChange={(event) => this.props.speak(event.target.value)}>
          <option value="en">English</option>
          <option value="de">Deutsch</option>
        </select>
        <form onSubmit={(event) => this.send(event)}>
          <label for="token">{text("token")}</label>
          <input id="token" type="password" autocomplete="current-password" required
                 aria-describedby="token-note" ref={(field) => { this.field = field; }} />
          <p id="token-note">{text("token_note")}</p>
          {complaint && <p class="failure" role="alert">{complaint}</p>}
          <button type="submit">{text("sign_in")}</button>
        </form>
      </main>
    );
  }
}
